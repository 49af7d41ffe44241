import CLifecycleOpenSSL

/// An ASN.1 object identifier, compared by its exact encoding.
package final class ObjectIdentifier: Sendable {
    package let dotted: String
    let object: Owned<ObjectIdentifierObject>

    /// - Throws: `malformed` unless the text is numbers with dots between them; names are not looked up.
    package init(_ dotted: String) throws(SignatureError) {
        self.dotted = dotted
        object = try unsafe Owned(
            OBJ_txt2obj(dotted, 1),
            orThrow: .malformed,
            "object identifier of \(dotted.utf8.count) characters"
        )
    }
}
