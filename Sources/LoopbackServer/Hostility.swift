#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension LoopbackServer {
    /// A way to answer that must neither harm a client nor pass for an answer.
    package struct Hostility: CustomStringConvertible, Sendable {
        package let description: String
        package let play: Script

        private init(_ description: String, _ play: @escaping Script) {
            self.description = description
            self.play = play
        }

        /// - Parameter port: where a redirection leads, on this host.
        package static func all(redirectingTo port: Int) -> [Hostility] {
            [
                Hostility("an octet of the body now and then") { exchange in
                    exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                    while exchange.write([0x20]) { usleep(20_000) }
                },
                Hostility("a header field now and then") { exchange in
                    exchange.write("HTTP/1.1 200 OK\r\n")
                    while exchange.write("X: x\r\n") { usleep(20_000) }
                },
                Hostility("header without end") { exchange in
                    exchange.write("HTTP/1.1 200 OK\r\n")
                    while exchange.write("X: \(String(repeating: "x", count: 8000))\r\n") {}
                },
                Hostility("interim answers without end") { exchange in
                    while exchange.write("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n") {}
                },
                Hostility("chunks without end") { exchange in
                    exchange.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    let chunk = "10000\r\n\(String(repeating: " ", count: 65_536))\r\n"
                    while exchange.write(chunk) {}
                },
                Hostility("gzip bomb") { exchange in
                    exchange.respond(200, [("Content-Encoding", "gzip")], body: Gzip.bomb(runs: 260_000))
                },
                Hostility("reset within the body") { exchange in
                    exchange.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"object\":")
                    exchange.reset()
                },
                Hostility("redirection to another host") { exchange in
                    exchange.respond(307, [("Location", "https://127.0.0.1:\(port)/")])
                },
                Hostility("429 until the year 9999") { exchange in
                    exchange.respond(
                        429,
                        [
                            ("Date", "Wed, 25 Nov 2026 00:00:00 GMT"),
                            ("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"),
                        ]
                    )
                },
                Hostility("429 until a past day") { exchange in
                    exchange.respond(
                        429,
                        [
                            ("Date", "Wed, 25 Nov 2026 00:00:00 GMT"),
                            ("Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT"),
                        ]
                    )
                },
                Hostility("429 for longer than any number says") { exchange in
                    exchange.respond(429, [("Retry-After", String(repeating: "9", count: 100))])
                },
                Hostility("half an object") { exchange in
                    exchange.respond(200, body: Array("{\"object\":\"subscription\",\"id\":".utf8))
                },
                Hostility("arrays within arrays") { exchange in
                    exchange.respond(200, body: [UInt8](repeating: 0x5B, count: 50_000))
                },
            ]
        }
    }
}
