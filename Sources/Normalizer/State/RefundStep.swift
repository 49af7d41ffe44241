import FoundationEssentials

/// A step of a refund: it took access away, or was undone.
///
/// A refund that was undone leaves no trace in its register, while the customer had no access until then. So a state keeps each step.
package struct RefundStep: Hashable, Sendable, Codable {
    /// Each refund may take access away several times, and be undone each time.
    package struct Key: Hashable, Comparable, Sendable {
        var refund: SubscriptionState.RefundKey
        var at: Int64
        var isUndone: Bool

        package static func < (lhs: Self, rhs: Self) -> Bool {
            if lhs.refund != rhs.refund { return lhs.refund < rhs.refund }
            return lhs.at != rhs.at ? lhs.at < rhs.at : !lhs.isUndone && rhs.isUndone
        }
    }

    /// Its first statement.
    private(set) var first: Assertion<Fact.RefundState>
    /// When it was stated last, in milliseconds since 1970.
    private(set) var lastStated: Int64

    /// - Returns: nil for a refund that leaves access.
    init?(_ refund: Assertion<Fact.RefundState>) {
        guard refund.value.scope == nil || refund.value.endsAccess else { return nil }
        first = refund
        lastStated = refund.by.milliseconds
    }

    var key: Key {
        Key(refund: .init(first.value), at: first.value.at.millisecondsSince1970, isUndone: first.value.scope == nil)
    }

    /// True if all of an order went back, and not only the product that has the order's name.
    var isOfWholeOrder: Bool { first.value.scope == .full && first.by.namesWholeOrder }

    mutating func merge(_ other: Self) {
        if other.first.precedes(first) { first = other.first }
        lastStated = max(lastStated, other.lastStated)
    }

    private enum CodingKeys: String, CodingKey {
        case value, by
        case lastStated = "last_stated_at"
    }

    package init(from decoder: any Decoder) throws {
        first = try Assertion(from: decoder)
        let last = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(EventTime.self, forKey: .lastStated)
        lastStated = max(first.by.milliseconds, last?.milliseconds ?? .min)
    }

    package func encode(to encoder: any Encoder) throws {
        try first.encode(to: encoder)
        guard lastStated > first.by.milliseconds else { return }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(
            EventTime(wrappedValue: Date(millisecondsSince1970: lastStated)),
            forKey: .lastStated
        )
    }
}

extension SubscriptionState {
    /// The time between a refund and its reversal, and the refunded payment.
    struct Withdrawal {
        var refund: Fact.RefundState
        var gap: PeriodTimeline.Gap
    }

    /// Keeps the step of a refund, if it is one.
    ///
    /// - Returns: true if that is news to the state.
    @discardableResult
    mutating func note(_ refund: Assertion<Fact.RefundState>) -> Bool { RefundStep(refund).map { note($0) } ?? false }

    @discardableResult
    mutating func note(_ step: RefundStep) -> Bool {
        let known = refundSteps[step.key]
        var joined = known ?? step
        joined.merge(step)
        guard joined != known else { return false }
        refundSteps[step.key] = joined
        return true
    }

    /// The steps that the kept statements of refunds do not show by themselves.
    var unstatedRefundSteps: [RefundStep] {
        refundSteps.filter { key, step in refunds[key.refund].flatMap { RefundStep($0.latest) } != step }
            .sorted { $0.key < $1.key }.map(\.value)
    }

    /// The times without access before refunds were undone, in a fixed order.
    var withdrawals: [Withdrawal] {
        guard !refundSteps.isEmpty else { return [] }
        let takesBack = registers.stores.contains(where: \.rules.takesBackRefundedSales)
        let undoings = Dictionary(grouping: refundSteps.filter(\.key.isUndone), by: \.key.refund)
        return refundSteps.sorted { $0.key < $1.key }.compactMap { key, step in
            let refund = step.first.value
            // A part of a payment may leave the access.
            guard !key.isUndone, refund.scope?.money == nil || !takesBack,
                let until = end(of: step, undoneBy: (undoings[key.refund] ?? []).map(\.value)), key.at < until
            else { return nil }
            let gap = PeriodTimeline.Gap(from: key.at, until: until, reason: .refunded, by: step.first.by)
            return Withdrawal(refund: refund, gap: gap)
        }
    }

    /// When a refund was undone: by a statement of its own, or by the first snapshot of its transaction that left it out.
    private func end(of step: RefundStep, undoneBy undoings: [RefundStep]) -> Int64? {
        let later = undoings.filter { $0.first.by.milliseconds > step.first.by.milliseconds }
        let leftOut = snapshot(of: step.first.value.transaction, after: max(step.lastStated, step.key.at))
        return (later.map(\.key.at) + [leftOut].compactMap(\.self)).min()
    }

    /// The times in which one-time purchases were taken back, by the one name of the transaction of each.
    var gapsOfPurchases: [TransactionID: [PeriodTimeline.Gap]] {
        guard !purchases.isEmpty else { return [:] }
        var gaps = Dictionary(grouping: withdrawals) { transaction(of: $0.refund) }
            .mapValues { $0.map(\.gap) }
        for (transaction, purchase) in purchases {
            guard let end = end(of: purchase.value), revocation(of: purchase.value, statedBy: purchase.by) == nil,
                let gap = PeriodTimeline.Cut(end.latest).gap(of: transaction, statedBy: purchase.by, in: self)
            else { continue }
            gaps[self.transaction(named: transaction), default: []].append(gap)
        }
        return gaps.mapValues { $0.sorted { ($0.from, $0.until) < ($1.from, $1.until) } }
    }
}

extension PeriodTimeline.Cut {
    /// The time without access before an end was taken back: by the first snapshot of the transaction that left it out, or by a statement
    /// of another kind.
    func gap(of transaction: TransactionID, statedBy statement: Citation, in state: SubscriptionState) -> PeriodTimeline
        .Gap?
    {
        guard mayLag, let snapshot = state.snapshot(of: transaction, after: by.milliseconds) else { return nil }
        let until = statement.takesBack(by, mayLag: true) ? min(snapshot, statement.milliseconds) : snapshot
        return at < until ? PeriodTimeline.Gap(from: at, until: until, reason: reason, by: by) : nil
    }
}
