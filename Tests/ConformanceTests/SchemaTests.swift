import ConformanceVectors
import FuzzTargets
import Foundation
import Normalizer
import NormalizerTesting
import RevenueCatEvents
import SchemaSupport
import Testing
import WireJSON

@Suite struct SchemaTests {
    private static let providers = Provider.adapted

    @Test("A temporary grant without a product gives access, and is written as documented")
    func grantWithoutProduct() async throws {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("value")]))
        let body = #"""
            {"event":{"type":"TEMPORARY_ENTITLEMENT_GRANT","id":"E","event_timestamp_ms":1767225600000,"app_user_id":"u",
            "store":"APP_STORE","environment":"PRODUCTION","transaction_id":"T"}}
            """#
        let start = Date(timeIntervalSince1970: 1_767_225_600)
        let result = try await adapter.receive(
            Delivery(headers: ["Authorization": "value"], body: Array(body.utf8), receivedAt: start)
        )
        let event = try #require(result.events.first)
        #expect(try schema("docs/event-schema.json").violation(document(event)) == nil)
        let ledger = AccountLedger(applying: result.statements)
        let state = try #require(ledger.states.first)
        #expect(state.access(at: start).isGranted)
        #expect(try schema("docs/state-schema.json").violation(document(state)) == nil)
    }

    private func document(_ value: some Encodable) throws -> JSONValue {
        try JSONDocument(parsing: CanonicalJSON.bytes(value)).root
    }

    private func schema(_ page: String) throws -> JSONSchema {
        JSONSchema(root: try JSONDocument(parsing: Array(try Repository.text(page).utf8)).root)
    }

    @Test(
        "Every event of every vector, and every state that comes of one, is written as documented",
        arguments: providers
    )
    func documented(provider: Provider) async throws {
        let (event, state) = (try schema("docs/event-schema.json"), try schema("docs/state-schema.json"))
        let definitions = try #require(
            JSONSerialization.jsonObject(with: Data(try Repository.text("docs/event-schema.json").utf8))
                as? [String: Any]
        )
        let statementSchema: [String: Any] = [
            "$ref": "#/$defs/statement", "$defs": try #require(definitions["$defs"]),
        ]
        let bytes = Array(try JSONSerialization.data(withJSONObject: statementSchema))
        let line = JSONSchema(root: try JSONDocument(parsing: bytes).root)
        for vector in Corpus.vectors where vector.provider == provider {
            guard case .success(let normalization) = await VectorRunner.run(vector).result else { continue }
            for made in normalization.events {
                let violation = try event.violation(document(made))
                #expect(violation == nil, "\(vector.id): \(violation ?? "")")
            }
            var ledger = AccountLedger()
            for made in normalization.logLines {
                ledger.apply(made)
                guard case .statement = made else { continue }
                let violation = try line.violation(document(made))
                #expect(violation == nil, "\(vector.id): \(violation ?? "")")
            }
            for made in ledger.states {
                let violation = try state.violation(document(made))
                #expect(violation == nil, "\(vector.id): \(violation ?? "")")
            }
        }
    }
}
