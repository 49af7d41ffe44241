public import FoundationEssentials
import SignatureCore

/// A provider's request, untouched: header fields, raw body, and the time of receipt.
///
/// `receivedAt` is the only clock that the libraries know.
public struct Delivery: Sendable, Codable {
    /// HTTP header fields, with names compared without regard to case.
    public struct Headers: Sendable, Codable, ExpressibleByDictionaryLiteral {
        private struct Field: Codable {
            var name: String
            var value: String
        }

        private var fields: [Field] = []

        /// No fields.
        public init() {}

        /// Keeps fields in the order they came in.
        public init(_ fields: some Sequence<(name: String, value: String)>) {
            self.fields = fields.map { Field(name: $0.name, value: $0.value) }
        }

        /// Keeps the fields of a dictionary literal; a name may stand twice.
        public init(dictionaryLiteral elements: (String, String)...) {
            fields = elements.map { Field(name: $0.0, value: $0.1) }
        }

        /// Adds a field, in addition to others of its name.
        public mutating func add(_ name: String, _ value: String) {
            fields.append(Field(name: name, value: value))
        }

        /// Every field, in the order they came in: to send a delivery on, or to store it in a form of one's own.
        public var all: [(name: String, value: String)] { fields.map { ($0.name, $0.value) } }

        /// Every value that came under `name`.
        public func values(_ name: String) -> [String] {
            var values: [String] = []
            for field in fields where Self.matches(field.name, name) { values.append(field.value) }
            return values
        }

        // Octets, ASCII letters folded: Unicode case folding would make one name of two.
        private static func matches(_ lhs: String, _ rhs: String) -> Bool {
            let one = lhs.utf8.span
            let other = rhs.utf8.span
            guard one.count == other.count else { return false }
            for index in one.indices where folded(one[index]) != folded(other[index]) { return false }
            return true
        }

        private static func folded(_ octet: UInt8) -> UInt8 {
            (0x41...0x5A).contains(octet) ? octet | 0x20 : octet
        }
    }

    /// The header fields.
    public var headers: Headers
    /// The body, byte for byte as received.
    public var body: [UInt8]
    /// When it was received.
    @EventTime public var receivedAt: Date

    /// Keeps a delivery.
    public init(headers: Headers = [:], body: [UInt8], receivedAt: Date) {
        self.headers = headers
        self.body = body
        self.receivedAt = receivedAt
    }

    /// The SHA-256 of the body, in hexadecimal.
    public var digest: String {
        SHA256.hash(body.span).hexadecimal
    }

    package var bodyDigest: BodyDigest { BodyDigest(of: body) }
}

extension Delivery.Headers: Redacted {
    /// The names, and how long the values are: one of them can be a credential.
    public var description: String {
        "[" + fields.map { "\($0.name): <\($0.value.utf8.count) bytes>" }.joined(separator: ", ") + "]"
    }
}

extension Delivery: Redacted {
    /// The length of the body; never its content or a header.
    public var description: String { "delivery of \(body.count) bytes" }
}
