public import HTTPTransport

/// Sends requests with libcurl, all of them on one thread of its own.
///
/// TLS is at least 1.2, certificate and name are always verified, only https is spoken (except to an emulator on this
/// host, and to a responder that a certificate names for its status), no redirect is followed, no cookie, `.netrc` or proxy variable is looked at. Connections are kept and reused, and HTTP/2 carries many requests on
/// one; none is begun on a connection that has left another without an answer in time, or has brought nothing while requests
/// that were canceled have waited on it for a second. Make one transport for a process and share it.
public final class CurlHTTPTransport: HTTPTransportProtocol {
    private let loop: TransferLoop

    /// Starts the transport.
    ///
    /// - Throws: `transportFailure` if the configuration cannot be used, or there is no memory or thread to be had.
    public convenience init(_ configuration: Configuration = Configuration()) throws(HTTPTransportError) {
        try self.init(configuration) { multi, deadline in multi.wait(until: deadline) }
    }

    /// Starts the transport with another way to wait, for tests.
    init(_ configuration: Configuration, wait: @escaping TransferLoop.Wait) throws(HTTPTransportError) {
        try configuration.validate()
        loop = try TransferLoop(configuration, wait: wait)
        try loop.start()
    }

    deinit {
        loop.stop(then: nil)
    }

    /// Sends `request` once and waits for the complete answer.
    ///
    /// - Throws: `connectionFailed`, `connectionLost`, `tls`, `timeout`, `responseTooLarge`, `protocolError`,
    ///   `canceled`, `shutDown`, `transportFailure`.
    public func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        // The caller may hold the last reference, and without one the loop ends.
        defer { withExtendedLifetime(self) {} }
        let ticket = Ticket()
        let outcome: Result<HTTPTransportResponse, HTTPTransportError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.start(request, for: ticket, continuation)
            }
        } onCancel: {
            loop.cancel(ticket)
        }
        return try outcome.get()
    }

    /// Ends every request with `shutDown`, closes all connections and waits until the thread has done so.
    ///
    /// Requests made later fail with `shutDown` too. Wait for it before the process ends: libcrypto is taken down then, and does
    /// not wait for a request that is inside TLS.
    public func shutdown() async {
        await withCheckedContinuation { continuation in
            loop.stop(then: continuation)
        }
    }
}
