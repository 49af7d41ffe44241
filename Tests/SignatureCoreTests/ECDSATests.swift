import JSONWebSignature
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct ECDSATests {
    /// RFC 7515 A.3.
    static let header = "eyJhbGciOiJFUzI1NiJ9"
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"

    static let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    static let prime = hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
    static let zero = [UInt8](repeating: 0, count: 32)
    static let ones = [UInt8](repeating: 0xff, count: 32)
    static let one: [UInt8] = Array(zero.dropLast()) + [1]

    static func hex(_ text: String) -> [UInt8] {
        let digits = text.compactMap { $0.hexDigitValue }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }

    /// order − value.
    static func negated(_ value: [UInt8]) -> [UInt8] {
        var borrow = 0
        var result = value
        for index in value.indices.reversed() {
            let difference = Int(order[index]) - Int(value[index]) - borrow
            borrow = difference < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: difference)
        }
        return result
    }

    static func known() throws(SignatureError) -> (key: P256PublicKey, message: [UInt8], signature: [UInt8]) {
        let point = try [4] + base64URL(x) + base64URL(y)
        return (
            try P256PublicKey(uncompressedPoint: point.span), ascii("\(header).\(payload)"), try base64URL(signature)
        )
    }

    @Test func knownSignature() throws {
        let (key, message, signature) = try Self.known()
        try key.verify(signature: signature.span, over: message.span)
        let jws = try CompactJWS(ascii("\(Self.header).\(Self.payload).\(Self.signature)"))
        #expect(try jws.payload(verifiedBy: key) == base64URL(Self.payload))
    }

    @Test func highAndLowHalfAreBothAccepted() throws {
        let (key, message, signature) = try Self.known()
        let other = Array(signature[..<32]) + Self.negated(Array(signature[32...]))
        #expect(other != signature)
        try key.verify(signature: other.span, over: message.span)
    }

    @Test func everyBitCounts() throws {
        let (key, message, signature) = try Self.known()
        for bit in 0..<512 {
            var changed = signature
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(
                failure { () throws(SignatureError) in try key.verify(signature: changed.span, over: message.span) }?
                    .kind == .signature
            )
        }
        for index in message.indices {
            var changed = message
            changed[index] ^= 1
            #expect(
                failure { () throws(SignatureError) in try key.verify(signature: signature.span, over: changed.span) }?
                    .kind == .signature
            )
        }
    }

    @Test(arguments: [zero, one, order, prime, ones], [zero, one, order, prime, ones])
    func valuesAtTheEdgesAreRefused(r: [UInt8], s: [UInt8]) throws {
        let (key, message, _) = try Self.known()
        let thrown = failure { () throws(SignatureError) in
            try key.verify(signature: (r + s).span, over: message.span)
        }
        #expect(thrown?.kind == .signature)
    }

    @Test func valuesBeyondTheOrderAreRefused() throws {
        let (key, message, signature) = try Self.known()
        for (r, s) in [
            (Self.zero, Array(signature[32...])), (Array(signature[..<32]), Self.zero),
            (Self.order, Array(signature[32...])), (Array(signature[..<32]), Self.order),
        ] {
            #expect(
                failure { () throws(SignatureError) in
                    try key.verify(signature: (r + s).span, over: message.span)
                }?.kind == .signature
            )
        }
    }

    @Test(arguments: [0, 1, 32, 63, 65, 70, 71, 72, 96, 128])
    func otherLengthsAreRefused(count: Int) throws {
        let (key, message, signature) = try Self.known()
        let padded = Array((signature + signature).prefix(count))
        #expect(
            failure { () throws(SignatureError) in try key.verify(signature: padded.span, over: message.span) }?.kind
                == .signature
        )
    }

    @Test("r and s of any size are written in DER and read again", arguments: [0x00, 0x01, 0x7F, 0x80, 0xFF])
    func derOfAnySize(octet: UInt8) throws {
        let joined = [UInt8](repeating: octet, count: ECDSASignature.octetCount)
        let der = try ECDSASignature.der(joined: joined.span)
        let length = octet == 0 ? 1 : octet < 0x80 ? 32 : 33
        #expect(der.count == 2 + 2 * (2 + length))
        #expect(try ECDSASignature.joined(der: der) == joined)
    }

    @Test func derIsRefused() throws {
        let (key, message, signature) = try Self.known()
        let der = try ECDSASignature.der(joined: signature.span)
        #expect(try ECDSASignature.joined(der: der) == signature)
        #expect(
            failure { () throws(SignatureError) in try key.verify(signature: der.span, over: message.span) }?.kind
                == .signature
        )
    }

    @Test(.timeLimit(.minutes(5))) func leadingZerosAreAccepted() throws {
        let key = try SigningKey(.p256, seed: Seed("zeros"), label: "k")
        let point = try key.uncompressedPoint()
        let verifier = try P256PublicKey(uncompressedPoint: point.span)
        var zeroR = false
        var zeroS = false
        var number = 0
        while !(zeroR && zeroS) && number < 10_000 {
            let message = ascii("\(number)")
            let signature = try key.es256(message)
            if signature[0] == 0 || signature[32] == 0 {
                try verifier.verify(signature: signature.span, over: message.span)
                zeroR = zeroR || signature[0] == 0
                zeroS = zeroS || signature[32] == 0
            }
            number += 1
        }
        #expect(zeroR && zeroS)
    }

    @Test func pointsThatAreNoneAreRefused() throws {
        let point = try [4] + base64URL(Self.x) + base64URL(Self.y)
        var offCurve = point
        offCurve[64] ^= 1
        let compressed = [3] + point[1..<33]
        let hybrid = [7] + point[1...]
        for octets in [
            offCurve, compressed, hybrid, Array(point.dropLast()), point + [0], [], [0], [4] + Self.zero + Self.zero,
            [4] + Self.ones + Self.ones,
        ] {
            #expect(
                failure { () throws(SignatureError) in try P256PublicKey(uncompressedPoint: octets.span) }?.kind == .key
            )
        }
    }

    @Test func aFailureLeavesNothingBehind() throws {
        let (key, message, signature) = try Self.known()
        for _ in 0..<3 {
            #expect(
                failure { () throws(SignatureError) in
                    try key.verify(signature: (Self.order + Self.order).span, over: message.span)
                } != nil
            )
            try key.verify(signature: signature.span, over: message.span)
        }
    }
}
