import FoundationEssentials

/// The owners of all lineages that may concern some accounts: a transfer between accounts depends on their other
/// purchases.
struct Ownerships {
    let states: [SubscriptionState]
    private var bindings: [Binding]
    /// By the names of accounts, the positions of the states that may belong to them.
    private var positions: [Account.Identifier: Set<Int>] = [:]
    /// When transfers named an account as the new one, in order.
    private var arrivals = Arrivals()
    /// When the first of the transfers was that were left out.
    private(set) var nextTransfer: Date?

    /// Plays claims and transfers in the order in which they were stated.
    ///
    /// - Parameter time: leave out transfers after it; the ownership before them stays.
    init(_ states: [SubscriptionState], after transfers: some Sequence<AccountTransfer>, by time: Int64 = .max) {
        self.states = states
        bindings = states.map { Binding($0.claims) }
        var moves = transfers.map { Move($0) }
        for (position, state) in states.enumerated() {
            for name in bindings[position].names { positions[name, default: []].insert(position) }
            guard let transfer = state.transfer else { continue }
            let move = AccountTransfer(environment: state.environment, transfer: transfer.value, by: transfer.by)
            moves.append(Move(move, at: position))
        }
        for move in moves { arrivals.insert(move) }
        for (position, state) in states.enumerated() {
            let named = bindings[position].successions(in: state.environment, at: position, after: arrivals)
            for move in named { arrivals.insert(move) }
            moves += named
        }
        moves.sort { $0.transfer.precedes($1.transfer) }
        let played = moves.partitioningIndex { $0.transfer.moment > time }
        if played < moves.count { nextTransfer = Date(millisecondsSince1970: moves[played].transfer.moment) }
        for move in moves[..<played] {
            guard let position = move.position else {
                apply(move.transfer)
                continue
            }
            // An account that has it under one of its names keeps the others.
            if move.isByName, bindings[position].isOwned(by: move.transfer.recipients) { continue }
            apply(move.transfer, at: [position])
        }
    }

    /// The owners of the state at a position.
    func ownership(at position: Int) -> Ownership { bindings[position].ownership(of: states[position]) }

    private mutating func apply(_ move: AccountTransfer) {
        let candidates = Set(move.transfer.from.map(\.name)).reduce(into: Set<Int>()) {
            $0.formUnion(positions[$1] ?? [])
        }
        let owned = candidates.sorted()
            .filter { states[$0].concerns(move) && bindings[$0].isOwner(amongThoseBefore: move) }
        // An account that gets one more name keeps all others. Another account's claim stays open.
        if move.linksNames {
            for position in owned { bindings[position].add(move.recipients) }
            note(move.recipients, at: owned)
            return
        }
        // A grant for a day is for a purchase of its own, or for none.
        let counts = Dictionary(grouping: owned.filter { !states[$0].isOnlyInferred }) {
            states[$0].subscription.store
        }
        .mapValues(\.count)
        var moved: [Int] = []
        for position in owned {
            switch word(on: move, at: position) {
            case .new?: moved.append(position)
            case .former?: break
            case nil where counts[states[position].subscription.store] ?? 0 < 2: moved.append(position)
            case nil: bindings[position].keep(despite: move)
            }
        }
        apply(move, at: moved)
    }

    private mutating func apply(_ move: AccountTransfer, at moved: [Int]) {
        for position in moved { bindings[position].apply(move) }
        note(move.recipients, at: moved)
    }

    private mutating func note(_ names: [Account.Identifier], at owned: [Int]) {
        for name in names { positions[name.name, default: []].formUnion(owned) }
    }

    // MARK: Later statements

    private enum Word { case former, new }

    /// The account that was named for the lineage since a transfer. The provider whose accounts moved knows best. Another one counts if
    /// that one names none, and if its name is shown to be new: a store repeats the buyer of before in all that it states later.
    private func word(on move: AccountTransfer, at position: Int) -> Word? {
        let sources = Set((move.transfer.from + move.recipients).map(\.source))
        let former = Set(move.transfer.from.map(\.name))
        let new = Set(move.recipients.map(\.name))
        var latest: (former: Int64?, new: Int64?, formerElsewhere: Int64?)
        var known: [Account.Identifier: (isFormer: Bool, isNew: Bool)] = [:]
        for (identifier, claim) in states[position].claims {
            guard let stated = claim.latestStated, stated > move.moment,
                !states[position].isOfPast(claim, at: move.moment)
            else { continue }
            let account = bindings[position].groups.representative(of: identifier)
            let names = known[account] == nil ? bindings[position].names(with: identifier) : []
            let (isFormer, isNew) =
                known[account] ?? (!names.isDisjoint(with: former), !names.isDisjoint(with: new))
            known[account] = (isFormer, isNew)
            // Two names of one customer decide nothing.
            guard isFormer != isNew,
                arrivals.last(of: identifier.name, at: position, after: move.moment, through: stated) == nil
            else { continue }
            switch (isNew, sources.contains(identifier.source)) {
            case (true, _): latest.new = max(latest.new ?? stated, stated)
            case (false, true): latest.former = max(latest.former ?? stated, stated)
            case (false, false) where states[position].isNew(claim, since: move.moment): latest.formerElsewhere = stated
            case (false, false): break
            }
        }
        if let former = latest.former { return latest.new.map { $0 >= former } == true ? .new : .former }
        if latest.new != nil { return .new }
        return latest.formerElsewhere == nil ? nil : .former
    }
}

/// A transfer in the order of all.
private struct Move {
    let transfer: AccountTransfer
    /// That of the only state that it concerns; nil if it names accounts alone.
    let position: Int?
    /// True if later names show it, and nothing else.
    let isByName: Bool

    init(_ transfer: AccountTransfer, at position: Int? = nil, isByName: Bool = false) {
        self.transfer = transfer
        self.position = position
        self.isByName = isByName
    }
}

/// When moves named accounts as the new ones.
private struct Arrivals {
    /// By the names of the accounts, in order.
    private var moves: [Account.Identifier: [(moment: Int64, position: Int?)]] = [:]

    mutating func insert(_ move: Move) {
        let moment = move.transfer.moment
        for name in move.transfer.recipients.map(\.name) {
            let index = moves[name]?.partitioningIndex { $0.moment > moment } ?? 0
            moves[name, default: []].insert((moment, move.position), at: index)
        }
    }

    /// The last moment of a stretch at which a state may have come to an account.
    func last(of name: Account.Identifier, at position: Int, after start: Int64, through end: Int64) -> Int64? {
        guard let moves = moves[name] else { return nil }
        return moves[..<moves.partitioningIndex { $0.moment > end }].reversed()
            .prefix { $0.moment > start }
            .first { $0.position == nil || $0.position == position }?.moment
    }
}

extension AccountTransfer {
    /// The accounts that it names as the new owners.
    fileprivate var recipients: [Account.Identifier] { transfer.to.filter { !$0.id.isEmpty } }

    /// True if all that it names are one customer.
    fileprivate var linksNames: Bool { Set(transfer.from.map(\.name)) == Set(recipients.map(\.name)) }
}

extension AccountClaim {
    /// When a provider named the account last; nil if only the host did.
    fileprivate var latestStated: Int64? {
        [holding?.stated, namedAt].compactMap(\.self).max()
            ?? [latest, first].first { !$0.provider.isHost }?.milliseconds
    }
}

/// The owners of one lineage, while claims and transfers are played.
private struct Binding {
    private let claims: [Account.Identifier: AccountClaim]
    let groups: AliasGroups
    private var bound: [Account.Source: Account.Identifier] = [:]
    private var destination: Set<Account.Identifier> = []
    /// When the lineage last moved.
    private var movedAt: Int64?
    /// Transfers that have not moved it since.
    private var kept: [AccountTransfer] = []

    init(_ claims: [Account.Identifier: AccountClaim]) {
        self.claims = claims
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
                    || (claims[identifier]?.first.milliseconds ?? .max) <= move.moment)
                    && !names(with: identifier).isDisjoint(with: from)
            }
    }

    func isOwned(by accounts: [Account.Identifier]) -> Bool {
        accounts.contains { destination.contains($0) || bound[$0.source] == $0 }
    }

    mutating func add(_ names: [Account.Identifier]) { destination.formUnion(names) }

    mutating func keep(despite move: AccountTransfer) { kept.append(move) }

    mutating func apply(_ move: AccountTransfer) {
        let from = Set(move.transfer.from.map(\.name))
        let to = Set(move.recipients)
        guard !to.isEmpty else { return }
        bound = bound.filter { !from.contains($0.value.name) }
        for identifier in to.inOrder.reversed() { bound[identifier.source] = identifier }
        destination = to
        movedAt = move.moment
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
    func successions(in environment: StoreEnvironment, at position: Int, after arrivals: Arrivals) -> [Move] {
        let sources = Set(claims.filter { $0.value.holding != nil }.map(\.key.source))
        return sources.flatMap { successions(of: $0, in: environment, at: position, after: arrivals) }
    }

    private func successions(
        of source: Account.Source,
        in environment: StoreEnvironment,
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
                arrivals.last(of: $0.name, at: position, after: start, through: holder.holding.stated)
            }
            .max()
        }
        // A stated transfer outweighs all words on the former owner that are older, whatever period they are about.
        let past = holders.filter { account, holder in
            holders.keys.contains { $0 != account && arrival(at: $0, after: holder.holding.stated) != nil }
        }
        var previous: Holder?
        var moves: [Move] = []
        for (account, holder) in holders.sorted(by: { one, other in
            let (isPast, otherIsPast) = (past[one.key] != nil, past[other.key] != nil)
            if isPast != otherIsPast { return isPast }
            return one.value.holding == other.value.holding
                ? one.key.precedes(other.key) : one.value.holding < other.value.holding
        }) {
            defer { previous = holder }
            guard holder.isNamed else { continue }
            let own = groups.members(with: account)
            var moment = holder.first.milliseconds
            if let previous {
                let last = previous.holding.stated
                // A transfer says when it came to the account, and a return lies after the last word on the other.
                if let moved = arrival(at: account, after: last) ?? (holder.first.precedes(previous.first) ? last : nil)
                {
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
                    AccountTransfer(environment: environment, transfer: transfer, by: holder.first),
                    at: position,
                    isByName: true
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
        for move in kept {
            for identifier in Set(move.recipients).subtracting(accounts).inOrder {
                guard let existing = bound[identifier.source] else { continue }
                conflicts.append(Ownership.Conflict(existing: existing, claimed: identifier, by: move.by))
            }
        }
        return Ownership(accounts: accounts.inOrder, conflicts: conflicts)
    }
}

extension SubscriptionState {
    /// True if the last word of a claim is of a period that another one had followed by a moment. It names the owner of that time, whenever
    /// it is made.
    fileprivate func isOfPast(_ claim: AccountClaim, at moment: Int64) -> Bool {
        // A word about no period is about the time at which it is said.
        if let named = claim.namedAt, named > moment { return false }
        let begun = periods.values.filter { !$0.fact.isProvisional && $0.start <= moment }
        let own = claim.holding?.start ?? begun.filter({ $0.by == claim.latest }).map(\.start).max()
        guard let own, let last = begun.map(\.start).max() else { return false }
        return own < last
    }

    /// True if nothing is known but access that was inferred, as that for a day until the store answers.
    fileprivate var isOnlyInferred: Bool {
        !periods.isEmpty && periods.values.allSatisfy { $0.firstStated == nil && $0.named == nil }
            && purchases.isEmpty && ends.isEmpty && refunds.isEmpty && charges.isEmpty
            && registers.all.allSatisfy { $0.registers == .init() }
    }

    /// True if a claim was first made after a moment by which its provider had stated the purchase without that name. A provider that is
    /// first heard after it repeats the name that was set at purchase.
    fileprivate func isNew(_ claim: AccountClaim, since moment: Int64) -> Bool {
        let provider = claim.first.provider
        func isBefore(_ statement: Citation) -> Bool {
            statement.provider == provider && statement.milliseconds <= moment
        }
        guard claim.first.milliseconds > moment else { return false }
        return claims.values.contains { isBefore($0.first) } || periods.values.contains { isBefore($0.by) }
            || (provider.rules.statesAllOfTransactions && snapshots.values.contains { $0.first <= moment })
    }
}
