import FoundationEssentials
import GooglePubSub
import Normalizer
import SignatureCore
import SignatureIssuing
import Testing
import VectorGenerator

/// Pub/Sub's pushes, signed with a key of ours.
private struct Pusher {
    private typealias JSON = GoogleVectors.JSON

    private static let audience = "https://hooks.example.com/google"
    private static let email = "push@example.iam.gserviceaccount.com"

    private let key: SigningKey

    init() throws { key = try SigningKey(.rsa2048, seed: Seed("channels"), label: "oidc") }

    func events(_ hint: Hint) async throws -> [NormalizedEvent] {
        let (modulus, exponent) = try key.modulusAndExponent()
        func text(_ number: [UInt8]) -> String {
            JSON.string(String(decoding: Base64URL.encode(number.span), as: UTF8.self))
        }
        let jwk = JSON.object([
            "kty": "\"RSA\"", "alg": "\"RS256\"", "use": "\"sig\"", "kid": "\"k\"", "n": text(modulus),
            "e": text(exponent),
        ])
        let adapter = try GooglePlayAdapter(
            GooglePlayAdapter.Configuration(
                packageNames: [GoogleVectors.packageName],
                push: .init(audience: Self.audience, serviceAccountEmail: Self.email)
            ),
            keys: try StaticKeySource(json: Array(JSON.object(["keys": JSON.array([jwk])]).utf8)),
            api: try PlayChannels.api(hint)
        )
        let token = try JWSIssuer.rs256(
            header: Array(#"{"alg":"RS256","kid":"k","typ":"JWT"}"#.utf8),
            payload: Array(
                JSON.object([
                    "iss": "\"https://accounts.google.com\"", "aud": JSON.string(Self.audience), "sub": "\"1\"",
                    "email": JSON.string(Self.email), "email_verified": "true", "iat": String(hint.at / 1000 - 60),
                    "exp": String(hint.at / 1000 + 3000),
                ]).utf8
            ),
            key: key
        )
        let data = String(decoding: Base64.encode(Array(hint.notification.utf8).span), as: UTF8.self)
        let message = JSON.object(["data": JSON.string(data), "messageId": "\"1\""])
        let delivery = Delivery(
            headers: ["Authorization": "Bearer \(String(decoding: token, as: UTF8.self))"],
            body: Array(
                JSON.object(["message": message, "subscription": "\"projects/example/subscriptions/play\""]).utf8
            ),
            receivedAt: Date(millisecondsSince1970: hint.at + 1500)
        )
        let proven = try await adapter.authenticate(delivery)
        return try adapter.normalize(try await adapter.resolve(proven)).events
    }
}

@Suite("One Play notification, pushed and pulled")
struct PlayPushTests {
    @Test("a push says what a pulled message says", arguments: PlayStory.subscriptions)
    func pushed(story: PlayStory) async throws {
        let pusher = try Pusher()
        for hint in story.steps.flatMap(\.hints) {
            let pushed = try await pusher.events(hint)
            let pulled = try await PlayChannels.pulled(hint).events
            #expect(!pushed.isEmpty)
            #expect(pushed.map(\.id) == pulled.map(\.id))
            #expect(pushed.map(\.facts) == pulled.map(\.facts))
            #expect(pushed.map(\.event) == pulled.map(\.event))
            #expect(pushed.allSatisfy { $0.origin.evidence.method == .oidc })
        }
    }
}
