public import FoundationEssentials
import LifecycleEvents
import SignatureCore
import SignatureIssuing

extension AppleSimulator {
    /// The beginning of the path of both responders that the certificates name, at `ocsp.example.com`.
    package static let statusPath = "/ocsp03-"

    /// Answers a question about a certificate's status by OCSP (RFC 6960): the leaf and the intermediate are good, from an hour
    /// ago to an hour from now.
    ///
    /// - Parameters:
    ///   - question: the question in DER.
    ///   - path: the path of the responder's address, as the certificate names it.
    ///   - now: the present.
    /// - Returns: the answer in DER; nil if there is no such responder.
    /// - Throws: ``SimulatorError`` if the question is none.
    public func certificateStatus(
        answering question: [UInt8],
        at path: String,
        now: Date
    ) throws(SimulatorError) -> [UInt8]? {
        let (subject, issuer): ([UInt8], CertificateAuthority)
        switch path {
        case Self.statusPath + "simulatedwwdrg602": (subject, issuer) = (certificates.leaf, certificates.intermediate)
        case Self.statusPath + "simulatedrootcag3":
            (subject, issuer) = (certificates.intermediate.certificate, certificates.root)
        default: return nil
        }
        let hour: Int64 = 3_600_000
        let template = StatusAnswerTemplate(
            about: subject,
            issuedBy: issuer.certificate,
            thisUpdate: now.millisecondsSince1970 - hour,
            nextUpdate: now.millisecondsSince1970 + hour
        )
        return try SimulatorError.wrapping { () throws(SignatureError) in
            try template.answer(to: question, by: .init(certificate: issuer.certificate, key: issuer.key))
        }
    }
}
