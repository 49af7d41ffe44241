import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing

@Suite("Credits of what a family shares")
struct FamilyCreditTests {
    @Test(
        "are those of who paid, and a member's only where the policy says so",
        arguments: [Provider.apple, .revenuecat],
        [nil, 0, 40] as [Int64?]
    )
    func family(_ provider: Provider, _ shared: Int64?) async throws {
        let result = try await Simulators.play(try #require(Story.named("family")), provider)
        let policy = CreditPolicy(["com.example.app.pro.yearly": .init(credits: 500, familySharedCredits: shared)])
        var ledger = AccountLedger()
        var payouts: [SubscriptionID: [CreditAction.Effect]] = [:]
        for event in result.events {
            let applied = ledger.apply(event)
            guard let lineage = event.subscription, let state = ledger[lineage] else { continue }
            payouts[lineage, default: []] += policy.actions(for: applied, in: state).map(\.effect)
        }
        let buyer = try #require(result.events.first?.subscription)
        #expect(payouts.removeValue(forKey: buyer) == [.reset(to: 500)])
        #expect(payouts.count == 1)
        #expect(payouts.values.first == (shared.map { [.reset(to: $0)] } ?? []) + [.revoke])
    }
}
