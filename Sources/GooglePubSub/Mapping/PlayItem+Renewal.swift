import FoundationEssentials
import LifecycleEvents

extension PlayItem {
    /// The item that a deferred change puts in this one's place; by its id alone where it is not listed.
    var nextProductName: ProductID? {
        item.deferredReplacement.map { target in successor?.productName ?? ProductID(target) }
    }

    /// The item that takes this one's place when its period ends.
    private var successor: SubscriptionPurchase.LineItem? {
        item.deferredReplacement.flatMap { target in
            purchase.lineItems.first { $0.productID == target && $0.expiryTime == nil }
        }
    }

    var isCancellationScheduled: Bool { item.autoRenewingPlan?.installments?.isCancellationPending ?? false }

    /// True if the customer has canceled a commitment, and nothing of it is left to pay. Google's JSON leaves out zeros.
    private var isLastPaymentMade: Bool {
        isCancellationScheduled && (item.autoRenewingPlan?.installments?.remainingCommittedPayments ?? 0) == 0
    }

    var terms: RenewalTerms? {
        switch purchase.state {
        case .active, .canceled, .inGracePeriod, .onHold, .paused, .expired: break
        default: return nil
        }
        let isLive = purchase.state != .canceled && purchase.state != .expired
        let renewing = item.deferredReplacement == nil ? item : successor
        let willRenew =
            isLive && !isLastPaymentMade && !item.isRemovalDeferred
            && (renewing.map { $0.autoRenewingPlan?.isAutoRenewEnabled ?? false } ?? true)
        let renewsAt = willRenew && purchase.state == .active ? item.expiryTime : nil
        return RenewalTerms(
            willRenew: willRenew,
            nextProduct: isLive ? nextProductName : nil,
            nextPrice: willRenew ? nextPrice(at: renewsAt) : nil,
            renewsAt: renewsAt
        )
    }

    /// Only of a regular price is it known that the next one is the same.
    private func nextPrice(at renewsAt: Date?) -> Money? {
        if item.deferredReplacement != nil { return successor?.autoRenewingPlan?.recurringPrice }
        guard phase == .regular, let plan = item.autoRenewingPlan else { return nil }
        switch (plan.priceChange?.state, plan.priceChange?.mode) {
        // It is for a later renewal: the shortest period that is sold is a week.
        case _ where plan.priceChange?.isExpected(after: renewsAt?.addingTimeInterval(86_400)) == true:
            return plan.recurringPrice
        case (.confirmed?, _), (.outstanding?, .decrease?), (.outstanding?, .optOutIncrease?):
            return plan.priceChange?.newPrice ?? plan.recurringPrice
        default:
            return plan.recurringPrice
        }
    }

    /// The reason that it will not renew; nil if it renews, and for a prepaid one. The remaining bills of a commitment
    /// still come.
    var disabledReason: LifecycleEvent.AutoRenewDisabled.Reason? {
        guard let terms, !item.isPrepaid else { return nil }
        // Once the commitment is over, the purchase is canceled like any other.
        if isCancellationScheduled, purchase.state != .canceled, purchase.state != .expired { return .commitment }
        guard !terms.willRenew else { return nil }
        if item.isRemovalDeferred { return .customer }
        switch purchase.cancellation {
        case .user?: return .customer
        case .developer?: return .developer
        case .system?: return isIncreaseDeclined ? .priceIncreaseDeclined : .billing
        case .replacement?, .unknown?, nil: return .unknown
        }
    }

    /// A price that had to be agreed to, and was not.
    private var isIncreaseDeclined: Bool {
        let plan = item.autoRenewingPlan
        return plan?.stepUpConsent?.state == .pending
            || (plan?.priceChange?.state == .outstanding && plan?.priceChange?.mode == .increase)
    }

    /// The reason for its end, unless it was taken away: then the resource has no reason, and a developer's refund
    /// reads like the customer's wish.
    var expiryReason: LifecycleEvent.Expired.Reason {
        if isOutlived { return .replaced }
        // It was taken out, and the others were charged without it.
        if isEndedBesideOthers, item.isRemovalDeferred || type == .renewed || type == .recovered { return .customer }
        switch purchase.cancellation {
        case .replacement?: return .replaced
        case .user?: return .customer
        case .developer?: return .developer
        case .system?:
            // Not acknowledged; or given up for a deferred change, when the old item loses its date.
            if isUnacknowledged || item.expiryTime == nil { return .unknown }
            return isIncreaseDeclined ? .priceIncreaseDeclined : .billing
        case .unknown?, nil: return .unknown
        }
    }

    var revocationReason: LifecycleEvent.Revocation.Reason {
        if isUnacknowledged || voided?.reason == .unacknowledged { return .unacknowledged }
        if order?.refund?.reason == .chargeback || voided?.reason == .chargeback { return .store }
        return voided?.source == .developer ? .developer : .unknown
    }

    private var isUnacknowledged: Bool {
        purchase.acknowledgementState == .pending && acknowledgementDeadline <= eventTime
    }

    /// Three days for a renewing product, half of a shorter prepaid time, five minutes for testers. A top-up adds to what was left: its
    /// order states the time that it paid for.
    /// https://developer.android.com/google/play/billing/subscriptions
    var acknowledgementDeadline: Date {
        let start = purchase.startTime ?? eventTime
        if purchase.isTestPurchase { return start.addingTimeInterval(5 * 60) }
        guard item.isPrepaid, let end = item.expiryTime else { return start.addingTimeInterval(3 * 86_400) }
        let paid = statedPeriod ?? start..<max(start, end)
        let half = (paid.upperBound.millisecondsSince1970 - paid.lowerBound.millisecondsSince1970) / 2
        return Date(millisecondsSince1970: start.millisecondsSince1970 + min(half, 3 * 86_400_000))
    }

    var needsAcknowledgement: Bool {
        switch purchase.state {
        case .active, .canceled, .inGracePeriod: purchase.acknowledgementState == .pending
        default: false
        }
    }
}

// MARK: Price changes

extension SubscriptionPurchase.PriceChange {
    /// True if the first renewal at the new price is after a time.
    fileprivate func isExpected(after time: Date?) -> Bool {
        guard let time, let expectedChargeTime else { return false }
        return expectedChargeTime > time
    }
}

extension PlayItem {
    var priceChange: LifecycleEvent.PriceChange? {
        guard let change = item.autoRenewingPlan?.priceChange, let state = change.state else { return nil }
        let stage: LifecycleEvent.PriceChange.Stage
        switch state {
        case .outstanding: stage = .pending
        case .confirmed: stage = .accepted
        case .applied: stage = .applied
        case .canceled: stage = .declined
        default: return nil
        }
        return LifecycleEvent.PriceChange(
            stage: stage,
            old: stage == .applied ? nil : item.autoRenewingPlan?.recurringPrice,
            new: change.newPrice,
            effectiveAt: change.expectedChargeTime,
            consentRequired: stage == .pending && change.mode == .increase
        )
    }

    var stepUp: LifecycleEvent.PriceChange? {
        guard let consent = item.autoRenewingPlan?.stepUpConsent, let state = consent.state else { return nil }
        let stage: LifecycleEvent.PriceChange.Stage
        switch state {
        case .pending: stage = .pending
        case .confirmed: stage = .accepted
        case .completed: stage = .applied
        default: return nil
        }
        return LifecycleEvent.PriceChange(
            stage: stage,
            new: consent.newPrice,
            effectiveAt: consent.deadline,
            consentRequired: stage == .pending
        )
    }

    /// The change that is still to come.
    var openPriceChange: LifecycleEvent.PriceChange? {
        [stepUp, priceChange].compactMap(\.self).first { $0.stage == .pending || $0.stage == .accepted }
    }
}
