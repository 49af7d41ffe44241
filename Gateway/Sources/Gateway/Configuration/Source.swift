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
    /// The effect of Apple's revoked certificates, by the setting's value.
    enum Revocation: String {
        case off, soft, hard
    }

    let name: String
    let adapter: any ProviderAdapter
    /// The provider's memory of its deliveries; none if it has no memory, or if no key for asking is configured.
    var histories: [any DeliveryHistory]
    /// Asks the provider about single purchases; none without a key for asking.
    var questions: [any LineageQuestions] = []
    /// The App Store Server API of each app.
    var servers: [AppStoreServerClient] = []
    /// The effect of revoked certificates.
    var revocation = Revocation.off
    /// Acknowledges purchases at Google Play; nil for another provider, or if the setting says so.
    var acknowledgements: PlayAcknowledgements?
    /// The subscription that its messages are pulled from; nil if the provider posts them to the hook.
    let pull: PullSettings?
    /// Settings that are allowed and rarely meant, as lines for the log at start.
    var warnings: [String] = []

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
            case "apple": self = try Self.apple(settings)
            case "google": self = try Self.google(settings)
            case "revenuecat": self = try Self.revenuecat(settings)
            case "stripe": self = try Self.stripe(settings)
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
    struct Settings {
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

        func secret(_ setting: String) throws -> SecretBytes? {
            try reader.string(forKey: ConfigKey(setting), isSecret: true).map { try secret($0, setting) }
        }

        /// Secrets that prove deliveries: one that can be guessed gives access away.
        ///
        /// - Parameter prefix: what the provider writes before the part that only it and you know.
        func secrets(_ setting: String, behind prefix: String = "") throws -> [SecretBytes] {
            try reader.stringArray(forKey: ConfigKey(setting), isSecret: true, default: []).map { text in
                let value = try secret(text, setting)
                let unknown = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
                guard unknown.utf8.count >= 16 else {
                    let place = prefix.isEmpty ? "" : " behind \(prefix)"
                    throw error(
                        setting,
                        "must have 16 bytes or more in each secret\(place); in the environment, commas separate secrets"
                    )
                }
                return value
            }
        }

        private func secret(_ text: String, _ setting: String) throws -> SecretBytes {
            guard !GatewayConfiguration.isPlaceholder(text) else {
                throw error(setting, "is the text of the example; set your own")
            }
            return SecretBytes(text)
        }

        /// The network, counted under the source's name.
        func transport() throws -> any HTTPTransportProtocol {
            MeasuredTransport(transport: try CurlHTTPTransport(), source: name)
        }

        func list(_ setting: String) throws -> [String] {
            let values = reader.stringArray(forKey: ConfigKey(setting), default: [])
            guard !values.isEmpty else { throw error(setting, "is missing or empty") }
            return values
        }

        /// The environments that the source takes; nil if the setting is missing.
        func environments() throws -> [StoreEnvironment]? {
            try reader.stringArray(forKey: "environments").map { names in
                let known: [StoreEnvironment] = [.production, .sandbox]
                let environments = names.compactMap { name in known.first { $0.rawValue == name } }
                // Nothing is of an environment with another name, so the source would take nothing.
                guard !names.isEmpty, environments.count == names.count else {
                    throw error("environments", "must be production, sandbox or both")
                }
                return environments
            }
        }

        func file(_ setting: String) throws -> [UInt8] {
            try GatewayConfiguration.file(try required(setting), "source.\(name).\(setting)")
        }
    }

    private static func apple(_ settings: Settings) throws -> Source {
        let identifiers = try settings.list("bundle_ids")
        let appID = settings.reader.int(forKey: "app_apple_id").map(Int64.init)
        let roots = try settings.file("root_certificates_file")
        let isPEM = roots.starts(with: Array("-----BEGIN".utf8))
        let anchors =
            isPEM
            ? try AppleTrustAnchors(pem: String(decoding: roots, as: UTF8.self)) : try AppleTrustAnchors(der: [roots])
        guard let taken = try settings.environments() else { throw settings.error("environments", "is missing") }
        let environments = taken.map { $0 == .production ? AppStoreServerClient.Environment.production : .sandbox }
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
        let revocation = try revocation(settings)
        configuration.revocation = try policy(revocation, settings)
        let adapter = try AppleAdapter(configuration)
        var source = Source(settings.name, adapter.awaitingRevocation)
        source.revocation = revocation
        if environments.contains(.production), Set(identifiers).count > 1 {
            source.warnings.append(
                "app_apple_id is of one of the bundle_ids, and Production data of the others is refused: each released app needs a source of its own"
            )
        }
        guard settings.reader.string(forKey: "key_file") != nil else { return source }
        let key = try AppStoreServerKey(
            issuerID: try settings.required("issuer_id"),
            keyID: try settings.required("key_id"),
            privateKey: SecretBytes(bytes: try settings.file("key_file"))
        )
        let transport = try settings.transport()
        let isReleased = settings.reader.bool(forKey: "is_released", default: true)
        let servers = try identifiers.map { identifier in
            var asking = AppStoreServerClient.Configuration(key: key, bundleID: identifier, environments: environments)
            asking.isReleased = isReleased
            return try AppStoreServerClient(asking, adapter: adapter, transport: transport, now: { Date() })
        }
        let background = servers.map { server in
            var server = server
            server.priority = .background
            return server
        }
        source.histories = background.flatMap { server in environments.map { server.history(in: $0) } }
        source.questions = background
        source.servers = servers
        return source
    }

    private static func revocation(_ settings: Settings) throws -> Revocation {
        guard let revocation = Revocation(rawValue: settings.reader.string(forKey: "revocation", default: "off")) else {
            throw settings.error("revocation", "must be off, soft or hard")
        }
        return revocation
    }

    /// The certificates' issuers are asked over the source's transport.
    private static func policy(_ revocation: Revocation, _ settings: Settings) throws -> AppleRevocation {
        guard revocation != .off else { return .off }
        let checker = try RevocationChecker(transport: try settings.transport(), now: { Date() })
        return revocation == .hard ? .hard(checker) : .soft(checker)
    }

    private static func google(_ settings: Settings) throws -> Source {
        let transport = try settings.transport()
        let account = try ServiceAccount(keyFile: SecretBytes(bytes: try settings.file("service_account_key_file")))
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
            let keys = try RemoteKeySource(transport: transport)
            return google(settings, names: names, adapter: try GooglePlayAdapter(configuration, keys: keys, api: api))
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
        // Reports a wrong name at the start.
        _ = try PullWorker(pull.configuration, transport: transport, tokens: tokens, now: { Date() })
        return google(
            settings,
            names: names,
            adapter: try GooglePlayAdapter(configuration, keys: nil, api: api),
            pull: pull
        )
    }

    private static func google(
        _ settings: Settings,
        names: Set<String>,
        adapter: GooglePlayAdapter,
        pull: PullSettings? = nil
    ) -> Source {
        var source = Source(
            settings.name,
            pull == nil ? adapter : PulledPlayAdapter(adapter: adapter),
            histories: names.sorted().compactMap { adapter.voidedPurchases(of: $0) },
            pull: pull
        )
        source.questions = [adapter]
        if settings.reader.bool(forKey: "acknowledge", default: true) {
            source.acknowledgements = adapter.acknowledgements()
        }
        return source
    }

    private static func revenuecat(_ settings: Settings) throws -> Source {
        var configuration = RevenueCatAdapter.Configuration(
            authorizations: try settings.secrets("authorizations"),
            signingSecrets: try settings.secrets("signing_secrets")
        )
        configuration.environments = try settings.environments().map { Set($0) }
        if let key = try settings.secret("api_key") {
            let project = settings.reader.string(forKey: "project")
            configuration.lookup = try RevenueCatClient(
                transport: settings.transport(),
                apiKey: key,
                api: project.map { .v2(project: $0) } ?? .v1
            )
        }
        var source = Source(settings.name, try RevenueCatAdapter(configuration))
        source.questions = [configuration.lookup].compactMap(\.self)
        return source
    }

    private static func stripe(_ settings: Settings) throws -> Source {
        let configuration = try stripeConfiguration(settings)
        let adapter = try StripeAdapter(configuration)
        var source = Source(settings.name, adapter, histories: [adapter.history()].compactMap(\.self))
        if configuration.lookup != nil { source.questions = [adapter] }
        // Stripe's begin so (<https://docs.stripe.com/webhooks>). A proxy that signs anew may have one of its own.
        let secrets = settings.reader.stringArray(forKey: "signing_secrets", isSecret: true, default: [])
        if !secrets.allSatisfy({ $0.hasPrefix("whsec_") }) {
            source.warnings.append(
                "signing_secrets has a secret without whsec_ at its beginning, so it is not one of Stripe's"
            )
        }
        return source
    }

    static func stripeConfiguration(_ settings: Settings) throws -> StripeAdapter.Configuration {
        var configuration = StripeAdapter.Configuration(
            signingSecrets: try settings.secrets("signing_secrets", behind: "whsec_")
        )
        let completes = settings.reader.bool(forKey: "completes_snapshots")
        if let key = try settings.secret("api_key") {
            configuration.lookup = .init(transport: try settings.transport(), apiKey: key)
            // A key is there to be used, and these events are few: refunds, disputes, sessions of Checkout and schedules.
            configuration.lookup?.completesSnapshots = completes ?? true
        } else if completes == true {
            throw settings.error("completes_snapshots", "needs an api_key to ask with")
        }
        switch settings.reader.string(forKey: "mode") {
        case "live": configuration.mode = .live
        case "test": configuration.mode = .test
        case nil: break
        default: throw settings.error("mode", "must be live or test; leave it out to accept both")
        }
        return configuration
    }
}
