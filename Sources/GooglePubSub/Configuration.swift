/// What a receiver of Google Play's notifications expects. Nothing in a message switches any of it off.
public struct GooglePlayConfiguration: Sendable {
    /// How a push is proven: the OpenID Connect token that Pub/Sub signs for us.
    public struct Push: Sendable {
        /// The token's audience, as set on the subscription; without one Pub/Sub uses the whole URL of the endpoint.
        public var audience: String
        /// The e-mail address of the service account that the subscription signs its pushes as.
        public var serviceAccountEmail: String
        /// That account's numeric id (`sub`), which is never given to another account; nil accepts any.
        public var serviceAccountID: String?
        /// How far Google's clock and ours may differ, at most five minutes.
        public var clockSkew: Duration

        /// Describes the token of a push.
        public init(
            audience: String,
            serviceAccountEmail: String,
            serviceAccountID: String? = nil,
            clockSkew: Duration = .seconds(60)
        ) {
            self.audience = audience
            self.serviceAccountEmail = serviceAccountEmail
            self.serviceAccountID = serviceAccountID
            self.clockSkew = clockSkew
        }
    }

    /// Which orders are looked up beside the purchase. Orders tell amounts and refunds, and need the permission to
    /// view financial data.
    @nonexhaustive
    public enum OrderLookup: Sendable, Hashable {
        /// None.
        case never
        /// The order of a voided purchase.
        case voided
        /// Those, and the last paid order behind a purchase, a renewal or a recovery.
        case charged
    }

    /// The apps whose notifications are expected, by package name.
    public var packageNames: Set<String>
    /// The full names of the subscriptions that are expected (`projects/P/subscriptions/S`); empty for any.
    public var subscriptions: Set<String>
    /// How a push is proven; nil where messages are only pulled, and every push is then refused.
    public var push: Push?
    /// Which orders are looked up.
    public var orderLookup: OrderLookup = .voided
    /// How many predecessors of a subscription's token are looked up at most, to find where its lineage began.
    public var maximumPredecessors: Int = 10
    /// For how long after an event missing rights are answered with a wish for redelivery, so that somebody can grant
    /// them (which takes Google up to two days). Later ones are accepted, to be kept and looked at.
    public var deniedRetryWindow: Duration = .seconds(3 * 86_400)
    /// The longest body that is read, in bytes.
    public var maximumBodyBytes: Int = 1 << 20

    /// Describes what to expect.
    public init(packageNames: Set<String>, subscriptions: Set<String> = [], push: Push?) {
        self.packageNames = packageNames
        self.subscriptions = subscriptions
        self.push = push
    }
}
