import SignatureCore
import SignatureIssuing

/// A chain like the App Store's, made once: leaf, intermediate and root with the two markers.
struct IssuedChain: Sendable {
    static let leafMarker = "1.2.840.113635.100.6.11.1"
    static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    /// 2020-01-01 and 2040-01-01.
    static let notBefore: Int64 = 1_577_836_800_000
    static let notAfter: Int64 = 2_208_988_800_000
    static let middle: Int64 = 1_750_000_000_000

    static let rootName = DistinguishedName(["CN": "Test Root CA - G3", "O": "Example Inc.", "C": "US"])
    static let intermediateName = DistinguishedName(["CN": "Test WWDR", "OU": "G6", "O": "Example Inc.", "C": "US"])
    static let leafName = DistinguishedName(["CN": "Test Signing", "O": "Example Inc.", "C": "US"])

    let root: CertificateAuthority
    let intermediate: CertificateAuthority
    let leafKey: SigningKey
    let leaf: [UInt8]

    var certificates: [[UInt8]] { [leaf, intermediate.certificate, root.certificate] }

    init(
        seed: Seed = Seed("chain"),
        rootKey: SigningKey.Algorithm = .p384,
        leafKey: SigningKey.Algorithm = .p256,
        adjustRoot: (inout CertificateTemplate) -> Void = { _ in },
        adjustIntermediate: (inout CertificateTemplate) -> Void = { _ in },
        adjustLeaf: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) {
        root = try .root(
            name: Self.rootName,
            key: SigningKey(rootKey, seed: seed, label: "root"),
            notBefore: Self.notBefore,
            notAfter: Self.notAfter,
            adjust: adjustRoot
        )
        intermediate = try root.intermediate(
            name: Self.intermediateName,
            key: SigningKey(.p384, seed: seed, label: "intermediate"),
            notBefore: Self.notBefore,
            notAfter: Self.notAfter
        ) {
            $0.extensions = [.init(Self.intermediateMarker)]
            adjustIntermediate(&$0)
        }
        self.leafKey = try SigningKey(leafKey, seed: seed, label: "leaf")
        leaf = try intermediate.leaf(
            name: Self.leafName,
            key: self.leafKey,
            notBefore: Self.notBefore,
            notAfter: Self.notAfter
        ) {
            $0.extensions = [.init(Self.leafMarker)]
            adjustLeaf(&$0)
        }
    }

    static let genuine = Result { () throws(SignatureError) in try IssuedChain() }

    func verification(strict: Bool = false) throws(SignatureError) -> ChainVerification {
        try Self.verification(trusting: [root.certificate], strict: strict)
    }

    static func verification(trusting roots: [[UInt8]], strict: Bool = false) throws(SignatureError)
        -> ChainVerification
    {
        try ChainVerification(
            trustAnchors: TrustAnchors(der: roots),
            requiredLeafExtension: leafMarker,
            requiredIntermediateExtension: intermediateMarker,
            strict: strict
        )
    }
}
