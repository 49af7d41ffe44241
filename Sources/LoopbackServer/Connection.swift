import CLoopbackTLS

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One accepted connection, plain or TLS. Its thread alone uses it.
final class Connection {
    private let descriptor: Int32
    private var session: OpaquePointer?
    private var buffer: [UInt8] = []
    private(set) var isHTTP2 = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        if let session { SSL_free(session) }
        Glibc.close(descriptor)
    }

    func handshake(_ context: OpaquePointer) -> Bool {
        session = SSL_new(context)
        guard let session, SSL_set_fd(session, descriptor) == 1, SSL_accept(session) == 1 else { return false }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(session, &name, &length)
        isHTTP2 = Array(UnsafeBufferPointer(start: name, count: Int(length))) == Array("h2".utf8)
        return true
    }

    /// Some octets, or nothing when the client has closed or reset the connection.
    func readSome() -> [UInt8]? {
        if !buffer.isEmpty {
            defer { buffer = [] }
            return buffer
        }
        return receive()
    }

    func read(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard let more = receive() else { return nil }
            buffer += more
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    /// Everything up to and with an empty line.
    func readHead() -> [UInt8]? {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        var searched = 0
        while true {
            var index = max(searched - 3, 0)
            while index + 4 <= buffer.count {
                if buffer[index] == 0x0D, Array(buffer[index..<index + 4]) == end {
                    defer { buffer.removeFirst(index + 4) }
                    return Array(buffer.prefix(index + 4))
                }
                index += 1
            }
            searched = buffer.count
            guard buffer.count < 1 << 20, let more = receive() else { return nil }
            buffer += more
        }
    }

    private func receive() -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: 16_384)
        let count =
            if let session {
                Int(SSL_read(session, &octets, Int32(octets.count)))
            } else {
                Glibc.recv(descriptor, &octets, octets.count, 0)
            }
        return count > 0 ? Array(octets.prefix(count)) : nil
    }

    @discardableResult
    func write(_ octets: [UInt8]) -> Bool {
        var rest = octets[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(65_536))
            let count =
                if let session {
                    Int(SSL_write(session, chunk, Int32(chunk.count)))
                } else {
                    Glibc.send(descriptor, chunk, chunk.count, Int32(MSG_NOSIGNAL))
                }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Ends TLS in an orderly way.
    func close() {
        if let session { SSL_shutdown(session) }
        Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Has the kernel send RST.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        // The descriptor's number must stay taken until deinit closes it.
        let null = open("/dev/null", O_RDWR)
        dup2(null, descriptor)
        Glibc.close(null)
    }

    /// Copies octets between this connection and a port of the loopback interface until one side ends.
    func relay(toPort port: UInt16) {
        guard let other = Sockets.connect(port: port) else { return }
        defer { Glibc.close(other) }
        var octets = [UInt8](repeating: 0, count: 65_536)
        while true {
            var polled = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: other, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polled, 2, -1) > 0 else { return }
            for (from, to) in [(0, other), (1, descriptor)] where polled[from].revents != 0 {
                let count = recv(polled[from].fd, &octets, octets.count, 0)
                guard count > 0, send(to, octets, count, Int32(MSG_NOSIGNAL)) == count else { return }
            }
        }
    }
}

enum Sockets {
    static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    static func withAddress<Result>(
        _ address: inout sockaddr_in,
        _ body: (UnsafeMutablePointer<sockaddr>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }

    static func connect(port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = address(port: port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard withAddress(&address, { Glibc.connect(descriptor, $0, length) }) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// A socket that listens on a free port of the loopback interface.
    static func listen(backlog: Int32 = 512) -> (descriptor: Int32, port: UInt16)? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard withAddress(&address, { bind(descriptor, $0, length) }) == 0, Glibc.listen(descriptor, backlog) == 0,
            withAddress(&address, { getsockname(descriptor, $0, &length) }) == 0
        else {
            close(descriptor)
            return nil
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}

/// Runs `body` on a thread of its own, without signals: the other side may go away at any time.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 512 * 1024)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let code = pthread_create(
        &thread,
        &attributes,
        { context in
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            guard let context else { return nil }
            Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
            return nil
        },
        box.toOpaque()
    )
    if code != 0 { box.release() }
}
