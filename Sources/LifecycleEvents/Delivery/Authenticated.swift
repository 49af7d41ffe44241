public import FoundationEssentials

/// A value that was proven to come from its provider.
///
/// Only an adapter's `authenticate` makes one, and nothing that maps or changes state takes anything else.
public struct Authenticated<Value: Sendable>: Sendable {
    /// The proven value.
    public let value: Value
    /// When the delivery was received.
    @EventTime public private(set) var receivedAt: Date
    /// The way by which it reached us.
    public let channel: Origin.Channel
    /// The proof of its origin.
    public let evidence: Origin.Evidence
    /// The SHA-256 of the raw bytes, in hexadecimal. It is computed when it is first read.
    public var digest: String { bodyDigest.text }
    package let bodyDigest: BodyDigest

    /// Vouches for a value without proof: for tests, for the replay of a record that was proven before, and for an
    /// adapter outside this package, which has to do the proving itself.
    public init(
        unchecked value: Value,
        receivedAt: Date,
        channel: Origin.Channel = .simulated,
        evidence: Origin.Evidence = Origin.Evidence(.unchecked),
        digest: String = ""
    ) {
        self.init(value, receivedAt: receivedAt, channel: channel, evidence: evidence, digest: BodyDigest(digest))
    }

    package init(
        _ value: Value,
        receivedAt: Date,
        channel: Origin.Channel,
        evidence: Origin.Evidence,
        digest: BodyDigest
    ) {
        self.value = value
        self._receivedAt = EventTime(wrappedValue: receivedAt)
        self.channel = channel
        self.evidence = evidence
        self.bodyDigest = digest
    }

    /// Replaces the value by one that the same proof covers, such as the provider's answer about it.
    package func map<Other: Sendable, Failure>(
        _ transform: (Value) throws(Failure) -> Other
    ) throws(Failure) -> Authenticated<Other> {
        Authenticated<Other>(
            try transform(value),
            receivedAt: receivedAt,
            channel: channel,
            evidence: evidence,
            digest: bodyDigest
        )
    }
}

// A queue between the steps carries authenticated values, so a process that can write to it is trusted like the adapter.
extension Authenticated: Codable where Value: Codable {
    private enum CodingKeys: String, CodingKey {
        case value, channel, evidence
        case bodyDigest = "digest"
        case receivedAt = "received_at"
    }
}
