import FoundationEssentials
import LifecycleEvents
import WireJSON

// Purchases: subscriptions by their tokens, one-time products, and refunds.

extension GoogleStoryteller {
    /// A new token, with the order that paid for it.
    mutating func purchase(isPaid: Bool = true) throws(SimulatorError) -> PlaySubscription {
        guard let standing = scene.after else { throw SimulatorError("nothing is bought", .nonsense) }
        purchases += 1
        var bought = PlaySubscription(
            token: token(purchases),
            firstOrder: order(purchases),
            account: identity.uuid("account"),
            item: PlaySubscription.Item(standing.plan)
        )
        if isPaid {
            bought.start = scene.time
            bought.items = [Self.item(standing, bought.order)]
        }
        subscription = bought
        if isPaid { charge() }
        return bought
    }

    /// Another token takes the place of the one before, whose end is reported right after.
    mutating func replace(mode: String? = "CHARGE_FULL_PRICE") throws(SimulatorError) {
        guard let old = subscription else { throw SimulatorError("nothing is replaced", .nonsense) }
        let ended = Self.replaced(old, at: scene.time)
        var bought = try purchase()
        bought.linked = old.token
        if let mode {
            bought.items[0].extra["itemReplacement"] = [
                "productId": .string(old.items[0].plan.product), "basePlanId": .string(old.items[0].plan.rhythm),
                "replacementMode": .string(mode),
            ]
        }
        subscription = bought
        publish(4, bought, and: [ended])
        acknowledge()
        publish(13, ended, late: 2000)
    }

    static func replaced(_ old: PlaySubscription, at time: Int64) -> PlaySubscription {
        var ended = old
        ended.state = .expired
        ended.items[0].isRenewing = false
        ended.items[0].expiry = min(time, ended.items[0].expiry ?? time)
        ended.context = JSONMembers([("canceledStateContext", ["replacementCancellation": [:]])])
        return ended
    }

    /// A change that waits for the end of the period has a token of its own at once.
    mutating func postpone(_ plan: CustomerStory.Plan) throws(SimulatorError) {
        guard let old = subscription else { throw SimulatorError("nothing is replaced", .nonsense) }
        let ended = Self.replaced(old, at: scene.time)
        purchases += 1
        var item = old.items[0]
        item.isRenewing = false
        item.extra = JSONMembers([("deferredItemReplacement", ["productId": .string(plan.product)])])
        var bought = PlaySubscription(
            token: token(purchases),
            firstOrder: order(purchases),
            account: old.account,
            item: item
        )
        bought.start = scene.time
        bought.linked = old.token
        bought.items.append(PlaySubscription.Item(plan))
        subscription = bought
        publish(4, bought, and: [ended])
        acknowledge()
        publish(13, ended, late: 2000)
    }

    mutating func topUp() throws(SimulatorError) {
        guard let old = subscription else { throw SimulatorError("nothing is topped up", .nonsense) }
        let ended = Self.replaced(old, at: scene.time)
        var bought = try purchase()
        bought.linked = old.token
        subscription = bought
        publish(4, bought, and: [ended])
        acknowledge()
        publish(13, ended, late: 2000)
    }

    mutating func buy(_ item: CustomerStory.Item, _ quantity: Int64) {
        purchases += 1
        let bought = PlayProduct(
            token: token(purchases),
            order: order(purchases),
            account: identity.uuid("account"),
            item: item,
            quantity: quantity,
            completed: scene.time
        )
        product = bought
        var order = PlayOrderResource(
            order: bought.order,
            token: bought.token,
            product: item.rawValue,
            paid: item.price * quantity,
            created: scene.time
        )
        order.quantity = quantity
        orders.append(order)
        publish(
            "oneTimeProductNotification",
            [
                "version": "1.0", "notificationType": 1, "purchaseToken": .string(bought.token),
                "sku": .string(item.rawValue),
            ],
            type: "1 ONE_TIME_PRODUCT_PURCHASED",
            resources: [resource(bought), resource(order)]
        )
    }

    mutating func refund(_ which: CustomerStory.Purchase, reason: String) throws(SimulatorError) {
        guard let index = which == .latest ? orders.indices.last : orders.indices.dropLast().last else {
            throw SimulatorError("nothing was bought", .nonsense)
        }
        orders[index].refund = (scene.time, reason)
        let order = orders[index]
        var changed = [resource(order)]
        let isProduct = product?.order == order.order
        if isProduct {
            product?.isCancelled = true
            if let product { changed.append(resource(product)) }
        } else if let current = subscription, which == .latest {
            var ended = current
            ended.state = .expired
            ended.items[0].isRenewing = false
            ended.items[0].expiry = scene.time
            ended.context = JSONMembers([("canceledStateContext", ["developerInitiatedCancellation": [:]])])
            subscription = ended
            changed.append(resource(ended))
        }
        publish(
            "voidedPurchaseNotification",
            [
                "purchaseToken": .string(order.token), "orderId": .string(order.order),
                "productType": isProduct ? 2 : 1, "refundType": 1,
            ],
            type: "voided",
            resources: changed
        )
        if isProduct {
            guard let product else { return }
            publish(
                "oneTimeProductNotification",
                [
                    "version": "1.0", "notificationType": 2, "purchaseToken": .string(product.token),
                    "sku": .string(product.item.rawValue),
                ],
                type: "2 ONE_TIME_PRODUCT_CANCELED",
                late: 2000
            )
        } else if which == .latest, let subscription {
            publish(12, subscription, late: 2000)
        }
    }

    mutating func review() throws(SimulatorError) {
        guard let order = orders.last else { throw SimulatorError("nothing was bought", .nonsense) }
        publish(
            "pendingRefundReviewNotification",
            [
                "version": "1.0", "pendingRefundToken": .string(identity.hexadecimal("refund review", 32)),
                "orderId": .string(order.order), "refundReason": 7,
                "obfuscatedAccountId": .string(identity.uuid("account")),
            ],
            type: "refund review"
        )
    }
}
