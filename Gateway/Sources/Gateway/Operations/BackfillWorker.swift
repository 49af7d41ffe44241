import Foundation
import LifecycleJournal
import Logging
import Normalizer

/// Reads what providers have sent since it was last read, so that an outage heals by itself.
struct BackfillWorker: Sendable {
    let journal: Journal
    let sources: [Source]
    let metrics: GatewayMetrics
    let logger: Logger

    /// Reads every history, and gives deliveries whose provider could not be asked to their adapters again.
    ///
    /// - Returns: false: a round is whole.
    func round() async throws -> Bool {
        for source in sources { await read(source) }
        let adapters = Dictionary(sources.map { ($0.name, $0.adapter) }) { first, _ in first }
        let report = try await journal.reconcile(with: [], replaying: adapters)
        metrics.replayed(report.replayed)
        return false
    }

    /// Reads every history of a source. After a failure, the next round continues where this one stopped.
    func read(_ source: Source) async {
        for history in source.histories {
            guard !Task.isCancelled else { return }
            let place: Logger.Metadata = ["source": "\(source.name)", "history": "\(history.name)"]
            do {
                let report = try await journal.backfill(from: history, as: source.name)
                metrics.backfilled(source.name, report)
                if let gap = report.gap {
                    logger.error(
                        "the provider had forgotten what it sent; all of its purchases are asked about",
                        metadata: place.merging(
                            [
                                "from": "\(gap.from.ISO8601Format())", "until": "\(gap.until.ISO8601Format())",
                                "purchases": "\(report.askedAgain ?? 0)",
                            ]
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
                guard !Task.isCancelled else { return }
                let reason =
                    (error as? JournalError)?.code.rawValue ?? (error as? DeliveryError)?.code.rawValue
                    ?? "\(type(of: error))"
                metrics.backfillFailed(source.name, because: reason)
                logger.warning("backfill failed", metadata: place.merging(["reason": "\(reason)"]) { $1 })
            }
        }
    }
}
