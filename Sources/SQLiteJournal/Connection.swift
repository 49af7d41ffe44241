import BlockingExecution
import LifecycleJournal

/// One connection, and the transactions that wait for it. Those that wait while another is committed are committed together,
/// so that each does not wait for the disk by itself.
actor Connection {
    /// The most writes that are committed together, so that the first does not wait forever.
    private static let groupSize = 64

    nonisolated let executor = QueueExecutor("lifecycle.sqlite")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let path: String
    private let busyTimeout: Int32
    private let begin: String
    private var database: Database?
    private var waiting: [any Job] = []
    private var isWorking = false

    init(path: String, busyTimeout: Int32, writes: Bool) {
        self.path = path
        self.busyTimeout = busyTimeout
        begin = writes ? "BEGIN IMMEDIATE" : "BEGIN"
    }

    func run<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            waiting.append(Work(body, continuation))
            if !isWorking {
                isWorking = true
                Task { await self.workOff() }
            }
        }
    }

    /// Makes the tables, or brings them to the present version.
    ///
    /// - Returns: the version that was there.
    func migrate() async throws -> Int64 {
        let database = try opened()
        // One process at a time: the others wait here, and find the tables there.
        try database.execute("BEGIN IMMEDIATE")
        do {
            let version = try await SQLJournalSchema.migrate(database, .sqlite)
            try database.execute("COMMIT")
            return version
        } catch {
            roll(back: database)
            throw error
        }
    }

    func checkVersion() async throws {
        let installed = try await SQLJournalSchema.installed(try opened(), .sqlite)
        guard installed != SQLJournalSchema.version else { return }
        throw JournalError(
            installed > SQLJournalSchema.version ? .newerSchema : .configuration,
            "the tables have version \(installed), and this build needs version \(SQLJournalSchema.version): migrate them first"
        )
    }

    /// Replaces the content of the file, of which no other connection may be open.
    func restore(from copy: String) async throws {
        let source = try Database(path: copy, busyTimeout: busyTimeout)
        guard try await SQLJournalSchema.installed(source, .sqlite) > 0 else {
            throw JournalError(.configuration, "the copy has no tables of a journal")
        }
        if let damage = try source.damage().first { throw JournalError(.corrupt, "the copy is damaged: \(damage)") }
        try Database(path: path, busyTimeout: busyTimeout).replaceContent(by: source)
    }

    func damage() throws -> [String] { try opened().damage() }

    private func opened() throws -> Database {
        if let database { return database }
        let opened = try Database(path: path, busyTimeout: busyTimeout)
        try opened.switchToWriteAheadLog(patience: busyTimeout)
        // With NORMAL, a power cut undoes the last commits.
        try opened.execute("PRAGMA synchronous = FULL")
        database = opened
        return opened
    }

    private func workOff() async {
        while true {
            // Calls that came during the last commit are taken up first.
            await Task.yield()
            guard !waiting.isEmpty else { break }
            let group = Array(waiting.prefix(Self.groupSize))
            waiting.removeFirst(group.count)
            await commit(group)
        }
        isWorking = false
    }

    private func commit(_ group: [any Job]) async {
        do {
            let database = try opened()
            try database.execute(begin)
            do {
                let transaction = SQLJournalTransaction(database, .sqlite)
                for job in group { try await perform(job, alone: group.count == 1, in: transaction, of: database) }
                try database.execute("COMMIT")
            } catch {
                roll(back: database)
                throw error
            }
            for job in group { job.finish(nil) }
        } catch {
            for job in group { job.finish(error) }
        }
    }

    /// - Throws: where the whole group is lost; an error of one body is that one's alone.
    private func perform(
        _ job: any Job,
        alone isAlone: Bool,
        in transaction: any JournalTransaction,
        of database: Database
    ) async throws {
        if isAlone {
            if let error = await job.run(transaction) { throw error }
            return
        }
        try database.execute("SAVEPOINT body")
        let error = await job.run(transaction)
        // A full disk, for one, has ended the transaction of all.
        if let error, database.isInAutocommit { throw error }
        if error != nil { try database.execute("ROLLBACK TO body") }
        try database.execute("RELEASE body")
    }

    private func roll(back database: Database) {
        guard !database.isInAutocommit else { return }
        // Where even that fails, the connection goes, and its transaction with it.
        do { try database.execute("ROLLBACK") } catch { self.database = nil }
    }
}

/// A body that waits for its transaction.
private protocol Job {
    /// - Returns: the error of the body.
    func run(_ transaction: any JournalTransaction) async -> (any Error)?
    /// Reports the result.
    func finish(_ failure: (any Error)?)
}

private final class Work<Value: Sendable>: Job {
    private let body: @Sendable (any JournalTransaction) async throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private var result: Result<Value, any Error>?

    init(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value,
        _ continuation: CheckedContinuation<Value, any Error>
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(_ transaction: any JournalTransaction) async -> (any Error)? {
        do {
            result = .success(try await body(transaction))
            return nil
        } catch {
            result = .failure(error)
            return error
        }
    }

    func finish(_ failure: (any Error)?) {
        if case .failure(let error)? = result { return continuation.resume(throwing: error) }
        if let failure { return continuation.resume(throwing: failure) }
        continuation.resume(with: result ?? .failure(JournalError(.unavailable, "the transaction was not run")))
    }
}
