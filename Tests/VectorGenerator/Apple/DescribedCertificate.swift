import ConformanceVectors
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// A certificate of a role in the chain, with what a case changes in it. `Tests/Vectors/README.md` lists the members.
struct DescribedCertificate {
    private typealias Change = (inout CertificateTemplate) -> Void

    private let reader: ObjectReader
    private let changes: [Change]

    init(_ description: JSONValue) throws {
        reader = try ObjectReader(description)
        changes = try Optional(description).pairs.compactMap(Self.change)
    }

    /// The certificate with its key.
    ///
    /// - Parameters:
    ///   - name: its role in the chain, unless it says so.
    ///   - others: the certificates that it may be made of.
    func certificate(named name: String, among others: AppleCaseCertificates) throws -> CertificateAuthority {
        let role = try reader.optionalString("role") ?? name
        let key = try key(among: others) ?? others.certificate(role).key
        let issuer = try reader.optionalString("under")
        func adjust(_ template: inout CertificateTemplate) { for change in changes { change(&template) } }
        if let text = try reader.optionalString("der") {
            let octets = try JSONText.string(text).filled(others.word).string()
            let name = try others.certificate(role).name
            return CertificateAuthority(name: name, key: key, certificate: try [UInt8](hexadecimal: octets))
        }
        switch role {
        case "root": return try AppleCertificates.makeRoot(key: key, adjust: adjust)
        case "intermediate":
            let issuer = try others.certificate(issuer ?? "root")
            return try AppleCertificates.makeIntermediate(under: issuer, key: key, adjust: adjust)
        case "leaf":
            let issuer = try others.certificate(issuer ?? "intermediate")
            let leaf = try AppleCertificates.makeLeaf(under: issuer, key: key, adjust: adjust)
            return CertificateAuthority(name: AppleCertificates.leafName, key: key, certificate: leaf)
        default: throw VectorError("\(name): neither root, intermediate nor leaf")
        }
    }

    /// The key of another certificate, by its name, or one of its own.
    private func key(among others: AppleCaseCertificates) throws -> SigningKey? {
        guard let value = reader.optionalValue("key") else { return nil }
        guard value.kind == .object else { return try others.certificate(value.string()).key }
        let own = try ObjectReader(value)
        let name = try own.string("algorithm")
        guard let algorithm = SigningKey.Algorithm.allCases.first(where: { "\($0)" == name }) else {
            throw VectorError("\(name): no algorithm of a key")
        }
        return try SigningKey(algorithm, seed: AppleCaseCertificates.seed, label: own.string("label"))
    }

    /// The change of the usual certificate that a member asks for; nil if the member says which certificate is meant.
    private static func change(_ name: String, _ value: JSONValue) throws -> Change? {
        switch name {
        case "role", "key", "under", "der": return nil
        case "version":
            let version: Int = try number(value)
            return { $0.version = version }
        case "serialNumber":
            let number: UInt64 = try number(value)
            return { $0.serialNumber = number }
        case "subject":
            let name = try self.name(value)
            return { $0.subject = name }
        case "issuer":
            let name = try self.name(value)
            return { $0.issuer = name }
        case "notBefore":
            let time = try value.int64()
            return { $0.notBefore = time }
        case "notAfter":
            let time = try value.int64()
            return { $0.notAfter = time }
        case "digest":
            let name = try value.string()
            guard let digest = CertificateTemplate.Digest(rawValue: name) else { throw VectorError("digest: \(name)") }
            return { $0.digest = digest }
        case "basicConstraints":
            let constraints = try value.isNull ? nil : basicConstraints(value)
            return { $0.basicConstraints = constraints }
        case "keyUsage":
            let usage = try value.isNull ? nil : CertificateTemplate.KeyUsage(value.strings().map(use))
            return { $0.keyUsage = usage }
        case "subjectKeyIdentifier":
            let identifier = try identifier(value)
            return { $0.subjectKeyIdentifier = identifier }
        case "authorityKeyIdentifier":
            let identifier = try identifier(value)
            return { $0.authorityKeyIdentifier = identifier }
        case "without":
            let identifiers = try value.strings()
            return { $0.extensions.removeAll { identifiers.contains($0.identifier) } }
        case "extensions":
            let extensions = try value.array().map { try certificateExtension(ObjectReader($0)) }
            return { $0.extensions += extensions }
        default: throw VectorError("\(name): no member of a certificate")
        }
    }

    private static func number<Number: FixedWidthInteger>(_ value: JSONValue) throws -> Number {
        guard let number = Number(exactly: try value.int64()) else { throw VectorError("a number of a certificate") }
        return number
    }

    private static func name(_ value: JSONValue) throws -> DistinguishedName {
        var name = DistinguishedName([:])
        name.attributes = try Optional(value).pairs.map { ($0.name, try $0.value.string()) }
        return name
    }

    private static func basicConstraints(_ value: JSONValue) throws -> CertificateTemplate.BasicConstraints {
        let reader = try ObjectReader(value)
        let length: UInt8? = try reader.optionalValue("pathLen").map(number)
        return .init(isAuthority: try reader.optionalBool("cA") ?? false, pathLength: length)
    }

    private static func use(_ name: String) throws -> CertificateTemplate.KeyUsage {
        switch name {
        case "digitalSignature": .digitalSignature
        case "keyEncipherment": .keyEncipherment
        case "keyCertSign": .keyCertSign
        case "cRLSign": .crlSign
        default: throw VectorError("\(name): no use of a key")
        }
    }

    private static func identifier(_ value: JSONValue) throws -> [UInt8]? {
        try value.isNull ? nil : [UInt8](hexadecimal: value.string())
    }

    private static func certificateExtension(_ reader: ObjectReader) throws -> CertificateTemplate.Extension {
        .init(
            try reader.string("id"),
            isCritical: try reader.optionalBool("critical") ?? false,
            value: try [UInt8](hexadecimal: reader.optionalString("der") ?? "0500")
        )
    }
}
