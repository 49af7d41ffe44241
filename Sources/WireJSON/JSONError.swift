/// The reason that a document, or a value in it, was refused.
///
/// It names the place and the reason, never the content: neither member names nor values of the document appear in it.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: Error, Hashable, Sendable {
        // A limit, `JSONLimits`.
        case tooLarge(limit: Int)
        case tooDeep(limit: Int)
        case tooManyNodes(limit: Int)
        // Not the grammar of RFC 8259.
        case byteOrderMark
        case unexpectedEnd
        case unexpectedOctet
        case trailingOctets
        case invalidNumber
        case invalidEscape
        case unescapedControl
        // Grammatical, and refused all the same.
        case invalidUTF8
        case loneSurrogate
        case duplicateMember
        // A sound document without the requested member.
        case missing
        case unexpectedKind(expected: JSONValue.Kind, found: JSONValue.Kind)
        case notAnInteger
        case integerOutOfRange
        case decimalOutOfRange
    }

    package let reason: Reason
    /// The way from the root in names the caller asked for, such as `data.items[2].price`; empty for the root and
    /// for everything found while the document is indexed. A member reached by iteration appears as `*`.
    package let path: String
    /// The octets between the start of the document and the error.
    package let offset: Int

    package init(_ reason: Reason, path: String = "", offset: Int) {
        self.reason = reason
        self.path = path
        self.offset = offset
    }

    package var description: String {
        path.isEmpty ? "\(reason.text) at octet \(offset)" : "\(path): \(reason.text) at octet \(offset)"
    }
}

extension JSONError.Reason {
    fileprivate var text: String {
        switch self {
        case .tooLarge(let limit): "document is longer than \(limit) octets"
        case .tooDeep(let limit): "nesting is deeper than \(limit)"
        case .tooManyNodes(let limit): "document has more than \(limit) values and names"
        case .byteOrderMark: "byte order mark"
        case .unexpectedEnd: "document ends early"
        case .unexpectedOctet: "unexpected octet"
        case .trailingOctets: "octets after the document"
        case .invalidNumber: "malformed number"
        case .invalidEscape: "malformed escape"
        case .unescapedControl: "control character in a string"
        case .invalidUTF8: "malformed UTF-8"
        case .loneSurrogate: "surrogate without its other half"
        case .duplicateMember: "member name occurs twice in one object"
        case .missing: "required member is absent"
        case .unexpectedKind(let expected, let found): "expected \(expected), found \(found)"
        case .notAnInteger: "number is not written as an integer"
        case .integerOutOfRange: "integer does not fit 64 bits"
        case .decimalOutOfRange: "number needs more than \(JSONDecimal.maximumDigits) decimal digits"
        }
    }
}
