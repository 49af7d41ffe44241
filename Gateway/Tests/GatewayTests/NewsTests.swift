import Foundation
@testable import Gateway
import HTTPTransport
import Logging
import LifecycleJournal
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Testing
import Configuration
import Hummingbird

@Suite("News") struct NewsTests {
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    // The example of the Standard Webhooks specification.
    @Test("is signed as Standard Webhooks says")
    func signature() throws {
        let signature = try WebhookSignature(secret: Self.secret)
        let headers = try signature.headers(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at: Date(timeIntervalSince1970: 1_614_265_330),
            body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(headers.map(\.0) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(headers[2].1 == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("is posted until the receiver takes it, each time under the same id, and then no more")
    func posting() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway([
            "news.url": "https://backend.example.com/news", "news.secret": .init(.string(Self.secret), isSecret: true),
        ])
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let delivery = try {
            var delivery = try bench.purchase()
            delivery.headers.add("traceparent", "00-\(trace)-00f067aa0ba902b7-01")
            return delivery
        }()
        try await RouterClient.with(gateway.router) { client in
            _ = try await client.deliver(delivery)
        }
        let transport = StubTransport()
        transport.on(.any, respond: .init(status: 503), .init(status: 200))
        let worker = try gateway.newsWorker(transport: transport)
        #expect(try await worker.round() == 1)
        // It waits five seconds, and time stands still here.
        #expect(try await worker.round() == 0)
        let later = try await bench.gateway(
            [
                "news.url": "https://backend.example.com/news",
                "news.secret": .init(.string(Self.secret), isSecret: true),
            ],
            at: Bench.now.addingTimeInterval(600)
        )
        let second = try later.newsWorker(transport: transport)
        #expect(try await second.round() == 1)
        #expect(try await second.round() == 0)
        let requests = transport.requests
        #expect(requests.count == 2)
        #expect(Set(requests.map(\.body)).count == 1)
        #expect(Set(requests.compactMap { $0.headers["webhook-id"] }).count == 1)
        // Each request is a place of its own in the trace that the delivery came with.
        let places = requests.compactMap { $0.headers["traceparent"]?.split(separator: "-").map(String.init) }
        #expect(places.map { $0[1] } == [trace, trace])
        #expect(Set(places.map { $0[2] } + ["00f067aa0ba902b7"]).count == 3)
        let event = try #require(try JSONSerialization.jsonObject(with: Data(requests[0].body)) as? [String: Any])
        #expect(event["specversion"] as? String == "1.0")
        #expect(event["type"] as? String == "lifecycle.started")
        #expect(event["id"] as? String == requests[0].headers["webhook-id"])
        let stated = (event["data"] as? [String: Any])?["event"] as? [String: Any]
        #expect(event["time"] as? String == stated?["occurred_at"] as? String)
        #expect(try OpenAPITests.violation(ofPost: "news", requests[0].body) == nil)
    }

    private func gateway(_ bench: Bench, purchases: Int) async throws -> Gateway {
        let gateway = try await bench.gateway([
            "news.url": "https://backend.example.com/news", "news.secret": .init(.string(Self.secret), isSecret: true),
        ])
        try await RouterClient.with(gateway.router) { client in
            for number in 1...purchases { try await client.deliver(try bench.purchase(number: number)) }
        }
        return gateway
    }

    @Test(
        "is taken if the status says so, however long the answer is",
        arguments: [(200, true), (204, true), (500, false)]
    )
    func longAnswer(status: Int, isTaken: Bool) async throws {
        let bench = try Bench()
        let gateway = try await gateway(bench, purchases: 1)
        let transport = StubTransport()
        transport.on(.any, respond: .init(status: status, body: Array(repeating: 0x61, count: 70_000)))
        #expect(try await gateway.newsWorker(transport: transport).round() == 1)
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        #expect(try await journal.outbox.waiting().isEmpty == isTaken)
    }

    @Test("that is under way when the process stops has not failed, and the rest was not tried")
    func stopping() async throws {
        let bench = try Bench()
        let gateway = try await gateway(bench, purchases: 3)
        let transport = StubTransport()
        transport.on(hang: .any)
        let worker = try gateway.newsWorker(transport: transport)
        let round = Task { try await worker.round() }
        while transport.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        round.cancel()
        await #expect(throws: CancellationError.self) { try await round.value }
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        let waiting = try await journal.outbox.waiting()
        #expect(waiting.map(\.attempts).sorted() == [0, 0, 1])
        #expect(waiting.allSatisfy { $0.failure == nil })
    }
}
