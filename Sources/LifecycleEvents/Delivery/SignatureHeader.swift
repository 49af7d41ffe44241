import SignatureCore

/// A header field with a time and signatures over that and the body, as Stripe and RevenueCat send it.
package struct SignatureHeader: Sendable {
    private let name: String
    private let signature: TimestampedSignature

    /// Seconds since 1970. Not proven before ``prove(_:with:)`` returns.
    package var timestamp: Int64 { signature.timestamp }

    /// Reads the header under a name. Several fields are read as if a proxy had joined them (RFC 9110, section 5.3).
    ///
    /// - Throws: `unauthenticated` without the header; `malformed` for more fields than allowed, more than 8 KiB, more
    ///   than sixteen `v1`, and unless there is exactly one `t` in canonical decimal that fits 64 bits.
    package init(
        _ name: String,
        in headers: Delivery.Headers,
        maximumFields: Int = .max
    ) throws(DeliveryError) {
        self.name = name
        let values = headers.values(name)
        guard !values.isEmpty else { throw DeliveryError(.unauthenticated, "header \(name) is absent") }
        guard values.count <= maximumFields else {
            throw DeliveryError(.malformed, "header \(name) came \(values.count) times")
        }
        do throws(SignatureError) {
            signature = try TimestampedSignature(
                fields: values,
                maximumBytes: Limits.headerBytes,
                maximumSignatures: Limits.headerSignatures
            )
        } catch {
            throw DeliveryError(.malformed, "header \(name) \(error.message)", underlying: error)
        }
    }

    /// Proves that one of the secrets made one of the signatures, and says which: the first such, after looking at them all.
    ///
    /// - Throws: `unauthenticated` if none did; `unavailable` if libcrypto fails, for want of memory.
    package func prove(_ body: Span<UInt8>, with secrets: SigningSecrets) throws(DeliveryError) -> Origin.Evidence {
        let signer: Int?
        do throws(SignatureError) {
            signer = try signature.signer(of: body, among: secrets.keys)
        } catch {
            throw DeliveryError(.unavailable, "HMAC-SHA-256 not computed", underlying: error)
        }
        guard let signer else {
            throw DeliveryError(
                .unauthenticated,
                signature.codes.isEmpty
                    ? "header \(name) has no v1 signature"
                    : "header \(name): none of \(signature.codes.count) signatures was made over this body with one of "
                        + "\(secrets.keys.count) secrets: the secret is another endpoint's, or the body is not as received"
            )
        }
        return secrets.evidence[signer]
    }
}
