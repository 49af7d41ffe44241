import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

/// A yearly plan with a monthly add-on, whose months roll.
@Suite("Items that are billed in different rhythms")
struct MixedIntervalTests {
    private static func item(_ id: String, _ product: String, _ from: Int64, _ to: Int64) -> JSONText {
        [
            "id": .string(id), "object": "subscription_item", "quantity": 1, "current_period_start": .integer(from),
            "current_period_end": .integer(to),
            "price": [
                "id": .string("price_" + product), "object": "price", "product": .string(product), "currency": "usd",
                "unit_amount": 1000,
                "recurring": [
                    "interval": .string(product == "year" ? "year" : "month"), "interval_count": 1,
                    "usage_type": "licensed",
                ],
            ],
        ]
    }

    private static func subscription(_ status: String, _ items: [JSONText], _ invoice: String) -> JSONText {
        [
            "id": "sub_1", "object": "subscription", "customer": "cus_1", "status": .string(status),
            "start_date": .integer(created), "cancel_at_period_end": false, "cancel_at": nil,
            "latest_invoice": .string(invoice), "metadata": [:],
            "items": ["object": "list", "data": .array(items), "has_more": false],
        ]
    }

    private static let year = item("si_y", "year", created, created + 365 * day)
    private static let months = [
        item("si_m", "addon", created, created + 30 * day),
        item("si_m", "addon", created + 30 * day, created + 60 * day),
    ]

    private struct Host {
        let adapter: StripeAdapter
        var state = SubscriptionState(PitfallTests.lineage)

        /// Takes an event about the subscription, and gives what became of it.
        mutating func take(
            _ type: String,
            _ object: JSONText,
            previous: JSONText? = nil,
            at time: Int64
        ) throws -> [String] {
            let event = simulator().event(type, id: "evt_\(time)", created: time, object: object, previous: previous)
            let result = try adapter.take(event.bytes, at: time)
            for statement in result.statements { state.apply(statement) }
            return result.kinds
        }

        func isGranted(_ days: Int64) -> Bool { state.access(at: date(created + days * day)).isGranted }
    }

    /// Both items, and then the roll of the add-on's month.
    private func rolled() throws -> Host {
        var host = Host(adapter: try adapter())
        _ = try host.take(
            "customer.subscription.created",
            Self.subscription("active", [Self.year, Self.months[0]], "in_1"),
            at: created
        )
        #expect(host.isGranted(100))
        let roll = try host.take(
            "customer.subscription.updated",
            Self.subscription("active", [Self.year, Self.months[1]], "in_2"),
            previous: ["items": ["data": .array([Self.year, Self.months[0]])], "latest_invoice": "in_1"],
            at: created + 30 * day
        )
        #expect(roll == [])
        #expect(host.isGranted(100), "the year was paid for")
        return host
    }

    @Test("a month of the add-on does not end the year of the plan")
    func addOnEnds() throws {
        var host = try rolled()
        _ = try host.take(
            "customer.subscription.updated",
            Self.subscription("active", [Self.year], "in_2"),
            previous: ["items": ["data": .array([Self.year, Self.months[1]])]],
            at: created + 35 * day
        )
        #expect(host.isGranted(200), "the year was paid for, and the add-on is gone")
        #expect(host.state.snapshot(at: date(created + 100 * day)).product == "year")
    }

    @Test("a plan that the subscription does not list any more gives no access, also where nobody said that it went")
    func planEnds() throws {
        var host = try rolled()
        _ = try host.take(
            "customer.subscription.updated",
            Self.subscription("active", [Self.year, Self.months[1]], "in_2"),
            previous: ["metadata": ["a": "b"]],
            at: created + 32 * day
        )
        _ = try host.take(
            "customer.subscription.deleted",
            Self.subscription("canceled", [Self.months[1]], "in_2"),
            at: created + 40 * day
        )
        #expect(!host.isGranted(41))
        #expect(!host.isGranted(300))
    }
}
