import FoundationEssentials
import Testing

@testable import Normalizer

/// A host that does each action once.
private struct Host {
    var balance = CreditBalance()
    private var done: Set<String> = []

    mutating func perform(_ actions: [CreditAction]) {
        for action in actions where done.insert(action.id).inserted { balance.perform(action, at: action.effectiveAt) }
    }
}

@Suite("Credits")
struct ProductsCredits {
    private static let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro": .init(credits: 500, trialCredits: 50, price: Money(ExactDecimal(20), "USD")),
        "max": .init(credits: 1000, price: Money(ExactDecimal(40), "USD")),
        "coins": .init(credits: 30),
    ])

    private static let start = Date(millisecondsSince1970: 1_772_355_600_000)

    private static func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")

    private static func event(
        _ event: LifecycleEvent,
        at date: Date,
        _ name: String,
        product: String = "basic",
        facts: [Fact] = [],
        effectiveAt: Date? = nil
    ) -> NormalizedEvent {
        let id: EventID =
            switch event {
            case .started, .renewed: .periodBegan(lineage, transaction: name)
            default: .notified(lineage, by: .apple, notification: "\(event.kind)-\(name)")
            }
        return NormalizedEvent(
            id: id,
            event: event,
            provider: .apple,
            store: .appStore,
            environment: .production,
            subscription: lineage,
            transaction: name,
            product: PurchasedProduct(id: product),
            occurredAt: date,
            effectiveAt: effectiveAt ?? date,
            assertedAt: date,
            receivedAt: date,
            facts: facts,
            origin: Origin(
                type: "T",
                notificationID: "\(event.kind)-\(name)-\(date.rfc3339)",
                channel: .webhook,
                evidence: .init(.unchecked),
                digest: name,
                mapper: "test/1"
            )
        )
    }

    private static func begins(
        _ name: String,
        _ product: String,
        from: Double,
        to: Double,
        at: Double? = nil,
        phase: Phase = .regular,
        isRenewal: Bool = false
    ) -> NormalizedEvent {
        let period = ServicePeriod(start: day(from), end: day(to))
        return event(
            isRenewal
                ? .renewed(.init(cause: .unknown, phase: phase, period: period))
                : .started(.init(origin: .new, phase: phase, period: period)),
            at: day(at ?? from),
            name,
            product: product,
            facts: [.period(.init(period, product: product, phase: phase, transaction: name))]
        )
    }

    private static func ends(_ name: String, from: Double, at: Double) -> NormalizedEvent {
        event(
            .expired(.init(reason: .customer)),
            at: day(at),
            name,
            facts: [.periodEnded(.init(start: day(from), transaction: name, at: day(at), reason: .customer))]
        )
    }

    @Test("A payment that only infers its period pays out, once, whichever statement of the period came first")
    func inferredPeriod() throws {
        let period = ServicePeriod(start: Self.day(31), end: Self.day(62))
        let stated = Fact.Period(period, product: "basic", phase: .regular, transaction: nil)
        var inferred = stated
        inferred.isProvisional = true
        let paid = Self.event(
            .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
            at: Self.day(31),
            "in_2",
            facts: [.period(inferred)]
        )
        let rolled = StoreStatement(
            subscription: Self.lineage,
            provider: .stripe,
            assertedAt: Self.day(31),
            facts: [.period(stated)],
            origin: paid.origin
        )
        for rollsFirst in [true, false] {
            var state = SubscriptionState(Self.lineage)
            var host = Host()
            let began = state.apply(Self.begins("in_1", "basic", from: 0, to: 31))
            host.perform(Self.policy.actions(for: began, in: state))
            host.balance.included -= 150
            if rollsFirst { state.apply(rolled) }
            let renewed = state.apply(paid)
            host.perform(Self.policy.actions(for: renewed, in: state))
            #expect(host.balance.included == 200)
            if !rollsFirst { state.apply(rolled) }
            host.perform(Self.policy.actions(for: renewed, in: state))
            #expect(host.balance.included == 200)
        }
    }

    @Test("What a payment paid out stays, whatever is heard of later that was before it")
    func paidBeforeTheRest() {
        let period = ServicePeriod(start: Self.day(31), end: Self.day(62))
        var inferred = Fact.Period(period, product: "pro", phase: .regular, transaction: nil)
        inferred.isProvisional = true
        let charge = Fact.Charge(
            transaction: "in_2",
            price: Price(Money(ExactDecimal(20), "USD"), .charged),
            at: Self.day(34)
        )
        let paid = Self.event(
            .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
            at: Self.day(34),
            "in_2",
            facts: [.period(inferred), .charge(charge)]
        )
        let first = Self.begins("in_1", "basic", from: 0, to: 31)
        let paused = Self.event(
            .paused(.init()),
            at: Self.day(20),
            "in_1",
            facts: [.periodEnded(.init(start: Self.start, transaction: "in_1", at: Self.day(20), reason: .paused))]
        )
        let unpaid = Self.event(
            .expired(.init(reason: .billing)),
            at: Self.day(33),
            "in_2",
            facts: [.periodEnded(.init(start: Self.day(31), transaction: nil, at: Self.day(33), reason: .billing))]
        )
        for story in [[first, paused, unpaid, paid], [paid, first, paused, unpaid], [unpaid, paused, paid, first]] {
            let received = story.enumerated().map { Self.received($1, at: 40 + Double($0)) }
            #expect(play(received).included == 500)
        }
        // A failed charge infers a period too, and pays nothing.
        var failed = paid
        failed.event = .billingIssue(.init(access: .suspended))
        failed.facts = [.period(inferred), .billing(.init(.suspended, periodStart: Self.day(31)))]
        #expect(play([failed, Self.received(first, at: 40)]).included == 200)
    }

    private func play(
        _ events: [NormalizedEvent],
        spending: [Int: Int64] = [:],
        beginning: Int64 = 0
    ) -> CreditBalance {
        var host = Host()
        host.balance.included = beginning
        var state = SubscriptionState(Self.lineage)
        for (index, event) in events.enumerated() {
            let applied = state.apply(event)
            host.perform(Self.policy.actions(for: applied, in: state))
            host.balance.included -= spending[index] ?? 0
        }
        return host.balance
    }

    @Test("a renewal resets, it never adds; twice is once")
    func renewal() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let second = Self.begins("t2", "basic", from: 31, to: 62, isRenewal: true)
        #expect(play([first]).included == 200)
        #expect(play([first, second], spending: [0: 100]).included == 200)
        #expect(play([first, second, second, second], spending: [0: 100]).included == 200)
        #expect(play([first, second, first], spending: [1: 20]).included == 180)
    }

    @Test("turning renewal off changes nothing, the end takes what is left, what was bought stays")
    func cancelAndExpire() {
        let bought = Self.event(
            .oneTimePurchased(.init(type: .consumable, quantity: 2)),
            at: Self.day(1),
            "t9",
            product: "coins"
        )
        let off = Self.event(
            .autoRenewDisabled(.init(reason: .customer)),
            at: Self.day(10),
            "t1",
            facts: [.renewalIntent(.init(.init(willRenew: false)))]
        )
        let story = [Self.begins("t1", "basic", from: 0, to: 31), bought, off]
        #expect(play(story, spending: [0: 100]).included == 100)
        let over = play(story + [Self.ends("t1", from: 0, at: 31)], spending: [0: 100])
        #expect(over.included == 0)
        #expect(over.bought == 60)
    }

    @Test("upgrade at half the cycle: 375 new credits, 120 carried over, one payout")
    func upgrade() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 15, to: 46, isRenewal: true)
        let balance = play([basic, pro, pro], spending: [0: 80])
        #expect(balance.included == 375)
        #expect(balance.bought == 120)
    }

    @Test("upgrade at once: 250")
    func upgradeAtStart() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 0.000_001, to: 31, isRenewal: true)
        #expect(play([basic, pro]).included == 250)
    }

    @Test("the upgrade known before what it replaced: the difference is corrected")
    func upgradeOutOfOrder() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 15, to: 46, isRenewal: true)
        #expect(play([pro], spending: [0: 40]).included == 460)
        #expect(play([pro, basic, pro, basic], spending: [0: 40]).included == 335)
    }

    @Test("of two upgrades the first known last: what was set off for another period counts in the correction")
    func upgradeBetweenOutOfOrder() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 3, to: 34, isRenewal: true)
        let max = Self.begins("t3", "max", from: 6, to: 37, isRenewal: true)
        #expect(play([basic, pro, max]).included == 548)
        #expect(play([basic, max, Self.received(pro, at: 7)]).included == 548)
        #expect(play([basic, max] + [7, 8].map { Self.received(pro, at: $0) }).included == 548)
        let orders = [
            [pro, max, basic], [pro, basic, max], [max, basic, pro], [max, pro, basic], [basic, max, pro],
        ]
        for order in orders {
            let late = order.enumerated().map { Self.received($1, at: 7 + Double($0)) }
            #expect(play(late).included == 548)
        }
    }

    @Test("an upgrade that is known after the renewal that was charged ahead pays out its share")
    func upgradeAfterEarlyRenewal() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 15, to: 46, isRenewal: true)
        let renewal = Self.begins("t3", "pro", from: 46, to: 77, at: 45.5, isRenewal: true)
        var state = SubscriptionState(Self.lineage)
        var effects: [CreditAction.Effect] = []
        for event in [basic, renewal, Self.received(pro, at: 45.6)] {
            effects += Self.policy.actions(for: state.apply(event), in: state).map(\.effect)
        }
        #expect(effects == [.reset(to: 200), .reset(to: 500), .carryOver(to: 375)])
    }

    @Test("what was prorated is not corrected when the replaced period is told again")
    func upgradeThenDuplicate() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 15, to: 46, isRenewal: true)
        #expect(play([basic, pro, basic]).included == 375)
    }

    @Test("a period that is over when it becomes known pays nothing out over its successor")
    func lateBeginning() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let second = Self.begins("t2", "basic", from: 31, to: 62, isRenewal: true)
        let late = Self.received(first, at: 40)
        #expect(play([second, late], spending: [0: 150]).included == 50)
    }

    @Test("an end of long ago takes nothing from the period that began since")
    func endAfterResubscription() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let again = Self.begins("t2", "basic", from: 40, to: 71)
        let end = Self.received(Self.ends("t1", from: 0, at: 31), at: 41)
        #expect(play([first, again, end]).included == 200)
        #expect(play([first, Self.ends("t1", from: 0, at: 31), again]).included == 200)
    }

    private static func refund(
        _ event: LifecycleEvent,
        of name: String = "t1",
        on days: Double,
        _ scope: LifecycleEvent.Refund.Scope?,
        from start: Double? = 0
    ) -> NormalizedEvent {
        Self.event(
            event,
            at: day(days),
            name,
            facts: [
                .refund(
                    .init(
                        transaction: name,
                        scope: scope,
                        at: day(days),
                        periodStart: start.map { day($0) },
                        endsAccess: scope == .full
                    )
                )
            ]
        )
    }

    /// Money that went back, or where there is no scope, came again.
    private static func refund(
        of name: String,
        on days: Double,
        _ scope: LifecycleEvent.Refund.Scope?,
        from start: Double?
    ) -> NormalizedEvent {
        let event: LifecycleEvent =
            scope.map {
                .refunded(
                    .init(
                        transaction: name,
                        scope: $0,
                        reason: .unknown,
                        affectsCurrentPeriod: start == nil ? nil : true
                    )
                )
            } ?? .refundReversed(.init(transaction: name))
        return refund(event, of: name, on: days, scope, from: start)
    }

    private static let refunded = refund(of: "t1", on: 10, .full, from: 0)
    private static let reversed = refund(of: "t1", on: 12, nil, from: 0)

    @Test("a reversal that comes late refills nothing of the period that began since")
    func lateReversal() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let second = Self.begins("t2", "basic", from: 31, to: 62, isRenewal: true)
        #expect(play([first, Self.refunded, Self.reversed], spending: [0: 150]).included == 200)
        let late = Self.received(Self.reversed, at: 40)
        #expect(play([first, Self.refunded, second, late], spending: [2: 150]).included == 50)
    }

    @Test("a reversal, and a dispute won on appeal, give back the credits of a period without a transaction")
    func reversalWithoutTransaction() {
        let period = ServicePeriod(start: Self.start, end: Self.day(31))
        var first = Self.begins("t1", "basic", from: 0, to: 31)
        first.facts = [.period(.init(period, product: "basic", phase: .regular, transaction: nil))]
        #expect(play([first, Self.refunded], spending: [0: 150]).included == 0)
        #expect(play([first, Self.refunded, Self.reversed], spending: [0: 150]).included == 200)
        var lost = Self.refunded
        lost.event = .chargeback(.init(stage: .lost, transaction: "t1"))
        var won = Self.reversed
        won.event = .chargeback(.init(stage: .won, transaction: "t1"))
        #expect(play([first, lost, won], spending: [0: 150]).included == 200)
        #expect(play([first, won], spending: [0: 150]).included == 50)
    }

    @Test("what was refunded, or is over, before its beginning becomes known pays nothing out")
    func endBeforeBeginning() {
        let late = Self.received(Self.begins("t1", "basic", from: 0, to: 31), at: 40)
        #expect(play([Self.ends("t1", from: 0, at: 31), late]).included == 0)
        #expect(play([Self.refunded, late]).included == 0)
        #expect(play([Self.refunded, late, Self.reversed], spending: [2: 20]).included == 180)
        #expect(play([Self.reversed, late, Self.refunded]).included == 200)
        var canceled = Self.ends("t1", from: 0, at: 3)
        canceled.facts = [
            .periodEnded(.init(start: Self.start, transaction: "t1", at: Self.day(3), reason: .customer))
        ]
        #expect(play([canceled, late]).included == 0)
        // Payment may still be made for a period that was cut short for want of it, not for one that has run its course.
        var lapsed = Self.ends("t1", from: 0, at: 33)
        lapsed.facts = [
            .periodEnded(.init(start: Self.start, transaction: "t1", at: Self.day(33), reason: .billing))
        ]
        #expect(play([lapsed, late]).included == 0)
        var unpaid = Self.ends("t1", from: 0, at: 3)
        unpaid.facts = [
            .periodEnded(.init(start: Self.start, transaction: "t1", at: Self.day(3), reason: .billing))
        ]
        #expect(play([unpaid, late]).included == 200)
    }

    @Test("a refund takes back what was bought once, in any order, and leaves the subscription's credits")
    func refundOfPurchase() {
        let coins = Self.coins("t1", 2, on: 1)
        var lost = Self.refunded
        lost.event = .chargeback(.init(stage: .lost, transaction: "t1"))
        for loss in [Self.refunded, lost] {
            for story in [[coins, loss], [loss, coins], [coins, loss, loss], [loss, coins, loss, coins]] {
                let balance = play(story, beginning: 200)
                #expect(balance.bought == 0)
                #expect(balance.included == 200)
            }
            // What tells of a reversal may name another transaction of the lineage, or none.
            var nameless = Self.reversed
            nameless.transaction = nil
            #expect(play([coins, loss, nameless]).bought == 60)
            for story in [[coins, loss, Self.reversed], [coins, Self.reversed, loss], [Self.reversed, loss, coins]] {
                #expect(play(story, beginning: 200).bought == 60)
            }
        }
    }

    @Test("a reversal gives back no credits that its refund did not take")
    func reversalOfNothing() throws {
        let half = try #require(ExactDecimal(coefficient: 5, scale: 1))
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let late = Self.received(Self.refunded, at: 13)
        #expect(play([first, Self.reversed, late], spending: [0: 150]).included == 50)
        let share = Self.refund(
            .refunded(
                .init(
                    transaction: "t1",
                    scope: .fraction(half),
                    reason: .unknown,
                    affectsCurrentPeriod: false
                )
            ),
            on: 10,
            .fraction(half)
        )
        #expect(play([first, share, Self.reversed], spending: [0: 150]).included == 50)
    }

    @Test("money that goes back in part, or of an earlier period, takes nothing of what counts again later")
    func refundWithoutAccess() throws {
        let half = try #require(ExactDecimal(coefficient: 5, scale: 1))
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let second = Self.begins("t2", "basic", from: 31, to: 62, isRenewal: true)
        func share(of name: String, from start: Double, on days: Double) -> NormalizedEvent {
            let refund = LifecycleEvent.Refund(
                transaction: name,
                scope: .fraction(half),
                reason: .unknown,
                affectsCurrentPeriod: nil
            )
            return Self.refund(.refunded(refund), of: name, on: days, .fraction(half), from: start)
        }
        let lost = Self.refund(.chargeback(.init(stage: .lost, transaction: "t1")), on: 45, .full)
        let paused = Self.event(
            .paused(.init()),
            at: Self.day(40),
            "t2",
            facts: [.periodEnded(.init(start: Self.day(31), transaction: "t2", at: Self.day(40), reason: .paused))]
        )
        for loss in [share(of: "t2", from: 31, on: 45), share(of: "t1", from: 0, on: 45), lost] {
            #expect(play([first, second, paused, loss], spending: [1: 50]).included == 150)
        }
        // The developer put the end off in time, and is heard of late.
        let later = Self.received(lost, at: 70)
        #expect(play([first, second, Self.at(later, 70)], spending: [1: 50]).included == 150)
        let own = Self.refund(.chargeback(.init(stage: .lost, transaction: "t2")), of: "t2", on: 45, .full, from: 31)
        #expect(play([first, second, own], spending: [1: 50]).included == 0)
        #expect(play([first, second, paused, own], spending: [1: 50]).included == 0)
    }

    private static func at(_ event: NormalizedEvent, _ days: Double) -> NormalizedEvent {
        var event = event
        (event.occurredAt, event.effectiveAt, event.assertedAt) = (day(days), day(days), day(days))
        return event
    }

    @Test("whatever the order, with duplicates, the newest period's credits are what is left, in full")
    func anyOrder() {
        let story = [
            Self.begins("t1", "basic", from: 0, to: 30),
            Self.begins("t2", "pro", from: 15, to: 46, isRenewal: true),
            Self.ends("t2", from: 15, at: 46),
            Self.begins("t3", "basic", from: 50, to: 81),
        ]
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let deliveries = (story + story).shuffled(using: &generator).enumerated().map { index, event in
                Self.received(event, at: 60 + Double(index))
            }
            #expect(play(deliveries).included == 200, "seed \(seed)")
        }
    }

    @Test("random stories: whatever the order, with repetitions, what is left in the end is what the story leaves")
    func randomStories() {
        // Another seed each time; a failure prints the seed of its story.
        let first = UInt64.random(in: 0...UInt64.max >> 1)
        for seed in (0..<400).map({ first + $0 }) {
            var random = SplitMix64(seed: seed)
            let story = RandomStory(using: &random)
            let told = play(story.events)
            #expect(told.included == story.subscription, "seed \(seed)")
            #expect(told.bought == story.bought, "seed \(seed)")
            for _ in 0..<4 {
                let repetitions = story.events.filter { _ in Bool.random(using: &random) }
                let late = (story.events + repetitions).shuffled(using: &random).enumerated().map { index, event in
                    Self.received(event, at: 400 + Double(index))
                }
                let balance = play(late)
                #expect(balance.included == story.subscription, "seed \(seed)")
                #expect(balance.bought == story.bought, "seed \(seed)")
            }
        }
    }

    /// Periods one after the other, some of them refunded, some of those given back; and packs of coins, likewise.
    ///
    /// No product takes the place of another that was refunded a while before: where the refund is heard of last, what
    /// looked like a change has been prorated by then.
    private struct RandomStory {
        private(set) var events: [NormalizedEvent] = []
        /// The credits that are left after all of it.
        private(set) var subscription: Int64 = 0
        private(set) var bought: Int64 = 0

        init(using random: inout SplitMix64) {
            func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
            var (start, isRenewal) = (0.0, false)
            var refunded: (product: String, until: Double) = ("", 0)
            for name in ["t1", "t2", "t3", "t4"].prefix(1 + pick(4)) {
                let chosen = ["basic", "pro"][pick(2)]
                let product = start < refunded.until ? refunded.product : chosen
                let phase: Phase = !isRenewal && product == "pro" && pick(3) == 0 ? .trial : .regular
                let end = start + (phase == .trial ? 7 : 30)
                let credits: Int64 = product == "basic" ? 200 : phase == .trial ? 50 : 500
                events.append(begins(name, product, from: start, to: end, phase: phase, isRenewal: isRenewal))
                (subscription, isRenewal) = (credits, true)
                if pick(3) == 0 {
                    let moment = start + Double(1 + pick(Int(end - start) - 4))
                    events.append(refund(of: name, on: moment, .full, from: start))
                    guard pick(2) == 0 else {
                        refunded = (product, max(refunded.until, end))
                        (start, subscription, isRenewal) = (moment + Double(1 + pick(5)), 0, false)
                        continue
                    }
                    events.append(refund(of: name, on: moment + 2, nil, from: start))
                }
                if pick(3) == 0 {
                    events.append(ends(name, from: start, at: end))
                    (start, subscription, isRenewal) = (end + Double(1 + pick(9)), 0, false)
                } else {
                    start = end
                }
            }
            for name in ["c1", "c2"].prefix(pick(3)) {
                let (moment, quantity) = (Double(1 + pick(40)) + 0.25, Int64(1 + pick(3)))
                events.append(coins(name, quantity, on: moment))
                bought += quantity * 30
                guard pick(2) == 0 else { continue }
                events.append(refund(of: name, on: moment + 3, .full, from: nil))
                bought -= quantity * 30
                guard pick(2) == 0 else { continue }
                events.append(refund(of: name, on: moment + 5, nil, from: nil))
                bought += quantity * 30
            }
            events = events.enumerated()
                .sorted { ($0.element.occurredAt, $0.offset) < ($1.element.occurredAt, $1.offset) }
                .map(\.element)
        }
    }

    private static func coins(
        _ name: String,
        _ quantity: Int64,
        on days: Double,
        _ price: Price? = nil
    ) -> NormalizedEvent {
        let purchase = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: quantity, price: price)
        return event(
            .oneTimePurchased(purchase),
            at: day(days),
            name,
            product: "coins",
            facts: [.purchase(.init(transaction: name, product: "coins", purchase: purchase, at: day(days)))]
        )
    }

    @Test("what a family shares for good gives a member no credits, and takes none when it is taken back")
    func sharedPurchase() {
        var shared = Self.coins("c1", 2, on: 1)
        let purchase = LifecycleEvent.OneTimePurchase(type: .nonConsumable, quantity: 2, familyShared: true)
        shared.event = .oneTimePurchased(purchase)
        shared.facts = [.purchase(.init(transaction: "c1", product: "coins", purchase: purchase, at: Self.day(1)))]
        let refund = Self.refund(of: "c1", on: 2, .full, from: nil)
        for story in [[shared], [shared, refund], [refund, shared]] { #expect(play(story).bought == 0) }
    }

    @Test("a refund of something else takes nothing, also when it comes before what it is of")
    func refundOfSomethingUnknown() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let refund = Self.refund(of: "c1", on: 40, .full, from: nil)
        #expect(play([first, refund], spending: [0: 50]).included == 150)
    }

    @Test("what is bought after a refund is paid in full, and pays out in full")
    func purchaseAfterRefund() {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        let pro = Self.begins("t2", "pro", from: 13, to: 44)
        #expect(play([basic, Self.refunded, pro]).included == 500)
        #expect(play([Self.refunded, pro, Self.received(basic, at: 14)]).included == 500)
    }

    /// Google Play tells of the end and of the refund by themselves, in whichever order.
    @Test("what is bought seconds after a refund pays out in full, also where the end is told beside it")
    func purchaseRightAfterRefund() {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        var end = Self.ends("t1", from: 0, at: 10)
        end.assertedAt = Self.day(10 + 2.0 / 86_400)
        let pro = Self.begins("t2", "pro", from: 10 + 30.0 / 86_400, to: 41)
        for told in [[Self.refunded], [Self.refunded, end], [end, Self.refunded]] {
            #expect(play([basic] + told + [pro]).included == 500)
            #expect(play(told + [pro, Self.received(basic, at: 11)]).included == 500)
        }
        // What took the place of a period was set off against it, whatever goes back later.
        let late = Self.refund(of: "t1", on: 20, .full, from: 0)
        #expect(play([basic, end, pro, late]).included == play([basic, end, pro]).included)
        #expect(play([end, late, pro, Self.received(basic, at: 21)]).included < 500)
    }

    /// Stripe's charge counts a refund before the refund itself is told of.
    @Test("a reversal gives back what was taken, and no more, where the refund was stated before it is told of")
    func reversalOfStatedRefund() throws {
        let coins = Self.coins("c1", 1, on: 1)
        let refund = Self.refund(of: "c1", on: 2, .full, from: nil)
        let reversal = Self.refund(of: "c1", on: 3, nil, from: nil)
        let stated = try #require(refund.statement)
        for order in [[coins, reversal], [coins, reversal, refund], [coins, refund, reversal, refund, reversal]] {
            var host = Host()
            var state = SubscriptionState(Self.lineage)
            for event in order {
                let applied = state.apply(event)
                host.perform(Self.policy.actions(for: applied, in: state))
                if event == coins { state.apply(stated) }
            }
            #expect(host.balance.bought == 30)
        }
    }

    @Test("a reversal brings back the share that a change had paid for, and nothing of what is over")
    func reversalOfShare() {
        let basic = Self.begins("t0", "basic", from: -15, to: 15)
        let pro = Self.begins("t1", "pro", from: 0, to: 31, isRenewal: true)
        #expect(play([basic, pro]).included == 375)
        #expect(play([basic, pro, Self.refunded]).included == 0)
        #expect(play([basic, pro, Self.refunded, Self.reversed]).included == 375)
        let end = Self.ends("t1", from: 0, at: 31)
        let late = [Self.refunded, Self.reversed].map { Self.received($0, at: 40) }
        #expect(play([basic, pro, end] + late).included == 0)
    }

    /// A change to the product, at once, told of a while after it took effect.
    private static func changes(
        _ name: String,
        from old: String,
        to new: String,
        _ days: ClosedRange<Double>,
        at: Double
    )
        -> NormalizedEvent
    {
        let period = ServicePeriod(start: day(days.lowerBound), end: day(days.upperBound))
        return event(
            .productChanged(
                .init(from: old, to: new, direction: .upgrade, timing: .immediate, basis: .store)
            ),
            at: day(at + 0.1),
            name,
            product: new,
            facts: [.period(.init(period, product: new, phase: .regular, transaction: name))],
            effectiveAt: day(at)
        )
    }

    @Test("a reversal brings back what a change paid out, however late that was told of, or took effect")
    func reversalOfChange() {
        let basic = Self.begins("t0", "basic", from: -15, to: 15)
        let beginning = Self.changes("t1", from: "basic", to: "pro", 0...31, at: 0)
        #expect(play([basic, beginning]).included == 375)
        #expect(play([basic, beginning, Self.refunded]).included == 0)
        #expect(play([basic, beginning, Self.refunded, Self.reversed]).included == 375)
        // Of a change within the period it is not known any more what share was paid for.
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let within = Self.changes("t1", from: "basic", to: "pro", 0...31, at: 5)
        #expect(play([first, within, Self.refunded]).included == 0)
        #expect(play([first, within, Self.refunded, Self.reversed]).included == 500)
    }

    @Test("a reversal takes nothing of what was bought meanwhile, unless the money for that went back, too")
    func reversalBesideAnother() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        for (product, left) in [("pro", 400), ("basic", 100)] as [(String, Int64)] {
            let second = Self.begins("t2", product, from: 11, to: 42)
            #expect(play([first, Self.refunded, second, Self.reversed], spending: [2: 100]).included == left)
        }
        let second = Self.begins("t2", "basic", from: 11, to: 42)
        let gone = Self.refund(of: "t2", on: 11.5, .full, from: 11)
        #expect(play([first, Self.refunded, second, gone]).included == 0)
        #expect(play([first, Self.refunded, second, gone, Self.reversed]).included == 200)
        // The renewal was charged ahead, and what goes on until it begins is given back.
        let ahead = Self.begins("t2", "basic", from: 31, to: 62, at: 30.2, isRenewal: true)
        let refund = Self.refund(of: "t1", on: 30.4, .full, from: 0)
        #expect(lastActions([first, ahead, refund, Self.refund(of: "t1", on: 30.6, nil, from: 0)]).count == 1)
    }

    @Test("a refund that says how much takes back what cost as much, and its reversal brings it back")
    func refundOfAmount() {
        let price = Money(ExactDecimal(5), "USD")
        let coins = Self.coins("c1", 1, on: 1, Price(price, .charged))
        let whole = Self.refund(of: "c1", on: 2, .amount(price), from: nil)
        let part = Self.refund(of: "c1", on: 2, .amount(Money(ExactDecimal(4), "USD")), from: nil)
        let reversal = Self.refund(of: "c1", on: 3, nil, from: nil)
        for story in [[coins, whole], [whole, coins], [coins, whole, whole]] { #expect(play(story).bought == 0) }
        for story in [[coins, part], [coins, whole, reversal], [reversal, whole, coins], [coins, part, reversal]] {
            #expect(play(story).bought == 30)
        }
    }

    private static func received(_ event: NormalizedEvent, at days: Double) -> NormalizedEvent {
        var event = event
        event.receivedAt = day(days)
        return event
    }

    @Test("a share is made from prices of one currency: what was charged, else what is listed")
    func currencies() {
        func charged(_ event: NormalizedEvent, _ amount: Int64, _ name: String) -> NormalizedEvent {
            var event = event
            let price = Price(Money(ExactDecimal(amount), "EUR"), .charged)
            event.facts.append(.charge(.init(transaction: name, price: price, at: event.occurredAt)))
            return event
        }
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let pro = Self.begins("t2", "pro", from: 15, to: 46, isRenewal: true)
        #expect(play([charged(basic, 20, "t1"), charged(pro, 20, "t2")]).included == 250)
        #expect(play([charged(basic, 20, "t1"), pro]).included == 375)
    }

    @Test("a refund that came after a change leaves the share, also where the change is told of after it")
    func refundAfterChange() {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        let pro = Self.begins("t2", "pro", from: 13, to: 44)
        let late = Self.refund(of: "t1", on: 20, .full, from: 0)
        #expect(play([basic, late, Self.received(pro, at: 21)]).included == play([basic, pro]).included)
    }

    @Test("a start for the time being, none of a product and the purchase of another lineage give nothing")
    func nothing() {
        var temporary = Self.begins("t1", "basic", from: 0, to: 1)
        let period = ServicePeriod(start: Self.day(0), end: Self.day(1))
        temporary.event = .started(.init(origin: .temporary, phase: .regular, period: period))
        #expect(play([temporary]).included == 0)
        #expect(play([Self.coins("c1", 0, on: 1)]).bought == 0)

        var coins = Self.coins("c1", 1, on: 1)
        coins.subscription = SubscriptionID(store: .appStore, environment: .production, id: "O2")
        var state = SubscriptionState(Self.lineage)
        let applied = state.apply(coins)
        #expect(applied == AppliedEvent(disposition: .unrelated, event: coins, nextCheckAt: nil))
        #expect(state.isEmpty)
        #expect(Self.policy.actions(for: applied, in: state) == [])
    }

    @Test("what is added beside a period that is only inferred pays nothing out")
    func addedBesideInferred() {
        let period = ServicePeriod(start: Self.day(31), end: Self.day(62))
        let change = LifecycleEvent.ProductChange(
            from: "basic",
            to: "max",
            direction: .addOns,
            timing: .immediate,
            basis: .store
        )
        let inferred = Fact.Period(period, product: "basic", phase: .regular, transaction: nil, isProvisional: true)
        let added = Self.event(.productChanged(change), at: Self.day(31), "in_2", facts: [.period(inferred)])
        #expect(play([Self.begins("in_1", "basic", from: 0, to: 31), added], spending: [0: 150]).included == 50)
    }

    @Test("only what a period pays out can be void")
    func voidActions() {
        var state = SubscriptionState(Self.lineage)
        let applied = state.apply(Self.coins("c1", 1, on: 1))
        let actions = Self.policy.actions(for: applied, in: state)
        #expect(actions.map { Self.policy.isVoid($0, in: state) } == [false])
    }

    @Test("an invoice over nothing pays out no more than the trial that it is for", arguments: [0, 20])
    func invoiceOfTrial(_ amount: Int64) throws {
        let trial = Self.begins("t1", "pro", from: 0, to: 7, phase: .trial)
        var invoice = Self.begins("t1", "pro", from: 0, to: 7, isRenewal: true)
        invoice.provider = .stripe
        invoice.price = Price(Money(ExactDecimal(amount), "USD"), .charged)
        let period = ServicePeriod(start: Self.day(0), end: Self.day(7))
        invoice.facts = [
            .period(.init(period, product: "pro", phase: .regular, transaction: "t1", isProvisional: true))
        ]
        var state = SubscriptionState(Self.lineage)
        state.apply(try #require(trial.statement))
        let actions = Self.policy.actions(for: state.apply(invoice), in: state)
        #expect(actions.map(\.effect) == [.reset(to: amount == 0 ? 50 : 500)])
    }

    @Test("a downgrade pays out when it begins")
    func downgrade() {
        let pro = Self.begins("t1", "pro", from: 0, to: 31)
        let basic = Self.begins("t2", "basic", from: 31, to: 62, isRenewal: true)
        #expect(play([pro, basic]).included == 200)
    }

    @Test("a product that is changed to and fro within a period of Stripe's pays out once")
    func toAndFro() {
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
        let period = ServicePeriod(start: Self.day(0), end: Self.day(30))
        var state = SubscriptionState(lineage)
        var host = Host()
        func tell(_ event: LifecycleEvent, _ product: String, at days: Double) {
            var event = Self.event(
                event,
                at: Self.day(days),
                "\(days)",
                product: product,
                facts: [.period(.init(period, product: product, phase: .regular, transaction: nil))]
            )
            (event.provider, event.store, event.subscription, event.transaction) = (.stripe, .stripe, lineage, nil)
            host.perform(Self.policy.actions(for: state.apply(event), in: state))
        }
        tell(.started(.init(origin: .new, phase: .regular, period: period)), "basic", at: 0)
        for (index, product) in ["pro", "basic", "pro", "basic", "pro"].enumerated() {
            tell(
                .productChanged(
                    .init(
                        from: product == "pro" ? "basic" : "pro",
                        to: product,
                        direction: .unknown,
                        timing: .immediate,
                        basis: .store
                    )
                ),
                product,
                at: 1 + Double(index)
            )
        }
        #expect(host.balance.bought == 200)
        #expect((251...270).contains(host.balance.included))
    }

    /// On the App Store, and on Stripe with a new anchor each time, a change begins a period.
    @Test("a product that is changed to and fro in periods of their own gives no more than what was paid for")
    func toAndFroInPeriods() {
        func story(_ changes: [(product: String, at: Double)]) -> [NormalizedEvent] {
            changes.enumerated().map { index, change in
                Self.begins("t\(index)", change.product, from: change.at, to: change.at + 30, isRenewal: index > 0)
            }
        }
        let minute = 1.0 / 1440
        let farmed = story((0..<20).map { ($0 % 2 == 0 ? "basic" : "pro", Double($0) * minute) })
        let all = play(farmed)
        // 10.00 for 200, and 10.00 more for half of 500, up to the minutes that went by.
        #expect((450...452).contains(all.included + all.bought), "\(all)")
        // Who comes back later pays for what is not there any more.
        let honest = play(story([("pro", 0), ("basic", 3), ("pro", 18)]))
        // 20.00, of which 8.00 went back, and 15.00.
        #expect((674...676).contains(honest.included + honest.bought), "\(honest)")
        let paid = play(story([("pro", 0), ("basic", 15), ("pro", 30)]))
        #expect(paid.included == 375)
        #expect(paid.bought == 500)
        // Most of a year's money goes back, which had given few credits.
        let year = Self.begins("y", "basic", from: 0, to: 365)
        let month = Self.begins("m1", "pro", from: 10, to: 40, isRenewal: true)
        let dearer = Self.begins("m2", "max", from: 25, to: 55, isRenewal: true)
        #expect(play([year, month, dearer]).included >= 750 - 200)
    }

    @Test("random changes give what the money is for that was paid and stayed, and what is told twice gives once")
    func randomChanges() {
        let prices = ["basic": 10.0, "pro": 20, "max": 40]
        let first = UInt64.random(in: 0...UInt64.max >> 1)
        for seed in (0..<300).map({ first + $0 }) {
            var random = SplitMix64(seed: seed)
            var events: [NormalizedEvent] = []
            var (product, start, paid, most) = ("", 0.0, 0.0, 0.0)
            for index in 0..<Int.random(in: 1...14, using: &random) {
                let others = prices.keys.sorted().filter { $0 != product }
                let next = others[Int.random(in: 0..<others.count, using: &random)]
                let begins = index == 0 ? 0 : start + Double.random(in: 0.01...20, using: &random)
                let unused = index == 0 ? 0 : 1 - (begins - start) / 30
                paid += (prices[next] ?? 0) - (prices[product] ?? 0) * unused
                most = max(most, paid)
                (product, start) = (next, begins)
                events.append(Self.begins("t\(index)", next, from: begins, to: begins + 30, isRenewal: index > 0))
            }
            let balance = play(events)
            let given = Double(balance.included + balance.bought)
            // Basic gives least for the money, pro and max most.
            #expect(given <= 25 * most + 1, "seed \(seed)")
            #expect(given >= 20 * most - 2 * Double(events.count), "seed \(seed)")
            let again = play(events.flatMap { [$0, $0] } + events)
            #expect([again.included, again.bought] == [balance.included, balance.bought], "seed \(seed)")
        }
    }

    @Test("what a subscription includes ends with its period, also where the next one's product gives nothing")
    func nextGivesNothing() {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        let lite = Self.begins("t2", "lite", from: 31, to: 62, at: 30.5, isRenewal: true)
        let next = Self.begins("t3", "lite", from: 62, to: 93, isRenewal: true)
        for story in [
            [basic, lite], [basic, lite, next], [basic, next], [basic, lite, basic],
            [lite, Self.received(basic, at: 30.6)],
        ] {
            let balance = play(story, spending: [0: 80])
            #expect((balance.included, balance.bought) == (0, 0))
            #expect(balance.waiting == [])
        }
        let back = Self.begins("t3", "basic", from: 62, to: 93, isRenewal: true)
        #expect(play([basic, lite, back, lite], spending: [0: 80]).included == 200)
        // Known late, over a period that has paid out.
        #expect(play([basic, back, Self.received(lite, at: 70)], spending: [1: 80]).included == 120)
    }

    /// Stripe suspends all of a subscription, also a year that is paid for, and tells of the payment first.
    @Test("a month that gives nothing takes nothing from the year beside it, once its failed charge succeeds")
    func monthBesideSuspendedYear() {
        let year = Self.begins("y1", "basic", from: 0, to: 365)
        let month = Self.begins("m1", "lite", from: 0, to: 31)
        let next = Fact.Period(
            ServicePeriod(start: Self.day(31), end: Self.day(62)),
            product: "lite",
            phase: .regular,
            transaction: "m2"
        )
        let suspended = Self.event(
            .autoRenewEnabled,
            at: Self.day(31.1),
            "failed",
            facts: [.period(next)]
                + [("y1", 0.0), ("m2", 31)].map { name, start in
                    .periodEnded(
                        .init(start: Self.day(start), transaction: name, at: Self.day(start), reason: .billing)
                    )
                }
        )
        let paid = Self.begins("m2", "lite", from: 31, to: 62, at: 32, isRenewal: true)
        #expect(play([year, month, suspended, paid], spending: [0: 80]).included == 120)
    }

    @Test("a period that gives nothing and comes to light late takes nothing of what was paid out since")
    func lateLapse() {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        let lite = Self.begins("t2", "lite", from: 31, to: 62, isRenewal: true)
        var state = SubscriptionState(Self.lineage)
        var balance = CreditBalance(included: 120, paidOutAt: Self.day(62))
        for event in [basic, lite] {
            for action in Self.policy.actions(for: state.apply(event), in: state) {
                balance.perform(action, at: Self.day(70))
            }
        }
        #expect(balance == CreditBalance(included: 120, paidOutAt: Self.day(62)))
    }

    /// The actions for the last of some events.
    private func lastActions(_ events: [NormalizedEvent]) -> [CreditAction] {
        var state = SubscriptionState(Self.lineage)
        var actions: [CreditAction] = []
        for event in events { actions = Self.policy.actions(for: state.apply(event), in: state) }
        return actions
    }

    @Test("where nothing was given, is over or was paid for, nothing is taken")
    func nothingToTake() {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        let lite = Self.begins("t2", "lite", from: 31, to: 62, isRenewal: true)
        #expect(lastActions([basic, lite]).map(\.effect) == [.reset(to: 0)])
        let before = Self.begins("t1", "lite", from: 0, to: 31)
        #expect(lastActions([before, lite]) == [])
        let ahead = Self.begins("t2", "basic", from: 31, to: 62, at: 30.5, isRenewal: true)
        #expect(lastActions([ahead, Self.received(before, at: 30.6)]) == [])
        let refund = Self.refund(of: "t2", on: 35, .full, from: 31)
        #expect(lastActions([basic, refund, Self.received(lite, at: 40)]) == [])
        var inferred = lite
        inferred.facts = inferred.facts.map { fact in
            guard case .period(var period) = fact else { return fact }
            period.isProvisional = true
            return .period(period)
        }
        #expect(lastActions([basic, inferred]) == [])
    }

    @Test("a pause that lasts keeps what is left from what begins in it; an end for want of payment only for its time")
    func pausedYear() {
        func cut(_ days: Double, _ reason: LifecycleEvent.Expired.Reason) -> NormalizedEvent {
            Self.event(
                .autoRenewEnabled,
                at: Self.day(days),
                "cut",
                facts: [.periodEnded(.init(start: Self.day(0), transaction: "y1", at: Self.day(0), reason: reason))]
            )
        }
        let year = Self.begins("y1", "basic", from: 0, to: 365)
        let month = Self.begins("m1", "lite", from: 0, to: 31)
        let next = Self.begins("m2", "lite", from: 31, to: 62, isRenewal: true)
        #expect(lastActions([year, month, cut(20, .paused), next]) == [])
        #expect(lastActions([year, month, cut(20, .billing), next]) == [])
        let short = Self.begins("y1", "basic", from: 0, to: 31)
        #expect(lastActions([short, month, cut(20, .billing), next]).map(\.effect) == [.reset(to: 0)])
    }

    @Test("what waits to take what is left is void where the period that gives nothing does not begin")
    func voidLapse() throws {
        let basic = Self.begins("t1", "basic", from: 0, to: 31)
        let lite = Self.begins("t2", "lite", from: 31, to: 62, at: 30.5, isRenewal: true)
        let action = try #require(lastActions([basic, lite]).first)
        var state = SubscriptionState(Self.lineage)
        for event in [basic, lite] { _ = state.apply(event) }
        #expect(!Self.policy.isVoid(action, in: state))
        _ = state.apply(Self.refund(of: "t2", on: 30.7, .full, from: 31))
        #expect(Self.policy.isVoid(action, in: state))
    }

    @Test("a change to what gives nothing that is paid for with time leaves what is left", arguments: [true, false])
    func changeForTime(isCharged: Bool) {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        var change = Self.changes("t2", from: "basic", to: "lite", 15...45, at: 15)
        guard case .productChanged(var detail) = change.event else { return }
        detail.proration = isCharged ? .fullCharge : .timeCredit
        change.event = .productChanged(detail)
        #expect(lastActions([basic, change]).map(\.effect) == (isCharged ? [.carryOver(to: 0)] : []))
    }

    @Test("a change to a product that gives nothing keeps what is left as any change does", arguments: [true, false])
    func changeToNothing(carriesOver: Bool) {
        let basic = Self.begins("t1", "basic", from: 0, to: 30)
        let lite = Self.begins("t2", "lite", from: 15, to: 45, isRenewal: true)
        var policy = Self.policy
        policy.carriesOver = carriesOver
        var host = Host()
        var state = SubscriptionState(Self.lineage)
        for event in [basic, lite] { host.perform(policy.actions(for: state.apply(event), in: state)) }
        #expect(host.balance.included == 0)
        #expect(host.balance.bought == (carriesOver ? 200 : 0))
    }

    @Test("a period that a relay tells of without its base plan takes nothing from what the store says that it gives")
    func unknownBasePlan() {
        let policy = CreditPolicy(["sub:basic": .init(credits: 200)])
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "GPA.1")
        func begins(
            _ order: String,
            _ product: String,
            _ days: ClosedRange<Double>,
            told: Double,
            by provider: Provider
        )
            -> NormalizedEvent
        {
            let period = ServicePeriod(start: Self.day(days.lowerBound), end: Self.day(days.upperBound))
            var event = Self.event(
                .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
                at: Self.day(told),
                order,
                product: product,
                facts: [.period(.init(period, product: product, phase: .regular, transaction: order))]
            )
            (event.provider, event.store, event.subscription) = (provider, .playStore, lineage)
            event.origin.notificationID = "\(order) \(product)"
            return event
        }
        let first = begins("GPA.1", "sub:basic", 0...30, told: 0, by: .google)
        for told in [30.0, 29.5] {
            let relayed = begins("GPA.1..0", "sub", 30...60, told: told, by: .revenuecat)
            let stated = begins("GPA.1..0", "sub:basic", 30...60, told: told + 0.1, by: .google)
            // A change is dated to when it took effect, and told later.
            var changed = relayed
            changed.event = .productChanged(
                .init(from: "old", to: "sub", direction: .unknown, timing: .immediate, basis: .store)
            )
            changed.effectiveAt = Self.day(30)
            (changed.occurredAt, changed.receivedAt) = (Self.day(told + 0.05), Self.day(told + 0.05))
            for order in [
                [first, relayed, stated], [first, stated, relayed], [relayed, first, stated], [first, changed, stated],
            ] {
                var state = SubscriptionState(lineage)
                var balance = CreditBalance()
                var done: Set<String> = []
                for event in order {
                    for action in policy.actions(for: state.apply(event), in: state)
                    where done.insert(action.id).inserted {
                        balance.perform(action, at: event.receivedAt)
                    }
                }
                balance.settle(at: Self.day(31), by: policy, in: state)
                #expect((balance.included, balance.bought) == (200, 0))
            }
        }
    }

    @Test("an early renewal pays out when its period begins, not before")
    func earlyRenewal() throws {
        var state = SubscriptionState(Self.lineage)
        _ = state.apply(Self.begins("t1", "basic", from: 0, to: 31))
        let applied = state.apply(Self.begins("t2", "basic", from: 31, to: 62, at: 30.5, isRenewal: true))
        #expect(applied.nextCheckAt == Self.day(31))
        #expect(applied.event.effectiveAt == Self.day(31))
        let actions = Self.policy.actions(for: applied, in: state)
        #expect(actions.map(\.effect) == [.reset(to: 200)])
        #expect(actions.map(\.effectiveAt) == [Self.day(31)])
    }

    @Test("a trial gives what a trial gives; a product that gives nothing does nothing")
    func trial() {
        #expect(play([Self.begins("t1", "pro", from: 0, to: 7, phase: .trial)]).included == 50)
        #expect(play([Self.begins("t1", "unknown", from: 0, to: 7)]).included == 0)
    }

    @Test("an end that another period has overtaken takes nothing")
    func lateEnd() {
        let first = Self.begins("t1", "basic", from: 0, to: 31)
        let second = Self.begins("t2", "basic", from: 31, to: 62, isRenewal: true)
        #expect(play([first, second, Self.ends("t1", from: 0, at: 31)]).included == 200)
    }

    @Test("the action of a period has one id, whichever channel brings it")
    func identity() {
        var state = SubscriptionState(Self.lineage)
        var first = Self.begins("t1", "basic", from: 0, to: 31)
        let actions = Self.policy.actions(for: state.apply(first), in: state)
        first.provider = .revenuecat
        first.origin.notificationID = "other"
        #expect(Self.policy.actions(for: state.apply(first), in: state) == actions)
        #expect(actions.count == 1)
    }

    @Test("an applied event that was written before it said what it gives back is read, and gives nothing back")
    func olderApplication() throws {
        var state = SubscriptionState(Self.lineage)
        let applied = state.apply(Self.begins("t1", "basic", from: 0, to: 31))
        let text = String(decoding: try CanonicalJSON.bytes(applied), as: UTF8.self)
        let older = text.replacing(#","is_restoration":false"#, with: "")
        #expect(older != text)
        #expect(try CanonicalJSON.value(AppliedEvent.self, from: Array(older.utf8)) == applied)
    }

    @Test("actions and policies survive being written and read")
    func codable() throws {
        for effect: CreditAction.Effect in [.grant(-5), .reset(to: 1), .prorate(to: 2), .carryOver(to: 3), .revoke] {
            let bytes = try CanonicalJSON.bytes(effect)
            #expect(try CanonicalJSON.value(CreditAction.Effect.self, from: bytes) == effect)
        }
        let bytes = try CanonicalJSON.bytes(Self.policy)
        #expect(try CanonicalJSON.value(CreditPolicy.self, from: bytes) == Self.policy)
    }
}
