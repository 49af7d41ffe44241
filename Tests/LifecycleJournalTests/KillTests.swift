import Foundation
import LifecycleJournal
import Normalizer
import PostgresJournal
import SQLiteJournal
import Testing

/// Processes that keep events and are killed while they do.
@Suite("A process that is killed has kept what it said it kept", .timeLimit(.minutes(10)))
struct KillTests {
    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] != nil
    private static let rounds = isLong ? 50 : 4
    private static let processes = isLong ? [2, 4] : [2]

    @Test("On SQLite", arguments: processes)
    func sqlite(processes: Int) async throws {
        let folder = TemporaryFolder()
        let path = folder.path("kill.sqlite")
        try await kill(
            processes,
            database: "sqlite:\(path)",
            in: folder,
            storage: try await SQLiteJournalStorage(path: path)
        )
    }

    @Test("On PostgreSQL", .enabled(if: PostgresServer.isInstalled, "\(PostgresServer.absence)"), arguments: processes)
    func postgres(processes: Int) async throws {
        let url = try await PostgresServer.shared().database()
        try await kill(
            processes,
            database: url,
            in: TemporaryFolder(),
            storage: try await PostgresJournalStorage(.init(url: SecretBytes(url)))
        )
    }

    /// Several processes at once write one log, each in an order of its own, and are killed at some moment, again and again.
    private func kill(
        _ processes: Int,
        database: String,
        in folder: TemporaryFolder,
        storage: some JournalStorage
    ) async throws {
        let journal = Journal(storage, now: { Date() })
        let ended = StripeLife.start.addingTimeInterval(400 * 86_400)
        let lines = try await Self.lines()
        let orders = (0..<processes).map { process in
            let turned = lines[(lines.count * process / processes)...] + lines[..<(lines.count * process / processes)]
            return process.isMultiple(of: 2) ? Array(turned) : turned.reversed()
        }
        for (process, order) in orders.enumerated() {
            try Data(try EventLog.bytes(lines: order)).write(to: URL(fileURLWithPath: folder.path("\(process).jsonl")))
        }
        var kept: Set<EventID> = []
        for round in 0..<Self.rounds {
            let writers = try orders.indices.map { process in
                try IngestingProcess(database, folder.path("\(process).jsonl"), in: folder)
            }
            for process in writers { try await process.waitForOutput() }
            try await Task.sleep(for: .milliseconds((round * 37) % 200))
            for (process, order) in zip(writers, orders) {
                for case .event(let event) in order.prefix(try await process.kill()) { kept.insert(event.id) }
            }
            let stored = Set(try await journal.events(limit: 100_000).map(\.event.event.id))
            #expect(kept.isSubset(of: stored), "round \(round): \(kept.subtracting(stored).count) are missing")
            #expect(try await journal.verify().findings == [])
        }
        for line in lines { try await journal.apply(Self.result(line)) }
        var expected = AccountLedger()
        for line in lines { expected.apply(line) }
        var customers: Set<Account.Identifier> = []
        for state in expected.states {
            #expect(try await journal.state(of: state.subscription) == state)
            guard let account = AccountLedger([state]).accounts.first else { continue }
            customers.insert(account)
            let policy = CreditPolicy(["prod_basic": .init(credits: 200), "prod_pro": .init(credits: 500)])
            let credits = try await journal.credits(of: [account], under: policy, at: ended)
            #expect(credits == CreditStatement(of: state, under: policy, uses: [], at: ended))
        }
        #expect(customers.count == 12)
        #expect(!kept.isEmpty)
        #expect(try await journal.rebuild().differing == [])
        var reported: [String] = []
        while true {
            let items = try await journal.outbox.next(100, lease: .seconds(600))
            if items.isEmpty { break }
            reported += items.map(\.id)
            for item in items { #expect(try await journal.outbox.done(item)) }
        }
        #expect(Set(reported).count == reported.count)
        let news = try await journal.events(limit: 100_000).filter(\.event.isNews)
        #expect(Set(reported) == Set(news.map(\.event.event.id.description)))
    }

    private static func result(_ line: LogLine) -> Normalization {
        switch line {
        case .event(let event): Normalization([event])
        case .statement(let statement): Normalization(noChange: .init(.unchanged, statement: statement))
        }
    }

    /// The lines of twelve customers' lives.
    private static func lines() async throws -> [LogLine] {
        var lines: [LogLine] = []
        for customer in 0..<12 {
            let life = try StripeLife(seed: "customer \(customer)")
            for delivery in life.deliveries { lines += try await life.adapter.receive(delivery).logLines }
        }
        return lines
    }
}

/// `lifecycle journal ingest --report`, as a process of its own.
private final class IngestingProcess {
    struct Silence: Error {}

    private let process = Process()
    private let output: URL
    private let end: AsyncStream<Void>

    init(_ database: String, _ file: String, in folder: TemporaryFolder) throws {
        let candidates = CommandLine.arguments.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let found = candidates.map { $0.appendingPathComponent("lifecycle") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        let executable: URL = try #require(found, "the executable is built with --traits CommandLineTool")
        process.executableURL = executable
        process.arguments = ["journal", "ingest", "--report", file]
        process.environment = ["LIFECYCLE_DATABASE": database]
        output = URL(fileURLWithPath: folder.path("\(UUID()).out"))
        try Data().write(to: output)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        self.end = end
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
    }

    deinit { if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) } }

    func waitForOutput() async throws {
        for _ in 0..<3000 {
            guard process.isRunning, try Data(contentsOf: output).isEmpty else { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Silence()
    }

    /// - Returns: how many lines it said it had kept.
    func kill() async throws -> Int {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        for await _ in end {}
        return try Data(contentsOf: output).count { $0 == 0x0A }
    }
}
