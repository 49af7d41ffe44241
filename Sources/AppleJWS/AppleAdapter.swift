import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// Takes App Store Server Notifications V2, and uploads of clients, to canonical events.
///
/// The payload is Apple's own snapshot of the purchase, so there is no look-up: all three steps are synchronous.
public struct AppleAdapter: ProviderAdapter {
    /// Apple.
    public let provider: Provider = .apple

    /// Proves signed data of any kind by the same rules.
    public let verifier: AppleJWSVerifier

    private let maximumBodyBytes: Int

    /// Prepares the adapter.
    ///
    /// - Throws: `ConfigurationError` for a configuration that would verify nothing.
    public init(_ configuration: AppleAdapter.Configuration) throws(ConfigurationError) {
        verifier = try AppleJWSVerifier(configuration)
        maximumBodyBytes = configuration.maximumBodyBytes
    }

    /// Proves and decodes a notification.
    ///
    /// - Throws: `DeliveryError` with `malformed`, `unauthenticated`, `untrusted`, `stale` or `misdirected`; answer
    ///   with `Acknowledgement`.
    public func authenticate(_ delivery: Delivery) throws(DeliveryError) -> Authenticated<AppleNotification> {
        try authenticate(delivery, channel: .webhook)
    }

    /// Proves and decodes a notification that came another way than Apple's call, such as the notification history.
    ///
    /// A notification of the channel `history` may be of any age: it goes back half a year, and you have it from Apple
    /// over TLS. Give that channel to nothing else.
    ///
    /// - Throws: `DeliveryError` as for ``authenticate(_:)``.
    public func authenticate(
        _ delivery: Delivery,
        channel: Origin.Channel
    ) throws(DeliveryError) -> Authenticated<AppleNotification> {
        let range = try signedPayload(in: delivery.body)
        let received = ReceivedJWS(delivery.body, range, at: delivery.receivedAt)
        let (notification, evidence) = try verifier.taking(channel).notification(in: received)
        return Authenticated(
            notification,
            receivedAt: delivery.receivedAt,
            channel: channel,
            evidence: evidence,
            digest: delivery.bodyDigest
        )
    }

    /// The part of a delivery that Apple signed: `signedPayload` alone.
    ///
    /// Other members of the body, and header fields, are not signed. Anyone who has a genuine notification could add
    /// some to each copy, so that every copy is another delivery to store. For all copies of one notification this
    /// result is the same. A body without `signedPayload` is no notification, and stays as it is.
    public func signedDocument(of delivery: Delivery) -> Delivery {
        guard let range = try? signedPayload(in: delivery.body) else { return delivery }
        var body = Array(#"{"signedPayload":""#.utf8)
        body += delivery.body[range]
        body += Array(#""}"#.utf8)
        return Delivery(headers: [:], body: body, receivedAt: delivery.receivedAt)
    }

    /// Where the JWS stands in a body. Its text needs no escapes; one that has some is not a JWS.
    private func signedPayload(in body: [UInt8]) throws(DeliveryError) -> Range<Int> {
        try Limits.check(body, atMost: maximumBodyBytes)
        do throws(JSONError) {
            let value = try ObjectReader(JSONDocument(parsing: body, limits: .ofAnyLength).root).value("signedPayload")
            guard let range = value.rawUTF8Range else {
                throw value.error(.unexpectedKind(expected: .string, found: value.kind))
            }
            return range
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", underlying: error)
        }
    }
}
