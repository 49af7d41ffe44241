/// The ends of periods that were stated. Of a long history, those are found that may be about the periods from a moment on.
package struct PeriodEnds: Sendable {
    package typealias Key = SubscriptionState.PeriodKey

    private var table: [Key: Register<Fact.PeriodEnd>] = [:]
    /// Where each end is by the start that it names, kept once there are many.
    private var order: StartOrder<Key>?
    /// The ends of periods that were not paid for as they began: their keys are starts, while they may name a transaction.
    private var unpaid: Set<Key> = []
    /// True if an item ended while its period went on.
    private(set) var hasItems = false

    package subscript(key: Key) -> Register<Fact.PeriodEnd>? { table[key] }

    package var all: some Collection<Register<Fact.PeriodEnd>> { table.values }
    var inOrder: [Register<Fact.PeriodEnd>] { table.valuesInOrder }
    var keysInOrder: [Key] { table.keysInOrder }
    var isEmpty: Bool { table.isEmpty }
    var count: Int { table.count }

    /// - Returns: true if the statement is news.
    mutating func insert(_ end: Assertion<Fact.PeriodEnd>) -> Bool {
        let key = Key(end.value)
        let known = table[key]
        guard table.insert(end, at: key) else { return false }
        note(key, from: known)
        return true
    }

    mutating func merge(_ register: Register<Fact.PeriodEnd>) {
        let key = Key(register.value)
        let known = table[key]
        table.merge(register, at: key)
        if table[key] != known { note(key, from: known) }
    }

    mutating func merge(_ other: Self) {
        for register in other.all { merge(register) }
    }

    /// The ends that may be about one of some periods: those that name a transaction of theirs, or a start that is not before theirs.
    ///
    /// - Parameter bound: the start of the first of the periods; nil if these are all.
    func about(_ periods: some Sequence<SubscriptionState.PeriodEntry>, from bound: Int64?) -> [Register<
        Fact.PeriodEnd
    >] {
        guard let bound, let order else { return Array(table.values) }
        var keys = unpaid.union(order.keys(from: bound.addingClamped(-ServicePeriod.startTolerance)))
        for period in periods {
            if let transaction = period.fact.transaction { keys.insert(.transaction(transaction)) }
        }
        return keys.compactMap { table[$0] }
    }

    private mutating func note(_ key: Key, from known: Register<Fact.PeriodEnd>?) {
        guard let end = table[key]?.value else { return }
        if end.item != nil { hasItems = true }
        if case .unpaid = key { unpaid.insert(key) }
        if order == nil {
            guard table.count >= PeriodOrder.leastCount else { return }
            order = StartOrder(table.map { .init(start: $0.value.start, key: $0.key) })
        } else {
            if let known { _ = order?.remove(key, from: known.start) }
            _ = order?.insert(key, at: end.start.millisecondsSince1970)
        }
    }
}

extension Register<Fact.PeriodEnd> {
    fileprivate var start: Int64 { value.start.millisecondsSince1970 }
}

// All else follows from the ends.
extension PeriodEnds: Hashable {
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.table == rhs.table }
    package func hash(into hasher: inout Hasher) { hasher.combine(table) }
}
