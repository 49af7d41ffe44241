import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("Stories of the simulator")
struct AppleStoryTests {
    @Test("the whole life reports trial, conversion, renewal, grace, recovery, upgrade, refund and expiry")
    func life() throws {
        let simulator = try AppleSimulator(seed: "demo")
        let adapter = try AppleFixture.adapter(trusting: simulator)
        let deliveries = try simulator.deliveries(.life, from: AppleFixture.start)
        let events = try deliveries.flatMap { try adapter.events($0) }
        #expect(
            events.map(\.kind) == [
                .started, .renewed, .renewed, .billingIssue, .renewed, .productChanged, .refunded, .autoRenewDisabled,
                .expired,
            ]
        )
        #expect(Set(events.map(\.id)).count == events.count)
        #expect(Set(events.map(\.subscription)).count == 1)
        #expect((18_000...21_000).contains(deliveries[0].body.count))
    }

    @Test("every story is accepted, in both worlds, with one mapped event a step", arguments: AppleSimulator.stories)
    func story(story: CustomerStory) throws {
        for environment in [AppleSimulator.Environment.production, .sandbox] {
            let simulator = try AppleSimulator(seed: "stories", environment: environment)
            let adapter = try AppleFixture.adapter(trusting: simulator)
            let events = try simulator.deliveries(story, from: AppleFixture.start).flatMap { try adapter.events($0) }
            #expect(events.count == story.steps.count)
            #expect(!events.contains { $0.kind == .unmapped })
        }
    }

    @Test("one seed gives the same bytes, another seed a forgery")
    func seeds() throws {
        let first = try AppleSimulator(seed: "a").deliveries(.life, from: AppleFixture.start)
        let again = try AppleSimulator(seed: "a").deliveries(.life, from: AppleFixture.start)
        let forger = try AppleSimulator(seed: "b")
        #expect(first.map(\.body) == again.map(\.body))
        let adapter = try AppleFixture.adapter(trusting: try AppleSimulator(seed: "a"))
        for forged in try forger.deliveries(.life, from: AppleFixture.start) {
            let error = #expect(throws: DeliveryError.self) { try adapter.events(forged) }
            #expect(error?.code == .untrusted)
        }
    }

    @Test("names are unique, and a story that makes no sense is refused")
    func names() throws {
        #expect(Set(AppleSimulator.stories.map(\.id)).count == AppleSimulator.stories.count)
        let nonsense = CustomerStory("nonsense", "Renews what never began.", steps: [.init(.atPeriodEnd, .renew)])
        #expect(throws: SimulatorError.self) {
            try AppleSimulator(seed: "a").deliveries(nonsense, from: AppleFixture.start)
        }
    }
}
