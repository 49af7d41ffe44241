public import FoundationEssentials
public import Normalizer

extension Journal {
    /// The credits of an account at `time`, read from its states and from the uses that are kept here.
    ///
    /// - Throws: ``JournalError``.
    public func credits(
        of accounts: [Account.Identifier],
        under policy: CreditPolicy,
        in environment: StoreEnvironment = .production,
        at time: Date
    ) async throws(JournalError) -> CreditStatement {
        try await read { transaction in
            let (ledger, _) = try await Self.rows(of: accounts, transaction)
            let states = ledger.states(of: accounts, in: environment)
            let uses = try await Self.uses(of: states, accounts, transaction)
            return CreditStatement(of: states, under: policy, uses: uses, at: time)
        }
    }

    /// Uses credits of an account, all or none, and once for each id: a repeated request uses no more.
    ///
    /// - Parameters:
    ///   - credits: how many; 0 or more.
    ///   - id: the caller's name of the use, such as that of a job.
    ///   - accounts: the names of the account; give all that you know.
    ///   - policy: the credits of products, and the rest after changes and refunds.
    ///   - environment: production or sandbox, which never mix.
    ///   - time: the time of the use. If a use of a later time is stored already, and both together are too many, this one counts with the
    ///     last of them.
    /// - Returns: the statement after the use; nil if there are fewer credits, and none was used.
    /// - Throws: ``JournalError``, with ``JournalError/Code/idTaken`` if the id names a use of another account, of the other environment, or of
    ///   another number of credits.
    public func use(
        _ credits: Int64,
        id: String,
        of accounts: [Account.Identifier],
        under policy: CreditPolicy,
        in environment: StoreEnvironment = .production,
        at time: Date
    ) async throws(JournalError) -> CreditStatement? {
        guard credits >= 0, !id.isEmpty else {
            throw JournalError(.invalidArgument, "a use needs an id and 0 or more credits")
        }
        return try await write { transaction in
            // Before anything is read: a gift belongs to no purchase whose version two uses would both raise.
            for name in Set(accounts.map(\.name)).inOrder { try await StateRows.takeTurn(name, transaction) }
            let mark = Mark(credits: credits, id: id, of: accounts, in: environment)
            let key = Mark.key(id)
            let known = try await transaction.record(key, in: .use)
            let (ledger, rows) = try await Self.rows(of: accounts, transaction)
            let states = ledger.states(of: accounts, in: environment)
            let stored = try await Self.uses(of: states, accounts, transaction)
            func statement(_ uses: [CreditUse], _ time: Date) -> CreditStatement {
                CreditStatement(of: states, under: policy, uses: uses, at: time)
            }
            if let known {
                try mark.check(known, isMoved: stored.contains { $0.name == CreditUse.Name(id) })
                return statement(stored, time)
            }
            guard let uses = Self.uses(of: credits, id: id, among: stored, at: time, statement) else { return nil }
            guard try await transaction.insert(mark.record(key, at: time), into: .use) else { throw Conflict() }
            for use in uses {
                let gift = stored.first { $0.gift.map { $0 == use.grant } ?? false }
                let group =
                    if let gift, let row = try await transaction.record(Self.useKey(gift), in: .use) { row.group } else
                    {
                        use.subscription.map(Self.useGroup) ?? accounts.first.map(Self.useGroup) ?? ""
                    }
                try await Self.insert(use, in: group, transaction)
            }
            // Another use that has read the same states begins again, and finds these uses.
            try await rows.raiseVersions(transaction)
            return statement(stored + uses, uses.first?.at ?? time)
        }
    }

    /// The uses to add; nil if there are fewer credits.
    ///
    /// A use that waited for its turn, or whose clock is slow, finds uses that were made after its own time. Those were promised: if it
    /// left too few for them, it counts with the last of them.
    private static func uses(
        of credits: Int64,
        id: String,
        among stored: [CreditUse],
        at time: Date,
        _ statement: ([CreditUse], Date) -> CreditStatement
    ) -> [CreditUse]? {
        let uses = statement(stored, time).uses(of: credits, id: id)
        guard let uses, let last = stored.map(\.at).max(), last > time else { return uses }
        let before = statement(stored, last)
        return statement(stored + uses, last).overdrawn > before.overdrawn ? before.uses(of: credits, id: id) : uses
    }

    /// Gives an account credits that last until they are used, once for each id: for a job that failed, or as a present.
    ///
    /// - Returns: true if they were given now, and not before.
    /// - Throws: ``JournalError``, with ``JournalError/Code/idTaken`` if the id names a use, or a gift of another number or to another account.
    @discardableResult
    public func give(
        _ credits: Int64,
        id: String,
        to account: Account.Identifier,
        at time: Date
    ) async throws(JournalError) -> Bool {
        guard credits > 0, !id.isEmpty else {
            throw JournalError(.invalidArgument, "a gift needs an id and 1 or more credits")
        }
        return try await write { transaction in
            let mark = Mark(credits: 0 - credits, id: id, of: [account], in: nil)
            let key = Mark.key(id)
            if let known = try await transaction.record(key, in: .use) {
                try mark.check(known, isMoved: false)
                return false
            }
            guard try await transaction.insert(mark.record(key, at: time), into: .use) else { throw Conflict() }
            let gift = CreditUse(id: id, credits: 0 - credits, at: time)
            try await Self.insert(gift, in: Self.useGroup(account), transaction)
            return true
        }
    }

    private static func insert(
        _ use: CreditUse,
        in group: String,
        _ transaction: any JournalTransaction
    ) async throws {
        let record = JournalRecord(
            key: useKey(use),
            group: group,
            order: use.at.milliseconds,
            body: try CanonicalJSON.bytes(use)
        )
        guard try await transaction.insert(record, into: .use) else { throw Conflict() }
    }

    static func uses(
        of states: [SubscriptionState],
        _ accounts: [Account.Identifier],
        _ transaction: any JournalTransaction
    ) async throws -> [CreditUse] {
        var uses: [CreditUse] = []
        for group in states.flatMap(\.lineages).map(useGroup) + accounts.map(useGroup) {
            for record in try await transaction.allRecords(JournalSelection(group: group, limit: 500), in: .use) {
                uses.append(try CanonicalJSON.value(from: record.body))
            }
        }
        return uses
    }

    private static func useKey(_ use: CreditUse) -> String {
        JournalKey.text("use", use.id, use.subscription?.description ?? use.grant?.rawValue ?? "")
    }

    // A use stays with its purchase when that moves to another account, and with the account that its gift was given to.
    static func useGroup(_ lineage: SubscriptionID) -> String { JournalKey.text("purchase", lineage.description) }

    static func useGroup(_ account: Account.Identifier) -> String { JournalKey.text("account", account.lookupKey) }
}

extension CreditStatement {
    /// How many credits were used that were not there.
    fileprivate var overdrawn: Int128 {
        grants.reduce(0) { sum, grant in
            if case .overdrawn = grant.reason { sum + Int128(grant.used) } else { sum }
        }
    }
}

/// The use or the gift that an id stands for. It names no account, so an erasure leaves it, and the id stays taken.
private struct Mark: Codable {
    /// Negative for a gift.
    var credits: Int64
    /// Digests of the accounts' names; nil in a mark of 0.10 and before.
    var owners: [String]?

    /// - Parameter environment: nil for a gift, which counts in both.
    init(credits: Int64, id: String, of accounts: [Account.Identifier], in environment: StoreEnvironment?) {
        self.credits = credits
        owners = Set(
            accounts.map {
                // With the id, so that two marks of one account have nothing in common.
                let text = JournalKey.text(id, environment?.rawValue ?? "", $0.lookupKey)
                return JournalKey.digest(Array(text.utf8))
            }
        )
        .sorted()
    }

    static func key(_ id: String) -> String { JournalKey.text("id", id) }

    func record(_ key: String, at time: Date) throws -> JournalRecord {
        JournalRecord(key: key, order: time.milliseconds, body: try CanonicalJSON.bytes(self))
    }

    /// A second use under the id of another would be work that costs nothing.
    ///
    /// - Parameters:
    ///   - record: the row of the id. Marks of early versions have no account, and the first ones no number.
    ///   - isMoved: true if the first use has moved with its purchase to the account that asks now.
    func check(_ record: JournalRecord, isMoved: Bool) throws {
        guard !record.body.isEmpty else { return }
        let known: Mark = try CanonicalJSON.value(from: record.body)
        let isOwn = known.owners.map { !Set($0).isDisjoint(with: owners ?? []) } ?? true
        guard known.credits == credits, isOwn || isMoved else {
            throw JournalError(.idTaken, "the id names another use: use a new id for each use")
        }
    }
}
