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

    /// Posts what is due. Each item is leased when its turn comes: a lease outlasts one slow post and no more, and a process that
    /// stops leaves no other item behind as tried.
    ///
    /// - Returns: how many items were tried.
    func round() async throws -> Int {
        var count = 0
        while count < 16, let item = try await journal.outbox.next(lease: .seconds(60)).first {
            try await post(item)
            count += 1
        }
        return count
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
        let status: Int?
        let reason: String
        do throws(HTTPTransportError) {
            let answered = try await transport.send(request).status
            (status, reason) = (answered, "status \(answered)")
        } catch {
            // The process stops. The next one posts it after the lease.
            guard error.code != .canceled else { throw CancellationError() }
            // The status decides, whatever became of the body, which is of no interest.
            (status, reason) = (error.status, "\(error.code)")
        }
        if let status, (200..<300).contains(status) {
            metrics.posted(item.value.event, since: item.value.event.receivedAt, at: now())
            // If this fails, the news is posted once more, with the same id.
            _ = try? await journal.outbox.done(item)
            return
        }
        metrics.postFailed()
        logger.warning(
            "news was not taken",
            metadata: ["id": "\(item.id)", "reason": "\(reason)", "attempts": "\(item.attempts + 1)"]
        )
        try await journal.outbox.failed(item, because: reason)
    }
}
