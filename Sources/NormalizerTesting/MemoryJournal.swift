public import LifecycleJournal
import Synchronization

/// A journal's rows in memory, for tests. One transaction runs at a time, and its changes are dropped if it throws.
///
/// To test how a program bears failures, inject a ``Fault``.
public final class MemoryJournal: JournalStorage {
    /// A failure of a transaction.
    @nonexhaustive
    public enum Fault: Hashable, Sendable, CaseIterable {
        /// It cannot begin: the database is unreachable.
        case beforeBegin
        /// It breaks off in the middle.
        case beforeCommit
        /// It is committed, and the connection is lost before the answer comes.
        case afterCommit
        /// It is broken off in favour of another, and can be repeated.
        case conflict
        /// There is no room to write.
        case full
    }

    private struct Rows {
        var tables: [JournalTable: [[UInt8]: JournalRecord]] = [:]
        var lastNumber: Int64 = 0
    }

    private let rows = Mutex(Rows())
    private let turns = Turns()
    private let fault: @Sendable () -> Fault?
    /// True if an update forgets to look at the version: a mistake that `JournalConformance` has to find.
    private let losesUpdates: Bool

    /// Makes an empty storage.
    ///
    /// - Parameters:
    ///   - losesUpdates: lets the later of two writers win, as a storage without versions does, so that a test can see
    ///     the loss.
    ///   - fault: asked before each transaction that writes.
    public init(losesUpdates: Bool = false, fault: @escaping @Sendable () -> Fault? = { nil }) {
        self.losesUpdates = losesUpdates
        self.fault = fault
    }

    /// Runs a transaction.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        let fault = fault()
        switch fault {
        case .beforeBegin: throw JournalError(.unavailable, "injected: no connection")
        case .conflict: throw JournalError(.conflict, "injected: another transaction was faster")
        case .full: throw JournalError(.notWritable, "injected: the disk is full")
        default: break
        }
        // A storage that loses updates does so where two transactions overlap.
        if losesUpdates {
            let transaction = Transaction(rows.withLock { $0 }, checksVersions: false)
            let value = try await body(transaction)
            await Task.yield()
            let (changed, lastNumber) = (transaction.changed, transaction.rows.lastNumber)
            rows.withLock { rows in
                for (table, key, record) in changed { rows.tables[table, default: [:]][key] = record }
                rows.lastNumber = max(rows.lastNumber, lastNumber)
            }
            return value
        }
        await turns.begin()
        do {
            let transaction = Transaction(rows.withLock { $0 }, checksVersions: true)
            let value = try await body(transaction)
            if fault == .beforeCommit { throw JournalError(.unavailable, "injected: broken off") }
            let changed = transaction.rows
            rows.withLock { $0 = changed }
            if fault == .afterCommit { throw JournalError(.unavailable, "injected: committed, and then lost") }
            await turns.end()
            return value
        } catch {
            await turns.end()
            throw error
        }
    }

    /// Reads the last committed rows.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await body(Transaction(rows.withLock { $0 }, checksVersions: true))
    }

    private final class Transaction: JournalTransaction {
        var rows: Rows
        var changed: [(JournalTable, [UInt8], JournalRecord?)] = []
        private let checksVersions: Bool

        init(_ rows: Rows, checksVersions: Bool) {
            self.rows = rows
            self.checksVersions = checksVersions
        }

        // By octets, as databases compare; to Swift, an accent of its own is the same as one with its letter.
        private func put(_ record: JournalRecord?, _ key: String, in table: JournalTable) {
            rows.tables[table, default: [:]][Array(key.utf8)] = record
            changed.append((table, Array(key.utf8), record))
        }

        func record(_ key: String, in table: JournalTable) -> JournalRecord? {
            rows.tables[table]?[Array(key.utf8)]
        }

        func records(_ selection: JournalSelection, in table: JournalTable) -> [JournalRecord] {
            let group = selection.group?.utf8
            let found = (rows.tables[table] ?? [:]).values.filter { record in
                record.order <= selection.last && (record.order, record.number) > (selection.order, selection.number)
                    && (group.map(record.group.utf8.elementsEqual) ?? true)
            }
            return Array(found.sorted { ($0.order, $0.number) < ($1.order, $1.number) }.prefix(selection.limit))
        }

        func insert(_ record: JournalRecord, into table: JournalTable) -> Bool {
            guard self.record(record.key, in: table) == nil else { return false }
            var record = record
            rows.lastNumber += 1
            (record.number, record.version) = (rows.lastNumber, 1)
            put(record, record.key, in: table)
            return true
        }

        func update(_ record: JournalRecord, in table: JournalTable) -> Bool {
            guard let stored = self.record(record.key, in: table),
                stored.version == record.version || !checksVersions
            else { return false }
            var record = record
            record.version += 1
            record.number = stored.number
            put(record, record.key, in: table)
            return true
        }

        func delete(_ record: JournalRecord, from table: JournalTable) -> Bool {
            guard let stored = self.record(record.key, in: table), stored.version == record.version else {
                return false
            }
            put(nil, record.key, in: table)
            return true
        }
    }

    /// One transaction at a time, in the order in which they came.
    private actor Turns {
        private var isTaken = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func begin() async {
            guard isTaken else {
                isTaken = true
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func end() {
            if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
        }
    }
}
