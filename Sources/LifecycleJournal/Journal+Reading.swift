public import FoundationEssentials
public import Normalizer

extension Journal {
    /// Decides if an account has access at `time`, through any of its purchases.
    ///
    /// - Parameters:
    ///   - accounts: the names of the account; give all that you know.
    ///   - environment: the store's world. Production and sandbox never mix.
    ///   - time: the time to decide for, usually the present.
    /// - Throws: ``JournalError``.
    public func access(
        of accounts: [Account.Identifier],
        in environment: StoreEnvironment = .production,
        at time: Date
    ) async throws(JournalError) -> AccountAccess {
        try await ledger(of: accounts).access(of: accounts, in: environment, at: time)
    }

    /// Why an account has access at `time` or has not: the statements behind the decision, for each of its purchases, and for
    /// each that it claims and another account owns.
    ///
    /// - Throws: ``JournalError``.
    public func explain(
        _ accounts: [Account.Identifier],
        in environment: StoreEnvironment = .production,
        at time: Date
    ) async throws(JournalError) -> [Explanation] {
        try await ledger(of: accounts).explanations(of: accounts, in: environment, at: time)
    }

    /// The state of a lineage, joined with those that it is linked to; nil if nothing was stated of it.
    ///
    /// - Throws: ``JournalError``.
    public func state(of lineage: SubscriptionID) async throws(JournalError) -> SubscriptionState? {
        try await read { AccountLedger(try await StateRows(linkedTo: [lineage], $0).states)[lineage] }
    }

    /// All states that may concern an account: its own purchases, and those of accounts that transferred some to it.
    ///
    /// - Throws: ``JournalError``.
    public func ledger(of accounts: [Account.Identifier]) async throws(JournalError) -> AccountLedger {
        try await read { try await Self.rows(of: accounts, $0).ledger }
    }

    static func rows(
        of accounts: [Account.Identifier],
        replacingUnreadable isReplacing: Bool = false,
        _ transaction: any JournalTransaction
    ) async throws -> (ledger: AccountLedger, states: StateRows) {
        var ledger = AccountLedger()
        var rows = StateRows()
        var known = Set(accounts)
        var open = accounts
        var lineages: Set<SubscriptionID> = []
        // By key, since each is found again under every name that it has.
        var transfers: [String: AccountTransfer] = [:]
        while !open.isEmpty {
            for account in open {
                // Without the source: a transfer moves a store's purchases by the same name.
                let group = JournalKey.text(account)
                lineages.formUnion(try await StateRows.lineages(in: .account, of: group, transaction))
                for key in try await Self.transferKeys(naming: account, transaction) where transfers[key] == nil {
                    guard let record = try await transaction.record(key, in: .transfer) else { continue }
                    transfers[key] = try CanonicalJSON.value(from: record.body)
                }
            }
            rows = try await StateRows(linkedTo: lineages, replacingUnreadable: isReplacing, transaction)
            ledger = AccountLedger(rows.states, transfers: transfers.values)
            // A customer's purchases may be bound to their other names, or to the accounts they were transferred from.
            open = (ledger.accounts + transfers.values.flatMap(\.transfer.from)).filter { known.insert($0).inserted }
        }
        return (ledger, rows)
    }

    // MARK: Uploads

    /// Stores an upload. The account becomes its owner if no other account was named before.
    ///
    /// - Parameters:
    ///   - result: the adapter's result for a signed transaction, a purchase token or a session of a checkout.
    ///   - account: the signed-in user, under the source by which the app names them to the store; nil claims nothing.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func upload(_ result: Normalization, by account: Account? = nil) async throws(JournalError) -> [AppliedEvent]
    {
        guard let account else { return try await apply(result) }
        let time = try await claimTime(of: Set(result.statements.map(\.subscription)))
        return try await apply(result.claimed(by: account, at: time))
    }

    /// Binds a purchase to an account where no provider names one, see `StoreStatement.claim(of:by:at:)`.
    ///
    /// - Throws: ``JournalError``.
    public func claim(_ subscription: SubscriptionID, by account: Account) async throws(JournalError) {
        let claim = StoreStatement.claim(of: subscription, by: account, at: try await claimTime(of: [subscription]))
        try await apply(Normalization(noChange: .init(.unchanged, statement: claim)))
    }

    /// The time of a claim: it takes nothing away from one that is known, also by a clock that is behind.
    private func claimTime(of lineages: Set<SubscriptionID>) async throws(JournalError) -> Date {
        var time = now()
        for lineage in lineages where !lineage.id.isEmpty {
            guard let last = try await state(of: lineage)?.lastClaim, last >= time.milliseconds else { continue }
            time = Date(millisecondsSince1970: last + 1)
        }
        return time
    }
}
