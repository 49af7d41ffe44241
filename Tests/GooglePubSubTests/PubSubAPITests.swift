import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing

@testable import GooglePubSub

@Suite("The requests of pulling", .timeLimit(.minutes(5)))
struct PubSubAPITests {
    let transport = StubTransport()
    let tokens = CountingTokens()

    func api(_ tokens: (any AccessTokenSource)? = nil) throws -> PubSubAPI {
        try PubSubAPI(
            PullWorker.Configuration(subscription: Google.subscription),
            transport: transport,
            tokens: tokens ?? self.tokens,
            clock: TestClock(jumping: true)
        )
    }

    func pull(_ api: PubSubAPI) async throws(PubSubAPI.Failure) -> [PubSubAPI.Received] {
        try await api.pull(100, timeout: .seconds(90), maximumBytes: 16 << 20)
    }

    /// The outcome of a request: nothing for success, or the failure's case and cause.
    func outcome(_ request: (PubSubAPI) async throws(PubSubAPI.Failure) -> Void, _ api: PubSubAPI) async -> String? {
        do throws(PubSubAPI.Failure) {
            try await request(api)
            return nil
        } catch {
            #expect(!error.reason.contains("secret"))
            return switch error {
            case .transient: "transient"
            case .tooLarge: "too large"
            case .canceled: "canceled"
            case .permanent(let error), .refused(let error, _): error.cause.rawValue
            }
        }
    }

    func pulling(_ api: PubSubAPI) async -> String? {
        await outcome({ (api) throws(PubSubAPI.Failure) in _ = try await pull(api) }, api)
    }

    func acknowledging(_ api: PubSubAPI) async -> String? {
        await outcome(
            { (api) throws(PubSubAPI.Failure) in
                if let failure = await api.acknowledge(["1"]).failure { throw failure }
            },
            api
        )
    }

    typealias Answers = PlayDeveloperAPITests

    /// The final answer, with the number of requests to pull and to acknowledge.
    @Test(
        arguments: [
            (Answers.error(401, reason: "authError"), "denied", 2, 2),
            (Answers.error(401, status: "UNAUTHENTICATED", detail: "ACCESS_TOKEN_EXPIRED"), "denied", 2, 2),
            (Answers.error(401, status: "PERMISSION_DENIED"), "denied", 1, 1),
            (Answers.error(403, status: "PERMISSION_DENIED"), "denied", 1, 1),
            (Answers.error(403, status: "PERMISSION_DENIED", detail: "RATE_LIMIT_EXCEEDED"), "transient", 1, 1),
            (Answers.error(404, status: "NOT_FOUND"), "not_found", 1, 1),
            (Answers.error(400, status: "INVALID_ARGUMENT"), "invalid", 1, 1), (Answers.error(408), "transient", 1, 3),
            (Answers.error(409, status: "ABORTED"), "transient", 1, 1),
            (Answers.error(429, status: "RESOURCE_EXHAUSTED"), "transient", 1, 3),
            (Answers.error(499, status: "CANCELLED"), "transient", 1, 1),
            (Answers.error(503, status: "UNAVAILABLE"), "transient", 1, 3),
            (HTTPTransportResponse(status: 302, headers: ["Location": "https://evil.example/"]), "transient", 1, 1),
        ] as [(HTTPTransportResponse, String, Int, Int)]
    )
    func refusals(answer: HTTPTransportResponse, kind: String, pulls: Int, acknowledgements: Int) async throws {
        transport.on(.any, respond: answer)
        #expect(try await pulling(api()) == kind)
        #expect(transport.requests.count == pulls)
        #expect(try await acknowledging(api()) == kind)
        #expect(transport.requests.count == pulls + acknowledgements)
        #expect(transport.requests.allSatisfy { $0.url.host == "pubsub.googleapis.com" })
    }

    @Test(
        arguments: [
            (.responseTooLarge, "too large", 1), (.canceled, "canceled", 1), (.invalidRequest, "invalid", 1),
            (.shutDown, "shut_down", 1), (.tls, "transient", 1), (.transportFailure, "transient", 1),
            (.connectionFailed, "transient", 3), (.connectionLost, "transient", 3), (.timeout, "transient", 3),
            (.protocolError, "transient", 3),
        ] as [(HTTPTransportError.Code, String, Int)]
    )
    func failures(code: HTTPTransportError.Code, kind: String, acknowledgements: Int) async throws {
        transport.on(.any, fail: code)
        #expect(try await pulling(api()) == kind)
        #expect(transport.requests.count == 1)
        #expect(try await acknowledging(api()) == kind)
        #expect(transport.requests.count == 1 + acknowledgements)
    }

    @Test func renewsARefusedAccessToken() async throws {
        transport.on(.any, respond: Answers.error(401, reason: "authError"), HTTPTransportResponse(status: 200))
        #expect(try await acknowledging(api()) == nil)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-2"])
    }

    @Test func aPullMayWaitForAsLongAsItIsReported() async throws {
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array("{}".utf8)))
        _ = try await api().pull(1, timeout: .seconds(600), maximumBytes: 1 << 20)
        #expect(transport.requests.map(\.timeout) == [.seconds(600)])
    }

    @Test(arguments: [(true, "transient"), (false, "denied")])
    func withoutAnAccessTokenNothingIsSent(isRetryable: Bool, kind: String) async throws {
        #expect(try await pulling(api(FailingTokens(isRetryable: isRetryable))) == kind)
        #expect(transport.requests.isEmpty)
    }

    @Test func readsAsMuchAsWasAskedFor() async throws {
        let data = Google.base64([UInt8](repeating: 0x20, count: 1500))
        let attributes = (0..<100).map { #""a\#($0)":"""# }.joined(separator: ",")
        let messages = (0..<1000).map {
            #"{"ackId":"\#($0)","message":{"messageId":"m","data":"\#(data)","attributes":{\#(attributes)}}}"#
        }
        let body = #"{"receivedMessages":[{"ackId":"","message":{}},\#(messages.joined(separator: ","))]}"#
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
        let received = try await pull(api())
        #expect(received.map(\.acknowledgementID) == (0..<1000).map(String.init))
        #expect(received.allSatisfy { if case .message = $0.content { true } else { false } })
        #expect(transport.requests.first?.maximumResponseBytes == 16 << 20)
        #expect(transport.requests.first?.timeout == .seconds(90))
    }
}
