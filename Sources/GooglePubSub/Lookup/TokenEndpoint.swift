import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import SignatureCore
import WireJSON

/// Google's endpoint that gives access tokens for a service account's signature (RFC 7523).
struct TokenEndpoint: Sendable {
    let url: HTTPSURL
    let account: ServiceAccount
    let scopes: [ServiceAccountTokenSource.Scope]
    let transport: any HTTPTransportProtocol
    let clock: any Clock<Duration>
    let now: @Sendable () -> Date

    private static let retry = RetryPolicy(
        maximumAttempts: 3,
        baseDelay: .seconds(1),
        maximumDelay: .seconds(2),
        maximumRetryAfter: .seconds(10),
        deadline: .seconds(20),
        verdict: verdict
    )

    /// Asks for a token.
    ///
    /// - Returns: the token, with how long it lives from before the request.
    func token() async throws(AccessTokenError) -> (SecretBytes, lifetime: Duration) {
        let issuedAt = now().millisecondsSince1970 / 1000
        let request = try request(issuedAt: issuedAt)
        let response: HTTPTransportResponse
        do throws(HTTPTransportError) {
            response = try await transport.send(request, retrying: Self.retry, clock: clock)
        } catch {
            throw Self.failure(error)
        }
        guard response.status == 200 else { throw Self.refusal(response, issuedAt: issuedAt) }
        return try Self.token(response.body)
    }

    static func failure(_ error: HTTPTransportError) -> AccessTokenError {
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

    private static func token(_ body: [UInt8]) throws(AccessTokenError) -> (SecretBytes, lifetime: Duration) {
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
        return (SecretBytes(bytes: token), .seconds(answer.lifetime))
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
