public import LifecycleEvents

/// Where the public keys come from that Google signs its tokens with.
public protocol KeySource: Sendable {
    /// The key with this id, compared octet for octet.
    ///
    /// - Throws: `DeliveryError` with `untrusted` if no such key is trusted, `unavailable` if it cannot be said
    ///   now.
    func key(_ id: String) async throws(DeliveryError) -> JSONWebKey
}
