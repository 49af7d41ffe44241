import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Purchases that the host asks about by itself.
@Suite("Stripe questions")
struct QuestionTests {
    let transport = StubTransport()
    static let now = created + 2

    func adapter(_ change: (inout StripeAdapter.Configuration) -> Void = { _ in }) throws -> StripeAdapter {
        var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_secret"))
        lookup.clock = TestClock()
        var configuration = StripeAdapter.Configuration(signingSecrets: [secret])
        configuration.lookup = lookup
        change(&configuration)
        return try StripeAdapter(configuration)
    }

    /// Bought just now, and paid for.
    static func subscription(
        _ change: (inout StripeSubscription) -> Void = { _ in },
        invoice changeInvoice: (inout StripeInvoice) -> Void = { _ in }
    ) -> JSONMembers {
        var subscription = StripeSubscription(
            status: "active",
            from: created,
            to: created + 30 * day,
            latestInvoice: "in_1"
        )
        change(&subscription)
        var invoice = invoice()
        changeInvoice(&invoice)
        var object = subscription.object(.endive)
        object["latest_invoice"] = .object(invoice.object(.endive))
        return object
    }

    static func invoice() -> StripeInvoice {
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_create",
            lines: [.init(.basic, from: created, to: created + 30 * day)],
            created: created
        )
        invoice.paidAt = created
        return invoice
    }

    /// Another product from the next period on.
    static func schedule(_ status: String) -> JSONMembers {
        func phase(_ price: StripePrice, from start: Int64) -> JSONText {
            [
                "start_date": .integer(start), "end_date": .integer(start + 30 * day),
                "items": [["price": price.price(), "quantity": 1]],
            ]
        }
        let isReleased = status == "released"
        return JSONMembers([
            ("id", "sub_sched_1"), ("object", "subscription_schedule"), ("customer", "cus_1"),
            ("end_behavior", "release"), ("livemode", true), ("status", .string(status)),
            ("phases", [phase(.basic, from: created), phase(.pro, from: created + 30 * day)]),
            (isReleased ? "released_subscription" : "subscription", "sub_1"),
        ])
    }

    static func session(_ members: KeyValuePairs<String, JSONText> = [:]) -> JSONMembers {
        var session = JSONMembers([
            ("id", "cs_1"), ("object", "checkout.session"), ("amount_total", 4900),
            ("client_reference_id", "user-42"), ("created", .integer(created - 60)), ("currency", "usd"),
            ("customer", "cus_1"), ("livemode", true), ("metadata", [:]), ("mode", "payment"),
            ("payment_intent", "pi_1"), ("payment_status", "paid"), ("status", "complete"),
        ])
        for (name, value) in members { session[name] = value }
        return session
    }

    func answer(_ object: JSONMembers, date: String? = nil) {
        transport.removeRules()
        // No invoice was paid before the latest one.
        let none = JSONMembers([("object", "list"), ("has_more", false), ("data", [])])
        transport.on(.init(path: "/v1/invoices"), respond: HTTPTransportResponse(status: 200, body: none.bytes))
        transport.on(
            .any,
            respond: HTTPTransportResponse(
                status: 200,
                headers: date.map { ["Date": $0] } ?? [:],
                body: object.bytes
            )
        )
    }

    func ask(_ adapter: StripeAdapter, at time: Int64 = now) async throws -> Normalization {
        try await adapter.receive(subscription: "sub_1", receivedAt: date(time))
    }
}

// MARK: Requests

extension QuestionTests {
    @Test("one request, at the configured host, that names no event")
    func request() async throws {
        answer(Self.subscription())
        let result = try await ask(try adapter())
        #expect(result.kinds == ["started"])
        #expect(result.events.first?.origin.channel == .refetch)
        #expect(result.events.first?.origin.notificationID == nil)
        #expect(result.events.first?.origin.evidence.method == .tls)
        let request = try #require(transport.requests.first)
        #expect(transport.requests.count == 1)
        #expect(
            request.url.absoluteString == "https://api.stripe.com/v1/subscriptions/sub_1"
                + "?expand%5B%5D=latest_invoice&expand%5B%5D=schedule.phases.items.price"
        )
        #expect(request.headers["Authorization"] == "Bearer rk_secret")
        #expect(request.headers["Stripe-Version"] == StripeAdapter.Lookup.testedVersion)
        #expect(request.headers["Stripe-Account"] == nil)
        #expect(request.headers["Stripe-Request-Trigger"] == nil)
    }

    @Test("a connected account's purchase is asked for under its name, our own under none", arguments: [nil, "acct_1"])
    func accounts(own: String?) async throws {
        answer(Self.subscription())
        let adapter = try adapter { $0.ownAccount = own }
        let result = try await adapter.receive(subscription: "sub_1", account: "acct_1", receivedAt: date(Self.now))
        #expect(transport.requests.map { $0.headers["Stripe-Account"] } == [own == nil ? "acct_1" : nil])
        #expect(result.events.first?.subscription?.id == (own == nil ? "acct_1/sub_1" : "sub_1"))
        #expect(result.events.first?.app == "acct_1")
    }

    @Test(
        "an organization's key names the account, and a connected one behind its platform",
        arguments: [
            (own: "acct_1", asked: nil, context: "acct_1"), ("acct_1", "acct_1", "acct_1"),
            ("acct_1", "acct_2", "acct_1/acct_2"), (nil, "acct_2", "acct_2"), (nil, nil, nil),
        ] as [(own: String?, asked: String?, context: String?)]
    )
    func organization(own: String?, asked: String?, context: String?) async throws {
        answer(Self.subscription())
        let adapter = try adapter {
            $0.ownAccount = own
            $0.lookup?.apiKey = SecretBytes("sk_org_secret")
        }
        _ = try await adapter.receive(subscription: "sub_1", account: asked, receivedAt: date(Self.now))
        #expect(transport.requests.map { $0.headers["Stripe-Context"] } == [context])
        #expect(transport.requests.map { $0.headers["Stripe-Account"] } == [nil])
    }

    @Test("an account that is not taken is not asked about")
    func otherAccount() async throws {
        let adapter = try adapter { $0.accounts = ["acct_1"] }
        let error = await #expect(throws: DeliveryError.self) {
            try await adapter.receive(subscription: "sub_1", account: "acct_2", receivedAt: date(Self.now))
        }
        #expect(error?.code == .misdirected)
        #expect(error?.isAuthentic == false)
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "an id that no object has causes no request",
        arguments: ["", ".", "..", "sub_1/..", "sub_1?expand[]=customer", "sub_1#", "sub%5F1", "sub_1\r\n", "s\u{fc}b"]
    )
    func hostileIDs(id: String) async throws {
        answer(Self.subscription())
        let adapter = try adapter()
        for kind in [StripePurchase.Kind.subscription, .checkoutSession] {
            let error = await #expect(throws: DeliveryError.self) {
                try await adapter.resolve(id, of: kind, receivedAt: date(Self.now))
            }
            #expect(error?.code == .malformed)
            #expect(error?.isAuthentic == false)
            #expect(error.map { id.utf8.count < 2 || !$0.description.contains(id) } == true)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("an object of the other mode is misdirected, whatever the key is called")
    func otherMode() async throws {
        answer(Self.subscription())
        let adapter = try adapter { $0.mode = .test }
        let error = await #expect(throws: DeliveryError.self) { try await ask(adapter) }
        #expect(error?.code == .misdirected)
        #expect(error?.isAuthentic == false)
    }

    @Test("an answer that cannot be read is malformed, and was never a delivery")
    func unreadable() async throws {
        var object = Self.subscription()
        object["start_date"] = "yesterday"
        answer(object)
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await ask(adapter) }
        #expect(error?.code == .malformed)
        #expect(error?.isAuthentic == false)
    }

    @Test("without a look-up no question can be asked")
    func notConfigured() async throws {
        let adapter = try adapter { $0.lookup = nil }
        let error = await #expect(throws: DeliveryError.self) { try await ask(adapter) }
        #expect(error?.code == .unavailable)
    }

    @Test("items and lines that are not shown are asked for, those of a session's subscription too")
    func pages() async throws {
        let item: JSONText = [
            "id": "si_2", "object": "subscription_item", "current_period_start": .integer(created),
            "current_period_end": .integer(created + 30 * day), "price": StripePrice.basic.price(), "quantity": 1,
        ]
        var object = Self.subscription(invoice: {
            var fee = $0.lines[0]
            fee.isOneOff = true
            $0.lines = Array(repeating: fee, count: 11) + $0.lines
            $0.shownLines = 10
        })
        var full = Self.invoice()
        var fee = full.lines[0]
        fee.isOneOff = true
        full.lines = Array(repeating: fee, count: 11) + full.lines
        object["items"] = ["object": "list", "data": [item], "has_more": true]
        let session = Self.session(["mode": "subscription", "subscription": .object(object)])
        transport.on(.init(path: "/v1/subscriptions/sub_1"), respond: .init(status: 200, body: object.bytes))
        transport.on(.init(path: "/v1/checkout/sessions/cs_1"), respond: .init(status: 200, body: session.bytes))
        transport.on(
            .init(path: "/v1/subscription_items"),
            respond: .init(status: 200, body: JSONMembers([("data", [item]), ("has_more", false)]).bytes)
        )
        transport.on(
            .init(path: "/v1/invoices/in_1/lines"),
            respond: .init(status: 200, body: Array(full.linePage(.endive, 0..<12).text.utf8))
        )
        let adapter = try adapter()
        #expect(try await ask(adapter).kinds == ["started"])
        #expect(transport.requests.count == 3)
        let asked = try await adapter.receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
        #expect(asked.kinds == ["started"])
        #expect(transport.requests.count == 6)
    }
}

// MARK: Charges

extension QuestionTests {
    private static let addOn = ItemTests.addOn
    private static let renewed = RareFlowTests.next(RareFlowTests.active(.basic), invoice: "in_2")

    /// When it is worth asking for a reason, in hours after the beginning.
    private static func due(_ reason: OpenQuestion.Reason, _ deliveries: [RareFlowTests.Taken]) throws -> [Int64] {
        let open = try ItemTests.state(deliveries, try policed { _ in }).openQuestions.filter { $0.reason == reason }
        return open.map { (Int64($0.dueAt.timeIntervalSince1970) - created) / 3600 }
    }

    private static func chargeDue(_ deliveries: [RareFlowTests.Taken]) throws -> [Int64] {
        try due("charge_due", deliveries)
    }

    @Test("a change whose charge failed is a question until the subscription says more, or it is paid")
    func changeFails() throws {
        let first = RareFlowTests.active(.basic)
        let middle = created + 10 * day
        let bought = [
            RareFlowTests.began(first, .endive), ItemTests.paid([.basic], reason: "subscription_create", .endive),
        ]
        // One change, two changes that are billed together, and one to another rhythm.
        for (price, earlier, end) in [
            (StripePrice.pro, 0, first.end), (.pro, day, first.end), (.basicYear, 0, middle + 365 * day),
        ] {
            func invoice(_ type: String, at time: Int64) -> RareFlowTests.Taken {
                RareFlowTests.invoice(
                    "in_2",
                    type,
                    reason: "subscription_update",
                    lines: [
                        .init(.basic, amount: -666, from: middle - earlier, to: first.end, isProration: true),
                        .init(price, amount: 1333, from: middle, to: end, isProration: end == first.end),
                    ],
                    at: time,
                    in: .endive
                )
            }
            func updated(_ status: String, after hours: Int64) -> RareFlowTests.Taken {
                var changed = first
                (changed.status, changed.items, changed.latestInvoice) = (status, [.init("si_1", price)], "in_2")
                return RareFlowTests.updated(changed, from: first, at: middle + hours * 3600, .endive)
            }
            let life = bought + [invoice("payment_failed", at: middle)]
            #expect(try Self.due("change_failed", life) == [241])
            // Made before the charge was tried, as far as anyone knows.
            #expect(try Self.due("change_failed", life + [updated("active", after: 0)]) == [241])
            let retried = life + [updated("active", after: 2), invoice("payment_failed", at: middle + day)]
            #expect(try Self.due("change_failed", retried) == [265])
            let paid = invoice("paid", at: middle + 60)
            for settled in [updated("past_due", after: 0), updated("active", after: 2), paid] {
                #expect(try Self.due("change_failed", life + [settled]) == [])
            }
            var ended = first
            (ended.status, ended.endedAt) = ("canceled", middle + 2 * day)
            let deleted = PitfallTests.body("deleted", ended, at: middle + 2 * day, id: "evt_d")
            #expect(try Self.due("change_failed", life + [(deleted, middle + 2 * day)]) == [])
        }
    }

    @Test(
        "a period without a charge is a question, until its charge or the failure of that is known, or it is stated again"
    )
    func chargeIsDue() throws {
        let first = RareFlowTests.active(.basic)
        let began = RareFlowTests.began(first, .endive)
        let paid = ItemTests.paid([.basic], reason: "subscription_create", .endive)
        let rolled = RareFlowTests.updated(Self.renewed, from: first, at: Self.renewed.start + 60, .endive)
        let lines = [StripeInvoice.Line(.basic, from: Self.renewed.start, to: Self.renewed.end)]
        #expect(try Self.chargeDue([began]) == [3])
        #expect(try Self.chargeDue([began, paid]) == [])
        #expect(try Self.chargeDue([began, paid, rolled]) == [30 * 24 + 3])
        for type in ["paid", "payment_failed"] {
            let invoice = RareFlowTests.invoice("in_2", type, lines: lines, at: Self.renewed.start + 3600, in: .endive)
            #expect(try Self.chargeDue([began, paid, rolled, invoice]) == [], "\(type)")
        }
        var (trial, ending, both) = (first, first, first)
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", first.start, first.end)
        #expect(try Self.chargeDue([RareFlowTests.began(trial, .endive)]) == [])
        // A statement from then on says that there is nothing to wait for, such as while nothing is collected.
        ending.cancelAtPeriodEnd = true
        for (hours, due) in [(2, [3]), (4, [])] as [(Int64, [Int64])] {
            let later = RareFlowTests.updated(ending, from: first, at: created + hours * 3600, .endive)
            #expect(try Self.chargeDue([began, later]) == due)
        }
        both.items.append(.init("si_2", Self.addOn))
        let joined = RareFlowTests.updated(both, from: first, at: created + 60, .endive)
        #expect(
            try Self.chargeDue([began, joined, Self.joining(at: created + 60)]) == [3],
            "another charge is none for it"
        )
    }

    /// An add-on's invoice, for the rest of a period.
    private static func joining(at time: Int64) -> RareFlowTests.Taken {
        RareFlowTests.invoice(
            "in_3",
            reason: "subscription_update",
            lines: joiningLines(at: time),
            at: time,
            in: .endive
        )
    }

    private static func joiningLines(at time: Int64, until end: Int64 = created + 30 * day) -> [StripeInvoice.Line] {
        [.init(addOn, amount: 250, from: time, to: end, isProration: true)]
    }

    @Test("an answer shows the charge of a period before that of an add-on, with one request more")
    func earlierCharge() async throws {
        let (start, end) = (Self.renewed.start, Self.renewed.end)
        var both = Self.renewed
        (both.latestInvoice, both.items) = ("in_3", both.items + [.init("si_2", Self.addOn)])
        let joined = start + 15 * day
        func invoice(_ id: String, reason: String, lines: [StripeInvoice.Line], at time: Int64) -> JSONText {
            var invoice = StripeInvoice(id, reason: reason, lines: lines, created: time)
            invoice.paidAt = time
            return .object(invoice.object(.endive))
        }
        let lines = [StripeInvoice.Line(.basic, from: start, to: end)]
        let charge = invoice("in_2", reason: "subscription_cycle", lines: lines, at: start + 3600)
        let change = invoice(
            "in_3",
            reason: "subscription_update",
            lines: Self.joiningLines(at: joined, until: end),
            at: joined
        )
        var object = both.object(.endive)
        object["latest_invoice"] = change
        transport.on(.init(path: "/v1/subscriptions/sub_1"), respond: .init(status: 200, body: object.bytes))
        let list = JSONMembers([("object", "list"), ("has_more", false), ("data", [change, charge])])
        transport.on(.init(path: "/v1/invoices"), respond: .init(status: 200, body: list.bytes))
        let adapter = try adapter()
        let asked = joined + day
        let result = try await ask(adapter, at: asked)
        #expect(result.kinds == ["renewed"])
        #expect(
            transport.requests.last?.url.absoluteString
                == "https://api.stripe.com/v1/invoices?subscription=sub_1&status=paid&created%5Bgte%5D=\(start)&limit=100"
        )
        #expect(transport.requests.count == 2)

        // As if nothing had been lost.
        let first = RareFlowTests.active(.basic)
        let known = [
            RareFlowTests.began(first, .endive), ItemTests.paid([.basic], reason: "subscription_create", .endive),
            RareFlowTests.updated(Self.renewed, from: first, at: start + 60, .endive),
            RareFlowTests.updated(both, from: Self.renewed, at: joined, .endive),
        ]
        var state = try ItemTests.state(known, adapter)
        for event in result.events { _ = state.apply(event) }
        for statement in result.furtherStatements { state.apply(statement) }
        let policy = CreditPolicy(["prod_basic": .init(credits: 200), "prod_addon": .init(credits: 50)])
        let credits = CreditStatement(of: state, under: policy, uses: [], at: date(asked)).grants
            .filter { $0.left > 0 }.map { [$0.product: $0.left] }
        #expect(Set(credits) == [["prod_basic": 200], ["prod_addon": 25]])
        #expect(state.charges.keys.sorted() == ["in_\(created)", "in_2", "in_3"])
        #expect(state.openQuestions.map(\.reason) == [.renewalDue])
    }
}

// MARK: Outcomes

extension QuestionTests {
    @Test("a question has the identities of the events that Stripe sends")
    func identities() async throws {
        let simulator = simulator()
        let adapter = try adapter()
        func notified(_ type: String, _ object: JSONMembers, previous: JSONText? = nil) throws -> [EventID] {
            try adapter.take(
                simulator.event(type, id: "evt_1", created: created, object: .object(object), previous: previous).bytes
            ).events.map(\.id)
        }
        func asked(_ object: JSONMembers) async throws -> [EventID] {
            answer(object)
            return try await ask(adapter).events.map(\.id)
        }
        let paid = try notified("invoice.paid", Self.invoice().object(.endive))
        #expect(try await asked(Self.subscription()) == paid)
        #expect(try notified("customer.subscription.created", Self.subscription()) == paid)

        let ended = Self.subscription {
            ($0.status, $0.endedAt, $0.canceledAt) = ("canceled", created + 1, created + 1)
        }
        #expect(try await asked(ended) == (try notified("customer.subscription.deleted", ended)))

        let ending = Self.subscription { ($0.cancelAt, $0.canceledAt) = ($0.end, created) }
        let off = try notified(
            "customer.subscription.updated",
            ending,
            previous: ["cancel_at": nil, "canceled_at": nil]
        )
        #expect(off.count == 1)
        #expect(try await asked(ending) == paid + off)

        let session = Self.session()
        answer(session)
        let sold = try await adapter.receive(checkoutSession: "cs_1", receivedAt: date(Self.now)).events.map(\.id)
        #expect(sold == (try notified("checkout.session.completed", session)))
    }

    @Test("a sale by invoice has the invoice's name, and none before it is made")
    func salesByInvoice() async throws {
        let adapter = try adapter { $0.policy.sellsByInvoice = true }
        let making: JSONText = ["enabled": true]
        answer(Self.session(["invoice_creation": making, "invoice": "in_7"]))
        let sold = try await adapter.receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
        #expect(sold.events.map(\.subscription?.id) == ["in_7"])
        answer(Self.session(["invoice_creation": making]))
        let waiting = try await adapter.receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
        #expect(waiting.kinds == [])
    }

    @Test("a customer who comes back from Checkout has access before any event, under the host's own id")
    func access() async throws {
        answer(Self.session(["mode": "subscription", "subscription": .object(Self.subscription())]))
        var ledger = AccountLedger()
        _ = ledger.apply(try await adapter().receive(checkoutSession: "cs_1", receivedAt: date(Self.now)))
        for account in [
            Account.Identifier("user-42", .clientReferenceID), Account.Identifier("cus_1", .stripeCustomer),
        ] {
            let decision = ledger.access(of: account, in: .production, at: date(Self.now)).decision
            #expect(decision.isGranted)
        }
        let state = try #require(ledger.states.first)
        #expect(state.snapshot(at: date(Self.now)).willRenew == true)
        #expect(!state.access(at: date(created + 30 * day)).isGranted)
    }

    @Test("a session says whose its subscription is, also before that is paid for")
    func ownerBeforePaid() async throws {
        let open = Self.subscription(invoice: { ($0.status, $0.paidAt) = ("open", nil) })
        answer(Self.session(["mode": "subscription", "subscription": .object(open)]))
        let result = try await adapter().receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
        #expect(result.kinds == [])
        var ledger = AccountLedger()
        _ = ledger.apply(result)
        let account = Account.Identifier("user-42", .clientReferenceID)
        #expect(ledger.access(of: account, in: .production, at: date(Self.now)).decision.isGranted)
    }

    @Test("items and lines that Stripe does not give are missing, and there is no event without them")
    func missingPages() async throws {
        var object = Self.subscription(invoice: {
            $0.lines = Array(repeating: $0.lines[0], count: 11)
            $0.shownLines = 10
        })
        let endless = JSONMembers([("data", []), ("has_more", true)])
        func ask() async throws -> Normalization {
            transport.removeRules()
            transport.on(.init(path: "/v1/subscriptions/sub_1"), respond: .init(status: 200, body: object.bytes))
            transport.on(.any, respond: .init(status: 200, body: endless.bytes))
            return try await self.ask(adapter())
        }
        let withoutLines = try await ask()
        #expect(withoutLines.kinds == [])
        #expect(withoutLines.noChange?.reason == .unchanged)
        object["items"] = ["object": "list", "data": [], "has_more": true]
        #expect(try await ask().noChange?.reason == .needsLookup)
    }

    @Test(
        "the next product is the arranged one, even by a change that awaits its payment, and none without an arrangement"
    )
    func comesNext() async throws {
        var ledger = AccountLedger()
        func next(_ object: JSONMembers, at time: Int64, ofSession: Bool = false) async throws -> ProductID? {
            if ofSession {
                answer(Self.session(["mode": "subscription", "subscription": .object(object)]))
                _ = ledger.apply(try await adapter().receive(checkoutSession: "cs_1", receivedAt: date(time)))
            } else {
                answer(object)
                _ = ledger.apply(try await ask(adapter(), at: time))
            }
            return ledger.states.first?.snapshot(at: date(time)).pendingProduct
        }
        let waiting = Self.subscription {
            $0.pendingUpdate = [
                "subscription_items": [["id": "si_1", "price": StripePrice.pro.price(), "quantity": 1]]
            ]
        }
        #expect(try await next(waiting, at: Self.now) == "prod_pro")
        #expect(try await next(Self.subscription(), at: Self.now + 60) == nil)
        #expect(try await next(waiting, at: Self.now + 120) == "prod_pro")
        // A session shows no more of a schedule than its id.
        let scheduled = Self.subscription { $0.schedule = "sub_sched_1" }
        #expect(try await next(scheduled, at: Self.now + 180, ofSession: true) == "prod_pro")
        #expect(try await next(Self.subscription(), at: Self.now + 240, ofSession: true) == nil)
    }

    @Test("an answer is as new as the question, as far as Stripe's clock bears ours out")
    func clocks() async throws {
        let adapter = try adapter()
        // 2026-03-01T12:00:00Z
        let stated = "Sun, 01 Mar 2026 12:00:00 GMT"
        for (received, asserted) in [(-3600.0, -60.0), (-2.5, -2.5), (0, 0), (0.25, 0), (3600, 0)] {
            answer(Self.subscription(), date: stated)
            let time = date(created).addingTimeInterval(received)
            let event = try #require(try await adapter.receive(subscription: "sub_1", receivedAt: time).events.first)
            let expected = date(created).addingTimeInterval(asserted - 1.001)
            #expect(event.assertedAt.millisecondsSince1970 == expected.millisecondsSince1970, "\(received)")
        }
    }

    @Test("the value between the steps is all that mapping needs, and shows nothing")
    func coding() async throws {
        answer(Self.subscription(), date: "Sun, 01 Mar 2026 12:00:00 GMT")
        let adapter = try adapter()
        let resolved = try await adapter.resolve(
            "sub_1",
            of: .subscription,
            account: "acct_1",
            receivedAt: date(Self.now)
        )
        let stored = try JSONEncoder().encode(resolved)
        let read = try JSONDecoder().decode(Authenticated<StripePurchase>.self, from: stored)
        #expect(try adapter.normalize(read) == adapter.normalize(resolved))
        #expect(resolved.value.description == "subscription, 1 answers")
        #expect("\(resolved.value)" == String(reflecting: resolved.value))
        #expect(Mirror(reflecting: resolved.value).children.isEmpty)
    }

}

// MARK: News

extension QuestionTests {
    private func event(_ type: String, _ object: JSONMembers, at time: Int64 = created) throws -> Normalization {
        try adapter().take(
            simulator().event(type, id: "evt_\(type)_\(time)", created: time, object: .object(object)).bytes,
            at: time
        )
    }

    @Test("a start that was looked up before its payment is reported once, by its own event")
    func startedBeforePaid() async throws {
        let open = Self.subscription(invoice: { ($0.status, $0.paidAt) = ("open", nil) })
        answer(open)
        var ledger = AccountLedger()
        #expect(ledger.apply(try await ask(adapter())).isEmpty)
        #expect(ledger.states.first?.access(at: date(Self.now)).isGranted == true)
        let reported = ledger.apply(try event("customer.subscription.created", Self.subscription()))
        #expect(reported.map(\.disposition) == [.applied])
        #expect(reported.map(\.event.kind) == [.started])
        #expect(ledger.apply(try event("customer.subscription.created", Self.subscription())).map(\.isNews) == [false])
    }

    @Test("each of several facts in an answer is news")
    func several() async throws {
        var ending = Self.subscription { ($0.cancelAt, $0.canceledAt) = ($0.end, created) }
        ending["schedule"] = .object(Self.schedule("active"))
        answer(ending)
        var ledger = AccountLedger()
        let reported = ledger.apply(try await ask(adapter()))
        #expect(reported.map(\.event.kind) == [.started, .autoRenewDisabled, .productChangeScheduled])
        #expect(reported.map(\.isNews) == [true, true, true])
    }

    @Test("asked again, a purchase is no news")
    func askedAgain() async throws {
        answer(Self.subscription())
        var ledger = AccountLedger()
        #expect(ledger.apply(try await ask(adapter())).map(\.isNews) == [true])
        #expect(ledger.apply(try await ask(adapter())).map(\.isNews) == [false])
        #expect(ledger.apply(try await ask(adapter(), at: Self.now + 60)).map(\.isNews) == [false])
    }

    @Test("an event of the second in which Stripe was asked stands above the answer")
    func sameSecond() async throws {
        answer(Self.subscription())
        var ledger = AccountLedger()
        _ = ledger.apply(try await ask(adapter(), at: created + 60))
        let ended = Self.subscription {
            ($0.status, $0.endedAt, $0.canceledAt) = ("canceled", created + 60, created + 60)
        }
        let reported = ledger.apply(try event("customer.subscription.deleted", ended, at: created + 60))
        #expect(reported.map(\.isNews) == [true])
        _ = ledger.apply(try await ask(adapter(), at: created + 60))
        #expect(ledger.states.first?.access(at: date(created + 61)).isGranted == false)
    }

    @Test("the rest of a month before a year of the same product is not there when the year ends")
    func restarted() async throws {
        var ledger = AccountLedger()
        func ask(at time: Int64, _ change: (inout StripeSubscription) -> Void) async throws {
            answer(Self.subscription(change))
            _ = ledger.apply(try await self.ask(adapter(), at: time))
        }
        func isGranted(at time: Int64) -> Bool? { ledger.states.first?.access(at: date(time)).isGranted }
        func year(_ subscription: inout StripeSubscription) {
            subscription.items = [.init("si_1", .basicYear)]
            (subscription.start, subscription.end) = (created + 12 * day, created + 377 * day)
            subscription.startDate = created
        }
        try await ask(at: created + day) { _ in }
        try await ask(at: created + 13 * day, year)
        #expect(isGranted(at: created + 31 * day) == true)
        try await ask(at: created + 20 * day) {
            year(&$0)
            ($0.status, $0.endedAt, $0.canceledAt) = ("canceled", created + 19 * day, created + 19 * day)
        }
        #expect(isGranted(at: created + 21 * day) == false)
    }

    @Test("a year goes on beside months of the same product")
    func beside() async throws {
        func item(_ price: StripePrice, from start: Int64, to end: Int64) -> JSONText {
            [
                "id": .string("si_\(price.id)"), "object": "subscription_item", "current_period_start": .integer(start),
                "current_period_end": .integer(end), "price": price.price(), "quantity": 1,
            ]
        }
        var object = Self.subscription()
        object["items"] = [
            "object": "list", "has_more": false,
            "data": [
                item(.basicYear, from: created - day, to: created + 364 * day),
                item(.basic, from: created, to: created + 30 * day),
            ],
        ]
        answer(object)
        var ledger = AccountLedger()
        _ = ledger.apply(try await ask(adapter()))
        #expect(ledger.states.first?.access(at: date(created + 31 * day)).isGranted == true)
    }

    @Test("a refunded sale is none, and takes nothing back that its refund has not")
    func refunded() async throws {
        answer(
            Self.session([
                "payment_intent": ["id": "pi_1", "latest_charge": ["id": "ch_1", "refunded": true]]
            ])
        )
        let result = try await adapter().receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
        #expect(result.kinds == [])
        #expect(result.noChange?.statement == nil)
        #expect(result.noChange?.reason == .stale)
    }

    @Test("a sale of which a part was captured has the amount that was taken")
    func capturedInPart() async throws {
        for (currency, amount) in [("usd", 20), ("eur", 49)] as [(JSONText, Int)] {
            let charge: JSONText = [
                "id": "ch_1", "amount": 4900, "amount_captured": 2000, "amount_refunded": 2900, "currency": currency,
                "refunded": false,
            ]
            answer(Self.session(["payment_intent": ["id": "pi_1", "latest_charge": charge]]))
            let result = try await adapter().receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
            #expect(result.events.map(\.price) == [Price(Money(ExactDecimal(Int64(amount)), "USD"), .charged)])
        }
    }
}
