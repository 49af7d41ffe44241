import FoundationEssentials
import LifecycleEvents

/// What a transaction and its renewal info assert, whatever notification brings them.
///
/// Both are snapshots: each states all that Apple knows at the moment of signing, so the facts never depend on the type
/// of the notification, with the two exceptions that only the type tells.
///
/// A class, because whatever holds it would copy the whole transaction.
final class AppleSnapshot {
    let transaction: AppleTransaction
    let renewal: AppleRenewalSnapshot?
    let status: AppleNotification.Status?

    /// The moment that the statement is about.
    let assertedAt: Date

    init(
        transaction: AppleTransaction,
        renewalInfo: AppleRenewalInfo?,
        status: AppleNotification.Status?,
        assertedAt: Date
    ) {
        self.transaction = transaction
        renewal = renewalInfo.map {
            AppleRenewalSnapshot(renewalInfo: $0, transaction: transaction, status: status, assertedAt: assertedAt)
        }
        self.status = status
        self.assertedAt = assertedAt
    }

    var renewalInfo: AppleRenewalInfo? { renewal?.renewalInfo }
}

extension AppleSnapshot {
    var lineage: SubscriptionID {
        SubscriptionID(
            store: .appStore,
            environment: transaction.environment.canonical,
            id: transaction.originalTransactionID
        )
    }

    var isSubscription: Bool { transaction.type == .autoRenewable || transaction.expiresDate != nil }

    /// The name of what was paid for. A non-consumable gets another transaction each time it is restored, and is still the
    /// one purchase that the original transaction names; a refund of it is a refund of all.
    var purchaseID: String {
        transaction.type == .nonConsumable ? transaction.originalTransactionID : transaction.transactionID
    }

    var isFamilyShared: Bool { transaction.inAppOwnershipType == .familyShared }

    /// Purchases by families have no token of their own: the app of the member did not buy.
    var account: Account? {
        let appTransaction = transaction.appTransactionID ?? renewalInfo?.appTransactionID
        if !isFamilyShared, let token = transaction.appAccountToken {
            let aliases = appTransaction.map { [Account.Identifier($0, .appTransactionID)] } ?? []
            return Account(token, .appAccountToken, aliases: aliases)
        }
        return appTransaction.map { Account($0, .appTransactionID) }
    }

    var period: ServicePeriod {
        ServicePeriod(start: transaction.purchaseDate, end: transaction.expiresDate)
    }

    var product: PurchasedProduct {
        PurchasedProduct(
            id: transaction.productID,
            offer: offer,
            group: transaction.subscriptionGroupIdentifier,
            quantity: transaction.quantity
        )
    }

    var offer: Offer? {
        Offer(
            type: transaction.offerType,
            id: transaction.offerIdentifier,
            payment: transaction.offerDiscountType,
            duration: transaction.offerPeriod
        )
    }

    /// The offer on the next renewal.
    var nextOffer: Offer? {
        renewalInfo.flatMap {
            Offer(type: $0.offerType, id: $0.offerIdentifier, payment: $0.offerDiscountType, duration: $0.offerPeriod)
        }
    }

    var phase: Phase {
        if transaction.offerDiscountType == .freeTrial { return .trial }
        switch transaction.offerType {
        case nil: return .regular
        // Older payloads do not say how an offer is paid; what cost nothing was free.
        case .introductory?:
            return transaction.offerDiscountType == nil && transaction.price?.amount == ExactDecimal(0)
                ? .trial : .introductory
        default: return .promotional
        }
    }

    /// Who shares pays nothing, so the price says what the product costs.
    var price: Price? {
        transaction.price.map { Price($0, isFamilyShared ? .list : .charged) }
    }

    var terms: RenewalTerms? { renewal?.terms }

    var disabledReason: LifecycleEvent.AutoRenewDisabled.Reason? { renewal?.disabledReason }

    var graceUntil: Date? { renewalInfo?.gracePeriodExpiresDate }

    /// The last moment of access that the store stated.
    var accessEnd: Date? {
        guard let expires = transaction.expiresDate else { return nil }
        return max(expires, graceUntil ?? expires)
    }

    private var isStatedRefund: Bool {
        transaction.revocationType == .refundFull || transaction.revocationType == .refundProrated
    }

    /// When money went back or sharing ended, where either did; a replacement by an upgrade is neither.
    var revokedAt: Date? { transaction.isUpgraded && !isStatedRefund ? nil : transaction.revocationDate }

    var refundScope: LifecycleEvent.Refund.Scope {
        guard let thousandths = transaction.revocationPercentage ?? refundedItems,
            transaction.revocationType != .refundFull, thousandths < 100_000,
            let fraction = ExactDecimal(coefficient: Int128(thousandths), scale: 5)
        else { return .full }
        return .fraction(fraction)
    }

    /// What names the refund. Of items more can go back later, and that is another refund.
    var refundName: String {
        guard transaction.revocationPercentage == nil, case .fraction(let fraction) = refundScope else {
            return purchaseID
        }
        return "\(purchaseID)*\(fraction)"
    }

    /// Whether what was refunded is not taken away: money can go back for items that are left to who bought them.
    var isKept: Bool {
        guard transaction.revocationDate == nil, let items = transaction.advancedCommerce?.items else { return false }
        return items.contains { $0.revocationDate == nil }
    }

    /// How much of an Advanced Commerce purchase went back, in thousandths of a percent; nil where that is all, or is not told.
    /// Such transactions have neither type nor percentage, and list refunds by item (StoreKit, `Transaction.revocationType`).
    private var refundedItems: Int64? {
        guard let items = transaction.advancedCommerce?.items,
            let price = transaction.price?.milliunits, price > 0,
            !items.allSatisfy({ $0.refunds.contains { $0.type == "FULL" } })
        else { return nil }
        var refunded: Int128 = 0
        for item in items {
            for refund in item.refunds {
                guard let amount = (refund.amount ?? (refund.type == "FULL" ? item.price : nil))?.milliunits else {
                    return nil
                }
                refunded += amount
            }
        }
        return refunded > 0 && refunded < price ? Int64(refunded * 100_000 / price) : nil
    }

    var ownership: Fact.Ownership { isFamilyShared ? .familyShared : .purchased }

    var periodFact: Fact {
        .period(
            Fact.Period(
                period,
                product: transaction.productID,
                phase: phase,
                transaction: transaction.transactionID,
                ownership: ownership
            )
        )
    }

    /// - Parameter withRenewal: whether the renewal info is of the same moment.
    func facts(reportedBy type: AppleNotification.NotificationType?, withRenewal: Bool = true) -> [Fact] {
        var facts: [Fact] = []
        if isSubscription {
            facts.append(periodFact)
        } else {
            facts.append(
                .purchase(
                    Fact.OneTimePurchase(
                        transaction: purchaseID,
                        product: transaction.productID,
                        purchase: oneTimePurchase,
                        at: transaction.purchaseDate
                    )
                )
            )
        }
        if let price, price.role == .charged {
            facts.append(
                .charge(Fact.Charge(transaction: purchaseID, price: price, at: transaction.purchaseDate))
            )
        }
        facts += endings(reportedBy: type)
        if withRenewal { facts += renewal?.facts ?? [] }
        if let account { facts.append(.owner(account)) }
        if let previous = transaction.previousOriginalTransactionID {
            facts.append(
                .link(SubscriptionID(store: lineage.store, environment: lineage.environment, id: previous))
            )
        }
        return facts
    }

    private func endings(reportedBy type: AppleNotification.NotificationType?) -> [Fact] {
        // Replaced by an upgrade, or by a crossgrade of the same duration: the unused part went back, yet it is no
        // refund, and Apple states its moment only sometimes. A refund may follow all the same.
        if transaction.isUpgraded {
            let end = end(at: transaction.revocationDate ?? assertedAt, reason: .replaced)
            if type == .refundReversed { return [end, refund(nil, at: assertedAt)] }
            guard let revoked = transaction.revocationDate, type == .refund || isStatedRefund else { return [end] }
            return [end, refund(refundScope, at: revoked)]
        }
        if let revoked = transaction.revocationDate {
            if isFamilyShared || transaction.revocationType == .familyRevoke {
                return [end(at: revoked, reason: .unknown)]
            }
            return [refund(refundScope, at: revoked)]
        }
        switch type {
        case .refund?:
            let items = transaction.advancedCommerce?.items ?? []
            guard let date = items.flatMap(\.refunds).compactMap(\.date).max() else { return [] }
            return [refund(refundScope, at: date, endsAccess: !isKept)]
        case .refundReversed?:
            return [refund(nil, at: assertedAt)]
        case .expired?:
            return accessEnd.map { [end(at: $0, reason: expiryReason(subtype: nil))] } ?? []
        case .revoke?:
            return [end(at: assertedAt, reason: .unknown)]
        default:
            return []
        }
    }

    private func end(at date: Date, reason: LifecycleEvent.Expired.Reason) -> Fact {
        .periodEnded(
            Fact.PeriodEnd(
                start: transaction.purchaseDate,
                transaction: purchaseID,
                at: date,
                reason: reason
            )
        )
    }

    private func refund(
        _ scope: LifecycleEvent.Refund.Scope?,
        at date: Date,
        endsAccess: Bool = true
    ) -> Fact {
        .refund(
            Fact.RefundState(
                transaction: purchaseID,
                scope: scope,
                at: date,
                periodStart: isSubscription ? transaction.purchaseDate : nil,
                endsAccess: endsAccess && scope != nil
            )
        )
    }

    func expiryReason(subtype: AppleNotification.Subtype?) -> LifecycleEvent.Expired.Reason {
        switch subtype {
        case .voluntary?: return .customer
        case .billingRetry?: return .billing
        case .priceIncrease?: return .priceIncreaseDeclined
        case .productNotForSale?: return .productUnavailable
        default: break
        }
        switch renewalInfo?.expirationIntent {
        case .customerCanceled?: return .customer
        case .billingError?: return .billing
        case .priceIncreaseDeclined?: return .priceIncreaseDeclined
        case .productUnavailable?: return .productUnavailable
        default: return .unknown
        }
    }

    var oneTimePurchase: LifecycleEvent.OneTimePurchase {
        let type: LifecycleEvent.OneTimePurchase.ProductType
        switch transaction.type {
        case .consumable?: type = .consumable
        case .nonConsumable?: type = .nonConsumable
        case .nonRenewing?: type = .nonRenewing
        default: type = .unknown
        }
        return LifecycleEvent.OneTimePurchase(
            type: type,
            quantity: transaction.quantity ?? 1,
            price: price,
            familyShared: isFamilyShared
        )
    }
}

extension Money {
    /// Apple's amounts have three decimals.
    fileprivate var milliunits: Int128? { amount.coefficient(scale: 3) }
}

extension AppleTransaction {
    /// Apple tries for up to 60 days after the period (App Store Connect help, "Enable billing grace period"). Elsewhere
    /// it is minutes, by a setting of the tester's ("Manage Sandbox Apple Account settings") that nothing states.
    var retryUntil: Date? { environment == .production ? expiresDate?.addingTimeInterval(60 * 86_400) : nil }
}

/// What renewal info asserts.
final class AppleRenewalSnapshot {
    let renewalInfo: AppleRenewalInfo
    private let status: AppleNotification.Status?
    private let assertedAt: Date
    // What only the transaction beside it tells, where there is one.
    private let isLatest: Bool
    private let periodStart: Date?
    private let retryUntil: Date?
    private let price: Money?

    init(
        renewalInfo: AppleRenewalInfo,
        transaction: AppleTransaction?,
        status: AppleNotification.Status? = nil,
        assertedAt: Date? = nil
    ) {
        self.renewalInfo = renewalInfo
        self.status = status
        self.assertedAt = assertedAt ?? renewalInfo.signedDate
        // `renewalDate` is the end of the latest purchase. A refund, say, may be of an earlier one.
        isLatest = transaction?.expiresDate.map { $0 >= renewalInfo.renewalDate ?? $0 } ?? true
        periodStart = transaction?.purchaseDate
        retryUntil = transaction?.retryUntil
        price = transaction?.price
    }

    var facts: [Fact] {
        var facts: [Fact] = []
        if let terms { facts.append(.renewalIntent(Fact.RenewalIntent(terms, reason: disabledReason))) }
        facts.append(.billing(billing))
        facts.append(.priceChange(Fact.PriceChangeState(priceChange)))
        return facts
    }

    var terms: RenewalTerms? {
        renewalInfo.autoRenewStatus.map {
            RenewalTerms(
                willRenew: $0 == .on,
                nextProduct: renewalInfo.autoRenewProductID,
                nextPrice: renewalInfo.renewalPrice,
                renewsAt: renewalInfo.renewalDate
            )
        }
    }

    private var billing: Fact.Billing {
        let isOutstanding =
            renewalInfo.isInBillingRetryPeriod == true || status == .billingRetry || status == .gracePeriod
        guard isOutstanding else { return Fact.Billing(.settled, periodStart: periodStart) }
        let graceUntil = renewalInfo.gracePeriodExpiresDate
        let inGrace = graceUntil.map { $0 > assertedAt } ?? false
        return Fact.Billing(
            inGrace ? .grace : .suspended,
            // Of the latest purchase, whichever the transaction is; unnamed it is the last that was known by then.
            periodStart: isLatest ? periodStart : nil,
            graceUntil: graceUntil,
            retryUntil: isLatest ? retryUntil : nil
        )
    }

    private var priceChange: LifecycleEvent.PriceChange? {
        renewalInfo.priceIncreaseStatus.map {
            LifecycleEvent.PriceChange(
                stage: $0 == .accepted ? .accepted : .pending,
                old: price,
                new: renewalInfo.renewalPrice,
                effectiveAt: renewalInfo.renewalDate,
                consentRequired: $0 == .pending
            )
        }
    }

    /// Why it will not renew. With a commitment, bills and access go on until it ends.
    var disabledReason: LifecycleEvent.AutoRenewDisabled.Reason? {
        if renewalInfo.autoRenewStatus == .on {
            return renewalInfo.commitment?.autoRenewStatus == .off ? .commitment : nil
        }
        switch renewalInfo.expirationIntent {
        case nil, .customerCanceled?: return .customer
        case .billingError?: return .billing
        case .priceIncreaseDeclined?: return .priceIncreaseDeclined
        case .productUnavailable?: return .store
        default: return .unknown
        }
    }
}

extension Offer {
    fileprivate init?(
        type: AppleTransaction.OfferType?,
        id: String?,
        payment: AppleTransaction.OfferDiscountType?,
        duration: String?
    ) {
        guard let type else { return nil }
        let kind: Kind
        switch type {
        case .introductory: kind = .introductory
        case .promotional: kind = .promotional
        case .code: kind = .code
        case .winBack: kind = .winBack
        default: kind = Kind(rawValue: "apple_\(type.rawValue)")
        }
        self.init(kind: kind, id: id, payment: payment.map(Payment.init(apple:)), duration: duration)
    }
}

extension Offer.Payment {
    fileprivate init(apple value: AppleTransaction.OfferDiscountType) {
        switch value {
        case .freeTrial: self = .freeTrial
        case .payAsYouGo: self = .payAsYouGo
        case .payUpFront: self = .payUpFront
        case .oneTime: self = .oneTime
        default: self.init(rawValue: value.rawValue)
        }
    }
}
