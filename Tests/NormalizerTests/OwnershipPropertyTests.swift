import Foundation
import NormalizerTesting
import Testing

@testable import Normalizer

@Suite("Whom purchases belong to, whatever came before")
struct OwnershipPropertyTests {
    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"
    static let names = ["u1", "u2", "u3", "$RCAnonymousID:1"]

    /// Purchases, transfers, links and words of a relay that need not fit together, since others may be lost.
    static func life(seed: UInt64) -> (events: [NormalizedEvent], links: [Set<String>]) {
        var random = SeededGenerator(seed: seed)
        var events: [NormalizedEvent] = []
        var links: [Set<String>] = []
        for step in 0..<Int.random(in: 2...9, using: &random) {
            let day = Double(step * 10)
            let (one, other) = (
                names.randomElement(using: &random) ?? "u1", names.randomElement(using: &random) ?? "u1"
            )
            let account = Account(one, .appUserID)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: events.append(OwnershipStories.owned("O2", .appStore, by: account, at: day))
            case 1: events.append(OwnershipStories.month(step / 3, of: one, at: day))
            case 2: events.append(OwnershipStories.notice(of: one, at: day))
            case 3 where one != other:
                let identifiers = [one, other].map { Account.Identifier($0, .appUserID) }
                events.append(OwnershipStories.linked(identifiers, at: day))
                links.append([one, other])
            default: if one != other { events.append(OwnershipStories.moved([one], [other], at: day)) }
            }
        }
        return (events, links)
    }

    @Test("is told by the last answers about all of them")
    func answers() throws {
        for seed in 0..<UInt64(Self.isLong ? 20_000 : 600) {
            var (events, links) = Self.life(seed: seed)
            var random = SeededGenerator(seed: seed)
            let owners = ["O1", "O2"].map { ($0, Self.names.randomElement(using: &random) ?? "u1") }
            for (lineage, owner) in owners {
                events.append(
                    lineage == "O1"
                        ? OwnershipStories.month(3, of: owner, at: 100)
                        : OwnershipStories.owned(lineage, .appStore, by: Account(owner, .appUserID), at: 100)
                )
            }
            for order in [events, events.reversed(), events.shuffled(using: &random)] {
                let ledger = OwnershipStories.ledger(order)
                for (lineage, owner) in owners {
                    let state = try #require(ledger.states.first { $0.subscription.id == lineage })
                    let accounts = ledger.ownership(of: state).accounts.map(\.id)
                    var customer: Set = [owner]
                    for _ in links {
                        for link in links where !link.isDisjoint(with: customer) { customer.formUnion(link) }
                    }
                    #expect(accounts.contains(owner), "seed \(seed): \(lineage) of \(owner), not \(accounts)")
                    #expect(customer.isSuperset(of: accounts), "seed \(seed): \(lineage) of \(owner), not \(accounts)")
                }
            }
        }
    }
}
