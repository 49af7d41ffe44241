package import Normalizer
package import WireJSON

/// Compares events with what a vector expects, member by member.
package struct EventComparison {
    /// True if an event may have members that the expectation does not name.
    package let allowsMore: Bool

    package init(allowsMore: Bool) { self.allowsMore = allowsMore }

    /// Names the first difference by its path; nil where there is none.
    package func difference(_ expected: [JSONValue], _ events: [NormalizedEvent]) -> String? {
        guard expected.count == events.count else {
            return "expected \(expected.count) events, got \(events.count)"
        }
        for (index, (expected, event)) in zip(expected, events).enumerated() {
            guard let bytes = try? CanonicalJSON.bytes(event), let actual = try? JSONDocument(parsing: bytes) else {
                return "events[\(index)] cannot be written"
            }
            if let path = differingPath(expected, actual.root, "events[\(index)]") { return "differs at \(path)" }
        }
        return nil
    }

    package func differingPath(_ expected: JSONValue, _ actual: JSONValue, _ path: String) -> String? {
        guard expected.kind == actual.kind else { return path }
        switch expected.kind {
        case .null:
            return nil
        case .bool:
            return (try? expected.bool()) == (try? actual.bool()) ? nil : path
        case .number:
            return (try? expected.decimal()) == (try? actual.decimal()) ? nil : path
        case .string:
            return (try? expected.utf8()) == (try? actual.utf8()) ? nil : path
        case .array:
            guard let lhs = try? expected.array(), let rhs = try? actual.array(), lhs.count == rhs.count else {
                return path
            }
            for (index, pair) in zip(lhs, rhs).enumerated() {
                if let difference = differingPath(pair.0, pair.1, "\(path)[\(index)]") { return difference }
            }
            return nil
        case .object:
            guard let lhs = try? expected.object(), let rhs = try? actual.object() else { return path }
            for (name, value) in lhs.members {
                guard let other = rhs[MemberName(name)] else { return "\(path).\(name)" }
                if let difference = differingPath(value, other, "\(path).\(name)") { return difference }
            }
            return allowsMore || lhs.count == rhs.count ? nil : "\(path): members beyond the expected ones"
        }
    }
}
