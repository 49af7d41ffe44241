public import Normalizer

extension Journal {
    /// Everything that a journal has about an account.
    public struct AccountExport: Sendable, Codable {
        /// The states of its purchases.
        public var states: [SubscriptionState] = []
        /// Every event and statement about them.
        public var lines: [LogLine] = []
        /// Transfers that name it.
        public var transfers: [AccountTransfer] = []
        /// Credits that it used and was given.
        public var uses: [CreditUse] = []
    }

    /// Everything that the journal has about an account, for a request for disclosure. Raw deliveries are left out: the
    /// lines of the log have their content.
    ///
    /// - Throws: ``JournalError``.
    public func export(_ account: Account.Identifier) async throws(JournalError) -> AccountExport {
        try await read { transaction in
            let (ledger, _) = try await Self.rows(of: [account], transaction)
            let states = Self.owned(by: [account], ledger)
            var export = AccountExport(states: states)
            export.transfers = ledger.transfers.filter { $0.transfer.names.contains(account.name) }
                .sorted { "\($0.by)" < "\($1.by)" }
            export.uses = try await Self.uses(of: states, [account], transaction)
            for lineage in states.flatMap(\.lineages) {
                let selection = JournalSelection(group: JournalKey.text(lineage), limit: 500)
                for record in try await transaction.allRecords(selection, in: .log) where !record.body.isEmpty {
                    export.lines.append(try CanonicalJSON.value(from: record.body))
                }
            }
            return export
        }
    }

    static func owned(by accounts: [Account.Identifier], _ ledger: AccountLedger) -> [SubscriptionState] {
        Set(ledger.states.map(\.environment)).sorted { $0.rawValue < $1.rawValue }
            .flatMap { ledger.states(of: accounts, in: $0) }
    }
}
