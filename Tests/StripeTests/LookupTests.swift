import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing

@Suite("Stripe look-ups")
struct LookupTests {
    let transport = StubTransport()

    func adapter(_ change: (inout StripeAdapter.Lookup) -> Void = { _ in }) throws -> StripeAdapter {
        var lookup = StripeAdapter.Lookup(transport: transport, apiKey: Secret("rk_test_secret"))
        lookup.clock = TestClock()
        change(&lookup)
        var configuration = StripeAdapter.Configuration(signingSecrets: [secret])
        configuration.lookup = lookup
        return try StripeAdapter(configuration)
    }

    static func thin(
        _ type: String = "v1.customer.subscription.deleted",
        url: String = "/v1/subscriptions/sub_1",
        account: String? = nil
    ) -> [UInt8] {
        simulator(account: account).thinEvent(
            type,
            id: "evt_thin",
            created: "2026-03-01T12:00:00Z",
            related: ("subscription", "sub_1", url)
        ).bytes
    }

    static func subscription(_ change: (inout StripeSubscription) -> Void = { _ in }) -> HTTPTransportResponse {
        var subscription = StripeSubscription(status: "canceled", from: created - 10 * day, to: created + 20 * day)
        subscription.endedAt = created
        change(&subscription)
        return HTTPTransportResponse(status: 200, body: subscription.object(.endive).bytes)
    }

    func receive(_ adapter: StripeAdapter, _ body: [UInt8]) async throws -> Normalization {
        try await adapter.receive(try simulator().delivery(body, receivedAt: date(created + 2)))
    }

    @Test("asks for the object in the pinned version, with the context, and nowhere else")
    func request() async throws {
        transport.on(.any, respond: Self.subscription())
        let result = try await receive(try adapter(), Self.thin(account: "acct_1"))
        #expect(result.kinds == ["expired"])
        let request = try #require(transport.requests.first)
        #expect(transport.requests.count == 1)
        #expect(request.method == .get)
        #expect(
            request.url.absoluteString == "https://api.stripe.com/v1/subscriptions/sub_1?expand%5B%5D=latest_invoice"
        )
        #expect(request.headers["Authorization"] == "Bearer rk_test_secret")
        #expect(request.headers["Stripe-Version"] == StripeAdapter.Lookup.testedVersion)
        #expect(request.headers["Stripe-Context"] == "acct_1")
        #expect(request.headers["Stripe-Account"] == nil)
        #expect(request.headers["Stripe-Request-Trigger"] == "event=evt_thin")
        #expect(result.events.first?.subscription?.id == "acct_1/sub_1")
        #expect(result.events.first?.origin.channel == .refetch)
    }

    @Test("snapshots are mapped without a request")
    func snapshots() async throws {
        let simulator = simulator()
        let adapter = try adapter()
        for event in StripeStory.life(simulator) {
            _ = try await adapter.receive(try simulator.delivery(event.body, receivedAt: date(event.created)))
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("without a transport a thin event is kept, and says what it needs")
    func noTransport() async throws {
        let result = try await StripeTests.adapter().receive(
            try simulator().delivery(Self.thin(), receivedAt: date(created))
        )
        #expect(result.events.isEmpty)
        #expect(result.noChange?.reason == .needsLookup)
        #expect(result.noChange?.statement?.subscription.id == "sub_1")
        #expect(result.noChange?.statement?.facts == [])
        #expect(result.noChange?.statement?.origin.type == "v1.customer.subscription.deleted")
    }

    @Test(
        "no path leads elsewhere",
        arguments: [
            "@evil.example/v1/subscriptions/sub_1", ".evil.example/v1/subscriptions/sub_1", "//evil.example/v1/sub_1",
            "https://evil.example/v1/subscriptions/sub_1", "/v1/../subscriptions/sub_1", "/v1/./sub_1",
            "/v1/%2e%2e/sub_1", "/v1/subscriptions%2fsub_1", "/\\evil.example/sub_1", "\\\\evil.example\\v1\\sub_1",
            "/v1/subscriptions/sub_1?x=y", "/v1/subscriptions/sub_1#x", "/v1/subscriptions/sub_1\r\nHost: evil",
            "/v1/subscriptions/sub_1\u{0}", "/v1/customers/cus_1", "v1/subscriptions/sub_1", "", "/", "/v1/",
            "/v1/subscriptions/sub_1/", "/v9/subscriptions/sub_1", ":8443/v1/subscriptions/sub_1",
            "/v1/" + String(repeating: "a/", count: 5000) + "sub_1",
        ]
    )
    func hostilePaths(_ url: String) async throws {
        transport.on(.any, respond: Self.subscription())
        let body = Self.thin(url: url)
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, body) }
        #expect(error?.code == .malformed)
        #expect(error?.isAuthentic == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("an id that is no plain name is refused")
    func hostileIDs() async throws {
        for id in ["..", "sub_1/../x", "sub 1", "", "."] {
            let body = simulator().thinEvent(
                "v1.customer.subscription.deleted",
                id: "evt_thin",
                created: "2026-03-01T12:00:00Z",
                related: ("subscription", id, "/v1/subscriptions/\(id)")
            ).bytes
            let adapter = try adapter()
            await #expect(throws: DeliveryError.self, "\(id)") { try await receive(adapter, body) }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("a header that a body could break out of is refused")
    func hostileContext() async throws {
        let body = simulator(account: "acct_1\r\nAuthorization: x").thinEvent(
            "v1.customer.subscription.deleted",
            id: "evt_thin",
            created: "2026-03-01T12:00:00Z",
            related: ("subscription", "sub_1", "/v1/subscriptions/sub_1")
        ).bytes
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, body) }
        #expect(error?.code == .malformed)
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "tries again as Stripe's own libraries do",
        arguments: [
            (409, nil, 3), (500, nil, 3), (503, nil, 3), (429, nil, 1), (400, nil, 1), (401, nil, 1),
            (429, "true", 3), (500, "false", 1), (400, "true", 3),
        ] as [(Int, String?, Int)]
    )
    func retries(_ status: Int, _ word: String?, _ attempts: Int) async throws {
        var headers: HTTPTransportHeaders = [:]
        if let word { headers.add("Stripe-Should-Retry", word) }
        transport.on(.any, respond: HTTPTransportResponse(status: status, headers: headers))
        let adapter = try adapter { $0.clock = ImmediateClock() }
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        #expect(error?.code == .unavailable)
        #expect(error?.code.isRetryable == true)
        #expect(transport.requests.count == attempts)
    }

    @Test("an answer at the second attempt is an answer")
    func recovers() async throws {
        transport.on(.any, times: 1, fail: .connectionLost)
        transport.on(.any, respond: Self.subscription())
        let adapter = try adapter { $0.clock = ImmediateClock() }
        #expect(try await receive(adapter, Self.thin()).kinds == ["expired"])
        #expect(transport.requests.count == 2)
    }

    @Test("what Stripe has forgotten has not expired", arguments: [404, 410])
    func forgotten(_ status: Int) async throws {
        transport.on(.any, respond: HTTPTransportResponse(status: status, body: Array(#"{"error":{}}"#.utf8)))
        let result = try await receive(try adapter(), Self.thin())
        #expect(result.events.isEmpty)
        #expect(result.noChange?.reason == .stale)
    }

    @Test("an answer that is no object, or about another, decides nothing")
    func badAnswers() async throws {
        for body in ["", "hello", "[]", "null", #"{"id":"sub_2"}"#, String(repeating: "[", count: 100_000)] {
            transport.removeRules()
            transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
            let adapter = try adapter()
            let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
            #expect(error?.code == .unavailable)
        }
        transport.removeRules()
        transport.on(
            .any,
            respond: HTTPTransportResponse(status: 200, body: Array(#"{"id":"sub_1","livemode":false}"#.utf8))
        )
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        #expect(error?.code == .misdirected)
    }

    @Test("a redirect is not followed")
    func redirect() async throws {
        transport.on(.any, respond: HTTPTransportResponse(status: 302, headers: ["Location": "https://evil.example/"]))
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        #expect(error?.code == .unavailable)
        #expect(Set(transport.requests.map(\.url.host)) == ["api.stripe.com"])
    }

    @Test("a canceled task ends its look-up", .timeLimit(.minutes(1)))
    func cancellation() async throws {
        transport.on(hang: .any)
        let adapter = try adapter()
        let delivery = try simulator().delivery(Self.thin(), receivedAt: date(created))
        let task = Task { try await adapter.receive(delivery) }
        while transport.requests.isEmpty { await Task.yield() }
        task.cancel()
        let error = await #expect(throws: DeliveryError.self) { try await task.value }
        #expect(error?.code == .unavailable)
    }

    @Test("types that map to nothing are not asked for")
    func noise() async throws {
        for type in ["v1.price.updated", "v1.charge.succeeded", "v2.core.event_destination.ping", "v1.invoice.created"]
        {
            _ = try await receive(try adapter(), Self.thin(type))
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("an answer survives a queue")
    func queue() async throws {
        transport.on(.any, respond: Self.subscription())
        let adapter = try adapter()
        let proven = try adapter.authenticate(try simulator().delivery(Self.thin(), receivedAt: date(created)))
        let resolved = try await adapter.resolve(proven)
        let taken = try CanonicalJSON.value(
            Authenticated<StripeNotification>.self,
            from: try CanonicalJSON.bytes(resolved)
        )
        #expect(try adapter.normalize(taken).kinds == ["expired"])
        #expect(try adapter.normalize(taken) == adapter.normalize(resolved))
    }

    @Test("no message shows the key")
    func messages() async throws {
        transport.on(.any, fail: .tls)
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        #expect(!String(reflecting: error).contains("rk_test_secret"))
        let underlying = String(reflecting: error?.underlying)
        #expect(!underlying.contains("rk_test_secret"))
        let lookup = String(reflecting: StripeAdapter.Lookup(transport: transport, apiKey: Secret("rk_test_secret")))
        #expect(!lookup.contains("rk_test"))
    }
}

/// A clock on which every wait is over at once.
struct ImmediateClock: Clock {
    typealias Instant = ContinuousClock.Instant

    var now: Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
    }
}
