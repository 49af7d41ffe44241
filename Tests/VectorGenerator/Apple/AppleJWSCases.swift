import ConformanceVectors
import FoundationEssentials
import JSONWebSignature
import Normalizer
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// Attacks on the envelope: algorithm, header, signature and serialisation.
enum AppleJWSCases {
    typealias World = AppleVectorWorld

    static func all(_ world: World) throws -> [AppleCase] {
        try algorithms(world) + headers(world) + signatures(world) + serialisations(world) + bodies(world)
    }

    /// The octets of the genuine `x5c` member.
    private static func chain(_ world: World) -> String {
        let entries = world.production.certificates.x5c.map { "\"\(base64($0))\"" }
        return "\"x5c\":[\(entries.joined(separator: ","))]"
    }

    private static func signed(
        _ world: World,
        header: String,
        payload: [UInt8]? = nil,
        by key: SigningKey? = nil
    ) throws -> [UInt8] {
        try JWSIssuer.es256(
            header: Array(header.utf8),
            payload: payload ?? world.test().bytes,
            key: key ?? world.production.certificates.leafKey
        )
    }

    private static func parts(_ jws: [UInt8]) -> [String] {
        String(decoding: jws, as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: Base64URL.encode(bytes.span), as: UTF8.self)
    }

    private static func algorithms(_ world: World) throws -> [AppleCase] {
        let values: [(String, String)] = [
            ("none", #""none""#), ("none-capitals", #""None""#), ("none-upper", #""NONE""#), ("empty", #""""#),
            ("hs256", #""HS256""#), ("es384", #""ES384""#), ("es512", #""ES512""#), ("rs256", #""RS256""#),
            ("ps256", #""PS256""#), ("es256k", #""ES256K""#), ("eddsa", #""EdDSA""#), ("lower-case", #""es256""#),
            ("trailing-space", #""ES256 ""#), ("trailing-nul", #""ES256\u0000""#), ("null", "null"), ("number", "256"),
            ("array", #"["ES256"]"#),
        ]
        var cases = try values.map { name, value in
            world.refused(
                "jws/alg-\(name)",
                try signed(world, header: "{\"alg\":\(value),\(chain(world))}"),
                code: .unauthenticated,
                reason: "algorithm",
                tags: ["alg"],
                note: "the signature itself is the genuine leaf's"
            )
        }
        cases.append(
            world.refused(
                "jws/alg-absent",
                try signed(world, header: "{\(chain(world))}"),
                code: .unauthenticated,
                reason: "algorithm",
                tags: ["alg"]
            )
        )
        // Signed with what everybody knows.
        let leaf = world.production.certificates.leaf
        let point = try world.production.certificates.leafKey.uncompressedPoint()
        let info = try world.production.certificates.leafKey.publicKeyInfo()
        let pem = try world.production.certificates.leafKey.publicPEM()
        for (name, secret) in [
            ("certificate", leaf), ("point", point), ("public-key", info), ("pem", pem),
        ] {
            let jws = try JWSIssuer.compact(
                header: Array("{\"alg\":\"HS256\",\(chain(world))}".utf8),
                payload: world.test().bytes
            ) { (input) throws(SignatureError) in
                try HMACSHA256(key: secret.span).authenticationCode(over: input.span).bytes
            }
            cases.append(
                world.refused(
                    "jws/alg-hs256-keyed-with-\(name)",
                    jws,
                    code: .unauthenticated,
                    reason: "algorithm",
                    tags: ["alg"]
                )
            )
        }
        let genuine = parts(try world.sign(world.test()))
        for (name, text) in [
            ("alg-none-unsigned", #"{"alg":"none"}"#), ("alg-none-with-chain", "{\"alg\":\"none\",\(chain(world))}"),
        ] {
            let header = self.text(Array(text.utf8))
            cases.append(
                world.refused(
                    "jws/\(name)",
                    Array("\(header).\(genuine[1]).\(genuine[2])".utf8),
                    code: .unauthenticated,
                    reason: "algorithm",
                    tags: ["alg"]
                )
            )
        }
        return cases
    }

    private static func headers(_ world: World) throws -> [AppleCase] {
        let impostor = world.impostor.certificates
        let chain = chain(world)
        func refused(
            _ id: String,
            _ header: String,
            code: DeliveryError.Code = .malformed,
            reason: String = "header",
            by key: SigningKey? = nil,
            note: String? = nil
        ) throws -> AppleCase {
            world.refused(
                "jws/\(id)",
                try signed(world, header: header, by: key),
                code: code,
                reason: reason,
                tags: ["header"],
                note: note
            )
        }
        func accepted(_ id: String, _ header: String, note: String? = nil) throws -> AppleCase {
            world.accepted(
                "jws/\(id)",
                try signed(world, header: header),
                tags: ["header"],
                note: note
            )
        }
        let foreignKey = text(try impostor.leafKey.uncompressedPoint())
        let jwk = #""jwk":{"kty":"EC","crv":"P-256","x":"\#(foreignKey)","y":"\#(foreignKey)"}"#
        let foreignChain = impostor.x5c.map { "\"\(base64($0))\"" }.joined(separator: ",")
        return [
            try accepted("header-typ-and-kid", "{\"alg\":\"ES256\",\"typ\":\"JWT\",\"kid\":\"k\",\(chain)}"),
            try accepted("header-unknown-member", "{\"alg\":\"ES256\",\(chain),\"novelty\":{\"a\":[1]}}"),
            try accepted("header-members-in-other-order", "{\(chain),\"alg\":\"ES256\"}"),
            try accepted(
                "header-jwk-is-not-used",
                "{\"alg\":\"ES256\",\(jwk),\(chain)}",
                note: "signed by the genuine leaf; the key in the header is never looked at"
            ),
            try refused("header-crit", "{\"alg\":\"ES256\",\"crit\":[\"exp\"],\"exp\":1,\(chain)}"),
            try refused("header-crit-empty", "{\"alg\":\"ES256\",\"crit\":[],\(chain)}"),
            try refused("header-crit-string", "{\"alg\":\"ES256\",\"crit\":\"b64\",\(chain)}"),
            try refused("header-crit-null", "{\"alg\":\"ES256\",\"crit\":null,\(chain)}"),
            try refused("header-crit-b64", "{\"alg\":\"ES256\",\"b64\":false,\"crit\":[\"b64\"],\(chain)}"),
            try refused("header-b64", "{\"alg\":\"ES256\",\"b64\":false,\(chain)}"),
            try refused("header-alg-twice", "{\"alg\":\"ES256\",\"alg\":\"none\",\(chain)}"),
            try refused("header-alg-twice-escaped", "{\"alg\":\"ES256\",\"\\u0061lg\":\"none\",\(chain)}"),
            try refused("header-x5c-twice", "{\"alg\":\"ES256\",\(chain),\"x5c\":[\(foreignChain)]}"),
            try refused("header-x5c-twice-escaped", "{\"alg\":\"ES256\",\(chain),\"x5\\u0063\":[\(foreignChain)]}"),
            try refused("header-kid-number", "{\"alg\":\"ES256\",\"kid\":1,\(chain)}"),
            try refused("header-array", "[{\"alg\":\"ES256\",\(chain)}]"),
            try refused("header-string", "\"ES256\""),
            try refused("header-trailing-octets", "{\"alg\":\"ES256\",\(chain)} x"),
            try refused("header-trailing-comma", "{\"alg\":\"ES256\",\(chain),}"),
            try refused("header-byte-order-mark", "\u{FEFF}{\"alg\":\"ES256\",\(chain)}"),
            try refused("header-deep", "{\"alg\":\"ES256\",\"n\":\(String(repeating: "[", count: 5000))"),
            try refused(
                "header-jwk-of-the-forger",
                "{\"alg\":\"ES256\",\(jwk),\(chain)}",
                code: .unauthenticated,
                reason: "signature",
                by: impostor.leafKey
            ),
            try refused(
                "header-jku-of-the-forger",
                "{\"alg\":\"ES256\",\"jku\":\"https://example.net/keys\",\(chain)}",
                code: .unauthenticated,
                reason: "signature",
                by: impostor.leafKey
            ),
            try refused(
                "header-x5u-of-the-forger",
                "{\"alg\":\"ES256\",\"x5u\":\"https://example.net/chain\",\(chain)}",
                code: .unauthenticated,
                reason: "signature",
                by: impostor.leafKey
            ),
            try refused(
                "header-jwk-without-chain",
                "{\"alg\":\"ES256\",\(jwk)}",
                code: .untrusted,
                reason: "certificate",
                by: impostor.leafKey
            ),
            try refused(
                "header-genuine-chain-signed-by-forger",
                "{\"alg\":\"ES256\",\(chain)}",
                code: .unauthenticated,
                reason: "signature",
                by: impostor.leafKey
            ),
        ]
    }

    /// n and p of P-256.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
    private static let prime: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    ]

    /// n − s.
    private static func complement(_ s: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        var borrow = 0
        for index in (0..<32).reversed() {
            let difference = Int(order[index]) - Int(s[index]) - borrow
            borrow = difference < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: difference)
        }
        return result
    }

    private static func signatures(_ world: World) throws -> [AppleCase] {
        let genuine = try world.sign(world.test())
        let segments = parts(genuine)
        let signature = try CompactJWS(genuine).signature()
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let zero = [UInt8](repeating: 0, count: 32)
        let one = Array(zero.dropLast()) + [1]
        let ones = [UInt8](repeating: 0xFF, count: 32)
        func with(_ signature: [UInt8]) -> [UInt8] { Array("\(segments[0]).\(segments[1]).\(text(signature))".utf8) }
        func refused(_ id: String, _ signature: [UInt8]) -> AppleCase {
            world.refused(
                "jws/signature-\(id)",
                with(signature),
                code: .unauthenticated,
                reason: "signature",
                tags: ["signature"]
            )
        }
        func accepted(_ id: String, _ jws: [UInt8], note: String) -> AppleCase {
            world.accepted(
                "jws/signature-\(id)",
                jws,
                tags: ["signature"],
                note: note
            )
        }
        let der = try world.production.certificates.leafKey.signature(
            over: Array("\(segments[0]).\(segments[1])".utf8)
        )
        // Exactly one of s and n − s is above n / 2.
        let other = complement(s)
        let high = s.lexicographicallyPrecedes(other) ? other : s
        let low = s.lexicographicallyPrecedes(other) ? s : other
        var cases = [
            accepted("high-s", with(r + high), note: "Apple does not normalise s"),
            accepted("low-s", with(r + low), note: "so one message has two signatures: none is an identity"),
            refused("der", der),
            refused("63-octets", Array(signature.dropLast())),
            refused("65-octets", signature + [0]),
            refused("65-octets-leading-zero", [0] + signature),
            refused("96-octets", signature + zero),
            refused("128-octets", signature + signature),
            refused("one-octet", [0]),
            refused("zeros", zero + zero),
            refused("r-zero", zero + s),
            refused("s-zero", r + zero),
            refused("r-and-s-one", one + one),
            refused("r-order", order + s),
            refused("s-order", r + order),
            refused("r-prime", prime + s),
            refused("ones", ones + ones),
            refused("swapped", s + r),
            refused("of-another-message", try CompactJWS(try world.sign(world.test(at: World.signed + 1))).signature()),
        ]
        for (name, offset) in [("r", 0), ("s", 32)] {
            // One in 256 signatures has a number with a leading zero octet.
            for attempt in 0..<4096 {
                let jws = try world.sign(world.test { $0["notificationUUID"] = .string("leading-zero-\(attempt)") })
                guard try CompactJWS(jws).signature()[offset] == 0 else { continue }
                cases.append(accepted("\(name)-with-leading-zero", jws, note: "numbers are padded to 32 octets"))
                break
            }
        }
        let later = parts(try world.sign(world.test(at: World.signed + 1)))
        cases.append(
            world.refused(
                "jws/payload-of-another-message",
                Array("\(segments[0]).\(later[1]).\(segments[2])".utf8),
                code: .unauthenticated,
                reason: "signature",
                tags: ["signature"]
            )
        )
        cases.append(
            world.refused(
                "jws/payload-tampered",
                Array(
                    "\(segments[0]).\(text(world.test { $0["subtype"] = "FORGED" }.bytes)).\(segments[2])".utf8
                ),
                code: .unauthenticated,
                reason: "signature",
                tags: ["signature"]
            )
        )
        let spaced = text(Array("{\"alg\": \"ES256\",\(chain(world))}".utf8))
        cases.append(
            world.refused(
                "jws/header-rewritten",
                Array("\(spaced).\(segments[1]).\(segments[2])".utf8),
                code: .unauthenticated,
                reason: "signature",
                tags: ["signature"],
                note: "the same header in other octets"
            )
        )
        return cases
    }

    private static func serialisations(_ world: World) throws -> [AppleCase] {
        let genuine = String(decoding: try world.sign(world.test()), as: UTF8.self)
        let segments = parts(Array(genuine.utf8))
        func refused(
            _ id: String,
            _ text: String,
            code: DeliveryError.Code = .malformed,
            reason: String = "malformed",
            tier: String = "must"
        ) -> AppleCase {
            world.refused(
                "jws/\(id)",
                Array(text.utf8),
                code: code,
                reason: reason,
                tier: tier,
                tags: ["serialisation"]
            )
        }
        /// The last character with its unused bits set.
        func bent(_ segment: String) -> String? {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
            guard segment.utf8.count % 4 != 0, let last = segment.last, let index = alphabet.firstIndex(of: last),
                index + 1 < alphabet.count
            else { return nil }
            return segment.dropLast() + String(alphabet[index + 1])
        }
        var cases = [
            refused("empty", ""),
            refused("one-segment", segments[1]),
            refused("two-segments", "\(segments[0]).\(segments[1])"),
            refused("four-segments", "\(genuine).\(segments[2])"),
            refused("five-segments", "\(genuine).\(segments[1]).\(segments[2])"),
            refused("dots", ".."),
            refused("without-header", ".\(segments[1]).\(segments[2])"),
            refused("without-payload", "\(segments[0])..\(segments[2])"),
            refused("without-signature", "\(segments[0]).\(segments[1])."),
            refused("leading-dot", ".\(genuine)"),
            refused("trailing-dot", "\(genuine)."),
            refused("leading-space", " \(genuine)"),
            refused("trailing-space", "\(genuine) "),
            refused(
                "space-inside",
                "\(segments[0]). \(segments[1]).\(segments[2])",
                code: .unauthenticated,
                reason: "signature"
            ),
            refused("padding-after-signature", "\(genuine)=="),
            refused("bearer", "Bearer \(genuine)"),
            refused("one-character-too-many", "\(genuine)A", code: .unauthenticated, reason: "signature"),
            refused("junk-in-signature", "\(segments[0]).\(segments[1]).\(segments[2].dropLast())!"),
            refused("standard-base64-in-signature", "\(segments[0]).\(segments[1]).\(segments[2].dropLast())+"),
            refused("longer-than-256-KiB", "\(segments[0]).\(String(repeating: "A", count: 262_144)).\(segments[2])"),
        ]
        if let signature = bent(segments[2]) {
            cases.append(refused("unused-bits-in-signature", "\(segments[0]).\(segments[1]).\(signature)"))
        }
        for padding in 1...3 {
            // The payload's length decides how many bits of its last character are unused.
            let payload = world.test().text + String(repeating: " ", count: padding)
            let jws = parts(try world.production.jws(Array(payload.utf8)))
            guard let tail = bent(jws[1]) else { continue }
            cases.append(
                refused(
                    "unused-bits-in-payload",
                    "\(jws[0]).\(tail).\(jws[2])",
                    code: .unauthenticated,
                    reason: "signature",
                    tier: "should"
                )
            )
            break
        }
        return cases
    }

    private static func bodies(_ world: World) throws -> [AppleCase] {
        let genuine = String(decoding: try world.sign(world.test()), as: UTF8.self)
        let segments = parts(Array(genuine.utf8))
        func refused(_ id: String, _ body: String, config: JSONMembers? = nil) -> AppleCase {
            world.refused(
                "jws/body-\(id)",
                body: Array(body.utf8),
                code: .malformed,
                reason: "malformed",
                config: config,
                tags: ["body"]
            )
        }
        let length = World.body(Array(genuine.utf8)).count
        return [
            refused("empty", ""),
            refused("white-space", " \n"),
            refused("bare-jws", genuine),
            refused("string", "\"\(genuine)\""),
            refused("array", "[\"\(genuine)\"]"),
            refused("without-signed-payload", "{}"),
            refused("signed-payload-null", #"{"signedPayload":null}"#),
            refused("signed-payload-number", #"{"signedPayload":1}"#),
            refused("signed-payload-array", "{\"signedPayload\":[\"\(genuine)\"]}"),
            refused("signed-payload-object", "{\"signedPayload\":{\"jws\":\"\(genuine)\"}}"),
            refused("signed-payload-other-case", "{\"signedpayload\":\"\(genuine)\"}"),
            refused("signed-payload-twice", "{\"signedPayload\":\"\(genuine)\",\"signedPayload\":\"\(genuine)\"}"),
            refused(
                "signed-payload-twice-escaped",
                "{\"signedPayload\":\"\(genuine)\",\"\\u0073ignedPayload\":\"a.b.c\"}"
            ),
            refused("escape-inside", "{\"signedPayload\":\"\\u0065\(genuine.dropFirst())\"}"),
            refused(
                "flattened-json",
                "{\"protected\":\"\(segments[0])\",\"payload\":\"\(segments[1])\",\"signature\":\"\(segments[2])\"}"
            ),
            refused(
                "general-json",
                """
                {"payload":"\(segments[1])","signatures":[{"protected":"\(segments[0])","signature":"\(segments[2])"}]}
                """
            ),
            refused(
                "legacy-version-1",
                #"{"notification_type":"DID_RENEW","password":"shared","environment":"PROD","auto_renew_status":"true"}"#
            ),
            refused("decoded-payload", world.test().text),
            refused("form-encoded", "signedPayload=\(genuine)"),
            refused("trailing-octets", "{\"signedPayload\":\"\(genuine)\"}x"),
            refused("two-documents", "{\"signedPayload\":\"\(genuine)\"}{\"signedPayload\":\"\(genuine)\"}"),
            refused("trailing-comma", "{\"signedPayload\":\"\(genuine)\",}"),
            refused("comment", "{\"signedPayload\":\"\(genuine)\"/* */}"),
            refused("byte-order-mark", "\u{FEFF}{\"signedPayload\":\"\(genuine)\"}"),
            refused("unterminated", "{\"signedPayload\":\"\(genuine)"),
            refused("deep", String(repeating: "[", count: 100_000)),
            refused(
                "deep-in-unread-member",
                "{\"signedPayload\":\"\(genuine)\",\"n\":\(String(repeating: "[", count: 200))\(String(repeating: "]", count: 200))}"
            ),
            world.accepted(
                "jws/body-as-long-as-allowed",
                Array(genuine.utf8),
                config: world.config { $0["maxBodyBytes"] = .integer(Int64(length)) },
                tags: ["body", "limit"]
            ),
            world.refused(
                "jws/body-longer-than-allowed",
                body: World.body(Array(genuine.utf8)),
                code: .malformed,
                reason: "limit",
                config: world.config { $0["maxBodyBytes"] = .integer(Int64(length - 1)) },
                tags: ["body", "limit"]
            ),
        ]
    }
}
