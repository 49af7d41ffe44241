import NotificationSimulator
import Testing
import VectorGenerator
import WireJSON

/// A purchase of two subscriptions that are charged by one order. The product of the add-on sorts before that of the base.
struct Bundle {
    typealias JSON = GoogleVectors.JSON

    var base = Holding(product: "zeta")
    var addOn = "alpha"
    /// The lists of either channel are in no order that says anything.
    var listsAddOnFirst = false

    static let prices = ["zeta": "9.99", "zulu": "14.99", "alpha": "2.5"]

    var products: [String] { listsAddOnFirst ? [addOn, base.product] : [base.product, addOn] }

    func with(_ change: (inout Bundle) -> Void) -> Bundle {
        var bundle = self
        change(&bundle)
        return bundle
    }

    func renewed() -> Bundle { with { $0.base = base.renewed() } }

    // MARK: Google

    /// - Parameter changes: for items by product.
    func resource(
        _ state: String,
        expiry: Int64? = nil,
        extra: [String: String] = [:],
        _ changes: [String: (inout GoogleVectors.Item) -> Void] = [:]
    ) -> GoogleVectors.Purchase {
        base.resource(state, expiry: expiry, extra: extra).with { purchase in
            let item = purchase.items[0]
            purchase.items = products.map { product in
                var listed = item
                listed.product = product
                changes[product]?(&listed)
                return listed
            }
        }
    }

    func hint(
        _ number: Int,
        at time: Int64,
        _ purchase: GoogleVectors.Purchase,
        and others: [String: String] = [:]
    ) -> Hint { base.hint(number, at: time, purchase, and: others) }

    /// Money of the last order went back: all of it, or the price of one item.
    func voided(at time: Int64, _ purchase: GoogleVectors.Purchase, refundedAt: Int64, item: String? = nil) -> Hint {
        var hint = base.voided(at: time, purchase, refundedAt: refundedAt)
        let lines = products.map { product in
            JSON.object(["productId": JSON.string(product), "total": Self.money(product)])
        }
        var order: [String: String?] = [
            "orderId": JSON.string(base.order), "purchaseToken": JSON.string(base.token),
            "lineItems": JSON.array(lines), "state": JSON.string(item == nil ? "REFUNDED" : "PARTIALLY_REFUNDED"),
        ]
        let details = JSON.object(["total": item.map(Self.money) ?? GoogleVectors.money(12, nanos: 490_000_000)])
        let event: String
        if item == nil {
            event = JSON.object([
                "eventTime": JSON.time(refundedAt), "refundReason": JSON.string("OTHER"), "refundDetails": details,
            ])
        } else {
            event = JSON.object([
                "createTime": JSON.time(refundedAt), "processTime": JSON.time(refundedAt),
                "state": JSON.string("PROCESSED_SUCCESSFULLY"), "refundDetails": details,
            ])
        }
        order["orderHistory"] = JSON.object(
            item == nil ? ["refundEvent": event] : ["partialRefundEvents": JSON.array([event])]
        )
        hint.resources["orders/\(base.order)"] = JSON.object(order)
        return hint
    }

    private static func money(_ product: String) -> String {
        switch product {
        case "zeta": GoogleVectors.money(9, nanos: 990_000_000)
        case "zulu": GoogleVectors.money(14, nanos: 990_000_000)
        default: GoogleVectors.money(2, nanos: 500_000_000)
        }
    }

    // MARK: RevenueCat

    /// The webhook about all items.
    func webhook(
        _ type: String,
        at time: Int64,
        end: Int64? = nil,
        _ changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> RevenueCatSimulator.Event {
        let items = products.map { product -> JSONText in
            [
                "product_id": .string("\(product):\(base.plan)"),
                "type": .string(product == addOn ? "addon" : "base"),
                "expiration_at_ms": .integer(end ?? base.end), "price": .raw(Self.prices[product] ?? "1"),
                "currency": "EUR", "price_in_purchased_currency": .raw(Self.prices[product] ?? "1"),
            ]
        }
        return base.webhook(type, at: time, end: end, ["items": .array(items)]).with(changes)
    }

    /// A webhook about one of the items, which names no other.
    func webhook(_ type: String, of product: String, at time: Int64, end: Int64? = nil) -> RevenueCatSimulator.Event {
        base.webhook(type, at: time, end: end, ["product_id": .string(product)])
    }
}

extension PlayStory {
    private static let lag: Int64 = 1500

    static func purchase(_ bundle: Bundle) -> Step {
        let time = bundle.base.start + lag
        return Step(
            name: "purchase",
            hints: [bundle.hint(4, at: time, bundle.resource("ACTIVE"))],
            webhooks: [bundle.webhook("INITIAL_PURCHASE", at: time)]
        )
    }

    static func renewal(_ bundle: Bundle) -> Step {
        let time = bundle.base.start + lag
        return Step(
            name: "renewal \(bundle.base.renewal ?? -1)",
            hints: [bundle.hint(2, at: time, bundle.resource("ACTIVE"))],
            webhooks: [bundle.webhook("RENEWAL", at: time)]
        )
    }

    static func expiry(_ bundle: Bundle) -> Step {
        let end = bundle.base.end
        let ended = bundle.resource("EXPIRED", extra: ["canceledStateContext": GoogleVectors.canceled("userInitiated")])
        return Step(
            name: "expiry",
            hints: [bundle.hint(13, at: end + 5000, ended)],
            webhooks: [bundle.webhook("EXPIRATION", at: end + 5000, ["expiration_reason": "UNSUBSCRIBE"])]
        )
    }

    /// All of the last order goes back, and the purchase with it.
    static func refund(_ bundle: Bundle, at time: Int64) -> Step {
        let ended = bundle.resource(
            "EXPIRED",
            expiry: time,
            extra: ["canceledStateContext": GoogleVectors.canceled("developerInitiated")]
        )
        return Step(
            name: "refund",
            hints: [
                bundle.voided(at: time + 2000, ended, refundedAt: time), bundle.hint(12, at: time + 2500, ended),
            ],
            webhooks: [
                bundle.webhook(
                    "CANCELLATION",
                    at: time + 4000,
                    end: time,
                    ["cancel_reason": "CUSTOMER_SUPPORT", "price_in_purchased_currency": .raw("-12.49")]
                ),
                bundle.webhook("EXPIRATION", at: time + 5000, end: time, ["expiration_reason": "CUSTOMER_SUPPORT"]),
            ],
            isEndEchoed: true
        )
    }

    /// The base is replaced under a new token, which keeps the add-on and its order.
    static func upgrade(_ old: Bundle, to new: Bundle) -> Step {
        let time = new.base.start
        let ended = old.resource(
            "EXPIRED",
            expiry: time,
            extra: ["canceledStateContext": GoogleVectors.canceled("replacement")]
        )
        func replacing(_ product: String, _ mode: String) -> String {
            Bundle.JSON.object([
                "productId": Bundle.JSON.string(product), "basePlanId": Bundle.JSON.string(old.base.plan),
                "replacementMode": Bundle.JSON.string(mode),
            ])
        }
        let resource = new.resource(
            "ACTIVE",
            [
                new.base.product: {
                    $0.extra["itemReplacement"] = replacing(old.base.product, "CHARGE_FULL_PRICE")
                },
                new.addOn: {
                    ($0.order, $0.expiry) = (old.base.order, old.base.end)
                    $0.extra["itemReplacement"] = replacing(old.addOn, "KEEP_EXISTING")
                },
            ]
        )
        return Step(
            name: "upgrade",
            hints: [
                new.hint(4, at: time + lag, resource, and: ["tokens/\(old.base.token)": ended.json]),
                old.hint(13, at: time + 2 * lag, ended),
            ],
            webhooks: [
                old.base.webhook("PRODUCT_CHANGE", at: time + lag), new.webhook("INITIAL_PURCHASE", at: time + lag),
                old.webhook("EXPIRATION", at: time + 2 * lag, end: time, ["expiration_reason": "UNSUBSCRIBE"]),
            ],
            isEndEchoed: true
        )
    }
}
