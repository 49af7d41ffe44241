import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Notifications of types that give an event elsewhere, and here must not.
@Suite("Events of Stripe that report nothing")
struct SilentTests {
    @Test(
        "a thin event that its object shows no more is stale",
        arguments: [
            ("active", "canceled"), ("active", "past_due"), ("active", "paused"), ("trialing", "unpaid"),
            ("past_due", "active"), ("past_due", "canceled"), ("unpaid", "active"), ("incomplete_expired", "active"),
            ("paused", "active"), ("resumed", "paused"), ("resumed", "canceled"), ("deleted", "active"),
        ]
    )
    func stale(type: String, status: String) async throws {
        let transport = StubTransport()
        var subscription = StripeSubscription(status: status, from: created, to: created + 30 * day)
        subscription.startDate = created
        if status == "canceled" { subscription.endedAt = created + 1 }
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: subscription.object(.endive).bytes))
        let adapter = try adapter {
            $0.lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
        }
        let body = LookupTests.thin("v1.customer.subscription.\(type)")
        let result = try await adapter.receive(try simulator().delivery(body, receivedAt: date(created + 2)))
        #expect(result.kinds == [])
        #expect(result.noChange?.reason == .stale)
        // The object is still stated.
        #expect(result.noChange?.statement?.facts.isEmpty == false)
    }

    @Test("a refund that succeeds is no reversal if its charge reports it", arguments: ["pending", "succeeded"])
    func refundUpdated(status: String) throws {
        for version in [StripeSimulator.Version.v2020, .endive] {
            let events = try OneFactTests.events(
                "charge.refund.updated",
                OneFactTests.refund(status),
                previous: ["status": "requires_action"],
                by: adapter(),
                in: version
            )
            #expect(events == [])
        }
    }

    @Test("a session that sells a subscription reports no purchase, and no failed one")
    func subscriptionSession() throws {
        for (type, kinds) in [
            ("checkout.session.async_payment_failed", []), ("checkout.session.completed", [.notice]),
        ] as [(String, [LifecycleEvent.Kind])] {
            let session: JSONText = [
                "id": "cs_1", "object": "checkout.session", "customer": "cus_1", "mode": "subscription",
                "payment_status": "unpaid", "status": "complete", "subscription": "sub_1",
            ]
            #expect(try OneFactTests.events(type, session, by: adapter()).map(\.kind) == kinds)
        }
    }

    @Test("a schedule that is over arranges nothing", arguments: ["canceled", "completed", "released"])
    func endedSchedule(status: String) throws {
        func phase(_ price: String, _ product: String, from start: Int64, to end: Int64) -> JSONText {
            [
                "start_date": .integer(start), "end_date": .integer(end),
                "items": [["price": ["id": .string(price), "product": .string(product)], "quantity": 1]],
            ]
        }
        let phases: JSONText = [
            phase("price_pro_month", "prod_pro", from: created - 10 * day, to: created + 20 * day),
            phase("price_basic_month", "prod_basic", from: created + 20 * day, to: created + 50 * day),
        ]
        func reported(_ status: String) throws -> [LifecycleEvent.Kind] {
            let schedule: JSONText = [
                "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1", "phases": phases,
                "status": .string(status), "subscription": "sub_1",
            ]
            return try OneFactTests.events(
                "subscription_schedule.updated",
                schedule,
                previous: ["phases": []],
                by: adapter()
            ).map(\.kind)
        }
        #expect(try reported("active") == [.productChangeScheduled])
        #expect(try reported(status) == [])
    }
}
