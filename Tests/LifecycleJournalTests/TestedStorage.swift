import Foundation
import LifecycleJournal
import NormalizerTesting
import PostgresJournal
import SQLiteJournal

@testable import Normalizer

/// The storages that this machine can test.
enum TestedStorage: String, CaseIterable, Sendable {
    case memory, sqlite, postgres

    static let available = allCases.filter { $0 != .postgres || PostgresServer.isInstalled }

    /// Two connections to one empty database.
    func open(in folder: TemporaryFolder) async throws -> [any JournalStorage] {
        switch self {
        case .memory:
            let storage = MemoryJournal()
            return [storage, storage]
        case .sqlite:
            let path = folder.path("\(UUID()).sqlite")
            return [
                try await SQLiteJournalStorage(path: path, busyTimeout: .seconds(120)),
                try await SQLiteJournalStorage(path: path, busyTimeout: .seconds(120)),
            ]
        case .postgres:
            let configuration = PostgresJournalStorage.Configuration(
                url: SecretBytes(try await PostgresServer.shared().database())
            )
            return [try await PostgresJournalStorage(configuration), try await PostgresJournalStorage(configuration)]
        }
    }
}
