package import HTTPTransport

/// Sends what is meant for a provider to a server on the loopback interface, whichever of the provider's hosts it is for.
package struct RedirectedTransport: HTTPTransportProtocol {
    private let base: any HTTPTransportProtocol
    private let port: Int

    /// - Parameter base: trusts the server's certificate, which is for `localhost`.
    package init(_ base: any HTTPTransportProtocol, to port: Int) {
        (self.base, self.port) = (base, port)
    }

    package func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let query = request.url.query.map { "?\($0)" } ?? ""
        var redirected = try HTTPTransportRequest(
            request.method,
            try HTTPSURL("https://localhost:\(port)\(request.url.path)\(query)"),
            headers: request.headers,
            body: request.body,
            timeout: request.timeout,
            maximumResponseBytes: request.maximumResponseBytes
        )
        redirected.isIdempotent = request.isIdempotent
        return try await base.send(redirected)
    }
}
