/// A type that is read from an object.
package protocol JSONReadable {
    init(reading reader: inout ObjectReader) throws(JSONError)
}

/// Reads the members of one object into a wire model.
///
/// Three degrees of insistence. `string("id")`: the member has to be there and a string. `optionalString("id")`: absent
/// and null read as `nil`, any other kind throws, since a date, amount or identifier is never guessed.
/// `descriptiveString("name")`: what is only informative reads as `nil` when it is of an unexpected kind, and its path
/// is noted in `anomalies`.
package struct ObjectReader: Sendable {
    /// How many paths `anomalies` keeps at most.
    package static let maximumAnomalies = 16

    package let object: JSONObject
    /// Paths of descriptive members that were of an unexpected kind, in this object and those read through it.
    package var anomalies: [String] { notes ?? [] }
    // Nil rather than empty, because readers are many and notes are few.
    private var notes: [String]?
    /// How many there were, including those `anomalies` has no room for.
    package private(set) var anomalyCount = 0

    package init(_ value: JSONValue) throws(JSONError) {
        object = try value.object()
    }

    /// Reads a document that is an object.
    package init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(JSONDocument(parsing: bytes, limits: limits).root)
    }

    /// As in `JSONError.path`.
    package var path: String { object.path }

    // MARK: Required

    package func string(_ name: MemberName) throws(JSONError) -> String {
        try required(name) { (document, node) throws(JSONError.Reason) in try document.string(at: node) }
    }

    package func utf8Slice(_ name: MemberName) throws(JSONError) -> ArraySlice<UInt8> {
        try required(name) { (document, node) throws(JSONError.Reason) in try document.utf8Slice(at: node) }
    }

    package func int64(_ name: MemberName) throws(JSONError) -> Int64 {
        try required(name) { (document, node) throws(JSONError.Reason) in try document.int64(at: node) }
    }

    package func array(_ name: MemberName) throws(JSONError) -> JSONArray { try value(name).array() }
    package func strings(_ name: MemberName) throws(JSONError) -> [String] { try value(name).strings() }
    /// Whatever the member is, including null.
    package func value(_ name: MemberName) throws(JSONError) -> JSONValue { try object.required(name) }

    // MARK: Optional

    package func optionalString(_ name: MemberName) throws(JSONError) -> String? {
        try optional(name) { (document, node) throws(JSONError.Reason) in try document.string(at: node) }
    }

    package func optionalUTF8Slice(_ name: MemberName) throws(JSONError) -> ArraySlice<UInt8>? {
        try optional(name) { (document, node) throws(JSONError.Reason) in try document.utf8Slice(at: node) }
    }

    package func optionalInt64(_ name: MemberName) throws(JSONError) -> Int64? {
        try optional(name) { (document, node) throws(JSONError.Reason) in try document.int64(at: node) }
    }

    /// How many there are of something: a whole number that is exact in every reader of JSON.
    package func optionalCount(_ name: MemberName) throws(JSONError) -> Int64? {
        guard let count = try optionalInt64(name) else { return nil }
        guard count.isExactInJSON else { throw try value(name).error(.integerOutOfRange) }
        return count
    }

    package func optionalDecimal(_ name: MemberName) throws(JSONError) -> JSONDecimal? {
        try optional(name) { (document, node) throws(JSONError.Reason) in try document.decimal(at: node) }
    }

    package func optionalBool(_ name: MemberName) throws(JSONError) -> Bool? {
        try optional(name) { (document, node) throws(JSONError.Reason) in try document.bool(at: node) }
    }

    package func optionalArray(_ name: MemberName) throws(JSONError) -> JSONArray? {
        try optionalValue(name)?.array()
    }

    package func optionalStrings(_ name: MemberName) throws(JSONError) -> [String]? {
        try optionalValue(name)?.strings()
    }

    /// The member, unless it is absent or null.
    package func optionalValue(_ name: MemberName) -> JSONValue? {
        guard let node = object.document.member(name, of: object.node), object.document.nodes[node].kind != .null
        else { return nil }
        return object.value(at: node, iterated: object.iterated)
    }

    package mutating func optionalObjects<Model: JSONReadable>(
        _ name: MemberName,
        as model: Model.Type = Model.self
    ) throws(JSONError) -> [Model]? {
        guard let value = optionalValue(name) else { return nil }
        return try readAll(value)
    }

    // MARK: Descriptive

    package mutating func descriptiveString(_ name: MemberName) -> String? {
        do throws(JSONError) { return try optionalString(name) } catch { return noted(error) }
    }

    package mutating func descriptiveInt64(_ name: MemberName) -> Int64? {
        do throws(JSONError) { return try optionalInt64(name) } catch { return noted(error) }
    }

    package mutating func descriptiveBool(_ name: MemberName) -> Bool? {
        do throws(JSONError) { return try optionalBool(name) } catch { return noted(error) }
    }

    package mutating func descriptiveArray(_ name: MemberName) -> JSONArray? {
        do throws(JSONError) { return try optionalArray(name) } catch { return noted(error) }
    }

    package mutating func descriptiveStrings(_ name: MemberName) -> [String]? {
        do throws(JSONError) { return try optionalStrings(name) } catch { return noted(error) }
    }

    /// A country by ISO 3166-1 alpha-2: two capital letters. Anything else is noted.
    package mutating func descriptiveCountry(_ name: MemberName) -> String? {
        guard let country = descriptiveString(name), !country.isEmpty else { return nil }
        if country.isCountryCode { return country }
        if let value = optionalValue(name) { note(value.path) }
        return nil
    }

    private mutating func noted<Result>(_ error: JSONError) -> Result? {
        note(error.path)
        return nil
    }

    // MARK: Members

    @inline(__always)
    private func required<Result>(
        _ name: MemberName,
        _ read: (JSONDocument, Int) throws(JSONError.Reason) -> Result
    ) throws(JSONError) -> Result {
        guard let node = object.document.member(name, of: object.node) else { throw object.missing(name) }
        return try object.read(at: node, read)
    }

    /// Nil if the member is absent or null.
    @inline(__always)
    private func optional<Result>(
        _ name: MemberName,
        _ read: (JSONDocument, Int) throws(JSONError.Reason) -> Result
    ) throws(JSONError) -> Result? {
        guard let node = object.document.member(name, of: object.node), object.document.nodes[node].kind != .null
        else { return nil }
        return try object.read(at: node, read)
    }

    // MARK: Nested

    /// Reads an object that was reached by other means, and takes over its anomalies.
    package mutating func read<Model: JSONReadable>(
        _ value: JSONValue,
        as model: Model.Type = Model.self
    ) throws(JSONError) -> Model {
        var nested = try ObjectReader(value)
        let result = try Model(reading: &nested)
        if let paths = nested.notes { for path in paths { keep(path) } }
        anomalyCount += nested.anomalyCount
        return result
    }

    private mutating func readAll<Model: JSONReadable>(_ value: JSONValue) throws(JSONError) -> [Model] {
        let elements = try value.array()
        var models: [Model] = []
        models.reserveCapacity(elements.count)
        for element in elements { models.append(try read(element)) }
        return models
    }

    /// Counts a member whose content, rather than kind, is unexpected.
    package mutating func note(_ path: String) {
        keep(path)
        anomalyCount += 1
    }

    private mutating func keep(_ path: String) {
        if anomalies.count < Self.maximumAnomalies { notes = anomalies + [path] }
    }
}

extension JSONValue {
    /// An array whose elements are all strings.
    package func strings() throws(JSONError) -> [String] {
        try array().strings()
    }
}

extension String {
    /// True for two capital letters, as ISO 3166-1 alpha-2 has them.
    package var isCountryCode: Bool { utf8.count == 2 && utf8.allSatisfy { (0x41...0x5A).contains($0) } }
}
