#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A port that neither takes connections nor refuses them, as behind a firewall that drops everything.
package final class FullListener: Sendable {
    package let port: Int
    private let descriptors: [Int32]

    /// - Throws: ``LoopbackServer/Failure/noSocket``.
    package init() throws {
        guard let (listener, port) = Sockets.listen(backlog: 0) else { throw LoopbackServer.Failure.noSocket }
        // The one that the queue has room for.
        guard let client = Sockets.connect(port: port) else {
            close(listener)
            throw LoopbackServer.Failure.noSocket
        }
        self.port = Int(port)
        descriptors = [listener, client]
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
