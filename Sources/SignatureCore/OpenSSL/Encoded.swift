/// The object that a `d2i` function reads from octets.
///
/// - Throws: an error of the given kind unless the octets are one object and nothing else.
func decoded<Object>(
    _ octets: Span<UInt8>,
    as name: String,
    orThrow kind: SignatureError.Kind,
    by read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
) throws(SignatureError) -> Owned<Object> {
    var consumed = 0
    let parsed = unsafe octets.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        guard let start = buffer.baseAddress else { return nil }
        var next: UnsafePointer<UInt8>? = unsafe start
        let parsed = unsafe read(&next, buffer.count)
        if let next = unsafe next { consumed = unsafe next - start }
        return unsafe parsed
    }
    let object = try unsafe Owned<Object>(parsed, orThrow: kind, "\(octets.count) octets are not \(name)")
    guard consumed == octets.count else {
        throw SignatureError(kind, "\(octets.count - consumed) octets after \(name)")
    }
    return object
}

/// The output of an `i2d` function, which is asked for its length first.
package func encoded(
    _ name: String,
    orThrow kind: SignatureError.Kind = .internalFailure,
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
) throws(SignatureError) -> [UInt8] {
    let count = write(nil)
    guard count > 0 else { throw .openSSL(kind, "\(name) not encoded") }
    var der = [UInt8](repeating: 0, count: Int(count))
    var span = der.mutableSpan
    let written = unsafe span.withUnsafeMutableBufferPointer { buffer in
        var next = buffer.baseAddress
        return unsafe write(&next)
    }
    guard written == count else { throw .openSSL(kind, "\(name) not encoded") }
    return der
}
