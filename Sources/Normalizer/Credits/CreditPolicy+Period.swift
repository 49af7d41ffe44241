import FoundationEssentials

// What a period pays out when it begins.
extension CreditPolicy {
    func begun(
        _ applied: AppliedEvent,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let event = applied.event
        // A payment may only infer the period that it pays for, as Stripe's invoices do; it pays out all the same.
        var stated: Fact.Period?
        for case .period(let period) in event.facts where period.item == nil && (stated == nil || !period.isProvisional)
        {
            stated = period
        }
        guard let stated,
            let index = timeline.index(transaction: stated.transaction, start: stated.period.startMilliseconds)
        else { return [] }
        // What is added beside a period that is only inferred begins none.
        if case .productChanged(let change) = event.event, change.direction == .addOns, stated.isProvisional {
            return []
        }
        // What goes on of a payment under another name was paid out by that payment's own period.
        if stated.isProvisional, let paid = event.transaction, paid != stated.transaction,
            timeline.periods.contains(where: { $0.transaction == paid && $0.fact.product == stated.product })
        {
            return []
        }
        let period = timeline.periods[index]
        // It never begins, not under another token of Google Play's either, and what was before it goes on.
        if period.isForestalled, isVoid(action("payout", .grant(0), period, event, lineage), in: state) { return [] }
        let later = timeline.periods[(index + 1)...].first {
            isPaid($0, state) && !isOutstanding($0, stated, event, state) && !$0.goesOn(of: stated, of: lineage)
        }
        // A renewal paid ahead pays out at its own time, and until then this period has its own.
        if let later, hasBegun(later, event) {
            let left = leftLate(index, stated, timeline, event, lineage, state)
            guard later.start < period.end, !isSpent(later, event),
                last(since: Date(millisecondsSince1970: later.start), event, timeline, state) == nil
            else { return left }
            let isLate = applied.disposition == .superseded
            guard !isAwaited(later, timeline, state),
                isLate
                    ? !isKnownByPayment(period, before: later.start, state)
                    : isFirstWord(applied, period, before: later)
            else { return left }
            let earlier = before(index, timeline, state)
            let corrections = correction(of: later, after: period, and: earlier, event, lineage, state) + left
            guard !isLate, !corrections.isEmpty, let full = credits(of: later) else { return corrections }
            // What took its place may be known by a statement that paid nothing out.
            return [action("payout", .reset(to: full), later, event, lineage)] + corrections
        }
        if isReplacedWithin(index, stated, timeline, event, state), let full = credits(of: stated) {
            guard !isSpent(period, event) else { return [] }
            return [action("payout", .grant(full), period, of: stated.product, event, lineage)]
        }
        if isStillUnpaid(index, timeline, event, state) { return [] }
        let before = before(index, timeline, state)
        let isBeside = isBeside(index, before, timeline, state)
        switch event.event {
        case .renewed where stated.isProvisional && isBeside:
            return payoutBeside(period, stated, event, lineage)
        case .productChanged(let change) where change.direction == .addOns && change.from != change.to:
            if isBeside { return payoutBeside(period, stated, event, lineage) }
            // Another item may stand for the period from now on, which has paid out when it began. What is told again of its
            // beginning pays nothing out for that item either.
            let asserted = event.assertedAt.millisecondsSince1970
            let isCharged = isCharged(period.start, before: asserted, state)
            if isCharged || period.firstStated.map({ $0 < asserted }) == true {
                // A renewal that still waits for its payment is paid out by that.
                guard isCharged || !timeline.continues(index), credits(of: period) != nil else { return [] }
                return [action("payout", .grant(0), period, event, lineage)]
            }
        default:
            break
        }
        guard credits(of: period, stated, event) != nil else {
            return lapse(period, before, timeline, event, lineage, state)
        }
        let payout = payout(period, stated, before, event, lineage, state)
        // When that one was told of, it was not known that there would be anything left.
        guard let later, credits(of: later) == nil else { return payout }
        return payout + lapse(later, period, timeline, event, lineage, state)
    }

    /// Whether what was paid out before a period is of another product that goes on beside it.
    private func isBeside(
        _ index: Int,
        _ before: PeriodTimeline.Period?,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> Bool {
        let period = timeline.periods[index]
        // A month that was never paid for, or gives nothing, has taken the place of no credits.
        let paidOut = timeline.periods[..<index].last {
            !$0.isForestalled && credits(of: $0) != nil
                && isKnownByPayment($0, before: min($0.end, period.start), state)
        }
        if let paidOut, paidOut.fact.product != period.fact.product, mayGoOn(paidOut, at: period.start, state) {
            return true
        }
        return before.map { $0.fact.product != period.fact.product && $0.goesOn(at: period.start) } ?? false
    }

    /// What is left of a period that gave way to another product, where the one or the other is told of when a later period has
    /// taken the place of both. Nothing is paid out for the time since, but what was paid for before stays as it would have.
    private func leftLate(
        _ index: Int,
        _ stated: Fact.Period,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let period = timeline.periods[index]
        guard carriesOver, isChargedInFull(event) != false, period.refundedAt == nil else { return [] }
        if case .productChanged(let change) = event.event, change.direction == .addOns { return [] }
        if isReplacedWithin(index, stated, timeline, event, state) || isReplacedSince(index, stated, timeline, event),
            let full = credits(of: stated)
        {
            return [action("payout", .grant(full), period, of: stated.product, event, lineage)]
        }
        let before = before(index, timeline, state)
        guard let replaced = replaced(by: period, before, event, state), replaced.product != period.fact.product else {
            return []
        }
        var actions: [CreditAction] = []
        if replaced.isOfSameStart(as: period) {
            var began = period.fact
            began.product = replaced.product
            if isKnownByPayment(period, before: replaced.changedAt.millisecondsSince1970, state),
                let full = credits(of: began)
            {
                actions.append(action("payout", .grant(full), period, of: began.product, event, lineage))
            }
        } else if let before {
            guard before.replacement?.at == period.start else { return [] }
            if isKnownByPayment(before, before: period.start, state), let full = credits(of: before) {
                actions.append(action("payout", .grant(full), before, event, lineage))
            }
        }
        let name = credits(of: period) == nil ? "lapse" : "payout"
        return actions + [action(name, .carryOver(to: 0), period, event, lineage)]
    }

    /// Whether the beginning of a period of Stripe's is told of that has given way to another product ahead of its end.
    private func isReplacedSince(
        _ index: Int,
        _ stated: Fact.Period,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent
    ) -> Bool {
        let period = timeline.periods[index]
        guard event.provider == .stripe, stated.product == period.fact.product, let end = period.replacement?.at,
            period.start < end, end < period.end
        else { return false }
        switch event.event {
        case .started: return true
        case .renewed(let renewed): return ![.planChange, .unknown, .resumption].contains(renewed.cause)
        default: return false
        }
    }

    /// Whether a period of Stripe's is told of as what it began as, and became something else since, as by an upgrade between
    /// its start and its payment. What that paid out stays.
    func isReplacedWithin(
        _ index: Int,
        _ stated: Fact.Period,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Bool {
        let period = timeline.periods[index]
        guard event.provider == .stripe, !period.fact.isProvisional, stated.product != period.fact.product,
            stated.period.startMilliseconds == period.start
        else { return false }
        switch event.event {
        case .started: return true
        case .renewed(let renewed): return ![.planChange, .unknown, .resumption].contains(renewed.cause)
        // Told of after the change, a start looks like a change from what it became; a change that did begin the period took the
        // place of the one before.
        case .productChanged(let change):
            guard change.direction != .addOns, change.from == period.fact.product, change.to == stated.product,
                event.effectiveAt.millisecondsSince1970 <= period.start,
                isCharged(period.start, before: period.end, state)
            else { return false }
            return before(index, timeline, state).map { $0.end <= period.start } ?? true
        default: return false
        }
    }

    /// Whether a period of Stripe's is told of that has yet to be paid for, and pays out then: one that a planned change
    /// begins, an hour before it is charged, one that a change begins at once whose charge failed, or one that began during a
    /// pause, whose invoice may have been void.
    func isStillUnpaid(
        _ index: Int,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Bool {
        guard event.provider == .stripe else { return false }
        let period = timeline.periods[index]
        switch event.event {
        case .renewed(let renewed) where renewed.cause == .resumption: break
        case .productChanged where event.effectiveAt.millisecondsSince1970 <= period.start: break
        default: return false
        }
        return (timeline.continues(index) || event.saysUnpaid) && !isCharged(period.start, before: period.end, state)
    }

    /// The period before one. What is only inferred prorates nothing: when it is stated, that is news again, and corrects. What
    /// Stripe was paid for is known by that.
    func before(
        _ index: Int,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> PeriodTimeline.Period? {
        guard let period = timeline.periods[..<index].last(where: { !$0.isForestalled }) else { return nil }
        if !period.fact.isProvisional || isKnownByPayment(period, before: timeline.periods[index].start, state) {
            return period
        }
        return nil
    }

    func isKnownByPayment(
        _ period: PeriodTimeline.Period,
        before end: Int64,
        _ state: SubscriptionState
    ) -> Bool {
        period.by.provider == .stripe && isCharged(period.start, before: end, state)
    }

    /// Whether a payment is the first word of a period of Stripe's that another has taken the place of. What that
    /// paid out knows nothing of it, and what Stripe states of the period itself later corrects nothing any more.
    private func isFirstWord(
        _ applied: AppliedEvent,
        _ period: PeriodTimeline.Period,
        before later: PeriodTimeline.Period
    ) -> Bool {
        let isReplaced = period.replacement != nil || period.cut?.reason == .replaced
        return applied.disposition == .applied && applied.event.provider == .stripe
            && period.fact.isProvisional && isReplaced && !later.fact.isProvisional
            && applied.event.facts.contains { $0.kind == .charge }
    }

    /// Whether the payment for a period of Stripe's failed and is still to come, so that it has paid nothing out.
    private func isAwaited(
        _ period: PeriodTimeline.Period,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> Bool {
        guard period.by.provider == .stripe, let billing = state.billing(timeline)?.value else { return false }
        return billing.status != .settled && !isCharged(period.start, before: period.end, state)
    }

    /// The last period that has begun since a moment, whose credits took the place of what was left.
    func last(
        since moment: Date,
        _ event: NormalizedEvent,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> PeriodTimeline.Period? {
        begun(since: moment, event, timeline, state).last
    }

    /// The periods that have begun since a moment, and were paid for.
    func begun(
        since moment: Date,
        _ event: NormalizedEvent,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [PeriodTimeline.Period] {
        timeline.periods.filter {
            $0.start > moment.millisecondsSince1970 && hasBegun($0, event) && isPaid($0, state)
        }
    }

    /// Whether the period at a moment was charged for after it, as one is whose charge failed first.
    func wasCharged(since moment: Date, _ timeline: PeriodTimeline, _ state: SubscriptionState) -> Bool {
        let failed = moment.millisecondsSince1970
        guard let period = timeline.periods.last(where: { $0.start <= failed }) else { return false }
        return isCharged(failed + 1, before: period.end, state)
    }

    /// Whether a period is stated, or inferred from its payment rather than from a failed one or from an end.
    func isPaid(_ period: PeriodTimeline.Period, _ state: SubscriptionState) -> Bool {
        if period.isForestalled { return false }
        return !period.fact.isProvisional || isCharged(period.start, before: period.end, state)
    }

    /// Whether a period has begun, and waits for its payment when one comes for a period before it: then no credits have
    /// taken the place of those that are paid for now. Who pays by invoice may always be a month behind.
    func isOutstanding(
        _ period: PeriodTimeline.Period,
        _ stated: Fact.Period,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Bool {
        guard stated.isProvisional, event.occurredAt.millisecondsSince1970 >= period.start else { return false }
        var paid: String?
        for case .charge(let charge) in event.facts { paid = charge.transaction }
        guard let paid else { return false }
        return !state.charges.contains { transaction, charge in
            transaction != paid && charge.value.at.millisecondsSince1970 >= period.start
        }
    }

    func isCharged(_ start: Int64, before end: Int64, _ state: SubscriptionState) -> Bool {
        state.charges.values.contains { charge in
            let time = charge.value.at.millisecondsSince1970
            return start <= time && time < end
        }
    }

    /// Whether a period had begun when an event came, as far as that can be told: by the event's own time, or since the
    /// store told of the period after it had begun. Stripe tells of none before, wherever a test clock stands.
    func hasBegun(_ period: PeriodTimeline.Period, _ event: NormalizedEvent) -> Bool {
        period.start <= max(event.receivedAt.millisecondsSince1970, period.by.milliseconds)
            || period.isStatedOnceBegun
    }

    /// Whether a period is known to give nothing any more: its money went back, it has run its course, or it was ended for
    /// good. One that waits for its payment may still get it, and what is left of one that was replaced is carried over.
    func isSpent(_ period: PeriodTimeline.Period, _ event: NormalizedEvent) -> Bool {
        guard let cut = period.cut, cut.at <= max(event.receivedAt.millisecondsSince1970, cut.by.milliseconds) else {
            return false
        }
        switch cut.reason {
        case .billing, .paused, .replaced: return cut.at >= period.end
        default: return true
        }
    }

    func payout(
        _ period: PeriodTimeline.Period,
        _ stated: Fact.Period,
        _ before: PeriodTimeline.Period?,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard let full = credits(of: period, stated, event), !isSpent(period, event) else { return [] }
        guard let previous = replaced(by: period, before, event, state) else {
            return [action("payout", .reset(to: full), period, event, lineage)]
        }
        let isInFull = isChargedInFull(event)
        let credits = isInFull.map { $0 ? full : 0 } ?? prorated(full, previous, period, event, state) ?? full
        // Where nothing new was paid for, or no other product, what is left stays. Carried over, it would outlast the period
        // that it was paid for with.
        let isKept = isInFull == false || !carriesOver && previous.product == period.fact.product
        let effect: CreditAction.Effect =
            isKept ? .grant(credits) : carriesOver ? .carryOver(to: credits) : .prorate(to: credits)
        return [action("payout", effect, period, event, lineage)]
    }

    /// What is left of an earlier period's credits, when one begins whose product gives none. Its id is not the payout's: a relay
    /// may know the product without its base plan, and the store's word of the same period then pays out.
    private func lapse(
        _ period: PeriodTimeline.Period,
        _ before: PeriodTimeline.Period?,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let earlier = timeline.periods.filter { $0.start < period.start && credits(of: $0) != nil }
        let replaced = replaced(by: period, before, event, state)
        // Billed from the same start, it is the period itself that gave credits until now.
        let gave = replaced.map { $0.isOfSameStart(as: period) && allowances[$0.product] != nil } ?? false
        guard !earlier.isEmpty || gave, !earlier.contains(where: { mayGoOn($0, at: period.start, state) }),
            isPaid(period, state), !isSpent(period, event)
        else { return [] }
        let isChange = replaced != nil
        if isChange, isChargedInFull(event) == false { return [] }
        let effect: CreditAction.Effect = isChange && carriesOver ? .carryOver(to: 0) : .reset(to: 0)
        return [action("lapse", effect, period, event, lineage)]
    }

    /// Whether an earlier period that was paid for goes on at a moment, or will once a charge for something else has succeeded,
    /// or a pause is over.
    func mayGoOn(_ period: PeriodTimeline.Period, at time: Int64, _ state: SubscriptionState) -> Bool {
        if period.goesOn(at: time) { return true }
        guard period.replacement == nil, time < period.end, isPaid(period, state) else { return false }
        return [.billing, .paused].contains(period.cut?.reason)
    }

    /// When what was paid out at a moment has run its course, where no other period of it goes on, and something else does.
    func lapse(of paidOutAt: Date, by now: Date, in state: SubscriptionState) -> Date? {
        let time = now.millisecondsSince1970
        let timeline = PeriodTimeline(state)
        guard let index = timeline.lastBegun(by: paidOutAt.millisecondsSince1970), timeline.granting(at: time) != nil
        else { return nil }
        let period = timeline.periods[index]
        // What a change leaves is the business of that.
        guard period.replacement == nil, period.cut == nil, period.accessEnd <= time,
            !timeline.periods.contains(where: {
                credits(of: $0) != nil && ($0.grants(at: time) || mayGoOn($0, at: time, state))
            })
        else { return nil }
        return Date(millisecondsSince1970: period.accessEnd)
    }

    /// A period that was paid for while one of something else goes on, as months do beside a year: what is left of that
    /// stays.
    func payoutBeside(
        _ period: PeriodTimeline.Period,
        _ stated: Fact.Period,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID
    ) -> [CreditAction] {
        guard let full = credits(of: period, stated, event), !isSpent(period, event) else { return [] }
        return [action("payout", .carryOver(to: full), period, event, lineage)]
    }

    /// The credits of a period that an event tells of. Stripe's merchants put off a renewal by a trial, which makes one of a
    /// period that is paid for later.
    private func credits(
        of period: PeriodTimeline.Period,
        _ stated: Fact.Period,
        _ event: NormalizedEvent
    ) -> Int64? {
        guard event.provider == .stripe, period.fact.phase == .trial, stated.phase != .trial,
            !stated.isProvisional || event.price.map({ $0.money.amount > ExactDecimal(0) }) == true
        else { return credits(of: period) }
        var paid = period.fact
        paid.phase = stated.phase
        return credits(of: paid)
    }

    func credits(of period: PeriodTimeline.Period) -> Int64? { credits(of: period.fact) }

    func credits(of period: Fact.Period) -> Int64? {
        guard let allowance = allowances[period.product] else { return nil }
        if period.ownership == .familyShared { return allowance.familySharedCredits }
        return period.phase == .trial ? allowance.trialCredits ?? allowance.credits : allowance.credits
    }

    func action(
        _ name: String,
        _ effect: CreditAction.Effect,
        _ period: PeriodTimeline.Period,
        of product: String? = nil,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID
    ) -> CreditAction {
        CreditAction(
            id: id(name, period, of: product, lineage),
            effect: effect,
            effectiveAt: max(Date(millisecondsSince1970: period.start), minimum(event, period)),
            subscription: lineage
        )
    }

    func id(
        _ name: String,
        _ period: PeriodTimeline.Period,
        of product: String? = nil,
        _ lineage: SubscriptionID
    ) -> String {
        let start = String(period.start.flooredQuotient(dividingBy: 1000))
        // The App Store names a period anew each time it is restored on another device; its start stays.
        // What goes on of an order of Google Play's under another token was paid out by the order.
        let paid = lineage.store == .playStore ? period.transaction.map { String($0.paidOrder) } : period.transaction
        let subject = lineage.store == .appStore ? start : paid ?? start
        // An order of Google Play is of one product, which a relay may know without its base plan.
        let product = product ?? period.fact.product
        let named = lineage.store == .playStore ? product.subscriptionFamily : product
        return EventID(lineage.scope(of: subject), "credits_period", subject, named, name).description
    }

    // A change that was billed from the start of a running period took effect when it happened. One that began the period may be
    // told of later, and is dated as whatever else is told of that beginning.
    func minimum(_ event: NormalizedEvent, _ period: PeriodTimeline.Period) -> Date {
        if case .productChanged(let change) = event.event, change.timing == .immediate,
            event.effectiveAt.millisecondsSince1970 < period.end
        {
            return event.effectiveAt
        }
        return Date(millisecondsSince1970: period.start)
    }
}

extension NormalizedEvent {
    /// Whether it says that a charge is outstanding.
    fileprivate var saysUnpaid: Bool {
        facts.contains { if case .billing(let billing) = $0 { billing.status != .settled } else { false } }
    }
}

extension PeriodTimeline.Period {
    /// Whether it is what goes on of a stated period under another token of Google Play's, and was paid for with that.
    fileprivate func goesOn(of stated: Fact.Period, of lineage: SubscriptionID) -> Bool {
        guard lineage.store == .playStore, let transaction, let paid = stated.transaction, transaction != paid else {
            return false
        }
        return fact.product == stated.product && transaction.paidOrder == paid
    }
}
