import CLifecycleOpenSSL

/// The root certificates that alone can make a path trusted.
package struct TrustAnchors: Sendable {
    struct Anchor: Sendable {
        let certificate: Certificate
        let store: CertificateStore
    }

    let anchors: [Anchor]

    /// - Throws: `certificate` for no certificate at all and for one that is unreadable or not a self-issued authority.
    package init(der certificates: [[UInt8]]) throws(SignatureError) {
        guard !certificates.isEmpty else { throw SignatureError(.certificate, "no trust anchor") }
        anchors = try certificates.map { der throws(SignatureError) in
            let certificate = try Certificate(der: der)
            guard certificate.isSelfIssuedAuthority else {
                throw SignatureError(.certificate, "trust anchor is not a self-issued authority")
            }
            return Anchor(certificate: certificate, store: try CertificateStore(trusting: certificate))
        }
    }

    /// - Throws: `malformed` or `limit` for text that is not PEM; otherwise as `init(der:)`.
    package init(pem text: Span<UInt8>) throws(SignatureError) {
        try self.init(der: try PEM.blocks(labelled: "CERTIFICATE", in: text))
    }

    /// The anchors with the subject and key of this certificate; re-issues of one root share both.
    func matching(_ root: Certificate) -> [Anchor] {
        anchors.filter { $0.certificate.hasSubjectAndKey(of: root) }
    }
}

/// The store in which libcrypto looks issuers up: one root, and no default paths.
final class CertificateStore: Sendable {
    let object: Owned<CertificateStoreObject>

    init(trusting root: Certificate) throws(SignatureError) {
        let object = try unsafe Owned<CertificateStoreObject>(X509_STORE_new(), "no certificate store")
        guard unsafe X509_STORE_add_cert(object.pointer, root.object.pointer) == 1 else {
            throw .openSSL(.internalFailure, "trust anchor not stored")
        }
        self.object = object
    }
}

extension Certificate {
    /// True if it can head a path: issued by its own subject, and an authority as far as its version can say so.
    fileprivate var isSelfIssuedAuthority: Bool {
        unsafe X509_get_extension_flags(object.pointer) & UInt32(EXFLAG_SI) != 0 && X509_check_ca(object.pointer) > 0
    }
}
