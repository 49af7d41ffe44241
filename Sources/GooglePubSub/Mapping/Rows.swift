import FoundationEssentials
import LifecycleEvents

/// The table of subscription notifications: the number says what happened, the answer what is true now.
///
/// If the two agree, a row gives the event of its number. Otherwise the notification has been overtaken, and the answer
/// gives the event. The identities of such events come from the fact and not from the notification, so its own
/// notification does not repeat the event. Numbers are those of the RTDN reference.
struct SubscriptionMapping {
    let item: PlayItem
    /// All items of the purchase.
    var purchase: SubscriptionPurchase { item.purchase }

    /// The events of the purchase's main item.
    var drafts: [EventDraft] {
        // An item that goes on under the name of the purchase only has paid time of its own to state.
        guard item.isMain else { return item.hasPurchaseName ? [] : rows }
        var drafts = rows
        if !purchase.state.isKnown {
            drafts = [unmapped(purchase.state.rawValue, item.type.map { String($0.rawValue) })]
        } else if let type = item.type, !type.isKnown {
            drafts.insert(unmapped("subscriptionNotification", String(type.rawValue)), at: 0)
        }
        if item.needsAcknowledgement { drafts.append(acknowledgementRequired) }
        return drafts
    }

    private var rows: [EventDraft] {
        switch purchase.state {
        case .pending: return [purchasePending]
        case .pendingPurchaseCanceled: return [purchasePendingCanceled]
        case .active where item.reason == .question, .canceled where item.reason == .question: return asked
        case .active: return active
        case .canceled: return canceled
        case .inGracePeriod: return item.type == .purchased ? [begun, grace] : [grace]
        case .onHold: return item.type == .purchased ? [begun, hold] : [hold]
        case .paused: return item.type == .purchased ? [begun, paused] : [paused]
        case .expired: return expiredRow
        // Neither a state nor a number without a meaning is about one item: the purchase's own tells of it.
        default: return []
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
        // From hold or from a pause: the state knows which.
        case .recovered?: return [renewed(.recovery(from: .unknown))]
        // An item that is replaced at its date may still be listed when its successor is charged ahead.
        case .renewed?:
            return item.isContinued ? [] : [renewed(renewalCause)]
        // Undone since, or a commitment that runs on.
        case .canceled?, .cancellationScheduled?:
            return item.isCancellationScheduled ? [disabled] : []
        // A kept item, next to the one that represents the purchase, did not begin.
        case .purchased?: return item.isMain || item.item.replacement?.mode != .keepExisting ? [begun] : []
        // Paid by now.
        case .onHold?: return overtakenByCharge(.recovery(from: .hold))
        case .inGracePeriod?: return overtakenByCharge(.recovery(from: .grace))
        case .paused?: return overtakenByCharge(.resumption)
        case .restarted?: return [enabled]
        // The first is deprecated and comes with the second; both have one identity.
        case .priceChangeConfirmed?, .priceChangeUpdated?: return item.priceChange.map { [priceChange($0)] } ?? []
        // The developer moved the renewal date. This is no deferred change of product.
        case .deferred?: return [extended].compactMap(\.self)
        // Planned, moved or dropped: the answer does not show which, and access continues.
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

    /// Paid up and not renewing: access continues until the end of the period.
    private var canceled: [EventDraft] {
        let disabled = item.item.isPrepaid ? [] : [self.disabled]
        switch item.type {
        case nil: return []
        case .expired? where item.isEndedBesideOthers, .revoked? where item.isEndedBesideOthers:
            return endedBesideOthers
        // Bought and canceled within moments.
        case .purchased?: return [begun] + disabled
        case .renewed?: return [renewed(renewalCause)] + disabled
        case .recovered?: return [renewed(.recovery(from: .unknown))] + disabled
        case .deferred?: return [extended].compactMap(\.self) + disabled
        case .itemsChanged?: return item.item.isRemovalDeferred ? disabled : itemsChanged + disabled
        case .expired?, .revoked?: return item.accessEnd <= item.eventTime ? [expired] : disabled
        default: return disabled
        }
    }

    private var expiredRow: [EventDraft] {
        switch item.type {
        // Money went back, and access with it.
        case nil where item.isTakenAway, .revoked?: return [revoked]
        case .purchased?: return [begun, expired]
        // Paid, and ended since.
        case .renewed? where item.isRenewalOrder: return [renewed(.unknown), expired]
        default: return [expired]
        }
    }

    /// Without a notification: the events that the answer shows.
    private var asked: [EventDraft] {
        if item.isOver {
            // For a renewing item, a charge may be moments late.
            let hasEnded = !item.isOutlived && (!item.isMain || purchase.state == .canceled)
            return hasEnded ? [expired] : []
        }
        var drafts: [EventDraft] = []
        if item.start != nil {
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

    /// The event of a new token. One that would have the name of the period is the renewal by now, if the purchase was renewed before it
    /// was looked up.
    private var begun: EventDraft {
        let event = began
        let isOvertaken = item.wasRenewed && event.id == periodBeganID
        guard isOvertaken else { return event }
        // The answer shows that it had begun, and not when: from the notification on it would be longer than the plan.
        let period = item.period
        guard item.start == nil, let end = period.end else { return renewed(.unknown) }
        return renewed(.unknown, ServicePeriod(start: min(max(item.assertedAt, period.start), end), end: end))
    }

    private func overtakenByCharge(_ cause: LifecycleEvent.Renewed.Cause) -> [EventDraft] {
        item.isRenewalOrder ? [renewed(cause)] : []
    }

    /// An item whose time is over in a purchase that continues.
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
        // Any item can leave, also the one that stands for the purchase.
        if item.item.isRemovalDeferred { return [disabled] }
        if item.isMain { return [addOnsChanged] }
        return [item.isRenewalOrder ? renewed(.unknown) : started(.new)]
    }
}
