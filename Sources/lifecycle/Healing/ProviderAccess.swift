#if CommandLineTool
import AppStoreServer
import AppleJWS
import ArgumentParser
import CurlTransport
import Foundation
import GooglePubSub
import HTTPTransport
import LoopbackServer
import Normalizer
import ReceiverConfiguration
import RevenueCatEvents
import Stripe
import WireJSON

/// How one provider is asked, as the configuration file of `lifecycle backfill` and its like says.
struct ProviderAccess {
    private static let common: Set<String> = ["trustRootsFile", "emulator"]
    private static let members: [Provider: Set<String>] = [
        .apple: [
            "bundleIds", "appAppleId", "environments", "rootsFile", "issuerId", "keyId", "keyFile", "isReleased",
            "revocation",
        ],
        .google: ["packageNames", "serviceAccountFile", "audience", "pushServiceAccount"],
        .revenuecat: [
            "apiKeyFile", "project", "appStoreFile", "authorizationsFile", "signingSecretsFile", "environments",
        ],
        .stripe: ["apiKeyFile", "livemode", "account", "signingSecretsFile", "completesSnapshots", "policy"],
    ]
    /// The providers that can be asked, in the order in which pages list them.
    static let providers = Provider.adapted.filter { members[$0] != nil }
    /// Their names, as help and errors give the choice.
    static let choice = Provider.choice(of: providers)

    static let help = """
        The configuration is a JSON object:

          apple       bundleIds, appAppleId, environments (production, sandbox), rootsFile (Apple's root certificates, PEM),
                      issuerId, keyId, keyFile (the .p8 file), isReleased (false before the first release),
                      revocation (off by default, soft or hard: if Apple's certificates are checked by OCSP)
          google      packageNames, serviceAccountFile
          revenuecat  apiKeyFile, project (of version 2 of the API), appStoreFile (a configuration of apple: App Store
                      purchases are asked about there)
          stripe      apiKeyFile, livemode, account (a connected one), completesSnapshots (false if the key may not read what
                      events leave out; the journal then knows less than by a webhook that is completed), policy (the choices of your
                      webhook's configuration.policy, such as {"pastDue": "suspends"})
          any         trustRootsFile (PEM certificates to trust instead of the system's),
                      emulator (a port of this host, where a simulator plays the provider)

        Deliveries in quarantine can be taken in again only if the configuration also says how they are proven. That of apple \
        does. A file of secrets has one on each line:

          google      audience, pushServiceAccount (the address of the account that signs Pub/Sub's requests)
          revenuecat  authorizationsFile and signingSecretsFile, or the one that you use; environments (production, sandbox)
          stripe      signingSecretsFile
        """

    let provider: Provider
    private(set) var histories: [any DeliveryHistory] = []
    private(set) var questions: [any LineageQuestions] = []
    /// Takes deliveries in again; nil if the configuration does not say how they are proven.
    private(set) var adapter: (any ProviderAdapter)?
    /// The purchases that the provider lists itself.
    private(set) var purchases: (any PurchaseList)?
    /// Reads the provider's list of products into a catalogue; nil if it has none.
    private(set) var products: (@Sendable (ProductCatalog) async throws(DeliveryError) -> ReadProducts)?
    /// The apps, in the provider's words.
    private(set) var apps: [String] = []
    /// Checks the credentials, and gives advice.
    private(set) var check: @Sendable () async -> [Finding] = { [] }
    private let transport: CurlHTTPTransport
    /// The App Store's own API behind a relay, if it is configured.
    private var appStore: [ProviderAccess] = []

    /// The outcome of a check of the credentials.
    struct Finding: Encodable {
        var name: String
        var isPassed: Bool
        var advice: String

        private enum CodingKeys: String, CodingKey {
            case name, advice
            case isPassed = "is_passed"
        }
    }

    /// - Throws: `ValidationError` for a file that is not a configuration, also for an unknown member.
    init(_ provider: Provider, path: String) throws(ValidationError) {
        do {
            let reader = try ObjectReader(parsing: contents(of: path))
            guard let members = Self.members[provider] else {
                throw ValidationError("--provider must be \(Self.choice)")
            }
            try reader.refuseMembers(otherThan: members.union(Self.common))
            try self.init(provider, reader)
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("\(path): \(error)")
        }
    }

    private init(_ provider: Provider, _ reader: ObjectReader) throws {
        self.provider = provider
        let roots: CurlHTTPTransport.Configuration.TrustRoots =
            try reader.optionalString("trustRootsFile").map { path in
                _ = try contents(of: path)
                return .file(path: path)
            } ?? .system
        transport = try CurlHTTPTransport(.init(trustRoots: roots))
        let port = try reader.optionalInt64("emulator").map { Int(clamping: $0) }
        let redirected: any HTTPTransportProtocol = port.map { RedirectedTransport(transport, to: $0) } ?? transport
        switch provider {
        case .apple: try apple(reader, redirected)
        case .google: try google(reader, port: port)
        case .revenuecat: try revenueCat(reader, redirected)
        case .stripe: try stripe(reader, redirected)
        default: throw ValidationError("--provider must be \(Self.choice)")
        }
    }

    /// Without white space at an end, which editors put there.
    private static func secret(_ reader: ObjectReader, _ name: MemberName) throws -> SecretBytes {
        let text = String(decoding: try contents(of: reader.string(name)), as: UTF8.self)
        return SecretBytes(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// One on each line; nil if no file is named.
    private static func secrets(_ reader: ObjectReader, _ name: MemberName) throws -> [SecretBytes]? {
        guard let path = try reader.optionalString(name) else { return nil }
        let text = String(decoding: try contents(of: path), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
            .map { SecretBytes($0) }
    }

    private static func environments(_ names: [String]) throws -> [StoreEnvironment] {
        let known: [StoreEnvironment] = [.production, .sandbox]
        let environments = names.compactMap { name in known.first { $0.rawValue == name } }
        // Nothing is of an environment with another name.
        guard !names.isEmpty, environments.count == names.count else {
            throw ValidationError("environments must be production, sandbox or both")
        }
        return environments
    }

    /// Asks the provider, and ends the connections however that ends: libcrypto is taken down with the process, and a connection
    /// that is closed at the same time would abort it.
    func use(_ body: (ProviderAccess) async throws -> Void) async throws {
        do { try await body(self) } catch {
            await close()
            throw error
        }
        await close()
    }

    private func close() async {
        for access in appStore { await access.close() }
        await transport.shutdown()
    }

    // MARK: Providers

    private mutating func apple(_ reader: ObjectReader, _ transport: any HTTPTransportProtocol) throws {
        let identifiers = try reader.strings("bundleIds")
        let environments = try Self.environments(reader.strings("environments"))
            .map { $0 == .production ? AppStoreServerClient.Environment.production : .sandbox }
        let roots = String(decoding: try contents(of: reader.string("rootsFile")), as: UTF8.self)
        let appID = try reader.optionalInt64("appAppleId")
        var configuration = AppleAdapter.Configuration(
            apps: identifiers.map { .init(bundleID: $0, appAppleID: appID) },
            environments: Set(environments.map { $0 == .production ? .production : .sandbox }),
            trustAnchors: try AppleTrustAnchors(pem: roots)
        )
        // Notifications in the history are of any age.
        configuration.maximumAge = nil
        configuration.revocation = try Self.revocation(reader, transport)
        let adapter = try AppleAdapter(configuration)
        let key = try AppStoreServerKey(
            issuerID: try reader.string("issuerId"),
            keyID: try reader.string("keyId"),
            privateKey: SecretBytes(bytes: try contents(of: reader.string("keyFile")))
        )
        let isReleased = try reader.optionalBool("isReleased") ?? true
        let servers = try identifiers.map { identifier in
            var asking = AppStoreServerClient.Configuration(key: key, bundleID: identifier, environments: environments)
            asking.isReleased = isReleased
            var server = try AppStoreServerClient(asking, adapter: adapter, transport: transport, now: { Date() })
            server.priority = .background
            return server
        }
        self.adapter = adapter.awaitingRevocation
        apps = identifiers
        questions = servers
        histories = servers.flatMap { server in environments.map { server.history(in: $0) } }
        check = {
            var findings: [Finding] = []
            for server in servers {
                for result in await server.preflight().results {
                    findings.append(
                        Finding(
                            name: "apple/\(server.configuration.bundleID)/\(result.environment)",
                            isPassed: ![.refused, .unavailable].contains(result.finding),
                            advice: "\(result.finding): \(result.advice)"
                        )
                    )
                }
            }
            return findings
        }
    }

    private static func revocation(
        _ reader: ObjectReader,
        _ transport: any HTTPTransportProtocol
    ) throws -> AppleRevocation {
        let policy = try reader.optionalString("revocation") ?? "off"
        guard policy != "off" else { return .off }
        let checker = try RevocationChecker(transport: transport, now: { Date() })
        switch policy {
        case "soft": return .soft(checker)
        case "hard": return .hard(checker)
        default: throw ValidationError("revocation must be off, soft or hard")
        }
    }

    private mutating func google(_ reader: ObjectReader, port: Int?) throws {
        let names = try reader.strings("packageNames")
        let account = try ServiceAccount(
            keyFile: SecretBytes(bytes: try contents(of: reader.string("serviceAccountFile")))
        )
        let base = try port.map { try HTTPSURL(host: "localhost", port: $0) }
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: try ServiceAccountTokenSource(
                account,
                scopes: [.androidPublisher],
                transport: transport,
                tokenURL: try port.map { try HTTPSURL(host: "localhost", port: $0, path: ["token"]) },
                now: { Date() }
            ),
            base: base
        )
        let configuration = GooglePlayAdapter.Configuration(packageNames: Set(names), subscriptions: [], push: nil)
        let adapter = try GooglePlayAdapter(configuration, keys: nil, api: api)
        if reader.optionalValue("audience") != nil || reader.optionalValue("pushServiceAccount") != nil {
            let push = GooglePlayAdapter.Configuration.Push(
                audience: try reader.string("audience"),
                serviceAccountEmail: try reader.string("pushServiceAccount")
            )
            self.adapter = try GooglePlayAdapter(
                GooglePlayAdapter.Configuration(packageNames: Set(names), push: push),
                keys: try RemoteKeySource(
                    url: try port.map { try HTTPSURL(host: "localhost", port: $0, path: ["oauth2", "v3", "certs"]) },
                    transport: transport
                ),
                api: api
            )
        }
        apps = names
        questions = [adapter]
        histories = names.compactMap { adapter.voidedPurchases(of: $0) }
        products = { (known) async throws(DeliveryError) in
            var read = ReadProducts(catalog: known)
            for name in names {
                let part = try await adapter.catalogue(of: name, updating: read.catalog)
                read.catalog = part.catalog
                read.unreadable += part.unreadable
            }
            return read
        }
        check = {
            var findings: [Finding] = []
            for name in names {
                var query = VoidedPurchasesQuery()
                query.pageSize = 1
                let answer = await api.voidedPurchases(packageName: name, query)
                let advice =
                    switch answer.outcome {
                    case .found: "nothing to do"
                    case .denied:
                        "invite the service account in the Play Console, with the right to view financial data"
                    case .notFound, .gone, .invalid: "check the package name"
                    default: "Google could not be asked: \(answer.reason ?? "status \(answer.status)")"
                    }
                findings.append(Finding(name: "google/\(name)", isPassed: answer.outcome == .found, advice: advice))
            }
            return findings
        }
    }

    private mutating func revenueCat(_ reader: ObjectReader, _ transport: any HTTPTransportProtocol) throws {
        let project = try reader.optionalString("project")
        let client = try RevenueCatClient(
            transport: transport,
            apiKey: try Self.secret(reader, "apiKeyFile"),
            api: project.map { .v2(project: $0) } ?? .v1
        )
        if let path = try reader.optionalString("appStoreFile") { appStore = [try ProviderAccess(.apple, path: path)] }
        questions = appStore.flatMap(\.questions) + [client]
        purchases = client.purchases(askingAppStore: !appStore.isEmpty)
        let authorizations = try Self.secrets(reader, "authorizationsFile")
        let signingSecrets = try Self.secrets(reader, "signingSecretsFile")
        if authorizations != nil || signingSecrets != nil {
            var configuration = RevenueCatAdapter.Configuration(
                authorizations: authorizations ?? [],
                signingSecrets: signingSecrets ?? []
            )
            configuration.environments = try reader.optionalStrings("environments")
                .map { Set(try Self.environments($0)) }
            configuration.lookup = client
            adapter = try RevenueCatAdapter(configuration)
        }
        check = {
            let name = "revenuecat" + (project.map { "/\($0)" } ?? "")
            guard project != nil else {
                let advice = "version 1 of the API cannot be checked: every question about a customer makes one"
                return [Finding(name: name, isPassed: true, advice: advice)]
            }
            do throws(DeliveryError) {
                _ = try await client.subscriptions(withTransaction: "preflight")
                return [Finding(name: name, isPassed: true, advice: "nothing to do")]
            } catch {
                return [Finding(name: name, isPassed: false, advice: "check key and project: \(error)")]
            }
        }
    }

    private mutating func stripe(_ reader: ObjectReader, _ transport: any HTTPTransportProtocol) throws {
        let signingSecrets = try Self.secrets(reader, "signingSecretsFile")
        // To ask, no signature has to hold.
        var configuration = StripeAdapter.Configuration(
            signingSecrets: signingSecrets ?? [SecretBytes(UUID().uuidString)]
        )
        var lookup = StripeAdapter.Lookup(transport: transport, apiKey: try Self.secret(reader, "apiKeyFile"))
        lookup.completesSnapshots = try reader.optionalBool("completesSnapshots") ?? true
        configuration.lookup = lookup
        if let isLive = try reader.optionalBool("livemode") { configuration.mode = isLive ? .live : .test }
        configuration.policy = try StripeAdapter.Policy(reader.optionalValue("policy"))
        let account = try reader.optionalString("account")
        // One adapter for all: a history has to say what the webhook says.
        let adapter = try StripeAdapter(configuration)
        if signingSecrets != nil { self.adapter = adapter }
        questions = [adapter]
        purchases = adapter.subscriptions(of: account)
        let history = adapter.history(of: account)
        histories = [history].compactMap(\.self)
        check = {
            let present = Date()
            do throws(DeliveryError) {
                _ = try await history?.page(of: present.addingTimeInterval(-60)..<present, at: nil)
                return [Finding(name: "stripe", isPassed: true, advice: "nothing to do")]
            } catch {
                let advice = error.code == .denied ? "give the key the right to read events" : "\(error)"
                return [Finding(name: "stripe", isPassed: false, advice: advice)]
            }
        }
    }
}
#endif
