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

    @Test("what Google tells of an add-on is known to who knows it by RevenueCat's order")
    func linked() async throws {
        let holding = Holding()
        let channels = try await PlayChannels(story(holding))
        #expect(Set(channels.google.map(\.id)) == Set(channels.relayed.map(\.id)))
        let policy = CreditPolicy(["premium:monthly": .init(credits: 100), "voice:monthly": .init(credits: 10)])
        let order = SubscriptionID(store: .playStore, environment: .production, id: "\(holding.firstOrder):voice")
        // RevenueCat is switched off before the renewal, or is not.
        for events in [
            channels.google + channels.relayed, channels.relayed + channels.google,
            channels.steps[0].relayed + channels.google,
        ] {
            var ledger = AccountLedger()
            var credits: [String: CreditAction] = [:]
            for event in events {
                let applied = ledger.apply(event)
                guard let lineage = event.subscription, let state = ledger[lineage] else { continue }
                for action in policy.actions(for: applied, in: state) { credits[action.id] = action }
            }
            #expect(ledger.states.count == 2)
            let time = Date(millisecondsSince1970: holding.end + GoogleVectors.day)
            #expect(ledger[order]?.access(at: time).isGranted == true)
            #expect(ledger[order]?.snapshot(at: time).product == "voice:monthly")
            #expect(credits.count == 4)
        }
    }
}
