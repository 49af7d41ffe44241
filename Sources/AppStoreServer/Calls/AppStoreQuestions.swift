import AppleJWS
public import LifecycleEvents

extension AppStoreServerClient: LineageQuestions {
    private static let maximumPages = 50

    /// Apple.
    public var provider: Provider { .apple }

    /// None: the client keeps to Apple's rates by itself, and a ``priority`` of `background` leaves a part of them to others.
    public var pace: Duration { .zero }

    /// Asks for the statuses of the customer's subscriptions, and for the transactions since the purchase was first heard of.
    ///
    /// - Throws: `DeliveryError` with `unavailable`, `denied` or `malformed`.
    public func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        guard let lineage = question.name(in: .appStore, .macAppStore),
            let environment = environment(lineage.environment)
        else {
            return .unknown
        }
        do throws(AppStoreServerError) {
            var results: [Normalization] = []
            // The present is stated first, so that nothing older is taken for it.
            if question.isSubscription {
                let answer = try await subscriptionStatuses(ofTransaction: lineage.id, in: environment)
                for status in answer.subscriptions {
                    results.append(try stated { () throws(DeliveryError) in try normalize(status) })
                }
                if answer.subscriptions.isEmpty, let refused = answer.refused.first { throw refused }
            }
            for transaction in try await transactions(since: question, of: lineage, in: environment) {
                results.append(try stated { () throws(DeliveryError) in try adapter.normalize(transaction) })
            }
            return results.isEmpty ? .unknown : .stated(results)
        } catch {
            // A transaction that Apple does not know may be too recent, or of another app.
            if error.code == .notFound { return .unknown }
            throw error.asDeliveryError("the App Store Server API")
        }
    }

    private func transactions(
        since question: LineageQuestion,
        of lineage: SubscriptionID,
        in environment: Environment
    ) async throws(AppStoreServerError) -> [Authenticated<AppleTransaction>] {
        var query = TransactionHistoryQuery()
        query.start = question.since
        var transactions: [Authenticated<AppleTransaction>] = []
        var revision: String?
        for _ in 0..<Self.maximumPages {
            let page = try await transactionHistory(
                ofTransaction: lineage.id,
                query,
                revision: revision,
                in: environment
            )
            transactions += page.transactions
            guard page.hasMore, let next = page.revision, next != revision else { break }
            revision = next
        }
        return transactions
    }

    private func stated(
        _ normalize: () throws(DeliveryError) -> Normalization
    ) throws(AppStoreServerError) -> Normalization {
        do throws(DeliveryError) {
            return try normalize()
        } catch {
            throw AppStoreServerError(.unreadable, "an answer cannot be mapped: \(error.code)", underlying: error)
        }
    }
}
