import Synchronization
import NormalizerTesting
import AppStoreServer
import FoundationEssentials
import HTTPTransport
import JSONWebSignature
import LifecycleEvents
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import Testing
import WireJSON

@Suite("Token of the App Store Server API") struct BearerTokenTests {
    /// The claims of the last request's token.
    func claims(_ world: World) throws -> (text: String, issuedAt: Int64, expiry: Int64) {
        let header = try #require(world.transport.requests.last?.headers["Authorization"])
        let text = String(header.dropFirst("Bearer ".count))
        let token = try CompactJWS(Array(text.utf8))
        let range = token.payloadRange
        let payload = try ObjectReader(parsing: Base64URL.decode(Array(text.utf8)[range].span))
        return (text, try payload.int64("iat"), try payload.int64("exp"))
    }

    @Test("is accepted, dated back a minute, used again, and replaced five minutes before it expires")
    func life() async throws {
        let world = try World()
        world.serve()
        world.state.withLock { $0.production.purchases = [.init([.month("1")])] }
        let client = try world.client()
        let start = Int64(World.start.timeIntervalSince1970)
        _ = try await client.transaction("1", in: .production)
        let first = try claims(world)
        #expect(first.issuedAt == start - 60)
        #expect(first.expiry - first.issuedAt == 1800)

        world.state.withLock { $0.now = World.start.addingTimeInterval(Double(first.expiry - 300 - start) - 1) }
        _ = try await client.transaction("1", in: .production)
        #expect(try claims(world).text == first.text)
        world.state.withLock { $0.now += 1 }
        _ = try await client.transaction("1", in: .production)
        #expect(try claims(world).text != first.text)
    }

    @Test("is valid when the request is sent, however long that waited for its turn")
    func waiting() async throws {
        let world = try World()
        let end = World.start.addingTimeInterval(2700)
        let pause = String(Int64(end.timeIntervalSince1970) * 1000)
        world.transport.on(.any, times: 1) { _ throws(HTTPTransportError) in
            RequestTests.refusal(429, 4_290_000, headers: ["Retry-After": pause])
        }
        world.transport.on(.any, respond: RequestTests.refusal(404, 4_040_010))
        let clock = world.clock
        let client = try world.client({ $0.deadline = .seconds(3600) }) {
            World.start.addingTimeInterval(Double(clock.now.offset.components.seconds))
        }
        for code: AppStoreServerError.Code in [.rateLimited, .notFound] {
            let error = await failure { () throws(AppStoreServerError) in
                try await client.transaction("1", in: .production)
            }
            #expect(error?.code == code)
        }
        #expect(clock.now.offset >= .seconds(2700))
        #expect(try claims(world).expiry > Int64(end.timeIntervalSince1970))
    }

    @Test("is made anew where the clock was set back")
    func clockSetBack() async throws {
        let world = try World()
        world.serve()
        world.state.withLock { $0.production.purchases = [.init([.month("1")])] }
        let client = try world.client()
        _ = try await client.transaction("1", in: .production)
        world.state.withLock { $0.now -= 3600 }
        _ = try await client.transaction("1", in: .production)
        #expect(try claims(world).issuedAt == Int64(World.start.timeIntervalSince1970) - 3660)
    }

    struct WrongPart: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let issuerID: String?
        let keyID: String?
        let algorithm: SigningKey.Algorithm?
        let expected: String
    }

    @Test(
        "is refused where it is made, by the name of the part that is wrong",
        arguments: [
            WrongPart(
                testDescription: "issuer",
                issuerID: "issuer",
                keyID: nil,
                algorithm: nil,
                expected: "issuerID"
            ),
            WrongPart(testDescription: "key id", issuerID: nil, keyID: "", algorithm: nil, expected: "keyID"),
            WrongPart(
                testDescription: "path as key id",
                issuerID: nil,
                keyID: "../2X9R4HXF34",
                algorithm: nil,
                expected: "keyID"
            ),
            WrongPart(testDescription: "RSA", issuerID: nil, keyID: nil, algorithm: .rsa2048, expected: "private key"),
            WrongPart(testDescription: "P-384", issuerID: nil, keyID: nil, algorithm: .p384, expected: "private key"),
        ]
    )
    func wrongParts(part: WrongPart) throws {
        let pem = try SigningKey(part.algorithm ?? .p256, seed: Seed("part"), label: "k").privatePEM()
        let error = #expect(throws: ConfigurationError.self) {
            try AppStoreServerKey(
                issuerID: part.issuerID ?? "57246542-96fe-1a63-e053-0824d011072a",
                keyID: part.keyID ?? "2X9R4HXF34",
                privateKey: SecretBytes(bytes: pem)
            )
        }
        #expect(error?.message.contains(part.expected) == true)
        let secret = String(decoding: pem, as: UTF8.self).split(separator: "\n")[1]
        #expect(error?.message.contains(secret) == false)
    }

    @Test("Apple refuses a token of another key, issuer or app, and the error says what to check")
    func refused() async throws {
        let changes: [(inout AppStoreServerClient.Configuration) throws -> Void] = [
            { $0.bundleID = "com.example.other" },
            { configuration in
                configuration.key = try AppStoreServerKey(
                    issuerID: configuration.key.issuerID,
                    keyID: "ZZZZZZZZZZ",
                    privateKey: SecretBytes(bytes: SigningKey(.p256, seed: Seed("other"), label: "k").privatePEM())
                )
            },
        ]
        for change in changes {
            let world = try World()
            world.serve()
            let client = try world.client(change)
            let error = await failure { () throws(AppStoreServerError) in
                try await client.transaction("1", in: .production)
            }
            #expect(error?.code == .unauthorized)
            #expect(error?.message.contains("bundle id") == true)
            #expect(error?.isRetryable == false)
            #expect(world.transport.requests.count == 1)
        }
    }

    @Test("says by how much the clock is wrong")
    func clockIsWrong() async throws {
        let world = try World()
        let apple = HTTPTransportResponse(status: 401, headers: ["Date": "Mon, 21 Sep 2026 14:13:20 GMT"])
        world.transport.on(.any, respond: apple)
        world.state.withLock { $0.now = Date(timeIntervalSince1970: 1_790_000_300) }
        let client = try world.client()
        let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production)
        }
        #expect(error?.message.contains("differs from Apple's by 300 s") == true)
    }
}
