import NotificationSimulator
import WireJSON

/// Objects of one kind that the lines of a file share. A line names one and says what is different.
struct SharedObjects {
    private(set) var members: [(name: String, value: JSONValue)] = []

    /// Shares the objects that stand more than once.
    ///
    /// - Parameters:
    ///   - objects: each as often as it stands in the file.
    ///   - prefix: what their names begin with.
    init(repeated objects: [JSONValue], named prefix: String) {
        var counts: [String: (count: Int, order: Int, value: JSONValue)] = [:]
        for (order, object) in objects.enumerated() {
            counts[object.text, default: (0, order, object)].count += 1
        }
        let found = counts.values.filter { $0.count > 2 }.sorted { ($1.count, $0.order) < ($0.count, $1.order) }
        members = found.enumerated().map { ("\(prefix)\($0.offset + 1)", $0.element.value) }
    }

    /// Shares what most objects of a name have in common.
    init(common objects: [(name: String, value: JSONValue)]) throws {
        var names: [String] = []
        for object in objects where !names.contains(object.name) { names.append(object.name) }
        for name in names {
            let values = objects.filter { $0.name == name }.map(\.value)
            guard values.count > 1 else { continue }
            members.append((name, try Self.parsed(try Self.common(values))))
        }
    }

    /// An object as it stands in a line, the shortest way, with the members `beside` it that are no one's but the line's.
    func text(_ object: JSONValue, beside: [(name: String, value: String)] = []) throws -> String {
        func text(_ members: [(name: String, value: String)]) -> String { JSONValue.text(of: members) }
        var best = text(beside + (try object.object().members.map { ($0.name, $0.value.text) }))
        for (name, base) in members {
            guard let changes = try Self.changes(from: base, to: object) else { continue }
            let candidate = text([("base", JSONText.string(name).text)] + beside + changes)
            if candidate.utf8.count < best.utf8.count { best = candidate }
        }
        return best
    }

    /// The changes that make an object of its base; nil if they cannot be expressed, since null takes a member away.
    private static func changes(from base: JSONValue, to object: JSONValue) throws -> [(name: String, value: String)]? {
        let (base, object) = (try base.object(), try object.object())
        var result: [(name: String, value: String)] = []
        for (name, value) in object.members {
            guard let old = base[MemberName(name)] else {
                result.append((name, value.text))
                continue
            }
            if old.text == value.text { continue }
            switch (old.kind, value.kind) {
            case (_, .null): return nil
            case (.object, .object):
                guard let changes = try changes(from: old, to: value) else { return nil }
                result.append((name, JSONValue.text(of: changes)))
            default: result.append((name, value.text))
            }
        }
        for (name, _) in base.members where object[MemberName(name)] == nil { result.append((name, "null")) }
        return result
    }

    /// The members that all of the objects have, each with the value that most of them have.
    private static func common(_ objects: [JSONValue]) throws -> String {
        let objects = try objects.map { try $0.object() }
        guard let first = objects.first else { return "{}" }
        var result: [(name: String, value: String)] = []
        for (name, _) in first.members {
            let values = objects.compactMap { $0[MemberName(name)] }
            guard values.count == objects.count else { continue }
            if values.allSatisfy({ $0.kind == .object }) {
                result.append((name, try common(values)))
                continue
            }
            var counts: [String: Int] = [:]
            for value in values { counts[value.text, default: 0] += 1 }
            let most = counts.values.max() ?? 0
            // The first of those that stand as often, so that the file is the same each time.
            guard most > 1, let value = values.first(where: { counts[$0.text] == most }) else { continue }
            result.append((name, value.text))
        }
        return JSONValue.text(of: result)
    }

    private static func parsed(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }
}

extension JSONValue {
    var text: String { String(decoding: rawBytes, as: UTF8.self) }

    static func text(of members: [(name: String, value: String)]) -> String {
        JSONMembers(members.map { ($0.name, .raw($0.value)) }).text
    }
}
