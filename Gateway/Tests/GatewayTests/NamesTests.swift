import Configuration
import Foundation
@testable import Gateway
import HTTPTransport
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import Testing

@Suite("Names in requests and settings") struct NamesTests {
    @Test(
        "that are unknown or missing are refused with the known ones, and not answered as no access",
        arguments: [
            "/v1/access?account=42&source=appel", "/v1/subscriptions?account=42&source=App_user_id",
            "/v1/explain?account=42&source=", "/v1/credits?account=42&source=apple",
            "/v1/accounts/export?account=42&source=user_id", "/v1/access?account=42",
        ]
    )
    func source(uri: String) async throws {
        let gateway = try await Bench().gateway()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.get(uri, Bench.adminToken)
            #expect(answer.status == .badRequest)
            for source in Account.Source.known { #expect(answer.text.contains(source.rawValue)) }
        }
    }

    @Test(
        "an unknown environment or parameter is refused with the known ones, too",
        arguments: [
            ("environment=prod", "production, sandbox"), ("souce=app_user_id", "account, at, environment, source"),
        ]
    )
    func parameter(query: String, names: String) async throws {
        let gateway = try await Bench().gateway()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.get("/v1/access?account=42&source=app_user_id&\(query)")
            #expect(answer.status == .badRequest)
            #expect(answer.text.contains(names))
        }
    }

    @Test(
        "a time is a date, or a date and a time, in UTC without an offset",
        arguments: [
            ("2026-01-31", 0), ("2026-01-31T10:00:00Z", 36_000), ("2026-01-31 10:00", 36_000),
            ("2026-01-31T10:00", 36_000),
            ("2026-01-31T10:00:00.500Z", 36_000.5), ("2026-01-31T10:00:00+02:00", 28_800), ("2026-01-32", nil),
            ("31.1.2026", nil),
            ("2026-01-31T25:00", nil), ("", nil),
        ] as [(String, Double?)]
    )
    func time(text: String, seconds: Double?) {
        #expect(Question.time(text)?.timeIntervalSince1970 == seconds.map { 1_769_817_600 + $0 })
    }

    @Test(
        "in bodies",
        arguments: [
            ("/v1/claims", #"{"subscription":"app_store/production/1","account":"42","account_source":"appel"}"#),
            ("/v1/claims", #"{"subscription":"app_store/production/1","account":"42"}"#),
            ("/v1/uploads/apple", #"{"account":"42","signed_transaction":"x"}"#),
            ("/v1/credits/uses", #"{"id":"1","credits":1,"account":"42"}"#),
            ("/v1/uploads/apple", #"{"account":"42","account_source":"appel","signed_transaction":"x"}"#),
            ("/v1/credits/uses", #"{"id":"1","credits":1,"account":"42","account_source":"appel"}"#),
        ]
    )
    func body(uri: String, body: String) async throws {
        let gateway = try await Bench().gateway()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.post(uri, body)
            #expect(answer.status == .badRequest)
            #expect(answer.text.contains("app_account_token"))
        }
    }

    /// In queries the source of an account is `source`.
    @Test(
        "a member of a body that is not known is refused with the known ones",
        arguments: [
            ("/v1/claims", #"{"subscription":"app_store/production/1","account":"42","account_source":"x","at":1}"#),
            ("/v1/uploads/apple", #"{"account":"42","source":"app_user_id","signed_transaction":"x"}"#),
            ("/v1/credits/uses", #"{"id":"1","credits":1,"account":"42","source":"app_user_id"}"#),
            ("/v1/credits/uses", #"{"id":"1","credits":1,"account":"42","at":"2026-01-31"}"#),
        ]
    )
    func members(uri: String, body: String) async throws {
        let gateway = try await Bench().gateway()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.post(uri, body)
            #expect(answer.status == .badRequest)
            #expect(answer.text.contains("the members are account, account_source"))
        }
    }

    @Test(
        "a body that cannot be read is refused with the member and the type that it must have",
        arguments: [
            (
                #"{"id":"1","credits":"3","account":"42","account_source":"app_user_id"}"#,
                "credits must be a whole number"
            ),
            (
                #"{"id":"1","credits":1.5,"account":"42","account_source":"app_user_id"}"#,
                "credits must be a whole number"
            ),
            (#"{"id":1,"credits":3,"account":"42","account_source":"app_user_id"}"#, "id must be a text"),
            (#"{"id":"1","account":"42","account_source":"app_user_id"}"#, "credits is missing"),
            (
                #"{"id":"1","credits":0,"account":"42","account_source":"app_user_id","credits":5}"#,
                "the body is not JSON, or has a member twice"
            ),
            ("", "the body is not JSON, or has a member twice"), ("{", "the body is not JSON, or has a member twice"),
            ("[]", "the body must be an object"), ("null", "the body is missing"),
        ]
    )
    func unreadable(body: String, message: String) async throws {
        let gateway = try await Bench().gateway()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.post("/v1/credits/uses", body)
            #expect(answer.status == .badRequest)
            #expect(answer.text == #"{"error":{"message":"\#(message)"}}"#)
        }
    }

    @Test("an upload that needs a key for asking is refused for good without one, and names the setting")
    func keylessUpload() async throws {
        let gateway = try await Bench().gateway()
        try await RouterClient.with(gateway.router) { client in
            let answer = try await client.post("/v1/uploads/shop", #"{"checkout_session":"cs_test_1"}"#)
            #expect(answer.status == .unprocessableContent)
            #expect(answer.text.contains("source.shop.api_key"))
        }
    }

    @Test(
        "the texts of the example are no secrets",
        arguments: [
            ("token.reader.secret", false), ("source.shop.signing_secrets", true), ("source.shop.api_key", false),
        ],
        ["set SOME_VARIABLE_OF_YOURS", "whsec_…"]
    )
    func placeholders(place: (setting: String, isList: Bool), text: String) throws {
        let bench = try Bench()
        let (setting, isList) = place
        let value = ConfigValue(isList ? .stringArray([text]) : .string(text), isSecret: true)
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(bench.settings([setting: value])) }
        #expect(error?.setting == setting)
    }

    @Test(
        "warns of a secret that is not one of Stripe's",
        arguments: [("whsec_gateway0123456789", 0), ("nosecretofstripes", 1)]
    )
    func foreignSecret(secret: String, warnings: Int) throws {
        let value = ConfigValue(.stringArray(["whsec_gateway0123456789", secret]), isSecret: true)
        let configuration = try GatewayConfiguration(Bench().settings(["source.shop.signing_secrets": value]))
        #expect(configuration.warnings.count == warnings)
        #expect(!configuration.warnings.joined().contains(secret))
    }

    @Test(
        "warns of a second app beside an App Store id in Production, where only one of them is known",
        arguments: [(["production", "sandbox"], 1), (["sandbox"], 0)]
    )
    func secondApp(environments: [String], warnings: Int) throws {
        let bench = try Bench()
        let settings = bench.settings([
            "source.apple.bundle_ids": .init(.stringArray(["com.example.app", "com.example.dev"]), isSecret: false),
            "source.apple.environments": .init(.stringArray(environments), isSecret: false),
        ])
        #expect(try GatewayConfiguration(settings).warnings.count == warnings)
    }

    private static let openSSL = "/usr/bin/openssl"

    @Test(
        "Google Play's purchases are acknowledged with a sealing key, unless the setting says no",
        .enabled(if: FileManager.default.isExecutableFile(atPath: openSSL), "openssl is not installed")
    )
    func acknowledgements() throws {
        let bench = try Bench()
        let pem = bench.folder.appending(path: "key.pem")
        let process = try Process.run(
            URL(fileURLWithPath: Self.openSSL),
            arguments: ["genpkey", "-quiet", "-algorithm", "RSA", "-out", pem.path]
        )
        process.waitUntilExit()
        let account = [
            "type": "service_account", "project_id": "example", "private_key_id": "1",
            "private_key": try String(contentsOf: pem, encoding: .utf8),
            "client_email": "play@example.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
        ]
        let file = bench.folder.appending(path: "play.json")
        try JSONSerialization.data(withJSONObject: account).write(to: file)
        func configuration(_ changes: [String: ConfigValue?]) throws -> GatewayConfiguration {
            let play: [String: ConfigValue?] = [
                "sources": .init(.stringArray(["play"]), isSecret: false),
                "source.play.provider": "google",
                "source.play.package_names": .init(.stringArray(["com.example.app"]), isSecret: false),
                "source.play.pull_subscription": "projects/example/subscriptions/play",
                "source.play.service_account_key_file": .init(.string(file.path), isSecret: false),
            ]
            return try GatewayConfiguration(bench.settings(play.merging(changes) { $1 }))
        }
        let key: [String: ConfigValue?] = [
            "sealing_key": .init(.string("9f0c1d6b5a4e38271605f4e3d2c1b0a9"), isSecret: true)
        ]
        let sealed = try configuration(key)
        let source = try #require(sealed.sources.first)
        #expect(source.histories.map(\.name) == ["google/com.example.app/voided"])
        #expect(source.questions.map(\.provider) == [.google])
        #expect(source.acknowledgements != nil)
        #expect(sealed.summary.contains("source play: purchases are acknowledged"))
        #expect(try configuration([:]).summary.contains { $0.hasPrefix("source play: without sealing_key") })
        let off: [String: ConfigValue?] = ["source.play.acknowledge": .init(.bool(false), isSecret: false)]
        #expect(try configuration(key.merging(off) { $1 }).sources.first?.acknowledgements == nil)
    }

    @Test("a token has scopes, and known ones", arguments: [[], ["read", "wirte"]])
    func scopes(names: [String]) throws {
        let scopes: [String: ConfigValue?] = ["token.reader.scopes": .init(.stringArray(names), isSecret: false)]
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(Bench().settings(scopes)) }
        #expect(error?.setting == "token.reader.scopes")
    }

    @Test("questions about refunds need Apple's key")
    func refunds() throws {
        let bench = try Bench()
        let changes: [String: ConfigValue?] = [
            "refunds.url": "https://backend.example.com/refunds",
            "refunds.secret": .init(.string(NewsTests.secret), isSecret: true),
        ]
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(bench.settings(changes)) }
        #expect(error?.setting == "refunds.url")
    }

    @Test("a database that cannot be used is a 503 that says when to come again")
    func database() async throws {
        let router = Router()
        router.add(middleware: FailureMiddleware())
        router.get("v1/access") { _, _ -> String in throw JournalError(.unavailable, "busy") }
        router.get("v1/broken") { _, _ -> String in throw JournalError(.corrupt, "a row") }
        try await RouterClient.with(router) { client in
            let answer = try await client.get("/v1/access")
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.headers[.retryAfter] == "5")
            #expect(try await client.get("/v1/broken").status == .internalServerError)
            #expect(try await client.get("/v1/none").status == .notFound)
        }
    }

    @Test("counts questions to providers by source and result")
    func lookups() async throws {
        let stub = StubTransport()
        stub.on(.any, times: 1, fail: .timeout)
        stub.on(.any, respond: HTTPTransportResponse(status: 429))
        let registry = PrometheusRegistry()
        let transport = MeasuredTransport(transport: stub, source: "shop", factory: registry)
        let request = try HTTPTransportRequest(.get, try HTTPSURL("https://api.example.com/"))
        _ = try? await transport.send(request)
        _ = try await transport.send(request)
        #expect(registry.text.contains(#"lifecycle_lookups_total{source="shop",result="timeout"} 1"#))
        #expect(registry.text.contains(#"lifecycle_lookups_total{source="shop",result="429"} 1"#))
        #expect(registry.text.contains(#"lifecycle_lookup_seconds_count{source="shop"} 2"#))
    }
}

@Suite("A file of settings") struct SettingsFileTests {
    private func load(
        _ json: String,
        _ variables: [String: String] = [:]
    ) async throws -> (GatewayConfiguration, unread: [String]) {
        let bench = try Bench()
        let path = bench.folder.appending(path: "gateway.json").path
        try Data(json.utf8).write(to: URL(fileURLWithPath: path))
        var unread: [String] = []
        let configuration = try await GatewayConfiguration.load(
            file: path,
            environment: [
                "DATABASE_URL": "sqlite:\(bench.folder.path)/gateway.sqlite", "SOURCES": "shop,other",
                "SOURCE_SHOP_SIGNING_SECRETS": "whsec_one-0123456789ab,whsec_two-0123456789ab",
                "TOKEN_READER_SECRET": Bench.readToken,
            ]
            .merging(variables) { $1 }
        ) { unread.append($0) }
        return (configuration, unread)
    }

    private static let sources = """
        "source": {"shop": {"provider": "stripe", "mdoe": "live"}, "other": {"provider": "stripe", "signing_secrets": ["whsec_three-0123456789"]}}
        """

    @Test("an error names the variable that was looked for")
    func variable() async throws {
        let sources = #""sources": ["rcProd"], "source": {"rcProd": {}}"#
        let error = await #expect(throws: SettingError.self) {
            _ = try await load("{\(sources)}", ["SOURCES": "rcProd", "SOURCE_RCPROD_PROVIDER": "revenuecat"])
        }
        #expect(error?.description == "source.rcProd.provider (SOURCE_RC_PROD_PROVIDER): is missing")
    }

    @Test("is read next to the environment, and what nothing reads is reported")
    func unread() async throws {
        let (configuration, unread) = try await load(
            #"{"tokens": ["reader"], "workers": 3, "news": {"ulr": "https://example.com"}, \#(Self.sources)}"#
        )
        #expect(configuration.workers == 3)
        #expect(configuration.sources.map(\.name) == ["shop", "other"])
        #expect(unread == ["news.ulr", "source.shop.mdoe"])
    }

    @Test("is checked for misspelled members as the variables of the environment are")
    func unreadVariables() async throws {
        let (_, unread) = try await load(
            #"{"tokens": ["reader"], \#(Self.sources)}"#,
            [
                "HTTP_PROT": "1", "RECONCILE_MINUTE": "1", "SEALING_KEYFILE": "x", "SOURCE_SHOP_MODE": "live",
                "SOURCE_SHOP_SIGNING_SECRET": "x", "SOURCE_NONE_API_KEY": "x", "TOKEN_READER_SECRETS": "x",
                // Set for other programs, and none of the gateway's.
                "HTTP_PROXY": "http://proxy:3128", "PATH": "/bin", "SOURCELESS": "x",
            ]
        )
        #expect(
            unread == [
                "HTTP_PROT", "RECONCILE_MINUTE", "SEALING_KEYFILE", "SOURCE_NONE_API_KEY", "SOURCE_SHOP_SIGNING_SECRET",
                "TOKEN_READER_SECRETS", "source.shop.mdoe",
            ]
        )
    }

    @Test(
        "stops the start with names of sources or tokens that would share a variable",
        arguments: [
            ("shop-eu", "shop_eu", "shares its variable with source.shop_eu.api_key: "),
            ("shopEu", "shop-eu", "shares its variable with source.shopEu.api_key: "),
        ]
    )
    func shared(first: String, second: String, problem: String) async throws {
        let source = #"{"provider": "stripe", "signing_secrets": ["whsec_three-0123456789"]}"#
        let error = await #expect(throws: SettingError.self) {
            try await load(
                #"{"tokens": ["reader"], "source": {"\#(first)": \#(source), "\#(second)": \#(source)}}"#,
                ["SOURCES": "\(first),\(second)", "SOURCE_SHOP_EU_API_KEY": "rk_live_one"]
            )
        }
        let message = "source.shop-eu.api_key (SOURCE_SHOP_EU_API_KEY): \(problem)"
        #expect(error?.description.hasPrefix(message) == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test("takes names that would share a variable which is not set, since the file tells them apart")
    func apart() async throws {
        func source(_ secret: String) -> String {
            #"{"provider": "stripe", "signing_secrets": ["whsec_\#(secret)-0123456789"]}"#
        }
        let (configuration, _) = try await load(
            #"{"tokens": ["reader"], "source": {"shop-eu": \#(source("three")), "shop_eu": \#(source("seven"))}}"#,
            ["SOURCES": "shop-eu,shop_eu"]
        )
        #expect(configuration.sources.map(\.name) == ["shop-eu", "shop_eu"])
    }

    @Test(
        "stops the start with a value of another type, which would read as absent",
        arguments: [
            (
                #""hooks": {"answer_at_once": "no"}"#,
                "hooks.answer_at_once (HOOKS_ANSWER_AT_ONCE): must be true or false"
            ),
            (#""workers": "two""#, "workers (WORKERS): must be a whole number"),
            (#""news": {"url": 5}"#, "news.url (NEWS_URL): must be a text"),
            // With the default in its place, the number of workers would be wrong.
            (
                #""workers": 0, "hooks": {"answer_at_once": "no"}"#,
                "hooks.answer_at_once (HOOKS_ANSWER_AT_ONCE): must be true or false"
            ),
        ]
    )
    func type(member: String, message: String) async throws {
        let error = await #expect(throws: SettingError.self) {
            try await load(#"{"tokens": ["reader"], \#(member), \#(Self.sources)}"#)
        }
        #expect(error.map { "\($0)" } == message)
    }

    @Test(
        "that is no JSON, has a member twice, or is missing is an error that names it",
        arguments: [
            ("", "is not a JSON object"), ("[]", "is not a JSON object"), ("{", "is not a JSON object"),
            (#"{"tokens": ["reader"], "workers": 1, "workers": 2}"#, "has a member twice, or is not UTF-8"),
            // Behind a byte order mark, too.
            ("\u{FEFF}" + #"{"a": {"b": 1, "b": 1}}"#, "has a member twice, or is not UTF-8"),
        ]
    )
    func noObject(text: String, message: String) async throws {
        let error = await #expect(throws: SettingError.self) { try await load(text) }
        #expect(error?.message == message)
        let missing = await #expect(throws: SettingError.self) {
            try await GatewayConfiguration.load(file: "/none", environment: [:]) { _ in }
        }
        #expect(missing.map { "\($0)" } == "/none: cannot be read")
    }
}
