import FoundationEssentials
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

/// Gives `token-1`, `token-2` and so on, another one whenever one is discarded.
final class CountingTokens: AccessTokenSource {
    let count = Mutex(1)

    func accessToken() -> SecretBytes { SecretBytes("token-\(count.withLock { $0 })") }

    func discard(_ token: SecretBytes) { count.withLock { $0 += 1 } }
}

struct FailingTokens: AccessTokenSource {
    let isRetryable: Bool

    func accessToken() throws(AccessTokenError) -> SecretBytes {
        throw AccessTokenError("no token", isRetryable: isRetryable)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct PlayDeveloperAPITests {
    let clock = TestClock(jumping: true)
    let transport = StubTransport()
    let tokens = CountingTokens()

    func api(_ tokens: (any AccessTokenSource)? = nil) throws -> PlayDeveloperAPI {
        try PlayDeveloperAPI(transport: transport, tokens: tokens ?? self.tokens, clock: clock)
    }

    static func error(
        _ status: Int,
        reason: String? = nil,
        domain: String = "global",
        headers: HTTPTransportHeaders = [:]
    ) -> HTTPTransportResponse {
        let errors = reason.map { #","errors":[{"domain":"\#(domain)","reason":"\#($0)","message":"secret"}]"# } ?? ""
        return HTTPTransportResponse(
            status: status,
            headers: headers,
            body: Array(#"{"error":{"code":\#(status),"message":"secret"\#(errors)}}"#.utf8)
        )
    }

    /// In the newer form, with a status for all of it and reasons among the details.
    static func error(_ code: Int, status: String, detail reason: String? = nil) -> HTTPTransportResponse {
        let details = reason.map { #","details":[{"@type":"x"},{"reason":"\#($0)","domain":"googleapis.com"}]"# } ?? ""
        return HTTPTransportResponse(
            status: code,
            body: Array(#"{"error":{"code":\#(code),"message":"secret","status":"\#(status)"\#(details)}}"#.utf8)
        )
    }

    static let found = HTTPTransportResponse(
        status: 200,
        headers: ["Date": "Thu, 28 May 2026 20:26:40 GMT"],
        body: Array(#"{"kind":"x"}"#.utf8)
    )

    @Test func asksForEachResource() async throws {
        transport.on(.any, respond: Self.found)
        let api = try api()
        let answers = [
            await api.subscription(purchaseToken: "t/1", packageName: Google.package),
            await api.product(purchaseToken: "t/1", packageName: Google.package),
            await api.order("GPA.1-2..3", packageName: Google.package),
            await api.orders(["GPA.1", "GPA.2", "GPA.1"], packageName: Google.package)[0],
            await api.voidedPurchases(packageName: Google.package),
            await api.acknowledgeSubscription(id: "monthly", purchaseToken: "t/1", packageName: Google.package),
            await api.acknowledgeSubscription(id: nil, purchaseToken: "t/1", packageName: Google.package),
            await api.acknowledgeProduct(id: "coins", purchaseToken: "t:1", packageName: Google.package),
        ]
        let root = "https://androidpublisher.googleapis.com/androidpublisher/v3/applications/com.example.app"
        #expect(
            transport.requests.map { "\($0.method) \($0.url.absoluteString)" } == [
                "GET \(root)/purchases/subscriptionsv2/tokens/t%2F1",
                "GET \(root)/purchases/productsv2/tokens/t%2F1",
                "GET \(root)/orders/GPA.1-2..3",
                "GET \(root)/orders:batchGet?orderIds=GPA.1&orderIds=GPA.2",
                "GET \(root)/purchases/voidedpurchases?type=1&maxResults=1000&includeQuantityBasedPartialRefund=true",
                "POST \(root)/purchases/subscriptions/monthly/tokens/t%2F1:acknowledge",
                "POST \(root)/purchases/subscriptions//tokens/t%2F1:acknowledge",
                "POST \(root)/purchases/products/coins/tokens/t%3A1:acknowledge",
            ]
        )
        #expect(answers.map(\.outcome) == [.found, .found, .found, .found, .found, .done, .done, .done])
        #expect(answers[0].body == Self.found.body)
        #expect(answers[0].answeredAt == Google.receivedAt)
        #expect(transport.requests.allSatisfy { $0.headers["Authorization"] == "Bearer token-1" })
        #expect(transport.requests[5].body == Array("{}".utf8))
        #expect(transport.requests.map { $0.headers["Content-Type"] == "application/json" } == (0..<8).map { $0 >= 5 })
    }

    @Test("an acknowledgement can say whose a purchase is, within what Google takes")
    func acknowledgesForAnAccount() async throws {
        transport.on(.any, respond: Self.found)
        let api = try api()
        let (profile, tooLong) = (Account.Identifier("p-1", .obfuscatedProfileID), String(repeating: "x", count: 65))
        let accounts = [
            Account("a-1", .obfuscatedAccountID, aliases: [profile]), Account("p-1", .obfuscatedProfileID),
            Account(tooLong, .obfuscatedAccountID), Account("u", .appAccountToken),
        ]
        var outcomes: [PlayAnswer.Outcome] = []
        for account in accounts {
            let answer = await api.acknowledgeSubscription(
                id: "monthly",
                purchaseToken: "t",
                packageName: Google.package,
                account: account
            )
            outcomes.append(answer.outcome)
        }
        #expect(outcomes == [.done, .done, .invalid, .invalid])
        #expect(
            transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == [
                #"{"externalAccountIds":{"obfuscatedAccountId":"a-1","obfuscatedProfileId":"p-1"}}"#,
                #"{"externalAccountIds":{"obfuscatedProfileId":"p-1"}}"#,
            ]
        )
    }

    @Test("only a subscription is gone by a request that fails for its state, and only where it was asked about")
    func failsForTheState() async throws {
        transport.on(.any, respond: Self.error(400, reason: "failedPrecondition"))
        let api = try api()
        for answer in [
            await api.acknowledgeProduct(id: "coins", purchaseToken: "t", packageName: Google.package),
            await api.acknowledgeSubscription(id: "p", purchaseToken: "t", packageName: Google.package),
            await api.product(purchaseToken: "t", packageName: Google.package),
            await api.order("GPA.1", packageName: Google.package),
            await api.voidedPurchases(packageName: Google.package),
        ] { #expect(answer.outcome == .invalid) }
        #expect(await api.subscription(purchaseToken: "t", packageName: Google.package).outcome == .gone)
    }

    static let hostileTokens = [
        "", ".", "..", "a\r\nX: y", "a\u{0}", "a\u{7F}", "\u{85}", "\n", String(repeating: "x", count: 2049),
    ]

    @Test(arguments: hostileTokens)
    func sendsNothingForTokensThatCannotBe(token: String) async throws {
        transport.on(.any, respond: Self.found)
        let api = try api()
        for answer in [
            await api.subscription(purchaseToken: token, packageName: Google.package),
            await api.product(purchaseToken: token, packageName: Google.package),
            await api.acknowledgeSubscription(id: "x", purchaseToken: token, packageName: Google.package),
            await api.acknowledgeProduct(id: "x", purchaseToken: token, packageName: Google.package),
        ] { #expect(answer.outcome == .invalid) }
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [
        ("a/b", "a%2Fb"), ("../../x", "..%2F..%2Fx"), ("a%2Fb", "a%252Fb"), ("a?b#c", "a%3Fb%23c"), ("a b", "a%20b"),
        ("a:acknowledge", "a%3Aacknowledge"), ("%2e%2e", "%252e%252e"), ("ü", "%C3%BC"), ("a\\b", "a%5Cb"),
        ("...", "..."), (";@&=+$,", "%3B%40%26%3D%2B%24%2C"), ("abc.AO-J1_x~", "abc.AO-J1_x~"),
    ])
    func encodesTokens(token: String, segment: String) async throws {
        transport.on(.any, respond: Self.found)
        _ = try await api().subscription(purchaseToken: token, packageName: Google.package)
        #expect(transport.requests.first?.url.path.hasSuffix("/tokens/\(segment)") == true)
        #expect(transport.requests.first?.url.query == nil)
    }

    @Test(arguments: [
        "", "app", "com..app", "com.example/..", "com.example.app/../x", "com.exämple", "1com.example",
        "com.example.app\n",
    ])
    func sendsNothingForOtherPackageNames(name: String) async throws {
        transport.on(.any, respond: Self.found)
        #expect(try await api().subscription(purchaseToken: "t", packageName: name).outcome == .invalid)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: ["", ".", "..", "a/b", "a b", "a?b", "ü", "a\r\n", String(repeating: "1", count: 129)])
    func sendsNothingForOtherOrderIDs(id: String) async throws {
        transport.on(.any, respond: Self.found)
        #expect(try await api().order(id, packageName: Google.package).outcome == .invalid)
        #expect(try await api().orders([id], packageName: Google.package).map(\.outcome) == [.invalid])
        #expect(transport.requests.isEmpty)
    }

    /// The final answers, with the number of requests.
    @Test(
        arguments: [
            (error(400, reason: "invalid"), .invalid, 1), (error(404, reason: "notFound"), .notFound, 1),
            (error(410, reason: "purchaseTokenNoLongerValid"), .gone, 1),
            (error(400, reason: "failedPrecondition"), .gone, 1), (error(400, status: "FAILED_PRECONDITION"), .gone, 1),
            (error(401, reason: "permissionDenied", domain: "androidpublisher"), .denied, 1),
            (error(401, reason: "other", domain: "androidpublisher"), .denied, 1),
            (error(401, reason: "authError"), .denied, 2),
            (error(401), .denied, 2), (error(403, reason: "accessNotConfigured"), .denied, 1), (error(403), .denied, 1),
            (error(403, reason: "rateLimitExceeded"), .unavailable, 3),
            (error(403, reason: "quotaExceeded"), .unavailable, 3),
            (error(403, reason: "dailyLimitExceeded"), .unavailable, 3), (error(429), .unavailable, 3),
            (error(403, reason: "userRateLimitExceeded"), .unavailable, 3),
            (error(403, status: "RESOURCE_EXHAUSTED"), .unavailable, 3),
            (error(403, status: "PERMISSION_DENIED", detail: "RATE_LIMIT_EXCEEDED"), .unavailable, 3),
            (error(403, status: "PERMISSION_DENIED", detail: "SERVICE_DISABLED"), .denied, 1),
            (error(401, status: "PERMISSION_DENIED"), .denied, 1), (error(401, status: "UNAUTHENTICATED"), .denied, 2),
            (error(409), .unavailable, 3), (error(499, status: "CANCELLED"), .unavailable, 3),
            (error(408), .unavailable, 3), (error(500), .unavailable, 3), (error(502), .unavailable, 3),
            (error(503), .unavailable, 3), (error(504), .unavailable, 3), (error(405), .denied, 1),
            (error(501), .unavailable, 1),
            (HTTPTransportResponse(status: 302, headers: ["Location": "https://evil.example/"]), .unavailable, 1),
            (HTTPTransportResponse(status: 304), .unavailable, 1),
            (HTTPTransportResponse(status: 204), .unavailable, 1),
            (HTTPTransportResponse(status: 200), .unavailable, 1),
            (HTTPTransportResponse(status: 200, body: Array("<html>gone".utf8)), .unavailable, 1),
            (HTTPTransportResponse(status: 200, body: Array("[]".utf8)), .unavailable, 1),
            (HTTPTransportResponse(status: 200, body: Array("{\"a\":".utf8)), .unavailable, 1),
            (HTTPTransportResponse(status: 404, body: Array("<html>secret".utf8)), .notFound, 1),
            (error(404, reason: "purchaseTokenNotFound"), .notFound, 1),
            (error(404, reason: "applicationNotFound"), .denied, 1),
            (error(503, domain: "", headers: ["Retry-After": "3600"]), .unavailable, 1),
        ] as [(HTTPTransportResponse, PlayAnswer.Outcome, Int)]
    )
    func outcomes(response: HTTPTransportResponse, outcome: PlayAnswer.Outcome, requests: Int) async throws {
        transport.on(.any, respond: response)
        let answer = try await api().subscription(purchaseToken: "purchase-token", packageName: Google.package)
        #expect(answer.outcome == outcome)
        #expect(transport.requests.count == requests)
        #expect(answer.body.isEmpty)
        #expect(!"\(answer)".contains("secret"))
        #expect(transport.requests.allSatisfy { $0.url.host == "androidpublisher.googleapis.com" })
    }

    @Test(
        arguments: [
            .connectionFailed, .connectionLost, .timeout, .tls, .responseTooLarge, .protocolError, .canceled, .shutDown,
        ] as [HTTPTransportError.Code]
    )
    func failuresAreNoAnswers(code: HTTPTransportError.Code) async throws {
        transport.on(.any, fail: code)
        let answer = try await api().subscription(purchaseToken: "t", packageName: Google.package)
        #expect(answer == PlayAnswer(.unavailable, status: 0, reason: code.rawValue))
    }

    @Test func renewsARefusedAccessTokenOnce() async throws {
        transport.on(.any, respond: Self.error(401, reason: "authError"), Self.found)
        #expect(try await api().subscription(purchaseToken: "t", packageName: Google.package).outcome == .found)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-2"])
    }

    /// A token that ends is refused to all who are under way with it, and some hear of it when there is another already.
    @Test func manyRefusalsRenewTheAccessTokenOnce() async throws {
        transport.on(
            .init(host: "oauth2.googleapis.com"),
            respond: ServiceAccountTokenSourceTests.answer("old"),
            ServiceAccountTokenSourceTests.answer("new"),
            ServiceAccountTokenSourceTests.answer("newer")
        )
        transport.on(.init(where: { $0.headers["Authorization"] == "Bearer old" })) { (_) throws(HTTPTransportError) in
            for _ in 0..<Int.random(in: 0..<100) { await Task.yield() }
            return Self.error(401, reason: "authError")
        }
        transport.on(.any, respond: Self.found)
        let source = try ServiceAccountTokenSource(
            KeyFile.account(),
            transport: transport,
            clock: clock,
            now: { Google.receivedAt }
        )
        let api = try api(source)
        await withTaskGroup(of: PlayAnswer.Outcome.self) { group in
            for number in 0..<100 {
                group.addTask {
                    await api.subscription(purchaseToken: "t\(number)", packageName: Google.package).outcome
                }
            }
            for await outcome in group { #expect(outcome == .found) }
        }
        #expect(transport.requests.count { $0.url.host == "oauth2.googleapis.com" } == 2)
    }

    @Test func keepsTheAccessTokenWhereRightsAreMissing() async throws {
        transport.on(.any, respond: Self.error(401, reason: "permissionDenied", domain: "androidpublisher"))
        _ = try await api().subscription(purchaseToken: "t", packageName: Google.package)
        #expect(tokens.count.withLock { $0 } == 1)
    }

    @Test func waitsAsLongAsGoogleAsks() async throws {
        transport.on(.any, respond: Self.error(429, domain: "", headers: ["Retry-After": "3"]), Self.found)
        #expect(try await api().subscription(purchaseToken: "t", packageName: Google.package).outcome == .found)
        #expect(clock.sleeps.count == 1)
        #expect(clock.sleeps.allSatisfy { $0 >= .seconds(3) })
    }

    /// A push waits for what is asked, and Pub/Sub for the push.
    @Test func waitsNoLongerThanAPush() async throws {
        transport.on(.any, respond: Self.error(429, domain: "", headers: ["Retry-After": "5"]))
        #expect(try await api().subscription(purchaseToken: "t", packageName: Google.package).outcome == .unavailable)
        #expect(clock.sleeps == [.seconds(5)])
    }

    @Test(arguments: [HTTPTransportError.Code.timeout, .connectionLost])
    func acknowledgesAgainWhereNobodyKnowsWhetherItWasHeard(code: HTTPTransportError.Code) async throws {
        transport.on(.any, times: 1, fail: code)
        transport.on(.any, respond: HTTPTransportResponse(status: 204))
        let answer = try await api().acknowledgeProduct(id: "coins", purchaseToken: "t", packageName: Google.package)
        #expect(answer.outcome == .done)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [(true, PlayAnswer.Outcome.unavailable), (false, .denied)])
    func withoutAnAccessTokenNothingIsSent(isRetryable: Bool, outcome: PlayAnswer.Outcome) async throws {
        let api = try api(FailingTokens(isRetryable: isRetryable))
        #expect(await api.subscription(purchaseToken: "t", packageName: Google.package).outcome == outcome)
        #expect(transport.requests.isEmpty)
    }

    /// Such as one that was read from a file together with the line break at its end.
    @Test(arguments: ["secret\n", "sec\u{0}ret", String(repeating: "secret", count: 3000)])
    func anAccessTokenThatNoHeaderHoldsIsNoAnswer(token: String) async throws {
        transport.on(.any, respond: Self.found)
        let api = try api(FixedAccessToken(SecretBytes(token)))
        let answer = await api.subscription(purchaseToken: "t", packageName: Google.package)
        #expect(answer == PlayAnswer(.denied, status: 0, reason: "unusable_access_token"))
        #expect(transport.requests.isEmpty)
    }

    @Test func ordersAreAskedForInHundreds() async throws {
        transport.on(.any, respond: Self.found)
        let ids = (0..<250).map { "GPA.3333-4444-5555-\($0)..11" }
        #expect(try await api().orders(ids, packageName: Google.package).count == 3)
        let asked = transport.requests.compactMap(\.url.query).flatMap { $0.split(separator: "&") }
        #expect(asked == ids.map { "orderIds=\($0)" })
    }

    @Test func oneRefusedHundredKeepsNoOtherFromBeingAskedFor() async throws {
        transport.on(.any, respond: Self.found)
        let ids = ["a/b"] + (1..<101).map { "GPA.\($0)" }
        #expect(try await api().orders(ids, packageName: Google.package).map(\.outcome) == [.invalid, .found])
        #expect(transport.requests.map(\.url.query) == ["orderIds=GPA.100"])
    }

    static func page(_ next: String?) -> HTTPTransportResponse {
        let more = next.map { #","tokenPagination":{"nextPageToken":"\#($0)"}"# } ?? ""
        return HTTPTransportResponse(status: 200, body: Array(#"{"voidedPurchases":[]\#(more)}"#.utf8))
    }

    @Test func followsPages() async throws {
        transport.on(.any, respond: Self.page("a/1"), Self.page("b"), Self.page(nil))
        var query = VoidedPurchasesQuery()
        query.from = Date(timeIntervalSince1970: 1)
        query.until = Date(timeIntervalSince1970: 2)
        var pageToken: String?
        repeat {
            let page = try await api().voidedPurchases(packageName: Google.package, query, pageToken: pageToken)
            #expect(page.outcome == .found)
            pageToken = page.nextPageToken
        } while pageToken != nil
        let common = "type=1&maxResults=1000&includeQuantityBasedPartialRefund=true"
        #expect(
            transport.requests.map(\.url.query) == [
                "\(common)&startTime=1000&endTime=2000", "\(common)&token=a%2F1", "\(common)&token=b",
            ]
        )
    }

    @Test(arguments: [(Int.min, 1), (0, 1), (20, 20), (1001, 1000)])
    func asksForWhatTheQuerySays(pageSize: Int, asked: Int) async throws {
        transport.on(.any, respond: Self.page(nil))
        var query = VoidedPurchasesQuery()
        query.includesSubscriptions = false
        query.includesPartialRefunds = false
        query.pageSize = pageSize
        _ = try await api().voidedPurchases(packageName: Google.package, query)
        #expect(transport.requests.map(\.url.query) == ["type=0&maxResults=\(asked)"])
    }

    @Test func anEmptyPageTokenIsNone() async throws {
        transport.on(.any, respond: Self.page(""))
        #expect(try await api().voidedPurchases(packageName: Google.package).nextPageToken == nil)
    }

    @Test func accessTokensAreNotSentWithoutTLS() {
        #expect(throws: ConfigurationError.self) {
            try PlayDeveloperAPI(transport: transport, tokens: tokens, base: .emulator(port: 8085))
        }
    }

    @Test func staysWithItsBase() async throws {
        transport.on(.any, respond: Self.found)
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: tokens,
            base: HTTPSURL(host: "play.test", port: 8443),
            clock: clock
        )
        _ = await api.subscription(purchaseToken: "../../../../evil", packageName: Google.package)
        #expect(transport.requests.first?.url.host == "play.test")
        #expect(
            transport.requests.first?.url.path.hasPrefix("/androidpublisher/v3/applications/com.example.app/") == true
        )
    }
}
