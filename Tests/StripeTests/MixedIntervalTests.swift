import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

@Suite("Items that are billed in different rhythms")
struct MixedIntervalTests {
    @Test("a month of the add-on does not end the year of the plan")
    func mixedIntervals() throws {
        func item(_ id: String, _ product: String, _ from: Int64, _ to: Int64) -> JSONText {
            [
                "id": .string(id), "object": "subscription_item", "quantity": 1, "current_period_start": .integer(from),
                "current_period_end": .integer(to),
                "price": [
                    "id": .string("price_" + product), "object": "price", "product": .string(product),
                    "currency": "usd",
                    "unit_amount": 1000,
                    "recurring": [
                        "interval": .string(product == "year" ? "year" : "month"), "interval_count": 1,
                        "usage_type": "licensed",
                    ],
                ],
            ]
        }
        func subscription(_ status: String, _ items: [JSONText], _ invoice: String) -> JSONText {
            [
                "id": "sub_1", "object": "subscription", "customer": "cus_1", "status": .string(status),
                "start_date": .integer(created), "cancel_at_period_end": false, "cancel_at": nil,
                "latest_invoice": .string(invoice), "metadata": [:],
                "items": ["object": "list", "data": .array(items), "has_more": false],
            ]
        }
        let year = item("si_y", "year", created, created + 365 * day)
        let m0 = item("si_m", "addon", created, created + 30 * day)
        let m1 = item("si_m", "addon", created + 30 * day, created + 60 * day)
        let adapter = try adapter()
        var state = SubscriptionState(PitfallTests.lineage)
        func apply(_ body: JSONText, _ type: String, previous: JSONText? = nil, at time: Int64) throws -> [String] {
            let event = simulator().event(type, id: "evt_\(time)", created: time, object: body, previous: previous)
            let result = try adapter.take(event.bytes, at: time)
            for statement in result.statements { state.apply(statement) }
            return result.kinds
        }
        _ = try apply(subscription("active", [year, m0], "in_1"), "customer.subscription.created", at: created)
        #expect(state.access(at: date(created + 100 * day)).isGranted)
        let roll = try apply(
            subscription("active", [year, m1], "in_2"),
            "customer.subscription.updated",
            previous: ["items": ["data": .array([year, m0])], "latest_invoice": "in_1"],
            at: created + 30 * day
        )
        #expect(roll == [])
        #expect(state.access(at: date(created + 100 * day)).isGranted, "the year was paid for")
        // The add-on goes; the plan stays.
        _ = try apply(
            subscription("active", [year], "in_2"),
            "customer.subscription.updated",
            previous: ["items": ["data": .array([year, m1])]],
            at: created + 35 * day
        )
        #expect(state.access(at: date(created + 200 * day)).isGranted, "the year was paid for, and the add-on is gone")
        let snapshot = state.snapshot(at: date(created + 100 * day))
        #expect(snapshot.product == "year")
    }
}
