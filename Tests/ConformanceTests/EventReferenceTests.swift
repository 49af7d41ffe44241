import Foundation
import Normalizer
import Testing

/// The event reference against the code, both ways: the code writes back everything that the schema names, the schema has
/// every name in the code, and the page has exactly what the schema has.
@Suite("The reference of events")
struct EventReferenceTests {
    private typealias Object = [String: Any]

    private let schema: Object
    private let definitions: Object
    private let page: [String]

    init() throws {
        schema = try #require(
            JSONSerialization.jsonObject(with: Data(try Repository.text("docs/event-schema.json").utf8)) as? Object
        )
        definitions = try #require(schema["$defs"] as? Object)
        page = try Repository.text("docs/event-schema.md").split(separator: "\n").map(String.init)
    }

    // MARK: The schema

    private func resolved(_ value: Any?) -> Object {
        guard let object = value as? Object else { return [:] }
        guard let reference = object["$ref"] as? String, let name = reference.split(separator: "/").last else {
            return object
        }
        return resolved(definitions[String(name)])
    }

    /// The forms of an object, one unless it has several.
    private func forms(_ value: Any?) -> [Object] {
        let object = resolved(value)
        return (object["oneOf"] as? [Object])?.map { resolved($0) } ?? [object]
    }

    private func properties(_ value: Any?) -> [String: Object] {
        forms(value).reduce(into: [:]) { found, form in
            for (name, property) in form["properties"] as? Object ?? [:] { found[name] = resolved(property) }
        }
    }

    /// The definition of each kind's detail; nil for a kind without one.
    private func details() throws -> [String: Object?] {
        var details: [String: Object?] = [:]
        for rule in try #require(schema["allOf"] as? [Object]) {
            let kind = try #require(properties(rule["if"])["kind"]?["const"] as? String)
            let detail = (resolved(rule["then"])["properties"] as? Object)?["detail"]
            details[kind] = .some(detail as? Bool == false ? nil : resolved(detail))
        }
        return details
    }

    private func facts() throws -> [String: Object] {
        try forms(definitions["fact"]).reduce(into: [:]) { facts, form in
            let properties = properties(form)
            facts[try #require(properties["fact"]?["const"] as? String)] = properties["detail"]
        }
    }

    private func values(of property: Object) -> [String]? {
        property["enum"] as? [String] ?? (property["const"] as? String).map { [$0] }
    }

    /// The closed members with their values, such as `price.role`.
    private func closedMembers() throws -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        func visit(_ owner: String, _ object: Any?) {
            for form in forms(object) {
                for (name, property) in properties(form) {
                    guard let values = values(of: property) else { continue }
                    found["\(owner).\(name)", default: []].formUnion(values)
                }
            }
        }
        for (name, definition) in definitions where !["fact", "statement"].contains(name) { visit(name, definition) }
        for (name, detail) in try facts() { visit("fact.\(name)", detail) }
        return found
    }

    // MARK: Instances of the schema

    /// Values with every member and, in one or another of them, each of the closed values. A definition within itself is left
    /// out: the add-ons of an add-on.
    private func instances(_ value: Any?, within open: Set<String> = []) -> [Any] {
        var open = open
        if let reference = (value as? Object)?["$ref"] as? String, !open.insert(reference).inserted { return [] }
        let object = resolved(value)
        if let forms = object["oneOf"] as? [Object] { return forms.flatMap { instances($0, within: open) } }
        if let values = object["enum"] as? [Any] { return values }
        if let value = object["const"] { return [value] }
        switch object["type"] as? String {
        case "string": return [text(object["pattern"] as? String)]
        case "integer": return [2]
        case "boolean": return [true, false]
        case "array":
            let elements = instances(object["items"], within: open)
            return elements.isEmpty ? [] : elements.map { [$0] }
        default:
            let members = (object["properties"] as? Object ?? [:]).mapValues { instances($0, within: open) }
            let others = (object["additionalProperties"] as? Object).map { instances($0, within: open) } ?? []
            let count = (members.values.map(\.count) + [others.count]).max() ?? 1
            return (0..<max(count, 1)).map { round in
                var instance: Object = members.compactMapValues { $0.isEmpty ? nil : $0[round % $0.count] }
                if !others.isEmpty { instance["name"] = others[round % others.count] }
                return instance
            }
        }
    }

    private static let samples = [
        "2026-01-31T09:30:00.000Z", "9.99", "0.5", "USD", "US", "app_store/production/2000000123456789", "apple/1",
        String(repeating: "0a", count: 20), String(repeating: "0a", count: 32), "name",
    ]

    private func text(_ pattern: String?) -> String {
        guard let pattern else { return "name" }
        return Self.samples.first { $0.range(of: pattern, options: .regularExpression) != nil }
            ?? "no sample of \(pattern)"
    }

    /// Every event that the schema describes, with all members.
    private func events() throws -> [Object] {
        var events: [Object] = []
        let envelopes = try #require(instances(schema) as? [Object])
        for (kind, detail) in try details() {
            let details: [Any?] = detail.map { instances($0) } ?? [nil]
            for index in 0..<max(details.count, envelopes.count) {
                var event = envelopes[index % envelopes.count]
                event["kind"] = kind
                event["detail"] = details[index % details.count]
                events.append(event)
            }
        }
        return events
    }

    // MARK: Code and schema

    @Test("Whatever the schema names, the code reads and writes back")
    func written() throws {
        let events = try events()
        #expect(events.count > 200)
        for event in events {
            let bytes = Array(try JSONSerialization.data(withJSONObject: event, options: .sortedKeys))
            let read = try CanonicalJSON.value(LogLine.self, from: bytes)
            let written = try JSONSerialization.jsonObject(with: Data(try CanonicalJSON.bytes(read)))
            let lost = difference(event, written, at: "event")
            #expect(lost == nil, "\(event["kind"] ?? ""): \(lost ?? "")")
        }
    }

    private func difference(_ expected: Any, _ actual: Any?, at path: String) -> String? {
        switch (expected, actual) {
        case (let expected as Object, let actual as Object):
            for name in Set(expected.keys).union(actual.keys).sorted() {
                guard let value = expected[name] else { return "\(path).\(name) is not in the schema's instance" }
                if let found = difference(value, actual[name], at: "\(path).\(name)") { return found }
            }
            return nil
        case (let expected as [Any], let actual as [Any]):
            guard expected.count == actual.count else { return path }
            for (index, pair) in zip(expected, actual).enumerated() {
                if let found = difference(pair.0, pair.1, at: "\(path)[\(index)]") { return found }
            }
            return nil
        default:
            return (expected as? NSObject) == (actual as? NSObject)
                ? nil : "\(path): \(expected), not \(actual ?? "absent")"
        }
    }

    /// The raw values of a type of the sources, such as `case priceChange = "price_change"`.
    private func rawValues(in text: String, ofTypesLike declaration: String) throws -> [(type: String, value: String)] {
        var found: [(String, String)] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.contains(declaration) {
            let indent = line.prefix { $0 == " " }.count
            // A body in the same line, or up to the brace that closes it.
            let body =
                line.hasSuffix("}")
                ? [line[...]]
                : Array(lines[(index + 1)...].prefix { $0 != String(repeating: " ", count: indent) + "}" })
            for statement in body {
                guard let start = statement.range(of: "case ")?.upperBound else { continue }
                for part in statement[start...].split(separator: ",") {
                    let sides = part.split(separator: "=").map {
                        $0.trimmingCharacters(in: CharacterSet(charactersIn: " }\""))
                    }
                    if let value = sides.last { found.append((String(line), value)) }
                }
            }
        }
        return found
    }

    /// Types beside events: they are read from an event, or are no part of it.
    private static func isElsewhere(_ type: String) -> Bool {
        type.contains("enum AccessEffect") || type.contains("enum BillingTrouble")
    }

    @Test("Every member and every closed value that the code names is in the schema")
    func named() throws {
        let text = try Repository.text("docs/event-schema.json")
        var count = 0
        for folder in ["Sources/LifecycleEvents/Event", "Sources/LifecycleEvents/Fact"] {
            for file in try Repository.files(folder, suffix: ".swift") {
                let source = try Repository.text(file)
                for declaration in ["CodingKeys: String, CodingKey", ": String, Hashable, Sendable, Codable"] {
                    for (type, value) in try rawValues(in: source, ofTypesLike: declaration)
                    where !Self.isElsewhere(type) {
                        count += 1
                        #expect(text.contains("\"\(value)\""), "\(file): \(type): \(value)")
                    }
                }
            }
        }
        #expect(count > 150, "\(count) names were found")
    }

    // MARK: Page and schema

    /// The rows of the table under a heading, as the code words of each cell.
    private func rows(under heading: String) throws -> [[[String]]] {
        let start = try #require(page.firstIndex(of: heading)) + 1
        let section = page[start...].prefix { !$0.hasPrefix("#") }
        return section.filter { $0.hasPrefix("|") }.dropFirst(2).map { row in
            row.dropFirst().dropLast().components(separatedBy: " | ").map { cell in
                cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            }
        }
    }

    @Test("The page has the members of the envelope, and no others")
    func envelope() throws {
        let named = try rows(under: "## The envelope").flatMap { $0[0] }
        #expect(named.sorted() == properties(schema).keys.sorted())
    }

    @Test("The page has the kinds with the members of their details, and no others")
    func kinds() throws {
        let details = try details()
        let rows = try rows(under: "## Kinds")
        #expect(rows.flatMap { $0[0] }.sorted() == details.keys.sorted())
        for row in rows {
            let forms = row[0].flatMap { self.forms(details[$0] ?? nil) }
            let members = Set(forms.flatMap { properties($0).keys })
            let values = forms.flatMap { properties($0).values.flatMap { self.values(of: $0) ?? [] } }
            #expect(members.isSubset(of: row[1]), "\(row[0]): \(members.subtracting(row[1]))")
            #expect(Set(row[1]).isSubset(of: members.union(values)), "\(row[0]): \(row[1])")
        }
    }

    @Test("The page has the facts with the members of their details, and no others")
    func factMembers() throws {
        let facts = try facts()
        #expect(try rows(under: "## Facts").flatMap { $0[0] }.sorted() == facts.keys.sorted())
        let rows = try rows(under: "### Members of facts")
        #expect(rows.flatMap { $0[0] }.sorted() == facts.keys.sorted())
        for row in rows {
            let members = try #require(row[0].first.flatMap { facts[$0] }.map { properties($0).keys })
            #expect(row[1].sorted() == members.sorted(), "\(row[0])")
        }
    }

    @Test("The page has every closed member with its values, and no others")
    func closedValues() throws {
        var named: [String: Set<String>] = [:]
        for row in try rows(under: "## Values") { for member in row[0] { named[member] = Set(row[1]) } }
        #expect(try named == closedMembers())
    }
}
