import SignatureCore
import SignatureIssuing
import Testing

@Suite struct PrivateKeyTests {
    let message = ascii("header.payload")

    @Test func p256SignsWhatItsPublicKeyVerifies() throws {
        let issued = try SigningKey(.p256, seed: Seed("pem"), label: "k")
        let pem = try issued.privatePEM()
        let key = try P256PrivateKey(pem: pem.span)
        let signature = try key.signature(over: message.span)
        #expect(signature.count == 64)
        let point = try issued.uncompressedPoint()
        let verifier = try P256PublicKey(uncompressedPoint: point.span)
        try verifier.verify(signature: signature.span, over: message.span)
    }

    @Test func rsaSignsWhatItsPublicKeyVerifies() throws {
        let issued = try SigningKey(.rsa2048, seed: Seed("pem"), label: "k")
        let pem = try issued.privatePEM()
        let key = try RSAPrivateKey(pem: pem.span)
        let signature = try key.signature(over: message.span)
        let (modulus, exponent) = try issued.modulusAndExponent()
        let verifier = try RSAPublicKey(modulus: modulus.span, exponent: exponent.span)
        try verifier.verify(signature: signature.span, over: message.span)
        #expect(try issued.rs256(message) == signature)
    }

    @Test(arguments: SigningKey.Algorithm.allCases)
    func otherKindsAreRefused(algorithm: SigningKey.Algorithm) throws {
        let pem = try SigningKey(algorithm, seed: Seed("pem"), label: "k").privatePEM()
        if algorithm != .p256 && algorithm != .p256ExplicitParameters {
            #expect(failure { () throws(SignatureError) in try P256PrivateKey(pem: pem.span) }?.kind == .key)
        }
        if algorithm != .rsa2048 {
            #expect(failure { () throws(SignatureError) in try RSAPrivateKey(pem: pem.span) }?.kind == .key)
        }
    }

    @Test func whatIsNotOnePrivateKeyIsRefused() throws {
        let issued = try SigningKey(.p256, seed: Seed("pem"), label: "k")
        let pem = try issued.privatePEM()
        let text = String(decoding: pem, as: UTF8.self)
        let cases = [
            "", "\n", "no key", text + text, text.replacing("BEGIN PRIVATE", with: "BEGIN EC PRIVATE"),
            text.replacing("END PRIVATE", with: "END PUBLIC"), String(text.dropLast(40)),
            String(decoding: try issued.publicPEM(), as: UTF8.self),
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n",
        ]
        for text in cases {
            #expect(failure { () throws(SignatureError) in try P256PrivateKey(pem: text.utf8.span) }?.kind == .key)
            #expect(failure { () throws(SignatureError) in try RSAPrivateKey(pem: text.utf8.span) }?.kind == .key)
        }
    }

    @Test func errorsDoNotQuoteTheKey() throws {
        let pem = String(decoding: try SigningKey(.p384, seed: Seed("pem"), label: "k").privatePEM(), as: UTF8.self)
        let thrown = failure { () throws(SignatureError) in try P256PrivateKey(pem: pem.utf8.span) }
        let body = pem.split(separator: "\n").dropFirst().dropLast()
        for line in body { #expect(thrown?.description.contains(line) == false) }
    }
}
