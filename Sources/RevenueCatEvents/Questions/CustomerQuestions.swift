import FoundationEssentials
public import LifecycleEvents

extension RevenueCatClient: LineageQuestions {
    /// RevenueCat.
    public var provider: Provider { .revenuecat }

    /// Four a second, half of the 480 a minute that the newer version of the API allows.
    public var pace: Duration { .milliseconds(250) }

    /// Asks how RevenueCat shows a purchase: by its transaction, or with the older version of the API by its customers.
    ///
    /// - Throws: `DeliveryError` with `unavailable` or `malformed`.
    public func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        guard let lineage = question.names.first(where: isName) else { return .unknown }
        if question.isSubscription {
            let found = try await subscriptions(question, lineage).max {
                ($0.period?.start ?? .distantPast) < ($1.period?.start ?? .distantPast)
            }
            return found.map { subscription in
                .stated([
                    Normalization(
                        noChange: .init(
                            .unchanged,
                            statement: subscription.statement(
                                about: lineage,
                                product: question.product,
                                at: question.askedAt
                            )
                        )
                    )
                ])
            } ?? .unknown
        }
        let found = try await purchases(question, lineage).flatMap { purchase in
            var purchase = purchase
            purchase.originalTransaction = lineage.id
            return purchase.statements(product: question.product, at: question.askedAt)
        }
        guard let first = found.first else { return .unknown }
        return .stated([
            Normalization(
                noChange: .init(.unchanged, statement: first),
                furtherStatements: Array(found.dropFirst())
            )
        ])
    }

    // Google's own names of purchases are digests of tokens, which RevenueCat does not know.
    private func isName(_ lineage: SubscriptionID) -> Bool {
        lineage.store != .playStore || lineage.id.hasPrefix("GPA.")
    }

    /// RevenueCat's ids of the customer.
    private func customers(_ question: LineageQuestion) -> [String] {
        question.accounts.filter { $0.source == .appUserID }.map(\.id)
    }

    private func subscriptions(
        _ question: LineageQuestion,
        _ lineage: SubscriptionID
    ) async throws(DeliveryError) -> [RevenueCatSubscription] {
        guard api == .v1 else {
            return try await subscriptions(withTransaction: lineage.id).filter { $0.environment == lineage.environment }
        }
        for customer in customers(question) {
            guard case .known(let subscriptions) = try await self.customer(customer) else { continue }
            let found = subscriptions.filter {
                $0.isSold(in: lineage) && $0.product.map(RevenueCatSubscription.name) == question.product
            }
            if !found.isEmpty { return found }
        }
        return []
    }

    private func purchases(
        _ question: LineageQuestion,
        _ lineage: SubscriptionID
    ) async throws(DeliveryError) -> [RevenueCatPurchase] {
        guard api == .v1 else {
            return try await purchases(withTransaction: lineage.id).filter { $0.environment == lineage.environment }
        }
        for customer in customers(question) {
            guard case .known(let purchases) = try await purchases(ofCustomer: customer) else { continue }
            let found = purchases.filter { $0.lineage == lineage }
            if !found.isEmpty { return found }
        }
        return []
    }
}

extension RevenueCatSubscription {
    /// True if it is of the store and environment of a lineage.
    fileprivate func isSold(in lineage: SubscriptionID) -> Bool {
        (store == .macAppStore ? .appStore : store) == lineage.store && environment == lineage.environment
    }
}
