import FoundationEssentials
import LifecycleEvents
import WireJSON

/// Google Play's view of a customer, scene by scene: tokens, orders, and the notifications about them.
struct GoogleStoryteller {
    /// A purchase as a relay of Google Play sees it in a scene.
    struct Holding: Sendable {
        var firstOrder: String
        var order: String
    }

    private let packageName: String
    private let identity: StoryIdentity
    private var subscription: PlaySubscription?
    private var product: PlayProduct?
    private var orders: [PlayOrderResource] = []
    private var purchases = 0
    private var published = 0
    private var notifications: [SimulatedNotification] = []
    /// The scene that is played, which every notification is of.
    private var scene = Plot.Scene.opening
    /// The holding after each scene.
    private(set) var holdings: [Holding?] = []

    /// Google Play publishes a little after the moment.
    private static let lag: Int64 = 1500

    static func notifications(
        _ story: CustomerStory,
        scenes: [Plot.Scene],
        packageName: String,
        seed: String
    ) throws(SimulatorError) -> [SimulatedNotification] {
        try GoogleStoryteller(story, scenes: scenes, packageName: packageName, seed: seed).notifications
    }

    init(
        _ story: CustomerStory,
        scenes: [Plot.Scene],
        packageName: String,
        seed: String
    ) throws(SimulatorError) {
        self.packageName = packageName
        identity = StoryIdentity(seed: seed, story: story.id)
        for scene in scenes {
            try tell(scene)
            let item = product.map { Holding(firstOrder: $0.order, order: $0.order) }
            let period = subscription.map { Holding(firstOrder: $0.firstOrder, order: $0.order) }
            if case .buy = scene.act { holdings.append(item) } else { holdings.append(period ?? item) }
        }
    }
}

// MARK: Scenes

extension GoogleStoryteller {
    private mutating func tell(_ scene: Plot.Scene) throws(SimulatorError) {
        self.scene = scene
        switch scene.act {
        case .subscribe:
            if scene.before?.state == .hold { return try replace(mode: nil) }
            let lapsed = subscription
            var bought = try purchase()
            if let lapsed {
                bought.context.append(
                    "outOfAppPurchaseContext",
                    [
                        "expiredPurchaseToken": .string(lapsed.token),
                        "expiredExternalAccountIdentifiers": ["obfuscatedExternalAccountId": .string(lapsed.account)],
                    ]
                )
            }
            publish(4, bought)
            acknowledge()
        case .subscribePending:
            var pending = try purchase(isPaid: false)
            pending.state = .pending
            publish(4, pending)
        case .completePayment:
            try update(4) { purchase, standing in
                purchase.state = .active
                purchase.start = scene.time
                purchase.items = [Self.item(standing, purchase.order)]
            } before: { teller in
                teller.charge()
            }
            acknowledge()
        case .abandonPayment: try update(20) { purchase, _ in purchase.state = .pendingCanceled }
        case .renew, .renewEarly, .renewAfterCancel: try renew(2)
        case .resume: try renew(1)
        // Within grace a recovery is a renewal like any other.
        case .recover: try renew(scene.before?.state == .grace ? 2 : 1)
        case .failCharge(let grace):
            try update(grace == nil ? 5 : 6) { purchase, standing in
                Self.decline(&purchase, standing)
            }
        case .endGrace: try update(5) { purchase, standing in Self.decline(&purchase, standing) }
        case .cancel:
            try update(3) { purchase, standing in
                purchase.state = .canceled
                purchase.items[0].isRenewing = false
                purchase.context = JSONMembers([
                    (
                        "canceledStateContext",
                        ["userInitiatedCancellation": ["cancelTime": PlayResources.time(scene.time)]]
                    )
                ])
            }
        case .uncancel:
            try update(7) { purchase, _ in
                purchase.state = .active
                purchase.items[0].isRenewing = true
                purchase.context = JSONMembers()
            }
        case .cancelCommitment:
            try update(18) { purchase, _ in
                purchase.items[0].terms["installmentDetails"] = Self.instalments(isCanceled: true)
            }
        case .expire(let ending): try expire(ending)
        case .upgrade, .crossgrade: try replace()
        case .downgrade(let plan): try postpone(plan)
        case .schedulePause: try update(11) { _, _ in }
        case .pause:
            try update(10) { purchase, standing in
                purchase.state = .paused
                if let time = standing.resumesAt {
                    purchase.context = JSONMembers([
                        ("pausedStateContext", ["autoResumeTime": PlayResources.time(time)])
                    ])
                }
            }
        case .extend: try update(9) { purchase, standing in purchase.items[0].expiry = standing.end }
        case .raisePrice(let price, let needsConsent):
            try update(19) { purchase, standing in
                purchase.items[0].terms["priceChangeDetails"] = [
                    "newPrice": PlayResources.money(price),
                    "priceChangeMode": needsConsent ? "PRICE_INCREASE" : "OPT_OUT_PRICE_INCREASE",
                    "priceChangeState": needsConsent ? "OUTSTANDING" : "CONFIRMED",
                    "expectedNewPriceChargeTime": PlayResources.time(standing.end),
                ]
            }
        case .acceptPrice:
            try update(19) { purchase, standing in
                purchase.items[0].terms["priceChangeDetails"] = [
                    "newPrice": PlayResources.money(standing.nextPrice ?? standing.price),
                    "priceChangeMode": "PRICE_INCREASE", "priceChangeState": "CONFIRMED",
                    "expectedNewPriceChargeTime": PlayResources.time(standing.end),
                ]
            }
        case .buy(let item, let quantity): buy(item, quantity)
        case .topUp: try topUp()
        case .refund(let which, _): try refund(which, reason: "OTHER")
        case .disputeCharge: try review()
        case .loseDispute: try refund(.latest, reason: "CHARGEBACK")
        case .test: publish("testNotification", ["version": "1.0"], type: "test")
        case .withdrawDowngrade, .requestRefund, .declineRefund, .reverseRefund, .winDispute, .shareWithFamily,
            .stopSharing, .transfer:
            throw SimulatorError("Google Play has no \(scene.act.name)", .notOffered(by: .google))
        }
    }

    private static func decline(_ purchase: inout PlaySubscription, _ standing: Plot.Standing) {
        let isGrace = standing.state == .grace
        purchase.state = isGrace ? .grace : .hold
        // Google Play puts the end of the period off by the grace period.
        purchase.items[0].expiry = standing.graceEnd ?? standing.end
        let pending: JSONText = [
            "renewalDeclined": ["pendingOrderId": .string("\(purchase.firstOrder)..\(purchase.renewals)")]
        ]
        purchase.context = JSONMembers([(isGrace ? "inGracePeriodStateContext" : "onHoldStateContext", pending)])
    }

    private static func instalments(isCanceled: Bool) -> JSONText {
        var members = JSONMembers([
            ("initialCommittedPaymentsCount", 12), ("subsequentCommittedPaymentsCount", 12),
            ("remainingCommittedPaymentsCount", 11),
        ])
        if isCanceled { members.append("pendingCancellation", [:]) }
        return .object(members)
    }

    private static func item(_ standing: Plot.Standing, _ order: String) -> PlaySubscription.Item {
        var item = PlaySubscription.Item(standing.plan)
        item.expiry = standing.end
        item.order = order
        item.offer = standing.offer
        if standing.offer == nil { item.price = standing.price }
        if standing.plan.billing == .instalments { item.terms["installmentDetails"] = instalments(isCanceled: false) }
        return item
    }

    /// A new token, with the order that paid for it.
    private mutating func purchase(isPaid: Bool = true) throws(SimulatorError) -> PlaySubscription {
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

    private mutating func renew(_ number: Int64) throws(SimulatorError) {
        let isDeferredChange = subscription.map { $0.items.count > 1 } ?? false
        try update(number) { purchase, standing in
            purchase.state = standing.willRenew ? .active : .canceled
            if standing.willRenew { purchase.context = JSONMembers() }
            purchase.renewals += 1
            var renewed = Self.item(standing, purchase.order)
            renewed.isRenewing = standing.willRenew
            if isDeferredChange {
                // For a while, the replaced item is listed next to its successor.
                purchase.items[0].extra = JSONMembers()
                purchase.items = [purchase.items[0], renewed]
            } else {
                purchase.items = [renewed]
            }
        } before: { teller in
            teller.charge()
        }
        if isDeferredChange { subscription?.items.removeFirst() }
    }

    private mutating func expire(_ ending: CustomerStory.Ending) throws(SimulatorError) {
        try update(13) { purchase, _ in
            purchase.state = .expired
            purchase.items[0].isRenewing = false
            switch ending {
            case .customer:
                // The statement about the customer's cancellation stays.
                if purchase.context["canceledStateContext"] == nil {
                    purchase.context = JSONMembers([("canceledStateContext", ["userInitiatedCancellation": [:]])])
                }
            case .billing, .priceDeclined:
                purchase.context = JSONMembers([("canceledStateContext", ["systemInitiatedCancellation": [:]])])
            case .ranOut: purchase.context = JSONMembers()
            }
        }
    }

    /// Another token takes the place of the one before, whose end is reported right after.
    private mutating func replace(mode: String? = "CHARGE_FULL_PRICE") throws(SimulatorError) {
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

    private static func replaced(_ old: PlaySubscription, at time: Int64) -> PlaySubscription {
        var ended = old
        ended.state = .expired
        ended.items[0].isRenewing = false
        ended.items[0].expiry = min(time, ended.items[0].expiry ?? time)
        ended.context = JSONMembers([("canceledStateContext", ["replacementCancellation": [:]])])
        return ended
    }

    /// A change that waits for the end of the period has a token of its own at once.
    private mutating func postpone(_ plan: CustomerStory.Plan) throws(SimulatorError) {
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

    private mutating func topUp() throws(SimulatorError) {
        guard let old = subscription else { throw SimulatorError("nothing is topped up", .nonsense) }
        let ended = Self.replaced(old, at: scene.time)
        var bought = try purchase()
        bought.linked = old.token
        subscription = bought
        publish(4, bought, and: [ended])
        acknowledge()
        publish(13, ended, late: 2000)
    }

    private mutating func buy(_ item: CustomerStory.Item, _ quantity: Int64) {
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

    private mutating func refund(_ which: CustomerStory.Purchase, reason: String) throws(SimulatorError) {
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

    private mutating func review() throws(SimulatorError) {
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

// MARK: Shared parts

extension GoogleStoryteller {
    private func token(_ number: Int) -> String {
        let letters = identity.letters("token \(number)", 24, of: "abcdefghijklmnop")
        let rest = identity.letters("signature \(number)", 30) + identity.letters("more \(number)", 20)
        return "\(letters).AO-J1O\(rest)"
    }

    private func order(_ number: Int) -> String {
        let digits = identity.decimal("order \(number)", 16)
        let (first, rest) = (digits.prefix(4), digits.dropFirst(4))
        return "GPA.3\(first.dropFirst())-\(rest.prefix(4))-\(rest.dropFirst(4).prefix(4))-\(rest.dropFirst(8))0"
    }

    /// Keeps the order of the current period.
    private mutating func charge() {
        guard let subscription, let standing = scene.after else { return }
        orders.append(
            PlayOrderResource(
                order: subscription.order,
                token: subscription.token,
                product: standing.plan.product,
                paid: standing.price,
                created: scene.time,
                period: (standing.start, standing.end)
            )
        )
    }

    private mutating func acknowledge() { subscription?.isAcknowledged = true }

    /// Changes the purchase, and reports it.
    private mutating func update(
        _ number: Int64,
        _ change: (inout PlaySubscription, Plot.Standing) throws(SimulatorError) -> Void,
        before publishing: (inout GoogleStoryteller) -> Void = { _ in }
    ) throws(SimulatorError) {
        guard var purchase = subscription, let standing = scene.after else {
            throw SimulatorError("there is no subscription", .nonsense)
        }
        try change(&purchase, standing)
        subscription = purchase
        publishing(&self)
        publish(number, purchase)
    }

    private func resource(_ purchase: PlaySubscription) -> SimulatedResource {
        resource("purchases/subscriptionsv2/tokens/\(purchase.token)", purchase.json)
    }

    private func resource(_ product: PlayProduct) -> SimulatedResource {
        resource("purchases/productsv2/tokens/\(product.token)", product.json)
    }

    private func resource(_ order: PlayOrderResource) -> SimulatedResource {
        resource("orders/\(order.order)", order.json)
    }

    private func resource(_ path: String, _ body: JSONText) -> SimulatedResource {
        SimulatedResource(
            host: PlayResources.host,
            path: "/androidpublisher/v3/applications/\(packageName)/\(path)",
            body: body
        )
    }

    /// Publishes a notification about a subscription, with it and its orders as they are now.
    private mutating func publish(
        _ number: Int64,
        _ purchase: PlaySubscription,
        and others: [PlaySubscription] = [],
        late: Int64 = 0
    ) {
        publish(
            "subscriptionNotification",
            [
                "version": "1.0", "notificationType": .integer(number), "purchaseToken": .string(purchase.token),
                "subscriptionId": .string(purchase.items[0].plan.product),
            ],
            type: "\(number) \(Self.names[number] ?? "")",
            resources: ([purchase] + others).map { resource($0) }
                + orders.filter { $0.token == purchase.token }.suffix(1).map { resource($0) },
            late: late
        )
    }

    private mutating func publish(
        _ body: String,
        _ members: JSONText,
        type: String,
        resources: [SimulatedResource] = [],
        late: Int64 = 0
    ) {
        published += 1
        let eventTime = scene.time + late + Self.lag
        notifications.append(
            SimulatedNotification(
                provider: .google,
                step: scene.step,
                occurredAt: Date(millisecondsSince1970: eventTime),
                type: type,
                id: "1\(identity.decimal("message \(published)", 15))",
                content: JSONMembers([
                    ("version", "1.0"), ("packageName", .string(packageName)),
                    ("eventTimeMillis", .string(String(eventTime))), (body, members),
                ]).bytes,
                resources: resources
            )
        )
    }

    private static let names: [Int64: String] = [
        1: "SUBSCRIPTION_RECOVERED", 2: "SUBSCRIPTION_RENEWED", 3: "SUBSCRIPTION_CANCELED",
        4: "SUBSCRIPTION_PURCHASED", 5: "SUBSCRIPTION_ON_HOLD", 6: "SUBSCRIPTION_IN_GRACE_PERIOD",
        7: "SUBSCRIPTION_RESTARTED", 9: "SUBSCRIPTION_DEFERRED", 10: "SUBSCRIPTION_PAUSED",
        11: "SUBSCRIPTION_PAUSE_SCHEDULE_CHANGED", 12: "SUBSCRIPTION_REVOKED", 13: "SUBSCRIPTION_EXPIRED",
        18: "SUBSCRIPTION_CANCELLATION_SCHEDULED", 19: "SUBSCRIPTION_PRICE_CHANGE_UPDATED",
        20: "SUBSCRIPTION_PENDING_PURCHASE_CANCELED",
    ]
}
