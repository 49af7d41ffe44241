import FoundationEssentials
public import LifecycleEvents

extension StripeAdapter: LineageQuestions {
    /// Twenty a second. Stripe takes 100 requests a second in live mode, and 25 in test mode
    /// (https://docs.stripe.com/rate-limits).
    public var pace: Duration { .milliseconds(50) }

    /// Asks about a subscription; a one-time purchase has no object to ask about.
    ///
    /// - Throws: `DeliveryError` as ``receive(subscription:account:receivedAt:)``.
    public func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        guard let lineage = question.name(in: .stripe), question.isSubscription, history() != nil else {
            return .unknown
        }
        // The name of a connected account's purchase begins with the account.
        let parts = lineage.id.split(separator: "/", maxSplits: 1).map(String.init)
        guard let id = parts.last, id.hasPrefix("sub_") else { return .unknown }
        do throws(DeliveryError) {
            let result = try await receive(
                subscription: id,
                account: parts.count > 1 ? parts[0] : nil,
                receivedAt: question.askedAt
            )
            return .stated([result])
        } catch {
            // Stripe does not know it under our key, or it is of the other mode.
            guard error.code == .misdirected else { throw error }
            return .unknown
        }
    }
}
