/// Cancels work after a time, and waits for its end: the outcome is the work's own.
func cancelling<Value: Sendable>(
    after limit: Duration,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try? await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        while let outcome = try await group.next() {
            if let outcome { return outcome }
            group.cancelAll()
        }
        throw CancellationError()
    }
}
