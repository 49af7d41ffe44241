import HTTPTransport
import NotificationSimulator
import Normalizer
import NormalizerTesting
import RevenueCatEvents
import Testing
import WireJSON

@Suite("RevenueCat's one-time purchases")
struct PurchaseLookupTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Changes = KeyValuePairs<String, JSONText?>

    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")
    static let asked = date(t0 + day)

    // MARK: Answers

    static func item(_ changes: Changes = [:]) -> String {
        var members = JSONMembers([
            ("object", "purchase"), ("id", "purch1"), ("customer_id", "u1"), ("original_customer_id", "u1"),
            ("product_id", "prod1"), ("purchased_at", .integer(t0)),
            ("revenue_in_usd", ["currency": "USD", "gross": .raw("49.99"), "commission": .raw("7.5")]),
            ("quantity", 1), ("status", "owned"), ("presented_offering_id", .null),
            ("entitlements", ["object": "list", "items": [["id": "entl1", "lookup_key": "pro"]], "next_page": .null]),
            ("environment", "production"), ("store", "app_store"), ("store_purchase_identifier", "O1"),
            ("ownership", "purchased"),
        ])
        for (name, value) in changes { members[name] = value }
        return members.text
    }

    static func newer(_ changes: Changes = [:]) async throws -> RevenueCatPurchase {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list([item(changes)])))
        return try #require(try await ClientTests.client(transport).purchases(withTransaction: "O1").first)
    }

    static let lifetime: JSONText = [
        "pro": ["expires_date": .null, "product_identifier": "pro_m", "purchase_date": "2026-01-01T00:00:00Z"]
    ]

    static func entry(
        _ changes: Changes = [:],
        product: String = "pro_m",
        entitlements: JSONText = lifetime,
        firstKnownAs original: String = "u1"
    ) -> String {
        var members = JSONMembers([
            ("id", "72c26cc69c"), ("display_name", "Pro"), ("is_sandbox", false),
            ("price", ["amount": .raw("49.99"), "currency": "USD"]), ("purchase_date", "2026-01-01T00:00:00Z"),
            ("original_purchase_date", "2026-01-01T00:00:00Z"), ("store", "app_store"), ("store_transaction_id", "O1"),
        ])
        for (name, value) in changes { members[name] = value }
        return """
            {"request_date_ms":\(t0 + day),"subscriber":{"original_app_user_id":"\(original)","entitlements":\(entitlements.text),\
            "subscriptions":{},"non_subscriptions":{\(JSONText.string(product).text):[\(members.text)]}}}
            """
    }

    static func older(_ body: String) async throws -> [RevenueCatPurchase] {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(200, body))
        guard case .known(let purchases) = try await ClientTests.client(transport, .v1).purchases(ofCustomer: "u1")
        else { throw SimulatorError("unknown customer") }
        return purchases
    }

    static func older(
        _ changes: Changes = [:],
        product: String = "pro_m",
        entitlements: JSONText = lifetime
    ) async throws -> RevenueCatPurchase {
        try #require(try await older(entry(changes, product: product, entitlements: entitlements)).first)
    }

    // MARK: Webhooks

    static func webhook(_ changes: Changes = [:], usd: String = "49.99", local: String? = "49.99") throws
        -> NormalizedEvent
    {
        var event = Event(
            "NON_RENEWING_PURCHASE",
            id: "E-1",
            at: t0 + 5000,
            .first,
            changing: ["expiration_at_ms": .some(.null)]
        )
        event = event.with(["price": .raw(usd)])
        if let local { event = event.with(["price_in_purchased_currency": .raw(local), "currency": "USD"]) }
        return try one(event.with(changes))
    }

    static func one(_ event: Event) throws -> NormalizedEvent {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let delivery = Delivery(headers: ["Authorization": "a"], body: event.body, receivedAt: date(t0 + 6000))
        return try #require(try adapter.normalize(try adapter.authenticate(delivery)).events.first)
    }

    // MARK: Requests

    @Test("which addresses are asked")
    func addresses() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(404, ClientTests.missing))
        let newer = try ClientTests.client(transport)
        #expect(try await newer.purchases(ofCustomer: "$RC:a/b") == .unknown)
        #expect(try await newer.purchases(withTransaction: "GPA.1-2&x=y").isEmpty)
        #expect(try await ClientTests.client(transport, .v1).purchases(ofCustomer: "$RC:a/b") == .unknown)
        let base = "https://api.revenuecat.com"
        #expect(
            transport.requests.map(\.url.absoluteString) == [
                base + "/v2/projects/proj1/customers/%24RC%3Aa%2Fb/purchases",
                base + "/v2/projects/proj1/purchases?store_purchase_identifier=GPA.1-2%26x%3Dy",
                base + "/v1/subscribers/%24RC%3Aa%2Fb",
            ]
        )
        #expect(transport.requests.allSatisfy { $0.headers["X-Platform"] == nil })
    }

    @Test("the older version cannot be asked for a transaction, and is not")
    func unsupported() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list([])))
        let error = await #expect(throws: DeliveryError.self) {
            _ = try await ClientTests.client(transport, .v1).purchases(withTransaction: "O1")
        }
        #expect(error?.code == .unavailable)
        #expect(transport.requests.isEmpty)
    }

    @Test("a page that does not come leaves no half of a list")
    func missingPage() async throws {
        let path = "/v2/projects/proj1/purchases"
        for status in [404, 401, 500] {
            let transport = StubTransport()
            transport.on(
                .init(.get, path: path),
                respond:
                    ClientTests.response(200, ClientTests.list([Self.item()], next: path + "?starting_after=purch1")),
                ClientTests.response(status, "{}")
            )
            let error = await #expect(throws: DeliveryError.self) {
                _ = try await ClientTests.client(transport).purchases(withTransaction: "O1")
            }
            #expect(error?.code == .unavailable)
        }
    }

    @Test("a customer that the older version made of the id is not known")
    func created() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(201, Self.entry()))
        #expect(try await ClientTests.client(transport, .v1).purchases(ofCustomer: "u1") == .unknown)
    }

    @Test(
        "an answer of the newer version that cannot be read is no answer",
        arguments: [
            "", "[]", "{}", #"{"items":{}}"#, #"{"items":[1]}"#, #"{"items":[{"purchased_at":"2026"}]}"#,
            #"{"items":[{"purchased_at":1e99}]}"#, #"{"items":[{"purchased_at":-1}]}"#,
            #"{"items":[{"quantity":1.5}]}"#, #"{"items":[{"quantity":99999999999999999999}]}"#,
            #"{"items":[{"store_purchase_identifier":7}]}"#, #"{"items":[{"store_purchase_identifier":"a\u0000"}]}"#,
            #"{"items":[{"revenue_in_usd":{"gross":"1,0"}}]}"#, #"{"items":[{"revenue_in_usd":7}]}"#,
            #"{"items":[{"entitlements":[]}]}"#, #"{"items":[{"entitlements":{"items":[7]}}]}"#,
            #"{"items":[{"status":true}]}"#, #"{"items":[],"next_page":7}"#, #"{"items":[],"items":[]}"#,
        ]
    )
    func unreadable(body: String) async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(200, body))
        let error = await #expect(throws: DeliveryError.self) {
            _ = try await ClientTests.client(transport).purchases(ofCustomer: "u1")
        }
        #expect(error?.code == .unavailable)
    }

    @Test(
        "an answer of the older version that cannot be read is no answer, and leaves its subscriptions readable",
        arguments: [
            "[]", #"{"p":{}}"#, #"{"p":[1]}"#, #"{"p":[{"purchase_date":"yesterday"}]}"#,
            #"{"p":[{"purchase_date":1767225600000}]}"#, #"{"p":[{"is_sandbox":"no"}]}"#,
            #"{"p":[{"price":{"amount":"1,0","currency":"USD"}}]}"#, #"{"p":[{"price":1}]}"#,
            #"{"p":[{"store_transaction_id":1.5}]}"#, #"{"p":[{"store_transaction_id":true}]}"#,
        ]
    )
    func unreadableOlder(list: String) async throws {
        let body = #"{"request_date_ms":1767225600000,"subscriber":{"subscriptions":{},"non_subscriptions":\#(list)}}"#
        let error = await #expect(throws: DeliveryError.self) { _ = try await Self.older(body) }
        #expect(error?.code == .unavailable)
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(200, body))
        #expect(try await ClientTests.client(transport, .v1).customer("u1") == .known([]))
    }

    @Test("a customer without one-time purchases, in the older version's words")
    func none() async throws {
        for list in ["", #","non_subscriptions":null"#, #","non_subscriptions":{}"#, #","non_subscriptions":{"p":[]}"#]
        {
            #expect(try await Self.older(#"{"subscriber":{"subscriptions":{}\#(list)}}"#).isEmpty)
        }
    }

    // MARK: The same as the webhook

    static func expectSame(_ purchase: RevenueCatPurchase, _ webhook: NormalizedEvent, product: ProductID? = nil) throws
    {
        let event = try #require(purchase.event(product: product, at: asked))
        #expect(event.id == webhook.id)
        #expect(event.event == webhook.event)
        #expect(event.subscription == webhook.subscription)
        #expect(event.transaction == webhook.transaction)
        #expect(event.store == webhook.store)
        #expect(event.environment == webhook.environment)
        #expect(event.account == webhook.account)
        #expect(event.product == webhook.product)
        #expect(event.period == webhook.period)
        #expect(event.price == webhook.price)
        #expect(event.renewal == webhook.renewal)
        #expect(event.effectiveAt == webhook.effectiveAt)
        #expect(purchase.facts(product: product, at: asked) == webhook.facts)
        let statements = purchase.statements(product: product, at: asked)
        #expect(statements.flatMap(\.facts) == webhook.facts)
        #expect(statements.allSatisfy { $0.subscription == webhook.subscription && $0.provider == .revenuecat })
    }

    @Test("the older version: what was charged, for good, limited, and without an entitlement")
    func olderFacts() async throws {
        try Self.expectSame(try await Self.older(), try Self.webhook())
        try Self.expectSame(
            try await Self.older(["price": ["amount": .raw("8.99"), "currency": "EUR"]]),
            try Self.webhook(["currency": "EUR"], usd: "9.71", local: "8.99")
        )
        try Self.expectSame(
            try await Self.older(entitlements: [:]),
            try Self.webhook(["entitlement_ids": .some(.null)])
        )
        try Self.expectSame(
            try await Self.older(entitlements: [
                "pro": [
                    "expires_date": "2026-02-01T00:00:00Z", "product_identifier": "pro_m",
                    "purchase_date": "2026-01-01T00:00:00Z",
                ]
            ]),
            try Self.webhook(["expiration_at_ms": .integer(t1)])
        )
    }

    @Test("the newer version: an estimate is no charge")
    func newerFacts() async throws {
        try Self.expectSame(try await Self.newer(), try Self.webhook(local: nil), product: "pro_m")
        try Self.expectSame(
            try await Self.newer(["entitlements": ["items": []]]),
            try Self.webhook(["entitlement_ids": []], local: nil),
            product: "pro_m"
        )
        try Self.expectSame(
            try await Self.newer(["ownership": "family_shared"]),
            try Self.webhook(["is_family_share": true], local: nil),
            product: "pro_m"
        )
    }

    @Test(
        "stores, known or not, and their worlds",
        arguments: [
            ("MAC_APP_STORE", "O1"), ("PLAY_STORE", "GPA.1-2-3"), ("PLAY_STORE", "GPA.1-2-3..0"), ("STRIPE", "in_1"),
            ("AMAZON", "a"), ("PADDLE", "txn_1"), ("RC_BILLING", "txRcb1"), ("TEST_STORE", "t"), ("NEW_STORE", "n"),
        ]
    )
    func stores(store: String, transaction: String) async throws {
        let name = JSONText.string(store.lowercased())
        let webhook: (Bool, String?) throws -> NormalizedEvent = { sandbox, local in
            try Self.webhook(
                [
                    "store": .string(store), "transaction_id": .string(transaction),
                    "original_transaction_id": .string(transaction),
                    "environment": sandbox ? "SANDBOX" : "PRODUCTION",
                ],
                usd: "49.99",
                local: local
            )
        }
        for sandbox in [false, true] {
            try Self.expectSame(
                try await Self.older([
                    "store": name, "store_transaction_id": .string(transaction), "is_sandbox": .bool(sandbox),
                ]),
                try webhook(sandbox, "49.99")
            )
            try Self.expectSame(
                try await Self.newer([
                    "store": name, "store_purchase_identifier": .string(transaction),
                    "environment": sandbox ? "sandbox" : "production",
                ]),
                try webhook(sandbox, nil),
                product: "pro_m"
            )
        }
    }

    @Test("an original transaction that is another names the lineage")
    func original() async throws {
        var purchase = try await Self.older(["store_transaction_id": "O2"])
        let webhook = try Self.webhook(["transaction_id": "O2", "original_transaction_id": "O1"])
        #expect(purchase.lineage != webhook.subscription)
        purchase.originalTransaction = "O1"
        try Self.expectSame(purchase, webhook)
    }

    @Test("sandbox and production are apart, and an unstated world is neither")
    func worlds() async throws {
        var lineages: Set<SubscriptionID> = []
        var ids: Set<EventID> = []
        for (environment, sandbox) in [("production", false), ("sandbox", true), (nil, nil)] as [(String?, Bool?)] {
            let newer = try await Self.newer(["environment": environment.map { .string($0) }])
            let older = try await Self.older(["is_sandbox": sandbox.map { .bool($0) }])
            #expect(newer.lineage == older.lineage)
            lineages.insert(try #require(newer.lineage))
            ids.insert(try #require(older.event(at: Self.asked)).id)
        }
        #expect(lineages.count == 3)
        #expect(ids.count == 3)
    }

    @Test("a grant is a period, as of the webhook")
    func grant() async throws {
        let webhook = try Self.webhook([
            "store": "PROMOTIONAL", "price": nil, "price_in_purchased_currency": nil, "currency": nil,
        ])
        let changes: Changes = ["store": "promotional", "price": nil]
        try Self.expectSame(try await Self.older(changes), webhook)
        // Without an end that is known to be none, it would give access for ever.
        for purchase in [try await Self.older(changes, entitlements: [:]), try await Self.newer(changes)] {
            #expect(purchase.event(product: "pro_m", at: Self.asked) == nil)
            #expect(purchase.facts(product: "pro_m", at: Self.asked) == [.owner(Account("u1", .appUserID))])
        }
    }

    @Test("amounts are those of the JSON text", arguments: ["19.99", "0.1", "1234567.891", "0", "19.990"])
    func money(amount: String) async throws {
        let older = try await Self.older(["price": ["amount": .raw(amount), "currency": "KWD"]])
        let newer = try await Self.newer(["revenue_in_usd": ["gross": .raw(amount), "currency": "USD"]])
        let webhook = try Self.webhook(["currency": "KWD"], usd: "1", local: amount)
        #expect(older.price == webhook.price)
        #expect(newer.price == (try Self.webhook([:], usd: amount, local: nil)).price)
        #expect(older.price?.role == .charged)
        #expect(newer.price?.role == .list)
    }

    // MARK: Unstated members

    @Test("without the store's transaction there is no identity, and nothing is asserted")
    func anonymous() async throws {
        for purchase in [
            try await Self.older(["store_transaction_id": nil]), try await Self.older(["store_transaction_id": ""]),
            try await Self.newer(["store_purchase_identifier": nil]),
        ] {
            #expect(purchase.lineage == nil)
            #expect(purchase.event(product: "pro_m", at: Self.asked) == nil)
            #expect(purchase.statements(product: "pro_m", at: Self.asked).isEmpty)
            #expect(purchase.facts(product: "pro_m", at: Self.asked).isEmpty)
        }
        #expect(try await Self.older(["store_transaction_id": 2_000_000_123]).transaction == "2000000123")
    }

    @Test("without a product or a time only the owner is asserted")
    func incomplete() async throws {
        let owner: [Fact] = [.owner(Account("u1", .appUserID))]
        #expect(try await Self.newer().facts(at: Self.asked) == owner)
        #expect(try await Self.newer(["purchased_at": nil]).facts(product: "pro_m", at: Self.asked) == owner)
        #expect(try await Self.older(["purchase_date": nil]).facts(at: Self.asked) == owner)
        #expect(try await Self.older(product: "").event(at: Self.asked) == nil)
        #expect(try await Self.newer(["customer_id": nil]).facts(at: Self.asked).isEmpty)
    }

    @Test("an end that is not stated is not taken for none, and another purchase's end is not this one's")
    func ends() async throws {
        for entitlement in [
            ["product_identifier": "pro_m", "purchase_date": "2026-01-01T00:00:00Z"],
            ["product_identifier": "other", "purchase_date": "2026-01-01T00:00:00Z", "expires_date": .null],
            [
                "product_identifier": "pro_m", "purchase_date": "2026-01-05T00:00:00Z",
                "expires_date": "2026-02-05T00:00:00Z",
            ],
            ["product_identifier": "pro_m", "expires_date": "2026-02-05T00:00:00Z"],
        ] as [JSONText] {
            let purchase = try await Self.older(entitlements: ["pro": entitlement])
            #expect(purchase.entitlements.isEmpty)
            var state = SubscriptionState(Self.lineage)
            for statement in purchase.statements(at: Self.asked) { state.apply(statement) }
            #expect(!state.access(at: Self.asked).isGranted)
        }
    }

    // MARK: Together with the webhook

    @Test("whichever comes first, it acts once, and the snapshot takes nothing from what the webhook said")
    func oncePerFact() async throws {
        let webhook = try Self.webhook()
        // Less than the webhook says: no entitlement, no charge.
        let bare = try await Self.newer(["entitlements": nil, "revenue_in_usd": nil])
        let event = try #require(bare.event(product: "pro_m", at: Self.asked))
        let statements = bare.statements(product: "pro_m", at: Self.asked)
        var states: Set<SubscriptionState> = []
        for events in [[webhook, event], [event, webhook], [webhook, event, webhook, event]] {
            var state = SubscriptionState(Self.lineage)
            var seen: Set<EventID> = []
            var acts = 0
            for event in events {
                let applied = state.apply(event)
                if seen.insert(event.id).inserted, applied.disposition == .applied { acts += 1 }
                for statement in statements { state.apply(statement) }
            }
            #expect(acts == 1)
            #expect(state.access(at: date(t0 + 100 * day)).isGranted)
            #expect(state.contradictions.isEmpty)
            states.insert(state)
        }
        #expect(states.count == 1)
    }

    @Test("the same answer twice changes nothing")
    func idempotence() async throws {
        for purchase in [try await Self.newer(), try await Self.older(), try await Self.newer(["status": "refunded"])] {
            var state = SubscriptionState(Self.lineage)
            func apply() {
                for statement in purchase.statements(product: "pro_m", at: Self.asked) { state.apply(statement) }
            }
            apply()
            let once = state
            apply()
            #expect(state == once)
        }
    }

    @Test("money that went back takes the access, and gives no purchase to act on")
    func refund() async throws {
        let refunded = try await Self.newer(["status": "refunded"])
        #expect(refunded.price == nil)
        #expect(refunded.event(product: "pro_m", at: Self.asked) == nil)
        #expect(
            refunded.facts(product: "pro_m", at: Self.asked).contains(
                .refund(.init(transaction: "O1", scope: .full, at: Self.asked, periodStart: nil, endsAccess: true))
            )
        )
        for events in [[], [try Self.webhook()]] {
            var state = SubscriptionState(Self.lineage)
            for event in events { _ = state.apply(event) }
            for statement in refunded.statements(product: "pro_m", at: Self.asked) { state.apply(statement) }
            #expect(!state.access(at: date(t0 + 2 * day)).isGranted)
        }
        for status in ["owned", "something_new", nil] as [String?] {
            let purchase = try await Self.newer(["status": status.map { .string($0) }])
            #expect(purchase.status?.rawValue == status)
            #expect(purchase.event(product: "pro_m", at: Self.asked) != nil)
            #expect(purchase.facts(product: "pro_m", at: Self.asked).count == 2)
        }
    }

    @Test("several of one product, and who had it before")
    func details() async throws {
        let body = Self.entry()
        let second = body.replacing(
            "\"pro_m\":[",
            with: "\"pro_m\":[{\"store\":\"app_store\",\"is_sandbox\":false,\"store_transaction_id\":\"O0\"},"
        )
        #expect(try await Self.older(second).map(\.transaction) == ["O0", "O1"])
        let purchase = try await Self.newer(["original_customer_id": "u0", "quantity": 3])
        #expect(purchase.originalCustomerID == "u0")
        #expect(purchase.quantity == 3)
        #expect(
            try await Self.newer(["product_id": .null]).statements(at: Self.asked).map(\.origin.type) == ["purchase"]
        )
        #expect(Set(try await Self.older().statements(at: Self.asked).map(\.origin.type)) == ["non_subscription"])
        #expect(try await Self.newer().originalCustomerID == nil)
    }
}
