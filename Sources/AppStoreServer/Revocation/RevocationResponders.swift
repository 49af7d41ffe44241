import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import SignatureCore

/// Sends questions to the responders that certificates name.
struct RevocationResponders: Sendable {
    struct Question: Sendable {
        let certificate: SignatureCore.Certificate
        let issuer: SignatureCore.Certificate
        let root: SignatureCore.Certificate

        init(
            about certificate: SignatureCore.Certificate,
            issuedBy issuer: SignatureCore.Certificate,
            under root: SignatureCore.Certificate
        ) {
            self.certificate = certificate
            self.issuer = issuer
            self.root = root
        }
    }

    enum Outcome: Sendable {
        case success(CertificateStatus)
        /// Fit for a log.
        case failure(String)
    }

    /// How many addresses of one certificate are tried.
    private static let maximumAddresses = 2

    let transport: any HTTPTransportProtocol
    let policy: RevocationChecker.Policy
    let now: @Sendable () -> Date

    /// The first answer that verifies, of the responders in the certificate's order.
    func answer(to question: Question) async -> Outcome {
        var failure = "the certificate names no responder"
        for address in question.certificate.statusResponders.prefix(Self.maximumAddresses) {
            switch await ask(address, question) {
            case .success(let status): return .success(status)
            case .failure(let reason): failure = reason
            }
        }
        return .failure(failure)
    }

    private func ask(_ address: String, _ question: Question) async -> Outcome {
        do {
            let prepared = try CertificateStatusQuestion(
                about: question.certificate,
                issuedBy: question.issuer,
                under: question.root
            )
            let response = try await transport.send(try request(address, prepared.encoded))
            // A redirection is no answer, and is followed by no transport.
            guard response.status == 200 else { return .failure("the responder answered \(response.status)") }
            return .success(
                try prepared.status(
                    in: response.body,
                    at: now().millisecondsSince1970,
                    tolerance: policy.maximumSkew.wholeMilliseconds
                )
            )
        } catch let error as HTTPTransportError {
            return .failure("no answer from the responder: \(error.code)")
        } catch let error as SignatureError {
            return .failure("the responder's answer: \(error.message)")
        } catch {
            return .failure("no answer from the responder")
        }
    }

    private func request(_ address: String, _ body: [UInt8]) throws(HTTPTransportError) -> HTTPTransportRequest {
        // RFC 6960, appendix A.1: a POST is understood by every responder, and held by no cache.
        var request = try HTTPTransportRequest(
            .post,
            try HTTPSURL.certificateStatus(address),
            headers: ["Content-Type": "application/ocsp-request", "Accept": "application/ocsp-response"],
            body: body,
            timeout: policy.timeout,
            maximumResponseBytes: CertificateStatusQuestion.maximumAnswerCount
        )
        request.isIdempotent = true
        return request
    }
}
