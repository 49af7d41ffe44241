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
        #expect(await code { _ = try await SQLiteJournalStorage(path: folder.path("text")) } == .corrupt)
        #expect(await code { _ = try await SQLiteJournalStorage(path: folder.path("missing/file")) } == .configuration)
        #expect(await code { _ = try await SQLiteJournalStorage(path: "a\0b") } == .configuration)
    }

    @Test("Tables of a later version are left alone, and missing ones are made by who may")
    func versions() async throws {
        let folder = TemporaryFolder()
        let path = folder.path("new.sqlite")
        #expect(await code { _ = try await SQLiteJournalStorage(path: path, migrates: false) } == .configuration)
        #expect(try await SQLiteJournalStorage.migrate(path: path) == 0)
        #expect(try await SQLiteJournalStorage.migrate(path: path) == 1)
        _ = try await SQLiteJournalStorage(path: path, migrates: false)
        try Database(path: path, busyTimeout: 1000).execute("UPDATE lifecycle_schema SET version = 99")
        #expect(await code { _ = try await SQLiteJournalStorage(path: path) } == .newerSchema)
        #expect(await code { _ = try await SQLiteJournalStorage.migrate(path: path) } == .newerSchema)
    }

    @Test("A file that may not be written", .enabled(if: SmallDisk.isPossible, SmallDisk.absence))
    func readOnly() async throws {
        let disk = try SmallDisk()
        let path = disk.path + "/read-only.sqlite"
        #expect(try await SQLiteJournalStorage.migrate(path: path) == 0)
        try disk.protect()
        for migrates in [true, false] {
            let code = await code { _ = try await SQLiteJournalStorage(path: path, migrates: migrates) }
            #expect(code == .notWritable)
        }
    }

    @Test("A full disk", .enabled(if: SmallDisk.isPossible, SmallDisk.absence))
    func fullDisk() async throws {
        let disk = try SmallDisk()
        let storage = try await SQLiteJournalStorage(path: disk.path + "/full.sqlite")
        try await takeIn(storage, trouble: disk.fill, recovery: disk.makeRoom)
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
        private func code(_ url: String, _ change: (inout PostgresJournalStorage.Configuration) -> Void = { _ in })
            async
            -> JournalError.Code?
        {
            var configuration = PostgresJournalStorage.Configuration(url: SecretBytes(url))
            change(&configuration)
            do {
                _ = try await PostgresJournalStorage(configuration)
                return nil
            } catch {
                return error.code
            }
        }

        @Test("A wrong setup is a clear error")
        func configuration() async throws {
            let server = try await PostgresServer.shared()
            #expect(await code(server.address("missing")) == .configuration)
            #expect(await code(server.address("postgres", user: "nobody")) == .configuration)
            #expect(await code("mysql://localhost/x") == .configuration)
            #expect(await code("postgresql://u:s3cr%et@127.0.0.1:1/x") == .configuration)
            #expect(await code("postgresql://u:s3cr/et@127.0.0.1:1/x") == .configuration)
            #expect(await code("postgresql://127.0.0.1:1/x") { $0.connectTimeout = .seconds(2) } == .unavailable)
            #expect(await code(try await server.database(encoding: "LATIN1")) == .configuration)
            let url = try await server.database()
            #expect(await code(url) { $0.maximumConnections = 0 } == .configuration)
            #expect(await code(url) == nil)
            let passwords: [String: JournalError.Code?] = [":right": nil, ":wrong": .configuration, "": .configuration]
            for (password, expected) in passwords {
                let user = PostgresServer.guarded + password
                #expect(await code(server.address(server.name(url), user: user)) == expected, "\(user)")
            }
            try await server.psql(server.name(url), "UPDATE lifecycle_schema SET version = 99")
            #expect(await code(url) == .newerSchema)
        }

        @Test("Many processes that start at once make the tables once")
        func start() async throws {
            let url = try await PostgresServer.shared().database()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 { group.addTask { _ = try await PostgresJournalStorage(.init(url: SecretBytes(url))) } }
                try await group.waitForAll()
            }
        }

        @Test("A server that closes connections is asked again, and a pool of one serves many")
        func disconnected() async throws {
            let server = try await PostgresServer.shared()
            let life = try StripeLife()
            let url = try await server.database()
            var configuration = PostgresJournalStorage.Configuration(url: SecretBytes(url))
            configuration.maximumConnections = 1
            let journal = Journal(try await PostgresJournalStorage(configuration), now: { StripeLife.start })
            for delivery in life.deliveries.prefix(3) {
                #expect(await journal.receive(delivery, with: life.adapter).status == 200)
                try await server.disconnect(server.name(url))
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

        @Test("A full disk", .enabled(if: SmallDisk.isPossible, SmallDisk.absence))
        func fullDisk() async throws {
            let server = try await PostgresServer()
            let disk = try SmallDisk()
            let url = try await server.database(on: try await disk.folder(of: "postgres"))
            let storage = try await PostgresJournalStorage(.init(url: SecretBytes(url)))
            try await takeIn(storage, trouble: disk.fill, recovery: disk.makeRoom)
        }

        // After a switch-over, the connections that were made to the stand-by stay there.
        @Test("A server that crashes, that answers no more, and that may not be written", arguments: Trouble.allCases)
        func trouble(trouble: Trouble) async throws {
            let server = try await PostgresServer()
            let url = try await server.database()
            var configuration = PostgresJournalStorage.Configuration(url: SecretBytes(url))
            configuration.connectTimeout = .milliseconds(300)
            configuration.statementTimeout = .milliseconds(300)
            let storage = try await PostgresJournalStorage(configuration)
            try await takeIn(storage) {
                switch trouble {
                case .crash: try await server.stop()
                case .silence: try await server.signal("STOP")
                case .protection:
                    try await server.protect(server.name(url), true)
                    try await server.disconnect(server.name(url))
                }
            } recovery: {
                switch trouble {
                case .crash: try await server.start()
                case .silence: try await server.signal("CONT")
                case .protection: try await server.protect(server.name(url), false)
                }
            }
        }

        enum Trouble: CaseIterable { case crash, silence, protection }

        @Test("A host that does not answer is passed over for the next one of the URL")
        func hosts() async throws {
            let server = try await PostgresServer.shared()
            let name = server.name(try await server.database())
            let (silent, port) = try Self.listening()
            defer { close(silent) }
            let url = server.address(name).replacing("lifecycle@", with: "lifecycle@127.0.0.1:\(port),")
            #expect(await code(url) { $0.connectTimeout = .seconds(12) } == nil)
        }

        @Test(
            "A server that ends the connection while TLS begins cannot be reached, and one without TLS is a wrong setting",
            arguments: [("S", JournalError.Code.unavailable), ("N", .configuration)]
        )
        func withoutTLS(answer: String, code: JournalError.Code) async throws {
            let (listening, port) = try Self.listening()
            defer { close(listening) }
            Thread.detachNewThread {
                let client = accept(listening, nil, nil)
                var request = [UInt8](repeating: 0, count: 8)
                _ = unsafe read(client, &request, request.count)
                _ = unsafe write(client, Array(answer.utf8), 1)
                close(client)
            }
            #expect(await self.code("postgresql://lifecycle@127.0.0.1:\(port)/lifecycle?sslmode=require") == code)
        }

        /// A socket that takes connections without a word, and its port.
        private static func listening() throws -> (socket: Int32, port: UInt16) {
            let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            // The port is any free one. The system reads and writes the address during the calls.
            let port = try unsafe withUnsafeMutablePointer(to: &address) { pointer in
                try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                    try #require(unsafe bind(listening, pointer, size) == 0 && listen(listening, 8) == 0)
                    try #require(unsafe getsockname(listening, pointer, &size) == 0)
                }
                return unsafe UInt16(bigEndian: pointer.pointee.sin_port)
            }
            return (listening, port)
        }

        @Test("A task that is cancelled ends at once while the server hangs")
        func cancelled() async throws {
            let server = try await PostgresServer()
            let storage = try await PostgresJournalStorage(.init(url: SecretBytes(try await server.database())))
            try await server.signal("STOP")
            let read = Task { try await storage.read { try await $0.record("a", in: .state) } }
            try await Task.sleep(for: .milliseconds(200))
            let start = ContinuousClock.now
            read.cancel()
            await #expect(throws: (any Error).self) { try await read.value }
            #expect(ContinuousClock.now - start < .seconds(8))
            try await server.signal("CONT")
        }

        @Test("A connection that is busy for too long, and a task that is cancelled, end in time")
        func patience() async throws {
            let url = try await PostgresServer.shared().database()
            var configuration = PostgresJournalStorage.Configuration(url: SecretBytes(url))
            configuration.maximumConnections = 1
            configuration.poolTimeout = .milliseconds(50)
            let storage = try await PostgresJournalStorage(configuration)
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

/// Takes a customer's life in until three deliveries could not be kept, and the whole life when that is over.
///
/// - Parameters:
///   - trouble: makes it so that soon nothing can be kept.
///   - recovery: ends the trouble.
private func takeIn(
    _ storage: some JournalStorage,
    trouble: () async throws -> Void,
    recovery: () async throws -> Void
) async throws {
    let life = try StripeLife()
    let journal = Journal(storage, clock: TestClock(jumping: true), now: { StripeLife.start })
    var answers: [Int] = []
    var kept: Set<EventID> = []
    for delivery in life.deliveries where answers.count(where: { $0 != 200 }) < 3 {
        if answers.count == 4 { try await trouble() }
        answers.append(await journal.receive(delivery, with: life.adapter).status)
        if answers.last == 200 { kept.formUnion(try await life.adapter.receive(delivery).events.map(\.id)) }
    }
    #expect(answers.prefix(4) == [200, 200, 200, 200])
    #expect(Set(answers) == [200, 503])
    try await recovery()
    #expect(try await kept.isSubset(of: journal.events().map(\.event.event.id)))
    for delivery in life.deliveries { #expect(await journal.receive(delivery, with: life.adapter).status == 200) }
    for state in try await life.ledger().states {
        #expect(try await journal.state(of: state.subscription) == state)
    }
    #expect(try await journal.verify().findings == [])
}

/// A disk of memory, which only root can mount. It goes with its owner.
private final class SmallDisk {
    struct Failure: Error { var code: Int32 }

    static let isPossible = geteuid() == 0 && (try? SmallDisk()) != nil
    static let absence: Comment = "only root can mount a disk of a size"

    private let folder = TemporaryFolder()
    var path: String { folder.url.path }

    init() throws { try mount("size=40m", 0) }

    deinit { unsafe umount2(path, Int32(MNT_DETACH)) }

    /// Leaves no room but in the blocks that are taken.
    func fill() throws {
        var status = statvfs()
        // The system writes to it during the call.
        guard unsafe statvfs(path, &status) == 0 else { throw Failure(code: errno) }
        try mount("size=\((status.f_blocks - status.f_bfree) * status.f_frsize)", UInt(MS_REMOUNT))
    }

    func makeRoom() throws { try mount("size=40m", UInt(MS_REMOUNT)) }

    /// Has nothing be written any more.
    func protect() throws { try mount("", UInt(MS_REMOUNT | MS_RDONLY)) }

    /// A folder on it that belongs to a user.
    ///
    /// - Returns: its path.
    func folder(of user: String) async throws -> String {
        let path = path + "/\(user)"
        let run = try await CommandRun("install", ["-d", "-o", user, path])
        guard run.status == 0 else { throw Failure(code: run.status) }
        return path
    }

    private func mount(_ options: String, _ flags: UInt) throws {
        // The system reads the texts during the call.
        guard unsafe Glibc.mount("none", path, "tmpfs", flags, options) == 0 else { throw Failure(code: errno) }
    }
}
