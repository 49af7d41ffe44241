public import LifecycleEvents

// Values that RevenueCat may add to at any time. A known value has a name; any other is kept as it came.

extension RevenueCatEvent {
    /// `type`
    public struct EventType: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The dashboard's test.
        public static let test: EventType = "TEST"
        /// The first purchase of a subscription.
        public static let initialPurchase: EventType = "INITIAL_PURCHASE"
        /// Another period of a subscription.
        public static let renewal: EventType = "RENEWAL"
        /// Renewal turned off, a failed charge, a refund, or a grant taken back.
        public static let cancellation: EventType = "CANCELLATION"
        /// Renewal turned on again.
        public static let uncancellation: EventType = "UNCANCELLATION"
        /// A one-time product, a subscription that does not renew, or a promotional grant.
        public static let nonRenewingPurchase: EventType = "NON_RENEWING_PURCHASE"
        /// A pause that begins when the period ends.
        public static let subscriptionPaused: EventType = "SUBSCRIPTION_PAUSED"
        /// Access ended.
        public static let expiration: EventType = "EXPIRATION"
        /// A charge failed.
        public static let billingIssue: EventType = "BILLING_ISSUE"
        /// Another product was chosen.
        public static let productChange: EventType = "PRODUCT_CHANGE"
        /// Purchases moved between customers.
        public static let transfer: EventType = "TRANSFER"
        /// The current period ends later than before.
        public static let subscriptionExtended: EventType = "SUBSCRIPTION_EXTENDED"
        /// Access before the store could be asked.
        public static let temporaryEntitlementGrant: EventType = "TEMPORARY_ENTITLEMENT_GRANT"
        /// A refund was undone.
        public static let refundReversed: EventType = "REFUND_REVERSED"
        /// An invoice was issued.
        public static let invoiceIssuance: EventType = "INVOICE_ISSUANCE"
        /// A balance of virtual currency changed.
        public static let virtualCurrencyTransaction: EventType = "VIRTUAL_CURRENCY_TRANSACTION"
        /// A customer entered an experiment.
        public static let experimentEnrollment: EventType = "EXPERIMENT_ENROLLMENT"
        /// Two ids of one customer were joined. New projects do not get it.
        public static let subscriberAlias: EventType = "SUBSCRIBER_ALIAS"
        /// A purchase on the web was claimed in the app.
        public static let purchaseRedeemed: EventType = "PURCHASE_REDEEMED"
        /// The store asks for consent to a price increase.
        public static let priceIncreaseConsentRequired: EventType = "PRICE_INCREASE_CONSENT_REQUIRED"
        /// The customer agreed to a price increase.
        public static let priceIncreaseConsentApproved: EventType = "PRICE_INCREASE_CONSENT_APPROVED"
        /// A paywall was shown.
        public static let paywallImpression: EventType = "PAYWALL_IMPRESSION"
        /// A paywall was closed.
        public static let paywallClose: EventType = "PAYWALL_CLOSE"
        /// A purchase was given up on a paywall.
        public static let paywallCancel: EventType = "PAYWALL_CANCEL"
        /// An exit offer was shown.
        public static let paywallExitOffer: EventType = "PAYWALL_EXIT_OFFER"
        /// Something on a paywall was touched.
        public static let paywallComponentInteracted: EventType = "PAYWALL_COMPONENT_INTERACTED"

        /// True if it moves access, renewal or money, so that its fields must be as documented.
        var isLifecycle: Bool {
            switch self {
            case .initialPurchase, .renewal, .cancellation, .uncancellation, .nonRenewingPurchase,
                .subscriptionPaused, .expiration, .billingIssue, .productChange, .transfer, .subscriptionExtended,
                .temporaryEntitlementGrant, .refundReversed, .priceIncreaseConsentRequired,
                .priceIncreaseConsentApproved:
                true
            default: false
            }
        }
    }

    /// `cancel_reason` and `expiration_reason`
    public struct Reason: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer turned renewal off.
        public static let unsubscribe: Reason = "UNSUBSCRIBE"
        /// A charge failed.
        public static let billingError: Reason = "BILLING_ERROR"
        /// The developer ended it.
        public static let developerInitiated: Reason = "DEVELOPER_INITIATED"
        /// A price increase was not agreed to.
        public static let priceIncrease: Reason = "PRICE_INCREASE"
        /// The store's support gave the money back.
        public static let customerSupport: Reason = "CUSTOMER_SUPPORT"
        /// The subscription paused. Only of an expiration.
        public static let subscriptionPaused: Reason = "SUBSCRIPTION_PAUSED"
        /// RevenueCat does not know.
        public static let unknown: Reason = "UNKNOWN"
    }

    /// `period_type`
    public struct PeriodType: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Free of charge, at the beginning.
        public static let trial: PeriodType = "TRIAL"
        /// At an introductory price.
        public static let intro: PeriodType = "INTRO"
        /// At the regular price.
        public static let normal: PeriodType = "NORMAL"
        /// Granted.
        public static let promotional: PeriodType = "PROMOTIONAL"
        /// Paid in advance, without renewal.
        public static let prepaid: PeriodType = "PREPAID"

        var phase: PeriodPhase {
            switch self {
            case .trial: .trial
            case .intro: .introductory
            case .promotional: .promotional
            case .prepaid: .prepaid
            default: .regular
            }
        }
    }

    /// `store`
    public struct StoreName: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple's App Store.
        public static let appStore: StoreName = "APP_STORE"
        /// Apple's Mac App Store.
        public static let macAppStore: StoreName = "MAC_APP_STORE"
        /// Google Play.
        public static let playStore: StoreName = "PLAY_STORE"
        /// Stripe.
        public static let stripe: StoreName = "STRIPE"
        /// Amazon Appstore.
        public static let amazon: StoreName = "AMAZON"
        /// Roku.
        public static let roku: StoreName = "ROKU"
        /// Paddle.
        public static let paddle: StoreName = "PADDLE"
        /// RevenueCat Web Billing.
        public static let rcBilling: StoreName = "RC_BILLING"
        /// RevenueCat's test store.
        public static let testStore: StoreName = "TEST_STORE"
        /// A grant without a store.
        public static let promotional: StoreName = "PROMOTIONAL"

        /// The canonical names are RevenueCat's in lower case, and REST answers use those.
        package var canonical: PurchaseStore { PurchaseStore(rawValue: rawValue.lowercased()) }
    }

    /// `environment`
    public struct Environment: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Real money.
        public static let production: Environment = "PRODUCTION"
        /// The store's test world.
        public static let sandbox: Environment = "SANDBOX"

        package var canonical: StoreEnvironment {
            switch self {
            case .production: .production
            case .sandbox: .sandbox
            default: StoreEnvironment(rawValue: rawValue)
            }
        }
    }
}
