import LifecycleJournal

/// Gives connections out, the first come first; there are never more than the configuration allows.
actor Pool {
    private let configuration: PostgresJournalStorage.Configuration
    private var idle: [Connection] = []
    private var count = 0
    private var waiting: [(id: Int, continuation: CheckedContinuation<Connection, any Error>)] = []
    private var lastID = 0

    init(_ configuration: PostgresJournalStorage.Configuration) { self.configuration = configuration }

    nonisolated func with<Value: Sendable>(
        _ body: @Sendable (Connection) async throws -> Value
    ) async throws -> Value {
        let connection = try await take()
        do {
            let value = try await body(connection)
            await give(connection)
            return value
        } catch {
            await give(connection)
            throw error
        }
    }

    private func take() async throws -> Connection {
        try Task.checkCancellation()
        if let connection = idle.popLast() { return connection }
        if count < configuration.maximumConnections {
            count += 1
            return Connection(configuration)
        }
        lastID += 1
        let id = lastID
        let limit = configuration.poolTimeout
        let timer = Task {
            try await ContinuousClock().sleep(for: limit)
            refuse(id, JournalError(.unavailable, "every connection to PostgreSQL is busy"))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Cancelled before this: it would stay in the list.
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                waiting.append((id, continuation))
            }
        } onCancel: {
            Task { await self.refuse(id, CancellationError()) }
        }
    }

    private func give(_ connection: Connection) {
        guard !waiting.isEmpty else { return idle.append(connection) }
        waiting.removeFirst().continuation.resume(returning: connection)
    }

    private func refuse(_ id: Int, _ error: any Error) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume(throwing: error)
    }
}
