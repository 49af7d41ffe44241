import LifecycleJournal
import Synchronization

/// A storage some of whose transactions fail, at places that a seed decides.
struct FaultyStorage: JournalStorage {
    private let storage: any JournalStorage
    private let generator: Generator

    init(_ storage: any JournalStorage, seed: UInt64) {
        self.storage = storage
        generator = Generator(seed: seed)
    }

    private final class Generator: Sendable {
        private let state: Mutex<SeededGenerator>

        init(seed: UInt64) { state = Mutex(SeededGenerator(seed: seed)) }

        /// A fault in about every third transaction.
        func fault() -> MemoryJournal.Fault? {
            state.withLock { generator in
                let faults = MemoryJournal.Fault.allCases
                let index = Int.random(in: 0..<faults.count * 3, using: &generator)
                return index < faults.count ? faults[index] : nil
            }
        }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        switch generator.fault() {
        case .beforeBegin: throw JournalError(.unavailable, "injected: no connection")
        case .conflict: throw JournalError(.conflict, "injected: another transaction was faster")
        case .full: throw JournalError(.notWritable, "injected: the disk is full")
        case .beforeCommit:
            return try await storage.write { transaction in
                _ = try await body(transaction)
                throw JournalError(.unavailable, "injected: broken off before the commit")
            }
        case .afterCommit:
            _ = try await storage.write(body)
            throw JournalError(.unavailable, "injected: the answer to a commit was lost")
        default:
            return try await storage.write(body)
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await storage.read(body)
    }
}
