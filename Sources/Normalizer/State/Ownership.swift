import FoundationEssentials
import SignatureCore

/// When an account was named as the owner of a lineage, with its other names.
package struct AccountClaim: Hashable, Sendable, Codable {
    /// The first statement that binds the lineage to the account: the first of a provider's, or the host's own word where
    /// no provider names the account.
    package var first: Citation
    package var latest: Citation
    /// The first of the names that the account has in this source; none for that name itself.
    package var aliases: Set<Account.Identifier>
    /// The last word of a provider that names the present owner; nil without one.
    package var holding: Holding?
    /// When such a provider last named the account in a statement about no period, in milliseconds. It says who has the purchase then,
    /// and outweighs no word that is about a period.
    package var namedAt: Int64?

    package mutating func merge(_ other: AccountClaim) {
        holding = [holding, other.holding].compactMap(\.self).max()
        namedAt = [namedAt, other.namedAt].compactMap(\.self).max()
        if other.first.bindsBefore(first) { first = other.first }
        if latest.precedes(other.latest) { latest = other.latest }
        aliases.formUnion(other.aliases)
    }

    private enum CodingKeys: String, CodingKey {
        case first, latest, aliases, holding
        case namedAt = "named_at"
    }

    package init(_ citation: Citation, aliases: Set<Account.Identifier>, holding: Holding?) {
        first = citation
        latest = citation
        self.aliases = aliases
        self.holding = holding
        if holding == nil, citation.provider.rules.namesPresentOwner { namedAt = citation.milliseconds }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        first = try container.decode(Citation.self, forKey: .first)
        latest = try container.decode(Citation.self, forKey: .latest)
        aliases = Set(try container.decodeIfPresent([Account.Identifier].self, forKey: .aliases) ?? [])
        holding = try container.decodeIfPresent(Holding.self, forKey: .holding)
        namedAt = try container.decodeIfPresent(EventTime.self, forKey: .namedAt)?.milliseconds
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(first, forKey: .first)
        try container.encode(latest, forKey: .latest)
        if !aliases.isEmpty { try container.encode(aliases.inOrder, forKey: .aliases) }
        try container.encodeIfPresent(holding, forKey: .holding)
        let named = namedAt.map { EventTime(wrappedValue: Date(millisecondsSince1970: $0)) }
        try container.encodeIfPresent(named, forKey: .namedAt)
    }
}

/// When an account was named as the one that has a purchase. The word about a later period is greater, and of two about one period the
/// later word: an old period that is stated again says who had it then.
package struct Holding: Hashable, Sendable, Comparable {
    /// When the period began that the statement is about, in milliseconds, or the time of what was bought once.
    package var start: Int64
    /// When it was stated, in milliseconds.
    package var stated: Int64

    package static func < (lhs: Self, rhs: Self) -> Bool { (lhs.start, lhs.stated) < (rhs.start, rhs.stated) }
}

extension Holding: Codable {
    private enum CodingKeys: String, CodingKey {
        case start = "period_start"
        case stated = "asserted_at"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        start = try container.decode(EventTime.self, forKey: .start).milliseconds
        stated = try container.decode(EventTime.self, forKey: .stated).milliseconds
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        for (key, time) in [(CodingKeys.start, start), (.stated, stated)] {
            try container.encode(EventTime(wrappedValue: Date(millisecondsSince1970: time)), forKey: key)
        }
    }
}

extension StoreStatement {
    /// The word of the statement on the account that it names; nil if its provider repeats the account that was set at purchase, or if it
    /// is about no period: that says nothing about the order of two words.
    var holding: Holding? {
        guard provider.rules.namesPresentOwner else { return nil }
        let starts = facts.compactMap { fact -> Int64? in
            switch fact {
            case .period(let period): period.period.startMilliseconds
            case .purchase(let purchase): purchase.at.millisecondsSince1970
            default: nil
            }
        }
        return starts.max().map { Holding(start: $0, stated: assertedAt.millisecondsSince1970) }
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
    /// Claims that were not followed. A purchase moves by a stated transfer, or by a provider that names the present owner, and never
    /// because another account turns up elsewhere.
    public var conflicts: [Conflict]

    /// The accounts that it is bound to, and then the others that a provider has named. A name that only the host gives is no account
    /// of a provider's.
    var statedAccounts: [Account.Identifier] {
        let others = conflicts.filter { !$0.by.provider.isHost }.map(\.claimed)
        return accounts + Set(others).subtracting(accounts).inOrder
    }
}

extension AccountLedger {
    /// The accounts that states belong to, by the names of the states.
    package var owners: [SubscriptionID: [Account.Identifier]] {
        let names = Set((accounts + transfers.flatMap(\.transfer.from)).map(\.name))
        var owners: [SubscriptionID: [Account.Identifier]] = [:]
        for environment in Set(states.map(\.environment)) {
            let ownerships = ownerships(around: Array(names), in: environment, at: nil)
            for (position, state) in ownerships.states.enumerated() {
                owners[state.subscription] = ownerships.ownership(at: position).accounts
            }
        }
        return owners
    }
}

extension SubscriptionState {
    /// When the host claimed it last, in milliseconds since 1970.
    package var lastClaim: Int64? { claims.values.filter(\.first.provider.isHost).map(\.latest.milliseconds).max() }

    mutating func claim(_ account: Account, by citation: Citation, _ holding: Holding?) {
        let identifiers = account.identifiers.filter { !$0.id.isEmpty }
        guard let primary = identifiers.first else { return }
        for identifier in identifiers {
            // Names of different sources stand side by side.
            let isAlias = identifier != primary && identifier.source == primary.source
            let claim = AccountClaim(citation, aliases: isAlias ? [primary] : [], holding: holding)
            if claims[identifier]?.merge(claim) == nil { claims[identifier] = claim }
        }
        if identifiers.count > 1 { claims.settleAliases() }
    }

    /// The owner: the account that was named first, or that the lineage was last transferred to, with its aliases. A provider that names
    /// the present owner transfers it by that. Of two other accounts that are unconnected the later named one is a conflict; so is an
    /// account that only the host claims, if a provider names another.
    public var ownership: Ownership { Ownerships([self], after: []).ownership(at: 0) }

    /// The account that the lineage belongs to, with its other names.
    var owner: Account? {
        let accounts = ownership.accounts
        guard let first = accounts.first else { return nil }
        var owner = Account(first.id, first.source)
        owner.aliases = Array(accounts.dropFirst())
        return owner
    }

    func concerns(_ move: AccountTransfer) -> Bool {
        move.environment == environment
            && (move.store == nil || registers.stores.contains { $0 == move.store })
    }
}

/// Purchases of some accounts in a store moved to other accounts, at one moment. The purchases are not named.
///
/// It is a hint, since anyone who can log in under the name of an account can cause it. If the accounts have one
/// purchase in the store, that moves. If they have several, those move for which a later statement names the new
/// account; the others stay, and are a conflict. A purchase for which a later statement names the old account stays in
/// any case.
///
/// Accounts that turned out to be one customer are a transfer from all of them to all of them: each gets the purchases
/// of all, and no account loses any.
public struct AccountTransfer: Hashable, Sendable, Codable {
    /// The store's world that it concerns.
    public var environment: StoreEnvironment
    /// The store whose purchases moved, as their lineages name it; absent means those of every store.
    public var store: PurchaseStore?
    /// Between which accounts.
    public var transfer: LifecycleEvent.Transfer
    /// Where it was stated.
    public var by: Citation

    /// Makes a transfer.
    public init(
        environment: StoreEnvironment,
        store: PurchaseStore? = nil,
        transfer: LifecycleEvent.Transfer,
        by: Citation
    ) {
        self.environment = environment
        self.store = store
        self.transfer = transfer
        self.by = by
    }

    /// The transfer of an event about accounts and no lineage; nil if it moves nothing.
    init?(_ event: NormalizedEvent) {
        switch event.event {
        case .transferred(let transfer):
            guard !transfer.recipients.isEmpty else { return nil }
            // A relay finds out by a receipt, which knows the purchases of one store.
            let store = event.store.ofLineages
            self.init(environment: event.environment, store: store, transfer: transfer, by: Citation(event))
        case .notice(let notice) where notice.kind == .accountsLinked:
            // A customer's purchases, in any store. Identifiers of different sources make no account one.
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

    package func precedes(_ other: AccountTransfer) -> Bool {
        Assertion(transfer, by: by).precedes(Assertion(other.transfer, by: other.by))
    }
}

extension [Account.Identifier: AccountClaim] {
    /// Leaves each name of an account the first of them as its alias, which says the same as all of them for each would.
    mutating func settleAliases() {
        guard contains(where: { !$0.value.aliases.isEmpty }) else { return }
        let groups = AliasGroups(self)
        var firsts: [Account.Identifier: Account.Identifier] = [:]
        for identifier in keys.inOrder {
            let account = groups.representative(of: identifier)
            let first = firsts[account] ?? identifier
            firsts[account] = first
            self[identifier]?.aliases = first.canonical == identifier.canonical ? [] : [first]
        }
    }
}

/// Identifiers of one source that some statement named together, or that are one UUID in either case: names of one account.
///
/// Identifiers of different sources never make two accounts one. Several accounts of an app may share one Apple
/// Account, and then a purchase names both.
struct AliasGroups {
    /// The identifiers of each account, as they were stated, by its representative.
    private var members: [Account.Identifier: Set<Account.Identifier>] = [:]
    /// Between canonical identifiers.
    private var representatives: [Account.Identifier: Account.Identifier] = [:]

    init(_ claims: [Account.Identifier: AccountClaim]...) {
        for claims in claims { insert(claims) }
    }

    mutating func insert(_ claims: [Account.Identifier: AccountClaim]) {
        for (identifier, claim) in claims {
            members[representative(of: identifier), default: []].insert(identifier)
            for alias in claim.aliases where alias.source == identifier.source {
                members[representative(of: alias), default: []].insert(alias)
                unite(identifier, alias)
            }
        }
    }

    /// The first of the account's names, in its canonical form.
    func representative(of identifier: Account.Identifier) -> Account.Identifier {
        representatives[identifier.canonical] ?? identifier.canonical
    }

    func members(with identifier: Account.Identifier) -> Set<Account.Identifier> {
        (members[representative(of: identifier)] ?? []).union([identifier])
    }

    private mutating func unite(_ one: Account.Identifier, _ other: Account.Identifier) {
        let (left, right) = (representative(of: one), representative(of: other))
        guard left != right else { return }
        // The first of all names stands for them, so that the outcome does not depend on the order of the claims.
        let (first, second) = left.precedes(right) ? (left, right) : (right, left)
        var joined = members.removeValue(forKey: first) ?? []
        let others = members.removeValue(forKey: second) ?? []
        for name in others { representatives[name.canonical] = first }
        representatives[second] = first
        joined.formUnion(others)
        members[first] = joined
    }
}

extension Account.Identifier {
    func precedes(_ other: Account.Identifier) -> Bool {
        id.hasOctets(of: other.id)
            ? source.rawValue < other.source.rawValue : id.utf8.lexicographicallyPrecedes(other.id.utf8)
    }

    /// The identifier alone, wherever it comes from.
    package var name: Account.Identifier { Account.Identifier(lookupKey, "") }
}

extension LifecycleEvent.Transfer {
    /// The accounts that it names as the new owners. Without any it moves nothing.
    var recipients: [Account.Identifier] { to.filter { !$0.id.isEmpty } }

    /// The names of all accounts that it names.
    package var names: Set<Account.Identifier> { Set((from + to).map(\.name)) }
}

extension Collection<Account.Identifier> {
    package var inOrder: [Account.Identifier] { sorted { $0.precedes($1) } }
}

extension Citation {
    private struct Nothing: Assertable {
        var precedence: Int { 0 }
    }

    /// True if the account that this names comes before the one that the other names. The host's own word counts
    /// only if no provider names an account, however its clock is set.
    func bindsBefore(_ other: Citation) -> Bool {
        provider.isHost == other.provider.isHost ? precedes(other) : other.provider.isHost
    }

    /// The order of statements, by time and then by all their other differences.
    func precedes(_ other: Citation) -> Bool {
        Assertion(Nothing(), by: self).precedes(Assertion(Nothing(), by: other))
    }
}
