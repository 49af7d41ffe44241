import Foundation
@testable import Gateway
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import Testing

@Suite("Reconcile", .timeLimit(.minutes(5))) struct ReconcileTests {
    private let storage = MemoryJournal()
    private let registry = PrometheusRegistry()
    /// A day after the purchases, when no other question about them is open.
    private let later = Bench.now.addingTimeInterval(86_400)
    private var journal: Journal { Journal(storage, clock: TestClock(jumping: true), now: { later }) }

    /// Purchases that are to be asked about.
    private func purchases(_ count: Int) async throws {
        let bench = try Bench()
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        for index in 0..<count {
            #expect(await journal.receive(try bench.purchase(number: index), with: adapter).status == 200)
        }
        #expect(try await journal.askAgain(about: .apple) == count)
    }

    private func worker(_ questions: [any LineageQuestions], batch: Int = 100) -> ReconcileWorker {
        ReconcileWorker(
            journal: journal,
            questions: questions,
            batch: batch,
            traffic: LiveTraffic(journal: journal, underWay: .init()) { Date() },
            metrics: GatewayMetrics(factory: registry),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test("asks about a batch, and says that there is more")
    func batch() async throws {
        try await purchases(5)
        let apple = Asked(.apple)
        let worker = worker([apple], batch: 3)
        #expect(try await worker.round() == true)
        #expect(apple.count == 3)
        #expect(try await worker.round() == false)
        #expect(apple.count == 5)
        #expect(registry.text.contains(#"lifecycle_reconcile_questions_total{outcome="settled"} 5"#))
        #expect(registry.text.contains("lifecycle_reconcile_unknown_total 5"))
    }

    @Test("asks another app's source where the key of one is refused")
    func refusedKey() async throws {
        try await purchases(3)
        let refused = Asked(.apple, .failure(DeliveryError(.denied, "the key")))
        let other = Asked(.apple, .success(.stated([])))
        #expect(try await worker([refused, other]).round() == false)
        #expect(refused.count == 1)
        #expect(other.count == 3)
        #expect(registry.text.contains(#"lifecycle_reconcile_stopped_total{provider="apple",reason="denied"} 1"#))
    }

    @Test("waits while live deliveries come, for a time")
    func liveFirst() async throws {
        let busy = HookRoutes.Counter()
        #expect(busy.enter(limit: 1))
        let traffic = LiveTraffic(journal: journal, underWay: busy) { Date() }
        let start = ContinuousClock.now
        try await traffic.waitForPause(atMost: .milliseconds(300))
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        // Another process's deliveries count too.
        let bench = try Bench()
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        _ = await journal.accept(try bench.purchase(), with: adapter, as: "apple")
        #expect(try await journal.waitingDeliveries(upTo: 9) == 1)
        let waiting = Task {
            try await LiveTraffic(journal: journal, underWay: .init()) { Date() }.waitForPause(atMost: .seconds(60))
        }
        try await journal.work(with: ["apple": adapter])
        try await waiting.value
        #expect(try await journal.waitingDeliveries(upTo: 9) == 0)
    }
}
