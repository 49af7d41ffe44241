// A statement about something else, such as renewal turned off, may name the period that runs: with its start and with the end
// that access has by then. The statement of the period itself may be lost for good, so such a statement counts where it says
// more: a new period, or a later end of a known one.
//
// The end may be that of grace. A period of the same product that follows shows until when it counts: grace is over when the
// charge succeeds, and the period that was paid for begins before the grace would have ended. An extended period ends where
// the next one begins. Once a charge is known to have failed, the failed charge says how long access lasts.
extension PeriodTimeline {
    mutating func applyNamedPeriods(of state: SubscriptionState) {
        for index in periods.indices {
            guard let named = periods[index].named, counts(named, at: index, in: state) else { continue }
            let next = periods[(index + 1)...].first { $0.start > periods[index].start && $0.isOfProduct(of: named) }
            let end = min(named.value.period.endMilliseconds, next?.start ?? .max)
            guard periods[index].fact.isProvisional || end > periods[index].end else { continue }
            periods[index].isEndInferred = periods[index].fact.isProvisional
            periods[index].entry = periods[index].entry.counting(named, until: end)
            periods[index].end = end
            periods[index].firstStated = periods[index].entry.firstStated
            if periods[index].products.isEmpty { periods[index].products = periods[index].entry.products }
        }
    }

    private func counts(_ named: Assertion<Fact.Period>, at index: Int, in state: SubscriptionState) -> Bool {
        let period = periods[index]
        guard !hasFailed(index, by: named.by.milliseconds, in: state) else { return false }
        guard period.fact.isProvisional else {
            return period.isOfProduct(of: named) && named.by.takesBack(period.by)
        }
        // Some stores state a period before it is paid for.
        guard !period.lineages.contains(where: \.store.rules.statesUnpaidPeriods) else { return false }
        // A new period begins when the one before is over, unless it is the rest of it under another name.
        return !periods[..<index].suffix(Self.maximumBeside).contains {
            !$0.fact.isProvisional && $0.isOfProduct(of: named)
                && $0.end > period.start.addingClamped(ServicePeriod.startTolerance)
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
