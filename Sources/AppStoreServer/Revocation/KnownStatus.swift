import AppleJWS
import SignatureCore

/// The knowledge about one certificate.
struct KnownStatus: Sendable {
    struct Answer: Sendable {
        var statement: CertificateStatus.Statement
        /// When the issuer knew it, in milliseconds since 1970.
        var thisUpdate: Int64
        /// The end of its use, in milliseconds since 1970.
        var expiry: Int64
        /// When to ask again, in milliseconds since 1970.
        var renewal: Int64
    }

    var answer: Answer?
    var failure: String?
    /// The question under way.
    var flight: Task<Void, Never>?
    /// The earliest next question, on the checker's clock.
    var mayAskFrom: Duration = .zero

    func isDue(at time: Int64) -> Bool {
        guard let answer else { return true }
        return answer.statement == .unknown || time >= answer.renewal
    }

    func status(at time: Int64, tolerance: Int64) -> AppleRevocationStatus {
        switch answer?.statement {
        case .good? where time <= (answer?.expiry ?? 0) + tolerance: .good
        case .revoked?: .revoked
        default: .unknown
        }
    }

    mutating func take(_ outcome: RevocationResponders.Outcome, at time: Int64, maximumLifetime: Int64) {
        let status: CertificateStatus
        switch outcome {
        case .failure(let reason):
            failure = reason
            return
        case .success(let answer): status = answer
        }
        failure = nil
        // RFC 6960 §2.2: the responder does not know the certificate, such as one that has expired since.
        if status.statement == .unknown, answer?.statement == .revoked { return }
        // An answer within its time can be shown again, and must not take back a later one.
        guard status.thisUpdate >= answer?.thisUpdate ?? .min else { return }
        let expiry = min(status.nextUpdate, status.thisUpdate + min(maximumLifetime, Int64(1) << 50))
        let left = max(expiry - time, 0)
        answer = Answer(
            statement: status.statement,
            thisUpdate: status.thisUpdate,
            expiry: expiry,
            renewal: expiry - left / 4
        )
    }
}
