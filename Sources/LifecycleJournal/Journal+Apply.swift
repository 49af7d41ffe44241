public import FoundationEssentials
public import Normalizer
import SignatureCore

extension Journal {
    /// Stores the result of a delivery, an upload or an answer, in a transaction of its own.
    ///
    /// Applying the same result again changes nothing.
    ///
    /// - Returns: each event with its meaning; empty if the whole result was known.
    /// - Throws: ``JournalError``; nothing is acknowledged then.
    @discardableResult
    public func apply(_ result: Normalization) async throws(JournalError) -> [AppliedEvent] {
        let time = now()
        return try await write { try await apply(result, in: $0, at: time) }.applied
    }

    /// Stores the result of a delivery, in a transaction that the host began and will commit. A notification that was erased changes
    /// nothing, by whichever way it is read again.
    ///
    /// - Parameters:
    ///   - result: the adapter's result for the delivery.
    ///   - transaction: the transaction to write in; you commit it.
    ///   - time: the present.
    ///   - trace: the delivery's trace, for ``JournalQueue/Item/trace`` of its news.
    /// - Throws: the transaction's errors, and an error if another transaction was faster: roll back then, and repeat
    ///   everything in a new transaction.
    @discardableResult
    public func apply(
        _ result: Normalization,
        in transaction: any JournalTransaction,
        at time: Date,
        trace: TraceParent? = nil
    ) async throws -> JournalUpdate {
        try await apply(result, from: nil, in: transaction, at: time, trace: trace)
    }

    /// - Parameters:
    ///   - source: the source of the delivery; nil for an upload or an answer.
    ///   - delivery: the delivery's row; nil for one that did not wait.
    ///   - isFinal: false if the delivery stays in quarantine, and will say all of this again.
    func apply(
        _ result: Normalization,
        from source: String?,
        keptIn delivery: JournalRecord? = nil,
        isFinal: Bool = true,
        in transaction: any JournalTransaction,
        at time: Date,
        trace: TraceParent? = nil
    ) async throws -> JournalUpdate {
        if try await ErasedNotifications.contains(result, transaction) { return JournalUpdate() }
        let rest = try await remainder(of: result, from: delivery, isFinal: isFinal, transaction)
        var update = try await join(rest ?? result, from: source, in: transaction, at: time, trace: trace)
        // After an erasure the delivery's body must not come back.
        if rest != nil { update.isNew = false }
        return update
    }

    /// - Parameter start: the beginning of an import. Its events are stored, and not reported: they are from before there was a journal,
    ///   or are notified, too.
    func join(
        _ result: Normalization,
        from source: String? = nil,
        in transaction: any JournalTransaction,
        at time: Date,
        trace: TraceParent? = nil,
        importedSince start: Date? = nil
    ) async throws -> JournalUpdate {
        var update = JournalUpdate()
        var newLines: [LogLine] = []
        var first: [EventID: String] = [:]
        var known: [(key: String, line: LogLine)] = []
        for line in result.logLines {
            let record = JournalRecord(
                key: try JournalKey.text(line),
                group: line.subscription.map { JournalKey.text($0) } ?? "",
                order: Int64.max,
                body: try CanonicalJSON.bytes(line)
            )
            guard try await transaction.insert(record, into: .log) else {
                known.append((record.key, line))
                continue
            }
            newLines.append(line)
            if case .event(let event) = line, first[event.id] == nil { first[event.id] = record.key }
        }
        // All of it was joined by the transaction that inserted the lines.
        guard !newLines.isEmpty else { return update }
        update.isNew = true
        // The state takes in the whole result, and the log gives the state: also what was erased before.
        for (key, line) in known where try await transaction.record(key, in: .log)?.body.isEmpty == true {
            guard try await Self.insertAgain(line, afterErasureOf: key, transaction) else { continue }
            newLines.append(line)
        }

        for statement in result.statements {
            for case .link(let other) in statement.facts where other != statement.subscription {
                try await Self.link(statement.subscription, other, in: transaction)
            }
        }
        // The end of a purchase ends its items, so that they are read together.
        for item in result.lineages {
            if let purchase = item.purchaseOfItem { try await Self.link(item, purchase, in: transaction) }
        }
        var rows = try await StateRows(linkedTo: result.lineages, transaction)
        let siblings = try await rows.readSiblings(of: result.statements, transaction)
        var ledger = AccountLedger(rows.states)
        for var applied in ledger.apply(result, catalog: options.catalog) {
            update.applied.append(applied)
            guard let line = first[applied.event.id] else { continue }
            let detail = QueueDetail(line: line, source: source, trace: trace, newsSince: start.map(Self.newsSince))
            let isNew = try await insert(applied, noting: detail, transaction, at: time)
            if !isNew {
                guard let news = try await becameNews(applied.event, noting: detail, transaction, at: time) else {
                    continue
                }
                update.applied[update.applied.count - 1] = news
                applied = news
            }
            update.newEvents.insert(applied.event.id)
            for item in DueItem.items(of: applied) {
                let sealed = try result.answerTokens[applied.event.id].flatMap { try seal($0, for: item.id) }
                try await Self.schedule(item, sealedToken: sealed, transaction)
            }
        }
        for lineage in result.lineages {
            for sibling in siblings where ledger[lineage]?.lineages.contains(sibling) == true {
                try await Self.link(lineage, sibling, in: transaction)
            }
        }
        let lineages = result.lineages + result.lineages.flatMap { ledger.items(of: $0) }
        try await rows.write(ledger, of: lineages, transaction)
        // Whose state is written has its names to itself: two transactions never wait for each other here.
        for line in newLines { try await Self.indexNames(of: line, transaction) }
        for transfer in ledger.transfers { try await Self.insert(transfer, transaction) }
        try await writeQuestions(of: lineages, in: ledger, handles: result.handles, transaction)
        return update
    }

    static func link(
        _ lineage: SubscriptionID,
        _ other: SubscriptionID,
        in transaction: any JournalTransaction
    ) async throws {
        for (from, to) in [(lineage, other), (other, lineage)] where !from.id.isEmpty && !to.id.isEmpty {
            let record = JournalRecord(
                key: JournalKey.text(from.description, to.description),
                group: JournalKey.text(from),
                body: Array(to.description.utf8)
            )
            _ = try await transaction.insert(record, into: .link)
        }
    }

    /// Stores that an account leads to a lineage.
    static func insert(
        accountRow account: Account.Identifier,
        of lineage: SubscriptionID,
        _ transaction: any JournalTransaction
    ) async throws {
        let record = JournalRecord(
            key: JournalKey.text(account.lookupKey, lineage.description),
            group: JournalKey.text(account),
            body: Array(lineage.description.utf8)
        )
        _ = try await transaction.insert(record, into: .account)
    }

    /// Stores a transfer once, and a row for each account that it names.
    static func insert(_ transfer: AccountTransfer, _ transaction: any JournalTransaction) async throws {
        let body = try CanonicalJSON.bytes(transfer)
        let key = JournalKey.digest(body)
        _ = try await transaction.insert(JournalRecord(key: key, body: body), into: .transfer)
        for account in transfer.transfer.names.inOrder {
            let record = JournalRecord(
                key: JournalKey.text(account.lookupKey, key),
                group: JournalKey.text(account),
                body: Array(key.utf8)
            )
            _ = try await transaction.insert(record, into: .transfer)
        }
    }

    /// The transfers that name an account.
    static func transfers(
        naming account: Account.Identifier,
        _ transaction: any JournalTransaction
    ) async throws -> [(record: JournalRecord, transfer: AccountTransfer)] {
        var transfers: [(JournalRecord, AccountTransfer)] = []
        for key in try await transferKeys(naming: account, transaction) {
            // Erased, by the other account that it names.
            guard let record = try await transaction.record(key, in: .transfer) else { continue }
            transfers.append((record, try CanonicalJSON.value(from: record.body)))
        }
        return transfers
    }

    /// Under what the transfers that name an account are kept, each once whatever number of accounts it names.
    static func transferKeys(
        naming account: Account.Identifier,
        _ transaction: any JournalTransaction
    ) async throws -> [String] {
        let selection = JournalSelection(group: JournalKey.text(account), limit: 500)
        return try await transaction.allRecords(selection, in: .transfer).map {
            String(decoding: $0.body, as: UTF8.self)
        }
    }
}

/// The outcome of applying a result.
public struct JournalUpdate: Sendable {
    /// The events with their dispositions, in the result's order; empty if the whole result was known.
    public internal(set) var applied: [AppliedEvent] = []
    /// The events that were stored for the first time, news or not.
    public internal(set) var newEvents: Set<EventID> = []
    /// True if the log has more by it, and all of the result may be kept.
    var isNew = false
}

/// The stored states of linked lineages. A state that several lineages share is stored once, in the row of the lineage that names it; the
/// other rows are empty.
struct StateRows {
    private(set) var records: [SubscriptionID: JournalRecord] = [:]
    private(set) var states: [SubscriptionState] = []
    /// The accounts that lead to each row.
    private var accounts: [SubscriptionID: Set<Account.Identifier>] = [:]

    /// No states.
    init() {}

    /// Reads the states of lineages, and of those that they are linked to, over as many links as there are.
    ///
    /// - Parameter isReplacing: true to take a state that cannot be read for one that is missing. Its row is replaced.
    init(
        linkedTo lineages: some Sequence<SubscriptionID>,
        replacingUnreadable isReplacing: Bool = false,
        _ transaction: any JournalTransaction
    ) async throws {
        var open = Array(lineages)
        var known = Set(open)
        while let lineage = open.popLast() {
            let key = JournalKey.text(lineage)
            let record = try await transaction.record(key, in: .state)
            records[lineage] = record
            if let state = try record.flatMap({ try Self.state(of: $0, replacingUnreadable: isReplacing) }) {
                // It stands for all of them.
                if state.subscription == lineage { known.formUnion(state.lineages) }
                states.append(state)
                accounts[lineage] = Set(AccountLedger([state]).accounts)
            }
            let linked = try await Self.lineages(in: .link, of: key, transaction)
            open += linked.filter { known.insert($0).inserted }
        }
    }

    /// The state of a row; nil for a lineage that another row stands for.
    private static func state(
        of record: JournalRecord,
        replacingUnreadable isReplacing: Bool
    ) throws -> SubscriptionState? {
        guard !record.body.isEmpty else { return nil }
        do { return try CanonicalJSON.value(from: record.body) } catch {
            guard isReplacing else { throw error }
            return nil
        }
    }

    /// Reads the account's other purchases in a store that names no link between a purchase and its successor, or the
    /// one that the customer comes back with.
    ///
    /// - Returns: the names of the states that were not read before.
    mutating func readSiblings(
        of statements: [StoreStatement],
        _ transaction: any JournalTransaction
    ) async throws -> Set<SubscriptionID> {
        let known = AccountLedger(states)
        let succeeding = statements.filter { $0.mayShowSuccessor(of: known[$0.subscription]) }
        let telling = succeeding + statements.filter { $0.mayShowReturn(of: known[$0.subscription]) }
        func owners(_ statements: [StoreStatement]) -> [Account.Identifier] {
            Set(statements.flatMap(\.accounts).map(\.name)).inOrder
        }
        for owner in owners(succeeding) { try await Self.takeTurn(owner, transaction) }
        var siblings: Set<SubscriptionID> = []
        for owner in owners(telling) {
            let lineages = try await Self.lineages(in: .account, of: JournalKey.text(owner), transaction)
            siblings.formUnion(
                lineages.filter { lineage in
                    records[lineage] == nil && telling.contains { $0.subscription.store == lineage.store }
                }
            )
        }
        let others = try await StateRows(linkedTo: siblings.inOrder, transaction)
        records.merge(others.records) { known, _ in known }
        states += others.states
        accounts.merge(others.accounts) { known, _ in known }
        return Set(others.states.map(\.subscription))
    }

    /// Lets one transaction at a time join an account's purchases, or use its credits: the purchases of two transactions may be one.
    static func takeTurn(_ owner: Account.Identifier, _ transaction: any JournalTransaction) async throws {
        let key = turnKey(owner)
        let row = try await transaction.record(key, in: .link)
        try await transaction.put(row ?? JournalRecord(key: key), over: row, in: .link)
    }

    /// The row whose version orders the transactions that join an account's purchases.
    static func turnKey(_ owner: Account.Identifier) -> String {
        JournalKey.text("purchases", JournalKey.text(owner))
    }

    /// The lineages that the rows of a group name.
    static func lineages(
        in table: JournalTable,
        of group: String,
        _ transaction: any JournalTransaction
    ) async throws -> [SubscriptionID] {
        try await transaction.allRecords(JournalSelection(group: group, limit: 500), in: table).map { record in
            guard let lineage = SubscriptionID(String(decoding: record.body, as: UTF8.self)) else {
                throw JournalError(.corrupt, "a row of \(table.name) names no lineage")
            }
            return lineage
        }
    }

    /// Raises the versions of all rows that were read. A concurrent writer of the same rows then begins again.
    ///
    /// - Throws: ``Conflict`` if one of them has changed meanwhile.
    func raiseVersions(_ transaction: any JournalTransaction) async throws {
        for record in records.values.inOrder {
            guard try await transaction.update(record, in: .state) else { throw Conflict() }
        }
    }

    /// Writes the states of lineages, and those of other names of the same purchases.
    ///
    /// - Throws: ``Conflict`` if one of them has changed meanwhile.
    func write(
        _ ledger: AccountLedger,
        of lineages: [SubscriptionID],
        _ transaction: any JournalTransaction
    ) async throws {
        // In one order, so that two transactions do not wait for each other.
        let changed = Set(lineages.flatMap { ledger[$0]?.lineages ?? [] })
        let names = lineages.compactMap { ledger[$0]?.subscription }
        let lineages = Set(lineages + names).union(records.keys.filter(changed.contains))
            .inOrder
        for lineage in lineages {
            guard let state = ledger[lineage] else { continue }
            let isNamed = lineage == state.subscription
            let body = isNamed ? try CanonicalJSON.bytes(state) : []
            if var record = try await known(lineage, transaction) {
                // Only readers of the row that stands for all of the others depend on an unchanged state.
                if record.body == body, !isNamed || state.lineages.count == 1 { continue }
                record.body = body
                guard try await transaction.update(record, in: .state) else { throw Conflict() }
            } else {
                let record = JournalRecord(key: JournalKey.text(lineage), body: body)
                guard try await transaction.insert(record, into: .state) else { throw Conflict() }
                try await Journal.index(lineage.id, of: lineage, transaction)
            }
            guard isNamed else { continue }
            let known = state.lineages.reduce(into: Set()) { $0.formUnion(accounts[$1] ?? []) }
            for account in AccountLedger([state]).accounts where !known.contains(account) {
                try await Journal.insert(accountRow: account, of: lineage, transaction)
            }
        }
    }
}

extension StateRows {
    /// The row of a lineage, which may be one that had no need to be read.
    ///
    /// - Throws: ``Conflict`` if it has a state by now.
    private func known(
        _ lineage: SubscriptionID,
        _ transaction: any JournalTransaction
    ) async throws -> JournalRecord? {
        if let record = records[lineage] { return record }
        let record = try await transaction.record(JournalKey.text(lineage), in: .state)
        if let record, !record.body.isEmpty { throw Conflict() }
        return record
    }
}

extension Collection<JournalRecord> {
    /// One order for all writers, so that two transactions do not wait for each other.
    var inOrder: [JournalRecord] { sorted { $0.key.precedes($1.key) } }
}
