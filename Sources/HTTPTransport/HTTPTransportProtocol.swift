/// Sends one HTTPS request and gives back the whole answer.
///
/// This is all that an API client here knows of the network, so that a backend can put its own client behind it.
public protocol HTTPTransportProtocol: Sendable {
    /// Sends `request` once and waits for the complete answer, whatever its status is.
    ///
    /// A conforming type verifies the server's certificate and name, follows no redirect, keeps no cookie, and keeps
    /// the request's ``HTTPTransportRequest/timeout`` and ``HTTPTransportRequest/maximumResponseBytes``, which counts
    /// octets after content decoding. When the task is canceled it stops the transfer.
    ///
    /// - Throws: ``HTTPTransportError`` if there is no complete answer. A status is never an error.
    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse
}
