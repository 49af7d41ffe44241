import AppStoreServer
import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import NormalizerTesting
import NotificationSimulator
import SimulatedTrust
import Synchronization

/// Apple's servers of both environments, played behind a transport, and a client of theirs.
final class World: Sendable {
    static let start = Date(timeIntervalSince1970: 1_790_000_000)

    struct State {
        var production: AppStoreServerSimulator
        var sandbox: AppStoreServerSimulator
        var now = World.start
    }

    let state: Mutex<State>
    let transport = StubTransport()
    let clock = TestClock(jumping: true)

    init(seed: String = "world") throws {
        let apple = try AppleSimulator(seed: seed)
        state = Mutex(
            State(
                production: try AppStoreServerSimulator(apple),
                sandbox: try AppStoreServerSimulator(apple.simulating(.sandbox))
            )
        )
    }

    var now: Date { state.withLock { $0.now } }

    /// Adds a rule that answers as Apple's servers do.
    func serve() {
        transport.on(.any) { request throws(HTTPTransportError) in
            let asked = AppStoreServerSimulator.Request(
                request.method.name,
                target: request.url.path + (request.url.query.map { "?\($0)" } ?? ""),
                authorization: request.headers["Authorization"],
                body: request.body
            )
            let answer = self.state.withLock { state in
                let server = request.url.host.contains("sandbox") ? state.sandbox : state.production
                return try? server.answer(asked, at: state.now)
            }
            guard let answer else { throw HTTPTransportError(.connectionLost, "the simulator could not sign") }
            return HTTPTransportResponse(status: answer.status, body: answer.body)
        }
    }

    func adapter(maximumAge: Duration? = nil) throws -> AppleAdapter {
        let apple = state.withLock { $0.production.apple }
        var configuration = try AppleAdapter.Configuration(trusting: apple)
        configuration.environments = [.production, .sandbox]
        configuration.maximumAge = maximumAge
        return try AppleAdapter(configuration)
    }

    func client(
        _ change: (inout AppStoreServerClient.Configuration) throws -> Void = { _ in },
        adapter: AppleAdapter? = nil,
        transport: (any HTTPTransportProtocol)? = nil,
        clock: TestClock? = nil,
        now: (@Sendable () -> Date)? = nil
    ) throws -> AppStoreServerClient {
        let server = state.withLock { $0.production }
        var configuration = AppStoreServerClient.Configuration(
            key: try AppStoreServerKey(
                issuerID: server.issuerID,
                keyID: server.keyID,
                privateKey: SecretBytes(bytes: server.privateKey)
            ),
            bundleID: server.apple.bundleId
        )
        try change(&configuration)
        return try AppStoreServerClient(
            configuration,
            adapter: try adapter ?? self.adapter(),
            transport: transport ?? self.transport,
            clock: clock ?? self.clock,
            now: now ?? { self.now }
        )
    }
}

extension AppleSimulator.Transaction {
    /// A month of a subscription.
    static func month(_ id: String, of original: String = "1000", from start: Date = World.start) -> Self {
        var transaction = AppleSimulator.Transaction(
            transactionId: id,
            originalTransactionId: original,
            productId: "pro.monthly",
            purchaseDate: start,
            type: "Auto-Renewable Subscription"
        )
        transaction.expiresDate = start.addingTimeInterval(30 * 86_400)
        transaction.subscriptionGroupIdentifier = "group"
        transaction.price = 9990
        transaction.currency = "USD"
        return transaction
    }
}

/// The error that a call throws, if it throws.
func failure<Value>(_ call: () async throws(AppStoreServerError) -> Value) async -> AppStoreServerError? {
    do throws(AppStoreServerError) {
        _ = try await call()
        return nil
    } catch {
        return error
    }
}
