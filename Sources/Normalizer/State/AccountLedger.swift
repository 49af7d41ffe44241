public import FoundationEssentials

/// The states of many lineages, with linked ones joined: a backend's knowledge of its accounts.
///
/// It is a join like the states in it. A backend with a database keeps one row for each state instead, and makes a
/// ledger of an account's rows when it has to decide.
public struct AccountLedger: Hashable, Sendable {
    private var statesByName: [SubscriptionID: SubscriptionState] = [:]
    /// Which state a lineage belongs to, for lineages whose state has another name and for those only linked to.
    private var names: [SubscriptionID: SubscriptionID] = [:]

    /// Transfers that name accounts and no lineage. They concern every lineage of their store that the accounts owned by
    /// then, also those that become known later.
    public private(set) var transfers: Set<AccountTransfer> = []

    /// The names of the states that an identifier claims, wherever it comes from; among many states, those of one account
    /// are found by it.
    private var claimed: [Account.Identifier: Set<SubscriptionID>] = [:]
    /// The names of the states that moved by a transfer of their own.
    private var moved: Set<SubscriptionID> = []
    /// The transfers that name an identifier.
    private var transfersByName: [Account.Identifier: Set<AccountTransfer>] = [:]
    /// The items that have lineages of their own, by their purchases.
    private var itemsByPurchase: [SubscriptionID: Set<SubscriptionID>] = [:]

    /// Makes an empty ledger.
    public init() {}

    /// Makes a ledger of states, joining those of one lineage or of linked ones.
    public init(_ states: some Sequence<SubscriptionState>, transfers: some Sequence<AccountTransfer> = []) {
        for state in states { insert(state) }
        for move in transfers { insert(move) }
    }

    /// The states, in the order of their names.
    public var states: [SubscriptionState] {
        statesByName.keys.inOrder.compactMap { statesByName[$0] }
    }

    /// The state that a lineage belongs to; nil if nothing was stated of it.
    public subscript(lineage: SubscriptionID) -> SubscriptionState? {
        statesByName[names[lineage] ?? lineage]
    }

    /// Joins an event's facts into the state of its lineage.
    ///
    /// - Returns: the meaning of the event for that state, see ``SubscriptionState/apply(_:catalog:)``.
    public mutating func apply(_ event: NormalizedEvent, catalog: ProductCatalog? = nil) -> AppliedEvent {
        let event = catalog.map(event.described) ?? event
        guard let lineage = event.subscription, !lineage.id.isEmpty else { return applyToAccounts(event) }
        follow(event.facts, of: lineage)
        if let statement = event.statement { joinSuccessors(of: lineage, stating: statement) }
        let itemsSay = dispositionByItems(of: event, about: lineage)
        var applied = AppliedEvent(disposition: .unrelated, event: event, nextCheckAt: nil)
        update(lineage) { applied = $0.apply(event, catalog: catalog) }
        if applied.disposition == .applied, let itemsSay { applied.disposition = itemsSay }
        closeItems(of: lineage)
        if applied.disposition == .applied { refineReturn(&applied, catalog: catalog) }
        return applied
    }

    /// Joins the lineages that an event links its own to, before the event is judged: another channel's statements
    /// about the same purchase under another name are known then.
    private mutating func follow(_ facts: [Fact], of lineage: SubscriptionID) {
        let name = names[lineage] ?? lineage
        var state = SubscriptionState(lineage)
        for case .link(let other) in facts where other.environment == lineage.environment && other != lineage {
            guard (names[other] ?? other) != name, self[other] != nil else { continue }
            state.links.insert(other)
        }
        if !state.links.isEmpty { join(state) }
    }

    /// Joins a lineage with its predecessors and successors, under a name that has no link to it: the statement is
    /// judged as one about one purchase.
    private mutating func joinSuccessors(of lineage: SubscriptionID, stating statement: StoreStatement? = nil) {
        guard lineage.store.rules.relaysOmitReplacedPurchase else { return }
        var stated: SubscriptionState?
        if let statement {
            guard statement.mayShowSuccessor(of: self[lineage]) else { return }
            stated = SubscriptionState(lineage)
            stated?.apply(statement)
        }
        // Each round may bring accounts of its own.
        while true {
            let name = names[lineage] ?? lineage
            let own = [statesByName[name], stated].compactMap(\.self)
            let accounts = Set(own.flatMap { $0.claims.keys }.map(\.name))
            let siblings = accounts.reduce(into: Set<SubscriptionID>()) { $0.formUnion(claimed[$1] ?? []) }
                .filter { $0 != name && $0.store == lineage.store }
            let other = siblings.inOrder.first { sibling in
                guard let sibling = statesByName[sibling] else { return false }
                return own.contains { sibling.isSucceeded(by: $0) || $0.isSucceeded(by: sibling) }
            }
            guard let other else { return }
            var link = SubscriptionState(lineage)
            link.links = [other]
            join(link)
        }
    }

    private mutating func applyToAccounts(_ event: NormalizedEvent) -> AppliedEvent {
        guard let move = AccountTransfer(event) else {
            return AppliedEvent(disposition: .unrelated, event: event, nextCheckAt: nil)
        }
        let isNew = insert(move)
        return AppliedEvent(disposition: isNew ? .applied : .duplicate, event: event, nextCheckAt: nil)
    }

    @discardableResult
    private mutating func insert(_ move: AccountTransfer) -> Bool {
        guard transfers.insert(move).inserted else { return false }
        for name in move.transfer.names {
            transfersByName[name, default: []].insert(move)
        }
        return true
    }

    /// Joins a statement's facts into the state of its lineage.
    public mutating func apply(_ statement: StoreStatement) {
        guard !statement.subscription.id.isEmpty else { return }
        joinSuccessors(of: statement.subscription, stating: statement)
        update(statement.subscription) { $0.apply(statement) }
        closeItems(of: statement.subscription)
    }

    /// Joins the whole result of a delivery: the facts of its events, and its further statements.
    ///
    /// - Returns: the meaning of each event for the state of its lineage, in the events' order, each followed by a move
    ///   of the purchase to another account if it caused one.
    public mutating func apply(_ result: Normalization, catalog: ProductCatalog? = nil) -> [AppliedEvent] {
        var applied: [AppliedEvent] = []
        for event in result.events {
            let one = apply(event, catalog: catalog)
            applied.append(one)
            if let transferred = one.transferred { applied.append(transferred) }
        }
        for statement in [result.noChange?.statement].compactMap(\.self) + result.furtherStatements {
            apply(catalog.map(statement.described) ?? statement)
        }
        return applied
    }

    /// Changes the state of a lineage in place; only a new link, a new name, or a lineage without a state needs more.
    private mutating func update(_ lineage: SubscriptionID, _ change: (inout SubscriptionState) -> Void) {
        let name = names[lineage] ?? lineage
        // A copy of the state must not live while it changes, or all of it would be copied.
        guard
            let (links, claimCount, isMember) = statesByName[name].map({
                ($0.links, $0.claims.count, $0.registers.contains(lineage))
            })
        else {
            var state = SubscriptionState(lineage)
            change(&state)
            join(state)
            return
        }
        if !isMember { statesByName[name]?.merge(SubscriptionState(lineage)) }
        statesByName[name]?.apply(change)
        if let state = statesByName[name], state.claims.count != claimCount || state.transfer != nil {
            index(state, named: name)
        }
        // The first word on a lineage as a whole may give the state its name. A new link may lead to a state of its own, which is
        // found under its name until the two are joined.
        if statesByName[name]?.subscription != name, let moved = statesByName.removeValue(forKey: name) {
            keep(moved, insteadOf: [name], renaming: Array(moved.registers.lineages) + Array(links))
        }
        guard let linked = self[lineage]?.links.subtracting(links), !linked.isEmpty else { return }
        var link = SubscriptionState(lineage)
        link.links = linked
        join(link)
    }

    private mutating func index(_ state: SubscriptionState, named name: SubscriptionID) {
        if state.transfer != nil { moved.insert(name) }
        for identifier in state.claims.keys { claimed[identifier.name, default: []].insert(name) }
    }

    /// Joins a state, and with it the states that it is linked to.
    public mutating func insert(_ state: SubscriptionState) {
        join(state)
        joinSuccessors(of: state.subscription)
        for lineage in state.registers.lineages { closeItems(of: lineage) }
    }

    /// Joins a state with those of its lineages and links. The largest takes in the others, so that one more lineage of
    /// many costs what is known of that one.
    private mutating func join(_ state: SubscriptionState) {
        guard !state.subscription.id.isEmpty else { return }
        let related = Set((Array(state.registers.lineages) + Array(state.links)).map { names[$0] ?? $0 })
        var group: [(name: SubscriptionID?, state: SubscriptionState)] = [(nil, state)]
        for name in related {
            if let known = statesByName.removeValue(forKey: name) { group.append((name, known)) }
        }
        let largest = group.indices.max { group[$0].state.size < group[$1].state.size } ?? 0
        // Changed where it is: another copy of it would have all its tables copied.
        var joined = group.remove(at: largest)
        for other in group { joined.state.merge(other.state) }
        var renamed = group.flatMap { Array($0.state.registers.lineages) + Array($0.state.links) }
        if joined.name != joined.state.subscription {
            renamed += Array(joined.state.registers.lineages) + Array(joined.state.links)
        }
        let replaced = (group.map(\.name) + [joined.name]).compactMap(\.self)
        keep(joined.state, insteadOf: replaced, renaming: renamed)
    }

    /// Keeps a state under its name.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - replaced: the names of the states that were taken out for it.
    ///   - renamed: the lineages that may have had another name, or none.
    private mutating func keep(
        _ state: SubscriptionState,
        insteadOf replaced: [SubscriptionID],
        renaming renamed: [SubscriptionID]
    ) {
        let name = state.subscription
        let replaced = Set(replaced).subtracting([name])
        if !replaced.isEmpty {
            for identifier in state.claims.keys { claimed[identifier.name]?.subtract(replaced) }
            moved.subtract(replaced)
        }
        index(state, named: name)
        for lineage in renamed { names[lineage] = name == lineage ? nil : name }
        statesByName[name] = state
    }

    /// The known items of a purchase that have lineages of their own, in order.
    package func items(of purchase: SubscriptionID) -> [SubscriptionID] { (itemsByPurchase[purchase] ?? []).inOrder }

    /// Has the end of a whole purchase end its items, whichever of the two is stated first.
    private mutating func closeItems(of lineage: SubscriptionID) {
        let purchase = lineage.purchaseOfItem
        if let purchase { itemsByPurchase[purchase, default: []].insert(lineage) }
        let closing = purchase ?? lineage
        guard let closure = self[closing]?.registers[closing]?.closureOfItems else { return }
        var end = SubscriptionState.Registers()
        end.closure = closure
        for item in purchase == nil ? items(of: closing) : [lineage] {
            // One that nothing was stated of has no end, and no name by it.
            guard let registers = self[item]?.registers[item], registers != .init() else { continue }
            statesByName[names[item] ?? item]?.merge(end, of: item)
        }
    }

    /// The meaning of a whole purchase's end if only its items are known: it is news if it is for one of them.
    private func dispositionByItems(
        of event: NormalizedEvent,
        about lineage: SubscriptionID
    ) -> AppliedEvent.Disposition? {
        guard event.endsUnnamedPeriod, self[lineage]?.hasPeriod(of: lineage) != true else { return nil }
        let dispositions = items(of: lineage).compactMap { item -> AppliedEvent.Disposition? in
            var state = self[item]
            var end = event
            end.subscription = item
            return state?.apply(end).disposition
        }
        return dispositions.first { $0 == .applied } ?? dispositions.first
    }

    /// Joins another ledger's knowledge.
    public mutating func merge(_ other: AccountLedger) {
        for state in other.statesByName.values { insert(state) }
        for move in other.transfers { insert(move) }
    }

    /// The owners of a state's lineage, with the transfers known here and with all else that these concern.
    ///
    /// - Parameters:
    ///   - state: the state of the lineage.
    ///   - time: leave out transfers after it; nil leaves none out.
    public func ownership(of state: SubscriptionState, at time: Date? = nil) -> Ownership {
        let accounts = Array(state.claims.keys) + (state.transfer?.value.to ?? [])
        let ownerships = ownerships(around: accounts, in: state.environment, at: time)
        let position = ownerships.states.firstIndex { $0.subscription == state.subscription }
        return position.map { ownerships.ownership(at: $0) } ?? state.ownership
    }

    /// The reason that a state gives or denies access at `time`, and its contradictory statements.
    public func explain(_ state: SubscriptionState, at time: Date) -> Explanation {
        state.explain(at: time, under: ownership(of: state, at: time))
    }

    /// Everything stated about a state's lineage that cannot be so at once, with transfers of whole accounts in view.
    public func contradictions(of state: SubscriptionState) -> [Contradiction] {
        state.contradictions(under: ownership(of: state))
    }

    /// The questions about a state's lineage that only its provider can answer, with transfers of whole accounts in view.
    public func openQuestions(of state: SubscriptionState) -> [OpenQuestion] {
        state.openQuestions(under: ownership(of: state))
    }

    /// The question to a provider about a state's purchase: of its present owner, or of all accounts that may be. It has their other
    /// subscriptions in the store as well.
    ///
    /// - Parameters:
    ///   - state: the state of the purchase.
    ///   - time: the present.
    ///   - handles: how the store has to be asked, as far as it is known; that of the newest period is taken.
    public func question(
        about state: SubscriptionState,
        at time: Date,
        handles: [PurchaseHandle] = []
    ) -> LineageQuestion {
        var question = state.question(at: time, handles: handles, under: ownership(of: state))
        guard question.isSubscription else { return question }
        let names = Set(question.accounts.map(\.name))
        let stores = Set(state.lineages.map(\.store))
        let ownerships = ownerships(around: question.accounts, in: state.environment, at: nil)
        for (position, other) in ownerships.states.enumerated()
        where other.subscription != state.subscription && !other.periods.isEmpty
            && other.lineages.contains(where: { stores.contains($0.store) })
        {
            let owners = ownerships.ownership(at: position).statedAccounts
            guard owners.contains(where: { names.contains($0.name) }) else { continue }
            question.others.append(other.question(at: time))
        }
        return question
    }
}

// MARK: Access

extension AccountLedger {
    /// The states that belong to an account: those bound to one of its identifiers or to an alias of one.
    ///
    /// - Parameters:
    ///   - identifiers: the names of the account; give all that the host knows.
    ///   - environment: the store's world. Production and sandbox never mix.
    ///   - time: leave out transfers after it; nil leaves none out.
    public func states(
        of identifiers: some Sequence<Account.Identifier>,
        in environment: StoreEnvironment,
        at time: Date? = nil
    ) -> [SubscriptionState] {
        holdings(of: Array(identifiers), in: environment, at: time).states
    }

    /// The states that belong to an account, its claims of others, and when that changes next.
    private func holdings(
        of identifiers: [Account.Identifier],
        in environment: StoreEnvironment,
        at time: Date?
    ) -> (states: [SubscriptionState], claims: [Claim], nextTransfer: Date?) {
        let identifiers = identifiers.filter { !$0.id.isEmpty }
        let ownerships = ownerships(around: identifiers, in: environment, at: time)
        var groups = AliasGroups()
        for state in ownerships.states { groups.insert(state.claims) }
        let wanted = Set(identifiers.map { groups.representative(of: $0) })
        let claimants = Set(identifiers.map(\.canonical))
        var (states, claims): ([SubscriptionState], [Claim]) = ([], [])
        for (position, state) in ownerships.states.enumerated() {
            let ownership = ownerships.ownership(at: position)
            if ownership.accounts.contains(where: { wanted.contains(groups.representative(of: $0)) }) {
                states.append(state)
            }
            let conflicts = ownership.conflicts.filter { claimants.contains($0.claimed.canonical) }
            if !conflicts.isEmpty { claims.append(Claim(lineage: state.subscription, conflicts: conflicts)) }
        }
        return (states, claims, ownerships.nextTransfer)
    }

    /// A claim of an account on a purchase that belongs to another one.
    private struct Claim {
        let lineage: SubscriptionID
        let conflicts: [Ownership.Conflict]
    }

    /// The owners of everything that may concern some accounts: their claims under any of their names, the purchases of
    /// accounts that gave them some or took some, and the transfers of their own.
    func ownerships(
        around identifiers: [Account.Identifier],
        in environment: StoreEnvironment,
        at time: Date?
    ) -> Ownerships {
        var names = moved
        var known = Set(identifiers.map(\.name))
        var open = Array(known)
        var moves: Set<AccountTransfer> = []
        while let identifier = open.popLast() {
            var related: Set<Account.Identifier> = []
            for move in transfersByName[identifier] ?? [] where moves.insert(move).inserted {
                related.formUnion(move.transfer.names)
            }
            for name in claimed[identifier] ?? [] where statesByName[name]?.environment == environment {
                guard names.insert(name).inserted || moved.contains(name) else { continue }
                for (account, claim) in statesByName[name]?.claims ?? [:] {
                    related.insert(account.name)
                    for alias in claim.aliases where alias.source == account.source { related.insert(alias.name) }
                }
            }
            open += related.filter { known.insert($0).inserted }
        }
        let states = names.inOrder.compactMap { statesByName[$0] }.filter { $0.environment == environment }
        return Ownerships(states, after: moves, by: time?.millisecondsSince1970 ?? .max)
    }

    /// The access of an account at `time`: the union over its lineages, never the word of the last one.
    public func access(
        of identifiers: some Sequence<Account.Identifier>,
        in environment: StoreEnvironment = .production,
        at time: Date
    ) -> AccountAccess {
        let holdings = holdings(of: Array(identifiers), in: environment, at: time)
        var access = AccountAccess(holdings.states, in: environment, at: time)
        access.conflicts = holdings.claims.flatMap(\.conflicts)
        access.nextTransition = [access.nextTransition, holdings.nextTransfer].compactMap(\.self).min()
        return access
    }

    /// Why an account has access at `time` or has not: one explanation for each purchase that belongs to it, and for each that
    /// it claims and another account owns.
    public func explanations(
        of identifiers: some Sequence<Account.Identifier>,
        in environment: StoreEnvironment = .production,
        at time: Date
    ) -> [Explanation] {
        let holdings = holdings(of: Array(identifiers), in: environment, at: time)
        return holdings.states.map { explain($0, at: time) }
            + holdings.claims.map { Explanation(refusing: $0.conflicts, of: $0.lineage, at: time) }
    }

    /// The access of an account at `time`.
    public func access(
        of account: Account.Identifier,
        in environment: StoreEnvironment = .production,
        at time: Date
    ) -> AccountAccess {
        access(of: [account], in: environment, at: time)
    }

    /// Every identifier that a lineage is bound to or claimed by, in order.
    public var accounts: [Account.Identifier] {
        Set(states.flatMap { $0.claims.keys })
            .union(states.flatMap { $0.transfer?.value.to ?? [] })
            .union(transfers.flatMap(\.transfer.to))
            .inOrder
    }
}

extension SubscriptionState {
    fileprivate var size: Int { registers.count + periods.count }

    fileprivate func hasPeriod(of lineage: SubscriptionID) -> Bool {
        periods.values.contains { $0.lineages.contains(lineage) }
    }

    fileprivate mutating func apply(_ change: (inout SubscriptionState) -> Void) { change(&self) }
}

extension SubscriptionID {
    /// The purchase that this lineage is an item of; nil for that of a purchase.
    package var purchaseOfItem: SubscriptionID? {
        guard store.rules.namesItemsByPurchase, let purchase = LineageName(id).purchase, !purchase.isEmpty else {
            return nil
        }
        return SubscriptionID(store: store, environment: environment, id: purchase)
    }
}
