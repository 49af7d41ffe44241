import FoundationEssentials
import JSONWebSignature
import NotificationSimulator
import SignatureCore
import SignatureIssuing

/// One text stands for one JWS, and nothing comes out of one that its key did not sign.
enum JWSFuzzing {
    private static let known = Set(Corpus.signedPayloads.map(signingInput))
    private static let key: P256PublicKey? = {
        let point = try? AppleWorld.certificates.leafKey.uncompressedPoint()
        return point.flatMap { try? P256PublicKey(uncompressedPoint: $0.span) }
    }()

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        do throws(SignatureError) {
            let jws = try meter { () throws(SignatureError) in try CompactJWS(input) }
            let header = try meter { () throws(SignatureError) in try jws.header() }
            try same(Base64URL.encode(header.span), input[jws.headerRange])
            for rule in [JWSProtectedHeader.CertificateRule.ignored, .required(count: 3)] {
                for algorithm in [JWSProtectedHeader.Algorithm.es256, .rs256] {
                    let read = try? meter { () throws(SignatureError) in
                        try JWSProtectedHeader(reading: header, algorithm: algorithm, certificates: rule)
                    }
                    if rule == .required(count: 3), let read { try count(read.certificates.count) }
                }
            }
            guard let key else { throw SignatureError(.internalFailure, "no key") }
            let payload = try meter { () throws(SignatureError) in try jws.payload(verifiedBy: key) }
            try same(Base64URL.encode(payload.span), input[jws.payloadRange])
        } catch {
            if case .internalFailure = error.kind { throw Violation(error.message) }
            return .refused
        }
        // Only the signature may differ: an ES256 signature has a second form, (r, n - s).
        try promise(known.contains(signingInput(input)), "a payload that was never signed came out")
        return .accepted
    }

    /// The signing input of a JWS: all before its last period (RFC 7515, section 5.1).
    private static func signingInput(_ jws: [UInt8]) -> ArraySlice<UInt8> {
        jws[..<(jws.lastIndex(of: UInt8(ascii: ".")) ?? 0)]
    }

    private static func same(_ text: [UInt8], _ received: ArraySlice<UInt8>) throws(SignatureError) {
        guard text.elementsEqual(received) else {
            throw SignatureError(.internalFailure, "two texts stand for the same octets")
        }
    }

    private static func count(_ certificates: Int) throws(SignatureError) {
        guard certificates == 3 else { throw SignatureError(.internalFailure, "x5c has \(certificates) entries") }
    }

    /// The decoded payload of a JWS, unproven.
    static func payload(_ jws: [UInt8]) -> [UInt8]? {
        guard let shape = try? CompactJWS(jws) else { return nil }
        return try? Base64URL.decode(jws, shape.payloadRange)
    }

    static func seeds() -> [[UInt8]] {
        // Short headers too: most of a real one is certificates, which hide everything else from a fuzzer.
        let short = [
            #"{"alg":"ES256","x5c":["MA==","MA==","MA=="]}"#, #"{"alg":"RS256","kid":"k","typ":"JWT"}"#,
            #"{"alg":"none"}"#, #"{"alg":"ES256","crit":["b64"],"b64":false}"#, #"{"alg":["ES256"]}"#,
        ]
        return Corpus.signedPayloads
            + short.map { Base64URL.encode(Array($0.utf8).span) + Array(".e30.AAAA".utf8) }
    }
}

/// A path that is accepted ends in the key that the authority certified, whatever else was changed.
enum CertificateFuzzing {
    private static let message = Array("signed by the leaf".utf8)
    private static let signature = try? AppleWorld.certificates.leafKey.es256(message)
    private static let verification = try? ChainVerification(
        trustAnchors: TrustAnchors(der: [AppleWorld.certificates.root.certificate]),
        requiredLeafExtension: AppleCertificates.leafMarker,
        requiredIntermediateExtension: AppleCertificates.intermediateMarker
    )

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        guard let verification, let signature else { throw Violation("no certificates") }
        let certificates = split(input)
        let chain: ValidatedChain
        do throws(SignatureError) {
            chain = try meter { () throws(SignatureError) in try verification.verify(certificates, at: nil) }
        } catch {
            try promise(error.kind != .internalFailure, "\(error)")
            return .refused
        }
        try promise(certificates.count == 3, "a path of \(certificates.count)")
        do throws(SignatureError) {
            try chain.leafKey.verify(signature: signature.span, over: message.span)
        } catch {
            throw Violation("a key that nobody certified is trusted")
        }
        return .accepted
    }

    private static func split(_ input: [UInt8]) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var rest = input[...]
        while rest.count >= 2, parts.count < 5 {
            let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            rest = rest.dropFirst(2)
            parts.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return parts
    }

    static func seeds() -> [[UInt8]] {
        Corpus.signedPayloads.compactMap { jws in
            guard let shape = try? CompactJWS(jws), let bytes = try? shape.header(),
                let header = try? JWSProtectedHeader(
                    reading: bytes,
                    algorithm: .es256,
                    certificates: .required(count: 3)
                )
            else { return nil }
            return header.certificates.flatMap { der in
                [UInt8(truncatingIfNeeded: der.count >> 8), UInt8(truncatingIfNeeded: der.count)] + der
            }
        }
    }
}
