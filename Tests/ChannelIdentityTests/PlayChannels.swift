import FoundationEssentials
import GooglePubSub
import HTTPTransport
import Normalizer
import NotificationSimulator
import RevenueCatEvents
import Testing
import VectorGenerator

/// A notification of Google Play, with the resources that it makes one look up.
struct Hint {
    var notification: String
    /// Ends of paths, and the resources found there.
    var resources: [String: String]
    var at: Int64
}

/// Something that happened to a purchase, as each of two channels reports it.
struct Step {
    var name: String
    var hints: [Hint]
    var webhooks: [RevenueCatSimulator.Event]
    /// True if the end that comes with it follows from another report.
    var isEndEchoed = false
    /// True if one channel reports here what the other reports at another step.
    var isAtAnotherTime = false

    var at: Int64 { hints.map(\.at).min() ?? 0 }
}

/// A story that both Google Play and RevenueCat report, about the same orders.
struct PlayStory: CustomTestStringConvertible {
    var name: String
    var steps: [Step]

    var testDescription: String { name }
}

/// Answers with the resource whose path is asked for.
private struct Resources: HTTPTransportProtocol {
    var resources: [String: String]

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let url = request.url.absoluteString
        guard let found = resources.first(where: { url.hasSuffix("/\($0.key)") }) else {
            return HTTPTransportResponse(status: 404, headers: HTTPTransportHeaders(), body: Array("{}".utf8))
        }
        return HTTPTransportResponse(status: 200, headers: HTTPTransportHeaders(), body: Array(found.value.utf8))
    }
}

private struct NoKeys: KeySource {
    func key(_ id: String) throws(DeliveryError) -> JSONWebKey { throw DeliveryError(.untrusted, "no key is trusted") }
}

/// The events of a story through both channels, each taken in by its adapter from end to end.
struct PlayChannels {
    var steps: [(google: [NormalizedEvent], relayed: [NormalizedEvent])] = []
    var google: [NormalizedEvent] { steps.flatMap(\.google) }
    var relayed: [NormalizedEvent] { steps.flatMap(\.relayed) }

    init(_ story: PlayStory, addOns: Set<String> = []) async throws {
        for step in story.steps {
            var google: [NormalizedEvent] = []
            for hint in step.hints { google += try await Self.pulled(hint, addOns: addOns).events }
            var relayed: [NormalizedEvent] = []
            for webhook in step.webhooks { relayed += try Self.relayed(webhook).events }
            steps.append((google, relayed))
        }
    }

    static func api(_ hint: Hint) throws -> PlayDeveloperAPI {
        try PlayDeveloperAPI(
            transport: Resources(resources: hint.resources),
            tokens: FixedAccessToken(SecretBytes("recorded")),
            retry: RetryPolicy(maximumAttempts: 1)
        )
    }

    /// A hint that was taken from the queue.
    ///
    /// - Parameter delay: how long it took; within a minute Google's answer may not show yet what the hint says.
    static func pulled(
        _ hint: Hint,
        addOns: Set<String> = [],
        delay: Int64 = 1500
    ) async throws -> Normalization {
        var configuration = GooglePlayAdapter.Configuration(packageNames: [GoogleVectors.packageName], push: nil)
        configuration.addOns = addOns
        let adapter = try GooglePlayAdapter(
            configuration,
            keys: NoKeys(),
            api: try api(hint)
        )
        let message = PubSubMessage(messageID: "1", data: Array(hint.notification.utf8))
        let received = try adapter.receive(
            pulled: message,
            receivedAt: Date(millisecondsSince1970: hint.at + delay)
        )
        return try adapter.normalize(try await adapter.resolve(received))
    }

    static func relayed(_ webhook: RevenueCatSimulator.Event) throws -> Normalization {
        let adapter = try RevenueCatAdapter(.init(signingSecrets: [SecretBytes("s")]))
        let simulator = RevenueCatSimulator(signingSecret: SecretBytes("s"))
        // Webhooks come minutes late, and their times are in the body.
        let delivery = try simulator.delivery(
            webhook.body,
            receivedAt: Date(millisecondsSince1970: GoogleVectors.event + 400 * GoogleVectors.day)
        )
        return try adapter.normalize(try adapter.authenticate(delivery))
    }
}
