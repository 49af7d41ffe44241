import ConformanceVectors
import Foundation
import NotificationSimulator
import Normalizer
import Testing

/// A host that keeps a row of JSON for each lineage, and links, as `docs/model.md` says.
@Suite("Rows of states")
struct StoredRowsTests {
    struct Host {
        private var rows: [SubscriptionID: [UInt8]] = [:]
        private var links: [SubscriptionID: Set<SubscriptionID>] = [:]

        mutating func apply(_ event: NormalizedEvent) throws -> (Application, SubscriptionState?) {
            guard let lineage = event.subscription else {
                var ledger = AccountLedger()
                return (ledger.apply(event), nil)
            }
            for case .link(let other) in event.facts {
                links[lineage, default: []].insert(other)
                links[other, default: []].insert(lineage)
            }
            var linked: Set<SubscriptionID> = [lineage]
            var open = [lineage]
            while let next = open.popLast() {
                open += (links[next] ?? []).filter { linked.insert($0).inserted }
            }
            var ledger = AccountLedger(
                try linked.compactMap { rows[$0] }.map { try CanonicalJSON.value(SubscriptionState.self, from: $0) }
            )
            let read = try CanonicalJSON.value(NormalizedEvent.self, from: try CanonicalJSON.bytes(event))
            let application = ledger.apply(read)
            let state = ledger[lineage]
            rows[lineage] = try state.map { try CanonicalJSON.bytes($0) }
            return (application, state)
        }
    }

    @Test("say at every step what a ledger in memory says", arguments: Story.all)
    func everyStep(_ story: Story) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            // A relay links nothing, and is asked about an account's other purchases.
            guard simulator.provider != .revenuecat else { continue }
            let told = try await StoryPlayback(story, by: simulator, from: Simulators.start).events
            var policy = CreditPolicy([:])
            for fact in told.flatMap(\.facts) {
                if case .period(let period) = fact { policy.allowances[period.product] = .init(credits: 200) }
                if case .purchase(let purchase) = fact { policy.allowances[purchase.product] = .init(credits: 30) }
            }
            for events in [told, told.reversed()] {
                var memory = AccountLedger()
                var host = Host()
                for event in events + events {
                    let kept = memory.apply(event)
                    let (application, stored) = try host.apply(event)
                    guard let lineage = event.subscription, let state = memory[lineage] else { continue }
                    let row = try #require(stored)
                    #expect(application == kept)
                    #expect(policy.actions(for: application, in: row) == policy.actions(for: kept, in: state))
                    #expect(row == state)
                }
            }
        }
    }
}
