import FoundationEssentials
import LifecycleEvents
import SignatureCore

/// The assertions of renewal info.
final class AppleRenewalSnapshot {
    let renewalInfo: AppleRenewalInfo
    private let status: AppleNotification.Status?
    private let notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)?
    private let assertedAt: Date
    // The transaction that comes with it may be of an earlier purchase, as with a refund, and that may even end later, as a
    // year that gave way to a month.
    private let isLatest: Bool
    /// The end of the latest purchase.
    private let paidUntil: Date?
    private let periodStart: Date?
    private let transaction: AppleTransaction?
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
        // https://developer.apple.com/documentation/appstoreserverapi/renewaldate
        paidUntil = renewalInfo.renewalDate ?? transaction.flatMap { $0.isUpgraded ? nil : $0.expiresDate }
        isLatest = transaction.map { [paidUntil] in !$0.isUpgraded && $0.expiresDate == paidUntil } ?? false
        periodStart = transaction?.began(by: self.assertedAt, status)
        self.transaction = transaction
        price = transaction?.price
    }

    var facts: [Fact] {
        var facts: [Fact] = []
        if let terms { facts.append(.renewalIntent(Fact.RenewalIntent(terms, reason: disabledReason))) }
        // Renewal info is a snapshot: where it names no product, none is planned any more.
        // Of several items the main one may be removed at the renewal, which only the transaction shows.
        let mayDropMainItem = keepsUnknownProduct && renewalInfo.advancedCommerce != nil
        if terms?.nextProduct == nil, !mayDropMainItem {
            facts.append(.nextProduct(Fact.NextProduct(nextProduct)))
        }
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
    var nextProduct: ProductID? {
        guard let id = renewalInfo.autoRenewProductID, !keepsUnknownProduct else { return nil }
        let isSame = transaction?.productID.hasOctets(of: id) == true
        // A purchase without items that renews as the same product has none.
        if let items = renewalInfo.advancedCommerce, !isSame || transaction?.sku != nil,
            let sku = items.mainSKU(after: transaction?.sku)
        {
            return ProductID(sku)
        }
        let plan = renewalInfo.renewalBillingPlanType ?? (isSame ? transaction?.billingPlanType : nil)
        return ProductID(isSame ? transaction?.sku ?? id : id).under(plan?.partOfProduct)
    }

    /// True if the same product renews as before, and the transaction is missing that has its plan or item.
    private var keepsUnknownProduct: Bool {
        guard transaction == nil, renewalInfo.renewalBillingPlanType == nil,
            let id = renewalInfo.autoRenewProductID, let current = renewalInfo.productID
        else { return false }
        return current.hasOctets(of: id)
    }

    /// True if Apple says that the subscription has expired, and not that it tries the charge again.
    var isOver: Bool {
        guard renewalInfo.isInBillingRetryPeriod != true else { return false }
        return notification?.type == .expired
            || status.map { $0 == .expired } ?? (renewalInfo.expirationIntent != nil)
    }

    /// True if Apple says that grace runs, and not until when.
    var isGraceOpen: Bool {
        renewalInfo.gracePeriodExpiresDate == nil
            && (status == .gracePeriod || notification.map { $0 == (.didFailToRenew, .gracePeriod) } ?? false)
    }

    /// A statement that Apple makes in one place and leaves out in the one where it belongs: worth a look-up.
    var anomalies: [String] { isGraceOpen ? ["gracePeriodExpiresDate"] : [] }

    /// True if Apple states when a grace period ends that has not ended yet. There is no such date without grace
    /// (https://developer.apple.com/documentation/storekit/product/subscriptioninfo/renewalinfo/graceperiodexpirationdate),
    /// and a charge may fail before the period ends, which is when Apple first says that it tries again
    /// (https://developer.apple.com/forums/thread/749813). A date before the end of the latest purchase is of an earlier one.
    private var isGraceStated: Bool {
        guard let date = renewalInfo.gracePeriodExpiresDate, status.map(\.givesAccess) ?? true else { return false }
        return date > max(assertedAt, paidUntil ?? assertedAt)
    }

    /// True if the notification itself says that a charge failed and is tried again.
    private var isFailureReported: Bool {
        notification.map { $0.type == .didFailToRenew || $0.type == .gracePeriodExpired } ?? false
    }

    /// The end of the grace period, if there is one: stated, or as far as any can go where Apple says that it runs and leaves
    /// out until when. That it ran out ends it where its end was never stated.
    var graceUntil: Date? {
        if status == .revoked { return nil }
        if let stated = renewalInfo.gracePeriodExpiresDate { return stated }
        guard let longest = paidUntil?.addingTimeInterval(Self.longestGrace) else { return nil }
        if isGraceOpen { return longest }
        return notification?.type == .gracePeriodExpired ? min(longest, assertedAt) : nil
    }

    private var billing: Fact.Billing {
        let isOutstanding =
            renewalInfo.isInBillingRetryPeriod == true || status == .billingRetry || status == .gracePeriod
            || !isOver && (isFailureReported || isGraceStated)
        guard isOutstanding, status != .revoked else { return Fact.Billing(.settled, periodStart: periodStart) }
        let graceUntil = graceUntil
        let inGrace = graceUntil.map { $0 > assertedAt } ?? false
        return Fact.Billing(
            inGrace ? .grace : .suspended,
            // Of the latest purchase, whatever the transaction is; unnamed it is the last that was known by then.
            periodStart: isLatest ? periodStart : nil,
            graceUntil: graceUntil,
            retryUntil: renewalInfo.environment.retryUntil(after: paidUntil),
            isGraceInferred: inGrace && isGraceOpen
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

    /// The reason that it will not renew. With a commitment, bills and access continue until it ends.
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
