import LifecycleEvents
import WireJSON

/// Answers of the Play Developer API, as JSON.
enum PlayResources {
    static let host = "androidpublisher.googleapis.com"

    /// A time, in milliseconds.
    static func time(_ milliseconds: Int64) -> JSONText { .string(RFC3339.string(milliseconds)) }

    /// An amount: what is zero is left out, as protocol buffers do.
    static func money(_ thousandths: Int64) -> JSONText {
        var members = JSONMembers([("currencyCode", "USD")])
        if thousandths / 1000 != 0 { members.append("units", .string(String(thousandths / 1000))) }
        if thousandths % 1000 != 0 { members.append("nanos", .integer(thousandths % 1000 * 1_000_000)) }
        return .object(members)
    }
}

/// A purchase of a subscription (`SubscriptionPurchaseV2`).
struct PlaySubscription {
    struct Item {
        var plan: CustomerStory.Plan
        var expiry: Int64?
        var order: String?
        var offer: CustomerStory.Offer?
        var price: Int64
        var isRenewing = true
        /// Members of the plan.
        var terms = JSONMembers()
        /// Members of the item.
        var extra = JSONMembers()

        init(_ plan: CustomerStory.Plan) {
            self.plan = plan
            price = plan.price
        }
    }

    enum State: String {
        case pending = "PENDING"
        case pendingCanceled = "PENDING_PURCHASE_CANCELED"
        case active = "ACTIVE"
        case canceled = "CANCELED"
        case grace = "IN_GRACE_PERIOD"
        case hold = "ON_HOLD"
        case paused = "PAUSED"
        case expired = "EXPIRED"
    }

    let token: String
    /// The order that the token began with; `..n` behind it names a renewal.
    let firstOrder: String
    let account: String
    var state = State.active
    var start: Int64?
    var items: [Item]
    var linked: String?
    var isAcknowledged = false
    /// Further members of the state.
    var context = JSONMembers()
    /// How many renewals were paid for.
    var renewals = 0

    init(token: String, firstOrder: String, account: String, item: Item) {
        self.token = token
        self.firstOrder = firstOrder
        self.account = account
        items = [item]
    }

    var order: String { renewals == 0 ? firstOrder : "\(firstOrder)..\(renewals - 1)" }

    var json: JSONText {
        var members = JSONMembers([("kind", "androidpublisher#subscriptionPurchaseV2"), ("regionCode", "US")])
        if let start { members.append("startTime", PlayResources.time(start)) }
        members.append("subscriptionState", .string("SUBSCRIPTION_STATE_\(state.rawValue)"))
        members.add("linkedPurchaseToken", linked)
        for (name, value) in context { members.append(name, value) }
        members.append(
            "acknowledgementState",
            .string("ACKNOWLEDGEMENT_STATE_\(isAcknowledged ? "ACKNOWLEDGED" : "PENDING")")
        )
        members.append("externalAccountIdentifiers", ["obfuscatedExternalAccountId": .string(account)])
        members.append("lineItems", .array(items.map(\.json)))
        return .object(members)
    }
}

extension PlaySubscription.Item {
    var json: JSONText {
        var members = JSONMembers([("productId", .string(plan.product))])
        if let expiry { members.append("expiryTime", PlayResources.time(expiry)) }
        members.add("latestSuccessfulOrderId", order)
        if plan.billing == .prepaid {
            members.append("prepaidPlan", [:])
        } else {
            var renewing = JSONMembers()
            if isRenewing { renewing.append("autoRenewEnabled", true) }
            renewing.append("recurringPrice", PlayResources.money(price))
            for (name, value) in terms { renewing.append(name, value) }
            members.append("autoRenewingPlan", .object(renewing))
        }
        var details = JSONMembers([("basePlanId", .string(plan.rhythm))])
        switch offer {
        case .freeWeek?: details.append("offerId", "free-week")
        case .cheapMonth?: details.append("offerId", "cheap-month")
        default: break
        }
        members.append("offerDetails", .object(details))
        if plan.billing != .prepaid {
            switch offer {
            case .freeWeek?: members.append("offerPhase", ["freeTrial": [:]])
            case .cheapMonth?: members.append("offerPhase", ["introductoryPrice": [:]])
            default: members.append("offerPhase", ["basePrice": [:]])
            }
        }
        for (name, value) in extra { members.append(name, value) }
        return .object(members)
    }
}

/// A purchase of something that does not renew (`ProductPurchaseV2`).
struct PlayProduct {
    let token: String
    let order: String
    let account: String
    let item: CustomerStory.Item
    let quantity: Int64
    let completed: Int64
    var isCancelled = false

    var json: JSONText {
        [
            "kind": "androidpublisher#productPurchaseV2", "orderId": .string(order), "regionCode": "US",
            "purchaseCompletionTime": PlayResources.time(completed),
            "purchaseStateContext": ["purchaseState": isCancelled ? "CANCELLED" : "PURCHASED"],
            "acknowledgementState": isCancelled
                ? "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED" : "ACKNOWLEDGEMENT_STATE_PENDING",
            "obfuscatedExternalAccountId": .string(account),
            "productLineItem": [
                [
                    "productId": .string(item.rawValue),
                    "productOfferDetails": [
                        "consumptionState": "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
                        "quantity": .integer(quantity),
                        "refundableQuantity": .integer(isCancelled ? 0 : quantity),
                    ],
                ]
            ],
        ]
    }
}

/// An order (`Order`).
struct PlayOrderResource {
    let order: String
    let token: String
    let product: String
    let paid: Int64
    let created: Int64
    /// The period that it paid for, of a subscription.
    var period: (start: Int64, end: Int64)?
    /// How many, of what does not renew.
    var quantity: Int64?
    /// When and why it went back.
    var refund: (time: Int64, reason: String)?

    var json: JSONText {
        var line = JSONMembers([("productId", .string(product)), ("total", PlayResources.money(paid))])
        if let period {
            line.append(
                "subscriptionDetails",
                [
                    "servicePeriodStartTime": PlayResources.time(period.start),
                    "servicePeriodEndTime": PlayResources.time(period.end),
                ]
            )
        }
        if let quantity { line.append("oneTimePurchaseDetails", ["quantity": .integer(quantity)]) }
        var history = JSONMembers([("processedEvent", ["eventTime": PlayResources.time(created)])])
        if let refund {
            history.append(
                "refundEvent",
                [
                    "eventTime": PlayResources.time(refund.time), "refundReason": .string(refund.reason),
                    "refundDetails": ["total": PlayResources.money(paid)],
                ]
            )
        }
        return [
            "orderId": .string(order), "purchaseToken": .string(token),
            "state": refund == nil ? "PROCESSED" : "REFUNDED", "createTime": PlayResources.time(created),
            "total": PlayResources.money(paid), "lineItems": [.object(line)], "orderHistory": .object(history),
        ]
    }
}
