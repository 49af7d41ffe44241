import Foundation
import GooglePubSub
import Normalizer

/// Google Play's adapter for messages that the gateway has pulled itself. The body of a delivery is the message, as ``body(of:)``
/// writes it. Only TLS has proven it, so no request from outside may come here: a source that pulls has no hook.
struct PulledPlayAdapter: ProviderAdapter {
    let adapter: GooglePlayAdapter

    var provider: Provider { adapter.provider }

    /// A message as a delivery has it: the same bytes whenever it is delivered again.
    static func body(of message: PubSubMessage) throws -> [UInt8] {
        var message = message
        message.deliveryAttempt = nil
        return try CanonicalJSON.bytes(message)
    }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<GoogleNotification> {
        let message: PubSubMessage
        do { message = try CanonicalJSON.value(from: delivery.body) } catch {
            throw DeliveryError(.malformed, "the body is no message that was pulled")
        }
        return try adapter.receive(pulled: message, receivedAt: delivery.receivedAt)
    }

    func resolve(
        _ notification: Authenticated<GoogleNotification>
    ) async throws(DeliveryError) -> Authenticated<GooglePlayAdapter.Resolved> {
        try await adapter.resolve(notification)
    }

    func normalize(_ resolved: Authenticated<GooglePlayAdapter.Resolved>) throws(DeliveryError) -> Normalization {
        try adapter.normalize(resolved)
    }
}
