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
    }

    /// The step that was known at a moment: paused at first, then on hold. Statements follow what they state, so that the first step
    /// counts before any was stated.
    func step(of period: Period, at time: Int64, in state: SubscriptionState) -> Step? {
        var steps: [Step] = state.interruptions.compactMap { step in
            let at = step.value.at.millisecondsSince1970
            guard period.start <= at, at <= time else { return nil }
            return Step(reason: step.value.reason, at: at, by: step.by)
        }
        for (lineage, registers) in state.registers.outstanding {
            for retry in registers.retries?.inOrder ?? []
            where subject(of: retry, lineage: lineage).map({ periods[$0].start }) == period.start {
                steps.append(Step(reason: .billing, at: retry.by.milliseconds, by: retry.by))
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

extension SubscriptionState {
    /// Why access had stopped at a past moment, if the present reason was stated later, or has been overtaken by then.
    func pastReason(
        of period: PeriodTimeline.Period,
        _ timeline: PeriodTimeline,
        at time: Int64,
        unless known: Citation?
    ) -> (AccessDecision.Denial.Reason, Citation?)? {
        guard let step = timeline.step(of: period, at: time, in: self), let reason = step.reason,
            period.accessEnd <= max(step.at, step.by.milliseconds)
        else { return nil }
        // Of two statements that were known then, the last counts; of two that were not, the first.
        if let known {
            let (isKnown, isStepKnown) = (known.milliseconds <= time, step.by.milliseconds <= time)
            if isKnown != isStepKnown { return isKnown ? nil : (.init(reason), step.by) }
            if isKnown == (known.milliseconds >= step.by.milliseconds) { return nil }
        }
        return (.init(reason), step.by)
    }

    /// Why access to a period stopped at a moment in a gap of it.
    func reason(
        for gap: PeriodTimeline.Gap,
        of period: PeriodTimeline.Period,
        _ timeline: PeriodTimeline,
        at time: Int64
    ) -> (AccessDecision.Denial.Reason, Citation?) {
        guard gap.reason == .paused || gap.reason == .billing,
            let step = timeline.step(of: period, at: time, in: self), let reason = step.reason
        else { return (.init(gap.reason), gap.by) }
        return (.init(reason), step.by)
    }

    /// True if the store tried to charge at a past moment without access, whatever became of that since.
    func wasTried(at time: Int64, _ timeline: PeriodTimeline) -> Bool {
        let begun = timeline.begun(by: time)
        if let last = begun.last, let gap = last.gap(at: time) {
            return reason(for: gap, of: last, timeline, at: time).0 == .billing
        }
        guard let last = begun.last(where: { !$0.isForestalled }) ?? begun.last else { return false }
        return pastReason(of: last, timeline, at: time, unless: presentReason(of: last, timeline, at: time).1)?.0
            == .billing
    }
}
