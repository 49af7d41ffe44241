import FoundationEssentials
import LifecycleEvents
import SignatureCore
import WireJSON

/// Where fields are found: by name in an object, or among members that were found before.
protocol FieldSource {
    associatedtype Field
    /// Reads what has no field, and collects anomalies.
    var reader: ObjectReader { get set }

    func optionalString(_ field: Field) throws(JSONError) -> String?
    func optionalInt64(_ field: Field) throws(JSONError) -> Int64?
    func optionalDecimal(_ field: Field) throws(JSONError) -> JSONDecimal?
    func optionalBool(_ field: Field) throws(JSONError) -> Bool?
    func optionalValue(_ field: Field) -> JSONValue?
}

extension FieldSource {
    /// An error about a field that was read.
    func error(_ reason: JSONError.Reason, at field: Field) -> JSONError {
        optionalValue(field)?.error(reason) ?? JSONError(reason, path: reader.path, offset: 0)
    }
}

extension ObjectReader: FieldSource {
    var reader: ObjectReader {
        get { self }
        set { self = newValue }
    }
}

/// Reads fields as strictly as the type of an event deserves.
///
/// In a lifecycle event, a date, amount or identifier of an undocumented type makes the body malformed. In any other
/// event, whose fields are not documented as stable, it reads as absent and is noted.
struct FieldReader<Source: FieldSource> {
    private var source: Source
    var isStrict: Bool

    init(_ source: Source, isStrict: Bool) {
        self.source = source
        self.isStrict = isStrict
    }

    var reader: ObjectReader {
        get { source.reader }
        set { source.reader = newValue }
    }

    @inline(__always)
    private mutating func read<Value>(
        _ read: (Source) throws(JSONError) -> Value?
    ) throws(JSONError) -> Value? {
        do throws(JSONError) {
            return try read(source)
        } catch {
            guard !isStrict else { throw error }
            reader.note(error.path)
            return nil
        }
    }

    /// An empty identifier identifies nothing, and reads as absent.
    mutating func identifier(_ field: Source.Field) throws(JSONError) -> String? {
        try read { (source) throws(JSONError) in
            guard let text = try source.optionalString(field) else { return nil }
            guard !text.holdsControl else { throw source.error(.unescapedControl, at: field) }
            return text.isEmpty ? nil : text
        }
    }

    mutating func identifiers(_ field: Source.Field) throws(JSONError) -> [String] {
        try read { (source) throws(JSONError) in try source.optionalValue(field)?.identifiers() } ?? []
    }

    mutating func open<Value: OpenValue>(_ field: Source.Field) throws(JSONError) -> Value? {
        try identifier(field).map(Value.init(rawValue:))
    }

    mutating func date(_ field: Source.Field) throws(JSONError) -> Date? {
        try read { (source) throws(JSONError) in
            guard let milliseconds = try source.optionalInt64(field) else { return nil }
            guard Limits.milliseconds.contains(milliseconds) else {
                throw source.error(.integerOutOfRange, at: field)
            }
            return Date(millisecondsSince1970: milliseconds)
        }
    }

    mutating func amount(_ field: Source.Field) throws(JSONError) -> ExactDecimal? {
        try read { (source) throws(JSONError) in try source.optionalDecimal(field) }
            .flatMap { ExactDecimal(coefficient: $0.coefficient, scale: $0.scale) }
    }

    mutating func integer(_ field: Source.Field) throws(JSONError) -> Int64? {
        try read { (source) throws(JSONError) in
            guard let count = try source.optionalInt64(field) else { return nil }
            guard count.isExactInJSON else { throw source.error(.integerOutOfRange, at: field) }
            return count
        }
    }

    /// Of any kind, and never an anomaly.
    func value(_ field: Source.Field) -> JSONValue? { source.optionalValue(field) }
    func has(_ field: Source.Field) -> Bool { source.optionalValue(field) != nil }

    mutating func flag(_ field: Source.Field) throws(JSONError) -> Bool? {
        try read { (source) throws(JSONError) in try source.optionalBool(field) }
    }

    mutating func descriptiveString(_ field: Source.Field) -> String? {
        do throws(JSONError) { return try source.optionalString(field) } catch {
            reader.note(error.path)
            return nil
        }
    }

    /// A country by ISO 3166-1 alpha-2. Anything else is noted.
    mutating func descriptiveCountry(_ field: Source.Field) -> String? {
        guard let country = descriptiveString(field), !country.isEmpty else { return nil }
        if country.isCountryCode { return country }
        if let value = source.optionalValue(field) { reader.note(value.path) }
        return nil
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
