import FoundationEssentials
import LifecycleEvents
import SignatureCore

/// The assertions of a transaction and its renewal info, whatever notification brings them.
///
/// Both are snapshots: each states all that Apple knows at the moment of signing, so the facts never depend on the type
/// of the notification, with the two exceptions that only the type tells.
///
/// A class, because whatever holds it would copy the whole transaction.
final class AppleSnapshot {
    let transaction: AppleTransaction
    let renewal: AppleRenewalSnapshot?
    let status: AppleNotification.Status?
    /// Which notification brings it, if one does.
    let notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)?

    /// The moment that the statement is about.
    let assertedAt: Date

    init(
        transaction: AppleTransaction,
        renewalInfo: AppleRenewalInfo?,
        status: AppleNotification.Status? = nil,
        notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)? = nil,
        assertedAt: Date
    ) {
        self.transaction = transaction
        renewal = renewalInfo.map {
            AppleRenewalSnapshot(
                renewalInfo: $0,
                transaction: transaction,
                status: status,
                notification: notification,
                assertedAt: assertedAt
            )
        }
        self.status = status
        self.notification = notification
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

    /// True if it is paid for by the period, and renews. A pass that does not renew has an end as well.
    var isSubscription: Bool {
        switch transaction.type {
        case .autoRenewable?: true
        case .consumable?, .nonConsumable?, .nonRenewing?: false
        default: transaction.expiresDate != nil
        }
    }

    /// The name of what was paid for. A non-consumable gets another transaction each time it is restored, and is still the
    /// one purchase that the original transaction names; a refund of it is a refund of all.
    var purchaseID: String {
        transaction.type == .nonConsumable ? transaction.originalTransactionID : transaction.transactionID
    }

    var isFamilyShared: Bool { transaction.inAppOwnershipType == .familyShared }

    /// Purchases by families have no token of their own: the app of the member did not buy.
    var account: Account? {
        let appTransaction = transaction.appTransactionID ?? renewalInfo?.appTransactionID
        if !isFamilyShared, let token = transaction.appAccountToken ?? renewalInfo?.appAccountToken {
            let aliases = appTransaction.map { [Account.Identifier($0, .appTransactionID)] } ?? []
            return Account(token, .appAccountToken, aliases: aliases)
        }
        return appTransaction.map { Account($0, .appTransactionID) }
    }

    var period: ServicePeriod {
        ServicePeriod(start: beganAt, end: transaction.expiresDate)
    }

    /// When what was bought began. A renewal is charged ahead; a purchase is not, and has begun by the time at which Apple signs
    /// it, also where Apple dates it an hour ahead, as at the end of daylight saving time.
    var beganAt: Date { transaction.began(by: assertedAt, status) }

    var product: PurchasedProduct {
        PurchasedProduct(
            id: transaction.catalogProduct,
            basePlan: transaction.billingPlanType?.rawValue,
            offer: offer,
            group: transaction.sku == nil ? transaction.subscriptionGroupIdentifier : transaction.productID,
            quantity: transaction.quantity,
            addOns: addOns.isEmpty ? nil : addOns
        )
    }

    /// The items of an Advanced Commerce subscription in addition to its main one, by SKU: all its items run together.
    private var addOns: [PurchasedProduct] {
        itemEnds.filter { $0.value == nil && $0.key != transaction.sku }.keys.sorted()
            .map { PurchasedProduct(id: $0, group: transaction.productID) }
    }

    /// When each item of an Advanced Commerce subscription was taken out, by SKU; nil for one that runs on.
    private var itemEnds: [String: Date?] {
        guard isSubscription, let info = transaction.advancedCommerce else { return [:] }
        return Dictionary(info.items(from: transaction.purchaseDate).map { ($0.sku ?? "", $0.revocationDate) }) {
            // Listed twice, it runs as long as either.
            if let one = $0, let other = $1 { max(one, other) } else { nil }
        }
    }

    private var itemFacts: [Fact] {
        let items = itemEnds.sorted { $0.key < $1.key }
        let runs: [Fact] = items.filter { $0.key != transaction.sku }.map { sku, _ in
            .period(
                Fact.Period(
                    period,
                    product: sku,
                    phase: phase,
                    transaction: transaction.transactionID,
                    item: sku,
                    ownership: ownership
                )
            )
        }
        let ends: [Fact] = items.compactMap { sku, end in
            end.map { .periodEnded(self.end(at: $0, reason: hasRefund(sku) ? .refunded : .unknown, item: sku)) }
        }
        return runs + ends
    }

    /// True if an item was taken out and others go on.
    var endsItem: Bool { itemEnds.values.contains { $0 != nil } && isKept }

    private func hasRefund(_ sku: String) -> Bool {
        transaction.advancedCommerce?.items.contains { $0.sku == sku && !$0.refunds.isEmpty } ?? false
    }

    /// The product with its billing plan, as facts, catalogues and credits name it.
    var productName: String { transaction.catalogProduct.naming(transaction.billingPlanType) }

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

    /// A family member pays nothing, so the price is then the list price. Apple states the tax in it under the Advanced Commerce API.
    var price: Price? {
        transaction.price.map {
            Price($0, isFamilyShared ? .list : .charged, tax: transaction.advancedCommerce?.estimatedTax)
        }
    }

    var terms: RenewalTerms? { renewal?.terms }

    var disabledReason: LifecycleEvent.AutoRenewDisabled.Reason? { renewal?.disabledReason }

    var graceUntil: Date? { renewal?.graceUntil }

    /// True if a renewal failed, and the App Store does not try again: the subscription is over, whatever the notification is
    /// called.
    var isGivenUp: Bool {
        guard notification?.type == .didFailToRenew, renewalInfo?.isInBillingRetryPeriod != true else { return false }
        return status.map { $0 == .expired } ?? (renewalInfo?.expirationIntent != nil)
    }

    /// The last moment of access that the store stated.
    var accessEnd: Date? {
        guard let expires = transaction.expiresDate else { return nil }
        let paid = max(expires, graceUntil ?? expires)
        return revokedAt.map { min($0, paid) } ?? paid
    }

    /// When an expired subscription ended. That it expired takes back what is left of a grace period.
    var expiredAt: Date? {
        guard let expires = transaction.expiresDate, let accessEnd else { return nil }
        return min(accessEnd, max(expires, assertedAt))
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

    /// The name of the refund. Further items can be refunded later, and that is another refund.
    var refundName: String {
        guard transaction.revocationPercentage == nil, case .fraction(let fraction) = refundScope else {
            return purchaseID
        }
        return "\(purchaseID)*\(fraction)"
    }

    /// True if what was refunded is not taken away: money can go back for items that are left to who bought them.
    var isKept: Bool {
        guard transaction.revocationDate == nil, let items = transaction.advancedCommerce?.items else { return false }
        return items.contains { $0.revocationDate == nil }
    }

    /// How much of an Advanced Commerce purchase went back, in thousandths of a percent; nil where that is all, or is not stated.
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

    /// True if another product renews than the one that was paid for last.
    var plansChange: Bool { renewal?.nextProduct.map { $0 != productName } ?? false }

    /// Statements that Apple makes in one place and leaves out in the one where they belong: worth a look-up.
    var anomalies: [String] {
        var anomalies: [String] = []
        if renewal?.isGraceOpen == true { anomalies.append("gracePeriodExpiresDate") }
        if notification?.type == .refund, transaction.revocationDate == nil, refundOfItems == nil {
            anomalies.append("revocationDate")
        }
        if transaction.storefront != nil, country == nil { anomalies.append("storefront") }
        return anomalies
    }

    var ownership: Fact.Ownership { isFamilyShared ? .familyShared : .purchased }

    var periodFact: Fact {
        .period(
            Fact.Period(
                period,
                product: productName,
                phase: phase,
                transaction: transaction.transactionID,
                ownership: ownership,
                commitment: commitment
            )
        )
    }

    /// - Parameter withRenewal: whether the renewal info is of the same moment.
    func facts(withRenewal: Bool = true) -> [Fact] {
        var facts: [Fact] = []
        if isSubscription {
            facts.append(periodFact)
            facts += itemFacts
        } else {
            facts.append(
                .purchase(
                    Fact.OneTimePurchase(
                        transaction: purchaseID,
                        product: productName,
                        purchase: oneTimePurchase,
                        at: beganAt
                    )
                )
            )
        }
        if let price, price.role == .charged {
            facts.append(.charge(Fact.Charge(transaction: purchaseID, price: price, at: beganAt)))
        }
        facts += endings
        if withRenewal { facts += renewal?.facts ?? [] }
        if let account { facts.append(.owner(account)) }
        facts += possession
        if let previous = transaction.previousOriginalTransactionID {
            facts.append(
                .link(SubscriptionID(store: lineage.store, environment: lineage.environment, id: previous))
            )
        }
        return facts
    }

    /// The buyer owns. A new purchase in a lineage, or a change of plan at once, that is stated under an account moves the lineage
    /// to it from then on, whatever states it; the account of a renewal does not. An account that is set for the next renewal alone
    /// is named, and owns nothing yet.
    private var possession: [Fact] {
        guard !isFamilyShared, let token = transaction.appAccountToken else { return [] }
        var facts: [Fact] = []
        if let next = renewalInfo?.appAccountToken, next != token {
            facts.append(.owner(Account(next, .appAccountToken)))
        }
        // A purchase for good keeps its owner when it is restored.
        if isSubscription, isBought, !transaction.isFirst {
            facts.append(.transfer(.init(from: [], to: [.init(token, .appAccountToken)], at: beganAt)))
        }
        return facts
    }

    /// True if the customer bought it. Older payloads leave that to the type of the notification.
    private var isBought: Bool {
        switch (notification?.type, notification?.subtype) {
        case (.subscribed?, _), (.offerRedeemed?, .resubscribe?), (.offerRedeemed?, .initialBuy?): true
        case (.didChangeRenewalPref?, .upgrade?), (.offerRedeemed?, .upgrade?): true
        default: transaction.isPurchase
        }
    }

    private var endings: [Fact] {
        let type = notification?.type
        // Replaced by an upgrade, or by a crossgrade of the same duration: the unused part went back, yet it is no
        // refund, and Apple states its moment only sometimes. A refund may follow all the same.
        if transaction.isUpgraded {
            let end = Fact.periodEnded(end(at: transaction.revocationDate ?? assertedAt, reason: .replaced))
            if type == .refundReversed { return [end, refund(nil, at: assertedAt)] }
            guard let revoked = transaction.revocationDate, type == .refund || isStatedRefund else { return [end] }
            return [end, refund(refundScope, at: revoked)]
        }
        if let revoked = transaction.revocationDate {
            if isFamilyShared || transaction.revocationType == .familyRevoke {
                return [.periodEnded(end(at: revoked, reason: .unknown))]
            }
            return [refund(refundScope, at: revoked)]
        }
        switch type {
        case .refundReversed?:
            return [refund(nil, at: assertedAt)]
        case .expired?,
            .didFailToRenew? where isGivenUp:
            let ended = expiredAt.map { Fact.periodEnded(end(at: $0, reason: expiryReason(subtype: nil))) }
            return [ended, refundOfItems].compactMap(\.self)
        case .revoke?:
            return [.periodEnded(end(at: assertedAt, reason: .unknown))]
        case .refund?:
            // That the notification says so counts where the transaction does not say when.
            return [refundOfItems ?? refund(refundScope, at: assertedAt, endsAccess: !isKept)]
        default:
            return [refundOfItems].compactMap(\.self)
        }
    }

    /// The refunds of the items of an Advanced Commerce purchase, which has no revocation of its own then.
    private var refundOfItems: Fact? {
        let items = transaction.advancedCommerce?.items ?? []
        // An active subscription is not taken away, whatever was refunded. A refund may be of another period than the active.
        let isActive = notification?.type != .refund && status?.givesAccess == true
        return items.flatMap(\.refunds).compactMap(\.date).max().map {
            refund(refundScope, at: $0, endsAccess: !isKept && !isActive)
        }
    }

    private func end(at date: Date, reason: LifecycleEvent.Expired.Reason, item: String? = nil) -> Fact.PeriodEnd {
        Fact.PeriodEnd(start: beganAt, transaction: purchaseID, at: date, reason: reason, item: item)
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
                periodStart: isSubscription ? beganAt : nil,
                endsAccess: endsAccess && scope != nil,
                items: scope == nil || scope == .full ? nil : transaction.advancedCommerce?.refundsOfItems
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
            expires: transaction.expiresDate,
            familyShared: isFamilyShared
        )
    }
}

extension Money {
    /// Apple's amounts have three decimals.
    fileprivate var milliunits: Int128? { amount.coefficient(scale: 3) }
}

extension String {
    /// A product with a billing plan: `year:MONTHLY`. Paying for the whole period at once is what a product is without one, so
    /// that a product keeps its name where Apple begins to state its plan.
    fileprivate func naming(_ plan: AppleTransaction.BillingPlanType?) -> String {
        guard let plan, plan != .billedUpFront, !plan.rawValue.isEmpty else { return self }
        return "\(self):\(plan.rawValue)"
    }
}

extension AppleAdvancedCommerceInfo {
    /// The items with a name that a purchase had when it was made.
    fileprivate func items(from start: Date) -> [Item] {
        items.filter { item in item.sku?.isEmpty == false && item.revocationDate.map { $0 > start } ?? true }
    }

    /// The SKU of the main item of a purchase: what is sold under a generic product identifier. It stays so where it is taken out later.
    fileprivate func mainSKU(from start: Date) -> String? {
        let bought = items(from: start)
        return Self.mainSKU(of: bought.isEmpty ? items : bought)
    }

    /// The SKU of the main item that renews, where nothing was main before.
    private var mainSKU: String? {
        let kept = items.filter { $0.revocationDate == nil }
        return Self.mainSKU(of: kept.isEmpty ? items : kept)
    }

    /// Of several items the one with the highest price, and of equal prices the first by SKU, so that the order of the list says
    /// nothing.
    private static func mainSKU(of items: [Item]) -> String? {
        items.filter { $0.sku?.isEmpty == false }
            .min {
                let (left, right) = ($0.price?.milliunits ?? 0, $1.price?.milliunits ?? 0)
                return left == right ? ($0.sku ?? "") < ($1.sku ?? "") : left > right
            }?
            .sku
    }

    /// The share that went back of each item; nil if Apple does not state it for one of the refunded items.
    fileprivate var refundsOfItems: [Fact.RefundState.Item]? {
        var refunds: [Fact.RefundState.Item] = []
        for item in items where !item.refunds.isEmpty {
            guard let sku = item.sku, !sku.isEmpty, let scope = item.refundScope else { return nil }
            refunds.append(Fact.RefundState.Item(product: sku, scope: scope))
        }
        return refunds.isEmpty ? nil : refunds
    }

    /// The SKU of the main item that renews. The one that is main now stays so as long as it renews.
    fileprivate func mainSKU(after current: String?) -> String? {
        let renews = items.contains {
            $0.revocationDate == nil && $0.sku.map { sku in current?.hasOctets(of: sku) == true } == true
        }
        return renews ? current : mainSKU
    }
}

extension AppleAdvancedCommerceInfo.Item {
    /// The share of its price that went back; nil if Apple does not state it.
    fileprivate var refundScope: LifecycleEvent.Refund.Scope? {
        if refunds.contains(where: { $0.type == "FULL" }) { return .full }
        guard let price = price?.milliunits, price > 0 else { return revocationDate == nil ? nil : .full }
        var refunded: Int128 = 0
        for refund in refunds {
            guard let amount = refund.amount?.milliunits else { return revocationDate == nil ? nil : .full }
            refunded += amount
        }
        guard refunded < price else { return .full }
        return ExactDecimal(coefficient: refunded * 100_000 / price, scale: 5).map { .fraction($0) }
    }
}

extension AppleTransaction {
    /// The developer's own name of what was bought by the Advanced Commerce API.
    var sku: String? { advancedCommerce?.mainSKU(from: purchaseDate) }

    /// The product, without its billing plan.
    var catalogProduct: String { sku ?? productID }

    /// True if the customer brought it about, and no renewal did. Older payloads do not say; the first of a lineage is a purchase.
    var isPurchase: Bool { transactionReason.map { $0 == .purchase } ?? isFirst }

    /// True if it began its lineage.
    var isFirst: Bool { transactionID == originalTransactionID }

    /// As in ``AppleSnapshot/beganAt``.
    fileprivate func began(by assertedAt: Date, _ status: AppleNotification.Status?) -> Date {
        guard purchaseDate > assertedAt, isPurchase, status.map(\.givesAccess) ?? true else { return purchaseDate }
        return assertedAt
    }

    /// Apple tries for up to 60 days after the period (App Store Connect help, "Enable billing grace period"). Elsewhere
    /// it is minutes, by a setting of the tester's ("Manage Sandbox Apple Account settings") that nothing states.
    var retryUntil: Date? { environment == .production ? expiresDate?.addingTimeInterval(60 * 86_400) : nil }
}

/// The assertions of renewal info.
final class AppleRenewalSnapshot {
    let renewalInfo: AppleRenewalInfo
    private let status: AppleNotification.Status?
    private let notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)?
    private let assertedAt: Date
    // Only the transaction beside it says so, where there is one.
    private let isLatest: Bool
    private let periodStart: Date?
    private let retryUntil: Date?
    private let transaction: AppleTransaction?
    private let expiresDate: Date?
    private let price: Money?

    /// Apple's longest grace period, in seconds (App Store Connect Help, "Enable billing grace period": 3, 16 or 28 days).
    private static let longestGrace: TimeInterval = 28 * 86_400

    init(
        renewalInfo: AppleRenewalInfo,
        transaction: AppleTransaction?,
        status: AppleNotification.Status? = nil,
        notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)? = nil,
        assertedAt: Date? = nil
    ) {
        self.renewalInfo = renewalInfo
        self.status = status
        self.notification = notification
        self.assertedAt = assertedAt ?? renewalInfo.signedDate
        // `renewalDate` is the end of the latest purchase. A refund, say, may be of an earlier one.
        isLatest = transaction?.expiresDate.map { $0 >= renewalInfo.renewalDate ?? $0 } ?? true
        periodStart = transaction?.began(by: self.assertedAt, status)
        retryUntil = transaction?.retryUntil
        self.transaction = transaction
        expiresDate = transaction?.expiresDate
        price = transaction?.price
    }

    var facts: [Fact] {
        var facts: [Fact] = []
        if let terms { facts.append(.renewalIntent(Fact.RenewalIntent(terms, reason: disabledReason))) }
        // Renewal info is a snapshot: where it names no product, none is planned any more.
        if terms?.nextProduct == nil { facts.append(.nextProduct(Fact.NextProduct(nextProduct))) }
        facts.append(.billing(billing))
        facts.append(.priceChange(Fact.PriceChangeState(priceChange)))
        return facts
    }

    var terms: RenewalTerms? {
        renewalInfo.autoRenewStatus.map {
            RenewalTerms(
                willRenew: $0 == .on,
                nextProduct: nextProduct,
                nextPrice: renewalInfo.renewalPrice,
                renewsAt: renewalInfo.renewalDate,
                winBackOffers: renewalInfo.eligibleWinBackOfferIDs.isEmpty ? nil : renewalInfo.eligibleWinBackOfferIDs
            )
        }
    }

    /// The product that renews next. A plan that renewal info does not name stays as it is, and so does the item of a generic
    /// product.
    var nextProduct: String? {
        guard let id = renewalInfo.autoRenewProductID else { return nil }
        let isSame = transaction?.productID.hasOctets(of: id) == true
        // A purchase without items that renews as the same product has none.
        if let items = renewalInfo.advancedCommerce, !isSame || transaction?.sku != nil,
            let sku = items.mainSKU(after: transaction?.sku)
        {
            return sku
        }
        let plan = renewalInfo.renewalBillingPlanType ?? (isSame ? transaction?.billingPlanType : nil)
        return (isSame ? transaction?.sku ?? id : id).naming(plan)
    }

    /// True if Apple says that grace runs, and not until when.
    var isGraceOpen: Bool {
        renewalInfo.gracePeriodExpiresDate == nil && isLatest
            && (status == .gracePeriod || notification.map { $0 == (.didFailToRenew, .gracePeriod) } ?? false)
    }

    /// The end of the grace period, where there is one: stated, or as far as any can go where Apple says that it runs and leaves
    /// out until when. That it ran out ends it where its end was never stated.
    var graceUntil: Date? {
        if let stated = renewalInfo.gracePeriodExpiresDate { return stated }
        guard let longest = expiresDate?.addingTimeInterval(Self.longestGrace) else { return nil }
        if isGraceOpen { return longest }
        return notification?.type == .gracePeriodExpired ? min(longest, assertedAt) : nil
    }

    private var billing: Fact.Billing {
        let isOutstanding =
            renewalInfo.isInBillingRetryPeriod == true || status == .billingRetry || status == .gracePeriod
            || isGraceOpen
        guard isOutstanding else { return Fact.Billing(.settled, periodStart: periodStart) }
        let graceUntil = graceUntil
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
