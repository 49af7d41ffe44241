import Foundation
import Normalizer
import SchemaSupport
import Testing
import WireJSON

@Suite("Stored states and the schema")
struct StateSchemaTests {
    private static let schema: JSONSchema? = {
        let file = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("docs/state-schema.json")
        guard let bytes = try? Data(contentsOf: file), let document = try? JSONDocument(parsing: Array(bytes)) else {
            return nil
        }
        return JSONSchema(root: document.root)
    }()

    // One story has an empty transaction id, which the schema forbids on purpose.
    @Test(
        "Every state of every story is written as documented",
        arguments: Story.all.filter { $0.id != "empty-transaction" }
    )
    func documented(story: Story) throws {
        let schema = try #require(Self.schema)
        for state in Timeline(story.events).ledger.states {
            let bytes = try CanonicalJSON.bytes(state)
            #expect(try schema.violation(try JSONDocument(parsing: bytes).root) == nil)
            #expect(try CanonicalJSON.value(SubscriptionState.self, from: bytes) == state)
        }
    }

    @Test("Lists that were put together from two states read as their join", arguments: Story.all)
    func joined(story: Story) throws {
        func members(_ state: SubscriptionState) throws -> [String: Any] {
            let object = try JSONSerialization.jsonObject(with: Data(try CanonicalJSON.bytes(state)))
            return try #require(object as? [String: Any])
        }
        for split in 0...story.events.count {
            let (left, right) = (Timeline(story.events[..<split]).ledger, Timeline(story.events[split...]).ledger)
            for state in left.states {
                guard let other = right[state.subscription], let join = state.joined(with: other) else { continue }
                let lists = try members(state).merging(try members(other)) { first, second in
                    (second as? [Any] ?? []) + (first as? [Any] ?? [])
                }
                var written = lists
                // The one member that is no list.
                written["transfer"] = try members(join)["transfer"]
                let bytes = Array(try JSONSerialization.data(withJSONObject: written))
                #expect(try CanonicalJSON.value(SubscriptionState.self, from: bytes) == join)
            }
        }
    }

    @Test("JSON that is not a state does not pass")
    func undocumented() throws {
        let schema = try #require(Self.schema)
        #expect(try schema.violation(try JSONDocument(parsing: Array(#"{"periods":[]}"#.utf8)).root) != nil)
    }
}
