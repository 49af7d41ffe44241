import FoundationEssentials

extension Ownerships {
    /// The owners of one lineage, while claims and transfers are played.
    struct Binding {
        private let claims: [Account.Identifier: AccountClaim]
        /// From when on each claim counts.
        private let starts: [Account.Identifier: Int64]
        let groups: AliasGroups
        private var bound: [Account.Source: Account.Identifier] = [:]
        private var destination: Set<Account.Identifier> = []
        /// When the lineage last moved.
        private var movedAt: Int64?
        /// Transfers that have not moved it since.
        private var kept: [AccountTransfer] = []

        init(_ state: SubscriptionState) {
            let claims = state.claims
            self.claims = claims
            starts = claims.mapValues { state.start(of: $0) }
            groups = AliasGroups(claims)
            // If a provider names an account of the app, a claim of the host binds no other account, under any source.
            let isClaimed = claims.values.contains { $0.first.provider.isHost }
            let named = claims.filter { isClaimed && !$0.value.first.provider.isHost && $0.key.isOfApp }.keys
                .reduce(into: Set<Account.Identifier>()) { $0.formUnion(groups.members(with: $1).map(\.name)) }
            for (identifier, claim) in claims {
                if claim.first.provider.isHost, !named.isEmpty,
                    named.isDisjoint(with: groups.members(with: identifier).map(\.name))
                {
                    continue
                }
                if let known = bound[identifier.source], let first = claims[known]?.first,
                    first == claim.first ? known.precedes(identifier) : first.bindsBefore(claim.first)
                {
                    continue
                }
                bound[identifier.source] = identifier
            }
        }

        /// Every name of the accounts that some statement named.
        var names: Set<Account.Identifier> {
            claims.reduce(into: Set()) { names, claim in
                names.insert(claim.key.name)
                for alias in claim.value.aliases { names.insert(alias.name) }
            }
        }

        /// The names of an account, wherever they come from.
        func names(with identifier: Account.Identifier) -> Set<Account.Identifier> {
            Set(groups.members(with: identifier).map(\.name))
        }

        /// True if it belongs to one of the accounts that a transfer names as those before.
        func isOwner(amongThoseBefore move: AccountTransfer) -> Bool {
            let from = Set(move.transfer.from.map(\.name))
            // A move may name an account by one of its names, and the move after it by another.
            return destination.contains { from.contains($0.name) }
                || bound.values.contains { identifier in
                    (destination.contains(identifier)
                        || (starts[identifier] ?? .max) <= move.moment)
                        && !names(with: identifier).isDisjoint(with: from)
                }
        }

        func isOwned(by accounts: [Account.Identifier]) -> Bool {
            accounts.contains { destination.contains($0) || bound[$0.source] == $0 }
        }

        mutating func add(_ names: [Account.Identifier]) { destination.formUnion(names) }

        mutating func keep(despite move: AccountTransfer) { kept.append(move) }

        mutating func apply(_ move: Move) {
            let to = Set(move.transfer.recipients)
            guard !to.isEmpty else { return }
            let from = move.formerNames.subtracting(move.newNames)
            bound = bound.filter { !from.contains($0.value.name) }
            for identifier in to.inOrder.reversed() { bound[identifier.source] = identifier }
            destination = to.union(move.linkedNames)
            movedAt = move.transfer.moment
            kept = []
        }

        /// An account, as providers name it that name the present owner.
        private struct Holder {
            var first: Citation
            var holding: Holding
            /// False if only an earlier version of the state knows of it, which did not keep the period.
            var isNamed: Bool
        }

        /// The moves that follow from the names: a lineage is that of the account which was named last for its latest period.
        func successions(of state: SubscriptionState, at position: Int, after arrivals: Arrivals) -> [Move] {
            let sources = Set(claims.filter { $0.value.holding != nil }.map(\.key.source))
            return sources.flatMap { successions(of: state, under: $0, at: position, after: arrivals) }
        }

        private func successions(
            of state: SubscriptionState,
            under source: Account.Source,
            at position: Int,
            after arrivals: Arrivals
        ) -> [Move] {
            var holders: [Account.Identifier: Holder] = [:]
            for (identifier, claim) in claims where identifier.source == source {
                guard let stated = claim.latestStated else { continue }
                let account = groups.representative(of: identifier)
                let holding = claim.holding ?? Holding(start: stated, stated: stated)
                var holder = holders[account] ?? Holder(first: claim.first, holding: holding, isNamed: false)
                if claim.first.precedes(holder.first) { holder.first = claim.first }
                holder.holding = max(holder.holding, holding)
                if claim.holding != nil { holder.isNamed = true }
                holders[account] = holder
            }
            guard holders.count > 1 else { return [] }
            let names = Set(holders.keys.flatMap { groups.members(with: $0) })
            func arrival(at account: Account.Identifier, after start: Int64) -> Int64? {
                guard let holder = holders[account] else { return nil }
                return groups.members(with: account).compactMap {
                    arrivals.last(of: $0.name, after: start, through: holder.holding.stated, of: state, at: position)
                }
                .max()
            }
            // A stated transfer outweighs all words on the former owner that are older, whatever period they are about.
            let past = holders.filter { account, holder in
                holders.keys.contains { $0 != account && arrival(at: $0, after: holder.holding.stated) != nil }
            }
            let ordered = holders.map { (account: $0.key, holder: $0.value) }.sorted { one, other in
                let (isPast, otherIsPast) = (past[one.account] != nil, past[other.account] != nil)
                if isPast != otherIsPast { return isPast }
                return one.holder.holding == other.holder.holding
                    ? one.account.precedes(other.account) : one.holder.holding < other.holder.holding
            }
            var previous: Holder?
            var moves: [Move] = []
            for (account, holder) in ordered {
                defer { previous = holder }
                guard holder.isNamed else { continue }
                let own = groups.members(with: account)
                var (moment, arrived): (Int64, Int64?) = (holder.first.milliseconds, nil)
                if let previous {
                    let last = previous.holding.stated
                    // A transfer says when it came to the account, and a return lies after the last word on the other.
                    arrived = arrival(at: account, after: last)
                    if let moved = arrived ?? (holder.first.precedes(previous.first) ? last : nil) {
                        moment = moved.addingClamped(1)
                    }
                }
                if let last = moves.last { moment = max(moment, last.transfer.moment.addingClamped(1)) }
                let transfer = LifecycleEvent.Transfer(
                    from: names.subtracting(own).inOrder,
                    to: own.inOrder,
                    at: Date(millisecondsSince1970: moment)
                )
                moves.append(
                    Move(
                        AccountTransfer(environment: state.environment, transfer: transfer, by: holder.first),
                        at: position,
                        isByName: true,
                        followsTransfer: arrived != nil
                    )
                )
            }
            return moves
        }

        func ownership(of state: SubscriptionState) -> Ownership {
            var accounts: Set<Account.Identifier> = []
            for identifier in bound.values { accounts.formUnion(groups.members(with: identifier)) }
            for identifier in destination { accounts.formUnion(groups.members(with: identifier)) }
            var conflicts: [Ownership.Conflict] = []
            for identifier in claims.keys.inOrder where !accounts.contains(identifier) {
                guard let claim = claims[identifier] else { continue }
                if let movedAt, claim.latest.milliseconds <= movedAt || state.isOfPast(claim, at: movedAt) { continue }
                if let holding = claim.holding,
                    accounts.contains(where: { claims[$0]?.holding.map { $0 > holding } == true })
                {
                    continue
                }
                // The account that was set at purchase still names the buyer after a transfer.
                let others = claim.first.provider.isHost ? Array(bound.values).inOrder.first : nil
                guard let existing = bound[identifier.source] ?? others else { continue }
                conflicts.append(Ownership.Conflict(existing: existing, claimed: identifier, by: claim.latest))
            }
            // A later word on the owner settles whose it is, whatever lay between.
            let named = accounts.compactMap { claims[$0]?.latestHeld }.max()
            for move in kept where named.map({ $0 > move.moment }) != true {
                for identifier in Set(move.recipients).subtracting(accounts).inOrder {
                    guard let existing = bound[identifier.source] else { continue }
                    conflicts.append(Ownership.Conflict(existing: existing, claimed: identifier, by: move.by))
                }
            }
            return Ownership(accounts: accounts.inOrder, conflicts: conflicts)
        }
    }
}

extension AccountClaim {
    /// When a provider named the account last; nil if only the host did.
    var latestStated: Int64? {
        latestHeld ?? [latest, first].first { !$0.provider.isHost }?.milliseconds
    }

    /// When a provider that names the present owner named the account last.
    var latestHeld: Int64? { [holding?.stated, namedAt].compactMap(\.self).max() }
}

extension SubscriptionState {
    /// True if the last word of a claim is of a period that another one had followed by a moment. It names the owner of that time, whenever
    /// it is made.
    func isOfPast(_ claim: AccountClaim, at moment: Int64) -> Bool {
        // A word about no period is about the time at which it is said.
        if let named = claim.namedAt, named > moment { return false }
        let begun = begun(by: moment)
        let own = claim.holding?.start ?? begun.filter({ $0.by == claim.latest }).map(\.start).max()
        guard let own, let last = begun.map(\.start).max() else { return false }
        return own < last
    }

    private func begun(by moment: Int64) -> [PeriodEntry] {
        periods.values.filter { !$0.fact.isProvisional && $0.start <= moment }
    }

    /// From when on a claim counts, in milliseconds. A store repeats the account that was set at purchase, so its word is of the whole
    /// period in which it is made.
    func start(of claim: AccountClaim) -> Int64 {
        let first = claim.first
        guard !first.provider.isHost, !first.provider.rules.namesPresentOwner else { return first.milliseconds }
        let starts =
            begun(by: first.milliseconds).map(\.start) + purchases.values.map { $0.value.at.millisecondsSince1970 }
        return starts.filter { $0 <= first.milliseconds }.max() ?? first.milliseconds
    }

    /// True if nothing is known but access that was inferred, as that for a day until the store answers.
    var isOnlyInferred: Bool {
        !periods.isEmpty && periods.values.allSatisfy { $0.firstStated == nil && $0.named.inOrder.isEmpty }
            && purchases.isEmpty && ends.isEmpty && refunds.isEmpty && charges.isEmpty
            && registers.all.allSatisfy { $0.registers == .init() }
    }

    /// True if a claim was first made after a moment by which its provider had stated the purchase without that name. A provider that is
    /// first heard after it repeats the name that was set at purchase.
    func isNew(_ claim: AccountClaim, since moment: Int64) -> Bool {
        let provider = claim.first.provider
        func isBefore(_ statement: Citation) -> Bool {
            statement.provider == provider && statement.milliseconds <= moment
        }
        guard claim.first.milliseconds > moment else { return false }
        return claims.values.contains { isBefore($0.first) } || periods.values.contains { isBefore($0.by) }
            || (provider.rules.statesAllOfTransactions && snapshots.values.contains { $0.first <= moment })
    }
}
