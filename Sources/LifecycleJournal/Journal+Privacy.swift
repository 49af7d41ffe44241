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
            let states = Self.owned(by: account, ledger)
            var export = AccountExport(states: states)
            export.transfers = ledger.transfers.filter {
                ($0.transfer.from + $0.transfer.to).contains { $0.lookupKey == account.lookupKey }
            }
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

    /// The result of an erasure.
    public struct Erasure: Hashable, Sendable, Codable {
        /// The lineages that nothing is known of any more.
        public var lineages: [SubscriptionID] = []
        /// How many lines of the log were emptied.
        public var lines = 0
        /// How many raw deliveries were deleted.
        public var deliveries = 0
    }

    /// Removes everything that the journal has about an account and its purchases, for a request for erasure.
    ///
    /// Ids and digests stay. So a repeated delivery is neither news nor stored again, and ``verify(known:)`` still
    /// holds. Later statements of the provider about the same purchase are stored as usual. The journal cannot read
    /// deliveries in quarantine: discard them by hand.
    ///
    /// - Throws: ``JournalError``.
    @discardableResult
    public func erase(_ account: Account.Identifier) async throws(JournalError) -> Erasure {
        try await giveOutPositions()
        var erasure = try await write { transaction in
            let (ledger, _) = try await Self.rows(of: [account], transaction)
            var erasure = Erasure()
            for state in Self.owned(by: account, ledger) {
                let accounts = AccountLedger([state]).accounts
                for lineage in state.lineages {
                    erasure.lineages.append(lineage)
                    erasure.lines += try await Self.eraseLines(of: lineage, transaction)
                    try await Self.eraseRows(of: lineage, accounts, transaction)
                }
            }
            if let turn = try await transaction.record(StateRows.turnKey(JournalKey.text(account)), in: .link) {
                _ = try await transaction.delete(turn, from: .link)
            }
            for (record, _) in try await Self.transfers(naming: account, transaction) {
                _ = try await transaction.delete(record, from: .transfer)
            }
            try await Self.eraseUses(Self.useGroup(account), transaction)
            let selection = JournalSelection(group: JournalKey.text(account), limit: 500)
            for table in [JournalTable.account, .transfer] {
                for record in try await transaction.allRecords(selection, in: table) {
                    _ = try await transaction.delete(record, from: table)
                }
            }
            return erasure
        }
        erasure.deliveries = try await eraseDeliveries(of: Set(erasure.lineages.map(\.description)))
        return erasure
    }

    private static func owned(by account: Account.Identifier, _ ledger: AccountLedger) -> [SubscriptionState] {
        Set(ledger.states.map(\.environment)).sorted { $0.rawValue < $1.rawValue }
            .flatMap { ledger.states(of: [account], in: $0) }
    }

    private static func eraseLines(
        of lineage: SubscriptionID,
        _ transaction: any JournalTransaction
    ) async throws -> Int {
        var count = 0
        let selection = JournalSelection(group: JournalKey.text(lineage), limit: 500)
        for var record in try await transaction.allRecords(selection, in: .log) where !record.body.isEmpty {
            let line = try CanonicalJSON.value(LogLine.self, from: record.body)
            if case .event(let event) = line, let name = event.transaction {
                try await forget(name, of: lineage, transaction)
            }
            if case .event(let event) = line,
                var told = try await transaction.record(event.id.description, in: .event), !told.body.isEmpty
            {
                (told.body, told.group) = ([], QueuePlace.silent.rawValue)
                guard try await transaction.update(told, in: .event) else { throw Conflict() }
            }
            // A line without a position was committed a moment ago; its digest is that of its former body.
            guard
                var detail = record.detail.isEmpty ? nil : try CanonicalJSON.value(LineDetail.self, from: record.detail)
            else { throw Conflict() }
            detail.isErased = true
            record.body = []
            record.detail = try CanonicalJSON.bytes(detail)
            guard try await transaction.update(record, in: .log) else { throw Conflict() }
            count += 1
        }
        return count
    }

    private static func eraseUses(_ group: String, _ transaction: any JournalTransaction) async throws {
        for record in try await transaction.allRecords(JournalSelection(group: group, limit: 500), in: .use) {
            _ = try await transaction.delete(record, from: .use)
        }
    }

    private static func eraseRows(
        of lineage: SubscriptionID,
        _ accounts: [Account.Identifier],
        _ transaction: any JournalTransaction
    ) async throws {
        let key = JournalKey.text(lineage)
        if let record = try await transaction.record(key, in: .state) {
            for account in accounts {
                let row = try await transaction.record(
                    JournalKey.text(account.lookupKey, lineage.description),
                    in: .account
                )
                if let row { _ = try await transaction.delete(row, from: .account) }
            }
            guard try await transaction.delete(record, from: .state) else { throw Conflict() }
        }
        try await forget(lineage.id, of: lineage, transaction)
        try await eraseUses(useGroup(lineage), transaction)
        if let row = try await transaction.record(QuestionRow.key(lineage), in: .due) {
            guard try await transaction.delete(row, from: .due) else { throw Conflict() }
        }
        for link in try await transaction.allRecords(JournalSelection(group: key, limit: 500), in: .link) {
            _ = try await transaction.delete(link, from: .link)
        }
    }

    private func eraseDeliveries(of lineages: Set<String>) async throws(JournalError) -> Int {
        var count = 0
        var selection = JournalSelection(group: DeliveryPlace.kept.rawValue, limit: 200)
        while true {
            let page = selection
            let (deleted, last, size) = try await write { transaction in
                let records = try await transaction.records(page, in: .delivery)
                var deleted = 0
                for record in records {
                    let detail = try CanonicalJSON.value(DeliveryDetail.self, from: record.detail)
                    guard !lineages.isDisjoint(with: detail.lineages ?? []) else { continue }
                    if try await Self.delete(record, transaction) { deleted += 1 }
                }
                return (deleted, records.last, records.count)
            }
            count += deleted
            guard size == page.limit, let last else { return count }
            selection = page.following(last)
        }
    }
}
