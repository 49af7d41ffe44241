import NormalizerTesting
import FoundationEssentials
import Normalizer
import NotificationSimulator
import ShadowComparison
import Testing
import VectorGenerator
import WireJSON

/// Google knows an add-on by the token, and RevenueCat by the order, each with the product.
@Suite("Add-ons of one Play order, two channels")
struct AddOnIdentityTests {
    private func item(_ product: String, _ holding: Holding) -> JSONText {
        [
            "product_id": .string("\(product):\(holding.plan)"),
            "type": .string(product == "premium" ? "base" : "addon"),
            "expiration_at_ms": .integer(holding.end), "price": .raw("9.99"), "currency": "EUR",
            "price_in_purchased_currency": .raw("9.99"),
        ]
    }

    private func step(_ number: Int, _ type: String, holding: Holding) -> Step {
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
            steps: [step(4, "INITIAL_PURCHASE", holding: holding), step(2, "RENEWAL", holding: holding.renewed())]
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

    private static let policy = CreditPolicy([
        "zeta:monthly": .init(credits: 500, price: Money(ExactDecimal(10), "EUR")),
        "zulu:monthly": .init(credits: 900, price: Money(ExactDecimal(15), "EUR")),
        "alpha:monthly": .init(credits: 70, price: Money(ExactDecimal(2), "EUR")),
    ])

    private static func balance(_ ledger: AccountLedger, day: Int64) -> Int64 {
        let time = Date(millisecondsSince1970: Day.of(day))
        return CreditStatement(of: ledger.states, under: policy, uses: [], at: time).balance
    }

    /// Names of facts about periods, which belong to an item: with the order and the product that each is about.
    private static func items(_ events: [NormalizedEvent]) -> [EventID: Set<String>] {
        var items: [EventID: Set<String>] = [:]
        for event in events {
            switch event.event {
            case .productChanged(let change) where change.direction == .addOns: continue
            case .started, .renewed, .productChanged, .expired, .revoked:
                items[event.id, default: []].insert("\(event.transaction ?? "-") \(event.product?.id ?? "-")")
            default: continue
            }
        }
        return items
    }

    private static let configurations: [Set<String>] = [[], ["alpha"], ["alpha", "zeta"]]

    private static func story(_ bundle: Bundle) -> PlayStory {
        let last = bundle.renewed().renewed()
        return PlayStory(
            name: "two items",
            steps: [
                PlayStory.purchase(bundle), PlayStory.renewal(bundle.renewed()), PlayStory.renewal(last),
                PlayStory.expiry(last),
            ]
        )
    }

    @Test(
        "each item has the same ids in both channels, whichever sorts first",
        arguments: configurations,
        [true, false]
    )
    func items(addOns: Set<String>, listsAddOnFirst: Bool) async throws {
        let bundle = Bundle(listsAddOnFirst: listsAddOnFirst)
        let channels = try await PlayChannels(Self.story(bundle), addOns: addOns)
        for events in channels.steps {
            let google = Self.items(events.google)
            #expect(google.count == 2)
            #expect(google == Self.items(events.relayed))
        }
        let all = Self.items(channels.google + channels.relayed)
        #expect(all.count == 8)
        #expect(all.values.allSatisfy { $0.count == 1 })
        let comparison = ChannelComparison(channels.google, channels.relayed)
        #expect(comparison.differing.isEmpty, "\(comparison.differing)")
        #expect(comparison.onlyFirst.isEmpty && comparison.onlySecond.isEmpty)
        // In any order and mix, each fact acts once, and each item pays out once a period.
        var generator = SeededGenerator(seed: 5)
        let together = channels.google + channels.relayed
        let ordered = [
            together, channels.relayed + channels.google, channels.steps.flatMap { $0.google + $0.relayed },
            channels.steps.flatMap { $0.relayed + $0.google },
        ]
        for order in ordered { #expect(Set(Backend(order).sharedActs.map(\.id)) == Set(all.keys)) }
        for order in ordered + (0..<20).map({ _ in together.shuffled(using: &generator) }) {
            let backend = Backend(order)
            let acts = backend.sharedActs.map(\.id)
            #expect(acts.count == Set(acts).count)
            #expect(Set(acts).isSubset(of: all.keys))
            #expect(backend.ledger.states.count == 2)
            #expect([1, 31, 61].map { Self.balance(backend.ledger, day: $0) } == [570, 570, 570])
        }
    }

    /// RevenueCat may name one product and its order, and no other item.
    @Test(
        "a webhook about one item has the ids of that item, before Google's notification and after",
        arguments: ["alpha", "zeta", "alpha:monthly", "zeta:monthly"],
        configurations
    )
    func oneItem(product: String, addOns: Set<String>) async throws {
        let first = Bundle()
        for bundle in [first, first.renewed()] {
            let base = bundle.base
            let type = base.renewal == nil ? "INITIAL_PURCHASE" : "RENEWAL"
            let hint = bundle.hint(base.renewal == nil ? 4 : 2, at: base.start + 1500, bundle.resource("ACTIVE"))
            let google = try await PlayChannels.pulled(hint, addOns: addOns).events.filter(\.isShared)
            let webhook = bundle.webhook(type, of: product, at: base.start + 1500)
            let relayed = try PlayChannels.relayed(webhook).events.filter(\.isShared)
            let id = try #require(relayed.first?.id)
            #expect(relayed.count == 1)
            #expect(google.count == 2)
            #expect(google.filter { $0.id == id }.map(\.product?.id) == [ProductID(product).subscription])
            // Of a configured base, the webhook would be about the lineage.
            guard addOns.isEmpty else { continue }
            for order in [google + relayed, relayed + google] {
                let acts = Backend(order).sharedActs
                #expect(acts.count == 2)
                #expect(Set(acts.map(\.product?.id)) == ["alpha", "zeta"])
            }
        }
    }

    @Test("an order goes back as one, with the credits of all its items", arguments: configurations)
    func refund(addOns: Set<String>) async throws {
        let bundle = Bundle()
        let last = bundle.renewed()
        let story = PlayStory(
            name: "refund",
            steps: [
                PlayStory.purchase(bundle), PlayStory.renewal(last), PlayStory.refund(last, at: Day.of(35)),
            ]
        )
        let channels = try await PlayChannels(story, addOns: addOns)
        let refunds = [channels.google, channels.relayed].map { $0.filter { $0.kind == .refunded } }
        #expect(refunds.map(\.count) == [1, 1])
        #expect(refunds[0].map(\.id) == refunds[1].map(\.id))
        #expect(refunds[0].map(\.price?.money) == refunds[1].map(\.price?.money))
        #expect(Self.items(channels.google) == Self.items(channels.relayed))
        let (google, relayed) = try await (Self.results(story, addOns: addOns), Self.relayed(story))
        for order in [google, relayed, google + relayed, relayed + google] {
            let ledger = AccountLedger(applying: order)
            #expect(ledger.states.count == 2)
            #expect([1, 31, 36].map { Self.balance(ledger, day: $0) } == [570, 570, 0])
            let later = Date(millisecondsSince1970: Day.of(36))
            #expect(ledger.states.allSatisfy { !$0.access(at: later).isGranted })
        }
    }

    @Test("a refund of one item takes back the credits of that item", arguments: configurations, ["alpha", "zeta"])
    func refundOfOne(addOns: Set<String>, product: String) async throws {
        let bundle = Bundle()
        let time = Day.of(10)
        let left = bundle.resource(
            "ACTIVE",
            [product: { ($0.expiry, $0.isRenewing) = (time, false) }]
        )
        func refunded(_ item: String?) async throws -> [Normalization] {
            let purchase = item == nil ? bundle.resource("EXPIRED", expiry: time + 1000) : left
            return [
                try await PlayChannels.pulled(
                    bundle.voided(at: time + 2000, purchase, refundedAt: time, item: item),
                    addOns: addOns,
                    delay: 90_000
                ),
                try await PlayChannels.pulled(
                    bundle.hint(12, at: time + 2500, purchase),
                    addOns: addOns,
                    delay: 90_000
                ),
            ]
        }
        let start = bundle.base.start + 1500
        let bought = try await PlayChannels.pulled(bundle.hint(4, at: start, bundle.resource("ACTIVE")), addOns: addOns)
        let one = try await refunded(product)
        let refund = one.flatMap(\.events).filter { $0.kind == .refunded }
        #expect(refund.map(\.product?.id.rawValue) == [product])
        let ends = one.flatMap(\.events).filter { $0.kind == .revoked || $0.kind == .expired }
        #expect(Set(ends.map(\.product?.id.rawValue)) == [product])
        let ledger = AccountLedger(applying: [bought] + one)
        #expect(Self.balance(ledger, day: 9) == 570)
        #expect(Self.balance(ledger, day: 11) == (product == "alpha" ? 500 : 70))
        // The rest is another refund, under another id.
        let rest = try await refunded(nil).flatMap(\.events).filter { $0.kind == .refunded }
        #expect(rest.count == 1)
        #expect(Set(rest.map(\.id)).isDisjoint(with: refund.map(\.id)))
    }

    private static func results(_ story: PlayStory, addOns: Set<String>) async throws -> [Normalization] {
        var results: [Normalization] = []
        for hint in story.steps.flatMap(\.hints) { results.append(try await PlayChannels.pulled(hint, addOns: addOns)) }
        return results
    }

    private static func relayed(_ story: PlayStory) throws -> [Normalization] {
        try story.steps.flatMap(\.webhooks).map(PlayChannels.relayed)
    }

    @Test("an upgrade of the base leaves the add-on its ids", arguments: configurations)
    func upgrade(addOns: Set<String>) async throws {
        let bundle = Bundle()
        let old = bundle.renewed()
        let new = bundle.with {
            $0.base = Holding(
                token: GoogleVectors.olderToken,
                product: "zulu",
                firstOrder: "GPA.3388-7777-6666-55555",
                bought: Day.of(40),
                start: Day.of(40),
                end: Day.of(70),
                linked: old.base.token
            )
        }
        let story = PlayStory(
            name: "upgrade",
            steps: [
                PlayStory.purchase(bundle), PlayStory.renewal(old), PlayStory.upgrade(old, to: new),
                PlayStory.renewal(new.renewed()),
            ]
        )
        let channels = try await PlayChannels(story, addOns: addOns)
        let (google, relayed) = (Self.items(channels.google), Self.items(channels.relayed))
        #expect(google.merging(relayed) { $0.union($1) }.values.allSatisfy { $0.count == 1 })
        // RevenueCat's list of items has no orders: it reports the kept add-on under the order of the upgrade.
        let kept = relayed.filter { $0.value == ["\(new.base.firstOrder) alpha"] }
        #expect(kept.count == 1)
        #expect(google == relayed.filter { $0.value != kept.first?.value })
    }
}
