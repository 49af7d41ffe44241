import AppStoreServer
import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import NormalizerTesting
import NotificationSimulator
import SignatureIssuing
import Synchronization
import Testing

@Suite("Trouble with the set-up of the App Store Server API", .timeLimit(.minutes(5))) struct TroubleTests {
    /// One wrong part, and all others right.
    enum Part: CaseIterable, CustomTestStringConvertible {
        case keyID, issuer, privateKey, bundleID

        var testDescription: String { "\(self)" }

        func spoil(_ configuration: inout AppStoreServerClient.Configuration, _ server: AppStoreServerSimulator) throws
        {
            let other = try SigningKey(.p256, seed: Seed("other"), label: "key").privatePEM()
            configuration.key = try AppStoreServerKey(
                issuerID: self == .issuer ? "00000000-0000-4000-8000-00000000beef" : server.issuerID,
                keyID: self == .keyID ? "ZZZZZZZZZZ" : server.keyID,
                privateKey: SecretBytes(bytes: self == .privateKey ? other : server.privateKey)
            )
            if self == .bundleID { configuration.bundleID = "com.example.other" }
        }
    }

    @Test("is refused once and never retried, and preflight says where to look", arguments: Part.allCases)
    func wrongPart(part: Part) async throws {
        let world = try World()
        world.serve()
        let server = world.state.withLock { $0.production }
        let client = try world.client { try part.spoil(&$0, server) }
        let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1") }
        #expect(error?.code == .unauthorized)
        #expect(error?.isRetryable == false)
        // Sandbox is not asked: test purchases must not count because of a wrong key.
        #expect(world.transport.requests.map(\.url.host) == ["api.storekit.apple.com"])

        let preflight = await client.preflight()
        let advice = "status 401, the token was refused: check key, key id, issuer id and bundle id"
        #expect(preflight.results.map(\.environment) == [.production, .sandbox])
        #expect(preflight.results.map(\.finding) == [.refused, .refused])
        #expect(preflight.results.map(\.advice) == [advice, advice])
        #expect(!preflight.isPassed)
    }

    /// A client whose clock differs from Apple's.
    private func client(_ world: World, ahead seconds: Double) throws -> AppStoreServerClient {
        let apple = try world.client()
        return try AppStoreServerClient(
            apple.configuration,
            adapter: try world.adapter(),
            transport: DatedTransport(base: world.transport, date: "Mon, 21 Sep 2026 14:13:20 GMT"),
            clock: world.clock,
            now: { world.now.addingTimeInterval(seconds) }
        )
    }

    @Test("through a clock five minutes ahead is named")
    func ahead() async throws {
        let world = try World()
        world.serve()
        let preflight = try await client(world, ahead: 300).preflight()
        let advice =
            "status 401, the token was refused: check key, key id, issuer id and bundle id; "
            + "the clock here differs from Apple's by 300 s"
        #expect(preflight.results.map(\.environment) == [.production, .sandbox])
        #expect(preflight.results.map(\.finding) == [.refused, .refused])
        #expect(preflight.results.map(\.advice) == [advice, advice])
    }

    @Test("does not come from a clock five minutes behind, or less than one ahead", arguments: [-300.0, 59])
    func tolerated(seconds: Double) async throws {
        let world = try World()
        world.serve()
        world.state.withLock { $0.production.purchases = [.init([.month("1")], status: 1)] }
        let statuses = try await client(world, ahead: seconds).subscriptionStatuses(ofTransaction: "1")
        #expect(statuses.subscriptions.map(\.transaction.value.transactionID) == ["1"])
    }
}

/// Adds the header that tells Apple's time.
private struct DatedTransport: HTTPTransportProtocol {
    let base: any HTTPTransportProtocol
    let date: String

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        var response = try await base.send(request)
        response.headers.add("Date", date)
        return response
    }
}
