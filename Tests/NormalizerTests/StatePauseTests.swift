import FoundationEssentials
import Normalizer
import Testing

@Suite("Pauses reported twice")
struct StatePauseTests {
    private static let lineage = SubscriptionID(store: .playStore, environment: .production, id: "1")
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private func planned(_ provider: Provider, at seconds: Double, until date: Date?) -> NormalizedEvent {
        NormalizedEvent(
            id: .notified(Self.lineage, by: provider, notification: "\(seconds)"),
            event: .pauseScheduled(.init(resumesAt: date)),
            provider: provider,
            store: .playStore,
            environment: .production,
            subscription: Self.lineage,
            occurredAt: Self.start,
            effectiveAt: Self.start,
            assertedAt: Self.start.addingTimeInterval(seconds),
            receivedAt: Self.start,
            facts: [.pause(.init(.scheduled, resumesAt: date))],
            origin: Origin(type: "T", channel: .webhook, evidence: .init(.unchecked), digest: "d", mapper: "test/1")
        )
    }

    @Test("One channel names the end and the other does not: the second is no news, in either order")
    func twoChannels() {
        let end = Self.start.addingTimeInterval(30 * 86_400)
        let dated = planned(.revenuecat, at: 0, until: end)
        let undated = planned(.google, at: 1, until: nil)
        for events in [[dated, undated], [undated, dated]] {
            var state = SubscriptionState(Self.lineage)
            #expect(events.map { state.apply($0).disposition } == [.applied, .duplicate])
        }
    }

    @Test("Another end is another plan")
    func moved() {
        var state = SubscriptionState(Self.lineage)
        let first = planned(.revenuecat, at: 0, until: Self.start.addingTimeInterval(30 * 86_400))
        let second = planned(.revenuecat, at: 1, until: Self.start.addingTimeInterval(60 * 86_400))
        #expect([first, second].map { state.apply($0).disposition } == [.applied, .applied])
    }
}
