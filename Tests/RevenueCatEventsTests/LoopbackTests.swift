import CurlTransport
import FoundationEssentials
import HTTPTransport
import LoopbackServer
import NotificationSimulator
import Normalizer
import NormalizerTesting
import RevenueCatEvents
import Synchronization
import Testing
import WireJSON

/// RevenueCat's REST API over TLS, from the webhook to the event.
@Suite("RevenueCat over the network", .timeLimit(.minutes(5)))
struct LoopbackTests {
    typealias Play = @Sendable (_ attempt: Int, inout LoopbackServer.Exchange) -> Void

    static let authority = Result { try TestAuthority() }
    static let renewal = RevenueCatSimulator.Event(
        "RENEWAL",
        id: "1",
        at: 1_769_904_005_000,
        .second,
        changing: ["store": "STRIPE", "price": 0]
    )
    static let answer = Array(
        ClientTests.list([ClientTests.item(["store": "stripe", "current_period_ends_at": 1_772_323_200_000])]).utf8
    )

    struct Trouble: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// How often it is asked at most.
        let attempts: Int
        let play: Play

        init(_ name: String, attempts: Int, _ play: @escaping Play) {
            testDescription = name
            self.attempts = attempts
            self.play = play
        }
    }

    /// The outcome of the webhook, and the number of questions to RevenueCat.
    static func outcome(
        timeout: Duration = .seconds(5),
        identity: TestAuthority.Identity? = nil,
        _ play: @escaping Play
    ) async throws -> (Result<Normalization, DeliveryError>, attempts: Int, waits: [Duration]) {
        final class Count: Sendable {
            private let value = Mutex(0)
            var current: Int { value.withLock { $0 } }
            func next() -> Int {
                value.withLock { value in
                    value += 1
                    return value
                }
            }
        }
        let count = Count()
        let server = try LoopbackServer(LoopbackServer.TLS(try identity ?? Self.authority.get().issue())) { exchange in
            play(count.next(), &exchange)
        }
        defer { server.stop() }
        let curl = try CurlHTTPTransport(.init(trustRoots: .pem(Self.authority.get().certificate)))
        let clock = TestClock(jumping: true)
        var client = try RevenueCatClient(
            transport: RedirectedTransport(curl, to: server.port),
            apiKey: SecretBytes("sk_marked"),
            api: .v2(project: "proj1")
        )
        client.clock = clock
        client.timeout = timeout
        var configuration = RevenueCatAdapter.Configuration(signingSecrets: [SecretBytes("s")])
        configuration.lookup = client
        let adapter = try RevenueCatAdapter(configuration)
        let delivery = try RevenueCatSimulator(signingSecret: SecretBytes("s")).delivery(
            Self.renewal.body,
            receivedAt: Date(timeIntervalSince1970: 1_769_904_025)
        )
        let result: Result<Normalization, DeliveryError>
        do throws(DeliveryError) {
            result = .success(try await adapter.receive(delivery))
        } catch {
            result = .failure(error)
        }
        await curl.shutdown()
        return (result, count.current, clock.sleeps)
    }

    @Test("an answer after a rate limit and a failure makes the renewal")
    func patience() async throws {
        let (result, attempts, waits) = try await Self.outcome { attempt, exchange in
            switch attempt {
            case 1:
                let body = #"{"type":"rate_limit_error","retryable":true,"backoff_ms":2000}"#
                exchange.respond(429, [("Retry-After", "7000")], body: Array(body.utf8))
            case 2:
                exchange.respond(503, [("Content-Type", "text/html")], body: Array("<html>".utf8))
            default:
                let target = "/v2/projects/proj1/subscriptions?store_subscription_identifier=O1-2"
                let isExpected =
                    exchange.request.target == target
                    && exchange.request.values("authorization") == ["Bearer sk_marked"]
                exchange.respond(isExpected ? 200 : 400, body: isExpected ? Self.answer : [])
            }
        }
        #expect(try result.get().events.map(\.kind) == [.renewed])
        #expect(attempts == 3)
        #expect(waits.count == 2)
        #expect(waits.first.map { $0 >= .seconds(2) && $0 < .seconds(30) } == true)
    }

    static let troubles = [
        Trouble("rate limited for ever", attempts: 4) { $1.respond(429, [("Retry-After", "1")]) },
        Trouble("500", attempts: 4) { $1.respond(500, body: Array("{}".utf8)) },
        Trouble("a proxy's page", attempts: 1) { $1.respond(200, [], body: Array("<html>".utf8)) },
        Trouble("key refused", attempts: 1) { $1.respond(401, [], body: Array(#"{"code":7225}"#.utf8)) },
        Trouble("redirected", attempts: 1) { $1.respond(302, [("Location", "https://localhost:1/")]) },
        Trouble("truncated", attempts: 4) { _, exchange in
            exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"items\":[")
            exchange.close()
        },
        Trouble("too long", attempts: 4) { $1.respond(200, body: [UInt8](repeating: 0x20, count: 3_000_000)) },
        Trouble("reset", attempts: 4) { $1.reset() },
    ]

    @Test("trouble changes nothing, and is reported as trouble", arguments: troubles)
    func trouble(trouble: Trouble) async throws {
        let (result, attempts, _) = try await Self.outcome(trouble.play)
        let error = #expect(throws: DeliveryError.self) { try result.get() }
        #expect(error?.code == .unavailable)
        #expect(error?.isAuthentic == true)
        #expect(error?.description.contains("marked") == false)
        #expect((1...trouble.attempts).contains(attempts))
    }

    @Test("silence ends with the time limit")
    func silence() async throws {
        let (result, attempts, _) = try await Self.outcome(timeout: .milliseconds(300)) { _, exchange in
            exchange.waitForClientToClose()
        }
        #expect(throws: DeliveryError.self) { try result.get() }
        #expect((1...4).contains(attempts))
    }

    /// Where no request may get to.
    static let trap = Result { try LoopbackServer(.init(authority.get().issue("IP:127.0.0.1"))) { $0.respond(200) } }

    static let hostilities = LoopbackServer.Hostility.all(redirectingTo: (try? trap.get().port) ?? 1)

    @Test("hostility is our trouble", arguments: hostilities)
    func hostility(hostility: LoopbackServer.Hostility) async throws {
        let start = ContinuousClock.now
        let (result, attempts, _) = try await Self.outcome(timeout: .milliseconds(500)) { hostility.play(&$1) }
        let error = #expect(throws: DeliveryError.self) { try result.get() }
        #expect(error?.code == .unavailable)
        #expect(error?.isAuthentic == true)
        #expect(error.map { String(reflecting: $0).contains("marked") } == false)
        #expect((1...4).contains(attempts))
        #expect(start.duration(to: .now) < .seconds(120))
        #expect(try Self.trap.get().requestCount == 0)
    }

    @Test("another host's certificate gets no key")
    func impostor() async throws {
        let identity = try Self.authority.get().issue("DNS:api.revenuecat.com")
        let (result, attempts, _) = try await Self.outcome(identity: identity) { $1.respond(200, body: Self.answer) }
        #expect(throws: DeliveryError.self) { try result.get() }
        #expect(attempts == 0)
    }
}
