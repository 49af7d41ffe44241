import FoundationEssentials

/// The owners of all lineages that may concern some accounts: a transfer between accounts depends on their other
/// purchases.
struct Ownerships {
    let states: [SubscriptionState]
    private var bindings: [Binding]
    /// By the names of accounts, the positions of the states that may belong to them.
    private var positions: [Account.Identifier: Set<Int>] = [:]
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
            // An earlier version stored one to no one, too.
            guard let transfer = state.transfer, !transfer.value.recipients.isEmpty else { continue }
            let move = AccountTransfer(environment: state.environment, transfer: transfer.value, by: transfer.by)
            moves.append(Move(move, at: position))
        }
        moves.sort { $0.transfer.precedes($1.transfer) }
        moves.addLinkedNames()
        var arrivals = Arrivals()
        for move in moves { arrivals.insert(move) }
        for (position, state) in states.enumerated() {
            moves += bindings[position].successions(of: state, at: position, after: arrivals)
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
            if words[position] == nil { words[position] = laterWords(at: position, on: moves) }
            switch words[position]?[index]?.word {
            case .new?: moved.append(position)
            case .former?: break
            case nil where counts[states[position].subscription.store] ?? 0 < 2: moved.append(position)
            case nil: bindings[position].keep(despite: transfer)
            }
        }
        apply(move, at: moved)
    }

    private mutating func apply(_ move: Move, at moved: [Int]) {
        for position in moved { bindings[position].apply(move) }
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
