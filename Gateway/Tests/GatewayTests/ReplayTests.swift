import Configuration
import Foundation
@testable import Gateway
import Hummingbird
import LifecycleJournal
import Normalizer
import SQLiteJournal
import Testing

@Suite("Replay") struct ReplayTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// The gateway's journal, which gives up after the first failure.
    private func journal() async throws -> Journal {
        var options = Journal.Options()
        options.maximumAttempts = 1
        return Journal(try await bench.storage(), options: options, now: { Bench.now })
    }

    @Test("news that was given up is replayed, one piece or all, and shows the reason of its last failure")
    func deadLetters() async throws {
        let gateway = try await bench.gateway([
            "news.url": "https://backend.example.com/news",
            "news.secret": .init(.string(NewsTests.secret), isSecret: true),
        ])
        let journal = try await journal()
        let deliveries = try (1...3).map { try bench.purchase(number: $0) }
        try await RouterClient.with(gateway.router) { client in
            for delivery in deliveries { #expect(try await client.deliver(delivery).status == .ok) }
            for item in try await journal.outbox.next(9, lease: .seconds(60)) {
                try await journal.outbox.failed(item, because: "status 500")
            }
            let listed = try await client.get("/v1/dead-letters", Bench.adminToken).text
            #expect(listed.components(separatedBy: #""reason":"status 500""#).count == 4)
            let id = try #require(try await journal.outbox.abandoned().first?.id)
            #expect(try await client.post("/v1/dead-letters/\(id)/retry").status == .noContent)
            #expect(try await client.post("/v1/dead-letters/\(id)/retry").status == .notFound)
            #expect(try await client.post("/v1/dead-letters/retry", token: Bench.readToken).status == .forbidden)
            #expect(try await client.post("/v1/dead-letters/retry").text == #"{"retried":2}"#)
            #expect(try await client.get("/v1/dead-letters", Bench.adminToken).text == "[]")
            #expect(try await journal.outbox.waiting().count == 3)
            let metrics = try await client.get("/metrics").text
            #expect(metrics.contains("lifecycle_news_waiting 3"))
        }
    }

    @Test("news that was given up is put away, is counted no more, and stays in the feed")
    func discardedLetters() async throws {
        let gateway = try await bench.gateway([
            "news.url": "https://backend.example.com/news",
            "news.secret": .init(.string(NewsTests.secret), isSecret: true),
        ])
        let journal = try await journal()
        let deliveries = try (1...2).map { try bench.purchase(number: $0) }
        try await RouterClient.with(gateway.router) { client in
            for delivery in deliveries { #expect(try await client.deliver(delivery).status == .ok) }
            let feed = try await client.get("/v1/events").text
            for item in try await journal.outbox.next(9, lease: .seconds(60)) {
                try await journal.outbox.failed(item, because: "status 400")
            }
            let ids = try await journal.outbox.abandoned().map(\.id)
            let id = try #require(ids.first)
            #expect(try await client.delete("/v1/dead-letters/\(id)", token: Bench.readToken).status == .forbidden)
            #expect(try await client.delete("/v1/dead-letters/\(id)").status == .noContent)
            #expect(try await client.delete("/v1/dead-letters/\(id)").status == .notFound)
            #expect(try await journal.outbox.abandoned().map(\.id) == Array(ids.dropFirst()))
            #expect(try await client.get("/metrics").text.contains("lifecycle_dead_letters 1"))
            #expect(try await client.post("/v1/dead-letters/retry").text == #"{"retried":1}"#)
            #expect(try await client.get("/v1/events").text == feed)
        }
    }

    @Test("everything in quarantine is replayed")
    func quarantine() async throws {
        let gateway = try await bench.gateway()
        let journal = try await journal()
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        let broken = Unreachable(adapter: adapter)
        for number in 1...2 {
            _ = await journal.accept(try bench.purchase(number: number), with: broken, as: "apple")
        }
        _ = await journal.accept(try bench.purchase(number: 3), with: broken, as: "gone")
        try await journal.work(with: ["apple": broken, "gone": broken])
        try await RouterClient.with(gateway.router) { client in
            let listed = try await client.get("/v1/quarantine", Bench.adminToken).text
            #expect(listed.contains(#""received_at":"2026-09-21T14:13:20.000Z""#))
            #expect(try await client.post("/v1/quarantine/replay", token: Bench.readToken).status == .forbidden)
            #expect(try await client.post("/v1/quarantine/replay").text == #"{"accepted":2,"kept":1,"stopped":[]}"#)
            #expect(try await client.get("/v1/events").text.split(separator: "\n").count == 2)
        }
    }
}
