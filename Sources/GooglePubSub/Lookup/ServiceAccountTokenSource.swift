public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents
import SignatureCore
import Synchronization
import WireJSON

/// Access tokens for a service account (RFC 7523), renewed shortly before their end.
///
/// One request serves all waiting callers. Callers wait only if there is no valid token; a canceled caller returns at once.
public final class ServiceAccountTokenSource: AccessTokenSource {
    /// The purpose of a token.
    public struct Scope: Hashable, Sendable {
        /// The scope's URL.
        public var url: String

        /// Keeps a scope.
        public init(url: String) { self.url = url }

        /// The Play Developer API.
        public static let androidPublisher = Scope(url: "https://www.googleapis.com/auth/androidpublisher")
        /// Pulling from Pub/Sub.
        public static let pubSub = Scope(url: "https://www.googleapis.com/auth/pubsub")
    }

    private struct Token {
        var secret: SecretBytes
        var expiry: Duration
    }

    private typealias Outcome = Result<SecretBytes, AccessTokenError>

    private struct State {
        var token: Token?
        var lastFailure: (at: Duration, error: AccessTokenError)?
        /// When a token was last refused.
        var lastRefusal: Duration?
        var flight: Task<Outcome, Never>?
    }

    private enum Step {
        case answer(Outcome)
        case wait(Task<Outcome, Never>)
    }

    /// Google's libraries renew a token when less than this remains.
    private static let refreshMargin: Duration = .seconds(225)
    /// How long a failure is given as the answer before Google is asked again.
    private static let failureInterval: Duration = .seconds(5)
    /// Where tokens are refused again within this time, it is not the token that is at fault.
    private static let refusalInterval: Duration = .seconds(60)

    private let account: ServiceAccount
    private let scopes: [Scope]
    private let transport: any HTTPTransportProtocol
    private let url: HTTPSURL
    private let retry: RetryPolicy
    private let clock: any Clock<Duration>
    private let time: ElapsedTime
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    /// Prepares the source; it sends no request before a token is asked for.
    ///
    /// - Parameters:
    ///   - account: the account whose key signs.
    ///   - scopes: the scopes of the tokens.
    ///   - transport: sends the requests for tokens.
    ///   - clock: measures how long tokens are kept.
    ///   - now: the time of day, for the account's signature.
    /// - Throws: `ConfigurationError` without a scope.
    public convenience init(
        _ account: ServiceAccount,
        scopes: [Scope] = [.androidPublisher],
        transport: any HTTPTransportProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        try self.init(account, scopes: scopes, transport: transport, clock: clock, tokenURL: nil, now: now)
    }

    /// - Parameter tokenURL: Google's own endpoint unless a test plays it.
    package init(
        _ account: ServiceAccount,
        scopes: [Scope] = [.androidPublisher],
        transport: any HTTPTransportProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        tokenURL: HTTPSURL?,
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        guard !scopes.isEmpty, scopes.allSatisfy({ !$0.url.isBlank }) else {
            throw ConfigurationError("scopes must name at least one scope, and no blank one")
        }
        do {
            url = try tokenURL ?? HTTPSURL(host: ServiceAccount.tokenHost, path: ["token"])
        } catch {
            throw ConfigurationError("token endpoint: \(error)")
        }
        self.account = account
        self.scopes = scopes
        self.transport = transport
        self.clock = clock
        self.time = ElapsedTime(clock)
        self.now = now
        retry = RetryPolicy(
            maximumAttempts: 3,
            baseDelay: .seconds(1),
            maximumDelay: .seconds(2),
            maximumRetryAfter: .seconds(10),
            deadline: .seconds(20),
            verdict: Self.verdict
        )
    }

    /// A token that is valid now. Another one is asked for when less than 225 seconds of it are left.
    ///
    /// - Throws: ``AccessTokenError``, which can be retried where Google could not be reached or had trouble, if it refuses
    ///   the tokens that it gives, and where the task was canceled; it cannot where Google refuses the account, its key or its
    ///   scopes, and where the transport was shut down.
    public func accessToken() async throws(AccessTokenError) -> SecretBytes {
        switch step() {
        case .answer(let outcome): return try outcome.get()
        case .wait(let flight):
            guard let outcome = await flight.valueUnlessCanceled else {
                throw Self.failure(HTTPTransportError(.canceled, "canceled while an access token was asked for"))
            }
            return try outcome.get()
        }
    }

    /// Forgets the token, if it is still the one that is given out.
    ///
    /// The first time, another one is asked for at once. Where that is refused as well, Google is asked every five seconds at most.
    public func discard(_ token: SecretBytes) {
        state.withLock { state in
            guard let known = state.token, known.secret.bytes == token.bytes else { return }
            state.token = nil
            let now = time.now
            if let last = state.lastRefusal, now - last < Self.refusalInterval {
                let error = AccessTokenError("access tokens are refused as soon as they are given", isRetryable: true)
                state.lastFailure = (now, error)
            }
            state.lastRefusal = now
        }
    }

    private func step() -> Step {
        state.withLock { state in
            let now = time.now
            let valid = state.token.flatMap { now < $0.expiry ? $0 : nil }
            if let valid, now < valid.expiry - Self.refreshMargin { return .answer(.success(valid.secret)) }
            let flight: Task<Outcome, Never>
            if let underWay = state.flight {
                flight = underWay
            } else if let failure = state.lastFailure, now - failure.at < Self.failureInterval {
                return .answer(valid.map { .success($0.secret) } ?? .failure(failure.error))
            } else {
                // Not a child of the first caller: the others must not lose it when that one is canceled.
                flight = Task { await self.fetch() }
                state.flight = flight
            }
            return valid.map { .answer(.success($0.secret)) } ?? .wait(flight)
        }
    }

    private func fetch() async -> Outcome {
        let outcome: Result<Token, AccessTokenError>
        do throws(AccessTokenError) {
            outcome = .success(try await fetchOnce())
        } catch {
            outcome = .failure(error)
        }
        return state.withLock { state in
            state.flight = nil
            switch outcome {
            case .success(let token): state.token = token
            case .failure(let error): state.lastFailure = (time.now, error)
            }
            return outcome.map(\.secret)
        }
    }

    private func fetchOnce() async throws(AccessTokenError) -> Token {
        let issuedAt = now().millisecondsSince1970 / 1000
        // Its life is counted from before the request, so that no delay of ours lengthens it.
        let start = time.now
        let request = try request(issuedAt: issuedAt)
        let response: HTTPTransportResponse
        do throws(HTTPTransportError) {
            response = try await transport.send(request, retrying: retry, clock: clock)
        } catch {
            throw Self.failure(error)
        }
        guard response.status == 200 else { throw Self.refusal(response, issuedAt: issuedAt) }
        return try Self.token(response.body, requestedAt: start)
    }

    private static func failure(_ error: HTTPTransportError) -> AccessTokenError {
        AccessTokenError("token endpoint: \(error.code)", isRetryable: error.code != .shutDown, underlying: error)
    }

    private func request(issuedAt: Int64) throws(AccessTokenError) -> HTTPTransportRequest {
        do {
            let assertion = try account.assertion(scopes: scopes.map(\.url), issuedAt: issuedAt)
            let body = Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8)
            var request = try HTTPTransportRequest(
                .post,
                url,
                headers: [
                    "Accept": "application/json",
                    "Content-Type": "application/x-www-form-urlencoded",
                ],
                body: body + assertion,
                timeout: .seconds(10),
                maximumResponseBytes: 64 * 1024
            )
            // A second token for the same assertion does no harm.
            request.isIdempotent = true
            return request
        } catch let error as SignatureError {
            throw AccessTokenError("assertion not signed: \(error.kind)", isRetryable: false)
        } catch {
            throw AccessTokenError("token request: \(error)", isRetryable: false)
        }
    }

    private static func token(_ body: [UInt8], requestedAt start: Duration) throws(AccessTokenError) -> Token {
        let answer: TokenAnswer
        do throws(JSONError) {
            var reader = try ObjectReader(parsing: body)
            answer = try TokenAnswer(reading: &reader)
        } catch {
            // This is not Google's answer: a proxy's, or a truncated one.
            throw AccessTokenError("token endpoint: answer is not a token: \(error)", isRetryable: true)
        }
        guard let token = answer.accessToken, !token.isEmpty, token.count <= 8192,
            token.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw AccessTokenError("token endpoint: answer has no access_token", isRetryable: false) }
        guard answer.isBearer else {
            throw AccessTokenError("token endpoint: token_type is not Bearer", isRetryable: false)
        }
        return Token(secret: SecretBytes(bytes: token), expiry: start + .seconds(answer.lifetime))
    }

    private static func refusal(_ response: HTTPTransportResponse, issuedAt: Int64) -> AccessTokenError {
        let error = OAuthError(response.body)
        var message = "token endpoint: status \(response.status)"
        if let code = error.code { message += ", \(code)" }
        if error.code == "invalid_grant", let date = response.headers.date {
            // The account signs the time; a clock that is off is the most frequent cause and the hardest to see.
            let difference = issuedAt.subtractingReportingOverflow(date.seconds).partialValue
            if difference.magnitude > 60 { message += "; the clock here differs from Google's by \(difference) s" }
        }
        let isRetryable = isTransient(response.status) || error.isTransient
        return AccessTokenError(message, isRetryable: isRetryable)
    }

    private static func isTransient(_ status: Int) -> Bool {
        [408, 429, 499, 500, 502, 503, 504].contains(status) || 300..<400 ~= status
    }

    private static func verdict(
        _ request: HTTPTransportRequest,
        _ outcome: RetryPolicy.Outcome
    ) -> RetryPolicy.Verdict {
        if case .success(let response) = outcome, !response.isSuccess, OAuthError(response.body).isTransient {
            return .retry
        }
        return RetryPolicy.standardVerdict(for: request, outcome)
    }
}

/// A successful answer of the token endpoint (RFC 6749, section 5.1).
private struct TokenAnswer: JSONReadable {
    let accessToken: [UInt8]?
    let isBearer: Bool
    /// In seconds.
    let lifetime: Int64

    init(reading reader: inout ObjectReader) throws(JSONError) {
        accessToken = try? reader.optionalValue("access_token")?.utf8()
        isBearer = reader.descriptiveString("token_type").map { $0.lowercased() == "bearer" } ?? true
        let stated = reader.optionalValue("expires_in")
        let seconds = (try? stated?.int64()) ?? (try? stated?.string()).flatMap { Int64($0) }
        // Where Google does not say, not for long.
        lifetime = min(max(seconds ?? 600, 0), 86_400)
    }
}

/// An error of the token endpoint (RFC 6749, section 5.2).
private struct OAuthError {
    private static let transient = ["internal_failure", "server_error", "temporarily_unavailable"]

    /// The code, if it looks like one.
    let code: String?
    let isTransient: Bool

    init(_ body: [UInt8]) {
        guard var reader = try? ObjectReader(parsing: body) else {
            code = nil
            isTransient = false
            return
        }
        let stated = reader.descriptiveString("error")
        let description = reader.descriptiveString("error_description")
        code = stated.flatMap(\.asReason)
        isTransient = [stated, description].contains { $0.map(Self.transient.contains) ?? false }
    }
}

extension String {
    /// The text where it is a word such as Google's error reasons are, and can be shown.
    var asReason: String? {
        let isWord = utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F
                || $0 == 0x2D || $0 == 0x2E
        }
        return isWord && 1...64 ~= utf8.count ? self : nil
    }
}
