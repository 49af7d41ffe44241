import FoundationEssentials
import Normalizer
import SignatureCore
import WireJSON

/// Reads an event's fields as strictly as its type deserves.
///
/// Of a lifecycle event, a date, amount or identifier of another kind than documented makes the body malformed. Of any
/// other, whose fields nobody promised, it reads as absent and is noted.
struct FieldReader {
    private(set) var reader: ObjectReader
    var isStrict: Bool

    init(_ reader: ObjectReader, isStrict: Bool) {
        self.reader = reader
        self.isStrict = isStrict
    }

    @inline(__always)
    private mutating func read<Value>(
        _ read: (ObjectReader) throws(JSONError) -> Value?
    ) throws(JSONError) -> Value? {
        do throws(JSONError) {
            return try read(reader)
        } catch {
            guard !isStrict else { throw error }
            reader.note(error.path)
            return nil
        }
    }

    /// An empty identifier identifies nothing, and reads as absent.
    mutating func identifier(_ name: MemberName) throws(JSONError) -> String? {
        try read { (reader) throws(JSONError) in
            guard let text = try reader.optionalString(name) else { return nil }
            guard !text.holdsControl else { throw try reader.value(name).error(.unescapedControl) }
            return text.isEmpty ? nil : text
        }
    }

    mutating func identifiers(_ name: MemberName) throws(JSONError) -> [String] {
        try read { (reader) throws(JSONError) in try reader.optionalValue(name)?.identifiers() } ?? []
    }

    mutating func open<Value: OpenValue>(_ name: MemberName) throws(JSONError) -> Value? {
        try identifier(name).map(Value.init(rawValue:))
    }

    mutating func date(_ name: MemberName) throws(JSONError) -> Date? {
        try read { (reader) throws(JSONError) in
            guard let milliseconds = try reader.optionalInt64(name) else { return nil }
            guard Limits.milliseconds.contains(milliseconds) else {
                throw try reader.value(name).error(.integerOutOfRange)
            }
            return Date(millisecondsSince1970: milliseconds)
        }
    }

    mutating func amount(_ name: MemberName) throws(JSONError) -> ExactDecimal? {
        try read { (reader) throws(JSONError) in try reader.optionalDecimal(name) }
            .flatMap { ExactDecimal(coefficient: $0.coefficient, scale: $0.scale) }
    }

    mutating func integer(_ name: MemberName) throws(JSONError) -> Int64? {
        try read { (reader) throws(JSONError) in try reader.optionalInt64(name) }
    }

    mutating func flag(_ name: MemberName) throws(JSONError) -> Bool? {
        try read { (reader) throws(JSONError) in try reader.optionalBool(name) }
    }

    mutating func descriptiveString(_ name: MemberName) -> String? { reader.descriptiveString(name) }
    mutating func descriptiveInt64(_ name: MemberName) -> Int64? { reader.descriptiveInt64(name) }
    mutating func note(_ name: MemberName) { reader.note(reader.path + "." + name.text) }
}

extension JSONValue {
    /// A string without control characters; nil for an empty one.
    func identifier() throws(JSONError) -> String? {
        let text = try string()
        guard !text.holdsControl else { throw error(.unescapedControl) }
        return text.isEmpty ? nil : text
    }

    func identifiers() throws(JSONError) -> [String] {
        let elements = try array()
        var identifiers: [String] = []
        identifiers.reserveCapacity(elements.count)
        for element in elements {
            if let identifier = try element.identifier() { identifiers.append(identifier) }
        }
        return identifiers
    }
}

extension String {
    /// Whether there is an ASCII control character in it.
    fileprivate var holdsControl: Bool {
        let octets = utf8Span.span
        var found: UInt8 = 0
        var index = 0
        // Without a way out of the loop, it looks at many octets at a time.
        while index < octets.count {
            let octet = octets[index]
            found |= octet < 0x20 || octet == 0x7F ? 1 : 0
            index &+= 1
        }
        return found != 0
    }
}
