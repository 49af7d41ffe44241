import FoundationEssentials

// What an end takes, and money that goes back.
extension CreditPolicy {
    func ended(
        _ applied: AppliedEvent,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let event = applied.event
        // What is said twice of one end, in other words and under another id, takes once.
        guard applied.disposition != .duplicate || isToldInPassing(event, lineage) else { return [] }
        var stated = max(event.effectiveAt, event.occurredAt).millisecondsSince1970
        // An end may be dated to what was paid for, and told when the grace that followed has run out.
        if let grace = timeline.granting(at: stated)?.grace, grace.until <= event.assertedAt.millisecondsSince1970 {
            stated = grace.until
        }
        let moment = Date(millisecondsSince1970: timeline.reached(stated))
        guard !timeline.periods.isEmpty, !state.access(at: moment.millisecondsSince1970, timeline).isGranted else {
            return []
        }
        let since = begun(since: moment, event, timeline, state)
        if since.contains(where: { !isSpent($0, event) }) { return [] }
        if outlasts(event, moment.millisecondsSince1970, timeline, state) { return [] }
        return [
            CreditAction(
                id: EventID(lineage.scope(of: event.transaction ?? ""), "credits_revoked", event.id.description)
                    .description,
                effect: .revoke,
                // What has begun since, and is over as well, is taken with it.
                effectiveAt: max(moment, since.last.map { Date(millisecondsSince1970: $0.start) } ?? moment),
                subscription: lineage
            )
        ]
    }

    /// Whether credits were paid for longer than what a failed charge was for: Stripe suspends a subscription as a whole, and the
    /// year beside a month that was not paid goes on when that is settled. Until then there is no access to use them.
    private func outlasts(
        _ event: NormalizedEvent,
        _ moment: Int64,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> Bool {
        guard event.provider == .stripe, case .expired(let expired) = event.event, expired.reason == .billing,
            let failed = timeline.lastBegun(by: moment).map({ timeline.periods[$0].start })
        else { return false }
        return timeline.periods.contains {
            $0.start < failed && credits(of: $0) != nil && mayGoOn($0, at: moment, state)
                && isKnownByPayment($0, before: failed, state)
        }
    }

    /// Whether an end may be known from a statement that took nothing for it: each of Apple's says all of a transaction,
    /// whatever else it is about. The end of one has one id, so it still takes once.
    func isToldInPassing(_ event: NormalizedEvent, _ lineage: SubscriptionID) -> Bool {
        switch event.event {
        case .refunded: lineage.store == .appStore
        case .revoked: event.provider == .apple
        default: false
        }
    }

    /// Money that went back, of a period or of what was bought once, and money that went back and came again.
    func refunded(
        _ applied: AppliedEvent,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let event = applied.event
        let purchase = event.refund.flatMap { state.purchases[$0.transaction]?.value }
        let isLoss =
            switch event.event {
            case .refunded: true
            case .chargeback(let chargeback): chargeback.stage == .lost
            default: false
            }
        guard isLoss else {
            guard applied.disposition == .applied, applied.isRestoration else { return [] }
            return purchase.map { regained($0, event, lineage) } ?? restored(event, lineage, timeline, state)
        }
        if let purchase {
            if event.tellsOfPurchaseTakenBack { return purchased(event, lineage, purchase.purchase, state) }
            return withdrawn(purchase, lineage, state, again: applied.followsReversal ? event.id : nil)
        }
        if case .refunded(let refund) = event.event, refund.affectsCurrentPeriod == false { return [] }
        // A refund of something else, which may be a purchase that is not known yet. Where a pause has ended access, what is
        // left counts again, but for a refund that would have ended it, too.
        guard let refund = event.refund, refund.endsAccess, let index = timeline.index(of: refund),
            !isSucceeded(index, timeline, event, state)
        else { return [] }
        return ended(applied, lineage, timeline, state)
    }

    /// Whether other credits had taken the place of a period's when its money went back, and are still paid for.
    private func isSucceeded(
        _ index: Int,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Bool {
        let moment = timeline.reached(max(event.effectiveAt, event.occurredAt).millisecondsSince1970)
        return timeline.periods[(index + 1)...].contains {
            $0.start <= moment && $0.refundedAt == nil && isPaid($0, state)
        }
    }

    func restored(
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard last(since: event.occurredAt, event, timeline, state) == nil, let refund = event.refund,
            let index = timeline.index(of: refund)
        else { return [] }
        let period = timeline.periods[index]
        let since = timeline.periods[(index + 1)...].filter { hasBegun($0, event) && isPaid($0, state) }
        guard let full = credits(of: period), !isSpent(period, event), since.allSatisfy({ isSpent($0, event) })
        else { return [] }
        let share = replaced(by: period, before(index, timeline, state), event, state)
            .flatMap { prorated(full, $0, period, event, state) }
        var action = action("restored \(event.id)", .reset(to: share ?? full), period, event, lineage)
        // What a change within the period paid out was dated to the change, which the period's last statement tells of.
        let stated = max(period.by.milliseconds, since.last?.start ?? .min)
        action.effectiveAt = max(action.effectiveAt, min(Date(millisecondsSince1970: stated), event.occurredAt))
        return [action]
    }
}
