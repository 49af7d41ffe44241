import FoundationEssentials
import GooglePubSub
import HTTPTransport
import JSONWebSignature
import Normalizer
import NormalizerTesting
import SignatureCore
import SignatureIssuing
import Testing
import WireJSON

@Suite(.timeLimit(.minutes(5)))
struct ServiceAccountTokenSourceTests {
    let clock = TestClock(jumping: true)
    let transport = StubTransport()

    func source(_ scopes: [ServiceAccountTokenSource.Scope] = [.androidPublisher]) throws -> ServiceAccountTokenSource {
        try ServiceAccountTokenSource(
            KeyFile.account(),
            scopes: scopes,
            transport: transport,
            clock: clock,
            now: { Google.receivedAt }
        )
    }

    static func answer(_ token: String, expiresIn: String = "3599") -> HTTPTransportResponse {
        HTTPTransportResponse(
            status: 200,
            body: Array(#"{"access_token":"\#(token)","expires_in":\#(expiresIn),"token_type":"Bearer"}"#.utf8)
        )
    }

    static func error(_ status: Int, _ code: String, description: String = "secret details") -> HTTPTransportResponse {
        HTTPTransportResponse(
            status: status,
            body: Array(#"{"error":"\#(code)","error_description":"\#(description)"}"#.utf8)
        )
    }

    func token(_ source: ServiceAccountTokenSource) async throws -> String {
        String(decoding: try await source.accessToken().bytes, as: UTF8.self)
    }

    /// Waits for the token that is asked for meanwhile; the suite's time limit says where none comes.
    func renewal(of token: String, _ source: ServiceAccountTokenSource) async throws -> String {
        while true {
            let now = try await self.token(source)
            if now != token { return now }
            await Task.yield()
        }
    }

    func failure(_ source: ServiceAccountTokenSource) async -> AccessTokenError? {
        do throws(AccessTokenError) {
            _ = try await source.accessToken()
            return nil
        } catch {
            #expect(!error.description.contains("secret"))
            return error
        }
    }

    @Test func signsWhatGoogleDocuments() async throws {
        transport.on(.any, respond: Self.answer("a"))
        #expect(try await token(source([.androidPublisher, .pubSub])) == "a")
        let request = try #require(transport.requests.first)
        #expect(request.url.absoluteString == "https://oauth2.googleapis.com/token")
        #expect(request.method == .post)
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        let parts = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        #expect(parts.first == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
        let assertion = Array(try #require(parts.last).dropFirst("assertion=".count).utf8)
        let jws = try CompactJWS(assertion)
        let (modulus, exponent) = try Google.keys.get().current.modulusAndExponent()
        let payload = try jws.payload(verifiedBy: RSAPublicKey(modulus: modulus.span, exponent: exponent.span))
        #expect(String(decoding: try jws.header(), as: UTF8.self) == #"{"alg":"RS256","typ":"JWT","kid":"key-1"}"#)
        let claims = try ObjectReader(parsing: payload)
        #expect(try claims.string("iss") == "reader@project-one.iam.gserviceaccount.com")
        #expect(
            try claims.string("scope")
                == "https://www.googleapis.com/auth/androidpublisher https://www.googleapis.com/auth/pubsub"
        )
        #expect(try claims.string("aud") == "https://oauth2.googleapis.com/token")
        #expect(try claims.int64("iat") == Google.now)
        #expect(try claims.int64("exp") == Google.now + 3600)
        #expect(claims.object.count == 5)
    }

    @Test func keepsATokenUntilShortlyBeforeItsEnd() async throws {
        transport.on(.any, respond: Self.answer("a"), Self.answer("b"))
        let source = try source()
        #expect(try await token(source) == "a")
        clock.advance(by: .seconds(3599 - 225) - .milliseconds(1))
        #expect(try await token(source) == "a")
        for _ in 0..<100 { await Task.yield() }
        #expect(transport.requests.count == 1)
        clock.advance(by: .milliseconds(1))
        #expect(try await renewal(of: "a", source) == "b")
        #expect(transport.requests.count == 2)
    }

    /// A token that is valid is given out, however long another one takes.
    @Test func nobodyWaitsForARenewalWhileTheTokenIsValid() async throws {
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in Self.answer("a") }
        transport.on(hang: .any)
        let source = try source()
        #expect(try await token(source) == "a")
        clock.advance(by: .seconds(3599 - 225))
        for _ in 0..<10 { #expect(try await token(source) == "a") }
        while transport.requests.count < 2 { await Task.yield() }
        clock.advance(by: .seconds(224))
        #expect(try await token(source) == "a")
        #expect(transport.requests.count == 2)
    }

    @Test func whoIsCanceledLeavesAtOnce() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        transport.on(.any) { (_) throws(HTTPTransportError) in
            for await _ in gate {}
            return Self.answer("a")
        }
        let source = try source()
        let leaving = Task { await failure(source) }
        let staying = Task { try await token(source) }
        while transport.requests.isEmpty { await Task.yield() }
        leaving.cancel()
        let error = try #require(await leaving.value)
        #expect(error.message == "token endpoint: canceled")
        #expect(error.isRetryable)
        open.finish()
        #expect(try await staying.value == "a")
        #expect(transport.requests.count == 1)
    }

    @Test func oneRequestServesAll() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        transport.on(.any) { (_) throws(HTTPTransportError) in
            for await _ in gate {}
            return Self.answer("a")
        }
        let source = try source()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await token(source) } }
            while transport.requests.isEmpty { await Task.yield() }
            open.finish()
            for try await token in group { #expect(token == "a") }
        }
        #expect(transport.requests.count == 1)
    }

    @Test func givesTheOldTokenWhileANewOneCannotBeHad() async throws {
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in Self.answer("a") }
        transport.on(.any, fail: .connectionFailed)
        let source = try source()
        #expect(try await token(source) == "a")
        clock.advance(by: .seconds(3599 - 100))
        #expect(try await token(source) == "a")
        // One attempt, and two more after waits.
        while transport.requests.count < 4 { await Task.yield() }
        for _ in 0..<100 { #expect(try await token(source) == "a") }
        #expect(transport.requests.count == 4)
        clock.advance(by: .seconds(100))
        #expect(await failure(source)?.isRetryable == true)
    }

    @Test func forgetsADiscardedToken() async throws {
        transport.on(.any, respond: Self.answer("a"), Self.answer("b"))
        let source = try source()
        let first = try await source.accessToken()
        source.discard(first)
        #expect(try await token(source) == "b")
        source.discard(first)
        #expect(try await token(source) == "b")
    }

    /// A new one is refused as well, where it is not the token that is at fault.
    @Test func refusedTokensDoNotHammerTheEndpoint() async throws {
        transport.on(.any, respond: Self.answer("a"), Self.answer("b"), Self.answer("c"), Self.answer("d"))
        let source = try source()
        for token in ["a", "b"] {
            #expect(try await self.token(source) == token)
            source.discard(SecretBytes(token))
        }
        for _ in 0..<20 { #expect(await failure(source)?.isRetryable == true) }
        #expect(transport.requests.count == 2)
        clock.advance(by: .seconds(5))
        #expect(try await token(source) == "c")
        // One that was taken for long is replaced at once.
        clock.advance(by: .seconds(60))
        source.discard(SecretBytes("c"))
        #expect(try await token(source) == "d")
    }

    @Test(arguments: [
        (error(400, "invalid_grant"), false, 1), (error(401, "invalid_client"), false, 1),
        (error(400, "invalid_scope"), false, 1), (error(403, "unauthorized_client"), false, 1),
        (error(400, "internal_failure"), true, 3), (error(400, "server_error"), true, 3),
        (error(400, "temporarily_unavailable"), true, 3), (error(400, "x", description: "internal_failure"), true, 3),
        (error(500, "x"), true, 3), (error(502, "x"), true, 3), (error(503, "x"), true, 3), (error(429, "x"), true, 3),
        (error(408, "x"), true, 3), (error(504, "x"), true, 3), (HTTPTransportResponse(status: 404), false, 1),
        (error(499, "x"), true, 1),
        (HTTPTransportResponse(status: 302, headers: ["Location": "https://evil.example/"]), true, 1),
        (HTTPTransportResponse(status: 200), true, 1),
        (HTTPTransportResponse(status: 200, body: Array("<html>secret".utf8)), true, 1),
        (HTTPTransportResponse(status: 200, body: Array(#"{"id_token":"secret"}"#.utf8)), false, 1),
        (HTTPTransportResponse(status: 200, body: Array(#"{"access_token":""}"#.utf8)), false, 1),
        (HTTPTransportResponse(status: 200, body: Array(#"{"access_token":"secret\r\nX: y"}"#.utf8)), false, 1),
        (HTTPTransportResponse(status: 200, body: Array(#"{"access_token":7}"#.utf8)), false, 1),
        (
            HTTPTransportResponse(status: 200, body: Array(#"{"access_token":"secret","token_type":"mac"}"#.utf8)),
            false, 1
        ),
        (error(400, "secret code with spaces"), false, 1),
    ])
    func failures(answer: HTTPTransportResponse, isRetryable: Bool, attempts: Int) async throws {
        transport.on(.any, respond: answer)
        let error = try #require(await failure(source()))
        #expect(error.isRetryable == isRetryable)
        #expect(transport.requests.count == attempts)
        #expect(transport.requests.allSatisfy { $0.url.host == "oauth2.googleapis.com" })
    }

    @Test func failuresAreNotHammered() async throws {
        transport.on(.any, respond: Self.error(400, "invalid_grant"))
        let source = try source()
        for _ in 0..<20 { #expect(await failure(source)?.isRetryable == false) }
        #expect(transport.requests.count == 1)
        clock.advance(by: .seconds(5))
        #expect(await failure(source) != nil)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [
        ("\"3599\"", 3599), ("60", 60), ("null", 600), ("\"x\"", 600), ("-5", 0), ("99999999999", 86_400),
    ])
    func lifetimes(text: String, seconds: Int) async throws {
        transport.on(.any, respond: Self.answer("a", expiresIn: text), Self.answer("b"))
        let source = try source()
        #expect(try await token(source) == "a")
        clock.advance(by: .seconds(max(seconds - 225, 0)))
        #expect(try await renewal(of: "a", source) == "b")
    }

    /// Google counts from when it was asked.
    @Test func aTokenIsNotValidForLongerWhereTheAnswerTookLong() async throws {
        let clock = clock
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in
            clock.advance(by: .seconds(9))
            return Self.answer("a")
        }
        transport.on(.any, respond: Self.answer("b"))
        let source = try source()
        #expect(try await token(source) == "a")
        clock.advance(by: .seconds(3599 - 225 - 9))
        #expect(try await renewal(of: "a", source) == "b")
    }

    @Test(arguments: [#""token_type":"Bearer""#, #""token_type":"bearer""#, #""token_type":null"#, #""x":1"#])
    func theTypeOfATokenHasNoCaseAndMayBeAbsent(member: String) async throws {
        let body = #"{"access_token":"a",\#(member)}"#
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
        #expect(try await token(source()) == "a")
    }

    @Test(arguments: [
        ("20:36:40", "; the clock here differs from Google's by -600 s"),
        ("20:25:39", "; the clock here differs from Google's by 61 s"), ("20:27:40", ""), ("20:25:40", ""),
    ])
    func saysThatTheClockIsOff(time: String, addition: String) async throws {
        var answer = Self.error(400, "invalid_grant")
        // 28 May 2026 20:26:40 is the time in the assertion.
        answer.headers = ["Date": "Thu, 28 May 2026 \(time) GMT"]
        transport.on(.any, respond: answer)
        #expect(try await failure(source())?.message == "token endpoint: status 400, invalid_grant\(addition)")
    }

    @Test func refusesToAskForNothing() throws {
        #expect(throws: ConfigurationError.self) { try source([]) }
        #expect(throws: ConfigurationError.self) { try source([.init(url: " ")]) }
    }
}
