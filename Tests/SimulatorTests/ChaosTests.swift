import NormalizerTesting
import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing

@Suite("Chaos")
struct ChaosTests {
    /// A few orders in the ordinary run, many in the long one.
    static let rounds = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1" ? 200 : 2

    @Test("no order, repetition, delay or loss gives another state", arguments: CustomerStory.all)
    func stories(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let chaos = try await Chaos(story, by: simulator, from: Simulators.start)
            do {
                try await chaos.run(rounds: Self.rounds, seed: 20_260_105)
            } catch let difference as Chaos.Difference {
                Issue.record("\(story.id) at \(simulator.provider.rawValue): \(difference)")
            }
        }
    }

    @Test("a purchase that goes on under another token leaves one balance, whenever the two turn out to be linked")
    func linkedBalances() async throws {
        let google = try #require(try Simulators.all.get().first { $0.provider == .google })
        let story = CustomerStory(
            "renewed-again",
            "A customer leaves, comes back, and renews.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)), .init(.atPeriodEnd, .renew),
                .init(.after(.seconds(86_400)), .cancel), .init(.atPeriodEnd, .expire(.customer)),
                .init(.after(.seconds(86_400)), .subscribe(.basicMonthly)), .init(.atPeriodEnd, .renew),
            ]
        )
        let chaos = try await Chaos(story, by: google, from: Simulators.start)
        // The renewal under each token comes before the purchase that links the two.
        for order in [[1, 5, 4, 0, 3, 2], [5, 1, 4, 0, 3, 2], [1, 5, 0, 2, 3, 4]] {
            try await chaos.check(order, .prompt)
        }
    }

    @Test("a notification that never arrives is named as missing, with its place")
    func missing() async throws {
        for simulator in try Simulators.all.get() {
            let chaos = try await Chaos(.life, by: simulator, from: Simulators.start)
            let order = Array(1..<chaos.count)
            let difference = await #expect(throws: Chaos.Difference.self) { try await chaos.check(order, .prompt) }
            let text = try #require(difference).description
            #expect(difference?.order == order.map { $0 + 1 })
            #expect(text.contains("missing"))
        }
    }

    @Test("a planned change that is asked for after it took effect starts nothing new")
    func lateLookup() async throws {
        let google = try #require(try Simulators.all.get().first { $0.provider == .google })
        let chaos = try await Chaos(try #require(CustomerStory.named("downgrade")), by: google, from: Simulators.start)
        // Bought, renewed as the other product; only then the notification that planned it.
        try await chaos.check([0, 3, 1, 4, 2], .late)
    }

    @Test("the same seed gives the same orders")
    func deterministic() {
        var first = SeededGenerator(seed: 7)
        var second = SeededGenerator(seed: 7)
        #expect((0..<9).map { _ in first.next() } == (0..<9).map { _ in second.next() })
        var other = SeededGenerator(seed: 8)
        #expect(first.next() != other.next())
    }
}
