import FoundationEssentials
import Testing

@testable import Normalizer

@Suite("What is left of credits")
struct CreditBalanceTests {
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")
    private static let start = Date(millisecondsSince1970: 1_772_355_600_000)

    private static func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    private static func balance(_ effects: CreditAction.Effect...) -> CreditBalance {
        var balance = CreditBalance()
        for (index, effect) in effects.enumerated() { balance.perform(action(effect, on: Double(index)), at: day(100)) }
        return balance
    }

    private static func action(_ effect: CreditAction.Effect, on days: Double) -> CreditAction {
        CreditAction(id: "\(days)", effect: effect, effectiveAt: day(days), subscription: lineage)
    }

    @Test(
        "each effect concerns one of the two parts",
        arguments: [
            ([.reset(to: 200), .reset(to: 200)], 200, 0), ([.reset(to: 200), .carryOver(to: 375)], 375, 200),
            ([.reset(to: 200), .prorate(to: 375)], 375, 0), ([.reset(to: 500), .grant(-245)], 255, 0),
            ([.reset(to: 200), .grant(30)], 200, 30), ([.grant(30), .withdraw(30)], 0, 0),
            ([.withdraw(30), .grant(30)], 0, 0), ([.reset(to: 200), .grant(30), .revoke], 0, 30),
            // Nothing was paid out that could have been too much.
            ([.grant(-245), .reset(to: 500)], 500, 0), ([.grant(-245)], 0, 0),
        ] as [([CreditAction.Effect], Int64, Int64)]
    )
    func effects(_ effects: [CreditAction.Effect], included: Int64, bought: Int64) {
        var balance = CreditBalance()
        for (index, effect) in effects.enumerated() {
            balance.perform(Self.action(effect, on: Double(index)), at: Self.day(100))
        }
        #expect(balance.included == included)
        #expect(balance.bought == bought)
    }

    @Test("sums end where 64 bits do")
    func bounds() {
        var balance = Self.balance(.reset(to: .min), .grant(.min), .grant(.max), .grant(.max))
        #expect(balance.included == .min)
        #expect(balance.bought == .max)
        balance.perform(Self.action(.withdraw(.min), on: 5), at: Self.day(100))
        #expect(balance.bought == .max)
        for _ in 0..<3 { balance.perform(Self.action(.withdraw(.max), on: 6), at: Self.day(100)) }
        #expect(balance.bought == .min)
        #expect(balance.available(hasAccess: true) == .min)
        #expect(balance.use(upTo: .max, hasAccess: true) == 0)
        balance.perform(Self.action(.carryOver(to: .max), on: 7), at: Self.day(100))
        #expect(balance.bought == .min)
        var full = Self.balance(.reset(to: .max), .grant(.max))
        #expect(full.use(upTo: .max, hasAccess: true) == .max)
        #expect(full.use(upTo: .min, hasAccess: true) == 0)
        #expect((full.included, full.bought) == (0, .max))
        full.merge(Self.balance(.grant(.max)))
        #expect(full.bought == .max)
    }

    @Test(
        "what does not last is used first, and no more than there is",
        arguments: [
            (120, true, 120, 80, 30), (210, true, 210, 0, 20), (500, true, 230, 0, 0), (500, false, 30, 200, 0),
            (-5, true, 0, 200, 30),
        ] as [(Int64, Bool, Int64, Int64, Int64)]
    )
    func use(_ credits: Int64, hasAccess: Bool, used: Int64, included: Int64, bought: Int64) {
        var balance = Self.balance(.reset(to: 200), .grant(30))
        #expect(balance.available(hasAccess: hasAccess) == (hasAccess ? 230 : 30))
        #expect(balance.use(upTo: credits, hasAccess: hasAccess) == used)
        #expect((balance.included, balance.bought) == (included, bought))
    }

    @Test("what is owed of one part is kept back from the other")
    func debts() {
        var corrected = Self.balance(.reset(to: 500), .grant(100))
        #expect(corrected.use(upTo: 480, hasAccess: true) == 480)
        corrected.perform(Self.action(.grant(-70), on: 3), at: Self.day(3))
        #expect((corrected.included, corrected.bought) == (-50, 100))
        #expect(corrected.use(upTo: 80, hasAccess: true) == 50)
        #expect((corrected.included, corrected.bought) == (-50, 50))
        var refunded = Self.balance(.reset(to: 100), .grant(30))
        refunded.bought -= 30
        refunded.perform(Self.action(.withdraw(30), on: 3), at: Self.day(3))
        #expect(refunded.available(hasAccess: true) == 70)
        #expect(refunded.use(upTo: 100, hasAccess: true) == 70)
        #expect((refunded.included, refunded.bought) == (30, -30))
    }

    @Test("of linked lineages what the later payout left counts, and all that was bought")
    func links() {
        var earlier = CreditBalance()
        earlier.perform(Self.action(.reset(to: 200), on: 1), at: Self.day(1))
        earlier.perform(Self.action(.grant(30), on: 1), at: Self.day(1))
        var later = CreditBalance()
        later.perform(Self.action(.reset(to: 500), on: 2), at: Self.day(2))
        later.perform(Self.action(.grant(7), on: 2), at: Self.day(2))
        later.perform(Self.action(.reset(to: 600), on: 40), at: Self.day(2))
        for (one, other) in [(earlier, later), (later, earlier)] {
            var joined = one
            joined.merge(other)
            #expect(joined.included == 500)
            #expect(joined.paidOutAt == Self.day(2))
            #expect(joined.bought == 37)
            #expect(joined.waiting.map(\.effect) == [.reset(to: 600)])
        }
        var used = earlier
        #expect(used.use(upTo: 60, hasAccess: true) == 60)
        for (one, other) in [(earlier, used), (used, earlier)] {
            var joined = one
            joined.merge(other)
            #expect(joined.included == 140)
        }
        // Kept by a host before, without a payout.
        var kept = CreditBalance(included: 12)
        kept.merge(CreditBalance())
        #expect(kept.included == 12)
        var same = earlier
        same.merge(CreditBalance())
        #expect(same == earlier)
        var none = CreditBalance()
        none.merge(earlier)
        #expect(none == earlier)
    }

    @Test("what two items of one subscription pay out at one time is the same, whether it has waited or not")
    func itemsAtOnce() {
        let month = CreditAction(
            id: "month",
            effect: .carryOver(to: 100),
            effectiveAt: Self.day(1),
            subscription: Self.lineage
        )
        let actions = [Self.action(.reset(to: 1000), on: 1), month]
        let policy = CreditPolicy([:])
        var waited = CreditBalance()
        for action in actions { waited.perform(action, at: Self.day(0)) }
        waited.settle(at: Self.day(2), by: policy, in: SubscriptionState(Self.lineage))
        #expect((waited.included, waited.bought) == (100, 1000))
        // Of linked lineages, each pays out one purchase.
        var linked = CreditBalance()
        var copy = month
        copy.subscription = SubscriptionID(store: .appStore, environment: .production, id: "O2")
        for action in [month, copy] { linked.perform(action, at: Self.day(0)) }
        linked.settle(at: Self.day(2), by: policy, in: SubscriptionState(Self.lineage))
        #expect((linked.included, linked.bought) == (100, 0))
    }

    @Test("what a late change left is known after a link, whichever balance is merged into the other")
    func linkedRemainders() {
        let both = Self.balance(.reset(to: 200), .reset(to: 500))
        let one = CreditBalance(included: 500, paidOutAt: Self.day(1))
        for (into, other) in [(both, one), (one, both), (both, both)] {
            var joined = into
            joined.merge(other)
            for time in [0.5, 0.6] { joined.perform(Self.action(.carryOver(to: 0), on: time), at: Self.day(2)) }
            #expect((joined.included, joined.bought) == (500, 200))
        }
    }

    @Test(
        "a period that was charged ahead pays out when it begins, once, unless it does not begin",
        arguments: [false, true]
    )
    func waiting(isRefunded: Bool) throws {
        let policy = CreditPolicy(["basic": .init(credits: 200)])
        var state = SubscriptionState(Self.lineage)
        var balance = Self.balance(.reset(to: 200))
        balance.included = 12
        let ahead = ServicePeriod(start: Self.day(30), end: Self.day(60))
        let charged = NormalizedEvent(
            id: .periodBegan(Self.lineage, transaction: "t2"),
            event: .renewed(.init(cause: .scheduled, phase: .regular, period: ahead)),
            provider: .apple,
            store: .appStore,
            environment: .production,
            subscription: Self.lineage,
            transaction: "t2",
            product: PurchasedProduct(id: "basic"),
            occurredAt: Self.day(29.5),
            effectiveAt: Self.day(30),
            assertedAt: Self.day(29.5),
            receivedAt: Self.day(29.5),
            facts: [.period(.init(ahead, product: "basic", phase: .regular, transaction: "t2"))],
            origin: Self.origin
        )
        let applied = state.apply(charged)
        for action in policy.actions(for: applied, in: state) { balance.perform(action, at: Self.day(29.5)) }
        #expect(balance.included == 12)
        #expect(balance.waiting.map(\.effectiveAt) == [Self.day(30)])
        if isRefunded {
            state.apply(
                StoreStatement(
                    subscription: Self.lineage,
                    provider: .apple,
                    assertedAt: Self.day(29.7),
                    facts: [
                        .periodEnded(
                            .init(start: Self.day(30), transaction: "t2", at: Self.day(29.7), reason: .refunded)
                        )
                    ],
                    origin: Self.origin
                )
            )
        }
        balance.settle(at: Self.day(29.9), by: policy, in: state)
        #expect(balance.waiting.count == 1)
        let stored = try CanonicalJSON.value(CreditBalance.self, from: try CanonicalJSON.bytes(balance))
        #expect(stored == balance)
        for days in [30.0, 31] {
            balance.settle(at: Self.day(days), by: policy, in: state)
            #expect(balance.included == (isRefunded ? 12 : 200))
            #expect(balance.waiting == [])
        }
    }

    @Test("what has waited is done in the order of its times")
    func order() {
        var balance = CreditBalance()
        for action in [Self.action(.carryOver(to: 500), on: 60), Self.action(.reset(to: 200), on: 30)] {
            balance.perform(action, at: Self.day(29))
        }
        balance.settle(at: Self.day(70), by: CreditPolicy([:]), in: SubscriptionState(Self.lineage))
        #expect((balance.included, balance.bought) == (500, 200))
        #expect(balance.paidOutAt == Self.day(60))
    }

    @Test("what a linked lineage has waited for as well is paid out once", arguments: [false, true])
    func linkedWaiting(settlesFirst: Bool) {
        let (policy, state) = (CreditPolicy([:]), SubscriptionState(Self.lineage))
        for (waits, expected) in [(20.0, Int64(40)), (30, 40), (31, 200)] {
            var paid = CreditBalance(paidOutAt: Self.day(1))
            paid.perform(Self.action(.reset(to: 100), on: 30), at: Self.day(30))
            #expect(paid.use(upTo: 60, hasAccess: true) == 60)
            var other = CreditBalance()
            other.perform(Self.action(.reset(to: 200), on: waits), at: Self.day(10))
            if settlesFirst { other.settle(at: Self.day(32), by: policy, in: state) }
            paid.merge(other)
            paid.settle(at: Self.day(32), by: policy, in: state)
            #expect(paid.included == expected, "\(waits)")
            #expect(paid.waiting == [])
        }
    }

    /// The clock of a store is a little ahead, and that two lineages are one purchase is known after both were paid out.
    @Test("an end takes nothing of what was paid out after it, whenever it is done", arguments: [true, false])
    func lateEnd(waits: Bool) {
        var ended = Self.balance(.reset(to: 200))
        let end = Self.action(.revoke, on: 31)
        if waits { ended.perform(end, at: Self.day(30.999)) }
        var renewed = CreditBalance()
        renewed.perform(Self.action(.reset(to: 200), on: 40), at: Self.day(40))
        renewed.merge(ended)
        renewed.settle(at: Self.day(41), by: CreditPolicy([:]), in: SubscriptionState(Self.lineage))
        if !waits { renewed.perform(end, at: Self.day(41)) }
        #expect(renewed.included == 200)
        #expect(renewed.waiting == [])
        renewed.perform(Self.action(.revoke, on: 40), at: Self.day(41))
        #expect(renewed.included == 0)
    }

    private static let origin = Origin(
        type: "T",
        notificationID: "n",
        channel: .webhook,
        evidence: .init(.unchecked),
        digest: "d",
        mapper: "test/1"
    )
}
