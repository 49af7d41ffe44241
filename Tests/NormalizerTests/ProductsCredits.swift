import NormalizerTesting
import FoundationEssentials
import Testing

@testable import Normalizer

/// A host that does each action once.
private struct Host {
    private var done: Set<String> = []
}

@Suite("Credits")
struct ProductsCredits {
    private static let start = Date(millisecondsSince1970: 1_772_355_600_000)

    private static func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")

    private static func event(
        _ event: LifecycleEvent,
        at date: Date,
        _ name: TransactionID,
        product: ProductID = "basic",
        facts: [Fact] = [],
        effectiveAt: Date? = nil
    ) -> NormalizedEvent {
        let id: EventID =
            switch event {
            case .started, .renewed: .periodBegan(lineage, transaction: name, product: product)
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
            origin: .madeUp(notification: "\(event.kind)-\(name)-\(date.rfc3339)", digest: name.rawValue)
        )
    }

    private static func begins(
        _ name: TransactionID,
        _ product: ProductID,
        from: Double,
        to: Double,
        at: Double? = nil,
        phase: PeriodPhase = .regular,
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

    private static func ends(_ name: TransactionID, from: Double, at: Double) -> NormalizedEvent {
        event(
            .expired(.init(reason: .customer)),
            at: day(at),
            name,
            facts: [.periodEnded(.init(start: day(from), transaction: name, at: day(at), reason: .customer))]
        )
    }

    private static func refund(
        _ event: LifecycleEvent,
        of name: TransactionID = "t1",
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
        of name: TransactionID,
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

    private static func at(_ event: NormalizedEvent, _ days: Double) -> NormalizedEvent {
        var event = event
        (event.occurredAt, event.effectiveAt, event.assertedAt) = (day(days), day(days), day(days))
        return event
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

        init(using random: inout SeededGenerator) {
            func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
            var (start, isRenewal) = (0.0, false)
            var refunded: (product: ProductID, until: Double) = ("", 0)
            for name in (["t1", "t2", "t3", "t4"] as [TransactionID]).prefix(1 + pick(4)) {
                let chosen: ProductID = ["basic", "pro"][pick(2)]
                let product = start < refunded.until ? refunded.product : chosen
                let phase: PeriodPhase = !isRenewal && product == "pro" && pick(3) == 0 ? .trial : .regular
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
            for name in (["c1", "c2"] as [TransactionID]).prefix(pick(3)) {
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
        _ name: TransactionID,
        _ quantity: Int64,
        on days: Double,
        price: Price? = nil
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

    /// An immediate change to the product, reported a while after it took effect.
    private static func changes(
        _ name: TransactionID,
        from old: ProductID,
        to new: ProductID,
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

    private static func received(_ event: NormalizedEvent, at days: Double) -> NormalizedEvent {
        var event = event
        event.receivedAt = day(days)
        return event
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
}
