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
    ///   - time: the time of the use.
    /// - Returns: the statement after the use; nil if there are fewer credits, and none was used.
    /// - Throws: ``JournalError``, with ``JournalError/Code/idTaken`` if the id names a use of another number of credits.
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
            let (ledger, rows) = try await Self.rows(of: accounts, transaction)
            let states = ledger.states(of: accounts, in: environment)
            let stored = try await Self.uses(of: states, accounts, transaction)
            let statement = CreditStatement(of: states, under: policy, uses: stored, at: time)
            // Also where the purchase that it came from has moved to another account since.
            let mark = try Mark(credits: credits).record(of: id, at: time)
            if let known = try await transaction.record(mark.key, in: .use) {
                try Mark(credits: credits).check(known)
                return statement
            }
            guard let uses = statement.uses(of: credits, id: id) else { return nil }
            guard try await transaction.insert(mark, into: .use) else { throw Conflict() }
            for use in uses { try await Self.insert(use, accounts, transaction) }
            // Another use that has read the same states begins again, and finds these uses.
            try await rows.raiseVersions(transaction)
            return CreditStatement(of: states, under: policy, uses: stored + uses, at: time)
        }
    }

    /// Gives an account credits that last until they are used, once for each id: for a job that failed, or as a present.
    ///
    /// - Returns: true if they were given now, and not before.
    /// - Throws: ``JournalError``, with ``JournalError/Code/idTaken`` if the id names a use, or a gift of another number.
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
            let mark = try Mark(credits: 0 - credits).record(of: id, at: time)
            if let known = try await transaction.record(mark.key, in: .use) {
                try Mark(credits: 0 - credits).check(known)
                return false
            }
            guard try await transaction.insert(mark, into: .use) else { throw Conflict() }
            try await Self.insert(CreditUse(id: id, credits: 0 - credits, at: time), [account], transaction)
            return true
        }
    }

    /// The number of credits that an id stands for. It names no account, so an erasure leaves it, and the id stays taken.
    private struct Mark: Codable {
        /// Negative for a gift.
        var credits: Int64

        func record(of id: String, at time: Date) throws -> JournalRecord {
            JournalRecord(
                key: JournalKey.text("id", id),
                order: time.milliseconds,
                body: try CanonicalJSON.bytes(self)
            )
        }

        /// A second use under the id of another would be work that costs nothing. A mark of an earlier version has no number.
        func check(_ record: JournalRecord) throws {
            guard !record.body.isEmpty else { return }
            let known: Mark = try CanonicalJSON.value(from: record.body)
            guard known.credits == credits else {
                throw JournalError(.idTaken, "the id names another number of credits: use a new id for each use")
            }
        }
    }

    static func insert(
        _ use: CreditUse,
        _ accounts: [Account.Identifier],
        _ transaction: any JournalTransaction
    ) async throws {
        let record = JournalRecord(
            key: JournalKey.text("use", use.id, use.subscription?.description ?? ""),
            group: use.subscription.map(useGroup) ?? accounts.first.map(useGroup) ?? "",
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

    // A use stays with its purchase when that moves to another account.
    static func useGroup(_ lineage: SubscriptionID) -> String { JournalKey.text("purchase", lineage.description) }

    static func useGroup(_ account: Account.Identifier) -> String { JournalKey.text("account", account.lookupKey) }
}
