import Synchronization
package import WireJSON

/// As much of JSON Schema 2020-12 as the schemas in `docs/` use. A keyword that it does not know is an error: a
/// schema that is not understood must not pass.
package struct JSONSchema {
    package struct Unsupported: Error, CustomStringConvertible {
        package let description: String
    }

    private static let annotations: Set<String> = ["$schema", "$id", "title", "description", "$defs"]

    package let root: JSONValue
    private let patterns = Patterns()

    /// The patterns that were read: to read one takes longer than to match it.
    private final class Patterns: Sendable {
        private let known = Mutex<[String: Regex<AnyRegexOutput>]>([:])

        func matches(_ text: String, _ pattern: String) throws -> Bool {
            try known.withLock { known in
                let regex = try known[pattern] ?? Regex(pattern)
                known[pattern] = regex
                return text.firstMatch(of: regex) != nil
            }
        }
    }

    package init(root: JSONValue) { self.root = root }

    /// The first violation, as a path and a keyword; nil where there is none.
    package func violation(_ value: JSONValue) throws -> String? {
        try violation(value, root, at: "")
    }

    private func violation(_ value: JSONValue, _ schema: JSONValue, at path: String) throws -> String? {
        if schema.kind == .bool { return try schema.bool() ? nil : "\(path): nothing is allowed here" }
        let members = try schema.object()
        for (keyword, rule) in members.members where !Self.annotations.contains(keyword) {
            if let violation = try violation(of: keyword, rule, in: members, value, at: path) { return violation }
        }
        return nil
    }

    private func violation(
        of keyword: String,
        _ rule: JSONValue,
        in schema: JSONObject,
        _ value: JSONValue,
        at path: String
    ) throws -> String? {
        var failed: String { "\(path): \(keyword)" }
        switch keyword {
        case "$ref":
            return try violation(value, try definition(rule.string()), at: path)
        case "type":
            return try matches(value, type: rule.string()) ? nil : failed
        case "const":
            return try equal(rule, value) ? nil : failed
        case "enum":
            for candidate in try rule.array() where try equal(candidate, value) { return nil }
            return failed
        case "pattern":
            guard value.kind == .string else { return nil }
            return try patterns.matches(value.string(), rule.string()) ? nil : failed
        case "minLength":
            guard value.kind == .string else { return nil }
            return try value.string().unicodeScalars.count < Int(rule.int64()) ? failed : nil
        case "minItems":
            guard value.kind == .array else { return nil }
            return try value.array().count < Int(rule.int64()) ? failed : nil
        case "items":
            guard value.kind == .array else { return nil }
            for (index, element) in try value.array().enumerated() {
                if let violation = try violation(element, rule, at: "\(path)[\(index)]") { return violation }
            }
            return nil
        case "required":
            guard value.kind == .object else { return nil }
            let object = try value.object()
            for name in try rule.strings() where object[MemberName(name)] == nil {
                return "\(failed) \(name)"
            }
            return nil
        case "properties":
            guard value.kind == .object else { return nil }
            let rules = try rule.object()
            for (name, member) in try value.object().members {
                guard let rule = rules[MemberName(name)] else { continue }
                if let violation = try violation(member, rule, at: "\(path).\(name)") { return violation }
            }
            return nil
        case "additionalProperties":
            guard value.kind == .object else { return nil }
            let named = try schema["properties"]?.object()
            for (name, member) in try value.object().members where named?[MemberName(name)] == nil {
                if let violation = try violation(member, rule, at: "\(path).\(name)") { return violation }
            }
            return nil
        case "allOf":
            for rule in try rule.array() {
                if let violation = try violation(value, rule, at: path) { return violation }
            }
            return nil
        case "anyOf":
            for rule in try rule.array() where try violation(value, rule, at: path) == nil { return nil }
            return failed
        case "oneOf":
            var count = 0
            for rule in try rule.array() where try violation(value, rule, at: path) == nil { count += 1 }
            return count == 1 ? nil : "\(failed) (\(count) match)"
        case "not":
            return try violation(value, rule, at: path) == nil ? failed : nil
        case "if":
            let branch = try violation(value, rule, at: path) == nil ? schema["then"] : schema["else"]
            return try branch.flatMap { try violation(value, $0, at: path) }
        case "then", "else":
            return nil
        default:
            throw Unsupported(description: "keyword \(keyword)")
        }
    }

    private func definition(_ reference: String) throws -> JSONValue {
        let prefix = "#/$defs/"
        guard reference.hasPrefix(prefix),
            let found = try root.object()["$defs"]?.object()[MemberName(String(reference.dropFirst(prefix.count)))]
        else { throw Unsupported(description: "reference \(reference)") }
        return found
    }

    private func matches(_ value: JSONValue, type: String) throws -> Bool {
        switch type {
        case "object": value.kind == .object
        case "array": value.kind == .array
        case "string": value.kind == .string
        case "boolean": value.kind == .bool
        case "null": value.kind == .null
        case "number": value.kind == .number
        case "integer": (try? value.int64()) != nil
        default: throw Unsupported(description: "type \(type)")
        }
    }

    private func equal(_ lhs: JSONValue, _ rhs: JSONValue) throws -> Bool {
        guard lhs.kind == rhs.kind else { return false }
        switch lhs.kind {
        case .string: return try lhs.utf8() == rhs.utf8()
        case .bool: return try lhs.bool() == rhs.bool()
        case .number: return try lhs.decimal() == rhs.decimal()
        case .null: return true
        case .array, .object: throw Unsupported(description: "const of an array or object")
        }
    }
}
