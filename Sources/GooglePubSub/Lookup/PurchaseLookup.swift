import FoundationEssentials
import LifecycleEvents
import WireJSON

/// Asks all that one notification gives reason to ask, or the host about one purchase.
struct PurchaseLookup {
    /// How long to wait before asking again.
    private static let pause: Duration = .seconds(2)
    /// How often a purchase is asked for whose answers lag behind.
    private static let attempts = 3

    private let api: PlayDeveloperAPI
    private let configuration: GooglePlayAdapter.Configuration
    private let packageName: String
    private let receivedAt: Date
    /// The time of the notification's event; nil if the host itself asks.
    private let eventTime: Date?
    private var lookups: [GoogleResolution.Lookup] = []

    /// - Parameter eventTime: the time of the notification's event; nil if the host itself asks.
    init(
        api: PlayDeveloperAPI,
        configuration: GooglePlayAdapter.Configuration,
        packageName: String,
        receivedAt: Date,
        eventTime: Date? = nil
    ) {
        self.api = api
        self.configuration = configuration
        self.packageName = packageName
        self.receivedAt = receivedAt
        self.eventTime = eventTime
    }

    /// Asks about a purchase.
    mutating func run(
        _ kind: GooglePurchase.Kind,
        _ token: PurchaseToken
    ) async throws(DeliveryError) -> [GoogleResolution.Lookup] {
        switch kind {
        case .subscription: try await chargedOrder(of: try await subscription(token))
        case .product: try await chargedOrder(of: try await product(token))
        }
        return lookups
    }

    /// Looks up the notification's subject.
    ///
    /// - Parameter row: the row of the list of voided purchases, if it is known without a question.
    mutating func run(
        _ content: DeveloperNotification.Content,
        voided row: PlayAnswer? = nil
    ) async throws(DeliveryError) -> [GoogleResolution.Lookup] {
        switch content {
        case .subscription(let hint):
            let answer = try await subscription(hint.purchaseToken, .subscription(hint.type))
            if [.recovered, .renewed, .purchased].contains(hint.type) { try await chargedOrder(of: answer) }
        case .oneTimeProduct(let hint):
            let answer = try await product(hint.purchaseToken, .oneTimeProduct(hint.type))
            if hint.type == .purchased { try await chargedOrder(of: answer) }
        case .voidedPurchase(let hint):
            switch hint.productType {
            case .subscription?: try await subscription(hint.purchaseToken, .voidedSubscription(orderID: hint.orderID))
            case .oneTime?: try await product(hint.purchaseToken, .voidedProduct(hint.refundType))
            default: return lookups
            }
            try await voidedOrder(hint.orderID)
            if let row {
                lookups.append(.init(.voidedPurchase, about: hint.orderID, row))
            } else {
                try await voidedPurchase(hint)
            }
        case .pendingRefundReview, .test, .unknown:
            break
        }
        return lookups
    }

    // MARK: Purchases

    @discardableResult
    private mutating func subscription(
        _ token: PurchaseToken,
        _ expectation: Expectation? = nil
    ) async throws(DeliveryError) -> PlayAnswer {
        let (api, packageName, token) = (api, packageName, token.value)
        let answer = try await settled(expectation) {
            await api.subscription(purchaseToken: token, packageName: packageName)
        }
        try keep(.subscription, about: token, answer)
        try await predecessors(of: token, answer)
        return answer
    }

    @discardableResult
    private mutating func product(
        _ token: PurchaseToken,
        _ expectation: Expectation? = nil
    ) async throws(DeliveryError) -> PlayAnswer {
        let (api, packageName, token) = (api, packageName, token.value)
        let answer = try await settled(expectation) {
            await api.product(purchaseToken: token, packageName: packageName)
        }
        try keep(.product, about: token, answer)
        return answer
    }

    /// Follows `linkedPurchaseToken` to the oldest token that Google still knows. Each token is asked for once, so a
    /// circle ends where it closes.
    private mutating func predecessors(of token: String, _ answer: PlayAnswer) async throws(DeliveryError) {
        var seen: Set<[UInt8]> = [Array(token.utf8)]
        var answer = answer
        for _ in 0..<configuration.maximumPredecessors {
            guard let linked = answer.text("linkedPurchaseToken"), !linked.isEmpty,
                seen.insert(Array(linked.utf8)).inserted
            else { return }
            answer = await api.subscription(purchaseToken: linked, packageName: packageName)
            // The result of the purchase itself does not wait for rights to see those before it.
            try keepIfAllowed(.subscription, about: linked, answer)
        }
    }

    /// Asks again while the event is so new that servers may not agree on it yet.
    private func settled(
        _ expectation: Expectation?,
        _ ask: () async -> PlayAnswer
    ) async throws(DeliveryError) -> PlayAnswer {
        guard let expectation, let eventTime else { return await ask() }
        var attempt = 1
        while true {
            let answer = await ask()
            guard isSettling(eventTime, at: answer), !expectation.isMet(by: answer, at: eventTime) else {
                return answer
            }
            guard attempt < Self.attempts else {
                throw DeliveryError(
                    .unavailable,
                    "Google Play does not show what the notification says yet: \(answer)",
                    isAuthentic: true
                )
            }
            attempt += 1
            await api.pause(for: Self.pause)
        }
    }

    /// True if the event was new at the time of an answer. That is Google's time where it is stated: a notification may
    /// have waited here since it was received, and a clock of ours may be ahead.
    private func isSettling(_ eventTime: Date, at answer: PlayAnswer) -> Bool {
        let time = answer.answeredAt ?? receivedAt
        // An event of the future is not new forever. All times lie within years 0001…9999.
        let age = time.millisecondsSince1970 - eventTime.millisecondsSince1970
        return age.magnitude < configuration.settlingWindow.wholeMilliseconds.magnitude
    }

    // MARK: Orders

    private mutating func voidedOrder(_ orderID: String) async throws(DeliveryError) {
        guard configuration.orderLookup != .never else { return }
        let (api, packageName) = (api, packageName)
        let answer = try await settled(.voidedOrder) { await api.order(orderID, packageName: packageName) }
        try keepIfAllowed(.order, about: orderID, answer)
    }

    private mutating func chargedOrder(of answer: PlayAnswer) async throws(DeliveryError) {
        guard configuration.orderLookup == .charged else { return }
        for orderID in answer.paidOrderIDs {
            try keepIfAllowed(.order, about: orderID, await api.order(orderID, packageName: packageName))
        }
    }

    // MARK: Voided purchases

    /// The number of pages to read of the list, which has the purchases voided since shortly before the event.
    private static let voidedPages = 3

    private mutating func voidedPurchase(
        _ hint: DeveloperNotification.VoidedPurchaseHint
    ) async throws(DeliveryError) {
        guard configuration.looksUpVoidedPurchases else { return }
        var query = VoidedPurchasesQuery()
        query.from = eventTime?.addingTimeInterval(-3600)
        var pageToken: String?
        for _ in 0..<Self.voidedPages {
            let page = await api.voidedPurchases(packageName: packageName, query, pageToken: pageToken)
            guard page.outcome == .found else { return try keepIfAllowed(.voidedPurchase, about: hint.orderID, page) }
            // The list is about other customers too: only the row is kept.
            guard let row = page.voidedPurchaseRow(token: hint.purchaseToken, orderID: hint.orderID) else {
                pageToken = page.nextPageToken
                if pageToken == nil { return }
                continue
            }
            var answer = page
            answer.body = row
            return try keep(.voidedPurchase, about: hint.orderID, answer)
        }
    }

    // MARK: Outcomes

    private mutating func keep(
        _ resource: GoogleResolution.Lookup.Resource,
        about key: String,
        _ answer: PlayAnswer
    ) throws(DeliveryError) {
        switch answer.outcome {
        case .found, .done, .gone, .notFound, .invalid:
            lookups.append(.init(resource, about: key, answer))
        case .unavailable:
            throw DeliveryError(.unavailable, "\(resource): \(answer)", isAuthentic: isAuthentic)
        case .denied:
            // Without an access token, Google has said nothing about our rights, so the notification is not given up.
            let isFinal = isHopeless && !(isAuthentic && answer.isAboutAccessToken)
            throw DeliveryError(isFinal ? .denied : .unavailable, "\(resource): \(answer)", isAuthentic: isAuthentic)
        }
    }

    /// True if the event is old enough that rights would have been granted by now. The host's own question has no such
    /// limit.
    private var isHopeless: Bool {
        guard let eventTime else { return true }
        let age = receivedAt.millisecondsSince1970 - eventTime.millisecondsSince1970
        return age.magnitude > configuration.deniedRetryWindow.wholeMilliseconds.magnitude
    }

    /// True if a proven notification caused the look-up, and not an uploaded token.
    private var isAuthentic: Bool { eventTime != nil }

    /// Keeps an answer that needs a right of its own; without the right, only that part is missing.
    private mutating func keepIfAllowed(
        _ resource: GoogleResolution.Lookup.Resource,
        about key: String,
        _ answer: PlayAnswer
    ) throws(DeliveryError) {
        guard answer.outcome == .denied, !answer.isAboutAccessToken else {
            return try keep(resource, about: key, answer)
        }
        lookups.append(.init(resource, about: key, answer))
    }
}

extension PlayAnswer {
    /// A member of the resource that is a string.
    fileprivate func text(_ name: MemberName) -> String? {
        guard outcome == .found, let reader = try? ObjectReader(parsing: body) else { return nil }
        return try? reader.optionalString(name)
    }

    /// The last paid orders that the resource names.
    fileprivate var paidOrderIDs: [String] {
        guard outcome == .found, let reader = try? ObjectReader(parsing: body) else { return [] }
        var ids: [String] = []
        if let id = try? reader.optionalString("orderId") { ids.append(id) }
        if let items = try? reader.optionalArray("lineItems") {
            for item in items.prefix(50) {
                if let id = try? item.object()["latestSuccessfulOrderId"]?.string(), !ids.contains(id) {
                    ids.append(id)
                }
            }
        }
        return ids
    }
}
