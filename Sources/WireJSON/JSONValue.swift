/// A value in a document: which one it is, and the way there.
package struct JSONValue: Sendable {
    package enum Kind: Sendable, Hashable {
        case null, bool, number, string, array, object
    }

    let document: JSONDocument
    let node: Int
    /// The array or object around it, and the number of this element in it; for an object's members the node has it.
    let container: UInt32
    let position: UInt32
    /// As in `JSONDocument.path(to:in:at:iterated:)`.
    let iterated: UInt64

    @inline(__always)
    private var entry: JSONNode { document.nodes[node] }

    package var kind: Kind { entry.kind.visible }

    package var isNull: Bool { document.nodes[node].kind == .null }

    /// As in `JSONError.path`.
    ///
    /// - Complexity: O(depth), and only if it is asked for.
    package var path: String { document.path(to: node, in: container, at: position, iterated: iterated) }

    /// Where the value starts, counted from the start of the document.
    package var offset: Int { sourceRange.lowerBound }

    /// The octets that make up the value, quotation marks and all.
    package var rawBytes: ArraySlice<UInt8> { document.source(sourceRange) }

    private var sourceRange: Range<Int> {
        let range = entry.range
        return entry.kind == .string ? range.lowerBound &- 1..<range.upperBound &+ 1 : range
    }

    /// An error about this value.
    package func error(_ reason: JSONError.Reason) -> JSONError {
        JSONError(reason, path: path, offset: offset)
    }

    private func require(_ expected: Kind) throws(JSONError) {
        let found = kind
        guard found == expected else { throw error(.unexpectedKind(expected: expected, found: found)) }
    }

    /// Reads the value, and says where it lies if it cannot be read.
    @inline(__always)
    private func read<Result>(
        _ read: (JSONDocument, Int) throws(JSONError.Reason) -> Result
    ) throws(JSONError) -> Result {
        do throws(JSONError.Reason) { return try read(document, node) } catch { throw self.error(error) }
    }

    // MARK: Structure

    package func object() throws(JSONError) -> JSONObject {
        try require(.object)
        return JSONObject(document: document, node: node, iterated: iterated)
    }

    package func array() throws(JSONError) -> JSONArray {
        try require(.array)
        return JSONArray(document: document, node: node, iterated: iterated)
    }

    // MARK: Strings

    /// The string, scalar for scalar as written; nothing is normalized.
    package func string() throws(JSONError) -> String {
        try read { (document, node) throws(JSONError.Reason) in try document.string(at: node) }
    }

    /// The string's octets after unescaping.
    package func utf8() throws(JSONError) -> [UInt8] {
        Array(try utf8Slice())
    }

    /// The string's octets after unescaping; where there is no escape, a view of the received octets and no copy.
    package func utf8Slice() throws(JSONError) -> ArraySlice<UInt8> {
        try read { (document, node) throws(JSONError.Reason) in try document.utf8Slice(at: node) }
    }

    /// Where the string's octets lie in the array the document was parsed from, or `nil` when this is not a
    /// string or it holds an escape.
    package var rawUTF8Range: Range<Int>? {
        guard entry.kind == .string, !entry.flag else { return nil }
        return entry.range
    }

    /// True if this is a string of exactly these octets: unlike `String`'s `==`, canonically equivalent text differs.
    package func isString(_ text: String) -> Bool {
        entry.kind == .string && document.isText(entry.range, hasEscape: entry.flag, text.utf8.span)
    }

    // MARK: Scalars

    package func bool() throws(JSONError) -> Bool {
        try read { (document, node) throws(JSONError.Reason) in try document.bool(at: node) }
    }

    /// A number written without fraction and exponent that fits 64 bits.
    ///
    /// `1.0` and `1e3` are not accepted; to accept them, use `decimal().int64`.
    package func int64() throws(JSONError) -> Int64 {
        try read { (document, node) throws(JSONError.Reason) in try document.int64(at: node) }
    }

    /// The exact value of a number.
    ///
    /// - Throws: `decimalOutOfRange` when writing it out takes more than `JSONDecimal.maximumDigits` digits.
    package func decimal() throws(JSONError) -> JSONDecimal {
        try read { (document, node) throws(JSONError.Reason) in try document.decimal(at: node) }
    }
}

extension JSONNode.Kind {
    var visible: JSONValue.Kind {
        switch self {
        case .null: .null
        case .false, .true: .bool
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }
}
