import CLifecycleOpenSSL

/// True if both hold the same octets, in a time that depends on the length alone; unequal lengths are unequal.
package func constantTimeEquals(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    guard left.count > 0 else { return true }
    return unsafe left.withUnsafeBufferPointer { left in
        unsafe right.withUnsafeBufferPointer { right in
            unsafe CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}
