/// The reason that a stored value cannot be read. It names the member and the reason, and shows nothing of the stored
/// value.
public struct InvalidValue: Error, Hashable, CustomStringConvertible {
    /// Where the value stands, such as `facts[0].detail.at`; empty if it is the whole.
    public let member: String
    /// The reason, such as `not an RFC 3339 time of the years 1970 to 9999`.
    public let reason: String

    /// Makes the error.
    public init(member: String, reason: String) {
        self.member = member
        self.reason = reason
    }

    /// For example `member facts[0].detail.at is not an RFC 3339 time of the years 1970 to 9999`.
    public var description: String { member.isEmpty ? reason : "member \(member) is \(reason)" }
}

extension InvalidValue {
    /// Reads the error of a decoder. Its own descriptions may show values, so only those of this package's types are
    /// kept.
    init(_ error: any Error) {
        guard let error = error as? DecodingError else {
            self.init(member: "", reason: "unreadable")
            return
        }
        switch error {
        case .keyNotFound(let key, let context):
            self.init(member: Self.name(of: context.codingPath + [key]), reason: "missing")
        case .valueNotFound(_, let context):
            self.init(member: Self.name(of: context.codingPath), reason: "null")
        case .typeMismatch(_, let context):
            self.init(member: Self.name(of: context.codingPath), reason: "of another type")
        case .dataCorrupted(let context):
            let refusal = context.underlyingError as? Refusal
            let other = context.codingPath.isEmpty ? "not JSON" : "not one of the known values, or out of range"
            self.init(member: Self.name(of: context.codingPath), reason: refusal?.reason ?? other)
        @unknown default:
            self.init(member: "", reason: "unreadable")
        }
    }

    private static func name(of path: [any CodingKey]) -> String {
        path.reduce(into: "") { name, key in
            if let index = key.intValue {
                name += "[\(index)]"
            } else {
                name += name.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

/// A reason of our own for not reading a value.
private struct Refusal: Error {
    var reason: String
}

private struct AnyMember: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension DecodingError {
    fileprivate init(_ reason: String, at path: [any CodingKey]) {
        self = .dataCorrupted(
            Context(codingPath: path, debugDescription: reason, underlyingError: Refusal(reason: reason))
        )
    }
}

extension Decoder {
    /// Why this value is not read. The reason shows nothing of the value.
    package func refusal(_ reason: StaticString) -> DecodingError { DecodingError("\(reason)", at: codingPath) }

    /// The members of an object that people write by hand. A misspelled optional member would have no effect, so an
    /// unknown one is refused by its name.
    package func closedContainer<Key: CodingKey & CaseIterable>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        if let unknown = try container(keyedBy: AnyMember.self).allKeys.first(where: {
            Key(stringValue: $0.stringValue) == nil
        }) {
            let known = Key.allCases.map(\.stringValue).sorted().joined(separator: ", ")
            throw DecodingError("unknown; known are \(known)", at: codingPath + [unknown])
        }
        return try container(keyedBy: type)
    }

    /// Reads a value again that was stored as received. A caller that decodes expects a `DecodingError`, whatever the
    /// reader throws.
    package func reread<Value>(_ read: () throws -> Value) throws -> Value {
        do { return try read() } catch { throw DecodingError("\(error)", at: codingPath) }
    }
}

extension KeyedDecodingContainer {
    /// Why a member is not read. The reason shows nothing of its value.
    package func refusal(_ reason: StaticString, at key: Key) -> DecodingError {
        DecodingError("\(reason)", at: codingPath + [key])
    }
}

// The module's own overloads come before those of the standard library, also in a synthesised `Codable`. So every count
// that this package stores is bounded here, and arithmetic with a few of them cannot overflow.
extension KeyedDecodingContainer {
    /// Reads a whole number within ``Limits/numbers``.
    package func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try decode(BoundedNumber.self, forKey: key).value
    }

    /// Reads a whole number within ``Limits/numbers``; an absent or null member as none.
    package func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try decodeIfPresent(BoundedNumber.self, forKey: key)?.value
    }
}

private struct BoundedNumber: Decodable {
    let value: Int64

    init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Int64.self)
        guard Limits.numbers.contains(value) else { throw decoder.refusal("beyond 2^53") }
    }
}
