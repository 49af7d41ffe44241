public import FoundationEssentials

/// A ``LifecycleEvent`` with everything a backend needs to store it, to act on it once, and to explain it later.
///
/// It is a pure function of the authenticated statement: the same notification always gives the same event. As JSON it
/// has the form of `docs/event-schema.md`, whatever encoder writes it.
public struct NormalizedEvent: Hashable, Sendable, Identifiable {
    /// The identity of the fact: the same on redelivery and from any channel that can know it.
    public var id: EventID
    /// The event in the common vocabulary.
    public var event: LifecycleEvent
    /// The service that reported it.
    public var provider: Provider
    /// Where the purchase lives.
    public var store: PurchaseStore
    /// The store's world that it lives in.
    public var environment: StoreEnvironment
    // `Optional` in full, here and elsewhere: a `?` would make `init` store nil first and, at its end, copy the value, which takes 13 %
    // more instructions for a webhook of RevenueCat's from its body to its events, and 6 % for one of Stripe's.

    /// The app it concerns: bundle id, package name, Stripe account.
    public var app: Optional<String>
    /// The lineage that it belongs to; absent for notifications about no purchase.
    public var subscription: Optional<SubscriptionID>
    /// The store's transaction or order that it concerns.
    public var transaction: Optional<TransactionID>
    /// The account that the purchase belongs to, as far as stated.
    public var account: Optional<Account>
    /// The product that it concerns.
    public var product: Optional<PurchasedProduct>
    /// The period of the transaction.
    public var period: Optional<ServicePeriod>
    /// The price of the transaction.
    public var price: Optional<Price>
    /// The country of the sale, as the store bills it: two letters (ISO 3166-1 alpha-2). Absent if the store does not say.
    /// RevenueCat states the country that it has on file for the customer.
    public var country: Optional<String>
    /// The commitment to several payments that the transaction is one of.
    public var commitment: Optional<Commitment>
    /// The store's own name of the line of its order, if it has one in addition to the transaction: Apple's
    /// `webOrderLineItemId`.
    public var lineItem: Optional<String>
    /// The things that the transaction pays for, if the store states several with prices of their own.
    public var items: Optional<[PurchasedItem]>
    /// The plan for the end of the period.
    public var renewal: Optional<RenewalTerms>
    /// When it happened.
    @EventTime public var occurredAt: Date
    /// From when it has effect: the start of a paid period, the end of a cancelled one, the date of a planned change.
    @EventTime public var effectiveAt: Date
    /// When the store signed or created the statement. It orders statements, whatever order they arrive in.
    @EventTime public var assertedAt: Date
    /// When the statement reached us.
    @EventTime public var receivedAt: Date
    /// The store's assertions. State is computed from these alone.
    public var facts: [Fact]
    /// Where the event comes from.
    public var origin: Origin

    /// Makes an event.
    public init(
        id: EventID,
        event: LifecycleEvent,
        provider: Provider,
        store: PurchaseStore,
        environment: StoreEnvironment,
        app: String? = nil,
        subscription: SubscriptionID? = nil,
        transaction: TransactionID? = nil,
        account: Account? = nil,
        product: PurchasedProduct? = nil,
        period: ServicePeriod? = nil,
        price: Price? = nil,
        country: String? = nil,
        commitment: Commitment? = nil,
        lineItem: String? = nil,
        items: [PurchasedItem]? = nil,
        renewal: RenewalTerms? = nil,
        occurredAt: Date,
        effectiveAt: Date,
        assertedAt: Date,
        receivedAt: Date,
        facts: [Fact] = [],
        origin: Origin
    ) {
        self.id = id
        self.event = event
        self.provider = provider
        self.store = store
        self.environment = environment
        self.app = app
        self.subscription = subscription
        self.transaction = transaction
        self.account = account
        self.product = product
        self.period = period
        self.price = price
        self.country = country
        self.commitment = commitment
        self.lineItem = lineItem
        self.items = items
        self.renewal = renewal
        self.occurredAt = occurredAt
        self.effectiveAt = effectiveAt
        self.assertedAt = assertedAt
        self.receivedAt = receivedAt
        self.facts = facts
        self.origin = origin
    }

    /// The name of the event's case.
    public var kind: LifecycleEvent.Kind { event.kind }
}

extension NormalizedEvent: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, provider, store, environment, app, subscription, transaction, account, product, period, price, country
        case commitment, items, renewal, facts, origin
        case lineItem = "line_item"
        case occurredAt = "occurred_at"
        case effectiveAt = "effective_at"
        case assertedAt = "asserted_at"
        case receivedAt = "received_at"
    }

    /// Reads the documented form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(EventID.self, forKey: .id)
        event = try LifecycleEvent(from: decoder)
        provider = try container.decode(Provider.self, forKey: .provider)
        store = try container.decode(PurchaseStore.self, forKey: .store)
        environment = try container.decode(StoreEnvironment.self, forKey: .environment)
        app = try container.decodeIfPresent(String.self, forKey: .app)
        subscription = try container.decodeIfPresent(SubscriptionID.self, forKey: .subscription)
        transaction = try container.decodeIfPresent(TransactionID.self, forKey: .transaction)
        account = try container.decodeIfPresent(Account.self, forKey: .account)
        product = try container.decodeIfPresent(PurchasedProduct.self, forKey: .product)
        period = try container.decodeIfPresent(ServicePeriod.self, forKey: .period)
        price = try container.decodeIfPresent(Price.self, forKey: .price)
        country = try container.decodeIfPresent(String.self, forKey: .country)
        commitment = try container.decodeIfPresent(Commitment.self, forKey: .commitment)
        lineItem = try container.decodeIfPresent(String.self, forKey: .lineItem)
        items = try container.decodeIfPresent([PurchasedItem].self, forKey: .items)
        renewal = try container.decodeIfPresent(RenewalTerms.self, forKey: .renewal)
        _occurredAt = try container.decode(EventTime.self, forKey: .occurredAt)
        _effectiveAt = try container.decode(EventTime.self, forKey: .effectiveAt)
        _assertedAt = try container.decode(EventTime.self, forKey: .assertedAt)
        _receivedAt = try container.decode(EventTime.self, forKey: .receivedAt)
        facts = try container.decodeIfPresent([Fact].self, forKey: .facts) ?? []
        origin = try container.decode(Origin.self, forKey: .origin)
    }

    /// Writes the documented form: `kind` and `detail` in place of `event`, absent members left out.
    public func encode(to encoder: any Encoder) throws {
        try event.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(provider, forKey: .provider)
        try container.encode(store, forKey: .store)
        try container.encode(environment, forKey: .environment)
        try container.encodeIfPresent(app, forKey: .app)
        try container.encodeIfPresent(subscription, forKey: .subscription)
        try container.encodeIfPresent(transaction, forKey: .transaction)
        try container.encodeIfPresent(account, forKey: .account)
        try container.encodeIfPresent(product, forKey: .product)
        try container.encodeIfPresent(period, forKey: .period)
        try container.encodeIfPresent(price, forKey: .price)
        try container.encodeIfPresent(country, forKey: .country)
        try container.encodeIfPresent(commitment, forKey: .commitment)
        try container.encodeIfPresent(lineItem, forKey: .lineItem)
        try container.encodeIfPresent(items, forKey: .items)
        try container.encodeIfPresent(renewal, forKey: .renewal)
        try container.encode(_occurredAt, forKey: .occurredAt)
        try container.encode(_effectiveAt, forKey: .effectiveAt)
        try container.encode(_assertedAt, forKey: .assertedAt)
        try container.encode(_receivedAt, forKey: .receivedAt)
        if !facts.isEmpty { try container.encode(facts, forKey: .facts) }
        try container.encode(origin, forKey: .origin)
    }
}

// An event holds a provider's data about a person. Printing it shows which event it is, and nothing of its content.
extension NormalizedEvent: Redacted {
    /// Provider, kind and id.
    public var description: String { "\(provider) \(kind) \(id)" }
}

/// The source of an event: the provider's own words for it, and its proof.
public struct Origin: Hashable, Sendable, Codable {
    /// By which way a statement reached us.
    public struct Channel: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The provider called our endpoint.
        public static let webhook: Channel = "webhook"
        /// We took it from the provider's queue.
        public static let pull: Channel = "pull"
        /// We read it from the provider's record of past notifications.
        public static let history: Channel = "history"
        /// We asked the provider for the current state.
        public static let refetch: Channel = "refetch"
        /// A client sent us data that the store had signed.
        public static let clientUpload: Channel = "client_upload"
        /// The simulator made it.
        public static let simulated: Channel = "simulated"
    }

    /// The kind of statement, if the adapter knows more than the event says.
    ///
    /// An adapter marks its statements with this, so that a reader of states and events compares no wire words.
    public struct Speech: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The store says that a purchase renewed, even if the event says that it started, since the purchase's start
        /// is unknown.
        public static let renewal: Speech = "renewal"
    }

    /// The proof that a statement is the provider's.
    public struct Evidence: Hashable, Sendable, Codable {
        /// How it is proven.
        public struct Method: OpenValue {
            /// The name used in JSON.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// A JWS signed by a certificate under a pinned root.
            public static let jwsX5C: Method = "jws_x5c"
            /// An OpenID Connect token of the sender; it does not cover the body.
            public static let oidc: Method = "oidc"
            /// A keyed digest over time and body.
            public static let hmac: Method = "hmac_sha256"
            /// A shared secret in a header; it does not cover the body.
            public static let sharedSecret: Method = "shared_secret"
            /// A TLS connection to the provider's own host.
            public static let tls: Method = "tls"
            /// Nothing: configured so, or replayed from a record that was proven before.
            public static let unchecked: Method = "unchecked"
        }

        /// How it is proven.
        public var method: Method
        /// Which key or certificate proved it: a key id, or a SHA-256 fingerprint in hexadecimal.
        public var key: String?

        /// Makes evidence.
        public init(_ method: Method, key: String? = nil) {
            self.method = method
            self.key = key
        }
    }

    /// A statement's step in the life of the store's object.
    ///
    /// The adapter names contents by a digest of the parts that it reads. Two statements of one moment are in order if
    /// the one begins with the content that the other leads to.
    public struct Revision: Hashable, Sendable, Codable {
        /// The content before the step; empty if the object began with it, nil if the store does not say.
        public var before: Optional<String>
        /// The content since the step; empty if the object ended with it.
        public var after: String
        /// True if the content before came about in the same moment, so that another step of that moment led to it; nil
        /// if the store does not show that.
        public var follows: Optional<Bool>

        /// Makes a revision.
        public init(before: String?, after: String, follows: Bool? = nil) {
            self.before = before
            self.after = after
            self.follows = follows
        }
    }

    /// The provider's type of the notification, verbatim.
    public var type: String
    // `Optional` in full: as in `NormalizedEvent`.

    /// The provider's subtype, verbatim.
    public var subtype: Optional<String>
    /// The provider's own identity of the notification, for de-duplication of transport.
    public var notificationID: Optional<String>
    /// The way by which it reached us.
    public var channel: Channel
    /// The proof of its origin.
    public var evidence: Evidence
    /// The SHA-256 of the raw bytes, in hexadecimal. It is computed when it is first read, compared or encoded, and the
    /// raw bytes stay in memory until then.
    public var digest: String {
        get { bodyDigest.text }
        set { bodyDigest = BodyDigest(newValue) }
    }
    private var bodyDigest: BodyDigest
    /// Which version of the mapping made the event, such as `apple/1`.
    public var mapper: String
    /// The kind of statement; absent if the event says all of it.
    public var speech: Optional<Speech>
    /// The step of the store's object, if the store states the content before it.
    public var revision: Optional<Revision>

    /// Makes an origin.
    public init(
        type: String,
        subtype: String? = nil,
        notificationID: String? = nil,
        channel: Channel,
        evidence: Evidence,
        digest: String,
        mapper: String,
        speech: Speech? = nil,
        revision: Revision? = nil
    ) {
        self.init(
            type: type,
            subtype: subtype,
            notificationID: notificationID,
            channel: channel,
            evidence: evidence,
            digest: BodyDigest(digest),
            mapper: mapper,
            speech: speech,
            revision: revision
        )
    }

    package init(
        type: String,
        subtype: String? = nil,
        notificationID: String? = nil,
        channel: Channel,
        evidence: Evidence,
        digest: BodyDigest,
        mapper: String,
        speech: Speech? = nil,
        revision: Revision? = nil
    ) {
        self.type = type
        self.subtype = subtype
        self.notificationID = notificationID
        self.channel = channel
        self.evidence = evidence
        self.bodyDigest = digest
        self.mapper = mapper
        self.speech = speech
        self.revision = revision
    }

    private enum CodingKeys: String, CodingKey {
        case type, subtype, channel, evidence, mapper, speech, revision
        case bodyDigest = "digest"
        case notificationID = "notification_id"
    }
}
