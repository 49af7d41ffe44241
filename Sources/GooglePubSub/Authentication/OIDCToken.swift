import JSONWebSignature
import LifecycleEvents
import SignatureCore
import WireJSON

/// Proves the token that Pub/Sub sends with a push (OpenID Connect Core 1.0, section 3.1.3.7).
///
/// It names the sender and says nothing about the body, and it is used for many messages.
struct OIDCToken: Sendable {
    private static let maximumBytes = Limits.headerBytes
    /// Google has always used both spellings.
    private static let issuers = ["https://accounts.google.com", "accounts.google.com"]
    /// Google's tokens live for an hour.
    private static let maximumLifetime: Int64 = 3_600_000

    /// The id of the key that signed it.
    let keyID: String

    private struct Claims: JSONReadable {
        let issuer: String?
        let audience: String?
        let email: String?
        let isEmailVerified: Bool
        let subject: String?
        let expiry: Int64?
        let issuedAt: Int64?
        let notBefore: Int64?
        let hasNotBefore: Bool

        // A claim of another type is as good as none, and each is compared with what has to stand there.
        init(reading reader: inout ObjectReader) throws(JSONError) {
            issuer = reader.descriptiveString("iss")
            audience = reader.descriptiveString("aud")
            email = reader.descriptiveString("email")
            isEmailVerified = reader.descriptiveBool("email_verified") ?? false
            subject = reader.descriptiveString("sub")
            expiry = reader.descriptiveInt64("exp")
            issuedAt = reader.descriptiveInt64("iat")
            notBefore = reader.descriptiveInt64("nbf")
            hasNotBefore = reader.object["nbf"] != nil
        }
    }

    /// Proves the credential of a delivery.
    ///
    /// - Throws: ``DeliveryError`` with `unauthenticated` if there is not exactly one bearer token, its algorithm or
    ///   signature is wrong, or it is another account's; `malformed` if it is no JWS; `untrusted` for its key or
    ///   issuer; `misdirected` for its audience; `stale` for its times; `unavailable` if the keys are.
    static func verify(
        _ headers: Delivery.Headers,
        _ expected: GooglePlayAdapter.Configuration.Push,
        keys: any KeySource,
        receivedAt: Int64
    ) async throws(DeliveryError) -> OIDCToken {
        let token = try bearerToken(headers)
        let jws: CompactJWS
        let header: JWSProtectedHeader
        do throws(SignatureError) {
            jws = try CompactJWS(token)
            let decoded = try jws.header()
            header = try JWSProtectedHeader(reading: decoded, algorithm: .rs256, certificates: .ignored)
            guard hasAcceptableType(header, decoded) else { throw SignatureError(.header, "typ is not JWT") }
        } catch {
            throw refusal(error)
        }
        guard let octets = header.keyID, !octets.isEmpty else {
            throw DeliveryError(.untrusted, "token names no key")
        }
        // Decoded from checked UTF-8, so this loses nothing.
        let id = String(decoding: octets, as: UTF8.self)
        let key = try await keys.key(id)
        let payload: [UInt8]
        do throws(SignatureError) {
            payload = try jws.payload(verifiedBy: key.publicKey)
        } catch {
            throw refusal(error)
        }
        try check(payload, expected, receivedAt: receivedAt)
        return OIDCToken(keyID: key.id)
    }

    private static func bearerToken(_ headers: Delivery.Headers) throws(DeliveryError) -> [UInt8] {
        let values = headers.values("Authorization")
        guard values.count == 1, let value = values.first else {
            throw DeliveryError(.unauthenticated, "\(values.count) Authorization headers, expected 1")
        }
        let octets = Array(value.utf8)
        guard octets.count <= maximumBytes else {
            throw DeliveryError(.malformed, "Authorization header of \(octets.count) bytes, at most \(maximumBytes)")
        }
        let scheme = Array("bearer ".utf8)
        guard octets.count > scheme.count,
            zip(octets, scheme).allSatisfy({ $0 == $1 || ((0x41...0x5A).contains($0) && $0 | 0x20 == $1) })
        else { throw DeliveryError(.unauthenticated, "Authorization header has no bearer token") }
        return Array(octets.dropFirst(scheme.count))
    }

    /// `typ` is absent or `JWT` (RFC 7519, section 5.1).
    private static func hasAcceptableType(_ header: JWSProtectedHeader, _ decoded: [UInt8]) -> Bool {
        if let type = header.type { return type.hasOctets(of: "JWT") }
        // Nothing was read where there is nothing, and even if there is no string.
        return (try? ObjectReader(parsing: decoded))?.object["typ"] == nil
    }

    private static func refusal(_ error: SignatureError) -> DeliveryError {
        let code: DeliveryError.Code =
            switch error.kind {
            case .malformed, .header, .limit: .malformed
            case .algorithm, .signature: .unauthenticated
            case .certificate, .chain, .validity, .key: .untrusted
            case .internalFailure: .unavailable
            }
        return DeliveryError(code, "token: \(error.message)", underlying: error)
    }

    private static func check(
        _ payload: [UInt8],
        _ expected: GooglePlayAdapter.Configuration.Push,
        receivedAt: Int64
    ) throws(DeliveryError) {
        let claims: Claims
        do throws(JSONError) {
            var reader = try ObjectReader(parsing: payload)
            claims = try Claims(reading: &reader)
        } catch {
            throw DeliveryError(.malformed, "token's claims: \(error)", underlying: error)
        }
        guard let issuer = claims.issuer, issuers.contains(where: { $0.hasOctets(of: issuer) }) else {
            throw DeliveryError(.untrusted, "token's iss is not Google")
        }
        guard let audience = claims.audience, audience.hasOctets(of: expected.audience) else {
            throw DeliveryError(.misdirected, "token's aud is not the configured audience")
        }
        // Anyone with a project at Google can have a token signed for our audience; only the account identifies ours.
        guard let email = claims.email, email.hasOctets(of: expected.serviceAccountEmail) else {
            throw DeliveryError(.unauthenticated, "token's email is not the configured service account")
        }
        guard claims.isEmailVerified else {
            throw DeliveryError(.unauthenticated, "token's email_verified is not true")
        }
        if let id = expected.serviceAccountID {
            guard let subject = claims.subject, subject.hasOctets(of: id) else {
                throw DeliveryError(.unauthenticated, "token's sub is not the configured service account")
            }
        }
        try checkTimes(claims, skew: expected.clockSkew.wholeMilliseconds, now: receivedAt)
    }

    /// Everything in milliseconds, so that tolerances end where they say. The bounds keep every sum within 64 bits.
    private static func checkTimes(_ claims: Claims, skew: Int64, now: Int64) throws(DeliveryError) {
        guard let expiry = milliseconds(claims.expiry) else {
            throw DeliveryError(.stale, "token's exp is absent or no date")
        }
        guard let issuedAt = milliseconds(claims.issuedAt) else {
            throw DeliveryError(.stale, "token's iat is absent or no date")
        }
        guard expiry > now - skew else { throw DeliveryError(.stale, "token has expired") }
        guard issuedAt <= now + skew else { throw DeliveryError(.stale, "token was issued in the future") }
        guard expiry >= issuedAt, expiry - issuedAt <= maximumLifetime + skew else {
            throw DeliveryError(.stale, "token's lifetime is not one of at most an hour")
        }
        if claims.hasNotBefore {
            guard let notBefore = milliseconds(claims.notBefore), notBefore <= now + skew else {
                throw DeliveryError(.stale, "token is not valid yet")
            }
        }
    }

    private static func milliseconds(_ seconds: Int64?) -> Int64? {
        guard let seconds, 0...Limits.milliseconds.upperBound / 1000 ~= seconds else { return nil }
        return seconds * 1000
    }
}
