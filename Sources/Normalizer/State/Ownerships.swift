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
    /// By the positions of the states, what later statements say of each move.
    private var words: [Int: [Int: LaterWords]] = [:]
    /// When the first of the transfers was that were left out.
    private(set) var nextTransfer: Date?

    /// Plays claims and transfers in the order in which they were stated.
    ///
    /// - Parameter time: leave out transfers after it; the ownership before them stays.
    init(_ states: [SubscriptionState], after transfers: some Sequence<AccountTransfer>, by time: Int64 = .max) {
        self.states = states
        bindings = states.map { Binding($0) }
        var moves = transfers.map { Move($0) }
        for (position, state) in states.enumerated() {
            for name in bindings[position].names { positions[name, default: []].insert(position) }
            guard let transfer = state.transfer else { continue }
            let move = AccountTransfer(environment: state.environment, transfer: transfer.value, by: transfer.by)
            moves.append(Move(move, at: position))
        }
        moves.sort { $0.transfer.precedes($1.transfer) }
        moves.addLinkedNames()
        for move in moves { arrivals.insert(move) }
        for (position, state) in states.enumerated() {
            let named = bindings[position].successions(of: state, at: position, after: arrivals)
            for move in named { arrivals.insert(move) }
            moves += named
        }
        moves.sort { $0.transfer.precedes($1.transfer) }
        moves.addLinkedNames()
        let played = moves.partitioningIndex { $0.transfer.moment > time }
        if played < moves.count { nextTransfer = Date(millisecondsSince1970: moves[played].transfer.moment) }
        for (index, move) in moves[..<played].enumerated() {
            guard let position = move.position else {
                apply(move, at: index, among: moves)
                continue
            }
            // An account that has it under one of its names keeps the others.
            if move.isByName, bindings[position].isOwned(by: move.transfer.recipients) { continue }
            apply(move, at: [position])
        }
        for position in states.indices {
            guard let move = bindings[position].lastNaming(of: states[position], at: position, by: time) else {
                continue
            }
            apply(move, at: [position])
        }
    }

    /// The owners of the state at a position.
    func ownership(at position: Int) -> Ownership { bindings[position].ownership(of: states[position]) }

    private mutating func apply(_ move: Move, at index: Int, among moves: [Move]) {
        let transfer = move.transfer
        let candidates = Set(transfer.transfer.from.map(\.name)).reduce(into: Set<Int>()) {
            $0.formUnion(positions[$1] ?? [])
        }
        let owned = candidates.sorted()
            .filter { states[$0].concerns(transfer) && bindings[$0].isOwner(amongThoseBefore: transfer) }
        // An account that gets one more name keeps all others. Another account's claim stays open.
        if transfer.linksNames {
            for position in owned { bindings[position].add(transfer.recipients) }
            note(transfer.recipients, at: owned)
            return
        }
        // A grant for a day is for a purchase of its own, or for none.
        let counts = Dictionary(grouping: owned.filter { !states[$0].isOnlyInferred }) {
            states[$0].subscription.store
        }
        .mapValues(\.count)
        var moved: [Int] = []
        for position in owned {
            let words = words[position] ?? laterWords(at: position, on: moves)
            self.words[position] = words
            switch words[index]?.word {
            case .new?: moved.append(position)
            case .former?: break
            case nil where counts[states[position].subscription.store] ?? 0 < 2: moved.append(position)
            case nil: bindings[position].keep(despite: transfer)
            }
        }
        apply(move, at: moved)
    }

    private mutating func apply(_ move: Move, at moved: [Int]) {
        for position in moved {
            bindings[position].apply(move)
        }
        note(move.transfer.recipients + move.linkedNames, at: moved)
    }

    private mutating func note(_ names: [Account.Identifier], at owned: [Int]) {
        for name in names { positions[name.name, default: []].formUnion(owned) }
    }

    // MARK: Later statements

    private enum Word { case former, new }

    /// When either account was named last after a transfer, in milliseconds.
    private struct LaterWords {
        var former: Int64?
        var formerElsewhere: Int64?
        var new: Int64?

        /// The provider whose accounts moved knows best. Another one counts if that one names none, and if its name is shown to be new:
        /// a store repeats the buyer of before in all that it states later.
        var word: Word? {
            if let former { return new.map { $0 >= former } == true ? .new : .former }
            if new != nil { return .new }
            return formerElsewhere == nil ? nil : .former
        }
    }

    /// The accounts that were named for a lineage after each of the moves, by their places.
    ///
    /// An account to which the purchase may have come either way, with the transfer and without it, decides nothing.
    private func laterWords(at position: Int, on moves: [Move]) -> [Int: LaterWords] {
        let state = states[position]
        var words: [Int: LaterWords] = [:]
        for (identifier, claim) in state.claims {
            guard let stated = claim.latestStated else { continue }
            // Back in time, the accounts from which the purchase can have come to that account.
            var origins = bindings[position].names(with: identifier)
            var (joining, moment): (Set<Account.Identifier>, Int64) = ([], .max)
            for index in (0..<moves.partitioningIndex { $0.transfer.moment > stated }).reversed() {
                let move = moves[index]
                guard move.concerns(state, at: position) else { continue }
                if move.transfer.moment < moment {
                    origins.formUnion(joining)
                    (joining, moment) = ([], move.transfer.moment)
                }
                let isNew = !origins.isDisjoint(with: move.newNames)
                if move.isByName {
                    // It does not say from whom the purchase came.
                    if isNew, !move.followsTransfer { break }
                    continue
                }
                if isNew { joining.formUnion(move.formerNames) }
                guard isNew == origins.isDisjoint(with: move.formerNames), moment < stated,
                    !state.isOfPast(claim, at: moment)
                else { continue }
                let transfer = move.transfer.transfer
                let isOfSource = (transfer.from + transfer.to).contains { $0.source == identifier.source }
                var later = words[index] ?? LaterWords()
                switch (isNew, isOfSource) {
                case (true, _): later.new = max(later.new ?? stated, stated)
                case (false, true): later.former = max(later.former ?? stated, stated)
                case (false, false) where state.isNew(claim, since: moment): later.formerElsewhere = stated
                case (false, false): break
                }
                words[index] = later
            }
        }
        return words
    }
}

/// A transfer in the order of all.
private struct Move {
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

    init(_ transfer: AccountTransfer, at position: Int? = nil, isByName: Bool = false, followsTransfer: Bool = false) {
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

extension [Move] {
    /// A transfer between customers is one between all names that were linked by then. The moves are in order.
    fileprivate mutating func addLinkedNames() {
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

/// When moves named accounts as the new ones.
private struct Arrivals {
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

extension AccountTransfer {
    /// The accounts that it names as the new owners.
    fileprivate var recipients: [Account.Identifier] { transfer.to.filter { !$0.id.isEmpty } }

    /// True if all that it names are one customer.
    fileprivate var linksNames: Bool { Set(transfer.from.map(\.name)) == Set(recipients.map(\.name)) }
}

extension AccountClaim {
    /// When a provider named the account last; nil if only the host did.
    fileprivate var latestStated: Int64? {
        latestHeld ?? [latest, first].first { !$0.provider.isHost }?.milliseconds
    }

    /// When a provider that names the present owner named the account last.
    fileprivate var latestHeld: Int64? { [holding?.stated, namedAt].compactMap(\.self).max() }
}

/// The owners of one lineage, while claims and transfers are played.
private struct Binding {
    private let claims: [Account.Identifier: AccountClaim]
    /// From when on each claim counts.
    private let starts: [Account.Identifier: Int64]
    let groups: AliasGroups
    private var bound: [Account.Source: Account.Identifier] = [:]
    private var destination: Set<Account.Identifier> = []
    /// When the lineage last moved.
    private var movedAt: Int64?
    /// True if the host moved it last.
    private var isHandedOver = false
    /// By the sources of names, the account that was named last for the latest period.
    private var lastHolders: [Account.Source: (account: Account.Identifier, holder: Holder)] = [:]
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
        isHandedOver = move.transfer.by.provider.isHost
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
    mutating func successions(of state: SubscriptionState, at position: Int, after arrivals: Arrivals) -> [Move] {
        let sources = Set(claims.filter { $0.value.holding != nil }.map(\.key.source))
        return sources.flatMap { successions(of: state, under: $0, at: position, after: arrivals) }
    }

    /// The move to the account that was named last for the latest period, if moves that were stated before it left the lineage with
    /// another. What the host handed over stays until the relay names a new account.
    func lastNaming(of state: SubscriptionState, at position: Int, by time: Int64) -> Move? {
        let last = lastHolders.values.max { one, other in
            one.holder.holding == other.holder.holding
                ? one.account.precedes(other.account) : one.holder.holding < other.holder.holding
        }
        guard !isHandedOver, let last, last.holder.isNamed else { return nil }
        let holding = last.holder.holding
        guard holding.stated <= time, movedAt.map({ $0 < holding.stated }) ?? false else { return nil }
        let own = groups.members(with: last.account)
        guard !isOwned(by: Array(own)), !state.isOfPast(holding) else { return nil }
        let former = destination.union(bound.values).filter { $0.source == last.account.source }
        let transfer = LifecycleEvent.Transfer(
            from: former.subtracting(own).inOrder,
            to: own.inOrder,
            at: Date(millisecondsSince1970: holding.stated)
        )
        let move = AccountTransfer(environment: state.environment, transfer: transfer, by: last.holder.first)
        return Move(move, at: position, isByName: true)
    }

    private mutating func successions(
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
        lastHolders[source] = ordered.last
        guard holders.count > 1 else { return [] }
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

extension SubscriptionState {
    /// True if the last word of a claim is of a period that another one had followed by a moment. It names the owner of that time, whenever
    /// it is made.
    fileprivate func isOfPast(_ claim: AccountClaim, at moment: Int64) -> Bool {
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
    fileprivate func start(of claim: AccountClaim) -> Int64 {
        let first = claim.first
        guard !first.provider.isHost, !first.provider.rules.namesPresentOwner else { return first.milliseconds }
        let starts =
            begun(by: first.milliseconds).map(\.start) + purchases.values.map { $0.value.at.millisecondsSince1970 }
        return starts.filter { $0 <= first.milliseconds }.max() ?? first.milliseconds
    }

    /// True if a word is of a period that another one had followed by then.
    fileprivate func isOfPast(_ word: Holding) -> Bool { begun(by: word.stated).contains { $0.start > word.start } }

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
