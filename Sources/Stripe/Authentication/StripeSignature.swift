import Normalizer
import SignatureCore

/// The `Stripe-Signature` header field: when a delivery was attempted, and one code for each secret that is alive.
///
/// Its form is `t=<seconds>,v1=<hex>[,v1=<hex>…]`. Schemes other than `v1` are passed over, so that nobody can talk
/// us into a weaker one.
struct StripeSignature: Sendable {
    static let headerName = "Stripe-Signature"

    /// Seconds since 1970.
    let timestamp: Int64
    /// `timestamp` as it was written, which is what the codes cover.
    let timestampText: [UInt8]
    /// The `v1` codes that have the form of one: any other could not match.
    let codes: [Digest]

    /// Reads a header value.
    ///
    /// - Throws: `malformed` for a value longer than 8 KiB, more than sixteen `v1`, and unless there is exactly one `t`
    ///   in canonical decimal that fits 64 bits.
    init(_ header: String) throws(DeliveryError) {
        let octets = header.utf8
        guard octets.count <= Limits.headerBytes else {
            throw DeliveryError(
                .malformed,
                "header \(Self.headerName) has \(octets.count) bytes, at most \(Limits.headerBytes)"
            )
        }
        var timestamp: ArraySlice<UInt8>?
        var codes: [Digest] = []
        var signatures = 0
        for element in Array(octets).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let equals = element.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = Self.trimmed(element[..<equals])
            let value = Self.trimmed(element[(equals + 1)...])
            if key.elementsEqual("t".utf8) {
                guard timestamp == nil else {
                    throw DeliveryError(.malformed, "header \(Self.headerName) has more than one timestamp")
                }
                timestamp = value
            } else if key.elementsEqual("v1".utf8) {
                signatures += 1
                guard signatures <= Limits.headerSignatures else {
                    throw DeliveryError(
                        .malformed,
                        "header \(Self.headerName) has more than \(Limits.headerSignatures) signatures"
                    )
                }
                if let code = Self.code(value) { codes.append(code) }
            }
        }
        guard let text = timestamp else {
            throw DeliveryError(.malformed, "header \(Self.headerName) has no timestamp")
        }
        guard let seconds = Self.canonicalDecimal(text) else {
            throw DeliveryError(
                .malformed,
                "timestamp of header \(Self.headerName), \(text.count) bytes long, is not a canonical decimal number"
            )
        }
        self.timestamp = seconds
        self.timestampText = Array(text)
        self.codes = codes
    }

    /// Which key made one of the codes over timestamp and body; the first such, after looking at them all.
    ///
    /// - Throws: `unavailable` where libcrypto fails, for want of memory.
    func signer(of body: Span<UInt8>, among keys: [HMACSHA256]) throws(DeliveryError) -> Int? {
        let prefix = timestampText + [UInt8(ascii: ".")]
        var signer: Int?
        for (index, key) in keys.enumerated() {
            let expected: Digest
            do throws(SignatureError) {
                expected = try key.authenticationCode(over: prefix.span, body)
            } catch {
                throw DeliveryError(.unavailable, "HMAC-SHA-256 not computed", underlying: error)
            }
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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        var high: UInt8?
        for octet in text {
            let digit: UInt8
            switch octet {
            case 0x30...0x39: digit = octet &- 0x30
            case 0x61...0x66: digit = octet &- 0x61 &+ 10
            default: return nil
            }
            if let upper = high {
                bytes.append(upper &<< 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return Digest(bytes.span)
    }
}
