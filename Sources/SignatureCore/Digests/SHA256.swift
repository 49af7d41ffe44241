import CLifecycleOpenSSL

/// SHA-256 (FIPS 180-4).
///
/// It cannot fail, so what is named by a digest always has a name: libcrypto computes it on the stack, whatever its
/// providers and its memory are. A signature that libcrypto cannot check ends in a ``SignatureError``.
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
