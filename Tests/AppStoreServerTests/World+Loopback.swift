import AppStoreServer
import CurlTransport
import HTTPTransport
import LoopbackServer
import NotificationSimulator
import Synchronization

extension World {
    /// Plays production over TLS on the loopback interface, with a client whose transport is the one for production.
    ///
    /// - Parameter failures: how many requests get the page of a proxy that is overloaded, before Apple answers.
    func overTLS(failures: Int = 0, _ body: (AppStoreServerClient) async throws -> Void) async throws {
        let authority = try TestAuthority()
        let asked = Milestone()
        let server = try LoopbackServer(LoopbackServer.TLS(authority.issue())) { exchange in
            guard asked.count >= failures else {
                asked.reach()
                return exchange.respond(503, [("Content-Type", "text/html")], body: Array("<html>".utf8))
            }
            let request = AppStoreServerSimulator.Request(
                exchange.request.method,
                target: exchange.request.target,
                authorization: exchange.request.values("Authorization").first,
                body: exchange.request.body
            )
            let answer = self.state.withLock { state in try? state.production.answer(request, at: state.now) }
            exchange.respond(answer?.status ?? 500, body: answer?.body ?? [])
        }
        defer { server.stop() }
        let curl = try CurlHTTPTransport(.init(trustRoots: .pem(authority.certificate)))
        try await body(client(transport: RedirectedTransport(curl, to: server.port)))
        await curl.shutdown()
    }
}
