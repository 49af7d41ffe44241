import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// More of what published implementations get wrong, by the row that says so.
@Suite("Stripe pitfalls by row")
struct PitfallRowTests {
    static let versions = PitfallTests.versions

    static func statements(_ body: [UInt8], at time: Int64 = created, _ adapter: StripeAdapter) throws
        -> [StoreStatement]
    {
        try adapter.take(body, at: time).statements
    }

    static func dispute(_ status: String, from previous: String? = nil, at time: Int64) -> [UInt8] {
        let dispute: JSONText = [
            "id": "dp_1", "object": "dispute", "status": .string(status), "charge": "ch_1", "amount": 999,
            "currency": "usd", "payment_intent": "pi_1",
        ]
        let before: JSONText? = previous.map { ["status": .string($0)] }
        return PaymentJoinTests.event("charge.dispute.closed", dispute, previous: before, at: time, in: .endive).body
    }

    @Test("O2: taking a cancellation back leaves nothing of it", arguments: versions)
    func uncanceled(version: StripeSimulator.Version) throws {
        let canceled = PitfallTests.active {
            ($0.cancelAt, $0.canceledAt, $0.cancelAtPeriodEnd) = ($0.end, created - day, true)
        }
        let again = PitfallTests.active()
        let state = try PitfallTests.state(
            [
                (PitfallTests.body("updated", canceled, at: created - day, in: version), created - day),
                (
                    PitfallTests.body("updated", again, previous: canceled.previous(again, version), in: version),
                    created
                ),
            ],
            adapter()
        )
        let snapshot = state.snapshot(at: date(created))
        #expect(snapshot.willRenew == true)
        #expect(snapshot.willNotRenewBecause == nil)
    }

    @Test("O5: a cancellation that comes before the purchase locks nobody out", arguments: versions)
    func canceledFirst(version: StripeSimulator.Version) throws {
        let first = StripeSubscription(status: "active", from: created, to: created + 30 * day, latestInvoice: "in_1")
        var canceled = first
        (canceled.cancelAt, canceled.canceledAt) = (first.end, created + 60)
        let deliveries = [
            (PitfallTests.body("created", first, in: version), created),
            (
                PitfallTests.body(
                    "updated",
                    canceled,
                    previous: first.previous(canceled, version),
                    at: created + 60,
                    in: version
                ),
                created + 60
            ),
        ]
        for order in [deliveries, deliveries.reversed()] {
            let state = try PitfallTests.state(order, adapter())
            #expect(state.access(at: date(created + 29 * day)).isGranted)
            #expect(!state.access(at: date(created + 30 * day)).isGranted)
            #expect(state.snapshot(at: date(created + day)).willRenew == false)
        }
    }

    @Test("O6, O8: an answer that we did not get gives nothing, and the next delivery asks again")
    func failedLookup() async throws {
        let transport = StubTransport()
        let adapter = try adapter {
            var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
            lookup.maximumAttempts = 1
            $0.lookup = lookup
        }
        let delivery = try simulator().delivery(
            LookupTests.thin("v1.customer.subscription.created"),
            receivedAt: date(created)
        )
        for (status, code) in [
            (500, DeliveryError.Code.unavailable), (400, .unavailable), (401, .unavailable), (404, .misdirected),
        ] {
            transport.removeRules()
            transport.on(.any, respond: HTTPTransportResponse(status: status, body: Array("{}".utf8)))
            let error = await #expect(throws: DeliveryError.self) { try await adapter.receive(delivery) }
            #expect(error?.code == code)
        }
        transport.removeRules()
        transport.on(.any, respond: LookupTests.subscription { ($0.status, $0.endedAt) = ("active", nil) })
        #expect(try await adapter.receive(delivery).kinds == ["started"])
        #expect(transport.requests.count == 5)
    }

    @Test("O11: an upgrade has the new product, a scheduled change keeps the old one and names the next")
    func changes() throws {
        let adapter = try adapter()
        let before = PitfallTests.active { $0.items = [.init("si_1", .pro)] }
        var state = try PitfallTests.state([(PitfallTests.body("updated", before), created)], adapter)
        func phase(_ price: String, _ product: String, from start: Int64, to end: Int64) -> JSONText {
            [
                "start_date": .integer(start), "end_date": .integer(end),
                "items": [["price": ["id": .string(price), "product": .string(product)], "quantity": 1]],
            ]
        }
        let now = phase("price_pro_month", "prod_pro", from: created - 10 * day, to: created + 20 * day)
        let later = phase("price_basic_month", "prod_basic", from: created + 20 * day, to: created + 50 * day)
        func schedule(_ type: String, _ phases: [JSONText], previous: [JSONText]?, at time: Int64) -> [UInt8] {
            simulator().event(
                "subscription_schedule.\(type)",
                id: "evt_\(time)",
                created: time,
                object: [
                    "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1",
                    "phases": .array(phases), "status": "active", "subscription": "sub_1",
                ],
                previous: previous.map { ["phases": .array($0)] }
            ).bytes
        }
        let scheduled = schedule("updated", [now, later], previous: [now], at: created + 60)
        for statement in try Self.statements(scheduled, at: created + 60, adapter) { state.apply(statement) }
        #expect(state.snapshot(at: date(created + 120)).product == "prod_pro")
        #expect(state.snapshot(at: date(created + 120)).pendingProduct == "prod_basic")
        #expect(state.access(at: date(created + 120)).isGranted)
        let withdrawn = schedule("updated", [now], previous: [now, later], at: created + 180)
        for statement in try Self.statements(withdrawn, at: created + 180, adapter) { state.apply(statement) }
        #expect(state.snapshot(at: date(created + 240)).pendingProduct == nil)
        #expect(state.snapshot(at: date(created + 240)).product == "prod_pro")
    }

    @Test("O12, N4: money of a past period leaves the current one alone, of the current one it ends it")
    func pastDispute() async throws {
        for (start, isGranted) in [(created - 40 * day, true), (created - 10 * day, false)] {
            let transport = StubTransport()
            var invoice = StripeInvoice(
                "in_9",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: start, to: start + 30 * day)],
                created: start
            )
            invoice.paidAt = start
            let payments: JSONText = [
                "object": "list", "has_more": false,
                "data": [["id": "inpay_1", "object": "invoice_payment", "invoice": .object(invoice.object(.endive))]],
            ]
            transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(payments.text.utf8)))
            let adapter = try adapter {
                var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
                lookup.completesSnapshots = true
                $0.lookup = lookup
            }
            var before = PitfallTests.active { ($0.start, $0.end) = (created - 40 * day, created - 10 * day) }
            before.latestInvoice = "in_0"
            var state = try PitfallTests.state(
                [
                    (PitfallTests.body("updated", before, at: created - 40 * day), created - 40 * day),
                    (PitfallTests.body("updated", PitfallTests.active(), at: created - 10 * day), created - 10 * day),
                ],
                adapter
            )
            let delivery = try simulator().delivery(
                Self.dispute("lost", at: created),
                receivedAt: date(created + 2)
            )
            let result = try await adapter.receive(delivery)
            #expect(result.kinds == ["chargeback"])
            for statement in result.statements { state.apply(statement) }
            #expect(state.access(at: date(created + day)).isGranted == isGranted)
        }
    }

    @Test("O13, O15, O16: a reversal is no start, a payment that never came no refund, a part not the whole")
    func money() throws {
        let adapter = try adapter()
        let reversed = try OneFactTests.events(
            "refund.failed",
            OneFactTests.refund("failed"),
            previous: ["status": "succeeded"],
            by: adapter
        )
        #expect(reversed.map(\.kind) == [.refundReversed])
        let unpaid = try OneFactTests.events(
            "checkout.session.async_payment_failed",
            OneFactTests.session(invoice: nil, isPaid: false),
            by: adapter
        )
        #expect(unpaid.map(\.kind) == [.purchasePendingCanceled])
        #expect(unpaid.map(\.event.accessEffect) == [.none])
        let part = try OneFactTests.events("refund.created", OneFactTests.refund("succeeded"), by: adapter)
        let scopes = part.map { event -> LifecycleEvent.Refund.Scope? in
            if case .refunded(let refund) = event.event { refund.scope } else { nil }
        }
        #expect(scopes == [.amount(Money(ExactDecimal(5), "USD"))])
        #expect(try adapter.take(Self.dispute("lost", at: created)).kinds == ["chargeback"])
    }

    @Test("O17, O18: the world is the one that Stripe states, and without a word of it none")
    func environments() throws {
        for (isLive, environment) in [
            (true, StoreEnvironment.production), (false, .sandbox), (nil, .unknown),
        ] as [(Bool?, StoreEnvironment)] {
            var event = simulator().event(
                "customer.subscription.created",
                id: "evt_1",
                created: created,
                object: .object(PitfallTests.active().object(.endive))
            )
            event["livemode"] = isLive.map { .bool($0) }
            let events = try adapter().take(event.bytes).events
            #expect(events.map(\.environment) == [environment])
            #expect(events.map(\.subscription?.environment) == [environment])
            for mode in [StripeAdapter.Mode.live, .test] {
                let adapter = try adapter { $0.mode = mode }
                let isTaken = (try? adapter.take(event.bytes)) != nil
                #expect(isTaken == (isLive == (mode == .live)) || isLive == nil && !isTaken)
            }
        }
    }

    @Test("O20: an event without a time is refused, never dated by our clock")
    func noTime() throws {
        var event = simulator().event("customer.updated", id: "evt_1", created: created, object: ["id": "cus_1"])
        event["created"] = nil
        let adapter = try adapter()
        let body = event.bytes
        let error = #expect(throws: DeliveryError.self) { try adapter.take(body) }
        #expect(error?.code == .malformed && error?.isAuthentic == true)
    }

    @Test("O21, L2, U4, D10: whatever the type and its object, the event is kept")
    func everyType() throws {
        let adapter = try adapter()
        for type in ["ping", "product.created", "treasury.dream", "x", "invoice.paid.tomorrow"] {
            for object in [["object": "dream"], [:], ["id": 7]] as [JSONText] {
                let body = simulator().event(type, id: "evt_1", created: created, object: object).bytes
                let result = try adapter.take(body)
                #expect(result.kinds == [type == "ping" ? "notice" : "unmapped"], "\(type)")
                #expect(result.events.first?.origin.type == type)
            }
        }
    }

    @Test("O22, N7: Stripe delivers again after every answer but 2xx, so only what can succeed later is refused")
    func answers() throws {
        func answer(_ code: DeliveryError.Code, isAuthentic: Bool) -> Int {
            Acknowledgement(
                for: .failure(DeliveryError(code, "", isAuthentic: isAuthentic)),
                provider: .stripe
            ).status
        }
        #expect(answer(.malformed, isAuthentic: true) == 200)
        #expect(answer(.misdirected, isAuthentic: true) == 200)
        #expect(answer(.unavailable, isAuthentic: true) == 503)
        #expect(answer(.unauthenticated, isAuthentic: false) == 400)
        #expect(answer(.stale, isAuthentic: false) == 400)
    }

    @Test("O23: a trial has cost nothing, and a coupon is seen in the price", arguments: versions)
    func prices(version: StripeSimulator.Version) throws {
        let trial = PitfallTests.active { ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end) }
        #expect(try adapter().take(PitfallTests.body("created", trial, in: version)).events.map(\.price) == [nil])
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_create",
            lines: [.init(.basic, from: created, to: created + 30 * day)],
            created: created
        )
        invoice.discount = 500
        let events = try OneFactTests.events(
            "invoice.paid",
            .object(invoice.object(version)),
            by: adapter(),
            in: version
        )
        #expect(events.map(\.price?.money.description) == ["4.99 USD"])
    }

    @Test("O24, N3: what comes late still counts, and takes nothing back", arguments: versions)
    func late(version: StripeSimulator.Version) throws {
        let adapter = try adapter()
        let month = PitfallTests.active()
        let next = PitfallTests.active {
            ($0.start, $0.end, $0.latestInvoice) = ($0.end, $0.end + 30 * day, "in_2")
        }
        let roll = created + 20 * day
        let older = (PitfallTests.body("updated", month, in: version), created)
        let newer = (
            PitfallTests.body("updated", next, previous: month.previous(next, version), at: roll, in: version), roll
        )
        let paid = (PitfallTests.paid("in_1", from: created - 10 * day, at: created - 10 * day), created - 10 * day)
        let late = try PitfallTests.state([newer, older, paid], adapter)
        #expect(late == (try PitfallTests.state([paid, older, newer], adapter)))
        #expect(late.access(at: date(roll + 29 * day)).isGranted)
        #expect(late.access(at: date(created - 9 * day)).isGranted)
    }

    @Test("U3: a retry, signed anew and received later, is the same event")
    func retries() throws {
        let adapter = try adapter()
        let body = PitfallTests.body("created", PitfallTests.active())
        let ids = try [0, 3600, 3 * day].map { wait in
            let delivery = try simulator().delivery(body, receivedAt: date(created + wait))
            return try adapter.normalize(try adapter.authenticate(delivery)).events.map(\.id)
        }
        #expect(Set(ids).count == 1)
    }

    @Test("L1: no weaker scheme stands in for a missing signature")
    func downgrade() throws {
        let body = PitfallTests.body("created", PitfallTests.active())
        let code = try StripeSimulator.code(body, timestamp: String(created), secret: secret)
        let adapter = try adapter()
        for header in ["t=\(created),v0=\(code)", "t=\(created),v2=\(code)", "t=\(created)", "v1=\(code)"] {
            let delivery = Delivery(
                headers: ["Stripe-Signature": header],
                body: body,
                receivedAt: date(created)
            )
            let error = #expect(throws: DeliveryError.self, "\(header)") { try adapter.authenticate(delivery) }
            #expect(error?.code == .unauthenticated || error?.code == .malformed)
        }
    }

    @Test("Y5, K1: a malformed header has a code, and neither an old nor a future timestamp passes")
    func headers() throws {
        let body = PitfallTests.body("created", PitfallTests.active())
        let adapter = try adapter()
        func error(_ header: String?) throws -> DeliveryError? {
            var headers = Delivery.Headers()
            if let header { headers.add("Stripe-Signature", header) }
            let delivery = Delivery(headers: headers, body: body, receivedAt: date(created))
            return #expect(throws: DeliveryError.self) { try adapter.authenticate(delivery) }
        }
        for header in ["", ",", "=", "t", "t=", "t=,v1=", "v1=x", "t=x,v1=y", "t=1=2,v1=3", "\u{0}", "💥"] {
            let code = try error(header)?.code
            #expect(code == .malformed || code == .unauthenticated, "\(header)")
        }
        #expect(try error(nil)?.code == .unauthenticated)
        for time in [created - 301, created + 301, 0, 4_102_444_800] {
            let signed = try StripeSimulator.header(body, timestamp: String(time), secrets: [secret])
            #expect(try error(signed)?.code == .stale)
        }
    }

    @Test("K1: octets that are no UTF-8, unsigned, are refused for their signature")
    func unsignedOctets() throws {
        let delivery = Delivery(
            headers: ["Stripe-Signature": "t=\(created),v1=\(String(repeating: "a", count: 64))"],
            body: [0xFF, 0xFE, 0xC3, 0x28],
            receivedAt: date(created)
        )
        let adapter = try adapter()
        let error = #expect(throws: DeliveryError.self) { try adapter.authenticate(delivery) }
        #expect(error?.code == .unauthenticated)
    }
}
