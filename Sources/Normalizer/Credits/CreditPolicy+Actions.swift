public import FoundationEssentials

extension CreditPolicy {
    /// What to do about an event, in this order; nothing for most events.
    ///
    /// Ask about every applied event, whatever its disposition: news of the past may correct what was paid out, and a
    /// period that a state knew before its event came is still to be paid out. The ids see to it that nothing is done twice.
    ///
    /// - Parameters:
    ///   - applied: what applying the event came to.
    ///   - state: the state that the event was applied to, as it is right after.
    ///   - now: the time, of the host's clock, where the event has waited since it was received, in a queue or in quarantine:
    ///     by then a period may have begun, or be over, that was still to come. Absent, it is the event's `receivedAt`.
    public func actions(
        for applied: AppliedEvent,
        in state: SubscriptionState,
        at now: Date? = nil
    ) -> [CreditAction] {
        var applied = applied
        if let now { applied.event.receivedAt = max(now, applied.event.receivedAt) }
        let event = applied.event
        guard applied.disposition != .unrelated, let lineage = event.subscription else { return [] }
        lazy var timeline = PeriodTimeline(state)
        switch event.event {
        case .started(let started) where started.origin == .temporary:
            return []
        case .offerRedeemed(let offer) where offer.period == nil:
            return []
        // Apple may name an offer or a withdrawn change, and begin a period with it.
        case .productChangeReverted where event.store != .appStore || event.provider != .apple:
            return []
        case .started, .renewed, .productChanged, .offerRedeemed, .productChangeReverted:
            return begun(applied, lineage, timeline, state)
        case .oneTimePurchased(let purchase):
            return purchased(event, lineage, purchase, state)
        case .expired(let expired):
            switch expired.reason {
            case .replaced: return []
            case .billing where wasCharged(since: event.occurredAt, timeline, state): return []
            default: return ended(applied, lineage, timeline, state)
            }
        // What is left counts again when a pause within a period is over. Taken and given back, it would be spent twice.
        case .paused where isWithinPeriod(event, timeline): return []
        case .paused, .revoked, .gracePeriodExpired:
            return ended(applied, lineage, timeline, state)
        case .refunded, .chargeback, .refundReversed:
            return refunded(applied, lineage, timeline, state)
        default:
            return []
        }
    }

    /// Whether an action that waited for its time has nothing to do any more: the period that was charged ahead does not
    /// begin, since another product took its place or its money went back. So has one that takes what is left, if the period
    /// turns out to give credits.
    ///
    /// Ask when the time of an action has come that lay ahead when it was issued, and drop what is void.
    ///
    /// - Parameter state: the state of the action's lineage, as it is when the time has come.
    public func isVoid(_ action: CreditAction, in state: SubscriptionState) -> Bool {
        let periods = PeriodTimeline(state).periods
        // With a change that is planned on Google Play, a period goes on under another token, and is paid out once.
        let paidOut = periods.filter { id("payout", $0, action.subscription) == action.id }
        if !paidOut.isEmpty { return paidOut.allSatisfy { $0.accessEnd <= $0.start } }
        let lapsed = periods.filter { id("lapse", $0, action.subscription) == action.id }
        return !lapsed.isEmpty && lapsed.allSatisfy { $0.accessEnd <= $0.start || credits(of: $0) != nil }
    }

    private func isWithinPeriod(_ event: NormalizedEvent, _ timeline: PeriodTimeline) -> Bool {
        for case .periodEnded(let end) in event.facts {
            let start = end.start.millisecondsSince1970
            guard let period = timeline.period(transaction: end.transaction, start: start) else { continue }
            return end.at.millisecondsSince1970 < period.end
        }
        return false
    }
}
