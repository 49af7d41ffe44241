// Answers about the past. A period, its end and its product are known as they were stated last; that is what holds now. What
// held between the statements follows from the steps that are kept: interruptions, and changes of product and terms.
extension PeriodTimeline {
    /// A time without access in a period, while it ran.
    struct Gap {
        var from: Int64
        var until: Int64
        var reason: LifecycleEvent.Expired.Reason
        var by: Citation
        /// Until when the store tries to charge for it.
        var triedUntil = Int64.min
    }

    mutating func applyInterruptions(of state: SubscriptionState) {
        let steps = Dictionary(grouping: state.interruptions) { $0.value.start.millisecondsSince1970 }
        let placed = state.interruptions.filter(\.by.provider.rules.omitsStarts)
        for index in periods.indices {
            let named = (steps[periods[index].start] ?? []).filter { !placed.contains($0) }
            let steps = named + placed.filter { isWithin(index, $0.value) }
            if steps.isEmpty {
                periods[index].interruptUntilPayment(in: state)
            } else {
                periods[index].interrupt(steps, in: state)
            }
        }
    }

    /// True if a step was taken while a period ran. A store that does not state when a period began cannot name it by its start.
    private func isWithin(_ index: Int, _ step: Fact.Interruption) -> Bool {
        let at = step.at.millisecondsSince1970
        return !periods[index].fact.isProvisional && periods[index].start <= at && at < periods[index].end
    }

    /// The time in which a charge was tried again without access, if the period that was paid for in the end is dated back to before
    /// that was known.
    mutating func applyRetries(of state: SubscriptionState) {
        let failed = state.registers.outstanding.filter { $0.registers.retries != nil }
        for (lineage, registers) in failed.sorted(by: { $0.lineage.precedes($1.lineage) }) {
            for retry in registers.retries?.inOrder ?? [] {
                guard let index = subject(of: retry, lineage: lineage),
                    let next = periods[(index + 1)...].firstIndex(where: { !$0.fact.isProvisional && !$0.isForestalled }
                    ),
                    let paid = periods[next].firstStated, paid > retry.by.milliseconds
                else { continue }
                let graceEnd = registers.graceEnd(after: retry.value.periodStart) ?? .min
                let from = max(periods[next].start, periods[index].end, graceEnd)
                guard from < paid else { continue }
                let triedUntil = retry.value.triedUntil
                periods[next].gaps.append(
                    Gap(from: from, until: paid, reason: .billing, by: retry.by, triedUntil: triedUntil)
                )
            }
        }
    }

    /// True if a period that a store let begin before it was paid for gave access at a moment although its charge had failed. One that
    /// was paid for in the end has been active.
    func isInGrace(_ period: Period, at time: Int64, in state: SubscriptionState) -> Bool {
        state.registers.outstanding.contains { lineage, registers in
            registers.graces.contains { grace in
                guard let until = grace.value.graceUntil?.millisecondsSince1970, time < until, until <= period.end,
                    let index = subject(of: grace, lineage: lineage), periods[index].start == period.start
                else { return false }
                return period.isUnpaid(since: grace.by, self, in: state)
                    && (state.payment(from: period.start, before: period.end) == nil || grace.by.milliseconds <= time)
            }
        }
    }

    /// The time between a refund and its reversal, and the time until a snapshot left out an end.
    mutating func applyWithdrawals(of state: SubscriptionState) {
        for withdrawal in state.withdrawals {
            let refund = withdrawal.refund
            guard
                let index = index(
                    transaction: state.transaction(named: refund.transaction),
                    start: refund.periodStart?.millisecondsSince1970 ?? state.chargedStart(of: refund.transaction)
                )
            else { continue }
            periods[index].gaps.append(withdrawal.gap)
        }
        for index in periods.indices {
            guard let cut = periods[index].liftedCut, let transaction = periods[index].transaction,
                let gap = cut.gap(of: transaction, statedBy: periods[index].by, in: state)
            else { continue }
            periods[index].gaps.append(gap)
        }
    }

    mutating func applySwitches(of state: SubscriptionState) {
        guard !state.switches.isEmpty || periods.contains(where: { $0.products.count > 1 }) else { return }
        let switches = TenureReading.switches(of: state, self)
        for index in periods.indices {
            let within = switches[index] ?? []
            guard !within.isEmpty || periods[index].products.count > 1 else { continue }
            periods[index].stretches = Stretch.all(of: periods[index], within)
        }
    }
}

extension PeriodTimeline.Period {
    /// Reads the steps by which access stopped and came back. The first of several stops counts, until access is back.
    fileprivate mutating func interrupt(_ steps: [Assertion<Fact.Interruption>], in state: SubscriptionState) {
        let steps = steps.sorted { one, other in
            if one.by.milliseconds != other.by.milliseconds { return one.by.milliseconds < other.by.milliseconds }
            let (stops, comesBack) = (one.value.reason != nil, other.value.reason == nil)
            return stops == !comesBack ? one.precedes(other) : stops
        }
        var stop: PeriodTimeline.Gap?
        for step in steps {
            let at = step.value.at.millisecondsSince1970
            guard let reason = step.value.reason else {
                close(&stop, at: at)
                continue
            }
            if let stop, stop.from <= at { continue }
            stop = PeriodTimeline.Gap(from: at, until: .max, reason: reason, by: step.by)
        }
        guard let open = stop else { return }
        if let cut {
            // The period was stated between the two, so its step back was lost.
            if open.from <= start, let firstStated, firstStated > open.by.milliseconds,
                firstStated < cut.by.milliseconds
            {
                close(&stop, at: firstStated)
                return
            }
            // An end that leaves nothing of the period takes away no more than what was not given.
            if cut.at < open.from, cut.reason == open.reason { givenUntil = open.from }
            close(&stop, at: cut.at)
        } else if let charge = liftedCut?.outstandingCharge, let paid = state.charge(named: charge) {
            close(&stop, at: paid.value.at.millisecondsSince1970)
        }
    }

    /// Reads an end for want of a payment that was made later. Until the end was stated, access continued.
    fileprivate mutating func interruptUntilPayment(in state: SubscriptionState) {
        guard let cut = liftedCut, cut.reason == .billing else { return }
        let paid =
            cut.outstandingCharge.map { state.charge(named: $0)?.value.at.millisecondsSince1970 }
            ?? state.payment(from: start, before: end, since: cut.by)
        let from = max(cut.at, cut.by.milliseconds)
        guard let paid, from < paid else { return }
        gaps.append(PeriodTimeline.Gap(from: from, until: paid, reason: .billing, by: cut.by))
    }

    /// True if no payment is known since a charge failed.
    fileprivate func isUnpaid(since failure: Citation, _ timeline: PeriodTimeline, in state: SubscriptionState) -> Bool
    {
        guard state.payment(from: start, before: end, since: failure) == nil else { return false }
        guard let newest = timeline.newestIndex, start == timeline.periods[newest].start,
            let billing = state.billing(timeline)
        else { return true }
        return billing.value.status != .settled || billing.by.milliseconds < failure.milliseconds
    }

    private mutating func close(_ stop: inout PeriodTimeline.Gap?, at moment: Int64) {
        guard var gap = stop else { return }
        stop = nil
        gap.until = moment
        if gap.from < moment { gaps.append(gap) }
    }

    /// The gap that a moment lies in.
    func gap(at time: Int64) -> PeriodTimeline.Gap? { gaps.first { $0.from <= time && time < $0.until } }

    /// True if its refund was undone by a moment, and after its end: it counts as one that ran to its end.
    func isRestored(by time: Int64) -> Bool {
        gaps.contains { $0.reason == .refunded && $0.from < accessEnd && accessEnd <= $0.until && $0.until <= time }
    }

    /// True if it gave access at a moment, by what held then.
    func gave(at time: Int64) -> Bool {
        hasSteps ? given.contains { $0.start <= time && time < $0.end } : grants(at: time)
    }

    private var hasSteps: Bool { !gaps.isEmpty || givenUntil != nil }

    /// True if it never gave access: it stopped as it began, and never came back.
    var neverGave: Bool { !gaps.isEmpty && given.isEmpty }

    /// The times in which it gave access, by what held then.
    var given: [(start: Int64, end: Int64)] {
        guard hasSteps else { return accessEnd > grantedSince ? [(grantedSince, accessEnd)] : [] }
        return gaps.times(from: grantedSince, until: max(accessEnd, min(givenUntil ?? .min, end)))
    }

    /// True if the times of its statements say what held at a moment: it lies before the last one, and they lie within the period. The
    /// times of a test clock do not.
    private func isPast(_ time: Int64, _ stated: some Collection<Int64>) -> Bool {
        time < by.milliseconds && stated.allSatisfy { $0 <= end }
    }

    /// Its product at a moment.
    func product(at time: Int64) -> ProductID {
        if let mainProductEnd, mainProductEnd <= time, let other = companions(at: time).first { return other }
        guard let first = stretches.first, stretches.count > 1, isPast(time, products.values) else {
            return fact.product
        }
        return (stretches.last { $0.start <= time } ?? first).product
    }

    /// The product that lasts as long as it does: the main one, or the first of those that are left if that ended by itself.
    var lastProduct: ProductID {
        mainProductEnd == nil ? fact.product : companions.first { $0.end == .max }?.product ?? fact.product
    }

    /// True if a product is not over before it is.
    func lasts(with product: ProductID) -> Bool {
        product == lastProduct
            || mainProductEnd != nil && companions.contains { $0.end == .max && $0.product == product }
    }

    /// Its terms at a moment.
    func phase(at time: Int64) -> PeriodPhase {
        let phases = entry.phases
        guard phases.count > 1, isPast(time, phases.values) else { return fact.phase }
        let stated = phases.sorted { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }
        guard let phase = (stated.last { $0.value <= time } ?? stated.first)?.key else { return fact.phase }
        return phase == .regular ? entry.paidPhase ?? phase : phase
    }
}

extension [PeriodTimeline.Gap] {
    /// The times between two moments that lie in none of the gaps.
    func times(from start: Int64, until end: Int64) -> [(start: Int64, end: Int64)] {
        var times: [(start: Int64, end: Int64)] = []
        var from = start
        for gap in sorted(by: { $0.from < $1.from }) {
            if from < Swift.min(gap.from, end) { times.append((from, Swift.min(gap.from, end))) }
            from = Swift.max(from, gap.until)
        }
        if from < end { times.append((from, end)) }
        return times
    }
}
