/// The key that a certificate path to a trust anchor vouches for, with the path's dates.
///
/// A class, because all that one signer signs shares it, on all threads.
package final class ValidatedChain: Sendable {
    package let leafKey: P256PublicKey
    /// When leaf, intermediate and an issue of the trust anchor are all valid, in milliseconds since 1970; both ends
    /// count (RFC 5280 §4.1.2.5).
    package let validity: [ClosedRange<Int64>]
    /// The SHA-256 of the leaf certificate, in hexadecimal.
    package let leafFingerprint: String
    /// Leaf, intermediate and trust anchor.
    package let certificates: [Certificate]

    init(leafKey: P256PublicKey, validity: [ClosedRange<Int64>], certificates: [Certificate]) {
        self.leafKey = leafKey
        self.validity = validity
        self.certificates = certificates
        leafFingerprint = certificates.first?.fingerprint.hexadecimal ?? ""
    }

    /// True if the path is valid at this time.
    package func isValid(at milliseconds: Int64) -> Bool {
        validity.contains { $0.contains(milliseconds) }
    }
}
