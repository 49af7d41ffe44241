import CurlTransport
import HTTPTransport
import LoopbackServer
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Stripe
import Testing

/// Stripe's API over TLS, from a thin event on.
@Suite("Stripe over the network", .timeLimit(.minutes(5)))
struct LoopbackTests {
    static let authority = Result { try TestAuthority() }
    /// Where no request may get to.
    static let trap = Result { try LoopbackServer(.init(authority.get().issue("IP:127.0.0.1"))) { $0.respond(200) } }

    private static func outcome(
        _ identity: TestAuthority.Identity? = nil,
        _ play: @escaping LoopbackServer.Script
    ) async throws -> (Result<Normalization, DeliveryError>, requests: Int) {
        let server = try LoopbackServer(.init(identity ?? authority.get().issue()), script: play)
        defer { server.stop() }
        let curl = try CurlHTTPTransport(.init(trustRoots: .pem(authority.get().certificate)))
        var lookup = StripeAdapter.Lookup(
            transport: RedirectedTransport(curl, to: server.port),
            apiKey: SecretBytes("rk_live_marked")
        )
        lookup.clock = TestClock(jumping: true)
        lookup.timeout = .milliseconds(500)
        var configuration = StripeAdapter.Configuration(signingSecrets: [secret])
        configuration.lookup = lookup
        let adapter = try StripeAdapter(configuration)
        let delivery = try simulator().delivery(LookupTests.thin(), receivedAt: date(created + 2))
        let result: Result<Normalization, DeliveryError>
        do throws(DeliveryError) {
            result = .success(try await adapter.receive(delivery))
        } catch {
            result = .failure(error)
        }
        await curl.shutdown()
        return (result, server.requestCount)
    }

    @Test("an answer over the network ends the subscription")
    func answer() async throws {
        let body = LookupTests.subscription().body
        let (result, requests) = try await Self.outcome { exchange in
            let isExpected =
                exchange.request.target == "/v1/subscriptions/sub_1"
                && exchange.request.values("authorization") == ["Bearer rk_live_marked"]
            exchange.respond(isExpected ? 200 : 400, body: isExpected ? body : [])
        }
        #expect(try result.get().kinds == ["expired"])
        #expect(requests == 1)
    }

    static let hostilities = LoopbackServer.Hostility.all(redirectingTo: (try? trap.get().port) ?? 1)

    @Test("hostility is our trouble", arguments: hostilities)
    func hostility(hostility: LoopbackServer.Hostility) async throws {
        let start = ContinuousClock.now
        let (result, requests) = try await Self.outcome(nil, hostility.play)
        let error = #expect(throws: DeliveryError.self) { try result.get() }
        #expect(error?.code == .unavailable)
        #expect(error?.isAuthentic == true)
        #expect(error.map { String(reflecting: $0).contains("marked") } == false)
        #expect((1...3).contains(requests))
        #expect(start.duration(to: .now) < .seconds(120))
        #expect(try Self.trap.get().requestCount == 0)
    }

    @Test("another host's certificate gets no key")
    func impostor() async throws {
        let identity = try Self.authority.get().issue("DNS:api.stripe.com")
        let (result, requests) = try await Self.outcome(identity) { $0.respond(200) }
        let error = #expect(throws: DeliveryError.self) { try result.get() }
        #expect(error?.code == .unavailable)
        #expect(requests == 0)
    }
}
