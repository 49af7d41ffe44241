import CLifecycleOpenSSL
package import SignatureCore

/// An answer of an OCSP responder (RFC 6960), which may be one that no honest responder would give.
package struct StatusAnswerTemplate: Sendable {
    package enum Statement: Sendable {
        case good, revoked, unknown
    }

    package enum Nonce: Sendable {
        case ofQuestion, absent, other
    }

    /// A certificate in DER that an answer is signed with, and its key.
    package struct Responder: Sendable {
        package var certificate: [UInt8]
        package var key: SigningKey

        package init(certificate: [UInt8], key: SigningKey) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The certificate that it is about, and its issuer, in DER.
    package var certificate: [UInt8]
    package var issuer: [UInt8]
    package var statement = Statement.good
    /// Milliseconds since 1970; answers count whole seconds.
    package var thisUpdate: Int64
    package var nextUpdate: Int64?
    package var nonce = Nonce.ofQuestion
    /// True if it names the certificate by SHA-1, as prepared answers do.
    package var isNamedBySHA1 = false
    /// True if it states the same twice.
    package var isDoubled = false
    /// True if the responder's certificate comes with it.
    package var includesResponder = true

    package init(about certificate: [UInt8], issuedBy issuer: [UInt8], thisUpdate: Int64, nextUpdate: Int64?) {
        self.certificate = certificate
        self.issuer = issuer
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }

    /// The whole answer in DER.
    ///
    /// - Parameters:
    ///   - request: the question in DER.
    ///   - responder: signs it.
    package func answer(to request: [UInt8], by responder: Responder) throws(SignatureError) -> [UInt8] {
        let seed = responder.key.seed
        let purpose = "status \(statement) \(thisUpdate) \(SHA256.hash(request.span).hexadecimal)"
        return try DeterministicLibrary.withEntropy(from: seed, for: purpose) {
            (library) throws(SignatureError) in
            let basic = try unsafe Owned<StatusAnswerObject>(OCSP_BASICRESP_new(), "no status answer")
            try fill(basic, library)
            try add(nonce, of: request, to: basic)
            try sign(basic, by: responder, in: library)
            let response = try unsafe Owned<StatusResponseObject>(
                OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.pointer),
                "status answer not made"
            )
            return try Self.encoded(response)
        }
    }

    /// An answer that is an error of the responder (RFC 6960 §4.2.1), such as 3 for "try later".
    package static func refusal(_ status: Int32) throws(SignatureError) -> [UInt8] {
        let response = try unsafe Owned<StatusResponseObject>(
            OCSP_response_create(status, nil),
            "status answer not made"
        )
        return try encoded(response)
    }

    private static func encoded(_ response: borrowing Owned<StatusResponseObject>) throws(SignatureError) -> [UInt8] {
        let pointer = unsafe response.pointer
        return try unsafe SignatureCore.encoded("status answer") { unsafe i2d_OCSP_RESPONSE(pointer, $0) }
    }

    private func fill(
        _ basic: borrowing Owned<StatusAnswerObject>,
        _ library: DeterministicLibrary.Context
    ) throws(SignatureError) {
        let subject = try Self.certificate(certificate, library)
        let authority = try Self.certificate(issuer, library)
        let digest = unsafe isNamedBySHA1 ? EVP_sha1() : EVP_sha256()
        let identifier = try unsafe Owned<CertificateIDObject>(
            OCSP_cert_to_id(digest, subject.pointer, authority.pointer),
            "certificate has no id"
        )
        let begin = try OwnedTime(thisUpdate)
        let code: CInt =
            switch statement {
            case .good: V_OCSP_CERTSTATUS_GOOD
            case .revoked: V_OCSP_CERTSTATUS_REVOKED
            case .unknown: V_OCSP_CERTSTATUS_UNKNOWN
            }
        let end = try OwnedTime(nextUpdate ?? 0)
        for _ in 0..<(isDoubled ? 2 : 1) {
            let added = unsafe OCSP_basic_add1_status(
                basic.pointer,
                identifier.pointer,
                code,
                OCSP_REVOKED_STATUS_KEYCOMPROMISE,
                begin.pointer,
                begin.pointer,
                nextUpdate == nil ? nil : end.pointer
            )
            guard unsafe added != nil else { throw .openSSL(.internalFailure, "status not added") }
        }
    }

    private func add(
        _ nonce: Nonce,
        of request: [UInt8],
        to basic: borrowing Owned<StatusAnswerObject>
    ) throws(SignatureError) {
        switch nonce {
        case .absent: return
        case .other:
            var octets = [UInt8](repeating: 7, count: 16)
            var span = octets.mutableSpan
            let pointer = unsafe basic.pointer
            let added = unsafe span.withUnsafeMutableBufferPointer { buffer in
                unsafe OCSP_basic_add1_nonce(pointer, buffer.baseAddress, CInt(buffer.count))
            }
            guard added == 1 else { throw .openSSL(.internalFailure, "nonce not added") }
        case .ofQuestion:
            let octets = request.span
            let parsed = unsafe octets.withUnsafeBufferPointer { buffer -> OpaquePointer? in
                var next: UnsafePointer<UInt8>? = buffer.baseAddress
                return unsafe d2i_OCSP_REQUEST(nil, &next, buffer.count)
            }
            let question = try unsafe Owned<StatusRequestObject>(parsed, orThrow: .malformed, "no status request")
            guard unsafe OCSP_copy_nonce(basic.pointer, question.pointer) > 0 else {
                throw .openSSL(.internalFailure, "nonce not copied")
            }
        }
    }

    private func sign(
        _ basic: borrowing Owned<StatusAnswerObject>,
        by responder: Responder,
        in library: DeterministicLibrary.Context
    ) throws(SignatureError) {
        let certificate = try Self.certificate(responder.certificate, library)
        let context = try unsafe Owned<DigestContextObject>(EVP_MD_CTX_new(), "no digest context")
        let key = unsafe responder.key.pointer
        let flags = includesResponder ? 0 : UInt(OCSP_NOCERTS)
        guard
            unsafe EVP_DigestSignInit_ex(context.pointer, nil, "SHA256", library.pointer, nil, key, nil) == 1,
            unsafe OCSP_basic_sign_ctx(basic.pointer, certificate.pointer, context.pointer, nil, flags) == 1
        else {
            throw .openSSL(.internalFailure, "status answer not signed")
        }
    }

    // In the same library context as the keys, so that the two can be compared.
    private static func certificate(
        _ der: [UInt8],
        _ library: DeterministicLibrary.Context
    ) throws(SignatureError) -> Owned<CertificateObject> {
        let octets = der.span
        let parsed = unsafe octets.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var certificate: OpaquePointer? = unsafe X509_new_ex(library.pointer, nil)
            var next: UnsafePointer<UInt8>? = buffer.baseAddress
            // On failure it frees the certificate that it was given.
            return unsafe d2i_X509(&certificate, &next, buffer.count)
        }
        return try unsafe Owned(parsed, orThrow: .certificate, "\(der.count) octets are not a certificate")
    }
}

/// The one owner of a time, which C declares in full and Swift therefore types.
@safe
private struct OwnedTime: ~Copyable {
    let pointer: UnsafeMutablePointer<ASN1_TIME>

    init(_ milliseconds: Int64) throws(SignatureError) {
        guard let pointer = unsafe ASN1_TIME_set(nil, time_t(milliseconds / 1000)) else {
            throw .openSSL(.internalFailure, "no time")
        }
        unsafe self.pointer = pointer
    }

    deinit { unsafe ASN1_TIME_free(pointer) }
}
