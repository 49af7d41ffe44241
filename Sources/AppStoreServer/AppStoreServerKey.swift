import FoundationEssentials
public import LifecycleEvents
import SignatureCore

/// An In-App Purchase key from App Store Connect, with the two identifiers that Apple needs to recognise it.
///
/// Create it in App Store Connect under Users and Access, Integrations, In-App Purchase. The App Store Connect API uses keys
/// of another kind, which this API refuses.
public struct AppStoreServerKey: Sendable {
    /// The issuer id from App Store Connect, a UUID.
    public let issuerID: String
    /// The id of the key.
    public let keyID: String
    let key: P256PrivateKey

    /// Reads a key.
    ///
    /// - Parameters:
    ///   - issuerID: the UUID that App Store Connect shows as the issuer id.
    ///   - keyID: the letters and digits in `AuthKey_<keyID>.p8`.
    ///   - privateKey: the contents of the `.p8` file.
    /// - Throws: `ConfigurationError` that names the part that is wrong: an issuer id that is not a UUID, a key id that is
    ///   empty or has characters other than letters and digits, or a private key that is not a PKCS #8 key on P-256. No
    ///   message holds anything of the key.
    public init(issuerID: String, keyID: String, privateKey: SecretBytes) throws(ConfigurationError) {
        guard UUID(uuidString: issuerID) != nil else {
            throw ConfigurationError("App Store Server API: issuerID must be the UUID shown in App Store Connect")
        }
        guard (1...64).contains(keyID.utf8.count), keyID.utf8.allSatisfy(Self.isAlphanumeric) else {
            throw ConfigurationError("App Store Server API: keyID must be letters and digits, as in AuthKey_<keyID>.p8")
        }
        do throws(SignatureError) {
            key = try P256PrivateKey(pem: privateKey.bytes.span)
        } catch {
            throw ConfigurationError("App Store Server API: private key: \(error.message)")
        }
        self.issuerID = issuerID
        self.keyID = keyID
    }

    private static func isAlphanumeric(_ octet: UInt8) -> Bool {
        (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
    }
}

extension AppStoreServerKey: Redacted {
    /// The id of the key.
    public var description: String { "key \(keyID)" }
}
