import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

extension RevenueCatClient: LineageQuestions {
    /// RevenueCat.
    public var provider: Provider { .revenuecat }

    /// Four a second, half of the 480 a minute that the newer version of the API allows.
    public var pace: Duration { .milliseconds(250) }

    /// Asks how RevenueCat shows a purchase: by its transaction, or with the older version of the API by its customers.
    ///
    /// The newer version names a product by an id of its own, which it is asked about once.
    ///
    /// - Throws: `DeliveryError` with `unavailable`, `denied` or `malformed`.
    public func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        do throws(DeliveryError) {
            return try await answer(question)
        } catch {
            throw error.asAnswer
        }
    }

    private func answer(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        guard !question.namesOnlyTransaction, let lineage = question.names.first(where: isName) else { return .unknown }
        if question.isSubscription {
            guard var subscription = try await subscription(question, lineage) else { return .unknown }
            subscription.aliases += try await aliases(of: subscription.customerID, question)
            subscription.product = try await product(of: subscription, in: lineage)
            let statement = subscription.statement(
                about: lineage,
                product: subscription.productReference == nil ? question.product : nil,
                at: question.askedAt
            )
            return .stated([Normalization(noChange: .init(.unchanged, statement: statement))])
        }
        var found: [StoreStatement] = []
        for var purchase in try await purchases(question, lineage) {
            purchase.originalTransaction = lineage.id
            purchase.aliases += try await aliases(of: purchase.customerID, question)
            purchase.product = try await product(purchase.product, purchase.productReference, in: lineage.store)
            found += purchase.statements(
                product: purchase.productReference == nil ? question.product : nil,
                at: question.askedAt
            )
        }
        guard let first = found.first else { return .unknown }
        return .stated([
            Normalization(
                noChange: .init(.unchanged, statement: first),
                furtherStatements: Array(found.dropFirst())
            )
        ])
    }

    /// The product in the store's words. The one that is known already may have been changed since, so it stands in only where
    /// RevenueCat names none at all.
    private func product(
        _ stated: PurchasedProduct?,
        _ reference: String?,
        in store: PurchaseStore
    ) async throws(DeliveryError) -> PurchasedProduct? {
        guard stated == nil, let reference else { return stated }
        return try await products.storeIdentifier(of: reference) { (reference) async throws(DeliveryError) in
            try await storeIdentifier(ofProduct: reference)
        }
        .map { PurchaseStatement.product($0, store) }
    }

    // Google's own names of purchases are digests of tokens, which RevenueCat does not know.
    private func isName(_ lineage: SubscriptionID) -> Bool {
        lineage.store != .playStore || lineage.id.hasPrefix("GPA.")
    }

    /// RevenueCat's ids of the customer.
    private func customerIDs(_ question: LineageQuestion) -> [String] {
        question.accounts.filter { $0.source == .appUserID }.map(\.id)
    }

    /// The customer's other ids, if the newer version names it by one that no statement has named: it may have the purchase by another id
    /// (<https://www.revenuecat.com/docs/customers/user-ids>). One that is known suffices, since it leads to the others. A key without the
    /// permission to read them leaves them out.
    private func aliases(
        of customer: String?,
        _ question: LineageQuestion
    ) async throws(DeliveryError) -> [String] {
        func isKnown(_ id: String) -> Bool { question.accounts.contains(Account.Identifier(id, .appUserID)) }
        guard case .v2(let project) = api, let customer, !isKnown(customer) else { return [] }
        let path: [HTTPSURL.PathSegment] = [
            "v2", "projects", HTTPSURL.PathSegment(project), "customers", HTTPSURL.PathSegment(customer), "aliases",
        ]
        try? await clock.sleep(for: pace)
        do throws(DeliveryError) {
            let ids = try await pages(path, until: { $0.contains(where: isKnown) }, Self.ids)?.items ?? []
            return ids.filter { $0 != customer && !$0.isEmpty }
        } catch {
            guard (error.underlying as? RevenueCatAPIError)?.status == 403 else { throw error }
            return []
        }
    }

    private static func ids(_ body: [UInt8]) throws(JSONError) -> (items: [String], nextPage: String?) {
        let reader = try ObjectReader(parsing: body)
        var ids: [String] = []
        for value in try reader.array("items") { ids.append(try ObjectReader(value).string("id")) }
        return (ids, try reader.optionalString("next_page"))
    }

    /// The subscription that the question is about: of several that give access alike, the one with the known product.
    private func subscription(
        _ question: LineageQuestion,
        _ lineage: SubscriptionID
    ) async throws(DeliveryError) -> RevenueCatSubscription? {
        let found = try await subscriptions(question, lineage)
        let equals = found.equals
        guard equals.count > 1, let known = question.product else { return found.current }
        var own: [RevenueCatSubscription] = []
        for subscription in equals {
            let product = try await product(of: subscription, in: lineage)
            if product.map(RevenueCatSubscription.name)?.mayBe(known) == true { own.append(subscription) }
        }
        return own.current ?? found.current
    }

    private func product(
        of subscription: RevenueCatSubscription,
        in lineage: SubscriptionID
    ) async throws(DeliveryError) -> PurchasedProduct? {
        try await product(subscription.product, subscription.productReference, in: lineage.store)
    }

    private func subscriptions(
        _ question: LineageQuestion,
        _ lineage: SubscriptionID
    ) async throws(DeliveryError) -> [RevenueCatSubscription] {
        guard api == .v1 else {
            return try await subscriptions(withTransaction: lineage.id).filter { $0.environment == lineage.environment }
        }
        for customer in customerIDs(question) {
            guard case .known(let subscriptions) = try await self.customer(customer) else { continue }
            if let found = CustomerEntries(subscriptions).subscription(of: question) { return [found] }
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
        for customer in customerIDs(question) {
            guard case .known(let purchases) = try await purchases(ofCustomer: customer) else { continue }
            let found = purchases.filter { $0.lineage == lineage }
            if !found.isEmpty { return found }
        }
        return []
    }
}

extension DeliveryError {
    /// The error of a question that no webhook has caused: refused credentials, and an answer that cannot be used, have codes of
    /// their own. A webhook that is looked up waits for a better answer in both cases.
    var asAnswer: DeliveryError {
        guard code == .unavailable else { return self }
        var error = self
        switch underlying {
        case let refused as RevenueCatAPIError where refused.status == 401 || refused.status == 403:
            error.code = .denied
        case let refused as RevenueCatAPIError where refused.isStated && !refused.isRetryable && refused.status < 500:
            error.code = .malformed
        case let unread as JSONError where unread.isOfSoundDocument: error.code = .malformed
        default: break
        }
        return error
    }
}

extension JSONError {
    /// True if the document is JSON, so that the provider itself has written it, and no proxy.
    fileprivate var isOfSoundDocument: Bool {
        switch reason {
        case .invalidUTF8, .loneSurrogate, .duplicateMember, .missing, .unexpectedKind, .notAnInteger,
            .integerOutOfRange, .decimalOutOfRange:
            true
        default: false
        }
    }
}
