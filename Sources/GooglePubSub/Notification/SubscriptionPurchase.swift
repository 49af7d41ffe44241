public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// A subscription purchase as the Play Developer API gives it (`SubscriptionPurchaseV2`).
///
/// It is the state of one purchase token at the moment of asking. The API leaves out false, zero and empty members.
public struct SubscriptionPurchase: Sendable, Hashable {
    /// The resource, byte for byte as received.
    public let payload: [UInt8]
    let anomalies: [String]

    /// How the purchase stands.
    public let state: State
    /// The acknowledgement by the developer.
    public let acknowledgementState: AcknowledgementState?
    /// When this token was granted, which is not when the customer first subscribed; absent while payment is pending.
    public let startTime: Date?
    /// The billing country, ISO 3166-1 alpha-2.
    public let regionCode: String?
    /// The purchased products.
    public let lineItems: [LineItem]
    /// The purchase that this one takes the place of.
    public let linkedPurchaseToken: PurchaseToken?
    /// The end of renewal and its cause, in the states CANCELED and EXPIRED.
    public let cancellation: Cancellation?
    /// When a pause ends by itself, in the state PAUSED.
    public let autoResumeTime: Date?
    /// The order whose charge was declined, in grace and on hold.
    public let pendingOrderID: String?
    /// The account that the app named at purchase.
    public let accountIdentifiers: AccountIdentifiers?
    /// The purchase before a repurchase from the Play Store; gone once the new one is acknowledged.
    public let outOfAppPurchase: OutOfAppPurchase?
    /// True if a licence tester bought it.
    public let isTestPurchase: Bool
    /// The version of the resource.
    public let etag: String?

    /// `subscriptionState`
    public struct State: OpenValue {
        /// Google's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Payment is outstanding.
        public static let pending: State = "SUBSCRIPTION_STATE_PENDING"
        /// Access, and renewal as each item says.
        public static let active: State = "SUBSCRIPTION_STATE_ACTIVE"
        /// No access, by the customer's wish.
        public static let paused: State = "SUBSCRIPTION_STATE_PAUSED"
        /// Access although a renewal was declined.
        public static let inGracePeriod: State = "SUBSCRIPTION_STATE_IN_GRACE_PERIOD"
        /// No access, because a renewal was declined.
        public static let onHold: State = "SUBSCRIPTION_STATE_ON_HOLD"
        /// Access until the end of the period, and no renewal.
        public static let canceled: State = "SUBSCRIPTION_STATE_CANCELED"
        /// No access.
        public static let expired: State = "SUBSCRIPTION_STATE_EXPIRED"
        /// A payment that was outstanding came to nothing.
        public static let pendingPurchaseCanceled: State = "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED"
    }

    /// The cause of the end of renewal. It does not say why access was revoked.
    @nonexhaustive
    public enum Cancellation: Sendable, Hashable {
        /// The customer, with the time, and the choice in the survey.
        case user(at: Date?, surveyReason: String?)
        /// Google: a charge that failed, a price that was not agreed to, a purchase that was not acknowledged.
        case system
        /// The developer.
        case developer
        /// Another purchase took its place.
        case replacement
        /// Something newer.
        case unknown
    }

    /// Identifiers of the customer that the app set at purchase.
    public struct AccountIdentifiers: Sendable, Hashable {
        /// The user's account with the app, if Google links accounts.
        public let externalAccountID: String?
        /// The obfuscated account id.
        public let obfuscatedAccountID: String?
        /// The obfuscated profile id.
        public let obfuscatedProfileID: String?
    }

    /// The purchase before a repurchase outside the app.
    public struct OutOfAppPurchase: Sendable, Hashable {
        /// The account of the expired purchase.
        public let accountIdentifiers: AccountIdentifiers?
        /// The expired purchase.
        public let expiredPurchaseToken: PurchaseToken?
    }

    /// One item of the purchase.
    public struct LineItem: Sendable, Hashable {
        /// The product.
        public let productID: String
        /// When access ends; absent if it is not owned yet.
        public let expiryTime: Date?
        /// The last order for it that was paid; absent if it is not owned yet.
        public let latestSuccessfulOrderID: String?
        /// How it renews; absent for prepaid plans.
        public let autoRenewingPlan: AutoRenewingPlan?
        /// True if it was paid in advance.
        public let isPrepaid: Bool
        /// From when on it can be topped up.
        public let allowExtendAfterTime: Date?
        /// The base plan.
        public let basePlanID: String?
        /// The offer, for discounted ones.
        public let offerID: String?
        /// The developer's tags of the base plan and the offer.
        public let offerTags: [String]
        /// Under which terms it is used now.
        public let offerPhase: OfferPhase?
        /// The promotion that it was signed up with.
        public let signupPromotion: SignupPromotion?
        /// The product that takes its place when it expires.
        public let deferredReplacement: String?
        /// True if it goes when it expires.
        public let isRemovalDeferred: Bool
        /// The item that it has replaced.
        public let replacement: Replacement?
    }

    /// `autoRenewingPlan`
    public struct AutoRenewingPlan: Sendable, Hashable {
        /// True if it renews.
        public let isAutoRenewEnabled: Bool
        /// The regular price, without tax and discounts.
        public let recurringPrice: Money?
        /// The last change of price since sign-up.
        public let priceChange: PriceChange?
        /// A step-up in price that needs consent.
        public let stepUpConsent: StepUpConsent?
        /// A commitment to pay in instalments.
        public let installments: Installments?
    }

    /// `priceChangeDetails`
    public struct PriceChange: Sendable, Hashable {
        /// The price after.
        public let newPrice: Money?
        /// The kind of change.
        public let mode: Mode?
        /// How far it has come.
        public let state: State?
        /// When the new price is charged first.
        public let expectedChargeTime: Date?

        /// `priceChangeMode`
        public struct Mode: OpenValue {
            /// Google's name.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }
            /// Lower.
            public static let decrease: Mode = "PRICE_DECREASE"
            /// Higher, and the customer has to agree.
            public static let increase: Mode = "PRICE_INCREASE"
            /// Higher, and the customer can only cancel.
            public static let optOutIncrease: Mode = "OPT_OUT_PRICE_INCREASE"
        }

        /// `priceChangeState`
        public struct State: OpenValue {
            /// Google's name.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }
            /// Waiting for the customer.
            public static let outstanding: State = "OUTSTANDING"
            /// Agreed to, and not charged yet.
            public static let confirmed: State = "CONFIRMED"
            /// Charged.
            public static let applied: State = "APPLIED"
            /// Dropped.
            public static let canceled: State = "CANCELED"
        }
    }

    /// `priceStepUpConsentDetails`
    public struct StepUpConsent: Sendable, Hashable {
        /// How far consent has come.
        public let state: State?
        /// By when it is wanted; without it Google cancels.
        public let deadline: Date?
        /// The price after.
        public let newPrice: Money?

        /// `state`
        public struct State: OpenValue {
            /// Google's name.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }
            /// Not given yet.
            public static let pending: State = "PENDING"
            /// Given.
            public static let confirmed: State = "CONFIRMED"
            /// The new price is charged.
            public static let completed: State = "COMPLETED"
        }
    }

    /// `installmentDetails`
    public struct Installments: Sendable, Hashable {
        /// Payments that the customer committed to at first.
        public let initialCommittedPayments: Int64?
        /// Payments that each renewal of the commitment adds.
        public let subsequentCommittedPayments: Int64?
        /// Payments that are still owed.
        public let remainingCommittedPayments: Int64?
        /// True if the customer has canceled, with effect from the end of the commitment.
        public let isCancellationPending: Bool
    }

    /// `offerPhase`
    @nonexhaustive
    public enum OfferPhase: Sendable, Hashable {
        /// The regular price.
        case base
        /// An introductory price.
        case introductory
        /// Free of charge.
        case freeTrial
        /// Time that a replaced purchase was worth, in that purchase's phase.
        case proration(originalPhase: String?)
        /// Something newer.
        case unknown
    }

    /// `signupPromotion`
    @nonexhaustive
    public enum SignupPromotion: Sendable, Hashable {
        /// A code that works once.
        case oneTimeCode
        /// A code that many can use.
        case vanityCode(String?)
        /// Something newer.
        case unknown
    }

    /// `itemReplacement`
    public struct Replacement: Sendable, Hashable {
        /// The product before.
        public let productID: String?
        /// The base plan before.
        public let basePlanID: String?
        /// The offer before.
        public let offerID: String?
        /// The treatment of the unused part's money.
        public let mode: Mode?

        /// `replacementMode`
        public struct Mode: OpenValue {
            /// Google's name.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }
            /// The unused part becomes time.
            public static let withTimeProration: Mode = "WITH_TIME_PRORATION"
            /// The new price less the unused part is charged.
            public static let chargeProratedPrice: Mode = "CHARGE_PRORATED_PRICE"
            /// The new price is charged from the next renewal on.
            public static let withoutProration: Mode = "WITHOUT_PRORATION"
            /// The new price is charged in full.
            public static let chargeFullPrice: Mode = "CHARGE_FULL_PRICE"
            /// The new item begins with the next renewal.
            public static let deferred: Mode = "DEFERRED"
            /// The item stays as it was, next to others that change.
            public static let keepExisting: Mode = "KEEP_EXISTING"
        }
    }
}

/// `acknowledgementState`
public struct AcknowledgementState: OpenValue {
    /// Google's name.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Google will refund and revoke it unless the developer acknowledges it in time.
    public static let pending: AcknowledgementState = "ACKNOWLEDGEMENT_STATE_PENDING"
    /// Done.
    public static let acknowledged: AcknowledgementState = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED"
}

extension SubscriptionPurchase {
    /// Decodes a resource.
    ///
    /// - Throws: `JSONError` if a time, an amount or an identifier is of the wrong type, or the state or the items
    ///   are missing.
    package init(payload: [UInt8]) throws(JSONError) {
        var reader = try ObjectReader(parsing: payload)
        self.payload = payload
        state = State(rawValue: try reader.identifier("subscriptionState"))
        acknowledgementState = try reader.optionalOpen("acknowledgementState")
        startTime = try reader.optionalTime("startTime")
        regionCode = reader.descriptiveCountry("regionCode")
        linkedPurchaseToken = try reader.optionalToken("linkedPurchaseToken")
        cancellation = try reader.optionalReader("canceledStateContext").map(Cancellation.init)
        autoResumeTime = try reader.optionalReader("pausedStateContext")?.optionalTime("autoResumeTime")
        var declined = try reader.optionalReader("inGracePeriodStateContext")?.optionalReader("renewalDeclined")
        if declined == nil {
            declined = try reader.optionalReader("onHoldStateContext")?.optionalReader("renewalDeclined")
        }
        pendingOrderID = try declined?.optionalIdentifier("pendingOrderId")
        accountIdentifiers = try reader.optionalReader("externalAccountIdentifiers").map(AccountIdentifiers.init)
        outOfAppPurchase = try reader.optionalReader("outOfAppPurchaseContext").map {
            (context) throws(JSONError) in
            OutOfAppPurchase(
                accountIdentifiers: try context.optionalReader("expiredExternalAccountIdentifiers")
                    .map(AccountIdentifiers.init),
                expiredPurchaseToken: try context.optionalToken("expiredPurchaseToken")
            )
        }
        isTestPurchase = reader.isPresent("testPurchase")
        etag = reader.descriptiveString("etag")
        let items = try reader.array("lineItems")
        guard (1...Limits.lineItems).contains(items.count) else {
            throw try reader.value("lineItems").error(.integerOutOfRange)
        }
        var lineItems: [LineItem] = []
        for item in items { lineItems.append(try LineItem(ObjectReader(item))) }
        self.lineItems = lineItems
        anomalies = reader.anomalies
    }
}

extension SubscriptionPurchase.Cancellation {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        if let user = try reader.optionalReader("userInitiatedCancellation") {
            let survey = try user.optionalReader("cancelSurveyResult")
            self = .user(
                at: try user.optionalTime("cancelTime"),
                surveyReason: try survey?.optionalIdentifier("reason")
            )
        } else if reader.isPresent("systemInitiatedCancellation") {
            self = .system
        } else if reader.isPresent("developerInitiatedCancellation") {
            self = .developer
        } else if reader.isPresent("replacementCancellation") {
            self = .replacement
        } else {
            self = .unknown
        }
    }
}

extension SubscriptionPurchase.AccountIdentifiers {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        externalAccountID = try reader.optionalIdentifier("externalAccountId")
        obfuscatedAccountID = try reader.optionalIdentifier("obfuscatedExternalAccountId")
        obfuscatedProfileID = try reader.optionalIdentifier("obfuscatedExternalProfileId")
    }
}

extension SubscriptionPurchase.LineItem {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        productID = try reader.identifier("productId")
        expiryTime = try reader.optionalTime("expiryTime")
        latestSuccessfulOrderID = try reader.optionalIdentifier("latestSuccessfulOrderId")
        autoRenewingPlan = try reader.optionalReader("autoRenewingPlan").map(SubscriptionPurchase.AutoRenewingPlan.init)
        let prepaid = try reader.optionalReader("prepaidPlan")
        isPrepaid = prepaid != nil
        allowExtendAfterTime = try prepaid?.optionalTime("allowExtendAfterTime")
        var offer = try reader.optionalReader("offerDetails")
        basePlanID = try offer?.optionalIdentifier("basePlanId")
        offerID = try offer?.optionalIdentifier("offerId")
        offerTags = offer?.descriptiveStrings("offerTags") ?? []
        offerPhase = try reader.optionalReader("offerPhase").map(SubscriptionPurchase.OfferPhase.init)
        signupPromotion = try reader.optionalReader("signupPromotion").map(SubscriptionPurchase.SignupPromotion.init)
        deferredReplacement = try reader.optionalReader("deferredItemReplacement")?.identifier("productId")
        isRemovalDeferred = reader.isPresent("deferredItemRemoval")
        replacement = try reader.optionalReader("itemReplacement").map(SubscriptionPurchase.Replacement.init)
    }
}

extension SubscriptionPurchase.AutoRenewingPlan {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        isAutoRenewEnabled = try reader.optionalBool("autoRenewEnabled") ?? false
        recurringPrice = try reader.optionalMoney("recurringPrice")
        priceChange = try reader.optionalReader("priceChangeDetails").map { (details) throws(JSONError) in
            SubscriptionPurchase.PriceChange(
                newPrice: try details.optionalMoney("newPrice"),
                mode: try details.optionalOpen("priceChangeMode"),
                state: try details.optionalOpen("priceChangeState"),
                expectedChargeTime: try details.optionalTime("expectedNewPriceChargeTime")
            )
        }
        stepUpConsent = try reader.optionalReader("priceStepUpConsentDetails").map { (details) throws(JSONError) in
            SubscriptionPurchase.StepUpConsent(
                state: try details.optionalOpen("state"),
                deadline: try details.optionalTime("consentDeadlineTime"),
                newPrice: try details.optionalMoney("newPrice")
            )
        }
        installments = try reader.optionalReader("installmentDetails").map { (details) throws(JSONError) in
            SubscriptionPurchase.Installments(
                initialCommittedPayments: try details.optionalWireInteger("initialCommittedPaymentsCount"),
                subsequentCommittedPayments: try details.optionalWireInteger("subsequentCommittedPaymentsCount"),
                remainingCommittedPayments: try details.optionalWireInteger("remainingCommittedPaymentsCount"),
                isCancellationPending: details.isPresent("pendingCancellation")
            )
        }
    }
}

extension SubscriptionPurchase.OfferPhase {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        if reader.isPresent("freeTrial") {
            self = .freeTrial
        } else if reader.isPresent("introductoryPrice") {
            self = .introductory
        } else if let proration = try reader.optionalReader("prorationPeriod") {
            self = .proration(originalPhase: try proration.optionalIdentifier("originalOfferPhaseType"))
        } else if reader.isPresent("basePrice") {
            self = .base
        } else {
            self = .unknown
        }
    }
}

extension SubscriptionPurchase.SignupPromotion {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        if reader.isPresent("oneTimeCode") {
            self = .oneTimeCode
        } else if let vanity = try reader.optionalReader("vanityCode") {
            self = .vanityCode(try vanity.optionalIdentifier("promotionCode"))
        } else {
            self = .unknown
        }
    }
}

extension SubscriptionPurchase.Replacement {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        productID = try reader.optionalIdentifier("productId")
        basePlanID = try reader.optionalIdentifier("basePlanId")
        offerID = try reader.optionalIdentifier("offerId")
        mode = try reader.optionalOpen("replacementMode")
    }
}
