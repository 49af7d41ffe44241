import FoundationEssentials
import NormalizerTesting
import Testing

@testable import Normalizer

/// The refinement of an event by earlier knowledge.
@Suite("The refinement of events by a state")
struct StateRefinementTests {
    private static func reported(
        _ event: LifecycleEvent,
        _ name: TransactionID?,
        at days: Double,
        of lineage: String = "L1",
        store: PurchaseStore = .appStore,
        by provider: Provider = .apple,
        facts: [Fact] = []
    ) -> NormalizedEvent {
        AccountStories.event(event, name, at: days, of: lineage, store: store, by: provider, facts: facts)
    }

    private static func day(_ days: Double) -> Date { AccountStories.day(days) }

    private static func period(_ from: Double, _ to: Double) -> ServicePeriod {
        ServicePeriod(start: AccountStories.day(from), end: AccountStories.day(to))
    }

    private static func renewed(_ name: TransactionID, from: Double, to: Double, _ phase: PeriodPhase)
        -> NormalizedEvent
    {
        let period = period(from, to)
        return reported(
            .renewed(.init(cause: .unknown, phase: phase, period: period)),
            name,
            at: from,
            facts: [.period(.init(period, product: "basic", phase: phase, transaction: name))]
        )
    }

    @Test(
        "a period that follows within an offer converts nothing",
        arguments: [
            (.introductory, .introductory, .unknown), (.introductory, .regular, .introductoryConversion),
            (.trial, .trial, .unknown), (.trial, .regular, .trialConversion),
        ] as [(PeriodPhase, PeriodPhase, LifecycleEvent.Renewed.Cause)]
    )
    func conversion(before: PeriodPhase, phase: PeriodPhase, cause: LifecycleEvent.Renewed.Cause) {
        var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L1"))
        _ = state.apply(Self.renewed("t1", from: 0, to: 30, before))
        let applied = state.apply(Self.renewed("t2", from: 30, to: 60, phase))
        #expect(applied.event.event == .renewed(.init(cause: cause, phase: phase, period: Self.period(30, 60))))
    }

    @Test("a payment that comes late is a return only if renewal was off before it", arguments: [20, 75] as [Double])
    func cancellationAfterLatePayment(day: Double) {
        var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L1"))
        _ = state.apply(Self.renewed("t1", from: 0, to: 30, .regular))
        let off = Fact.renewalIntent(.init(.init(willRenew: false), reason: .customer))
        _ = state.apply(Self.reported(.autoRenewDisabled(.init(reason: .customer)), "t1", at: day, facts: [off]))
        let applied = state.apply(Self.renewed("t2", from: 31, to: 61, .regular)).event.event
        let period = Self.period(31, 61)
        #expect(
            applied
                == (day < 31
                    ? .started(.init(origin: .resubscribed, phase: .regular, period: period))
                    : .renewed(.init(cause: .unknown, phase: .regular, period: period)))
        )
    }

    /// The result of a look-up, with a period next to it so that a price and a product have something to follow.
    private static func found(_ fact: Fact, at days: Double, by provider: Provider = .apple) -> StoreStatement {
        StoreStatement(
            subscription: SubscriptionID(store: .appStore, environment: .production, id: "L1"),
            provider: provider,
            assertedAt: AccountStories.day(days),
            facts: [fact],
            origin: .madeUp(channel: provider == .apple ? .clientUpload : .refetch, digest: "found-\(days)")
        )
    }

    private static let increase = LifecycleEvent.PriceChange(stage: .pending, consentRequired: true)

    @Test(
        "a fact that an upload or a look-up found first is reported by one notification",
        arguments: [
            (
                .autoRenewDisabled(.init(reason: .customer)),
                .renewalIntent(.init(.init(willRenew: false), reason: .customer))
            ),
            (.billingIssue(.init(access: .suspended)), .billing(.init(.suspended))),
            (.priceChange(increase), .priceChange(.init(increase))),
            (
                .productChangeScheduled(
                    .init(to: "pro", direction: .downgrade, timing: .atPeriodEnd(nil), basis: .store)
                ),
                .renewalIntent(.init(.init(willRenew: true, nextProduct: "pro"), reason: nil))
            ),
            (
                .extended(.init(to: AccountStories.day(40), reason: .developer)),
                .period(.init(period(0, 40), product: "basic", phase: .regular, transaction: "t1"))
            ),
        ] as [(LifecycleEvent, Fact)],
        [Provider.apple, .google, .revenuecat]
    )
    func foundFirst(news: (LifecycleEvent, Fact), by finder: Provider) {
        let (event, fact) = news
        func state(_ steps: (inout SubscriptionState) -> Void) -> SubscriptionState {
            var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L1"))
            _ = state.apply(Self.renewed("t1", from: 0, to: 30, .regular))
            steps(&state)
            return state
        }
        let stated = Self.reported(event, "t1", at: 5, facts: [fact])
        let relayed = Self.reported(event, "t1", at: 5.001, by: .revenuecat, facts: [fact])
        let (before, after) = (Self.found(fact, at: 5.000_5, by: finder), Self.found(fact, at: 6, by: finder))
        var dispositions: [AppliedEvent.Disposition] = []
        let foundFirst = state {
            $0.apply(before)
            for event in [stated, stated] { dispositions.append($0.apply(event).disposition) }
            $0.apply(after)
            for event in [stated, relayed] { dispositions.append($0.apply(event).disposition) }
        }
        // The reported one is known, however often it is looked up.
        #expect(dispositions == [.applied, .duplicate, .duplicate, .duplicate])
        let toldFirst = state {
            #expect($0.apply(relayed).disposition == .applied)
            $0.apply(after)
            #expect($0.apply(stated).disposition == .duplicate)
            $0.apply(before)
        }
        #expect(foundFirst == toldFirst)
    }

    /// RevenueCat's answers are facts alone, and name no transaction.
    @Test(
        "a fact in a relay's answer is reported by one later notification",
        arguments: [
            (
                .renewed(.init(cause: .scheduled, phase: .regular, period: period(30, 60))),
                .period(.init(period(30, 60), product: "basic", phase: .regular, transaction: "t2")),
                .period(.init(period(30, 60), product: "basic", phase: .regular, transaction: nil))
            ),
            (
                .expired(.init(reason: .customer)),
                .periodEnded(.init(start: day(0), transaction: "t1", at: day(30), reason: .customer)),
                .periodEnded(.init(start: day(0), transaction: nil, at: day(30), reason: .unknown))
            ),
            (
                .paused(.init(resumesAt: day(50))),
                .periodEnded(.init(start: day(0), transaction: "t1", at: day(30), reason: .paused)),
                .periodEnded(.init(start: day(0), transaction: nil, at: day(30), reason: .paused))
            ),
            (
                .pauseScheduled(.init(resumesAt: day(50))), .pause(.init(.scheduled, resumesAt: day(50))),
                .pause(.init(.scheduled, resumesAt: day(50)))
            ),
        ] as [(LifecycleEvent, Fact, Fact)]
    )
    func foundByRelay(event: LifecycleEvent, fact: Fact, shown: Fact) {
        func state(_ steps: (inout SubscriptionState) -> Void) -> SubscriptionState {
            var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L1"))
            _ = state.apply(Self.renewed("t1", from: 0, to: 30, .regular))
            steps(&state)
            return state
        }
        let relayed = Self.reported(event, "t2", at: 31, by: .revenuecat, facts: [fact])
        let stated = Self.reported(event, "t2", at: 31.001, facts: [fact])
        let (before, after) = (
            Self.found(shown, at: 31.000_5, by: .revenuecat), Self.found(shown, at: 33, by: .revenuecat)
        )
        var dispositions: [AppliedEvent.Disposition] = []
        let foundFirst = state {
            $0.apply(before)
            for event in [relayed, relayed] { dispositions.append($0.apply(event).disposition) }
            $0.apply(after)
            for event in [relayed, stated] { dispositions.append($0.apply(event).disposition) }
        }
        #expect(dispositions == [.applied, .duplicate, .duplicate, .duplicate])
        let toldFirst = state {
            for event in [stated, relayed] { _ = $0.apply(event) }
            $0.apply(after)
            $0.apply(before)
        }
        #expect(foundFirst == toldFirst)
    }

    /// A relay names what replaces a purchase on Google Play as another lineage, which has the name of its first order.
    @Test(
        "a period that begins long after an end has replaced nothing, and the end takes the credits",
        arguments: [(PurchaseStore.appStore, "L1"), (.playStore, "t2")]
    )
    func endBeforeAnother(store: PurchaseStore, lineage: String) throws {
        let isPlay = store == .playStore
        let products: (ProductID, ProductID) = isPlay ? ("sub:basic", "sub:pro") : ("basic", "pro")
        func ended(at days: Double) -> NormalizedEvent {
            let end = Fact.PeriodEnd(
                start: AccountStories.day(0),
                transaction: "t1",
                at: AccountStories.day(days),
                reason: .customer
            )
            return Self.reported(
                .expired(.init(reason: .customer)),
                "t1",
                at: days,
                store: store,
                by: .revenuecat,
                facts: [.periodEnded(end)]
            )
        }
        for (days, reason) in [(10.0, LifecycleEvent.Expired.Reason.customer), (20, .replaced)] {
            var ledger = AccountLedger()
            _ = ledger.apply(AccountStories.begins("t1", products.0, from: 0, to: 30, store: store))
            _ = ledger.apply(AccountStories.begins("t2", products.1, from: 20, to: 50, lineage: lineage, store: store))
            let applied = ledger.apply(ended(at: days))
            #expect(applied.event.event == .expired(.init(reason: reason)))
        }
    }

    @Test("a purchase waits for its payment whatever was paid for before it, and no more once it is paid for")
    func pending() {
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "L1")
        func pending(_ name: TransactionID, at days: Double) -> NormalizedEvent {
            Self.reported(
                .purchasePending(.init(product: "basic")),
                name,
                at: days,
                store: .playStore,
                by: .google
            )
        }
        var state = SubscriptionState(lineage)
        _ = state.apply(AccountStories.begins("t1", "basic", from: 0, to: 30, store: .playStore, by: .google))
        #expect(state.apply(pending("t2", at: 40)).disposition == .applied)
        _ = state.apply(AccountStories.begins("t2", "basic", from: 41, to: 71, store: .playStore, by: .google))
        #expect(state.apply(pending("t2", at: 40)).disposition == .superseded)

        let coins = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: 1)
        var sale = SubscriptionState(lineage)
        _ = sale.apply(
            Self.reported(
                .oneTimePurchased(coins),
                "t3",
                at: 1,
                store: .playStore,
                by: .google,
                facts: [
                    .purchase(.init(transaction: "t3", product: "coins", purchase: coins, at: AccountStories.day(1)))
                ]
            )
        )
        #expect(sale.apply(pending("t3", at: 0.5)).disposition == .superseded)
        #expect(sale.apply(pending("t4", at: 0.5)).disposition == .applied)
    }

    @Test("a renewal after a failed charge that had turned renewal off shows it on again, and an earlier one does not")
    func renewalAfterFailure() {
        let failed = Self.reported(
            .autoRenewDisabled(.init(reason: .billing)),
            "t1",
            at: 30,
            facts: [.renewalIntent(.init(.init(willRenew: false), reason: .billing))]
        )
        let (first, second) = (
            Self.renewed("t1", from: 0, to: 30, .regular), Self.renewed("t2", from: 31, to: 61, .regular)
        )
        for (story, willRenew) in [
            ([first, failed], false), ([first, failed, second], true), ([second, failed, first], true),
        ] {
            var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L1"))
            for event in story { _ = state.apply(event) }
            #expect(state.snapshot(at: AccountStories.day(32)).willRenew == willRenew)
        }
    }

    @Test("an end is news if the period after it never gave access, and news of the past if that did")
    func endBeforeUnpaidPeriod() {
        let ended = Fact.PeriodEnd(start: Self.day(0), transaction: "t1", at: Self.day(20), reason: .billing)
        let expired = Self.reported(.expired(.init(reason: .billing)), "t1", at: 20, facts: [.periodEnded(ended)])
        let second = Fact.Period(Self.period(30, 60), product: "basic", phase: .regular, transaction: "t2")
        let unpaid = Fact.PeriodEnd(start: Self.day(30), transaction: "t2", at: Self.day(30), reason: .billing)
        for (isPaid, disposition) in [(true, .superseded), (false, .applied)] as [(Bool, AppliedEvent.Disposition)] {
            var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "L1"))
            _ = state.apply(Self.renewed("t1", from: 0, to: 30, .regular))
            _ = state.apply(Self.found(.period(second), at: 30))
            if !isPaid { _ = state.apply(Self.found(.periodEnded(unpaid), at: 30.1)) }
            #expect(state.apply(expired).disposition == disposition)
        }
    }
}
