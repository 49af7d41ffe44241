extension SubscriptionState {
    /// The knowledge of one thing that was bought once. The store's statements and a relay's are kept apart: a relay may guess what the
    /// store leaves open, and neither states all of it.
    package struct PurchaseEntry: Hashable, Sendable {
        /// The store's statement, else a relay's.
        package private(set) var statement: Register<Fact.OneTimePurchase>
        /// A relay's statement next to the store's.
        private var relayed: Register<Fact.OneTimePurchase>?

        package init(_ statement: Register<Fact.OneTimePurchase>) { self.statement = statement }

        /// The purchase: what the store states, and what a relay adds.
        package var value: Fact.OneTimePurchase {
            guard let relayed = relayed?.value.purchase else { return statement.value }
            var joined = statement.value
            joined.purchase = joined.purchase.completed(by: relayed)
            return joined
        }

        package var by: Citation { statement.by }

        /// The statements that its type and its end are read from.
        var evidence: [Citation] {
            guard let relayed else { return [statement.by] }
            let (joined, stated) = (value.purchase, statement.value.purchase)
            let isCompleted = joined.type != stated.type || joined.expires != stated.expires
            return isCompleted ? [relayed.by, statement.by] : [statement.by]
        }

        /// The store's statement, and a relay's.
        var registers: [Register<Fact.OneTimePurchase>] { [statement] + [relayed].compactMap(\.self) }

        package mutating func merge(_ other: Self) {
            for register in other.registers { merge(register) }
        }

        private mutating func merge(_ other: Register<Fact.OneTimePurchase>) {
            switch (statement.by.authority.rank, other.by.authority.rank) {
            case let (known, new) where known == new: statement.merge(other)
            case let (known, new) where known > new: relayed.merge(other)
            default:
                relayed.merge(statement)
                statement = other
            }
        }
    }

    /// Joins statements of a purchase.
    ///
    /// - Returns: true if that is news to the state.
    @discardableResult
    mutating func note(_ purchase: PurchaseEntry) -> Bool {
        let transaction = purchase.statement.value.transaction
        let known = purchases[transaction]
        if purchases[transaction]?.merge(purchase) == nil { purchases[transaction] = purchase }
        return purchases[transaction] != known
    }
}

extension LifecycleEvent.OneTimePurchase {
    /// A store's statement with what a relay's adds. That it was consumable is no addition to an unknown type: a relay may conclude it
    /// from a gap in its own lists, and such a gap locks out no paying customer.
    fileprivate func completed(by relayed: Self) -> Self {
        var completed = self
        if expires == nil, relayed.expires != nil {
            (completed.type, completed.expires) = (relayed.type, relayed.expires)
        } else if type == .unknown, relayed.type == .nonConsumable {
            completed.type = .nonConsumable
        }
        completed.price = price ?? relayed.price
        return completed
    }
}
