import AppleJWS
import Foundation
import Gateway
import GooglePubSub
import HTTPTransport
import Normalizer
import NotificationSimulator
import RevenueCatEvents
import Stripe

/// The four providers as their simulators play them, and adapters that know their keys.
struct Cast {
    static let start = Date(timeIntervalSince1970: 1_767_225_600)
    /// The time of the answers to look-ups at Google Play: after the end of every life.
    static let end = start.addingTimeInterval(500 * 86_400)

    let apple: AppleSimulator
    let google: GoogleSimulator
    let revenueCat: RevenueCatSimulator
    let stripe: StripeSimulator

    init(seed: String) throws {
        apple = try AppleSimulator(seed: seed)
        google = try GoogleSimulator(seed: seed)
        revenueCat = RevenueCatSimulator(seed: seed)
        stripe = StripeSimulator(seed: seed)
    }

    private var simulators: [any StorySimulator] { [apple, google, revenueCat, stripe] }

    /// The notifications of each provider about a customer's life.
    func notifications(of customer: String) throws -> [(any StorySimulator, SimulatedNotification)] {
        let story = CustomerStory(customer, CustomerStory.life.title, steps: CustomerStory.life.steps)
        return try simulators.flatMap { simulator in
            try simulator.notifications(story, from: Self.start).map { (simulator, $0) }
        }
    }

    /// The sources of a gateway, by name.
    func sources(_ play: PlayAnswers) throws -> [(name: String, adapter: any ProviderAdapter)] {
        var configuration = AppleAdapter.Configuration(
            apps: [.init(bundleID: apple.bundleId, appAppleID: apple.appAppleId)],
            environments: [.production],
            trustAnchors: try AppleTrustAnchors(der: [apple.rootCertificate])
        )
        // The lives have ended long ago.
        configuration.maximumAge = nil
        let apple = try AppleAdapter(configuration)
        let google = try GooglePlayAdapter(
            GooglePlayAdapter.Configuration(
                packageNames: [google.packageName],
                subscriptions: [google.subscription],
                push: .init(audience: google.audience, serviceAccountEmail: google.serviceAccountEmail)
            ),
            keys: try StaticKeySource(json: google.keySet),
            api: try PlayDeveloperAPI(transport: play, tokens: OneToken())
        )
        struct Settings: Decodable {
            var authorization: String
            var hmacSecrets: [String]
        }
        let settings = try JSONDecoder().decode(Settings.self, from: Data(self.revenueCat.receiverConfiguration))
        let revenueCat = try RevenueCatAdapter(
            .init(
                authorizations: [SecretBytes(settings.authorization)],
                signingSecrets: settings.hmacSecrets.map { SecretBytes($0) }
            )
        )
        let stripe = try StripeAdapter(.init(signingSecrets: [stripe.signingSecret]))
        return [("apple", apple), ("google", google), ("revenuecat", revenueCat), ("stripe", stripe)]
    }
}

/// The Play Developer API's answers about every purchase, without a network.
struct PlayAnswers: HTTPTransportProtocol, Codable {
    private(set) var answers: [String: Data] = [:]

    mutating func add(_ notification: SimulatedNotification) {
        for resource in notification.resources { answers[resource.path] = Data(resource.body) }
    }

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let address = request.url.absoluteString.dropFirst("https://".count)
        let path = String(address[(address.firstIndex(of: "/") ?? address.endIndex)...])
        guard let body = answers[path] else { return HTTPTransportResponse(status: 404) }
        return HTTPTransportResponse(status: 200, headers: ["Date": Self.date], body: Array(body))
    }

    private static let date: String = {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Cast.end)
    }()
}

private struct OneToken: AccessTokenSource {
    func accessToken() async throws(AccessTokenError) -> SecretBytes { SecretBytes("token") }
}
