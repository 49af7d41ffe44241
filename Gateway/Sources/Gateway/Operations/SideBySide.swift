import Logging
import ServiceLifecycle

/// Runs services side by side, and asks all of them to stop at once. A `ServiceGroup` asks one after the other, the first one last.
struct SideBySide: Service {
    let services: [any Service]
    let logger: Logger

    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for service in services {
                // In a group of its own, an end that was not asked for is an error, and ends the others.
                group.addTask { try await ServiceGroup(services: [service], logger: logger).run() }
            }
        }
    }
}
