import FoundationEssentials

/// A step of a refund: it took access away, or was undone.
///
/// A refund that was undone leaves no trace in its register, while the customer had no access until then. So a state keeps each step,
/// also of a refund with a name that leaves access by itself: together with others it may have taken it.
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

    /// Its first statement; of a refund that leaves access by itself the last one, which its register has while it stands.
    private(set) var statement: Assertion<Fact.RefundState>
    /// When it was stated last, in milliseconds since 1970.
    private(set) var lastStated: Int64

    /// - Returns: nil for a refund without a name that leaves access.
    init?(_ refund: Assertion<Fact.RefundState>) {
        guard refund.value.scope == nil || refund.value.endsAccess || refund.value.refund != nil else { return nil }
        statement = refund
        lastStated = refund.by.milliseconds
    }

    var key: Key {
        let refund = statement.value
        return Key(refund: .init(refund), at: refund.at.millisecondsSince1970, isUndone: refund.scope == nil)
    }

    /// True if all of an order went back, and not only the product that has the order's name.
    var isOfWholeOrder: Bool { statement.value.scope == .full && statement.by.namesWholeOrder }

    private var leavesAccess: Bool { statement.value.scope != nil && !statement.value.endsAccess }

    mutating func merge(_ other: Self) {
        let isLater = statement.precedes(other.statement)
        let yields =
            leavesAccess ? isLater || !other.leavesAccess : other.statement.precedes(statement) && !other.leavesAccess
        if yields { statement = other.statement }
        lastStated = max(lastStated, other.lastStated)
    }

    private enum CodingKeys: String, CodingKey {
        case value, by
        case lastStated = "last_stated_at"
    }

    package init(from decoder: any Decoder) throws {
        statement = try Assertion(from: decoder)
        let last = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(EventTime.self, forKey: .lastStated)
        lastStated = max(statement.by.milliseconds, last?.milliseconds ?? .min)
    }

    package func encode(to encoder: any Encoder) throws {
        try statement.encode(to: encoder)
        guard lastStated > statement.by.milliseconds else { return }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(
            EventTime(wrappedValue: Date(millisecondsSince1970: lastStated)),
            forKey: .lastStated
        )
    }
}

extension Register<Fact.RefundState> {
    /// The refund with the time since which it stands, or is undone. A store may state that again later, with a later time: the first
    /// statement after the last that said otherwise has the right one.
    ///
    /// - Parameter steps: the steps of this refund.
    func dated(by steps: [RefundStep]) -> Self {
        guard value.refund != nil, steps.count > 1 else { return self }
        let isUndone = value.scope == nil
        let before = steps.filter { $0.key.isUndone != isUndone }.map(\.lastStated).max() ?? .min
        let run = steps.filter { $0.key.isUndone == isUndone && $0.lastStated > before }
        guard var first = run.min(by: { $0.key < $1.key })?.statement, first.value.at < value.at else { return self }
        let time = first.value.at
        first.value = value
        first.value.at = time
        return Register(first)
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

    /// The last statement of each refund, with the time since which that holds.
    var datedRefunds: [Register<Fact.RefundState>] {
        let steps = Dictionary(grouping: refundSteps.values, by: \.key.refund)
        return refunds.map { key, refund in refund.dated(by: steps[key] ?? []) }
    }

    /// The refund that a statement undoes, as it stood last; another statement may have undone it before. Nil if it names none.
    func undone(by reversal: Fact.RefundState) -> Register<Fact.RefundState>? {
        guard reversal.refund != nil, reversal.scope == nil else { return nil }
        let key = RefundKey(reversal)
        return refundSteps.values.filter { $0.key.refund == key && !$0.key.isUndone }
            .max { $0.lastStated < $1.lastStated }.map { Register($0.statement) }
    }

    /// The steps that the kept statements of refunds do not show by themselves.
    var unstatedRefundSteps: [RefundStep] {
        refundSteps.filter { key, step in refunds[key.refund].flatMap { RefundStep($0.latest) } != step }
            .sorted { $0.key < $1.key }.map(\.value)
    }

    /// The times without access before refunds were undone, in a fixed order.
    var withdrawals: [Withdrawal] {
        guard !refundSteps.isEmpty else { return [] }
        if registers.stores.contains(where: \.rules.takesBackRefundedSales) { return withdrawalsInFull }
        let undoings = Dictionary(grouping: refundSteps.filter(\.key.isUndone), by: \.key.refund)
        return refundSteps.sorted { $0.key < $1.key }.compactMap { key, step in
            let refund = step.statement.value
            guard !key.isUndone, refund.endsAccess,
                let until = end(of: step, undoneBy: (undoings[key.refund] ?? []).map(\.value)), key.at < until
            else { return nil }
            let gap = PeriodTimeline.Gap(from: key.at, until: until, reason: .refunded, by: step.statement.by)
            return Withdrawal(refund: refund, gap: gap)
        }
    }

    /// The times in which all of a payment had gone back, which no single refund may show: those between two steps in which the refunds
    /// of the payment that stood then end access together.
    private var withdrawalsInFull: [Withdrawal] {
        let steps = Dictionary(grouping: refundSteps.values, by: \.key.refund)
        let stated = Dictionary(grouping: refunds.values) { transaction(of: $0.value) }
        return stated.sorted { $0.key < $1.key }.flatMap { (name, registers) -> [Withdrawal] in
            let statements = registers.map { register in
                [register.latest] + (steps[RefundKey(register.value)] ?? []).map(\.statement)
            }
            let moments = Set(statements.joined().map(\.value.at.millisecondsSince1970)).sorted()
            guard moments.count > 1 else { return [] }
            let names = names(of: name)
            var found: [Withdrawal] = []
            for (from, until) in zip(moments, moments.dropFirst()) {
                let then = statements.compactMap { steps in
                    steps.filter { $0.value.at.millisecondsSince1970 <= from }.max { one, other in
                        one.value.at == other.value.at ? one.precedes(other) : one.value.at < other.value.at
                    }
                }
                let refunds = then.sorted { $0.precedes($1) }.map { Register($0) }
                guard let sum = sum(of: refunds, named: names), sum.standing != nil, sum.value.endsAccess
                else { continue }
                if let last = found.indices.last, found[last].gap.until == from {
                    found[last].gap.until = until
                } else {
                    let gap = PeriodTimeline.Gap(from: from, until: until, reason: .refunded, by: sum.by)
                    found.append(Withdrawal(refund: sum.value, gap: gap))
                }
            }
            return found
        }
    }

    /// When a refund was undone: by a statement of its own, or by the first snapshot of its transaction that left it out.
    private func end(of step: RefundStep, undoneBy undoings: [RefundStep]) -> Int64? {
        let later = undoings.filter { $0.statement.by.milliseconds > step.statement.by.milliseconds }
        let refund = step.statement.value
        let leftOut =
            isRepeated(refund) ? nil : snapshot(of: refund.transaction, after: max(step.lastStated, step.key.at))
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
