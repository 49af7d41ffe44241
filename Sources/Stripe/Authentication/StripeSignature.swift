import Normalizer
import SignatureCore

/// The `Stripe-Signature` header field: when a delivery was attempted, and one code for each secret that is alive.
struct StripeSignature: Sendable {
    static let headerName = "Stripe-Signature"

    private let signature: TimestampedSignature

    /// Seconds since 1970.
    var timestamp: Int64 { signature.timestamp }
    /// How many codes could match at all.
    var codeCount: Int { signature.codes.count }

    /// Reads what came under the header's name.
    ///
    /// - Throws: `unauthenticated` without the header; `malformed` if it came more than once, for more than 8 KiB, more
    ///   than sixteen `v1`, and unless there is exactly one `t` in canonical decimal that fits 64 bits.
    init(_ headers: Delivery.Headers) throws(DeliveryError) {
        let values = headers.values(Self.headerName)
        guard !values.isEmpty else {
            throw DeliveryError(.unauthenticated, "header \(Self.headerName) is absent")
        }
        guard values.count == 1 else {
            throw DeliveryError(.malformed, "header \(Self.headerName) came \(values.count) times")
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
