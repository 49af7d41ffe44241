import LifecycleEvents

extension GooglePlayAdapter {
    /// The expectations of a receiver of Google Play's notifications. Nothing in a message switches any of them off.
    public struct Configuration: Sendable {
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

        /// The orders to look up in addition to the purchase. Orders state amounts and refunds, and need the permission
        /// to view financial data.
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
        /// How a push is proven; nil if messages are only pulled, and every push is then refused.
        public var push: Push?
        /// Which orders are looked up.
        public var orderLookup: OrderLookup = .voided
        /// True to look up the row of a voided purchase on the list of voided purchases, which alone says who took the
        /// purchase back, and why. An app has 30 such requests in 30 seconds, and 6000 a day.
        public var looksUpVoidedPurchases: Bool = false
        /// For how long after an event an answer that does not show it yet is taken for that of a server that lags behind,
        /// and the notification is wanted again, 0 to 600 seconds. From then on every answer is final.
        public var settlingWindow: Duration = .seconds(60)
        /// How many predecessors of a subscription's token are looked up at most, to find where its lineage began.
        public var maximumPredecessors: Int = 10
        /// For how long after an event missing rights are answered with a wish for redelivery, so that you can grant
        /// them (which takes Google up to two days). Later ones are accepted, to be kept and looked at.
        public var deniedRetryWindow: Duration = .seconds(3 * 86_400)
        /// The products that are only sold as add-ons of another subscription, by product id. Google does not say which item
        /// of a purchase is its base; without this it is the one whose product id sorts first.
        public var addOns: Set<String> = []
        /// The longest body that is read, in bytes.
        public var maximumBodyBytes: Int = Limits.bodyBytes

        /// Describes the expected deliveries.
        public init(packageNames: Set<String>, subscriptions: Set<String> = [], push: Push?) {
            self.packageNames = packageNames
            self.subscriptions = subscriptions
            self.push = push
        }

        func validate() throws(ConfigurationError) {
            guard !packageNames.isEmpty else { throw ConfigurationError("configure at least one package name") }
            guard packageNames.allSatisfy(PackageName.isValid) else {
                throw ConfigurationError("a package name must be an application id such as com.example.app")
            }
            guard subscriptions.allSatisfy({ SubscriptionName($0) != nil }) else {
                throw ConfigurationError("a subscription must be projects/P/subscriptions/S")
            }
            if let push {
                guard !push.audience.isBlank else { throw ConfigurationError("push.audience must not be blank") }
                guard push.serviceAccountEmail.utf8.contains(UInt8(ascii: "@")), !push.serviceAccountEmail.isBlank
                else {
                    throw ConfigurationError("push.serviceAccountEmail must be an e-mail address")
                }
                guard !(push.serviceAccountID?.isBlank ?? false) else {
                    throw ConfigurationError("push.serviceAccountID must not be blank")
                }
                guard .zero ... .seconds(300) ~= push.clockSkew else {
                    throw ConfigurationError("push.clockSkew must be between 0 and 300 seconds")
                }
            }
            guard 0...50 ~= maximumPredecessors else {
                throw ConfigurationError("maximumPredecessors must be between 0 and 50")
            }
            guard .zero ... .seconds(600) ~= settlingWindow else {
                throw ConfigurationError("settlingWindow must be between 0 and 600 seconds")
            }
            guard maximumBodyBytes > 0, deniedRetryWindow >= .zero else {
                throw ConfigurationError("maximumBodyBytes must be positive and deniedRetryWindow not negative")
            }
        }
    }
}

extension String {
    var isBlank: Bool { utf8.allSatisfy { $0 <= 0x20 || $0 == 0x7F } }
}
