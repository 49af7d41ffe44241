import Foundation
import LifecycleJournal
import Logging
import Normalizer

/// Has providers without a history be asked about all of their purchases after an outage in which they may have given deliveries up,
/// and every provider after a restore of the database.
///
/// The rounds are this gateway's pulse: between two of them, no process took deliveries, or the database was away.
struct OutageWorker: Sendable {
    /// The time from the end of a round to the next.
    static let interval: Duration = .seconds(30)
    /// How long RevenueCat repeats a delivery at the least
    /// (<https://www.revenuecat.com/docs/integrations/webhooks#syncing-subscription-status>).
    private static let repetition: TimeInterval = 3600
    /// The checkpoint of the last restore after which every provider was asked.
    private static let answered = "gateway/restore"

    let journal: Journal
    let sources: [Source]
    let logger: Logger
    let now: @Sendable () -> Date

    /// - Returns: false: a round is whole.
    func round(after last: RoundLease.Last) async throws -> Bool {
        // Version 0.12 has the rounds of its backfill alone. They may be a day apart, and to ask once for nothing does no harm.
        let former = last.finished == nil ? try await RoundLease.lastRound("backfill", in: journal) : nil
        // Deliveries between a copy and its restore were answered with 200, so no provider repeats them. Not every history has them.
        // A restore is another one than the copy knew of: which is later says nothing, since either clock may be wrong.
        let restore = try await journal.lastRestore().map {
            String(decoding: try CanonicalJSON.bytes(EventTime(wrappedValue: $0)), as: UTF8.self)
        }
        let answered = try await journal.checkpoint(of: Self.answered)
        let isRestored = restore != nil && restore != answered?.value
        let isOut = (last.finished ?? former).map { now().timeIntervalSince($0) > Self.repetition } ?? false
        guard isRestored || isOut else { return false }
        let forgetful = sources.filter { ($0.histories.isEmpty || isRestored) && !$0.questions.isEmpty }
        for provider in Set(forgetful.map(\.adapter.provider)).sorted(by: { $0.rawValue < $1.rawValue }) {
            let count = try await journal.askAgain(about: provider)
            logger.notice(
                isRestored ? "asks about all purchases after a restore" : "asks about all purchases after an outage",
                metadata: ["provider": "\(provider)", "purchases": "\(count)"]
            )
        }
        if let restore, isRestored { _ = try await journal.setCheckpoint(restore, of: Self.answered, after: answered) }
        return false
    }
}
