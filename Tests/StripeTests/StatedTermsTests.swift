import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// The terms that a sale is made under: what a coupon takes off, where it is taxed, what a change cost, who comes back.
@Suite("Terms of a sale that Stripe states")
struct StatedTermsTests {
    static let versions = PaymentJoinTests.versions

    // MARK: Coupons

    /// The first two months of a subscription with a coupon for the first, whatever its snapshots show of it.
    private func introduced(
        _ version: StripeSimulator.Version,
        discounts: JSONText,
        status: String = "active"
    ) -> [RareFlowTests.Taken] {
        var first = RareFlowTests.active(.basic)
        first.discounts = discounts
        var used = first
        used.discounts = []
        let second = RareFlowTests.next(used, invoice: "in_2")
        var deliveries = [RareFlowTests.began(first, version)]
        if status != "active" {
            var waiting = first
            waiting.status = status
            deliveries = [
                RareFlowTests.began(waiting, version),
                RareFlowTests.updated(first, from: waiting, at: created + 1, version),
            ]
        }
        return deliveries + [
            Self.paid("in_1", reason: "subscription_create", for: first, discount: 500, version),
            RareFlowTests.updated(used, from: first, at: created + 60, version),
            RareFlowTests.updated(second, from: used, at: second.start + 2, version),
            Self.paid("in_2", reason: "subscription_cycle", for: second, version),
        ]
    }

    private static func paid(
        _ id: String,
        reason: String,
        for period: StripeSubscription,
        discount: Int64 = 0,
        country: String? = nil,
        _ version: StripeSimulator.Version
    ) -> RareFlowTests.Taken {
        let line = StripeInvoice.Line(.basic, from: period.start, to: period.end)
        var invoice = StripeInvoice(id, reason: reason, lines: [line], created: period.start)
        (invoice.discount, invoice.country, invoice.paidAt) = (discount, country, period.start + 3600)
        let time = period.start + (reason == "subscription_create" ? 2 : 3600)
        return invoice.reported(at: time, in: version)
    }

    @Test("a first month with a coupon is introductory, and the month after it the regular price", arguments: versions)
    func coupon(version: StripeSimulator.Version) throws {
        let stated: JSONText = [["id": "di_1", "start": .integer(created), "coupon": ["duration": "once", "id": "c"]]]
        for discounts in [["di_1"], stated] as [JSONText] {
            for status in ["active", "incomplete"] {
                let deliveries = introduced(version, discounts: discounts, status: status)
                let host = try RareFlowTests.Host(adapter(), deliveries)
                let phases = host.acts.compactMap { act -> (PeriodPhase, LifecycleEvent.Renewed.Cause?)? in
                    switch act.event {
                    case .started(let started): (started.phase, nil)
                    case .renewed(let renewed): (renewed.phase, renewed.cause)
                    default: nil
                    }
                }
                #expect(phases.map(\.0) == [.introductory, .regular])
                #expect(phases.last?.1 == .introductoryConversion)
                var states: Set<SubscriptionState> = []
                for order in permutations(of: deliveries.suffix(5)) {
                    let state = try RareFlowTests.Host(adapter(), order).state
                    let seen = [10, 40].map { state.snapshot(at: date(created + $0 * day)).phase }
                    #expect(seen == [.introductory, .regular])
                    states.insert(state)
                }
                #expect(states.count == 1)
                let state = try #require(states.first)
                #expect(try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state)) == state)
            }
        }
    }

    @Test(
        "a discount that is stated is for the periods that begin while it lasts",
        arguments: [
            (0, nil, "repeating", [PeriodPhase.introductory, .introductory]),
            (0, 30, "repeating", [.introductory, .regular]),
            (10, nil, "repeating", [.regular, .promotional]), (0, nil, "forever", [.promotional, .promotional]),
        ] as [(Int64, Int64?, String, [PeriodPhase])]
    )
    func stated(from: Int64, to: Int64?, duration: String, phases: [PeriodPhase]) throws {
        var first = RareFlowTests.active(.basic)
        first.discounts = [
            [
                "id": "di_1", "start": .integer(created + from * day),
                "end": to.map { .integer(created + $0 * day) } ?? nil,
                "source": ["type": "coupon", "coupon": ["id": "c", "duration": .string(duration)]],
            ]
        ]
        let second = RareFlowTests.next(first, invoice: "in_2")
        let deliveries = [
            RareFlowTests.began(first, .endive),
            RareFlowTests.updated(second, from: first, at: second.start + 2, .endive),
        ]
        let state = try RareFlowTests.Host(adapter(), deliveries).state
        #expect([5, 40].map { state.snapshot(at: date(created + $0 * day)).phase } == phases)
    }

    @Test(
        "a discount of another form costs the event nothing but its terms",
        arguments: ["7", "[7]", "[{\"start\":\"soon\"}]"]
    )
    func malformed(discounts: String) throws {
        var first = RareFlowTests.active(.basic)
        first.discounts = .raw(discounts)
        let delivery = RareFlowTests.began(first, .endive)
        let result = try adapter().take(delivery.body, at: delivery.time)
        #expect(result.kinds == ["started"])
        #expect(result.events.first?.facts.contains { $0.kind == .period } == true)
        #expect(result.anomalies.count == 1)
    }

    // MARK: Where, and for how much

    @Test("an event has the country that the customer is taxed in", arguments: versions)
    func country(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        for (stated, country) in [("DE", "DE"), ("Germany", nil)] {
            let delivery = Self.paid("in_1", reason: "subscription_create", for: first, country: stated, version)
            let result = try adapter().take(delivery.body, at: delivery.time)
            #expect(result.events.map(\.country) == [country])
            #expect(result.anomalies.isEmpty == (country != nil))
        }
        let session: JSONText = [
            "id": "cs_1", "object": "checkout.session", "amount_total": 999, "currency": "usd",
            "customer_details": ["address": ["country": "FR"]], "mode": "payment", "payment_intent": "pi_1",
            "payment_status": "paid", "status": "complete",
        ]
        #expect(try OneFactTests.events("checkout.session.completed", session, by: adapter()).map(\.country) == ["FR"])
    }

    @Test("the money of a change in the middle of a period is in an event, line by line", arguments: versions)
    func proration(version: StripeSimulator.Version) throws {
        let (from, to) = (created + 10 * day, created + 30 * day)
        let lines = [
            StripeInvoice.Line(.basic, amount: -666, from: from, to: to, isProration: true),
            StripeInvoice.Line(.pro, amount: 1333, from: from, to: to, isProration: true),
        ]
        let delivery = RareFlowTests.invoice("in_9", reason: "subscription_update", lines: lines, at: from, in: version)
        let events = try adapter().take(delivery.body, at: delivery.time).events
        let facts = ["invoice": "in_9", "billing_reason": "subscription_update"]
        #expect(events.map(\.event) == [.notice(.init(.invoicePaid, facts: facts))])
        #expect(events.first?.price?.money == Money(try #require(ExactDecimal("6.67")), "USD"))
        #expect(
            events.first?.items == [
                PurchasedItem(product: "prod_basic", price: Money(try #require(ExactDecimal("-6.66")), "USD")),
                PurchasedItem(product: "prod_pro", price: Money(try #require(ExactDecimal("13.33")), "USD")),
            ]
        )
        #expect(events.first?.facts.contains { $0.kind == .charge } == true)
    }

    // MARK: Schedules

    /// The subscription shows the end that its schedule arranged. The release takes it back, unless `preserve_cancel_date` is set.
    @Test(
        "a schedule that lets go of its subscription takes its pause with it, and its end if the subscription says so",
        arguments: [("cancel", false), ("cancel", true), ("release", false)]
    )
    func released(behavior: String, isKept: Bool) throws {
        let phase: JSONText = [
            "start_date": .integer(created), "end_date": .integer(created + 30 * day),
            "items": [["price": ["id": "price_basic_month", "product": "prod_basic"], "quantity": 1]],
        ]
        func schedule(_ type: String, _ status: String, at time: Int64) -> RareFlowTests.Taken {
            let schedule: JSONText = [
                "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1",
                "end_behavior": .string(behavior),
                "pause_schedules": [["pause": ["pause_at": .integer(created + 20 * day)]]], "phases": [phase],
                "released_subscription": status == "released" ? "sub_1" : nil, "status": .string(status),
                "subscription": status == "released" ? nil : "sub_1",
            ]
            return PaymentJoinTests.event("subscription_schedule.\(type)", schedule, at: time, in: .endive)
        }
        let ends = behavior == "cancel"
        let free = RareFlowTests.active(.basic)
        var (arranged, released) = (free, free)
        arranged.schedule = "sub_sched_1"
        if ends { arranged.cancelAt = created + 30 * day }
        if isKept { released.cancelAt = arranged.cancelAt }
        let deliveries = [
            RareFlowTests.began(free, .endive), schedule("created", "active", at: created + 60),
            RareFlowTests.updated(arranged, from: free, at: created + 60, .endive),
            RareFlowTests.updated(released, from: arranged, at: created + 5 * day, .endive),
            schedule("released", "released", at: created + 5 * day + 1),
        ]
        for order in permutations(of: deliveries) {
            let snapshot = try RareFlowTests.Host(adapter(), order).state.snapshot(at: date(created + 6 * day))
            #expect(snapshot.willRenew == !isKept && (snapshot.willNotRenewBecause != nil) == isKept)
        }
        let host = try RareFlowTests.Host(adapter(), deliveries)
        #expect(
            host.kinds
                == (ends
                    ? ["started", "auto_renew_disabled", "pause_scheduled"] + (isKept ? [] : ["auto_renew_enabled"])
                    : ["started", "pause_scheduled"])
        )
    }

    // MARK: Returning customers

    @Test("a customer who comes back has resubscribed, and one who has two subscriptions has not")
    func comesBack() throws {
        func subscription(_ id: String, _ price: StripePrice, from start: Int64) -> StripeSubscription {
            StripeSubscription(
                id,
                status: "active",
                items: [.init("si_\(id)", price)],
                from: start,
                to: start + 30 * day
            )
        }
        func origins(
            _ second: StripePrice,
            after days: Int64,
            _ catalog: ProductCatalog? = nil
        ) throws -> [LifecycleEvent.Started.Origin] {
            var ledger = AccountLedger()
            var origins: [LifecycleEvent.Started.Origin] = []
            for period in [
                subscription("sub_a", .basic, from: created), subscription("sub_b", second, from: created + days * day),
            ] {
                let delivery = RareFlowTests.began(period, .endive)
                for event in try adapter().take(delivery.body, at: delivery.time).events {
                    if case .started(let started) = ledger.apply(event, catalog: catalog).event.event {
                        origins.append(started.origin)
                    }
                }
            }
            return origins
        }
        #expect(try origins(.basic, after: 40) == [.new, .resubscribed])
        #expect(try origins(.basicYear, after: 40) == [.new, .resubscribed])
        #expect(try origins(.basic, after: 20) == [.new, .new])
        #expect(try origins(.pro, after: 40) == [.new, .new])
        let catalog = ProductCatalog(
            ["prod_basic", "prod_pro"].map { .init(id: $0, group: "plans", level: 1, duration: .month) }
        )
        #expect(try origins(.pro, after: 40, catalog) == [.new, .resubscribed])
    }
}
