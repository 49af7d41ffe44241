import FoundationEssentials
import LifecycleEvents
import SignatureCore
import Synchronization

/// The JWT that authorises requests, signed here and used until shortly before it expires.
///
/// Apple documents its members at
/// <https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests>.
final class BearerToken: Sendable {
    /// Apple refuses tokens that are valid for more than an hour.
    private static let lifetime: Int64 = 30 * 60
    /// A server clock that is a few seconds ahead of Apple's must not make a token that is "issued in the future".
    private static let backdating: Int64 = 60
    /// A token is replaced when less than this is left, so that none expires on its way.
    private static let margin: Int64 = 5 * 60

    private struct Header: Encodable {
        var alg = "ES256"
        var kid: String
        var typ = "JWT"
    }

    private struct Claims: Encodable {
        var iss: String
        var iat: Int64
        var exp: Int64
        var aud = "appstoreconnect-v1"
        var bid: String
    }

    private struct Issued {
        var text: SecretBytes
        var at: Int64
        var expiry: Int64
    }

    private let key: AppStoreServerKey
    private let bundleID: String
    private let issued = Mutex<Issued?>(nil)

    init(_ key: AppStoreServerKey, bundleID: String) {
        self.key = key
        self.bundleID = bundleID
    }

    /// A token that is valid at `now`.
    func value(at now: Date) throws(AppStoreServerError) -> SecretBytes {
        let seconds = now.millisecondsSince1970 / 1000
        // A clock that was set back would otherwise keep a token from its future.
        if let known = issued.withLock({ $0 }), known.at <= seconds, seconds < known.expiry - Self.margin {
            return known.text
        }
        let token = Issued(text: try sign(at: seconds), at: seconds, expiry: seconds - Self.backdating + Self.lifetime)
        issued.withLock { $0 = token }
        return token.text
    }

    private func sign(at seconds: Int64) throws(AppStoreServerError) -> SecretBytes {
        let issuedAt = seconds - Self.backdating
        do {
            let header = try CanonicalJSON.bytes(Header(kid: key.keyID))
            let claims = try CanonicalJSON.bytes(
                Claims(iss: key.issuerID, iat: issuedAt, exp: issuedAt + Self.lifetime, bid: bundleID)
            )
            let input = Base64URL.encode(header.span) + [UInt8(ascii: ".")] + Base64URL.encode(claims.span)
            let signature = try key.key.signature(over: input.span)
            return SecretBytes(bytes: input + [UInt8(ascii: ".")] + Base64URL.encode(signature.span))
        } catch {
            throw AppStoreServerError(.unavailable, "libcrypto could not sign the request's token", underlying: error)
        }
    }
}
