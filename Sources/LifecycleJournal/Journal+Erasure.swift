import FoundationEssentials
public import Normalizer

extension Journal {
    /// The result of an erasure.
    public struct Erasure: Hashable, Sendable, Codable {
        /// The lineages that nothing is known of any more.
        public var lineages: [SubscriptionID] = []
        /// How many lines of the log were emptied. Those about what others have are written again without the account's
        /// name.
        public var lines = 0
        /// How many raw deliveries were deleted.
        public var deliveries = 0
    }

    /// Removes everything that the journal has about an account, for a request for erasure: the purchases that it has
    /// now, with all that is known of them, and its name wherever else it stands.
    ///
    /// Others keep what they have, also what was the account's before: a name made at random takes the place of the
    /// account's there. A name that is also that of an account of another source stays as long as that one has
    /// purchases.
    ///
    /// Ids and digests stay, those of the notifications, too. So nothing of a notification comes back that is delivered again, replayed
    /// or read from a history, and ``verify(known:)`` still holds. Later statements of the provider about the same purchase are stored as usual.
    ///
    /// A delivery that waits, in quarantine or for a worker, cannot be read yet. Its body stays until then, and what it says about the
    /// account is left out when it is taken in. Until then there is a salted digest of the account's name.
    ///
    /// - Throws: ``JournalError``. Call it again then: it does what was left.
    @discardableResult
    public func erase(_ account: Account.Identifier) async throws(JournalError) -> Erasure {
        if account.id.isEmpty { return Erasure() }
        try await giveOutPositions()
        // A name has one place-holder, so that what waits and names the account fits to what others have from it.
        let note = try await read { try await ErasureNote.known(of: account, $0) } ?? ErasureNote(of: account)
        let seen = try await linesOfNoPurchase(naming: note.pseudonym)
        var (erasure, row) = try await write { transaction in
            var eraser = Eraser(account: account, pseudonym: note.pseudonym, transaction: transaction)
            try await eraser.erase(seen)
            let kept = ErasureNote.KeptDeliveries(
                lineages: Set(eraser.erasure.lineages),
                digests: eraser.digests
            )
            return (eraser.erasure, try await ErasureNote.insert(note, adding: kept, transaction))
        }
        erasure.deliveries = try await finish(row, withWaitingFrom: try await earliestWaiting(before: row))
        return erasure
    }

    /// The keys of the lines that are about no purchase and name an account, and where to look for later ones.
    private func linesOfNoPurchase(
        naming pseudonym: Pseudonym
    ) async throws(JournalError) -> (keys: [String], next: JournalSelection) {
        var keys: [String] = []
        var selection = JournalSelection(group: "", through: .max - 1, limit: 500)
        while true {
            let page = selection
            let (found, last, count) = try await read { transaction in
                let records = try await transaction.records(page, in: .log)
                let found = try records.filter { try $0.line(naming: pseudonym) != nil }.map(\.key)
                return (found, records.last, records.count)
            }
            keys += found
            if let last { selection = selection.following(last) }
            guard count == page.limit else { break }
        }
        selection.last = .max
        return (keys, selection)
    }

    fileprivate static func eraseUses(_ group: String, _ transaction: any JournalTransaction) async throws {
        for record in try await transaction.allRecords(JournalSelection(group: group, limit: 500), in: .use) {
            _ = try await transaction.delete(record, from: .use)
        }
    }

    fileprivate static func eraseRows(
        of lineage: SubscriptionID,
        _ accounts: [Account.Identifier],
        in rows: StateRows,
        _ transaction: any JournalTransaction
    ) async throws {
        let key = JournalKey.text(lineage)
        // As it was when the owner was read: a purchase that has moved since is another's. The row of a lineage that another one stands
        // for had no need to be read.
        var record = rows.records[lineage]
        if record == nil { record = try await transaction.record(key, in: .state) }
        if let record {
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
}

extension JournalRecord {
    /// The row's line of the log; nil if it is erased.
    fileprivate var line: LogLine? {
        get throws { body.isEmpty ? nil : try CanonicalJSON.value(LogLine.self, from: body) }
    }

    /// The row's line if it names an account.
    fileprivate func line(naming pseudonym: Pseudonym) throws -> LogLine? {
        guard let line = try line, pseudonym.replacing(line) != line else { return nil }
        return line
    }
}

/// The removal of an account in one transaction.
private struct Eraser {
    let account: Account.Identifier
    let pseudonym: Pseudonym
    let transaction: any JournalTransaction
    private(set) var erasure = Journal.Erasure()
    /// The digests of the bodies that emptied lines were made from.
    private(set) var digests: Set<String> = []

    init(account: Account.Identifier, pseudonym: Pseudonym, transaction: any JournalTransaction) {
        self.account = account
        self.pseudonym = pseudonym
        self.transaction = transaction
    }

    mutating func erase(_ seen: (keys: [String], next: JournalSelection)) async throws {
        let (ledger, rows) = try await Journal.rows(of: [account], transaction)
        for state in Journal.owned(by: [account], ledger) { try await erase(state, in: rows) }
        // A transfer that came since may have moved one of them.
        for name in Set([account] + ledger.accounts).inOrder {
            let transfers = try await Journal.transfers(naming: name, transaction).map(\.transfer)
            guard ledger.transfers.isSuperset(of: transfers) else { throw Conflict() }
        }
        let erased = Set(erasure.lineages)
        let owners = ledger.owners.filter { !erased.contains($0.key) }
        if owners.values.joined().contains(where: pseudonym.hides) { return }

        let moves = try await Journal.transfers(naming: account, transaction)
        let named = Set(moves.map(\.transfer))
        var needed = ledger.needed(named, without: erased, under: pseudonym)
        if try await Journal.hasWaiting(transaction) {
            needed = ledger.bearable(named, besides: needed, without: erased, under: pseudonym)
        }
        for (record, transfer) in moves {
            _ = try await transaction.delete(record, from: .transfer)
            for name in transfer.transfer.names {
                let row = try await transaction.record(JournalKey.text(name.lookupKey, record.key), in: .transfer)
                if let row { _ = try await transaction.delete(row, from: .transfer) }
            }
            if needed.contains(transfer) { try await Journal.insert(pseudonym.replacing(transfer), transaction) }
        }
        try await replaceName(in: seen, dropping: Set(moves.map(\.transfer)).subtracting(needed))
        try await replaceNameInPurchases(except: erased)

        if let turn = try await transaction.record(StateRows.turnKey(account), in: .link) {
            _ = try await transaction.delete(turn, from: .link)
        }
        try await Journal.eraseUses(Journal.useGroup(account), transaction)
        for record in try await transaction.allRecords(group, in: .transfer) {
            _ = try await transaction.delete(record, from: .transfer)
        }
    }

    private var group: JournalSelection { JournalSelection(group: JournalKey.text(account), limit: 500) }

    private mutating func erase(_ state: SubscriptionState, in rows: StateRows) async throws {
        let accounts = AccountLedger([state]).accounts
        for lineage in state.lineages {
            erasure.lineages.append(lineage)
            let selection = JournalSelection(group: JournalKey.text(lineage), limit: 500)
            for record in try await transaction.allRecords(selection, in: .log) {
                guard let line = try record.line else { continue }
                if case .event(let event) = line, let name = event.transaction {
                    try await Journal.forget(name.rawValue, of: lineage, transaction)
                }
                try await empty(record, line)
            }
            try await Journal.eraseRows(of: lineage, accounts, in: rows, transaction)
        }
    }

    // MARK: Left to others

    private mutating func replaceNameInPurchases(except erased: Set<SubscriptionID>) async throws {
        let pseudonymous = pseudonym.replacing(account)
        var named: [SubscriptionID] = []
        for row in try await transaction.allRecords(group, in: .account) {
            _ = try await transaction.delete(row, from: .account)
            guard let lineage = SubscriptionID(String(decoding: row.body, as: UTF8.self)), !erased.contains(lineage)
            else { continue }
            named.append(lineage)
            try await Journal.insert(accountRow: pseudonymous, of: lineage, transaction)
        }
        let rows = try await StateRows(linkedTo: named, transaction)
        for var record in rows.records.values.inOrder where !record.body.isEmpty {
            let state = try CanonicalJSON.value(SubscriptionState.self, from: record.body)
            record.body = try CanonicalJSON.bytes(pseudonym.replacing(state))
            guard try await transaction.update(record, in: .state) else { throw Conflict() }
        }
        let lineages = Set(named).union(rows.records.keys).union(rows.states.flatMap(\.lineages))
        for lineage in lineages.inOrder {
            let selection = JournalSelection(group: JournalKey.text(lineage), limit: 500)
            for record in try await transaction.allRecords(selection, in: .log) {
                if let line = try record.line(naming: pseudonym) {
                    try await empty(record, line, replacedBy: pseudonym.replacing(line))
                } else if case .event(let event)? = try record.line {
                    // Its meaning may name the account that the purchase moved from.
                    try await replaceName(in: event)
                }
            }
        }
    }

    private func replaceName(in event: NormalizedEvent) async throws {
        try await change(event) { record in
            let applied = try CanonicalJSON.value(AppliedEvent.self, from: record.body)
            record.body = try CanonicalJSON.bytes(pseudonym.replacing(applied))
        }
    }

    /// With what had still to be done about it, which would be due for ever.
    private func removeEvent(_ event: NormalizedEvent) async throws {
        for kind in DueItem.Kind.ofEvents {
            if let row = try await transaction.record(JournalKey.text(kind.id(of: event.id)), in: .due) {
                guard try await transaction.delete(row, from: .due) else { throw Conflict() }
            }
        }
        try await change(event) { record in (record.body, record.group) = ([], QueuePlace.silent.rawValue) }
    }

    /// Changes what the feed has of an event.
    private func change(_ event: NormalizedEvent, _ body: (inout JournalRecord) throws -> Void) async throws {
        guard let known = try await transaction.record(event.id.description, in: .event), !known.body.isEmpty else {
            return
        }
        var record = known
        try body(&record)
        guard record.body != known.body else { return }
        guard try await transaction.update(record, in: .event) else { throw Conflict() }
    }

    private mutating func replaceName(
        in seen: (keys: [String], next: JournalSelection),
        dropping dropped: Set<AccountTransfer>
    ) async throws {
        var records: [JournalRecord] = []
        for key in seen.keys { records += [try await transaction.record(key, in: .log)].compactMap(\.self) }
        records += try await transaction.allRecords(seen.next, in: .log)
        for record in records {
            guard let line = try record.line(naming: pseudonym) else { continue }
            var ledger = AccountLedger()
            ledger.apply(line)
            let isKept =
                ledger.transfers.isEmpty
                ? line.namesOthers(than: pseudonym) : ledger.transfers.isDisjoint(with: dropped)
            try await empty(record, line, replacedBy: isKept ? pseudonym.replacing(line) : nil)
        }
    }

    // MARK: Lines

    /// Empties a line. Its digest stays, and so does its event where others have it, too: with the content of the line
    /// that takes its place, at the end of the log.
    private mutating func empty(
        _ record: JournalRecord,
        _ line: LogLine,
        replacedBy replacement: LogLine? = nil
    ) async throws {
        digests.insert(line.origin.digest)
        try await ErasedNotifications.note(line, transaction)
        // A line without a position was committed a moment ago, and is chained when it gets one.
        var detail =
            record.detail.isEmpty
            ? LineDetail(record, at: 0, after: "") : try CanonicalJSON.value(LineDetail.self, from: record.detail)
        if case .event(let event) = line {
            if replacement == nil {
                try await removeEvent(event)
            } else {
                detail.event = event.id.description
                try await replaceName(in: event)
            }
        }
        detail.isErased = true
        var record = record
        record.body = []
        record.detail = try CanonicalJSON.bytes(detail)
        guard try await transaction.update(record, in: .log) else { throw Conflict() }
        erasure.lines += 1
        if let replacement { _ = try await Journal.insertAgain(replacement, afterErasureOf: record.key, transaction) }
    }
}

extension Journal {
    /// Writes a line to the log whose key one has that was erased.
    ///
    /// - Returns: false if it was written since then.
    static func insertAgain(
        _ line: LogLine,
        afterErasureOf key: String,
        _ transaction: any JournalTransaction
    ) async throws -> Bool {
        let root = String(key.prefix { $0 != "\n" })
        let body = try CanonicalJSON.bytes(line)
        var count = 2
        while true {
            let record = JournalRecord(
                key: JournalKey.text(root, "\(count)"),
                group: line.subscription.map { JournalKey.text($0) } ?? "",
                order: Int64.max,
                body: body
            )
            if try await transaction.insert(record, into: .log) { return true }
            let known = try await transaction.record(record.key, in: .log)
            if let written = try known?.line, try JournalKey.text(written) == JournalKey.text(line) { return false }
            count += 1
        }
    }
}

extension LogLine {
    /// True if an event about no purchase is about another account, too.
    func namesOthers(than pseudonym: Pseudonym) -> Bool {
        guard case .event(let event) = self else { return false }
        return event.account?.identifiers.contains { !pseudonym.hides($0) && !pseudonym.replaced($0) } ?? true
    }
}

extension AccountLedger {
    /// Those of the transfers that name an account which others have something by, once the account's own purchases
    /// are gone. Each of the rest has nothing left to move, and could only move what was never the account's.
    fileprivate func needed(
        _ named: Set<AccountTransfer>,
        without erased: Set<SubscriptionID>,
        under pseudonym: Pseudonym
    ) -> Set<AccountTransfer> {
        let losses = losses(without: named, and: erased, under: pseudonym)
        let shared = named.filter { transfer in
            [transfer.transfer.from, transfer.transfer.to].allSatisfy { !$0.allSatisfy(pseudonym.hides) }
        }
        if losses(shared) == 0 { return shared }
        var (kept, lost) = (named, losses(named))
        for transfer in named.subtracting(shared).sorted(by: { $0.precedes($1) }) where lost > 0 {
            let fewer = kept.subtracting([transfer])
            let lostThen = losses(fewer)
            if lostThen < lost { (kept, lost) = (fewer, lostThen) }
        }
        return kept
    }

    /// The transfers that are needed, with all that no other account loses a purchase by: what waits may have something for them to
    /// move.
    fileprivate func bearable(
        _ named: Set<AccountTransfer>,
        besides needed: Set<AccountTransfer>,
        without erased: Set<SubscriptionID>,
        under pseudonym: Pseudonym
    ) -> Set<AccountTransfer> {
        let losses = losses(without: named, and: erased, under: pseudonym)
        let fewest = losses(needed)
        if losses(named) <= fewest { return named }
        return named.subtracting(needed).sorted { $0.precedes($1) }.reduce(into: needed) { kept, transfer in
            let more = kept.union([transfer])
            if losses(more) <= fewest { kept = more }
        }
    }

    /// How many purchases of others change their owner if some of the transfers that name an account are kept.
    private func losses(
        without named: Set<AccountTransfer>,
        and erased: Set<SubscriptionID>,
        under pseudonym: Pseudonym
    ) -> (_ kept: Set<AccountTransfer>) -> Int {
        let before = owners.mapValues { Set($0.map(pseudonym.replacing)) }
        let rest = states.filter { !erased.contains($0.subscription) }.map(pseudonym.replacing)
        let others = transfers.subtracting(named)
        return { kept in
            let after = AccountLedger(rest, transfers: others.union(kept.map(pseudonym.replacing))).owners
            return rest.count { Set(after[$0.subscription] ?? []) != before[$0.subscription] ?? [] }
        }
    }
}
