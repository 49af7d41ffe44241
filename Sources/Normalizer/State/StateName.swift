/// The name of a state of many lineages, kept so that it need not be searched for. It follows from the registers.
struct StateName: Sendable {
    private var first: SubscriptionID?
    /// The first that a store has stated something of as a whole.
    private var firstStated: SubscriptionID?

    var subscription: SubscriptionID? { firstStated ?? first }

    mutating func note(_ lineage: SubscriptionID, isStated: Bool) {
        first = Self.first(of: first, lineage)
        if isStated { firstStated = Self.first(of: firstStated, lineage) }
    }

    private static func first(of known: SubscriptionID?, _ lineage: SubscriptionID) -> SubscriptionID {
        guard let known, known == lineage || known.description < lineage.description else { return lineage }
        return known
    }
}

// It follows from the registers, which are compared.
extension StateName: Hashable {
    static func == (lhs: Self, rhs: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
