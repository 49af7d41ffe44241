import ConformanceVectors
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// The certificates that a case can name, with their keys: the genuine chain, a forged one with the same names, and those that
/// the case describes.
struct AppleCaseCertificates {
    static let seed = Seed("vectors")

    private var named: [String: CertificateAuthority] = [:]

    init() throws {
        for (prefix, seed) in [("", Self.seed), ("impostor.", Seed("impostor"))] {
            let certificates = try AppleCertificates(seed: seed)
            named["\(prefix)root"] = certificates.root
            named["\(prefix)intermediate"] = certificates.intermediate
            named["\(prefix)leaf"] = CertificateAuthority(
                name: AppleCertificates.leafName,
                key: certificates.leafKey,
                certificate: certificates.leaf
            )
        }
    }

    /// These and the described ones. Each may be made of those before it, and take the name of another.
    func adding(_ descriptions: JSONText?) throws -> Self {
        guard let descriptions else { return self }
        var all = self
        for (name, description) in try Optional(JSONDocument(parsing: descriptions.bytes).root).pairs {
            all.named[name] = try DescribedCertificate(description).certificate(named: name, among: all)
        }
        return all
    }

    func certificate(_ name: String) throws -> CertificateAuthority {
        guard let certificate = named[name] else { throw VectorError("\(name): no such certificate") }
        return certificate
    }

    /// A certificate in base64, by its name; with a further word behind the name, another encoding of it or of its key.
    func word(_ name: String) throws -> JSONText? {
        if let certificate = named[name]?.certificate { return .string(base64(certificate)) }
        guard let dot = name.lastIndex(of: "."), let owner = named[String(name[..<dot])] else { return nil }
        switch name[dot...] {
        case ".base64url": return .string(String(decoding: Base64URL.encode(owner.certificate.span), as: UTF8.self))
        case ".hex": return .string(owner.certificate.hexadecimal)
        case ".point": return .string(base64(try owner.key.uncompressedPoint()))
        case ".spki": return .string(base64(try owner.key.publicKeyInfo()))
        case ".pem": return .string(base64(try owner.key.publicPEM()))
        default: return nil
        }
    }

    private func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes.span), as: UTF8.self) }
}
