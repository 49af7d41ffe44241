import CLifecycleOpenSSL

/// A public key on the curve P-256 that verifies ES256 signatures (RFC 7518 §3.4), from any thread.
package final class P256PublicKey: Sendable {
    private let verification: VerificationKey

    /// - Throws: `key` unless the octets are an uncompressed point of the curve (SEC 1 §2.3.4).
    package init(uncompressedPoint point: Span<UInt8>) throws(SignatureError) {
        guard point.count == 65, point[0] == 4 else {
            throw SignatureError(.key, "P-256 key of \(point.count) octets is not an uncompressed point")
        }
        // The group is named by us, never taken from a certificate: no parameters can be smuggled in.
        let parameters = Parameters([
            OSSL_PKEY_PARAM_GROUP_NAME: .text("prime256v1"),
            OSSL_PKEY_PARAM_PUB_KEY: .octets(point.array),
        ])
        verification = try VerificationKey(
            .publicKey(algorithm: "EC", parameters, orThrow: "octets are not a point of P-256")
        )
    }

    /// Verifies r‖s over the SHA-256 of the message; a high s is as good as a low one.
    ///
    /// - Throws: `signature` unless it holds.
    package func verify(signature: Span<UInt8>, over message: Span<UInt8>) throws(SignatureError) {
        let der = try ECDSASignature.der(joined: signature)
        try verification.verify(signature: der.span, over: message)
    }
}

extension Owned where Object == KeyObject {
    /// A public key from its parts.
    static func publicKey(
        algorithm: String,
        _ parameters: borrowing Parameters,
        orThrow message: String
    ) throws(SignatureError) -> Owned<KeyObject> {
        let context = try unsafe Owned<KeyContextObject>(
            EVP_PKEY_CTX_new_from_name(nil, algorithm, nil),
            "libcrypto offers no \(algorithm)"
        )
        guard unsafe EVP_PKEY_fromdata_init(context.pointer) == 1 else {
            throw .openSSL(.internalFailure, "\(algorithm) key import not started")
        }
        var key: OpaquePointer? = nil
        let imported = unsafe EVP_PKEY_fromdata(
            context.pointer,
            &key,
            lifecycle_EVP_PKEY_PUBLIC_KEY,
            parameters.pointer
        )
        guard imported == 1 else { throw .openSSL(.key, message) }
        return try unsafe Owned(key, orThrow: .key, message)
    }
}
