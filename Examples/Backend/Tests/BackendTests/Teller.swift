import AppleJWS
import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Stripe
import Testing

/// A provider that tells stories, and an adapter that takes it at its word.
struct Teller: Sendable {
    let name: String
    let simulator: any StorySimulator
    /// - Parameter resources: what the provider's API answers.
    let adapter: @Sendable (_ resources: [SimulatedResource]) throws -> any ProviderAdapter

    static let names = ["apple", "google", "revenuecat", "stripe"]
    static let start = Date(timeIntervalSince1970: 1_767_571_200)
    static let end = start.addingTimeInterval(240 * 86_400)

    /// With one seed, RevenueCat relays the purchases that the App Store tells of.
    init(_ name: String, seed: String = "backend") throws {
        self.name = name
        switch name {
        case "apple":
            let apple = try AppleSimulator(seed: seed)
            simulator = apple
            adapter = { _ in
                try AppleAdapter(
                    AppleConfiguration(
                        apps: [.init(bundleID: apple.bundleId, appAppleID: apple.appAppleId)],
                        environments: [.production],
                        trustAnchors: AppleTrustAnchors(der: [apple.rootCertificate])
                    )
                )
            }
        case "google":
            let google = try GoogleSimulator(seed: seed)
            simulator = google
            adapter = { resources in
                let transport = RecordedAnswers(resources: resources)
                return try GooglePlayAdapter(
                    GooglePlayConfiguration(
                        packageNames: [google.packageName],
                        subscriptions: [google.subscription],
                        push: .init(audience: google.audience, serviceAccountEmail: google.serviceAccountEmail)
                    ),
                    keys: StaticKeySource(json: google.keySet),
                    api: PlayDeveloperAPI(
                        transport: transport,
                        tokens: FixedAccessToken(Secret("token")),
                        clock: TestClock(jumping: true)
                    )
                )
            }
        case "revenuecat":
            let revenueCat = RevenueCatSimulator(seed: seed)
            simulator = revenueCat
            adapter = { _ in
                try RevenueCatAdapter(
                    .init(
                        authorizations: [revenueCat.authorization].compactMap(\.self),
                        signingSecrets: [revenueCat.signingSecret].compactMap(\.self)
                    )
                )
            }
        default:
            let stripe = StripeSimulator(seed: seed)
            simulator = stripe
            adapter = { resources in
                var configuration = StripeAdapter.Configuration(signingSecrets: [stripe.signingSecret])
                configuration.lookup = .init(transport: RecordedAnswers(resources: resources), apiKey: Secret("rk_key"))
                return try StripeAdapter(configuration)
            }
        }
    }

    /// What a story comes to when each notification is taken in as it is made; nil where the provider has no such story.
    func results(_ story: Story) async throws -> [Normalization]? {
        guard let notifications = try notifications(story) else { return nil }
        var results: [Normalization] = []
        for (index, notification) in notifications.enumerated() {
            let adapter = try adapter(notifications.resources(upTo: index))
            // What cannot be decided yet comes again.
            for wait in [1.0, 61] {
                let delivery = try simulator.delivery(of: notification, sentAt: notification.occurredAt + wait)
                do throws(DeliveryError) {
                    results.append(try await adapter.receive(delivery))
                    break
                } catch {
                    guard error.code == .unavailable, wait < 61 else { throw error }
                }
            }
        }
        #expect(results.count == notifications.count)
        return results
    }

    /// Every product that is told of gives credits, each a number of its own.
    static func policy(for results: [Normalization]) -> CreditPolicy {
        var policy = CreditPolicy([:], carriesOver: false)
        for fact in results.flatMap(\.statements).flatMap(\.facts) {
            let product: String? =
                switch fact {
                case .period(let period): period.product
                case .purchase(let purchase): purchase.product
                default: nil
                }
            guard let product, policy.allowances[product] == nil else { continue }
            policy.allowances[product] = .init(credits: Int64(100 + 37 * policy.allowances.count))
        }
        return policy
    }

    private func notifications(_ story: Story) throws -> [SimulatedNotification]? {
        do throws(SimulatorError) {
            return try simulator.notifications(story, from: Self.start)
        } catch {
            if case .notOffered = error.reason { return nil }
            throw error
        }
    }
}

/// A provider's API as it stands at a moment.
private struct RecordedAnswers: HTTPTransport {
    let resources: [SimulatedResource]

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let resource = resources.first { "https://\($0.host)\($0.path)" == request.url.absoluteString }
        let headers: HTTPTransportHeaders = ["Content-Type": "application/json; charset=UTF-8"]
        return HTTPTransportResponse(status: resource?.status ?? 404, headers: headers, body: resource?.body ?? [])
    }
}
