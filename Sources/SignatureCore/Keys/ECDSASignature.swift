import CLifecycleOpenSSL

/// An ES256 signature as JWS writes it, r‖s with 32 octets each (RFC 7518 §3.4), and as libcrypto reads it.
package enum ECDSASignature {
    package static let octetCount = 64
    /// A sequence of two integers, each with a tag, a length and at most one octet for its sign.
    private static let maximumDEROctetCount = 2 + 2 * (2 + 1 + 32)

    /// The DER form (RFC 3279 §2.2.3), converted by value, so that leading zero octets need no rule.
    ///
    /// - Throws: `signature` unless there are exactly 64 octets.
    package static func der(joined: Span<UInt8>) throws(SignatureError) -> [UInt8] {
        guard joined.count == octetCount else {
            throw SignatureError(.signature, "ES256 signature of \(joined.count) octets, not \(octetCount)")
        }
        let r = try bigNumber(joined.extracting(..<32))
        let s = try bigNumber(joined.extracting(32...))
        let signature = try unsafe Owned<ECDSASignatureObject>(ECDSA_SIG_new(), "no ECDSA signature")
        // Both are borrowed here until set0 reports that it took them over.
        guard unsafe ECDSA_SIG_set0(signature.pointer, r.pointer, s.pointer) == 1 else {
            throw .openSSL(.internalFailure, "ECDSA signature not set")
        }
        _ = unsafe r.relinquish()
        _ = unsafe s.relinquish()
        let der = unsafe [UInt8](unsafeUninitializedCapacity: maximumDEROctetCount) { buffer, count in
            var next = buffer.baseAddress
            // Two numbers of 32 octets fit, whatever they are, so their length is not asked for first.
            count = Int(max(unsafe i2d_ECDSA_SIG(signature.pointer, &next), 0))
        }
        guard !der.isEmpty else { throw .openSSL(.internalFailure, "ECDSA signature not encoded") }
        return der
    }

    /// r‖s of a DER signature that libcrypto made.
    package static func joined(der: [UInt8]) throws(SignatureError) -> [UInt8] {
        let signature: Owned<ECDSASignatureObject> = try unsafe decoded(
            der.span,
            as: "an ECDSA signature",
            orThrow: .internalFailure
        ) { unsafe d2i_ECDSA_SIG(nil, $0, $1) }
        var joined = [UInt8](repeating: 0, count: octetCount)
        var output = joined.mutableSpan
        let written = unsafe output.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return false }
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature.pointer), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature.pointer), start + 32, 32) == 32
        }
        guard written else { throw .openSSL(.internalFailure, "ECDSA signature not written") }
        return joined
    }

    private static func bigNumber(_ octets: Span<UInt8>) throws(SignatureError) -> Owned<BigNumberObject> {
        let number = unsafe octets.withUnsafeBufferPointer { buffer in
            unsafe BN_bin2bn(buffer.baseAddress, CInt(buffer.count), nil)
        }
        return try unsafe Owned(number, "no big number")
    }
}
