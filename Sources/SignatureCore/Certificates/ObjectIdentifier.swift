import CLifecycleOpenSSL

/// An ASN.1 object identifier, compared by its exact encoding.
package final class ObjectIdentifier: Sendable {
    package let dotted: String
    let object: Owned<ObjectIdentifierObject>

    /// - Throws: `malformed` unless the text is numbers with dots between them; names are not looked up.
    package init(_ dotted: String) throws(SignatureError) {
        let message = "object identifier of \(dotted.utf8.count) characters"
        let object = try unsafe Owned<ObjectIdentifierObject>(
            OBJ_txt2obj(dotted, 1),
            orThrow: .malformed,
            message
        )
        // libcrypto reads surplus dots as if they were not there.
        guard Self.text(of: object) == dotted else { throw SignatureError(.malformed, message) }
        self.dotted = dotted
        self.object = object
    }

    private static func text(of object: borrowing Owned<ObjectIdentifierObject>) -> String? {
        let pointer = unsafe object.pointer
        var letters = [CChar](repeating: 0, count: 256)
        var span = letters.mutableSpan
        let written = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe OBJ_obj2txt(buffer.baseAddress, CInt(buffer.count), pointer, 1)
        }
        guard written > 0, Int(written) < letters.count else { return nil }
        return String(decoding: letters.prefix(Int(written)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
