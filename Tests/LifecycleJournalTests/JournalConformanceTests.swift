import Foundation
import LifecycleJournal
import NormalizerTesting
import PostgresJournal
@testable import SQLiteJournal
import Testing

@Suite("Storages and what they promise", .timeLimit(.minutes(5)))
struct JournalConformanceTests {
    @Test("Memory keeps every promise")
    func memory() async {
        let findings = await JournalConformance { count in
            let storage = MemoryJournal()
            return (0..<count).map { _ in storage }
        }
        .findings()
        #expect(findings.isEmpty)
    }

    @Test("A storage that loses updates is found out")
    func lossy() async {
        let findings = await JournalConformance(seeds: [1, 2, 3]) { count in
            let storage = MemoryJournal(losesUpdates: true)
            return (0..<count).map { _ in storage }
        }
        .findings()
        #expect(findings.contains { $0.check == .lostUpdates })
        #expect(findings.contains { $0.check == .rows })
    }

    /// Asks SQLite how it would run the statements, and runs none.
    private final class Planner: SQLJournalConnection {
        private let database: Database
        private(set) var plans: [String] = []

        init(_ database: Database) { self.database = database }

        func query(_ statement: String, _ values: [SQLJournalValue]) async throws -> [[SQLJournalValue]] {
            for row in try database.query("EXPLAIN QUERY PLAN \(statement)", values) {
                if case .text(let plan)? = row.last { plans.append(plan) }
            }
            return []
        }
    }

    @Test("SQLite finds all rows by an index, and sorts none")
    func plans() async throws {
        let folder = TemporaryFolder()
        let path = folder.path("plans.sqlite")
        _ = try await SQLiteJournalStorage.migrate(path: path)
        let planner = Planner(try Database(path: path, busyTimeout: 1000))
        let transaction = SQLJournalTransaction(planner, .sqlite)
        let record = JournalRecord(key: "key")
        for table in JournalTable.allCases {
            _ = try await transaction.record(record.key, in: table)
            _ = try await transaction.records(JournalSelection(limit: 9), in: table)
            // States have no groups, and there are few checkpoints.
            if table != .state, table != .checkpoint {
                _ = try await transaction.records(JournalSelection(group: "group", limit: 9), in: table)
            }
            _ = try await transaction.update(record, in: table)
            _ = try await transaction.delete(record, from: table)
        }
        #expect(planner.plans.count == 5 * JournalTable.allCases.count - 2)
        #expect(planner.plans.filter { !$0.hasPrefix("SEARCH ") } == [])
    }

    @Test(
        "A file that SQLite makes can be read by its owner alone, and another keeps its mode",
        arguments: [0o600, 0o640]
    )
    func mode(mode: Int) async throws {
        let folder = TemporaryFolder()
        let path = folder.path("mode.sqlite")
        if mode != 0o600 {
            try #require(
                FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: mode])
            )
        }
        let storage = try await SQLiteJournalStorage(path: path)
        for name in [path, path + "-wal", path + "-shm"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: name)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(name)")
        }
        _ = try await storage.damage()
    }

    @Test("A file that SQLite makes behind links can be read by its owner alone", arguments: [true, false])
    func linkedMode(isRelative: Bool) async throws {
        let folder = TemporaryFolder()
        let (target, next) = (folder.path("target.sqlite"), folder.path("next.sqlite"))
        for (link, leadsTo) in [(folder.path("link.sqlite"), next), (next, target)] {
            let name = isRelative ? URL(fileURLWithPath: leadsTo).lastPathComponent : leadsTo
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: name)
        }
        for _ in 1...2 {
            _ = try await SQLiteJournalStorage(path: folder.path("link.sqlite")).damage()
            let attributes = try FileManager.default.attributesOfItem(atPath: target)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
    }

    /// On a busy machine a writer may have to wait for long; here that is not what is looked at.
    private let busyTimeout = Duration.seconds(120)

    @Test("SQLite keeps every promise")
    func sqlite() async {
        let folder = TemporaryFolder()
        let findings = await JournalConformance(seeds: [11, 12, 13]) { count in
            let path = folder.path("\(UUID()).sqlite")
            var storages: [any JournalStorage] = []
            for _ in 0..<count {
                storages.append(try await SQLiteJournalStorage(path: path, busyTimeout: busyTimeout))
            }
            return storages
        }
        .findings()
        #expect(findings.isEmpty)
    }

    @Test("PostgreSQL keeps every promise", .enabled(if: PostgresServer.isInstalled, "\(PostgresServer.absence)"))
    func postgres() async {
        let findings = await JournalConformance(seeds: [21, 22, 23]) { count in
            var configuration = PostgresJournalStorage.Configuration(
                url: SecretBytes(try await PostgresServer.shared().database())
            )
            configuration.connectTimeout = busyTimeout
            configuration.poolTimeout = busyTimeout
            configuration.statementTimeout = busyTimeout
            var storages: [any JournalStorage] = []
            for _ in 0..<count { storages.append(try await PostgresJournalStorage(configuration)) }
            return storages
        }
        .findings()
        #expect(findings.isEmpty)
    }
}
