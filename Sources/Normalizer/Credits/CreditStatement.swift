public import FoundationEssentials

/// The credits of a purchase or of an account at a time: the grants, their later changes, and the balance.
///
/// A statement is a reading of the states, as access is. It depends only on facts, the policy, the uses and a time.
/// Order of arrival, repetition, and a purchase's split over lineages that are linked later do not change it. After
/// late news, make the statement again.
///
/// ```swift
/// let states = ledger.states(of: [account], in: .production)
/// let statement = CreditStatement(of: states, under: policy, uses: uses, at: now)
/// if let uses = statement.uses(of: 30, id: "job-1") { try store(uses) }
/// ```
public struct CreditStatement: Hashable, Sendable, Codable {
    /// The time that the statement is of.
    @EventTime public private(set) var at: Date
    /// The grants that had begun by then, in the order of their beginnings.
    public private(set) var grants: [CreditGrant]
    /// Credits that ended unused, in the order of time.
    public private(set) var endings: [CreditEnding]
    /// The uses that count, in the order of time.
    public private(set) var uses: [CreditUse]
    /// How many credits are left. Less than zero only under a policy by which used credits are owed.
    public private(set) var balance: Int64
    /// The balance after each moment at which it changed.
    private var history: [Moment]

    private struct Moment: Hashable, Sendable, Codable {
        @EventTime var at: Date
        var balance: Int64
    }

    private enum CodingKeys: String, CodingKey { case at, grants, endings, uses, balance, history }

    /// Reads the credits of states.
    ///
    /// - Parameters:
    ///   - states: those of one purchase, or all of an account, see ``AccountLedger/states(of:in:at:)``. Linked
    ///     lineages must be joined, as a ledger joins them.
    ///   - policy: the credits of products.
    ///   - uses: the uses. Repetitions count once, and those after `time` do not count.
    ///   - time: the time, such as now.
    public init(
        of states: some Sequence<SubscriptionState>,
        under policy: CreditPolicy,
        uses: some Sequence<CreditUse>,
        at time: Date
    ) {
        let plan = CreditPlan(of: Array(states), under: policy, until: time.millisecondsSince1970)
        var fold = CreditFold(plan, policy)
        fold.run(uses: Array(uses), until: time.millisecondsSince1970)
        at = time
        grants = fold.grants
        endings = fold.endings
        self.uses = fold.uses
        balance = fold.balance
        history = fold.history.map { Moment(at: Date(millisecondsSince1970: $0.at), balance: $0.balance) }
    }

    /// Reads the credits of one purchase.
    public init(
        of state: SubscriptionState,
        under policy: CreditPolicy,
        uses: some Sequence<CreditUse>,
        at time: Date
    ) {
        self.init(of: CollectionOfOne(state), under: policy, uses: uses, at: time)
    }

    /// How many credits were left at a time, as far as is known now; from ``at`` on, as many as then.
    public func balance(at time: Date) -> Int64 {
        let moment = time.millisecondsSince1970
        let next = history.firstIndex { $0.at.millisecondsSince1970 > moment } ?? history.endIndex
        return next > 0 ? history[next - 1].balance : 0
    }
}

// MARK: Using credits

extension CreditStatement {
    /// The uses to append when credits are used now, at ``at``: one for each purchase or gift that they come from. Credits that end first are used first.
    ///
    /// Read the uses, make the statement and append the new uses in one transaction that no other use of the account overlaps. Take
    /// ``at`` in that transaction as well: uses that are stored with a later time are not in the statement.
    ///
    /// - Parameters:
    ///   - credits: how many.
    ///   - id: the host's name of the use. If it is in the statement already, there is nothing to append.
    /// - Returns: nil if there are fewer.
    public func uses(of credits: Int64, id: String) -> [CreditUse]? {
        if uses.contains(where: { $0.name == CreditUse.Name(id) }) { return [] }
        guard credits >= 0, credits <= balance else { return nil }
        var missing = credits
        var drawn: [CreditUse] = []
        for grant in grants.filter({ $0.left > 0 && ($0.until ?? .distantFuture) > at }).sorted(
            by: CreditGrant.isUsedBefore
        )
        where missing > 0 {
            let part = min(missing, grant.left)
            missing -= part
            // A gift belongs to no purchase, so the use names the gift.
            let gift = grant.subscription == nil ? grant.id : nil
            if let known = drawn.firstIndex(where: { $0.subscription == grant.subscription && $0.grant == gift }) {
                drawn[known].credits += part
            } else {
                drawn.append(CreditUse(id: id, credits: part, at: at, subscription: grant.subscription, grant: gift))
            }
        }
        return drawn.sorted { ($0.subscription?.description ?? "") < ($1.subscription?.description ?? "") }
    }
}

extension CreditStatement {
    /// The statement for the answer to a use: without what is over, so that its length does not grow with the account's past.
    ///
    /// It has the use, the grants that still count or that the use names, and the balance with its last change. For earlier times ask
    /// the whole statement.
    ///
    /// - Parameter id: the host's name of the use.
    public func current(withUse id: String) -> CreditStatement {
        var current = self
        current.uses = uses.filter { $0.name == CreditUse.Name(id) }
        current.grants = grants.filter { grant in
            grant.left != 0 || (grant.until.map { $0 > at } ?? false)
                || current.uses.contains { $0.grant == grant.id }
        }
        let kept = Set(current.grants.map(\.id))
        current.endings = endings.filter { kept.contains($0.grant) }
        current.history = Array(history.suffix(1))
        return current
    }
}

// MARK: Wallets

/// A posting to a wallet of the host's own.
public struct CreditPosting: Hashable, Sendable, Codable {
    /// The grant that it is for.
    public var grant: CreditGrant.ID
    /// How many credits to add; less than zero, to take.
    public var credits: Int64

    /// Makes a posting.
    public init(grant: CreditGrant.ID, credits: Int64) {
        self.grant = grant
        self.credits = credits
    }
}

extension CreditStatement {
    /// The postings that make a wallet agree with the statement: if the wallet subtracts the uses itself, its balance
    /// is then ``balance``.
    ///
    /// There is nothing to post to a wallet that agrees, so you can ask again at any time.
    ///
    /// - Parameter posted: the sums of earlier postings, by grant.
    public func changes(from posted: [CreditGrant.ID: Int64]) -> [CreditPosting] {
        var postings: [CreditPosting] = []
        var open = posted
        for grant in grants where grant.reason != .given {
            let due = grant.credits - grant.ended - (open.removeValue(forKey: grant.id) ?? 0)
            if due != 0 { postings.append(CreditPosting(grant: grant.id, credits: due)) }
        }
        for id in open.keys.sorted() {
            if let credits = open[id], credits != 0 { postings.append(CreditPosting(grant: id, credits: 0 - credits)) }
        }
        return postings
    }
}

extension CreditGrant {
    /// The order in which credits are used: those that end first, then those that were given first.
    static func isUsedBefore(_ one: CreditGrant, _ other: CreditGrant) -> Bool {
        let ends = (one.until?.millisecondsSince1970 ?? .max, other.until?.millisecondsSince1970 ?? .max)
        if ends.0 != ends.1 { return ends.0 < ends.1 }
        if one.from != other.from { return one.from < other.from }
        return one.id < other.id
    }
}
