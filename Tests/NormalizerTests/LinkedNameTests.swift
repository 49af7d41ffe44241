import Foundation
import Normalizer
import NormalizerTesting
import Testing

@Suite("Linked lineages, one of which gives the state another name")
struct LinkedNameTests {
    private static func lineage(_ id: String) -> SubscriptionID {
        SubscriptionID(store: .appStore, environment: .production, id: id)
    }

    private static func statement(_ id: String, _ facts: [Fact]) -> StoreStatement {
        StoreStatement(
            subscription: lineage(id),
            provider: .apple,
            assertedAt: AccountStories.day(0),
            facts: facts,
            origin: .madeUp(digest: id)
        )
    }

    @Test("are one state in any order, also if a statement has the first word on its lineage and a new link")
    func oneState() {
        let statements = [
            Self.statement("O1", [.renewalIntent(.init(.init(willRenew: true)))]),
            Self.statement("O3", [.link(Self.lineage("O2"))]),
            Self.statement("O2", [.link(Self.lineage("O1")), .nextProduct(.init(nil))]),
        ]
        let expected = AccountLedger(applying: statements)
        #expect(expected.states.map(\.lineages) == [["O1", "O2", "O3"].map(Self.lineage)])
        for order in permutations(of: statements) { #expect(AccountLedger(applying: order) == expected) }
    }

    @Test("that a failed charge turned the earlier one's renewal off says nothing about the later one's")
    func renewal() {
        func period(_ from: Double, _ to: Double) -> Fact {
            let (start, end) = (AccountStories.day(from), AccountStories.day(to))
            return .period(
                .init(ServicePeriod(start: start, end: end), product: "p", phase: .regular, transaction: nil)
            )
        }
        var ledger = AccountLedger()
        let failed = Fact.RenewalIntent(.init(willRenew: false), reason: .billing)
        ledger.apply(Self.statement("O1", [period(-40, -10), .renewalIntent(failed)]))
        ledger.apply(Self.statement("O2", [.link(Self.lineage("O1")), period(-1, 29)]))
        #expect(ledger.states.map { $0.snapshot(at: AccountStories.day(1)).willRenew } == [nil])
    }
}
