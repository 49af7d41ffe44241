public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents
import SignatureCore
import WireJSON

/// Takes Stripe's webhook deliveries and event destinations: proves them by their signature and maps them to
/// `LifecycleEvent`.
///
/// `authenticate` and `normalize` take no `await`; only `resolve` talks to Stripe, and only for what a delivery names
/// without containing it.
public struct StripeAdapter: ProviderAdapter {
    /// How old or how far in the future a signed timestamp may be.
    @nonexhaustive
    public enum Tolerance: Hashable, Sendable {
        /// At most this far from the time of receipt.
        case within(Duration)
        /// Any. A delivery that was once captured can then be replayed for ever.
        case disabled
    }

    /// Which of Stripe's worlds an endpoint takes.
    @nonexhaustive
    public enum Mode: Hashable, Sendable {
        /// Both; each event says which.
        case any
        /// Real money only.
        case live
        /// Test mode and sandboxes only.
        case test
    }

    /// The choices of a set-up.
    public struct Configuration: Sendable {
        /// The signing secrets (`whsec_…`, whole): several while one is rolled, or where endpoints share an address.
        public var signingSecrets: [Secret]
        /// How far the signed timestamp may lie from the time of receipt.
        public var tolerance: Tolerance = .within(.seconds(300))
        /// How far the signed timestamp may lie in the future, where that differs from ``tolerance``.
        public var maximumFutureSkew: Duration?
        /// Which of Stripe's worlds to take; the other is `misdirected`.
        public var mode: Mode = .any
        /// The connected accounts to take; nil takes all. Events of the endpoint's own account name none and are taken.
        public var accounts: Set<String>?
        /// The id of the endpoint's own account (`acct_…`). Snapshot events of that account do not name it, but event
        /// destinations of an organization do; with it, both belong to the same lineages. An organization's API key is
        /// used for it.
        public var ownAccount: String?
        /// The longest body, in bytes.
        public var maximumBodyBytes = 1_048_576
        /// The choices that Stripe leaves to the merchant.
        public var policy = Policy()
        /// How to ask Stripe; nil where thin events are not expected, and nothing is asked about besides.
        public var lookup: Lookup?

        /// Makes a set-up with these secrets and every other value at its default.
        public init(signingSecrets: [Secret]) {
            self.signingSecrets = signingSecrets
        }
    }

    /// The choices that Stripe leaves to the merchant.
    public struct Policy: Hashable, Sendable {
        /// The access of a subscription with a failed renewal.
        @nonexhaustive
        public enum PastDueAccess: Hashable, Sendable {
            /// Access for as long as Stripe keeps it `past_due`: its settings say when that ends.
            case keeps
            /// Access for this long after the unpaid period began.
            case grace(Duration)
            /// No access.
            case suspends
        }

        /// The access of a subscription whose collection is paused.
        @nonexhaustive
        public enum CollectionPauseAccess: Hashable, Sendable {
            /// Access goes on: the merchant waives or defers the money.
            case keeps
            /// Access stops until collection resumes.
            case pauses
        }

        /// The access of a subscription whose invoices are sent to the customer and are not paid yet.
        @nonexhaustive
        public enum SentInvoiceAccess: Hashable, Sendable {
            /// Access as Stripe says: such a subscription is `active` before its first payment.
            case keeps
            /// Access to a period once its invoice is paid.
            case waitsForPayment
        }

        /// Which of two notifications speaks for a refund.
        @nonexhaustive
        public enum RefundSource: Hashable, Sendable {
            /// `refund.…` where the endpoint's API version sends it for every refund (2024-10-28 and later), else
            /// `charge.refunded`.
            case byVersion
            /// `refund.created` and `refund.updated`.
            case refunds
            /// `charge.refunded`.
            case charges
        }

        /// The access of a subscription with a failed renewal.
        public var pastDue: PastDueAccess = .keeps
        /// The access of a subscription whose collection is paused.
        public var collectionPause: CollectionPauseAccess = .keeps
        /// Which of two notifications speaks for a refund.
        public var refundSource: RefundSource = .byVersion
        /// True if a paid invoice without a subscription is a one-time purchase. A sale by Checkout that makes an invoice
        /// is then known by that invoice.
        public var sellsByInvoice = false
        /// The access of a subscription whose invoices are sent to the customer and are not paid yet.
        public var sentInvoices: SentInvoiceAccess = .keeps
        /// Products or prices that are never a subscription's main product while it has another item, such as seats or an
        /// add-on that costs more than the plan. Without them the item with the highest price of a unit is the main one.
        public var addOnProducts: Set<String> = []
        /// The types of products that are sold once, by product, price or payment link. Stripe does not
        /// say; without this the state's catalogue does.
        public var oneTimeProducts: [String: LifecycleEvent.OneTimePurchase.ProductType] = [:]
        /// Metadata entries that hold the host's own account id, the first that is there wins.
        public var accountMetadataKeys: [String] = []

        /// The defaults.
        public init() {}
    }

    /// How to ask Stripe again.
    public struct Lookup: Sendable {
        /// The newest API version that the adapter was written against.
        public static let testedVersion = "2026-10-28.endive"

        /// The transport of the requests.
        public var transport: any HTTPTransport
        /// A secret or restricted key that may read subscriptions and their schedules, invoices, charges, refunds, payment
        /// intents, prices and checkout sessions.
        public var apiKey: Secret
        /// The API version to ask in. Without one the account's default would decide what answers look like.
        public var version = Self.testedVersion
        /// The host to ask; no request ever goes to another.
        public var host = "api.stripe.com"
        /// How long one request may take.
        public var timeout: Duration = .seconds(10)
        /// How many attempts one look-up has, the first included.
        public var maximumAttempts = 3
        /// How long a look-up may take with all its attempts.
        public var deadline: Duration = .seconds(30)
        /// Which clock the waits between attempts are taken on.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// True to ask also for the objects that snapshot events leave out: the invoice behind a refund or dispute, the
        /// products of a checkout session and of a schedule's phases. The lines of an invoice that shows only its first
        /// ones are asked for in any case.
        public var completesSnapshots = false

        /// Makes a set-up with every other value at its default.
        public init(transport: any HTTPTransport, apiKey: Secret) {
            self.transport = transport
            self.apiKey = apiKey
        }
    }

    /// The parts that all copies of an adapter share.
    private final class Setup: Sendable {
        let configuration: Configuration
        let secrets: SigningSecrets
        let client: LookupClient?
        let window: SignedTimeWindow

        init(_ configuration: Configuration, secrets: SigningSecrets, client: LookupClient?) {
            self.configuration = configuration
            self.secrets = secrets
            self.client = client
            let maximumAge: Int64? =
                switch configuration.tolerance {
                case .within(let duration): duration.wholeMilliseconds
                case .disabled: nil
                }
            window = SignedTimeWindow(
                maximumAge: maximumAge,
                maximumSkew: configuration.maximumFutureSkew?.wholeMilliseconds ?? maximumAge
            )
        }
    }

    private let setup: Setup
    var configuration: Configuration { setup.configuration }

    /// Makes an adapter.
    ///
    /// - Throws: `ConfigurationError` where a delivery could never, or could always, be authentic: no secret, one that
    ///   is blank or has white space at an end, a negative tolerance; and for a look-up that could not be sent.
    public init(_ configuration: Configuration) throws(ConfigurationError) {
        guard !configuration.signingSecrets.isEmpty else {
            throw ConfigurationError("configure at least one signing secret of the endpoint")
        }
        let secrets = try SigningSecrets(configuration.signingSecrets)
        if case .within(let duration) = configuration.tolerance, duration < .zero {
            throw ConfigurationError("tolerance must not be negative")
        }
        if let skew = configuration.maximumFutureSkew, skew < .zero {
            throw ConfigurationError("maximumFutureSkew must not be negative")
        }
        guard configuration.maximumBodyBytes > 0 else { throw ConfigurationError("maximumBodyBytes must be positive") }
        let client = try configuration.lookup.map { (lookup) throws(ConfigurationError) in
            try LookupClient(lookup, ownAccount: configuration.ownAccount)
        }
        setup = Setup(configuration, secrets: secrets, client: client)
    }

    /// Stripe.
    public var provider: Provider { .stripe }

    /// Proves that a delivery was signed with one of the secrets, at about the time it was received, and reads it.
    ///
    /// Nothing of the body is looked at before its signature holds.
    ///
    /// - Throws: `DeliveryError` with `malformed` for a body that is too long, a header of another form, or a body that
    ///   is no event; `unauthenticated` without the header or a matching signature; `stale` outside the time window;
    ///   `misdirected` for the other mode or another account. The last of these, and a signed body that is no event, are
    ///   marked authentic.
    public func authenticate(_ delivery: Delivery) throws(DeliveryError) -> Authenticated<StripeNotification> {
        guard delivery.body.count <= configuration.maximumBodyBytes else {
            throw DeliveryError(
                .malformed,
                "body has \(delivery.body.count) bytes, at most \(configuration.maximumBodyBytes)"
            )
        }
        let signature = try SignatureHeader("Stripe-Signature", in: delivery.headers, maximumFields: 1)
        let evidence = try signature.prove(delivery.body.span, with: setup.secrets)
        try setup.window.check(
            seconds: signature.timestamp,
            receivedAt: delivery.receivedAt.millisecondsSince1970,
            named: "timestamp of header Stripe-Signature"
        )

        let notification: StripeNotification
        do throws(JSONError) {
            notification = try StripeNotification(reading: delivery.body)
        } catch {
            throw DeliveryError(.malformed, error.description, isAuthentic: true, underlying: error)
        }
        try checkAddressee(of: notification)
        return Authenticated(
            notification,
            receivedAt: delivery.receivedAt,
            channel: .webhook,
            evidence: evidence,
            digest: delivery.bodyDigest
        )
    }

    func checkAddressee(of notification: StripeNotification) throws(DeliveryError) {
        let expected: Bool? =
            switch configuration.mode {
            case .any: nil
            case .live: true
            case .test: false
            }
        if let expected, notification.isLive != expected {
            throw DeliveryError(
                .misdirected,
                "livemode is \(notification.isLive.map(String.init) ?? "absent"), expected \(expected)",
                isAuthentic: true
            )
        }
        try checkAccount(of: notification)
    }

    private func checkAccount(of notification: StripeNotification) throws(DeliveryError) {
        if let accounts = configuration.accounts, let account = notification.account,
            account != configuration.ownAccount, !accounts.contains(account)
        {
            throw DeliveryError(
                .misdirected,
                "connected account is not one of the \(accounts.count) configured",
                isAuthentic: true
            )
        }
    }

    /// Fetches what the event is about but does not contain. Without ``Configuration/lookup`` the notification stays as
    /// it is, and `normalize` says that a look-up is needed.
    ///
    /// - Throws: `DeliveryError` with `unavailable` where Stripe cannot be asked now; `misdirected`, marked authentic,
    ///   where Stripe does not know the object under our key, or the key is of the other mode; `malformed`, marked
    ///   authentic, where the event names a path outside of Stripe's API, for which no request is made, and where the
    ///   answer is another object than the one that was asked for.
    public func resolve(
        _ notification: Authenticated<StripeNotification>
    ) async throws(DeliveryError) -> Authenticated<StripeNotification> {
        guard let client = setup.client else { return notification }
        let resolved = try await answered(notification.value, by: client)
        return notification.map { _ in resolved }
    }

    private func answered(
        _ notification: StripeNotification,
        by client: LookupClient
    ) async throws(DeliveryError) -> StripeNotification {
        var value = notification
        // Where invoices are sales, a session's and a refund's invoice decide which sale they are of.
        let completes = configuration.lookup?.completesSnapshots == true || configuration.policy.sellsByInvoice
        while let request = try LookupRequest.next(for: value, completesSnapshots: completes) {
            value.answers[request.name] = try await client.fetch(request, for: value)
        }
        return value
    }

    /// Maps an event to canonical events.
    ///
    /// - Throws: `DeliveryError` with `malformed`, marked authentic, where a date, amount or identifier of the event's
    ///   object is not of its documented form.
    public func normalize(_ resolved: Authenticated<StripeNotification>) throws(DeliveryError) -> Normalization {
        do throws(JSONError) {
            return try Mapping(resolved, policy: configuration.policy, ownAccount: configuration.ownAccount)
                .normalization()
        } catch {
            throw DeliveryError(.malformed, error.description, isAuthentic: true, underlying: error)
        }
    }
}

// MARK: Without a notification

extension StripeAdapter {
    /// Stripe's list of events, for a journal's `backfill(from:)`; nil without ``Configuration/lookup``.
    ///
    /// - Parameter account: the connected account; nil for the account of the key.
    public func history(of account: String? = nil) -> StripeEventHistory? {
        setup.client.map { StripeEventHistory(self, $0, account: account) }
    }

    /// Looks up the Checkout session that a customer comes back from, and takes the answer through all steps.
    ///
    /// Identities are those of Stripe's own events, so the first to arrive is the news. A session that is not completed
    /// gives no event.
    ///
    /// - Parameters:
    ///   - checkoutSession: the session's id, which is unproven. The result names its owner.
    ///   - account: the connected account that it belongs to; nil for our own.
    ///   - receivedAt: the time of the look-up, limited by Stripe's own statement of its time.
    /// - Throws: `DeliveryError`, never authentic. `malformed` for an id of an impossible form, without a request, and
    ///   for an answer that cannot be read; `misdirected` if Stripe does not know it under our key, and for the other
    ///   mode or another account; `unavailable` if Stripe could not be asked. No error says anything about a purchase.
    public func receive(
        checkoutSession: String,
        account: String? = nil,
        receivedAt: Date
    ) async throws(DeliveryError) -> Normalization {
        try normalize(
            try await resolve(checkoutSession, of: .checkoutSession, account: account, receivedAt: receivedAt)
        )
    }

    /// Looks up a subscription, and takes the answer through all steps.
    ///
    /// Facts state what is true now. Past changes become the events that Stripe's own notifications would give, as far
    /// as the subscription and its latest invoice identify them.
    ///
    /// - Parameters:
    ///   - subscription: the subscription's id.
    ///   - account: the connected account that it belongs to; nil for our own.
    ///   - receivedAt: the time of the look-up, limited by Stripe's own statement of its time.
    /// - Throws: as ``receive(checkoutSession:account:receivedAt:)``.
    public func receive(
        subscription: String,
        account: String? = nil,
        receivedAt: Date
    ) async throws(DeliveryError) -> Normalization {
        try normalize(try await resolve(subscription, of: .subscription, account: account, receivedAt: receivedAt))
    }

    /// Asks Stripe about a subscription or a session of Checkout.
    ///
    /// - Throws: `DeliveryError` as ``receive(checkoutSession:account:receivedAt:)``.
    public func resolve(
        _ id: String,
        of kind: StripePurchase.Kind,
        account: String? = nil,
        receivedAt: Date
    ) async throws(DeliveryError) -> Authenticated<StripePurchase> {
        do throws(DeliveryError) {
            var purchase = try StripePurchase(kind, id, account: account == configuration.ownAccount ? nil : account)
            let question = StripeNotification(asking: purchase)
            try checkAccount(of: question)
            guard let client = setup.client else {
                throw DeliveryError(.unavailable, "no look-up is configured: set Configuration.lookup")
            }
            let answered = try await answered(question, by: client)
            guard answered.isLive != nil else {
                throw DeliveryError(.malformed, "the answer does not say whether it is live")
            }
            try checkAddressee(of: answered)
            purchase.answers = answered.answers
            return Authenticated(
                purchase,
                receivedAt: receivedAt,
                channel: .refetch,
                evidence: Origin.Evidence(.tls),
                digest: BodyDigest(of: answered.answers[LookupRequest.object]?.body ?? [])
            )
        } catch {
            throw error.unproven
        }
    }

    /// Maps the answers to canonical events.
    ///
    /// - Throws: `DeliveryError` with `malformed` where a date, amount or identifier is not of its documented form.
    public func normalize(_ resolved: Authenticated<StripePurchase>) throws(DeliveryError) -> Normalization {
        do throws(DeliveryError) {
            return try normalize(resolved.map { StripeNotification(asking: $0) })
        } catch {
            throw error.unproven
        }
    }
}

extension DeliveryError {
    /// The same error of something that was never a delivery of Stripe's.
    fileprivate var unproven: DeliveryError {
        var error = self
        error.isAuthentic = false
        return error
    }
}
