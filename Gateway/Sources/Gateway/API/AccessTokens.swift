import Configuration
import HTTPTypes
import Hummingbird
import Normalizer

/// A right that a bearer token gives.
enum Scope: String, Sendable, CaseIterable {
    /// Access, subscriptions, credits, events, and the page.
    case read
    /// Uploads, claims and uses of credits.
    case write
    /// Quarantine, dead letters, export and erasure.
    case admin
}

/// The tokens that callers show, compared by their codes under a key that no one knows: the time says nothing about a token.
struct AccessTokens: Sendable {
    private struct Token: Sendable {
        var name: String
        var code: [UInt8]
        var scopes: Set<Scope>
    }

    private let tokens: [Token]
    /// Made anew at each start.
    private let key: SecretBytes

    var names: [String] { tokens.map { "\($0.name) (\($0.scopes.map(\.rawValue).sorted().joined(separator: ", ")))" } }

    init(_ reader: ConfigReader) throws {
        let names = reader.stringArray(forKey: "tokens", default: [])
        guard !names.isEmpty else {
            throw SettingError(
                "tokens",
                "names none, so no question could be answered. List a name, and set token.<name>.secret"
            )
        }
        guard !names.contains("") else { throw SettingError("tokens", "has an empty name") }
        guard Set(names).count == names.count else { throw SettingError("tokens", "names a token twice") }
        var generator = SystemRandomNumberGenerator()
        let key = SecretBytes(bytes: (0..<32).map { _ in .random(in: .min ... .max, using: &generator) })
        self.key = key
        var tokens: [Token] = []
        for name in names {
            let reader = reader.scoped(to: ConfigKey(["token", name]))
            guard let secret = reader.string(forKey: "secret", isSecret: true), secret.utf8.count >= 16,
                !GatewayConfiguration.isPlaceholder(secret)
            else {
                throw SettingError(
                    "token.\(name).secret",
                    "must have 16 bytes or more, such as `openssl rand -hex 16` prints"
                )
            }
            let texts = reader.stringArray(forKey: "scopes", default: ["read"])
            let scopes = texts.compactMap(Scope.init)
            // A token without a scope would be refused everywhere.
            guard !texts.isEmpty, scopes.count == texts.count else {
                throw SettingError("token.\(name).scopes", "must be of read, write and admin")
            }
            let code = try key.authenticationCode(over: Array(secret.utf8))
            if let other = tokens.first(where: { $0.code == code }) {
                throw SettingError(
                    "token.\(name).secret",
                    "must differ from the secret of \(other.name), which has its own scopes"
                )
            }
            tokens.append(Token(name: name, code: code, scopes: Set(scopes)))
        }
        self.tokens = tokens
    }

    /// Checks the token of a request, and reads its query. Every call with a token begins here, so that none drops a parameter.
    ///
    /// - Parameter names: the parameters that the call has.
    @discardableResult
    func admit(_ request: Request, for scope: Scope, _ names: [String] = []) throws(HTTPError) -> QueryParameters {
        try check(request, for: scope)
        return try QueryParameters(request, of: names)
    }

    /// Checks that the request shows a token with a scope, as a bearer token or as the password of basic authentication, which
    /// browsers offer.
    private func check(_ request: Request, for scope: Scope) throws(HTTPError) {
        guard let shown = Self.secret(in: request.headers[.authorization]) else {
            throw HTTPError(
                .unauthorized,
                headers: [.wwwAuthenticate: #"Basic realm="lifecycle""#],
                message: "a token is required"
            )
        }
        guard let code = try? key.authenticationCode(over: shown) else {
            throw HTTPError(.serviceUnavailable, message: "the token cannot be checked")
        }
        guard let scopes = tokens.first(where: { $0.code == code })?.scopes else {
            throw HTTPError(
                .unauthorized,
                headers: [.wwwAuthenticate: #"Basic realm="lifecycle""#],
                message: "unknown token"
            )
        }
        guard scopes.contains(scope) else {
            throw HTTPError(.forbidden, message: "the token lacks the scope \(scope.rawValue)")
        }
        guard Self.isIntended(request) else {
            throw HTTPError(.forbidden, message: "another site may not change anything here; show a bearer token")
        }
    }

    /// A browser adds basic authentication by itself, even to a form of another site. So a request with it changes something
    /// only if it comes from a page of the gateway.
    private static func isIntended(_ request: Request) -> Bool {
        guard request.method != .get, request.method != .head,
            request.headers[.authorization]?.lowercased().hasPrefix("basic ") == true
        else { return true }
        guard let name = HTTPField.Name("Sec-Fetch-Site") else { return false }
        return request.headers[name] == "same-origin"
    }

    private static func secret(in header: String?) -> [UInt8]? {
        guard let header else { return nil }
        if header.lowercased().hasPrefix("bearer ") { return Array(header.dropFirst(7).utf8) }
        guard header.lowercased().hasPrefix("basic "),
            let decoded = Base64.decode(String(header.dropFirst(6))),
            let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return Array(decoded[decoded.index(after: colon)...])
    }
}
