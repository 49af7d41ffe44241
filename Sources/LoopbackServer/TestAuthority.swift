import CLoopbackTLS

/// A certification authority that exists for one test run, so that no key is kept and nothing expires.
package final class TestAuthority: Sendable {
    /// A server's certificate and key in PEM.
    package struct Identity: Sendable {
        package var certificate: [UInt8]
        package var key: [UInt8]
    }

    package enum Failure: Error { case openSSL(line: Int) }

    /// The authority's certificate in PEM.
    package let certificate: [UInt8]
    private let key: [UInt8]

    /// Makes the authority.
    package init(name: String = "Loopback Test Authority") throws {
        let pair = try Certificates.makeKey()
        defer { EVP_PKEY_free(pair) }
        let certificate = try Certificates.make(
            subject: name,
            key: pair,
            issuer: nil,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ],
            days: -1...3650
        )
        defer { X509_free(certificate) }
        self.certificate = try Certificates.pem { PEM_write_bio_X509($0, certificate) }
        key = try Certificates.pem { PEM_write_bio_PrivateKey($0, pair, nil, nil, 0, nil, nil) }
    }

    /// A server certificate for the alternative names given in OpenSSL's notation, such as `DNS:localhost`.
    package func issue(_ names: String = "DNS:localhost", days: ClosedRange<Int> = -1...365) throws -> Identity {
        let issuer = try Certificates.certificate(certificate)
        defer { X509_free(issuer) }
        let issuerKey = try Certificates.key(key)
        defer { EVP_PKEY_free(issuerKey) }
        let pair = try Certificates.makeKey()
        defer { EVP_PKEY_free(pair) }
        let leaf = try Certificates.make(
            subject: "loopback server",
            key: pair,
            issuer: (issuer, issuerKey),
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, names),
            ],
            days: days
        )
        defer { X509_free(leaf) }
        return Identity(
            certificate: try Certificates.pem { PEM_write_bio_X509($0, leaf) },
            key: try Certificates.pem { PEM_write_bio_PrivateKey($0, pair, nil, nil, 0, nil, nil) }
        )
    }
}

enum Certificates {
    static func makeKey() throws -> OpaquePointer { try some(loopback_make_p256_key()) }

    static func make(
        subject: String,
        key: OpaquePointer,
        issuer: (certificate: OpaquePointer, key: OpaquePointer)?,
        extensions: [(Int32, String)],
        days: ClosedRange<Int>
    ) throws -> OpaquePointer {
        let certificate = try some(X509_new())
        try check(X509_set_version(certificate, Int(X509_VERSION_3)))
        try check(ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...Int.max)))
        _ = try some(X509_gmtime_adj(X509_getm_notBefore(certificate), days.lowerBound * 86_400))
        _ = try some(X509_gmtime_adj(X509_getm_notAfter(certificate), days.upperBound * 86_400))
        try check(X509_set_pubkey(certificate, key))
        let name = X509_get_subject_name(certificate)
        try check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0))
        try check(X509_set_issuer_name(certificate, X509_get_subject_name(issuer?.certificate ?? certificate)))
        for (identifier, value) in extensions {
            var context = X509V3_CTX()
            loopback_set_context(&context, issuer?.certificate ?? certificate, certificate)
            let one = try some(X509V3_EXT_conf_nid(nil, &context, identifier, value))
            defer { X509_EXTENSION_free(one) }
            try check(X509_add_ext(certificate, one, -1))
        }
        guard X509_sign(certificate, issuer?.key ?? key, EVP_sha256()) > 0 else {
            throw TestAuthority.Failure.openSSL(line: #line)
        }
        return certificate
    }

    static func certificate(_ pem: [UInt8]) throws -> OpaquePointer {
        let bio = try some(BIO_new_mem_buf(pem, Int32(pem.count)))
        defer { BIO_free(bio) }
        return try some(PEM_read_bio_X509(bio, nil, nil, nil))
    }

    static func key(_ pem: [UInt8]) throws -> OpaquePointer {
        let bio = try some(BIO_new_mem_buf(pem, Int32(pem.count)))
        defer { BIO_free(bio) }
        return try some(PEM_read_bio_PrivateKey(bio, nil, nil, nil))
    }

    static func pem(_ write: (OpaquePointer) -> Int32) throws -> [UInt8] {
        let bio = try some(BIO_new(BIO_s_mem()))
        defer { BIO_free(bio) }
        try check(write(bio))
        var octets: UnsafeMutablePointer<CChar>?
        let count = loopback_memory(bio, &octets)
        return Array(UnsafeRawBufferPointer(start: octets, count: count))
    }

    static func some<Pointer>(_ pointer: Pointer?, line: Int = #line) throws -> Pointer {
        guard let pointer else { throw TestAuthority.Failure.openSSL(line: line) }
        return pointer
    }

    static func check(_ code: Int32, line: Int = #line) throws {
        guard code == 1 else { throw TestAuthority.Failure.openSSL(line: line) }
    }
}
