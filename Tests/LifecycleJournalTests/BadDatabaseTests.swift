import Foundation
import Glibc
import LifecycleJournal
import NormalizerTesting
import PostgresJournal
@testable import SQLiteJournal
import Testing

@Suite("A database that is not right is a clear error, and 503 to the provider", .timeLimit(.minutes(5)))
struct BadDatabaseTests {
    private func code(_ body: () async throws -> Void) async -> JournalError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? JournalError)?.code
        }
    }

    private func journal(_ storage: any JournalStorage) -> Journal {
        Journal(storage, clock: TestClock(jumping: true), now: { StripeLife.start })
    }

    @Test("A file that is no database, and one that cannot be opened")
    func noDatabase() async throws {
        let folder = TemporaryFolder()
        try Data(repeating: 0x41, count: 4096).write(to: folder.url.appendingPathComponent("text"))
        #expect(await code { _ = try await SQLiteJournal(path: folder.path("text")) } == .corrupt)
        #expect(await code { _ = try await SQLiteJournal(path: folder.path("missing/file")) } == .configuration)
        #expect(await code { _ = try await SQLiteJournal(path: "a\0b") } == .configuration)
    }

    @Test("Tables of a later version are left alone, and missing ones are made by who may")
    func versions() async throws {
        let folder = TemporaryFolder()
        let path = folder.path("new.sqlite")
        #expect(await code { _ = try await SQLiteJournal(path: path, migrates: false) } == .configuration)
        #expect(try await SQLiteJournal.migrate(path: path) == 0)
        #expect(try await SQLiteJournal.migrate(path: path) == 1)
        _ = try await SQLiteJournal(path: path, migrates: false)
        try Database(path: path, busyTimeout: 1000).execute("UPDATE lifecycle_schema SET version = 99")
        #expect(await code { _ = try await SQLiteJournal(path: path) } == .newerSchema)
        #expect(await code { _ = try await SQLiteJournal.migrate(path: path) } == .newerSchema)
    }

    @Test(
        "A full disk is answered with 503, and what was kept before stays",
        .enabled(if: SmallDisk.isPossible, "only root can mount a disk that is small")
    )
    func fullDisk() async throws {
        let life = try StripeLife()
        let disk = try SmallDisk(kilobytes: 400)
        let journal = journal(try await SQLiteJournal(path: disk.path + "/full.sqlite"))
        var answers: [Int] = []
        for delivery in life.deliveries { answers.append(await journal.receive(delivery, with: life.adapter).status) }
        try #require(answers.contains(503))
        #expect(Set(answers).isSubset(of: [200, 503]))
        #expect(await code { _ = try await journal.outbox.next(lease: .seconds(1)) } != .corrupt)
        try disk.grow(toKilobytes: 40_000)
        for delivery in life.deliveries { #expect(await journal.receive(delivery, with: life.adapter).status == 200) }
        for state in try await life.ledger().states {
            #expect(try await journal.state(of: state.subscription) == state)
        }
        #expect(try await journal.verify().findings == [])
    }

    @Test("A row that was edited by hand is found, and nothing is built upon it")
    func editedRow() async throws {
        let life = try StripeLife()
        let storage = MemoryJournal()
        let journal = journal(storage)
        #expect(await journal.receive(life.deliveries[0], with: life.adapter).status == 200)
        try await storage.write { transaction in
            for var record in try await transaction.records(JournalSelection(limit: 9), in: .state) {
                record.body = Array("{".utf8)
                _ = try await transaction.update(record, in: .state)
            }
        }
        #expect(await journal.receive(life.deliveries[0], with: life.adapter).status == 200, "known already")
        var answers: Set<Int> = []
        for delivery in life.deliveries { answers.insert(await journal.receive(delivery, with: life.adapter).status) }
        #expect(answers.contains(503))
        let account = try #require(try await life.ledger().accounts.first)
        #expect(await code { _ = try await journal.access(of: [account], at: StripeLife.start) } == .corrupt)
    }

    @Suite("PostgreSQL", .enabled(if: PostgresServer.isInstalled, "\(PostgresServer.absence)"))
    struct Postgres {
        private func code(_ url: String, _ change: (inout PostgresJournal.Configuration) -> Void = { _ in }) async
            -> JournalError.Code?
        {
            var configuration = PostgresJournal.Configuration(url: Secret(url))
            change(&configuration)
            do {
                _ = try await PostgresJournal(configuration)
                return nil
            } catch {
                return error.code
            }
        }

        @Test("What is set up wrongly is a clear error")
        func configuration() async throws {
            let server = try await PostgresServer.shared()
            #expect(await code(server.address("missing")) == .configuration)
            #expect(await code(server.address("postgres", user: "nobody")) == .configuration)
            #expect(await code("mysql://localhost/x") == .configuration)
            #expect(await code("postgresql://127.0.0.1:1/x") { $0.connectTimeout = .seconds(2) } == .unavailable)
            #expect(await code(try await server.database(encoding: "LATIN1")) == .configuration)
            let url = try await server.database()
            #expect(await code(url) { $0.maximumConnections = 0 } == .configuration)
            #expect(await code(url) == nil)
            let name = try #require(url.split(separator: "/").last.map(String.init))
            try await server.psql(name, "UPDATE lifecycle_schema SET version = 99")
            #expect(await code(url) == .newerSchema)
        }

        @Test("Many processes that start at once make the tables once")
        func start() async throws {
            let url = try await PostgresServer.shared().database()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 { group.addTask { _ = try await PostgresJournal(.init(url: Secret(url))) } }
                try await group.waitForAll()
            }
        }

        @Test("A server that closes connections is asked again, and a pool of one serves many")
        func disconnected() async throws {
            let server = try await PostgresServer.shared()
            let life = try StripeLife()
            let url = try await server.database()
            var configuration = PostgresJournal.Configuration(url: Secret(url))
            configuration.maximumConnections = 1
            let journal = Journal(try await PostgresJournal(configuration), now: { StripeLife.start })
            let name = try #require(url.split(separator: "/").last.map(String.init))
            for delivery in life.deliveries.prefix(3) {
                #expect(await journal.receive(delivery, with: life.adapter).status == 200)
                try await server.psql(
                    name,
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '\(name)' AND pid <> pg_backend_pid()"
                )
            }
            await withTaskGroup(of: Int.self) { group in
                for delivery in life.deliveries {
                    group.addTask { await journal.receive(delivery, with: life.adapter).status }
                }
                for await status in group { #expect(status == 200) }
            }
            for state in try await life.ledger().states {
                #expect(try await journal.state(of: state.subscription) == state)
            }
        }

        @Test("A connection that is busy for too long, and a task that is cancelled, end in time")
        func patience() async throws {
            let url = try await PostgresServer.shared().database()
            var configuration = PostgresJournal.Configuration(url: Secret(url))
            configuration.maximumConnections = 1
            configuration.poolTimeout = .milliseconds(50)
            let storage = try await PostgresJournal(configuration)
            let held = Task {
                try await storage.write { _ in try await Task.sleep(for: .seconds(60)) }
            }
            while true {
                do {
                    _ = try await storage.read { try await $0.record("a", in: .state) }
                    await Task.yield()
                } catch let error as JournalError {
                    #expect(error.code == .unavailable)
                    break
                }
            }
            held.cancel()
            await #expect(throws: (any Error).self) { try await held.value }
            #expect(try await storage.read { try await $0.record("a", in: .state) } == nil)
        }
    }
}

/// A disk of memory, which only root can mount. It goes with its owner.
private final class SmallDisk {
    struct Failure: Error { var code: Int32 }

    static let isPossible = geteuid() == 0 && (try? SmallDisk(kilobytes: 100)) != nil

    private let folder = TemporaryFolder()
    var path: String { folder.url.path }

    init(kilobytes: Int) throws { try mount(kilobytes, 0) }

    deinit { unsafe umount2(path, Int32(MNT_DETACH)) }

    func grow(toKilobytes kilobytes: Int) throws { try mount(kilobytes, UInt(MS_REMOUNT)) }

    private func mount(_ kilobytes: Int, _ flags: UInt) throws {
        let options = "size=\(kilobytes)k"
        // The system reads the texts during the call.
        guard unsafe Glibc.mount("none", path, "tmpfs", flags, options) == 0 else { throw Failure(code: errno) }
    }
}
