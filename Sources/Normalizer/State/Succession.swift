import FoundationEssentials

// If a store gives a changed purchase a new name, the relays of its notifications name two lineages. They are joined
// like lineages that are stated to be one. Each rule needs one statement on either side, and statements are never taken
// back, so the order of arrival does not matter.

extension SubscriptionState {
    /// True if another state is this purchase, continued: this one is stated as replaced when the other begins, or the
    /// other is a product that an account has only once.
    func isSucceeded(by other: SubscriptionState) -> Bool {
        guard environment == other.environment else { return false }
        return other.periods.values.contains { entry in
            guard let store = entry.relayedStore, registers.stores.contains(store) else {
                return false
            }
            if entry.isFirstRenewal, isAnnounced(entry.fact, in: store, byName: true) { return true }
            return entry.mayBegin
                && (isAnnounced(entry.fact, in: store)
                    || isTakenPlace(by: entry.fact, isFree: other.isChargedNothing(for: entry.fact)))
        }
    }

    /// - Parameter byName: true if only a change to a stated product announces it.
    private func isAnnounced(_ period: Fact.Period, in store: PurchaseStore, byName: Bool = false) -> Bool {
        successions.contains {
            (!byName || $0.to != nil) && $0.announces(period.product, at: period.period.startMilliseconds, in: store)
        }
    }

    /// An account has a subscription once, so that another base plan of it takes the place of the one that runs, and so does more of what
    /// is paid in advance. The same plan may be bought for two accounts of the store: it takes the place if it is charged nothing.
    private func isTakenPlace(by begun: Fact.Period, isFree: Bool) -> Bool {
        guard begun.product.hasBasePlan || begun.phase == .prepaid || isFree else { return false }
        let start = begun.period.startMilliseconds
        return periods.values.contains { (entry: PeriodEntry) -> Bool in
            let known = entry.fact
            guard !known.isProvisional, entry.relayedStore != nil,
                known.period.startMilliseconds < start, start <= known.period.endMilliseconds,
                known.product.isOfSubscription(of: begun.product)
            else { return false }
            if known.phase == .prepaid, begun.phase == .prepaid { return true }
            return isFree || begun.product.hasBasePlan && known.product.hasBasePlan && known.product != begun.product
        }
    }

    /// True if a period that is no trial is stated to cost nothing.
    private func isChargedNothing(for period: Fact.Period) -> Bool {
        guard period.phase == .regular, let price = period.transaction.flatMap(charge(named:))?.value.price else {
            return false
        }
        return price.role == .charged && price.money.amount.coefficient == 0
    }
}

extension Fact.Succession {
    /// True if a product that begins at a moment may be the one that takes the place.
    ///
    /// - Parameter former: the product whose place it takes; nil if it is the change's own.
    func announces(_ product: ProductID, from former: ProductID? = nil, at moment: Int64, in store: PurchaseStore)
        -> Bool
    {
        guard former.map({ $0.mayBe(from) }) ?? true else { return false }
        // The same product again is no change to another one of its group.
        guard let successors = to.map({ [$0] }) ?? (product == from ? nil : among) else {
            return isAround(moment, store.rules.unnamedReplacementWindow.magnitude)
        }
        return isAround(moment, store.rules.replacementWindow.magnitude) && successors.contains { product.mayBe($0) }
    }

    /// True if it is dated to a moment, give or take a window in milliseconds.
    func isAround(_ moment: Int64, _ window: UInt64) -> Bool {
        (moment - at.millisecondsSince1970).magnitude <= window
    }
}

extension SubscriptionState.PeriodEntry {
    /// The store that a relay stated it for, if the store names no link between purchases to its relays.
    var relayedStore: PurchaseStore? {
        lineages.lazy.map(\.store).first { $0.rules.relaysOmitReplacedPurchase && !by.provider.speaks(for: $0) }
    }

    /// True unless it is said to be a later period than that which its lineage has its name from.
    fileprivate var mayBegin: Bool {
        fact.transaction == nil || lineages.contains { $0.id == fact.transaction?.rawValue }
    }

    /// True if it is the first renewal of the order that its lineage has its name from. A change at the end of a period makes that order
    /// when it is arranged, and the product begins with the renewal.
    fileprivate var isFirstRenewal: Bool { lineages.contains { fact.transaction?.isFirstRenewal(of: $0) == true } }
}

extension TransactionID {
    fileprivate func isFirstRenewal(of lineage: SubscriptionID) -> Bool {
        renewal == 0 && firstOrder.rawValue == lineage.id
    }
}

extension StoreStatement {
    /// The names of the owners in it.
    package var accounts: [Account.Identifier] {
        var accounts: [Account.Identifier] = []
        for case .owner(let account) in facts { accounts += account.identifiers.filter { !$0.id.isEmpty } }
        return accounts
    }

    /// True if it may show that one purchase replaces another one, which it does not name.
    ///
    /// - Parameter known: the earlier knowledge of the purchase.
    package func mayShowSuccessor(of known: SubscriptionState?) -> Bool {
        guard subscription.store.rules.relaysOmitReplacedPurchase, !provider.speaks(for: subscription.store) else {
            return false
        }
        return facts.contains { fact in
            switch fact {
            case .succession: true
            case .period(let period):
                period.transaction.map { $0.rawValue == subscription.id || $0.isFirstRenewal(of: subscription) } ?? true
            case .owner(let account): account.identifiers.contains { known?.claims[$0] == nil }
            default: false
            }
        }
    }
}

extension Collection<Fact.Succession> {
    var inOrder: [Fact.Succession] {
        sorted { one, other in
            if (one.at, one.from, one.to ?? "") != (other.at, other.from, other.to ?? "") {
                return (one.at, one.from, one.to ?? "") < (other.at, other.from, other.to ?? "")
            }
            return (one.among ?? []).lexicographicallyPrecedes(other.among ?? [])
        }
    }
}
