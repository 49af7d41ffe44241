import Foundation
import Normalizer
public import NotificationSimulator
import NormalizerTesting
import StoryReceiving
public import Testing

/// One simulator for each provider.
enum Simulators {
    static let all = Result { try CustomerStory.providers.compactMap { try $0.simulator(seed: "stories") } }
    /// The same once more, made by themselves.
    static let again = Result { try CustomerStory.providers.compactMap { try $0.simulator(seed: "stories") } }
    /// The same names in everything, and other keys.
    static let forgers = Result { try CustomerStory.providers.compactMap { try $0.simulator(seed: "forger") } }
    /// 2026-01-05T10:00:00Z
    static let start = Date(timeIntervalSince1970: 1_767_607_200)

    static func play(_ story: CustomerStory, _ provider: Provider) async throws -> StoryPlayback {
        let simulator = try #require(try all.get().first { $0.provider == provider })
        return try await StoryPlayback(story, by: simulator, from: start)
    }
}

extension CustomerStory: CustomTestStringConvertible {
    /// The story's name.
    public var testDescription: String { id }
}

@Suite("Stories")
struct StoryPlaybackTests {
    /// The stories of all providers, and those of acts that one provider alone has.
    static let stories = CustomerStory.all + AppleSimulator.stories.filter { !CustomerStory.all.contains($0) }

    @Test(
        "stories of a refund on Google Play contradict nothing: the refund explains the end that is reported with it",
        arguments: ["life", "refund", "refund-past", "chargeback-lost"]
    )
    func refundsAreNoContradiction(id: String) async throws {
        let playback = try await Simulators.play(try #require(CustomerStory.named(id)), .google)
        for order in [playback.events, playback.events.reversed()] {
            let ledger = AccountLedger(applying: order)
            #expect(ledger.states.count == 1)
            #expect(ledger.states.flatMap(\.contradictions) == [])
        }
    }

    @Test(
        "a non-consumable gives access on every provider that sells one, with a catalogue and without",
        arguments: [false, true]
    )
    func lifetime(isListed: Bool) async throws {
        let story = try #require(CustomerStory.named("lifetime"))
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
            let product = try #require(playback.events.compactMap(\.product).first)
            let catalog = ProductCatalog(
                [],
                oneTimeProducts: [.init(id: product.id, type: .nonConsumable)],
                unlisted: .consumable
            )
            var ledger = AccountLedger()
            for taken in playback.taken { _ = ledger.apply(taken.result, catalog: isListed ? catalog : nil) }
            let account = try #require(ledger.accounts.first)
            let inTenYears = Simulators.start.addingTimeInterval(10 * 365 * 86_400)
            let name = simulator.provider.rawValue
            guard case .granted(let until, let grant) = ledger.access(of: account, at: inTenYears).decision else {
                Issue.record("denied at \(name)")
                continue
            }
            #expect(until == nil, "\(name)")
            #expect(grant.product == product.id, "\(name)")
            let saysType: Set<Provider> = [.apple, .revenuecat]
            #expect(grant.basis == (isListed || saysType.contains(simulator.provider) ? .purchase : .unclassified))
        }
    }

    @Test("let what is bought beside a subscription be refunded by itself", arguments: [false, true])
    func refundBeside(isOfGooglePlay: Bool) async throws {
        var steps: [CustomerStory.Step] = [
            .init(.after(.zero), .subscribe(.proMonthly)), .init(.after(.seconds(86_400)), .buy(.coins)),
            .init(.after(.seconds(86_400)), .refund(.latest)), .init(.atPeriodEnd, .renew),
        ]
        if isOfGooglePlay { steps.append(.init(.after(.seconds(86_400)), .schedulePause(.seconds(604_800)))) }
        let story = CustomerStory(
            "refund-beside",
            "Coins are bought beside a subscription, and refunded.",
            steps: steps
        )
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let events = try await StoryPlayback(story, by: simulator, from: Simulators.start).events
            func transactions(_ kinds: Set<LifecycleEvent.Kind>) -> Set<TransactionID> {
                Set(events.filter { kinds.contains($0.kind) }.compactMap(\.transaction))
            }
            let coins = transactions([.oneTimePurchased])
            #expect(coins.count == 1 && transactions([.refunded]) == coins, "\(simulator.provider.rawValue)")
            #expect(transactions([.started, .renewed]).isDisjoint(with: coins), "\(simulator.provider.rawValue)")
        }
    }

    @Test("come to what they say, on every provider that has them", arguments: stories)
    func kinds(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let provider = simulator.provider
            let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
            let kinds = playback.kinds
            for expectation in try story.expectations(at: provider) {
                let actual = (kinds[expectation.step] ?? []).map(\.rawValue)
                #expect(
                    actual == expectation.kinds.map(\.rawValue),
                    "\(provider.rawValue), step \(expectation.step + 1)"
                )
            }
            for taken in playback.taken {
                #expect(taken.result.anomalies.isEmpty, "\(provider.rawValue) \(taken.notification.type)")
                for event in taken.result.events {
                    #expect(event.provider == provider)
                    #expect(event.environment == .production || event.subscription == nil)
                    #expect(event.receivedAt == taken.delivery.receivedAt)
                }
            }
        }
    }

    @Test("are refused by name where a provider has no such thing", arguments: stories)
    func absences(story: CustomerStory) throws {
        let simulators = try Simulators.all.get()
        #expect(simulators.contains { story.absence(at: $0.provider) == nil })
        for simulator in simulators where story.absence(at: simulator.provider) != nil {
            let error = #expect(throws: SimulatorError.self) {
                try simulator.notifications(story, from: Simulators.start)
            }
            #expect(error?.reason == .notOffered(by: simulator.provider))
        }
    }

    @Test("differ between providers only where that is documented", arguments: CustomerStory.all)
    func differences(story: CustomerStory) throws {
        for provider in CustomerStory.providers where story.absence(at: provider) == nil {
            for (step, expectation) in zip(story.steps, try story.expectations(at: provider)) {
                // A documented difference that is none would hide what it stands beside.
                #expect((expectation.difference == nil) == (expectation.kinds == step.act.kinds))
            }
        }
    }

    @Test("are the same bytes for one seed, and forgeries for another", arguments: CustomerStory.all)
    func seeds(story: CustomerStory) async throws {
        let simulators = try Simulators.all.get()
        for simulator in try Simulators.again.get() where story.absence(at: simulator.provider) == nil {
            let first = simulators.first { $0.provider == simulator.provider }
            #expect(
                try simulator.notifications(story, from: Simulators.start)
                    == first?.notifications(story, from: Simulators.start)
            )
        }
        for (simulator, forger) in zip(simulators, try Simulators.forgers.get()) {
            guard story.absence(at: simulator.provider) == nil else { continue }
            let receiver = try StoryReceiver(try simulator.notifications(story, from: Simulators.start), by: simulator)
            let notification = try #require(try forger.notifications(story, from: Simulators.start).first)
            let forged = try forger.delivery(of: notification, sentAt: notification.receivedAt)
            let error = await #expect(throws: DeliveryError.self) { try await receiver.take(forged) }
            #expect(error?.isAuthentic == false)
            let answer = Acknowledgement(
                for: .failure(try #require(error)) as Result<Normalization, DeliveryError>,
                provider: simulator.provider
            )
            #expect((400..<500).contains(answer.status))
        }
    }

    @Test("make the same periods known by one id, from the store and through a relay", arguments: CustomerStory.all)
    func relays(story: CustomerStory) async throws {
        guard story.absence(at: .revenuecat) == nil else { return }
        let relayed = try await Simulators.play(story, .revenuecat)
        let isOfGooglePlay = relayed.events.contains { $0.store == .playStore }
        let store: Provider = isOfGooglePlay ? .google : .apple
        guard story.absence(at: store) == nil else { return }
        let reported = try await Simulators.play(story, store)
        // A store's upgrade is a product change, and its relay's a renewal: the fact is that a period began.
        let began: Set<LifecycleEvent.Kind> = [.started, .renewed, .productChanged, .oneTimePurchased]
        let relayedIDs = Set(relayed.events.filter { began.contains($0.kind) }.map(\.id))
        let reportedIDs = Set(reported.events.filter { began.contains($0.kind) }.map(\.id))
        #expect(relayedIDs == reportedIDs)
    }

    @Test("that make no sense are refused")
    func nonsense() throws {
        let stories = [
            CustomerStory("a", "", steps: [.init(.after(.zero), .renew)]),
            CustomerStory("b", "", steps: [.init(.atPeriodEnd, .test)]),
            CustomerStory(
                "c",
                "",
                steps: [.init(.after(.zero), .subscribe(.proMonthly)), .init(.after(.seconds(60)), .renew)]
            ),
            CustomerStory(
                "d",
                "",
                steps: [.init(.after(.zero), .subscribe(.proMonthly)), .init(.after(.zero), .recover)]
            ),
            CustomerStory("e", "", steps: [.init(.after(.zero), .refund(.latest))]),
            CustomerStory(
                "f",
                "",
                steps: [.init(.after(.zero), .subscribe(.proMonthly)), .init(.after(.zero), .subscribe(.proMonthly))]
            ),
            CustomerStory("g", "", steps: [.init(.after(.seconds(Int64.max)), .buy(.coins, quantity: .max))]),
            CustomerStory(
                "h",
                "",
                steps: [.init(.after(.zero), .subscribe(.proMonthly)), .init(.after(.zero), .cancel)]
                    + Array(repeating: .init(.after(.seconds(3_000_000_000)), .uncancel), count: 100)
            ),
        ]
        for story in stories {
            for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
                let name = "\(story.id) at \(simulator.provider.rawValue)"
                let error = #expect(throws: SimulatorError.self, "\(name)") {
                    try simulator.notifications(story, from: Simulators.start)
                }
                #expect(error?.reason == .nonsense, "\(name)")
            }
        }
    }

    @Test(
        "that the App Store's certificates do not cover are refused",
        arguments: [(1_704_067_200, true), (1_704_067_199, false), (2_019_600_000, true), (2_019_686_401, false)]
    )
    func uncovered(start: Double, isCovered: Bool) throws {
        let apple = try AppleSimulator(seed: "1")
        let story = CustomerStory("one", "", steps: [.init(.after(.zero), .subscribe(.proMonthly))])
        let start = Date(timeIntervalSince1970: start)
        if isCovered {
            #expect(try apple.notifications(story, from: start).count == 1)
        } else {
            let error = #expect(throws: SimulatorError.self) { try apple.notifications(story, from: start) }
            #expect(error?.reason == .nonsense)
        }
    }

    @Test("have names of their own")
    func names() {
        #expect(Set(Self.stories.map(\.id)).count == Self.stories.count)
        #expect(CustomerStory.named("life")?.steps.count == 9)
        #expect(CustomerStory.named("nothing") == nil)
    }
}
