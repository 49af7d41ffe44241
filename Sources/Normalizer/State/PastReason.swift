// Why there was no access at a past moment. The last statement gives the reason that counts now; what was known then follows from the
// steps that are kept.
extension PeriodTimeline {
    /// The periods that have begun by a moment, and gave access at any time.
    func begun(by time: Int64) -> [Period] { periods.filter { $0.start <= time && !$0.neverGave } }

    /// Why access to a period stopped, or that it came back (nil), and when.
    struct Step {
        var reason: LifecycleEvent.Expired.Reason?
        var at: Int64
        var by: Citation
        /// Until when the store tries to charge for it.
        var triedUntil = Int64.min
    }

    /// The step that was known at a moment: paused at first, then on hold. Statements follow what they state, so that the first step
    /// counts before any was stated.
    func step(of period: Period, at time: Int64, in state: SubscriptionState) -> Step? {
        var steps: [Step] = state.interruptions.compactMap { step in
            let at = step.value.at.millisecondsSince1970
            guard period.start <= at, at <= time else { return nil }
            let isTried = step.value.reason == .billing && !period.isOver(by: time, stoppedAt: at)
            return Step(reason: step.value.reason, at: at, by: step.by, triedUntil: isTried ? .max : .min)
        }
        for (lineage, registers) in state.registers.outstanding {
            for retry in registers.retries?.inOrder ?? []
            where subject(of: retry, lineage: lineage).map({ periods[$0].start }) == period.start {
                let at = retry.by.milliseconds
                steps.append(Step(reason: .billing, at: at, by: retry.by, triedUntil: retry.value.triedUntil))
            }
        }
        steps.sort { one, other in
            if one.by.milliseconds != other.by.milliseconds { return one.by.milliseconds < other.by.milliseconds }
            let (comesBack, otherComesBack) = (one.reason == nil, other.reason == nil)
            return comesBack == otherComesBack ? one.by.precedes(other.by) : otherComesBack
        }
        return steps.last { $0.by.milliseconds <= time } ?? steps.first
    }
}

extension PeriodTimeline.Period {
    /// True if an end of the period itself for want of a payment was known at a moment, or is dated before access stopped: nothing is
    /// tried after it.
    fileprivate func isOver(by time: Int64, stoppedAt stop: Int64) -> Bool {
        [cut, liftedCut].contains {
            guard let end = $0, end.reason == .billing, !end.isOfPurchase else { return false }
            return end.by.milliseconds <= time || end.at < stop
        }
    }
}

extension SubscriptionState.Stop {
    fileprivate init(_ step: PeriodTimeline.Step, for reason: LifecycleEvent.Expired.Reason) {
        self.init(reason: .init(reason), by: step.by, triedUntil: step.triedUntil)
    }
}

extension SubscriptionState {
    /// Why access had stopped at a past moment, if the present reason was stated later, or has been overtaken by then.
    func pastStop(
        of period: PeriodTimeline.Period,
        _ timeline: PeriodTimeline,
        at time: Int64,
        unless known: Citation?
    ) -> Stop? {
        guard let step = timeline.step(of: period, at: time, in: self), let reason = step.reason,
            period.accessEnd <= max(step.at, step.by.milliseconds)
        else { return nil }
        // Of two statements that were known then, the last counts; of two that were not, the first.
        if let known {
            let (isKnown, isStepKnown) = (known.milliseconds <= time, step.by.milliseconds <= time)
            if isKnown != isStepKnown { return isKnown ? nil : Stop(step, for: reason) }
            if isKnown == (known.milliseconds >= step.by.milliseconds) { return nil }
        }
        return Stop(step, for: reason)
    }

    /// Why access to a period stopped at a moment in a gap of it.
    func stop(
        for gap: PeriodTimeline.Gap,
        of period: PeriodTimeline.Period,
        _ timeline: PeriodTimeline,
        at time: Int64
    ) -> Stop {
        var stop = Stop(reason: .init(gap.reason), by: gap.by, triedUntil: gap.triedUntil)
        if gap.reason == .paused || gap.reason == .billing, let step = timeline.step(of: period, at: time, in: self),
            let reason = step.reason, step.at < gap.until
        {
            stop = Stop(step, for: reason)
        }
        stop.since = gap.from
        return stop
    }
}
