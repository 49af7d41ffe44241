import CLifecycleOpenSSL

/// Decides if a leaf, its issuer and a root, as an `x5c` header gives them (RFC 7515 §4.1.6), form a path to a trust
/// anchor (RFC 5280 §6).
///
/// The set-up happens once; verifying is synchronous and can run on any number of threads.
package struct ChainVerification: Sendable {
    private let trustAnchors: TrustAnchors
    private let requiredLeafExtension: ObjectIdentifier?
    private let requiredIntermediateExtension: ObjectIdentifier?
    private let isStrict: Bool

    /// - Parameters:
    ///   - requiredLeafExtension: dotted identifier of an extension that the leaf must carry.
    ///   - requiredIntermediateExtension: the same for the intermediate.
    ///   - strict: true if every certificate must also follow the rules of RFC 5280 for issuers, key identifiers among
    ///     them (`X509_V_FLAG_X509_STRICT`).
    package init(
        trustAnchors: TrustAnchors,
        requiredLeafExtension: String?,
        requiredIntermediateExtension: String?,
        strict: Bool = false
    ) throws(SignatureError) {
        self.trustAnchors = trustAnchors
        self.requiredLeafExtension = try requiredLeafExtension.map { dotted throws(SignatureError) in
            try ObjectIdentifier(dotted)
        }
        self.requiredIntermediateExtension = try requiredIntermediateExtension.map { dotted throws(SignatureError) in
            try ObjectIdentifier(dotted)
        }
        self.isStrict = strict
    }

    /// Verifies the path of exactly these three.
    ///
    /// - Parameters:
    ///   - certificates: leaf, intermediate, root, each in DER. The root only has to name the subject and key of a
    ///     trust anchor, since roots are re-issued; the path ends at the anchor itself, whose validity counts.
    ///   - time: milliseconds since 1970 at which all must be valid. Without it validity is left to
    ///     ``ValidatedChain/isValid(at:)``, for callers that learn the time from the leaf's signed data.
    /// - Throws: `certificate` for a wrong number and unfit certificates, `chain` for a path that does not hold,
    ///   `validity` outside of `time`, `key` for a leaf key that is not P-256.
    package func verify(_ certificates: [[UInt8]], at time: Int64?) throws(SignatureError) -> ValidatedChain {
        guard certificates.count == 3 else {
            throw SignatureError(.certificate, "chain of \(certificates.count) certificates, not 3")
        }
        let leaf = try Certificate(der: certificates[0])
        let intermediate = try Certificate(der: certificates[1])
        let root = try Certificate(der: certificates[2])
        let candidates = trustAnchors.matching(root)
        guard !candidates.isEmpty else { throw SignatureError(.chain, "root is not a trust anchor") }
        try requireFit(leaf: leaf)
        try requireFit(intermediate: intermediate)
        let leafKey = try leaf.p256PublicKey()

        // Of several issues of one root any that ends the path will do, each for as long as it is valid itself.
        var validity: [ClosedRange<Int64>] = []
        var ends: [Certificate] = []
        var failure: SignatureError?
        for anchor in candidates {
            do throws(SignatureError) {
                try buildPath(leaf: leaf, intermediate: intermediate, anchor: anchor)
            } catch {
                failure = failure ?? error
                continue
            }
            let first = max(leaf.notBefore, intermediate.notBefore, anchor.certificate.notBefore)
            let last = min(leaf.notAfter, intermediate.notAfter, anchor.certificate.notAfter)
            if first <= last { validity.append(first...last) }
            ends.append(anchor.certificate)
        }
        if validity.isEmpty, let failure { throw failure }

        let chain = ValidatedChain(
            leafKey: leafKey,
            validity: validity,
            certificates: [leaf, intermediate] + ends.prefix(1)
        )
        if let time, !chain.isValid(at: time) {
            throw SignatureError(.validity, "a certificate of the chain is expired or not yet valid")
        }
        return chain
    }

    private func requireFit(leaf: Certificate) throws(SignatureError) {
        guard leaf.version == 3 else { throw SignatureError(.certificate, "leaf is of version \(leaf.version)") }
        guard !leaf.isAuthority else { throw SignatureError(.chain, "leaf is an authority") }
        guard leaf.maySignData else { throw SignatureError(.chain, "leaf key is not for signatures") }
        if let requiredLeafExtension, !leaf.hasExtension(requiredLeafExtension) {
            throw SignatureError(.chain, "leaf lacks extension \(requiredLeafExtension.dotted)")
        }
        try requireCommonRules(leaf, "leaf")
    }

    private func requireFit(intermediate: Certificate) throws(SignatureError) {
        guard intermediate.version == 3 else {
            throw SignatureError(.chain, "intermediate is of version \(intermediate.version)")
        }
        guard intermediate.isAuthority else { throw SignatureError(.chain, "intermediate is not an authority") }
        guard intermediate.mayIssue else { throw SignatureError(.chain, "intermediate may not sign certificates") }
        if let requiredIntermediateExtension, !intermediate.hasExtension(requiredIntermediateExtension) {
            throw SignatureError(.chain, "intermediate lacks extension \(requiredIntermediateExtension.dotted)")
        }
        try requireCommonRules(intermediate, "intermediate")
    }

    private func requireCommonRules(_ certificate: Certificate, _ role: String) throws(SignatureError) {
        guard !certificate.hasUnknownCriticalExtension else {
            throw SignatureError(.chain, "\(role) has an unknown critical extension")
        }
        guard certificate.isSignedWithStrongDigest else {
            throw SignatureError(.chain, "\(role) is not signed over SHA-256 or better")
        }
    }

    private func buildPath(
        leaf: Certificate,
        intermediate: Certificate,
        anchor: TrustAnchors.Anchor
    ) throws(SignatureError) {
        let untrusted = try unsafe Owned<CertificateStackObject>(lifecycle_X509_stack_new(), "no certificate stack")
        guard unsafe lifecycle_X509_stack_push(untrusted.pointer, intermediate.object.pointer) == 1 else {
            throw .openSSL(.internalFailure, "certificate stack not filled")
        }
        let context = try unsafe Owned<CertificateStoreContextObject>(X509_STORE_CTX_new(), "no path context")
        guard
            unsafe X509_STORE_CTX_init(
                context.pointer,
                anchor.store.object.pointer,
                leaf.object.pointer,
                untrusted.pointer
            ) == 1
        else {
            throw .openSSL(.internalFailure, "path context not set up")
        }
        guard let parameters = unsafe X509_STORE_CTX_get0_param(context.pointer) else {
            throw SignatureError(.internalFailure, "path context has no parameters")
        }
        // The caller of this function judges time, to the millisecond and with both ends included; libcrypto
        // counts the last second of a certificate as expired.
        let flags = X509_V_FLAG_NO_CHECK_TIME | (isStrict ? X509_V_FLAG_X509_STRICT : 0)
        guard unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(flags)) == 1 else {
            throw .openSSL(.internalFailure, "path flags not set")
        }
        unsafe X509_VERIFY_PARAM_set_depth(parameters, 1)
        // Level 2: no SHA-1, no key below 112 bits of security.
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)

        let result = unsafe X509_verify_cert(context.pointer)
        let reason = unsafe X509_STORE_CTX_get_error(context.pointer)
        guard result == 1, reason == X509_V_OK else {
            throw .openSSL(result < 0 ? .internalFailure : .chain, "path is not valid (X509 reason \(reason))")
        }
        let path = unsafe X509_STORE_CTX_get0_chain(context.pointer)
        let expected = [leaf, intermediate, anchor.certificate]
        guard unsafe lifecycle_X509_stack_count(path) == 3 else {
            throw SignatureError(.chain, "path does not have 3 certificates")
        }
        for (index, certificate) in expected.enumerated() {
            let found = unsafe lifecycle_X509_stack_value(path, CInt(index))
            guard unsafe X509_cmp(found, certificate.object.pointer) == 0 else {
                throw SignatureError(.chain, "path has another certificate at \(index)")
            }
        }
    }
}
