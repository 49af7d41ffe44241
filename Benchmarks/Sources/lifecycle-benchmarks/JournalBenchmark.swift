import AppleJWS
import Foundation
import LifecycleJournal
import Normalizer
import NotificationSimulator
import PostgresJournal
import RawDatabase
import SQLiteJournal
import Synchronization

/// From the bytes of a notification to what was committed of it.
struct JournalBenchmark {
    let subjects: Subjects
    /// Three raw verifications over the lengths that one notification has.
    let floor: RawFloor
    /// A server with an empty database; nil where none runs. Its transactions have to reach the disk.
    let postgres = ProcessInfo.processInfo.environment["LIFECYCLE_BENCHMARK_POSTGRES"]

    func run() async throws {
        Table.title("Journal, Apple's notifications from their bytes to a durable commit, one after the other")
        let file = try Scratch.file("commits.sqlite", [])
        try await rows(
            "SQLite",
            target: 4,
            storage: try await SQLiteJournalStorage(path: file),
            bare: try BareDatabase(raw_sqlite_open(file))
        )
        try await histories()
        guard let postgres else {
            return print("  PostgreSQL: LIFECYCLE_BENCHMARK_POSTGRES names no database")
        }
        let storage = try await PostgresJournalStorage(.init(url: SecretBytes(postgres)))
        try await rows("PostgreSQL", target: 5, storage: storage, bare: try BareDatabase(raw_postgres_open(postgres)))
        for connections in [1, 2, 4] {
            var configuration = PostgresJournalStorage.Configuration(url: SecretBytes(postgres))
            configuration.maximumConnections = connections
            let journal = journal(try await PostgresJournalStorage(configuration))
            let deliveries = try deliveries(100, "\(connections) connections").shuffled()
            let rate = try await rate(of: journal, deliveries)
            Table.row("PostgreSQL, 16 at once over \(connections) connections", ours: "\(rate)/s")
        }
    }

    /// Peak memory while so many notifications, no two of them the same, go through a journal on SQLite.
    func memory(count: Int) async throws {
        let journal = journal(try await SQLiteJournalStorage(path: try Scratch.file("memory.sqlite", [])))
        var received = 0
        var marks: [String] = []
        for share in [count / 100, count / 10, count] {
            while received < share {
                let deliveries = try deliveries(10, "\(received)")
                _ = try await rate(of: journal, deliveries)
                received += deliveries.count
            }
            marks.append("\(received): \(try MemoryBenchmark.peak() / 1024) MiB")
        }
        print(
            "\nPeak memory of a journal on SQLite after so many notifications: \(marks.joined(separator: ", "))   (flat)"
        )
    }

    /// Storing one more renewal, against the length of the history behind it: a state is one row.
    private func histories() async throws {
        let journal = journal(try await SQLiteJournalStorage(path: try Scratch.file("histories.sqlite", [])))
        var works: [Work] = []
        let counts = [10, 100, 1000]
        for count in counts {
            let lineage = SubscriptionID(store: .appStore, environment: .production, id: "\(count)")
            var next = count
            try await journal.apply(
                Normalization((0..<count).map { StateBenchmark.renewal($0, of: lineage) })
            )
            works.append(
                Work(waiting: {
                    try await journal.apply(Normalization([StateBenchmark.renewal(next, of: lineage)]))
                    next += 1
                })
            )
        }
        let measured = try await Measurement(rounds: 11, iterations: 3, works)
        for (index, count) in counts.enumerated() {
            Table.row(
                "SQLite, one renewal stored in a lineage of \(count) periods; floor: of \(counts[0])",
                ours: microseconds(measured.median(index)),
                floor: microseconds(measured.median(0)),
                timesFloor: measured.ratio(index, to: 0)
            )
        }
    }

    private func journal(_ storage: some JournalStorage) -> Journal { Journal(storage, now: { Date() }) }

    /// The App Store's deliveries of so many customers' lives.
    private func deliveries(_ customers: Int, _ name: String) throws -> [Delivery] {
        let simulator = subjects.appleSimulator
        return try (0..<customers).flatMap { customer in
            let story = CustomerStory("\(name) \(customer)", CustomerStory.life.title, steps: CustomerStory.life.steps)
            return try simulator.notifications(story, from: Date(timeIntervalSince1970: 1_767_225_600)).map {
                try simulator.delivery(of: $0, sentAt: $0.occurredAt.addingTimeInterval(1))
            }
        }
    }

    private func receive(_ delivery: Delivery, _ journal: Journal) async throws {
        let answer = await journal.receive(delivery, with: subjects.apple.adapter)
        guard answer.status == 200 else { throw BenchmarkError("a delivery was answered with \(answer.status)") }
    }

    /// - Returns: how many deliveries a second are kept where sixteen come at once.
    private func rate(of journal: Journal, _ deliveries: [Delivery]) async throws -> Int {
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, delivery) in deliveries.enumerated() {
                if index >= 16 { try await group.next() }
                group.addTask { try await receive(delivery, journal) }
            }
            try await group.waitForAll()
        }
        return Int(Double(deliveries.count) / (ContinuousClock.now - start).seconds)
    }

    private func rows(
        _ name: String,
        target: Int,
        storage: some JournalStorage,
        bare: BareDatabase
    ) async throws {
        let recorder = RecordingStorage(storage)
        let journal = journal(recorder)
        var waiting = try deliveries(200, name)[...]
        let receiveNext = Work(waiting: {
            guard let delivery = waiting.popFirst() else { throw BenchmarkError("there are too few deliveries") }
            try await receive(delivery, journal)
        })
        let measured = try await Measurement(
            rounds: 25,
            iterations: 30,
            [receiveNext, Work { try floor.verify() }]
        )
        Table.row(
            "\(name), processor time of this process; floor: three P-256",
            ours: microseconds(measured.median(0)),
            floor: microseconds(measured.median(1)),
            timesFloor: measured.ratio(0, to: 1),
            target: "× floor ≤ \(target)"
        )
        // The rows are written a second time, under other keys, by the database's own library.
        for writes in recorder.takeWrites() { try bare.commit(writes.map(\.renamed)) }
        var times: (ours: [Double], bare: [Double]) = ([], [])
        for _ in 0..<21 {
            var start = ContinuousClock.now
            try await receiveNext.run(30)
            times.ours.append((ContinuousClock.now - start).seconds / 30)
            let transactions = recorder.takeWrites().map { $0.map(\.renamed) }
            start = ContinuousClock.now
            for writes in transactions { try bare.commit(writes) }
            times.bare.append((ContinuousClock.now - start).seconds / Double(transactions.count))
        }
        let ratio = zip(times.bare, times.ours).map { $0 / $1 }.median
        Table.row(
            "\(name), durable commits a second; floor: the same rows by its C API",
            ours: "\(Int(1 / times.ours.median))/s",
            floor: "\(Int(1 / times.bare.median))/s",
            timesFloor: ratio,
            target: "× floor ≥ 0.6"
        )
    }
}

/// One write of a journal.
struct JournalWrite: Sendable {
    enum Operation: Int32, Sendable { case insert, update, delete }

    var operation: Operation
    var table: JournalTable
    var record: JournalRecord

    /// The same write of another row.
    var renamed: JournalWrite {
        var copy = self
        copy.record.key = "~" + record.key.dropFirst()
        copy.record.group = "~" + record.group.dropFirst()
        return copy
    }
}

/// A storage that remembers what is written in each transaction.
final class RecordingStorage<Base: JournalStorage>: JournalStorage {
    private let base: Base
    private let transactions = Mutex<[[JournalWrite]]>([])

    init(_ base: Base) { self.base = base }

    func takeWrites() -> [[JournalWrite]] {
        transactions.withLock { transactions in
            defer { transactions = [] }
            return transactions
        }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        let (value, writes) = try await base.write { transaction in
            let recording = RecordingTransaction(transaction)
            return (try await body(recording), recording.writes)
        }
        transactions.withLock { $0.append(writes) }
        return value
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value { try await base.read(body) }
}

private final class RecordingTransaction: JournalTransaction {
    private let base: any JournalTransaction
    private(set) var writes: [JournalWrite] = []

    init(_ base: any JournalTransaction) { self.base = base }

    func record(_ key: String, in table: JournalTable) async throws -> JournalRecord? {
        try await base.record(key, in: table)
    }

    func records(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord] {
        try await base.records(selection, in: table)
    }

    func insert(_ record: JournalRecord, into table: JournalTable) async throws -> Bool {
        try await noted(.insert, record, in: table) { try await base.insert(record, into: table) }
    }

    func update(_ record: JournalRecord, in table: JournalTable) async throws -> Bool {
        try await noted(.update, record, in: table) { try await base.update(record, in: table) }
    }

    func delete(_ record: JournalRecord, from table: JournalTable) async throws -> Bool {
        try await noted(.delete, record, in: table) { try await base.delete(record, from: table) }
    }

    private func noted(
        _ operation: JournalWrite.Operation,
        _ record: JournalRecord,
        in table: JournalTable,
        perform: () async throws -> Bool
    ) async throws -> Bool {
        guard try await perform() else { return false }
        writes.append(JournalWrite(operation: operation, table: table, record: record))
        return true
    }
}

/// The database's own library, written to without a journal.
private final class BareDatabase {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer?) throws {
        guard let handle else { throw BenchmarkError("the database cannot be opened by its own library") }
        self.handle = handle
    }

    deinit { raw_database_close(handle) }

    func commit(_ writes: [JournalWrite]) throws {
        var raw: [raw_write] = []
        // Texts and bytes have to stay where they are until everything is written.
        var held: [UnsafeMutableRawPointer] = []
        defer { for pointer in held { pointer.deallocate() } }
        func hold(_ bytes: [UInt8]) -> UnsafeMutableRawPointer {
            let copy = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
            bytes.withUnsafeBytes {
                copy.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(copy), byteCount: bytes.count)
            }
            held.append(copy)
            return copy
        }
        func text(_ text: String) -> UnsafePointer<CChar> {
            UnsafePointer(hold(Array(text.utf8) + [0]).assumingMemoryBound(to: CChar.self))
        }
        for write in writes {
            let record = write.record
            raw.append(
                raw_write(
                    operation: write.operation.rawValue,
                    table: text(write.table.name),
                    key: text(record.key),
                    group: text(record.group),
                    order: record.order,
                    body: hold(record.body),
                    body_count: record.body.count,
                    detail: hold(record.detail),
                    detail_count: record.detail.count
                )
            )
        }
        guard raw_database_commit(handle, raw, raw.count) == 1 else {
            throw BenchmarkError("the database's own library has not committed")
        }
    }
}
