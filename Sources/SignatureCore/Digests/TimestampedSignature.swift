/// A webhook signature over a time and a body, as Stripe and RevenueCat send it in a header field.
///
///     field = part *( "," part )
///     part  = "t=" seconds / "v1=" 64HEXDIG / other
///
/// White space around names and values is skipped, and so are other parts: a sender cannot choose another scheme.
package struct TimestampedSignature: Sendable {
    /// Seconds since 1970.
    package let timestamp: Int64
    /// The `v1` codes that have the form of one: any other could not match.
    package let codes: [Digest]
    private let field: String
    /// Where in the field `timestamp` is written: the codes cover these octets and a full stop in front of the body.
    private let digits: Range<Int>
    private static let fullStop = [UInt8(ascii: ".")]

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
        var timestamp: Range<Int>?
        var codes: [Digest] = []
        var signatures = 0
        let field = fields.count == 1 ? fields.first ?? "" : fields.joined(separator: ",")
        let octets = field.utf8Span.span
        var start = 0
        while start <= octets.count {
            let comma = octets.extracting(start..<octets.count).firstIndex(of: UInt8(ascii: ","))
            let end = comma.map { start + $0 } ?? octets.count
            defer { start = end + 1 }
            guard let distance = octets.extracting(start..<end).firstIndex(of: UInt8(ascii: "=")) else { continue }
            let equals = start + distance
            let name = Self.trimmed(octets, start..<equals)
            let value = Self.trimmed(octets, equals + 1..<end)
            if name.count == 1, octets[name.lowerBound] == UInt8(ascii: "t") {
                guard timestamp == nil else { throw SignatureError(.malformed, "has more than one timestamp") }
                timestamp = value
            } else if name.count == 2, octets[name.lowerBound] == UInt8(ascii: "v"),
                octets[name.lowerBound + 1] == UInt8(ascii: "1")
            {
                signatures += 1
                guard signatures <= maximumSignatures else {
                    throw SignatureError(.limit, "has more than \(maximumSignatures) signatures")
                }
                if let code = Digest(hexadecimal: octets.extracting(value)) { codes.append(code) }
            }
        }
        guard let text = timestamp else { throw SignatureError(.malformed, "has no timestamp") }
        guard let seconds = Self.canonicalDecimal(octets.extracting(text)) else {
            throw SignatureError(
                .malformed,
                "has a timestamp of \(text.count) bytes that is not a decimal number without leading zeros"
            )
        }
        self.timestamp = seconds
        self.field = field
        digits = text
        self.codes = codes
    }

    /// Which key made one of the codes over timestamp and body; the first such, after looking at them all.
    ///
    /// - Throws: `internalFailure` if libcrypto fails, for want of memory.
    package func signer(of body: Span<UInt8>, among keys: [HMACSHA256]) throws(SignatureError) -> Int? {
        let timestamp = field.utf8Span.span.extracting(digits)
        var signer: Int?
        for (index, key) in keys.enumerated() {
            let expected = try key.authenticationCode(over: timestamp, Self.fullStop.span, body)
            for code in codes where code == expected {
                signer = signer ?? index
            }
        }
        return signer
    }

    private static func trimmed(_ octets: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, octets[start] == 0x20 || octets[start] == 0x09 { start += 1 }
        while start < end, octets[end - 1] == 0x20 || octets[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }

    /// Digits alone and no leading zero: one number has one text.
    private static func canonicalDecimal(_ text: Span<UInt8>) -> Int64? {
        guard text.count > 0, text.count == 1 || text[0] != UInt8(ascii: "0") else { return nil }
        var value: Int64 = 0
        for index in text.indices {
            let octet = text[index]
            guard case 0x30...0x39 = octet else { return nil }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = product.addingReportingOverflow(Int64(octet &- 0x30))
            guard !overflows, !exceeds else { return nil }
            value = sum
        }
        return value
    }
}
