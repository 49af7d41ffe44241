import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

@Suite("Stripe look-ups")
struct LookupTests {
    let transport = StubTransport()

    func adapter(_ change: (inout StripeAdapter.Lookup) -> Void = { _ in }) throws -> StripeAdapter {
        var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_secret"))
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
        simulator(account: account).thin(type, of: ("subscription", "sub_1", url))
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
            request.url.absoluteString == "https://api.stripe.com/v1/subscriptions/sub_1"
        )
        #expect(request.headers["Authorization"] == "Bearer rk_live_secret")
        #expect(request.headers["Stripe-Version"] == StripeAdapter.Lookup.testedVersion)
        #expect(request.headers["Stripe-Context"] == "acct_1")
        #expect(request.headers["Stripe-Account"] == nil)
        #expect(request.headers["Stripe-Request-Trigger"] == "event=evt_thin")
        #expect(result.events.first?.subscription?.id == "acct_1/sub_1")
        #expect(result.events.first?.origin.channel == .refetch)
    }

    @Test("a trial's start is reported once, even if its thin event comes long after an update's")
    func lateStart() async throws {
        transport.on(
            .any,
            respond: Self.subscription {
                ($0.status, $0.start, $0.startDate, $0.endedAt) = ("trialing", created, created, nil)
                ($0.trialStart, $0.trialEnd) = (created, $0.end)
            }
        )
        let adapter = try adapter()
        var ledger = AccountLedger()
        var dispositions: [AppliedEvent.Disposition] = []
        for (type, delay) in [("updated", 2), ("created", 60), ("created", 120)] as [(String, Int64)] {
            let body = Self.thin("v1.customer.subscription.\(type)")
            let result = try await adapter.receive(try simulator().delivery(body, receivedAt: date(created + delay)))
            dispositions += ledger.apply(result).map(\.disposition)
        }
        #expect(dispositions == [.applied, .duplicate])
    }

    @Test("a change that a thin update has shown is reported once, by the event that names it")
    func shownByUpdate() async throws {
        let adapter = try adapter()
        var ledger = AccountLedger()
        func dispositions(_ type: String, after delay: Int64, ends: Bool) async throws -> [AppliedEvent.Disposition] {
            transport.removeRules()
            transport.on(
                .any,
                respond: Self.subscription {
                    ($0.status, $0.endedAt) = ("active", nil)
                    if ends { ($0.cancelAt, $0.canceledAt) = ($0.end, created) }
                }
            )
            let body = Self.thin("v1.customer.subscription.\(type)")
            let result = try await adapter.receive(try simulator().delivery(body, receivedAt: date(created + delay)))
            return ledger.apply(result).map(\.disposition)
        }
        #expect(try await dispositions("updated", after: 1, ends: false) == [])
        #expect(try await dispositions("updated", after: 60, ends: true) == [])
        #expect(try await dispositions("cancel_at_changed", after: 61, ends: true) == [.applied])
        #expect(try await dispositions("cancel_at_changed", after: 120, ends: true) == [.duplicate])
    }

    @Test("the end is reported once, even if a late thin update has shown it", arguments: [false, true])
    func endShownByUpdate(isRepeated: Bool) async throws {
        transport.on(.any, respond: Self.subscription())
        let adapter = try adapter()
        var ledger = AccountLedger()
        var dispositions: [AppliedEvent.Disposition] = []
        for type in ["updated", "deleted", isRepeated ? "updated" : "deleted", "deleted"] {
            let body = Self.thin("v1.customer.subscription.\(type)")
            let time = date(created + 60 + Int64(dispositions.count))
            let result = try await adapter.receive(try simulator().delivery(body, receivedAt: time))
            dispositions += ledger.apply(result).map(\.disposition)
        }
        #expect(dispositions == (isRepeated ? [.applied, .duplicate] : [.applied, .duplicate, .duplicate]))
        #expect(ledger.states.first?.access(at: date(created + 90)).isGranted == false)
    }

    @Test("the end of a pause that a thin update has shown is reported once, by its own event")
    func resumptionShownByUpdate() async throws {
        let adapter = try adapter()
        var ledger = AccountLedger()
        var dispositions: [AppliedEvent.Disposition] = []
        for (type, isPaused) in [("paused", true), ("updated", false), ("resumed", false), ("resumed", false)] {
            transport.removeRules()
            transport.on(
                .any,
                respond: Self.subscription {
                    ($0.status, $0.endedAt, $0.start) = (isPaused ? "paused" : "active", nil, created - 10 * day)
                    if isPaused {
                        $0.statusDetails = ["paused": ["transitioned_at": .integer(created - day)]]
                    }
                }
            )
            let body = Self.thin("v1.customer.subscription.\(type)")
            let time = date(created + 60 + Int64(dispositions.count))
            let result = try await adapter.receive(try simulator().delivery(body, receivedAt: time))
            dispositions += ledger.apply(result).map(\.disposition)
        }
        #expect(dispositions == [.applied, .applied, .duplicate])
    }

    @Test("snapshots are mapped without a request")
    func snapshots() async throws {
        let simulator = simulator()
        let adapter = try adapter()
        for event in try CustomerStory.subscriptionLife(simulator) {
            _ = try await adapter.receive(try simulator.delivery(event.content, receivedAt: date(event.created)))
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
    func hostilePaths(url: String) async throws {
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
            let related = ("subscription", id, "/v1/subscriptions/\(id)")
            let body = simulator().thin("v1.customer.subscription.deleted", of: related)
            let adapter = try adapter()
            await #expect(throws: DeliveryError.self, "\(id)") { try await receive(adapter, body) }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("a header that a body could break out of is refused")
    func hostileContext() async throws {
        let body = Self.thin(account: "acct_1\r\nAuthorization: x")
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
    func retries(status: Int, word: String?, attempts: Int) async throws {
        var headers: HTTPTransportHeaders = [:]
        if let word { headers.add("Stripe-Should-Retry", word) }
        transport.on(.any, respond: HTTPTransportResponse(status: status, headers: headers))
        let adapter = try adapter { $0.clock = ImmediateClock() }
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        #expect(error?.code == .unavailable)
        #expect(error?.code.isRetryable == true)
        #expect(transport.requests.count == attempts)
    }

    @Test("a key that may not read an object is a matter of the set-up, by Stripe's own word alone")
    func forbidden() async throws {
        let word = #"{"error":{"message":"lacks permissions","type":"invalid_request_error"}}"#
        for (body, retry, code) in [
            (word, nil, .denied), (word, "true", .unavailable), ("<html>blocked</html>", nil, .unavailable),
            ("{}", nil, .unavailable),
        ] as [(String, String?, DeliveryError.Code)] {
            transport.removeRules()
            var headers: HTTPTransportHeaders = [:]
            if let retry { headers.add("Stripe-Should-Retry", retry) }
            transport.on(.any, respond: .init(status: 403, headers: headers, body: Array(body.utf8)))
            let adapter = try adapter { $0.clock = ImmediateClock() }
            let error = try #require(
                await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
            )
            #expect(error.code == code && error.isAuthentic)
            #expect(!error.message.contains("permissions"))
            let decision = Acknowledgement(for: .failure(error), provider: .stripe).decision
            #expect(decision == (code == .denied ? .acceptAndQuarantine : .retryLater))
        }
    }

    @Test("a key that may not read the prices of a schedule leaves the names of the prices, and says so")
    func forbiddenDetail() async throws {
        let word = #"{"error":{"message":"lacks permissions","type":"invalid_request_error"}}"#
        transport.on(.any, respond: .init(status: 403, body: Array(word.utf8)))
        let adapter = try adapter { $0.completesSnapshots = true }
        let phases = [
            TestClockTests.phase(.basic, from: created, to: created + 30 * day),
            TestClockTests.phase(.pro, from: created + 30 * day, to: created + 60 * day),
        ]
        let schedule: JSONText = [
            "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1", "status": "active",
            "subscription": "sub_1", "end_behavior": "release", "phases": .array(phases),
        ]
        let planned = PaymentJoinTests.event("subscription_schedule.created", schedule, at: created, in: .endive)
        let result = try await receive(adapter, planned.body)
        #expect(result.kinds == ["product_change_scheduled"])
        #expect(result.anomalies == ["right to read schedule"])
        guard case .productChangeScheduled(let change)? = result.events.first?.event else { return }
        #expect(change.from == "price_basic_month" && change.to == "price_pro_month")
        #expect(transport.requests.count == 1)
        // Whose credits a refund takes is no detail, nor what a session sold.
        let refund = PaymentJoinTests.refund("re_1", 1000, of: "pi_1", at: created, in: .endive)
        let session = PaymentJoinTests.event(
            "checkout.session.completed",
            .object(QuestionTests.session()),
            at: created,
            in: .endive
        )
        for taken in [refund, session] {
            let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, taken.body) }
            #expect(error?.code == .denied)
        }
        // A proxy's word is none of Stripe's.
        transport.removeRules()
        transport.on(.any, respond: .init(status: 403))
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, planned.body) }
        #expect(error?.code == .unavailable)
    }

    @Test("an organization's key names the account also where it asks for a list")
    func organizationLists() async throws {
        let page = HTTPTransportResponse(
            status: 200,
            headers: ["Date": "Sun, 01 Mar 2026 12:00:00 GMT"],
            body: Array(#"{"object":"list","data":[],"has_more":false}"#.utf8)
        )
        transport.on(.any, respond: page)
        var configuration = StripeAdapter.Configuration(signingSecrets: [secret])
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("sk_org_live_x"))
        configuration.ownAccount = "acct_own"
        let organization = try StripeAdapter(configuration)
        for (account, context) in [(nil, "acct_own"), ("acct_2", "acct_own/acct_2"), ("acct_own", "acct_own")]
            as [(String?, String)]
        {
            let history = try #require(organization.history(of: account))
            _ = try await history.page(of: date(created - day)..<date(created), at: nil)
            let request = try #require(transport.requests.last)
            #expect(request.headers["Stripe-Context"] == context)
            #expect(request.headers["Stripe-Account"] == nil)
        }
    }

    @Test("the thin event of a charge names its newest refund, and not the sum of all")
    func thinChargeRefunded() async throws {
        func refund(_ id: String, _ amount: Int64) -> JSONText {
            [
                "id": .string(id), "object": "refund", "amount": .integer(amount), "charge": "ch_1",
                "created": .integer(created),
                "currency": "usd", "payment_intent": "pi_1", "status": "succeeded",
            ]
        }
        let charge: JSONText = [
            "id": "ch_1", "object": "charge", "amount": 1000, "amount_captured": 1000, "amount_refunded": 500,
            "currency": "usd", "livemode": true, "payment_intent": "pi_1", "refunded": false,
            "refunds": ["object": "list", "data": [refund("re_2", 300), refund("re_1", 200)], "has_more": false],
        ]
        transport.on(.init(path: "/v1/charges/ch_1"), respond: .init(status: 200, body: Array(charge.text.utf8)))
        transport.on(.any, respond: .init(status: 404))
        let body = simulator().thin("v1.charge.refunded", of: ("charge", "ch_1", "/v1/charges/ch_1"))
        let result = try await receive(try adapter(), body)
        guard case .refunded(let refunded)? = result.events.first?.event else { return #expect(Bool(false)) }
        #expect(refunded.refund == "re_2" && refunded.scope == .amount(Money(ExactDecimal(3), "USD")))
    }

    @Test("a refund that a thin event reports is one of its subscription")
    func thinRefund() async throws {
        let refund: JSONText = [
            "id": "re_1", "object": "refund", "amount": 999, "charge": "ch_1", "created": .integer(created),
            "currency": "usd", "livemode": true, "payment_intent": "pi_1", "status": "succeeded",
        ]
        let invoice: JSONText = [
            "id": "in_1", "object": "invoice", "amount_paid": 999, "billing_reason": "subscription_create",
            "parent": ["subscription_details": ["subscription": "sub_1"]], "currency": "usd", "status": "paid",
        ]
        let payments: JSONText = [
            "object": "list", "has_more": false, "data": [["id": "inpay_1", "invoice": invoice]],
        ]
        transport.on(.init(path: "/v1/refunds/re_1"), respond: .init(status: 200, body: Array(refund.text.utf8)))
        transport.on(.init(path: "/v1/invoice_payments"), respond: .init(status: 200, body: Array(payments.text.utf8)))
        let body = simulator().thin("v1.refund.created", of: ("refund", "re_1", "/v1/refunds/re_1"))
        let result = try await receive(try adapter(), body)
        #expect(result.events.map(\.subscription?.id) == ["sub_1"])
    }

    @Test("the thin event of a beginning that is fetched in a later period begins nothing")
    func thinCreatedLate() async throws {
        let late = Self.subscription {
            ($0.status, $0.endedAt, $0.startDate) = ("active", nil, created - 20 * day)
        }
        transport.on(.any, respond: late)
        for type in ["v1.customer.subscription.created", "v1.customer.subscription.active"] {
            let result = try await receive(try adapter(), Self.thin(type))
            #expect(result.events.isEmpty && result.noChange?.reason == .reportedElsewhere, "\(type)")
        }
    }

    @Test("an answer at the second attempt is an answer")
    func recovers() async throws {
        transport.on(.any, times: 1, fail: .connectionLost)
        transport.on(.any, respond: Self.subscription())
        let adapter = try adapter { $0.clock = ImmediateClock() }
        #expect(try await receive(adapter, Self.thin()).kinds == ["expired"])
        #expect(transport.requests.count == 2)
    }

    @Test(
        "a subscription that Stripe does not know under our key has not expired, and is kept for inspection",
        arguments: [404, 410]
    )
    func unknown(status: Int) async throws {
        transport.on(.any, respond: HTTPTransportResponse(status: status, body: Array(#"{"error":{}}"#.utf8)))
        let adapter = try adapter()
        let error = try #require(
            await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        )
        #expect(error.code == .misdirected)
        #expect(error.isAuthentic)
        #expect(Acknowledgement(for: .failure(error), provider: .stripe).decision == .acceptAndQuarantine)
    }

    @Test(
        "a key of the other mode is not used",
        arguments: [
            ("sk_test_x", true, false), ("rk_test_x", true, false), ("sk_org_test_x", true, false),
            ("sk_live_x", false, false), ("sk_test_x", false, true), ("sk_live_x", true, true),
            ("sk_org_live_x", true, true), ("rk_other", true, true), ("sk_live_test_x", true, true),
        ]
    )
    func keyMode(key: String, isLive: Bool, isAsked: Bool) async throws {
        transport.on(.any, respond: Self.subscription())
        let simulator = StripeSimulator(signingSecret: secret, isLive: isLive)
        let body = simulator.thin("v1.customer.subscription.deleted")
        let adapter = try adapter { $0.apiKey = SecretBytes(key) }
        do {
            _ = try await receive(adapter, body)
        } catch let error as DeliveryError {
            #expect(error.code == .misdirected && error.isAuthentic)
        }
        #expect(transport.requests.count == (isAsked ? 1 : 0))
    }

    @Test("an answer about another object, or about none, is not taken for the one that was asked for")
    func otherObject() async throws {
        for body in [
            #"{"id":"sub_2"}"#, #"{"object":"subscription","status":"active"}"#, #"{"id":null}"#, #"{"id":7}"#,
        ] {
            transport.removeRules()
            transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
            let adapter = try adapter()
            let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
            #expect(error?.code == .malformed, "\(body)")
            #expect(error?.isAuthentic == true)
        }
    }

    @Test("an answer that is no object decides nothing")
    func badAnswers() async throws {
        for body in ["", "hello", "[]", "null", String(repeating: "[", count: 100_000)] {
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

    /// A renewal whose invoice shows only the prorations on it.
    static func longInvoice(_ count: Int = 12) -> StripeInvoice {
        var lines = (1..<count).map { _ in
            StripeInvoice.Line(.pro, amount: 10, from: created - 5 * day, to: created, isProration: true)
        }
        lines.append(.init(.basic, from: created, to: created + 30 * day))
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_cycle",
            lines: lines,
            created: created,
            lookBackFrom: created - 30 * day
        )
        invoice.paidAt = created
        invoice.shownLines = 10
        return invoice
    }

    static func reported(_ type: String, _ invoice: StripeInvoice, in version: StripeSimulator.Version = .endive)
        -> [UInt8]
    {
        simulator(version).event(type, id: "evt_1", created: created, object: .object(invoice.object(version))).bytes
    }

    func respond(to path: String, query: String, _ body: JSONText) {
        transport.on(
            .init(path: path) { $0.url.absoluteString.hasSuffix("?\(query)") },
            respond: HTTPTransportResponse(status: 200, body: Array(body.text.utf8))
        )
    }

    @Test("an invoice that does not show all its lines is asked for them", arguments: PitfallTests.versions)
    func lines(version: StripeSimulator.Version) async throws {
        let invoice = Self.longInvoice(150)
        respond(to: "/v1/invoices/in_1/lines", query: "limit=100", invoice.linePage(version, 0..<100))
        respond(
            to: "/v1/invoices/in_1/lines",
            query: "limit=100&starting_after=il_in_1_99",
            invoice.linePage(version, 100..<150)
        )
        let adapter = try adapter()
        let paid = try await receive(adapter, Self.reported("invoice.paid", invoice, in: version))
        #expect(paid.kinds == ["renewed"])
        #expect(transport.requests.count == 2)
        var whole = invoice
        whole.shownLines = nil
        let plain = try await receive(adapter, Self.reported("invoice.paid", whole, in: version))
        #expect(paid.events.map(\.id) == plain.events.map(\.id))
        #expect(paid.events.map(\.facts) == plain.events.map(\.facts))
        #expect(transport.requests.count == 2)
        // The failed attempt needs the end of the period as well.
        var failed = invoice
        failed.status = "open"
        failed.paidAt = nil
        let issue = try await receive(adapter, Self.reported("invoice.payment_failed", failed, in: version))
        #expect(
            issue.events.map(\.event) == [
                .billingIssue(.init(access: .grace(until: date(created + 30 * day)), actionRequired: false))
            ]
        )
    }

    @Test("a thin event's invoice is asked for its lines too")
    func thinLines() async throws {
        let invoice = Self.longInvoice()
        transport.on(
            .init(path: "/v1/invoices/in_1"),
            respond: HTTPTransportResponse(status: 200, body: invoice.object(.endive).bytes)
        )
        respond(to: "/v1/invoices/in_1/lines", query: "limit=100", invoice.linePage(.endive, 0..<12))
        let body = simulator().thin("v1.invoice.paid", of: ("invoice", "in_1", "/v1/invoices/in_1"))
        #expect(try await receive(try adapter(), body).kinds == ["renewed"])
    }

    @Test("lines that are not shown also report a new billing anchor", arguments: PitfallTests.versions)
    func linesOfNewAnchor(version: StripeSimulator.Version) async throws {
        var invoice = Self.longInvoice()
        invoice.reason = "subscription_update"
        respond(to: "/v1/invoices/in_1/lines", query: "limit=100", invoice.linePage(version, 0..<12))
        let adapter = try adapter()
        let paid = try await receive(adapter, Self.reported("invoice.paid", invoice, in: version))
        #expect(paid.kinds == ["renewed"])
        #expect(paid.events.first?.period?.start == date(created))
        #expect(transport.requests.count == 1)
    }

    @Test(
        "lines that cannot be asked for need a look-up, and no other event reports them",
        arguments: PitfallTests.versions
    )
    func linesWithoutTransport(version: StripeSimulator.Version) throws {
        for type in ["invoice.paid", "invoice.payment_failed"] {
            let result = try StripeTests.adapter().take(Self.reported(type, Self.longInvoice(), in: version))
            #expect(result.events.isEmpty)
            #expect(result.noChange?.reason == .needsLookup, "\(type)")
            #expect(result.noChange?.statement?.subscription == PitfallTests.lineage)
            #expect(Acknowledgement(for: .success(result), provider: .stripe).decision == .acceptAndQuarantine)
        }
        // The update next to it reports the purpose of its prorations, and the invoice their amount.
        var change = Self.longInvoice()
        change.reason = "subscription_update"
        let result = try StripeTests.adapter().take(Self.reported("invoice.paid", change, in: version))
        #expect(result.kinds == ["notice"])
        #expect(result.events.first?.items == nil)
    }

    @Test("a list of lines without end is not followed for ever", .timeLimit(.minutes(5)))
    func endlessLines() async throws {
        let page = Self.longInvoice().linePage(.endive, 0..<10)
        transport.on(
            .init(path: "/v1/invoices/in_1/lines"),
            respond: HTTPTransportResponse(status: 200, body: Array(page.text.utf8))
        )
        let result = try await receive(try adapter(), Self.reported("invoice.paid", Self.longInvoice()))
        #expect(result.noChange?.reason == .needsLookup)
        #expect((1...20).contains(transport.requests.count))
    }

    @Test("lines that are unavailable now are asked for later, and an invoice that is unknown is not ours")
    func linesFail() async throws {
        for (status, code) in [(500, DeliveryError.Code.unavailable), (404, .misdirected)] {
            transport.removeRules()
            transport.on(.any, respond: HTTPTransportResponse(status: status))
            let adapter = try adapter { $0.clock = ImmediateClock() }
            let body = Self.reported("invoice.paid", Self.longInvoice())
            let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, body) }
            #expect(error?.code == code)
        }
    }

    /// A subscription of twelve items, of which ten are shown; the one that stands for all is the last.
    static func wide(_ version: StripeSimulator.Version, _ change: (inout StripeSubscription) -> Void = { _ in })
        -> (shown: JSONText, all: JSONText, plain: StripeSubscription)
    {
        var subscription = StripeSubscription(
            status: "active",
            items: (0..<11).map { .init("si_\($0)", StripePrice("price_\($0)", product: "prod_\($0)", amount: 100)) }
                + [.init("si_a", StripePrice("price_a", product: "a_prod", amount: 100))],
            from: created,
            to: created + 30 * day,
            latestInvoice: "in_1"
        )
        change(&subscription)
        var narrow = subscription
        narrow.items = Array(subscription.items.prefix(10))
        let shown = JSONText.object(narrow.object(version)).text.replacing(
            "\"has_more\":false,\"total_count\":10",
            with: "\"has_more\":true,\"total_count\":12"
        )
        return (.raw(shown), subscription.object(version)["items"] ?? nil, subscription)
    }

    @Test("a subscription that does not show all its items is asked for them", arguments: PitfallTests.versions)
    func items(version: StripeSimulator.Version) async throws {
        let (shown, all, plain) = Self.wide(version)
        respond(to: "/v1/subscription_items", query: "subscription=sub_1&limit=100", all)
        func reported(_ object: JSONText, previous: JSONText? = nil) -> [UInt8] {
            simulator(version).event(
                previous == nil ? "customer.subscription.created" : "customer.subscription.updated",
                id: "evt_1",
                created: created,
                object: object,
                previous: previous
            ).bytes
        }
        let adapter = try adapter()
        let started = try await receive(adapter, reported(shown))
        #expect(started.events.map(\.product?.id) == ["a_prod"])
        let whole = try await receive(adapter, reported(.object(plain.object(version))))
        #expect(started.events.map(\.id) == whole.events.map(\.id))
        #expect(started.events.map(\.facts) == whole.events.map(\.facts))
        // An update that shows as many items as before changed none of them.
        var before = plain
        before.items = Array(plain.items.prefix(10))
        let previous: JSONText = ["items": before.object(version)["items"] ?? nil, "metadata": ["a": "b"]]
        let quiet = try await receive(adapter, reported(shown, previous: previous))
        #expect(quiet.kinds == [])
        #expect(quiet.noChange?.reason == .unchanged)
        // Without a look-up it is kept.
        let kept = try StripeTests.adapter().take(reported(shown))
        #expect(kept.noChange?.reason == .needsLookup)
        #expect(kept.noChange?.statement?.subscription == PitfallTests.lineage)
    }

    @Test("a subscription of many items is asked for page by page", arguments: PitfallTests.versions)
    func manyItems(version: StripeSimulator.Version) async throws {
        var subscription = StripeSubscription(
            status: "active",
            items: (0..<150).map { .init("si_\($0)", StripePrice("price_\($0)", product: "prod_\($0)", amount: 100)) },
            from: created,
            to: created + 30 * day,
            latestInvoice: "in_1"
        )
        subscription.items[149].price.product = "a_prod"
        func page(_ range: Range<Int>, isLast: Bool) -> JSONText {
            var shown = subscription
            shown.items = Array(subscription.items[range])
            let list = (shown.object(version)["items"] ?? nil).text
            return .raw(list.replacing("\"has_more\":false", with: "\"has_more\":\(!isLast)"))
        }
        respond(to: "/v1/subscription_items", query: "subscription=sub_1&limit=100", page(0..<100, isLast: false))
        respond(
            to: "/v1/subscription_items",
            query: "subscription=sub_1&limit=100&starting_after=si_99",
            page(100..<150, isLast: true)
        )
        var narrow = subscription
        narrow.items = Array(subscription.items.prefix(10))
        let shown = JSONText.object(narrow.object(version)).text.replacing(
            "\"has_more\":false,\"total_count\":10",
            with: "\"has_more\":true,\"total_count\":150"
        )
        func reported(_ object: JSONText) -> [UInt8] {
            simulator(version).event("customer.subscription.created", id: "evt_1", created: created, object: object)
                .bytes
        }
        let adapter = try adapter()
        let started = try await receive(adapter, reported(.raw(shown)))
        let whole = try await receive(adapter, reported(.object(subscription.object(version))))
        #expect(started.events.map(\.product?.id) == ["a_prod"])
        #expect(started.events.map(\.id) == whole.events.map(\.id))
        #expect(started.events.map(\.facts) == whole.events.map(\.facts))
    }

    @Test("a redirect is not followed")
    func redirect() async throws {
        transport.on(.any, respond: HTTPTransportResponse(status: 302, headers: ["Location": "https://evil.example/"]))
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await receive(adapter, Self.thin()) }
        #expect(error?.code == .unavailable)
        #expect(Set(transport.requests.map(\.url.host)) == ["api.stripe.com"])
    }

    @Test("a canceled task ends its look-up", .timeLimit(.minutes(5)))
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
        #expect(!String(reflecting: error).contains("rk_live_secret"))
        let underlying = String(reflecting: error?.underlying)
        #expect(!underlying.contains("rk_live_secret"))
        let lookup = String(
            reflecting: StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_secret"))
        )
        #expect(!lookup.contains("rk_live"))
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
