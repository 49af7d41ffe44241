import CurlTransport
import FoundationEssentials
import GooglePubSub
import HTTPTransport
import LoopbackServer
import Normalizer
import Synchronization
import Testing

/// Google on a loopback TLS server: token endpoint, key set and Play Developer API.
final class LoopbackGoogle: Sendable {
    typealias Play = @Sendable (inout LoopbackServer.Exchange) -> Void

    static let authority = Result { try TestAuthority() }
    static let identity = Result { try authority.get().issue() }

    let server: LoopbackServer
    let transport: CurlHTTPTransport

    /// - Parameters:
    ///   - play: answers each request to the Play Developer API.
    ///   - identity: the server's certificate, unless the right one.
    init(identity: TestAuthority.Identity? = nil, play: @escaping Play) throws {
        let keySet = try Google.keySet([("current", Google.keys.get().current)])
        let state = Shared()
        server = try LoopbackServer(LoopbackServer.TLS(identity ?? Self.identity.get())) { exchange in
            switch exchange.request.target {
            case "/token":
                let number = state.next("token")
                // The first request meets trouble.
                if number == 1 {
                    exchange.respond(503, [("Retry-After", "0")])
                } else {
                    let answer = #"{"access_token":"token-\#(number)","expires_in":3599,"token_type":"Bearer"}"#
                    exchange.respond(200, [("Content-Type", "application/json")], body: Array(answer.utf8))
                }
            case "/certs":
                exchange.respond(200, [("Cache-Control", "max-age=3600")], body: keySet)
            default:
                play(&exchange)
            }
        }
        transport = try CurlHTTPTransport(.init(trustRoots: .pem(Self.authority.get().certificate)))
    }

    private final class Shared: Sendable {
        private let counts = Mutex<[String: Int]>([:])
        func next(_ name: String) -> Int {
            counts.withLock { counts in
                counts[name, default: 0] += 1
                return counts[name] ?? 0
            }
        }
    }

    func url(_ path: [HTTPSURL.PathSegment] = []) throws -> HTTPSURL {
        try HTTPSURL(host: "localhost", port: server.port, path: path)
    }

    func adapter(deadline: Duration = .seconds(20)) throws -> GooglePlayAdapter {
        let tokens = try ServiceAccountTokenSource(
            KeyFile.account(),
            transport: transport,
            tokenURL: url(["token"]),
            now: { Google.receivedAt }
        )
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: tokens,
            base: url(),
            retry: RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1), deadline: deadline)
        )
        let keys = try RemoteKeySource(url: url(["certs"]), transport: transport)
        return try GooglePlayAdapter(Google.configuration(), keys: keys, api: api)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct EndToEndTests {
    static let resource =
        #"{"kind":"androidpublisher#subscriptionPurchaseV2","subscriptionState":"SUBSCRIPTION_STATE_ACTIVE"}"#

    @Test func fromAPushToTheResource() async throws {
        let seen = Shared()
        let google = try LoopbackGoogle { exchange in
            seen.add(exchange.request.target)
            guard exchange.request.values("Authorization") == ["Bearer token-2"] else { return exchange.respond(401) }
            if seen.count == 1 {
                exchange.respond(500)
            } else {
                exchange.respond(200, [("Date", "Thu, 28 May 2026 20:26:40 GMT")], body: Array(Self.resource.utf8))
            }
        }
        defer { google.server.stop() }
        let adapter = try google.adapter()
        let notification = Google.notification(token: "a/../b%2F?c")
        let proven = try await adapter.authenticate(try Google.delivery(Google.wrapped(notification)))
        let resolved = try await adapter.resolve(proven)
        #expect(resolved.value.subscription()?.body == Array(Self.resource.utf8))
        #expect(resolved.value.subscription()?.answeredAt == Google.receivedAt)
        let path =
            "/androidpublisher/v3/applications/com.example.app/purchases/subscriptionsv2/tokens/a%2F..%2Fb%252F%3Fc"
        #expect(seen.all == [path, path])
        await google.transport.shutdown()
    }

    final class Shared: Sendable {
        private let entries = Mutex<[String]>([])
        var all: [String] { entries.withLock { $0 } }
        var count: Int { entries.withLock { $0.count } }
        func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    struct Trouble: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let play: LoopbackGoogle.Play

        init(_ name: String, _ play: @escaping LoopbackGoogle.Play) {
            testDescription = name
            self.play = play
        }
    }

    static let troubles = [
        Trouble("429 for an hour") { $0.respond(429, [("Retry-After", "3600")]) },
        Trouble("500") { $0.respond(500) },
        Trouble("503 from a proxy") { $0.respond(503, [("Content-Type", "text/html")], body: Array("<html>".utf8)) },
        Trouble("200 from a proxy") { $0.respond(200, [("Content-Type", "text/html")], body: Array("<html>".utf8)) },
        Trouble("truncated") { exchange in
            exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"subscriptionState\":")
            exchange.close()
        },
        Trouble("10 MB") { exchange in
            exchange.respond(200, body: [UInt8](repeating: 0x20, count: 10_000_000))
        },
        Trouble("10 MB without a length") { exchange in
            exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n\(String(repeating: " ", count: 65_536))\r\n"
            while exchange.write(chunk) {}
        },
        Trouble("reset") { $0.reset() },
        Trouble("closed") { $0.close() },
        Trouble("redirect") { $0.respond(302, [("Location", "https://localhost:1/evil")]) },
        Trouble("no HTTP") { exchange in
            exchange.write("SSH-2.0\r\n")
            exchange.close()
        },
        Trouble("rights missing") { exchange in
            let body = #"{"error":{"code":401,"errors":[{"domain":"androidpublisher","reason":"permissionDenied"}]}}"#
            exchange.respond(401, [], body: Array(body.utf8))
        },
        Trouble("access token refused") { $0.respond(401) },
    ]

    /// Whatever happens, it is our trouble and not an expiry.
    @Test(arguments: troubles)
    func trouble(trouble: Trouble) async throws {
        let google = try LoopbackGoogle(play: trouble.play)
        defer { google.server.stop() }
        let adapter = try google.adapter()
        let proven = try await adapter.authenticate(try Google.delivery(Google.wrapped(Google.notification(type: 13))))
        let error = await #expect(throws: DeliveryError.self) { try await adapter.resolve(proven) }
        #expect(error?.code == .unavailable)
        #expect(error?.isAuthentic == true)
        #expect(error?.description.contains("purchase-token") == false)
        await google.transport.shutdown()
    }

    /// Where no request may get to.
    static let trap = Result {
        try LoopbackServer(.init(LoopbackGoogle.authority.get().issue("IP:127.0.0.1"))) { $0.respond(200) }
    }

    @Test(arguments: LoopbackServer.Hostility.all(redirectingTo: (try? trap.get().port) ?? 1))
    func hostility(hostility: LoopbackServer.Hostility) async throws {
        let google = try LoopbackGoogle(play: hostility.play)
        defer { google.server.stop() }
        let adapter = try google.adapter(deadline: .seconds(2))
        let proven = try await adapter.authenticate(try Google.delivery(Google.wrapped(Google.notification(type: 13))))
        let start = ContinuousClock.now
        let error = await #expect(throws: DeliveryError.self) { try await adapter.resolve(proven) }
        #expect(error?.code == .unavailable)
        #expect(error?.isAuthentic == true)
        #expect(error?.description.contains("purchase-token") == false)
        #expect(start.duration(to: .now) < .seconds(120))
        #expect(try Self.trap.get().requestCount == 0)
        await google.transport.shutdown()
    }

    @Test(arguments: ["name", "authority", "expired"])
    func distrustedServersAreOurTrouble(flaw: String) async throws {
        let identity =
            switch flaw {
            case "name": try LoopbackGoogle.authority.get().issue("DNS:google.test")
            case "authority": try TestAuthority(name: "Another").issue()
            default: try LoopbackGoogle.authority.get().issue("DNS:localhost", days: -10 ... -1)
            }
        let google = try LoopbackGoogle(identity: identity) { $0.respond(200, body: Array(Self.resource.utf8)) }
        defer { google.server.stop() }
        let adapter = try google.adapter()
        let error = try #require(await adapter.refusal(try Google.delivery()))
        #expect(error.code == .unavailable)
        #expect(!error.isAuthentic)
        #expect(google.server.requestCount == 0)
        await google.transport.shutdown()
    }

    /// The one exception from https reaches the loopback interface and nothing else.
    @Test(arguments: ["example.com", "127.evil.com1", "10.0.0.1", "localhost.evil.com", "0.0.0.0", "128.0.0.1"])
    func emulatorsAreOnThisHost(host: String) {
        #expect(throws: HTTPTransportError.self) { try HTTPSURL.emulator(host: host, port: 8085) }
    }

    @Test func emulatorIsSpokenToWithoutTLSAndOthersAreNot() async throws {
        let server = try LoopbackServer(nil) { $0.respond(200, body: Array("plain".utf8)) }
        defer { server.stop() }
        let proxy = try LoopbackServer(nil) { $0.respond(502) }
        defer { proxy.stop() }
        let transport = try CurlHTTPTransport(.init(proxy: .init(host: "127.0.0.1", port: proxy.port)))
        let url = try HTTPSURL.emulator(host: "127.0.0.1", port: server.port, path: ["v1"]).appending(path: ["x"])
        #expect(url.absoluteString == "http://127.0.0.1:\(server.port)/v1/x")
        #expect(try await transport.send(HTTPTransportRequest(.get, url)).body == Array("plain".utf8))
        await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPTransportRequest(.get, HTTPSURL(host: "127.0.0.1", port: server.port)))
        }
        #expect(throws: HTTPTransportError.self) { try HTTPSURL(url.absoluteString) }
        #expect(server.requestCount == 1)
        await transport.shutdown()
    }
}
