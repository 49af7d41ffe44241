import FoundationEssentials

// A snapshot is complete: a fact that an earlier statement had and a later one leaves out is over. Members that every
// snapshot states in one fact, such as billing or the renewal intent, follow from the later statement by themselves. A
// refund and the end of sharing are facts of their own, which a later snapshot does not mention; this file lets it
// withdraw them.
extension SubscriptionState {
    /// Notes when a transaction was last stated as a whole.
    ///
    /// - Returns: true if that is news to the state.
    @discardableResult
    mutating func noteSnapshot(of transaction: TransactionID?, by citation: Citation) -> Bool {
        guard citation.isSnapshot, let transaction, !transaction.isEmpty else { return false }
        return noteSnapshot(of: transaction, at: SnapshotTimes(citation.milliseconds))
    }

    @discardableResult
    mutating func noteSnapshot(of transaction: TransactionID, at times: SnapshotTimes) -> Bool {
        let known = snapshots[transaction]
        var joined = known ?? times
        joined.merge(times)
        guard joined != known else { return false }
        snapshots[transaction] = joined
        return true
    }

    /// True if a snapshot that was signed after a refund had settled leaves it out. The refund was then undone.
    func isLeftOut(_ refund: Register<Fact.RefundState>) -> Bool {
        guard refund.value.scope != nil, !isRepeated(refund.value) else { return false }
        return isStated(refund.value.transaction, wholeAfter: refund.by, refund.value.at)
    }

    /// True if the last snapshot of a transaction ends it at the moment of a refund. It has the date of the refund, and only does
    /// not say why: a transaction that was replaced may have one without a refund, too.
    func isRepeated(_ refund: Fact.RefundState) -> Bool {
        guard let end = ends[.transaction(refund.transaction)], end.by.isSnapshot, end.value.at == refund.at,
            let last = snapshots[refund.transaction]?.last
        else { return false }
        return end.by.milliseconds >= last
    }

    /// True if a transaction was stated as a whole after another statement about it, and after that had settled.
    func isStated(_ transaction: TransactionID, wholeAfter statement: Citation, _ moment: Date = .distantPast) -> Bool {
        guard let last = snapshots[transaction]?.last else { return false }
        return last > settled(max(statement.milliseconds, moment.millisecondsSince1970))
    }

    /// The first time after a statement, and after that had settled, at which a transaction was stated as a whole.
    func snapshot(of transaction: TransactionID, after milliseconds: Int64) -> Int64? {
        snapshots[transaction]?.first(after: settled(milliseconds))
    }

    /// When the store's servers agree on a change. The snapshots are the store's, also if a relay reported the change.
    private func settled(_ milliseconds: Int64) -> Int64 {
        milliseconds.addingClamped(registers.stores.lazy.map(\.rules.settling).max() ?? 0)
    }

    /// The snapshots that the kept statements of their transactions do not show by themselves.
    var unstatedSnapshots: [TransactionID: SnapshotTimes] {
        guard !snapshots.isEmpty else { return [:] }
        var shown: [TransactionID: SnapshotTimes] = [:]
        func note(_ transaction: TransactionID?, _ citation: Citation) {
            guard citation.isSnapshot, let transaction else { return }
            let times = SnapshotTimes(citation.milliseconds)
            if shown[transaction]?.merge(times) == nil { shown[transaction] = times }
        }
        for entry in periods.values where !entry.fact.isProvisional { note(entry.fact.transaction, entry.by) }
        for purchase in purchases.values { note(purchase.value.transaction, purchase.by) }
        return snapshots.filter { shown[$0.key] != $0.value }
    }
}

extension Citation {
    /// True if the statement is a snapshot, all that the store knows of a transaction.
    var isSnapshot: Bool { authority == .store && provider.rules.statesAllOfTransactions }

    /// True if this statement takes an earlier statement of an end back. A relay's statement never does that to the
    /// store's, and a snapshot does not if it may lack the end because that has not settled yet.
    ///
    /// - Parameter mayLag: true if a snapshot shows the end by a member of its own, and not by a date that has passed.
    func takesBack(_ end: Citation, mayLag: Bool) -> Bool {
        guard takesBack(end) else { return false }
        return !mayLag || !isSnapshot
            || milliseconds > end.milliseconds.addingClamped(provider.rules.settling)
    }
}
