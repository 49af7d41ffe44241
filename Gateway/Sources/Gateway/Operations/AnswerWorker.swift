import Foundation
import LifecycleJournal
import Normalizer

/// Answers what stores wait for: purchases to acknowledge, and questions about refunds.
struct AnswerWorker: Sendable {
    let journal: Journal
    let answerers: [any OwedAnswers]
    let metrics: GatewayMetrics
    let now: @Sendable () -> Date

    /// Answers everything that is due.
    ///
    /// - Returns: false: a round is whole.
    func round() async throws -> Bool {
        metrics.answered(try await journal.answer(with: answerers + [MissedDeadlines(now: now)]))
        return false
    }
}

/// Takes duties that no one has answered in time, so that the journal gives them up visibly.
private struct MissedDeadlines: OwedAnswers {
    let now: @Sendable () -> Date

    func isOwed(_ answer: OwedAnswer) -> Bool { answer.deadline.map { $0 <= now() } ?? false }

    /// The journal looks at the deadline first, so this is not reached.
    func answer(_ owed: OwedAnswer) async throws(DeliveryError) {
        throw DeliveryError(.stale, "the deadline has passed")
    }
}
