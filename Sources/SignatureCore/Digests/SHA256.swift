import CLifecycleOpenSSL

/// SHA-256 (FIPS 180-4).
///
/// It cannot fail, so every value can be named by its digest: libcrypto computes it on the stack, without providers or
/// memory. A signature that libcrypto cannot check ends in a ``SignatureError``.
package enum SHA256 {
    /// The digest of octets that are at hand in one piece.
    package static func hash(_ bytes: Span<UInt8>) -> Digest {
        var octets = InlineArray<32, UInt8>(repeating: 0)
        var span = octets.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe lifecycle_SHA256(bytes.baseAddress, bytes.count, buffer.baseAddress)
            }
        }
        return Digest(octets)
    }
}
