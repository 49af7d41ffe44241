import Foundation
import GooglePubSub
import HTTPTransport
import LifecycleJournal
import Logging
import Normalizer
import ServiceLifecycle

/// The subscription that a source pulls from, and its credentials.
struct PullSettings: Sendable {
    var configuration: PullWorker.Configuration
    var transport: any HTTPTransportProtocol
    /// Nil for an emulator, which is sent no token.
    var tokens: (any AccessTokenSource)?
}

/// Pulls messages from a Pub/Sub subscription and keeps them as a hook keeps deliveries. A message is acknowledged when it is
/// kept, and not before.
struct PullService: Service {
    /// How long it waits after an error that a repetition does not mend, such as a missing right.
    private static let pause: Duration = .seconds(60)

    let source: String
    let adapter: any ProviderAdapter
    let settings: PullSettings
    let intake: Intake
    let metrics: GatewayMetrics
    let logger: Logger
    let now: @Sendable () -> Date

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await self.pull()
                } catch {
                    let cause = (error as? PullError)?.cause.rawValue ?? "\(type(of: error))"
                    self.metrics.pullFailed(self.source, because: cause)
                    self.logger.error(
                        "pulling has ended",
                        metadata: ["source": "\(self.source)", "reason": "\(cause)"]
                    )
                    try? await Task.sleep(for: Self.pause)
                }
            }
        }
    }

    /// Pulls until the task is cancelled. What is kept by then is acknowledged, and the rest comes again.
    private func pull() async throws {
        var configuration = settings.configuration
        configuration.report = { [source, metrics] report in
            if case .trouble(_, let reason) = report { metrics.pullFailed(source, because: reason) }
        }
        let subscription = configuration.subscription
        let worker = try PullWorker(configuration, transport: settings.transport, tokens: settings.tokens, now: now)
        try await withTaskCancellationHandler {
            try await worker.run { message in
                await self.keep(message.content, receivedAt: message.receivedAt) ? .acknowledge : .redeliver
            } quarantine: { message in
                let content = PubSubMessage(subscription: subscription, data: message.bytes)
                guard await self.keep(content, receivedAt: message.receivedAt) else { throw NotKept() }
            }
        } onCancel: {
            worker.stop()
        }
    }

    private struct NotKept: Error {}

    /// - Returns: true if the message is kept, and need not come again.
    private func keep(_ message: PubSubMessage, receivedAt: Date) async -> Bool {
        guard let body = try? PulledPlayAdapter.body(of: message) else { return false }
        let answer = await intake.take(Delivery(body: body, receivedAt: receivedAt), adapter, as: source)
        if answer.decision != .accept {
            logger.warning(
                "message \(answer.outcome)",
                metadata: [
                    "source": "\(source)", "decision": "\(answer.decision)", "code": "\(answer.loggedCode)",
                    "bytes": "\(body.count)",
                ]
            )
        }
        return answer.decision == .accept || answer.decision == .acceptAndQuarantine
    }
}
