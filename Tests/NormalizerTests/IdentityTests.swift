import Normalizer
import Testing

@Suite("Identities")
struct IdentityTests {
    private let lineage = SubscriptionID(store: .appStore, environment: .production, id: "2000000123")

    @Test("An event id is a SHA-256 over the lengths and contents of its parts")
    func digest() {
        // printf 'lifecycle-event/19:app_store10:production10:200000012312:period_began1:7' | sha256sum
        #expect(
            EventID(lineage, .periodBegan, "7").description == "ac5bdd465652bbb6487317751c5b398c3b0d24cc"
        )
    }

    @Test("Parts cannot run into one another")
    func separation() {
        #expect(EventID(lineage, .periodBegan, "1", "23") != EventID(lineage, .periodBegan, "12", "3"))
        #expect(EventID(lineage, .periodBegan, "1", "") != EventID(lineage, .periodBegan, "1"))
        let sandbox = SubscriptionID(store: .appStore, environment: .sandbox, id: lineage.id)
        #expect(EventID(lineage, .ended, "1") != EventID(sandbox, .ended, "1"))
        #expect(EventID(lineage, .ended, "1") != EventID(lineage, .periodBegan, "1"))
        #expect(
            EventID(provider: .apple, environment: .production, notification: "a", ordinal: 0)
                != EventID(provider: .apple, environment: .production, notification: "a", ordinal: 1)
        )
    }

    @Test("An event id reads back, and nothing else reads as one")
    func text() throws {
        let id = EventID(lineage, .ended, "1")
        #expect(EventID(id.description) == id)
        #expect(try CanonicalJSON.value(EventID.self, from: try CanonicalJSON.bytes(id)) == id)
        for text in ["", "xyz", id.description.uppercased(), id.description + "0", String(id.description.dropLast())] {
            #expect(EventID(text) == nil)
        }
    }

    @Test(
        "A lineage key reads back, whatever is in its parts",
        arguments: [
            ("app_store", "production", "2000000123"), ("a/b", "c~d", "x/y/z"), ("~1", "/~0", "~"), ("", "", "ü∂/"),
            ("stripe", "production", ""), ("app_store", "production", "\u{301}x"), ("/\u{301}", "~\u{301}", "\u{301}"),
        ]
    )
    func lineageKey(store: String, environment: String, id: String) throws {
        let lineage = SubscriptionID(
            store: Store(rawValue: store),
            environment: StoreEnvironment(rawValue: environment),
            id: id
        )
        #expect(SubscriptionID(lineage.description) == lineage)
        #expect(try CanonicalJSON.value(SubscriptionID.self, from: try CanonicalJSON.bytes(lineage)) == lineage)
    }

    @Test("Text that is no lineage key is refused", arguments: ["", "a", "a/b", "a~2/b/c", "a~/b/c"])
    func noLineageKey(text: String) {
        #expect(SubscriptionID(text) == nil)
    }
}
