import SignatureCore

/// When an account was named as the owner of a lineage, and what else it was called.
package struct AccountClaim: Hashable, Sendable, Codable {
    /// The first statement that binds the lineage to the account: the first of a provider's, or the host's own word where
    /// no provider names the account.
    package var first: Citation
    package var latest: Citation
    package var aliases: Set<Account.Identifier>

    package mutating func merge(_ other: AccountClaim) {
        if other.first.bindsBefore(first) { first = other.first }
        if latest.precedes(other.latest) { latest = other.latest }
        aliases.formUnion(other.aliases)
    }

    private enum CodingKeys: String, CodingKey { case first, latest, aliases }

    package init(first: Citation, latest: Citation, aliases: Set<Account.Identifier>) {
        self.first = first
        self.latest = latest
        self.aliases = aliases
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        first = try container.decode(Citation.self, forKey: .first)
        latest = try container.decode(Citation.self, forKey: .latest)
        aliases = Set(try container.decodeIfPresent([Account.Identifier].self, forKey: .aliases) ?? [])
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(first, forKey: .first)
        try container.encode(latest, forKey: .latest)
        if !aliases.isEmpty { try container.encode(aliases.inOrder, forKey: .aliases) }
    }
}

/// The owner of a lineage.
public struct Ownership: Hashable, Sendable, Codable {
    /// An account that claims a lineage which is bound to another.
    public struct Conflict: Hashable, Sendable, Codable {
        /// The account that the lineage stays bound to.
        public var existing: Account.Identifier
        /// The account that was named later, without a transfer.
        public var claimed: Account.Identifier
        /// Where it was named.
        public var by: Citation
    }

    /// Every identifier of the accounts that the lineage is bound to.
    ///
    /// Identifiers of different sources bind side by side: only the host knows which of its accounts they stand for.
    public var accounts: [Account.Identifier]
    /// Claims that were not followed. A purchase moves by a stated transfer alone, never because another account
    /// turns up.
    public var conflicts: [Conflict]
}

extension SubscriptionState {
    mutating func claim(_ account: Account, by citation: Citation) {
        let identifiers = account.identifiers.filter { !$0.id.isEmpty }
        guard let primary = identifiers.first else { return }
        for identifier in identifiers {
            var aliases: Set<Account.Identifier> = identifier == primary ? Set(identifiers) : [primary]
            aliases.remove(identifier)
            let claim = AccountClaim(first: citation, latest: citation, aliases: aliases)
            if claims[identifier]?.merge(claim) == nil { claims[identifier] = claim }
        }
    }

    /// The owner: the account that was named first, or that the lineage was last transferred to, with its
    /// aliases. Of two accounts that nothing connects, the later named one is a conflict; whom the host's own claim alone
    /// names, wherever a provider names another.
    public var ownership: Ownership { ownership(after: []) }

    /// The account that the lineage belongs to, with its other names.
    var owner: Account? {
        let accounts = ownership.accounts
        guard let first = accounts.first else { return nil }
        var owner = Account(first.id, first.source)
        owner.aliases = Array(accounts.dropFirst())
        return owner
    }

    /// The owner after transfers of everything that some accounts owned.
    public func ownership(after transfers: some Sequence<AccountTransfer>) -> Ownership {
        var binding = Binding(claims)
        var moves = transfers.filter(concerns).map { (move: $0, isOfLineage: false) }
        if let transfer {
            let move = AccountTransfer(environment: environment, transfer: transfer.value, by: transfer.by)
            moves.append((move, true))
        }
        moves.sort { $0.move.precedes($1.move) }
        for (move, isOfLineage) in moves { binding.apply(move, always: isOfLineage) }
        return binding.ownership
    }

    private func concerns(_ move: AccountTransfer) -> Bool {
        move.environment == environment
            && (move.store == nil || registers.keys.contains { $0.store == move.store })
    }
}

/// Everything that some accounts owned in a store moved to other accounts, at one moment.
///
/// Accounts that turned out to be one customer are a transfer from all of them to all of them: each has what any of them
/// had, and no account loses anything.
public struct AccountTransfer: Hashable, Sendable, Codable {
    /// The store's world that it concerns.
    public var environment: StoreEnvironment
    /// The store whose purchases moved, as their lineages name it; absent means those of every store.
    public var store: Store?
    /// Between which accounts.
    public var transfer: LifecycleEvent.Transfer
    /// Where it was stated.
    public var by: Citation

    /// Makes a transfer.
    public init(environment: StoreEnvironment, store: Store? = nil, transfer: LifecycleEvent.Transfer, by: Citation) {
        self.environment = environment
        self.store = store
        self.transfer = transfer
        self.by = by
    }

    /// The transfer of an event about accounts and no lineage; nil where it moves nothing.
    init?(_ event: NormalizedEvent) {
        switch event.event {
        case .transferred(let transfer):
            // A relay finds out by a receipt, which knows the purchases of one store.
            let store: Store? = event.store == .unknown ? nil : event.store.rules.lineageStore ?? event.store
            self.init(environment: event.environment, store: store, transfer: transfer, by: Citation(event))
        case .notice(let notice) where notice.kind == .accountsLinked:
            // A customer's purchases, whichever store has them. Identifiers of different sources make no account one.
            guard let account = event.account else { return nil }
            let names = Set(account.identifiers.filter { $0.source == account.source && !$0.id.isEmpty }).inOrder
            guard names.count > 1 else { return nil }
            let transfer = LifecycleEvent.Transfer(from: names, to: names)
            self.init(environment: event.environment, transfer: transfer, by: Citation(event))
        default:
            return nil
        }
    }

    /// From when on it counts, in milliseconds.
    var moment: Int64 { Assertion(transfer, by: by).moment }

    func precedes(_ other: AccountTransfer) -> Bool {
        Assertion(transfer, by: by).precedes(Assertion(other.transfer, by: other.by))
    }
}

/// The claims and transfers of a lineage, played in the order in which they were stated.
private struct Binding {
    private let claims: [Account.Identifier: AccountClaim]
    private let groups: AliasGroups
    private var bound: [Account.Source: Account.Identifier] = [:]
    private var destination: Set<Account.Identifier> = []
    /// When the lineage last moved.
    private var movedAt: Int64?

    init(_ claims: [Account.Identifier: AccountClaim]) {
        self.claims = claims
        groups = AliasGroups(claims)
        for (identifier, claim) in claims {
            if let known = bound[identifier.source], let first = claims[known]?.first,
                first == claim.first ? known.precedes(identifier) : first.bindsBefore(claim.first)
            {
                continue
            }
            bound[identifier.source] = identifier
        }
    }

    mutating func apply(_ move: AccountTransfer, always: Bool) {
        let moment = move.moment
        let from = Set(move.transfer.from.map(\.name))
        let to = Set(move.transfer.to.filter { !$0.id.isEmpty })
        guard !to.isEmpty else { return }
        // A move may name an account by one of its names, and the move after it by another.
        let isOwner =
            destination.contains { from.contains($0.name) }
            || bound.values.contains { identifier in
                groups.members(with: identifier).contains { from.contains($0.name) }
                    && (destination.contains(identifier) || (claims[identifier]?.first.milliseconds ?? .max) <= moment)
            }
        guard always || isOwner else { return }
        // An account with one more name loses none of the others, and has settled no claim of another account.
        if !always, from == Set(to.map(\.name)) {
            destination.formUnion(to)
            return
        }
        bound = bound.filter { !from.contains($0.value.name) }
        for identifier in to.inOrder.reversed() { bound[identifier.source] = identifier }
        destination = to
        movedAt = moment
    }

    var ownership: Ownership {
        var accounts: Set<Account.Identifier> = []
        for identifier in bound.values { accounts.formUnion(groups.members(with: identifier)) }
        for identifier in destination { accounts.formUnion(groups.members(with: identifier)) }
        var conflicts: [Ownership.Conflict] = []
        for identifier in claims.keys.inOrder where !accounts.contains(identifier) {
            guard let claim = claims[identifier] else { continue }
            if let movedAt, claim.latest.milliseconds <= movedAt { continue }
            // The identifier that was set at purchase names the buyer after a transfer, too.
            guard let existing = bound[identifier.source] else { continue }
            conflicts.append(Ownership.Conflict(existing: existing, claimed: identifier, by: claim.latest))
        }
        return Ownership(accounts: accounts.inOrder, conflicts: conflicts)
    }
}

/// Identifiers of one source that some statement named together, or that are one UUID in either case: names of one account.
///
/// Identifiers of different sources never make two accounts one. Several accounts of an app may share one Apple
/// Account, and then a purchase names both.
struct AliasGroups {
    /// The identifiers, as they were stated.
    private var stated: Set<Account.Identifier> = []
    /// Between canonical identifiers.
    private var parents: [Account.Identifier: Account.Identifier] = [:]

    init(_ claims: [Account.Identifier: AccountClaim]...) {
        for claims in claims { insert(claims) }
    }

    mutating func insert(_ claims: [Account.Identifier: AccountClaim]) {
        for (identifier, claim) in claims {
            stated.insert(identifier)
            for alias in claim.aliases where alias.source == identifier.source {
                stated.insert(alias)
                unite(identifier, alias)
            }
        }
    }

    func representative(of identifier: Account.Identifier) -> Account.Identifier {
        var root = identifier.canonical
        while let parent = parents[root] { root = parent }
        return root
    }

    func members(with identifier: Account.Identifier) -> Set<Account.Identifier> {
        let root = representative(of: identifier)
        return stated.filter { representative(of: $0) == root }.union([identifier])
    }

    private mutating func unite(_ one: Account.Identifier, _ other: Account.Identifier) {
        let (left, right) = (representative(of: one), representative(of: other))
        guard left != right else { return }
        // The smaller becomes the root, so that the outcome does not depend on the order of the claims.
        if left.precedes(right) { parents[right] = left } else { parents[left] = right }
    }
}

extension Account.Identifier {
    func precedes(_ other: Account.Identifier) -> Bool {
        id.hasOctets(of: other.id)
            ? source.rawValue < other.source.rawValue : id.utf8.lexicographicallyPrecedes(other.id.utf8)
    }

    /// The identifier alone, wherever it comes from.
    var name: Account.Identifier { Account.Identifier(lookupKey, "") }
}

extension Collection<Account.Identifier> {
    var inOrder: [Account.Identifier] { sorted { $0.precedes($1) } }
}

extension Citation {
    fileprivate struct Nothing: Assertable {
        var precedence: Int { 0 }
    }

    /// True if the account that this names comes before the one that the other names. The host's own word counts
    /// only where no provider names an account, however its clock is set.
    fileprivate func bindsBefore(_ other: Citation) -> Bool {
        provider.isHost == other.provider.isHost ? precedes(other) : other.provider.isHost
    }

    /// The order of statements, by time and then by everything else that tells them apart.
    func precedes(_ other: Citation) -> Bool {
        Assertion(Nothing(), by: self).precedes(Assertion(Nothing(), by: other))
    }
}
