/// The output of an `i2d` function, which is asked for its length first.
package func encoded(
    _ name: String,
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt
) throws(SignatureError) -> [UInt8] {
    let count = write(nil)
    guard count > 0 else { throw .openSSL(.internalFailure, "\(name) not encoded") }
    var der = [UInt8](repeating: 0, count: Int(count))
    var span = der.mutableSpan
    let written = unsafe span.withUnsafeMutableBufferPointer { buffer in
        var next = buffer.baseAddress
        return unsafe write(&next)
    }
    guard written == count else { throw .openSSL(.internalFailure, "\(name) not encoded") }
    return der
}
