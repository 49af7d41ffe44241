/// A webhook signature over a time and a body, as Stripe and RevenueCat send it in a header field.
///
///     field = part *( "," part )
///     part  = "t=" seconds / "v1=" 64HEXDIG / other
///
/// White space around names and values is passed over, and so are other parts: nobody can talk us into another scheme.
package struct TimestampedSignature: Sendable {
    /// Seconds since 1970.
    package let timestamp: Int64
    /// The `v1` codes that have the form of one: any other could not match.
    package let codes: [Digest]
    /// `timestamp` and a full stop, as they were written, which the codes cover in front of the body.
    private let prefix: [UInt8]

    /// Reads a header field, or several that stand for one (RFC 9110, section 5.3).
    ///
    /// - Throws: `limit` for more bytes or `v1` parts than allowed; `malformed` unless there is exactly one `t`, in
    ///   canonical decimal that fits 64 bits. The message reads on from the name of the header.
    package init(
        fields: [String],
        maximumBytes: Int,
        maximumSignatures: Int
    ) throws(SignatureError) {
        let length = fields.reduce(max(fields.count - 1, 0)) { $0 + $1.utf8.count }
        guard length <= maximumBytes else {
            throw SignatureError(.limit, "has \(length) bytes, at most \(maximumBytes)")
        }
        var timestamp: ArraySlice<UInt8>?
        var codes: [Digest] = []
        var signatures = 0
        let octets = Array(fields.joined(separator: ",").utf8)
        for part in octets.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = Self.trimmed(part[..<equals])
            let value = Self.trimmed(part[(equals + 1)...])
            if name.elementsEqual("t".utf8) {
                guard timestamp == nil else { throw SignatureError(.malformed, "has more than one timestamp") }
                timestamp = value
            } else if name.elementsEqual("v1".utf8) {
                signatures += 1
                guard signatures <= maximumSignatures else {
                    throw SignatureError(.limit, "has more than \(maximumSignatures) signatures")
                }
                if let code = Self.code(value) { codes.append(code) }
            }
        }
        guard let text = timestamp else { throw SignatureError(.malformed, "has no timestamp") }
        guard let seconds = Self.canonicalDecimal(text) else {
            throw SignatureError(
                .malformed,
                "has a timestamp of \(text.count) bytes that is no canonical decimal number"
            )
        }
        self.timestamp = seconds
        prefix = text + [UInt8(ascii: ".")]
        self.codes = codes
    }

    /// Which key made one of the codes over timestamp and body; the first such, after looking at them all.
    ///
    /// - Throws: `internalFailure` where libcrypto fails, for want of memory.
    package func signer(of body: Span<UInt8>, among keys: [HMACSHA256]) throws(SignatureError) -> Int? {
        var signer: Int?
        for (index, key) in keys.enumerated() {
            let expected = try key.authenticationCode(over: prefix.span, body)
            for code in codes where code == expected {
                signer = signer ?? index
            }
        }
        return signer
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = text.firstIndex(where: { !isBlank($0) }),
            let last = text.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return text[first...last]
    }

    /// Digits alone and no leading zero: one number has one text.
    private static func canonicalDecimal(_ text: ArraySlice<UInt8>) -> Int64? {
        guard let first = text.first, text.count == 1 || first != UInt8(ascii: "0") else { return nil }
        var value: Int64 = 0
        for octet in text {
            guard case 0x30...0x39 = octet else { return nil }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = product.addingReportingOverflow(Int64(octet &- 0x30))
            guard !overflows, !exceeds else { return nil }
            value = sum
        }
        return value
    }

    /// Sixty-four lower-case hexadecimal digits.
    private static func code(_ text: ArraySlice<UInt8>) -> Digest? {
        guard text.count == 64 else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(32)
        var high: UInt8?
        for character in text {
            let digit: UInt8
            switch character {
            case 0x30...0x39: digit = character &- 0x30
            case 0x61...0x66: digit = character &- 0x61 &+ 10
            default: return nil
            }
            if let upper = high {
                octets.append(upper &<< 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return Digest(octets.span)
    }
}
