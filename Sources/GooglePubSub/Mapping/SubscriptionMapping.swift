import FoundationEssentials
import Normalizer

/// The table of subscription notifications: what happened from the number, what is so from the answer.
///
/// Where the two agree, a row gives the event of its number. Where they do not, the notification has been overtaken,
/// and the answer gives the event; the identities of such events come from what happened and not from the
/// notification, so that the notification of its own that each has makes no second one. Numbers are those of the RTDN
/// reference.
struct SubscriptionMapping {
    let item: PlayItem
    /// All items of the purchase.
    private var purchase: SubscriptionPurchase { item.purchase }

    /// The events of the purchase's main item.
    var drafts: [EventDraft] {
        var drafts = rows
        if let type = item.type, !type.isKnown, purchase.state.isKnown {
            drafts.insert(unmapped("subscriptionNotification", String(type.rawValue)), at: 0)
        }
        if item.isMain, item.needsAcknowledgement { drafts.append(acknowledgementRequired) }
        return drafts
    }

    private var rows: [EventDraft] {
        switch purchase.state {
        case .pending: return [purchasePending]
        case .pendingPurchaseCanceled: return [purchasePendingCanceled]
        case .active where item.reason == .question, .canceled where item.reason == .question: return asked
        case .active: return active
        case .canceled: return canceled
        case .inGracePeriod: return item.type == .purchased ? [began, grace] : [grace]
        case .onHold: return item.type == .purchased ? [began, hold] : [hold]
        case .paused: return item.type == .purchased ? [began, paused] : [paused]
        case .expired: return expiredRow
        default: return [unmapped(purchase.state.rawValue, item.type.map { String($0.rawValue) })]
        }
    }
}

// MARK: Rows

extension SubscriptionMapping {
    private var active: [EventDraft] {
        if item.isMain ? item.isEndedBesideOthers && item.type != .purchased : item.isOver { return endedBesideOthers }
        switch item.type {
        // Money went back and access stayed: the row of the voided purchase says all.
        case nil: return []
        // From hold, or from a pause: only what was known before tells which.
        case .recovered?: return [renewed(recoveryCause)]
        // An item that is replaced at its date may still be listed when its successor is charged ahead.
        case .renewed?:
            return item.isChargeKnown || item.isContinued ? [] : [renewed(renewalCause)]
        // Undone since, or a commitment that runs on.
        case .canceled?, .cancellationScheduled?:
            return item.isCancellationScheduled ? [disabled] : []
        // Beside the item that stands for the purchase, what was kept did not begin.
        case .purchased?: return item.isMain || item.item.replacement?.mode != .keepExisting ? [began] : []
        // Paid by now.
        case .onHold?: return overtakenByCharge(.recovery(from: .hold))
        case .inGracePeriod?: return overtakenByCharge(.recovery(from: .grace))
        case .paused?: return overtakenByCharge(.resumption)
        case .restarted?: return [enabled]
        // The first is deprecated and comes beside the second; both have one identity.
        case .priceChangeConfirmed?, .priceChangeUpdated?: return item.priceChange.map { [priceChange($0)] } ?? []
        // The developer moved the renewal date. This is no deferred change of product.
        case .deferred?: return [extended].compactMap(\.self)
        // Planned, moved or dropped: the answer does not tell, and access goes on.
        case .pauseScheduleChanged?: return [pauseScheduled]
        // Read from a replica that lags, or about another item.
        case .revoked?, .expired?: return []
        case .itemsChanged?: return itemsChanged
        // Another payment succeeded.
        case .pendingPurchaseCanceled?: return []
        case .priceStepUpConsentUpdated?: return item.stepUp.map { [priceChange($0)] } ?? []
        default: return []
        }
    }

    /// Paid up and not renewing: access goes on until the end of the period.
    private var canceled: [EventDraft] {
        let disabled = item.item.isPrepaid ? [] : [self.disabled]
        switch item.type {
        case nil: return []
        case .expired? where item.isEndedBesideOthers, .revoked? where item.isEndedBesideOthers:
            return endedBesideOthers
        // Bought and canceled within moments.
        case .purchased?: return [began] + disabled
        case .renewed?: return item.isChargeKnown ? disabled : [renewed(renewalCause)] + disabled
        case .recovered?: return [renewed(recoveryCause)] + disabled
        case .deferred?: return [extended].compactMap(\.self) + disabled
        case .itemsChanged?: return itemsChanged + disabled
        case .expired?, .revoked?: return item.accessEnd <= item.eventTime ? [expired] : disabled
        default: return disabled
        }
    }

    private var expiredRow: [EventDraft] {
        switch item.type {
        // Money went back, and access with it.
        case nil where item.isTakenAway, .revoked?: return [revoked]
        case .purchased?: return [began, expired]
        // Paid, and ended since.
        case .renewed? where item.isRenewalOrder && !item.isChargeKnown: return [renewed(.unknown), expired]
        default: return [expired]
        }
    }

    /// Without a notification: what the answer shows to have happened.
    private var asked: [EventDraft] {
        if item.isOver {
            // Of what renews, a charge may be moments late.
            let hasEnded = !item.isOutlived && (!item.isMain || purchase.state == .canceled)
            return hasEnded ? [expired] : []
        }
        var drafts: [EventDraft] = []
        if item.start != nil, !item.isChargeKnown {
            if item.isRenewalOrder, !item.isContinued {
                drafts.append(renewed(.unknown))
            } else if item.isMain || item.item.replacement?.mode != .keepExisting {
                drafts.append(began)
            }
        }
        // An item that is being replaced is charged at no new price.
        if item.item.deferredReplacement == nil, let change = item.openPriceChange {
            drafts.append(priceChange(change))
        }
        if purchase.state == .canceled, !item.item.isPrepaid { drafts.append(disabled) }
        return drafts
    }

    private func overtakenByCharge(_ cause: LifecycleEvent.Renewed.Cause) -> [EventDraft] {
        item.isRenewalOrder && !item.isOrderKnown ? [renewed(cause)] : []
    }

    /// An item whose time is over in a purchase that goes on.
    private var endedBesideOthers: [EventDraft] {
        switch item.type {
        case .revoked?: [revoked]
        case .itemsChanged?, .expired?: [expired]
        // Taken away for this date. No notification of its own has to come.
        case .renewed? where !item.isOutlived, .recovered? where !item.isOutlived: [expired]
        default: []
        }
    }

    private var itemsChanged: [EventDraft] {
        if item.isMain { return [addOnsChanged] }
        if item.item.isRemovalDeferred { return [disabled] }
        return [item.isRenewalOrder ? renewed(.unknown) : started(.new)]
    }
}

// MARK: A new token

extension SubscriptionMapping {
    /// The event of a new token. The first rule that matches holds.
    private var began: EventDraft {
        let line = item.item
        if let target = item.nextProductName { return changeScheduled(to: target) }
        guard let linked = purchase.linkedPurchaseToken, !linked.value.isEmpty else {
            return started(purchase.outOfAppPurchase == nil ? .new : .resubscribed)
        }
        // Bought beside what goes on, it goes on from nothing.
        guard item.isMain, item.predecessor == nil || !item.ancestors.isEmpty else { return started(.new) }
        let before = predecessorItem
        let isSameProduct =
            (line.replacement?.productID ?? before?.productID).map { $0 == line.productID }
            .map { $0 && (line.replacement?.basePlanID ?? before?.basePlanID ?? line.basePlanID) == line.basePlanID }
        let replaced = line.replacement?.productID ?? before?.productID ?? line.productID
        if line.isPrepaid, replaced == line.productID,
            before?.isPrepaid == true || (before == nil && isSameProduct == true)
        {
            return renewed(.topUp)
        }
        let hasKept = purchase.lineItems.contains { $0.replacement?.mode == .keepExisting }
        if hasKept, purchase.lineItems.count > 1, line.replacement?.mode == .keepExisting || line.replacement == nil {
            return addOnsChanged
        }
        if isSameProduct == false || (line.isPrepaid && isSameProduct == nil) { return productChanged }
        // Bought again before the end of a subscription that was not going to renew.
        return started(.resubscribed)
    }

    private var predecessorItem: SubscriptionPurchase.LineItem? { item.ancestors.first?.item }

    private func replacedPlan(of replacement: SubscriptionPurchase.Replacement) -> String? {
        predecessorItem.flatMap { $0.productID == replacement.productID ? $0.basePlanID : nil }
    }

    private var productChanged: EventDraft {
        let replaced =
            item.item.replacement.flatMap { replacement in
                replacement.productID?.naming(basePlan: replacement.basePlanID ?? replacedPlan(of: replacement))
            } ?? predecessorItem?.productName
        return EventDraft(
            id: periodBeganID,
            event: .productChanged(
                .init(
                    from: replaced,
                    to: item.productName,
                    direction: .unknown,
                    timing: .immediate,
                    basis: .store,
                    proration: item.item.replacement?.mode.flatMap(LifecycleEvent.ProductChange.Proration.init),
                    period: item.period
                )
            ),
            occurredAt: item.start
        )
    }

    private func changeScheduled(to target: String) -> EventDraft {
        let date = item.item.expiryTime
        return EventDraft(
            id: .changeScheduled(item.lineage, from: item.productName, to: target, at: date),
            event: .productChangeScheduled(
                .init(
                    from: item.productName,
                    to: target,
                    direction: .unknown,
                    timing: .atPeriodEnd(date),
                    basis: .store,
                    proration: .deferred
                )
            ),
            effectiveAt: date
        )
    }
}

extension LifecycleEvent.ProductChange.Proration {
    fileprivate init?(_ mode: SubscriptionPurchase.Replacement.Mode) {
        switch mode {
        case .withTimeProration: self = .timeCredit
        case .chargeProratedPrice: self = .proratedCharge
        case .withoutProration: self = .none
        case .chargeFullPrice: self = .fullCharge
        case .deferred: self = .deferred
        default: return nil
        }
    }
}

// MARK: Events

extension SubscriptionMapping {
    /// The identity of something that no other channel can name, made from what happened: a notification that was
    /// overtaken and the one in time give one.
    private func notified(_ what: String...) -> EventID {
        .notified(item.lineage, by: .google, notification: what.joined(separator: "/"))
    }

    /// The identity of something that only the notification tells.
    private var notifiedByTime: EventID {
        notified(
            "subscription",
            item.type.map { String($0.rawValue) } ?? "",
            String(item.eventTime.millisecondsSince1970)
        )
    }

    private var periodBeganID: EventID {
        guard let transaction = item.transaction else {
            return .periodBegan(item.lineage, product: item.productName, start: item.period.start)
        }
        return .periodBegan(item.lineage, transaction: transaction)
    }

    private func endedID(_ reason: LifecycleEvent.Expired.Reason) -> EventID {
        guard let transaction = item.transaction else {
            // A purchase without a paid order has but one period.
            return .ended(item.lineage, transaction: "", reason: reason)
        }
        return .ended(item.lineage, transaction: transaction, reason: reason)
    }

    private func started(_ origin: LifecycleEvent.Started.Origin) -> EventDraft {
        EventDraft(
            id: periodBeganID,
            event: .started(.init(origin: origin, phase: item.phase, period: item.period, price: item.price)),
            occurredAt: item.start
        )
    }

    private func renewed(_ cause: LifecycleEvent.Renewed.Cause) -> EventDraft {
        EventDraft(
            id: periodBeganID,
            event: .renewed(.init(cause: cause, phase: item.phase, period: item.period, price: item.price))
        )
    }

    private var recoveryCause: LifecycleEvent.Renewed.Cause {
        switch item.prior?.snapshot(at: item.eventTime).status {
        case .paused?: .resumption
        case .billingRetry?: .recovery(from: .hold)
        case .grace?: .recovery(from: .grace)
        default: .recovery(from: .unknown)
        }
    }

    /// A charge in grace is reported as a renewal, too.
    private var renewalCause: LifecycleEvent.Renewed.Cause {
        if item.isSuccessor { return .planChange }
        switch item.prior?.snapshot(at: item.eventTime).status {
        case .grace?: return .recovery(from: .grace)
        case .billingRetry?: return .recovery(from: .hold)
        case .paused?: return .resumption
        default: return .scheduled
        }
    }

    private var addOnsChanged: EventDraft {
        EventDraft(
            id: item.type == .purchased ? notified("items", "purchased") : notifiedByTime,
            event: .productChanged(
                .init(
                    from: item.productName,
                    to: item.productName,
                    direction: .addOns,
                    timing: .immediate,
                    basis: .store,
                    period: item.knownPeriod
                )
            )
        )
    }

    private var disabled: EventDraft {
        let reason = item.disabledReason ?? .unknown
        var canceledAt: Date?
        if case .user(let time?, _)? = purchase.cancellation { canceledAt = time }
        // Until the end of a commitment charges and access go on, and only Google knows when that is.
        let accessUntil = reason == .commitment ? nil : item.item.expiryTime
        let identity = canceledAt ?? (reason == .commitment ? item.eventTime : item.item.expiryTime) ?? item.eventTime
        return EventDraft(
            id: notified("auto_renew_off", String(identity.millisecondsSince1970)),
            event: .autoRenewDisabled(
                .init(reason: reason, accessUntil: accessUntil, feedback: purchase.cancellationFeedback)
            ),
            occurredAt: canceledAt,
            effectiveAt: accessUntil
        )
    }

    private var enabled: EventDraft {
        EventDraft(id: notifiedByTime, event: .autoRenewEnabled)
    }

    private var grace: EventDraft {
        let until = item.item.expiryTime
        return EventDraft(
            id: notified("grace", purchase.pendingOrderID ?? item.transaction ?? ""),
            event: .billingIssue(.init(access: until.map { .grace(until: $0) } ?? .suspended))
        )
    }

    private var hold: EventDraft {
        EventDraft(
            id: notified("hold", purchase.pendingOrderID ?? item.transaction ?? ""),
            event: .billingIssue(.init(access: .suspended))
        )
    }

    private var paused: EventDraft {
        EventDraft(
            id: endedID(.paused),
            event: .paused(.init(resumesAt: purchase.autoResumeTime)),
            effectiveAt: item.accessEnd
        )
    }

    private var pauseScheduled: EventDraft {
        EventDraft(id: notifiedByTime, event: .pauseScheduled(.init()), effectiveAt: item.item.expiryTime)
    }

    private var extended: EventDraft? {
        guard let end = item.item.expiryTime, item.priorEnd != end else { return nil }
        return EventDraft(
            id: item.transaction.map { .extended(item.lineage, transaction: $0, to: end) }
                ?? notified("extended", String(end.millisecondsSince1970)),
            event: .extended(.init(from: item.priorEnd, to: end, reason: .deferral))
        )
    }

    private func priceChange(_ change: LifecycleEvent.PriceChange) -> EventDraft {
        EventDraft(
            id: notified(
                "price",
                change.stage.rawValue,
                change.new?.description ?? "",
                change.effectiveAt.map { String($0.millisecondsSince1970) } ?? ""
            ),
            event: .priceChange(change),
            effectiveAt: change.effectiveAt
        )
    }

    private var expired: EventDraft {
        EventDraft(
            id: endedID(.unknown),
            event: .expired(.init(reason: item.expiryReason, feedback: purchase.cancellationFeedback)),
            occurredAt: item.accessEnd
        )
    }

    private var revoked: EventDraft {
        EventDraft(id: endedID(.unknown), event: .revoked(.init(reason: item.revocationReason)))
    }

    private var purchasePending: EventDraft {
        EventDraft(id: notified("pending"), event: .purchasePending(.init(product: item.item.productID)))
    }

    private var purchasePendingCanceled: EventDraft {
        EventDraft(
            id: notified("pending_canceled"),
            event: .purchasePendingCanceled(.init(product: item.item.productID))
        )
    }

    private var acknowledgementRequired: EventDraft {
        EventDraft(
            id: notified("acknowledgement"),
            event: .acknowledgementRequired(.init(deadline: item.acknowledgementDeadline)),
            effectiveAt: item.acknowledgementDeadline
        )
    }

    private func unmapped(_ type: String, _ subtype: String?) -> EventDraft {
        EventDraft(id: notifiedByTime, event: .unmapped(.init(type: type, subtype: subtype)))
    }
}

extension SubscriptionNotificationType {
    /// True if this version knows what the number means.
    var isKnown: Bool {
        switch self {
        case .recovered, .renewed, .canceled, .purchased, .onHold, .inGracePeriod, .restarted, .priceChangeConfirmed,
            .deferred, .paused, .pauseScheduleChanged, .revoked, .expired, .itemsChanged, .cancellationScheduled,
            .priceChangeUpdated, .pendingPurchaseCanceled, .priceStepUpConsentUpdated:
            true
        default: false
        }
    }
}

extension SubscriptionPurchase.State {
    /// True if this version knows what the state means.
    var isKnown: Bool {
        switch self {
        case .pending, .active, .paused, .inGracePeriod, .onHold, .canceled, .expired, .pendingPurchaseCanceled: true
        default: false
        }
    }
}

extension SubscriptionPurchase {
    /// The answer that the customer ticked when asked why they cancelled.
    fileprivate var cancellationFeedback: String? {
        guard case .user(_, let reason)? = cancellation else { return nil }
        return reason
    }
}
