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
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .string(let value): Self.quoted(value)
        case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
        case .object(let members): members.text
        case .raw(let text): text
        }
    }

    package var bytes: [UInt8] { Array(text.utf8) }

    package static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
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
    mutating func add(_ name: String, _ value: String?) { if let value { append(name, .string(value)) } }
    mutating func add(_ name: String, _ value: Int64?) { if let value { append(name, .integer(value)) } }
    mutating func add(_ name: String, _ value: Bool?) { if let value { append(name, .bool(value)) } }

    package var text: String {
        "{\(members.map { "\(JSONText.quoted($0.name)):\($0.value.text)" }.joined(separator: ","))}"
    }

    package var bytes: [UInt8] { Array(text.utf8) }
}

extension JSONMembers: Sequence {
    /// The members in their order.
    package func makeIterator() -> IndexingIterator<[(name: String, value: JSONText)]> { members.makeIterator() }
}
