/// The answer to the provider, so that nothing is lost and nothing is redelivered forever.
///
/// Every provider delivers again after every answer outside 2xx (RevenueCat after everything but 200). Therefore
/// only deliveries that can succeed later, or that are not proven, are answered with an error.
public struct Acknowledgement: Hashable, Sendable {
    /// The meaning of the answer.
    @nonexhaustive
    public enum Decision: String, Hashable, Sendable {
        /// Done.
        case accept
        /// Done as far as the provider is concerned; keep the raw delivery and look at it.
        case acceptAndQuarantine = "accept_and_quarantine"
        /// Ask the provider to deliver again.
        case retryLater = "retry_later"
        /// Not proven to be the provider's.
        case reject
    }

    /// The meaning of the answer.
    public let decision: Decision
    /// The HTTP status to answer with.
    public let status: Int
    /// Why the delivery failed, fit for a log; nil if it did not fail.
    public let code: DeliveryError.Code?

    /// Decides the answer.
    ///
    /// - Parameters:
    ///   - outcome: the result of the delivery.
    ///   - provider: the sender. Stripe documents 400 for a failed signature; the others get 401, or 400 if the form
    ///     was wrong.
    public init(for outcome: Result<Normalization, DeliveryError>, provider: Provider) {
        let error: DeliveryError
        code = if case .failure(let failure) = outcome { failure.code } else { nil }
        switch outcome {
        // The provider was not asked, or keeps nothing to answer from: the delivery is all there is of the event.
        case .success(let result) where [.needsLookup, .purchaseGone].contains(result.noChange?.reason):
            (decision, status) = (.acceptAndQuarantine, 200)
            return
        case .success:
            (decision, status) = (.accept, 200)
            return
        case .failure(let failure):
            error = failure
        }
        switch error.code {
        case _ where error.code.isRetryable:
            (decision, status) = (.retryLater, 503)
        // Proven, and about another app, or through another subscription: not this endpoint's, and nothing to keep. Pub/Sub
        // has it until an adapter that is configured for both takes it.
        case .misdirected where error.isAuthentic && provider == .google:
            (decision, status) = (.reject, 403)
        case _ where error.isAuthentic:
            (decision, status) = (.acceptAndQuarantine, 200)
        case .malformed:
            (decision, status) = (.reject, 400)
        default:
            (decision, status) = (.reject, provider == .stripe ? 400 : 401)
        }
    }
}
