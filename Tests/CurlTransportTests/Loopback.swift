import CurlTransport
import Glibc
import HTTPTransport
import LoopbackServer
import Testing

/// All tests over sockets: one after another, since a connection that is silent for a second is given up, and a busy machine is.
@Suite(.serialized, .timeLimit(.minutes(5)))
enum Loopback {
    /// Every test runs with proxies in the environment, all of which lead here.
    static let proxyTrap: LoopbackServer? = {
        guard let server = try? LoopbackServer(nil, script: { $0.respond(502) }) else { return nil }
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            unsafe setenv(name, "http://127.0.0.1:\(server.port)", 1)
        }
        return server
    }()

    static let authority = Result { try TestAuthority() }
    static let identity = Result { try authority.get().issue() }

    static func configuration() throws -> CurlHTTPTransport.Configuration {
        _ = try #require(proxyTrap)
        return CurlHTTPTransport.Configuration(trustRoots: .pem(try authority.get().certificate))
    }

    static func transport(
        _ change: (inout CurlHTTPTransport.Configuration) throws -> Void = { _ in }
    ) throws -> CurlHTTPTransport {
        var configuration = try configuration()
        try change(&configuration)
        return try CurlHTTPTransport(configuration)
    }

    static func server(_ script: @escaping LoopbackServer.Script) throws -> LoopbackServer {
        try LoopbackServer(LoopbackServer.TLS(identity.get()), script: script)
    }
}

extension LoopbackServer {
    func request(
        _ method: HTTPTransportRequest.Method = .get,
        host: String = "localhost",
        _ path: [HTTPSURL.PathSegment] = ["secret-path"],
        headers: HTTPTransportHeaders = [:],
        body: [UInt8] = [],
        timeout: Duration = .seconds(30),
        limit: Int = 1_048_576
    ) throws -> HTTPTransportRequest {
        let url = try HTTPSURL(host: host, port: port, path: path, query: [.init("q", "secret-query")])
        return try HTTPTransportRequest(
            method,
            url,
            headers: headers,
            body: body,
            timeout: timeout,
            maximumResponseBytes: limit
        )
    }
}

extension CurlHTTPTransport {
    /// The code of the error that the request must end in, whose text must not give the request away.
    func failure(
        _ request: HTTPTransportRequest,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> HTTPTransportError.Code? {
        do {
            let response = try await send(request)
            Issue.record("answered \(response)", sourceLocation: sourceLocation)
            return nil
        } catch {
            #expect(!"\(error)\(String(reflecting: error))".contains("secret"), sourceLocation: sourceLocation)
            return error.code
        }
    }
}
