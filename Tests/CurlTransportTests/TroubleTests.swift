import CurlTransport
import HTTPTransport
import LoopbackServer
import Testing

extension Loopback {
    /// Servers that break HTTP, in time, size or form.
    @Suite struct TroubleTests {
        struct Trouble: CustomTestStringConvertible, Sendable {
            var testDescription: String
            var codes: [HTTPTransportError.Code]
            var script: LoopbackServer.Script

            init(_ name: String, _ codes: HTTPTransportError.Code..., script: @escaping LoopbackServer.Script) {
                testDescription = name
                self.codes = codes
                self.script = script
            }
        }

        /// The request allows 1 MiB.
        static let troubles = [
            Trouble("body shorter than its length", .connectionLost) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
                exchange.close()
            },
            Trouble("chunked body without its end", .connectionLost) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
                exchange.close()
            },
            Trouble("reset within the body", .connectionLost) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
                exchange.reset()
            },
            Trouble("reset before an answer", .connectionLost) { $0.reset() },
            Trouble("close before an answer", .connectionLost) { $0.close() },
            Trouble("length above the limit", .responseTooLarge) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n")
                exchange.waitForClientToClose()
            },
            Trouble("10 MB with its length", .responseTooLarge) { exchange in
                exchange.respond(200, body: [UInt8](repeating: 0x20, count: 10_000_000))
            },
            Trouble("10 MB in chunks", .responseTooLarge) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<100 {
                    exchange.write(Array("186A0\r\n".utf8) + [UInt8](repeating: 0x20, count: 100_000) + [13, 10])
                }
                exchange.write("0\r\n\r\n")
            },
            Trouble("body until the connection ends", .responseTooLarge) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\n\r\n")
                while exchange.write([UInt8](repeating: 0x20, count: 100_000)) {}
            },
            Trouble("gzip bomb, 420 KB for 64 MB", .responseTooLarge) { exchange in
                exchange.respond(200, [("Content-Encoding", "gzip")], body: Gzip.bomb(runs: 260_000))
            },
            Trouble("gzip that is none", .protocolError) { exchange in
                exchange.respond(200, [("Content-Encoding", "gzip")], body: Array("plain text, no gzip".utf8))
            },
            Trouble("unknown content coding", .protocolError) { exchange in
                exchange.respond(200, [("Content-Encoding", "rot13")], body: [1, 2, 3])
            },
            Trouble("endless header", .responseTooLarge) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\n")
                var number = 0
                while exchange.write("X-\(number): \(String(repeating: "x", count: 1000))\r\n") { number += 1 }
            },
            Trouble("endless interim answers", .responseTooLarge) { exchange in
                while exchange.write("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n") {}
            },
            Trouble("one endless header line", .responseTooLarge, .transportFailure) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nX: ")
                while exchange.write([UInt8](repeating: 0x61, count: 16_384)) {}
            },
            Trouble("header without a colon", .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 0\r\n\r\n")
            },
            Trouble("header with a control character", .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nX: a\u{1}b\r\nContent-Length: 0\r\n\r\n")
            },
            Trouble("header with NUL", .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nX: a\u{0}b\r\nContent-Length: 0\r\n\r\n")
            },
            Trouble("space in a header's name", .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nX Y: a\r\nContent-Length: 0\r\n\r\n")
            },
            Trouble("no HTTP at all", .protocolError) { exchange in
                exchange.write("SSH-2.0-OpenSSH_9.2\r\n\r\n")
                exchange.close()
            },
            Trouble("length that is no number", .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")
                exchange.close()
            },
            Trouble("chunk whose size is no number", .connectionLost, .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbody\r\n0\r\n\r\n")
            },
            Trouble("chunk whose size no number holds", .connectionLost, .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nbody")
                exchange.close()
            },
            Trouble("chunk longer than it says", .connectionLost, .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbodybody\r\n0\r\n\r\n")
            },
            Trouble("negative length", .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nbody")
                exchange.close()
            },
            Trouble("length that no number holds", .responseTooLarge, .protocolError) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nbody")
            },
            Trouble("upgrade nobody asked for", .connectionLost) { exchange in
                exchange.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
                exchange.close()
            },
        ]

        @Test(arguments: troubles)
        func endsInATypedError(trouble: Trouble) async throws {
            let server = try Loopback.server(trouble.script)
            defer { server.stop() }
            let transport = try Loopback.transport()
            let code = try #require(await transport.failure(try server.request()))
            #expect(trouble.codes.contains(code))
        }

        @Test(arguments: [(0, 0), (5, 5), (6, 5), (1, 0), (1_048_576, 1_048_576), (1_048_577, 1_048_576)])
        func limitIsExact(count: Int, limit: Int) async throws {
            let body = [UInt8](repeating: 1, count: count)
            for isChunked in [false, true] {
                let server = try Loopback.server { exchange in
                    if isChunked {
                        exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                        if count > 0 {
                            exchange.write(Array("\(String(count, radix: 16))\r\n".utf8) + body + [13, 10])
                        }
                        exchange.write("0\r\n\r\n")
                    } else {
                        exchange.respond(200, body: body)
                    }
                }
                defer { server.stop() }
                let transport = try Loopback.transport()
                let request = try server.request(limit: limit)
                if count <= limit {
                    #expect(try await transport.send(request).body.count == count)
                } else {
                    let error = await #expect(throws: HTTPTransportError.self) { try await transport.send(request) }
                    #expect(error?.code == .responseTooLarge)
                    #expect(error?.status == 200)
                }
            }
        }

        @Test func headIsNotMeasuredByTheLengthOfWhatItStandsFor() async throws {
            let server = try Loopback.server { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n")
            }
            defer { server.stop() }
            let response = try await Loopback.transport().send(server.request(.head, limit: 10))
            #expect(response.headers["Content-Length"] == "9999999")
        }

        static let slow = [
            Trouble("silent", .timeout) { $0.waitForClientToClose() },
            Trouble("an octet now and then", .timeout) { exchange in
                exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
                while exchange.write([1]) {}
            },
        ]

        @Test(arguments: slow)
        func timeIsLimitedAsAWhole(trouble: Trouble) async throws {
            let server = try Loopback.server(trouble.script)
            defer { server.stop() }
            let request = try server.request(timeout: .milliseconds(300), limit: 1_000_000_000)
            #expect(await (try Loopback.transport()).failure(request) == .timeout)
        }

        @Test func timeRunsWhileWaitingForAConnection() async throws {
            let hung = Milestone()
            let server = try Loopback.server { exchange in
                hung.reach()
                exchange.waitForClientToClose()
            }
            defer { server.stop() }
            let transport = try Loopback.transport { $0.maximumConnectionsPerHost = 1 }
            let first = Task { await transport.failure(try server.request()) }
            await hung.wait()
            let second = try server.request(timeout: .milliseconds(300))
            #expect(await transport.failure(second) == .connectionFailed)
            first.cancel()
            #expect(try await first.value == .canceled)
        }

        @Test func handshakeThatNeverEndsIsCutOff() async throws {
            // Plain HTTP waits for an empty line, which a TLS client does not send.
            let server = try LoopbackServer(nil) { $0.respond(200) }
            defer { server.stop() }
            let transport = try Loopback.transport { $0.connectTimeout = .milliseconds(300) }
            #expect(await transport.failure(try server.request()) == .connectionFailed)
            #expect(server.requestCount == 0)
        }

        /// Where nothing was sent, no server is slow.
        @Test(arguments: [(Duration.milliseconds(300), Duration.seconds(5)), (.seconds(5), .milliseconds(300))])
        func networkThatDropsEverythingIsNoSlowAnswer(timeout: Duration, connectTimeout: Duration) async throws {
            let hole = try FullListener()
            let transport = try Loopback.transport { $0.connectTimeout = connectTimeout }
            let request = try HTTPTransportRequest(.get, HTTPSURL(host: "127.0.0.1", port: hole.port), timeout: timeout)
            #expect(await transport.failure(request) == .connectionFailed)
        }

        @Test func nobodyListens() async throws {
            let server = try Loopback.server { $0.respond(200) }
            let request = try server.request()
            server.stop()
            #expect(await (try Loopback.transport()).failure(request) == .connectionFailed)
        }

        /// A kept connection may be closed by the server just when it is used again.
        @Test(arguments: [true, false])
        func requestIsRepeatedBehindOurBackOnlyWhereItMayBe(isIdempotent: Bool) async throws {
            let posts = Milestone()
            let server = try Loopback.server { exchange in
                guard exchange.request.method == "POST" else { return exchange.respond(200) }
                posts.reach()
                if posts.count == 1 { exchange.close() } else { exchange.respond(200) }
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            _ = try await transport.send(server.request())
            var request = try server.request(.post, body: [1])
            request.isIdempotent = isIdempotent
            if isIdempotent {
                #expect(try await transport.send(request).status == 200)
            } else {
                #expect(await transport.failure(request) == .connectionLost)
                #expect(posts.count == 1)
            }
        }
    }
}
