import CLifecycleOpenSSL

/// An RSA public key that verifies RS256 signatures (RFC 7518 §3.3), from any thread.
package final class RSAPublicKey: Sendable {
    private let verification: VerificationKey
    private let modulusOctets: Int

    /// The key with these big-endian integers, as a JWK gives them (RFC 7518 §6.3.1).
    ///
    /// - Throws: `key` unless the modulus is odd, without a leading zero octet and of 2048 to 8192 bits, and the
    ///   exponent is odd, at least 3 and of at most 64 bits.
    package init(modulus: Span<UInt8>, exponent: Span<UInt8>) throws(SignatureError) {
        guard modulus.count <= 1024, modulus.count >= 256, let bits = modulus.bitCount, bits >= 2048 else {
            throw SignatureError(.key, "RSA modulus of \(modulus.count) octets is not 2048 to 8192 bits")
        }
        guard modulus[modulus.count - 1] & 1 == 1 else { throw SignatureError(.key, "RSA modulus is even") }
        guard exponent.count <= 8, exponent.bitCount != nil, exponent[exponent.count - 1] & 1 == 1,
            exponent.count > 1 || exponent[0] >= 3
        else {
            throw SignatureError(.key, "RSA exponent of \(exponent.count) octets is not an odd number from 3 on")
        }
        let parameters = Parameters([
            OSSL_PKEY_PARAM_RSA_N: .bigNumber(modulus.array),
            OSSL_PKEY_PARAM_RSA_E: .bigNumber(exponent.array),
        ])
        modulusOctets = modulus.count
        verification = try VerificationKey(.publicKey(algorithm: "RSA", parameters, orThrow: "RSA key not accepted"))
    }

    /// Verifies a PKCS #1 v1.5 signature (RFC 8017 §8.2) over the SHA-256 of the message.
    ///
    /// - Throws: `signature` unless it has the length of the modulus and holds.
    package func verify(signature: Span<UInt8>, over message: Span<UInt8>) throws(SignatureError) {
        guard signature.count == modulusOctets else {
            throw SignatureError(.signature, "RS256 signature of \(signature.count) octets, not \(modulusOctets)")
        }
        try verification.verify(signature: signature, over: message)
    }
}

extension Span where Element == UInt8 {
    /// The bits of a big-endian integer; nil for none, zero, and for a leading zero octet.
    fileprivate var bitCount: Int? {
        guard count > 0, self[0] != 0 else { return nil }
        return count * 8 - self[0].leadingZeroBitCount
    }
}
