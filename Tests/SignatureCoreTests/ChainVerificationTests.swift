import SignatureCore
import SignatureIssuing
import Testing

/// A chain that has to be refused, and as what.
struct ChainAttack: Sendable, CustomTestStringConvertible {
    let name: String
    let expected: Set<SignatureError.Kind>
    var time: Int64 = IssuedChain.middle
    /// The roots that are trusted; nil for the genuine one.
    var roots: (@Sendable () throws -> [[UInt8]])?
    let certificates: @Sendable (IssuedChain) throws -> [[UInt8]]

    var testDescription: String { name }

    init(
        _ name: String,
        _ expected: SignatureError.Kind...,
        time: Int64 = IssuedChain.middle,
        roots: (@Sendable () throws -> [[UInt8]])? = nil,
        certificates: @escaping @Sendable (IssuedChain) throws -> [[UInt8]]
    ) {
        self.name = name
        self.expected = Set(expected)
        self.time = time
        self.roots = roots
        self.certificates = certificates
    }

    /// A chain of its own root, made with these changes and judged by that root.
    static func changed(
        _ name: String,
        _ expected: SignatureError.Kind...,
        root: @escaping @Sendable (inout CertificateTemplate) -> Void = { _ in },
        intermediate: @escaping @Sendable (inout CertificateTemplate) -> Void = { _ in },
        leaf: @escaping @Sendable (inout CertificateTemplate) -> Void = { _ in },
        leafKey: SigningKey.Algorithm = .p256,
        time: Int64 = IssuedChain.middle
    ) -> ChainAttack {
        let make: @Sendable () throws -> IssuedChain = {
            try IssuedChain(
                leafKey: leafKey,
                adjustRoot: root,
                adjustIntermediate: intermediate,
                adjustLeaf: leaf
            )
        }
        var attack = ChainAttack(name, time: time, roots: { [try make().root.certificate] }) { _ in
            try make().certificates
        }
        attack = ChainAttack(attack, expected: Set(expected))
        return attack
    }

    private init(_ other: ChainAttack, expected: Set<SignatureError.Kind>) {
        name = other.name
        self.expected = expected
        time = other.time
        roots = other.roots
        certificates = other.certificates
    }
}

@Suite struct ChainVerificationTests {
    typealias Extension = CertificateTemplate.Extension
    static let leafMarker = IssuedChain.leafMarker
    static let intermediateMarker = IssuedChain.intermediateMarker
    /// The content octets of the leaf marker.
    static let leafMarkerOctets: [UInt8] = [0x06, 0x0a, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x06, 0x0b, 0x01]

    static func attackerChain() throws(SignatureError) -> IssuedChain { try IssuedChain(seed: Seed("attacker")) }

    static let identityAttacks: [ChainAttack] = [
        ChainAttack("own root of the same names and serial numbers", .chain) { _ in
            try attackerChain().certificates
        },
        ChainAttack("own chain with the genuine root behind it", .chain) { genuine in
            Array(try attackerChain().certificates.prefix(2)) + [genuine.root.certificate]
        },
        ChainAttack("own leaf under the genuine intermediate", .chain) { genuine in
            [try attackerChain().leaf, genuine.intermediate.certificate, genuine.root.certificate]
        },
        ChainAttack("genuine leaf under another intermediate of the same name", .chain) { genuine in
            [genuine.leaf, try attackerChain().intermediate.certificate, genuine.root.certificate]
        },
        ChainAttack("foreign root in third place", .chain) { genuine in
            Array(genuine.certificates.prefix(2)) + [try attackerChain().root.certificate]
        },
        ChainAttack("leaf signed by somebody else in the name of the intermediate", .chain) { genuine in
            let forger = CertificateAuthority(
                name: IssuedChain.intermediateName,
                key: try SigningKey(.p384, seed: Seed("forger"), label: "f"),
                certificate: []
            )
            let leaf = try forger.leaf(
                name: IssuedChain.leafName,
                key: genuine.leafKey,
                notBefore: IssuedChain.notBefore,
                notAfter: IssuedChain.notAfter
            ) { $0.extensions = [.init(leafMarker)] }
            return [leaf, genuine.intermediate.certificate, genuine.root.certificate]
        },
        ChainAttack("leaf as issuer", .chain) { genuine in
            let authority = CertificateAuthority(
                name: IssuedChain.leafName,
                key: genuine.leafKey,
                certificate: genuine.leaf
            )
            let leaf = try authority.leaf(
                name: DistinguishedName(["CN": "below"]),
                key: SigningKey(.p256, seed: Seed("below"), label: "k"),
                notBefore: IssuedChain.notBefore,
                notAfter: IssuedChain.notAfter
            ) { $0.extensions = [.init(leafMarker)] }
            return [leaf, genuine.leaf, genuine.root.certificate]
        },
        ChainAttack("authority below an intermediate that ends the path", .chain) { genuine in
            let below = try genuine.intermediate.intermediate(
                name: DistinguishedName(["CN": "below"]),
                key: SigningKey(.p256, seed: Seed("below"), label: "i"),
                notBefore: IssuedChain.notBefore,
                notAfter: IssuedChain.notAfter
            ) { $0.extensions = [.init(intermediateMarker)] }
            let leaf = try below.leaf(
                name: IssuedChain.leafName,
                key: SigningKey(.p256, seed: Seed("below"), label: "l"),
                notBefore: IssuedChain.notBefore,
                notAfter: IssuedChain.notAfter
            ) { $0.extensions = [.init(leafMarker)] }
            return [leaf, below.certificate, genuine.root.certificate]
        },
        ChainAttack("leaf straight under the root", .chain) { genuine in
            let leaf = try genuine.root.leaf(
                name: IssuedChain.leafName,
                key: genuine.leafKey,
                notBefore: IssuedChain.notBefore,
                notAfter: IssuedChain.notAfter
            ) { $0.extensions = [.init(leafMarker)] }
            return [leaf, genuine.intermediate.certificate, genuine.root.certificate]
        },
        ChainAttack(
            "point of the root with its parameters spelled out",
            .chain,
            roots: { [try IssuedChain(rootKey: .p256).root.certificate] },
            certificates: { _ in
                let chain = try IssuedChain(rootKey: .p256)
                let explicit = try IssuedChain(rootKey: .p256ExplicitParameters)
                return [chain.leaf, chain.intermediate.certificate, explicit.root.certificate]
            }
        ),
    ]

    static let shapeAttacks: [ChainAttack] = [
        ChainAttack("no certificate", .certificate) { _ in [] },
        ChainAttack("leaf alone", .certificate) { [$0.leaf] },
        ChainAttack("no root", .certificate) { Array($0.certificates.prefix(2)) },
        ChainAttack("root twice", .certificate) { $0.certificates + [$0.root.certificate] },
        ChainAttack("400 certificates", .certificate) { [[UInt8]](repeating: $0.leaf, count: 400) },
        ChainAttack("reversed", .chain) { Array($0.certificates.reversed()) },
        ChainAttack("leaf and intermediate swapped", .chain) {
            [$0.intermediate.certificate, $0.leaf, $0.root.certificate]
        },
        ChainAttack("leaf three times", .chain) { [$0.leaf, $0.leaf, $0.leaf] },
        ChainAttack("root three times", .chain) {
            [$0.root.certificate, $0.root.certificate, $0.root.certificate]
        },
        ChainAttack("root as intermediate", .chain) { [$0.leaf, $0.root.certificate, $0.root.certificate] },
        ChainAttack("garbage in third place", .certificate) { [$0.leaf, $0.intermediate.certificate, [1, 2, 3]] },
        ChainAttack("nothing in third place", .certificate) { [$0.leaf, $0.intermediate.certificate, []] },
        ChainAttack("octet after the leaf", .certificate) {
            [$0.leaf + [0], $0.intermediate.certificate, $0.root.certificate]
        },
        ChainAttack("octet after the intermediate", .certificate) {
            [$0.leaf, $0.intermediate.certificate + [0], $0.root.certificate]
        },
        ChainAttack("octet after the root", .certificate) {
            [$0.leaf, $0.intermediate.certificate, $0.root.certificate + [0]]
        },
        ChainAttack("length of the leaf in more octets than it takes", .certificate) {
            // 30 82 and two octets; then 30 83, a zero and the same two.
            #expect($0.leaf.starts(with: [0x30, 0x82]))
            return [[0x30, 0x83, 0] + $0.leaf.dropFirst(2), $0.intermediate.certificate, $0.root.certificate]
        },
        ChainAttack("two certificates in one entry", .certificate) {
            [$0.leaf + $0.leaf, $0.intermediate.certificate, $0.root.certificate]
        },
        ChainAttack("base64 in place of DER", .certificate) {
            [Base64.encode($0.leaf.span), $0.intermediate.certificate, $0.root.certificate]
        },
        ChainAttack("oversize certificate", .limit) {
            [$0.leaf + [UInt8](repeating: 0, count: 20_000), $0.intermediate.certificate, $0.root.certificate]
        },
    ]

    static let markerAttacks: [ChainAttack] = [
        .changed("leaf without marker", .chain, leaf: { $0.extensions = [] }),
        .changed("intermediate without marker", .chain, intermediate: { $0.extensions = [] }),
        .changed(
            "markers swapped",
            .chain,
            intermediate: { $0.extensions = [.init(leafMarker)] },
            leaf: { $0.extensions = [.init(intermediateMarker)] }
        ),
        .changed("neighbour 6.11.2", .chain, leaf: { $0.extensions = [.init("1.2.840.113635.100.6.11.2")] }),
        .changed("neighbour 6.11", .chain, leaf: { $0.extensions = [.init("1.2.840.113635.100.6.11")] }),
        .changed("neighbour 6.11.1.1", .chain, leaf: { $0.extensions = [.init("1.2.840.113635.100.6.11.1.1")] }),
        .changed("neighbour 6.11.10", .chain, leaf: { $0.extensions = [.init("1.2.840.113635.100.6.11.10")] }),
        .changed("neighbour 6.1", .chain, leaf: { $0.extensions = [.init("1.2.840.113635.100.6.1")] }),
        .changed(
            "neighbour 6.2.6",
            .chain,
            intermediate: { $0.extensions = [.init("1.2.840.113635.100.6.2.6")] }
        ),
        .changed(
            "marker as policy",
            .chain,
            leaf: {
                let policy = DER.element(0x30, DER.element(0x30, leafMarkerOctets))
                $0.extensions = [.init("2.5.29.32", value: policy)]
            }
        ),
        .changed(
            "marker as extended key usage",
            .chain,
            leaf: { $0.extensions = [.init("2.5.29.37", value: DER.element(0x30, leafMarkerOctets))] }
        ),
        .changed(
            "marker inside another extension",
            .chain,
            leaf: { $0.extensions = [.init("1.2.3.4", value: DER.element(0x30, leafMarkerOctets + [5, 0]))] }
        ),
        .changed(
            "marker as text in the subject",
            .chain,
            leaf: {
                $0.extensions = []
                $0.subject = DistinguishedName(["CN": leafMarker])
            }
        ),
    ]

    static let authorityAttacks: [ChainAttack] = [
        .changed(
            "intermediate is no authority",
            .chain,
            intermediate: { $0.basicConstraints = .init(isAuthority: false) }
        ),
        .changed("intermediate without basic constraints", .chain, intermediate: { $0.basicConstraints = nil }),
        .changed("intermediate may not sign certificates", .chain, intermediate: { $0.keyUsage = [.digitalSignature] }),
        .changed("intermediate may do nothing", .chain, .certificate, intermediate: { $0.keyUsage = [] }),
        .changed(
            "intermediate of version 1",
            .chain,
            .certificate,
            intermediate: {
                $0.version = 1
                $0.basicConstraints = nil
                $0.keyUsage = nil
                $0.extensions = []
            }
        ),
        .changed("intermediate of version 1 with extensions", .certificate, intermediate: { $0.version = 1 }),
        .changed("leaf of version 1 with extensions", .certificate, leaf: { $0.version = 1 }),
        .changed("leaf is an authority", .chain, leaf: { $0.basicConstraints = .init(isAuthority: true) }),
        .changed("leaf key is not for signatures", .chain, leaf: { $0.keyUsage = [.keyEncipherment] }),
        .changed("root ends the path", .chain, root: { $0.basicConstraints = .init(isAuthority: true, pathLength: 0) }),
        .changed(
            "unknown critical extension in the leaf",
            .chain,
            leaf: { $0.extensions.append(.init("1.2.3.4.5", isCritical: true)) }
        ),
        .changed(
            "unknown critical extension in the intermediate",
            .chain,
            intermediate: { $0.extensions.append(.init("1.2.3.4.5", isCritical: true)) }
        ),
        .changed("leaf names another issuer", .chain, leaf: { $0.issuer = DistinguishedName(["CN": "other"]) }),
        .changed(
            "intermediate names another issuer",
            .chain,
            intermediate: { $0.issuer = DistinguishedName(["CN": "other"]) }
        ),
        .changed("SHA-1 on the leaf", .chain, leaf: { $0.digest = .sha1 }),
        .changed("SHA-1 on the intermediate", .chain, intermediate: { $0.digest = .sha1 }),
        .changed(
            "more extensions than are compared with each other",
            .limit,
            leaf: { $0.extensions += (0..<63).map { .init("1.2.3.4.\($0)") } }
        ),
        .changed("marker twice", .certificate, leaf: { $0.extensions = [.init(leafMarker), .init(leafMarker)] }),
        .changed(
            "basic constraints twice",
            .certificate,
            .chain,
            intermediate: { $0.extensions.append(.init("2.5.29.19", value: [0x30, 0])) }
        ),
        .changed(
            "name constraints that exclude the leaf",
            .chain,
            intermediate: {
                // excludedSubtrees: directoryName C=US.
                let attribute = DER.element(0x30, [0x06, 0x03, 0x55, 0x04, 0x06] + DER.element(0x13, ascii("US")))
                let name = DER.element(0x30, DER.element(0x31, attribute))
                let subtree = DER.element(0x30, DER.element(0xa4, name))
                $0.extensions.append(
                    .init("2.5.29.30", isCritical: true, value: DER.element(0x30, DER.element(0xa1, subtree)))
                )
            },
            leaf: { $0.subject = DistinguishedName(["C": "US", "CN": "leaf"]) }
        ),
        .changed("leaf key on P-384", .key, leafKey: .p384),
        .changed("leaf key on secp256k1", .key, leafKey: .secp256k1),
        .changed("leaf key on brainpoolP256r1", .key, leafKey: .brainpoolP256r1),
        .changed("leaf key RSA", .key, leafKey: .rsa2048),
        .changed("leaf key Ed25519", .key, leafKey: .ed25519),
        .changed("leaf key with explicit parameters", .key, .certificate, leafKey: .p256ExplicitParameters),
        ChainAttack(
            "intermediate key RSA 1024",
            .chain,
            roots: { [try IssuedChain().root.certificate] },
            certificates: { genuine in
                let weak = try genuine.root.intermediate(
                    name: IssuedChain.intermediateName,
                    key: SigningKey(.rsa1024, seed: Seed("weak"), label: "i"),
                    notBefore: IssuedChain.notBefore,
                    notAfter: IssuedChain.notAfter
                ) { $0.extensions = [.init(intermediateMarker)] }
                let leaf = try weak.leaf(
                    name: IssuedChain.leafName,
                    key: genuine.leafKey,
                    notBefore: IssuedChain.notBefore,
                    notAfter: IssuedChain.notAfter
                ) { $0.extensions = [.init(leafMarker)] }
                return [leaf, weak.certificate, genuine.root.certificate]
            }
        ),
        ChainAttack("inner and outer algorithm differ", .certificate) { genuine in
            // ecdsa-with-SHA256 stands inside and, last, outside; the outer one becomes SHA-384.
            let identifier: [UInt8] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
            var leaf = genuine.leaf
            let places = leaf.indices.filter { leaf[$0...].starts(with: identifier) }
            let last = try #require(places.last)
            #expect(places.count == 2)
            leaf[last + identifier.count - 1] = 0x03
            return [leaf, genuine.intermediate.certificate, genuine.root.certificate]
        },
    ]

    static let timeAttacks: [ChainAttack] = {
        let early = IssuedChain.middle - 1000
        let late = IssuedChain.middle + 1000
        return [
            .changed("leaf expired", .validity, leaf: { $0.notAfter = early }),
            .changed("leaf not yet valid", .validity, leaf: { $0.notBefore = late }),
            .changed("intermediate expired", .validity, intermediate: { $0.notAfter = early }),
            .changed("intermediate not yet valid", .validity, intermediate: { $0.notBefore = late }),
            .changed("root expired", .validity, root: { $0.notAfter = early }),
            .changed("root not yet valid", .validity, root: { $0.notBefore = late }),
            .changed("after the end by a millisecond", .validity, time: IssuedChain.notAfter + 1),
            .changed("before the start by a millisecond", .validity, time: IssuedChain.notBefore - 1),
            .changed("earliest time there is", .validity, time: .min),
            .changed("latest time there is", .validity, time: .max),
            .changed("time in seconds", .validity, time: IssuedChain.middle / 1000),
        ]
    }()

    static let attacks = identityAttacks + shapeAttacks + markerAttacks + authorityAttacks + timeAttacks

    @Test(arguments: attacks)
    func attackIsRefused(attack: ChainAttack) throws {
        let genuine = try IssuedChain.genuine.get()
        let certificates = try attack.certificates(genuine)
        let roots = try attack.roots?() ?? [genuine.root.certificate]
        let verification = try IssuedChain.verification(trusting: roots)
        let thrown = failure { () throws(SignatureError) in try verification.verify(certificates, at: attack.time) }
        let kind = try #require(thrown, "accepted").kind
        #expect(attack.expected.contains(kind), "\(thrown?.description ?? "")")
    }

    @Test func genuineChainIsAccepted() throws {
        let chain = try IssuedChain.genuine.get()
        let validated = try chain.verification().verify(chain.certificates, at: IssuedChain.middle)
        #expect(validated.validity == [IssuedChain.notBefore...IssuedChain.notAfter])
        #expect(validated.leafFingerprint == SHA256.hash(chain.leaf.span).hexadecimal)
        let signature = try chain.leafKey.es256([1, 2, 3])
        try validated.leafKey.verify(signature: signature.span, over: [1, 2, 3].span)
    }

    @Test func bothEndsOfValidityCount() throws {
        let chain = try IssuedChain.genuine.get()
        let verification = try chain.verification()
        for time in [IssuedChain.notBefore, IssuedChain.notAfter] {
            _ = try verification.verify(chain.certificates, at: time)
        }
        let validated = try verification.verify(chain.certificates, at: nil)
        #expect(validated.isValid(at: IssuedChain.notBefore))
        #expect(!validated.isValid(at: IssuedChain.notBefore - 1))
        #expect(validated.isValid(at: IssuedChain.notAfter))
        #expect(!validated.isValid(at: IssuedChain.notAfter + 1))
        #expect(!validated.isValid(at: .min))
        #expect(!validated.isValid(at: .max))
    }

    @Test func validityIsTheIntersection() throws {
        let chain = try IssuedChain(
            adjustRoot: { $0.notAfter = 2_000_000_000_000 },
            adjustIntermediate: { $0.notBefore = 1_600_000_000_000 },
            adjustLeaf: { $0.notAfter = 1_900_000_000_000 }
        )
        let validated = try chain.verification().verify(chain.certificates, at: nil)
        #expect(validated.validity == [1_600_000_000_000...1_900_000_000_000])
    }

    @Test func aChainWhosePartsAreNeverValidTogetherIsNeverValid() throws {
        let chain = try IssuedChain(
            adjustIntermediate: { $0.notBefore = IssuedChain.middle + 1000 },
            adjustLeaf: { $0.notAfter = IssuedChain.middle - 1000 }
        )
        let verification = try chain.verification()
        #expect(try verification.verify(chain.certificates, at: nil).validity.isEmpty)
        for time in [IssuedChain.notBefore, IssuedChain.middle, IssuedChain.notAfter] {
            let thrown = failure { () throws(SignatureError) in try verification.verify(chain.certificates, at: time) }
            #expect(thrown?.kind == .validity)
        }
    }

    /// An issue of the root that forbids what another allows.
    @Test func ofTwoIssuesOfOneRootTheOneThatEndsThePathCounts() throws {
        let chain = try IssuedChain.genuine.get()
        let narrow = try CertificateAuthority.root(
            name: IssuedChain.rootName,
            key: chain.root.key,
            notBefore: IssuedChain.notBefore,
            notAfter: IssuedChain.notAfter
        ) { $0.basicConstraints = .init(isAuthority: true, pathLength: 0) }
        let roots = [narrow.certificate, chain.root.certificate]
        for roots in [roots, roots.reversed()] {
            let verification = try IssuedChain.verification(trusting: roots)
            _ = try verification.verify(chain.certificates, at: IssuedChain.middle)
        }
        let verification = try IssuedChain.verification(trusting: [narrow.certificate])
        #expect(
            failure { () throws(SignatureError) in try verification.verify(chain.certificates, at: nil) }?.kind
                == .chain
        )
    }

    @Test func reissuedRootInThirdPlaceIsAccepted() throws {
        let chain = try IssuedChain.genuine.get()
        let reissued = try CertificateAuthority.root(
            name: IssuedChain.rootName,
            key: chain.root.key,
            notBefore: 0,
            notAfter: 1_000_000_000_000
        ) {
            $0.serialNumber = 99
            $0.version = 1
            $0.basicConstraints = nil
            $0.keyUsage = nil
        }
        let certificates = [chain.leaf, chain.intermediate.certificate, reissued.certificate]
        // Its own dates do not count, since it is not what is trusted.
        _ = try chain.verification().verify(certificates, at: IssuedChain.middle)
    }

    @Test func ofTwoIssuesOfOneRootTheValidOneCounts() throws {
        let chain = try IssuedChain.genuine.get()
        let expired = try CertificateAuthority.root(
            name: IssuedChain.rootName,
            key: chain.root.key,
            notBefore: IssuedChain.notBefore,
            notAfter: IssuedChain.middle - 1000
        ) { $0.serialNumber = 98 }
        let stranger = try Self.attackerChain().root.certificate
        for roots in [
            [expired.certificate, stranger, chain.root.certificate],
            [chain.root.certificate, stranger, expired.certificate],
        ] {
            let verification = try IssuedChain.verification(trusting: roots)
            let validated = try verification.verify(chain.certificates, at: IssuedChain.middle)
            #expect(validated.isValid(at: IssuedChain.notAfter))
        }
    }

    @Test(arguments: [true, false])
    func aRootThatIsIssuedAnewTakesNothingFromWhatWasSignedBefore(isNewFirst: Bool) throws {
        let chain = try IssuedChain.genuine.get()
        let reissued = try CertificateAuthority.root(
            name: IssuedChain.rootName,
            key: chain.root.key,
            notBefore: IssuedChain.middle + 1000,
            notAfter: IssuedChain.notAfter + 1000
        ) { $0.serialNumber = 97 }
        let roots = [chain.root.certificate, reissued.certificate]
        let verification = try IssuedChain.verification(trusting: isNewFirst ? roots.reversed() : roots)
        for time in [IssuedChain.notBefore, IssuedChain.middle, IssuedChain.notAfter] {
            _ = try verification.verify(chain.certificates, at: time)
            #expect(try verification.verify(chain.certificates, at: nil).isValid(at: time))
        }
    }

    @Test func keyIdentifiersAreRequiredOnlyWhenStrict() throws {
        let plain = try IssuedChain.genuine.get()
        _ = try plain.verification().verify(plain.certificates, at: nil)
        let strict = try plain.verification(strict: true)
        #expect(failure { () throws(SignatureError) in try strict.verify(plain.certificates, at: nil) }?.kind == .chain)

        let identified = try IssuedChain(
            adjustRoot: { $0.subjectKeyIdentifier = [1] },
            adjustIntermediate: {
                $0.subjectKeyIdentifier = [2]
                $0.authorityKeyIdentifier = [1]
            },
            adjustLeaf: {
                $0.subjectKeyIdentifier = [3]
                $0.authorityKeyIdentifier = [2]
            }
        )
        _ = try identified.verification(strict: true).verify(identified.certificates, at: nil)
        _ = try identified.verification().verify(identified.certificates, at: nil)
    }

    @Test func otherDigestsAndAbsentKeyUsageAreAccepted() throws {
        let chain = try IssuedChain(
            rootKey: .rsa2048,
            adjustRoot: { $0.keyUsage = nil },
            adjustIntermediate: {
                $0.keyUsage = nil
                $0.digest = .sha384
            },
            adjustLeaf: {
                $0.keyUsage = nil
                $0.basicConstraints = nil
                $0.digest = .sha384
                $0.extensions = [.init(Self.leafMarker, isCritical: false, value: [4, 1, 0])]
            }
        )
        _ = try chain.verification().verify(chain.certificates, at: nil)
    }

    @Test func trustAnchorsAreRequiredToBeSome() throws {
        let chain = try IssuedChain.genuine.get()
        let powerless = try IssuedChain(adjustRoot: { $0.basicConstraints = .init(isAuthority: false) })
        for roots in [
            [], [[]], [powerless.root.certificate], [[1, 2, 3]], [chain.root.certificate + [0]], [chain.leaf],
            [chain.intermediate.certificate],
            [chain.root.certificate, []],
        ] as [[[UInt8]]] {
            #expect(failure { () throws(SignatureError) in try TrustAnchors(der: roots) }?.kind == .certificate)
        }
    }

    @Test func trustAnchorsInPEM() throws {
        let chain = try IssuedChain.genuine.get()
        let body = String(decoding: Base64.encode(chain.root.certificate.span), as: UTF8.self)
        let lines = stride(from: 0, to: body.count, by: 64).map { start in String(body.dropFirst(start).prefix(64)) }
        let block = "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n"
        for text in [block, "Apple Root\n" + block + block] {
            let anchors = try TrustAnchors(pem: text.utf8.span)
            let verification = try ChainVerification(
                trustAnchors: anchors,
                requiredLeafExtension: nil,
                requiredIntermediateExtension: nil
            )
            _ = try verification.verify(chain.certificates, at: IssuedChain.middle)
        }
        for text in [
            "", "none", block.replacing("BEGIN CERT", with: "BEGIN X CERT"), String(block.dropLast(30)),
            block + "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n",
        ] {
            #expect(failure { () throws(SignatureError) in try TrustAnchors(pem: text.utf8.span) } != nil)
        }
    }

    @Test(arguments: ["", "abc", "commonName", "1.2.", "1..2", "9.9.9", "-1.2"])
    func otherIdentifiersAreRefused(dotted: String) {
        #expect(failure { () throws(SignatureError) in try ObjectIdentifier(dotted) }?.kind == .malformed)
    }

    @Test(.timeLimit(.minutes(5))) func severalThreadsAtOnce() async throws {
        let chain = try IssuedChain.genuine.get()
        let verification = try chain.verification()
        let shared = try verification.verify(chain.certificates, at: nil).leafKey
        let message = ascii("message")
        let signature = try chain.leafKey.es256(message)
        let mac = try HMACSHA256(key: message.span)
        let code = try mac.authenticationCode(over: message.span)
        let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var accepted = 0
                    for round in 0..<20 {
                        try shared.verify(signature: signature.span, over: message.span)
                        if (task + round) % 4 == 0 { _ = try verification.verify(chain.certificates, at: nil) }
                        var wrong = signature
                        wrong[round] ^= 1
                        if (try? shared.verify(signature: wrong.span, over: message.span)) == nil { accepted += 1 }
                        if try mac.authenticationCode(over: message.span) == code { accepted += 1 }
                    }
                    return accepted
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(accepted == 8 * 20 * 2)
    }
}
