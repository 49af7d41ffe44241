import JSONWebSignature
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct IssuingTests {
    @Test func sameSeedGivesTheSameCertificatesAndSignatures() throws {
        let first = try IssuedChain(seed: Seed("a"))
        let second = try IssuedChain(seed: Seed("a"))
        #expect(first.certificates == second.certificates)
        let header = JWSIssuer.header(algorithm: "ES256", certificates: first.certificates)
        let payload = Array("{\"n\":1}".utf8)
        #expect(
            try JWSIssuer.es256(header: header, payload: payload, key: first.leafKey)
                == JWSIssuer.es256(header: header, payload: payload, key: second.leafKey)
        )
    }

    @Test func otherSeedGivesOthers() throws {
        let first = try IssuedChain(seed: Seed("a"))
        let second = try IssuedChain(seed: Seed("b"))
        for (left, right) in zip(first.certificates, second.certificates) { #expect(left != right) }
        #expect(try first.leafKey.es256([1]) != second.leafKey.es256([1]))
        #expect(try first.leafKey.es256([1]).prefix(32) != first.leafKey.es256([2]).prefix(32))
    }

    @Test(arguments: SigningKey.Algorithm.allCases)
    func keysOfEveryKindRepeat(algorithm: SigningKey.Algorithm) throws {
        let first = try SigningKey(algorithm, seed: Seed("k"), label: "one").publicKeyInfo()
        #expect(try SigningKey(algorithm, seed: Seed("k"), label: "one").publicKeyInfo() == first)
        #expect(try SigningKey(algorithm, seed: Seed("k"), label: "two").publicKeyInfo() != first)
        #expect(try SigningKey(algorithm, seed: Seed("l"), label: "one").publicKeyInfo() != first)
    }

    @Test func issuedJWSVerifies() throws {
        let chain = try IssuedChain.genuine.get()
        let header = JWSIssuer.header(algorithm: "ES256", certificates: chain.certificates)
        let text = try JWSIssuer.es256(header: header, payload: Array("{}".utf8), key: chain.leafKey)
        let jws = try CompactJWS(text)
        let read = try JWSProtectedHeader(
            reading: jws.header(),
            algorithm: .es256,
            certificates: .required(count: 3)
        )
        let validated = try chain.verification().verify(read.certificates, at: IssuedChain.middle)
        #expect(try jws.payload(verifiedBy: validated.leafKey) == Array("{}".utf8))
    }
}
