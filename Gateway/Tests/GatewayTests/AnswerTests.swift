import AppStoreServer
import AppleJWS
import Configuration
import Foundation
@testable import Gateway
import HTTPTransport
import Hummingbird
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import NotificationSimulator
import SQLiteJournal
import Testing

@Suite("Answers to stores", .timeLimit(.minutes(5))) struct AnswerTests {
    private let bench: Bench
    private let time = TimeOfDay()
    private let storage = MemoryJournal()
    private let registry = PrometheusRegistry()
    /// Your backend.
    private let backend = StubTransport()
    /// Apple's server.
    private let apple = StubTransport()
    private let server: AppStoreServerClient

    init() throws {
        bench = try Bench()
        let simulator = try AppStoreServerSimulator(bench.apple)
        let adapter = try AppleAdapter(
            .init(
                apps: [.init(bundleID: bench.apple.bundleId, appAppleID: bench.apple.appAppleId)],
                environments: [.production],
                trustAnchors: try AppleTrustAnchors(der: [bench.apple.rootCertificate])
            )
        )
        server = try AppStoreServerClient(
            .init(
                key: try AppStoreServerKey(
                    issuerID: simulator.issuerID,
                    keyID: simulator.keyID,
                    privateKey: SecretBytes(bytes: simulator.privateKey)
                ),
                bundleID: bench.apple.bundleId,
                environments: [.production]
            ),
            adapter: adapter,
            transport: apple,
            clock: TestClock(jumping: true),
            now: { Bench.now }
        )
        apple.on(.any, respond: HTTPTransportResponse(status: 202))
    }

    private var journal: Journal { Journal(storage, now: { time.now }) }

    /// The round that the gateway does, over a journal that Apple has asked.
    private func worker() async throws -> AnswerWorker {
        var data = AppleSimulator.PurchaseData(status: 1, transactionInfo: try bench.transaction(account: "42"))
        data.consumptionRequestReason = "UNINTENDED_PURCHASE"
        let notification = AppleSimulator.Notification(
            "CONSUMPTION_REQUEST",
            notificationUUID: "6a8a2d9c-0c51-4d43-8d43-3a8f9ed1f009",
            signedDate: Bench.now,
            content: .data(data)
        )
        let delivery = try bench.apple.delivery(notification, receivedAt: Bench.now)
        #expect(await journal.receive(delivery, with: server.adapter, as: "apple").status == 200)
        let metrics = GatewayMetrics(factory: registry)
        let questions = RefundQuestions(
            server: server,
            destination: .init(
                url: try HTTPSURL("https://backend.example.com/refunds"),
                signature: try WebhookSignature(secret: NewsTests.secret)
            ),
            transport: backend,
            metrics: metrics,
            now: { time.now }
        )
        return AnswerWorker(journal: journal, answerers: [questions], metrics: metrics, now: { time.now })
    }

    private func answer(_ json: String) { backend.on(.any, respond: .init(status: 200, body: Array(json.utf8))) }

    @Test("about a refund are those of your backend, which gets a signed question")
    func refund() async throws {
        let worker = try await worker()
        answer(
            #"{"customer_consented":true,"delivery":"DELIVERED","consumption_millipercent":50000,"refund_preference":"DECLINE"}"#
        )
        #expect(try await worker.round() == false)
        let question = try #require(backend.requests.first)
        let event = try #require(try JSONSerialization.jsonObject(with: Data(question.body)) as? [String: Any])
        #expect(event["type"] as? String == "lifecycle.refund_question")
        let data = try #require(event["data"] as? [String: Any])
        #expect(data["answer_by"] as? String == "2026-09-22T02:13:20.000Z")
        #expect(try OpenAPITests.violation(ofPost: "refund_question", question.body) == nil)
        let id = try #require(question.headers["webhook-id"])
        #expect(event["id"] as? String == id)
        let signature = try WebhookSignature(secret: NewsTests.secret)
        let headers = try signature.headers(id: id, at: Bench.now, body: question.body)
        #expect(question.headers["webhook-signature"] == headers[2].1)
        let sent = try #require(apple.requests.first)
        #expect(apple.requests.count == 1)
        #expect(sent.url.path == "/inApps/v2/transactions/consumption/2000000000000001")
        #expect(
            String(decoding: sent.body, as: UTF8.self)
                == #"{"consumptionPercentage":50000,"customerConsented":true,"deliveryStatus":"DELIVERED","refundPreference":"DECLINE","sampleContentProvided":false}"#
        )
        #expect(registry.text.contains(#"lifecycle_duties_total{outcome="answered"} 1"#))
        #expect(try await journal.due(at: .distantFuture) == [])
    }

    @Test(
        "are dismissed visibly where your backend has nothing to say, or the customer did not consent",
        arguments: [
            (HTTPTransportResponse(status: 204), "dismissed: your backend has nothing to say"),
            (
                HTTPTransportResponse(status: 200, body: Array(#"{"customer_consented":false}"#.utf8)),
                "dismissed: the customer has not consented to sharing information"
            ),
        ]
    )
    func nothing(response: HTTPTransportResponse, reason: String) async throws {
        let worker = try await worker()
        backend.on(.any, respond: response)
        _ = try await worker.round()
        #expect(apple.requests.isEmpty)
        let dismissed = try await journal.duties.abandoned()
        #expect(dismissed.map(\.value.kind) == [.refundReview])
        #expect(dismissed.map(\.failure) == [reason])
        #expect(registry.text.contains(#"lifecycle_duties_total{outcome="dismissed"} 1"#))
    }

    @Test(
        "are asked for again until the deadline, and then dismissed visibly",
        arguments: [
            HTTPTransportResponse(status: 500),
            HTTPTransportResponse(status: 200, body: Array("yes".utf8)),
            HTTPTransportResponse(status: 200, body: Array(#"{"customer_consented":true}"#.utf8)),
            HTTPTransportResponse(
                status: 200,
                body: Array(#"{"customer_consented":true,"delivery":"DELIVERED","refund_preferance":"DECLINE"}"#.utf8)
            ),
        ]
    )
    func silence(response: HTTPTransportResponse) async throws {
        let worker = try await worker()
        backend.on(.any, respond: response)
        while time.now < Bench.now.addingTimeInterval(12 * 3600) {
            _ = try await worker.round()
            time.advance(by: 1800)
        }
        _ = try await worker.round()
        #expect(backend.requests.count >= 12)
        #expect(Set(backend.requests.compactMap { $0.headers["webhook-id"] }).count == 1)
        #expect(apple.requests.isEmpty)
        #expect(try await journal.duties.abandoned().map(\.failure) == ["the deadline has passed"])
        #expect(registry.text.contains(#"lifecycle_refund_question_failures_total{reason="unavailable"}"#))
    }

    @Test(
        "about Google's refund reviews are your backend's: they are listed, can be reported done, and are dismissed visibly"
    )
    func refundReview() async throws {
        let gateway = try await bench.gateway()
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        for order in ["GPA.1", "GPA.2"] as [TransactionID] { try await journal.apply(Self.review(of: order)) }
        try await RouterClient.with(gateway.router) { client in
            let listed = try await client.get("/v1/due").text
            let duties = try JSONDecoder().decode([DueItem].self, from: Data(listed.utf8))
            #expect(duties.map(\.kind) == [.refundReview, .refundReview])
            #expect(duties.allSatisfy { $0.deadline == Bench.now.addingTimeInterval(86_400) })
            let done = try #require(duties.first)
            #expect(try await client.post("/v1/due/\(done.id)/done", token: Bench.readToken).status == .forbidden)
            #expect(try await client.post("/v1/due/\(done.id)/done").status == .noContent)
            #expect(try await client.post("/v1/due/\(done.id)/done").status == .notFound)
            #expect(try await client.get("/v1/due/dismissed").text == "[]")
        }
        let later = Bench.now.addingTimeInterval(86_400)
        let worker = AnswerWorker(
            journal: Journal(try await bench.storage(), now: { later }),
            answerers: [],
            metrics: GatewayMetrics(factory: registry),
            now: { later }
        )
        _ = try await worker.round()
        try await RouterClient.with(gateway.router) { client in
            let dismissed = try await client.get("/v1/due/dismissed").text
            #expect(dismissed.contains(#""reason":"the deadline has passed""#))
            #expect(dismissed.contains("refund_review/"))
            #expect(try await client.get("/v1/due").text == "[]")
            let id = try #require(try await journal.duties.abandoned().first?.id)
            #expect(try await client.delete("/v1/due/dismissed/\(id)", token: Bench.readToken).status == .forbidden)
            #expect(try await client.delete("/v1/due/dismissed/\(id)").status == .noContent)
            #expect(try await client.delete("/v1/due/dismissed/\(id)").status == .notFound)
            #expect(try await client.get("/v1/due/dismissed").text == "[]")
        }
    }

    /// Google's question about a refund, which names an order and no purchase.
    static func review(of order: TransactionID, at time: Date = Bench.now) -> Normalization {
        Normalization([
            NormalizedEvent(
                id: EventID(provider: .google, environment: .unknown, notification: "refund_review/\(order)"),
                event: .refundRequested(
                    .init(transaction: order, answerBy: time.addingTimeInterval(86_400))
                ),
                provider: .google,
                store: .playStore,
                environment: .unknown,
                transaction: order,
                occurredAt: time,
                effectiveAt: time,
                assertedAt: time,
                receivedAt: time,
                facts: [],
                origin: Origin(
                    type: "pendingRefundReviewNotification",
                    channel: .webhook,
                    evidence: Origin.Evidence(.unchecked),
                    digest: "",
                    mapper: "test"
                )
            )
        ])
    }
}
