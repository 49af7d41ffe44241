import CLifecycleOpenSSL

/// A C type of libcrypto, together with the function that frees it.
package protocol ForeignType {
    static func free(_ pointer: OpaquePointer)
}

/// A C type that libcrypto lets several threads read at once.
package protocol SharedForeignType: ForeignType {}

/// The one owner of a libcrypto object.
@safe
package struct Owned<Object: ForeignType>: ~Copyable {
    /// Valid as long as the owner lives; never stored elsewhere.
    package let pointer: OpaquePointer

    /// Takes over the result of a C constructor, whose failure value is `NULL`.
    package init(
        _ pointer: OpaquePointer?,
        orThrow kind: SignatureError.Kind = .internalFailure,
        _ message: @autoclosure () -> String
    ) throws(SignatureError) {
        guard let pointer = unsafe pointer else { throw .openSSL(kind, message()) }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe Object.free(pointer)
    }

    /// Hands the object to a C function that takes it over.
    package consuming func relinquish() -> OpaquePointer {
        let pointer = unsafe self.pointer
        discard self
        return unsafe pointer
    }
}

// Sound because a shared foreign type is only read after it was set up, and its reference count is atomic.
extension Owned: @unchecked Sendable where Object: SharedForeignType {}

package enum KeyObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe EVP_PKEY_free(pointer) }
}

package enum KeyContextObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe EVP_PKEY_CTX_free(pointer) }
}

// Shared only as a template that is copied from, which reads it.
package enum DigestContextObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe EVP_MD_CTX_free(pointer) }
}

package enum MACObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe EVP_MAC_free(pointer) }
}

// Shared only as a template that is duplicated, which reads it; any other is in one thread's hands at a time.
package enum MACContextObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe EVP_MAC_CTX_free(pointer) }
}

package enum ECDSASignatureObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe ECDSA_SIG_free(pointer) }
}

package enum BigNumberObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe BN_clear_free(pointer) }
}

package enum CertificateObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe X509_free(pointer) }
}

package enum CertificateStackObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe lifecycle_X509_stack_free(pointer) }
}

// A store locks itself.
package enum CertificateStoreObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe X509_STORE_free(pointer) }
}

package enum CertificateStoreContextObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe X509_STORE_CTX_free(pointer) }
}

package enum ObjectIdentifierObject: SharedForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe ASN1_OBJECT_free(pointer) }
}

package enum PrivateKeyInfoObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe PKCS8_PRIV_KEY_INFO_free(pointer) }
}

package enum BasicIOObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe BIO_free_all(pointer) }
}

package enum StatusRequestObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe OCSP_REQUEST_free(pointer) }
}

package enum StatusResponseObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe OCSP_RESPONSE_free(pointer) }
}

package enum StatusAnswerObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe OCSP_BASICRESP_free(pointer) }
}

package enum CertificateIDObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe OCSP_CERTID_free(pointer) }
}

package enum CipherContextObject: ForeignType {
    package static func free(_ pointer: OpaquePointer) { unsafe EVP_CIPHER_CTX_free(pointer) }
}
