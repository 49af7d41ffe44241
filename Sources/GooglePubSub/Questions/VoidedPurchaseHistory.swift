public import FoundationEssentials
public import LifecycleEvents

/// The purchases that Google Play has voided, for a backfill (`purchases.voidedpurchases.list`): refunds and chargebacks whose notification was
/// lost, or never sent, as of one-time purchases before those notifications were switched on.
///
/// Each row becomes the notification that Google sends about it, and is resolved like it. Google keeps no other
/// notifications beyond Pub/Sub's: seek the subscription to the time of the outage.
public struct VoidedPurchaseHistory: DeliveryHistory {
    private let adapter: GooglePlayAdapter
    private let api: PlayDeveloperAPI
    private let packageName: String

    init(_ adapter: GooglePlayAdapter, _ api: PlayDeveloperAPI, packageName: String) {
        (self.adapter, self.api, self.packageName) = (adapter, api, packageName)
    }

    /// `google/<package>/voided`
    public var name: String { "google/\(packageName)/voided" }

    /// Google.
    public var provider: Provider { .google }

    /// 30 days, less an hour.
    public var reach: Duration { .seconds(30 * 86_400 - 3600) }

    /// True for the app.
    public func lists(_ event: NormalizedEvent) -> Bool { event.provider == provider && event.app == packageName }

    /// The list that a page is of. A row does not name a subscription: rows on the second list that are no subscription
    /// are also on the first.
    private struct Position {
        var listsSubscriptions = false
        var token: String?

        init(_ text: String?) {
            guard let text else { return }
            listsSubscriptions = text.hasPrefix("subscriptions")
            token = text.firstIndex(of: "/").map { String(text[text.index(after: $0)...]) }
        }

        init(listsSubscriptions: Bool, token: String?) {
            (self.listsSubscriptions, self.token) = (listsSubscriptions, token)
        }

        var text: String { (listsSubscriptions ? "subscriptions" : "products") + (token.map { "/\($0)" } ?? "") }
    }

    /// Reads a page of a hundred. A row says who voided the purchase, and why, as the list does with
    /// ``GooglePlayAdapter/Configuration/looksUpVoidedPurchases``.
    public func page(
        of window: Range<Date>,
        at position: String?
    ) async throws(DeliveryError) -> DeliveryHistoryPage {
        let isResumed = position != nil
        let position = Position(position)
        var query = VoidedPurchasesQuery()
        query.includesSubscriptions = position.listsSubscriptions
        query.pageSize = 100
        (query.from, query.until) = (window.lowerBound, window.upperBound)
        let answer = await api.voidedPurchases(packageName: packageName, query, pageToken: position.token)
        guard answer.outcome == .found, let answeredAt = answer.answeredAt else {
            let code: DeliveryError.Code =
                switch answer.outcome {
                case .denied: .denied
                // The window is older than the position, also where that begins the second list.
                case .invalid, .notFound, .gone: isResumed ? .stale : .malformed
                default: .unavailable
                }
            throw DeliveryError(code, "voided purchases: \(answer)")
        }
        var page = DeliveryHistoryPage([])
        for (row, octets) in try answer.voidedPurchaseRows() {
            if position.listsSubscriptions, try await !isSubscription(row) { continue }
            var shown = answer
            shown.body = octets
            let result = try await outcome(
                of: row,
                shownBy: shown,
                isSubscription: position.listsSubscriptions,
                at: answeredAt
            )
            page.entries.append(.init(nil, result))
            await api.pause(for: adapter.pace)
        }
        if let next = answer.nextPageToken, next != position.token {
            page.next = Position(listsSubscriptions: position.listsSubscriptions, token: next).text
        } else if !position.listsSubscriptions {
            page.next = Position(listsSubscriptions: true, token: nil).text
        }
        return page
    }

    /// Google calls the token of a one-time purchase gone as well if it is asked about a subscription.
    private func isSubscription(_ row: VoidedPurchase) async throws(DeliveryError) -> Bool {
        let answer = await api.subscription(purchaseToken: row.purchaseToken.value, packageName: packageName)
        switch answer.outcome {
        case .found, .done: return true
        case .notFound, .invalid: return false
        case .denied, .unavailable: throw answer.error(about: "a voided purchase")
        case .gone: break
        }
        let product = await api.product(purchaseToken: row.purchaseToken.value, packageName: packageName)
        guard product.outcome != .denied, product.outcome != .unavailable else {
            throw product.error(about: "a voided purchase")
        }
        return product.outcome != .found
    }

    private struct Notification: Encodable {
        struct Voided: Encodable {
            var purchaseToken: PurchaseToken
            var orderId: String
            var productType: Int
            var refundType: Int
        }

        var version = "1.0"
        var packageName: String
        var eventTimeMillis: String
        var voidedPurchaseNotification: Voided
    }

    /// - Parameter shown: the row as the list has it, so that the list is not asked for again.
    private func outcome(
        of row: VoidedPurchase,
        shownBy shown: PlayAnswer,
        isSubscription: Bool,
        at time: Date
    ) async throws(DeliveryError) -> Result<Normalization, DeliveryError> {
        let notification = Notification(
            packageName: packageName,
            eventTimeMillis: String((row.voidedTime ?? time).millisecondsSince1970),
            voidedPurchaseNotification: .init(
                purchaseToken: row.purchaseToken,
                orderId: row.orderID,
                productType: isSubscription ? 1 : 2,
                refundType: row.quantity == nil ? 1 : 2
            )
        )
        guard let payload = try? CanonicalJSON.bytes(notification) else {
            return .failure(DeliveryError(.malformed, "a voided purchase cannot be written"))
        }
        do throws(DeliveryError) {
            let proven = Authenticated(
                GoogleNotification(
                    message: PubSubMessage(data: payload),
                    content: try DeveloperNotification(payload: payload)
                ),
                receivedAt: time,
                channel: .history,
                evidence: Origin.Evidence(.tls),
                digest: BodyDigest(of: payload)
            )
            return .success(try adapter.normalize(try await adapter.resolve(proven, voided: shown)))
        } catch {
            guard error.code != .unavailable, error.code != .denied else { throw error }
            return .failure(error)
        }
    }
}

extension GooglePlayAdapter {
    /// The purchases of an app that Google Play has voided, for a journal's `backfill(from:)`; nil if there is no API to ask.
    public func voidedPurchases(of packageName: String) -> VoidedPurchaseHistory? {
        api.map { VoidedPurchaseHistory(self, $0, packageName: packageName) }
    }
}
