import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A yearly plan with a monthly add-on, whose months roll.
@Suite("Items that are billed in different rhythms")
struct MixedIntervalTests {
    private static func item(_ id: String, _ product: String, from: Int64, to: Int64) -> JSONText {
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

    static func subscription(
        _ status: String,
        _ items: [JSONText],
        invoice: String,
        cancelAt end: Int64? = nil,
        atPeriodEnd: Bool = false
    ) -> JSONText {
        [
            "id": "sub_1", "object": "subscription", "customer": "cus_1", "status": .string(status),
            "start_date": .integer(created), "cancel_at_period_end": .bool(atPeriodEnd),
            "cancel_at": end.map { .integer($0) } ?? nil, "canceled_at": .integer(created + 33 * day),
            "latest_invoice": .string(invoice), "metadata": [:],
            "items": ["object": "list", "data": .array(items), "has_more": false],
        ]
    }

    private static let year = item("si_y", "year", from: created, to: created + 365 * day)
    private static let months = [
        item("si_m", "addon", from: created, to: created + 30 * day),
        item("si_m", "addon", from: created + 30 * day, to: created + 60 * day),
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
            Self.subscription("active", [Self.year, Self.months[0]], invoice: "in_1"),
            at: created
        )
        #expect(host.isGranted(100))
        let roll = try host.take(
            "customer.subscription.updated",
            Self.subscription("active", [Self.year, Self.months[1]], invoice: "in_2"),
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
            Self.subscription("active", [Self.year], invoice: "in_2"),
            previous: ["items": ["data": .array([Self.year, Self.months[1]])]],
            at: created + 35 * day
        )
        #expect(host.isGranted(200), "the year was paid for, and the add-on is gone")
        #expect(host.state.snapshot(at: date(created + 100 * day)).product == "year")
    }

    @Test("a plan that the subscription no longer lists gives no access, even if no event removed it")
    func planEnds() throws {
        var host = try rolled()
        _ = try host.take(
            "customer.subscription.updated",
            Self.subscription("active", [Self.year, Self.months[1]], invoice: "in_2"),
            previous: ["metadata": ["a": "b"]],
            at: created + 32 * day
        )
        _ = try host.take(
            "customer.subscription.deleted",
            Self.subscription("canceled", [Self.months[1]], invoice: "in_2"),
            at: created + 40 * day
        )
        #expect(!host.isGranted(41))
        #expect(!host.isGranted(300))
    }

    /// Stripe ends all items at the end of the shortest period (`min_period_end`,
    /// https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums).
    @Test(
        "an end within the year ends its access then, even if its deletion is lost",
        arguments: [(60, true), (60, false), (nil, true), (45, false)] as [(Int64?, Bool)]
    )
    func canceled(end: Int64?, atPeriodEnd: Bool) throws {
        var host = try rolled()
        let items = [Self.year, Self.months[1]]
        let plain: JSONText = ["cancel_at": nil, "cancel_at_period_end": false, "canceled_at": nil]
        let canceled = Self.subscription(
            "active",
            items,
            invoice: "in_2",
            cancelAt: end.map { created + $0 * day },
            atPeriodEnd: atPeriodEnd
        )
        let event = simulator().event(
            "customer.subscription.updated",
            id: "evt_canceled",
            created: created + 33 * day,
            object: canceled,
            previous: plain
        )
        let events = try adapter().take(event.bytes, at: created + 33 * day).events
        for event in events { _ = host.state.apply(event) }
        let last = end ?? 60
        let until = date(created + last * day)
        #expect(events.map(\.event) == [.autoRenewDisabled(.init(reason: .customer, accessUntil: until))])
        #expect([last - 1, last, 100, 300].map(host.isGranted) == [true, false, false, false])
        #expect(host.state.snapshot(at: date(created + 40 * day)).willRenew == false)
        #expect(host.state.openQuestions == [] && host.state.contradictions == [])
        _ = try host.take(
            "customer.subscription.updated",
            Self.subscription("active", items, invoice: "in_2"),
            previous: ["cancel_at": .integer(created + last * day), "cancel_at_period_end": .bool(atPeriodEnd)],
            at: created + 34 * day
        )
        #expect([59, 100, 300].map(host.isGranted) == [true, true, true])
    }

    @Test("an end beyond the plan's month is no end of it, even if an add-on's year lasts longer")
    func yearlyAddOn() throws {
        let items = [
            Self.item("si_m", "plan", from: created, to: created + 30 * day),
            Self.item("si_y", "year", from: created, to: created + 365 * day),
        ]
        var host = Host(adapter: try policed { $0.addOnProducts = ["year"] })
        _ = try host.take(
            "customer.subscription.created",
            Self.subscription("active", items, invoice: "in_1", cancelAt: created + 90 * day),
            at: created
        )
        let snapshot = host.state.snapshot(at: date(created + 10 * day))
        #expect(snapshot.product == "plan" && snapshot.willRenew == true)
        #expect([89, 91].map(host.isGranted) == [true, false])
    }

    /// A price by the month and one by the year.
    static func priced(_ product: String, _ amount: Int64, per interval: String, from start: Int64) -> JSONText {
        let price = StripePrice("price_" + product, product: product, amount: amount, interval: interval)
        return [
            "id": .string("si_" + product), "object": "subscription_item", "quantity": 1,
            "current_period_start": .integer(start),
            "current_period_end": .integer(start + (interval == "year" ? 365 : 30) * day), "price": price.price(),
        ]
    }

    @Test(
        "the main product is the one that costs most by the day, in whichever rhythm, after each month and before it",
        arguments: [(9990, "year", 500, "month"), (2000, "month", 5000, "year"), (9990, "year", 9000, "year")]
            as [(Int64, String, Int64, String)],
        [false, true]
    )
    func mainProduct(prices: (Int64, String, Int64, String), isAddedLater: Bool) throws {
        let joins = created + (isAddedLater ? 40 * day : 0)
        func items(_ plan: Int64, _ addOn: Int64?) -> [JSONText] {
            let plan = Self.priced("plan", prices.0, per: prices.1, from: plan)
            return [addOn.map { Self.priced("addon", prices.2, per: prices.3, from: $0) }, plan].compactMap(\.self)
        }
        var host = Host(adapter: try adapter())
        var known = items(created, isAddedLater ? nil : created)
        _ = try host.take(
            "customer.subscription.created",
            Self.subscription("active", known, invoice: "in_1"),
            at: created
        )
        var (plan, addOn) = (created, joins)
        if isAddedLater {
            if prices.1 == "month" { plan += 30 * day }
            let next = items(plan, addOn)
            let before: JSONText = ["items": ["data": .array(known)]]
            _ = try host.take(
                "customer.subscription.updated",
                Self.subscription("active", next, invoice: "in_1"),
                previous: before,
                at: joins
            )
            known = next
        }
        let events = try (1...3).flatMap { month -> [NormalizedEvent] in
            let time = joins + Int64(month) * 30 * day
            if prices.1 == "month" { plan = created + (time - created) / (30 * day) * 30 * day }
            if prices.3 == "month" { addOn = time }
            let next = items(plan, addOn)
            let event = simulator().event(
                "customer.subscription.updated",
                id: "evt_\(time)",
                created: time,
                object: Self.subscription("active", next, invoice: "in_\(month + 1)"),
                previous: ["items": ["data": .array(known)], "latest_invoice": .string("in_\(month)")]
            )
            known = next
            let result = try host.adapter.take(event.bytes, at: time)
            for statement in result.statements { host.state.apply(statement) }
            return result.events
        }
        #expect(events.allSatisfy { $0.product?.id == "plan" })
        for days: Int64 in [10, 45, 75, 105] {
            let snapshot = host.state.snapshot(at: date(created + days * day))
            #expect(snapshot.product == "plan", "\(days)")
            #expect(snapshot.pendingProduct == nil, "\(days)")
            guard case .granted(_, let grant) = snapshot.access else {
                Issue.record("\(days)")
                continue
            }
            #expect(grant.product == "plan")
        }
    }
}
