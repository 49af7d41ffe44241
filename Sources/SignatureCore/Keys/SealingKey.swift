import CLifecycleOpenSSL

/// Encrypts and authenticates short values with AES-256-GCM (NIST SP 800-38D), under a nonce drawn for each.
package struct SealingKey: Sendable {
    private static let nonceLength = 12
    private static let tagLength = 16
    private let key: [UInt8]

    /// Derives the key from a secret of any length, for one purpose.
    ///
    /// - Throws: `key` for an empty secret.
    package init(_ secret: [UInt8], purpose: String) throws(SignatureError) {
        key = try HMACSHA256(key: secret.span).authenticationCode(over: Array(purpose.utf8).span).bytes
    }

    /// Seals a value for a place: it opens at no other.
    ///
    /// - Returns: the nonce, the encrypted value and the tag.
    package func seal(_ value: [UInt8], for place: String) throws(SignatureError) -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: Self.nonceLength)
        let drawn = unsafe nonce.withUnsafeMutableBufferPointer { buffer in
            unsafe RAND_bytes(buffer.baseAddress, CInt(Self.nonceLength))
        }
        guard drawn == 1 else { throw .openSSL(.internalFailure, "no nonce drawn") }
        let context = try context(nonce, encrypts: true)
        try update(context, place: Array(place.utf8))
        let sealed = try update(context, value)
        var rest = [UInt8](repeating: 0, count: Self.tagLength)
        var count: CInt = 0
        let finished = unsafe rest.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_CipherFinal_ex(context.pointer, buffer.baseAddress, &count)
        }
        guard finished == 1, count == 0 else { throw .openSSL(.internalFailure, "value not sealed") }
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        let tagged = unsafe tag.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_CIPHER_CTX_ctrl(
                context.pointer,
                EVP_CTRL_AEAD_GET_TAG,
                CInt(Self.tagLength),
                buffer.baseAddress
            )
        }
        guard tagged == 1 else { throw .openSSL(.internalFailure, "no tag") }
        return nonce + sealed + tag
    }

    /// Opens a sealed value.
    ///
    /// - Returns: nil if it was sealed under another key or for another place, or was changed.
    package func open(_ sealed: [UInt8], for place: String) throws(SignatureError) -> [UInt8]? {
        guard sealed.count >= Self.nonceLength + Self.tagLength else { return nil }
        let context = try context(Array(sealed.prefix(Self.nonceLength)), encrypts: false)
        try update(context, place: Array(place.utf8))
        let value = try update(context, Array(sealed.dropFirst(Self.nonceLength).dropLast(Self.tagLength)))
        var tag = Array(sealed.suffix(Self.tagLength))
        let expected = unsafe tag.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_CIPHER_CTX_ctrl(
                context.pointer,
                EVP_CTRL_AEAD_SET_TAG,
                CInt(Self.tagLength),
                buffer.baseAddress
            )
        }
        guard expected == 1 else { throw .openSSL(.internalFailure, "tag not set") }
        var rest = [UInt8](repeating: 0, count: Self.tagLength)
        var count: CInt = 0
        let opened = unsafe rest.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_CipherFinal_ex(context.pointer, buffer.baseAddress, &count)
        }
        // The only failure here is a tag that does not hold.
        guard opened == 1, count == 0 else {
            ERR_clear_error()
            return nil
        }
        return value
    }

    private func context(
        _ nonce: [UInt8],
        encrypts: Bool
    ) throws(SignatureError) -> Owned<CipherContextObject> {
        let context = try unsafe Owned<CipherContextObject>(EVP_CIPHER_CTX_new(), "no cipher context")
        let started = unsafe key.withUnsafeBufferPointer { key in
            unsafe nonce.withUnsafeBufferPointer { nonce in
                unsafe EVP_CipherInit_ex(
                    context.pointer,
                    EVP_aes_256_gcm(),
                    nil,
                    key.baseAddress,
                    nonce.baseAddress,
                    encrypts ? 1 : 0
                )
            }
        }
        guard started == 1 else { throw .openSSL(.internalFailure, "AES-256-GCM not started") }
        return context
    }

    private func update(
        _ context: borrowing Owned<CipherContextObject>,
        place: [UInt8]
    ) throws(SignatureError) {
        var count: CInt = 0
        let done = unsafe place.withUnsafeBufferPointer { place in
            unsafe EVP_CipherUpdate(context.pointer, nil, &count, place.baseAddress, CInt(clamping: place.count))
        }
        guard done == 1 else { throw .openSSL(.internalFailure, "place not authenticated") }
    }

    private func update(
        _ context: borrowing Owned<CipherContextObject>,
        _ value: [UInt8]
    ) throws(SignatureError) -> [UInt8] {
        guard let length = CInt(exactly: value.count) else { throw SignatureError(.limit, "value is too long to seal") }
        guard length > 0 else { return [] }
        var output = [UInt8](repeating: 0, count: value.count)
        var count: CInt = 0
        let done = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe value.withUnsafeBufferPointer { value in
                unsafe EVP_CipherUpdate(context.pointer, output.baseAddress, &count, value.baseAddress, length)
            }
        }
        guard done == 1, count == length else { throw .openSSL(.internalFailure, "value not processed") }
        return output
    }
}
