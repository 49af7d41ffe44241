import ConformanceVectors
import Foundation
import NotificationSimulator
import Normalizer
import ReceiverConfiguration
import SignatureCore
import WireJSON

/// The cases of one file under `Tests/Vectors/`, which `Tests/Vectors/README.md` describes.
struct CaseFile {
    private let provider: Provider
    /// True if objects are written with their members in the order of their names.
    private let isSorted: Bool
    private let tier: String?
    private let cases: [Case]

    /// A case, once everything is put together.
    private struct Case {
        var id: String
        var members: JSONObject
        var delivery: CaseDelivery
        var headers: JSONText?
        var answers: [JSONMembers]?
        var expectation: CaseExpectation
    }

    /// Reads a file of `Tests/Vectors/`.
    ///
    /// - Parameter name: its path there, without the extension.
    init(named name: String) throws {
        try self.init([UInt8](Data(contentsOf: Self.folder.appendingPathComponent("\(name).json"))))
    }

    init(_ bytes: [UInt8]) throws {
        let file = try ObjectReader(try JSONDocument(parsing: bytes, limits: Receivers.limits).root)
        provider = Provider(rawValue: try file.string("provider"))
        let isSorted = try file.optionalBool("sorted") ?? false
        self.isSorted = isSorted
        tier = try file.optionalString("tier")
        var context = Context(
            file: file,
            values: try CaseValues(file.optionalValue("objects")),
            isSorted: isSorted
        )
        var expectations: [String: CaseExpectation] = [:]
        var cases: [Case] = []
        for value in try file.array("cases") {
            let item = try ObjectReader(value)
            let id = try item.string("id")
            do {
                let body = try CaseBody(item, context.values, isSorted: isSorted)
                if case .object(let text) = body { context.values.keep(text, as: id) }
                let expect = try ObjectReader(try item.value("expect"))
                let expectation =
                    try expect.optionalString("like").flatMap { expectations[$0] }
                    ?? CaseExpectation(expect, context.values)
                expectations[id] = expectation
                cases.append(
                    Case(
                        id: id,
                        members: try value.object(),
                        delivery: CaseDelivery(
                            id: id,
                            body: body,
                            config: try context.config(of: item),
                            manner: try context.merged("send", of: item)
                        ),
                        headers: try (item.optionalValue("headers") ?? file.optionalValue("headers")).map(
                            context.values.text
                        ),
                        answers: try item.optionalArray("answers")?.map { try context.answer($0) },
                        expectation: expectation
                    )
                )
            } catch {
                throw VectorError("\(id): \(error)")
            }
        }
        self.cases = cases
    }

    /// The cases that state more of their events than the kinds.
    var detailed: [String] { cases.filter(\.expectation.isDetailed).map { "\(provider.rawValue)/\($0.id)" } }

    /// The lines of the file under `TestVectors/`, each of which says everything itself.
    ///
    /// - Throws: `VectorError` that names the cases which do not come to what is stated of them.
    func lines(signing sender: any CaseSender) async throws -> [String] {
        var lines: [String] = []
        var failures: [String] = []
        for item in cases {
            do {
                lines.append(try await line(item, sender))
            } catch {
                failures.append("\(item.id): \(error)")
            }
        }
        guard failures.isEmpty else { throw VectorError(failures.joined(separator: "\n")) }
        return lines
    }

    private func line(_ item: Case, _ sender: any CaseSender) async throws -> String {
        let delivery = item.delivery
        if let other = delivery.manner.first(where: { !sender.manners.contains($0.name) }) {
            throw VectorError("send: no member \(other.name) for \(provider.rawValue)")
        }
        let word = { try sender.word($0, in: $1, of: delivery) }
        let sent = try sender.send(delivery)
        var members: [String: JSONText] = [
            "id": .string("\(provider.rawValue)/\(item.id)"), "provider": .string(provider.rawValue),
            "headers": try item.headers?.filled(word) ?? .object(sent.headers),
            "body_base64": .string(String(decoding: Base64.encode(sent.body.span), as: UTF8.self)),
            "config": try JSONText.object(delivery.config).filled(word),
            "http": try item.answers.map { (answers) -> JSONText in
                .array(
                    try answers.map { answer in
                        var answer = answer
                        answer["url"] = try answer["url"]?.filled(word)
                        return .object(answer)
                    }
                )
            },
            "tier": tier.map { .string($0) },
        ].compactMapValues(\.self)
        for (name, value) in ["why": "reason", "reason": "reason", "tier": "tier", "tags": "tags", "note": "note"] {
            if let text = item.members[MemberName(name)] { members[value] = try CaseValues().text(text) }
        }
        let outcome = await VectorRunner.run(try Vector(line: ordered(members).bytes[...]))
        for (name, value) in try item.expectation.members(for: outcome.result) { members[name] = value }
        return ordered(members).text
    }

    /// The members of a line, in the order in which those of the provider have always stood.
    private func ordered(_ members: [String: JSONText]) -> JSONText {
        let names =
            provider == .apple
            ? ["headers", "config", "body_base64", "expect", "code", "reason", "tier", "tags", "note", "events"]
            : ["headers", "body_base64", "config", "http", "expect", "code", "events", "reason"]
        let line = JSONText.object(
            JSONMembers((["id", "provider"] + names).compactMap { name in members[name].map { (name, $0) } })
        )
        return isSorted ? line.sorted : line
    }
}

/// The members of a file that its cases share, and the objects known so far.
private struct Context {
    let file: ObjectReader
    var values: CaseValues
    let isSorted: Bool

    func config(of item: ObjectReader) throws -> JSONMembers {
        let now = try item.optionalInt64("now") ?? file.int64("now")
        return JSONMembers(
            [("now", .integer(now))] + (try merged("config", of: item)).map { ($0.name, $0.value) }
        )
    }

    /// A member of the file, an object; what a case gives takes the place of a member of it, and null takes it away.
    func merged(_ name: MemberName, of item: ObjectReader) throws -> JSONMembers {
        var members = JSONMembers()
        for reader in [file, item] {
            for (name, value) in try reader.optionalValue(name).pairs {
                let text: JSONText? = try value.isNull ? .none : values.text(value)
                members[name] = text
            }
        }
        return members
    }

    /// The provider's answer: to a GET with 200 and the usual headers, unless the case says otherwise.
    func answer(_ value: JSONValue) throws -> JSONMembers {
        let reader = try ObjectReader(value)
        var url = try reader.string("url")
        if url.hasPrefix("/") { url = try (file.optionalString("answers_from") ?? "") + url }
        var answer = JSONMembers([
            ("method", .string(try reader.optionalString("method") ?? "GET")), ("url", .string(url)),
            ("status", .integer(try reader.optionalInt64("status") ?? 200)),
        ])
        if let headers = reader.optionalValue("headers") ?? file.optionalValue("answer_headers") {
            answer.append("headers", try values.text(headers))
        }
        if ["body", "like", "text", "base64"].contains(where: { reader.optionalValue($0) != nil }) {
            switch try CaseBody(reader, values, isSorted: isSorted) {
            case .object(let text): answer.append("body", .string(text.text))
            case .text(let text): answer.append("body", .string(text))
            case .octets(let octets):
                answer.append("body_base64", .string(String(decoding: Base64.encode(octets.span), as: UTF8.self)))
            }
        }
        return answer
    }
}

extension CaseFile {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Vectors")

    /// The names of a provider's files.
    static func names(of provider: Provider) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(provider.rawValue).path)
            .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }
}

/// The sent body: an object, or a text or octets as they are.
enum CaseBody {
    case object(JSONText)
    case text(String)
    case octets([UInt8])

    init(_ reader: ObjectReader, _ values: CaseValues, isSorted: Bool) throws {
        if let text = reader.optionalValue("text") {
            self = .text(try values.string(text))
        } else if let encoded = try reader.optionalString("base64") {
            self = .octets(try Base64.decode(Array(encoded.utf8).span))
        } else {
            let isEdited = reader.optionalValue("like") != nil
            let text = try isEdited ? values.edited(reader) : values.text(try reader.value("body"))
            self = .object(isSorted ? text.sorted : text)
        }
    }

    /// As it goes over the wire where nothing is put around it.
    var octets: [UInt8] {
        switch self {
        case .object(let text): text.bytes
        case .text(let text): Array(text.utf8)
        case .octets(let octets): octets
        }
    }
}
