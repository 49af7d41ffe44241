package import SignatureCore

/// A public RSA key for RS256 out of a key set (RFC 7517).
public struct JSONWebKey: Sendable {
    /// Its id.
    public let id: String
    package let publicKey: RSAPublicKey
}
