import Foundation
import NormalizerTesting
import Testing

@testable import Normalizer

@Suite("Access to what was bought once")
struct StatePurchaseTests {
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")

    /// Days after the purchase.
    static func day(_ days: Double) -> Date { Date(timeIntervalSince1970: 1_767_225_600 + days * 86_400) }

    private static func reported(
        _ event: LifecycleEvent,
        on days: Double,
        _ fact: Fact,
        by provider: Provider = .apple
    ) -> NormalizedEvent {
        NormalizedEvent(
            id: .notified(lineage, by: provider, notification: "\(days)"),
            event: event,
            provider: provider,
            store: .appStore,
            environment: .production,
            subscription: lineage,
            transaction: "t1",
            occurredAt: day(days),
            effectiveAt: day(days),
            assertedAt: day(days),
            receivedAt: day(days),
            facts: [fact],
            origin: .madeUp(digest: "d")
        )
    }

    private static func bought(
        _ type: LifecycleEvent.OneTimePurchase.ProductType,
        until end: Date?,
        _ product: ProductID = "p",
        as transaction: TransactionID = "t1"
    ) -> NormalizedEvent {
        bought(.init(type: type, quantity: 1, expires: end), product, as: transaction)
    }

    private static func bought(
        _ purchase: LifecycleEvent.OneTimePurchase,
        _ product: ProductID = "p",
        as transaction: TransactionID = "t1",
        by provider: Provider = .apple,
        on days: Double = 0
    ) -> NormalizedEvent {
        reported(
            .oneTimePurchased(purchase),
            on: days,
            .purchase(.init(transaction: transaction, product: product, purchase: purchase, at: day(0))),
            by: provider
        )
    }

    private static func refunded(on days: Double) -> NormalizedEvent {
        reported(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: nil)),
            on: days,
            .refund(.init(transaction: "t1", scope: .full, at: day(days), periodStart: nil, endsAccess: true))
        )
    }

    private static func granted(until end: Date?) -> AccessDecision {
        .granted(
            until: end,
            because: .init(
                basis: .purchase,
                subscription: lineage,
                product: "p",
                phase: nil,
                transaction: "t1",
                ownership: .purchased,
                evidence: [Citation(bought(.nonConsumable, until: nil))]
            )
        )
    }

    private static func denied(
        since: Date?,
        _ reason: AccessDecision.Denial.Reason,
        product: ProductID? = "p",
        _ evidence: [NormalizedEvent]
    ) -> AccessDecision {
        .denied(
            since: since,
            because: .init(
                reason: reason,
                subscription: lineage,
                product: product,
                evidence: evidence.map { Citation($0) }
            )
        )
    }

    @Test("A refund ends it when the money went back, not before")
    func refund() {
        let purchase = Self.bought(.nonConsumable, until: nil)
        let refund = Self.refunded(on: 10)
        for events in [[purchase, refund], [refund, purchase]] {
            var state = SubscriptionState(Self.lineage)
            for event in events { _ = state.apply(event) }
            #expect(state.access(at: Self.day(-1)) == Self.denied(since: nil, .never, product: nil, []))
            #expect(state.access(at: Self.day(0)) == Self.granted(until: Self.day(10)))
            #expect(state.access(at: Self.day(9)) == Self.granted(until: Self.day(10)))
            #expect(state.nextTransition(after: Self.day(9)) == Self.day(10))
            let ended = Self.denied(since: Self.day(10), .refunded, [refund, purchase])
            #expect(state.access(at: Self.day(10)) == ended)
            #expect(state.access(at: Self.day(400)) == ended)
            #expect(state.nextTransition(after: Self.day(10)) == nil)
        }
    }

    @Test("An expired purchase is over since its end, even if it is refunded later")
    func end() {
        var state = SubscriptionState(Self.lineage)
        let purchase = Self.bought(.nonRenewing, until: Self.day(30))
        _ = state.apply(purchase)
        #expect(state.access(at: Self.day(29)) == Self.granted(until: Self.day(30)))
        let over = Self.denied(since: Self.day(30), .unknown, [purchase])
        #expect(state.access(at: Self.day(30)) == over)
        let refund = Self.refunded(on: 40)
        _ = state.apply(refund)
        #expect(state.access(at: Self.day(29)) == Self.granted(until: Self.day(30)))
        #expect(state.access(at: Self.day(39)) == over)
        #expect(state.access(at: Self.day(40)) == Self.denied(since: Self.day(30), .refunded, [refund, purchase]))
    }

    @Test("An end that a refund brought is taken back by a reversal since, and by none before")
    func reversal() {
        let purchase = Self.bought(.nonConsumable, until: nil)
        let end = Self.reported(
            .revoked(.init(reason: .unknown)),
            on: 10,
            .periodEnded(.init(start: Self.day(0), transaction: "t1", at: Self.day(10), reason: .refunded))
        )
        func reversed(on days: Double) -> NormalizedEvent {
            Self.reported(
                .refundReversed(.init(transaction: "t1")),
                on: days,
                .refund(.init(transaction: "t1", scope: nil, at: Self.day(days), periodStart: nil, endsAccess: false))
            )
        }
        for (events, isGranted) in [([], false), ([reversed(on: 8)], false), ([reversed(on: 12)], true)] {
            for story in [[purchase, end] + events, events + [end, purchase]] {
                var state = SubscriptionState(Self.lineage)
                for event in story { _ = state.apply(event) }
                #expect(state.access(at: Self.day(20)).isGranted == isGranted)
            }
        }
    }

    @Test("The last purchase to end counts when all are over")
    func lastEnd() {
        let (short, long) = (Self.bought(.nonRenewing, until: Self.day(20)), Self.day(30))
        let other = Self.bought(.nonRenewing, until: long, "q", as: "t2")
        for events in [[short, other], [other, short]] + [[short, other, Self.refunded(on: 10)]] {
            var state = SubscriptionState(Self.lineage)
            for event in events { _ = state.apply(event) }
            #expect(state.access(at: Self.day(40)) == Self.denied(since: long, .unknown, product: "q", [other]))
        }
    }

    @Test("A purchase of unknown type gives access until it is used up, refunded, or listed in the catalogue")
    func unknownType() throws {
        let purchase = Self.bought(.unknown, until: nil)
        func granted(_ events: [NormalizedEvent], by catalog: ProductCatalog? = nil) -> [Bool] {
            [events, events.reversed()].map { order in
                var state = SubscriptionState(Self.lineage)
                for event in order { _ = state.apply(event, catalog: catalog) }
                return state.access(at: Self.day(20)).isGranted
            }
        }
        #expect(granted([purchase]) == [true, true])
        #expect(granted([purchase, Self.refunded(on: 10)]) == [false, false])
        #expect(granted([purchase, Self.bought(.consumable, until: nil)]) == [false, false])
        let refused = ProductCatalog([], unlisted: .consumable)
        #expect(granted([purchase], by: refused) == [false, false])
        func listed(_ type: LifecycleEvent.OneTimePurchase.ProductType, days: Int? = nil) -> ProductCatalog {
            ProductCatalog(
                [],
                oneTimeProducts: [.init(id: "p", type: type, duration: days.map { CalendarDuration(days: $0) })],
                unlisted: .consumable
            )
        }
        #expect(granted([purchase], by: listed(.nonConsumable)) == [true, true])
        #expect(granted([purchase], by: listed(.consumable)) == [false, false])
        #expect(granted([purchase], by: listed(.nonRenewing, days: 30)) == [true, true])
        #expect(granted([purchase], by: listed(.nonRenewing, days: 2)) == [false, false])
        // The store's own statement stays.
        #expect(granted([Self.bought(.nonConsumable, until: nil)], by: listed(.consumable)) == [true, true])
        #expect(
            granted([Self.bought(.nonRenewing, until: Self.day(30))], by: listed(.nonRenewing, days: 2)) == [
                true, true,
            ]
        )
    }

    @Test("A catalogue fills in what a result leaves out, names what it does not know, and is read as it was written")
    func described() throws {
        var known = Self.bought(.unknown, until: nil)
        known.product = PurchasedProduct(id: "p", basePlan: "rent")
        let unknown = Self.bought(.unknown, until: nil, "q", as: "t2")
        let catalog = ProductCatalog(
            [.init(id: "pro", group: "pro", level: 1, duration: .month)],
            oneTimeProducts: [
                .init(id: "p", type: .nonConsumable),
                .init(id: "p:rent", type: .nonRenewing, duration: CalendarDuration(months: 1)),
            ]
        )
        let result = Normalization([known, unknown], anomalies: ["before"]).described(by: catalog)
        let expected = LifecycleEvent.OneTimePurchase(
            type: .nonRenewing,
            quantity: 1,
            expires: Self.day(31)
        )
        #expect(result.events.map(\.event) == [.oneTimePurchased(expected), unknown.event])
        guard case .purchase(let fact)? = result.events.first?.facts.first else {
            Issue.record("no purchase")
            return
        }
        #expect(fact.purchase == expected)
        #expect(result.events.map(\.id) == [known.id, unknown.id])
        #expect(result.anomalies == ["before", "the catalogue has no product q"])
        for catalog in [catalog, ProductCatalog([], unlisted: .consumable), ProductCatalog([])] {
            let written = try CanonicalJSON.bytes(catalog)
            #expect(try JSONDecoder().decode(ProductCatalog.self, from: Data(written)) == catalog)
        }
    }

    @Test(
        "A relay adds what the store leaves open, and takes nothing from what it states",
        arguments: [
            // A type that a relay concludes from a gap in its own lists takes no access away.
            (Sale(.unknown, 3), Sale(.consumable, 1), Sale(.unknown, 3)),
            (Sale(.unknown, 3), Sale(.nonConsumable, 1), Sale(.nonConsumable, 3)),
            (Sale(.unknown, 3), Sale(.nonRenewing, 1, until: 30), Sale(.nonRenewing, 3, until: 30)),
            (Sale(.nonRenewing, 3), Sale(.nonRenewing, 1, until: 30), Sale(.nonRenewing, 3, until: 30)),
            (Sale(.nonRenewing, 3, until: 20), Sale(.nonRenewing, 1, until: 30), Sale(.nonRenewing, 3, until: 20)),
            (Sale(.consumable, 3), Sale(.nonConsumable, 1), Sale(.consumable, 3)),
            (Sale(.unknown, 3), Sale(.unknown, 1, price: 5), Sale(.unknown, 3, price: 5)),
            (Sale(.unknown, 3, price: 6), Sale(.consumable, 1, price: 5), Sale(.unknown, 3, price: 6)),
        ]
    )
    func relayed(store: Sale, relay: Sale, joined: Sale) throws {
        let statements = [(Provider.apple, store, 0), (.revenuecat, relay, 1), (.revenuecat, relay, 2)].map {
            Self.bought($1.detail, by: $0, on: Double($2))
        }
        for order in [statements, statements.reversed()] {
            var state = SubscriptionState(Self.lineage)
            for statement in order { _ = state.apply(statement) }
            let read = try JSONDecoder().decode(SubscriptionState.self, from: Data(CanonicalJSON.bytes(state)))
            let merged = order.map { statement in
                var part = SubscriptionState(Self.lineage)
                _ = part.apply(statement)
                return part
            }
            for state in [state, read] + [merged.dropFirst().reduce(merged[0]) { $0.joined(with: $1) ?? $0 }] {
                #expect(state.purchases["t1"]?.value.purchase == joined.detail)
            }
            #expect(read == state)
        }
    }

    /// A purchase as one sender states it; its end is in days after it.
    struct Sale {
        let detail: LifecycleEvent.OneTimePurchase

        init(
            _ type: LifecycleEvent.OneTimePurchase.ProductType,
            _ quantity: Int64,
            until: Double? = nil,
            price: Int64? = nil
        ) {
            detail = LifecycleEvent.OneTimePurchase(
                type: type,
                quantity: quantity,
                price: price.map { Price(Money(ExactDecimal($0), "USD"), .charged) },
                expires: until.map(StatePurchaseTests.day)
            )
        }
    }

    @Test("A refund of the whole price ends the purchase, even if no statement says so")
    func wholePrice() {
        let price = Price(Money(ExactDecimal(20), "USD"), .charged)
        let purchase = LifecycleEvent.OneTimePurchase(type: .unknown, quantity: 1, price: price)
        let bought = Self.reported(
            .oneTimePurchased(purchase),
            on: 0,
            .purchase(.init(transaction: "t1", product: "p", purchase: purchase, at: Self.day(0)))
        )
        for (amount, isGranted) in [(Int64(20), false), (5, true)] {
            let scope = LifecycleEvent.Refund.Scope.amount(Money(ExactDecimal(amount), "USD"))
            let refund = Self.reported(
                .refunded(.init(transaction: "t1", scope: scope, reason: .unknown, affectsCurrentPeriod: nil)),
                on: 10,
                .refund(.init(transaction: "t1", scope: scope, at: Self.day(10), periodStart: nil, endsAccess: false))
            )
            var state = SubscriptionState(Self.lineage)
            for event in [bought, refund] { _ = state.apply(event) }
            #expect(state.access(at: Self.day(9)).isGranted)
            #expect(state.access(at: Self.day(11)).isGranted == isGranted)
        }
    }

    @Test("A refund that is dated before its purchase leaves no access")
    func refundBefore() {
        var state = SubscriptionState(Self.lineage)
        let purchase = Self.bought(.nonConsumable, until: nil)
        var refund = Self.refunded(on: -1)
        refund.assertedAt = Self.day(1)
        for event in [purchase, refund] { _ = state.apply(event) }
        #expect(state.access(at: Self.day(0)) == Self.denied(since: Self.day(-1), .refunded, [refund, purchase]))
        #expect(state.nextTransition(after: Self.day(0)) == nil)
    }
}
