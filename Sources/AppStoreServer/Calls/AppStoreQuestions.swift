import AppleJWS
public import LifecycleEvents

extension AppStoreServerClient: LineageQuestions {
    private static let maximumPages = 50

    /// Apple.
    public var provider: Provider { .apple }

    /// None: the client keeps to Apple's rates by itself, and a ``priority`` of `background` leaves a part of them to others.
    public var pace: Duration { .zero }

    /// Asks for the statuses of the customer's subscriptions, and for the transactions of this one since it was first heard of. Something
    /// that was bought once is a transaction, which is asked for by itself.
    ///
    /// The answer is incomplete if a part of it does not verify, or if there are more transactions than can be read.
    ///
    /// - Throws: `DeliveryError` with `unavailable`, `denied` or `malformed`.
    public func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        guard let lineage = question.name(in: .appStore, .macAppStore),
            let environment = environment(lineage.environment)
        else {
            return .unknown
        }
        do throws(AppStoreServerError) {
            let found =
                question.isSubscription
                ? try await subscription(question, named: lineage, in: environment)
                : Found(results: try await purchase(lineage, in: environment))
            guard let refused = found.refused else {
                return found.results.isEmpty ? .unknown : .stated(found.results)
            }
            guard !found.results.isEmpty else { throw refused }
            return .incomplete(found.results, because: refused.asDeliveryError("the App Store Server API").code)
        } catch {
            // A transaction that Apple does not know may be too recent, or of another app.
            if error.code == .notFound { return .unknown }
            throw error.asDeliveryError("the App Store Server API")
        }
    }

    /// The usable part of Apple's answers, and why the rest is not.
    private struct Found {
        var results: [Normalization] = []
        var refused: AppStoreServerError?
    }

    private func subscription(
        _ question: LineageQuestion,
        named lineage: SubscriptionID,
        in environment: Environment
    ) async throws(AppStoreServerError) -> Found {
        // The present is stated first, so that nothing older is taken for it.
        let answer = try await subscriptionStatuses(ofTransaction: lineage.id, in: environment)
        var found = Found(refused: answer.refused.first)
        for status in answer.subscriptions {
            found.results.append(try stated { () throws(DeliveryError) in try normalize(status) })
        }
        let own = answer.subscriptions.first { $0.transaction.value.originalTransactionID == lineage.id }
        var query = TransactionHistoryQuery()
        query.start = question.since
        if question.since == nil {
            // Not known yet, so it may have been bought once, as the last of more than can be read.
            if own == nil { found.results += try await purchase(lineage, in: environment) }
        } else if let group = own?.group {
            // The other purchases of the customer may be more than can be read, and are not asked about.
            query.groups = [group]
        }
        try await add(query, ofTransaction: lineage.id, in: environment, to: &found)
        return found
    }

    /// A transaction by itself; nothing if Apple does not know it.
    private func purchase(
        _ lineage: SubscriptionID,
        in environment: Environment
    ) async throws(AppStoreServerError) -> [Normalization] {
        do throws(AppStoreServerError) {
            let transaction = try await transaction(lineage.id, in: environment)
            return [try stated { () throws(DeliveryError) in try adapter.normalize(transaction) }]
        } catch {
            guard error.code == .notFound else { throw error }
            return []
        }
    }

    private func add(
        _ query: TransactionHistoryQuery,
        ofTransaction transaction: String,
        in environment: Environment,
        to found: inout Found
    ) async throws(AppStoreServerError) {
        var revision: String?
        for _ in 0..<Self.maximumPages {
            let page = try await transactionHistory(
                ofTransaction: transaction,
                query,
                revision: revision,
                in: environment
            )
            for transaction in page.transactions {
                found.results.append(try stated { () throws(DeliveryError) in try adapter.normalize(transaction) })
            }
            found.refused = found.refused ?? page.refused.first
            guard page.hasMore else { return }
            guard let next = page.revision, next != revision else { break }
            revision = next
        }
        found.refused = AppStoreServerError(.unreadable, "answer: more transactions than can be read")
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
