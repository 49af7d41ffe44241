import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// `capture_method=manual`: Checkout completes a session while its money is only held, with `payment_status` `unpaid`
/// (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method). Money that is taken later is a `charge.captured`.
@Suite("Sales whose money is held first")
struct CaptureTests {
    private let transport = StubTransport()
    private static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "pi_1")
    private static let policy = CreditPolicy(["coins": .init(credits: 50)])

    private static func session(_ intent: String = "pi_1", isShown: Bool = false) -> JSONText {
        var session: [(String, JSONText)] = [
            ("id", "cs_1"), ("object", "checkout.session"), ("amount_total", 1000), ("currency", "usd"),
            ("customer", "cus_1"), ("mode", "payment"), ("payment_intent", .string(intent)),
            ("payment_status", .string(isShown ? "paid" : "unpaid")), ("status", "complete"),
        ]
        if isShown {
            let item: JSONText = [
                "id": "li_1", "object": "item", "amount_total": 1000, "quantity": 1,
                "price": [
                    "id": "price_coins", "object": "price", "currency": "usd", "product": "coins", "unit_amount": 1000,
                ],
            ]
            session.append(("line_items", ["object": "list", "data": [item], "has_more": false]))
        }
        return .object(JSONMembers(session))
    }

    private static func charge(_ type: String, captured: Int64, intent: JSONText = "pi_1") -> RareFlowTests.Taken {
        let charge: JSONText = [
            "id": "ch_1", "object": "charge", "amount": 1000, "amount_captured": .integer(captured),
            // Stripe counts as refunded what was held and not taken.
            "amount_refunded": .integer(captured > 0 ? 1000 - captured : 0),
            "captured": .bool(captured > 0), "currency": "usd", "customer": "cus_1", "payment_intent": intent,
            "refunded": false,
        ]
        return PaymentJoinTests.event(type, charge, at: created + (captured > 0 ? day : 0), in: .endive)
    }

    private func adapter(_ sessions: [JSONText]) throws -> StripeAdapter {
        let page: JSONText = ["object": "list", "data": .array(sessions), "has_more": false]
        transport.on(.init(path: "/v1/checkout/sessions"), respond: .init(status: 200, body: Array(page.text.utf8)))
        return try StripeTests.adapter {
            var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
            lookup.completesSnapshots = true
            $0.lookup = lookup
        }
    }

    private func receive(_ taken: RareFlowTests.Taken, _ adapter: StripeAdapter) async throws -> Normalization {
        try await adapter.receive(simulator().delivery(taken.body, receivedAt: date(taken.time + 2)))
    }

    private static let completed = PaymentJoinTests.event(
        "checkout.session.completed",
        session(),
        at: created,
        in: .endive
    )

    @Test(
        "held money buys nothing, and once it is taken the session's items are bought",
        arguments: [1000, 600] as [Int64]
    )
    func captured(amount: Int64) async throws {
        let adapter = try adapter([Self.session(isShown: true)])
        var host = try RareFlowTests.Host(adapter)
        let held = [Self.charge("charge.succeeded", captured: 0), Self.completed]
        for taken in held { host.take(try StripeTests.adapter().take(taken.body, at: taken.time)) }
        #expect(host.kinds == ["purchase_pending"])
        #expect(
            CreditStatement(of: host.ledger.states, under: Self.policy, uses: [], at: date(created + day)).balance == 0
        )

        let result = try await receive(Self.charge("charge.captured", captured: amount), adapter)
        host.take(result)
        #expect(host.kinds == ["purchase_pending", "one_time_purchased"])
        let event = try #require(result.events.first)
        #expect(event.id == .purchased(Self.lineage, transaction: "pi_1", product: "coins"))
        #expect(event.price == Price(Money(ExactDecimal(amount / 100), "USD"), .charged))
        #expect(event.account == Account("cus_1", .stripeCustomer))
        let time = date(created + 2 * day)
        #expect(CreditStatement(of: host.ledger.states, under: Self.policy, uses: [], at: time).balance == 50)
        // All of what was taken goes back.
        let refund = PaymentJoinTests.refund("re_1", amount, of: "pi_1", at: created + 3 * day, in: .endive)
        host.take(try StripeTests.adapter().take(refund.body, at: refund.time))
        let refunded = date(created + 4 * day)
        #expect(CreditStatement(of: host.ledger.states, under: Self.policy, uses: [], at: refunded).balance == 0)
    }

    @Test("without a look-up it is none of a sale, and nothing that waits")
    func unasked() throws {
        let taken = Self.charge("charge.captured", captured: 1000)
        let result = try StripeTests.adapter().take(taken.body, at: taken.time)
        #expect(result.events.isEmpty && result.noChange?.reason == .reportedElsewhere)
    }

    @Test("a payment that no session asked for, or that another session asked for, is none of a sale")
    func other() async throws {
        for sessions in [[], [Self.session("pi_2", isShown: true)]] as [[JSONText]] {
            let result = try await receive(Self.charge("charge.captured", captured: 1000), try adapter(sessions))
            #expect(result.events.isEmpty && result.noChange?.reason == .reportedElsewhere)
        }
        let nameless = try await receive(Self.charge("charge.captured", captured: 1000, intent: .null), try adapter([]))
        #expect(nameless.events.isEmpty && nameless.noChange?.reason == .reportedElsewhere)
    }

    /// Stripe releases what is not taken by a refund, which moves no money.
    private static func released(_ refunded: Int64, captured: Int64, before: Int64) -> RareFlowTests.Taken {
        let charge: JSONText = [
            "id": "ch_1", "object": "charge", "amount": 1000, "amount_captured": .integer(captured),
            "amount_refunded": .integer(refunded), "captured": .bool(captured > 0), "currency": "usd",
            "payment_intent": "pi_1", "refunded": .bool(refunded == 1000),
        ]
        return PaymentJoinTests.event(
            "charge.refunded",
            charge,
            previous: ["amount_refunded": .integer(before)],
            at: created + 3 * day,
            in: .endive
        )
    }

    @Test("what is released of a hold is no money that went back")
    func released() async throws {
        let adapter = try adapter([Self.session(isShown: true)])
        var host = try RareFlowTests.Host(adapter)
        host.take(try await receive(Self.charge("charge.captured", captured: 600), adapter))
        let plain = try StripeTests.adapter()
        func left() -> Int64 {
            CreditStatement(of: host.ledger.states, under: Self.policy, uses: [], at: date(created + 4 * day)).balance
        }
        let rest = Self.released(400, captured: 600, before: 0)
        host.take(try plain.take(rest.body, at: rest.time))
        #expect(host.kinds == ["one_time_purchased"] && left() == 50)
        // A third of what was taken.
        let refund = Self.released(600, captured: 600, before: 400)
        let result = try plain.take(refund.body, at: refund.time)
        host.take(result)
        #expect(result.events.first?.price?.money == Money(ExactDecimal(2), "USD"))
        #expect((33...34).contains(left()))
        let last = Self.released(1000, captured: 600, before: 600)
        let whole = try plain.take(last.body, at: last.time)
        #expect(whole.events.map(\.event.kind) == [.refunded])
        host.take(whole)
        #expect(left() == 0)
        // Nothing was taken of a hold that is given up.
        let none = Self.released(1000, captured: 0, before: 0)
        #expect(try plain.take(none.body, at: none.time).events.isEmpty)
    }

    private static let canceled: RareFlowTests.Taken = PaymentJoinTests.event(
        "payment_intent.canceled",
        [
            "id": "pi_1", "object": "payment_intent", "amount": 1000, "amount_received": 0,
            "cancellation_reason": "automatic", "currency": "usd", "customer": "cus_1", "status": "canceled",
        ],
        at: created + 7 * day,
        in: .endive
    )

    @Test("a payment that is given up ends the sale that waited for it, as one that failed does")
    func givenUp() async throws {
        let adapter = try adapter([Self.session()])
        var host = try RareFlowTests.Host(adapter)
        host.take(try StripeTests.adapter().take(Self.completed.body, at: Self.completed.time))
        let result = try await receive(Self.canceled, adapter)
        host.take(result)
        #expect(host.kinds == ["purchase_pending", "purchase_pending_canceled"])
        let failed = PaymentJoinTests.event(
            "checkout.session.async_payment_failed",
            Self.session(),
            at: created + 7 * day,
            in: .endive
        )
        let failure = try StripeTests.adapter().take(failed.body, at: failed.time)
        #expect(result.events.map(\.id) == failure.events.map(\.id))
    }

    @Test("a payment that is given up, and that no completed session waited for, is none of a sale")
    func givenUpWithoutSale() async throws {
        var open = Self.session().text
        open = open.replacing("\"status\":\"complete\"", with: "\"status\":\"expired\"")
        for sessions in [[], [Self.session("pi_2")], [.raw(open)]] as [[JSONText]] {
            let result = try await receive(Self.canceled, try adapter(sessions))
            #expect(result.events.isEmpty && result.noChange?.reason == .reportedElsewhere)
        }
        let unasked = try StripeTests.adapter().take(Self.canceled.body, at: Self.canceled.time)
        #expect(unasked.events.isEmpty && unasked.noChange?.reason == .reportedElsewhere)
    }
}
