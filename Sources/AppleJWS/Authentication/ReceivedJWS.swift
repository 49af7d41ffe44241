import FoundationEssentials
import LifecycleEvents

/// A JWS as it was received: where it stands in the bytes of a body or a payload, and when it came.
struct ReceivedJWS {
    let bytes: [UInt8]
    let range: Range<Int>
    let receivedAt: Date

    init(_ bytes: [UInt8], _ range: Range<Int>, at receivedAt: Date) {
        self.bytes = bytes
        self.range = range
        self.receivedAt = receivedAt
    }

    init(_ bytes: [UInt8], at receivedAt: Date) {
        self.init(bytes, bytes.indices, at: receivedAt)
    }

    /// The proven value, with the channel by which it came.
    func authenticated<Value: Sendable>(
        _ proven: AppleJWSVerifier.Proven<Value>,
        channel: Origin.Channel
    ) -> Authenticated<Value> {
        Authenticated(
            proven.value,
            receivedAt: receivedAt,
            channel: channel,
            evidence: proven.evidence,
            digest: BodyDigest(of: bytes)
        )
    }
}
