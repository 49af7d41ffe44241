import JSONWebSignature
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct JWSProtectedHeaderTests {
    private func kind(
        _ text: String,
        _ algorithm: JWSProtectedHeader.Algorithm = .es256,
        certificates rule: JWSProtectedHeader.CertificateRule = .ignored
    ) -> SignatureError.Kind? {
        failure { () throws(SignatureError) in
            try JWSProtectedHeader(reading: ascii(text), algorithm: algorithm, certificates: rule)
        }?.kind
    }

    @Test(arguments: [
        #""none""#, #""None""#, #""NONE""#, #""nOnE""#, #""""#, #""HS256""#, #""ES384""#, #""ES512""#, #""RS256""#,
        #""PS256""#, #""ES256K""#, #""EdDSA""#, #""es256""#, #""ES256 ""#, #"" ES256""#, #""ES256\u0000""#,
        #""ES256,none""#,
        "null", "256", "true", #"["ES256"]"#, #"{"ES256":1}"#,
    ])
    func otherAlgorithmsAreRefused(value: String) {
        #expect(kind("{\"alg\":\(value)}") == .algorithm)
    }

    @Test func missingAlgorithmIsRefused() {
        #expect(kind("{}") == .algorithm)
        #expect(kind(#"{"Alg":"ES256"}"#) == .algorithm)
        #expect(kind(#"{"alg":"ES256"}"#, .rs256) == .algorithm)
    }

    @Test func pinnedAlgorithmIsAccepted() throws {
        #expect(kind(#"{"alg":"ES256"}"#) == nil)
        #expect(kind(#"{"alg":"RS256"}"#, .rs256) == nil)
        // One text, spelled with an escape.
        #expect(kind(#"{"\u0061lg":"ES\u003256"}"#) == nil)
    }

    @Test(arguments: [
        #""crit":["exp"]"#, #""crit":["b64"]"#, #""crit":[]"#, #""crit":"exp""#, #""crit":null"#, #""crit":{}"#,
        #""\u0063rit":["x"]"#, #""b64":false"#, #""b64":true"#, #""b64":null"#, #""kid":1"#, #""kid":null"#,
        #""kid":["a"]"#,
        #""alg":"none""#, #""\u0061lg":"ES256""#,
    ])
    func hostileMembersAreRefused(member: String) {
        #expect(kind("{\"alg\":\"ES256\",\(member)}") == .header)
    }

    @Test(arguments: [
        "", " ", "null", "[]", "\"ES256\"", "{", "{}{}", "{\"alg\":\"ES256\",}", "{\"alg\":\"ES256\"} x",
        "{'alg':'ES256'}",
        "\u{feff}{\"alg\":\"ES256\"}", "{\"alg\":\"ES256\",\"a\":01}", "{\"alg\":\"ES256\"}\0",
        "{\"alg\":\"ES256\",\"a\":\(String(repeating: "[", count: 20))\(String(repeating: "]", count: 20))}",
    ])
    func whatIsNotOneStrictObjectIsRefused(text: String) {
        #expect(kind(text) == .header)
    }

    @Test func invalidUTF8IsRefused() {
        let bytes = ascii(#"{"alg":"ES256","a":""#) + [0xff] + ascii("\"}")
        #expect(
            failure { () throws(SignatureError) in
                try JWSProtectedHeader(reading: bytes, algorithm: .es256, certificates: .ignored)
            }?.kind == .header
        )
    }

    @Test func unknownMembersAndKeysInTheHeaderAreIgnored() throws {
        let text =
            #"{"alg":"ES256","jwk":{"kty":"oct","k":""},"jku":"https://x","x5u":"https://x","typ":7,"kid":"a/../b"}"#
        let header = try JWSProtectedHeader(reading: ascii(text), algorithm: .es256, certificates: .ignored)
        #expect(header.keyID == ascii("a/../b"))
        #expect(header.type == nil)
        #expect(header.certificates.isEmpty)
    }

    @Test(arguments: [
        "null", "{}", "\"MAA=\"", "[]", "[\"MAA=\"]", "[\"MAA=\",\"MAA=\"]", "[\"MAA=\",\"MAA=\",\"MAA=\",\"MAA=\"]",
        "[\"MAA=\",\"MAA=\",null]", "[\"MAA=\",\"MAA=\",1]", "[\"MAA=\",\"MAA=\",\"\"]", "[\"MAA=\",\"MAA=\",\"MAA\"]",
        "[\"MAA=\",\"MAA=\",\"M-A=\"]", "[\"MAA=\",\"MAA=\",\"MAA=\\n\"]", "[\"MAA=\",\"MAA=\",[\"MAA=\"]]",
        "[\"MAA=\",\"MAA=\",\"MAB=\"]",
    ])
    func otherChainsAreRefused(value: String) {
        #expect(kind("{\"alg\":\"ES256\",\"x5c\":\(value)}", .es256, certificates: .required(count: 3)) == .certificate)
    }

    @Test func missingAndOversizeChainsAreRefused() {
        #expect(kind(#"{"alg":"ES256"}"#, .es256, certificates: .required(count: 3)) == .certificate)
        let many = [String](repeating: "\"MAA=\"", count: 400).joined(separator: ",")
        #expect(
            kind("{\"alg\":\"ES256\",\"x5c\":[\(many)]}", .es256, certificates: .required(count: 3)) == .certificate
        )
        let long = String(repeating: "AAAA", count: 6000)
        #expect(
            kind(
                "{\"alg\":\"ES256\",\"x5c\":[\"MAA=\",\"MAA=\",\"\(long)\"]}",
                .es256,
                certificates: .required(count: 3)
            )
                == .certificate
        )
    }

    @Test func chainComesOutInOrder() throws {
        let text = #"{"x5c":["AQ==","Ag\u003d\u003d","A/\/\/"],"alg":"ES256"}"#
        let header = try JWSProtectedHeader(reading: ascii(text), algorithm: .es256, certificates: .required(count: 3))
        #expect(header.certificates == [[1], [2], [3, 255, 255]])
    }

    @Test func randomOctetsNeverTrap() {
        var scrambler = Scrambler(3)
        let genuine = JWSIssuer.header(algorithm: "ES256", keyID: "k", type: "JWT", certificates: [[1], [2], [3]])
        for _ in 0..<5000 {
            var bytes = genuine
            for _ in 0..<Int.random(in: 1...4, using: &scrambler) {
                bytes[Int.random(in: bytes.indices, using: &scrambler)] = UInt8.random(in: 0...255, using: &scrambler)
            }
            _ = failure { () throws(SignatureError) in
                try JWSProtectedHeader(reading: bytes, algorithm: .es256, certificates: .required(count: 3))
            }
            let noise = scrambler.octets(Int.random(in: 0..<64, using: &scrambler))
            #expect(
                failure { () throws(SignatureError) in
                    try JWSProtectedHeader(reading: noise, algorithm: .es256, certificates: .ignored)
                } != nil
            )
        }
    }
}
