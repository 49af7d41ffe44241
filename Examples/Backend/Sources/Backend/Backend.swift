import AppleJWS
import CurlTransport
import Foundation
import GRDB
import GooglePubSub
import Hummingbird
import Normalizer
import RevenueCatEvents
import Stripe

@main
struct Backend {
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment
        let routes = Routes(
            adapters: try adapters(environment),
            store: try EventStore(
                DatabasePool(path: environment["DATABASE"] ?? "backend.sqlite"),
                policy: try policy(environment)
            ),
            packageName: environment["GOOGLE_PACKAGE"],
            now: { Date() }
        )
        try await routes.takeInKept()
        let port = environment["PORT"].flatMap(Int.init) ?? 8080
        try await Application(
            router: routes.router(),
            configuration: .init(address: .hostname("127.0.0.1", port: port))
        )
        .runService()
    }

    /// What products give; without a file, nothing.
    private static func policy(_ environment: [String: String]) throws -> CreditPolicy {
        guard let file = environment["CREDIT_POLICY"] else { return CreditPolicy([:]) }
        return try CanonicalJSON.value(from: Array(try Data(contentsOf: URL(fileURLWithPath: file))))
    }

    /// Those that the environment configures.
    private static func adapters(_ environment: [String: String]) throws -> [String: any ProviderAdapter] {
        var adapters: [String: any ProviderAdapter] = [:]
        if let root = environment["APPLE_ROOT"], let bundleID = environment["APPLE_BUNDLE_ID"] {
            adapters["apple"] = try AppleAdapter(
                AppleConfiguration(
                    apps: [.init(bundleID: bundleID, appAppleID: environment["APPLE_APP_ID"].flatMap(Int64.init))],
                    environments: [.production, .sandbox],
                    trustAnchors: AppleTrustAnchors(der: [Array(try Data(contentsOf: URL(fileURLWithPath: root)))])
                )
            )
        }
        if let keyFile = environment["GOOGLE_KEY_FILE"], let package = environment["GOOGLE_PACKAGE"],
            let audience = environment["GOOGLE_AUDIENCE"], let pusher = environment["GOOGLE_PUSHER"]
        {
            let transport = try CurlTransport()
            let account = try ServiceAccount(
                keyFile: Secret(bytes: Array(try Data(contentsOf: URL(fileURLWithPath: keyFile))))
            )
            adapters["google"] = try GooglePlayAdapter(
                GooglePlayConfiguration(
                    packageNames: [package],
                    push: .init(audience: audience, serviceAccountEmail: pusher)
                ),
                keys: RemoteKeySource(transport: transport),
                api: PlayDeveloperAPI(
                    transport: transport,
                    tokens: ServiceAccountTokenSource(account, transport: transport, now: { Date() })
                )
            )
        }
        if let authorization = environment["REVENUECAT_AUTHORIZATION"] {
            adapters["revenuecat"] = try RevenueCatAdapter(.init(authorizations: [Secret(authorization)]))
        }
        if let secret = environment["STRIPE_SIGNING_SECRET"] {
            var configuration = StripeAdapter.Configuration(signingSecrets: [Secret(secret)])
            configuration.lookup = try environment["STRIPE_API_KEY"].map {
                .init(transport: try CurlTransport(), apiKey: Secret($0))
            }
            adapters["stripe"] = try StripeAdapter(configuration)
        }
        return adapters
    }
}
