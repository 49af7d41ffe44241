import CLifecycleOpenSSL

/// A question to an OCSP responder (RFC 6960) about one certificate, and the judgement of the answer.
///
/// libcrypto writes the one and reads the other. Nothing but octets is kept between them, since they are a network apart.
package struct CertificateStatusQuestion: Sendable {
    /// The most octets of an answer that are read.
    package static let maximumAnswerCount = 32 * 1024

    /// The request in DER, with a nonce.
    package let encoded: [UInt8]
    private let certificate: Certificate
    private let issuer: Certificate
    private let root: Certificate

    /// - Parameters:
    ///   - certificate: the one that is asked about.
    ///   - issuer: signed it, and answers itself or through a responder that it certified.
    ///   - root: the trust anchor that the issuer leads to; may be the issuer.
    package init(
        about certificate: Certificate,
        issuedBy issuer: Certificate,
        under root: Certificate
    ) throws(SignatureError) {
        self.certificate = certificate
        self.issuer = issuer
        self.root = root
        let request = try unsafe Owned<StatusRequestObject>(OCSP_REQUEST_new(), "no status request")
        let identifier = try unsafe Self.identifier(of: certificate, issuedBy: issuer, digest: EVP_sha256())
        let given = unsafe identifier.relinquish()
        guard unsafe OCSP_request_add0_id(request.pointer, given) != nil else {
            // The request has not taken it over.
            unsafe OCSP_CERTID_free(given)
            throw .openSSL(.internalFailure, "status request not filled")
        }
        guard unsafe OCSP_request_add1_nonce(request.pointer, nil, 16) == 1 else {
            throw .openSSL(.internalFailure, "status request has no nonce")
        }
        let pointer = unsafe request.pointer
        encoded = try unsafe SignatureCore.encoded("status request") { unsafe i2d_OCSP_REQUEST(pointer, $0) }
    }

    /// The statement in an answer.
    ///
    /// - Parameters:
    ///   - time: now, in milliseconds since 1970.
    ///   - tolerance: by how many milliseconds the responder's clock may differ.
    /// - Throws: `limit` for a large answer; `malformed` for one that is no answer, states nothing, or is to another
    ///   question; `signature` unless the issuer signed it, or a responder with a certificate of the issuer for that
    ///   purpose (RFC 6960 §4.2.2.2); `certificate` if it is about another certificate; `validity` outside of its time.
    package func status(
        in answer: [UInt8],
        at time: Int64,
        tolerance: Int64
    ) throws(SignatureError) -> CertificateStatus {
        guard answer.count <= Self.maximumAnswerCount else {
            throw SignatureError(.limit, "answer of \(answer.count) octets is longer than \(Self.maximumAnswerCount)")
        }
        let response = try Self.response(answer)
        let code = unsafe OCSP_response_status(response.pointer)
        guard code == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw SignatureError(.malformed, "responder gives no statement, but its error \(code)")
        }
        let basic = try unsafe Owned<StatusAnswerObject>(
            OCSP_response_get1_basic(response.pointer),
            orThrow: .malformed,
            "answer is not a basic one"
        )
        try requireSameNonce(basic)
        try requireSignature(basic, at: time)
        let status = try statement(in: basic)
        guard status.thisUpdate <= status.nextUpdate else {
            throw SignatureError(.malformed, "answer ends before it begins")
        }
        // Dates of certificates end with the year 9999, so only the caller's time could overflow, and is not added to.
        guard status.thisUpdate - tolerance <= time else { throw SignatureError(.validity, "answer is of the future") }
        guard time <= status.nextUpdate + tolerance else { throw SignatureError(.validity, "answer has expired") }
        return status
    }

    private static func response(_ answer: [UInt8]) throws(SignatureError) -> Owned<StatusResponseObject> {
        try unsafe decoded(answer.span, as: "an answer", orThrow: .malformed) { unsafe d2i_OCSP_RESPONSE(nil, $0, $1) }
    }

    // Responders may prepare answers for all, which have no nonce (RFC 6960 §4.4.1); then only the dates bound a replay.
    private func requireSameNonce(_ basic: borrowing Owned<StatusAnswerObject>) throws(SignatureError) {
        let request: Owned<StatusRequestObject> = try unsafe decoded(
            encoded.span,
            as: "a status request",
            orThrow: .internalFailure
        ) { unsafe d2i_OCSP_REQUEST(nil, $0, $1) }
        let isAbsent: CInt = -1
        let isSame: CInt = 1
        let result = unsafe OCSP_check_nonce(request.pointer, basic.pointer)
        guard result == isSame || result == isAbsent else {
            ERR_clear_error()
            throw SignatureError(.malformed, "answer has the nonce of another question")
        }
    }

    private func requireSignature(
        _ basic: borrowing Owned<StatusAnswerObject>,
        at time: Int64
    ) throws(SignatureError) {
        // A store of its own, because the time belongs to the store.
        let store = try CertificateStore(trusting: root)
        guard let parameters = unsafe X509_STORE_get0_param(store.object.pointer) else {
            throw SignatureError(.internalFailure, "certificate store has no parameters")
        }
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time / 1000))
        unsafe X509_VERIFY_PARAM_set_depth(parameters, 1)
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        let known = try unsafe Owned<CertificateStackObject>(lifecycle_X509_stack_new(), "no certificate stack")
        guard unsafe lifecycle_X509_stack_push(known.pointer, issuer.object.pointer) == 1 else {
            throw .openSSL(.internalFailure, "certificate stack not filled")
        }
        // Without this flag a root that is trusted for OCSP by itself could answer for every authority.
        let flags = UInt(OCSP_NOEXPLICIT)
        guard unsafe OCSP_basic_verify(basic.pointer, known.pointer, store.object.pointer, flags) == 1 else {
            throw .openSSL(.signature, "answer is not signed by the issuer or by a responder that it authorized")
        }
    }

    private func statement(in basic: borrowing Owned<StatusAnswerObject>) throws(SignatureError) -> CertificateStatus {
        // libcrypto knows extensions of an answer only to print them.
        guard unsafe OCSP_BASICRESP_get_ext_by_critical(basic.pointer, 1, -1) < 0 else {
            throw SignatureError(.malformed, "answer has a critical extension")
        }
        // Responders with prepared answers name certificates by SHA-1, whatever the question did (RFC 5019 §2.1.1).
        for isNamedBySHA1 in [false, true] {
            let digest = unsafe isNamedBySHA1 ? EVP_sha1() : EVP_sha256()
            let identifier = try unsafe Self.identifier(of: certificate, issuedBy: issuer, digest: digest)
            let index = unsafe OCSP_resp_find(basic.pointer, identifier.pointer, -1)
            guard index >= 0 else { continue }
            guard unsafe OCSP_resp_find(basic.pointer, identifier.pointer, index) < 0 else {
                throw SignatureError(.malformed, "answer has two statements about the certificate")
            }
            guard let single = unsafe OCSP_resp_get0(basic.pointer, index) else { continue }
            return try unsafe Self.status(single)
        }
        throw SignatureError(.certificate, "answer is about another certificate")
    }

    private static func status(_ single: OpaquePointer) throws(SignatureError) -> CertificateStatus {
        guard unsafe OCSP_SINGLERESP_get_ext_by_critical(single, 1, -1) < 0 else {
            throw SignatureError(.malformed, "statement has a critical extension")
        }
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>? = nil
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>? = nil
        let code = unsafe OCSP_single_get0_status(single, nil, nil, &thisUpdate, &nextUpdate)
        let statement: CertificateStatus.Statement
        switch code {
        case V_OCSP_CERTSTATUS_GOOD: statement = .good
        case V_OCSP_CERTSTATUS_REVOKED: statement = .revoked
        case V_OCSP_CERTSTATUS_UNKNOWN: statement = .unknown
        default: throw SignatureError(.malformed, "statement of kind \(code)")
        }
        // Without it the responder always has newer news, and a copy of the answer could be shown forever.
        guard let end = unsafe nextUpdate else { throw SignatureError(.validity, "answer without nextUpdate") }
        return try unsafe CertificateStatus(
            statement,
            thisUpdate: CertificateTime.milliseconds(thisUpdate),
            nextUpdate: CertificateTime.milliseconds(end)
        )
    }

    private static func identifier(
        of certificate: Certificate,
        issuedBy issuer: Certificate,
        digest: OpaquePointer?
    ) throws(SignatureError) -> Owned<CertificateIDObject> {
        try unsafe Owned(
            OCSP_cert_to_id(digest, certificate.object.pointer, issuer.object.pointer),
            "certificate has no id"
        )
    }
}
