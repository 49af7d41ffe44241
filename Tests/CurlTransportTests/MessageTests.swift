import CurlTransport
import HTTPTransport
import LoopbackServer
import NormalizerTesting
import Synchronization
import Testing

extension Loopback {
    @Suite struct MessageTests {
        static let methods: [(HTTPTransportRequest.Method, [UInt8])] = [
            (.get, []), (.head, []), (.post, []), (.post, Array("a=b".utf8)), (.put, [0, 1, 2]), (.put, []),
            (.patch, [0xFF]), (.delete, []), (.delete, [1]),
        ]

        @Test(arguments: methods)
        func methodAndBodyArriveAsGiven(method: HTTPTransportRequest.Method, body: [UInt8]) async throws {
            let server = try Loopback.server { exchange in
                let request = exchange.request
                exchange.respond(200, [("X-Method", request.method)], body: request.body)
            }
            defer { server.stop() }
            let response = try await Loopback.transport().send(server.request(method, body: body))
            #expect(response.status == 200)
            #expect(response.headers["x-method"] == method.name)
            #expect(response.body == (method == .head ? [] : body))
        }

        @Test func sendsNothingThatWasNotAskedFor() async throws {
            let seen = Mutex<[LoopbackServer.Request]>([])
            let server = try Loopback.server { exchange in
                let request = exchange.request
                seen.withLock { $0.append(request) }
                exchange.respond(200, [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            let headers: HTTPTransportHeaders = [
                "Authorization": "Bearer t", "X-Empty": "", "X-Two": "1", "x-two": "2",
            ]
            let body = [UInt8](repeating: 7, count: 3_000_000)
            let first = try await transport.send(server.request(.post, ["a/b", "%"], headers: headers, body: body))
            _ = try await transport.send(server.request())

            #expect(first.headers.values("set-cookie") == ["a=1", "b=2"])
            let requests = seen.withLock { $0 }
            let post = try #require(requests.first)
            #expect(post.target == "/a%2Fb/%25?q=secret-query")
            #expect(post.body == body)
            #expect(
                Set(post.headers.map { "\($0.name): \($0.value)" }) == [
                    "Host: localhost:\(server.port)", "Accept: */*", "Accept-Encoding: gzip", "Authorization: Bearer t",
                    "X-Empty: ", "X-Two: 1", "x-two: 2", "Content-Length: 3000000",
                ]
            )
            let get = try #require(requests.last)
            #expect(Set(get.headers.map(\.name)) == ["Host", "Accept", "Accept-Encoding"])
        }

        @Test(arguments: [204, 302, 400, 404, 410, 429, 500, 503])
        func statusIsNoError(status: Int) async throws {
            let server = try Loopback.server { exchange in
                exchange.respond(status, [("Retry-After", "7"), ("Content-Type", "text/html")], body: [])
            }
            defer { server.stop() }
            let response = try await Loopback.transport().send(server.request())
            #expect(response.status == status)
            #expect(response.retryAfter == .seconds(7))
            #expect(response.headers["content-type"] == "text/html")
        }

        @Test func waitsAsTheServerAsksBetweenAttempts() async throws {
            let requests = Mutex(0)
            let server = try Loopback.server { exchange in
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                switch number {
                case 1: exchange.respond(429, [("Retry-After", "7")])
                case 2: exchange.respond(500)
                default: exchange.respond(200)
                }
            }
            defer { server.stop() }
            let clock = TestClock(jumping: true)
            let response = try await Loopback.transport().send(server.request(), retrying: RetryPolicy(), clock: clock)
            #expect(response.status == 200)
            #expect(clock.sleeps.first == .seconds(7))
            #expect(clock.sleeps.count == 2)
        }

        @Test func redirectIsNotFollowed() async throws {
            let elsewhere = try Loopback.server { $0.respond(200) }
            defer { elsewhere.stop() }
            let port = elsewhere.port
            let server = try Loopback.server { exchange in
                exchange.respond(302, [("Location", "https://localhost:\(port)/")])
            }
            defer { server.stop() }
            #expect(try await Loopback.transport().send(server.request()).status == 302)
            #expect(elsewhere.acceptedConnections == 0)
        }

        @Test func interimAnswersAndTrailersAreLeftOut() async throws {
            let server = try Loopback.server { exchange in
                exchange.write("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
                exchange.write("HTTP/1.1 200 OK\r\nX-Real:  caf\u{E9} \t\r\nTransfer-Encoding: chunked\r\n\r\n")
                exchange.write("2\r\nab\r\n1\r\nc\r\n0\r\nX-Real: forged\r\nX-Late: 1\r\n\r\n")
            }
            defer { server.stop() }
            let response = try await Loopback.transport().send(server.request())
            #expect(response.body == Array("abc".utf8))
            #expect(response.headers.values("X-Real") == ["caf\u{E9}"])
            #expect(response.headers["X-Early"] == nil)
            #expect(response.headers["X-Late"] == nil)
        }

        /// Proxies and old load balancers speak HTTP/1.0, in which the end of the connection can be that of the body.
        @Test func bodyMayEndWithTheConnection() async throws {
            let server = try Loopback.server { exchange in
                exchange.write("HTTP/1.0 200 OK\r\n\r\nab")
                exchange.write("c")
                exchange.close()
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            for _ in 0..<2 {
                #expect(try await transport.send(server.request()).body == Array("abc".utf8))
            }
            #expect(server.acceptedConnections == 2)
        }

        @Test func gzipIsDecoded() async throws {
            let text = Array("{\"kind\":\"androidpublisher\"}".utf8)
            let server = try Loopback.server { exchange in
                exchange.respond(200, [("Content-Encoding", "gzip")], body: Gzip.stored(text))
            }
            defer { server.stop() }
            #expect(try await Loopback.transport().send(server.request()).body == text)
        }
    }
}
