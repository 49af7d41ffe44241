public import FoundationEssentials
public import Normalizer

/// Takes Google Play's real-time developer notifications, pushed or pulled, to canonical events.
public struct GooglePlayAdapter: ProviderAdapter {
    public let provider: Provider = .google

    package let configuration: GooglePlayConfiguration
    private let keys: any KeySource
    private let api: PlayDeveloperAPI?

    /// Prepares the adapter.
    ///
    /// - Parameters:
    ///   - keys: Google's public keys, for pushes.
    ///   - api: where to ask about purchases; without it nothing is looked up, and no notification gives an event.
    /// - Throws: ``ConfigurationError`` for a configuration that would verify nothing.
    public init(
        _ configuration: GooglePlayConfiguration,
        keys: any KeySource,
        api: PlayDeveloperAPI?
    ) throws(ConfigurationError) {
        self.configuration = configuration
        self.keys = keys
        self.api = api
    }

    /// Proves and decodes a push.
    public func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<GoogleNotification> {
        throw DeliveryError(.unavailable, "not yet")
    }

    /// Decodes a message that was pulled from Google over TLS.
    public func receive(
        pulled message: PubSubMessage,
        receivedAt: Date
    ) throws(DeliveryError) -> Authenticated<GoogleNotification> {
        throw DeliveryError(.unavailable, "not yet")
    }

    /// Asks Google Play about the purchase.
    public func resolve(
        _ notification: Authenticated<GoogleNotification>
    ) async throws(DeliveryError) -> Authenticated<GoogleResolution> {
        throw DeliveryError(.unavailable, "not yet")
    }
}
