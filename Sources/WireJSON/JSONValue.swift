/// A value in a document: which one it is, and the way there.
package struct JSONValue: Sendable {
    package enum Kind: Sendable, Hashable {
        case null, bool, number, string, array, object
    }

    /// How a value was reached from the one around it.
    enum Step: Sendable {
        case root
        case member(MemberName)
        case element(Int)
        /// By iteration; the name is the document's and does not go into a path.
        case someMember
    }

    let document: JSONDocument
    let node: Int
    let parent: String
    let step: Step

    private var entry: JSONNode { document.nodes[node] }

    package var kind: Kind {
        switch entry.kind {
        case .null: .null
        case .false, .true: .bool
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    package var isNull: Bool { entry.kind == .null }

    /// As in `JSONError.path`.
    package var path: String {
        switch step {
        case .root: parent
        case .member(let name): name.path(in: parent)
        case .element(let index): parent + "[" + String(index) + "]"
        case .someMember: parent.isEmpty ? "*" : parent + ".*"
        }
    }

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

    // MARK: Structure

    package func object() throws(JSONError) -> JSONObject {
        try require(.object)
        return JSONObject(document: document, node: node, path: path)
    }

    package func array() throws(JSONError) -> JSONArray {
        try require(.array)
        return JSONArray(document: document, node: node, path: path)
    }

    // MARK: Strings

    /// The string, scalar for scalar as written; nothing is normalized.
    package func string() throws(JSONError) -> String {
        String(decoding: try utf8Slice(), as: UTF8.self)
    }

    /// The string's octets after unescaping.
    package func utf8() throws(JSONError) -> [UInt8] {
        Array(try utf8Slice())
    }

    /// The string's octets after unescaping; where there is no escape, a view of the received octets and no copy.
    package func utf8Slice() throws(JSONError) -> ArraySlice<UInt8> {
        try require(.string)
        return document.text(entry.range, hasEscape: entry.flag)
    }

    /// Where the string's octets lie in the array or slice the document was parsed from, or `nil` when this is not a
    /// string or it holds an escape.
    package var rawUTF8Range: Range<Int>? {
        guard entry.kind == .string, !entry.flag else { return nil }
        let base = document.bytes.startIndex
        return base &+ entry.range.lowerBound..<base &+ entry.range.upperBound
    }

    /// Whether this is a string of exactly these octets: unlike `String`'s `==`, canonically equivalent text differs.
    package func isString(_ text: String) -> Bool {
        entry.kind == .string && document.isText(entry.range, hasEscape: entry.flag, text.utf8.span)
    }

    // MARK: Scalars

    package func bool() throws(JSONError) -> Bool {
        try require(.bool)
        return entry.kind == .true
    }

    /// A number written without fraction and exponent that fits 64 bits.
    ///
    /// `1.0` and `1e3` are not accepted; whoever means to accept them asks for `decimal().int64`.
    package func int64() throws(JSONError) -> Int64 {
        try require(.number)
        guard entry.flag else { throw error(.notAnInteger) }
        let bytes = document.bytes
        let text = bytes.span
        var index = entry.range.lowerBound
        let isNegative = text[index] == UInt8(ascii: "-")
        if isNegative { index &+= 1 }
        // Built downwards, since the negative range is the larger one.
        var value: Int64 = 0
        while index < entry.range.upperBound {
            let digit = Int64(text[index] &- UInt8(ascii: "0"))
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (difference, underflows) = product.subtractingReportingOverflow(digit)
            guard !overflows, !underflows else { throw error(.integerOutOfRange) }
            value = difference
            index &+= 1
        }
        if isNegative { return value }
        guard value != .min else { throw error(.integerOutOfRange) }
        return -value
    }

    /// The exact value of a number.
    ///
    /// - Throws: `decimalOutOfRange` when writing it out takes more than `JSONDecimal.maximumDigits` digits.
    package func decimal() throws(JSONError) -> JSONDecimal {
        try require(.number)
        let bytes = document.bytes
        guard let decimal = JSONDecimal(bytes.span, entry.range) else { throw error(.decimalOutOfRange) }
        return decimal
    }
}
