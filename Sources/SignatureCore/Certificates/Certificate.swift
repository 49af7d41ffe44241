import CLifecycleOpenSSL

/// An X.509 certificate (RFC 5280) that was read in full; reading says nothing about trust.
package final class Certificate: Sendable {
    /// The most octets that are read.
    package static let maximumCount = 16 * 1024

    let object: Owned<CertificateObject>
    /// SHA-256 over the whole certificate.
    package let fingerprint: Digest
    /// The first millisecond since 1970 at which it is valid.
    package let notBefore: Int64
    /// The last millisecond since 1970 at which it is valid.
    package let notAfter: Int64

    /// - Throws: `limit` above `maximumCount`; `certificate` unless the octets are one certificate in DER and nothing
    ///   else, with readable dates, each extension once, extensions only in version 3, and the same signature
    ///   algorithm inside and outside.
    package init(der: Span<UInt8>) throws(SignatureError) {
        guard der.count <= Self.maximumCount else {
            throw SignatureError(.limit, "certificate of \(der.count) octets is longer than \(Self.maximumCount)")
        }
        let object: Owned<CertificateObject> = try unsafe decoded(der, as: "a certificate", orThrow: .certificate) {
            unsafe d2i_X509(nil, $0, $1)
        }
        try Self.requireDistinguishedEncoding(of: object, sameAs: der)
        // Fills the flags that the properties below and path building read, once and before any sharing.
        guard unsafe X509_check_purpose(object.pointer, -1, 0) == 1 else {
            throw .openSSL(.certificate, "certificate has unreadable extensions")
        }
        try Self.requireDistinctExtensions(of: object)
        var outerAlgorithm: UnsafePointer<X509_ALGOR>? = nil
        unsafe X509_get0_signature(nil, &outerAlgorithm, object.pointer)
        guard unsafe X509_ALGOR_cmp(X509_get0_tbs_sigalg(object.pointer), outerAlgorithm) == 0 else {
            throw SignatureError(.certificate, "certificate names two signature algorithms")
        }
        notBefore = try unsafe CertificateTime.milliseconds(X509_get0_notBefore(object.pointer))
        notAfter = try unsafe CertificateTime.milliseconds(X509_get0_notAfter(object.pointer))
        fingerprint = SHA256.hash(der)
        self.object = object
    }

    package convenience init(der: [UInt8]) throws(SignatureError) {
        try self.init(der: der.span)
    }

    // libcrypto also reads encodings that DER forbids, which would give one certificate several fingerprints.
    private static func requireDistinguishedEncoding(
        of object: borrowing Owned<CertificateObject>,
        sameAs der: Span<UInt8>
    ) throws(SignatureError) {
        let pointer = unsafe object.pointer
        let encoded = try unsafe encoded("certificate", orThrow: .certificate) { unsafe i2d_X509(pointer, $0) }
        guard constantTimeEquals(encoded.span, der) else {
            throw SignatureError(.certificate, "certificate is not in DER")
        }
    }

    private static func requireDistinctExtensions(
        of object: borrowing Owned<CertificateObject>
    ) throws(SignatureError) {
        let count = unsafe X509_get_ext_count(object.pointer)
        guard unsafe count == 0 || X509_get_version(object.pointer) == X509_VERSION_3 else {
            throw SignatureError(.certificate, "certificate has extensions below version 3")
        }
        guard count <= 64 else { throw SignatureError(.limit, "certificate has \(count) extensions") }
        for index in 0..<max(count, 0) {
            let identifier = unsafe X509_EXTENSION_get_object(X509_get_ext(object.pointer, index))
            guard unsafe X509_get_ext_by_OBJ(object.pointer, identifier, index) == -1 else {
                throw SignatureError(.certificate, "certificate has an extension twice")
            }
        }
    }
}

extension Certificate {
    /// 1, 2 or 3.
    package var version: Int { unsafe X509_get_version(object.pointer) + 1 }

    /// True if basic constraints say that this is a certification authority (RFC 5280 §4.2.1.9).
    package var isAuthority: Bool { flags & UInt32(EXFLAG_CA) != 0 }

    /// How many authorities may follow below this one; nil for any number.
    package var pathLength: Int? {
        let length = unsafe X509_get_pathlen(object.pointer)
        return length < 0 ? nil : length
    }

    /// True if the key may sign certificates, as far as key usage limits it (RFC 5280 §4.2.1.3).
    package var mayIssue: Bool { allowsKeyUsage(UInt32(KU_KEY_CERT_SIGN)) }

    /// True if the key may sign data, as far as key usage limits it (RFC 5280 §4.2.1.3).
    package var maySignData: Bool { allowsKeyUsage(UInt32(KU_DIGITAL_SIGNATURE)) }

    /// True if there is a critical extension that path building does not understand.
    package var hasUnknownCriticalExtension: Bool { flags & UInt32(EXFLAG_CRITICAL) != 0 }

    /// True if it carries an extension with exactly this identifier, whatever its value.
    package func hasExtension(_ identifier: ObjectIdentifier) -> Bool {
        unsafe X509_get_ext_by_OBJ(object.pointer, identifier.object.pointer, -1) >= 0
    }

    /// True if it is signed over SHA-256, SHA-384 or SHA-512.
    package var isSignedWithStrongDigest: Bool {
        var digest: CInt = 0
        guard unsafe X509_get_signature_info(object.pointer, &digest, nil, nil, nil) == 1 else {
            ERR_clear_error()
            return false
        }
        return [NID_sha256, NID_sha384, NID_sha512].contains(digest)
    }

    /// True if both name the same subject and hold the same key, algorithm and parameters included; two issues
    /// of one root certificate do.
    package func hasSubjectAndKey(of other: Certificate) -> Bool {
        guard let own = publicKeyInfo, let theirs = other.publicKeyInfo, own == theirs else { return false }
        return unsafe X509_NAME_cmp(
            X509_get_subject_name(object.pointer),
            X509_get_subject_name(other.object.pointer)
        ) == 0
    }

    /// The key, for ES256.
    ///
    /// - Throws: `key` unless it is an uncompressed point and its algorithm names the curve P-256 (RFC 5480 §2.1.1);
    ///   explicit curve parameters are refused whatever they say.
    package func p256PublicKey() throws(SignatureError) -> P256PublicKey {
        var algorithm: OpaquePointer? = nil
        var point: UnsafePointer<UInt8>? = nil
        var count: CInt = 0
        var identifier: UnsafeMutablePointer<X509_ALGOR>? = nil
        let info = unsafe X509_get_X509_PUBKEY(object.pointer)
        guard unsafe X509_PUBKEY_get0_param(&algorithm, &point, &count, &identifier, info) == 1 else {
            throw .openSSL(.key, "certificate key not read")
        }
        var parameterType: CInt = 0
        var parameter: UnsafeRawPointer? = nil
        unsafe X509_ALGOR_get0(nil, &parameterType, &parameter, identifier)
        guard unsafe OBJ_obj2nid(algorithm) == NID_X9_62_id_ecPublicKey, parameterType == V_ASN1_OBJECT,
            let parameter = unsafe parameter,
            unsafe OBJ_obj2nid(OpaquePointer(parameter)) == NID_X9_62_prime256v1
        else {
            throw SignatureError(.key, "certificate key is not on the named curve P-256")
        }
        let octets = unsafe Array(UnsafeBufferPointer(start: point, count: Int(max(count, 0))))
        return try P256PublicKey(uncompressedPoint: octets.span)
    }

    /// Where its authority answers for it, as it says itself (RFC 5280 §4.2.2.1).
    package var statusResponders: [String] {
        guard let list = unsafe X509_get1_ocsp(object.pointer) else {
            ERR_clear_error()
            return []
        }
        // The list is ours, with all that is in it, until it is freed here.
        defer { unsafe X509_email_free(list) }
        return (0..<max(unsafe lifecycle_string_stack_count(list), 0)).compactMap { index in
            unsafe lifecycle_string_stack_value(list, index).map { unsafe String(cString: $0) }
        }
    }

    private var flags: UInt32 { unsafe X509_get_extension_flags(object.pointer) }

    // libcrypto answers all ones where there is no key usage, so everything is allowed.
    private func allowsKeyUsage(_ usage: UInt32) -> Bool {
        unsafe X509_get_key_usage(object.pointer) & usage != 0
    }

    /// The encoded SubjectPublicKeyInfo.
    package var publicKeyInfo: [UInt8]? {
        let info = unsafe X509_get_X509_PUBKEY(object.pointer)
        return try? unsafe encoded("public key") { unsafe i2d_X509_PUBKEY(info, $0) }
    }
}
