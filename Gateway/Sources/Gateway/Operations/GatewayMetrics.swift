import CoreMetrics
import Foundation
import LifecycleJournal
import Metrics
import Normalizer

/// The gateway's metrics, by name. Nothing in a name or a label is about a person.
struct GatewayMetrics: JournalObserver {
    let factory: any MetricsFactory

    func observe(_ observation: JournalObservation) {
        switch observation {
        case .delivery(let delivery): observe(delivery)
        case .retry(let code): count("lifecycle_journal_retries_total", labels: [("code", code.rawValue)])
        case .quarantineFull(let source): count("lifecycle_quarantine_refused_total", labels: [("source", source)])
        case .gaveUp(let table): count("lifecycle_dead_letters_total", labels: [("queue", table.rawValue)])
        case .deadlineNear(let item): count("lifecycle_deadlines_near_total", labels: [("kind", item.kind.rawValue)])
        case .unreadable(let table): count("lifecycle_unreadable_rows_total", labels: [("table", table.rawValue)])
        case .questionExhausted(let item):
            count("lifecycle_questions_exhausted_total", labels: [("reason", item.kind.rawValue)])
        @unknown default: break
        }
    }

    private func observe(_ delivery: DeliveryObservation) {
        let source = ("source", delivery.source)
        count(
            "lifecycle_deliveries_total",
            labels: [source, ("outcome", "\(delivery.decision)"), ("code", delivery.error?.rawValue ?? "")]
        )
        count("lifecycle_events_total", labels: [source, ("known", "no")], by: Int64(delivery.newEvents))
        count("lifecycle_events_total", labels: [source, ("known", "yes")], by: Int64(max(delivery.knownEvents, 0)))
        count("lifecycle_unmapped_types_total", labels: [source], by: Int64(delivery.unmappedTypes.count))
        count("lifecycle_unexpected_members_total", labels: [source], by: Int64(delivery.anomalies.count))
        time("lifecycle_receipt_to_state", labels: [source], delivery.duration)
        if let lag = delivery.lag, lag >= .zero { time("lifecycle_provider_to_receipt", labels: [source], lag) }
    }

    /// A request to a hook that was refused before anything was proven, or could not be taken.
    func refused(_ source: String, because reason: String) {
        count("lifecycle_hook_refusals_total", labels: [("source", source), ("reason", reason)])
    }

    func posted(_ event: NormalizedEvent, since receipt: Date, at now: Date) {
        count("lifecycle_news_posted_total", labels: [("provider", event.provider.rawValue)])
        time("lifecycle_receipt_to_news", labels: [], .seconds(max(now.timeIntervalSince(receipt), 0)))
    }

    /// A history that was read to its end.
    func backfilled(_ source: String, _ report: Journal.Backfill) {
        count("lifecycle_backfill_events_total", labels: [("source", source)], by: Int64(report.newEvents))
        count("lifecycle_backfill_unreadable_total", labels: [("source", source)], by: Int64(report.unreadable))
        count("lifecycle_backfill_gaps_total", labels: [("source", source)], by: report.gap == nil ? 0 : 1)
    }

    func backfillFailed(_ source: String, because reason: String) {
        count("lifecycle_backfill_failures_total", labels: [("source", source), ("reason", reason)])
    }

    func pullFailed(_ source: String, because reason: String) {
        count("lifecycle_pull_failures_total", labels: [("source", source), ("reason", reason)])
    }

    func postFailed() { count("lifecycle_news_failures_total", labels: []) }

    /// A round of scheduled work that ended.
    func ran(_ work: String, _ outcome: String) {
        count("lifecycle_rounds_total", labels: [("work", work), ("outcome", outcome)])
    }

    /// A batch of questions to providers.
    func reconciled(_ report: Journal.Reconciliation) {
        for (outcome, number) in [
            ("settled", report.settled), ("open", report.open), ("exhausted", report.exhausted),
            ("unreadable", report.unreadable.count),
        ] {
            count("lifecycle_reconcile_questions_total", labels: [("outcome", outcome)], by: Int64(number))
        }
        count("lifecycle_reconcile_unknown_total", labels: [], by: Int64(report.unknown))
        count("lifecycle_reconcile_events_total", labels: [], by: Int64(report.newEvents))
        for (provider, code) in report.stopped {
            count("lifecycle_reconcile_stopped_total", labels: [("provider", provider), ("reason", code.rawValue)])
        }
    }

    /// Deliveries that left the quarantine by themselves.
    func replayed(_ number: Int) { count("lifecycle_quarantine_replayed_total", labels: [], by: Int64(number)) }

    /// A round of answers to stores.
    func answered(_ report: Journal.Answers) {
        for (outcome, number) in [
            ("answered", report.answered), ("postponed", report.postponed), ("dismissed", report.abandoned),
        ] {
            count("lifecycle_duties_total", labels: [("outcome", outcome)], by: Int64(number))
        }
    }

    /// A question about a refund that your backend did not answer.
    func refundQuestionFailed(because reason: String) {
        count("lifecycle_refund_question_failures_total", labels: [("reason", reason)])
    }

    func gauge(_ name: String, _ value: Int, labels: [(String, String)] = []) {
        Gauge(label: name, dimensions: labels, factory: factory).record(value)
    }

    private func count(_ name: String, labels: [(String, String)], by amount: Int64 = 1) {
        Counter(label: name, dimensions: labels, factory: factory).increment(by: amount)
    }

    private func time(_ name: String, labels: [(String, String)], _ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return }
        Timer(label: name, dimensions: labels, preferredDisplayUnit: .seconds, factory: factory)
            .recordNanoseconds(nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue)
    }
}
