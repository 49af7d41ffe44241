import Testing
import WireJSON

/// A document with a name to find it by in a report.
struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    let bytes: [UInt8]

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    init(_ name: String, _ text: String) {
        self.init(name, Array(text.utf8))
    }

    var testDescription: String { name }

    /// Octets inside a string.
    static func string(_ name: String, _ content: [UInt8]) -> Case {
        Case(name, [0x22] + content + [0x22])
    }
}

/// A document that has to be refused, and why.
struct Refusal: CustomTestStringConvertible, Sendable {
    let document: Case
    let reason: JSONError.Reason

    var testDescription: String { document.name }

    init(_ reason: JSONError.Reason, _ document: Case) {
        self.document = document
        self.reason = reason
    }

    init(_ reason: JSONError.Reason, _ name: String, text: String) {
        self.init(reason, Case(name, text))
    }
}

func parse(_ text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSONValue {
    try JSONDocument(parsing: Array(text.utf8), limits: limits).root
}

func parse(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSONValue {
    try JSONDocument(parsing: bytes, limits: limits).root
}

/// The error that refuses a document.
func refusal(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) -> JSONError? {
    do throws(JSONError) {
        _ = try parse(bytes, limits: limits)
        return nil
    } catch {
        return error
    }
}

func refusal(_ text: String, limits: JSONLimits = JSONLimits()) -> JSONError? {
    refusal(Array(text.utf8), limits: limits)
}

/// The error of reading a sound document.
func failure<Value>(_ read: () throws(JSONError) -> Value) -> JSONError.Reason? {
    do throws(JSONError) {
        _ = try read()
        return nil
    } catch {
        return error.reason
    }
}

/// A document's content, apart from how it was written, read through the API alone.
indirect enum Tree: Hashable {
    case null
    case bool(Bool)
    case number([UInt8])
    case string([UInt8])
    case array([Tree])
    case object([[UInt8]: Tree])

    init(_ value: JSONValue) throws(JSONError) {
        switch value.kind {
        case .null: self = .null
        case .bool: self = .bool(try value.bool())
        case .number: self = .number(Array(value.rawBytes))
        case .string: self = .string(try value.utf8())
        case .array:
            var elements: [Tree] = []
            for element in try value.array() { elements.append(try Tree(element)) }
            self = .array(elements)
        case .object:
            var members: [[UInt8]: Tree] = [:]
            for (name, value) in try value.object().members { members[Array(name.utf8)] = try Tree(value) }
            self = .object(members)
        }
    }
}
