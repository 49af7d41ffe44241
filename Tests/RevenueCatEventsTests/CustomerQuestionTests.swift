import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Testing

@testable import Normalizer
import WireJSON

@Suite("Purchases that RevenueCat is asked about")
struct CustomerQuestionTests {
    static let askedAt = Date(millisecondsSince1970: t1 + 7_200_000)

    static func question(_ lineage: SubscriptionID = ClientTests.lineage) -> LineageQuestion {
        var question = LineageQuestion(lineage, askedAt: askedAt)
        question.accounts = [.init("u1", .appUserID), .init("cus_1", .stripeCustomer)]
        question.product = "pro_m"
        return question
    }

    /// The access that a state has from the answer alone.
    static func hasAccess(_ answer: LineageAnswer) -> Bool? {
        guard case .stated(let results) = answer else { return nil }
        let ledger = AccountLedger(applying: results)
        return ledger[ClientTests.lineage]?.access(at: askedAt).isGranted
    }

    @Test("by the transaction in the newer version, of several subscriptions the one that began last")
    func transactions() async throws {
        let transport = StubTransport()
        let renewed = ClientTests.item([
            "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        transport.on(.init(where: Self.isProduct), respond: ClientTests.response(200, Self.product("pro_m")))
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list([renewed, ClientTests.item()])))
        let client = try ClientTests.client(transport)
        #expect(Self.hasAccess(try await client.ask(Self.question())) == true)
        #expect(transport.requests.map(\.url.query) == ["store_subscription_identifier=O1", nil])
    }

    /// Stripe keeps the period when it changes a product at once, and RevenueCat makes another subscription of it.
    @Test("of two that began at once, the one that gives access", arguments: [false, true])
    func changedWithinPeriod(isReversed: Bool) async throws {
        let stripe = SubscriptionID(store: .stripe, environment: .production, id: "O1")
        let old = ClientTests.item(
            ["product_id": "prod_basic", "gives_access": false, "status": "expired", "store": "stripe"]
        )
        let new = ClientTests.item(["product_id": "prod_pro", "store": "stripe"])
        let list = ClientTests.list(isReversed ? [new, old] : [old, new])
        let transport = StubTransport()
        for product in ["basic", "pro"] {
            transport.on(
                .init { $0.url.path.hasSuffix("/products/prod_\(product)") },
                respond: ClientTests.response(200, Self.product("\(product)_m"))
            )
        }
        transport.on(.any, respond: ClientTests.response(200, list))
        var question = Self.question(stripe)
        question.askedAt = date(t0 + 20 * day)
        let answer = try await ClientTests.client(transport).ask(question)
        #expect(Self.products(answer) == ["pro_m"])
        let bought = CreditTests.event("INITIAL_PURCHASE", at: t0 + 5000, .first, product: "basic_m")
            .with(["store": "STRIPE"])
        var ledger = AccountLedger(applying: try CreditTests.events([bought]))
        guard case .stated(let results) = answer else { return }
        for result in results { _ = ledger.apply(result) }
        #expect(ledger[stripe]?.access(at: date(t0 + 21 * day)).isGranted == true)

        // The same choice after a webhook that is looked up.
        let change = CreditTests.event("PRODUCT_CHANGE", at: t0 + 20 * day, .first, product: "basic_m")
            .with(["store": "STRIPE"])
        let pending: KeyValuePairs<String, JSONText?> = [
            "store": "stripe", "auto_renewal_status": "will_change_product",
            "pending_changes": ["product": ["store_identifier": "max_m"]],
        ]
        let items = [old, ClientTests.item(pending)]
        let looked = try await ClientTests.normalization(
            change,
            answeredWith: ClientTests.list(isReversed ? items.reversed() : items)
        )
        #expect(looked.events.map(\.kind) == [.productChangeScheduled])
    }

    /// A plan and its add-on, for example.
    @Test("of two that give access and began at once, the one that ends last", arguments: [false, true])
    func endsLast(isReversed: Bool) async throws {
        let longer = ClientTests.item(["current_period_ends_at": .integer(t2), "ends_at": .integer(t2)])
        let transport = StubTransport()
        transport.on(.init(where: Self.isProduct), respond: ClientTests.response(200, Self.product("pro_m")))
        let items = isReversed ? [longer, ClientTests.item()] : [ClientTests.item(), longer]
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list(items)))
        var question = Self.question()
        question.askedAt = date(t0 + day)
        guard case .stated(let results) = try await ClientTests.client(transport).ask(question) else {
            Issue.record("no answer")
            return
        }
        let ledger = AccountLedger(applying: results)
        #expect(ledger[ClientTests.lineage]?.snapshot(at: date(t0 + day)).period?.end == date(t2))
    }

    @Test(
        "of a plan and its add-on, which began at once, the one with the known product",
        arguments: ["basic_m", "pro_m"],
        [false, true]
    )
    func knownProduct(product: ProductID, isReversed: Bool) async throws {
        let plan = ClientTests.item(["product_id": "prod_basic"])
        let addOn = ClientTests.item([
            "product_id": "prod_pro", "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        let transport = StubTransport()
        for product in ["basic", "pro"] {
            transport.on(
                .init { $0.url.path.hasSuffix("/products/prod_\(product)") },
                respond: ClientTests.response(200, Self.product("\(product)_m"))
            )
        }
        transport.on(
            .any,
            respond: ClientTests.response(200, ClientTests.list(isReversed ? [addOn, plan] : [plan, addOn]))
        )
        let client = try ClientTests.client(transport)
        var question = Self.question()
        question.askedAt = date(t0 + day)
        for known in [product, nil, "max_m"] {
            question.product = known
            // Any other product is a change that is not known yet.
            #expect(Self.products(try await client.ask(question)) == [known == product ? product : "pro_m"])
        }
    }

    /// `original_app_user_id` is the id of a device before the login, which no webhook has named.
    @Test("an answer is about the customer that has the purchase, by whatever id RevenueCat knew that one first")
    func presentOwner() async throws {
        let traps = TrapTests()
        let now = t0 + 10 * day
        let transfer = RevenueCatSimulator.Event([
            "type": "TRANSFER", "id": "1", "event_timestamp_ms": .integer(t0 + 9 * day), "environment": "PRODUCTION",
            "store": "APP_STORE", "transferred_from": ["u1"], "transferred_to": ["u2"],
        ])
        let sold = traps.event("NON_RENEWING_PURCHASE", at: t0 + 5000, .first, changing: ["expiration_at_ms": .null])
        let device = "$RCAnonymousID:b"
        let older = [
            ClientTests.entries([("pro_m", [])], firstKnownAs: device, at: now),
            PurchaseLookupTests.entry(firstKnownAs: device),
        ]
        let newer = [
            ClientTests.list([ClientTests.item(["customer_id": .string(device)])]),
            ClientTests.list([PurchaseLookupTests.item(["customer_id": .string(device)])]),
        ]
        let bought = [traps.purchase, sold]
        let aliases = ClientTests.list([device, "u2"].map { "{\"object\":\"customer.alias\",\"id\":\"\($0)\"}" })
        for (api, bodies) in [(RevenueCatClient.API.v1, older), (.v2(project: "proj1"), newer)] {
            for (index, bought) in bought.enumerated() {
                let transport = StubTransport()
                transport.on(.init(where: Self.isProduct), respond: ClientTests.response(200, Self.product("pro_m")))
                transport.on(.init { $0.url.path.hasSuffix("/aliases") }, respond: ClientTests.response(200, aliases))
                transport.on(.any, respond: ClientTests.response(200, bodies[index]))
                var question = LineageQuestion(ClientTests.lineage, askedAt: date(now))
                question.accounts = [.init("u2", .appUserID)]
                question.product = "pro_m"
                question.isSubscription = index == 0
                let answer = try await ClientTests.client(transport, api).ask(question)
                guard case .stated(let results) = answer else {
                    Issue.record("no answer")
                    continue
                }
                for order in permutations(of: try [bought, transfer].map { try traps.normalization($0) } + results) {
                    let ledger = order.reduce(into: AccountLedger()) { _ = $0.apply($1) }
                    let owners = ["u1", "u2", device].filter {
                        ledger.access(of: .init($0, .appUserID), at: date(now + day)).decision.isGranted
                    }
                    #expect(owners == ["u2", device])
                    #expect(ledger.states.flatMap { ledger.contradictions(of: $0) } == [])
                }
            }
        }
    }

    // MARK: The customer's ids

    /// The outcome of a question about a purchase of the device `d1`.
    private struct Ids: Equatable {
        /// The owner's, of the answer.
        var found: [String]
        /// The queries to the list of ids.
        var queries: [String?]
    }

    private static let list = "/v2/projects/proj1/customers/d1/aliases"

    private static func ids(_ ids: [String], hasNext: Bool = false) -> HTTPTransportResponse {
        ClientTests.response(
            200,
            ClientTests.list(
                ids.map { "{\"object\":\"customer.alias\",\"id\":\"\($0)\"}" },
                next: hasNext ? list + "?starting_after=\(ids.last ?? "")" : nil
            )
        )
    }

    private static func ids(
        knowing known: [String],
        isSubscription: Bool = true,
        _ pages: [HTTPTransportResponse]
    ) async throws -> Ids {
        let transport = StubTransport()
        transport.on(.init(where: isProduct), respond: ClientTests.response(200, product("pro_m")))
        for page in pages.dropLast() {
            transport.on(.init(.get, path: list), times: 1) { (_) throws(HTTPTransportError) in page }
        }
        if let last = pages.last { transport.on(.init(.get, path: list), respond: last) }
        let changes: KeyValuePairs<String, JSONText?> = ["customer_id": "d1"]
        let item = isSubscription ? ClientTests.item(changes) : PurchaseLookupTests.item(changes)
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list([item])))
        var question = question()
        question.accounts = known.map { .init($0, .appUserID) }
        question.isSubscription = isSubscription
        guard case .stated(let results) = try await ClientTests.client(transport).ask(question) else {
            throw SimulatorError("no answer")
        }
        let owners = results.flatMap(\.statements).flatMap(\.facts).compactMap { fact -> Account? in
            if case .owner(let owner) = fact { owner } else { nil }
        }
        return Ids(
            found: owners.first?.identifiers.map(\.id) ?? [],
            queries: transport.requests.filter { $0.url.path == list }.map(\.url.query)
        )
    }

    @Test("a customer's ids are read until one is known, and not at all if the named one is", arguments: [true, false])
    func knownID(isSubscription: Bool) async throws {
        let pages = [
            Self.ids(["d1", "d2"], hasNext: true), Self.ids(["d3", "u2"], hasNext: true), Self.ids(["d4"]),
        ]
        let second: [String?] = [nil, "starting_after=d2"]
        for (known, expected) in [
            (["u2"], Ids(found: ["d1", "d2", "d3", "u2"], queries: second)),
            (["d2"], Ids(found: ["d1", "d2"], queries: [nil])),
            (["u2", "d1"], Ids(found: ["d1"], queries: [])),
            // An import knows none.
            ([], Ids(found: ["d1", "d2", "d3", "u2", "d4"], queries: second + ["starting_after=u2"])),
        ] {
            #expect(try await Self.ids(knowing: known, isSubscription: isSubscription, pages) == expected)
        }
    }

    @Test("a customer with more ids than are read has those that were, and so has one whose ids a key may not read")
    func unreadIDs() async throws {
        let endless = try await Self.ids(knowing: ["u2"], [Self.ids(["d2"], hasNext: true)])
        #expect(endless.found == ["d1"] + Array(repeating: "d2", count: 50))
        #expect(endless.queries.count == 50)
        let refused = try await Self.ids(knowing: ["u2"], [ClientTests.response(403, "{}")])
        #expect(refused == Ids(found: ["d1"], queries: [nil]))
    }

    @Test("without an answer about the ids there is none about the purchase", arguments: [401, 503])
    func idsRefused(status: Int) async throws {
        let error = await #expect(throws: DeliveryError.self) {
            try await Self.ids(knowing: ["u2"], [ClientTests.response(status, "{}")])
        }
        #expect(error?.code == (status == 401 ? .denied : .unavailable))
    }

    static let isProduct: @Sendable (HTTPTransportRequest) -> Bool = { $0.url.path.contains("/products/") }

    static func product(_ name: String) -> String {
        #"{"object":"product","id":"prod1","store_identifier":"\#(name)"}"#
    }

    /// The products of the periods that an answer states.
    static func products(_ answer: LineageAnswer) -> [ProductID] {
        guard case .stated(let results) = answer else { return [] }
        return results.flatMap(\.statements).flatMap(\.facts).compactMap { fact in
            switch fact {
            case .period(let period): period.product
            case .purchase(let purchase): purchase.product
            default: nil
            }
        }
    }

    @Test("with the product that the store sells, which is asked for once, and never guessed")
    func productNames() async throws {
        // The upgrade was lost: the journal knows the old product.
        let transport = StubTransport()
        transport.on(.init(where: Self.isProduct), respond: ClientTests.response(200, Self.product("max_m")))
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list([ClientTests.item()])))
        let client = try ClientTests.client(transport)
        for _ in 0..<2 { #expect(Self.products(try await client.ask(Self.question())) == ["max_m"]) }
        #expect(transport.requests.count { Self.isProduct($0) } == 1)

        // A product that RevenueCat does not know leaves the period out.
        let unknown = StubTransport()
        unknown.on(.init(where: Self.isProduct), respond: ClientTests.response(404, ClientTests.missing))
        unknown.on(.any, respond: ClientTests.response(200, ClientTests.list([ClientTests.item()])))
        #expect(Self.products(try await ClientTests.client(unknown).ask(Self.question())) == [])

        // A promotional subscription has none.
        let promotional = StubTransport()
        promotional.on(
            .any,
            respond: ClientTests.response(200, ClientTests.list([ClientTests.item(["product_id": .null])]))
        )
        #expect(Self.products(try await ClientTests.client(promotional).ask(Self.question())) == ["pro_m"])
        #expect(promotional.requests.count == 1)

        // Google Play's have base plans.
        let play = StubTransport()
        play.on(.init(where: Self.isProduct), respond: ClientTests.response(200, Self.product("pro:monthly")))
        play.on(.any, respond: ClientTests.response(200, ClientTests.list([ClientTests.item(["store": "play_store"])])))
        let order = SubscriptionID(store: .playStore, environment: .production, id: "GPA.1")
        #expect(Self.products(try await ClientTests.client(play).ask(Self.question(order))) == ["pro:monthly"])
    }

    @Test(
        "and are unusable where RevenueCat answers with something else, so that they are not asked about for ever",
        arguments: [
            (200, #"{"object":"list","items":[{"environment":17}]}"#, DeliveryError.Code.malformed),
            (200, "<html>", .unavailable),
            (400, #"{"object":"error","type":"parameter_error","message":"no","retryable":false}"#, .malformed),
            (401, #"{"object":"error","type":"authentication_error","message":"no","retryable":false}"#, .denied),
            (403, "{}", .denied),
            (429, #"{"object":"error","type":"rate_limit_error","retryable":true}"#, .unavailable),
        ]
    )
    func unusable(status: Int, body: String, code: DeliveryError.Code) async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(status, body))
        let client = try ClientTests.client(transport)
        let error = await #expect(throws: DeliveryError.self) { try await client.ask(Self.question()) }
        #expect(error?.code == code)
    }

    @Test(
        "by the customer in the older version, and by the transaction or the product",
        arguments: [("pro_m", "O9", true), ("other", "O1", true), ("other", "O9", nil)] as [(ProductID, String, Bool?)]
    )
    func customers(product: ProductID, transaction: String, access: Bool?) async throws {
        let entry = ClientTests.entry(
            [
                "purchase_date": "2026-02-01T00:00:00Z", "expires_date": "2026-03-01T00:00:00Z",
                "store_transaction_id": .string(transaction),
            ],
            product: "pro_m",
            at: t1 + 7_200_000
        )
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(200, entry))
        var question = Self.question()
        question.product = product
        #expect(Self.hasAccess(try await ClientTests.client(transport, .v1).ask(question)) == access)
        #expect(transport.requests.map(\.url.path) == ["/v1/subscribers/u1"])
    }

    @Test("are unknown where RevenueCat knows none, in another environment, or by a name that only a store knows")
    func unknown() async throws {
        let elsewhere = ClientTests.item(["environment": "sandbox"])
        for list in [ClientTests.list([]), ClientTests.list([elsewhere])] {
            let transport = StubTransport()
            transport.on(.any, respond: ClientTests.response(200, list))
            #expect(try await ClientTests.client(transport).ask(Self.question()) == .unknown)
        }
        let transport = StubTransport()
        let fingerprint = SubscriptionID(store: .playStore, environment: .production, id: "0a1b2c")
        #expect(try await ClientTests.client(transport).ask(Self.question(fingerprint)) == .unknown)
        #expect(transport.requests.isEmpty)
    }

    @Test("say nothing where RevenueCat cannot be asked")
    func trouble() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(503, "{}"))
        let client = try ClientTests.client(transport)
        let error = await #expect(throws: DeliveryError.self) { try await client.ask(Self.question()) }
        #expect(error?.code == .unavailable)
    }
}
