import Configuration
import Foundation
@testable import Gateway
import GooglePubSub
import HTTPTransport
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Testing

@Suite("Gateway") struct GatewayTests {
    static let account = "0f8fad5b-d9cb-469f-a165-70867728950e"

    func bearer(_ token: String) -> HTTPFields { [.authorization: "Bearer \(token)"] }

    @Test("keeps what a provider proves, and says who has access")
    func access() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        let delivery = try bench.purchase()
        try await RouterClient.with(gateway.router) { client in
            for _ in 0..<2 {
                #expect(try await client.deliver(delivery).status == .ok)
            }
            let uri = "/v1/access?account=\(Self.account.uppercased())&source=app_account_token"
            let access = try await client.get(uri)
            #expect(access.status == .ok)
            #expect(access.text.contains(#""access":"granted""#))
            let feed = try await client.get("/v1/events")
            #expect(feed.text.split(separator: "\n").count == 1)
        }
    }

    @Test("refuses a forgery, an unknown source and a body without an end, and keeps none of them")
    func forgery() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        let forged = try AppleSimulator(seed: "attacker").delivery(
            .init("TEST", notificationUUID: "u", signedDate: Bench.now),
            receivedAt: Bench.now
        )
        try await RouterClient.with(gateway.router) { client in
            func post(_ uri: String, _ body: [UInt8]) async throws -> HTTPResponse.Status {
                try await client.executeRequest(uri: uri, method: .post, headers: [:], body: ByteBuffer(bytes: body))
                    .status
            }
            #expect(try await post("/hooks/apple", forged.body) == .unauthorized)
            #expect(try await post("/hooks/shop", Array("{}".utf8)) == .badRequest)
            #expect(try await post("/hooks/other", forged.body) == .notFound)
            #expect(try await post("/hooks/apple", Array(repeating: 0x20, count: 2 << 20)) == .contentTooLarge)
            let kept = try await client.get("/v1/quarantine", Bench.adminToken)
            #expect(kept.text == "[]")
        }
    }

    @Test(
        "answers nothing but hooks and health without a token that has the scope",
        arguments: [
            "/v1/access?account=a&source=metadata", "/v1/subscriptions?account=a&source=metadata",
            "/v1/explain?account=a&source=metadata", "/v1/events", "/v1/due", "/metrics", "/", "/v1/quarantine",
            "/v1/dead-letters", "/v1/accounts/export?account=a&source=metadata",
        ]
    )
    func tokens(uri: String) async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        try await RouterClient.with(gateway.router) { client in
            func check(_ headers: HTTPFields, _ expected: HTTPResponse.Status) async throws {
                let answer = try await client.executeRequest(uri: uri, method: .get, headers: headers, body: nil)
                #expect(answer.status == expected)
            }
            try await check([:], .unauthorized)
            try await check(bearer("wrong-token-0123456789"), .unauthorized)
            try await check([.authorization: "Basic !!!"], .unauthorized)
            try await check(bearer(Bench.adminToken), .ok)
            let basic = Data("anyone:\(Bench.adminToken)".utf8).base64EncodedString()
            try await check([.authorization: "Basic \(basic)"], .ok)
            let needsAdmin = ["quarantine", "dead-letters", "export"].contains { uri.contains($0) }
            try await check(bearer(Bench.readToken), (needsAdmin ? .forbidden : .ok))
        }
    }

    struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let changes: [String: ConfigValue?]
        let setting: String
    }

    @Test(
        "does not start with a setting that is missing or wrong, and names it",
        arguments: [
            Mistake(testDescription: "no source", changes: ["sources": nil], setting: "sources"),
            Mistake(testDescription: "no token", changes: ["tokens": nil], setting: "tokens"),
            Mistake(
                testDescription: "unknown provider",
                changes: ["source.apple.provider": "paddle"],
                setting: "source.apple.provider"
            ),
            Mistake(
                testDescription: "no root",
                changes: ["source.apple.root_certificates_file": nil],
                setting: "source.apple.root_certificates_file"
            ),
            Mistake(
                testDescription: "no secret",
                changes: ["source.shop.signing_secrets": nil],
                setting: "source.shop"
            ),
            Mistake(
                testDescription: "a secret of Stripe's of which nothing is secret",
                changes: ["source.shop.signing_secrets": .init(.stringArray(["whsec_"]), isSecret: true)],
                setting: "source.shop.signing_secrets"
            ),
            Mistake(
                testDescription: "a short secret of Stripe's next to a good one",
                changes: [
                    "source.shop.signing_secrets": .init(
                        .stringArray(["whsec_gateway0123456789", "whsec_123456789012345"]),
                        isSecret: true
                    )
                ],
                setting: "source.shop.signing_secrets"
            ),
            Mistake(
                testDescription: "an authorization that was split at its comma",
                changes: [
                    "source.shop.provider": "revenuecat", "source.shop.signing_secrets": nil,
                    "source.shop.authorizations": .init(.stringArray(["Bearer abcdefghij", "d"]), isSecret: true),
                ],
                setting: "source.shop.authorizations"
            ),
            Mistake(
                testDescription: "short token",
                changes: ["token.reader.secret": "short"],
                setting: "token.reader.secret"
            ),
            Mistake(
                testDescription: "two tokens with one secret",
                changes: ["token.reader.secret": .init(.string(Bench.adminToken), isSecret: true)],
                setting: "token.operator.secret"
            ),
            Mistake(
                testDescription: "a token twice",
                changes: ["tokens": .init(.stringArray(["reader", "operator", "reader"]), isSecret: false)],
                setting: "tokens"
            ),
            Mistake(
                testDescription: "a token without a name",
                changes: ["tokens": .init(.stringArray([""]), isSecret: false)],
                setting: "tokens"
            ),
            Mistake(
                testDescription: "unknown policy for revocation",
                changes: ["source.apple.revocation": "sometimes"],
                setting: "source.apple.revocation"
            ),
            Mistake(
                testDescription: "no catalogue",
                changes: ["products.catalog_file": .init(.string(#filePath), isSecret: false)],
                setting: "products.catalog_file"
            ),
            Mistake(
                testDescription: "no file for the credit policy",
                changes: ["credits.policy_file": "/nowhere/credits.json"],
                setting: "credits.policy_file"
            ),
            Mistake(
                testDescription: "questions to Stripe without a key",
                changes: ["source.shop.completes_snapshots": true],
                setting: "source.shop.completes_snapshots"
            ),
            Mistake(
                testDescription: "unknown environment of Apple",
                changes: ["source.apple.environments": .init(.stringArray(["prod"]), isSecret: false)],
                setting: "source.apple.environments"
            ),
            Mistake(
                testDescription: "unknown environment of RevenueCat",
                changes: [
                    "source.shop.provider": "revenuecat",
                    "source.shop.environments": .init(.stringArray(["production", "prod"]), isSecret: false),
                ],
                setting: "source.shop.environments"
            ),
            Mistake(testDescription: "database", changes: ["database.url": "mysql://x"], setting: "database.url"),
            Mistake(
                testDescription: "a password with a percent sign",
                changes: ["database.url": "postgres://u:s3cr%et-pw@h/x"],
                setting: "database.url"
            ),
            Mistake(
                testDescription: "a password with a slash",
                changes: ["database.url": "postgres://u:s3cr/etpw@h/x"],
                setting: "database.url"
            ),
            Mistake(
                testDescription: "a password of digits with a slash",
                changes: ["database.url": "postgres://u:1234/s3cr@h/x"],
                setting: "database.url"
            ),
            Mistake(
                testDescription: "a password with an at sign",
                changes: ["database.url": "postgresql://u:s3cr@etpw@h/x"],
                setting: "database.url"
            ),
            Mistake(
                testDescription: "a mode of TLS that there is not",
                changes: ["database.url": "postgresql://u:s3cr@h/x?sslmode=disabled"],
                setting: "database.url"
            ),
            Mistake(testDescription: "empty host", changes: ["http.host": ""], setting: "http.host"),
            Mistake(
                testDescription: "news with credentials",
                changes: [
                    "news.url": "http://user:s3cr@127.0.0.1/news",
                    "news.secret": .init(.string(NewsTests.secret), isSecret: true),
                ],
                setting: "news.url"
            ),
            Mistake(
                testDescription: "news with a fragment",
                changes: [
                    "news.url": "http://127.0.0.1/news#top",
                    "news.secret": .init(.string(NewsTests.secret), isSecret: true),
                ],
                setting: "news.url"
            ),
            Mistake(
                testDescription: "news without secret",
                changes: ["news.url": "https://example.com/news"],
                setting: "news.secret"
            ),
            Mistake(
                testDescription: "news without TLS",
                changes: [
                    "news.url": "http://example.com/news", "news.secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                ],
                setting: "news.url"
            ),
        ]
    )
    func mistakes(mistake: Mistake) throws {
        let bench = try Bench()
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(bench.settings(mistake.changes)) }
        #expect(error?.setting == mistake.setting)
        #expect(error?.message.contains("short") != true || mistake.testDescription != "short token")
        #expect(
            ["s3cr", "etpw", "et-pw", "1234", Bench.adminToken].allSatisfy { error?.message.contains($0) == false }
        )
    }

    @Test(
        "takes addresses of PostgreSQL as libpq does",
        arguments: [
            "postgres://u:p%40%2F%25@h/x", "postgresql://u:p@h:5433/x?sslmode=require",
            "postgres:///x?host=/tmp&user=u@v",
            "postgresql://u@h1:1,h2:2/x", "postgresql://h1,h2:2", "postgresql://", "postgresql://u:p#q?r@[::1]:5432/x",
        ]
    )
    func postgres(url: String) throws {
        let settings = try Bench().settings(["database.url": .init(.string(url), isSecret: true)])
        #expect(throws: Never.self) { try GatewayConfiguration(settings) }
    }

    @Test(
        "posts news to the address as it is set",
        arguments: [
            "https://example.com/news/?key=abc", "http://127.0.0.1:21090/news/?key=abc", "http://localhost/a%2Fb?x=1&y",
            "http://127.0.0.1:443/",
        ]
    )
    func address(url: String) throws {
        let settings = try Bench().settings([
            "news.url": .init(.string(url), isSecret: false),
            "news.secret": .init(.string(NewsTests.secret), isSecret: true),
        ])
        #expect(try GatewayConfiguration(settings).destination?.url.absoluteString == url)
    }

    @Test(
        "checks Apple's certificates as a source says",
        arguments: [("off", 0), ("soft", 1), ("hard", 1)]
    )
    func revocation(policy: String, lines: Int) throws {
        let bench = try Bench()
        let changes: [String: ConfigValue?] = ["source.apple.revocation": .init(.string(policy), isSecret: false)]
        let configuration = try GatewayConfiguration(bench.settings(changes))
        #expect(configuration.summary.filter { $0.contains("certificates") }.count == lines)
    }

    @Test("shows a customer's page, with a policy that lets nothing run")
    func page() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway(["deliveries.retention_days": .init(.int(30), isSecret: false)])
        let delivery = try bench.purchase()
        try await RouterClient.with(gateway.router) { client in
            try await client.deliver(delivery)
            for query in [Self.account, "2000000000000001"] {
                let page = try await client.get("/?q=\(query)")
                #expect(page.text.contains("there is access until"), "\(query)")
                #expect(page.text.contains("<td>apple</td><td>200</td><td>taken in</td>"), "\(query)")
                let policy = try #require(HTTPField.Name("Content-Security-Policy"))
                #expect(page.headers[policy]?.hasPrefix("default-src 'none'") == true)
            }
            // As people type and paste.
            let typed = try await client.get("/?q=+\(Self.account)%0A&at=+2026-09-22+10:00")
            #expect(typed.text.contains("At 2026-09-22T10:00:00Z there is access until"))
            let wrong = try await client.get("/?q=\(Self.account)&at=%3Cb%3E2026-02-30")
            #expect(wrong.status == .badRequest)
            #expect(wrong.text.contains("This is no time: &lt;b&gt;2026-02-30."))
            #expect(wrong.text.contains("value=\"\(Self.account)\""))
            // As a browser sends what is typed into the form.
            let hostile = try await client.get("/?q=%3Cscript%3E1+%2B%3C/script%3E")
            #expect(hostile.text.contains("&lt;script&gt;1 +&lt;/script&gt;"))
            #expect(!hostile.text.contains("<script"))
        }
    }

    @Test("counts deliveries by source and outcome, without a person in it")
    func metrics() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        let delivery = try bench.purchase()
        try await RouterClient.with(gateway.router) { client in
            try await client.deliver(delivery)
            let text = try await client.get("/metrics").text
            #expect(text.contains(#"lifecycle_deliveries_total{source="apple",outcome="accept",code=""} 1"#))
            #expect(text.contains("# TYPE lifecycle_receipt_to_state_seconds histogram"))
            #expect(text.contains("lifecycle_quarantine_depth 0"))
            #expect(text.contains("lifecycle_duties_dismissed 0"))
            #expect(text.contains("lifecycle_questions_due 0"))
            #expect(text.contains("lifecycle_deliveries_waiting 0"))
            // A day at the least: the simulator's certificates are valid now.
            let name = #"lifecycle_signer_valid_until_timestamp_seconds{source="apple"} "#
            let end = text.split(separator: "\n").first { $0.hasPrefix(name) }.flatMap {
                Double($0.dropFirst(name.count))
            }
            #expect(try #require(end) > Bench.now.timeIntervalSince1970 + 86_400)
            #expect(!text.contains(Self.account))
        }
    }

    @Test("takes a signed transaction from an app, binds it to whoever is signed in, and refuses a forged one")
    func upload() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        func signed(_ simulator: AppleSimulator) throws -> String {
            String(decoding: try simulator.signed(try bench.transaction(account: nil), at: Bench.now), as: UTF8.self)
        }
        let genuine = try signed(bench.apple)
        let forged = try signed(try AppleSimulator(seed: "attacker"))
        try await RouterClient.with(gateway.router) { client in
            func post(_ transaction: String, by account: String = "42") async throws -> RouterClient.Answer {
                let body =
                    #"{"account":"\#(account)","account_source":"app_user_id","signed_transaction":"\#(transaction)"}"#
                return try await client.post("/v1/uploads/apple", body)
            }
            #expect(try await post(forged).status == .unprocessableContent)
            #expect(try await post("").status == .badRequest)
            #expect(try await post(genuine).status == .ok)
            // It has another owner, who is not named. To the owner it is no news.
            let refused = try await post(genuine, by: "43")
            #expect(refused.status == .conflict)
            #expect(!refused.text.contains("42"))
            let repeated = try await post(genuine)
            #expect(repeated.status == .ok)
            #expect(!repeated.text.contains("applied"))
            let access = try await client.get("/v1/access?account=42&source=app_user_id")
            #expect(access.text.contains(#""access":"granted""#))
        }
    }

    @Test("an upload of a purchase that the store does not know is not one without news")
    func goneUpload() async throws {
        let stub = StubTransport()
        stub.on(.any, respond: HTTPTransportResponse(status: 404))
        let adapter = try GooglePlayAdapter(
            GooglePlayAdapter.Configuration(
                packageNames: ["com.example.app"],
                subscriptions: ["projects/example/subscriptions/play"],
                push: nil
            ),
            keys: nil,
            api: try PlayDeveloperAPI(transport: stub, tokens: FixedAccessToken(SecretBytes("token")))
        )
        var configuration = try GatewayConfiguration(Bench().settings())
        configuration.sources.append(Source("play", adapter))
        let gateway = try await Gateway(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await RouterClient.with(gateway.router) { client in
            let body = #"{"purchase_token":"made-up","package_name":"com.example.app"}"#
            let answer = try await client.post("/v1/uploads/play", body)
            #expect(answer.status == .unprocessableContent)
            #expect(answer.text.contains("purchase_gone"))
        }
    }

    @Test("uses credits once for each id, and no more than there are")
    func credits() async throws {
        let bench = try Bench()
        let policy = bench.folder.appending(path: "policy.json")
        try Data(#"{"allowances":{"pro.monthly":{"credits":100}}}"#.utf8).write(to: policy)
        let gateway = try await bench.gateway(["credits.policy_file": .init(.string(policy.path), isSecret: false)])
        let delivery = try bench.purchase()
        try await RouterClient.with(gateway.router) { client in
            try await client.deliver(delivery)
            func use(_ id: String, _ credits: Int) async throws -> (HTTPResponse.Status, String) {
                let body =
                    #"{"id":"\#(id)","credits":\#(credits),"account":"\#(Self.account)","account_source":"app_account_token"}"#
                let answer = try await client.executeRequest(
                    uri: "/v1/credits/uses",
                    method: .post,
                    headers: bearer(Bench.adminToken),
                    body: ByteBuffer(string: body)
                )
                return (answer.status, String(buffer: answer.body))
            }
            for _ in 0..<2 {
                let (status, statement) = try await use("job", 30)
                #expect(status == .ok)
                #expect(statement.contains(#""balance":70"#))
            }
            // No earlier use is in the answer to a later one.
            let (_, later) = try await use("later", 1)
            #expect(later.contains(#""balance":69"#) && later.contains(#""used":31"#))
            #expect(later.contains(#""id":"later""#) && !later.contains(#""id":"job""#))
            #expect(try await use("job", 31).0 == .conflict)
            #expect(try await use("other", 70).0 == .conflict)
            #expect(try await use("other", -1).0 == .badRequest)
            let page = try await client.get("/?q=\(Self.account)")
            #expect(page.text.contains("69 left"))
        }
    }

    @Test("changes nothing for a form of another site, which a browser sends the password with")
    func forms() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        let basic = Data("anyone:\(Bench.adminToken)".utf8).base64EncodedString()
        try await RouterClient.with(gateway.router) { client in
            func post(_ fields: HTTPFields) async throws -> HTTPResponse.Status {
                var headers: HTTPFields = [.authorization: "Basic \(basic)"]
                headers.append(contentsOf: fields)
                return try await client.executeRequest(
                    uri: "/quarantine/unknown/discard",
                    method: .post,
                    headers: headers,
                    body: nil
                )
                .status
            }
            #expect(try await post([:]) == .forbidden)
            #expect(try await post([site: "cross-site"]) == .forbidden)
            #expect(try await post([site: "same-origin"]) == .notFound)
            let page = try await client.get("/quarantine", Bench.adminToken)
            #expect(page.text.contains("Nothing is in quarantine."))
        }
    }
}
