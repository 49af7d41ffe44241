/// The registers of the lineages whose facts are joined in one state, and what follows from them: the state's name, its
/// stores, and the lineages with something outstanding.
///
/// An event is read with the periods around it. Of thousands of linked lineages it needs the registers of those
/// periods, and those that may be about a period of another lineage.
package struct LineageRegisters: Sendable {
    package typealias Registers = SubscriptionState.Registers
    package typealias Element = (lineage: SubscriptionID, registers: Registers)

    private var table: [SubscriptionID: Shared<Registers>] = [:]
    private var first: SubscriptionID?
    /// The first that a store has stated something of as a whole.
    private var firstStated: SubscriptionID?
    private var outstandingLineages: Set<SubscriptionID> = []
    /// The stores of all lineages.
    private(set) var stores: Set<PurchaseStore> = []

    package subscript(lineage: SubscriptionID) -> Registers? { table[lineage]?.value }

    package var lineages: some Collection<SubscriptionID> & Sendable { table.keys }
    package var all: some Collection<Element> {
        table.lazy.map { (lineage: $0.key, registers: $0.value.value) }
    }
    var count: Int { table.count }

    func contains(_ lineage: SubscriptionID) -> Bool { table.index(forKey: lineage) != nil }

    /// The name of the state: the first lineage that a store has stated something of as a whole, else the first of all.
    var name: SubscriptionID? { firstStated ?? first }

    /// True if a store has stated something of a lineage as a whole.
    var isStated: Bool { firstStated != nil }

    /// The registers that may be about any period of the state, not only about one of their own lineage.
    var outstanding: some Sequence<Element> {
        outstandingLineages.lazy.compactMap { lineage in table[lineage].map { (lineage, $0.value) } }
    }

    /// The registers of some lineages, and the outstanding ones.
    func outstanding(and lineages: Set<SubscriptionID>) -> some Sequence<Element> {
        lineages.union(outstandingLineages).lazy.compactMap { lineage in table[lineage].map { (lineage, $0.value) } }
    }

    mutating func merge(_ theirs: Registers, of lineage: SubscriptionID) {
        table[lineage, default: Shared(Registers())].value.merge(theirs)
        note(lineage)
    }

    /// Joins a statement about a lineage as a whole.
    ///
    /// - Returns: true if it is news to the registers.
    mutating func join(_ fact: Fact, of lineage: SubscriptionID, by citation: Citation) -> Bool {
        guard table[lineage]?.value.join(fact, by: citation) == true else { return false }
        note(lineage)
        return true
    }

    private mutating func note(_ lineage: SubscriptionID) {
        guard let registers = table[lineage]?.value else { return }
        stores.insert(lineage.store)
        first = Self.first(of: first, lineage)
        if firstStated != lineage, registers != Registers() { firstStated = Self.first(of: firstStated, lineage) }
        if registers.isOutstanding {
            outstandingLineages.insert(lineage)
        } else {
            outstandingLineages.remove(lineage)
        }
    }

    private static func first(of known: SubscriptionID?, _ lineage: SubscriptionID) -> SubscriptionID {
        guard let known, known == lineage || known.precedes(lineage) else { return lineage }
        return known
    }
}

extension SubscriptionState.Registers {
    /// True if something of it may be about a period of another lineage, or covers other lineages.
    fileprivate var isOutstanding: Bool {
        hadGrace || retries != nil || priceChange != nil || billing.map { $0.value.status != .settled } ?? false
            || closure?.value.covers.isEmpty == false
    }
}

// All else follows from the registers.
extension LineageRegisters: Hashable {
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.table == rhs.table }
    package func hash(into hasher: inout Hasher) { hasher.combine(table) }
}
