import JSONWebSignature
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct RSATests {
    /// RFC 7515 A.2.
    static let message = "eyJhbGciOiJSUzI1NiJ9.\(ECDSATests.payload)"
    static let modulus =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pC"
        + "gNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2Cap"
        + "Hg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb5"
        + "4h4FRWyuXpoQ"
    static let signature =
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1"
        + "dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi1"
        + "2jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_Ioyp"
        + "GlUPQGe77Rw"

    static func known() throws(SignatureError) -> (key: RSAPublicKey, message: [UInt8], signature: [UInt8]) {
        let exponent: [UInt8] = [1, 0, 1]
        let modulus = try base64URL(modulus)
        return (
            try RSAPublicKey(modulus: modulus.span, exponent: exponent.span), ascii(message), try base64URL(signature)
        )
    }

    @Test func knownSignature() throws {
        let (key, message, signature) = try Self.known()
        try key.verify(signature: signature.span, over: message.span)
        let jws = try CompactJWS(message + ascii(".\(Self.signature)"))
        #expect(try jws.payload(verifiedBy: key) == base64URL(ECDSATests.payload))
    }

    @Test func changesAreRefused() throws {
        let (key, message, signature) = try Self.known()
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 0x10
            #expect(
                failure { () throws(SignatureError) in try key.verify(signature: changed.span, over: message.span) }?
                    .kind == .signature
            )
        }
        for other in [
            [], [0], signature + [0], [0] + signature, Array(signature.dropLast()), Array(signature.dropFirst()),
            [UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xff, count: 256), try base64URL(Self.modulus),
        ] {
            #expect(
                failure { () throws(SignatureError) in try key.verify(signature: other.span, over: message.span) }?
                    .kind == .signature
            )
        }
    }

    @Test func unfitKeysAreRefused() throws {
        let modulus = try base64URL(Self.modulus)
        let exponent: [UInt8] = [1, 0, 1]
        let even = modulus.dropLast() + [0xa0]
        let weak = try SigningKey(.rsa1024, seed: Seed("weak"), label: "k").modulusAndExponent()
        let cases: [([UInt8], [UInt8])] = [
            ([], exponent), ([0], exponent), (Array(even), exponent), ([0] + modulus, exponent),
            (weak.modulus, weak.exponent), ([0x7f] + modulus.dropFirst(), exponent),
            ([UInt8](repeating: 0xff, count: 1025), exponent),
            (modulus, []), (modulus, [0]), (modulus, [1]), (modulus, [2]), (modulus, [0, 3]), (modulus, [1, 0, 0]),
            (modulus, [UInt8](repeating: 1, count: 9)),
        ]
        for (modulus, exponent) in cases {
            #expect(
                failure { () throws(SignatureError) in
                    try RSAPublicKey(modulus: modulus.span, exponent: exponent.span)
                }?.kind == .key
            )
        }
    }

    @Test func largestModulusVerifiesNothingButDoesNotTrap() throws {
        let modulus = [UInt8](repeating: 0xff, count: 1024)
        let key = try RSAPublicKey(modulus: modulus.span, exponent: [3].span)
        let signature = [UInt8](repeating: 0x11, count: 1024)
        #expect(
            failure { () throws(SignatureError) in try key.verify(signature: signature.span, over: [1].span) }?.kind
                == .signature
        )
    }
}
