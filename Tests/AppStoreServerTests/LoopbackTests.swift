import AppStoreServer
import AppleJWS
import LifecycleEvents
import NotificationSimulator
import Synchronization
import Testing

/// The API over TLS, with a transport for production.
@Suite("App Store Server API over the network", .timeLimit(.minutes(5))) struct LoopbackTests {
    @Test("answers through TLS, with trouble on the way")
    func network() async throws {
        let world = try World()
        world.state.withLock { $0.production.purchases = [.init([.month("1")], status: 1)] }
        try await world.overTLS(failures: 1) { client in
            let statuses = try await client.subscriptionStatuses(ofTransaction: "1", in: .production)
            #expect(statuses.subscriptions.map(\.transaction.value.transactionID) == ["1"])
        }
    }
}
