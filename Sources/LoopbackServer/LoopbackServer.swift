import CLoopbackTLS
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An HTTP server on the loopback interface that does what a test has scripted, good or bad.
///
/// Each connection has a thread, on which the script blocks as it likes.
package final class LoopbackServer: Sendable {
    /// One request, as it came.
    package struct Request: Sendable {
        package var method: String
        /// The target of the request line: the encoded path and query.
        package var target: String
        package var headers: [(name: String, value: String)]
        package var body: [UInt8]

        /// The values under a name.
        package func values(_ name: String) -> [String] {
            headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }
    }

    /// One request and the connection it came on.
    package struct Exchange: ~Copyable {
        package let request: Request
        let connection: Connection
        var isOpen = true

        /// Sends a complete answer; without a `Content-Length` among the fields it adds one.
        package mutating func respond(_ status: Int, _ headers: [(String, String)] = [], body: [UInt8] = []) {
            var head = "HTTP/1.1 \(status) Scripted\r\n"
            for (name, value) in headers { head += "\(name): \(value)\r\n" }
            if !headers.contains(where: { ["content-length", "transfer-encoding"].contains($0.0.lowercased()) }) {
                head += "Content-Length: \(body.count)\r\n"
            }
            isOpen = connection.write(Array((head + "\r\n").utf8) + (request.method == "HEAD" ? [] : body)) && isOpen
        }

        /// Sends octets as they are; says whether the client still takes them.
        @discardableResult
        package mutating func write(_ octets: [UInt8]) -> Bool {
            isOpen = connection.write(octets) && isOpen
            return isOpen
        }

        /// Sends text as it is.
        @discardableResult
        package mutating func write(_ text: String) -> Bool { write(Array(text.utf8)) }

        /// Closes the connection.
        package mutating func close() {
            connection.close()
            isOpen = false
        }

        /// Resets the connection.
        package mutating func reset() {
            connection.reset()
            isOpen = false
        }

        /// Waits until the client has closed the connection.
        package mutating func waitForClientToClose() {
            while connection.readSome() != nil {}
            isOpen = false
        }

        /// Answers a `CONNECT` and passes on what comes.
        package mutating func tunnel(toPort port: UInt16) {
            connection.write(Array("HTTP/1.1 200 Connected\r\n\r\n".utf8))
            connection.relay(toPort: port)
            isOpen = false
        }
    }

    package typealias Script = @Sendable (inout Exchange) -> Void

    /// The certificate and key for TLS.
    package struct TLS: Sendable {
        package var identity: TestAuthority.Identity
        package var offersHTTP2: Bool
        /// TLS 1.1 and nothing else, as a server from before 2008 would.
        package var isOutdated: Bool

        package init(_ identity: TestAuthority.Identity, offersHTTP2: Bool = false, isOutdated: Bool = false) {
            self.identity = identity
            self.offersHTTP2 = offersHTTP2
            self.isOutdated = isOutdated
        }
    }

    private struct State {
        var descriptors: Set<Int32> = []
        var isStopped = false
        var accepted = 0
        var requests = 0
    }

    /// The TLS context, freed with the last connection.
    private final class Context: @unchecked Sendable {
        // OpenSSL allows SSL_new on a shared context from any thread; nothing changes it after the initializer.
        let pointer: OpaquePointer

        init(_ tls: TLS) throws {
            pointer = try Certificates.some(SSL_CTX_new(TLS_server_method()))
            let certificate = try Certificates.certificate(tls.identity.certificate)
            defer { X509_free(certificate) }
            let key = try Certificates.key(tls.identity.key)
            defer { EVP_PKEY_free(key) }
            try Certificates.check(SSL_CTX_use_certificate(pointer, certificate))
            try Certificates.check(SSL_CTX_use_PrivateKey(pointer, key))
            if tls.isOutdated {
                try Certificates.check(SSL_CTX_set_cipher_list(pointer, "ALL:@SECLEVEL=0"))
                try Certificates.check(loopback_set_versions(pointer, TLS1_1_VERSION, TLS1_1_VERSION))
            } else {
                try Certificates.check(loopback_set_versions(pointer, TLS1_2_VERSION, TLS1_3_VERSION))
            }
            if tls.offersHTTP2 {
                SSL_CTX_set_alpn_select_cb(
                    pointer,
                    { _, selected, length, offered, offeredLength, _ in
                        let list = Array(UnsafeBufferPointer(start: offered, count: Int(offeredLength)))
                        var index = 0
                        while index < list.count {
                            let end = index + 1 + Int(list[index])
                            if end <= list.count, Array(list[(index + 1)..<end]) == Array("h2".utf8) {
                                selected?.pointee = offered.map { $0 + index + 1 }
                                length?.pointee = 2
                                return SSL_TLSEXT_ERR_OK
                            }
                            index = end
                        }
                        return SSL_TLSEXT_ERR_NOACK
                    },
                    nil
                )
            }
        }

        deinit { SSL_CTX_free(pointer) }
    }

    /// The port on 127.0.0.1.
    package let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    /// How many connections there were.
    package var acceptedConnections: Int { state.withLock { $0.accepted } }
    /// How many requests there were.
    package var requestCount: Int { state.withLock { $0.requests } }

    private static let maximumBodyBytes = 1 << 28

    package enum Failure: Error { case noSocket }

    /// Starts a server that runs `script` for each HTTP/1.1 request.
    package convenience init(_ tls: TLS?, script: @escaping Script) throws {
        try self.init(tls) { (server: LoopbackServer, connection) in server.serve(connection, script) }
    }

    /// Starts a server that hands every HTTP/2 connection to `script`.
    package convenience init(_ tls: TLS, http2 script: @escaping @Sendable (inout HTTP2Connection) -> Void) throws {
        try self.init(tls) { (_: LoopbackServer, connection) in
            guard connection.isHTTP2 else { return }
            var http2 = HTTP2Connection(connection)
            if http2.start() { script(&http2) }
        }
    }

    /// Starts a server that sends `greeting` to each client that has sent anything, and closes.
    package convenience init(_ tls: TLS?, greeting: [UInt8]) throws {
        try self.init(tls) { (_: LoopbackServer, connection) in
            if connection.readSome() != nil { connection.write(greeting) }
            connection.close()
        }
    }

    private init(_ tls: TLS?, serve: @escaping @Sendable (LoopbackServer, Connection) -> Void) throws {
        let context = try tls.map(Context.init)
        guard let (listener, port) = Sockets.listen() else { throw Failure.noSocket }
        self.listener = listener
        self.port = Int(port)
        startThread { [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                if descriptor < 0 {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    // The process has no descriptor left, which passes.
                    if errno == EMFILE {
                        usleep(1000)
                        continue
                    }
                    break
                }
                var one: Int32 = 1
                setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
                let isStopped = state.withLock { state in
                    guard !state.isStopped else { return true }
                    state.accepted += 1
                    state.descriptors.insert(descriptor)
                    return false
                }
                if isStopped {
                    Glibc.close(descriptor)
                    continue
                }
                startThread { [self] in
                    let connection = Connection(descriptor: descriptor)
                    if context.map({ connection.handshake($0.pointer) }) ?? true { serve(self, connection) }
                    // Before the number can be given out again.
                    state.withLock { _ = $0.descriptors.remove(descriptor) }
                    withExtendedLifetime(connection) {}
                }
            }
            Glibc.close(listener)
        }
    }

    /// Stops listening and ends every connection.
    package func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            for descriptor in state.descriptors { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }
            Glibc.shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    private func serve(_ connection: Connection, _ script: Script) {
        while let head = connection.readHead() {
            let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n").map(String.init)
            let start = (lines.first ?? "").split(separator: " ").map(String.init)
            guard start.count == 3 else { return }
            let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
                guard let colon = line.firstIndex(of: ":") else { return nil }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                return (String(line[..<colon]), String(value))
            }
            var request = Request(method: start[0], target: start[1], headers: headers, body: [])
            if let length = request.values("Content-Length").first {
                // A length that no body has ends the connection, and not the process.
                guard let length = Int(length), (0...Self.maximumBodyBytes).contains(length),
                    let body = connection.read(length)
                else { return }
                request.body = body
            }
            state.withLock { $0.requests += 1 }
            var exchange = Exchange(request: request, connection: connection)
            script(&exchange)
            guard exchange.isOpen else { return }
        }
    }
}
