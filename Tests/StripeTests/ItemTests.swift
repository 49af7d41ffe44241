import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A subscription is a set of items: each that is paid for is a period of its own product.
@Suite("Items of a Stripe subscription")
struct ItemTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    /// First by name, and cheaper than the plan.
    static let addOn = StripePrice("price_addon", product: "prod_addon", amount: 500)

    static func subscription(_ items: [StripePrice], from start: Int64 = created) -> StripeSubscription {
        StripeSubscription(
            status: "active",
            items: items.enumerated().map { .init("si_\($0)", $1) },
            from: start,
            to: start + 30 * day,
            startDate: created,
            latestInvoice: "in_\(start)"
        )
    }

    static func paid(
        _ items: [StripePrice],
        reason: String,
        from start: Int64 = created,
        _ version: StripeSimulator.Version
    ) -> RareFlowTests.Taken {
        let lines = items.map { StripeInvoice.Line($0, from: start, to: start + 30 * day) }
        return RareFlowTests.invoice("in_\(start)", reason: reason, lines: lines, at: start, in: version)
    }

    static func state(_ deliveries: [RareFlowTests.Taken], _ adapter: StripeAdapter) throws -> SubscriptionState {
        try PitfallTests.state(deliveries.map { ($0.body, $0.time) }, adapter)
    }

    private func products(_ state: SubscriptionState, at time: Int64) -> [ProductID] {
        guard case .granted(_, let grant) = state.access(at: date(time)) else { return [] }
        return [grant.product] + (grant.otherProducts ?? [])
    }

    @Test("the plan stays the main product when an add-on joins it, and both give access", arguments: versions)
    func addOnJoins(version: StripeSimulator.Version) throws {
        let (plan, both) = (Self.subscription([.pro]), Self.subscription([.pro, Self.addOn]))
        let deliveries = [
            RareFlowTests.began(plan, version),
            Self.paid([.pro], reason: "subscription_create", version),
            RareFlowTests.updated(both, from: plan, at: created + 5 * day, version),
        ]
        let events = try deliveries.flatMap { try adapter().take($0.body, at: $0.time).events }
        #expect(events.map(\.kind) == [.started, .started, .productChanged])
        #expect(events.allSatisfy { $0.product?.id == "prod_pro" })
        #expect(events[2].product?.addOns?.map(\.id) == ["prod_addon"])
        guard case .productChanged(let change) = events[2].event else { return }
        #expect(change.direction == .addOns && change.from == nil && change.to == "prod_addon")
        for order in permutations(of: deliveries) {
            let state = try Self.state(order, adapter())
            #expect(products(state, at: created + 6 * day) == ["prod_pro", "prod_addon"])
            #expect(state.contradictions.isEmpty)
        }
    }

    @Test("one renewal for each invoice, with all that it pays for, whatever order its lines have", arguments: versions)
    func renewal(version: StripeSimulator.Version) throws {
        let next = created + 30 * day
        for items in [[StripePrice.pro, Self.addOn], [Self.addOn, .pro]] {
            let paid = Self.paid(items, reason: "subscription_cycle", from: next, version)
            let events = try adapter().take(paid.body, at: paid.time).events
            #expect(events.map(\.kind) == [.renewed])
            #expect(events.first?.product?.id == "prod_pro")
            #expect(events.first?.product?.addOns?.map(\.id) == ["prod_addon"])
            #expect(
                events.first?.id
                    == .periodBegan(PitfallTests.lineage, product: "prod_pro", start: date(next))
            )
            let state = try Self.state([paid], adapter())
            #expect(products(state, at: next + day) == ["prod_pro", "prod_addon"])
        }
    }

    @Test("an item that a later statement leaves out is gone, and the plan is not", arguments: versions)
    func addOnLeaves(version: StripeSimulator.Version) throws {
        let (plan, both) = (Self.subscription([.pro]), Self.subscription([.pro, Self.addOn]))
        let deliveries = [
            RareFlowTests.began(both, version),
            Self.paid([.pro, Self.addOn], reason: "subscription_create", version),
            RareFlowTests.updated(plan, from: both, at: created + 5 * day, version),
        ]
        for order in permutations(of: deliveries) {
            let state = try Self.state(order, adapter())
            #expect(products(state, at: created + 4 * day) == ["prod_pro", "prod_addon"])
            #expect(products(state, at: created + 6 * day) == ["prod_pro"])
        }
    }

    @Test("an add-on that joined is news of the past once it is known to have left", arguments: versions)
    func addOnJoinsAfterItLeft(version: StripeSimulator.Version) throws {
        let (plan, both) = (Self.subscription([.pro]), Self.subscription([.pro, Self.addOn]))
        let (joins, leaves) = (created + 5 * day, created + 10 * day)
        let deliveries = [
            RareFlowTests.began(plan, version), RareFlowTests.updated(both, from: plan, at: joins, version),
            RareFlowTests.updated(plan, from: both, at: leaves, version),
        ]
        for order in permutations(of: deliveries) {
            let times = order.map(\.time)
            let hasLeft = (times.firstIndex(of: leaves) ?? 0) < (times.firstIndex(of: joins) ?? 0)
            var ledger = AccountLedger()
            for delivery in order {
                let applied = ledger.apply(try adapter().take(delivery.body, at: delivery.time))
                guard delivery.time == joins else { continue }
                #expect(applied.map(\.disposition) == [hasLeft ? .superseded : .applied])
            }
        }
    }

    @Test("the end of the subscription ends its items", arguments: versions)
    func end(version: StripeSimulator.Version) throws {
        let both = Self.subscription([.pro, Self.addOn])
        var ended = both
        (ended.status, ended.endedAt, ended.cancellationReason) = (
            "canceled", created + 5 * day, "cancellation_requested"
        )
        let deleted = PitfallTests.body("deleted", ended, at: created + 5 * day, id: "evt_end", in: version)
        let deliveries = [RareFlowTests.began(both, version), (deleted, created + 5 * day)]
        for order in permutations(of: deliveries) {
            let state = try Self.state(order, adapter())
            #expect(products(state, at: created + 4 * day) == ["prod_pro", "prod_addon"])
            #expect(products(state, at: created + 6 * day).isEmpty)
            #expect(state.contradictions.isEmpty)
        }
    }

    @Test("an add-on gives no access in a time that was not paid for, or paused")
    func gaps() throws {
        let items = [StripePrice.pro, Self.addOn]
        let active = Self.subscription(items)
        func with(_ change: (inout StripeSubscription) -> Void) -> StripeSubscription {
            var changed = active
            change(&changed)
            return changed
        }
        let (unpaid, pastDue) = (with { $0.status = "unpaid" }, with { $0.status = "past_due" })
        let paused = with { $0.collectionPause = ["behavior": "void", "resumes_at": nil] }
        let adapter = try policed { $0.collectionPause = .pauses }
        let began = RareFlowTests.began(active, .endive)
        let ways = [
            [
                RareFlowTests.updated(pastDue, from: active, at: created + 2 * day, .endive),
                RareFlowTests.updated(unpaid, from: pastDue, at: created + 5 * day, .endive),
                RareFlowTests.updated(active, from: unpaid, at: created + 8 * day, .endive),
            ],
            [
                RareFlowTests.updated(paused, from: active, at: created + 5 * day, .endive),
                RareFlowTests.updated(active, from: paused, at: created + 8 * day, .endive),
            ],
        ]
        for way in ways {
            let state = try Self.state([began] + way, adapter)
            #expect(products(state, at: created + 6 * day).isEmpty)
            for time in [4, 9] as [Int64] {
                #expect(products(state, at: created + time * day) == ["prod_pro", "prod_addon"])
            }
            #expect(state.nextTransition(after: date(created + 6 * day)) == date(created + 8 * day))
        }
    }

    @Test("a product that the host calls an add-on is none of a subscription's main products", arguments: versions)
    func configured(version: StripeSimulator.Version) throws {
        for name in ["prod_pro", "price_pro_month"] {
            let adapter = try policed { $0.addOnProducts = [name] }
            let items = [StripePrice.pro, Self.addOn]
            let began = RareFlowTests.began(Self.subscription(items), version)
            let paid = Self.paid(items, reason: "subscription_create", version)
            let events = try [began, paid].flatMap { try adapter.take($0.body, at: $0.time).events }
            #expect(events.map { $0.product?.id } == ["prod_addon", "prod_addon"])
            #expect(Set(events.map(\.id)).count == 1)
            // Where there is nothing else, it is what the subscription is for.
            let alone = RareFlowTests.began(Self.subscription([.pro]), version)
            #expect(try adapter.take(alone.body, at: alone.time).events.map { $0.product?.id } == ["prod_pro"])
        }
    }
}
