// Access after a failed charge: the grace of the period whose renewal is outstanding.

extension PeriodTimeline {
    // A failed charge is about the period whose renewal is outstanding. Once a newer one was stated it is settled.
    mutating func applyGrace(_ register: Register<Fact.Billing>, lineage: SubscriptionID) {
        guard register.value.status != .settled else { return }
        apply(register, lineage: lineage)
    }

    /// True if the charge for a period, or for its renewal, may be outstanding: of the newest period, or of one after it that is only
    /// mentioned, as by a webhook about a failed charge.
    func mayBeOutstanding(_ index: Int?) -> Bool {
        guard let index, let newestIndex else { return false }
        return index == newestIndex || index > newestIndex && !periods[index].isForestalled
    }

    // A later statement, such as the end of the purchase, takes back the rest of a grace, and not the part that has
    // passed. Grace that has run out does not replace grace that continues, of a linked lineage or of a state that was
    // stored without it.
    mutating func applyLapsedGrace(_ registers: SubscriptionState.Registers, lineage: SubscriptionID) {
        guard let said = registers.billing, let grace = registers.grace else { return }
        apply(grace, until: said.by.milliseconds, lineage: lineage)
    }

    // Grace that another period has followed gave access until that period began. A payment within grace is for the period that was due,
    // so the billing date stays. A store may leave out that start.
    mutating func applyPastGraces(_ registers: SubscriptionState.Registers, lineage: SubscriptionID) {
        let charged = registers.charging.flatMap { subject(of: $0, lineage: lineage) }
        for grace in registers.graces {
            guard let index = subject(of: grace, lineage: lineage) else { continue }
            guard let next = periods[(index + 1)...].firstIndex(where: { $0.isPaidFor && !$0.isForestalled }) else {
                // The charge for a later one that is only mentioned has failed since.
                if let charged, charged > index { note(grace, until: periods[charged].start, at: index) }
                continue
            }
            let end = periods[index].end
            if periods[next].entry.isStartInferred, end < periods[next].start,
                let until = grace.value.graceUntil?.millisecondsSince1970, periods[next].start <= until
            {
                periods[next].start = end
            }
            note(grace, until: periods[next].start, at: index)
        }
    }

    mutating func apply(_ register: Register<Fact.Billing>, until limit: Int64 = .max, lineage: SubscriptionID) {
        guard let index = subject(of: register, lineage: lineage), mayBeOutstanding(index) else { return }
        note(register.latest, until: limit, at: index)
    }

    mutating func note(_ assertion: Assertion<Fact.Billing>, until limit: Int64, at index: Int) {
        guard let until = assertion.value.graceUntil.map({ min($0.millisecondsSince1970, limit) }),
            until > periods[index].end
        else { return }
        let isTakenBack = until == limit && mayBeOutstanding(index)
        let grace = Grace(
            until: until,
            by: assertion.by,
            isTakenBack: isTakenBack,
            triedUntil: assertion.value.triedUntil
        )
        if let known = periods[index].grace, grace.by.precedes(known.by) { return }
        periods[index].grace = grace
    }

    /// The period that a failed charge is about.
    func subject(of register: Register<Fact.Billing>, lineage: SubscriptionID) -> Int? {
        subject(of: register.latest, lineage: lineage)
    }

    func subject(of assertion: Assertion<Fact.Billing>, lineage: SubscriptionID) -> Int? {
        if let start = assertion.value.periodStart?.millisecondsSince1970 {
            return index(transaction: nil, start: start)
        }
        let asserted = assertion.by.milliseconds
        return periods.lastIndex {
            $0.lineages.contains(lineage) && ($0.firstStated ?? $0.start) <= asserted && !$0.isForestalled
                && !isWithinStated($0, by: asserted)
        }
    }

    /// True if a period is inferred within one that was stated by a moment. An example is the period of a failed charge
    /// that succeeded in the end, for the time from its beginning on. One of another purchase does not contain it.
    private func isWithinStated(_ inferred: Period, by moment: Int64) -> Bool {
        inferred.fact.isProvisional
            && periods.contains { stated in
                stated.start <= inferred.start && inferred.start < stated.end && !stated.isForestalled
                    && !inferred.isOfOtherPurchase(than: stated)
                    && stated.firstStated.map { $0 <= moment } == true
            }
    }
}

extension PeriodTimeline.Period {
    /// True if the orders of the two are of purchases with names of their own: one took the place of the other.
    fileprivate func isOfOtherPurchase(than other: Self) -> Bool {
        guard lineages.contains(where: \.store.rules.changesUnderNewName), let order = transaction?.order.firstOrder,
            let otherOrder = other.transaction?.order.firstOrder
        else { return false }
        return order != otherOrder
    }
}
