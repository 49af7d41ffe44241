import FoundationEssentials
import LifecycleEvents

// MARK: A new token

extension SubscriptionMapping {
    /// The event of a new token. The first rule that matches holds.
    var began: EventDraft {
        let line = item.item
        if let target = item.nextProductName { return changeScheduled(to: target) }
        guard let linked = purchase.linkedPurchaseToken, !linked.value.isEmpty else {
            return started(purchase.outOfAppPurchase == nil ? .new : .resubscribed)
        }
        guard continuesAnother else { return started(.new) }
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
            return item.isMain ? addOnsChanged : started(.new)
        }
        if isSameProduct == false || (line.isPrepaid && isSameProduct == nil) { return productChanged }
        // Bought again before the end of a subscription that was not going to renew.
        return started(.resubscribed)
    }

    /// True if the item takes the place of one of the purchase before: any item can, not only the one that stands for the purchase. An
    /// item that was bought next to those that continue takes no place.
    private var continuesAnother: Bool {
        if item.item.replacement?.productID != nil { return true }
        return item.predecessor == nil ? item.isMain : !item.ancestors.isEmpty
    }

    var predecessorItem: SubscriptionPurchase.LineItem? { item.ancestors.first?.item }

    func replacedPlan(of replacement: SubscriptionPurchase.Replacement) -> String? {
        predecessorItem.flatMap { $0.productID == replacement.productID ? $0.basePlanID : nil }
    }

    var productChanged: EventDraft {
        let replaced =
            item.item.replacement.flatMap { replacement in
                replacement.productID.map {
                    ProductID($0).under(replacement.basePlanID ?? replacedPlan(of: replacement))
                }
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

    func changeScheduled(to target: ProductID) -> EventDraft {
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
    init?(_ mode: SubscriptionPurchase.Replacement.Mode) {
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
    /// The identity of a fact that no other channel can name: a notification that was overtaken and the one in time
    /// give the same.
    func notified(_ what: String...) -> EventID {
        .notified(item.lineage, by: .google, notification: what.joined(separator: "/"))
    }

    /// The identity of a fact that only the notification reports.
    var notifiedByTime: EventID {
        notified(
            "subscription",
            item.type.map { String($0.rawValue) } ?? "",
            String(item.eventTime.millisecondsSince1970)
        )
    }

    var periodBeganID: EventID {
        guard let transaction = item.transaction else {
            return .periodBegan(item.lineage, product: item.productName, start: item.period.start)
        }
        return .periodBegan(item.lineage, transaction: transaction, product: item.productName)
    }

    func endedID(_ reason: LifecycleEvent.Expired.Reason) -> EventID {
        guard let transaction = item.transaction else {
            // A purchase without a paid order has but one period.
            return .ended(item.lineage, transaction: "", product: item.productName, periodStart: nil, reason: reason)
        }
        return .ended(
            item.lineage,
            transaction: transaction,
            product: item.productName,
            periodStart: item.firstStart(paidBy: transaction),
            reason: reason
        )
    }

    func started(_ origin: LifecycleEvent.Started.Origin) -> EventDraft {
        EventDraft(
            id: periodBeganID,
            event: .started(.init(origin: origin, phase: item.phase, period: item.period, price: item.price)),
            occurredAt: item.start,
            // Google calls it a renewal, and the start of what renews is unknown.
            speech: item.type == .renewed ? .renewal : nil
        )
    }

    /// - Parameter period: the new period, if it is not the item's own.
    func renewed(_ cause: LifecycleEvent.Renewed.Cause, _ period: ServicePeriod? = nil) -> EventDraft {
        EventDraft(
            id: periodBeganID,
            event: .renewed(.init(cause: cause, phase: item.phase, period: period ?? item.period, price: item.price))
        )
    }

    /// A charge in grace is reported as a renewal, too: the state knows that.
    var renewalCause: LifecycleEvent.Renewed.Cause { item.isSuccessor ? .planChange : .scheduled }

    var addOnsChanged: EventDraft {
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

    var disabled: EventDraft {
        let reason = item.disabledReason ?? .unknown
        var canceledAt: Date?
        if case .user(let time?, _)? = purchase.cancellation { canceledAt = time }
        // Until the end of a commitment charges and access continue, and only Google knows when that is.
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

    var enabled: EventDraft {
        EventDraft(id: notifiedByTime, event: .autoRenewEnabled)
    }

    var grace: EventDraft {
        let until = item.item.expiryTime
        return EventDraft(
            id: notified("grace", purchase.pendingOrderID ?? item.transaction?.rawValue ?? ""),
            event: .billingIssue(.init(access: until.map { .grace(until: $0) } ?? .suspended))
        )
    }

    var hold: EventDraft {
        EventDraft(
            id: notified("hold", purchase.pendingOrderID ?? item.transaction?.rawValue ?? ""),
            event: .billingIssue(.init(access: .suspended))
        )
    }

    var paused: EventDraft {
        EventDraft(
            id: endedID(.paused),
            event: .paused(.init(resumesAt: purchase.autoResumeTime)),
            effectiveAt: item.accessEnd
        )
    }

    var pauseScheduled: EventDraft {
        EventDraft(id: notifiedByTime, event: .pauseScheduled(.init()), effectiveAt: item.item.expiryTime)
    }

    var extended: EventDraft? {
        guard let end = item.item.expiryTime else { return nil }
        return EventDraft(
            id: item.transaction.map {
                .extended(item.lineage, transaction: $0, product: item.productName, to: end)
            }
                ?? notified("extended", String(end.millisecondsSince1970)),
            event: .extended(.init(to: end, reason: .deferral))
        )
    }

    func priceChange(_ change: LifecycleEvent.PriceChange) -> EventDraft {
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

    var expired: EventDraft {
        EventDraft(
            id: endedID(.unknown),
            event: .expired(.init(reason: item.expiryReason, feedback: purchase.cancellationFeedback)),
            occurredAt: item.accessEnd
        )
    }

    var revoked: EventDraft {
        EventDraft(id: endedID(.unknown), event: .revoked(.init(reason: item.revocationReason)))
    }

    var purchasePending: EventDraft {
        EventDraft(id: notified("pending"), event: .purchasePending(.init(product: ProductID(item.item.productID))))
    }

    var purchasePendingCanceled: EventDraft {
        EventDraft(
            id: notified("pending_canceled"),
            event: .purchasePendingCanceled(.init(product: ProductID(item.item.productID)))
        )
    }

    var acknowledgementRequired: EventDraft {
        EventDraft(
            id: notified("acknowledgement"),
            event: .acknowledgementRequired(.init(deadline: item.acknowledgementDeadline)),
            effectiveAt: item.acknowledgementDeadline
        )
    }

    func unmapped(_ type: String, _ subtype: String?) -> EventDraft {
        EventDraft(id: notifiedByTime, event: .unmapped(.init(type: type, subtype: subtype)))
    }
}

extension SubscriptionNotificationType {
    /// True if this version knows the meaning of the number.
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
    /// True if this version knows the meaning of the state.
    var isKnown: Bool {
        switch self {
        case .pending, .active, .paused, .inGracePeriod, .onHold, .canceled, .expired, .pendingPurchaseCanceled: true
        default: false
        }
    }

    /// True if nothing can be paid or given under the token any more.
    var isFinal: Bool { self == .expired || self == .pendingPurchaseCanceled }
}

extension SubscriptionPurchase {
    /// The answer that the customer ticked when asked why they cancelled.
    fileprivate var cancellationFeedback: String? {
        guard case .user(_, let reason)? = cancellation else { return nil }
        return reason
    }
}
