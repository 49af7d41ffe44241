import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing

/// A host that keeps a row of JSON for each lineage, and links, as `docs/model.md` says.
@Suite("Rows of states")
struct StoredRowsTests {
    struct Host {
        private var rows: [SubscriptionID: [UInt8]] = [:]
        private var links: [SubscriptionID: Set<SubscriptionID>] = [:]
        private var accounts: [Account.Identifier: Set<SubscriptionID>] = [:]

        mutating func apply(_ event: NormalizedEvent) throws -> (AppliedEvent, SubscriptionState?) {
            guard let lineage = event.subscription else {
                var ledger = AccountLedger()
                return (ledger.apply(event), nil)
            }
            for case .link(let other) in event.facts {
                links[lineage, default: []].insert(other)
                links[other, default: []].insert(lineage)
            }
            let identifiers = event.account?.identifiers ?? []
            // Only the account's other purchases show that a customer comes back.
            var ledger = try ledger(linkedTo: identifiers.reduce(into: [lineage]) { $0.formUnion(accounts[$1] ?? []) })
            for account in identifiers { accounts[account, default: []].insert(lineage) }
            let read = try CanonicalJSON.value(NormalizedEvent.self, from: try CanonicalJSON.bytes(event))
            let applied = ledger.apply(read)
            let state = ledger[lineage]
            rows[lineage] = try state.map { try CanonicalJSON.bytes($0) }
            return (applied, state)
        }

        /// An account's access, under the present names of its purchases.
        func access(of account: Account.Identifier, at time: Date) throws -> AccessDecision {
            try ledger(linkedTo: accounts[account] ?? []).access(of: account, at: time).decision
        }

        private func ledger(linkedTo lineages: Set<SubscriptionID>) throws -> AccountLedger {
            var linked = lineages
            var open = Array(lineages)
            while let next = open.popLast() {
                open += (links[next] ?? []).filter { linked.insert($0).inserted }
            }
            return AccountLedger(
                try linked.compactMap { rows[$0] }.map { try CanonicalJSON.value(SubscriptionState.self, from: $0) }
            )
        }
    }

    /// A relay knows the account by one name, and the store the purchase by another. What the store says of it is written to
    /// the store's row.
    @Test("give an account what it has under every name of its purchases", arguments: ["pause", "top-up", "upgrade"])
    func accounts(id: String) async throws {
        let story = try #require(CustomerStory.named(id))
        let stated = try await Simulators.play(story, .google).events
        let relayed = try await Simulators.play(story, .revenuecat).events
        let reported = (stated + relayed).sorted { $0.receivedAt < $1.receivedAt }
        for events in [reported, reported.reversed()] {
            var memory = AccountLedger()
            var host = Host()
            for event in events where event.subscription != nil {
                _ = memory.apply(event)
                _ = try host.apply(event)
                for account in memory.accounts {
                    for days in [0.0, 10, 40] {
                        let time = event.receivedAt.addingTimeInterval(days * 86_400)
                        #expect(try host.access(of: account, at: time) == memory.access(of: account, at: time).decision)
                    }
                }
            }
        }
    }

    @Test("say at every step what a ledger in memory says", arguments: CustomerStory.all)
    func everyStep(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            // A relay links nothing, and is asked about an account's other purchases.
            guard simulator.provider != .revenuecat else { continue }
            let reported = try await StoryPlayback(story, by: simulator, from: Simulators.start).events
            for events in [reported, reported.reversed()] {
                var memory = AccountLedger()
                var host = Host()
                for event in events + events {
                    let kept = memory.apply(event)
                    let (applied, stored) = try host.apply(event)
                    guard let lineage = event.subscription, let state = memory[lineage] else { continue }
                    let row = try #require(stored)
                    #expect(applied == kept)
                    #expect(row == state)
                }
            }
        }
    }
}
