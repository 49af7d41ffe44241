package import SignatureCore

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
        var members = ["\"alg\":\(quoted(algorithm))"]
        if let keyID { members.append("\"kid\":\(quoted(keyID))") }
        if let type { members.append("\"typ\":\(quoted(type))") }
        if !certificates.isEmpty {
            let entries = certificates.map { "\"\(String(decoding: Base64.encode($0.span), as: UTF8.self))\"" }
            members.append("\"x5c\":[\(entries.joined(separator: ","))]")
        }
        return Array("{\(members.joined(separator: ","))}".utf8)
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

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
