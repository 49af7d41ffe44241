import FoundationEssentials
import Testing

@testable import Normalizer

/// A delivery may wait in a queue or in quarantine, and keeps the time at which it was received.
@Suite("Credits of what is taken in late")
struct LateCreditTests {
    private static let day = AccountStories.day
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")

    private static func begun(_ transaction: String, _ days: ClosedRange<Double>, told: Double) -> NormalizedEvent {
        let period = ServicePeriod(start: day(days.lowerBound), end: day(days.upperBound))
        return AccountStories.event(
            days.lowerBound == 0
                ? .started(.init(origin: .new, phase: .regular, period: period))
                : .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
            transaction,
            at: told,
            of: "O1",
            product: .init(id: "basic"),
            id: .periodBegan(lineage, transaction: transaction),
            [.period(.init(period, product: "basic", phase: .regular, transaction: transaction))]
        )
    }

    /// What is left after events were taken in at their times, and so many credits used on a day.
    private static func balance(
        _ steps: [(event: NormalizedEvent, at: Double)],
        using credits: Int64,
        on spendingDay: Double
    ) -> CreditBalance {
        let policy = CreditPolicy(["basic": .init(credits: 200)])
        var state = SubscriptionState(lineage)
        var balance = CreditBalance()
        var done: Set<String> = []
        var left = credits
        func use() {
            balance.settle(at: day(spendingDay), by: policy, in: state)
            left -= balance.use(upTo: left, hasAccess: true)
        }
        for step in steps {
            if step.at > spendingDay, left > 0 { use() }
            let applied = state.apply(step.event)
            balance.settle(at: day(step.at), by: policy, in: state)
            for action in policy.actions(for: applied, in: state, at: day(step.at))
            where done.insert(action.id).inserted {
                balance.perform(action, at: day(step.at))
            }
        }
        if left > 0 { use() }
        balance.settle(at: day(45), by: policy, in: state)
        return balance
    }

    @Test("a start that was kept until its successor was paid out refills nothing", arguments: [0.01, 30.4, 40])
    func start(receivedAt: Double) {
        var first = Self.begun("t1", 0...31, told: 0)
        first.receivedAt = Self.day(receivedAt)
        // Charged half a day ahead, as the App Store does.
        let second = Self.begun("t2", 31...62, told: 30.5)
        let balance = Self.balance([(second, 30.5), (first, 40)], using: 150, on: 35)
        #expect(balance.included == 50)
        #expect(balance.bought == 0)
        #expect(balance.paidOutAt == Self.day(31))
    }

    @Test("without the time of processing, a payout that another took the place of is not done either")
    func withoutTime() {
        var balance = CreditBalance()
        func action(_ effect: CreditAction.Effect, _ days: Double) -> CreditAction {
            CreditAction(
                id: "\(effect)-\(days)",
                effect: effect,
                effectiveAt: Self.day(days),
                subscription: Self.lineage
            )
        }
        balance.perform(action(.reset(to: 200), 31), at: Self.day(31))
        #expect(balance.use(upTo: 150, hasAccess: true) == 150)
        for effect in [CreditAction.Effect.reset(to: 200), .prorate(to: 300), .carryOver(to: 400)] {
            balance.perform(action(effect, 0), at: Self.day(40))
            #expect(balance == CreditBalance(included: 50, paidOutAt: Self.day(31)))
        }
        // At the same time, the later word counts: a change of product pays out anew.
        balance.perform(action(.prorate(to: 300), 31), at: Self.day(40))
        #expect(balance == CreditBalance(included: 300, paidOutAt: Self.day(31)))
    }

    @Test(
        "a refund takes nothing of the renewal that was charged ahead of it, whenever the two are taken in",
        arguments: [[0, 30.5, 30.8], [0, 31.5, 31.6], [0, 30.5, 40]]
    )
    func refund(times: [Double]) {
        let refund = AccountStories.event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: nil)),
            "t1",
            at: 30.8,
            of: "O1",
            [
                .refund(
                    .init(
                        transaction: "t1",
                        scope: .full,
                        at: Self.day(30.8),
                        periodStart: Self.day(0),
                        endsAccess: true
                    )
                )
            ]
        )
        let events = [Self.begun("t1", 0...31, told: 0), Self.begun("t2", 31...62, told: 30.5), refund]
        let balance = Self.balance(Array(zip(events, times)), using: 0, on: 45)
        #expect(balance.included == 200)
    }
}

/// The credits of a product that is changed on Stripe, in whichever order it is told of.
@Suite("Credits of changes that are told of late")
struct LateChangeTests {
    private static let day = AccountStories.day
    private static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")

    private static func told(
        _ event: LifecycleEvent,
        _ product: String,
        _ days: ClosedRange<Double>,
        at told: Double
    ) -> NormalizedEvent {
        let period = ServicePeriod(start: day(days.lowerBound), end: day(days.upperBound))
        var event = AccountStories.event(
            event,
            nil,
            at: told,
            of: "sub_1",
            product: .init(id: product),
            [.period(.init(period, product: product, phase: .regular, transaction: nil))]
        )
        (event.provider, event.store, event.subscription) = (.stripe, .stripe, lineage)
        event.origin.notificationID = "\(product) \(told)"
        return event
    }

    private static func changed(_ from: String, to: String, _ days: ClosedRange<Double>, at told: Double)
        -> NormalizedEvent
    {
        let change = LifecycleEvent.ProductChange(
            from: from,
            to: to,
            direction: .unknown,
            timing: .immediate,
            basis: .store
        )
        return Self.told(.productChanged(change), to, days, at: told)
    }

    @Test(
        "an upgrade that was not paid for, and is taken back, takes nothing of one that is",
        arguments: [false, true]
    )
    func unpaidUpgrade(isPaid: Bool) {
        let policy = CreditPolicy([
            "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
            "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        ])
        func charged(_ event: NormalizedEvent, _ price: Int64) -> NormalizedEvent {
            var event = event
            let charge = Fact.Charge(
                transaction: "in \(event.occurredAt)",
                price: Price(Money(ExactDecimal(price), "USD"), .charged),
                at: event.occurredAt
            )
            event.facts.append(.charge(charge))
            return event
        }
        let period = ServicePeriod(start: Self.day(0), end: Self.day(30))
        var upgraded = Self.changed("basic", to: "pro", 3...33, at: 3)
        upgraded.facts.append(.billing(.init(.suspended)))
        if isPaid { upgraded = charged(Self.changed("basic", to: "pro", 3...33, at: 3), 11) }
        let events = [
            charged(
                Self.told(.started(.init(origin: .new, phase: .regular, period: period)), "basic", 0...30, at: 0),
                10
            ),
            upgraded,
            charged(Self.changed("pro", to: "basic", 4...34, at: 4), 0),
            charged(Self.changed("basic", to: "pro", 10...40, at: 10), 12),
        ]
        let balance = Self.balance(events, policy)
        // 12.00 of 20.00, less what 9.33 had been paid for that went back.
        #expect(balance.bought + balance.included == (isPaid ? 200 + 275 + 300 - 234 : 200 + 300))
    }

    private static func renewed(_ product: String, _ days: ClosedRange<Double>) -> NormalizedEvent {
        let period = ServicePeriod(start: day(days.lowerBound), end: day(days.upperBound))
        return told(
            .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
            product,
            days,
            at: days.lowerBound
        )
    }

    /// The start, and its payment.
    private static let started: NormalizedEvent = {
        let period = ServicePeriod(start: day(0), end: day(30))
        var event = told(.started(.init(origin: .new, phase: .regular, period: period)), "pro", 0...30, at: 0)
        let price = Price(Money(ExactDecimal(20), "USD"), .charged)
        event.facts.append(.charge(.init(transaction: "in_1", price: price, at: day(0))))
        return event
    }()

    private static func balance(_ events: [NormalizedEvent], _ policy: CreditPolicy) -> CreditBalance {
        var state = SubscriptionState(lineage)
        var balance = CreditBalance()
        var done: Set<String> = []
        var now = Date.distantPast
        for event in events {
            now = max(now, event.receivedAt)
            let applied = state.apply(event)
            balance.settle(at: now, by: policy, in: state)
            for action in policy.actions(for: applied, in: state, at: now) where done.insert(action.id).inserted {
                balance.perform(action, at: now)
            }
        }
        balance.settle(at: day(75), by: policy, in: state)
        return balance
    }

    private static func orders(_ events: [NormalizedEvent]) -> [[NormalizedEvent]] {
        guard events.count > 1 else { return [events] }
        return events.indices.flatMap { index in
            var rest = events
            let first = rest.remove(at: index)
            return orders(rest).map { [first] + $0 }
        }
    }

    @Test(
        "what a change leaves is carried over, whenever it is told of, with a new anchor and without",
        arguments: [nil, 100] as [Int64?],
        [[12.0, 42, 72], [0, 30, 60], [0, 30, 60, 90]]
    )
    func change(lite: Int64?, begins: [Double]) {
        var policy = CreditPolicy(["pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD"))])
        if let lite { policy.allowances["lite"] = .init(credits: lite, price: Money(ExactDecimal(5), "USD")) }
        var events = [Self.started, Self.changed("pro", to: "lite", begins[0]...begins[1], at: 12)]
        events += zip(begins.dropFirst(), begins.dropFirst(2)).map { Self.renewed("lite", $0...$1) }
        for order in Self.orders(events) {
            let balance = Self.balance(order, policy)
            let names = order.map { $0.origin.notificationID ?? "" }
            #expect([balance.included, balance.bought] == [lite ?? 0, 500], "\(names)")
            let again = Self.balance(order + order, policy)
            #expect([again.included, again.bought] == [balance.included, balance.bought], "\(names)")
        }
    }

    @Test("nothing is carried over where the policy drops it, whenever a change is told of")
    func dropped() {
        let policy = CreditPolicy(["pro": .init(credits: 500)], carriesOver: false)
        let changed = Self.changed("pro", to: "lite", 12...42, at: 12)
        let events = [Self.started, changed, Self.renewed("lite", 42...72)]
        for order in Self.orders(events) {
            let balance = Self.balance(order, policy)
            #expect([balance.included, balance.bought] == [0, 0])
        }
    }
}
