package import HTTPTransport

/// Sends what is meant for a provider's host to a server on the loopback interface.
package struct RedirectedTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let (host, port): (String, Int)

    /// - Parameter base: trusts the server's certificate, which is for `localhost`.
    package init(_ base: any HTTPTransport, from host: String, to port: Int) {
        self.base = base
        (self.host, self.port) = (host, port)
    }

    package func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let address = request.url.absoluteString.dropFirst("https://\(host)".count)
        return try await base.send(
            try HTTPTransportRequest(
                request.method,
                try HTTPSURL("https://localhost:\(port)\(address)"),
                headers: request.headers,
                body: request.body,
                timeout: request.timeout,
                maximumResponseBytes: request.maximumResponseBytes
            )
        )
    }
}
