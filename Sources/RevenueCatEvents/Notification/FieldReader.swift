import FoundationEssentials
import Normalizer
import WireJSON

/// Reads an event's fields as strictly as its type deserves.
///
/// Of a lifecycle event, a date, amount or identifier of another kind than documented makes the body malformed. Of any
/// other, whose fields nobody promised, it reads as absent and is noted.
struct FieldReader {
    private(set) var reader: ObjectReader
    let isStrict: Bool

    init(_ reader: ObjectReader, isStrict: Bool) {
        self.reader = reader
        self.isStrict = isStrict
    }

    private mutating func optional<Value>(
        _ name: MemberName,
        _ read: (JSONValue) throws(JSONError) -> Value?
    ) throws(JSONError) -> Value? {
        guard let value = reader.optionalValue(name) else { return nil }
        do throws(JSONError) {
            return try read(value)
        } catch {
            guard !isStrict else { throw error }
            reader.note(error.path)
            return nil
        }
    }

    /// An empty identifier identifies nothing, and reads as absent.
    mutating func identifier(_ name: MemberName) throws(JSONError) -> String? {
        try optional(name) { (value) throws(JSONError) in try value.identifier() }
    }

    mutating func identifiers(_ name: MemberName) throws(JSONError) -> [String] {
        try optional(name) { (value) throws(JSONError) in try value.identifiers() } ?? []
    }

    mutating func open<Value: OpenValue>(_ name: MemberName) throws(JSONError) -> Value? {
        try identifier(name).map(Value.init(rawValue:))
    }

    mutating func date(_ name: MemberName) throws(JSONError) -> Date? {
        try optional(name) { (value) throws(JSONError) in
            let milliseconds = try value.int64()
            guard Limits.milliseconds.contains(milliseconds) else { throw value.error(.integerOutOfRange) }
            return Date(millisecondsSince1970: milliseconds)
        }
    }

    mutating func amount(_ name: MemberName) throws(JSONError) -> ExactDecimal? {
        try optional(name) { (value) throws(JSONError) in
            let decimal = try value.decimal()
            return ExactDecimal(coefficient: decimal.coefficient, scale: decimal.scale)
        }
    }

    mutating func flag(_ name: MemberName) throws(JSONError) -> Bool? {
        try optional(name) { (value) throws(JSONError) in try value.bool() }
    }

    mutating func descriptiveString(_ name: MemberName) -> String? { reader.descriptiveString(name) }
    mutating func descriptiveInt64(_ name: MemberName) -> Int64? { reader.descriptiveInt64(name) }
    mutating func note(_ name: MemberName) { reader.note(reader.path + "." + name.text) }
}

extension JSONValue {
    /// A string without control characters; nil for an empty one.
    func identifier() throws(JSONError) -> String? {
        let text = try string()
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw error(.unescapedControl) }
        return text.isEmpty ? nil : text
    }

    func identifiers() throws(JSONError) -> [String] {
        var identifiers: [String] = []
        for element in try array() {
            if let identifier = try element.identifier() { identifiers.append(identifier) }
        }
        return identifiers
    }
}
