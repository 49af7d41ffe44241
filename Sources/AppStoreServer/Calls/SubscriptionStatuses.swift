public import AppleJWS
import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

/// How one subscription of a customer stands now.
public struct AppleSubscriptionStatus: Sendable {
    /// The group that the subscription is in.
    public var group: String?
    /// Apple's word on it at the time of the answer.
    public var status: AppleNotification.Status
    /// The latest transaction.
    public var transaction: Authenticated<AppleTransaction>
    /// How it renews.
    public var renewalInfo: Authenticated<AppleRenewalInfo>?
}

/// The subscriptions of one customer in every group, and the unusable parts of the answer.
public struct AppleSubscriptionStatuses: Sendable {
    /// The subscriptions whose signed data verified.
    public var subscriptions: [AppleSubscriptionStatus]
    /// Why others were left out.
    public var refused: [AppStoreServerError]
}

extension AppStoreServerClient {
    /// How all subscriptions of a customer stand, in every group
    /// (<https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses>).
    ///
    /// An answer is complete: a transaction without `revocationDate` is not refunded, whatever was heard
    /// before. Members of a family have subscriptions of their own, and are asked about by their own transactions.
    ///
    /// - Parameters:
    ///   - transaction: any transaction of the customer.
    ///   - statuses: only subscriptions with one of these; empty means all.
    ///   - environment: the server to ask; absent, each configured one until it knows the transaction.
    /// - Throws: ``AppStoreServerError``.
    public func subscriptionStatuses(
        ofTransaction transaction: String,
        statuses: [AppleNotification.Status] = [],
        in environment: Environment? = nil
    ) async throws(AppStoreServerError) -> AppleSubscriptionStatuses {
        let call = Call(
            endpoint: .statuses,
            path: ["v1", "subscriptions", try Self.identifier(transaction)],
            query: statuses.map { .init("status", String($0.rawValue)) }
        )
        let answer = try await answer(to: call, in: environment)
        var result = AppleSubscriptionStatuses(subscriptions: [], refused: [])
        for row in try Self.reading({ () throws(JSONError) in try Self.rows(of: answer) }) {
            do throws(AppStoreServerError) {
                result.subscriptions.append(try await subscription(row, from: answer))
            } catch {
                result.refused.append(error)
            }
        }
        return result
    }

    private struct Row {
        var group: String?
        var status: Int64
        var transaction: [UInt8]
        var renewalInfo: [UInt8]?
    }

    private static func rows(of answer: Answer) throws(JSONError) -> [Row] {
        var rows: [Row] = []
        for element in try answer.reader.optionalArray("data").map(Array.init) ?? [] {
            let group = try ObjectReader(element)
            let name = try group.optionalString("subscriptionGroupIdentifier")
            for last in try group.optionalArray("lastTransactions").map(Array.init) ?? [] {
                let reader = try ObjectReader(last)
                rows.append(
                    Row(
                        group: name,
                        status: try reader.int64("status"),
                        transaction: Array(try reader.string("signedTransactionInfo").utf8),
                        renewalInfo: try reader.optionalString("signedRenewalInfo").map { Array($0.utf8) }
                    )
                )
            }
        }
        return rows
    }

    private func subscription(
        _ row: Row,
        from answer: Answer
    ) async throws(AppStoreServerError) -> AppleSubscriptionStatus {
        var renewal: Authenticated<AppleRenewalInfo>?
        if let jws = row.renewalInfo { renewal = try await renewalInfo(jws, from: answer) }
        return AppleSubscriptionStatus(
            group: row.group,
            status: .init(rawValue: row.status),
            transaction: try await transaction(row.transaction, from: answer),
            renewalInfo: renewal
        )
    }

    /// Maps a status to the facts and the event ids that a notification of the same moment gives.
    ///
    /// - Throws: `DeliveryError` with `misdirected` if transaction and renewal info are of different subscriptions.
    public func normalize(_ status: AppleSubscriptionStatus) throws(DeliveryError) -> Normalization {
        try adapter.normalize(status.transaction, renewalInfo: status.renewalInfo?.value, status: status.status)
    }

    /// An identifier as a segment of a path. Apple's are digits.
    static func identifier(_ id: String) throws(AppStoreServerError) -> HTTPSURL.PathSegment {
        guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw AppStoreServerError(
                .invalidRequest,
                "a transaction id must be digits, not \(id.utf8.count) bytes of other text"
            )
        }
        return .init(id)
    }
}
