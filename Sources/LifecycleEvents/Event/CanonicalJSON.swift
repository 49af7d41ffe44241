import FoundationEssentials

/// The one way in which this package writes JSON: members in the order of their names, no white space, no escaped
/// slashes. Equal values give equal bytes.
public enum CanonicalJSON: Sendable {
    /// Writes a value.
    ///
    /// - Throws: `EncodingError` from the value's own `encode(to:)`; the types of this package throw none.
    public static func bytes(_ value: some Encodable) throws -> [UInt8] {
        try CanonicalEncoder.octets(of: value)
    }

    /// Reads a value.
    ///
    /// - Throws: ``InvalidValue`` for anything but the documented form. It is meant for this package's own output;
    ///   bytes from a provider go to that provider's adapter.
    public static func value<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from bytes: [UInt8]
    ) throws(InvalidValue) -> Value {
        do { return try CanonicalDecoder.value(type, from: bytes) } catch { throw InvalidValue(error) }
    }
}
