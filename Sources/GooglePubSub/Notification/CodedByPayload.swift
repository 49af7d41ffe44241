import FoundationEssentials
import LifecycleEvents

/// A value that crosses a queue as the bytes that were received. Both ends read them, so both see every member, known or not.
package protocol CodedByPayload: Codable {
    var payload: [UInt8] { get }
    init(payload: [UInt8]) throws
}

extension CodedByPayload {
    /// Reads the payload again.
    public init(from decoder: any Decoder) throws {
        let payload = Array(try decoder.singleValueContainer().decode(Data.self))
        self = try decoder.reread { try Self(payload: payload) }
    }

    /// Writes the payload.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}
