import LifecycleJournal
import Logging
import ServiceLifecycle

/// Does rounds of one kind of work at intervals, in one of the processes that share a database.
struct ScheduledWork: Service {
    /// The longest time between two looks at the mark in the journal.
    private static let pause: Duration = .seconds(15)

    let name: String
    let lease: RoundLease
    let interval: Duration
    /// True to begin when the process starts, however long ago the last round was.
    var beginsAtOnce = false
    let metrics: GatewayMetrics
    let logger: Logger
    /// The work; returns true if it left some, so that the next round follows at once.
    let round: @Sendable (RoundLease.Last) async throws -> Bool

    func run() async {
        await cancelWhenGracefulShutdown {
            var isFirst = self.beginsAtOnce
            while !Task.isCancelled {
                var pause = min(self.interval, Self.pause)
                do {
                    let outcome = try await self.lease.run(every: self.interval, atOnce: isFirst, self.round)
                    if case .done(let leftWork) = outcome {
                        isFirst = false
                        self.metrics.ran(self.name, "done")
                        if leftWork { pause = .zero }
                    }
                } catch {
                    guard !Task.isCancelled else { return }
                    // The error of a journal names no content of a row.
                    let reason = (error as? JournalError)?.description ?? "\(type(of: error))"
                    self.metrics.ran(self.name, "failed")
                    self.logger.error("work failed", metadata: ["worker": "\(self.name)", "error": "\(reason)"])
                    pause = Self.pause
                }
                try? await Task.sleep(for: pause)
            }
        }
    }
}
