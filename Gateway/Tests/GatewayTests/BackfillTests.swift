import AppStoreServer
import AppleJWS
import Configuration
import Foundation
@testable import Gateway
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Stripe
import Synchronization
import Testing

@Suite("Backfill") struct BackfillTests {
    /// A provider that remembers one delivery that never came.
    struct Memory: DeliveryHistory {
        let delivery: Delivery
        let adapter: any ProviderAdapter
        var reach: Duration = .seconds(86_400)
        var name: String { "memory" }
        var provider: Provider { .apple }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            .init([.init(delivery, .success(try await adapter.receive(delivery)))])
        }
    }

    private let storage = MemoryJournal()
    private let registry = PrometheusRegistry()
    private var journal: Journal { Journal(storage, now: { Bench.now }) }

    private func worker(_ sources: [Source]) -> BackfillWorker {
        BackfillWorker(
            journal: journal,
            sources: sources,
            metrics: GatewayMetrics(factory: registry),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test("and questions are on for a source with a key, and off for 0 minutes")
    func settings() throws {
        let bench = try Bench()
        let server = try AppStoreServerSimulator(bench.apple)
        let keyFile = bench.folder.appending(path: "key.p8")
        try Data(server.privateKey).write(to: keyFile)
        let keys: [String: ConfigValue?] = [
            "source.shop.api_key": .init(.string("rk_test_gateway"), isSecret: true),
            "source.apple.key_file": .init(.string(keyFile.path), isSecret: false),
            "source.apple.key_id": .init(.string(server.keyID), isSecret: false),
            "source.apple.issuer_id": .init(.string(server.issuerID), isSecret: false),
            "sources": .init(.stringArray(["apple", "shop", "relay"]), isSecret: false),
            "source.relay.provider": "revenuecat",
            "source.relay.authorizations": .init(.stringArray(["Bearer relay-0123456789"]), isSecret: true),
            "source.relay.api_key": .init(.string("sk_relay"), isSecret: true),
        ]
        let configuration = try GatewayConfiguration(bench.settings(keys))
        #expect(configuration.backfillInterval == .seconds(3600))
        #expect(configuration.reconcileInterval == .seconds(300))
        #expect(configuration.sources.map(\.histories.count) == [1, 1, 0])
        #expect(configuration.sources.map { $0.questions.map(\.provider) } == [[.apple], [.stripe], [.revenuecat]])
        let off = try GatewayConfiguration(
            bench.settings([
                "backfill.minutes": .init(.int(0), isSecret: false),
                "reconcile.minutes": .init(.int(0), isSecret: false),
            ])
        )
        #expect(off.backfillInterval == nil)
        #expect(off.reconcileInterval == nil)
        #expect(off.sources.flatMap(\.histories).isEmpty)
        #expect(off.sources.flatMap(\.questions).isEmpty)
    }

    @Test("takes in what never came, once, and counts it")
    func missed() async throws {
        let bench = try Bench()
        let source = try #require(try GatewayConfiguration(bench.settings()).sources.first)
        let memory = Memory(delivery: try bench.purchase(), adapter: source.adapter)
        // The history was read up to an hour ago.
        _ = try await Journal(storage, now: { Bench.now.addingTimeInterval(-3600) }).backfill(from: memory)
        let worker = worker([Source(source.name, source.adapter, histories: [memory])])
        for _ in 0..<2 { #expect(try await worker.round() == false) }
        #expect(try await journal.events().count == 1)
        #expect(registry.text.contains(#"lifecycle_backfill_events_total{source="apple"} 1"#))
    }

    @Test("has every purchase asked about where the provider has forgotten a part")
    func gap() async throws {
        let bench = try Bench()
        let source = try #require(try GatewayConfiguration(bench.settings()).sources.first)
        let delivery = try bench.purchase()
        #expect(await journal.receive(delivery, with: source.adapter, as: source.name).status == 200)
        let memory = Memory(delivery: delivery, adapter: source.adapter, reach: .seconds(600))
        _ = try await Journal(storage, now: { Bench.now.addingTimeInterval(-3600) }).backfill(from: memory)
        #expect(try await journal.questions(at: Bench.now) == [])
        _ = try await worker([Source(source.name, source.adapter, histories: [memory])]).round()
        #expect(try await journal.questions(at: Bench.now).map(\.kind.rawValue) == ["requested"])
        #expect(registry.text.contains(#"lifecycle_backfill_gaps_total{source="apple"} 1"#))
    }

    @Test(
        "has every purchase of a provider without a history asked about after an outage alone",
        arguments: [(-60, false), (3599, false), (3601, true), (72_000, true)] as [(TimeInterval, Bool)],
        [false, true]
    )
    func outage(pause: (seconds: TimeInterval, asks: Bool), isFirst: Bool) async throws {
        let bench = try Bench()
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        #expect(await journal.receive(try bench.purchase(), with: adapter).status == 200)
        var source = Source("apple", adapter)
        source.questions = [Asked(.apple)]
        let worker = OutageWorker(
            journal: journal,
            sources: [source],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { Bench.now }
        )
        let finished = Bench.now.addingTimeInterval(-pause.seconds)
        if isFirst {
            // Version 0.12 had no pulse, and noted its backfill so.
            let end = String(decoding: try CanonicalJSON.bytes(EventTime(wrappedValue: finished)), as: UTF8.self)
            let mark = #"{"finished":\#(end),"holder":"former","leftWork":false,"until":\#(end)}"#
            #expect(try await journal.setCheckpoint(mark, of: "gateway/backfill", after: nil))
        }
        #expect(try await worker.round(after: RoundLease.Last(finished: isFirst ? nil : finished)) == false)
        #expect(try await journal.questions(at: Bench.now).isEmpty == !pause.asks)
    }

    @Test("has every purchase of every provider asked about once after a restore, however old the copy is")
    func restore() async throws {
        let bench = try Bench()
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        #expect(await journal.receive(try bench.purchase(), with: adapter).status == 200)
        try await journal.noteRestore()
        let memory = Memory(delivery: try bench.purchase(), adapter: adapter)
        var source = Source("apple", adapter, histories: [memory])
        source.questions = [Asked(.apple)]
        let worker = OutageWorker(
            journal: journal,
            sources: [source],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { Bench.now.addingTimeInterval(60) }
        )
        // Either clock may be wrong.
        for seconds in [30, -30] as [TimeInterval] {
            let last = RoundLease.Last(finished: Bench.now.addingTimeInterval(seconds))
            try await Journal(storage, now: { Bench.now.addingTimeInterval(seconds) }).noteRestore()
            for count in [1, 0, 0] {
                _ = try await worker.round(after: last)
                #expect(try await journal.questions(at: Bench.now).count == count)
                _ = try await journal.reconcile(with: [Asked(.apple, .success(.stated([])))])
            }
        }
    }

    @Test(
        "asks Stripe for what events leave out, wherever it has a key and no setting says otherwise",
        arguments: [
            (true, nil, true), (true, true, true), (true, false, false), (false, false, nil), (false, nil, nil),
        ]
            as [(Bool, Bool?, Bool?)]
    )
    func completion(hasKey: Bool, setting: Bool?, completes: Bool?) throws {
        let settings = try Bench().settings([
            "source.shop.api_key": hasKey ? .init(.string("rk_test_gateway"), isSecret: true) : nil,
            "source.shop.completes_snapshots": setting.map { .init(.bool($0), isSecret: false) },
        ])
        let shop = Source.Settings(settings.scoped(to: "source.shop"), of: "shop")
        #expect(try Source.stripeConfiguration(shop).lookup?.completesSnapshots == completes)
    }

    @Test("gives what waited for a provider to its adapter again")
    func replay() async throws {
        let bench = try Bench()
        let source = try #require(try GatewayConfiguration(bench.settings()).sources.first)
        let broken = Unreachable(adapter: source.adapter)
        var options = Journal.Options()
        options.maximumAttempts = 1
        let journal = Journal(storage, options: options, now: { Bench.now })
        _ = await journal.accept(try bench.purchase(), with: broken, as: "apple")
        try await journal.work(with: ["apple": broken])
        #expect(try await journal.quarantine.list().count == 1)
        _ = try await worker([source]).round()
        #expect(try await journal.quarantine.list().count == 0)
        #expect(try await journal.events().count == 1)
        #expect(registry.text.contains("lifecycle_quarantine_replayed_total 1"))
    }
}

/// Apple's adapter, as one whose provider cannot be asked.
struct Unreachable: ProviderAdapter {
    let adapter: any ProviderAdapter
    var provider: Provider { .apple }

    func signedDocument(of delivery: Delivery) -> Delivery { adapter.signedDocument(of: delivery) }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<String> {
        Authenticated(unchecked: "proven", receivedAt: delivery.receivedAt)
    }

    func resolve(_ notification: Authenticated<String>) async throws(DeliveryError) -> Authenticated<String> {
        throw DeliveryError(.unavailable, "the provider cannot be asked")
    }

    func normalize(_ resolved: Authenticated<String>) throws(DeliveryError) -> Normalization { Normalization([]) }
}

/// A provider that answers as it is set to, and counts the questions.
final class Asked: LineageQuestions {
    let provider: Provider
    let pace: Duration = .zero
    private let result: Result<LineageAnswer, DeliveryError>
    private let stored = Mutex(0)

    init(_ provider: Provider, _ result: Result<LineageAnswer, DeliveryError> = .success(.unknown)) {
        (self.provider, self.result) = (provider, result)
    }

    var count: Int { stored.withLock { $0 } }

    func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        stored.withLock { $0 += 1 }
        return try result.get()
    }
}
