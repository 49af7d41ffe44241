public import FoundationEssentials
public import LifecycleEvents
import SignatureCore

/// Stands in for RevenueCat: sends webhooks with an `Authorization` value, a signature, or both.
///
/// The same input gives the same bytes. A receiver accepts them when it is configured with the same credentials.
public struct RevenueCatSimulator: Sendable {
    /// The value of `Authorization`, whole; nil sends none.
    public let authorization: SecretBytes?
    /// The secret that deliveries are signed with; nil leaves them unsigned.
    public let signingSecret: SecretBytes?
    /// The seed of the names in stories.
    var seed = ""
    /// The store of the purchases in stories; nil for that which has their acts.
    var store: PurchaseStore?

    /// Makes a simulator.
    public init(authorization: SecretBytes? = nil, signingSecret: SecretBytes? = nil) {
        self.authorization = authorization
        self.signingSecret = signingSecret
    }

    /// The id of a customer's device before the login, which RevenueCat knew first (`original_app_user_id`).
    /// https://www.revenuecat.com/docs/customers/user-ids
    package static func firstID(of customer: String) -> String { "$RCAnonymousID:\(customer.filter { $0 != "-" })" }

    /// A delivery of `body`, signed at the second it is received in.
    ///
    /// - Throws: ``SimulatorError`` for an empty secret.
    public func delivery(_ body: [UInt8], receivedAt: Date) throws(SimulatorError) -> Delivery {
        var headers = Delivery.Headers()
        headers.add("Content-Type", "application/json")
        if let authorization { headers.add("Authorization", String(decoding: authorization.bytes, as: UTF8.self)) }
        if let signingSecret {
            let seconds = receivedAt.millisecondsSince1970.flooredQuotient(dividingBy: 1000)
            headers.add(
                "X-RevenueCat-Webhook-Signature",
                try Self.signature(over: body, timestamp: String(seconds), secrets: [signingSecret])
            )
        }
        return Delivery(headers: headers, body: body, receivedAt: receivedAt)
    }

    /// The signature header for a body: one `v1` for each secret.
    package static func signature(
        over body: [UInt8],
        timestamp: String,
        secrets: [SecretBytes]
    ) throws(SimulatorError) -> String {
        var header = "t=\(timestamp)"
        for secret in secrets { header += ",v1=" + (try code(over: body, timestamp: timestamp, secret: secret)) }
        return header
    }

    /// The code over time and body, in hexadecimal.
    package static func code(
        over body: [UInt8],
        timestamp: String,
        secret: SecretBytes
    ) throws(SimulatorError) -> String {
        try SimulatorError.wrapping { () throws(SignatureError) in
            let prefix = Array("\(timestamp).".utf8)
            return try HMACSHA256(key: secret.bytes.span).authenticationCode(over: prefix.span, body.span).hexadecimal
        }
    }
}
