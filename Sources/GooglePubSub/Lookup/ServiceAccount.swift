public import LifecycleEvents
import SignatureCore
import WireJSON

/// A Google service account with its private key, read from the JSON file that the Cloud console hands out.
public struct ServiceAccount: Sendable {
    /// The only place that assertions are sent to and made out for.
    static let tokenHost = "oauth2.googleapis.com"
    static let tokenURI = "https://oauth2.googleapis.com/token"

    private static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.maximumBytes = 64 * 1024
        limits.maximumDepth = 8
        limits.maximumNodes = 256
        return limits
    }()

    /// The account's address.
    public let email: String
    /// The id of its key.
    public let keyID: String?
    private let key: RSAPrivateKey

    /// Reads a key file.
    ///
    /// - Throws: `ConfigurationError` for anything but a service account's key file whose key is an RSA key, and for a
    ///   `token_uri` that is not Google's. No message holds anything of the file.
    public init(keyFile: SecretBytes) throws(ConfigurationError) {
        let members: KeyFile
        do throws(JSONError) {
            members = try KeyFile(ObjectReader(parsing: keyFile.bytes, limits: Self.limits))
        } catch {
            throw ConfigurationError("key file: not the JSON key of a service account: \(error)")
        }
        guard members.isServiceAccount else { throw ConfigurationError("key file: type must be service_account") }
        guard members.isGoogleTokenURI else {
            throw ConfigurationError("key file: token_uri must be \(Self.tokenURI)")
        }
        guard members.isGoogleUniverse else {
            throw ConfigurationError("key file: universe_domain must be googleapis.com")
        }
        email = members.email
        keyID = members.keyID
        key = try Self.key(pem: members.privateKey)
        try Self.check(email: email, keyID: keyID)
    }

    /// Takes the parts of a key file.
    ///
    /// - Throws: `ConfigurationError` for a key that is not an RSA key in PKCS #8, or an address that is none.
    public init(email: String, keyID: String?, privateKeyPEM: SecretBytes) throws(ConfigurationError) {
        self.email = email
        self.keyID = keyID
        key = try Self.key(pem: privateKeyPEM.bytes)
        try Self.check(email: email, keyID: keyID)
    }

    /// A statement, signed by the account, that it asks for access (RFC 7523, section 2.1).
    ///
    /// - Parameter issuedAt: seconds since 1970.
    func assertion(scopes: [String], issuedAt: Int64) throws(SignatureError) -> [UInt8] {
        let header = JSONMembers([("alg", "RS256"), ("typ", "JWT")] + keyMember).bytes
        let claims = JSONMembers([
            ("iss", .string(email)),
            ("scope", .string(scopes.joined(separator: " "))),
            ("aud", .string(Self.tokenURI)),
            ("iat", .integer(issuedAt)),
            ("exp", .integer(issuedAt + 3600)),
        ]).bytes
        let input = Base64URL.encode(header.span) + [UInt8(ascii: ".")] + Base64URL.encode(claims.span)
        let signature = try key.signature(over: input.span)
        return input + [UInt8(ascii: ".")] + Base64URL.encode(signature.span)
    }

    private var keyMember: [(String, JSONText)] {
        keyID.map { [("kid", .string($0))] } ?? []
    }

    private static func key(pem: [UInt8]) throws(ConfigurationError) -> RSAPrivateKey {
        do throws(SignatureError) {
            return try RSAPrivateKey(pem: lineBreaksRestored(pem).span)
        } catch {
            throw ConfigurationError("key file: private_key: \(error.message)")
        }
    }

    /// Environment variables and YAML often turn each line break into a backslash and an n.
    private static func lineBreaksRestored(_ pem: [UInt8]) -> [UInt8] {
        guard pem.contains(UInt8(ascii: "\\")) else { return pem }
        var restored: [UInt8] = []
        var rest = pem[...]
        while let octet = rest.popFirst() {
            if octet == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "n") {
                rest.removeFirst()
                restored.append(0x0A)
            } else {
                restored.append(octet)
            }
        }
        return restored
    }

    private static func check(email: String, keyID: String?) throws(ConfigurationError) {
        let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), email.utf8.count <= 320,
            email.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw ConfigurationError("key file: client_email must be an e-mail address") }
        guard keyID.map({ 1...256 ~= $0.utf8.count }) ?? true else {
            throw ConfigurationError("key file: private_key_id must have 1 to 256 bytes")
        }
    }
}

extension ServiceAccount: Redacted {
    /// The account's address.
    public var description: String { email }
}

/// The members of a key file that count.
private struct KeyFile {
    let isServiceAccount: Bool
    let isGoogleTokenURI: Bool
    let isGoogleUniverse: Bool
    let email: String
    let keyID: String?
    let privateKey: [UInt8]

    init(_ reader: ObjectReader) throws(JSONError) {
        isServiceAccount = try reader.value("type").isString("service_account")
        email = try reader.string("client_email")
        keyID = try reader.optionalString("private_key_id")
        privateKey = try reader.value("private_key").utf8()
        isGoogleTokenURI = reader.optionalValue("token_uri")?.isString(ServiceAccount.tokenURI) ?? true
        isGoogleUniverse = reader.optionalValue("universe_domain")?.isString("googleapis.com") ?? true
    }
}
