import AppleJWS
import Foundation
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Logging
import Normalizer

/// `/health`, `/ready` and `/metrics`: for operators of the gateway.
struct OperationRoutes: Sendable {
    let journal: Journal
    let sources: [Source]
    let registry: PrometheusRegistry
    let metrics: GatewayMetrics
    let tokens: AccessTokens
    let now: @Sendable () -> Date

    func add(to router: Router<BasicRequestContext>) {
        // Says that the process runs.
        router.get("health") { _, _ in "ok\n" }
        // Says that the database answers.
        router.get("ready") { _, context in
            do {
                _ = try await cancelling(after: .seconds(5)) { try await journal.duties.waiting(limit: 1) }
                return Self.text(.ok, "ready\n")
            } catch {
                context.logger.error("not ready", metadata: ["error": "\(error)"])
                return Self.text(.serviceUnavailable, "not ready\n")
            }
        }
        router.get("metrics") { request, _ in
            try tokens.admit(request, for: .read)
            try await measure()
            return Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: registry.text))
            )
        }
    }

    private static func text(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// Depths, read when they are asked for. They are counted up to a thousand, and deliveries and news, which are longer, up to a
    /// hundred: that is alarming enough. The age of the oldest news is exact, since an alarm waits for it to grow.
    private func measure() async throws {
        let quarantined = try await journal.quarantine.sizes().values
        metrics.gauge("lifecycle_quarantine_depth", quarantined.reduce(0) { $0 + $1.deliveries })
        metrics.gauge("lifecycle_quarantine_bytes", quarantined.reduce(0) { $0 + $1.bytes })
        metrics.gauge("lifecycle_dead_letters", try await journal.outbox.abandoned(limit: 1000).count)
        metrics.gauge("lifecycle_due_items_overdue", try await journal.due(at: now(), limit: 1000).count)
        metrics.gauge("lifecycle_duties_dismissed", try await journal.duties.abandoned(limit: 1000).count)
        metrics.gauge("lifecycle_questions_due", try await journal.questions(at: now(), limit: 1000).count)
        metrics.gauge("lifecycle_deliveries_waiting", try await journal.waitingDeliveries(upTo: 100))
        if journal.options.usesOutbox {
            metrics.gauge("lifecycle_news_waiting", try await journal.outbox.waiting(limit: 100).count)
            let oldest = try await journal.outbox.oldest()?.value.event.receivedAt ?? now()
            metrics.gauge("lifecycle_news_lag_seconds", Int(max(now().timeIntervalSince(oldest), 0)))
        }
        for source in sources {
            guard let apple = source.adapter as? AppleAdapter.AwaitingRevocation,
                let end = apple.adapter.verifier.signerValidUntil
            else { continue }
            let time = Int(end.timeIntervalSince1970)
            metrics.gauge("lifecycle_signer_valid_until_timestamp_seconds", time, labels: [("source", source.name)])
        }
    }
}
