import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// A webhook's body, proven and read.
public struct RevenueCatNotification: Sendable, Hashable {
    /// The body, byte for byte as received: every member is there, known or not.
    public var payload: [UInt8] { webhook.payload }
    /// `api_version`
    public var apiVersion: String? { webhook.apiVersion }
    /// `event`
    public var event: RevenueCatEvent { webhook.event }

    let webhook: Webhook
    /// RevenueCat's answer, if it was asked about the webhook.
    var answer: LookupAnswer?

    init(payload: [UInt8]) throws(JSONError) {
        webhook = try Webhook(payload: payload)
    }

    /// The same with another event, about one product of several.
    init(_ notification: RevenueCatNotification, event: RevenueCatEvent) {
        webhook = Webhook(notification.webhook, event: event)
        answer = notification.answer
    }

    /// The received body, shared by all copies of the notification.
    final class Webhook: Sendable, Hashable {
        let payload: [UInt8]
        let apiVersion: String?
        let event: RevenueCatEvent
        let row: Mapping.Row
        /// Paths of members that are not as documented.
        let anomalies: [String]

        init(payload: [UInt8]) throws(JSONError) {
            // The adapter, or before a queue its other end, has checked the length.
            var reader = try ObjectReader(parsing: payload, limits: .ofAnyLength)
            apiVersion = reader.descriptiveString("api_version")
            if apiVersion != "1.0", reader.anomalies.isEmpty { reader.note("api_version") }
            var anomalies = reader.anomalies
            let event = try RevenueCatEvent.read(try ObjectReader(try reader.value("event")), anomalies: &anomalies)
            row = event.row
            self.event = event
            self.anomalies = anomalies
            self.payload = payload
        }

        init(_ webhook: Webhook, event: RevenueCatEvent) {
            (payload, apiVersion, row) = (webhook.payload, webhook.apiVersion, webhook.row)
            self.event = event
            anomalies = webhook.anomalies
        }

        // All the rest was read from the body.
        static func == (left: Webhook, right: Webhook) -> Bool { left.payload == right.payload }
        func hash(into hasher: inout Hasher) { hasher.combine(payload) }
    }
}

extension RevenueCatNotification {
    /// True if RevenueCat's answer decides which event the webhook gives, or if it gives one.
    var needsAnswer: Bool {
        switch webhook.row {
        case .unpaidRenewal: true
        case .billingIssue, .autoRenewOff(.billing): event.failsAsPeriodBegins
        case .productChange: event.newProductID == nil && event.store != .playStore
        default: false
        }
    }

    /// The subscription that the webhook is about, as RevenueCat answered; nil if it was not asked or knows none.
    var answeredSubscription: RevenueCatSubscription? {
        answer.flatMap { try? $0.subscription(about: event) }
    }
}

// A queue carries the body itself. Both ends read it, and both see every member, known or unknown.
extension RevenueCatNotification: Codable {
    private enum CodingKeys: String, CodingKey { case payload, answer }

    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let payload = Array(try container.decode(Data.self, forKey: .payload))
        self = try decoder.reread { try Self(payload: payload) }
        answer = try container.decodeIfPresent(LookupAnswer.self, forKey: .answer)
    }

    /// Writes the body, and the answer about it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Data(payload), forKey: .payload)
        try container.encodeIfPresent(answer, forKey: .answer)
    }
}

// Bodies hold personal data: printing these values shows only that they exist, and their length.
extension RevenueCatNotification: Redacted {
    /// The type, and the length of the body.
    public var description: String { "\(event.type) (\(payload.count) bytes)" }
}

extension RevenueCatEvent.Hint: Redacted {
    /// The subject of the question; for customers, their number.
    public var description: String {
        switch self {
        case .subscription(let transaction): "subscription of \(transaction)"
        case .customers(let ids): "\(ids.count) customers"
        }
    }
}

extension RevenueCatEvent: Redacted {
    /// The type and the id.
    public var description: String { "\(type) \(id)" }
}
