import FoundationEssentials
import Normalizer
import WireJSON

/// Asks all that one notification gives reason to ask.
struct PurchaseLookup {
    /// For how long after an event Google's servers may disagree about it.
    private static let settlingTime: Int64 = 60_000
    /// How long to wait before asking again.
    private static let pause: Duration = .seconds(2)
    /// How often a new purchase is asked for that is not found.
    private static let attempts = 3

    private let api: PlayDeveloperAPI
    private let configuration: GooglePlayConfiguration
    private let packageName: String
    private let subject: LookupSubject
    /// Milliseconds between the event and its receipt.
    private let age: Int64
    private var lookups: [GoogleResolution.Lookup] = []

    init(
        api: PlayDeveloperAPI,
        configuration: GooglePlayConfiguration,
        content: DeveloperNotification,
        receivedAt: Date
    ) {
        self.api = api
        self.configuration = configuration
        packageName = content.packageName
        subject = content.subject
        // Both lie within years 0001…9999.
        age = receivedAt.millisecondsSince1970 - content.eventTime.millisecondsSince1970
    }

    private var isFresh: Bool { age < Self.settlingTime }

    mutating func run() async throws(DeliveryError) -> [GoogleResolution.Lookup] {
        switch subject {
        case .subscription(let token, let type):
            let answer = try await subscription(token, Hint(subscriptionType: type))
            if [1, 2, 4].contains(type) { try await chargedOrder(of: answer) }
        case .oneTimeProduct(let token, let type):
            let answer = try await product(token, Hint(oneTimeType: type))
            if type == 1 { try await chargedOrder(of: answer) }
        case .voidedSubscription(let token, let orderID):
            try await subscription(token, nil)
            try await voidedOrder(orderID)
        case .voidedProduct(let token, let orderID):
            try await product(token, nil)
            try await voidedOrder(orderID)
        case .nothing:
            break
        }
        return lookups
    }

    // MARK: Purchases

    @discardableResult
    private mutating func subscription(_ token: String, _ hint: Hint?) async throws(DeliveryError) -> PlayAnswer {
        let (api, packageName) = (api, packageName)
        let answer = try await settled(hint) { await api.subscription(purchaseToken: token, packageName: packageName) }
        try keep(.subscription, token, answer)
        try await predecessors(of: token, answer)
        return answer
    }

    @discardableResult
    private mutating func product(_ token: String, _ hint: Hint?) async throws(DeliveryError) -> PlayAnswer {
        let (api, packageName) = (api, packageName)
        let answer = try await settled(hint) { await api.product(purchaseToken: token, packageName: packageName) }
        try keep(.product, token, answer)
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
            try keep(.subscription, linked, answer)
        }
    }

    /// Asks again while the event is so new that servers may not agree on it yet.
    private func settled(
        _ hint: Hint?,
        _ ask: () async -> PlayAnswer
    ) async throws(DeliveryError) -> PlayAnswer {
        var answer = await ask()
        guard let hint, isFresh else { return answer }
        if hint.isPurchase {
            var attempt = 1
            while answer.outcome == .notFound, attempt < Self.attempts {
                await api.pause(for: Self.pause)
                answer = await ask()
                attempt += 1
            }
            if answer.outcome == .notFound {
                throw DeliveryError(.unavailable, "a new purchase is not found yet", isAuthentic: true)
            }
        }
        if let state = answer.state, hint.contradicts(state) {
            await api.pause(for: Self.pause)
            answer = await ask()
        }
        return answer
    }

    // MARK: Orders

    private mutating func voidedOrder(_ orderID: String) async throws(DeliveryError) {
        guard configuration.orderLookup != .never else { return }
        try await order(orderID)
    }

    private mutating func chargedOrder(of answer: PlayAnswer) async throws(DeliveryError) {
        guard configuration.orderLookup == .charged else { return }
        for orderID in answer.paidOrderIDs { try await order(orderID) }
    }

    private mutating func order(_ orderID: String) async throws(DeliveryError) {
        let answer = await api.order(orderID, packageName: packageName)
        // Orders need a right of their own; without it amounts are missing, and nothing else.
        if answer.outcome == .denied {
            lookups.append(.init(.order, orderID, answer))
        } else {
            try keep(.order, orderID, answer)
        }
    }

    // MARK: Outcomes

    private mutating func keep(
        _ resource: GoogleResolution.Lookup.Resource,
        _ key: String,
        _ answer: PlayAnswer
    ) throws(DeliveryError) {
        switch answer.outcome {
        case .found, .done, .gone, .notFound, .invalid:
            lookups.append(.init(resource, key, answer))
        case .unavailable:
            throw DeliveryError(.unavailable, "\(resource): \(answer)", isAuthentic: true)
        case .denied:
            let isHopeless = age > configuration.deniedRetryWindow.wholeMilliseconds
            throw DeliveryError(isHopeless ? .denied : .unavailable, "\(resource): \(answer)", isAuthentic: true)
        }
    }
}

/// What a notification's number lets one expect of the resource.
private struct Hint {
    /// Whether Google may simply not know the purchase yet.
    let isPurchase: Bool
    private let implausible: [String]

    init(subscriptionType type: Int64) {
        isPurchase = type == 4
        let unpaid = ["PENDING", "PENDING_PURCHASE_CANCELED"]
        let running = ["ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED"]
        implausible =
            switch type {
            case 3: running
            case 12, 13: running + ["CANCELED", "PENDING"]
            case 20: running + ["PENDING"]
            case 4: []
            default: unpaid
            }
    }

    init(oneTimeType type: Int64) {
        isPurchase = type == 1
        implausible = type == 2 ? ["PURCHASED"] : []
    }

    func contradicts(_ state: String) -> Bool { implausible.contains(state) }
}

extension PlayAnswer {
    /// A member of the resource that is a string.
    fileprivate func text(_ name: MemberName) -> String? {
        guard outcome == .found, let reader = try? ObjectReader(parsing: body) else { return nil }
        return try? reader.optionalString(name)
    }

    /// The state of the purchase, without the prefix that the names of subscription states have.
    fileprivate var state: String? {
        if let state = text("subscriptionState") {
            let prefix = "SUBSCRIPTION_STATE_"
            return state.hasPrefix(prefix) ? String(state.dropFirst(prefix.count)) : state
        }
        guard outcome == .found, let reader = try? ObjectReader(parsing: body),
            let context = try? reader.optionalValue("purchaseStateContext")?.object()
        else { return nil }
        return try? context["purchaseState"]?.string()
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
