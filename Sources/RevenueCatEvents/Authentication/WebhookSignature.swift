import Normalizer
import SignatureCore

/// The `X-RevenueCat-Webhook-Signature` header field: when a delivery was attempted, and codes over that and the body.
///
/// The time and the codes are made anew for every attempt, so the tolerance applies to `t` and never to a time in the
/// body.
struct WebhookSignature: Sendable {
    static let headerName = "X-RevenueCat-Webhook-Signature"

    private let signature: TimestampedSignature

    /// How many codes could match at all.
    var codeCount: Int { signature.codes.count }

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
        do throws(SignatureError) {
            signature = try TimestampedSignature(
                fields: values,
                maximumBytes: Limits.headerBytes,
                maximumSignatures: Limits.headerSignatures
            )
        } catch {
            throw DeliveryError(.malformed, "header \(Self.headerName) \(error.message)", underlying: error)
        }
    }

    /// - Throws: `stale` when the signed time lies further than `tolerance` before or after the time of receipt.
    func checkTime(receivedAt milliseconds: Int64, tolerance: Int64) throws(DeliveryError) {
        let (signed, overflows) = signature.timestamp.multipliedReportingOverflow(by: 1000)
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
    func signer(of body: Span<UInt8>, among keys: [HMACSHA256]) throws(DeliveryError) -> Int? {
        do throws(SignatureError) {
            return try signature.signer(of: body, among: keys)
        } catch {
            throw DeliveryError(.unavailable, "HMAC-SHA-256 not computed", underlying: error)
        }
    }
}
