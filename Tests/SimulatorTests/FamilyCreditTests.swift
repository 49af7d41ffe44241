import Normalizer
import NormalizerTesting
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
    func family(provider: Provider, shared: Int64?) async throws {
        let result = try await Simulators.play(try #require(CustomerStory.named("family")), provider)
        let policy = CreditPolicy(["com.example.app.pro.yearly": .init(credits: 500, familySharedCredits: shared)])
        let ledger = AccountLedger(applying: result.events)
        let last = try #require(result.events.map(\.receivedAt).max())
        let buyer = try #require(result.events.first?.subscription)
        let grants = CreditStatement(of: ledger.states, under: policy, uses: [], at: last).grants
        let own = grants.filter { $0.subscription == buyer }
        #expect(own.map(\.credits) == [500])
        let others = grants.filter { $0.subscription != buyer }
        #expect(others.map(\.credits) == (shared == nil ? [] : [shared]))
        // The sharing has ended.
        #expect(others.map(\.left) == (shared == nil ? [] : [0]))
    }
}
