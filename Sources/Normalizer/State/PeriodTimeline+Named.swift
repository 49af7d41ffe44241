// A statement about something else, such as renewal turned off, may name the period that runs: with its start and with the end
// that access has by then. The statement of the period itself may be lost for good, so such a statement counts where it says
// more: a new period, or a later end of a known one.
//
// The end may be that of grace. A period of the same product that follows shows until when it counts: grace is over when the
// charge succeeds, and the period that was paid for begins before the grace would have ended. An extended period ends where
// the next one begins. Once a charge is known to have failed, the failed charge says how long access lasts, unless the next
// period begins at the very end: then no grace is in it. No end reaches beyond the moment when access stopped for want of
// payment: the store may put the end of such a purchase to when another took its place.
extension PeriodTimeline {
    mutating func applyNamedPeriods(of state: SubscriptionState) {
        for index in periods.indices {
            for named in periods[index].named.inOrder { apply(named, at: index, of: state) }
        }
    }

    private mutating func apply(_ named: Assertion<Fact.Period>, at index: Int, of state: SubscriptionState) {
        let next = periods[(index + 1)...].first { $0.start > periods[index].start && $0.isOfProduct(of: named) }
        guard counts(named, at: index, before: next, in: state) else { return }
        let unpaid = unpaidSince(index, by: named.by.milliseconds, in: state)
        let end = min(named.value.period.endMilliseconds, next?.start ?? .max, unpaid ?? .max)
        guard periods[index].fact.isProvisional || end > periods[index].end else { return }
        if periods[index].fact.isProvisional { periods[index].isEndInferred = true }
        periods[index].entry = periods[index].entry.counting(named, until: end)
        periods[index].end = end
        periods[index].firstStated = periods[index].entry.firstStated
        if periods[index].products.isEmpty { periods[index].products = periods[index].entry.products }
    }

    private func counts(
        _ named: Assertion<Fact.Period>,
        at index: Int,
        before next: Period?,
        in state: SubscriptionState
    ) -> Bool {
        let period = periods[index]
        let isFollowed = next.map { !$0.fact.isProvisional && $0.start == named.value.period.endMilliseconds } ?? false
        guard isFollowed || !hasFailed(index, by: named.by.milliseconds, in: state) else { return false }
        guard period.fact.isProvisional else {
            return period.isOfProduct(of: named) && named.by.takesBack(period.by)
        }
        // Without a start it gives access as it is mentioned: each mention would begin the period at another moment.
        guard !named.value.isStartInferred else { return false }
        // Some stores state a period before it is paid for.
        guard !period.lineages.contains(where: \.store.rules.statesUnpaidPeriods) else { return false }
        // A new period begins when the one before is over, unless it is the rest of it under another name. Another product in between
        // took the place of that one.
        let former = periods[..<index].suffix(Self.maximumBeside).filter { !$0.fact.isProvisional && !$0.fact.isBeside }
        let run = former.reversed().prefix { $0.isOfProduct(of: named) || $0.start >= period.start }
        return !run.contains {
            $0.isOfProduct(of: named) && $0.end > period.start.addingClamped(ServicePeriod.startTolerance)
                && !($0.transaction.map(period.continues) ?? false)
        }
    }

    /// Has a period that a relay only mentions give nothing where the one before ended for want of its payment, and no payment is known
    /// since: a store that states periods before they are paid for may continue to make them.
    mutating func applyUnpaidEnds(of state: SubscriptionState) {
        for index in periods.indices.dropFirst() {
            let period = periods[index]
            guard !period.isPaidFor, period.by.authority == .relay,
                period.lineages.contains(where: \.store.rules.statesUnpaidPeriods),
                let end = periods[..<index].last(where: { !$0.lineages.isDisjoint(with: period.lineages) })?.cut,
                end.reason == .billing, state.payment(from: period.start, before: period.end) == nil
            else { continue }
            let cut = Cut(at: max(end.at, period.start), reason: .billing, by: end.by)
            if period.cut.map({ cut.precedes($0) }) ?? true { periods[index].cut = cut }
        }
    }

    /// When access to a period had stopped for want of payment by a moment, if it had not come back.
    func unpaidSince(_ index: Int, by moment: Int64, in state: SubscriptionState) -> Int64? {
        let start = periods[index].start
        let steps = state.interruptions.filter {
            $0.value.start.millisecondsSince1970 == start && $0.by.milliseconds <= moment
        }
        let back = steps.lazy.filter { $0.value.reason == nil }.map(\.by.milliseconds).max() ?? .min
        return steps.lazy.filter { $0.value.reason == .billing && $0.by.milliseconds > back }
            .map(\.value.at.millisecondsSince1970).min()
    }

    /// True if the charge for the renewal of a period, or for the period itself, had failed by a moment.
    private func hasFailed(_ index: Int, by moment: Int64, in state: SubscriptionState) -> Bool {
        state.registers.outstanding(and: periods[index].lineages).contains { lineage, registers in
            registers.failedCharges.contains {
                $0.by.milliseconds <= moment && subject(of: $0, lineage: lineage) == index
            }
        }
    }
}

extension PeriodTimeline.Period {
    fileprivate func isOfProduct(of named: Assertion<Fact.Period>) -> Bool {
        fact.product == named.value.product && !fact.isBeside
    }
}
