import JSONWebSignature
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct CompactJWSTests {
    @Test(arguments: [
        "", ".", "..", "...", "a", "a.b", ".b.c", "a..c", "a.b.", "a.b.c.d", "a.b.c.", ".a.b.c", "a.b.c.d.e", "....",
    ])
    func otherShapesAreRefused(text: String) {
        #expect(failure { () throws(SignatureError) in try CompactJWS(ascii(text)) }?.kind == .malformed)
    }

    @Test func segmentsLieWhereTheyAre() throws {
        let bytes = ascii("{\"signedPayload\":\"aa.bbb.cccc\"}")
        let jws = try CompactJWS(bytes, in: 18..<29)
        #expect(jws.headerRange == 18..<20)
        #expect(jws.payloadRange == 21..<24)
        #expect(jws.signatureRange == 25..<29)
        #expect(jws.signingInputRange == 18..<24)
        #expect(Array(jws.headerSegment) == ascii("aa"))
    }

    @Test(arguments: [-1..<5, 0..<6, 6..<7])
    func rangesOutsideAreRefused(range: Range<Int>) {
        #expect(failure { () throws(SignatureError) in try CompactJWS(ascii("a.b.c"), in: range) }?.kind == .malformed)
    }

    @Test func lengthIsLimited() {
        let longest = ascii("a.b.") + [UInt8](repeating: UInt8(ascii: "c"), count: CompactJWS.maximumCount - 4)
        #expect(failure { () throws(SignatureError) in try CompactJWS(longest) } == nil)
        #expect(failure { () throws(SignatureError) in try CompactJWS(longest + [97]) }?.kind == .limit)
    }

    /// No octet may stand between the texts and around them unnoticed.
    @Test(arguments: ["\n", " ", "=", "\"", "\0", "+", "/", "\u{feff}", "~"])
    func junkIsRefused(junk: String) throws {
        let key = try SigningKey(.p256, seed: Seed("jws"), label: "k")
        let point = try key.uncompressedPoint()
        let verifier = try P256PublicKey(uncompressedPoint: point.span)
        let text = try JWSIssuer.es256(header: ascii("{\"alg\":\"ES256\"}"), payload: ascii("{}"), key: key)
        #expect(try CompactJWS(text).payload(verifiedBy: verifier) == ascii("{}"))
        for place in [0, 1, text.count - 1, text.count] {
            let changed = text[..<place] + ascii(junk) + text[place...]
            let thrown = failure { () throws(SignatureError) in
                let jws = try CompactJWS(Array(changed))
                _ = try jws.header()
                return try jws.payload(verifiedBy: verifier)
            }
            #expect(thrown?.kind == .malformed || thrown?.kind == .signature)
        }
    }

    /// Signed over text that is not canonical base64url: the signature holds, and still it is refused.
    @Test(arguments: ["e30=", "e31", "e30\n", "e3+0"])
    func signedButUndecodablePayloadIsRefused(segment: String) throws {
        let key = try SigningKey(.p256, seed: Seed("jws"), label: "k")
        let point = try key.uncompressedPoint()
        let verifier = try P256PublicKey(uncompressedPoint: point.span)
        let input = ascii("e30.\(segment)")
        let signature = try key.es256(input)
        try verifier.verify(signature: signature.span, over: input.span)
        let text = input + ascii(".") + Base64URL.encode(signature.span)
        #expect(
            failure { () throws(SignatureError) in try CompactJWS(text).payload(verifiedBy: verifier) }?.kind
                == .malformed
        )
    }

    @Test func signatureOfAnotherMessageIsRefused() throws {
        let key = try SigningKey(.p256, seed: Seed("jws"), label: "k")
        let point = try key.uncompressedPoint()
        let verifier = try P256PublicKey(uncompressedPoint: point.span)
        let header = ascii("{\"alg\":\"ES256\"}")
        let first = try JWSIssuer.es256(header: header, payload: ascii("{\"a\":1}"), key: key)
        let other = try JWSIssuer.compact(header: header, payload: ascii("{\"a\":2}")) { (_) throws(SignatureError) in
            try CompactJWS(first).signature()
        }
        #expect(
            failure { () throws(SignatureError) in try CompactJWS(other).payload(verifiedBy: verifier) }?.kind
                == .signature
        )
    }

    @Test func randomOctetsNeverTrap() throws {
        var scrambler = Scrambler(7)
        let key = try SigningKey(.p256, seed: Seed("jws"), label: "k")
        let point = try key.uncompressedPoint()
        let verifier = try P256PublicKey(uncompressedPoint: point.span)
        let letters = ascii("AZaz09-_.=+")
        for _ in 0..<3000 {
            let count = Int.random(in: 0..<200, using: &scrambler)
            let text =
                Bool.random(using: &scrambler)
                ? scrambler.octets(count)
                : (0..<count).map { _ in letters.randomElement(using: &scrambler) ?? 0 }
            #expect(
                failure { () throws(SignatureError) in try CompactJWS(text).payload(verifiedBy: verifier) } != nil
            )
        }
    }
}
