import HTTPTransport
import NotificationSimulator
import Normalizer
import NormalizerTesting
import RevenueCatEvents
import Testing
import WireJSON

@Suite("RevenueCat's REST API")
struct ClientTests {
    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")

    static func client(
        _ transport: StubTransport,
        _ api: RevenueCatClient.API = .v2(project: "proj1"),
        clock: TestClock = TestClock(jumping: true)
    ) throws -> RevenueCatClient {
        var client = try RevenueCatClient(transport: transport, apiKey: SecretBytes("sk_marked"), api: api)
        client.clock = clock
        return client
    }

    @Test("neither the key nor a customer shows itself")
    func redaction() async throws {
        var configuration = RevenueCatAdapter.Configuration(authorizations: [SecretBytes("a")])
        configuration.lookup = try Self.client(StubTransport())
        let purchases = StubTransport()
        purchases.on(
            .any,
            respond: Self.response(200, Self.list([PurchaseLookupTests.item(["customer_id": "marked"])]))
        )
        let purchase = try #require(try await Self.client(purchases).purchases(withTransaction: "T1").first)
        let subscription = try await Self.subscription(["customer_id": "marked"])
        #expect(subscription.customerID == "marked")
        #expect(purchase.customerID == "marked")
        let values: [Any] = [
            try Self.client(StubTransport()), configuration, try RevenueCatAdapter(configuration), subscription,
            purchase,
            RevenueCatClient.Customer.known([subscription]), RevenueCatClient.Purchases.known([purchase]),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("marked")) }
        }
    }

    static func response(_ status: Int, _ body: String, headers: HTTPTransportHeaders = [:]) -> HTTPTransportResponse {
        HTTPTransportResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    static func item(_ changes: KeyValuePairs<String, JSONText?> = [:]) -> String {
        var members = JSONMembers([
            ("id", "sub1"), ("customer_id", "u1"), ("product_id", "prod1"), ("starts_at", .integer(t0)),
            ("current_period_starts_at", .integer(t0)), ("current_period_ends_at", .integer(t1)),
            ("ends_at", .integer(t1)), ("gives_access", true), ("auto_renewal_status", "will_renew"),
            ("status", "active"), ("environment", "production"), ("store", "app_store"),
            ("store_subscription_identifier", "O1"), ("ownership", "purchased"),
        ])
        for (name, value) in changes { members[name] = value }
        return members.text
    }

    static func list(_ items: [String], next: String? = nil) -> String {
        #"{"object":"list","items":[\#(items.joined(separator: ","))],"next_page":\#(next.map { "\"\($0)\"" } ?? "null")}"#
    }

    static func subscription(_ changes: KeyValuePairs<String, JSONText?> = [:]) async throws -> RevenueCatSubscription {
        let transport = StubTransport()
        transport.on(.any, respond: response(200, list([item(changes)])))
        return try #require(try await client(transport).subscriptions(withTransaction: "O1").first)
    }

    static func entry(
        _ changes: KeyValuePairs<String, JSONText?> = [:],
        product: String = "pro_m",
        at request: Int64 = t0 + day
    ) -> String {
        entries([(product, [changes])], at: request)
    }

    /// The older version's answer, with an entry for each product.
    static func entries(
        _ products: [(name: String, changes: [KeyValuePairs<String, JSONText?>])],
        firstKnownAs original: String = "u1",
        at request: Int64
    ) -> String {
        let entries = products.map { product in
            var members = JSONMembers([
                ("purchase_date", "2026-01-01T00:00:00Z"), ("original_purchase_date", "2026-01-01T00:00:00Z"),
                ("expires_date", "2026-02-01T00:00:00Z"), ("grace_period_expires_date", .null),
                ("billing_issues_detected_at", .null), ("unsubscribe_detected_at", .null), ("refunded_at", .null),
                ("auto_resume_date", .null), ("period_type", "normal"), ("is_sandbox", false), ("store", "app_store"),
                ("store_transaction_id", "O1"), ("ownership_type", "PURCHASED"),
            ])
            for (name, value) in product.changes.joined() { members[name] = value }
            return "\(JSONText.string(product.name).text):\(members.text)"
        }
        return """
            {"request_date":"x","request_date_ms":\(request),"subscriber":{"original_app_user_id":"\(original)","entitlements":{},\
            "subscriptions":{\(entries.joined(separator: ","))}}}
            """
    }

    static func subscriber(
        _ changes: KeyValuePairs<String, JSONText?> = [:],
        product: String = "pro_m",
        at request: Int64 = t0 + day
    ) async throws -> RevenueCatSubscription {
        let transport = StubTransport()
        transport.on(.any, respond: response(200, entry(changes, product: product, at: request)))
        guard case .known(let subscriptions) = try await client(transport, .v1).customer("u1") else {
            throw SimulatorError("unknown customer")
        }
        return try #require(subscriptions.first)
    }

    /// RevenueCat knows no such thing.
    static let missing = #"{"object":"error","type":"resource_missing","message":"no","retryable":false}"#

    // MARK: Requests

    @Test("ids are encoded, the key is a bearer's, and the customer is not visited")
    func request() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: Self.response(404, Self.missing))
        _ = try await Self.client(transport, .v1).customer("$RCAnonymousID:a/b c")
        let request = try #require(transport.requests.first)
        #expect(request.url.absoluteString == "https://api.revenuecat.com/v1/subscribers/%24RCAnonymousID%3Aa%2Fb%20c")
        #expect(request.headers["Authorization"] == "Bearer sk_marked")
        #expect(request.headers["X-Platform"] == nil)
        _ = try await Self.client(transport).subscriptions(withTransaction: "GPA.1-2..0&x=y")
        #expect(
            transport.requests.last?.url.absoluteString
                == "https://api.revenuecat.com/v2/projects/proj1/subscriptions?store_subscription_identifier=GPA.1-2..0%26x%3Dy"
        )
        #expect(!"\(request)".contains("marked"))
    }

    @Test("ids that could lead elsewhere are not sent", arguments: ["", ".", "..", "a\nb", "a\u{0}"])
    func refusedIDs(id: String) async throws {
        let transport = StubTransport()
        transport.on(.any, respond: Self.response(200, Self.list([])))
        for api in [RevenueCatClient.API.v1, .v2(project: "proj1")] {
            let client = try Self.client(transport, api)
            let errors = [
                await #expect(throws: DeliveryError.self) { _ = try await client.customer(id) },
                await #expect(throws: DeliveryError.self) { _ = try await client.purchases(ofCustomer: id) },
            ]
            #expect(errors.map { $0?.code } == [.malformed, .malformed])
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "keys and projects that are none",
        arguments: [("", "p"), (" ", "p"), ("a b", "p"), ("k\n", "p"), ("k", ""), ("k", "..")]
    )
    func configuration(key: String, project: String) {
        #expect(throws: ConfigurationError.self) {
            _ = try RevenueCatClient(transport: StubTransport(), apiKey: SecretBytes(key), api: .v2(project: project))
        }
    }

    @Test("pages are followed at the same place only, and not for ever")
    func pages() async throws {
        let path = "/v2/projects/proj1/customers/u1/subscriptions"
        let transport = StubTransport()
        transport.on(
            .init(.get, path: path),
            respond:
                Self.response(200, Self.list([Self.item()], next: path + "?starting_after=sub1")),
            Self.response(200, Self.list([Self.item(["id": "sub2"])]))
        )
        guard case .known(let subscriptions) = try await Self.client(transport).customer("u1") else {
            Issue.record("unknown")
            return
        }
        #expect(subscriptions.map(\.id) == ["sub1", "sub2"])
        #expect(transport.requests.last?.url.query == "starting_after=sub1")
        for next in [
            "https://evil.example/x", "//evil.example/x", "/v2/projects/other", "/v1/subscribers/x", path + "/../x",
            "/v2/projects/proj1/customers/u1/purchases", "/v2/projects/proj1/customers/u2/subscriptions",
        ] {
            let transport = StubTransport()
            transport.on(.any, respond: Self.response(200, Self.list([], next: next)))
            let error = await #expect(throws: DeliveryError.self) {
                _ = try await Self.client(transport).customer("u1")
            }
            #expect(error?.code == .unavailable)
            #expect(transport.requests.count == 1)
        }
        let endless = StubTransport()
        endless.on(.any, respond: Self.response(200, Self.list([], next: path + "?starting_after=x")))
        await #expect(throws: DeliveryError.self) { _ = try await Self.client(endless).customer("u1") }
        #expect(endless.requests.count == 50)
    }

    @Test(
        "the next page is of the same list however its address writes the customer's id",
        arguments: ["$RCAnonymousID:a", "%24RCAnonymousID%3Aa", "%24RCAnonymousID%3aa", "$RCAnonymousID%3A%61"]
    )
    func encodedPages(id: String) async throws {
        let list = "/v2/projects/proj1/customers/\(id)/subscriptions"
        let transport = StubTransport()
        transport.on(
            .any,
            respond:
                Self.response(200, Self.list([Self.item()], next: list + "?starting_after=sub1")),
            Self.response(200, Self.list([Self.item(["id": "sub2"])]))
        )
        guard case .known(let subscriptions) = try await Self.client(transport).customer("$RCAnonymousID:a") else {
            Issue.record("unknown")
            return
        }
        #expect(subscriptions.map(\.id) == ["sub1", "sub2"])
        #expect(transport.requests.map(\.url.host) == ["api.revenuecat.com", "api.revenuecat.com"])
        #expect(transport.requests.last?.url.query == "starting_after=sub1")
    }

    @Test(
        "no way of encoding leads to another list",
        arguments: ["a/b", "a%252Fb", "a%2Fb/", "A%2Fb", "a%2Fb%2Fsubscriptions%2Fx", "a%2Fb%2F.."]
    )
    func otherLists(id: String) async throws {
        let transport = StubTransport()
        let next = "/v2/projects/proj1/customers/\(id)/subscriptions"
        transport.on(.any, respond: Self.response(200, Self.list([], next: next)))
        let error = await #expect(throws: DeliveryError.self) {
            _ = try await Self.client(transport).customer("a/b")
        }
        #expect(error?.code == .unavailable)
        #expect(transport.requests.count == 1)
    }

    // MARK: Errors

    @Test("a rate limit is waited for as the body says, whatever the header means by its number")
    func rateLimit() async throws {
        for (headers, body, wait) in [
            (["Retry-After": "30000"], #"{"type":"rate_limit_error","retryable":true,"backoff_ms":1500}"#, 2),
            (["Retry-After": "7"], #"{"type":"rate_limit_error","retryable":true}"#, 7),
            ([:], #"{"type":"rate_limit_error","retryable":true,"backoff_ms":3000}"#, 3),
        ] as [(HTTPTransportHeaders, String, Int)] {
            let transport = StubTransport()
            transport.on(
                .any,
                respond: Self.response(429, body, headers: headers),
                Self.response(200, Self.list([Self.item()]))
            )
            let clock = TestClock(jumping: true)
            #expect(try await Self.client(transport, clock: clock).subscriptions(withTransaction: "O1").count == 1)
            #expect(clock.sleeps.count == 1)
            #expect(clock.sleeps.allSatisfy { $0 >= .seconds(wait) && $0 < .seconds(wait + 20) })
        }
    }

    @Test(
        "only a request that can succeed later is tried again",
        arguments: [
            (423, #"{"type":"resource_locked_error","retryable":true}"#, 4), (500, "{}", 4), (502, "<html>", 4),
            (503, "", 4),
            (422, #"{"type":"store_error","retryable":true}"#, 4),
            (422, #"{"type":"unprocessable_entity_error","retryable":false}"#, 1),
            (409, #"{"code":7638,"message":"in progress"}"#, 4), (409, #"{"code":7226}"#, 1),
            (400, #"{"code":7101,"message":"x marked"}"#, 4), (422, #"{"code":"7110"}"#, 4),
            (500, #"{"retryable":false}"#, 1),
            (400, "{}", 1), (401, #"{"code":7225}"#, 1), (403, #"{"code":7243}"#, 1), (302, "", 1), (204, "", 1),
        ]
    )
    func retries(status: Int, body: String, attempts: Int) async throws {
        let transport = StubTransport()
        transport.on(.any, respond: Self.response(status, body))
        let error = await #expect(throws: DeliveryError.self) {
            _ = try await Self.client(transport).subscriptions(withTransaction: "O1")
        }
        #expect(error?.code == .unavailable)
        #expect(error?.isAuthentic == true)
        #expect(error.map { String(reflecting: $0).contains("marked") } == false)
        #expect(transport.requests.count == attempts)
    }

    @Test(
        "no answer changes nothing",
        arguments: [HTTPTransportError.Code.timeout, .connectionFailed, .connectionLost, .tls]
    )
    func noAnswer(code: HTTPTransportError.Code) async throws {
        let transport = StubTransport()
        transport.on(.any, fail: code)
        let error = await #expect(throws: DeliveryError.self) { _ = try await Self.client(transport).customer("u1") }
        #expect(error?.code == .unavailable)
        #expect(transport.requests.count == (code == .tls ? 1 : 4))
    }

    @Test(
        "an answer that cannot be read is no answer",
        arguments: [
            "", "[]", "{}", #"{"items":{}}"#, #"{"items":[1]}"#, #"{"items":[{"gives_access":"yes"}]}"#,
            #"{"items":[{"ends_at":"2026"}]}"#, #"{"items":[{"ends_at":1e99}]}"#, #"{"items":[],"items":[]}"#,
        ]
    )
    func unreadable(body: String) async throws {
        let transport = StubTransport()
        transport.on(.any, respond: Self.response(200, body))
        let error = await #expect(throws: DeliveryError.self) { _ = try await Self.client(transport).customer("u1") }
        #expect(error?.code == .unavailable)
    }

    @Test("a customer that is not known, in either version")
    func unknownCustomer() async throws {
        for (api, status) in [(RevenueCatClient.API.v1, 404), (.v1, 201), (.v2(project: "proj1"), 404)] {
            let transport = StubTransport()
            transport.on(.any, respond: Self.response(status, status == 404 ? Self.missing : Self.entry()))
            #expect(try await Self.client(transport, api).customer("u1") == .unknown)
        }
    }

    /// RevenueCat's own error has a code or a type, and a message: https://www.revenuecat.com/docs/api-v2
    @Test("a 404 that RevenueCat has not written is a proxy's, and makes no customer unknown")
    func proxy() async throws {
        for body in ["", "{}", "[]", "<html>Not Found</html>", #"{"error":"not found"}"#] {
            for api in [RevenueCatClient.API.v1, .v2(project: "proj1")] {
                let transport = StubTransport()
                transport.on(.any, respond: Self.response(404, body))
                let client = try Self.client(transport, api)
                let questions: [() async throws -> Void] = [
                    { _ = try await client.customer("u1") }, { _ = try await client.purchases(ofCustomer: "u1") },
                    { _ = try await client.ask(CustomerQuestionTests.question()) },
                ]
                for question in questions {
                    let error = await #expect(throws: DeliveryError.self) { try await question() }
                    #expect(error?.code == .unavailable, "\(body)")
                }
            }
        }
    }

    // MARK: Facts

    @Test("access is what gives_access says, never the status")
    func access() async throws {
        for (status, gives, expected) in [
            ("active", true, true), ("active", false, false), ("expired", true, true), ("unknown", false, false),
            ("incomplete", true, true), ("in_billing_retry", false, false), ("something_new", true, true),
        ] {
            let snapshot = try await Self.subscription(["status": .string(status), "gives_access": .bool(gives)])
            var state = SubscriptionState(Self.lineage)
            state.apply(snapshot.statement(about: Self.lineage, product: "pro_m", at: date(t0 + day)))
            #expect(state.access(at: date(t0 + day)).isGranted == expected, "\(status)")
        }
    }

    @Test("renewal, pause, price and pending product")
    func renewal() async throws {
        for (value, renews, pending) in [
            ("will_renew", true, nil), ("will_not_renew", false, nil), ("has_already_renewed", true, nil),
            ("will_change_product", true, "basic_m"), ("will_pause", true, nil),
            ("requires_price_increase_consent", true, nil),
            ("something_new", nil, nil),
        ] as [(String, Bool?, ProductID?)] {
            let snapshot = try await Self.subscription([
                "auto_renewal_status": .string(value),
                "pending_changes": pending == nil ? nil : ["product": ["id": "prod2", "store_identifier": "basic_m"]],
            ])
            #expect(snapshot.willRenew == renews)
            var state = SubscriptionState(Self.lineage)
            state.apply(snapshot.statement(about: Self.lineage, product: "pro_m", at: date(t0 + day)))
            let view = state.snapshot(at: date(t0 + 2 * day))
            #expect(view.willRenew == renews)
            #expect(view.pendingProduct == pending)
            #expect((view.priceChange != nil) == (value == "requires_price_increase_consent"))
        }
    }

    /// The webhook of the withdrawal is lost. Of the App Store and Google Play the host may have heard of the change before RevenueCat does.
    @Test(
        "a planned change that the newer version does not show is over where RevenueCat hears of each change itself",
        arguments: ["stripe", "rc_billing", "app_store", "play_store"]
    )
    func withdrawnChange(store: String) async throws {
        let traps = TrapTests()
        let (name, sold) = (JSONText.string(store), JSONText.string(store.uppercased()))
        let hearsItself = ["stripe", "rc_billing"].contains(store)
        let cases: [(KeyValuePairs<String, JSONText?>, isOver: Bool)] = [
            (["store": name], hearsItself),
            (["store": name, "pending_changes": .null], hearsItself),
            (["store": name, "pending_changes": ["product": ["id": "prod2"]]], false),
            (["store": name, "auto_renewal_status": "will_change_product"], false),
        ]
        var answers: [(RevenueCatSubscription, isOver: Bool)] = []
        for (changes, isOver) in cases { answers.append((try await Self.subscription(changes), isOver)) }
        answers.append((try await Self.subscriber(["store": name]), false))
        for (answer, isOver) in answers {
            var ledger = try traps.ledger(
                traps.event("INITIAL_PURCHASE", at: t0 + 5000, changing: ["store": sold]),
                traps.event("PRODUCT_CHANGE", at: t0 + day, changing: ["store": sold, "new_product_id": "basic_m"])
            )
            let lineage = SubscriptionID(store: answer.store, environment: .production, id: "O1")
            ledger.apply(answer.statement(about: lineage, product: "pro_m", at: date(t0 + 2 * day)))
            let pending = ledger[lineage]?.snapshot(at: date(t0 + 3 * day)).pendingProduct
            #expect(pending == (isOver ? nil : "basic_m"))
        }
    }

    /// A webhook that reports a change shows that RevenueCat has heard of it.
    @Test(
        "a change that is looked up for its webhook is the one that the answer shows, or over",
        arguments: [("STRIPE", PurchaseStore.stripe), ("APP_STORE", .appStore)]
    )
    func lookedUpChange(name: String, store: PurchaseStore) async throws {
        let traps = TrapTests()
        let lineage = SubscriptionID(store: store, environment: .production, id: "O1")
        let sold: KeyValuePairs<String, JSONText?> = ["store": .string(name)]
        var ledger = try traps.ledger(traps.event("INITIAL_PURCHASE", at: t0 + 5000, .first, changing: sold))
        for (at, next) in [(t0 + day, "basic_m"), (t0 + 2 * day, nil)] as [(Int64, String?)] {
            let item = Self.item([
                "store": .string(name.lowercased()),
                "auto_renewal_status": next == nil ? "will_renew" : "will_change_product",
                "pending_changes": next.map { ["product": ["store_identifier": .string($0)]] } ?? .null,
            ])
            let change = traps.event("PRODUCT_CHANGE", at: at, .first, changing: sold)
            _ = ledger.apply(try await Self.normalization(change, answeredWith: Self.list([item])))
            #expect(ledger[lineage]?.snapshot(at: date(at + hour)).pendingProduct == next.map { ProductID($0) })
        }
    }

    /// A webhook's result, if RevenueCat answers the question about it in this way.
    static func normalization(
        _ event: RevenueCatSimulator.Event,
        answeredWith body: String,
        _ api: RevenueCatClient.API = .v2(project: "proj1")
    ) async throws -> Normalization {
        let transport = StubTransport()
        transport.on(.any, respond: response(200, body))
        var configuration = RevenueCatAdapter.Configuration(authorizations: [SecretBytes("a")])
        configuration.lookup = try client(transport, api)
        let adapter = try RevenueCatAdapter(configuration)
        guard case .integer(let time)? = event.members["event_timestamp_ms"] else {
            throw SimulatorError("webhook without a time")
        }
        let delivery = Delivery(headers: ["Authorization": "a"], body: event.body, receivedAt: date(time + 20_000))
        return try adapter.normalize(try await adapter.resolve(try adapter.authenticate(delivery)))
    }

    @Test("the same answer twice changes nothing")
    func idempotence() async throws {
        for snapshot in [try await Self.subscription(), try await Self.subscriber()] {
            let statement = snapshot.statement(about: Self.lineage, product: "pro_m", at: date(t0 + day))
            var state = SubscriptionState(Self.lineage)
            state.apply(statement)
            let once = state
            state.apply(statement)
            #expect(state == once)
        }
    }

    @Test("the older version: what its dates mean, in order")
    func olderVersion() async throws {
        let cases: [(KeyValuePairs<String, JSONText?>, Int64, RevenueCatSubscription.Status, Bool, Bool)] = [
            ([:], t0 + day, .active, true, true),
            (["period_type": "trial"], t0 + day, .trialing, true, true),
            (["unsubscribe_detected_at": "2026-01-10T00:00:00Z"], t0 + 11 * day, .active, true, false),
            (["period_type": "prepaid"], t0 + day, .active, true, false),
            (["store": "promotional"], t0 + day, .active, true, false),
            (["refunded_at": "2026-01-05T00:00:00Z"], t0 + 6 * day, .refunded, false, true),
            (
                [
                    "grace_period_expires_date": "2026-02-17T00:00:00Z",
                    "billing_issues_detected_at": "2026-02-01T00:00:32Z",
                ],
                t1 + day, .inGracePeriod, true, false
            ),
            // The failed charge is for a period that runs already, or its grace is in the end.
            (["billing_issues_detected_at": "2026-01-20T00:00:00Z"], t0 + 20 * day, .inGracePeriod, true, false),
            (["auto_resume_date": "2026-03-01T00:00:00.000Z"], t1 + day, .paused, false, true),
            (["billing_issues_detected_at": "2026-02-01T00:00:32Z"], t1 + day, .inBillingRetry, false, false),
            ([:], t1 + day, .expired, false, true),
        ]
        for (changes, time, status, gives, renews) in cases {
            let snapshot = try await Self.subscriber(changes, at: time)
            #expect(snapshot.status == status)
            #expect(snapshot.givesAccess == gives)
            #expect(snapshot.willRenew == renews)
            var state = SubscriptionState(Self.lineage)
            state.apply(snapshot.statement(about: Self.lineage, at: date(time)))
            #expect(state.access(at: date(time)).isGranted == gives, "\(status)")
        }
    }

    @Test(
        "the older version: what was refunded on the web and is left goes on, except in Web Billing",
        arguments: [("stripe", true), ("paddle", true), ("rc_billing", false)]
    )
    func refundedAndKept(store: String, leaves: Bool) async throws {
        let time = t0 + 6 * day
        for (end, gives) in [("2026-02-01T00:00:00Z", leaves), ("2026-01-05T00:00:00Z", false)] {
            let refunded = try await Self.subscriber(
                ["store": .string(store), "refunded_at": "2026-01-05T00:00:00Z", "expires_date": .string(end)],
                at: time
            )
            #expect(refunded.status == .refunded)
            #expect(refunded.givesAccess == gives)
            var state = SubscriptionState(Self.lineage)
            state.apply(refunded.statement(about: Self.lineage, at: date(time)))
            #expect(state.access(at: date(time)).isGranted == gives)
            #expect(!state.access(at: date(t1 + day)).isGranted)
        }
    }

    @Test("the older version's transactions, plans and prices")
    func olderFields() async throws {
        let play = try await Self.subscriber(
            [
                "store": "play_store", "store_transaction_id": "GPA.1..5", "product_plan_identifier": "monthly",
                "price": ["amount": .raw("8.99"), "currency": "EUR"],
            ],
            product: "s"
        )
        #expect(play.product == PurchasedProduct(id: "s", basePlan: "monthly"))
        #expect(play.price?.money.description == "8.99 EUR")
        for plan in [nil, "monthly"] as [JSONText?] {
            let keyed = try await Self.subscriber(
                ["store": "play_store", "product_plan_identifier": plan],
                product: "s:monthly"
            )
            #expect(keyed.product == PurchasedProduct(id: "s", basePlan: "monthly"))
        }
        guard case .period(let period)? = play.facts(at: date(t0)).first else {
            Issue.record("no period")
            return
        }
        #expect(period.product == "s:monthly")
        #expect(period.transaction == "GPA.1..5")
        #expect(try await Self.subscriber(["store_transaction_id": 2_000_000_123]).storeIdentifier == "2000000123")
        #expect(try await Self.subscriber(["is_sandbox": nil]).environment == .unknown)
    }

    @Test("a lost webhook is made up for, and reported once if it comes late")
    func lostWebhook() async throws {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        func event(_ event: RevenueCatSimulator.Event, _ at: Int64) throws -> NormalizedEvent {
            let delivery = Delivery(headers: ["Authorization": "a"], body: event.body, receivedAt: date(at))
            return try #require(try adapter.normalize(try adapter.authenticate(delivery)).events.first)
        }
        var state = SubscriptionState(Self.lineage)
        _ = state.apply(try event(.init("INITIAL_PURCHASE", id: "1", at: t0 + 5000), t0 + 6000))
        #expect(state.snapshot(at: date(t1 + hour)).status == .renewalDue)
        let snapshot = try await Self.subscription([
            "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        state.apply(snapshot.statement(about: Self.lineage, product: "pro_m", at: date(t1 + hour)))
        #expect(state.access(at: date(t1 + hour)).isGranted)
        let late = try event(.init("RENEWAL", id: "2", at: t1 + 5000, .second), t1 + 5 * day)
        #expect(state.apply(late).disposition == .applied)
        #expect(state.apply(late).disposition == .duplicate)
        #expect(state.snapshot(at: date(t1 + 6 * day)).period?.end == date(t2))
    }
}
