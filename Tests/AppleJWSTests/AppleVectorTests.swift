import ConformanceVectors
import Foundation
import Normalizer
import SchemaSupport
import SignatureCore
import Testing
import VectorGenerator
import WireJSON

@Suite("TestVectors/apple")
struct AppleVectorTests {
    static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static let vectors: [Vector] = (try? CommittedVectors.paths(of: .apple).flatMap(CommittedVectors.vectors)) ?? []

    static let schema = Result {
        let bytes = Array(try Data(contentsOf: repository.appending(path: "docs/event-schema.json")))
        return JSONSchema(root: try JSONDocument(parsing: bytes).root)
    }

    @Test("comes out as whole events that follow the schema, or as refusals that quote nothing")
    func vectors() async throws {
        #expect(Self.vectors.count >= 150)
        for vector in Self.vectors { try await check(vector) }
    }

    private func check(_ vector: Vector) async throws {
        #expect(vector.expect != nil)
        #expect(vector.expect == .reject ? vector.code != nil : vector.events != nil, "\(vector.id)")
        let outcome = await VectorRunner.run(vector)
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
        let plain = try #require(Self.vectors.first { $0.id.contains("did-renew-plain") })
        let expected = try #require(plain.events?.first)
        let event = String(decoding: expected.rawBytes, as: UTF8.self)
        let schema = try Self.schema.get()
        #expect(try schema.violation(expected) == nil)
        #expect(event.contains(text))
        let changed = event.replacing(text, with: replacement)
        #expect(try schema.violation(JSONDocument(parsing: Array(changed.utf8)).root) != nil)
    }
}
