import ConformanceVectors
import Foundation
import Normalizer
import SignatureCore
import Testing
import WireJSON

@Suite("TestVectors/apple")
struct AppleVectorTests {
    static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    struct Line: CustomTestStringConvertible {
        let file: String
        let number: Int
        let bytes: [UInt8]
        var testDescription: String { "\(file):\(number)" }
    }

    static let files = [
        "mapping", "shapes", "uploads", "jws", "x5c", "time", "identity", "json", "configuration",
    ].map { "\($0).jsonl" }

    static let lines: [Line] = files.flatMap { file in
        let url = repository.appending(path: "TestVectors/apple/\(file)")
        let bytes = (try? Data(contentsOf: url)).map(Array.init) ?? []
        return bytes.split(separator: 0x0A).enumerated().map {
            Line(file: file, number: $0.offset + 1, bytes: Array($0.element))
        }
    }

    static let schema = Result {
        let bytes = Array(try Data(contentsOf: repository.appending(path: "docs/event-schema.json")))
        return JSONSchema(root: try JSONDocument(parsing: bytes).root)
    }

    @Test("there are enough, and each has a name of its own")
    func count() throws {
        #expect(Self.lines.count >= 150)
        let ids = try Self.lines.map { try Vector(line: $0.bytes[...]).id }
        #expect(Set(ids).count == ids.count)
    }

    @Test("comes out as stated: whole events that follow the schema, refusals that quote nothing", arguments: lines)
    func vector(_ line: Line) async throws {
        let vector = try Vector(line: line.bytes[...])
        #expect(vector.expect != nil)
        #expect(vector.expect == .reject ? vector.code != nil : vector.events != nil, "\(vector.id)")
        let outcome = await VectorRunner.run(vector)
        #expect(outcome.matched == true, "\(vector.id): \(outcome.difference ?? "")")
        if case .failure(let error) = outcome.result {
            for marker in ["2000000900000", "com.example.other", "6e6b6b3c", "FORGED", "leading-zero", "eyJ"] {
                #expect(!"\(error) \(error.message)".contains(marker), "\(vector.id) quotes the body")
            }
        }
        guard case .success(let normalization) = outcome.result else { return }
        let schema = try Self.schema.get()
        for event in normalization.events {
            let bytes = try CanonicalJSON.bytes(event)
            let violation = try schema.violation(JSONDocument(parsing: bytes).root)
            #expect(violation == nil, "\(vector.id): \(violation ?? "")")
            #expect(try CanonicalJSON.value(NormalizedEvent.self, from: bytes) == event, "\(vector.id)")
        }
    }

    @Test("the generator still writes these files, byte for byte", .timeLimit(.minutes(5)))
    func regenerated() async throws {
        let made = try await AppleVectors.lines()
        #expect(made.map(\.file) == Self.files)
        for (file, lines) in made {
            let committed = Self.lines.filter { $0.file == file }.map { String(decoding: $0.bytes, as: UTF8.self) }
            #expect(committed.count == lines.count, "\(file)")
            for (number, pair) in zip(committed, lines).enumerated() {
                // Not compared inside the expectation: a failure would print both lines.
                let isSame = pair.0 == pair.1
                #expect(isSame, "\(file):\(number + 1)")
            }
        }
    }

    @Test(
        "the schema's reader refuses what it should",
        arguments: [
            (#"{"type":"object"}"#, "[]"), (#"{"type":"integer"}"#, "1.5"), (#"{"required":["a"]}"#, "{}"),
            (#"{"properties":{"a":{"const":1}}}"#, #"{"a":2}"#), (#"{"additionalProperties":false}"#, #"{"a":2}"#),
            (#"{"enum":["a","b"]}"#, #""c""#), (#"{"pattern":"^a$"}"#, #""b""#),
            (#"{"items":{"type":"string"}}"#, "[1]"),
            (#"{"oneOf":[true,true]}"#, "1"), (#"{"oneOf":[false,false]}"#, "1"), (#"{"anyOf":[false,false]}"#, "1"),
            (#"{"allOf":[true,false]}"#, "1"), (#"{"not":true}"#, "1"), (#"{"if":true,"then":false}"#, "1"),
            (#"{"if":false,"else":false}"#, "1"), (##"{"$ref":"#/$defs/a","$defs":{"a":false}}"##, "1"),
            (#"{"minItems":1}"#, "[]"), (#"{"minLength":1}"#, #""""#),
        ]
    )
    func validator(schema: String, document: String) throws {
        let schema = JSONSchema(root: try JSONDocument(parsing: Array(schema.utf8)).root)
        #expect(try schema.violation(JSONDocument(parsing: Array(document.utf8)).root) != nil)
    }

    @Test(
        "the schema itself refuses a changed event",
        arguments: [
            ("\"kind\":\"renewed\"", "\"kind\":\"expired\""), ("\"kind\":\"renewed\"", "\"kind\":\"renewd\""),
            ("\"amount\":\"9.99\"", "\"amount\":9.99"), ("\"amount\":\"9.99\"", "\"amount\":\"9.990\""),
            ("\"amount\":\"9.99\"", "\"amount\":\"9.99\",\"cents\":999"), ("T00:00:00.000Z", "T00:00:00Z"),
            ("T00:00:00.000Z", "T24:00:00.000Z"), ("\"id\":\"", "\"id\":\"x"), ("\"provider\":\"apple\",", ""),
            ("\"cause\":\"scheduled\"", "\"cause\":\"fate\""), ("\"fact\":\"charge\"", "\"fact\":\"period\""),
            ("\"will_renew\":true", "\"will_renew\":null"),
        ]
    )
    func strictness(text: String, replacement: String) throws {
        let plain = try #require(
            Self.lines.first { String(decoding: $0.bytes, as: UTF8.self).contains("did-renew-plain") }
        )
        let expected = try #require(try Vector(line: plain.bytes[...]).events?.first)
        let event = String(decoding: expected.rawBytes, as: UTF8.self)
        let schema = try Self.schema.get()
        #expect(try schema.violation(expected) == nil)
        #expect(event.contains(text))
        let changed = event.replacing(text, with: replacement)
        #expect(try schema.violation(JSONDocument(parsing: Array(changed.utf8)).root) != nil)
    }
}
