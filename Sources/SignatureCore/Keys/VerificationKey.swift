import CLifecycleOpenSSL

/// A public key together with a verification that was set up once.
///
/// Each call copies the set-up, since setting up again makes libcrypto look its algorithms up under locks that
/// all threads share.
struct VerificationKey: ~Copyable, Sendable {
    let key: Owned<KeyObject>
    private let template: Owned<DigestContextObject>

    /// SHA-256 with the default padding of the key's type: none for EC, PKCS #1 v1.5 for RSA.
    init(_ key: consuming Owned<KeyObject>) throws(SignatureError) {
        let template = try unsafe Owned<DigestContextObject>(EVP_MD_CTX_new(), "no digest context")
        guard
            unsafe EVP_DigestVerifyInit_ex(template.pointer, nil, "SHA256", nil, nil, key.pointer, nil) == 1
        else {
            throw .openSSL(.key, "key does not verify signatures with SHA-256")
        }
        self.key = key
        self.template = template
    }

    func verify(signature: Span<UInt8>, over message: Span<UInt8>) throws(SignatureError) {
        let context = try unsafe Owned<DigestContextObject>(EVP_MD_CTX_new(), "no digest context")
        guard unsafe EVP_MD_CTX_copy_ex(context.pointer, template.pointer) == 1 else {
            throw .openSSL(.internalFailure, "verification not copied")
        }
        let result = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestVerify(
                    context.pointer,
                    signature.baseAddress,
                    signature.count,
                    message.baseAddress,
                    message.count
                )
            }
        }
        guard result == 1 else { throw .openSSL(.signature, "signature does not hold") }
    }
}
