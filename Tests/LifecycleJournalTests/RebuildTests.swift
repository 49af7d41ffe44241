import Foundation
import LifecycleJournal
import NormalizerTesting
import Synchronization
import Testing

@Suite(
    "A rebuild or a verification beside other processes",
    .enabled(if: PostgresServer.isInstalled, "\(PostgresServer.absence)"),
    .timeLimit(.minutes(5))
)
struct RebuildTests {
    /// A storage at whose reads others may write.
    struct Interrupted: JournalStorage {
        let storage: any JournalStorage
        let interrupt: @Sendable () async throws -> Void

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
        ) async throws -> Value {
            let interrupt = interrupt
            return try await storage.write { try await body(Transaction($0, interrupt)) }
        }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
        ) async throws -> Value {
            let interrupt = interrupt
            return try await storage.read { try await body(Transaction($0, interrupt)) }
        }
    }

    private final class Transaction: JournalTransaction {
        private let base: any JournalTransaction
        private let interrupt: () async throws -> Void
        /// Once it has written, others would wait for its end.
        private var hasWritten = false

        init(_ base: any JournalTransaction, _ interrupt: @escaping () async throws -> Void) {
            self.base = base
            self.interrupt = interrupt
        }

        func record(_ key: String, in table: JournalTable) async throws -> JournalRecord? {
            if !hasWritten { try await interrupt() }
            return try await base.record(key, in: table)
        }

        func records(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord] {
            if !hasWritten { try await interrupt() }
            return try await base.records(selection, in: table)
        }

        func insert(_ record: JournalRecord, into table: JournalTable) async throws -> Bool {
            hasWritten = true
            return try await base.insert(record, into: table)
        }

        func update(_ record: JournalRecord, in table: JournalTable) async throws -> Bool {
            hasWritten = true
            return try await base.update(record, in: table)
        }

        func delete(_ record: JournalRecord, from table: JournalTable) async throws -> Bool {
            hasWritten = true
            return try await base.delete(record, from: table)
        }
    }

    private static let month = 30 * ReconcileTests.day

    private static func payment(_ number: Int) -> Normalization {
        let start = Double(number) * month
        return ReconcileTests.statement(at: start, from: start, until: start + month, transaction: "\(number)")
    }

    @Test("undoes nothing of theirs, and finds no difference, at whichever read they write", arguments: [true, false])
    func interrupted(isRepairing: Bool) async throws {
        let storages = try await TestedStorage.postgres.open(in: TemporaryFolder())
        let other = Journal(storages[1], now: { ReconcileTests.start })
        try await other.apply(Self.payment(0))
        // More reads than there are about the first line, which stands for the purchase.
        for number in 1...24 {
            let left = Mutex(number)
            let payment = Self.payment(number)
            let interrupted = Interrupted(storage: storages[0]) {
                let isNow = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isNow { try await other.apply(payment) }
            }
            let journal = Journal(interrupted, now: { ReconcileTests.start })
            #expect(try await journal.rebuild(repairing: isRepairing).differing == [], "at read \(number)")
            #expect(left.withLock { $0 } <= 0)
            #expect(try await other.rebuild().differing == [], "at read \(number)")
        }
    }

    @Test("calls no line missing that they write meanwhile, at whichever read")
    func verified() async throws {
        let storages = try await TestedStorage.postgres.open(in: TemporaryFolder())
        let other = Journal(storages[1], now: { ReconcileTests.start })
        try await other.apply(Self.payment(0))
        for number in 1...8 {
            let left = Mutex(number)
            let payment = Self.payment(number)
            let interrupted = Interrupted(storage: storages[0]) {
                let isNow = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                guard isNow else { return }
                try await other.apply(payment)
                // Gives out the line's position.
                _ = try await other.lines()
            }
            let journal = Journal(interrupted, now: { ReconcileTests.start })
            #expect(try await journal.verify().findings == [], "at read \(number)")
            #expect(left.withLock { $0 } <= 0)
        }
    }
}
