import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A yearly plan with a monthly add-on, whose months roll.
@Suite("Items that are billed in different rhythms")
struct MixedIntervalTests {
    typealias Item = StripeSubscription.Item

    private static func item(_ id: String, _ product: String, from: Int64, to: Int64) -> Item {
        let interval = product == "year" ? "year" : "month"
        let price = StripePrice("price_" + product, product: product, amount: 1000, interval: interval)
        return Item(id, price, period: from..<to)
    }

    static func subscription(
        _ status: String,
        _ items: [Item],
        invoice: String
    ) -> StripeSubscription {
        var subscription = StripeSubscription(
            status: status,
            items: items,
            from: created,
            to: created + 365 * day,
            latestInvoice: invoice
        )
        subscription.canceledAt = created + 33 * day
        return subscription
    }

    private static let year = item("si_y", "year", from: created, to: created + 365 * day)
    private static let months = [
        item("si_m", "addon", from: created, to: created + 30 * day),
        item("si_m", "addon", from: created + 30 * day, to: created + 60 * day),
    ]
    private static let secondMonth = subscription("active", [year, months[1]], invoice: "in_2")

    private struct Host {
        let adapter: StripeAdapter
        var state = SubscriptionState(PitfallTests.lineage)

        /// Takes an event about the subscription, and gives what became of it.
        mutating func take(
            _ type: String,
            _ subscription: StripeSubscription,
            previous: JSONText? = nil,
            at time: Int64
        ) throws -> [NormalizedEvent] {
            let id = "evt_\(time)"
            let body = PitfallTests.body(type, subscription, previous: previous, at: time, id: id)
            let result = try adapter.take(body, at: time)
            for statement in result.statements { state.apply(statement) }
            return result.events
        }

        mutating func update(
            _ subscription: StripeSubscription,
            from before: StripeSubscription,
            at time: Int64
        ) throws -> [NormalizedEvent] {
            try take("updated", subscription, previous: before.previous(subscription, .endive), at: time)
        }

        func isGranted(_ days: Int64) -> Bool { state.access(at: date(created + days * day)).isGranted }
    }

    /// Both items, and then the roll of the add-on's month.
    private func rolled() throws -> Host {
        var host = Host(adapter: try adapter())
        let first = Self.subscription("active", [Self.year, Self.months[0]], invoice: "in_1")
        _ = try host.take("created", first, at: created)
        #expect(host.isGranted(100))
        let roll = try host.update(Self.secondMonth, from: first, at: created + 30 * day)
        #expect(roll == [])
        #expect(host.isGranted(100), "the year was paid for")
        return host
    }

    @Test("a month of the add-on does not end the year of the plan")
    func addOnEnds() throws {
        var host = try rolled()
        let alone = Self.subscription("active", [Self.year], invoice: "in_2")
        _ = try host.update(alone, from: Self.secondMonth, at: created + 35 * day)
        #expect(host.isGranted(200), "the year was paid for, and the add-on is gone")
        #expect(host.state.snapshot(at: date(created + 100 * day)).product == "year")
    }

    @Test("a plan that the subscription no longer lists gives no access, even if no event removed it")
    func planEnds() throws {
        var host = try rolled()
        _ = try host.take("updated", Self.secondMonth, previous: ["metadata": ["a": "b"]], at: created + 32 * day)
        let ended = Self.subscription("canceled", [Self.months[1]], invoice: "in_2")
        _ = try host.take("deleted", ended, at: created + 40 * day)
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
        let plain: JSONText = ["cancel_at": nil, "cancel_at_period_end": false, "canceled_at": nil]
        var canceled = Self.secondMonth
        (canceled.cancelAt, canceled.cancelAtPeriodEnd) = (end.map { created + $0 * day }, atPeriodEnd)
        let events = try host.take("updated", canceled, previous: plain, at: created + 33 * day)
        let last = end ?? 60
        let until = date(created + last * day)
        #expect(events.map(\.event) == [.autoRenewDisabled(.init(reason: .customer, accessUntil: until))])
        #expect([last - 1, last, 100, 300].map(host.isGranted) == [true, false, false, false])
        #expect(host.state.snapshot(at: date(created + 40 * day)).willRenew == false)
        #expect(host.state.openQuestions == [] && host.state.contradictions == [])
        _ = try host.take(
            "updated",
            Self.secondMonth,
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
        var subscription = Self.subscription("active", items, invoice: "in_1")
        subscription.cancelAt = created + 90 * day
        _ = try host.take("created", subscription, at: created)
        let snapshot = host.state.snapshot(at: date(created + 10 * day))
        #expect(snapshot.product == "plan" && snapshot.willRenew == true)
        #expect([89, 91].map(host.isGranted) == [true, false])
    }

    /// A price by the month and one by the year.
    static func priced(_ product: String, _ amount: Int64, per interval: String, from start: Int64) -> Item {
        let price = StripePrice("price_" + product, product: product, amount: amount, interval: interval)
        return Item("si_" + product, price, period: start..<start + (interval == "year" ? 365 : 30) * day)
    }

    @Test(
        "the main product is the one that costs most by the day, in whichever rhythm, after each month and before it",
        arguments: [(9990, "year", 500, "month"), (2000, "month", 5000, "year"), (9990, "year", 9000, "year")]
            as [(Int64, String, Int64, String)],
        [false, true]
    )
    func mainProduct(prices: (Int64, String, Int64, String), isAddedLater: Bool) throws {
        let joins = created + (isAddedLater ? 40 * day : 0)
        func standing(_ plan: Int64, _ addOn: Int64?, invoice: Int = 1) -> StripeSubscription {
            let plan = Self.priced("plan", prices.0, per: prices.1, from: plan)
            let items = [addOn.map { Self.priced("addon", prices.2, per: prices.3, from: $0) }, plan]
            return Self.subscription("active", items.compactMap(\.self), invoice: "in_\(invoice)")
        }
        var host = Host(adapter: try adapter())
        var known = standing(created, isAddedLater ? nil : created)
        _ = try host.take("created", known, at: created)
        var (plan, addOn) = (created, joins)
        if isAddedLater {
            if prices.1 == "month" { plan += 30 * day }
            let next = standing(plan, addOn)
            _ = try host.update(next, from: known, at: joins)
            known = next
        }
        let events = try (1...3).flatMap { month -> [NormalizedEvent] in
            let time = joins + Int64(month) * 30 * day
            if prices.1 == "month" { plan = created + (time - created) / (30 * day) * 30 * day }
            if prices.3 == "month" { addOn = time }
            let next = standing(plan, addOn, invoice: month + 1)
            defer { known = next }
            return try host.update(next, from: known, at: time)
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
