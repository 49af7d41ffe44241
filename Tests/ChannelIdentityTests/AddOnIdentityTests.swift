import FoundationEssentials
import Normalizer
import NotificationSimulator
import ShadowComparison
import Testing
import VectorGenerator

/// Google knows an add-on by the token, and RevenueCat by the order, each with the product.
@Suite("Add-ons of one Play order, two channels")
struct AddOnIdentityTests {
    private typealias JSON = GoogleVectors.JSON

    private func item(_ product: String, _ holding: Holding) -> JSONText {
        [
            "product_id": .string("\(product):\(holding.plan)"),
            "type": .string(product == "premium" ? "base" : "addon"),
            "expiration_at_ms": .integer(holding.end), "price": .raw("9.99"), "currency": "EUR",
            "price_in_purchased_currency": .raw("9.99"),
        ]
    }

    private func step(_ number: Int, _ type: String, _ holding: Holding) -> Step {
        let main = holding.resource("ACTIVE")
        let purchase = main.with {
            var voice = main.items[0]
            voice.product = "voice"
            $0.items.append(voice)
        }
        return Step(
            name: type,
            hints: [holding.hint(number, at: holding.start + 1500, purchase)],
            webhooks: [
                holding.webhook(
                    type,
                    at: holding.start + 1500,
                    ["items": .array(["premium", "voice"].map { item($0, holding) })]
                )
            ]
        )
    }

    private func story(_ holding: Holding) -> PlayStory {
        PlayStory(
            name: "add-ons",
            steps: [step(4, "INITIAL_PURCHASE", holding), step(2, "RENEWAL", holding.renewed())]
        )
    }

    @Test("both name the order that an add-on was paid by, and a comparison finds no difference")
    func compared() async throws {
        let channels = try await PlayChannels(story(Holding()))
        for event in channels.relayed {
            #expect(channels.google.first { $0.id == event.id }?.transaction == event.transaction)
        }
        let comparison = ChannelComparison(channels.google, channels.relayed)
        #expect(comparison.agreeing.count == 4)
        #expect(comparison.differing.isEmpty, "\(comparison.differing)")
    }
}
