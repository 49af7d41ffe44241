import NormalizerTesting
import Foundation
import NotificationSimulator
import Normalizer
import StoryReceiving
import Testing

/// Every story at every provider, with any of its deliveries lost. After backfill and reconciliation, the host knows what one
/// knows that has lost nothing, except for what ``Unhealable`` lists.
@Suite("A loss of deliveries", .timeLimit(.minutes(30)))
struct LossTests {
    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"

    /// The deliveries that are lost: all, each single one, a few at random, and none. To save time, a short run takes one single
    /// one, and either none or a few.
    private static func losses(of story: CustomerStory, _ count: Int) -> [(LossyHost.Loss, lost: Set<Int>)] {
        let all = Set(0..<count)
        var generator = SeededGenerator(seed: UInt64(story.id.utf8.count))
        let random = (0..<3).map { _ in (LossyHost.Loss.some, lost: all.filter { _ in generator.next() % 2 == 0 }) }
        let single = all.map { (LossyHost.Loss.one, lost: Set([$0])) }
        let others = [(LossyHost.Loss.none, lost: Set<Int>())] + random
        guard !isLong else { return [(.all, all)] + single + others }
        let place = Int(generator.next() % UInt64(max(count, 1)))
        return [(.all, all), (.one, [place]), others[Int(generator.next() % 2)]]
    }

    @Test("is healed, except for what the provider cannot say", arguments: CustomerStory.providers)
    func losses(provider: Provider) async throws {
        let simulator = try #require(try Simulators.all.get().first { $0.provider == provider })
        var found: Set<String> = []
        for story in CustomerStory.all where simulator.absence(of: story) == nil {
            let host = try await LossyHost(story, by: simulator)
            guard try LossyHost.canHeal(host.api, simulator) else { return }
            let all = Set(host.results.indices)
            let whole = try await host.outcome(keeping: all, heals: false)
            for (loss, lost) in Self.losses(of: story, all.count) {
                let outcome = try await host.outcome(
                    keeping: all.subtracting(lost),
                    imports: loss == .all && !host.remembers
                )
                for difference in outcome.differences(from: whole) {
                    found.insert(difference)
                    // Healing where nothing was lost changes nothing.
                    let isExcused = loss != .none && Unhealable.rows.contains { $0.covers(difference, at: provider) }
                    let types = lost.sorted().map { host.api.notifications[$0].type }
                    #expect(isExcused, "\(story.id): \(difference) without \(loss == .all ? ["all"] : types)")
                }
            }
        }
        guard Self.isLong else { return }
        // An excuse that nothing needs is taken off the list.
        for row in Unhealable.rows where row.providers.contains(provider) {
            let unused = row.differences.filter { pattern in !found.contains { Unhealable.matches(pattern, $0) } }
            #expect(unused.count < row.differences.count, "\(provider): \(row.reason)")
        }
    }
}
