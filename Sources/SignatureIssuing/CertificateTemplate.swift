import CLifecycleOpenSSL
package import SignatureCore

/// The content of a certificate, which may be one that no honest authority would issue.
package struct CertificateTemplate: Sendable {
    package enum Digest: String, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha384 = "SHA384"
    }

    package struct BasicConstraints: Sendable {
        package var isAuthority: Bool
        package var pathLength: UInt8?

        package init(isAuthority: Bool, pathLength: UInt8? = nil) {
            self.isAuthority = isAuthority
            self.pathLength = pathLength
        }
    }

    /// Bits numbered as in RFC 5280 §4.2.1.3.
    package struct KeyUsage: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let digitalSignature = KeyUsage(rawValue: 0x80)
        package static let keyEncipherment = KeyUsage(rawValue: 0x20)
        package static let keyCertSign = KeyUsage(rawValue: 0x04)
        package static let crlSign = KeyUsage(rawValue: 0x02)
    }

    package struct Extension: Sendable {
        package var identifier: String
        package var isCritical: Bool
        /// DER.
        package var value: [UInt8]

        package init(_ identifier: String, isCritical: Bool = false, value: [UInt8] = [5, 0]) {
            self.identifier = identifier
            self.isCritical = isCritical
            self.value = value
        }
    }

    package var subject: DistinguishedName
    package var issuer: DistinguishedName
    package var serialNumber: UInt64 = 1
    /// Milliseconds since 1970; certificates count whole seconds.
    package var notBefore: Int64
    package var notAfter: Int64
    package var version = 3
    package var basicConstraints: BasicConstraints?
    package var keyUsage: KeyUsage?
    package var subjectKeyIdentifier: [UInt8]?
    package var authorityKeyIdentifier: [UInt8]?
    /// Follow the ones above, in this order, repetitions included.
    package var extensions: [Extension] = []
    package var digest = Digest.sha256

    package init(subject: DistinguishedName, issuer: DistinguishedName, notBefore: Int64, notAfter: Int64) {
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// The certificate in DER.
    package func certificate(for key: SigningKey, signedBy issuer: SigningKey) throws(SignatureError) -> [UInt8] {
        let purpose = "certificate \(serialNumber) \(subject) \(self.issuer) \(key.algorithm)"
        return try DeterministicLibrary.withEntropy(from: issuer.seed, for: purpose) {
            (library) throws(SignatureError) in
            let certificate = try unsafe Owned<CertificateObject>(
                X509_new_ex(library.pointer, nil),
                "no certificate"
            )
            try fill(certificate, key)
            let context = try unsafe Owned<DigestContextObject>(EVP_MD_CTX_new(), "no digest context")
            let digest = issuer.algorithm == .ed25519 ? nil : digest.rawValue
            guard
                unsafe EVP_DigestSignInit_ex(
                    context.pointer,
                    nil,
                    digest,
                    library.pointer,
                    nil,
                    issuer.pointer,
                    nil
                ) == 1,
                unsafe X509_sign_ctx(certificate.pointer, context.pointer) > 0
            else {
                throw .openSSL(.internalFailure, "certificate not signed")
            }
            let pointer = unsafe certificate.pointer
            return try unsafe encoded("certificate") { unsafe i2d_X509(pointer, $0) }
        }
    }

    private func fill(
        _ certificate: borrowing Owned<CertificateObject>,
        _ key: SigningKey
    ) throws(SignatureError) {
        let subjectName = try subject.object()
        let issuerName = try issuer.object()
        guard unsafe X509_set_version(certificate.pointer, version - 1) == 1,
            unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.pointer), serialNumber) == 1,
            unsafe X509_set_subject_name(certificate.pointer, subjectName.pointer) == 1,
            unsafe X509_set_issuer_name(certificate.pointer, issuerName.pointer) == 1,
            unsafe ASN1_TIME_set(X509_getm_notBefore(certificate.pointer), Int(notBefore / 1000)) != nil,
            unsafe ASN1_TIME_set(X509_getm_notAfter(certificate.pointer), Int(notAfter / 1000)) != nil,
            unsafe X509_set_pubkey(certificate.pointer, key.pointer) == 1
        else {
            throw .openSSL(.internalFailure, "certificate not filled")
        }
        for entry in allExtensions { try add(entry, to: certificate) }
    }

    private var allExtensions: [Extension] {
        var all: [Extension] = []
        if let basicConstraints {
            let flag: [UInt8] = basicConstraints.isAuthority ? [1, 1, 0xff] : []
            let length: [UInt8] = basicConstraints.pathLength.map { [2, 1, $0] } ?? []
            all.append(Extension("2.5.29.19", isCritical: true, value: DER.element(0x30, flag + length)))
        }
        if let keyUsage {
            let unused = UInt8(truncatingIfNeeded: min(keyUsage.rawValue.trailingZeroBitCount, 7))
            let value: [UInt8] = keyUsage.isEmpty ? [0] : [unused, keyUsage.rawValue]
            all.append(Extension("2.5.29.15", isCritical: true, value: DER.element(0x03, value)))
        }
        if let subjectKeyIdentifier {
            all.append(Extension("2.5.29.14", value: DER.element(0x04, subjectKeyIdentifier)))
        }
        if let authorityKeyIdentifier {
            let identifier = DER.element(0x80, authorityKeyIdentifier)
            all.append(Extension("2.5.29.35", value: DER.element(0x30, identifier)))
        }
        return all + extensions
    }

    private func add(
        _ entry: Extension,
        to certificate: borrowing Owned<CertificateObject>
    ) throws(SignatureError) {
        let identifier = try unsafe Owned<ObjectIdentifierObject>(
            OBJ_txt2obj(entry.identifier, 1),
            orThrow: .malformed,
            "extension identifier"
        )
        let value = try unsafe OwnedOctetString(ASN1_OCTET_STRING_new())
        let octets = entry.value.span
        let filled = unsafe octets.withUnsafeBufferPointer { buffer in
            unsafe ASN1_OCTET_STRING_set(value.pointer, buffer.baseAddress, CInt(buffer.count))
        }
        guard filled == 1 else { throw .openSSL(.internalFailure, "extension not filled") }
        let entry = try unsafe Owned<ExtensionObject>(
            X509_EXTENSION_create_by_OBJ(nil, identifier.pointer, entry.isCritical ? 1 : 0, value.pointer),
            "extension not made"
        )
        guard unsafe X509_add_ext(certificate.pointer, entry.pointer, -1) == 1 else {
            throw .openSSL(.internalFailure, "extension not added")
        }
    }
}

/// The one owner of an ASN.1 octet string, which C declares in full and Swift therefore types.
@safe
struct OwnedOctetString: ~Copyable {
    let pointer: UnsafeMutablePointer<ASN1_OCTET_STRING>

    init(_ pointer: UnsafeMutablePointer<ASN1_OCTET_STRING>?) throws(SignatureError) {
        guard let pointer = unsafe pointer else { throw .openSSL(.internalFailure, "no octet string") }
        unsafe self.pointer = pointer
    }

    deinit { unsafe ASN1_OCTET_STRING_free(pointer) }
}

enum ExtensionObject: ForeignType {
    static func free(_ pointer: OpaquePointer) { unsafe X509_EXTENSION_free(pointer) }
}

enum NameObject: ForeignType {
    static func free(_ pointer: OpaquePointer) { unsafe X509_NAME_free(pointer) }
}

/// The name of a subject or issuer, as pairs such as `CN` and its value.
package struct DistinguishedName: Sendable, CustomStringConvertible {
    package var attributes: [(type: String, value: String)]

    package init(_ attributes: KeyValuePairs<String, String>) {
        self.attributes = attributes.map { ($0.key, $0.value) }
    }

    package var description: String {
        attributes.map { "\($0.type)=\($0.value)" }.joined(separator: ",")
    }

    func object() throws(SignatureError) -> Owned<NameObject> {
        let name = try unsafe Owned<NameObject>(X509_NAME_new(), "no name")
        for attribute in attributes {
            let added = unsafe X509_NAME_add_entry_by_txt(
                name.pointer,
                attribute.type,
                lifecycle_MBSTRING_UTF8,
                attribute.value,
                -1,
                -1,
                0
            )
            guard added == 1 else { throw .openSSL(.malformed, "name attribute \(attribute.type)") }
        }
        return name
    }
}

/// The little DER that extensions of a template need.
package enum DER {
    package static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length: [UInt8] =
            switch content.count {
            case ..<0x80: [UInt8(content.count)]
            case ..<0x100: [0x81, UInt8(content.count)]
            default: [0x82, UInt8(truncatingIfNeeded: content.count >> 8), UInt8(truncatingIfNeeded: content.count)]
            }
        return [tag] + length + content
    }
}
