import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// RevenueCat tells of a Play subscription and its add-ons in one webhook, with `items`.
@Suite("Add-ons on Play")
struct AddOnTests {
    private static let order = "GPA.3312-6386-1703-32297"
    private static let base = SubscriptionID(store: .playStore, environment: .production, id: order)
    private static let addOn = SubscriptionID(store: .playStore, environment: .production, id: "\(order):hifi")

    private func item(_ product: String, _ price: String, until end: Int64) -> JSONText {
        [
            "currency": "EUR", "expiration_at_ms": .integer(end), "price": .raw(price),
            "price_in_purchased_currency": .raw(price), "product_id": .string(product),
            "type": .string(product.hasPrefix("music") ? "base" : "addon"),
        ]
    }

    private func reported(
        _ type: String,
        at: Int64,
        from start: Int64,
        to end: Int64,
        order: String,
        base: String = "music:monthly",
        itemsTo itemEnd: Int64? = nil,
        changing changes: KeyValuePairs<String, JSONText?> = [:]
    ) throws -> [NormalizedEvent] {
        var event: [(String, JSONText)] = [
            ("type", .string(type)), ("id", .string("\(type)-\(at)")), ("event_timestamp_ms", .integer(at)),
            ("app_user_id", "u1"), ("environment", "PRODUCTION"), ("store", "PLAY_STORE"), ("period_type", "NORMAL"),
            ("product_id", "music:monthly"), ("purchased_at_ms", .integer(start)), ("expiration_at_ms", .integer(end)),
            ("transaction_id", .string(order)), ("original_transaction_id", .string(Self.order)), ("currency", "EUR"),
            ("price", .raw("12.08")), ("price_in_purchased_currency", .raw("12.08")),
            (
                "items",
                .array([
                    item(base, "10.99", until: itemEnd ?? end), item("hifi:monthly", "1.09", until: itemEnd ?? end),
                ])
            ),
        ]
        for (name, value) in changes {
            event.removeAll { $0.0 == name }
            event.append((name, value ?? nil))
        }
        let body = JSONMembers([("api_version", "1.0"), ("event", .object(JSONMembers(event)))]).bytes
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let delivery = try RevenueCatSimulator(authorization: SecretBytes("a")).delivery(
            body,
            receivedAt: date(at + 20_000)
        )
        return try adapter.normalize(try adapter.authenticate(delivery)).events
    }

    @Test("the base product is no add-on, however its item names it")
    func baseNamedOtherwise() throws {
        let bought = try reported("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1, order: Self.order, base: "music")
        #expect(bought.map(\.subscription) == [Self.base, Self.addOn])
    }

    @Test("an add-on that is listed twice is reported once")
    func listedTwice() throws {
        let items = ["music:monthly", "hifi:monthly", "hifi"].map { item($0, "1.09", until: t1) }
        let bought = try reported(
            "INITIAL_PURCHASE",
            at: t0,
            from: t0,
            to: t1,
            order: Self.order,
            changing: ["items": .array(items)]
        )
        #expect(bought.map(\.subscription) == [Self.base, Self.addOn])
    }

    @Test("one product alone, other stores and a null have no add-ons", arguments: ["PLAY_STORE", "APP_STORE"])
    func none(store: String) throws {
        let items: [JSONText] =
            store == "PLAY_STORE" ? [nil, .array([item("music:monthly", "12.08", until: t1)])] : ["?"]
        for value in items {
            let body: JSONText = [
                "api_version": "1.0",
                "event": [
                    "type": "INITIAL_PURCHASE", "id": "1", "event_timestamp_ms": .integer(t0), "app_user_id": "u1",
                    "environment": "PRODUCTION", "store": .string(store), "period_type": "NORMAL",
                    "product_id": "music:monthly", "purchased_at_ms": .integer(t0), "expiration_at_ms": .integer(t1),
                    "transaction_id": "1", "original_transaction_id": "1", "items": value,
                ],
            ]
            let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
            let delivery = try RevenueCatSimulator(authorization: SecretBytes("a")).delivery(
                body.bytes,
                receivedAt: date(t0)
            )
            #expect(try adapter.normalize(try adapter.authenticate(delivery)).events.count == 1)
        }
    }

    // MARK: Webhooks without the list

    private func alone(
        _ type: String,
        _ product: String,
        at moment: Int64,
        from start: Int64,
        to end: Int64,
        order: String
    ) throws -> [NormalizedEvent] {
        try reported(
            type,
            at: moment,
            from: start,
            to: end,
            order: order,
            changing: ["product_id": .string(product), "items": nil, "id": .string("\(type)-\(product)-\(moment)")]
        )
    }

    /// In every order the state is one; its products at some moments.
    private func products(_ webhooks: [[NormalizedEvent]], at moments: [Int64]) throws -> [Set<ProductID>] {
        var expected: AccountLedger?
        for order in permutations(of: webhooks) {
            let ledger = AccountLedger(applying: order.flatMap(\.self) + order.flatMap(\.self))
            #expect(expected ?? ledger == ledger)
            expected = ledger
        }
        let ledger = try #require(expected)
        return moments.map { moment in
            Set(
                ledger.states.flatMap { state -> [ProductID] in
                    guard case .granted(_, let grant) = state.access(at: date(moment)) else { return [] }
                    return [grant.product] + (grant.otherProducts ?? [])
                }
            )
        }
    }

    @Test("an add-on that is renewed without the list of items takes nothing from the plan")
    func renewedAlone() throws {
        let bought = try reported("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1, order: Self.order)
        let plan = try alone("RENEWAL", "music:monthly", at: t1 + 5000, from: t1, to: t2, order: "\(Self.order)..0")
        let addOn = try alone("RENEWAL", "hifi:monthly", at: t1 + 6000, from: t1, to: t2, order: "\(Self.order)..0")
        let both: Set<ProductID> = ["music:monthly", "hifi:monthly"]
        #expect(try products([bought, plan, addOn], at: [t0 + day, t1 + day, t2]) == [both, both, []])
        let ended = try alone(
            "EXPIRATION",
            "hifi:monthly",
            at: t1 + 5 * day,
            from: t1,
            to: t1 + 5 * day,
            order: "\(Self.order)..0"
        )
        let left: [Set<ProductID>] = [both, ["music:monthly"], []]
        #expect(try products([bought, plan, addOn, ended], at: [t1 + day, t1 + 6 * day, t2]) == left)
        let ledger = AccountLedger(applying: [bought, plan, addOn, ended].joined())
        let policy = CreditPolicy(["music:monthly": .init(credits: 200), "hifi:monthly": .init(credits: 30)])
        let balances = [t0 + day, t1 + day, t1 + 6 * day, t2].map {
            CreditStatement(of: ledger.states, under: policy, uses: [], at: date($0)).balance
        }
        #expect(balances == [230, 230, 200, 0])
        // The end of an add-on whose renewal was lost.
        #expect(
            try products([bought, plan, ended], at: [t1 + day, t1 + 6 * day, t2]) == [
                ["music:monthly"], ["music:monthly"], [],
            ]
        )
        let planEnded = try alone(
            "EXPIRATION",
            "music:monthly",
            at: t1 + 5 * day,
            from: t1,
            to: t1 + 5 * day,
            order: "\(Self.order)..0"
        )
        #expect(
            try products([bought, plan, addOn, planEnded], at: [t1 + day, t1 + 6 * day]) == [both, ["hifi:monthly"]]
        )
        #expect(try products([bought, plan, planEnded], at: [t1 + day, t1 + 6 * day]) == [["music:monthly"], []])
    }

    @Test("the renewal of either is news in any order, until its end is known")
    func newsOfEither() throws {
        let order = "\(Self.order)..0"
        let webhooks = [
            try reported("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1, order: Self.order),
            try alone("RENEWAL", "music:monthly", at: t1 + 5000, from: t1, to: t2, order: order),
            try alone("RENEWAL", "hifi:monthly", at: t1 + 6000, from: t1, to: t2, order: order),
            try alone("EXPIRATION", "hifi:monthly", at: t1 + 5 * day, from: t1, to: t1 + 5 * day, order: order),
        ]
        for places in permutations(of: Array(webhooks.indices)) {
            var ledger = AccountLedger()
            var news: [Int: AppliedEvent.Disposition] = [:]
            for place in places {
                for applied in webhooks[place].compactMap({ ledger.apply($0) }) { news[place] = applied.disposition }
            }
            let isOver = (places.firstIndex(of: 3) ?? 0) < (places.firstIndex(of: 2) ?? 0)
            #expect(news[1] == .applied, "\(places)")
            #expect(news[2] == (isOver ? .superseded : .applied), "\(places)")
        }
    }

    @Test("nor does one that is bought under the name of the plan", arguments: [order, "\(order)..0"])
    func boughtAlone(name: String) throws {
        let plan = try alone("INITIAL_PURCHASE", "music:monthly", at: t0 + 5000, from: t0, to: t1, order: Self.order)
        let addOn = try alone(
            "RENEWAL",
            "hifi:monthly",
            at: t0 + 9 * day,
            from: t0 + 9 * day,
            to: t1 + 9 * day,
            order: name
        )
        let expected: [Set<ProductID>] = [["music:monthly"], ["music:monthly", "hifi:monthly"], ["hifi:monthly"]]
        #expect(try products([plan, addOn], at: [t0 + day, t0 + 10 * day, t1 + day]) == expected)
    }
}
