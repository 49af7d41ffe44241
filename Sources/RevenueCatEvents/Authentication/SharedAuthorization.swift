import LifecycleEvents
import SignatureCore

/// The value that RevenueCat sends verbatim in `Authorization`, as it was typed into the dashboard.
///
/// It covers neither the body nor the time: anyone who has seen it once can send any body with it.
struct SharedAuthorization: Sendable {
    static let headerName = "Authorization"

    private struct Candidate {
        // Digests have one length, so comparing them does not reveal the length of the value.
        let digest: Digest
        let evidence: Origin.Evidence
    }

    private let candidates: [Candidate]

    init(_ values: [SecretBytes]) {
        candidates = values.enumerated().map { index, value in
            Candidate(
                digest: SHA256.hash(value.bytes.span),
                evidence: Origin.Evidence(.sharedSecret, key: "authorization \(index + 1)")
            )
        }
    }

    var isConfigured: Bool { !candidates.isEmpty }

    /// That the delivery carries one of the configured values, byte for byte; every one of them is compared.
    ///
    /// - Throws: `unauthenticated` if the header is absent, empty, longer than 8 KiB, came more than once, or has
    ///   another value.
    func match(_ delivery: Delivery) throws(DeliveryError) -> Origin.Evidence {
        let values = delivery.headers.values(Self.headerName)
        guard let value = values.first, !value.isEmpty else {
            throw DeliveryError(.unauthenticated, "header \(Self.headerName) is absent or empty")
        }
        guard values.count == 1 else {
            throw DeliveryError(.unauthenticated, "header \(Self.headerName) came \(values.count) times")
        }
        guard value.utf8.count <= Limits.headerBytes else {
            throw DeliveryError(
                .unauthenticated,
                "header \(Self.headerName) has \(value.utf8.count) bytes, at most \(Limits.headerBytes)"
            )
        }
        let octets = value.utf8Span.span
        let digest = SHA256.hash(octets)
        var match: Origin.Evidence?
        for candidate in candidates where candidate.digest == digest {
            match = match ?? candidate.evidence
        }
        guard let match else {
            throw DeliveryError(
                .unauthenticated,
                "header \(Self.headerName) has none of \(candidates.count) configured values"
            )
        }
        return match
    }
}
