// Ends and refunds, as the store stated them of a period.

extension PeriodTimeline {
    mutating func apply(_ ends: [Register<Fact.PeriodEnd>], in state: SubscriptionState) {
        var latest: [Int: Register<Fact.PeriodEnd>] = [:]
        var unpaid: [Int: Register<Fact.PeriodEnd>] = [:]
        for register in ends {
            let start = register.value.start.millisecondsSince1970
            if let item = register.value.item {
                if let index = indexBeside(item, start) { latest[index] = register }
                continue
            }
            guard let index = index(transaction: register.value.transaction, start: start) else {
                unmatchedEnds.append(register)
                continue
            }
            guard !leaves(index, register) else { continue }
            let isUnpaid = register.value.isOfUnpaidPeriod
            if let known = isUnpaid ? unpaid[index] : latest[index], register.latest.precedes(known.latest) { continue }
            if isUnpaid { unpaid[index] = register } else { latest[index] = register }
        }
        // A period that is still not paid for ended as it began, whichever end is stated later.
        for (index, register) in unpaid
        where latest[index] == nil || !lifts(Cut(register.latest), periods[index], in: state) {
            latest[index] = register
        }
        for (index, register) in latest {
            let cut = dated(Cut(register.latest), at: index, in: state)
            if outlasts(index, cut) { continue }
            if lifts(cut, periods[index], in: state) {
                periods[index].liftedCut = cut
            } else {
                periods[index].cut = cut
            }
        }
    }

    /// The end of a period at the moment when access stopped, if it is for want of the charge for a change within the period, which is
    /// paid for itself. A store may date it to the start of the period, whichever charge is open.
    private func dated(_ cut: Cut, at index: Int, in state: SubscriptionState) -> Cut {
        guard cut.reason == .billing, let charge = cut.outstandingCharge,
            state.isPaid(from: periods[index].start, besides: charge)
        else { return cut }
        let moment = cut.by.milliseconds
        let stopped = unpaidSince(index, by: moment, in: state) ?? moment
        // Beyond the period lies the time of another clock, such as one that the store lets its testers set.
        guard stopped < periods[index].end else { return cut }
        var dated = cut
        dated.at = max(cut.at, stopped)
        return dated
    }

    // A statement of the period itself that is later than its end, and by no lesser authority, takes the end back. So
    // does the reversal of the refund that had ended it, and the payment for want of which it had ended: charges are paid once,
    // so that no order of the two matters.
    private func lifts(_ cut: Cut, _ period: Period, in state: SubscriptionState) -> Bool {
        if let charge = cut.outstandingCharge, state.isPaid(charge) { return true }
        // One that leaves nothing of the period can only be for want of the period's own charge, even if it does not name that.
        if cut.reason == .billing, cut.outstandingCharge == nil, cut.at <= period.start,
            state.payment(from: period.start, before: period.end, since: cut.by) != nil
        {
            return true
        }
        if cut.reason == .refunded, let transaction = period.transaction,
            state.isRestored(transaction, since: cut.by)
        {
            return true
        }
        // A purchase states its price before it is paid, and a renewal states a payment.
        if period.isUnpaid(by: cut), renews(period), state.payment(from: period.start, before: period.end) != nil {
            return true
        }
        // Webhooks of one moment have times of their own, and a purchase is no payment.
        if period.isUnpaid(by: cut), period.by.isOfMoment(of: cut.by) { return false }
        return !period.fact.isProvisional && period.end > cut.at
            && (period.by.takesBack(cut.by, mayLag: cut.mayLag) || period.entry.statement.wasTaken(after: cut.by))
    }

    /// True if an earlier period of the same purchase is stated.
    private func renews(_ period: Period) -> Bool {
        periods.contains {
            $0.start < period.start && !$0.fact.isProvisional && !$0.lineages.isDisjoint(with: period.lineages)
        }
    }

    mutating func applyRefunds(of state: SubscriptionState) {
        for register in state.datedRefunds {
            let refund = register.value
            guard refund.scope != nil, refund.endsAccess, !state.isLeftOut(register), !state.leavesAccess(register),
                let index = index(
                    transaction: state.transaction(named: refund.transaction),
                    start: refund.periodStart?.millisecondsSince1970 ?? state.chargedStart(of: refund.transaction)
                )
            else { continue }
            let cut = Cut(
                at: refund.at.millisecondsSince1970,
                reason: .refunded,
                by: register.by,
                endsPurchase: periods[index].lineages.contains(where: \.store.rules.revocationEndsPurchase)
            )
            // Time of the same order under another name is refunded, too.
            for refunded in periods.indices
            where refunded == index || periods[refunded].continues(refund.transaction) {
                periods[refunded].refundedAt = min(periods[refunded].refundedAt ?? .max, cut.at)
                if let known = periods[refunded].cut, known.precedes(cut) { continue }
                periods[refunded].cut = cut
            }
        }
    }
}

extension PeriodTimeline.Period {
    /// True if a snapshot of the period takes its end back by leaving it out, as when it is shared again.
    func isTakenBackInPassing(_ end: PeriodTimeline.Cut) -> Bool {
        end.mayLag && end.by.isSnapshot && by.isSnapshot && by.takesBack(end.by, mayLag: true)
    }
}

extension SubscriptionState {
    /// True if the store states a payment for a period that is not of the charge named.
    fileprivate func isPaid(from start: Int64, besides transaction: TransactionID) -> Bool {
        let name = self.transaction(named: transaction)
        return charges.contains { other, charge in
            charge.value.periodStart?.millisecondsSince1970 == start && charge.by.authority == .store
                && self.transaction(named: other) != name
        }
    }
}

extension PeriodTimeline.Cut {
    /// True if a snapshot shows the end by a member of its own, which it may lack at first. A period that ran out shows
    /// that by its dates.
    var mayLag: Bool { reason == .unknown || reason == .replaced || reason == .refunded }

    init(_ end: Assertion<Fact.PeriodEnd>) {
        self.init(
            at: end.value.at.millisecondsSince1970,
            reason: end.value.reason,
            by: end.by,
            outstandingCharge: end.value.outstandingCharge,
            endsPurchase: end.value.endsPurchase
        )
    }

    func precedes(_ other: Self) -> Bool {
        at == other.at ? !by.precedes(other.by) : at < other.at
    }
}
