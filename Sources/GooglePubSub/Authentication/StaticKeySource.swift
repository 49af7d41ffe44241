public import LifecycleEvents

/// Keys that never change: for tests, for recorded deliveries, and for hosts that fetch the key set by themselves.
public struct StaticKeySource: KeySource {
    private let set: JSONWebKeySet

    /// Keeps a key set.
    public init(_ set: JSONWebKeySet) {
        self.set = set
    }

    /// Reads a key set.
    ///
    /// - Throws: `ConfigurationError` if ``JSONWebKeySet/init(_:)`` refuses it.
    public init(json: [UInt8]) throws(ConfigurationError) {
        do throws(DeliveryError) {
            set = try JSONWebKeySet(json)
        } catch {
            throw ConfigurationError(error.message)
        }
    }

    /// The key with this id.
    ///
    /// - Throws: `DeliveryError` with `untrusted` if there is none.
    public func key(_ id: String) throws(DeliveryError) -> JSONWebKey {
        guard let key = set.key(id) else { throw .unknownKey }
        return key
    }
}

extension DeliveryError {
    /// Without the id: the sender chose it.
    static let unknownKey = DeliveryError(.untrusted, "token names a key that is not in the key set")
}
