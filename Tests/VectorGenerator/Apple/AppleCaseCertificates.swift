import ConformanceVectors
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// The certificates that a case can name, with their keys: the genuine chain, and a forged one with the same names.
struct AppleCaseCertificates {
    private var named: [String: CertificateAuthority] = [:]

    init() throws {
        for (prefix, seed) in [("", "vectors"), ("impostor.", "impostor")] {
            let genuine = try AppleSimulator(seed: seed).certificates
            named["\(prefix)root"] = genuine.root
            named["\(prefix)intermediate"] = genuine.intermediate
            named["\(prefix)leaf"] = CertificateAuthority(
                name: AppleCertificates.leafName,
                key: genuine.leafKey,
                certificate: genuine.leaf
            )
        }
        try addShort()
    }

    private mutating func addShort() throws {
        // Both ends of a validity are included.
        func tenDays(_ template: inout CertificateTemplate) {
            template.notBefore = AppleVectorWorld.start
            template.notAfter = AppleVectorWorld.start + 10 * AppleVectorWorld.day
        }
        let (root, intermediate, leaf) = try (certificate("root"), certificate("intermediate"), certificate("leaf"))
        named["root.short"] = try AppleCertificates.makeRoot(key: root.key, adjust: tenDays)
        named["intermediate.short"] = try AppleCertificates.makeIntermediate(
            under: root,
            key: intermediate.key,
            adjust: tenDays
        )
        named["leaf.short"] = CertificateAuthority(
            name: leaf.name,
            key: leaf.key,
            certificate: try AppleCertificates.makeLeaf(under: intermediate, key: leaf.key, adjust: tenDays)
        )
    }

    private func certificate(_ name: String) throws -> CertificateAuthority {
        guard let certificate = named[name] else { throw VectorError("\(name): no such certificate") }
        return certificate
    }

    /// The key of a certificate.
    func key(_ name: String) throws -> SigningKey { try certificate(name).key }

    /// A certificate in base64, by its name; with a further word behind the name, another encoding of it or of its key.
    func word(_ name: String) throws -> JSONText? {
        if let certificate = named[name]?.certificate { return .string(base64(certificate)) }
        guard let dot = name.lastIndex(of: "."), let owner = named[String(name[..<dot])] else { return nil }
        switch name[dot...] {
        case ".base64url": return .string(String(decoding: Base64URL.encode(owner.certificate.span), as: UTF8.self))
        case ".point": return .string(base64(try owner.key.uncompressedPoint()))
        case ".spki": return .string(base64(try owner.key.publicKeyInfo()))
        case ".pem": return .string(base64(try owner.key.publicPEM()))
        default: return nil
        }
    }
}
