import Normalizer
import SignatureCore

/// The `X-RevenueCat-Webhook-Signature` header field: when a delivery was attempted, and codes over that and the body.
///
/// Its form is `t=<seconds>,v1=<hex>[,v1=<hex>…]`; other parts are passed over. The time and the codes are made anew for
/// every attempt, so the tolerance applies to `t` and never to a time in the body.
struct WebhookSignature: Sendable {
    static let headerName = "X-RevenueCat-Webhook-Signature"

    /// Seconds since 1970.
    let timestamp: Int64
    /// `timestamp` as it was written, which is what the codes cover.
    private let timestampText: [UInt8]
    /// The `v1` codes that have the form of one: any other could not match.
    let codes: [Digest]

    /// Reads what came under the header's name.
    ///
    /// A proxy may have joined several fields into one; several are read as if one had (RFC 9110, section 5.3).
    ///
    /// - Throws: `unauthenticated` without the header; `malformed` for more than 8 KiB, more than sixteen `v1`, and
    ///   unless there is exactly one `t` in canonical decimal that fits 64 bits.
    init(_ headers: Delivery.Headers) throws(DeliveryError) {
        let values = headers.values(Self.headerName)
        guard !values.isEmpty else {
            throw DeliveryError(.unauthenticated, "header \(Self.headerName) is absent")
        }
        let length = values.reduce(values.count - 1) { $0 + $1.utf8.count }
        guard length <= Limits.headerBytes else {
            throw DeliveryError(
                .malformed,
                "header \(Self.headerName) has \(length) bytes, at most \(Limits.headerBytes)"
            )
        }
        var timestamp: ArraySlice<UInt8>?
        var codes: [Digest] = []
        var signatures = 0
        let octets = Array(values.joined(separator: ",").utf8)
        for part in octets.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = Self.trimmed(part[..<equals])
            let value = Self.trimmed(part[(equals + 1)...])
            if name.elementsEqual("t".utf8) {
                guard timestamp == nil else {
                    throw DeliveryError(.malformed, "header \(Self.headerName) has more than one timestamp")
                }
                timestamp = value
            } else if name.elementsEqual("v1".utf8) {
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
        timestampText = Array(text)
        self.codes = codes
    }

    /// - Throws: `stale` when `timestamp` lies further than `tolerance` before or after the time of receipt.
    func checkTime(receivedAt milliseconds: Int64, tolerance: Int64) throws(DeliveryError) {
        let (signed, overflows) = timestamp.multipliedReportingOverflow(by: 1000)
        let (age, exceeds) = milliseconds.subtractingReportingOverflow(signed)
        guard !overflows, !exceeds, age.magnitude <= tolerance.magnitude else {
            throw DeliveryError(
                .stale,
                "timestamp of header \(Self.headerName) is more than \(tolerance / 1000) s from the time of receipt"
            )
        }
    }

    /// Which key made one of the codes over timestamp and body; the first such, after looking at them all.
    ///
    /// - Throws: `unavailable` where libcrypto fails, for want of memory.
    func signer(of body: [UInt8], among keys: [HMACSHA256]) throws(DeliveryError) -> Int? {
        let prefix = timestampText + [UInt8(ascii: ".")]
        var signer: Int?
        for (index, key) in keys.enumerated() {
            let expected: Digest
            do throws(SignatureError) {
                expected = try key.authenticationCode(over: prefix.span, body.span)
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
