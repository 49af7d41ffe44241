import FoundationEssentials
import NormalizerTesting
import Testing

@testable import Normalizer

/// A host that keeps one ledger, a balance for each lineage, and one of one-time purchases.
@Suite("The result for an account")
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
        _ name: TransactionID?,
        at days: Double,
        effective: Double? = nil,
        of lineage: String = "L1",
        store: PurchaseStore = .appStore,
        by provider: Provider = .apple,
        product: PurchasedProduct? = PurchasedProduct(id: "basic"),
        id: EventID? = nil,
        notification: String? = nil,
        facts: [Fact]
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
            origin: .madeUp(notification: key, digest: key)
        )
    }

    struct Host {
        var ledger = AccountLedger()
        mutating func handle(_ event: NormalizedEvent) { _ = ledger.apply(event) }

        private func left(at time: Date, isLasting: Bool) -> Int64 {
            CreditStatement(of: ledger.states, under: AccountStories.policy, uses: [], at: time).grants
                .filter { ($0.until == nil) == isLasting }.reduce(0) { $0 + $1.left }
        }

        var bought: Int64 { left(at: AccountStories.day(400), isLasting: true) }

        func included(at time: Date) -> Int64 { left(at: time, isLasting: false) }
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
        let shared = Self.event(.oneTimePurchased(purchase), "L1", at: 0, facts: [bought])
        let revoked = Self.event(.revoked(.init(reason: .familySharingEnded)), "L1", at: 10, facts: [bought, end])
        for story in [[shared, revoked], [revoked, shared], [revoked]] {
            let host = Self.play(story)
            let state = host.ledger.states[0]
            #expect(state.access(at: Self.day(5)).isGranted)
            #expect(!state.access(at: Self.day(11)).isGranted)
            #expect(state.nextTransition(after: Self.day(5)) == Self.day(10))
        }
        // Shared anew.
        let again = Self.event(.oneTimePurchased(purchase), "L1", at: 20, facts: [bought])
        #expect(Self.play([again, shared, revoked]).ledger.states[0].access(at: Self.day(21)).isGranted)
    }

    static func begins(
        _ name: TransactionID?,
        _ product: ProductID,
        from: Double,
        to: Double,
        at: Double? = nil,
        lineage: String = "L1",
        store: PurchaseStore = .appStore,
        by provider: Provider = .revenuecat,
        isRenewal: Bool = false,
        effective: Double? = nil,
        factTransaction: TransactionID?? = nil
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
            id: name.map { .periodBegan(id, transaction: $0, product: product) },
            facts: [
                .period(
                    .init(period, product: product, phase: .regular, transaction: factTransaction ?? name)
                ),
                .owner(Account("u1", .appUserID)),
            ]
        )
    }

    @Test("a purchase after a refund pays out in full, even if the relay reports it seconds later")
    func relayedPurchaseAfterRefund() {
        let minute = 1.0 / 1440
        let basic = Self.begins("t1", "basic", from: 0, to: 30, at: minute)
        let refund = Self.event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t1",
            at: 10,
            by: .revenuecat,
            facts: [
                .refund(
                    .init(transaction: "t1", scope: .full, at: Self.day(10), periodStart: Self.day(0), endsAccess: true)
                )
            ]
        )
        let pro = Self.begins("t2", "pro", from: 13, to: 43, at: 13 + minute, isRenewal: true)
        #expect(Self.play([basic, refund, pro]).included(at: Self.day(14)) == 500)
    }

    /// A refund on the Amazon Appstore, which RevenueCat names by the transaction of the first period.
    static func relayedRefund(at days: Double, ofPeriodFrom start: Double) -> NormalizedEvent {
        event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t1",
            at: days,
            store: .amazon,
            by: .revenuecat,
            facts: [
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

    @Test("a refund of a period that keeps the transaction of the first takes nothing of the first")
    func sharedTransactionWithinThePeriod() {
        let first = Self.begins("t1", "basic", from: 0, to: 30, store: .amazon)
        let second = Self.begins(nil, "basic", from: 20, to: 50, store: .amazon, isRenewal: true)
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
            facts: [.purchase(.init(transaction: "c1", product: "coins", purchase: purchase, at: Self.day(0)))]
        )
        let refund = Self.event(
            .refunded(.init(transaction: "c1", scope: .fraction(half), reason: .unknown, affectsCurrentPeriod: true)),
            "c1",
            at: 2,
            product: PurchasedProduct(id: "coins"),
            facts: [
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
        func coins(_ quantity: Int64, by provider: Provider, at days: Double) -> NormalizedEvent {
            let purchase = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: quantity)
            let id = SubscriptionID(store: .appStore, environment: .production, id: "L1")
            return Self.event(
                .oneTimePurchased(purchase),
                "c1",
                at: days,
                by: provider,
                product: PurchasedProduct(id: "coins"),
                id: .purchased(id, transaction: "c1", product: "coins"),
                facts: [.purchase(.init(transaction: "c1", product: "coins", purchase: purchase, at: Self.day(0)))]
            )
        }
        let (apple, relay) = (coins(3, by: .apple, at: 0), coins(1, by: .revenuecat, at: 0))
        let refund = Self.event(
            .refunded(.init(transaction: "c1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "c1",
            at: 2,
            product: PurchasedProduct(id: "coins"),
            facts: [
                .refund(.init(transaction: "c1", scope: .full, at: Self.day(2), periodStart: nil, endsAccess: true))
            ]
        )
        let reversal = Self.event(
            .refundReversed(.init(transaction: "c1")),
            "c1",
            at: 3,
            product: PurchasedProduct(id: "coins"),
            facts: [.refund(.init(transaction: "c1", scope: nil, at: Self.day(3), periodStart: nil, endsAccess: false))]
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
        func shown(_ days: Double, _ periods: (Double, Double, ProductID)...) -> NormalizedEvent {
            Self.event(
                .notice(.init(.other)),
                nil,
                at: days,
                store: .stripe,
                by: .stripe,
                facts: periods.map { from, to, product in
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
    func refundReversedRefunded(order: Int) {
        func refund(_ scope: LifecycleEvent.Refund.Scope?, _ days: Double) -> NormalizedEvent {
            Self.event(
                scope.map {
                    .refunded(.init(transaction: "t1", scope: $0, reason: .unknown, affectsCurrentPeriod: nil))
                }
                    ?? .refundReversed(.init(transaction: "t1")),
                "t1",
                at: days,
                facts: [
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
            Self.begins("t1", "basic", from: 0, to: 30, by: .apple), refund(.full, 5), refund(nil, 6), refund(.full, 7),
            Self.begins("t0", "basic", from: 10, to: 10, by: .apple),
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
            facts: [
                .purchase(.init(transaction: "L1", product: "pass", purchase: purchase, at: Self.day(0)))
            ]
        )
        let refund = Self.event(
            .refunded(.init(transaction: "L1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "L1",
            at: 10,
            by: .revenuecat,
            facts: [
                .refund(.init(transaction: "L1", scope: .full, at: Self.day(10), periodStart: nil, endsAccess: true))
            ]
        )
        let expired = Self.event(
            .expired(.init(reason: .refunded)),
            "L1",
            at: 10.01,
            by: .revenuecat,
            facts: [
                .periodEnded(.init(start: Self.day(0), transaction: "L1", at: Self.day(10), reason: .refunded))
            ]
        )
        let reversed = Self.event(
            .refundReversed(.init(transaction: "L1")),
            "L1",
            at: 20,
            by: .revenuecat,
            facts: [
                .refund(.init(transaction: "L1", scope: nil, at: Self.day(20), periodStart: nil, endsAccess: false))
            ]
        )
        let host = Self.play([bought, refund, expired, reversed])
        #expect(host.ledger.states[0].access(at: Self.day(21)).isGranted)
    }

    @Test("a replaced period that is read again later does not come back")
    func replacedReadAgain() {
        let basic = Self.begins("t1", "basic", from: 0, to: 30, by: .apple)
        let pro = Self.begins("t2", "pro", from: 10, to: 40, by: .apple, isRenewal: true)
        let refund = Self.event(
            .refunded(.init(transaction: "t2", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t2",
            at: 12,
            facts: [
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
            facts: [
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

    @Test("the state before a recovery does not depend on which of two linked names is read first")
    func recoveryUnderTwoNames() {
        func play(
            _ event: LifecycleEvent,
            at days: Double,
            of name: String,
            by provider: Provider,
            _ facts: [Fact]
        ) -> NormalizedEvent {
            Self.event(event, "GPA.1", at: days, of: name, store: .playStore, by: provider, facts: facts)
        }
        func period(from: Double, to: Double, _ name: TransactionID) -> Fact {
            let period = ServicePeriod(start: Self.day(from), end: Self.day(to))
            return .period(.init(period, product: "basic", phase: .regular, transaction: name))
        }
        let next = ServicePeriod(start: Self.day(30), end: Self.day(60))
        let story = [
            play(
                .started(.init(origin: .new, phase: .regular, period: .init(start: Self.day(0), end: Self.day(30)))),
                at: 0,
                of: "token",
                by: .google,
                [
                    period(from: 0, to: 30, "GPA.1"),
                    .link(SubscriptionID(store: .playStore, environment: .production, id: "GPA.1")),
                ]
            ),
            play(
                .billingIssue(.init(access: .grace(until: Self.day(33)))),
                at: 30,
                of: "token",
                by: .google,
                [.billing(.init(.grace, periodStart: Self.day(0), graceUntil: Self.day(33)))]
            ),
            // The relay knows of no grace.
            play(
                .billingIssue(.init(access: .suspended)),
                at: 30.01,
                of: "GPA.1",
                by: .revenuecat,
                [.billing(.init(.suspended, periodStart: Self.day(0)))]
            ),
            play(
                .renewed(.init(cause: .recovery(from: .unknown), phase: .regular, period: next)),
                at: 31,
                of: "token",
                by: .google,
                [period(from: 30, to: 60, "GPA.1..0")]
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

    @Test("facts beside the events of a result are joined with it, even if it has no event")
    func wholeResult() throws {
        let began = Self.begins("t1", "basic", from: 0, to: 30, by: .apple)
        let beside = try #require(Self.begins("t2", "pro", from: 0, to: 30, lineage: "L2", by: .apple).statement)
        let renewed = try #require(Self.begins("t3", "basic", from: 30, to: 60, by: .apple, isRenewal: true).statement)
        let reported = Normalization([began], furtherStatements: [beside])
        let asked = Normalization(noChange: .init(.unchanged, statement: renewed), furtherStatements: [beside])

        #expect(reported.lineages == [began.subscription, beside.subscription])
        var ledger = AccountLedger()
        #expect(ledger.apply(reported).map(\.disposition) == [.applied])
        #expect(ledger.apply(asked) == [])
        #expect(ledger.apply(reported).map(\.disposition) == [.duplicate])
        let expected = AccountLedger(applying: reported.statements + asked.statements)
        #expect(ledger.unreportedStates == expected.states)
        #expect(ledger.states.map { $0.access(at: Self.day(29)).isGranted } == [true, true])
        #expect(ledger.states.map { $0.access(at: Self.day(59)).isGranted } == [true, false])
    }

    @Test("news is what the state did not know, and what is about no lineage")
    func news() {
        let began = Self.begins("t1", "basic", from: 0, to: 30, by: .apple)
        var asked = Self.event(.notice(.init(.test)), nil, at: 1, facts: [])
        asked.subscription = nil
        var ledger = AccountLedger()
        let late = Self.event(.autoRenewEnabled, "t1", at: 2, facts: [.renewalIntent(.init(.init(willRenew: true)))])
        let later = Self.event(
            .autoRenewDisabled(.init(reason: .customer)),
            "t1",
            at: 3,
            facts: [.renewalIntent(.init(.init(willRenew: false)))]
        )
        let applied = ledger.apply(Normalization([began, began, later, late, asked]))
        #expect(applied.map(\.disposition) == [.applied, .duplicate, .applied, .superseded, .unrelated])
        #expect(applied.map(\.isNews) == [true, false, true, false, true])
        var another = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L2"))
        let elsewhere = another.apply(began)
        #expect(elsewhere.disposition == .unrelated && !elsewhere.isNews)
    }
}
