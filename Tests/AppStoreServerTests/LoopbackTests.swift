import Synchronization
import NormalizerTesting
import AppStoreServer
import AppleJWS
import CurlTransport
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import LoopbackServer
import NotificationSimulator
import Testing

/// The API over TLS, with a transport for production.
@Suite("App Store Server API over the network", .timeLimit(.minutes(5))) struct LoopbackTests {
    @Test("answers through TLS, with trouble on the way")
    func network() async throws {
        let world = try World()
        world.state.withLock { $0.production.purchases = [.init([.month("1")], status: 1)] }
        let authority = try TestAuthority()
        let asked = Milestone()
        let server = try LoopbackServer(LoopbackServer.TLS(authority.issue())) { exchange in
            guard asked.count > 0 else {
                asked.reach()
                exchange.respond(503, [("Content-Type", "text/html")], body: Array("<html>".utf8))
                return
            }
            let request = AppStoreServerSimulator.Request(
                exchange.request.method,
                target: exchange.request.target,
                authorization: exchange.request.values("Authorization").first,
                body: exchange.request.body
            )
            let answer = world.state.withLock { state in try? state.production.answer(request, at: state.now) }
            exchange.respond(answer?.status ?? 500, body: answer?.body ?? [])
        }
        defer { server.stop() }
        let curl = try CurlHTTPTransport(.init(trustRoots: .pem(authority.certificate)))
        let client = try world.client(
            transport: RedirectedTransport(curl, to: server.port)
        )
        let statuses = try await client.subscriptionStatuses(ofTransaction: "1", in: .production)
        #expect(statuses.subscriptions.map(\.transaction.value.transactionID) == ["1"])
        await curl.shutdown()
    }
}
