import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// Attacks on the certificates of `x5c` and on the path that they form.
enum AppleCertificateCases {
    typealias World = AppleVectorWorld
    typealias Change = (inout CertificateTemplate) -> Void

    static func all(_ world: World) throws -> [AppleCase] {
        try counts(world) + entries(world) + markers(world) + authorities(world) + keys(world) + paths(world)
            + roots(world)
    }

    private static func jws(
        _ world: World,
        x5c: String,
        payload: [UInt8]? = nil,
        by key: SigningKey? = nil
    ) throws -> [UInt8] {
        try JWSIssuer.compact(
            header: Array("{\"alg\":\"ES256\",\"x5c\":\(x5c)}".utf8),
            payload: payload ?? world.test().bytes
        ) { (input) throws(SignatureError) in
            let key = key ?? world.production.certificates.leafKey
            // A key on another curve has no signature of 64 octets; what stands there is not looked at.
            guard [.p256, .p256ExplicitParameters, .secp256k1, .brainpoolP256r1].contains(key.algorithm) else {
                return [UInt8](repeating: 1, count: 64)
            }
            return try key.es256(input)
        }
    }

    private static func list(_ certificates: [[UInt8]]) -> String {
        "[\(certificates.map { "\"\(base64($0))\"" }.joined(separator: ","))]"
    }

    private static func refused(
        _ world: World,
        _ id: String,
        x5c: String,
        by key: SigningKey? = nil,
        reason: String = "chain",
        code: DeliveryError.Code = .untrusted,
        tier: String = "must",
        config: JSONMembers? = nil,
        note: String? = nil
    ) throws -> AppleCase {
        world.refused(
            "x5c/\(id)",
            try jws(world, x5c: x5c, by: key),
            code: code,
            reason: reason,
            config: config,
            tier: tier,
            tags: ["x5c"],
            note: note
        )
    }

    private static func accepted(
        _ world: World,
        _ id: String,
        certificates: [[UInt8]],
        config: JSONMembers? = nil,
        note: String? = nil
    ) throws -> AppleCase {
        world.accepted(
            "x5c/\(id)",
            try jws(world, x5c: list(certificates)),
            config: config,
            tags: ["x5c"],
            note: note
        )
    }

    private static func counts(_ world: World) throws -> [AppleCase] {
        let (leaf, intermediate, root) = (
            world.production.certificates.leaf, world.production.certificates.intermediate.certificate,
            world.production.certificates.root.certificate
        )
        func refused(_ id: String, _ x5c: String) throws -> AppleCase {
            try self.refused(world, id, x5c: x5c, reason: "certificate")
        }
        return [
            try accepted(world, "genuine", certificates: [leaf, intermediate, root]),
            try refused("none", "[]"),
            try refused("one", list([leaf])),
            try refused("two", list([leaf, intermediate])),
            try refused("four", list([leaf, intermediate, root, root])),
            try refused("four-with-forged-leaf", list([world.impostor.certificates.leaf, leaf, intermediate, root])),
            try refused("thousand", "[\(Array(repeating: "\"AA==\"", count: 1000).joined(separator: ","))]"),
            try refused("null", "null"),
            try refused("string", "\"\(base64(leaf))\""),
            try refused("object", "{\"0\":\"\(base64(leaf))\"}"),
            try refused("nulls", "[null,null,null]"),
            try refused("numbers", "[1,2,3]"),
            try refused("nested", "[\(list([leaf, intermediate, root]))]"),
            try self.refused(world, "reversed", x5c: list([root, intermediate, leaf])),
            try self.refused(world, "leaf-thrice", x5c: list([leaf, leaf, leaf])),
            try self.refused(world, "root-thrice", x5c: list([root, root, root])),
            try self.refused(world, "leaf-and-intermediate-swapped", x5c: list([intermediate, leaf, root])),
            try self.refused(world, "intermediate-is-root", x5c: list([leaf, root, root])),
            world.refused(
                "x5c/absent",
                try JWSIssuer.es256(
                    header: Array(#"{"alg":"ES256"}"#.utf8),
                    payload: world.test().bytes,
                    key: world.production.certificates.leafKey
                ),
                code: .untrusted,
                reason: "certificate",
                tags: ["x5c"]
            ),
        ]
    }

    private static func entries(_ world: World) throws -> [AppleCase] {
        let x5c = world.production.certificates.x5c
        let (leaf, intermediate, root) = (x5c[0], x5c[1], x5c[2])
        func refused(_ id: String, _ x5c: String, tier: String = "must") throws -> AppleCase {
            try self.refused(world, id, x5c: x5c, reason: "certificate", tier: tier)
        }
        func replacing(_ index: Int, _ der: [UInt8]) -> String {
            var certificates = x5c
            certificates[index] = der
            return list(certificates)
        }
        let text = base64(leaf)
        func texts(_ leaf: String) -> String { "[\"\(leaf)\",\"\(base64(intermediate))\",\"\(base64(root))\"]" }
        let urlText = String(decoding: Base64URL.encode(leaf.span), as: UTF8.self)
        let pem = "-----BEGIN CERTIFICATE-----\\n\(text)\\n-----END CERTIFICATE-----"
        var otherAlgorithm = leaf
        let identifier: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
        if let place = otherAlgorithm.indices.reversed().first(where: {
            otherAlgorithm[$0...].starts(with: identifier)
        }) {
            // Outside it says SHA-256, inside SHA-384.
            otherAlgorithm[place + 7] = 2
        }
        var longForm = leaf
        // 30 82 hh ll becomes 30 83 00 hh ll: the same length, not as DER writes it.
        longForm.replaceSubrange(1..<2, with: [0x83, 0x00])
        let twice = try AppleCertificates.makeLeaf(
            under: world.production.certificates.intermediate,
            key: world.production.certificates.leafKey
        ) { $0.extensions.append(.init(AppleCertificates.leafMarker)) }
        let version1 = try AppleCertificates.makeLeaf(
            under: world.production.certificates.intermediate,
            key: world.production.certificates.leafKey
        ) { $0.version = 1 }
        return [
            try refused("entry-empty", texts("")),
            try refused("entry-pem", texts(pem)),
            try refused("entry-base64url", texts(urlText)),
            try refused("entry-with-line-breaks", texts("\(text.prefix(64))\\n\(text.dropFirst(64))")),
            try refused("entry-with-space", texts(" \(text)")),
            try refused("entry-without-padding", texts(text.replacing("=", with: "")), tier: "should"),
            try refused("entry-not-a-certificate", texts("AAAA")),
            try refused("entry-random", texts(base64(SHA256.hash("noise".utf8.span).bytes))),
            try refused("leaf-with-trailing-octet", replacing(0, leaf + [0])),
            try refused("leaf-twice-in-one-entry", replacing(0, leaf + leaf)),
            try refused("intermediate-with-trailing-octets", replacing(1, intermediate + [5, 0])),
            try refused("root-with-trailing-octet", replacing(2, root + [0])),
            try refused("leaf-truncated", replacing(0, Array(leaf.dropLast()))),
            try refused("intermediate-truncated", replacing(1, Array(intermediate.prefix(200)))),
            try refused("root-garbage", replacing(2, [1, 2, 3])),
            try refused("leaf-not-in-der", replacing(0, longForm)),
            try refused("leaf-names-two-algorithms", replacing(0, otherAlgorithm)),
            try refused("leaf-with-an-extension-twice", replacing(0, twice)),
            try refused("leaf-version-1-with-extensions", replacing(0, version1)),
        ]
    }

    /// The genuine chain, with certificates changed and signed again.
    private static func chain(
        _ world: World,
        leaf: Change = { _ in },
        intermediate: Change = { _ in },
        under root: CertificateAuthority? = nil,
        leafKey: SigningKey? = nil
    ) throws -> [[UInt8]] {
        let genuine = world.production.certificates
        let root = root ?? genuine.root
        let authority = try AppleCertificates.makeIntermediate(
            under: root,
            key: genuine.intermediate.key,
            adjust: intermediate
        )
        let certificate = try AppleCertificates.makeLeaf(
            under: authority,
            key: leafKey ?? genuine.leafKey,
            adjust: leaf
        )
        return [certificate, authority.certificate, root.certificate]
    }

    private static func without(_ marker: String) -> Change {
        { $0.extensions.removeAll { $0.identifier == marker } }
    }

    private static func markers(_ world: World) throws -> [AppleCase] {
        let leafMarker = AppleCertificates.leafMarker
        let intermediateMarker = AppleCertificates.intermediateMarker
        func refused(
            _ id: String,
            leaf: Change = { _ in },
            intermediate: Change = { _ in },
            note: String? = nil
        ) throws -> AppleCase {
            try self.refused(
                world,
                "marker-\(id)",
                x5c: list(try chain(world, leaf: leaf, intermediate: intermediate)),
                note: note
            )
        }
        func instead(_ identifier: String, of marker: String) -> Change {
            {
                $0.extensions.removeAll { $0.identifier == marker }
                $0.extensions.append(.init(identifier))
            }
        }
        // The octets of the leaf's marker, where they mean nothing.
        let octets = DER.element(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01])
        return [
            try refused("leaf-absent", leaf: without(leafMarker), note: "any developer's certificate"),
            try refused("intermediate-absent", intermediate: without(intermediateMarker)),
            try refused("both-absent", leaf: without(leafMarker), intermediate: without(intermediateMarker)),
            try refused(
                "swapped",
                leaf: instead(intermediateMarker, of: leafMarker),
                intermediate: instead(leafMarker, of: intermediateMarker)
            ),
            try refused("leaf-neighbour-2", leaf: instead("1.2.840.113635.100.6.11.2", of: leafMarker)),
            try refused("leaf-neighbour-10", leaf: instead("1.2.840.113635.100.6.11.10", of: leafMarker)),
            try refused("leaf-prefix", leaf: instead("1.2.840.113635.100.6.11", of: leafMarker)),
            try refused("leaf-longer", leaf: instead("1.2.840.113635.100.6.11.1.1", of: leafMarker)),
            try refused(
                "intermediate-neighbour",
                intermediate: instead("1.2.840.113635.100.6.2.6", of: intermediateMarker)
            ),
            try refused(
                "leaf-only-in-extended-key-usage",
                leaf: {
                    without(leafMarker)(&$0)
                    $0.extensions.append(.init("2.5.29.37", value: DER.element(0x30, octets)))
                }
            ),
            try refused(
                "leaf-only-in-policy",
                leaf: {
                    without(leafMarker)(&$0)
                    $0.extensions.removeAll { $0.identifier == "2.5.29.32" }
                    $0.extensions.append(
                        .init("2.5.29.32", value: DER.element(0x30, DER.element(0x30, octets)))
                    )
                }
            ),
            try refused(
                "leaf-only-as-octets-of-another-extension",
                leaf: {
                    without(leafMarker)(&$0)
                    $0.extensions.append(.init("1.2.3.4.5", value: octets))
                }
            ),
            try refused(
                "leaf-only-in-subject",
                leaf: {
                    without(leafMarker)(&$0)
                    $0.subject.attributes.append((type: "serialNumber", value: leafMarker))
                }
            ),
            try accepted(
                world,
                "marker-with-another-value",
                certificates: try chain(
                    world,
                    leaf: {
                        without(leafMarker)(&$0)
                        $0.extensions.append(.init(leafMarker, value: DER.element(0x04, [1, 2])))
                    }
                ),
                note: "its presence is what counts"
            ),
        ]
    }

    private static func authorities(_ world: World) throws -> [AppleCase] {
        func refused(
            _ id: String,
            leaf: Change = { _ in },
            intermediate: Change = { _ in },
            _ reason: String = "chain",
            tier: String = "must"
        ) throws -> AppleCase {
            try self.refused(
                world,
                id,
                x5c: list(try chain(world, leaf: leaf, intermediate: intermediate)),
                reason: reason,
                tier: tier
            )
        }
        return [
            try refused(
                "intermediate-not-an-authority",
                intermediate: { $0.basicConstraints = .init(isAuthority: false) }
            ),
            try refused("intermediate-without-basic-constraints", intermediate: { $0.basicConstraints = nil }),
            try refused("intermediate-may-not-sign-certificates", intermediate: { $0.keyUsage = [.digitalSignature] }),
            try refused(
                "intermediate-version-1",
                intermediate: {
                    $0.version = 1
                    $0.basicConstraints = nil
                    $0.keyUsage = nil
                    $0.subjectKeyIdentifier = nil
                    $0.authorityKeyIdentifier = nil
                    $0.extensions = []
                },
                "certificate"
            ),
            try refused(
                "intermediate-unknown-critical-extension",
                intermediate: { $0.extensions.append(.init("1.2.3.4.5", isCritical: true)) }
            ),
            try refused(
                "intermediate-name-constraints",
                intermediate: {
                    // Permits directory names under "C=XX" only.
                    let country = DER.element(0x30, [0x06, 3, 0x55, 4, 6] + DER.element(0x13, Array("XX".utf8)))
                    let name = DER.element(0xA4, DER.element(0x30, DER.element(0x31, country)))
                    $0.extensions.append(
                        .init(
                            "2.5.29.30",
                            isCritical: true,
                            value: DER.element(0x30, DER.element(0xA0, DER.element(0x30, name)))
                        )
                    )
                },
                tier: "should"
            ),
            try refused("intermediate-sha1", intermediate: { $0.digest = .sha1 }, tier: "should"),
            try refused("leaf-is-an-authority", leaf: { $0.basicConstraints = .init(isAuthority: true) }),
            try refused("leaf-may-not-sign-data", leaf: { $0.keyUsage = [.keyEncipherment] }),
            try refused(
                "leaf-unknown-critical-extension",
                leaf: { $0.extensions.append(.init("1.2.3.4.5", isCritical: true)) }
            ),
            try refused("leaf-sha1", leaf: { $0.digest = .sha1 }, tier: "should"),
            try refused(
                "leaf-names-another-issuer",
                leaf: { $0.issuer = DistinguishedName(["CN": "Somebody else", "C": "US"]) }
            ),
            try refused("leaf-names-another-key-of-its-issuer", leaf: { $0.authorityKeyIdentifier = [1, 2, 3, 4] }),
            try refused(
                "intermediate-names-another-issuer",
                intermediate: { $0.issuer = DistinguishedName(["CN": "Somebody else", "C": "US"]) }
            ),
            try accepted(
                world,
                "sha256-certificates",
                certificates: try chain(world, leaf: { $0.digest = .sha256 }, intermediate: { $0.digest = .sha256 })
            ),
            try accepted(
                world,
                "without-key-identifiers",
                certificates: try chain(
                    world,
                    leaf: {
                        $0.subjectKeyIdentifier = nil
                        $0.authorityKeyIdentifier = nil
                    },
                    intermediate: {
                        $0.subjectKeyIdentifier = nil
                        $0.authorityKeyIdentifier = nil
                    }
                ),
                note: "RFC 5280 wants them; Apple's published fixtures have none"
            ),
            try accepted(
                world,
                "leaf-without-constraints",
                certificates: try chain(world, leaf: { $0.basicConstraints = nil })
            ),
        ]
    }

    private static func keys(_ world: World) throws -> [AppleCase] {
        var cases: [AppleCase] = []
        for algorithm in SigningKey.Algorithm.allCases where algorithm != .p256 {
            let key = try SigningKey(algorithm, seed: Seed("vectors"), label: "foreign leaf")
            cases.append(
                try refused(
                    world,
                    "leaf-key-\(algorithm)",
                    x5c: list(try chain(world, leafKey: key)),
                    by: key,
                    reason: "key"
                )
            )
        }
        return cases
    }

    private static func paths(_ world: World) throws -> [AppleCase] {
        let genuine = world.production.certificates
        let impostor = world.impostor.certificates
        // A developer's certificate acting as an authority.
        let developerKey = try SigningKey(.p256, seed: Seed("vectors"), label: "developer")
        let developer = CertificateAuthority(
            name: AppleCertificates.leafName,
            key: developerKey,
            certificate: try AppleCertificates.makeLeaf(under: genuine.intermediate, key: developerKey) {
                $0.extensions.append(.init(AppleCertificates.intermediateMarker))
            }
        )
        let forgedKey = try SigningKey(.p256, seed: Seed("vectors"), label: "forged leaf")
        let underDeveloper = try AppleCertificates.makeLeaf(under: developer, key: forgedKey)
        // An authority below one that may have none.
        let below = try AppleCertificates.makeIntermediate(under: genuine.intermediate, key: developerKey)
        let underBelow = try AppleCertificates.makeLeaf(under: below, key: forgedKey)
        var corrupt = genuine.leaf
        corrupt[corrupt.count - 1] ^= 1
        var corruptIntermediate = genuine.intermediate.certificate
        corruptIntermediate[corruptIntermediate.count - 1] ^= 1
        let selfSigned = try CertificateAuthority.root(
            name: AppleCertificates.leafName,
            key: forgedKey,
            notBefore: AppleCertificates.leafValidity.lowerBound,
            notAfter: AppleCertificates.leafValidity.upperBound
        ) { $0.extensions = [.init(AppleCertificates.leafMarker)] }.certificate
        let (leaf, intermediate, root) = (genuine.x5c[0], genuine.x5c[1], genuine.x5c[2])
        return [
            try refused(
                world,
                "forged-chain",
                x5c: list(impostor.x5c),
                by: impostor.leafKey,
                note: "the same names in every certificate"
            ),
            try refused(
                world,
                "forged-chain-with-genuine-root",
                x5c: list([impostor.leaf, impostor.intermediate.certificate, root]),
                by: impostor.leafKey
            ),
            try refused(
                world,
                "forged-leaf-under-genuine-intermediate",
                x5c: list([impostor.leaf, intermediate, root]),
                by: impostor.leafKey
            ),
            try refused(
                world,
                "genuine-leaf-forged-intermediate",
                x5c: list([leaf, impostor.intermediate.certificate, root])
            ),
            try refused(
                world,
                "third-entry-is-a-forged-root",
                x5c: list([leaf, intermediate, impostor.root.certificate])
            ),
            try refused(world, "third-entry-is-the-intermediate", x5c: list([leaf, intermediate, intermediate])),
            try refused(world, "third-entry-is-the-leaf", x5c: list([leaf, intermediate, leaf])),
            try refused(
                world,
                "developer-as-authority",
                x5c: list([underDeveloper, developer.certificate, root]),
                by: forgedKey
            ),
            try refused(
                world,
                "developer-as-authority-for-real",
                x5c: list([underDeveloper, developer.certificate, intermediate]),
                by: forgedKey
            ),
            try refused(
                world,
                "authority-below-path-length-0",
                x5c: list([underBelow, below.certificate, root]),
                by: forgedKey
            ),
            try refused(world, "self-signed-leaf", x5c: list([selfSigned, intermediate, root]), by: forgedKey),
            try refused(world, "leaf-signature-corrupt", x5c: list([corrupt, intermediate, root])),
            try refused(world, "intermediate-signature-corrupt", x5c: list([leaf, corruptIntermediate, root])),
        ]
    }

    private static func roots(_ world: World) throws -> [AppleCase] {
        let genuine = world.production.certificates
        let impostor = world.impostor.certificates
        let (leaf, intermediate, root) = (genuine.x5c[0], genuine.x5c[1], genuine.x5c[2])
        let reissued = try AppleCertificates.makeRoot(key: genuine.root.key) {
            $0.serialNumber = 77
            $0.digest = .sha256
        }
        let version1 = try AppleCertificates.makeRoot(key: genuine.root.key) {
            $0.version = 1
            $0.basicConstraints = nil
            $0.keyUsage = nil
            $0.subjectKeyIdentifier = nil
        }
        let renamed = try CertificateAuthority.root(
            name: DistinguishedName(["CN": "Another Root", "C": "US"]),
            key: genuine.root.key,
            notBefore: AppleCertificates.rootValidity.lowerBound,
            notAfter: AppleCertificates.rootValidity.upperBound
        )
        let explicit = try AppleCertificates.makeRoot(
            key: SigningKey(.p256ExplicitParameters, seed: Seed("vectors"), label: "explicit root")
        )
        func trusting(_ roots: [[UInt8]]) -> JSONMembers {
            world.config { $0["roots"] = .array(roots.map { .string(base64($0)) }) }
        }
        let closed = try AppleCertificates.makeRoot(key: genuine.root.key) {
            $0.basicConstraints = .init(isAuthority: true, pathLength: 0)
        }
        return [
            try accepted(
                world,
                "root-reissued",
                certificates: [leaf, intermediate, reissued.certificate],
                note: "the same subject and key in other octets; Apple has issued its root anew"
            ),
            try accepted(world, "root-older-version", certificates: [leaf, intermediate, version1.certificate]),
            try accepted(
                world,
                "configured-root-reissued",
                certificates: [leaf, intermediate, root],
                config: trusting([reissued.certificate])
            ),
            try accepted(
                world,
                "several-roots",
                certificates: [leaf, intermediate, root],
                config: trusting([impostor.root.certificate, root])
            ),
            try refused(
                world,
                "root-not-configured",
                x5c: list(genuine.x5c),
                config: trusting([impostor.root.certificate])
            ),
            try refused(world, "root-of-another-name", x5c: list([leaf, intermediate, renamed.certificate])),
            try refused(
                world,
                "root-with-explicit-parameters",
                x5c: list([leaf, intermediate, explicit.certificate]),
                note: "the root's names over a key that spells out its curve (CVE-2020-0601 class)"
            ),
            try refused(
                world,
                "configured-root-path-length-0",
                x5c: list(genuine.x5c),
                config: trusting([closed.certificate]),
                note: "such a root allows no intermediate"
            ),
        ]
    }
}
