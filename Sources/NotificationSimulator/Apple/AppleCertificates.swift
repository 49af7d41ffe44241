package import SignatureCore
package import SignatureIssuing

/// A public-key infrastructure with the shape and about the size of Apple's: root and intermediate on P-384, leaf on
/// P-256, all signed with ecdsa-with-SHA384, and Apple's two marker extensions.
///
/// Only a receiver that is given its root trusts it.
package struct AppleCertificates: Sendable {
    package static let leafMarker = "1.2.840.113635.100.6.11.1"
    package static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    /// 30 April 2014 … 30 April 2039, as long as Apple Root CA - G3 lives.
    package static let rootValidity: ClosedRange<Int64> = 1_398_794_426_000...2_187_712_826_000
    /// 17 March 2021 … 19 March 2036.
    package static let intermediateValidity: ClosedRange<Int64> = 1_615_999_077_000...2_089_497_600_000
    /// 1 January 2024 … 1 January 2034; Apple's leaves live for about two years.
    package static let leafValidity: ClosedRange<Int64> = 1_704_067_200_000...2_019_686_400_000

    package static let rootName = DistinguishedName([
        "CN": "Simulated Root CA - G3", "OU": "Simulated Certification Authority", "O": "Example Inc.", "C": "US",
    ])
    package static let intermediateName = DistinguishedName([
        "CN": "Simulated Worldwide Developer Relations Certification Authority", "OU": "G6", "O": "Example Inc.",
        "C": "US",
    ])
    package static let leafName = DistinguishedName([
        "CN": "Prod ECC Simulated App Store and iTunes Store Receipt Signing",
        "OU": "Simulated Worldwide Developer Relations", "O": "Example Inc.", "C": "US",
    ])

    package let seed: Seed
    package let root: CertificateAuthority
    package let intermediate: CertificateAuthority
    package let leafKey: SigningKey
    /// DER.
    package let leaf: [UInt8]

    package init(seed: Seed) throws(SignatureError) {
        self.seed = seed
        root = try Self.makeRoot(key: SigningKey(.p384, seed: seed, label: "apple root"))
        intermediate = try Self.makeIntermediate(
            under: root,
            key: SigningKey(.p384, seed: seed, label: "apple intermediate")
        )
        leafKey = try SigningKey(.p256, seed: seed, label: "apple leaf")
        leaf = try Self.makeLeaf(under: intermediate, key: leafKey)
    }

    /// Leaf, intermediate and root, as `x5c` gives them.
    package var x5c: [[UInt8]] { [leaf, intermediate.certificate, root.certificate] }

    package static func makeRoot(
        key: SigningKey,
        adjust: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) -> CertificateAuthority {
        let identifier = try keyIdentifier(key)
        return try .root(
            name: rootName,
            key: key,
            notBefore: rootValidity.lowerBound,
            notAfter: rootValidity.upperBound
        ) {
            $0.serialNumber = 0x2DC5_FC88_D2C5_4B95
            $0.digest = .sha384
            $0.subjectKeyIdentifier = identifier
            adjust(&$0)
        }
    }

    package static func makeIntermediate(
        under root: CertificateAuthority,
        key: SigningKey,
        adjust: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) -> CertificateAuthority {
        let identifier = try keyIdentifier(key)
        let authority = try keyIdentifier(root.key)
        return try root.intermediate(
            name: intermediateName,
            key: key,
            notBefore: intermediateValidity.lowerBound,
            notAfter: intermediateValidity.upperBound
        ) {
            $0.serialNumber = 0x3FB3_6B2B_7C1A_9E01
            $0.digest = .sha384
            $0.subjectKeyIdentifier = identifier
            $0.authorityKeyIdentifier = authority
            $0.extensions = [
                .init("1.3.6.1.5.5.7.1.1", value: responder("http://ocsp.example.com/ocsp03-simulatedrootcag3")),
                .init("2.5.29.31", value: revocationList("http://crl.example.com/simulatedrootcag3.crl")),
                .init(intermediateMarker),
            ]
            adjust(&$0)
        }
    }

    package static func makeLeaf(
        under intermediate: CertificateAuthority,
        key: SigningKey,
        adjust: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) -> [UInt8] {
        let identifier = try keyIdentifier(key)
        let authority = try keyIdentifier(intermediate.key)
        return try intermediate.leaf(
            name: leafName,
            key: key,
            notBefore: leafValidity.lowerBound,
            notAfter: leafValidity.upperBound
        ) {
            $0.serialNumber = 0x7A11_05C3_2E4D_6F88
            $0.digest = .sha384
            $0.subjectKeyIdentifier = identifier
            $0.authorityKeyIdentifier = authority
            $0.extensions = [
                .init("1.3.6.1.5.5.7.1.1", value: responder("http://ocsp.example.com/ocsp03-simulatedwwdrg602")),
                .init("2.5.29.32", value: policy),
                .init("2.5.29.31", value: revocationList("http://crl.example.com/simulatedwwdrg6.crl")),
                .init(leafMarker),
            ]
            adjust(&$0)
        }
    }

    private static func keyIdentifier(_ key: SigningKey) throws(SignatureError) -> [UInt8] {
        let info = try key.publicKeyInfo()
        return Array(SHA256.hash(info.span).bytes.prefix(20))
    }

    // RFC 5280 §4.2.2.1: where to ask about revocation.
    private static func responder(_ url: String) -> [UInt8] {
        let method: [UInt8] = [0x06, 8, 0x2B, 6, 1, 5, 5, 7, 0x30, 1]
        return DER.element(0x30, DER.element(0x30, method + DER.element(0x86, Array(url.utf8))))
    }

    // RFC 5280 §4.2.1.13.
    private static func revocationList(_ url: String) -> [UInt8] {
        let name = DER.element(0xA0, DER.element(0xA0, DER.element(0x86, Array(url.utf8))))
        return DER.element(0x30, DER.element(0x30, name))
    }

    // RFC 5280 §4.2.1.4, with a user notice of the length of Apple's.
    private static var policy: [UInt8] {
        let notice = """
            Reliance on this certificate by any party assumes that the party knows it for what it is: one of a \
            simulator, made from a seed that is no secret. It vouches for nothing and nobody.
            """
        let text = DER.element(0x30, DER.element(0x0C, Array(notice.utf8)))
        let userNotice: [UInt8] = [0x06, 8, 0x2B, 6, 1, 5, 5, 7, 2, 2]
        let statement: [UInt8] = [0x06, 8, 0x2B, 6, 1, 5, 5, 7, 2, 1]
        let address = DER.element(0x16, Array("http://www.example.com/certificateauthority/".utf8))
        let qualifiers = DER.element(0x30, userNotice + text) + DER.element(0x30, statement + address)
        let identifier: [UInt8] = [0x06, 10, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 5, 6, 1]
        return DER.element(0x30, DER.element(0x30, identifier + DER.element(0x30, qualifiers)))
    }
}
