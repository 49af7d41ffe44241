import FoundationEssentials

// A refund that was undone leaves no trace in its register, while the customer had no access until then.
extension SubscriptionState {
    /// The time between a refund and its reversal.
    struct Withdrawal {
        var from: Int64
        var until: Int64
        var by: Citation
    }

    /// Keeps the first statement of a refund that took access away.
    ///
    /// - Returns: true if that is news to the state.
    @discardableResult
    mutating func note(_ refund: Assertion<Fact.RefundState>) -> Bool {
        guard refund.value.scope != nil, refund.value.endsAccess else { return false }
        let key = RefundKey(refund.value)
        if let known = withdrawals[key], known.precedes(refund) || known == refund { return false }
        withdrawals[key] = refund
        return true
    }

    /// The time without access before a refund was undone; nil for one that was not undone by a statement of its own. A part of a
    /// payment may leave the access.
    func withdrawal(_ refund: Assertion<Fact.RefundState>) -> Withdrawal? {
        guard let undone = refunds[RefundKey(refund.value)], undone.value.scope == nil,
            undone.by.milliseconds > refund.by.milliseconds,
            refund.value.scope?.money == nil || !registers.keys.contains(where: \.store.rules.takesBackRefundedSales)
        else { return nil }
        let (from, until) = (refund.value.at.millisecondsSince1970, undone.value.at.millisecondsSince1970)
        return from < until ? Withdrawal(from: from, until: until, by: refund.by) : nil
    }

    /// The times in which transactions were taken back, by the one name of each: the first of several.
    var undoneWithdrawals: [String: Withdrawal] {
        var undone: [String: Withdrawal] = [:]
        for (_, refund) in withdrawals.sorted(by: { $0.key < $1.key }) {
            guard let withdrawal = withdrawal(refund) else { continue }
            let name = transaction(named: refund.value.transaction)
            if let known = undone[name], (known.from, known.until) <= (withdrawal.from, withdrawal.until) { continue }
            undone[name] = withdrawal
        }
        return undone
    }
}
