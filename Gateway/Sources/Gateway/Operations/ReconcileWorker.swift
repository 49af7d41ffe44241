import FoundationEssentials
import LifecycleJournal
import Logging
import Normalizer

/// Asks providers about purchases whose notifications seem to be missing, a batch at a time, and after live deliveries.
struct ReconcileWorker: Sendable {
    /// How long a batch waits for live deliveries at most, so that steady traffic cannot stop it for good.
    private static let patience: Duration = .seconds(60)

    let journal: Journal
    let questions: [any LineageQuestions]
    /// How many purchases a round asks about at most.
    let batch: Int
    let traffic: LiveTraffic
    let metrics: GatewayMetrics
    let logger: Logger

    /// Asks about one batch.
    ///
    /// - Returns: true if more purchases may be due.
    func round() async throws -> Bool {
        try await traffic.waitForPause(atMost: Self.patience)
        let report = try await journal.reconcile(with: questions, limit: batch)
        metrics.reconciled(report)
        if report.exhausted > 0 {
            logger.warning(
                "providers settle nothing; look at these purchases",
                metadata: ["count": "\(report.exhausted)"]
            )
        }
        if !report.unreadable.isEmpty {
            logger.error(
                "rows cannot be read, so no provider is asked about their purchases: run `lifecycle journal rebuild --repair`",
                metadata: ["count": "\(report.unreadable.count)"]
            )
        }
        for (provider, code) in report.stopped.sorted(by: { $0.key < $1.key }) {
            logger.warning("a provider cannot be asked", metadata: ["provider": "\(provider)", "reason": "\(code)"])
        }
        if report.newEvents > 0 {
            logger.notice("reconcile", metadata: ["asked": "\(report.asked)", "new": "\(report.newEvents)"])
        }
        return report.asked >= batch && report.stopped.isEmpty
    }
}

/// The deliveries of this moment: requests under way in this process, and what waits for the workers of any process.
struct LiveTraffic: Sendable {
    let journal: Journal
    let underWay: HookRoutes.Counter
    let now: @Sendable () -> Date

    /// Returns in a moment without live deliveries, or when the time is over.
    func waitForPause(atMost limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if underWay.isZero, try await journal.waitingDeliveries(dueBy: now(), upTo: 1) == 0 { return }
            try await Task.sleep(for: .milliseconds(500))
        }
    }
}
