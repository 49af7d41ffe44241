import Configuration
import Foundation
@testable import Gateway
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import Testing

@Suite("Backfill") struct BackfillTests {
    /// A provider that remembers one delivery that never came.
    struct Memory: DeliveryHistory {
        let delivery: Delivery
        let adapter: any ProviderAdapter
        var name: String { "memory" }
        var provider: Provider { .apple }
        var reach: Duration { .seconds(86_400) }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            .init([.init(delivery, .success(try await adapter.receive(delivery)))])
        }
    }

    @Test("is on for a source with a key, and off for 0 minutes")
    func settings() throws {
        let bench = try Bench()
        let key: [String: ConfigValue?] = ["source.shop.api_key": .init(.string("rk_test_gateway"), isSecret: true)]
        let configuration = try GatewayConfiguration(bench.settings(key))
        #expect(configuration.backfillInterval == .seconds(3600))
        #expect(configuration.sources.map(\.histories.count) == [0, 1])
        let off = try GatewayConfiguration(bench.settings(["backfill.minutes": .init(.int(0), isSecret: false)]))
        #expect(off.backfillInterval == nil)
        #expect(off.sources.flatMap(\.histories).isEmpty)
    }

    @Test("takes in what never came, once, and counts it")
    func missed() async throws {
        let bench = try Bench()
        let configuration = try GatewayConfiguration(bench.settings())
        let source = try #require(configuration.sources.first)
        let memory = Memory(delivery: try bench.purchase(), adapter: source.adapter)
        let storage = MemoryJournal()
        // The history was read up to an hour ago.
        _ = try await Journal(storage, now: { Bench.now.addingTimeInterval(-3600) }).backfill(from: memory)
        let journal = Journal(storage, now: { Bench.now })
        let registry = PrometheusRegistry()
        let worker = BackfillWorker(
            journal: journal,
            sources: [Source(source.name, source.adapter, histories: [memory])],
            interval: .seconds(3600),
            metrics: GatewayMetrics(factory: registry),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        for _ in 0..<2 { await worker.read(worker.sources[0]) }
        #expect(try await journal.events().count == 1)
        #expect(registry.text.contains(#"lifecycle_backfill_events_total{source="apple"} 1"#))
    }
}
