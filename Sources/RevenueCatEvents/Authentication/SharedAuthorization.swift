import Normalizer
import SignatureCore

/// The value that RevenueCat sends verbatim in `Authorization`, as it was typed into the dashboard.
///
/// It covers neither the body nor the time: whoever has seen it once can send anything with it.
struct SharedAuthorization: Sendable {
    static let headerName = "Authorization"

    // Digests have one length, so that comparing them tells nothing of the length of the value.
    private let digests: [Digest]

    init(_ values: [Secret]) {
        digests = values.map { SHA256.hash($0.bytes.span) }
    }

    var isConfigured: Bool { !digests.isEmpty }

    /// Which of the configured values the delivery carries, byte for byte; every one of them is compared.
    ///
    /// - Throws: `unauthenticated` where the header is absent, empty, longer than 8 KiB, came more than once, or has
    ///   another value.
    func match(_ delivery: Delivery) throws(DeliveryError) -> Int {
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
        let digest = SHA256.hash(Array(value.utf8).span)
        var match: Int?
        for (index, candidate) in digests.enumerated() where candidate == digest {
            match = match ?? index
        }
        guard let match else {
            throw DeliveryError(
                .unauthenticated,
                "header \(Self.headerName) has none of \(digests.count) configured values"
            )
        }
        return match
    }
}
