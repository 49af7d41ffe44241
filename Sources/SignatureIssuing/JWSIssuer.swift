package import SignatureCore
import WireJSON

/// Writes JWS in compact serialisation (RFC 7515 §7.1).
package enum JWSIssuer {
    /// A protected header of `alg` and the given members, in this order: `alg`, `kid`, `typ`, `x5c`.
    ///
    /// - Parameter certificates: DER, in the order of the header.
    package static func header(
        algorithm: String,
        keyID: String? = nil,
        type: String? = nil,
        certificates: [[UInt8]] = []
    ) -> [UInt8] {
        var members = JSONMembers([("alg", .string(algorithm))])
        members.add("kid", keyID)
        members.add("typ", type)
        if !certificates.isEmpty {
            let texts = certificates.map { JSONText.string(String(decoding: Base64.encode($0.span), as: UTF8.self)) }
            members.append("x5c", .array(texts))
        }
        return members.bytes
    }

    /// An ES256 JWS.
    package static func es256(
        header: [UInt8],
        payload: [UInt8],
        key: SigningKey
    ) throws(SignatureError) -> [UInt8] {
        try compact(header: header, payload: payload) { (input) throws(SignatureError) in try key.es256(input) }
    }

    /// An RS256 JWS.
    package static func rs256(
        header: [UInt8],
        payload: [UInt8],
        key: SigningKey
    ) throws(SignatureError) -> [UInt8] {
        try compact(header: header, payload: payload) { (input) throws(SignatureError) in try key.rs256(input) }
    }

    /// A JWS whose signature octets are whatever `sign` makes of the signing input.
    package static func compact(
        header: [UInt8],
        payload: [UInt8],
        sign: ([UInt8]) throws(SignatureError) -> [UInt8]
    ) throws(SignatureError) -> [UInt8] {
        let input = Base64URL.encode(header.span) + [UInt8(ascii: ".")] + Base64URL.encode(payload.span)
        let signature = try sign(input)
        return input + [UInt8(ascii: ".")] + Base64URL.encode(signature.span)
    }
}
