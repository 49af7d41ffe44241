/// Octets that must never be shown: they print as `<redacted>`, in descriptions, debug output and mirrors alike.
public struct SecretBytes: Sendable, Redacted {
    package let bytes: [UInt8]

    /// Keeps the UTF-8 octets of `text`, as they are.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Keeps `bytes`.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// True if there is nothing in it but white space. Such a secret proves nothing, and adapters refuse it.
    public var isBlank: Bool {
        bytes.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
    }

    /// True if it begins or ends with white space, which no header keeps and which is mostly pasted by mistake.
    package var hasWhiteSpaceAtAnEnd: Bool {
        [bytes.first, bytes.last].contains { $0 == 0x20 || (0x09...0x0D).contains($0 ?? 0) }
    }

    /// Refuses what is no API key: such a key cannot stand in a header.
    package func checkAPIKey() throws(ConfigurationError) {
        guard !isBlank else { throw ConfigurationError("API key must not be blank") }
        guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ConfigurationError("API key must be printable ASCII without spaces")
        }
    }

    /// It as the value of an `Authorization` header (RFC 6750, section 2.1).
    package var bearerCredentials: String { "Bearer " + String(decoding: bytes, as: UTF8.self) }

    /// `<redacted>`
    public var description: String { "<redacted>" }
}
