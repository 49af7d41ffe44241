import Foundation
import Testing

@testable import Normalizer

/// An event is news where no event has reported its fact, whatever else has stated it.
@Suite("News that is reported once")
struct ReportTests {
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "L1")

    private static func period(_ name: TransactionID, _ from: Double, to: Double) -> Fact {
        let period = ServicePeriod(start: AccountStories.day(from), end: AccountStories.day(to))
        return .period(.init(period, product: "basic", phase: .regular, transaction: name))
    }

    private static func renewal(_ isOn: Bool, at days: Double, by provider: Provider = .apple) -> NormalizedEvent {
        let reason: LifecycleEvent.AutoRenewDisabled.Reason? = isOn ? nil : .customer
        return AccountStories.event(
            isOn ? .autoRenewEnabled : .autoRenewDisabled(.init(reason: .customer)),
            "t1",
            at: days,
            by: provider,
            facts: [period("t1", 0, to: 30), .renewalIntent(.init(.init(willRenew: isOn), reason: reason))]
        )
    }

    private static func orders<Element>(_ elements: [Element]) -> [[Element]] {
        guard !elements.isEmpty else { return [[]] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return orders(rest).map { [first] + $0 }
        }
    }

    @Test("a start that comes after what its subscription did next is news, once")
    func lateStart() {
        let started = AccountStories.begins("t1", "basic", from: 0, to: 30, by: .apple)
        var state = SubscriptionState(Self.lineage)
        #expect(state.apply(Self.renewal(false, at: 5)).disposition == .applied)
        #expect(state.apply(started).disposition == .applied)
        #expect(state.apply(started).disposition == .duplicate)
        #expect(state.apply(Self.renewal(false, at: 5.001, by: .revenuecat)).disposition == .duplicate)
    }

    private static let increase = LifecycleEvent.PriceChange(stage: .pending, consentRequired: true)
    private static let snapshot: [Fact] = [
        period("t1", 0, to: 30), .renewalIntent(.init(.init(willRenew: true, nextProduct: "lite"), reason: nil)),
        .priceChange(.init(increase)), .pause(.init(.scheduled)),
    ]

    /// One action of a customer's may be several notifications, of which each has a snapshot of all that is so.
    @Test(
        "a fact in another notification's snapshot is reported by its own notification, once, in either order",
        arguments: [
            .priceChange(increase), .pauseScheduled(.init()),
            .productChangeScheduled(.init(to: "lite", direction: .downgrade, timing: .atPeriodEnd(nil), basis: .store)),
            .renewed(
                .init(
                    cause: .scheduled,
                    phase: .regular,
                    period: .init(start: AccountStories.day(0), end: AccountStories.day(30))
                )
            ),
        ] as [LifecycleEvent]
    )
    func shownBefore(event: LifecycleEvent) {
        let own = AccountStories.event(event, "t1", at: 5, facts: Self.snapshot)
        let other = AccountStories.event(.autoRenewEnabled, "t1", at: 5, facts: Self.snapshot)
        for order in [[own, other], [other, own]] {
            var state = SubscriptionState(Self.lineage)
            #expect(order.map { state.apply($0).disposition } == [.applied, .applied])
            #expect(order.map { state.apply($0).disposition } == [.duplicate, .duplicate])
        }
    }

    /// Some of the steps do not reveal how often a setting went back and forth. The last applied one is always true.
    @Test("in every order and whatever is lost, the last that is applied of what goes to and fro is so")
    func toAndFro() {
        let steps = [
            Self.renewal(false, at: 1), Self.renewal(true, at: 2), Self.renewal(false, at: 3),
            Self.renewal(true, at: 4),
        ]
        for selection in 1..<16 {
            let delivered = steps.indices.filter { selection >> $0 & 1 == 1 }.map { steps[$0] }
            for order in Self.orders(delivered) {
                var state = SubscriptionState(Self.lineage)
                var applied: [LifecycleEvent.Kind] = []
                for event in order where state.apply(event).disposition == .applied { applied.append(event.kind) }
                #expect(applied.last == delivered.last?.kind)
            }
        }
    }

    /// A refund that takes the rest of a period away reports its end. A period that ended by itself has an end of its own.
    @Test(
        "an end after a reported refund is news, unless it is the refund's",
        arguments: [
            (35, 30, .customer, .applied), (30, 30, .customer, .applied), (10, 30, .customer, .applied),
            (10, 10, .unknown, .duplicate), (10, 10.1, .customer, .duplicate), (30, 30, .refunded, .duplicate),
        ] as [(Double, Double, LifecycleEvent.Expired.Reason, AppliedEvent.Disposition)]
    )
    func endAndRefund(
        refundedAt: Double,
        endedAt: Double,
        reason: LifecycleEvent.Expired.Reason,
        disposition: AppliedEvent.Disposition
    ) {
        let day = AccountStories.day
        let refund = AccountStories.event(
            .refunded(.init(transaction: "t1", scope: .full, reason: .unknown, affectsCurrentPeriod: true)),
            "t1",
            at: refundedAt,
            facts: [
                .refund(
                    .init(transaction: "t1", scope: .full, at: day(refundedAt), periodStart: day(0), endsAccess: true)
                )
            ]
        )
        let end = AccountStories.event(
            .expired(.init(reason: reason)),
            "t1",
            at: endedAt,
            facts: [.periodEnded(.init(start: day(0), transaction: "t1", at: day(endedAt), reason: reason))]
        )
        var state = SubscriptionState(Self.lineage)
        for event in [AccountStories.begins("t1", "basic", from: 0, to: 30, by: .apple), refund] {
            #expect(state.apply(event).disposition == .applied)
        }
        #expect(state.apply(end).disposition == disposition)
    }

    @Test(
        "another channel does not report again the statements in a state that was stored before reports were kept"
    )
    func storedBefore() throws {
        let events = [
            AccountStories.begins("t1", "basic", from: 0, to: 30, by: .apple), Self.renewal(false, at: 5),
            AccountStories.event(
                .expired(.init(reason: .customer)),
                "t1",
                at: 30,
                facts: [
                    .periodEnded(
                        .init(
                            start: AccountStories.day(0),
                            transaction: "t1",
                            at: AccountStories.day(30),
                            reason: .customer
                        )
                    )
                ]
            ),
        ]
        var state = SubscriptionState(Self.lineage)
        for event in events { _ = state.apply(event) }
        let object = try JSONSerialization.jsonObject(with: Data(try CanonicalJSON.bytes(state)))
        var stored = try #require(object as? [String: Any])
        #expect(stored.removeValue(forKey: "reports") != nil)
        var read = try CanonicalJSON.value(
            SubscriptionState.self,
            from: Array(try JSONSerialization.data(withJSONObject: stored))
        )
        #expect(read.unreportedEvents(receivedAt: AccountStories.day(40)) == [])
        for event in events {
            var relayed = event
            relayed.provider = .revenuecat
            relayed.assertedAt += 1
            #expect(read.apply(relayed).disposition == .duplicate, "\(event.kind)")
        }
    }

    @Test("an applied event that was written before it said what it gives back is read, and gives nothing back")
    func olderApplication() throws {
        var state = SubscriptionState(Self.lineage)
        let applied = state.apply(AccountStories.begins("t1", "basic", from: 0, to: 31, by: .apple))
        let text = String(decoding: try CanonicalJSON.bytes(applied), as: UTF8.self)
        let older = text.replacing(#","is_restoration":false"#, with: "")
        #expect(older != text)
        #expect(try CanonicalJSON.value(AppliedEvent.self, from: Array(older.utf8)) == applied)
    }
}
