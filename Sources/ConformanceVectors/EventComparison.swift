package import Normalizer
package import WireJSON

/// Compares events with a vector's expectation, member by member.
package struct EventComparison {
    /// True if an event may have members that the expectation does not name.
    package let allowsMore: Bool

    package init(allowsMore: Bool) { self.allowsMore = allowsMore }

    /// Names the first difference by its path, with the expected and the actual value; nil if there is none.
    package func difference(_ expected: [JSONValue], _ events: [NormalizedEvent]) -> String? {
        guard expected.count == events.count else {
            let kinds = events.map(\.kind.rawValue).joined(separator: ", ")
            return "expected \(expected.count) events, got \(events.count)\(events.isEmpty ? "" : ": \(kinds)")"
        }
        for (index, (expected, event)) in zip(expected, events).enumerated() {
            guard let bytes = try? CanonicalJSON.bytes(event), let actual = try? JSONDocument(parsing: bytes) else {
                return "events[\(index)] cannot be written"
            }
            if let found = difference(expected, actual.root, at: "events[\(index)]") { return found.description }
        }
        return nil
    }

    /// One difference: where it is, and both values as JSON.
    package struct Difference: Equatable, CustomStringConvertible {
        package var path: String
        package var expected: String
        package var actual: String

        package var description: String { "\(path): expected \(expected), got \(actual)" }
    }

    package func difference(_ expected: JSONValue, _ actual: JSONValue, at path: String) -> Difference? {
        func here() -> Difference { Difference(path: path, expected: Self.text(expected), actual: Self.text(actual)) }
        guard expected.kind == actual.kind else { return here() }
        switch expected.kind {
        case .null:
            return nil
        case .bool:
            return (try? expected.bool()) == (try? actual.bool()) ? nil : here()
        case .number:
            return (try? expected.decimal()) == (try? actual.decimal()) ? nil : here()
        case .string:
            return (try? expected.utf8()) == (try? actual.utf8()) ? nil : here()
        case .array:
            guard let lhs = try? expected.array(), let rhs = try? actual.array(), lhs.count == rhs.count else {
                return here()
            }
            for (index, pair) in zip(lhs, rhs).enumerated() {
                if let found = difference(pair.0, pair.1, at: "\(path)[\(index)]") { return found }
            }
            return nil
        case .object:
            guard let lhs = try? expected.object(), let rhs = try? actual.object() else { return here() }
            for (name, value) in lhs.members {
                guard let other = rhs[MemberName(name)] else {
                    return Difference(path: "\(path).\(name)", expected: Self.text(value), actual: "no such member")
                }
                if let found = difference(value, other, at: "\(path).\(name)") { return found }
            }
            guard !allowsMore, lhs.count != rhs.count else { return nil }
            let others = rhs.members.filter { lhs[MemberName($0.name)] == nil }.map(\.name).joined(separator: ", ")
            return Difference(path: path, expected: "no further member", actual: others)
        }
    }

    /// A value as JSON, cut where it is long.
    private static func text(_ value: JSONValue) -> String {
        let text = String(decoding: value.rawBytes, as: UTF8.self)
        return text.count > 200 ? text.prefix(200) + "…" : text
    }
}
