public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
package import WireJSON

/// Stands in for Stripe: signs deliveries with a secret, in the shape of an API version.
///
/// The same input gives the same bytes. A receiver accepts them when it is configured with ``signingSecret``.
public struct StripeSimulator: Sendable {
    /// An API version, which decides the shape of a snapshot.
    public struct Version: Hashable, Sendable {
        /// As in `api_version`.
        public let name: String
        /// Takes a version by its name.
        public init(_ name: String) { self.name = name }

        /// Periods on the subscription, `invoice.subscription`, prices and payments on lines and invoices.
        public static let v2020 = Version("2020-08-27")
        /// The last train of that shape.
        public static let acacia = Version("2024-11-20.acacia")
        /// Periods on items, `invoice.parent`, `pricing` on lines.
        public static let basil = Version("2025-08-27.basil")
        /// The newest train.
        public static let endive = Version("2026-10-28.endive")

        // Versions are dates, which compare as text.
        package var isBasilOrLater: Bool { name >= "2025-03-31" }
        package var hasCancellationDetails: Bool { name >= "2022-11-15" }
    }

    /// The secret that deliveries are signed with.
    public let signingSecret: SecretBytes
    /// The shape of snapshots.
    public let version: Version
    /// True if it is about real money.
    public let isLive: Bool
    /// The connected account that everything is about.
    public let account: String?
    /// The seed of the names in stories.
    var seed = ""

    /// Makes a simulator.
    public init(signingSecret: SecretBytes, version: Version = .endive, isLive: Bool = true, account: String? = nil) {
        self.signingSecret = signingSecret
        self.version = version
        self.isLive = isLive
        self.account = account
    }

    /// A delivery of `body`, signed at the second it is received in.
    ///
    /// - Throws: ``SimulatorError`` for an empty secret.
    public func delivery(_ body: [UInt8], receivedAt: Date) throws(SimulatorError) -> Delivery {
        let seconds = receivedAt.millisecondsSince1970.flooredQuotient(dividingBy: 1000)
        let header = try Self.header(body, timestamp: String(seconds), secrets: [signingSecret])
        return Delivery(headers: ["Stripe-Signature": header], body: body, receivedAt: receivedAt)
    }

    /// The header field for a body: one `v1` for each secret.
    package static func header(
        _ body: [UInt8],
        timestamp: String,
        secrets: [SecretBytes]
    ) throws(SimulatorError) -> String {
        var elements = ["t=\(timestamp)"]
        for secret in secrets { elements.append("v1=\(try code(body, timestamp: timestamp, secret: secret))") }
        return elements.joined(separator: ",")
    }

    /// The code over timestamp and body, in lower-case hexadecimal.
    package static func code(_ body: [UInt8], timestamp: String, secret: SecretBytes) throws(SimulatorError) -> String {
        try SimulatorError.wrapping { () throws(SignatureError) in
            let key = try HMACSHA256(key: secret.bytes.span)
            let prefix = Array("\(timestamp).".utf8)
            return try key.authenticationCode(over: prefix.span, body.span).hexadecimal
        }
    }
}

extension StripeSimulator {
    /// A snapshot event.
    ///
    /// - Parameters:
    ///   - created: seconds since 1970.
    ///   - previous: the members of the object that have changed, with their values before.
    package func event(
        _ type: String,
        id: String,
        created: Int64,
        object: JSONText,
        previous: JSONText? = nil
    ) -> JSONMembers {
        var data = JSONMembers([("object", object)])
        if let previous { data.append("previous_attributes", previous) }
        var event = JSONMembers([("id", .string(id)), ("object", "event")])
        if let account { event.append("account", .string(account)) }
        event.append("api_version", .string(version.name))
        event.append("created", .integer(created))
        event.append("data", .object(data))
        event.append("livemode", .bool(isLive))
        event.append("pending_webhooks", 1)
        event.append("request", ["id": nil, "idempotency_key": nil])
        event.append("type", .string(type))
        return event
    }

    /// A thin event, which names its object only.
    package func thinEvent(
        _ type: String,
        id: String,
        created: String,
        related: (type: String, id: String, url: String)?,
        snapshot: String? = nil
    ) -> JSONMembers {
        var event = JSONMembers([("id", .string(id)), ("object", "v2.core.event"), ("type", .string(type))])
        event.append("created", .string(created))
        event.append("livemode", .bool(isLive))
        if let account { event.append("context", .string(account)) }
        if let related {
            event.append(
                "related_object",
                ["id": .string(related.id), "type": .string(related.type), "url": .string(related.url)]
            )
        }
        event.append("reason", ["type": "request", "request": ["id": "req_1", "idempotency_key": nil]])
        if let snapshot { event.append("snapshot_event", .string(snapshot)) }
        return event
    }
}
