public import FoundationEssentials

/// A balance as versions before 0.1 stored it, to be converted once.
public struct CreditBalance: Hashable, Sendable, Codable {
    /// The credits that were left of the current period.
    public var included: Int64
    /// Credits that were bought, or carried over.
    public var bought: Int64

    /// Makes a balance: one that a host has kept in its own way so far.
    public init(included: Int64, bought: Int64) {
        self.included = included
        self.bought = bought
    }
}

extension CreditBalance {
    /// The uses that make a statement agree with the stored balance at a time.
    ///
    /// Convert each stored balance once: join the linked states, add up their balances, and append these uses. At
    /// `time` the statement then has ``included`` credits with an end and ``bought`` ones without, as far as its grants
    /// allow. For credits that no grant gives, such as the host's bonuses, a negative use makes a grant that lasts
    /// until it is used.
    ///
    /// - Parameters:
    ///   - state: the state of the purchase.
    ///   - policy: the credits of products.
    ///   - time: when the conversion is made. Earlier uses are in the stored balance only.
    public func uses(in state: SubscriptionState, under policy: CreditPolicy, at time: Date) -> [CreditUse] {
        let statement = CreditStatement(of: state, under: policy, uses: [], at: time)
        var uses: [CreditUse] = []
        func use(_ credits: Int64, of grant: CreditGrant.ID?) {
            guard credits != 0 else { return }
            let id = ["converted", grant?.rawValue].compactMap(\.self).joined(separator: ":")
            uses.append(CreditUse(id: id, credits: credits, at: time, subscription: state.subscription, grant: grant))
        }
        // The remainder of a kind is set against its grants, the last of which are used last.
        func settle(_ left: Int64, _ grants: [CreditGrant]) -> Int64 {
            var left = max(0, left)
            for grant in grants.sorted(by: CreditGrant.isUsedBefore).reversed() {
                let kept = min(left, grant.left)
                use(grant.left - kept, of: grant.id)
                left -= kept
            }
            return left
        }
        let open = statement.grants.filter { $0.left > 0 }
        let missing = settle(included, open.filter { $0.until != nil })
            .addingClamped(settle(bought, open.filter { $0.until == nil }))
        use(0 - missing, of: nil)
        if bought < 0 { use(0 - max(bought, -.max), of: nil) }
        return uses
    }
}
