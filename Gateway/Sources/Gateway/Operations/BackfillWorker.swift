import Foundation
import LifecycleJournal
import Logging
import Normalizer
import ServiceLifecycle

/// At the start and at intervals, reads what providers have sent since it was last read, so that an outage heals by itself.
struct BackfillWorker: Service {
    let journal: Journal
    let sources: [Source]
    let interval: Duration
    let metrics: GatewayMetrics
    let logger: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                for source in self.sources { await self.read(source) }
                try? await Task.sleep(for: self.interval)
            }
        }
    }

    /// Reads every history of a source; what fails is tried again the next time, from where it stopped.
    func read(_ source: Source) async {
        for history in source.histories {
            let place: Logger.Metadata = ["source": "\(source.name)", "history": "\(history.name)"]
            do {
                let report = try await journal.backfill(from: history, as: source.name)
                metrics.backfilled(source.name, report)
                if let gap = report.gap {
                    logger.error(
                        "the provider had forgotten what it sent; ask about the purchases one by one",
                        metadata: place.merging(
                            ["from": "\(gap.from.ISO8601Format())", "until": "\(gap.until.ISO8601Format())"]
                        ) { $1 }
                    )
                }
                guard report.newEvents > 0 || report.unreadable > 0 else { continue }
                logger.notice(
                    "backfill",
                    metadata: place.merging(
                        [
                            "deliveries": "\(report.deliveries)", "new": "\(report.newEvents)",
                            "unreadable": "\(report.unreadable)",
                        ]
                    ) { $1 }
                )
            } catch {
                let reason =
                    (error as? JournalError)?.code.rawValue ?? (error as? DeliveryError)?.code.rawValue
                    ?? "\(type(of: error))"
                metrics.backfillFailed(source.name, because: reason)
                logger.warning("backfill failed", metadata: place.merging(["reason": "\(reason)"]) { $1 })
            }
        }
    }
}
