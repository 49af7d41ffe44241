import CurlTransport
import Glibc
import HTTPTransport
import LoopbackServer
import Testing

extension Loopback {
    /// The peer: certificates, names, versions, proxies.
    @Suite struct TrustTests {
        struct Impostor: CustomTestStringConvertible, Sendable {
            var testDescription: String
            var names = "DNS:localhost"
            var days = -1...365
            var host = "localhost"
            var isFromOurAuthority = true
            var isOutdated = false
        }

        static let impostors = [
            Impostor(testDescription: "another name", names: "DNS:other.example"),
            Impostor(testDescription: "a wildcard that does not match", names: "DNS:*.localhost"),
            Impostor(testDescription: "a name where an address was asked for", host: "127.0.0.1"),
            Impostor(testDescription: "expired", days: -10...(-1)),
            Impostor(testDescription: "not valid yet", days: 1...10),
            Impostor(testDescription: "unknown authority", isFromOurAuthority: false),
            Impostor(testDescription: "TLS 1.1", isOutdated: true),
        ]

        @Test(arguments: impostors)
        func impostorGetsNoRequest(impostor: Impostor) async throws {
            let authority = impostor.isFromOurAuthority ? try Loopback.authority.get() : try TestAuthority()
            let identity = try authority.issue(impostor.names, days: impostor.days)
            let tls = LoopbackServer.TLS(identity, isOutdated: impostor.isOutdated)
            let server = try LoopbackServer(tls) { $0.respond(200) }
            defer { server.stop() }
            let transport = try Loopback.transport()
            do {
                _ = try await transport.send(server.request(host: impostor.host))
                Issue.record("answered")
            } catch let error as HTTPTransportError {
                #expect(error.code == .tls)
                #expect(!error.isRetryable)
            }
            #expect(server.acceptedConnections == 1)
            #expect(server.requestCount == 0)
        }

        @Test func addressInTheCertificateIsEnough() async throws {
            let identity = try Loopback.authority.get().issue("IP:127.0.0.1")
            let server = try LoopbackServer(LoopbackServer.TLS(identity)) { $0.respond(200) }
            defer { server.stop() }
            #expect(try await Loopback.transport().send(server.request(host: "127.0.0.1")).status == 200)
        }

        @Test func systemRootsDoNotKnowOurAuthority() async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            let transport = try Loopback.transport { $0.trustRoots = .system }
            #expect(await transport.failure(try server.request()) == .tls)
            #expect(server.requestCount == 0)
        }

        @Test func rootsFromAFile() async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            var template = Array("/tmp/curl-transport-XXXXXX".utf8CString)
            let descriptor = unsafe mkstemp(&template)
            try #require(descriptor >= 0)
            let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            defer { unsafe unlink(path) }
            let roots = try Loopback.authority.get().certificate
            #expect(unsafe write(descriptor, roots, roots.count) == roots.count)
            close(descriptor)

            let transport = try Loopback.transport { $0.trustRoots = .file(path: path) }
            #expect(try await transport.send(server.request()).status == 200)
            let lost = try Loopback.transport { $0.trustRoots = .file(path: path + ".missing") }
            #expect(await lost.failure(try server.request()) == .transportFailure)
        }

        @Test func plainServerGetsNoRequest() async throws {
            // It answers octets that are no TLS as soon as it has any line; a TLS greeting has none that it takes.
            let server = try LoopbackServer(nil, greeting: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
            defer { server.stop() }
            #expect(await (try Loopback.transport()).failure(try server.request()) == .tls)
        }

        @Test func connectionThatEndsInTheHandshakeCanBeRetried() async throws {
            let server = try LoopbackServer(nil, greeting: [])
            defer { server.stop() }
            #expect(await (try Loopback.transport()).failure(try server.request()) == .connectionFailed)
        }

        @Test func proxiesOfTheEnvironmentAreIgnored() async throws {
            let trap = try #require(Loopback.proxyTrap)
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            #expect(unsafe getenv("https_proxy") != nil)
            #expect(try await Loopback.transport().send(server.request()).status == 200)
            #expect(trap.acceptedConnections == 0)
        }

        /// In a process of its own, since other suites read the environment meanwhile.
        @Test func configuredProxyTunnels() async {
            await #expect(processExitsWith: .success) {
                let server = try Loopback.server { $0.respond(200) }
                defer { server.stop() }
                let port = server.port
                let proxy = try LoopbackServer(nil) { exchange in
                    let request = exchange.request
                    let isRight =
                        request.method == "CONNECT" && request.target == "localhost:\(port)"
                        && request.values("Proxy-Authorization") == ["Basic dXNlcjpwYTpzcw=="]
                        && request.values("Authorization").isEmpty
                    if isRight { exchange.tunnel(toPort: UInt16(port)) } else { exchange.respond(407) }
                }
                defer { proxy.stop() }
                // An exception of the environment must not lead around a proxy that was configured.
                unsafe setenv("no_proxy", "localhost", 1)
                let headers: HTTPTransportHeaders = ["Authorization": "Bearer secret"]

                let transport = try Loopback.transport {
                    $0.proxy = .init(host: "127.0.0.1", port: proxy.port, username: "user", password: "pa:ss")
                }
                let response = try await transport.send(server.request(headers: headers))
                #expect(response.status == 200)
                #expect(proxy.requestCount == 1)

                let stranger = try Loopback.transport { $0.proxy = .init(host: "127.0.0.1", port: proxy.port) }
                #expect(await stranger.failure(try server.request(headers: headers)) == .connectionFailed)
                #expect(server.requestCount == 1)
            }
        }

        static let wrongConfigurations: [CurlHTTPTransport.Configuration] = [
            .init(trustRoots: .pem([])), .init(trustRoots: .pem(Array("no certificate".utf8))),
            .init(trustRoots: .file(path: "")), .init(trustRoots: .file(path: "/a\u{0}b")),
            .init(proxy: .init(host: "http://proxy", port: 80)), .init(proxy: .init(host: "proxy", port: 0)),
            .init(proxy: .init(host: "proxy", port: 80, username: "a:b", password: "c")),
            .init(proxy: .init(host: "proxy", port: 80, username: "a", password: "b\r\nc")),
            .init(connectTimeout: .zero), .init(maximumConnectionsPerHost: 0), .init(maximumIdleConnections: -1),
        ]

        @Test(arguments: wrongConfigurations.indices)
        func wrongConfigurationIsRefusedAtOnce(index: Int) {
            let error = #expect(throws: HTTPTransportError.self) {
                _ = try CurlHTTPTransport(Self.wrongConfigurations[index])
            }
            #expect(error?.code == .transportFailure)
        }

        @Test func proxyDoesNotShowItsPassword() {
            let proxy = CurlHTTPTransport.Configuration.Proxy(host: "p", port: 1, username: "u", password: "hunter2")
            let configuration = CurlHTTPTransport.Configuration(proxy: proxy)
            var dumped = ""
            dump(configuration, to: &dumped)
            #expect(!"\(configuration) \(String(reflecting: configuration)) \(dumped)".contains("hunter2"))
        }
    }
}
