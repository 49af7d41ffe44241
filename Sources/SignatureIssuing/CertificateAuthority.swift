package import SignatureCore

/// A key, a name and the certificate that binds them, which signs other certificates.
package struct CertificateAuthority: Sendable {
    package let name: DistinguishedName
    package let key: SigningKey
    /// DER.
    package let certificate: [UInt8]

    package init(name: DistinguishedName, key: SigningKey, certificate: [UInt8]) {
        self.name = name
        self.key = key
        self.certificate = certificate
    }

    /// An authority that signed itself.
    ///
    /// - Parameter adjust: changes the certificate before it is signed.
    package static func root(
        name: DistinguishedName,
        key: SigningKey,
        notBefore: Int64,
        notAfter: Int64,
        adjust: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) -> CertificateAuthority {
        var template = CertificateTemplate(subject: name, issuer: name, notBefore: notBefore, notAfter: notAfter)
        template.basicConstraints = .init(isAuthority: true)
        template.keyUsage = [.keyCertSign, .crlSign]
        adjust(&template)
        return CertificateAuthority(
            name: name,
            key: key,
            certificate: try template.certificate(for: key, signedBy: key)
        )
    }

    /// An authority below this one.
    ///
    /// - Parameter adjust: changes the certificate before it is signed.
    package func intermediate(
        name: DistinguishedName,
        key: SigningKey,
        notBefore: Int64,
        notAfter: Int64,
        adjust: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) -> CertificateAuthority {
        var template = CertificateTemplate(
            subject: name,
            issuer: self.name,
            notBefore: notBefore,
            notAfter: notAfter
        )
        template.serialNumber = 2
        template.basicConstraints = .init(isAuthority: true, pathLength: 0)
        template.keyUsage = [.keyCertSign, .crlSign]
        adjust(&template)
        return CertificateAuthority(
            name: name,
            key: key,
            certificate: try template.certificate(for: key, signedBy: self.key)
        )
    }

    /// A leaf certificate for signing data, in DER.
    ///
    /// - Parameter adjust: changes the certificate before it is signed.
    package func leaf(
        name: DistinguishedName,
        key: SigningKey,
        notBefore: Int64,
        notAfter: Int64,
        adjust: (inout CertificateTemplate) -> Void = { _ in }
    ) throws(SignatureError) -> [UInt8] {
        var template = CertificateTemplate(
            subject: name,
            issuer: self.name,
            notBefore: notBefore,
            notAfter: notAfter
        )
        template.serialNumber = 3
        template.basicConstraints = .init(isAuthority: false)
        template.keyUsage = [.digitalSignature]
        adjust(&template)
        return try template.certificate(for: key, signedBy: self.key)
    }
}
