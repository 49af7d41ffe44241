import CLifecycleOpenSSL

/// Reads private keys as the stores hand them out: PKCS #8 in PEM, not encrypted (RFC 5208, RFC 7468 §10).
enum PrivateKeyInfo {
    /// - Throws: `key` unless the text is one such key.
    static func key(pem: Span<UInt8>) throws(SignatureError) -> Owned<KeyObject> {
        var blocks: [[UInt8]]
        do throws(SignatureError) {
            blocks = try PEM.blocks(labelled: "PRIVATE KEY", in: pem)
        } catch {
            throw SignatureError(.key, error.message, openSSL: error.openSSL)
        }
        defer { for index in blocks.indices { cleanse(&blocks[index]) } }
        guard blocks.count == 1 else { throw SignatureError(.key, "\(blocks.count) private keys, not 1") }
        return try key(pkcs8: blocks[0])
    }

    private static func key(pkcs8 der: [UInt8]) throws(SignatureError) -> Owned<KeyObject> {
        let info: Owned<PrivateKeyInfoObject> = try unsafe decoded(der.span, as: "a private key", orThrow: .key) {
            unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
        }
        return try unsafe Owned<KeyObject>(
            EVP_PKCS82PKEY(info.pointer),
            orThrow: .key,
            "private key of an unknown kind"
        )
    }

    private static func cleanse(_ secret: inout [UInt8]) {
        var span = secret.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}

extension Owned where Object == KeyObject {
    /// A signature over the SHA-256 of the message, with the default padding of the key's type.
    ///
    /// - Parameter library: the libcrypto context that the key was made in; nil for the default one.
    package func signature(
        over message: Span<UInt8>,
        in library: OpaquePointer? = nil
    ) throws(SignatureError) -> [UInt8] {
        let context = try unsafe Owned<DigestContextObject>(EVP_MD_CTX_new(), "no digest context")
        guard unsafe EVP_DigestSignInit_ex(context.pointer, nil, "SHA256", library, nil, pointer, nil) == 1 else {
            throw .openSSL(.key, "key does not sign over SHA-256")
        }
        var signature = [UInt8](repeating: 0, count: Int(max(unsafe EVP_PKEY_get_size(pointer), 0)))
        var written = signature.count
        var span = signature.mutableSpan
        let signed = unsafe message.withUnsafeBufferPointer { message in
            unsafe span.withUnsafeMutableBufferPointer { buffer in
                unsafe EVP_DigestSign(
                    context.pointer,
                    buffer.baseAddress,
                    &written,
                    message.baseAddress,
                    message.count
                )
            }
        }
        guard signed == 1, written <= signature.count else { throw .openSSL(.internalFailure, "nothing signed") }
        signature.removeLast(signature.count - written)
        return signature
    }

    /// True if this is an EC key on the curve with this name.
    func isOnCurve(_ name: String) -> Bool {
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else { return false }
        var octets = [CChar](repeating: 0, count: 64)
        var span = octets.mutableSpan
        let pointer = unsafe self.pointer
        let found = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_PKEY_get_group_name(pointer, buffer.baseAddress, buffer.count, nil)
        }
        guard found == 1 else {
            ERR_clear_error()
            return false
        }
        let letters = octets.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: letters, as: UTF8.self) == name
    }
}

/// A private key on P-256 that makes ES256 signatures, as the App Store Connect API wants them.
package final class P256PrivateKey: Sendable {
    private let key: Owned<KeyObject>

    /// - Throws: `key` unless the text is one unencrypted PKCS #8 key on P-256.
    package init(pem: Span<UInt8>) throws(SignatureError) {
        let key = try PrivateKeyInfo.key(pem: pem)
        guard key.isOnCurve("prime256v1") else { throw SignatureError(.key, "private key is not on P-256") }
        self.key = key
    }

    /// r‖s over the SHA-256 of the message (RFC 7518 §3.4); never the same twice.
    package func signature(over message: Span<UInt8>) throws(SignatureError) -> [UInt8] {
        try unsafe ECDSASignature.joined(der: key.signature(over: message))
    }
}

/// A private RSA key that makes RS256 signatures, as Google's service accounts hold it.
package final class RSAPrivateKey: Sendable {
    private let key: Owned<KeyObject>

    /// - Throws: `key` unless the text is one unencrypted PKCS #8 key for RSA of 2048 to 8192 bits.
    package init(pem: Span<UInt8>) throws(SignatureError) {
        let key = try PrivateKeyInfo.key(pem: pem)
        guard unsafe EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA else {
            throw SignatureError(.key, "private key is not an RSA key")
        }
        let bits = unsafe EVP_PKEY_get_bits(key.pointer)
        guard 2048...8192 ~= bits else { throw SignatureError(.key, "RSA key of \(bits) bits, not 2048 to 8192") }
        self.key = key
    }

    /// A PKCS #1 v1.5 signature (RFC 8017 §8.2) over the SHA-256 of the message.
    package func signature(over message: Span<UInt8>) throws(SignatureError) -> [UInt8] {
        try unsafe key.signature(over: message)
    }
}
