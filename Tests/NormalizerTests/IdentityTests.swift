import Foundation
import Normalizer
import Testing

@Suite("Identities")
struct IdentityTests {
    private let lineage = SubscriptionID(store: .appStore, environment: .production, id: "2000000123")

    @Test("An event id is a SHA-256 over the lengths and contents of its parts")
    func digest() throws {
        // printf 'lifecycle-event/19:app_store10:production10:200000012312:period_began1:7' | sha256sum
        let id = EventID(.periodBegan, in: lineage, "7").description
        #expect(id == "ac5bdd465652bbb6487317751c5b398c3b0d24cc")
        let page = try Self.page()
        #expect(page.contains("printf 'lifecycle-event/19:app_store10:production10:200000012312:period_began1:7' |"))
        #expect(page.contains("`\(id)`"))
    }

    @Test(
        "docs/model.md has every name that enters an id",
        arguments: [
            FactKind.periodBegan, .ended, .refunded, .refundReversed, .changeScheduled, .changeReverted, .extended,
            .chargeback, .purchased, .notified,
        ]
    )
    func documented(kind: FactKind) throws {
        #expect(try Self.page().contains("| `\(kind.rawValue)` | "))
    }

    private static func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/model.md"), encoding: .utf8)
    }

    @Test(
        "A name in parts is the name with a solidus between them",
        arguments: [
            [], [""], ["paused"], ["auto_renew", "off", ""], ["items", "price_pro*1", "1772366400"], ["a/b", "c"],
            ["ä", "日本", "👩‍👩‍👧"], Array(repeating: "0123456789", count: 9), Array(repeating: "0123456789", count: 500),
        ]
    )
    func path(parts: [String]) {
        #expect(
            EventID(notifiedTo: lineage, by: .stripe, path: parts)
                == .notified(lineage, by: .stripe, notification: parts.joined(separator: "/"))
        )
    }

    @Test("Parts cannot run into one another")
    func separation() {
        #expect(EventID(.periodBegan, in: lineage, "1", "23") != EventID(.periodBegan, in: lineage, "12", "3"))
        #expect(EventID(.periodBegan, in: lineage, "1", "") != EventID(.periodBegan, in: lineage, "1"))
        let sandbox = SubscriptionID(store: .appStore, environment: .sandbox, id: lineage.id)
        #expect(EventID(.ended, in: lineage, "1") != EventID(.ended, in: sandbox, "1"))
        #expect(EventID(.ended, in: lineage, "1") != EventID(.periodBegan, in: lineage, "1"))
        #expect(
            EventID(provider: .apple, environment: .production, notification: "a", ordinal: 0)
                != EventID(provider: .apple, environment: .production, notification: "a", ordinal: 1)
        )
    }

    @Test("A transaction of a Play order is named by order and product, however a channel names the two")
    func items() {
        let order: TransactionID = "GPA.1234-5678-9012-34567..0"
        let names =
            [SubscriptionID(store: .playStore, environment: .production, id: "GPA.1234-5678-9012-34567")]
            + [SubscriptionID(store: .playStore, environment: .production, id: "0f3a:hifi")]
        func ids(of lineage: SubscriptionID, _ transaction: TransactionID, _ product: ProductID?) -> [EventID] {
            [
                .periodBegan(lineage, transaction: transaction, product: product),
                .ended(lineage, transaction: transaction, product: product, periodStart: .distantPast),
                .extended(lineage, transaction: transaction, product: product, to: .distantPast),
                .purchased(lineage, transaction: transaction, product: product),
            ]
        }
        let expected = EventID(
            .periodBegan,
            in: SubscriptionID(store: .playStore, environment: .production, id: ""),
            "\(order)/hifi"
        )
        for lineage in names {
            #expect(ids(of: lineage, order, "hifi").first == expected)
            let others: [(TransactionID, ProductID?)] = [
                (order, "hifi:monthly"), ("\(order)@0f3a", "hifi"), ("\(order)/hifi", "hifi:monthly"),
                ("\(order)/hifi@0f3a", nil),
            ]
            for (transaction, product) in others {
                #expect(ids(of: lineage, transaction, product) == ids(of: lineage, order, "hifi"), "\(transaction)")
            }
            #expect(Set(ids(of: lineage, order, "hifi")).isDisjoint(with: ids(of: lineage, order, "music")))
            #expect(Set(ids(of: lineage, order, "hifi")).isDisjoint(with: ids(of: lineage, order, nil)))
            // Several of one product, each with a name of its own.
            #expect(Set(ids(of: lineage, "\(order)/hifi/1", "hifi")).isDisjoint(with: ids(of: lineage, order, "hifi")))
        }
        // In no other store, and for no other name, does the product count.
        #expect(ids(of: lineage, order, "hifi") == ids(of: lineage, order, nil))
        #expect(ids(of: names[1], "0f3a", "hifi") == ids(of: names[1], "0f3a", nil))
    }

    @Test("The order that a purchase begins with names an end together with the period's start")
    func ends() {
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "0f3a")
        func id(_ order: TransactionID, _ start: Double?) -> EventID {
            .ended(
                lineage,
                transaction: order,
                product: "hifi:monthly",
                periodStart: start.map { Date(timeIntervalSince1970: $0) }
            )
        }
        let order: TransactionID = "GPA.1234-5678-9012-34567"
        #expect(id(order, 0) != id(order, 2_678_400))
        #expect(id(order, 0) == id("\(order)@0f3a", 0.9))
        // The order of a renewal pays for one period.
        #expect(id("\(order)..0", 0) == id("\(order)..0", nil))
        #expect(id("\(order)..0", 0) == id("\(order)..0", 2_678_400))
    }

    @Test("An event id reads back, and nothing else reads as one")
    func text() throws {
        let id = EventID(.ended, in: lineage, "1")
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
            store: PurchaseStore(rawValue: store),
            environment: StoreEnvironment(rawValue: environment),
            id: id
        )
        #expect(SubscriptionID(lineage.description) == lineage)
        #expect(try CanonicalJSON.value(SubscriptionID.self, from: try CanonicalJSON.bytes(lineage)) == lineage)
    }

    @Test("Names that only look alike are two, and always in one order")
    func lookalikes() throws {
        let names = ["caf\u{E9}", "cafe\u{301}"]
        let products = names.map { ProductID($0) }
        #expect(products[0] != products[1])
        #expect(!(products[0] == products[1]))
        #expect(Set(products).count == 2)
        #expect([products, products.reversed()].map { $0.sorted() } == [products.reversed(), products.reversed()])
        #expect([ProductID("b"), "a", "\u{E9}"].sorted() == ["a", "b", "\u{E9}"])
        let lineages = names.map { SubscriptionID(store: .appStore, environment: .production, id: $0) }
        #expect(lineages[0] != lineages[1])
        #expect(Set(lineages).count == 2)
        let states = lineages.map { SubscriptionState($0) }
        #expect(AccountLedger(states).states.count == 2)
        #expect(AccountLedger(states).states == AccountLedger(states.reversed()).states)
    }

    @Test("Text that is no lineage key is refused", arguments: ["", "a", "a/b", "a~2/b/c", "a~/b/c"])
    func noLineageKey(text: String) {
        #expect(SubscriptionID(text) == nil)
    }
}
