import Foundation
@testable import Gateway
import GooglePubSub
import HTTPTransport
import Hummingbird
import InMemoryLogging
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Testing

@Suite("Intake", .timeLimit(.minutes(5))) struct IntakeTests {
    private let metrics = GatewayMetrics(factory: PrometheusRegistry())

    @Test(
        "asks the provider to come again, and says when, where too many come at once or the database cannot be written",
        arguments: [(0, nil), (9, MemoryJournal.Fault.full)] as [(Int, MemoryJournal.Fault?)],
        [true, false]
    )
    func busy(trouble: (limit: Int, fault: MemoryJournal.Fault?), answersAtOnce: Bool) async throws {
        let bench = try Bench()
        let source = try #require(try GatewayConfiguration(bench.settings()).sources.first)
        let storage = MemoryJournal(fault: { trouble.fault })
        let journal = Journal(storage, clock: TestClock(jumping: true), now: { Bench.now })
        let router = Router()
        HookRoutes(
            maximumRequests: trouble.limit,
            intake: Intake(journal: journal, answersAtOnce: answersAtOnce),
            adapters: [source.name: source.adapter],
            metrics: metrics,
            now: { Bench.now }
        )
        .add(to: router)
        let delivery = try bench.purchase()
        try await RouterClient.with(router) { client in
            let answer = try await client.deliver(delivery)
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.headers[.retryAfter] == "5")
        }
        for table in JournalTable.allCases {
            #expect(try await storage.read { try await $0.records(JournalSelection(limit: 1), in: table) } == [])
        }
    }

    @Test(
        "logs why a delivery is not accepted, and nothing of what is in it",
        arguments: [
            ("whsec_other", 0, "unauthenticated", "reject", 400),
            ("whsec_gateway0123456789", 86_400, "stale", "reject", 400),
            ("whsec_gateway0123456789", 0, "malformed", "acceptAndQuarantine", 200),
        ] as [(String, TimeInterval, String, String, Int)]
    )
    func reason(secret: String, age: TimeInterval, code: String, decision: String, status: Int) async throws {
        let gateway = try await Bench().gateway()
        let handler = InMemoryLogHandler()
        let delivery = try StripeSimulator(signingSecret: SecretBytes(secret))
            .delivery(Array(#"{"id":"evt_1"}"#.utf8), receivedAt: Bench.now.addingTimeInterval(-age))
        try await RouterClient.with(gateway.router, logger: Logger(label: "test") { _ in handler }) { client in
            let answer = try await client.deliver(delivery, to: "shop")
            #expect(answer.status.code == status)
        }
        #expect(
            handler.entries.map(\.message) == [
                "delivery \(status == 200 ? "was kept in quarantine" : "was not accepted")"
            ]
        )
        #expect(
            handler.entries.map(\.metadata) == [
                [
                    "source": "shop", "decision": "\(decision)", "code": "\(code)", "status": "\(status)",
                    "bytes": "\(delivery.body.count)",
                ]
            ]
        )
    }

    @Test("has no hook for a source that pulls")
    func pullWithoutHook() async throws {
        let bench = try Bench()
        var configuration = try GatewayConfiguration(bench.settings())
        configuration.sources[0] = Source(
            "apple",
            configuration.sources[0].adapter,
            pull: PullSettings(
                configuration: PullWorker.Configuration(subscription: "projects/example/subscriptions/play"),
                transport: StubTransport()
            )
        )
        let gateway = try await Gateway(
            configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { Bench.now }
        )
        let delivery = try bench.purchase()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.deliver(delivery)
            #expect(answer.status == .notFound)
        }
    }
}
