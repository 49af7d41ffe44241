import FoundationEssentials

// Purchases that take the place of others under a name that nothing states. A store that names a changed purchase anew has the
// relays of its notifications name two: their lineages are joined like those that are stated to be one.

extension SubscriptionState {
    /// How far from the stated moment the purchase begins that is meant: a relay may be told of either first.
    private static let window: Int64 = 900_000

    /// Whether another state is this purchase, continued: its place is said to be taken when the other begins, it ended early at
    /// that very moment, or the other is what an account can have once only.
    func isSucceeded(by other: SubscriptionState) -> Bool {
        guard environment == other.environment else { return false }
        let beginnings = other.beginnings
        guard !beginnings.isEmpty else { return false }
        if !successions.isEmpty, beginnings.contains(where: isAnnounced) { return true }
        guard !ends.isEmpty || !periods.isEmpty else { return false }
        return beginnings.contains {
            $0.lineage.store.rules.relaysOmitReplacedPurchase && (isSameInOtherPlan($0) || endsEarly(at: $0))
        }
    }

    private struct Beginning {
        var lineage: SubscriptionID
        var start: Int64
        var product: String
    }

    /// What each lineage is known to begin with.
    private var beginnings: [Beginning] {
        var beginnings: [SubscriptionID: Beginning] = [:]
        for entry in periods.values {
            let (start, product) = (entry.fact.period.startMilliseconds, entry.fact.product)
            for lineage in entry.lineages {
                if let known = beginnings[lineage], (known.start, known.product) <= (start, product) { continue }
                beginnings[lineage] = Beginning(lineage: lineage, start: start, product: product)
            }
        }
        return Array(beginnings.values)
    }

    /// The periods in the store of a beginning that were stated themselves and had begun before it.
    private func periods(before beginning: Beginning) -> [PeriodEntry] {
        periods.values.filter { entry in
            !entry.fact.isProvisional && entry.fact.period.startMilliseconds < beginning.start
                && entry.lineages.contains { $0.store == beginning.lineage.store }
        }
    }

    private func isAnnounced(_ beginning: Beginning) -> Bool {
        successions.contains { succession in
            let distance = beginning.start.distance(to: succession.at.millisecondsSince1970)
            return distance.magnitude <= UInt(Self.window) && beginning.product != succession.from
                && (succession.to == nil || succession.to == beginning.product)
                && registers.keys.contains { $0.store == beginning.lineage.store }
        }
    }

    /// An account has a subscription once, so that another base plan of it takes the place of the one that runs.
    private func isSameInOtherPlan(_ beginning: Beginning) -> Bool {
        guard beginning.product.namesBasePlan else { return false }
        return periods(before: beginning).contains { entry in
            let product = entry.fact.product
            return product.namesBasePlan && product != beginning.product
                && product.subscriptionFamily == beginning.product.subscriptionFamily
                && beginning.start <= entry.fact.period.endMilliseconds
        }
    }

    private func endsEarly(at beginning: Beginning) -> Bool {
        guard !ends.isEmpty else { return false }
        return periods(before: beginning).contains { entry in
            let period = entry.fact.period
            guard entry.fact.product != beginning.product,
                beginning.start < period.endMilliseconds - PeriodTimeline.replacementSlack,
                let end = end(of: entry.fact), end.reason != .refunded, end.reason != .paused
            else { return false }
            return beginning.start.distance(to: end.at.millisecondsSince1970).magnitude
                <= UInt(PeriodTimeline.replacementSlack)
        }
    }

    private func end(of period: Fact.Period) -> Fact.PeriodEnd? {
        let start = period.period.startMilliseconds
        return ends[PeriodKey(transaction: period.transaction, start: start)]?.value
            ?? ends[.start(start)]?.value
    }
}

extension StoreStatement {
    /// Whom it names as the owner.
    var accounts: [Account.Identifier] {
        var accounts: [Account.Identifier] = []
        for case .owner(let account) in facts { accounts += account.identifiers }
        return accounts
    }
}

extension Collection<Fact.Succession> {
    var inOrder: [Fact.Succession] {
        sorted { ($0.at, $0.from, $0.to ?? "") < ($1.at, $1.from, $1.to ?? "") }
    }
}
