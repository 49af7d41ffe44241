import ConformanceVectors
import NotificationSimulator
import SignatureCore
import WireJSON

/// The values of a file of cases, which are written as they stand or made of others.
///
/// | form | value |
/// |---|---|
/// | `{"like":N,"set":{…},"remove":[…]}` | the object N with changes, by JSON Pointer |
/// | `{"join":[S,S]}` | one text after the other |
/// | `{"repeat":S,"times":N}` | a text N times |
/// | `{"base64":V}` | the base64 of a text, or of an object as it is written |
struct CaseValues {
    private var named: [String: JSONText] = [:]

    /// - Parameter objects: objects by name, each of which may be made of those before it.
    init(_ objects: JSONValue? = nil) throws {
        for (name, value) in try objects.pairs { named[name] = try text(value) }
    }

    /// Keeps an object for those that are like it.
    mutating func keep(_ text: JSONText, as name: String) { named[name] = text }

    /// A value, without the white space around it.
    func text(_ value: JSONValue) throws -> JSONText {
        switch value.kind {
        case .array: return .array(try value.array().map(text))
        case .object:
            let object = try value.object()
            if object["like"] != nil { return try edited(try ObjectReader(value)) }
            if ["join", "repeat", "base64"].contains(where: { object[$0] != nil }) {
                return .string(try string(value))
            }
            return .object(JSONMembers(try object.members.map { ($0.name, try text($0.value)) }))
        default: return .raw(String(decoding: value.rawBytes, as: UTF8.self))
        }
    }

    /// A text.
    func string(_ value: JSONValue) throws -> String {
        guard value.kind == .object else { return try value.string() }
        let reader = try ObjectReader(value)
        if let parts = try reader.optionalArray("join") { return try parts.map(string).joined() }
        if let inner = reader.optionalValue("base64") {
            let bytes = try inner.kind == .string ? Array(inner.string().utf8) : text(inner).bytes
            return String(decoding: Base64.encode(bytes.span), as: UTF8.self)
        }
        return String(repeating: try reader.string("repeat"), count: Int(try reader.int64("times")))
    }

    /// The object that `like` names, with what `remove` and `set` change.
    func edited(_ reader: ObjectReader) throws -> JSONText {
        var result = try object(try reader.string("like"))
        for path in try reader.optionalStrings("remove") ?? [] { result = try result.setting(path, to: nil) }
        for (path, value) in try reader.optionalValue("set").pairs {
            result = try result.setting(path, to: text(value))
        }
        return result
    }

    /// An object whose members beside `like` take the place of those of the object that it names; null takes one away.
    func overlaid(_ value: JSONValue) throws -> JSONValue {
        let object = try value.object()
        guard let like = object["like"] else { return value }
        guard case .object(var members) = try self.object(try like.string()) else { return value }
        for (name, value) in object.members where name != "like" {
            let text: JSONText? = try value.isNull ? .none : text(value)
            members[name] = text
        }
        return try JSONDocument(parsing: members.bytes).root
    }

    private func object(_ name: String) throws -> JSONText {
        guard let text = named[name] else { throw VectorError("is like \(name), which there is none of") }
        return text
    }
}

extension JSONValue? {
    /// The members of an object, none where it is absent.
    var pairs: [(name: String, value: JSONValue)] {
        get throws { try self?.object().members.map { ($0.name, $0.value) } ?? [] }
    }
}

extension JSONText {
    /// The same with the value at a path (a JSON Pointer, RFC 6901) set or, where it is nil, taken out. `-` is the place
    /// behind the last element of an array.
    func setting(_ path: String, to value: JSONText?) throws -> JSONText {
        let names = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            String($0).replacing("~1", with: "/").replacing("~0", with: "~")
        }
        guard let result = try setting(names[...], to: value) else {
            throw VectorError("\(path): nothing would be left")
        }
        return result
    }

    private func setting(_ path: ArraySlice<String>, to value: JSONText?) throws -> JSONText? {
        guard let name = path.first else { return value }
        switch self {
        case .object(var members):
            if let member = members[name] {
                members[name] = try member.setting(path.dropFirst(), to: value)
            } else {
                guard path.count == 1, let value else { throw VectorError("\(name): no such member") }
                members.append(name, value)
            }
            return .object(members)
        case .array(var elements):
            if name == "-", path.count == 1, let value { return .array(elements + [value]) }
            guard let index = Int(name), elements.indices.contains(index) else {
                throw VectorError("\(name): no such element")
            }
            if let element = try elements[index].setting(path.dropFirst(), to: value) {
                elements[index] = element
            } else {
                elements.remove(at: index)
            }
            return .array(elements)
        default:
            throw VectorError("\(name): not within an object or an array")
        }
    }

    /// The same with the members of each object in the order of their names.
    var sorted: JSONText {
        switch self {
        case .object(let members):
            .object(JSONMembers(members.map { ($0.name, $0.value.sorted) }.sorted { $0.0 < $1.0 }))
        case .array(let elements): .array(elements.map(\.sorted))
        default: self
        }
    }
}
