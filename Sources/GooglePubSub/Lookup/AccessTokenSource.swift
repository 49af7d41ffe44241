public import HTTPTransport
public import LifecycleEvents

/// Where access tokens for Google's APIs come from (RFC 6750).
///
/// ``ServiceAccountTokenSource`` signs for them with a key file. A host with a credential of another kind, such as a
/// workload identity, conforms a type of its own.
public protocol AccessTokenSource: Sendable {
    /// A token that is valid now. A canceled caller should not have to wait for it.
    func accessToken() async throws(AccessTokenError) -> SecretBytes

    /// Says that Google has refused this token, so that it is not given out again.
    func discard(_ token: SecretBytes)
}

extension AccessTokenSource {
    /// Does nothing.
    public func discard(_ token: SecretBytes) {}
}

/// Why there is no access token.
public struct AccessTokenError: Error, Sendable, CustomStringConvertible {
    /// True if the same request can succeed later without a change on your side.
    public var isRetryable: Bool
    /// The details; never a token or a key.
    public var message: String
    /// Why there was no answer, if a transport said so: then nothing is known of the account and its rights.
    public var underlying: HTTPTransportError?

    /// Makes an error.
    public init(_ message: String, isRetryable: Bool, underlying: HTTPTransportError? = nil) {
        self.message = message
        self.isRetryable = isRetryable
        self.underlying = underlying
    }

    /// The message.
    public var description: String { message }
}

/// A token that you obtained by other means, for tests and scripts.
public struct FixedAccessToken: AccessTokenSource {
    private let token: SecretBytes

    /// Keeps a token.
    public init(_ token: SecretBytes) {
        self.token = token
    }

    /// The token.
    public func accessToken() -> SecretBytes { token }
}
