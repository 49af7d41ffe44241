/// What a certificate path that led to a trust anchor vouches for.
///
/// A class, because all that one signer signs shares it, on all threads.
package final class ValidatedChain: Sendable {
    package let leafKey: P256PublicKey
    /// The first millisecond since 1970 at which leaf, intermediate and trust anchor are all valid.
    package let notBefore: Int64
    /// The last millisecond since 1970 at which leaf, intermediate and trust anchor are all valid.
    package let notAfter: Int64
    /// The SHA-256 of the leaf certificate, in hexadecimal.
    package let leafFingerprint: String

    init(leafKey: P256PublicKey, notBefore: Int64, notAfter: Int64, leafFingerprint: String) {
        self.leafKey = leafKey
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.leafFingerprint = leafFingerprint
    }

    /// Whether the path is valid at this time; both ends count (RFC 5280 §4.1.2.5).
    package func isValid(at milliseconds: Int64) -> Bool {
        notBefore <= milliseconds && milliseconds <= notAfter
    }
}
