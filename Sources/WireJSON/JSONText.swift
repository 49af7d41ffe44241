/// A JSON value to be written, members in the order they were given.
///
/// Providers write their payloads in an order of their own, and hostile cases need texts that no encoder would write.
package enum JSONText: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([JSONText])
    case object(JSONMembers)
    /// Written as it is, valid JSON or not.
    case raw(String)

    /// The text, without white space.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The text in UTF-8, without white space.
    package var bytes: [UInt8] {
        var octets: [UInt8] = []
        write(to: &octets)
        return octets
    }

    fileprivate func write(to octets: inout [UInt8]) {
        switch self {
        case .null: octets.append(contentsOf: "null".utf8)
        case .bool(let value): octets.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): octets.append(contentsOf: String(value).utf8)
        case .string(let value): Self.append(quoted: value, to: &octets)
        case .array(let elements):
            octets.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { octets.append(UInt8(ascii: ",")) }
                element.write(to: &octets)
            }
            octets.append(UInt8(ascii: "]"))
        case .object(let members): members.write(to: &octets)
        case .raw(let text): octets.append(contentsOf: text.utf8)
        }
    }

    /// Appends a string with its quotation marks, and with no more escapes than JSON asks for, the short ones where there
    /// are any (RFC 8785, section 3.2.2.2).
    package static func append(quoted string: String, to octets: inout [UInt8]) {
        octets.append(UInt8(ascii: "\""))
        let utf8 = string.utf8.span
        if utf8.indices.contains(where: { isEscaped(utf8[$0]) }) {
            for index in utf8.indices { append(escaping: utf8[index], to: &octets) }
        } else {
            octets.append(contentsOf: string.utf8)
        }
        octets.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ octet: UInt8) -> Bool {
        octet < 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\")
    }

    private static func append(escaping octet: UInt8, to octets: inout [UInt8]) {
        let escape: String
        switch octet {
        case UInt8(ascii: "\""): escape = "\\\""
        case UInt8(ascii: "\\"): escape = "\\\\"
        case 0x08: escape = "\\b"
        case 0x09: escape = "\\t"
        case 0x0A: escape = "\\n"
        case 0x0C: escape = "\\f"
        case 0x0D: escape = "\\r"
        case ..<0x10: escape = "\\u000" + String(octet, radix: 16)
        case ..<0x20: escape = "\\u00" + String(octet, radix: 16)
        default: return octets.append(octet)
        }
        octets.append(contentsOf: escape.utf8)
    }
}

extension JSONText: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSONText...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONText)...) { self = .object(JSONMembers(elements)) }
    package init(nilLiteral: ()) { self = .null }
}

/// The members of an object to be written.
package struct JSONMembers: Sendable {
    fileprivate var members: [(name: String, value: JSONText)]

    package init(_ members: [(String, JSONText)] = []) {
        self.members = members.map { (name: $0.0, value: $0.1) }
    }

    /// The value of a member; setting it keeps its place, or puts a new one at the end; nil takes it out.
    package subscript(name: String) -> JSONText? {
        get { members.first { $0.name == name }?.value }
        set {
            if let index = members.firstIndex(where: { $0.name == name }) {
                if let newValue { members[index].value = newValue } else { members.remove(at: index) }
            } else if let newValue {
                members.append((name: name, value: newValue))
            }
        }
    }

    /// Adds a member, even where one of this name is there already.
    package mutating func append(_ name: String, _ value: JSONText) {
        members.append((name: name, value: value))
    }

    /// Adds members that have a value.
    package mutating func add(_ name: String, _ value: String?) { if let value { append(name, .string(value)) } }
    package mutating func add(_ name: String, _ value: Int64?) { if let value { append(name, .integer(value)) } }
    package mutating func add(_ name: String, _ value: Bool?) { if let value { append(name, .bool(value)) } }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package var bytes: [UInt8] { JSONText.object(self).bytes }

    fileprivate func write(to octets: inout [UInt8]) {
        octets.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { octets.append(UInt8(ascii: ",")) }
            JSONText.append(quoted: member.name, to: &octets)
            octets.append(UInt8(ascii: ":"))
            member.value.write(to: &octets)
        }
        octets.append(UInt8(ascii: "}"))
    }
}

extension JSONMembers: Sequence {
    /// The members in their order.
    package func makeIterator() -> IndexingIterator<[(name: String, value: JSONText)]> { members.makeIterator() }
}
