import Configuration
import Foundation
import Gateway
import Glibc
import Logging
import Normalizer
import ServiceLifecycle
import Testing

@Suite("A gateway that runs", .timeLimit(.minutes(5))) struct RunTests {
    private struct Running: Service {
        let gateway: Gateway

        func run() async throws { try await gateway.run() }
    }

    @Test("takes a delivery from a connection, answers, and ends when it is asked to")
    func running() async throws {
        let bench = try Bench()
        let port = try Loopback.freePort()
        let gateway = try await bench.gateway(["http.port": .init(.int(Int(port)), isSecret: false)])
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: Running(gateway: gateway),
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        let running = Task { try await group.run() }
        let client = Loopback(port: port)
        var health: String?
        while health == nil {
            try await Task.sleep(for: .milliseconds(50))
            health = try? await client.exchange("GET /health HTTP/1.1", [])
        }
        #expect(health?.hasPrefix("HTTP/1.1 200 ") == true)
        let delivery = try bench.purchase()
        let headers = delivery.headers.all.map { "\($0.name): \($0.value)" }
        for _ in 1...2 {
            let answer = try await client.exchange("POST /hooks/apple HTTP/1.1", headers, body: delivery.body)
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
        }
        let feed = try await client.exchange(
            "GET /v1/events HTTP/1.1",
            ["Authorization: Bearer \(Bench.readToken)"]
        )
        #expect(feed.hasPrefix("HTTP/1.1 200 ") && feed.components(separatedBy: #""position""#).count == 2, "\(feed)")
        // It is asked as SIGTERM does it.
        await group.triggerGracefulShutdown()
        try await running.value
        await #expect(throws: Loopback.Failure.self) { try await client.exchange("GET /health HTTP/1.1", []) }
    }
}

/// A client that speaks HTTP over one connection for each request.
private struct Loopback: Sendable {
    struct Failure: Error {
        var step: String
    }

    let port: UInt16

    /// - Returns: the whole answer, with its head.
    func exchange(_ line: String, _ headers: [String], body: [UInt8] = []) async throws -> String {
        let own = ["Host: localhost", "Connection: close", "Content-Length: \(body.count)"]
        let head = ([line] + own + headers).joined(separator: "\r\n") + "\r\n\r\n"
        let request = Array(head.utf8) + body
        // The calls block, and the server's own tasks have few threads.
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try answer(to: request) }) }
        }
    }

    private func answer(to request: [UInt8]) throws -> String {
        let descriptor = try Self.opened()
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = Self.address(port: port)
        guard Self.call({ connect(descriptor, $0, $1) }, with: &address) == 0 else { throw Failure(step: "connect") }
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failure(step: "send")
        }
        var answer: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &part, part.count, 0)
            guard count >= 0 else { throw Failure(step: "receive") }
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            answer += part.prefix(count)
        }
    }

    /// A port that no one listens on.
    static func freePort() throws -> UInt16 {
        let descriptor = try opened()
        defer { close(descriptor) }
        var address = address(port: 0)
        guard call({ bind(descriptor, $0, $1) }, with: &address) == 0 else { throw Failure(step: "bind") }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard outcome == 0 else { throw Failure(step: "name") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func opened() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(step: "socket") }
        return descriptor
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        return address
    }

    private static func call(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32,
        with address: inout sockaddr_in
    ) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
