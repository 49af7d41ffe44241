import Foundation
import HTTPTransport
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Testing

@testable import GooglePubSub

@Suite("Google Play's questions about chargebacks", .timeLimit(.minutes(5)))
struct RefundReviewTests {
    static let token = "pending-refund-token"
    let transport = StubTransport()

    private static let notification = """
        {"version":"1.0","packageName":"\(Google.package)","eventTimeMillis":"\(Google.now * 1000 - 90_000)",\
        "pendingRefundReviewNotification":{"version":"1.0","pendingRefundToken":"\(token)","orderId":"GPA.1-2",\
        "obfuscatedAccountId":"ada","refundReason":7}}
        """

    private func adapter(_ status: Int = 204) throws -> GooglePlayAdapter {
        transport.removeRules()
        transport.on(.init(.post), respond: HTTPTransportResponse(status: status))
        let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), clock: TestClock(jumping: true))
        return try Google.adapter(api: api)
    }

    private func result(_ adapter: GooglePlayAdapter) async throws -> Normalization {
        try await adapter.receive(Google.delivery(Google.wrapped(Self.notification)))
    }

    private func owed(_ adapter: GooglePlayAdapter) async throws -> OwedAnswer {
        let result = try await result(adapter)
        let event = try #require(result.events.first)
        return OwedAnswer(event, token: result.answerTokens[event.id])
    }

    @Test("carry the token for the answer past everything that is written")
    func token() async throws {
        let result = try await result(try adapter())
        let event = try #require(result.events.first)
        #expect(result.events.count == 1)
        #expect(result.answerTokens[event.id]?.bytes == Array(Self.token.utf8))
        #expect(!"\(result)".contains(Self.token))
        #expect(!String(decoding: try CanonicalJSON.bytes(result), as: UTF8.self).contains(Self.token))
    }

    @Test("send nothing without a token, a share within everything, or a view")
    func nothing() async throws {
        let adapter = try adapter()
        var unknown = try await owed(adapter)
        let known = unknown
        unknown.token = nil
        let decline = RefundReview(.decline, sampleContentProvided: false)
        var excessive = decline
        excessive.consumptionMillipercent = 100_001
        for (owed, review) in [(unknown, decline), (known, excessive)] {
            let answers = try #require(adapter.refundReviews { _ in review })
            let error = await #expect(throws: DeliveryError.self) { try await answers.answer(owed) }
            #expect(error?.code == .malformed)
        }
        try await #require(adapter.refundReviews { _ in nil }).answer(known)
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "are tried again where Google cannot be asked, and given up where it refuses",
        arguments: [(503, DeliveryError.Code.unavailable), (403, .denied), (400, .malformed), (404, .malformed)]
    )
    func trouble(status: Int, code: DeliveryError.Code) async throws {
        let adapter = try adapter(status)
        let owed = try await owed(adapter)
        let answers = try #require(adapter.refundReviews { _ in RefundReview(.neutral, sampleContentProvided: true) })
        let error = await #expect(throws: DeliveryError.self) { try await answers.answer(owed) }
        #expect(error?.code == code)
        #expect(error.map { "\($0)".contains(Self.token) } == false)
    }

    @Test("refund reviews of another app or another store are not this adapter's")
    func others() async throws {
        let adapter = try adapter()
        let answers = try #require(adapter.refundReviews { _ in nil })
        var owed = try await owed(adapter)
        #expect(answers.isOwed(owed))
        owed.event.app = "com.example.other"
        #expect(!answers.isOwed(owed))
        owed.event.app = Google.package
        owed.event.store = .appStore
        #expect(!answers.isOwed(owed))
    }

    private func journal(_ time: Date, sealingKey: SecretBytes?) -> Journal {
        var options = Journal.Options()
        options.sealingKey = sealingKey
        return Journal(MemoryJournal(), options: options, now: { time })
    }

    @Test("are answered by the journal within the day, as the host says")
    func journal() async throws {
        let adapter = try adapter()
        let journal = journal(Google.receivedAt, sealingKey: SecretBytes("a key"))
        let delivery = try Google.delivery(Google.wrapped(Self.notification))
        #expect(await journal.receive(delivery, with: adapter).status == 200)
        let answers = try #require(
            adapter.refundReviews { owed in
                #expect(owed.deadline == Google.receivedAt.addingTimeInterval(86_400 - 90))
                #expect(owed.event.account?.identifiers == [.init("ada", .obfuscatedAccountID)])
                return RefundReview(.decline, sampleContentProvided: false, consumptionMillipercent: 45_200)
            }
        )
        #expect(try await journal.answer(with: [answers]).answered == 1)
        #expect(try await journal.answer(with: [answers]) == Journal.Answers())
        let request = try #require(transport.requests.first)
        #expect(transport.requests.count == 1)
        #expect(request.url.path == "/androidpublisher/v3/applications/\(Google.package)/orders/GPA.1-2:reviewrefund")
        let body =
            #"{"consumptionPercentageMilliunits":45200,"pendingRefundToken":"\#(Self.token)","refundPreference":"DECLINE","sampleContentProvided":false}"#
        #expect(String(decoding: request.body, as: UTF8.self) == body)
    }

    @Test("are dismissed visibly by a journal that may keep no token, and after the day")
    func dismissed() async throws {
        for (time, key) in [
            (Google.receivedAt, nil), (Google.receivedAt.addingTimeInterval(86_400), SecretBytes("a key")),
        ] as [(Date, SecretBytes?)] {
            let adapter = try adapter()
            let journal = journal(time, sealingKey: key)
            let delivery = try Google.delivery(Google.wrapped(Self.notification))
            #expect(await journal.receive(delivery, with: adapter).status == 200)
            let answers = try #require(
                adapter.refundReviews { _ in RefundReview(.approve, sampleContentProvided: false) }
            )
            #expect(try await journal.answer(with: [answers]).abandoned == 1)
            #expect(try await journal.duties.abandoned().map(\.value.kind) == [.refundReview])
        }
        #expect(transport.requests.isEmpty)
    }
}
