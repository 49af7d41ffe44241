public import LifecycleEvents

/// An act that only the App Store has, or has in more detail. Each gives one notification.
@nonexhaustive
public enum AppStoreAct: ProviderAct {
    /// The customer subscribes with an offer of the App Store's, for the first time or again.
    case subscribe(CustomerStory.Plan, offer: AppStoreOffer)
    /// The customer redeems an offer that begins with the next period.
    case redeem(AppStoreOffer)
    /// The developer changes the price through the Advanced Commerce API, in thousandths of the currency's unit.
    case changePrice(to: Int64)
    /// The developer changes names or descriptions through the Advanced Commerce API.
    case updateMetadata
    /// The developer moves the subscription to the Advanced Commerce API.
    case migrate
    /// The customer buys a season, which the developer keeps time of: a non-renewing subscription.
    case buySeason
    /// The customer asks for a refund of the latest transaction, for a reason of Apple's list.
    case requestRefund(reason: String)
    /// Apple refunds a part of a transaction, in thousandths of a percent.
    case refund(CustomerStory.Purchase, percentage: Int64)
    /// Access ends since the product was not for sale.
    case expireNotForSale
    /// Access ends, and Apple gives no reason.
    case expireWithoutReason
    /// A mass extension does not succeed for this subscription.
    case failToExtend
    /// A mass extension comes to its end.
    case finishMassExtension(succeeded: Int64, failed: Int64)
    /// Apple speaks of a token for purchases outside the App Store.
    case externalPurchaseToken(TokenStage)
    /// A parent withdraws consent.
    case rescindConsent

    /// The occasion of a notification about an external purchase token.
    @nonexhaustive
    public enum TokenStage: String, Sendable, Hashable {
        /// It was made.
        case created = "CREATED"
        /// It still lives.
        case activeTokenReminder = "ACTIVE_TOKEN_REMINDER"
        /// It was not reported.
        case unreported = "UNREPORTED"
    }
}

extension CustomerStory.Act {
    /// An act that only the App Store has.
    public static func appStore(_ act: AppStoreAct) -> Self { .own(CustomerStory.OwnAct(act)) }
}

extension AppStoreAct {
    /// Apple.
    public static let provider: Provider = .apple

    /// Its name, in words.
    public var name: String {
        switch self {
        case .subscribe: "subscribe with an offer of the App Store"
        case .redeem: "redemption of an offer"
        case .changePrice: "price change of the Advanced Commerce API"
        case .updateMetadata: "metadata update"
        case .migrate: "migration to the Advanced Commerce API"
        case .buySeason: "purchase of a season"
        case .requestRefund: "request for a refund with a reason"
        case .refund: "refund of a percentage"
        case .expireNotForSale: "expiry of a product that is not for sale"
        case .expireWithoutReason: "expiry without a reason"
        case .failToExtend: "failed extension"
        case .finishMassExtension: "end of a mass extension"
        case .externalPurchaseToken: "external purchase token"
        case .rescindConsent: "consent rescinded"
        }
    }

    /// The expected outcome of the act.
    public var kinds: [LifecycleEvent.Kind] {
        switch self {
        case .redeem: [.offerRedeemed]
        case .updateMetadata, .migrate, .failToExtend, .finishMassExtension, .externalPurchaseToken: [.notice]
        case .rescindConsent: [.revoked]
        default: general?.kinds ?? []
        }
    }

    /// The act of all providers that has the same effect on the customer's subscription; nil if it has none.
    public var general: CustomerStory.Act? {
        switch self {
        case .subscribe(let plan, _): .subscribe(plan)
        case .changePrice(let price): .raisePrice(to: price, needsConsent: false)
        case .buySeason: .buy(.lifetime)
        case .requestRefund: .requestRefund
        case .refund(let purchase, _): .refund(purchase, .half)
        case .expireNotForSale, .expireWithoutReason: .expire(.customer)
        case .redeem, .updateMetadata, .migrate, .failToExtend, .finishMassExtension, .externalPurchaseToken,
            .rescindConsent:
            nil
        }
    }
}
