import LifecycleJournal
import Logging
import ServiceLifecycle

/// Runs rounds of work until the process is asked to stop. The next round follows at once after a round that did something, after
/// five seconds if the database failed, and otherwise after half a second.
func repeatUntilShutdown(
    logger: Logger,
    _ name: String,
    round: @escaping @Sendable () async throws -> Int
) async {
    await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
            do {
                let count = try await round()
                if count == 0 { try await Task.sleep(for: .milliseconds(500)) }
            } catch is CancellationError {
                return
            } catch {
                // The error of a journal names no content of a row.
                logger.error(
                    "work failed",
                    metadata: [
                        "worker": "\(name)",
                        "error": "\((error as? JournalError)?.description ?? "\(type(of: error))")",
                    ]
                )
                try? await Task.sleep(for: .seconds(5))
            }
        }
    }
}
