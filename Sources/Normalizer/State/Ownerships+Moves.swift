import FoundationEssentials

// The moves of purchases between accounts.

extension Ownerships {
    /// A transfer in the order of all.
    struct Move {
        let transfer: AccountTransfer
        /// That of the only state that it concerns; nil if it names accounts alone.
        let position: Int?
        /// True if later names show it, and nothing else.
        let isByName: Bool
        /// True if its moment is that of a transfer.
        let followsTransfer: Bool
        /// Other names of the new accounts, which were linked to them before.
        private(set) var linkedNames: [Account.Identifier] = []
        /// The names of the former accounts, and of the new ones, with those that were linked to them before.
        private(set) var formerNames: Set<Account.Identifier>
        private(set) var newNames: Set<Account.Identifier>

        init(
            _ transfer: AccountTransfer,
            at position: Int? = nil,
            isByName: Bool = false,
            followsTransfer: Bool = false
        ) {
            self.transfer = transfer
            self.position = position
            self.isByName = isByName
            self.followsTransfer = followsTransfer
            formerNames = Set(transfer.transfer.from.map(\.name))
            newNames = Set(transfer.recipients.map(\.name))
        }

        /// True if it can move the state at a position.
        func concerns(_ state: SubscriptionState, at position: Int) -> Bool {
            self.position.map { $0 == position } ?? state.concerns(transfer)
        }

        mutating func add(_ former: Set<Account.Identifier>, _ new: Set<Account.Identifier>) {
            formerNames.formUnion(former.map(\.name))
            newNames.formUnion(new.map(\.name))
            linkedNames = new.subtracting(transfer.recipients).inOrder
        }
    }

    /// When moves named accounts as the new ones.
    struct Arrivals {
        /// By the names of the accounts, in order.
        private var moves: [Account.Identifier: [Move]] = [:]

        mutating func insert(_ move: Move) {
            let moment = move.transfer.moment
            for name in move.newNames {
                let index = moves[name]?.partitioningIndex { $0.transfer.moment > moment } ?? 0
                moves[name, default: []].insert(move, at: index)
            }
        }

        /// The last moment of a stretch at which a state may have come to an account.
        func last(
            of name: Account.Identifier,
            after start: Int64,
            through end: Int64,
            of state: SubscriptionState,
            at position: Int
        ) -> Int64? {
            guard let moves = moves[name] else { return nil }
            return moves[..<moves.partitioningIndex { $0.transfer.moment > end }].reversed()
                .prefix { $0.transfer.moment > start }
                .first { $0.concerns(state, at: position) }?.transfer.moment
        }
    }
}

extension [Ownerships.Move] {
    /// A transfer between customers is one between all names that were linked by then. The moves are in order.
    mutating func addLinkedNames() {
        var linked: [Account.Identifier: Set<Account.Identifier>] = [:]
        func allNames(of accounts: [Account.Identifier]) -> Set<Account.Identifier> {
            accounts.reduce(into: Set(accounts)) { $0.formUnion(linked[$1.name] ?? []) }
        }
        for index in indices {
            let transfer = self[index].transfer
            let recipients = allNames(of: transfer.recipients)
            if transfer.linksNames {
                for name in recipients { linked[name.name] = recipients }
            } else if !linked.isEmpty {
                self[index].add(allNames(of: transfer.transfer.from), recipients)
            }
        }
    }
}

extension AccountTransfer {
    /// The accounts that it names as the new owners.
    var recipients: [Account.Identifier] { transfer.recipients }

    /// True if all that it names are one customer.
    var linksNames: Bool { Set(transfer.from.map(\.name)) == Set(recipients.map(\.name)) }
}
