import AppStoreServer
import AppleJWS
import Configuration
import CurlTransport
import Foundation
import GooglePubSub
import HTTPTransport
package import Normalizer
import RevenueCatEvents
import Stripe

/// One app, environment or account of a provider, with an address of its own: `/hooks/<name>`.
package struct Source: Sendable {
    let name: String
    let adapter: any ProviderAdapter
    /// Where the provider remembers what it has sent; none if it does not, or no key for asking is configured.
    let histories: [any DeliveryHistory]
    /// Where its messages are pulled from; nil if the provider posts them to the hook.
    let pull: PullSettings?

    package init(_ name: String, _ adapter: any ProviderAdapter) { self.init(name, adapter, histories: []) }

    init(
        _ name: String,
        _ adapter: any ProviderAdapter,
        histories: [any DeliveryHistory] = [],
        pull: PullSettings? = nil
    ) {
        (self.name, self.adapter, self.histories, self.pull) = (name, adapter, histories, pull)
    }

    init(_ name: String, _ reader: ConfigReader) throws {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isPlain) else {
            throw SettingError(
                "sources",
                "a name must be made of letters, digits, - and _, since it is part of an address"
            )
        }
        let settings = Settings(reader, of: name)
        let provider = try settings.required("provider")
        do {
            switch provider {
            case "apple":
                let (adapter, histories) = try Self.apple(settings)
                self.init(name, adapter, histories: histories)
            case "google":
                let (adapter, pull) = try Self.google(settings)
                self.init(name, adapter, pull: pull)
            case "revenuecat": self.init(name, try Self.revenuecat(settings))
            case "stripe":
                let stripe = try Self.stripe(settings)
                self.init(name, stripe, histories: [stripe.history()].compactMap(\.self))
            default: throw settings.error("provider", "must be apple, google, revenuecat or stripe")
            }
        } catch let error as ConfigurationError {
            throw SettingError("source.\(name)", error.message)
        }
    }

    private static func isPlain(_ octet: UInt8) -> Bool {
        (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
            || octet == UInt8(ascii: "-") || octet == UInt8(ascii: "_")
    }

    /// The settings of one source, with errors that name them whole.
    private struct Settings {
        let reader: ConfigReader
        let name: String

        init(_ reader: ConfigReader, of name: String) {
            self.reader = reader
            self.name = name
        }

        func error(_ setting: String, _ message: String) -> SettingError {
            SettingError("source.\(name).\(setting)", message)
        }

        func required(_ setting: String, isSecret: Bool = false) throws -> String {
            guard let value = reader.string(forKey: ConfigKey(setting), isSecret: isSecret), !value.isEmpty else {
                throw error(setting, "is missing")
            }
            return value
        }

        func secret(_ setting: String) -> Secret? {
            reader.string(forKey: ConfigKey(setting), isSecret: true).map { Secret($0) }
        }

        func secrets(_ setting: String) -> [Secret] {
            reader.stringArray(forKey: ConfigKey(setting), isSecret: true, default: []).map { Secret($0) }
        }

        func list(_ setting: String) throws -> [String] {
            let values = reader.stringArray(forKey: ConfigKey(setting), default: [])
            guard !values.isEmpty else { throw error(setting, "is missing or empty") }
            return values
        }

        func file(_ setting: String) throws -> [UInt8] {
            try GatewayConfiguration.file(try required(setting), "source.\(name).\(setting)")
        }
    }

    private static func apple(_ settings: Settings) throws -> (AppleAdapter, [any DeliveryHistory]) {
        let identifiers = try settings.list("bundle_ids")
        let appID = settings.reader.int(forKey: "app_apple_id").map(Int64.init)
        let roots = try settings.file("root_certificates_file")
        let isPEM = roots.starts(with: Array("-----BEGIN".utf8))
        let anchors =
            isPEM
            ? try AppleTrustAnchors(pem: String(decoding: roots, as: UTF8.self)) : try AppleTrustAnchors(der: [roots])
        let environments = try settings.list("environments").map { name -> AppStoreServer.Environment in
            switch name {
            case "production": .production
            case "sandbox": .sandbox
            default: throw settings.error("environments", "must be production, sandbox or both")
            }
        }
        var configuration = AppleAdapter.Configuration(
            apps: identifiers.map { .init(bundleID: $0, appAppleID: appID) },
            environments: Set(environments.map { $0 == .production ? .production : .sandbox }),
            trustAnchors: anchors
        )
        if let days = settings.reader.int(forKey: "maximum_age_days") {
            guard (0...3650).contains(days) else {
                throw settings.error("maximum_age_days", "must be 1 to 3650, or 0 for any age")
            }
            configuration.maximumAge = days == 0 ? nil : .seconds(days * 86_400)
        }
        let adapter = try AppleAdapter(configuration)
        guard settings.reader.string(forKey: "key_file") != nil else { return (adapter, []) }
        let key = try AppStoreServerKey(
            issuerID: try settings.required("issuer_id"),
            keyID: try settings.required("key_id"),
            privateKey: Secret(bytes: try settings.file("key_file"))
        )
        let transport = try CurlTransport()
        let histories = try identifiers.flatMap { identifier in
            var server = try AppStoreServer(
                .init(key: key, bundleID: identifier, environments: environments),
                adapter: adapter,
                transport: transport,
                now: { Date() }
            )
            server.priority = .background
            return environments.map { server.history(in: $0) }
        }
        return (adapter, histories)
    }

    private static func google(_ settings: Settings) throws -> (any ProviderAdapter, PullSettings?) {
        let transport = try CurlTransport()
        let account = try ServiceAccount(keyFile: Secret(bytes: try settings.file("service_account_key_file")))
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: ServiceAccountTokenSource(account, transport: transport, now: { Date() })
        )
        let names = Set(try settings.list("package_names"))
        guard let subscription = settings.reader.string(forKey: "pull_subscription") else {
            let push = GooglePlayAdapter.Configuration.Push(
                audience: try settings.required("audience"),
                serviceAccountEmail: try settings.required("push_service_account")
            )
            let configuration = GooglePlayAdapter.Configuration(packageNames: names, push: push)
            return (try GooglePlayAdapter(configuration, keys: RemoteKeySource(transport: transport), api: api), nil)
        }
        let configuration = GooglePlayAdapter.Configuration(
            packageNames: names,
            subscriptions: [subscription],
            push: nil
        )
        let tokens = try ServiceAccountTokenSource(account, scopes: [.pubSub], transport: transport, now: { Date() })
        let pull = PullSettings(
            configuration: PullWorker.Configuration(subscription: subscription),
            transport: transport,
            tokens: tokens
        )
        // Says at the start what is wrong with the name.
        _ = try PullWorker(pull.configuration, transport: transport, tokens: tokens, now: { Date() })
        return (PulledPlayAdapter(adapter: try GooglePlayAdapter(configuration, keys: nil, api: api)), pull)
    }

    private static func revenuecat(_ settings: Settings) throws -> any ProviderAdapter {
        var configuration = RevenueCatAdapter.Configuration(
            authorizations: settings.secrets("authorizations"),
            signingSecrets: settings.secrets("signing_secrets")
        )
        if let environments = settings.reader.stringArray(forKey: "environments") {
            configuration.environments = Set(environments.map { StoreEnvironment(rawValue: $0) })
        }
        if let key = settings.secret("api_key") {
            let project = settings.reader.string(forKey: "project")
            configuration.lookup = try RevenueCatClient(
                transport: CurlTransport(),
                apiKey: key,
                api: project.map { .v2(project: $0) } ?? .v1
            )
        }
        return try RevenueCatAdapter(configuration)
    }

    private static func stripe(_ settings: Settings) throws -> StripeAdapter {
        var configuration = StripeAdapter.Configuration(signingSecrets: settings.secrets("signing_secrets"))
        if let key = settings.secret("api_key") {
            configuration.lookup = .init(transport: try CurlTransport(), apiKey: key)
        }
        switch settings.reader.string(forKey: "mode") {
        case "live": configuration.mode = .live
        case "test": configuration.mode = .test
        case nil: break
        default: throw settings.error("mode", "must be live or test; leave it out to accept both")
        }
        return try StripeAdapter(configuration)
    }
}
