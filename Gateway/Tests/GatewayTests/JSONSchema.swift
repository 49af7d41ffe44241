import Foundation

/// A value of JSON.
enum JSON: Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(_ bytes: some Sequence<UInt8>) throws {
        self.init(try JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed]))
    }

    /// Takes what `JSONSerialization` makes.
    init(_ value: Any) {
        switch value {
        case let string as String: self = .string(string)
        case let array as [Any]: self = .array(array.map { JSON($0) })
        case let object as [String: Any]: self = .object(object.mapValues { JSON($0) })
        case let number as NSNumber:
            self = String(cString: number.objCType) == "c" ? .bool(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    var string: String? { if case .string(let string) = self { string } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var array: [JSON]? { if case .array(let array) = self { array } else { nil } }
    var object: [String: JSON]? { if case .object(let object) = self { object } else { nil } }

    subscript(_ name: String) -> JSON? { object?[name] }

    /// The value that a reference such as `#/components/schemas/event` names.
    subscript(reference reference: String) -> JSON? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(self) { $0?[String($1)] }
    }

    /// All members of it, however deep.
    var members: [(name: String, value: JSON)] {
        switch self {
        case .array(let elements): elements.flatMap(\.members)
        case .object(let members): members.flatMap { name, value in [(name, value)] + value.members }
        case .null, .bool, .number, .string: []
        }
    }

    func values(named name: String) -> [JSON] { members.filter { $0.name == name }.map(\.value) }
}

/// The keywords of JSON Schema 2020-12 that the description of the API uses. An unknown one is an error, since a schema that is
/// not understood must not pass.
struct JSONSchema {
    struct Unsupported: Error { let what: String }

    private static let annotations: Set = ["title", "description", "default", "then", "else"]

    /// The document that references are looked up in.
    let document: JSON
    private let patterns: [String: Regex<AnyRegexOutput>]

    init(document: JSON) throws {
        self.document = document
        let patterns = Set(document.values(named: "pattern").compactMap(\.string))
        self.patterns = Dictionary(uniqueKeysWithValues: try patterns.map { ($0, try Regex($0)) })
    }

    /// The first difference of a value from a schema, as a path and a keyword; nil where there is none.
    func violation(_ value: JSON, _ schema: JSON, at path: String = "$") throws -> String? {
        if case .bool(let isAllowed) = schema { return isAllowed ? nil : "\(path) is not allowed" }
        guard let rules = schema.object else { throw Unsupported(what: "\(schema)") }
        for (keyword, rule) in rules where !Self.annotations.contains(keyword) {
            if let found = try violation(value, of: keyword, rule, in: rules, at: path) { return found }
        }
        return nil
    }

    private func violation(
        _ value: JSON,
        of keyword: String,
        _ rule: JSON,
        in rules: [String: JSON],
        at path: String
    ) throws -> String? {
        func failure(if isWrong: Bool) -> String? { isWrong ? "\(path): \(keyword)" : nil }
        func violations(of schemas: JSON) throws -> [String?] {
            try (schemas.array ?? []).map { try violation(value, $0, at: path) }
        }
        switch keyword {
        case "type": return failure(if: try !matches(value, rule.string ?? ""))
        case "const": return failure(if: value != rule)
        case "enum": return failure(if: rule.array?.contains(value) != true)
        case "minLength":
            return failure(if: Double(value.string?.unicodeScalars.count ?? .max) < (rule.number ?? .infinity))
        case "minItems": return failure(if: Double(value.array?.count ?? .max) < (rule.number ?? .infinity))
        case "pattern":
            guard let pattern = patterns[rule.string ?? ""] else { throw Unsupported(what: "\(rule)") }
            return failure(if: value.string.map { $0.firstMatch(of: pattern) == nil } ?? false)
        case "items":
            for (index, element) in (value.array ?? []).enumerated() {
                if let found = try violation(element, rule, at: "\(path)[\(index)]") { return found }
            }
            return nil
        case "required":
            guard let members = value.object else { return nil }
            let missing = (rule.array ?? []).compactMap(\.string).first { members[$0] == nil }
            return missing.map { "\(path).\($0) is missing" }
        case "properties":
            for (name, rule) in rule.object ?? [:] {
                guard let member = value[name] else { continue }
                if let found = try violation(member, rule, at: "\(path).\(name)") { return found }
            }
            return nil
        case "additionalProperties":
            for (name, member) in value.object ?? [:] where rules["properties"]?[name] == nil {
                if let found = try violation(member, rule, at: "\(path).\(name)") { return found }
            }
            return nil
        case "$ref":
            guard let schema = document[reference: rule.string ?? ""] else { throw Unsupported(what: "\(rule)") }
            return try violation(value, schema, at: path)
        case "allOf": return try violations(of: rule).compactMap(\.self).first
        case "anyOf", "oneOf":
            let found = try violations(of: rule)
            let matches = found.count { $0 == nil }
            let isRight = keyword == "anyOf" ? matches > 0 : matches == 1
            return isRight ? nil : "\(path): \(keyword), \(matches) match (\(found.compactMap(\.self)))"
        case "not": return failure(if: try violation(value, rule, at: path) == nil)
        case "if":
            let branch = try violation(value, rule, at: path) == nil ? rules["then"] : rules["else"]
            return try branch.flatMap { try violation(value, $0, at: path) }
        default: throw Unsupported(what: keyword)
        }
    }

    private func matches(_ value: JSON, _ type: String) throws -> Bool {
        switch type {
        case "object": value.object != nil
        case "array": value.array != nil
        case "string": value.string != nil
        case "integer": value.number.map { $0.rounded() == $0 } ?? false
        case "number": value.number != nil
        case "boolean": value == .bool(true) || value == .bool(false)
        case "null": value == .null
        default: throw Unsupported(what: "type \(type)")
        }
    }
}
