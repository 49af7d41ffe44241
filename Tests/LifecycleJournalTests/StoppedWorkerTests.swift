import Foundation
import LifecycleJournal
import NormalizerTesting
import Stripe
import Testing

@Suite("A worker that is stopped", .timeLimit(.minutes(5)))
struct StoppedWorkerTests {
    /// A provider that answers no look-up.
    private struct Silent: ProviderAdapter {
        typealias Notification = StripeNotification
        typealias Resolved = StripeNotification
        let adapter: StripeAdapter
        let asked: AsyncStream<Void>.Continuation
        var provider: Provider { adapter.provider }

        func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification> {
            try adapter.authenticate(delivery)
        }

        func resolve(_ notification: Authenticated<Notification>) async throws(DeliveryError) -> Authenticated<Resolved>
        {
            asked.yield()
            try? await ContinuousClock().sleep(for: .seconds(86_400))
            throw DeliveryError(.unavailable, "broken off")
        }

        func normalize(_ resolved: Authenticated<Resolved>) throws(DeliveryError) -> Normalization {
            try adapter.normalize(resolved)
        }
    }

    @Test(
        "gives back what it leased, and the next one has it at once",
        arguments: TestedStorage.available
    )
    func givesBack(storage: TestedStorage) async throws {
        let folder = TemporaryFolder()
        let life = try StripeLife()
        let time = ManualTime(StripeLife.start)
        let storages = try await storage.open(in: folder)
        let journals = storages.map { Journal($0, clock: TestClock(jumping: true), now: { time.now }) }
        let deliveries = life.deliveries.prefix(3)
        for delivery in deliveries { #expect(await journals[0].accept(delivery, with: life.adapter).status == 200) }

        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let silent = Silent(adapter: life.adapter, asked: continuation)
        let worker = Task { try await journals[0].work(with: ["stripe": silent], lease: .seconds(3600)) }
        for await _ in asked { break }
        worker.cancel()
        _ = await worker.result

        time.advance(60)
        #expect(try await journals[1].work(with: ["stripe": life.adapter]) == deliveries.count)
    }
}
