public import HTTPTransport
import Normalizer

/// Asks Google Play about purchases (Google Play Developer API v3).
public struct PlayDeveloperAPI: Sendable {
    private let transport: any HTTPTransport
    private let tokens: any AccessTokenSource

    /// Prepares a client.
    public init(transport: any HTTPTransport, tokens: any AccessTokenSource) {
        self.transport = transport
        self.tokens = tokens
    }
}
