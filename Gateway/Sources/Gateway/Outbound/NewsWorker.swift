import Foundation
import HTTPTransport
import LifecycleJournal
import Logging
import Metrics
import Normalizer
import ServiceLifecycle

/// Posts news to the host's address, each at least once and under its own id, until the host has answered with 2xx, or for three days.
struct NewsWorker: Service {
    /// How long the receiver has for an answer.
    private static let timeout: Duration = .seconds(15)

    let journal: Journal
    let destination: GatewayConfiguration.Destination
    let transport: any HTTPTransportProtocol
    let metrics: GatewayMetrics
    let logger: Logger
    let now: @Sendable () -> Date

    func run() async {
        await repeatUntilShutdown(logger: logger, "news") { try await self.round() }
    }

    /// Posts what is due.
    ///
    /// - Returns: how many items were tried.
    func round() async throws -> Int {
        let items = try await journal.outbox.next(16, lease: .seconds(120))
        for item in items { try await post(item) }
        return items.count
    }

    private func post(_ item: JournalQueue<AppliedEvent>.Item) async throws {
        let body = try CanonicalJSON.bytes(CloudEvent(item.value))
        var request = try HTTPTransportRequest(
            .post,
            destination.url,
            headers: ["Content-Type": "application/cloudevents+json; charset=utf-8"],
            body: body,
            timeout: Self.timeout,
            maximumResponseBytes: 64 * 1024
        )
        for (name, value) in try destination.signature.headers(id: item.id, at: now(), body: body) {
            try request.setHeader(name, to: value)
        }
        if let trace = item.trace { try request.setHeader(TraceParent.header, to: "\(trace.child())") }
        // The receiver acts once for each id, so a repetition is harmless.
        request.isIdempotent = true
        let reason: String
        do throws(HTTPTransportError) {
            let response = try await transport.send(request)
            guard !response.isSuccess else {
                metrics.posted(item.value.event, since: item.value.event.receivedAt, at: now())
                // If this fails, the news is posted once more, with the same id.
                _ = try? await journal.outbox.done(item)
                return
            }
            reason = "status \(response.status)"
        } catch {
            reason = "\(error.code)"
        }
        metrics.postFailed()
        logger.warning(
            "news was not taken",
            metadata: ["id": "\(item.id)", "reason": "\(reason)", "attempts": "\(item.attempts + 1)"]
        )
        try await journal.outbox.failed(item, because: reason)
    }
}
