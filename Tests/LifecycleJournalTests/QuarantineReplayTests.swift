import Foundation
import LifecycleJournal
import NormalizerTesting
import Stripe
import Synchronization
import Testing

@Suite("A replay of the quarantine", .timeLimit(.minutes(5)))
struct QuarantineReplayTests {
    /// Believes its deliveries, except those that its provider fails at, and counts them.
    private final class Failing: ProviderAdapter {
        let adapter: StripeAdapter
        let tried = Mutex(0)
        let fails: @Sendable (Int) -> Bool
        var provider: Provider { adapter.provider }

        init(_ adapter: StripeAdapter, fails: @escaping @Sendable (Int) -> Bool) {
            self.adapter = adapter
            self.fails = fails
        }

        func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<StripeNotification> {
            try adapter.authenticate(delivery)
        }

        func resolve(
            _ notification: Authenticated<StripeNotification>
        ) async throws(DeliveryError) -> Authenticated<StripeNotification> {
            let number = tried.withLock { tried in
                tried += 1
                return tried
            }
            if fails(number) { throw DeliveryError(.unavailable, "no answer") }
            return notification
        }

        func normalize(_ resolved: Authenticated<StripeNotification>) throws(DeliveryError) -> Normalization {
            try adapter.normalize(resolved)
        }
    }

    private let life: StripeLife

    init() throws { life = try StripeLife() }

    /// A journal whose quarantine has every delivery, once for each source.
    private func journal(_ sources: [String]) async throws -> Journal {
        let time = ManualTime(StripeLife.start)
        var options = Journal.Options()
        options.maximumAttempts = 1
        let journal = Journal(MemoryJournal(), options: options, now: { time.now })
        let dead = UnreachableAdapter(adapter: life.adapter)
        for source in sources {
            for delivery in life.deliveries { _ = await journal.accept(delivery, with: dead, as: source) }
            while try await journal.work(with: [source: dead]) > 0 {}
        }
        return journal
    }

    @Test("stops where the provider cannot be asked, and goes on with the other sources")
    func stops() async throws {
        let count = life.deliveries.count
        try #require(count > 5)
        let journal = try await journal(["down", "up"])
        let (down, up) = (Failing(life.adapter) { _ in true }, Failing(life.adapter) { _ in false })
        let counts = try await replay(journal, with: ["down": down, "up": up])
        #expect(counts.tried == ["down": 5, "up": count])
        #expect(counts.accepted == count)
        #expect(counts.stopped == ["down"])
        #expect(down.tried.withLock { $0 } == 5)
        #expect(try await journal.quarantine.sizes()["down"]?.deliveries == count)
    }

    @Test("goes on after deliveries that the provider fails at")
    func goesOn() async throws {
        let journal = try await journal(["stripe"])
        let adapter = Failing(life.adapter) { !$0.isMultiple(of: 3) }
        let count = life.deliveries.count
        let counts = try await replay(journal, with: ["stripe": adapter, "other": adapter])
        #expect(counts.tried == ["stripe": count])
        #expect(counts.accepted == count / 3)
        #expect(counts.stopped.isEmpty)
    }

    private func replay(
        _ journal: Journal,
        with adapters: [String: any ProviderAdapter]
    ) async throws -> (tried: [String: Int], accepted: Int, stopped: Set<String>) {
        var replay = journal.quarantine.replay(with: adapters)
        var (tried, accepted) = ([String: Int](), 0)
        while let (entry, answer) = try await replay.next() {
            tried[entry.source, default: 0] += 1
            accepted += answer.decision == .accept ? 1 : 0
        }
        return (tried, accepted, replay.stopped)
    }
}
