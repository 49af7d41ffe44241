import Foundation
import NormalizerTesting
import Testing

@testable import Normalizer

/// A yearly plan with a monthly add-on in one subscription: the months that begin within the year say nothing of the plan.
@Suite("Settings of a plan whose add-on is billed in another rhythm")
struct AddOnRhythmTests {
    private static func day(_ days: Double) -> Date { AccountStories.day(days) }

    /// A state after some statements, and one of the add-on's second month, which lists all that runs and no settings.
    private static func state(_ settings: [Fact]) -> SubscriptionState {
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
        func running(_ month: Double) -> [Fact] {
            let months = ServicePeriod(start: day(month * 30), end: day(month * 30 + 30))
            let year = ServicePeriod(start: day(0), end: day(365))
            return [
                .period(
                    .init(months, product: "addon", phase: .regular, transaction: nil, item: "addon", isBeside: true)
                ),
                .period(.init(year, product: "year", phase: .regular, transaction: nil)),
            ]
        }
        var state = SubscriptionState(lineage)
        for (days, facts) in [(0, running(0)), (10, settings), (30, running(1))] as [(Double, [Fact])] {
            state.apply(
                StoreStatement(
                    subscription: lineage,
                    provider: .stripe,
                    assertedAt: day(days),
                    facts: facts,
                    origin: .madeUp(digest: "\(days)")
                )
            )
        }
        return state
    }

    /// The settings that no event has reported.
    private static func news(_ state: SubscriptionState) -> [NormalizedEvent] {
        state.unreportedEvents(receivedAt: day(35)).filter { $0.kind != .started && $0.kind != .renewed }
    }

    @Test("a change of the plan that is to come stays planned, from the plan and at its end")
    func change() throws {
        let state = Self.state([.nextProduct(.init("bigger"))])
        #expect(state.snapshot(at: Self.day(35)).pendingProduct == "bigger")
        let events = Self.news(state)
        #expect(events.map(\.kind) == [.productChangeScheduled])
        guard case .productChangeScheduled(let change)? = events.first?.event else { return }
        #expect(change.from == "year" && change.timing == .atPeriodEnd(Self.day(365)))
    }

    @Test("a pause that is to come stays planned, and is of the plan")
    func pause() {
        let state = Self.state([.pause(.init(.scheduled, resumesAt: Self.day(400)))])
        #expect(state.snapshot(at: Self.day(35)).resumesAt == Self.day(400))
        let events = Self.news(state)
        #expect(events.map(\.kind) == [.pauseScheduled] && events.first?.product?.id == "year")
    }

    @Test(
        "renewal that is off stays off, for the plan",
        arguments: [LifecycleEvent.AutoRenewDisabled.Reason.customer, .billing]
    )
    func renewal(reason: LifecycleEvent.AutoRenewDisabled.Reason) {
        let state = Self.state([.renewalIntent(.init(.init(willRenew: false), reason: reason))])
        #expect(state.snapshot(at: Self.day(35)).willRenew == false)
        let events = Self.news(state)
        #expect(events.map(\.kind) == [.autoRenewDisabled] && events.first?.product?.id == "year")
    }

    @Test("the provider is asked about the plan")
    func question() {
        #expect(Self.state([]).question(at: Self.day(35)).product == "year")
    }
}
