import FoundationEssentials
import LifecycleEvents
import SignatureCore
import WireJSON

/// Reads fields as strictly as the type of an event deserves.
///
/// In a lifecycle event, a date, amount or identifier of an undocumented type makes the body malformed. In any other
/// event, whose fields are not documented as stable, it reads as absent and is noted.
struct FieldReader {
    var reader: ObjectReader
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
    mutating func identifier(_ field: MemberName) throws(JSONError) -> String? {
        try read { (reader) throws(JSONError) in
            guard let text = try reader.optionalString(field) else { return nil }
            guard !text.holdsControl else { throw reader.error(.unescapedControl, at: field) }
            return text.isEmpty ? nil : text
        }
    }

    mutating func identifiers(_ field: MemberName) throws(JSONError) -> [String] {
        try read { (reader) throws(JSONError) in try reader.optionalValue(field)?.identifiers() } ?? []
    }

    /// Names next to the one that an event is about. One that cannot be a name is left out and noted, since the event is right without
    /// it: a customer cannot get rid of an alias.
    mutating func aliases(_ field: MemberName) throws(JSONError) -> [String] {
        let texts = try read { (reader) throws(JSONError) in try reader.optionalValue(field)?.array().strings() } ?? []
        guard texts.contains(where: { $0.isEmpty || $0.holdsControl }) else { return texts }
        let names = texts.filter { !$0.holdsControl }
        if names.count < texts.count, let value = reader.optionalValue(field) { reader.note(value.path) }
        return names.filter { !$0.isEmpty }
    }

    mutating func open<Value: OpenValue>(_ field: MemberName) throws(JSONError) -> Value? {
        try identifier(field).map(Value.init(rawValue:))
    }

    mutating func date(_ field: MemberName) throws(JSONError) -> Date? {
        try read { (reader) throws(JSONError) in
            guard let milliseconds = try reader.optionalInt64(field) else { return nil }
            guard Limits.milliseconds.contains(milliseconds) else {
                throw reader.error(.integerOutOfRange, at: field)
            }
            return Date(millisecondsSince1970: milliseconds)
        }
    }

    /// An amount, also one that is written as a string.
    mutating func amount(_ field: MemberName) throws(JSONError) -> ExactDecimal? {
        try read { (reader) throws(JSONError) -> ExactDecimal? in
            do throws(JSONError) {
                return try reader.optionalDecimal(field)
                    .flatMap { ExactDecimal(coefficient: $0.coefficient, scale: $0.scale) }
            } catch {
                guard reader.optionalValue(field)?.kind == .string,
                    let amount = try reader.optionalString(field).flatMap({ ExactDecimal($0) })
                else { throw error }
                return amount
            }
        }
    }

    mutating func integer(_ field: MemberName) throws(JSONError) -> Int64? {
        try read { (reader) throws(JSONError) in
            guard let count = try reader.optionalInt64(field) else { return nil }
            guard count.isExactInJSON else { throw reader.error(.integerOutOfRange, at: field) }
            return count
        }
    }

    /// Of any kind, and never an anomaly.
    func value(_ field: MemberName) -> JSONValue? { reader.optionalValue(field) }
    func has(_ field: MemberName) -> Bool { reader.optionalValue(field) != nil }

    mutating func flag(_ field: MemberName) throws(JSONError) -> Bool? {
        try read { (reader) throws(JSONError) in try reader.optionalBool(field) }
    }

    mutating func descriptiveString(_ field: MemberName) -> String? {
        do throws(JSONError) { return try reader.optionalString(field) } catch {
            reader.note(error.path)
            return nil
        }
    }

    /// A country by ISO 3166-1 alpha-2. Anything else is noted.
    mutating func descriptiveCountry(_ field: MemberName) -> String? {
        guard let country = descriptiveString(field), !country.isEmpty else { return nil }
        if country.isCountryCode { return country }
        if let value = reader.optionalValue(field) { reader.note(value.path) }
        return nil
    }
}

extension ObjectReader {
    /// An error about a member that was read.
    func error(_ reason: JSONError.Reason, at name: MemberName) -> JSONError {
        optionalValue(name)?.error(reason) ?? JSONError(reason, path: path, offset: 0)
    }
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
        let texts = try elements.strings()
        guard texts.contains(where: { $0.isEmpty || $0.holdsControl }) else { return texts }
        var identifiers: [String] = []
        for element in elements {
            if let identifier = try element.identifier() { identifiers.append(identifier) }
        }
        return identifiers
    }
}

extension String {
    /// True if it contains an ASCII control character.
    fileprivate var holdsControl: Bool {
        let octets = utf8.span
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
