import FoundationEssentials
import Testing

@testable import Normalizer

/// What a host ends up with that keeps one ledger, a balance for each lineage, and one of what was bought.
@Suite("What an account ends up with")
struct AccountStories {
    static let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "sub:basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "sub:pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "coins": .init(credits: 30),
    ])
    static let start = Date(millisecondsSince1970: 1_772_355_600_000)
    static func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    static func event(
        _ event: LifecycleEvent,
        _ name: String?,
        at days: Double,
        effective: Double? = nil,
        of lineage: String = "L1",
        store: Store = .appStore,
        by provider: Provider = .apple,
        product: PurchasedProduct? = PurchasedProduct(id: "basic"),
        id: EventID? = nil,
        notification: String? = nil,
        _ facts: [Fact]
    ) -> NormalizedEvent {
        let lineage = SubscriptionID(store: store, environment: .production, id: lineage)
        let key = notification ?? "\(event.kind)-\(name ?? "")-\(days)-\(provider)"
        return NormalizedEvent(
            id: id ?? .notified(lineage, by: provider, notification: key),
            event: event,
            provider: provider,
            store: store,
            environment: .production,
            subscription: lineage,
            transaction: name,
            product: product,
            occurredAt: day(days),
            effectiveAt: day(effective ?? days),
            assertedAt: day(days),
            receivedAt: day(days),
            facts: facts,
            origin: Origin(
                type: "T",
                notificationID: key,
                channel: .webhook,
                evidence: .init(.unchecked),
                digest: key,
                mapper: "test/1"
            )
        )
    }

    struct Host {
        var ledger = AccountLedger()
        var balances: [SubscriptionID: CreditBalance] = [:]
        var done: Set<String> = []
        var log: [CreditAction] = []

        mutating func handle(_ event: NormalizedEvent) {
            let applied = ledger.apply(event)
            guard let lineage = applied.event.subscription, let state = ledger[lineage] else { return }
            balances = ledger.joined(balances)
            for action in AccountStories.policy.actions(for: applied, in: state)
            where done.insert(action.id).inserted {
                log.append(action)
                balances[state.subscription, default: CreditBalance()].perform(action, at: action.effectiveAt)
            }
        }

        var bought: Int64 { balances.values.reduce(0) { $0 + $1.bought } }

        func included(at time: Date) -> Int64 {
            balances.reduce(0) { $0 + (ledger[$1.key]?.access(at: time).isGranted == true ? $1.value.included : 0) }
        }
    }

    static func play(_ events: [NormalizedEvent]) -> Host {
        var host = Host()
        for event in events { host.handle(event) }
        return host
    }

    @Test("Family Sharing of a non-consumable ends with its revocation")
    func familyNonConsumable() {
        let purchase = LifecycleEvent.OneTimePurchase(type: .nonConsumable, quantity: 1, familyShared: true)
        let bought = Fact.purchase(
            .init(transaction: "L1", product: "lifetime", purchase: purchase, at: Self.day(0))
        )
        let end = Fact.periodEnded(.init(start: Self.day(0), transaction: "L1", at: Self.day(10), reason: .unknown))
        let shared = Self.event(.oneTimePurchased(purchase), "L1", at: 0, [bought])
        let revoked = Self.event(.revoked(.init(reason: .familySharingEnded)), "L1", at: 10, [bought, end])
        for story in [[shared, revoked], [revoked, shared], [revoked]] {
            let host = Self.play(story)
            let state = host.ledger.states[0]
            #expect(state.access(at: Self.day(5)).isGranted)
            #expect(!state.access(at: Self.day(11)).isGranted)
            #expect(state.nextTransition(after: Self.day(5)) == Self.day(10))
        }
        // Shared anew.
        let again = Self.event(.oneTimePurchased(purchase), "L1", at: 20, [bought])
        #expect(Self.play([again, shared, revoked]).ledger.states[0].access(at: Self.day(21)).isGranted)
    }

    static func begins(
        _ name: String?,
        _ product: String,
        _ from: Double,
        _ to: Double,
        at: Double? = nil,
        lineage: String = "L1",
        store: Store = .appStore,
        by provider: Provider = .revenuecat,
        isRenewal: Bool = false,
        effective: Double? = nil,
        factTransaction: String?? = nil
    ) -> NormalizedEvent {
        let period = ServicePeriod(start: day(from), end: day(to))
        let id = SubscriptionID(store: store, environment: .production, id: lineage)
        return event(
            isRenewal
                ? .renewed(.init(cause: .unknown, phase: .regular, period: period))
                : .started(.init(origin: .new, phase: .regular, period: period)),
            name,
            at: at ?? from,
            effective: effective ?? from,
            of: lineage,
            store: store,
            by: provider,
            product: PurchasedProduct(id: product),
            id: name.map { .periodBegan(id, transaction: $0) },
            [
                .period(
                    .init(period, product: product, phase: .regular, transaction: factTransaction ?? name)
                ),
                .owner(Account("u1", .appUserID)),
            ]
        )
    }

    @Test("an upgrade on Play told by a relay prorates by what was left of the old period, not of the new one")
    func relayedPlayUpgrade() {
        let minute = 1.0 / 1440
        let basic = Self.begins("GPA.1", "sub:basic", 0, 30, at: minute, lineage: "GPA.1", store: .playStore)
        // At half the cycle 375; a day before its end about 491.
        for (change, credits) in [(15.0, Int64(375)), (29.0, 491)] {
            let pro = Self.begins(
                "GPA.2",
                "sub:pro",
                change,
                change + 30,
                at: change + minute,
                lineage: "GPA.2",
                store: .playStore
            )
            let host = Self.play([basic, pro])
            let given = host.balances[SubscriptionID(store: .playStore, environment: .production, id: "GPA.2")]?
                .included
            #expect((given ?? 0) >= credits, "at \(change)")
        }
    }

    @Test("what is bought after a refund pays out in full, also when the relay tells of it seconds later")
    func relayedPurchaseAfterRefund() {
        let minute = 1.0 / 1440
        let basic = Self.begins("t1", "basic", 0, 30, at: minute)
        let refund = Self.event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t1",
            at: 10,
            by: .revenuecat,
            [
                .refund(
                    .init(transaction: "t1", scope: .full, at: Self.day(10), periodStart: Self.day(0), endsAccess: true)
                )
            ]
        )
        let pro = Self.begins("t2", "pro", 13, 43, at: 13 + minute, isRenewal: true)
        #expect(Self.play([basic, refund, pro]).included(at: Self.day(14)) == 500)
    }

    @Test("a pause that ends within its period leaves the credits as they were")
    func pauseWithinPeriod() {
        func stripe(_ event: LifecycleEvent, _ days: Double, _ facts: [Fact]) -> NormalizedEvent {
            Self.event(event, "in_1", at: days, store: .stripe, by: .stripe, facts)
        }
        let period = ServicePeriod(start: Self.day(0), end: Self.day(30))
        let stated = Fact.period(.init(period, product: "basic", phase: .regular, transaction: nil))
        let began = stripe(.started(.init(origin: .new, phase: .regular, period: period)), 0, [stated])
        let paused = stripe(
            .paused(.init()),
            10,
            [
                stated, .pause(.init(.paused)),
                .periodEnded(.init(start: Self.day(0), transaction: nil, at: Self.day(10), reason: .paused)),
            ]
        )
        let resumed = stripe(
            .renewed(.init(cause: .resumption, phase: .regular, period: period)),
            15,
            [stated, .pause(.init(.none))]
        )
        let host = Self.play([began, paused, resumed])
        #expect(host.ledger.states[0].access(at: Self.day(16)).isGranted)
        #expect(host.included(at: Self.day(16)) == 200)
        // Nothing taken, nothing given.
        var spent = Self.play([began, paused, resumed])
        for key in spent.balances.keys { spent.balances[key]?.included = 50 }
        for event in [resumed, paused, began, resumed] { spent.handle(event) }
        #expect(spent.included(at: Self.day(16)) == 50)
        let late = Self.play([began, resumed, paused])
        #expect(late.included(at: Self.day(16)) == 200)
    }

    /// A refund on the Amazon Appstore, which RevenueCat names by the transaction of the first period.
    static func relayedRefund(at days: Double, ofPeriodFrom start: Double) -> NormalizedEvent {
        event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t1",
            at: days,
            store: .amazon,
            by: .revenuecat,
            [
                .refund(
                    .init(
                        transaction: "t1",
                        scope: .full,
                        at: day(days),
                        periodStart: day(start),
                        endsAccess: true
                    )
                )
            ]
        )
    }

    @Test("a refund of a renewal that keeps the transaction of the first period ends the renewal")
    func sharedTransaction() {
        let first = Self.begins("t1", "basic", 0, 30, store: .amazon)
        let second = Self.begins(nil, "basic", 30, 60, store: .amazon, isRenewal: true)
        let refund = Self.relayedRefund(at: 40, ofPeriodFrom: 30)
        let end = Self.event(
            .expired(.init(reason: .developer)),
            "t1",
            at: 40,
            store: .amazon,
            by: .revenuecat,
            [.periodEnded(.init(start: Self.day(30), transaction: "t1", at: Self.day(40), reason: .developer))]
        )
        for loss in [refund, end] {
            for story in [
                [first, second, loss], [loss, second, first], [first, loss, second], [second, loss, first],
            ] {
                let host = Self.play(story)
                #expect(host.ledger.states[0].access(at: Self.day(35)).isGranted)
                #expect(!host.ledger.states[0].access(at: Self.day(45)).isGranted)
            }
            #expect(Self.play([first, second, loss]).balances.values.first?.included == 0)
        }
    }

    @Test("a refund of a period that keeps the transaction of the first takes nothing of the first")
    func sharedTransactionWithinThePeriod() {
        let first = Self.begins("t1", "basic", 0, 30, store: .amazon)
        let second = Self.begins(nil, "basic", 20, 50, store: .amazon, isRenewal: true)
        let refund = Self.relayedRefund(at: 25, ofPeriodFrom: 20)
        for story in [[first, second, refund], [refund, second, first]] {
            let state = Self.play(story).ledger.states[0]
            #expect(state.access(at: Self.day(27)).isGranted)
            #expect(!state.access(at: Self.day(35)).isGranted)
        }
    }

    @Test("a prorated refund of what was bought does not take all of it")
    func proratedPurchase() throws {
        let half = try #require(ExactDecimal(coefficient: 5, scale: 1))
        let purchase = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: 1)
        let coins = Self.event(
            .oneTimePurchased(purchase),
            "c1",
            at: 0,
            product: PurchasedProduct(id: "coins"),
            [.purchase(.init(transaction: "c1", product: "coins", purchase: purchase, at: Self.day(0)))]
        )
        let refund = Self.event(
            .refunded(.init(transaction: "c1", scope: .fraction(half), reason: .unknown, affectsCurrentPeriod: true)),
            "c1",
            at: 2,
            product: PurchasedProduct(id: "coins"),
            [
                .refund(
                    .init(
                        transaction: "c1",
                        scope: .fraction(half),
                        at: Self.day(2),
                        periodStart: nil,
                        endsAccess: true
                    )
                )
            ]
        )
        #expect(Self.play([coins, refund]).bought > 0)
    }

    @Test("a quantity that one channel does not know: credits do not depend on which is first")
    func quantity() {
        func coins(_ quantity: Int64, _ provider: Provider, _ days: Double) -> NormalizedEvent {
            let purchase = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: quantity)
            let id = SubscriptionID(store: .appStore, environment: .production, id: "L1")
            return Self.event(
                .oneTimePurchased(purchase),
                "c1",
                at: days,
                by: provider,
                product: PurchasedProduct(id: "coins"),
                id: .purchased(id, transaction: "c1"),
                [.purchase(.init(transaction: "c1", product: "coins", purchase: purchase, at: Self.day(0)))]
            )
        }
        let (apple, relay) = (coins(3, .apple, 0), coins(1, .revenuecat, 0))
        let refund = Self.event(
            .refunded(.init(transaction: "c1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "c1",
            at: 2,
            product: PurchasedProduct(id: "coins"),
            [.refund(.init(transaction: "c1", scope: .full, at: Self.day(2), periodStart: nil, endsAccess: true))]
        )
        let reversal = Self.event(
            .refundReversed(.init(transaction: "c1")),
            "c1",
            at: 3,
            product: PurchasedProduct(id: "coins"),
            [.refund(.init(transaction: "c1", scope: nil, at: Self.day(3), periodStart: nil, endsAccess: false))]
        )
        #expect(Self.play([apple, relay]).bought == 90)
        #expect(Self.play([relay, apple]).bought == 90)
        #expect(Self.play([relay, apple, refund]).bought == 0)
        #expect(Self.play([relay, refund, apple]).bought == 0)
        #expect(Self.play([relay, apple, refund, reversal]).bought == 90)
        #expect(Self.play([relay, refund, reversal, apple]).bought == 90)
    }

    @Test("a year beside months in one subscription is not replaced by them")
    func yearBesideMonths() {
        func shown(_ days: Double, _ periods: (Double, Double, String)...) -> NormalizedEvent {
            Self.event(
                .notice(.init(.other)),
                nil,
                at: days,
                store: .stripe,
                by: .stripe,
                periods.map { from, to, product in
                    .period(
                        .init(
                            ServicePeriod(start: Self.day(from), end: Self.day(to)),
                            product: product,
                            phase: .regular,
                            transaction: nil
                        )
                    )
                }
            )
        }
        let story = [
            shown(0, (0, 365, "prod_a")),
            shown(30, (0, 365, "prod_b"), (30, 60, "prod_a")),
            // The monthly item is removed.
            shown(59, (0, 365, "prod_b")),
        ]
        for story in [story, story.reversed(), [story[1], story[2], story[0]]] {
            let state = Self.play(story).ledger.states[0]
            #expect(state.access(at: Self.day(45)).isGranted)
            #expect(state.access(at: Self.day(100)).isGranted)
            #expect(!state.access(at: Self.day(366)).isGranted)
        }
        let both = Self.play(Array(story.prefix(2))).ledger.states[0]
        #expect(both.access(at: Self.day(61)).isGranted)
    }

    @Test("refunded, restored and refunded again, beside a period of no length", arguments: [0, 1, 2, 3, 4, 5])
    func refundReversedRefunded(_ order: Int) {
        func refund(_ scope: LifecycleEvent.Refund.Scope?, _ days: Double) -> NormalizedEvent {
            Self.event(
                scope.map {
                    .refunded(.init(transaction: "t1", scope: $0, reason: .unknown, affectsCurrentPeriod: nil))
                }
                    ?? .refundReversed(.init(transaction: "t1")),
                "t1",
                at: days,
                [
                    .refund(
                        .init(
                            transaction: "t1",
                            scope: scope,
                            at: Self.day(days),
                            periodStart: Self.day(0),
                            endsAccess: scope != nil
                        )
                    )
                ]
            )
        }
        var story = [
            Self.begins("t1", "basic", 0, 30, by: .apple), refund(.full, 5), refund(nil, 6), refund(.full, 7),
            Self.begins("t0", "basic", 10, 10, by: .apple),
        ]
        for _ in 0..<order { story.append(story.removeFirst()) }
        let state = Self.play(story).ledger.states[0]
        #expect(!state.access(at: Self.day(8)).isGranted)
        #expect(!state.access(at: Self.day(10)).isGranted)
    }

    @Test("the reversal of a relayed refund gives back what was bought once")
    func reversalOfPurchase() {
        let purchase = LifecycleEvent.OneTimePurchase(type: .nonRenewing, quantity: 1, expires: Self.day(100))
        let bought = Self.event(
            .oneTimePurchased(purchase),
            "L1",
            at: 0,
            by: .revenuecat,
            [
                .purchase(.init(transaction: "L1", product: "pass", purchase: purchase, at: Self.day(0)))
            ]
        )
        let refund = Self.event(
            .refunded(.init(transaction: "L1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "L1",
            at: 10,
            by: .revenuecat,
            [.refund(.init(transaction: "L1", scope: .full, at: Self.day(10), periodStart: nil, endsAccess: true))]
        )
        let expired = Self.event(
            .expired(.init(reason: .refunded)),
            "L1",
            at: 10.01,
            by: .revenuecat,
            [
                .periodEnded(.init(start: Self.day(0), transaction: "L1", at: Self.day(10), reason: .refunded))
            ]
        )
        let reversed = Self.event(
            .refundReversed(.init(transaction: "L1")),
            "L1",
            at: 20,
            by: .revenuecat,
            [
                .refund(.init(transaction: "L1", scope: nil, at: Self.day(20), periodStart: nil, endsAccess: false))
            ]
        )
        let host = Self.play([bought, refund, expired, reversed])
        #expect(host.ledger.states[0].access(at: Self.day(21)).isGranted)
    }

    @Test("a replaced period that is read again later does not come back")
    func replacedReadAgain() {
        let basic = Self.begins("t1", "basic", 0, 30, by: .apple)
        let pro = Self.begins("t2", "pro", 10, 40, by: .apple, isRenewal: true)
        let refund = Self.event(
            .refunded(.init(transaction: "t2", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t2",
            at: 12,
            [
                .refund(
                    .init(
                        transaction: "t2",
                        scope: .full,
                        at: Self.day(12),
                        periodStart: Self.day(10),
                        endsAccess: true
                    )
                )
            ]
        )
        // Apple names no moment of the upgrade.
        let reread = Self.event(
            .notice(.init(.other)),
            "t1",
            at: 20,
            [
                .period(
                    .init(
                        ServicePeriod(start: Self.day(0), end: Self.day(30)),
                        product: "basic",
                        phase: .regular,
                        transaction: "t1"
                    )
                ),
                .periodEnded(.init(start: Self.day(0), transaction: "t1", at: Self.day(20), reason: .replaced)),
            ]
        )
        let state = Self.play([basic, pro, refund, reread]).ledger.states[0]
        #expect(!state.access(at: Self.day(15)).isGranted)
    }

    @Test("what a recovery is from does not depend on which of two linked names is looked at first")
    func recoveryUnderTwoNames() {
        func play(
            _ event: LifecycleEvent,
            _ days: Double,
            _ name: String,
            _ provider: Provider,
            _ facts: [Fact]
        ) -> NormalizedEvent {
            Self.event(event, "GPA.1", at: days, of: name, store: .playStore, by: provider, facts)
        }
        func period(_ from: Double, _ to: Double, _ name: String) -> Fact {
            let period = ServicePeriod(start: Self.day(from), end: Self.day(to))
            return .period(.init(period, product: "basic", phase: .regular, transaction: name))
        }
        let next = ServicePeriod(start: Self.day(30), end: Self.day(60))
        let story = [
            play(
                .started(.init(origin: .new, phase: .regular, period: .init(start: Self.day(0), end: Self.day(30)))),
                0,
                "token",
                .google,
                [
                    period(0, 30, "GPA.1"),
                    .link(SubscriptionID(store: .playStore, environment: .production, id: "GPA.1")),
                ]
            ),
            play(
                .billingIssue(.init(access: .grace(until: Self.day(33)))),
                30,
                "token",
                .google,
                [.billing(.init(.grace, periodStart: Self.day(0), graceUntil: Self.day(33)))]
            ),
            // The relay knows of no grace.
            play(
                .billingIssue(.init(access: .suspended)),
                30.01,
                "GPA.1",
                .revenuecat,
                [.billing(.init(.suspended, periodStart: Self.day(0)))]
            ),
            play(
                .renewed(.init(cause: .recovery(from: .unknown), phase: .regular, period: next)),
                31,
                "token",
                .google,
                [period(30, 60, "GPA.1..0")]
            ),
        ]
        var causes: Set<LifecycleEvent.Renewed.Cause> = []
        for _ in 0..<64 {
            var ledger = AccountLedger()
            for event in story {
                if case .renewed(let renewed) = ledger.apply(event).event.event { causes.insert(renewed.cause) }
            }
        }
        #expect(causes == [.recovery(from: .grace)])
    }

    @Test("of two workers at one row, the second applies its event to what the first has written")
    func twoWorkers() {
        let first = Self.begins("t1", "basic", 0, 30, by: .apple)
        let off = Self.event(
            .autoRenewDisabled(.init(reason: .customer)),
            "t1",
            at: 5,
            [.renewalIntent(.init(.init(willRenew: false)))]
        )
        let refund = Self.event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t1",
            at: 5.01,
            [
                .refund(
                    .init(transaction: "t1", scope: .full, at: Self.day(5), periodStart: Self.day(0), endsAccess: true)
                )
            ]
        )
        var row = SubscriptionState(
            first.subscription ?? SubscriptionID(store: .unknown, environment: .unknown, id: "")
        )
        _ = row.apply(first)
        var (one, other) = (row, row)
        _ = one.apply(off)
        _ = other.apply(refund)
        // The other was too late.
        var again = one
        let applied = again.apply(refund)
        #expect(applied.disposition == .applied)
        #expect(Self.policy.actions(for: applied, in: again).map(\.effect) == [.revoke])
        // Merging gives the same state, and makes the event one that is known.
        #expect(one.joined(with: other) == again)
        #expect(again.apply(refund).disposition == .duplicate)
    }

    @Test("an upgrade under a new token pays out its share where the rows of both tokens are read")
    func linkedRows() throws {
        let (old, new) = ("token1", "token2")
        let basic = Self.begins("GPA.1", "sub:basic", 0, 30, lineage: old, store: .playStore, by: .google)
        var pro = Self.begins("GPA.2", "sub:pro", 15, 45, lineage: new, store: .playStore, by: .google)
        let link = SubscriptionID(store: .playStore, environment: .production, id: old)
        pro.facts.append(.link(link))
        var first = SubscriptionState(link)
        _ = first.apply(basic)
        #expect(Normalization([pro, basic]).lineages == [pro.subscription, link])
        var ledger = AccountLedger([first])
        let applied = ledger.apply(pro)
        let state = try #require(ledger[SubscriptionID(store: .playStore, environment: .production, id: new)])
        #expect(Self.policy.actions(for: applied, in: state).map(\.effect) == [.carryOver(to: 375)])
        // A joined state may stand in both rows.
        let read = try CanonicalJSON.value(SubscriptionState.self, from: try CanonicalJSON.bytes(state))
        #expect(AccountLedger([first, read]).states == [state])
        #expect(AccountLedger([read, first, read]) == ledger)
    }

    @Test("what a result says beside its events is joined with it, also where it has none")
    func wholeResult() throws {
        let began = Self.begins("t1", "basic", 0, 30, by: .apple)
        let beside = try #require(Self.begins("t2", "pro", 0, 30, lineage: "L2", by: .apple).statement)
        let renewed = try #require(Self.begins("t3", "basic", 30, 60, by: .apple, isRenewal: true).statement)
        let told = Normalization([began], furtherStatements: [beside])
        let asked = Normalization(noChange: .init(.unchanged, statement: renewed), furtherStatements: [beside])

        #expect(told.lineages == [began.subscription, beside.subscription])
        var ledger = AccountLedger()
        #expect(ledger.apply(told).map(\.disposition) == [.applied])
        #expect(ledger.apply(asked) == [])
        #expect(ledger.apply(told).map(\.disposition) == [.duplicate])
        var expected = AccountLedger()
        for statement in told.statements + asked.statements { expected.apply(statement) }
        #expect(ledger == expected)
        #expect(ledger.states.map { $0.access(at: Self.day(29)).isGranted } == [true, true])
        #expect(ledger.states.map { $0.access(at: Self.day(59)).isGranted } == [true, false])
    }

    @Test("news is what the state did not know, and what is about no lineage")
    func news() {
        let began = Self.begins("t1", "basic", 0, 30, by: .apple)
        var asked = Self.event(.notice(.init(.test)), nil, at: 1, [])
        asked.subscription = nil
        var ledger = AccountLedger()
        let late = Self.event(.autoRenewEnabled, "t1", at: 2, [.renewalIntent(.init(.init(willRenew: true)))])
        let later = Self.event(
            .autoRenewDisabled(.init(reason: .customer)),
            "t1",
            at: 3,
            [.renewalIntent(.init(.init(willRenew: false)))]
        )
        let applied = ledger.apply(Normalization([began, began, later, late, asked]))
        #expect(applied.map(\.disposition) == [.applied, .duplicate, .applied, .superseded, .unrelated])
        #expect(applied.map(\.isNews) == [true, false, true, false, true])
        var another = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L2"))
        let elsewhere = another.apply(began)
        #expect(elsewhere.disposition == .unrelated && !elsewhere.isNews)
    }
}
