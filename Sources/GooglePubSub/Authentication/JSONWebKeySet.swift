public import LifecycleEvents
package import SignatureCore
import WireJSON

/// A public RSA key for RS256 out of a key set (RFC 7517, section 4; RFC 7518, section 6.3.1).
public struct JSONWebKey: Sendable {
    /// Its id.
    public let id: String
    package let publicKey: RSAPublicKey
}

/// Keys that a provider publishes (RFC 7517, section 5).
///
/// The set as a whole is refused if its form is wrong or two keys share an id. A single key that is for another purpose
/// (`kty`, `use`, `alg`, `key_ops`), too weak, or malformed, is left out: by RFC 7517, section 5, implementations
/// ignore keys that they do not understand or cannot use, so that one foreign key does not stop all deliveries.
public struct JSONWebKeySet: Sendable {
    /// The longest document that is read, in bytes.
    public static let maximumBytes = Limits.jwksBytes
    /// The most keys that a set may have.
    public static let maximumKeys = Limits.jwksKeys

    /// The keys that RS256 signatures can be verified with.
    public let keys: [JSONWebKey]

    /// Reads a document.
    ///
    /// - Throws: `DeliveryError` with `untrusted` for one that is too large, is not a key set, has two keys of one
    ///   id, or none that is fit.
    public init(_ json: [UInt8]) throws(DeliveryError) {
        guard json.count <= Self.maximumBytes else {
            throw DeliveryError(.untrusted, "key set of \(json.count) bytes, at most \(Self.maximumBytes)")
        }
        do throws(JSONError) {
            keys = try Self.keys(in: json)
        } catch {
            throw DeliveryError(.untrusted, "key set: \(error)", underlying: error)
        }
        guard !keys.isEmpty else { throw DeliveryError(.untrusted, "key set has no RSA key for RS256") }
    }

    /// The key with this id. It is compared octet for octet, and nothing else is done with it.
    public func key(_ id: String) -> JSONWebKey? {
        keys.first { $0.id.hasOctets(of: id) }
    }

    private static func keys(in json: [UInt8]) throws(JSONError) -> [JSONWebKey] {
        let entries = try ObjectReader(parsing: json).array("keys")
        guard entries.count <= maximumKeys else {
            throw JSONError(.tooManyNodes(limit: maximumKeys), path: "keys", offset: 0)
        }
        var ids: Set<[UInt8]> = []
        var keys: [JSONWebKey] = []
        for entry in entries {
            guard let reader = try? ObjectReader(entry), let id = try? reader.optionalString("kid"), !id.isEmpty else {
                continue
            }
            guard ids.insert(Array(id.utf8)).inserted else { throw entry.error(.duplicateMember) }
            if let key = try? publicKey(reader) { keys.append(JSONWebKey(id: id, publicKey: key)) }
        }
        return keys
    }

    private static func publicKey(_ reader: ObjectReader) throws(JSONError) -> RSAPublicKey? {
        let isForSignatures =
            try reader.value("kty").isString("RSA")
            && reader.optionalValue("use")?.isString("sig") ?? true
            && reader.optionalValue("alg")?.isString("RS256") ?? true
        let operations = try reader.optionalStrings("key_ops") ?? ["verify"]
        guard isForSignatures, operations.contains("verify") else { return nil }
        let modulusText = try reader.utf8Slice("n")
        let exponentText = try reader.utf8Slice("e")
        do throws(SignatureError) {
            let modulus = try Base64URL.decode(modulusText.span)
            let exponent = try Base64URL.decode(exponentText.span)
            return try RSAPublicKey(modulus: modulus.span, exponent: exponent.span)
        } catch {
            return nil
        }
    }
}
