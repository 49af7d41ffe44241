public import AppleJWS
public import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

extension AppStoreServerClient {
    /// One transaction (<https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info>).
    ///
    /// - Throws: ``AppStoreServerError``; `notFound` says nothing about access.
    public func transaction(
        _ id: String,
        in environment: Environment? = nil
    ) async throws(AppStoreServerError) -> Authenticated<AppleTransaction> {
        let call = Call(endpoint: .transaction, path: ["v1", "transactions", try Self.identifier(id)])
        let answer = try await answer(to: call, in: environment)
        let jws = try Self.reading { () throws(JSONError) in try answer.reader.string("signedTransactionInfo") }
        return try await transaction(jws.utf8, from: answer)
    }

    /// The app transaction of the customer behind any of their transactions
    /// (<https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info>).
    ///
    /// - Throws: ``AppStoreServerError``.
    public func appTransaction(
        ofTransaction id: String,
        in environment: Environment? = nil
    ) async throws(AppStoreServerError) -> Authenticated<AppleAppTransaction> {
        let call = Call(
            endpoint: .appTransaction,
            path: ["v1", "transactions", "appTransactions", try Self.identifier(id)]
        )
        let answer = try await answer(to: call, in: environment)
        let jws = try Self.reading { () throws(JSONError) in try answer.reader.string("signedAppTransactionInfo") }
        let appTransaction = try await verifying { () throws(DeliveryError) in
            try adapter.verifier.appTransaction(jws.utf8, receivedAt: answer.receivedAt, channel: .refetch)
        }
        try Self.require(appTransaction.value.environment, answer.environment)
        return appTransaction
    }

    /// Every transaction of an order id from a customer's e-mailed receipt
    /// (<https://developer.apple.com/documentation/appstoreserverapi/look-up-order-id>). Production alone knows order ids.
    ///
    /// - Returns: the transactions; nil if Apple calls the order id invalid.
    /// - Throws: ``AppStoreServerError``.
    public func transactions(
        ofOrder order: String
    ) async throws(AppStoreServerError) -> TransactionPage? {
        guard (1...64).contains(order.utf8.count) else {
            throw AppStoreServerError(.invalidRequest, "an order id must have 1 to 64 bytes, not \(order.utf8.count)")
        }
        let call = Call(endpoint: .order, path: ["v1", "lookup", .init(order)])
        let answer = try await answer(to: call, in: .production)
        let status = try Self.reading { () throws(JSONError) in try answer.reader.int64("status") }
        guard status == 0 else { return nil }
        return try await page(answer, isRevised: false)
    }
}

/// A page of a customer's transactions.
public struct TransactionPage: Sendable {
    /// The transactions whose signature verified.
    public var transactions: [Authenticated<AppleTransaction>]
    /// Why others were left out.
    public var refused: [AppStoreServerError]
    /// Names this point of the list. Keep it: if you ask from here later, Apple answers with new and changed
    /// transactions only.
    public var revision: String?
    /// True if there are more pages.
    public var hasMore: Bool
}

/// Which of a customer's transactions to ask for
/// (<https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history>).
public struct TransactionHistoryQuery: Hashable, Sendable {
    /// The kinds of products.
    public var productTypes: [AppleTransaction.ProductType] = []
    /// The products.
    public var products: [String] = []
    /// The subscription groups.
    public var groups: [String] = []
    /// The earliest moment.
    public var start: Date?
    /// The latest moment.
    public var end: Date?
    /// Only those that were, or were not, revoked.
    public var revoked: Bool?

    /// Asks for everything, the oldest first.
    public init() {}

    var items: [HTTPSURL.QueryItem] {
        var items: [HTTPSURL.QueryItem] = [.init("sort", "ASCENDING")]
        items += productTypes.compactMap { type in Self.names[type.rawValue].map { .init("productType", $0) } }
        items += products.map { .init("productId", $0) }
        items += groups.map { .init("subscriptionGroupIdentifier", $0) }
        if let start { items.append(.init("startDate", String(start.millisecondsSince1970))) }
        if let end { items.append(.init("endDate", String(end.millisecondsSince1970))) }
        if let revoked { items.append(.init("revoked", String(revoked))) }
        return items
    }

    /// The query names kinds of products otherwise than transactions do.
    private static let names = [
        "Auto-Renewable Subscription": "AUTO_RENEWABLE", "Non-Renewing Subscription": "NON_RENEWABLE",
        "Consumable": "CONSUMABLE", "Non-Consumable": "NON_CONSUMABLE",
    ]
}

extension AppStoreServerClient {
    /// One page of everything that a customer bought, finished consumables included.
    ///
    /// - Parameters:
    ///   - transaction: any transaction of the customer.
    ///   - query: the filters and order.
    ///   - revision: ``TransactionPage/revision`` of the page before, or of the last page that was read some time ago,
    ///     with the same query.
    ///   - environment: the server to ask; without it the configured ones, in their order.
    /// - Throws: ``AppStoreServerError``.
    public func transactionHistory(
        ofTransaction transaction: String,
        _ query: TransactionHistoryQuery = TransactionHistoryQuery(),
        revision: String? = nil,
        in environment: Environment? = nil
    ) async throws(AppStoreServerError) -> TransactionPage {
        let call = Call(
            endpoint: .transactionHistory,
            path: ["v2", "history", try Self.identifier(transaction)],
            query: query.items + (revision.map { [.init("revision", $0)] } ?? [])
        )
        return try await page(try await answer(to: call, in: environment), isRevised: true)
    }

    /// One page of everything that was refunded to a customer
    /// (<https://developer.apple.com/documentation/appstoreserverapi/get-refund-history>).
    ///
    /// - Throws: ``AppStoreServerError``.
    public func refundHistory(
        ofTransaction transaction: String,
        revision: String? = nil,
        in environment: Environment? = nil
    ) async throws(AppStoreServerError) -> TransactionPage {
        let call = Call(
            endpoint: .refundHistory,
            path: ["v2", "refund", "lookup", try Self.identifier(transaction)],
            query: revision.map { [.init("revision", $0)] } ?? []
        )
        return try await page(try await answer(to: call, in: environment), isRevised: true)
    }

    private func page(_ answer: Answer, isRevised: Bool) async throws(AppStoreServerError) -> TransactionPage {
        let list = try Self.reading { () throws(JSONError) in try answer.reader.optionalArray("signedTransactions") }
        let (verified, refused) = try await transactions(list, from: answer)
        return try Self.reading { () throws(JSONError) in
            TransactionPage(
                transactions: verified,
                refused: refused,
                revision: isRevised ? try answer.reader.optionalString("revision") : nil,
                hasMore: isRevised ? try answer.reader.optionalBool("hasMore") ?? false : false
            )
        }
    }
}
