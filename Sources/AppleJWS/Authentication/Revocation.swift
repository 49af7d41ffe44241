public import FoundationEssentials
public import LifecycleEvents
package import SignatureCore

/// The certificates behind one of Apple's signatures: leaf, intermediate and root, as a verified path.
public struct AppleCertificatePath: Sendable {
    package let certificates: [Certificate]

    /// The SHA-256 of each in lower-case hexadecimal, the leaf's first.
    public var fingerprints: [String] { certificates.map(\.fingerprint.hexadecimal) }
}

/// The status of a certificate path.
@nonexhaustive
public enum AppleRevocationStatus: Hashable, Sendable {
    /// Leaf and intermediate are good, by current statements of their issuers.
    case good
    /// The issuer of one of them has revoked it.
    case revoked
    /// For one of them at least, there is no current statement.
    case unknown
}

/// Knows which certificates are revoked. `RevocationChecker` of `AppStoreServerClient` asks their issuers.
public protocol AppleRevocationStatuses: Sendable {
    /// The status of a path, from memory: it is needed for each signature, and must not wait for a network.
    ///
    /// - Parameters:
    ///   - path: the certificates.
    ///   - time: the time of receipt of the signed data.
    func status(of path: AppleCertificatePath, at time: Date) -> AppleRevocationStatus

    /// Waits until all questions under way are answered or have failed.
    func settle() async
}

/// The effect of revocation on a receiver.
@nonexhaustive
public enum AppleRevocation: Sendable {
    /// Revocation is not checked, and no outage of a responder matters.
    case off
    /// Signatures under a revoked certificate are refused. An unknown status passes: an outage of the responder stops
    /// nothing, and an attacker who can suppress its answers can use a revoked certificate.
    case soft(any AppleRevocationStatuses)
    /// Signatures pass only under certificates that are known to be good. An unknown status is `unavailable`, so that
    /// Apple delivers again: an outage of the responder that outlasts its last answers stops all deliveries.
    case hard(any AppleRevocationStatuses)

    var statuses: (any AppleRevocationStatuses)? {
        switch self {
        case .off: nil
        case .soft(let statuses), .hard(let statuses): statuses
        }
    }
}

extension DeliveryError.Code {
    /// A certificate behind the signature was revoked.
    public static let revoked: DeliveryError.Code = "revoked"
}

/// Judges a signature by the status of the certificates behind it.
struct RevocationJudgement: Sendable {
    let revocation: AppleRevocation
    /// True for answers of Apple's servers. They can hold data from long ago, whose certificates have expired since.
    var acceptsExpired = false

    /// - Throws: `DeliveryError` with `revoked`. Where an unknown status does not pass, also with `unavailable`, or with
    ///   `untrusted` for an expired certificate: issuers state nothing about these, so that no later try can succeed.
    func require(_ chain: ValidatedChain, receivedAt: Date, role: StaticString) throws(DeliveryError) {
        guard let statuses = revocation.statuses else { return }
        let status = statuses.status(of: AppleCertificatePath(certificates: chain.certificates), at: receivedAt)
        if status == .revoked { throw DeliveryError(.revoked, "\(role): a certificate of its chain is revoked") }
        guard case .hard = revocation, status != .good else { return }
        guard chain.isValid(at: receivedAt.millisecondsSince1970) else {
            if acceptsExpired { return }
            throw DeliveryError(.untrusted, "\(role): a certificate has expired, and its revocation cannot be checked")
        }
        throw DeliveryError(.unavailable, "\(role): the revocation status of its certificates is not known")
    }
}
