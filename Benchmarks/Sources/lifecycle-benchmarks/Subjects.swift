import AppleJWS
import Foundation
import GooglePubSub
import Normalizer
import NotificationSimulator
import RevenueCatEvents
import Stripe

/// A delivery and the adapter that takes it.
struct Subject<Adapter: ProviderAdapter>: Sendable {
    let adapter: Adapter
    let delivery: Delivery

    /// Proves and decodes.
    func authenticate() async throws {
        _ = try await adapter.authenticate(delivery)
    }

    /// Proves, decodes and maps, without look-ups.
    func normalize() async throws {
        let resolved = try await adapter.resolve(try await adapter.authenticate(delivery))
        try check(try adapter.normalize(resolved))
    }

    /// The same, and the digest of the body, which is computed only where it is read.
    func normalizeAndDigest() async throws {
        let resolved = try await adapter.resolve(try await adapter.authenticate(delivery))
        try check(try adapter.normalize(resolved))
        guard !resolved.digest.isEmpty else { throw BenchmarkError("there is no digest") }
    }
}

/// The measured works of a subject.
struct SubjectWorks {
    let authenticate: Work
    let normalize: Work
    let normalizeAndDigest: Work
}

/// An adapter whose steps need no waiting: its users call them without `await`.
protocol SynchronousAdapter: ProviderAdapter where Resolved == Notification {
    func authenticate(_ delivery: Delivery) throws(DeliveryError) -> Authenticated<Notification>
}

extension AppleAdapter: SynchronousAdapter {}
extension RevenueCatAdapter: SynchronousAdapter {}
extension StripeAdapter: SynchronousAdapter {}

extension Subject where Adapter: SynchronousAdapter {
    var works: SubjectWorks {
        SubjectWorks(
            authenticate: Work { _ = try adapter.authenticate(delivery) },
            normalize: Work { try normalized() },
            normalizeAndDigest: Work {
                let notification = try adapter.authenticate(delivery)
                try check(try adapter.normalize(notification))
                guard !notification.digest.isEmpty else { throw BenchmarkError("there is no digest") }
            }
        )
    }

    func normalized() throws { try check(try adapter.normalize(try adapter.authenticate(delivery))) }
}

extension Subject {
    var waitingWorks: SubjectWorks {
        SubjectWorks(
            authenticate: Work(waiting: authenticate),
            normalize: Work(waiting: normalize),
            normalizeAndDigest: Work(waiting: normalizeAndDigest)
        )
    }

    private func check(_ result: Normalization) throws {
        guard !result.events.isEmpty || result.noChange != nil else { throw BenchmarkError("nothing came of it") }
    }
}

/// The subject of each provider.
struct Subjects {
    static let root = Peer.folder.deletingLastPathComponent()

    let apple: Subject<AppleAdapter>
    let appleSimulator: AppleSimulator
    let stripe: Subject<StripeAdapter>
    let revenueCat: Subject<RevenueCatAdapter>
    let google: Subject<GooglePlayAdapter>
    /// The part of Google's token that is signed.
    let googleSignedLength: Int

    static let stripeSecret = "whsec_benchmark_0123456789abcdef"
    static let revenueCatValue = "Bearer benchmark-0123456789"

    init() throws {
        appleSimulator = try AppleSimulator(seed: "benchmark")
        apple = Subject(
            adapter: try Self.appleAdapter(appleSimulator, roots: [appleSimulator.rootCertificate]),
            delivery: try Self.appleDelivery(appleSimulator)
        )

        let receivedAt = Date(timeIntervalSince1970: 1_772_300_001)
        let secret = SecretBytes(Self.stripeSecret)
        stripe = Subject(
            adapter: try StripeAdapter(.init(signingSecrets: [secret])),
            delivery: try StripeSimulator(signingSecret: secret)
                .delivery(try Self.fixture("customer.subscription.updated"), receivedAt: receivedAt)
        )

        let authorization = SecretBytes(Self.revenueCatValue)
        revenueCat = Subject(
            adapter: try RevenueCatAdapter(.init(authorizations: [authorization])),
            delivery: try RevenueCatSimulator(authorization: authorization)
                .delivery(try Self.fixture("revenuecat.renewal"), receivedAt: receivedAt)
        )

        (google, googleSignedLength) = try Self.google()
    }

    static func fixture(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Peer.folder.appendingPathComponent("Fixtures/\(name).json")))
    }

    static func appleAdapter(
        _ simulator: AppleSimulator,
        roots: [[UInt8]],
        cacheCapacity: Int = 32
    ) throws -> AppleAdapter {
        var configuration = AppleAdapter.Configuration(
            apps: [.init(bundleID: simulator.bundleId, appAppleID: simulator.appAppleId)],
            environments: [.production],
            trustAnchors: try AppleTrustAnchors(der: roots)
        )
        configuration.chainCacheCapacity = cacheCapacity
        return try AppleAdapter(configuration)
    }

    /// One full App Store notification: outer JWS, transaction and renewal info, each with its chain of three.
    static func appleDelivery(_ simulator: AppleSimulator) throws -> Delivery {
        let story = try simulator.deliveries(.life, from: Date(timeIntervalSince1970: 1_767_225_600))
        guard let largest = story.max(by: { $0.body.count < $1.body.count }) else {
            throw BenchmarkError("the story has no notifications")
        }
        return largest
    }

    /// A push of the test vectors, which were signed with a key of their own.
    private static func google() throws -> (Subject<GooglePlayAdapter>, Int) {
        struct Vector: Decodable {
            struct Config: Decodable {
                var now: Double
                var audience: String
                var packageName: String
                var serviceAccountEmail: String
                var subscription: String
            }
            var id: String
            var body_base64: String
            var headers: [String: String]
            var config: Config
        }
        let line = try Data(contentsOf: root.appendingPathComponent("Benchmarks/Fixtures/google.push.json"))
        let vector = try JSONDecoder().decode(Vector.self, from: line)
        let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
        guard let config = object?["config"] as? [String: Any], let keys = config["jwks"],
            let body = Data(base64Encoded: vector.body_base64), let token = vector.headers["Authorization"]
        else { throw BenchmarkError("vector \(vector.id) is not a push") }
        var headers = Delivery.Headers()
        for (name, value) in vector.headers { headers.add(name, value) }
        let adapter = try GooglePlayAdapter(
            GooglePlayAdapter.Configuration(
                packageNames: [vector.config.packageName],
                subscriptions: [vector.config.subscription],
                push: .init(
                    audience: vector.config.audience,
                    serviceAccountEmail: vector.config.serviceAccountEmail
                )
            ),
            keys: try StaticKeySource(json: Array(try JSONSerialization.data(withJSONObject: keys))),
            api: nil
        )
        let delivery = Delivery(
            headers: headers,
            body: Array(body),
            receivedAt: Date(timeIntervalSince1970: vector.config.now / 1000)
        )
        let signed = token.dropFirst("Bearer ".count).split(separator: ".").prefix(2).map(\.utf8.count)
        return (Subject(adapter: adapter, delivery: delivery), signed.reduce(1, +))
    }
}
