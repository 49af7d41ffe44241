import FoundationEssentials
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Testing
import WireJSON

@Suite("Products that RevenueCat knows without their base plan")
struct BareProductTests {
    @Test("a period pays out once, whichever channel is first")
    func bare() async throws {
        var story = try #require(PlayStory.subscriptions.first { $0.steps.count > 1 })
        story.steps = Array(story.steps.prefix(1))
        let bare = PlayStory(
            name: "bare",
            steps: story.steps.map { step in
                var step = step
                step.webhooks = step.webhooks.map { $0.with(["product_id": "premium"]) }
                return step
            }
        )
        let channels = try await PlayChannels(bare)
        #expect(channels.google.filter(\.isShared).map(\.id) == channels.relayed.filter(\.isShared).map(\.id))
        let policy = CreditPolicy([
            "premium:monthly": .init(credits: 200, price: Money(ExactDecimal(10), "EUR")),
            "premium": .init(credits: 200, price: Money(ExactDecimal(10), "EUR")),
        ])
        for order in [channels.google + channels.relayed, channels.relayed + channels.google] {
            let ledger = AccountLedger(applying: order)
            let time = try #require(order.map(\.receivedAt).max())
            let statement = CreditStatement(of: ledger.states, under: policy, uses: [], at: time)
            #expect(statement.grants.map(\.credits) == [200])
        }
    }
}
