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
    private let cases: [Case]

    /// A case, once its body and its answers are put together.
    private struct Case {
        var id: String
        var members: JSONObject
        var now: Int64
        var config: JSONMembers
        var body: CaseBody
        var answers: JSONText?
        var expectation: CaseExpectation
    }

    /// Reads a file of `Tests/Vectors/`.
    ///
    /// - Parameter name: its path there, without the extension.
    init(named name: String) throws {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Vectors")
        try self.init([UInt8](Data(contentsOf: folder.appendingPathComponent("\(name).json"))))
    }

    init(_ bytes: [UInt8]) throws {
        let reader = try ObjectReader(try JSONDocument(parsing: bytes, limits: Receivers.limits).root)
        provider = Provider(rawValue: try reader.string("provider"))
        let usualNow = try reader.int64("now")
        let usualConfig = try reader.value("config")
        let resources = try JSONMembers(reader.optionalValue("resources"))
        let answerHeaders = reader.optionalValue("answer_headers")
        var bodies: [String: JSONText] = [:]
        var cases: [Case] = []
        for value in try reader.array("cases") {
            let item = try ObjectReader(value)
            let id = try item.string("id")
            do {
                let now = try item.optionalInt64("now") ?? usualNow
                let body = try CaseBody(item) { bodies[$0] }
                if case .object(let text) = body { bodies[id] = text }
                cases.append(
                    Case(
                        id: id,
                        members: try value.object(),
                        now: now,
                        config: try Self.config(usualConfig, item.optionalValue("config"), now: now),
                        body: body,
                        answers: try item.optionalArray("answers").map { (answers) -> JSONText in
                            .array(try answers.map { try Self.answer($0, resources, answerHeaders) })
                        },
                        expectation: try CaseExpectation(try item.value("expect"))
                    )
                )
            } catch {
                throw VectorError("\(id): \(error)")
            }
        }
        self.cases = cases
    }

    /// The lines of the file under `TestVectors/`, each of which says everything itself.
    ///
    /// - Throws: `VectorError` that names the cases which do not come to what is stated of them.
    func lines(signing sender: any CaseSender) async throws -> [String] {
        var lines: [String] = []
        var failures: [String] = []
        for item in cases {
            do {
                lines.append(try await line(item, sender))
            } catch let error as VectorError {
                failures.append("\(item.id): \(error)")
            }
        }
        guard failures.isEmpty else { throw VectorError(failures.joined(separator: "\n")) }
        return lines
    }

    private func line(_ item: Case, _ sender: any CaseSender) async throws -> String {
        let sent = try sender.send(CaseDelivery(body: item.body, config: item.config, now: item.now))
        let headers = try item.members["headers"].map { try JSONText($0) } ?? .object(sent.headers)
        var members = JSONMembers([
            ("id", .string("\(provider.rawValue)/\(item.id)")), ("provider", .string(provider.rawValue)),
            ("headers", headers),
            ("body_base64", .string(String(decoding: Base64.encode(sent.body.span), as: UTF8.self))),
            ("config", .object(item.config)),
        ])
        if let answers = item.answers { members.append("http", answers) }
        let vector = try Vector(line: members.bytes[...])
        let outcome = await VectorRunner.run(vector)
        for (name, value) in try item.expectation.members(for: outcome.result) { members.append(name, value) }
        members.append("reason", try JSONText(try item.members.required("why")))
        return members.text
    }

    /// The configuration of the file; what a case gives takes the place of a member, and null takes it away.
    private static func config(_ usual: JSONValue, _ own: JSONValue?, now: Int64) throws -> JSONMembers {
        var config = JSONMembers([("now", .integer(now))])
        for (name, value) in try usual.object().members { config.append(name, try JSONText(value)) }
        guard let own else { return config }
        for (name, value) in try own.object().members {
            let text = try JSONText(value)
            config[name] = value.isNull ? JSONText?.none : text
        }
        return config
    }

    /// The provider's answer: to a GET with 200 and the usual headers, unless the case says otherwise.
    private static func answer(
        _ value: JSONValue,
        _ resources: JSONMembers,
        _ headers: JSONValue?
    ) throws -> JSONText {
        let reader = try ObjectReader(value)
        var answer = JSONMembers([
            ("method", .string(try reader.optionalString("method") ?? "GET")),
            ("url", .string(try reader.string("url"))),
            ("status", .integer(try reader.optionalInt64("status") ?? 200)),
        ])
        if let headers = reader.optionalValue("headers") ?? headers { answer.append("headers", try JSONText(headers)) }
        if reader.optionalValue("body") != nil || reader.optionalValue("like") != nil
            || reader.optionalValue("text") != nil
            || reader.optionalValue("base64") != nil
        {
            switch try CaseBody(reader, named: { resources[$0] }) {
            case .object(let text): answer.append("body", .string(text.text))
            case .text(let text): answer.append("body", .string(text))
            case .octets(let octets):
                answer.append("body_base64", .string(String(decoding: Base64.encode(octets.span), as: UTF8.self)))
            }
        }
        return .object(answer)
    }
}

/// The sent body: an object, which is another one with edits or a whole one; or a text or octets as they are.
enum CaseBody {
    case object(JSONText)
    case text(String)
    case octets([UInt8])

    init(_ reader: ObjectReader, named: (String) -> JSONText?) throws {
        if let text = try reader.optionalString("text") {
            self = .text(text)
        } else if let encoded = try reader.optionalString("base64") {
            self = .octets(try Base64.decode(Array(encoded.utf8).span))
        } else if let name = try reader.optionalString("like") {
            guard var text = named(name) else { throw VectorError("is like \(name), which there is none of") }
            for path in try reader.optionalStrings("remove") ?? [] { text = try text.setting(path, to: nil) }
            if let edits = reader.optionalValue("set") {
                for (path, value) in try edits.object().members { text = try text.setting(path, to: JSONText(value)) }
            }
            self = .object(text)
        } else {
            self = .object(try JSONText(try reader.value("body")))
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

extension JSONText {
    /// A value as it stands in a document, without the white space around it.
    init(_ value: JSONValue) throws {
        switch value.kind {
        case .array: self = .array(try value.array().map { try JSONText($0) })
        case .object: self = .object(try JSONMembers(value))
        default: self = .raw(String(decoding: value.rawBytes, as: UTF8.self))
        }
    }

    /// The same with the value at a path (a JSON Pointer, RFC 6901) set or, where it is nil, taken out.
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
}

extension JSONMembers {
    init(_ value: JSONValue?) throws {
        self.init()
        guard let value else { return }
        for (name, value) in try value.object().members { append(name, try JSONText(value)) }
    }
}
