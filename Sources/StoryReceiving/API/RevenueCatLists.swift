import FoundationEssentials
import Normalizer
import NotificationSimulator
import WireJSON

/// RevenueCat's REST API, in both versions, as its webhooks have left it.
struct RevenueCatLists: StoryLists {
    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer? {
        guard request.method == "GET" else { return nil }
        let parts = request.path.split(separator: "/").map(String.init)
        var holdings = RevenueCatHoldings()
        for notification in made { try holdings.take(notification) }
        switch (parts.first, parts.dropFirst(3).first) {
        case ("v1", _) where parts.count == 3 && parts[1] == "subscribers":
            return StoryAPI.Answer(200, holdings.subscriber(parts[2], at: now).bytes)
        case ("v2", "subscriptions"):
            let name = request["store_subscription_identifier"] ?? ""
            return Self.list(holdings.subscriptions.filter { $0.isNamed(name) }.map { $0.subscription(at: now) })
        case ("v2", "purchases"):
            let name = request["store_purchase_identifier"] ?? ""
            return Self.list(holdings.purchases.filter { $0.isNamed(name) }.map(\.purchase))
        case ("v2", "customers") where parts.count == 4:
            return Self.list(
                holdings.customers.map {
                    ["object": "customer", "id": .string($0), "project_id": .string(parts[2])]
                }
            )
        case ("v2", "customers") where parts.count == 6 && parts[5] == "subscriptions":
            return Self.list(
                holdings.subscriptions.filter { $0.isOwned(by: parts[4]) }.map { $0.subscription(at: now) }
            )
        case ("v2", "customers") where parts.count == 6 && parts[5] == "purchases":
            return Self.list(holdings.purchases.filter { $0.isOwned(by: parts[4]) }.map(\.purchase))
        case ("v2", "customers") where parts.count == 6 && parts[5] == "aliases":
            let ids = [parts[4], RevenueCatSimulator.firstID(of: parts[4])]
            return Self.list(ids.map { ["object": "customer.alias", "id": .string($0)] })
        case ("v2", "products") where parts.count == 5:
            let body: JSONText = [
                "object": "product", "id": .string(parts[4]),
                "store_identifier": .string(RevenueCatHoldings.product(parts[4])),
            ]
            return StoryAPI.Answer(200, body.bytes)
        default: return nil
        }
    }

    private static func list(_ items: [JSONText]) -> StoryAPI.Answer {
        let members = JSONMembers([("object", "list"), ("items", .array(items)), ("next_page", .null)])
        return StoryAPI.Answer(200, members.bytes)
    }

    func refusal(_ status: Int, at now: Date) -> StoryAPI.Answer {
        let type: JSONText =
            switch status {
            case 401: "authentication_error"
            case 404: "resource_missing"
            case 429: "rate_limit_error"
            default: "server_error"
            }
        let body: JSONText = [
            "object": "error", "type": type, "message": "refused", "retryable": .bool(status == 429 || status >= 500),
        ]
        return StoryAPI.Answer(status, body.bytes)
    }

    var paths: [String] { ["/v1/subscribers/", "/v2/projects/"] }
    var credentials: StoryAPI.Credentials { .secretKey(["sk_"]) }
}

/// The holdings of customers, folded from RevenueCat's events.
struct RevenueCatHoldings {
    /// A subscription, or something bought once.
    struct Holding {
        var customer: String
        var firstCustomer: String
        var original: String
        var transaction: String
        var product: String
        var store: String
        var environment: String
        var periodType: String
        var start: Int64
        /// Absent for what is bought once.
        var end: Int64?
        var firstStart: Int64
        var names: Set<String>
        var isFamilyShared: Bool
        var unsubscribedAt: Int64?
        var billingIssueAt: Int64?
        var graceEnd: Int64?
        var refundedAt: Int64?
        var resumesAt: Int64?
        var nextProduct: String?
        /// The end before a refund cut it.
        var paidEnd: Int64?
        var price: JSONText?
        var entitlements: [String] = []

        func isNamed(_ name: String) -> Bool { original == name || names.contains(name) }

        /// True if it is the customer's with an id, which may be any that the customer has.
        func isOwned(by id: String) -> Bool { customer == id || RevenueCatSimulator.firstID(of: customer) == id }
    }

    private(set) var subscriptions: [Holding] = []
    private(set) var purchases: [Holding] = []

    var customers: [String] { Array(Set((subscriptions + purchases).map(\.customer))).sorted() }

    /// The product that an id of RevenueCat's stands for.
    static func product(_ reference: String) -> String {
        String(reference.dropFirst(4)).replacing("__", with: ":")
    }

    fileprivate static func reference(_ product: String) -> String { "prod\(product.replacing(":", with: "__"))" }

    /// Takes in what an event says.
    mutating func take(_ notification: SimulatedNotification) throws {
        let event = try ObjectReader(ObjectReader(parsing: notification.content).value("event"))
        let type = try event.string("type")
        let time = try event.int64("event_timestamp_ms")
        if type == "TRANSFER" {
            guard let to = try event.strings("transferred_to").first else { return }
            for index in subscriptions.indices where !subscriptions[index].isFamilyShared {
                subscriptions[index].customer = to
            }
            for index in purchases.indices { purchases[index].customer = to }
            return
        }
        guard type != "TEST" else { return }
        let read = try holding(event)
        if type == "NON_RENEWING_PURCHASE" {
            purchases.append(read)
            return
        }
        if let index = purchases.firstIndex(where: { $0.original == read.original }) {
            purchases[index].refundedAt = type == "REFUND_REVERSED" ? nil : time
            return
        }
        guard var known = subscriptions.last(where: { $0.original == read.original }) else {
            subscriptions.append(read)
            return
        }
        let reason = try event.optionalString("cancel_reason") ?? event.optionalString("expiration_reason")
        switch type {
        case "INITIAL_PURCHASE", "RENEWAL":
            let (first, names, customer) = (known.firstStart, known.names, known.firstCustomer)
            known = read
            (known.firstStart, known.firstCustomer) = (first, customer)
            known.names.formUnion(names)
        case "CANCELLATION":
            switch reason {
            case "CUSTOMER_SUPPORT":
                known.paidEnd = known.end
                (known.refundedAt, known.end) = (time, read.end)
            case "BILLING_ERROR": known.billingIssueAt = time
            default: known.unsubscribedAt = time
            }
        case "UNCANCELLATION": known.unsubscribedAt = nil
        case "EXPIRATION":
            if known.graceEnd == nil { known.end = read.end }
            if reason != "SUBSCRIPTION_PAUSED", reason != "BILLING_ERROR", known.refundedAt == nil {
                known.unsubscribedAt = known.unsubscribedAt ?? time
                if reason != "BILLING_ERROR" { known.billingIssueAt = nil }
            }
        case "BILLING_ISSUE":
            known.billingIssueAt = time
            known.graceEnd = try event.optionalInt64("grace_period_expiration_at_ms")
            // The next period runs while its charge is tried again.
            if known.store == "stripe" { (known.start, known.end) = (read.start, read.end) }
        case "SUBSCRIPTION_PAUSED": known.resumesAt = try event.optionalInt64("auto_resume_at_ms")
        case "SUBSCRIPTION_EXTENDED": known.end = read.end
        case "PRODUCT_CHANGE":
            let next = try event.optionalString("new_product_id")
            known.nextProduct = next == known.product ? nil : next
        case "REFUND_REVERSED": (known.refundedAt, known.end) = (nil, known.paidEnd ?? known.end)
        default: break
        }
        subscriptions.removeAll { $0.original == read.original }
        subscriptions.append(known)
    }

    private func holding(_ event: ObjectReader) throws -> Holding {
        let transaction = try event.string("transaction_id")
        let customer = try event.string("app_user_id")
        let start = try event.int64("purchased_at_ms")
        let price = event.optionalValue("price_in_purchased_currency")
        return Holding(
            customer: customer,
            firstCustomer: customer,
            original: try event.string("original_transaction_id"),
            transaction: transaction,
            product: try event.string("product_id"),
            store: try event.string("store").lowercased(),
            environment: try event.string("environment").lowercased(),
            periodType: try event.string("period_type"),
            start: start,
            end: try event.optionalInt64("expiration_at_ms"),
            firstStart: start,
            names: [transaction],
            isFamilyShared: try event.optionalBool("is_family_share") ?? false,
            price: price.map { .raw(String(decoding: Array($0.rawBytes), as: UTF8.self)) },
            entitlements: try event.optionalStrings("entitlement_ids") ?? []
        )
    }

    /// The older version's answer about the customer with an id.
    func subscriber(_ id: String, at now: Date) -> JSONMembers {
        let mine = subscriptions.filter { $0.isOwned(by: id) }
        let bought = purchases.filter { $0.isOwned(by: id) }
        var entries = JSONMembers()
        for holding in mine { entries[holding.product] = .object(holding.entry) }
        var once = JSONMembers()
        for product in Set(bought.map(\.product)).sorted() {
            let list = bought.filter { $0.product == product && $0.refundedAt == nil }
            once.append(product, .array(list.map { .object($0.entry) }))
        }
        return JSONMembers([
            ("request_date_ms", .integer(now.millisecondsSince1970)),
            (
                "subscriber",
                [
                    "original_app_user_id": .string(
                        (mine + bought).first.map { RevenueCatSimulator.firstID(of: $0.customer) } ?? id
                    ),
                    "subscriptions": .object(entries),
                    "non_subscriptions": .object(once), "entitlements": [:],
                ]
            ),
        ])
    }
}

extension RevenueCatHoldings.Holding {
    private static func text(_ time: Int64?) -> JSONText { time.map { .string(RFC3339.string($0)) } ?? .null }

    /// An entry of the older version.
    fileprivate var entry: JSONMembers {
        var members = JSONMembers([
            ("store", .string(store)), ("is_sandbox", .bool(environment == "sandbox")),
            ("purchase_date", Self.text(start)), ("original_purchase_date", Self.text(firstStart)),
            ("store_transaction_id", .string(transaction)),
            ("ownership_type", isFamilyShared ? "FAMILY_SHARED" : "PURCHASED"),
        ])
        guard end != nil else {
            members.append("id", .string("purchase\(transaction)"))
            return members
        }
        members.append("expires_date", Self.text(end))
        members.append("period_type", .string(periodType.lowercased()))
        members.append("grace_period_expires_date", Self.text(graceEnd))
        members.append("unsubscribe_detected_at", Self.text(unsubscribedAt))
        members.append("billing_issues_detected_at", Self.text(billingIssueAt))
        members.append("refunded_at", Self.text(refundedAt))
        members.append("auto_resume_date", Self.text(resumesAt))
        return members
    }

    private func status(at time: Int64) -> (name: String, givesAccess: Bool) {
        let end = end ?? .max
        if refundedAt != nil { return ("expired", false) }
        if time < end {
            return (billingIssueAt != nil ? "in_grace_period" : periodType == "TRIAL" ? "trialing" : "active", true)
        }
        if let graceEnd, time < graceEnd { return ("in_grace_period", true) }
        if let resumesAt, time < resumesAt { return ("paused", false) }
        if billingIssueAt != nil, unsubscribedAt == nil { return ("in_billing_retry", false) }
        return ("expired", false)
    }

    /// A subscription of the newer version.
    func subscription(at now: Date) -> JSONText {
        let time = now.millisecondsSince1970
        let status = status(at: time)
        let renewal: JSONText =
            unsubscribedAt != nil || billingIssueAt != nil || refundedAt != nil || periodType == "PREPAID"
            ? "will_not_renew"
            : resumesAt != nil && status.name != "paused"
                ? "will_pause"
                : nextProduct != nil ? "will_change_product" : "will_renew"
        let until = status.name == "in_grace_period" ? graceEnd ?? end : end
        return [
            "object": "subscription", "id": .string("sub\(original)"), "customer_id": .string(customer),
            "original_customer_id": .string(firstCustomer),
            "product_id": .string(RevenueCatHoldings.reference(product)),
            "starts_at": .integer(firstStart), "current_period_starts_at": .integer(start),
            "current_period_ends_at": end.map { .integer($0) } ?? .null,
            "ends_at": until.map { .integer($0) } ?? .null, "gives_access": .bool(status.givesAccess),
            "pending_payment": false, "auto_renewal_status": renewal, "status": .string(status.name),
            "environment": .string(environment), "store": .string(store),
            "store_subscription_identifier": .string(transaction),
            "ownership": isFamilyShared ? "family_shared" : "purchased",
            "pending_changes": nextProduct.map { ["product": ["store_identifier": .string($0)]] } ?? .null,
        ]
    }

    /// A one-time purchase of the newer version.
    var purchase: JSONText {
        [
            "object": "purchase", "id": .string("purchase\(transaction)"), "customer_id": .string(customer),
            "original_customer_id": .string(firstCustomer),
            "product_id": .string(RevenueCatHoldings.reference(product)),
            "purchased_at": .integer(start), "quantity": 1, "status": refundedAt == nil ? "owned" : "refunded",
            "environment": .string(environment), "store": .string(store),
            "store_purchase_identifier": .string(transaction), "ownership": "purchased",
            "entitlements": [
                "items": .array(entitlements.map { ["id": .string("entl\($0)"), "lookup_key": .string($0)] })
            ],
        ]
    }
}
