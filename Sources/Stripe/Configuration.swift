public import HTTPTransport
public import LifecycleEvents

extension StripeAdapter {
    /// How old or how far in the future a signed timestamp may be.
    @nonexhaustive
    public enum Tolerance: Hashable, Sendable {
        /// At most this far from the time of receipt.
        case within(Duration)
        /// Any. A delivery that was once captured can then be replayed forever.
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
        public var signingSecrets: [SecretBytes]
        /// How far the signed timestamp may lie from the time of receipt.
        public var tolerance: Tolerance = .within(.seconds(300))
        /// How far the signed timestamp may lie in the future, if that differs from ``tolerance``.
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
        public var maximumBodyBytes = Limits.bodyBytes
        /// The choices that Stripe leaves to the merchant.
        public var policy = Policy()
        /// How to ask Stripe; nil if thin events are not expected, and nothing is asked about besides.
        public var lookup: Lookup?

        /// Makes a set-up with these secrets and every other value at its default.
        public init(signingSecrets: [SecretBytes]) {
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
            /// Access for this long after the unpaid period began, or after the charge for a change within a period failed.
            case grace(Duration)
            /// No access.
            case suspends
        }

        /// The access of a subscription whose collection is paused.
        @nonexhaustive
        public enum CollectionPauseAccess: Hashable, Sendable {
            /// Access continues: the merchant waives or defers the money.
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
        public var transport: any HTTPTransportProtocol
        /// A secret or restricted key that may read subscriptions and their schedules, invoices, charges, refunds, payment
        /// intents, prices and checkout sessions.
        public var apiKey: SecretBytes
        /// The API version to ask in. Without one the account's default would decide the form of answers.
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
        /// products of a checkout session and of a schedule's phases, the session of money that was held first. The lines of an
        /// invoice that shows only its first ones are asked for in any case.
        public var completesSnapshots = false

        /// Makes a set-up with every other value at its default.
        public init(transport: any HTTPTransportProtocol, apiKey: SecretBytes) {
            self.transport = transport
            self.apiKey = apiKey
        }
    }
}

extension StripeAdapter.Configuration {
    func validate() throws(ConfigurationError) {
        guard !signingSecrets.isEmpty else {
            throw ConfigurationError("configure at least one signing secret of the endpoint")
        }
        if case .within(let duration) = tolerance, duration < .zero {
            throw ConfigurationError("tolerance must not be negative")
        }
        if let skew = maximumFutureSkew, skew < .zero {
            throw ConfigurationError("maximumFutureSkew must not be negative")
        }
        guard maximumBodyBytes > 0 else { throw ConfigurationError("maximumBodyBytes must be positive") }
    }
}
