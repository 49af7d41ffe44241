/// Header fields in the order they came, with names compared without regard to case.
public struct HTTPTransportHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// One field.
    public struct Field: Sendable, Hashable {
        /// The name, as it was written.
        public var name: String
        /// The value.
        public var value: String

        /// Keeps a field as it is.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Names are the same without regard to the case of their ASCII letters (RFC 9110, section 5.1).
        public static func == (lhs: Field, rhs: Field) -> Bool {
            HTTPTransportHeaders.namesMatch(lhs.name, rhs.name) && lhs.value == rhs.value
        }

        /// Hashes what `==` compares.
        public func hash(into hasher: inout Hasher) {
            for octet in name.utf8 { hasher.combine(HTTPTransportHeaders.folded(octet)) }
            hasher.combine(value)
        }
    }

    /// The fields, in order.
    public private(set) var fields: [Field] = []

    /// No fields.
    public init() {}

    /// Keeps fields as they are.
    public init(_ fields: some Sequence<Field>) {
        self.fields = Array(fields)
    }

    /// Keeps the fields of a literal; a name may stand twice.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value under `name`.
    public subscript(name: String) -> String? {
        fields.first { Self.namesMatch($0.name, name) }?.value
    }

    /// Every value under `name`, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { Self.namesMatch($0.name, name) }.map(\.value)
    }

    /// Adds a field, in addition to others of its name.
    public mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Removes every field of the name.
    public mutating func remove(_ name: String) {
        fields.removeAll { Self.namesMatch($0.name, name) }
    }

    package static func namesMatch(_ lhs: String, _ rhs: String) -> Bool {
        lhs.utf8.count == rhs.utf8.count && zip(lhs.utf8, rhs.utf8).allSatisfy { folded($0) == folded($1) }
    }

    private static func folded(_ octet: UInt8) -> UInt8 {
        (0x41...0x5A).contains(octet) ? octet | 0x20 : octet
    }
}

extension HTTPTransportHeaders: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names; a value can be a credential and is never shown.
    public var description: String {
        "[" + fields.map { "\($0.name): <\($0.value.utf8.count) bytes>" }.joined(separator: ", ") + "]"
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension HTTPTransportHeaders.Field: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name and the length of the value.
    public var description: String { "\(name): <\(value.utf8.count) bytes>" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
