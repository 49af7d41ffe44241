import ConformanceVectors
import Normalizer
import NotificationSimulator
import ReceiverConfiguration
import SignatureCore
import WireJSON

/// Writes the lines of a file so that what they have in common stands in its first line, and so that people can read the
/// bodies: texts as texts, and what is encoded in them as what it encodes.
struct SharingWriter {
    private struct Case {
        var members: JSONObject
        var config: JSONValue
        var now: String
        var body: [SharedTexts.Part]?
        var answers: [Answer]
        var events: [JSONValue]
    }

    /// An API's answer, with its body apart.
    private struct Answer {
        var envelope: JSONValue
        var body: (name: String, value: String)?
    }

    private let cases: [Case]
    private let configs: SharedObjects
    private let answers: SharedObjects
    private let events: SharedObjects
    private let texts: SharedTexts

    /// - Parameter lines: cases, each of which says everything itself.
    init(_ lines: [String]) throws {
        cases = try lines.map(Self.read)
        configs = SharedObjects(repeated: cases.map(\.config), named: "c")
        answers = SharedObjects(repeated: cases.flatMap(\.answers).map(\.envelope), named: "a")
        events = try SharedObjects(
            common: cases.flatMap(\.events).compactMap { event in
                guard event.kind == .object, let kind = try event.object()["kind"]?.string() else { return nil }
                return (kind, event)
            }
        )
        texts = SharedTexts(bodies: cases.compactMap(\.body), fields: try cases.flatMap(Self.fields))
    }

    /// The lines of the file.
    ///
    /// - Throws: `VectorError` where a reader would not find the same case again.
    func lines() throws -> [String] {
        var shared = JSONMembers()
        let objects = (configs.members + answers.members + events.members).map {
            ($0.name, JSONText.raw($0.value.text))
        }
        if !objects.isEmpty { shared.append("objects", .object(JSONMembers(objects))) }
        let texts = texts.members
        if texts.contains(where: { _ in true }) { shared.append("texts", .object(texts)) }
        let first = JSONMembers([("shared", .object(shared))]).text
        guard let parts = try SharedParts.read(first.utf8Slice) else { throw VectorError("nothing shared") }
        return [first]
            + (try cases.map { item in
                let line = try line(item)
                let plain = try Vector(
                    line: JSONValue.text(of: item.members.members.map { ($0.name, $0.value.text) }).utf8Slice
                )
                guard Self.isSame(try Vector(line: line.utf8Slice, shared: parts), plain) else {
                    throw VectorError("\(plain.id): cannot be written with what the file shares")
                }
                return line
            })
    }

    // MARK: Reading

    private static func read(_ line: String) throws -> Case {
        let members = try JSONDocument(parsing: Array(line.utf8), limits: Receivers.limits).root.object()
        let config = try members.required("config").object().members
        let encoded = try members.required("body_base64").utf8()
        let body = String(validating: try Base64.decode(encoded.span), as: UTF8.self)
        return Case(
            members: members,
            config: try JSONDocument(
                parsing: Array(
                    JSONValue.text(of: config.filter { $0.name != "now" }.map { ($0.name, $0.value.text) }).utf8
                ),
                limits: Receivers.limits
            ).root,
            now: config.first { $0.name == "now" }?.value.text ?? "0",
            body: body.map(SharedTexts.parts),
            answers: try (members["http"].map { Array(try $0.array()) } ?? []).map(answer),
            events: try members["events"].map { Array(try $0.array()) } ?? []
        )
    }

    private static func fields(of item: Case) throws -> [String] {
        try item.members.required("headers").object().members.compactMap { field in
            field.value.kind == .string ? try field.value.string() : nil
        }
    }

    /// A body that is JSON stands as what it is, since nothing signs the text.
    private static func answer(_ value: JSONValue) throws -> Answer {
        let members = try value.object().members
        let envelope = members.filter { $0.name != "body" && $0.name != "body_base64" }.map { ($0.name, $0.value.text) }
        let body = try members.first { $0.name == "body" || $0.name == "body_base64" }.map { name, value in
            guard name == "body", value.kind == .string, let body = String(validating: try value.utf8(), as: UTF8.self),
                let first = body.utf8.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
                !body.utf8.contains(0x0A), (try? JSONDocument(parsing: Array(body.utf8))) != nil
            else { return (name: name, value: value.text) }
            return (name: name, value: body)
        }
        return Answer(
            envelope: try JSONDocument(parsing: Array(JSONValue.text(of: envelope).utf8)).root,
            body: body
        )
    }

    // MARK: Writing

    private func line(_ item: Case) throws -> String {
        var members: [(String, JSONText)] = []
        for (name, value) in item.members.members {
            switch name {
            case "config":
                members.append((name, .raw(try configs.text(item.config, beside: [("now", item.now)]))))
            case "headers": members.append((name, .object(try headers(value))))
            case "body_base64":
                if let body = item.body {
                    members.append(("body", texts.json(body)))
                } else {
                    members.append((name, .raw(value.text)))
                }
            case "http":
                let answers = try item.answers.map { answer in
                    JSONText.raw(try self.answers.text(answer.envelope, beside: answer.body.map { [$0] } ?? []))
                }
                members.append((name, .array(answers)))
            case "events":
                let events = try item.events.map { event in
                    JSONText.raw(event.kind == .object ? try self.events.text(event) : event.text)
                }
                members.append((name, .array(events)))
            default: members.append((name, .raw(value.text)))
            }
        }
        return JSONMembers(members).text
    }

    private func headers(_ value: JSONValue) throws -> JSONMembers {
        var members = JSONMembers()
        for (name, value) in try value.object().members {
            let shared = value.kind == .string ? texts.json(field: try value.string()) : nil
            members.append(name, shared ?? .raw(value.text))
        }
        return members
    }

    // MARK: Comparing

    private static func isSame(_ read: Vector, _ plain: Vector) -> Bool {
        read.body == plain.body && read.now == plain.now && fields(of: read) == fields(of: plain)
            && isSame([read.config], [plain.config]) && isSame(read.events, plain.events)
            && read.http?.map(fields) == plain.http?.map(fields)
            && zip(read.http ?? [], plain.http ?? []).allSatisfy { $0.body == $1.body }
    }

    private static func isSame(_ read: [JSONValue]?, _ plain: [JSONValue]?) -> Bool {
        read?.count == plain?.count
            && zip(read ?? [], plain ?? []).allSatisfy { read, plain in
                EventComparison(allowsMore: false).difference(plain, read, at: "") == nil
            }
    }

    private static func fields(of vector: Vector) -> [[String]] {
        vector.headers.all.map { [$0.name, $0.value] }
    }

    private static func fields(of answer: RecordedAnswer) -> [String] {
        [answer.method, answer.url, String(answer.status)] + answer.headers.flatMap { [$0.name, $0.value] }
    }
}

extension String {
    fileprivate var utf8Slice: ArraySlice<UInt8> { Array(utf8)[...] }
}
