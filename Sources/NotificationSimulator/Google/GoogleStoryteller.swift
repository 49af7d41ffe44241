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

    let packageName: String
    let identity: StoryIdentity
    var subscription: PlaySubscription?
    var product: PlayProduct?
    var orders: [PlayOrderResource] = []
    var purchases = 0
    var published = 0
    var notifications: [SimulatedNotification] = []
    /// The scene that is played, which every notification is of.
    var scene = Plot.Scene.opening
    /// The holding after each scene.
    private(set) var holdings: [Holding?] = []

    /// Google Play publishes a little after the moment.
    static let lag: Int64 = 1500

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

extension GoogleStoryteller {
    mutating func tell(_ scene: Plot.Scene) throws(SimulatorError) {
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
            .stopSharing, .transfer, .own:
            throw SimulatorError("Google Play has no \(scene.act.name)", .notOffered(by: .google))
        }
    }

    static func decline(_ purchase: inout PlaySubscription, _ standing: Plot.Standing) {
        let isGrace = standing.state == .grace
        purchase.state = isGrace ? .grace : .hold
        // Google Play puts the end of the period off by the grace period.
        purchase.items[0].expiry = standing.graceEnd ?? standing.end
        let pending: JSONText = [
            "renewalDeclined": ["pendingOrderId": .string("\(purchase.firstOrder)..\(purchase.renewals)")]
        ]
        purchase.context = JSONMembers([(isGrace ? "inGracePeriodStateContext" : "onHoldStateContext", pending)])
    }

    static func instalments(isCanceled: Bool) -> JSONText {
        var members = JSONMembers([
            ("initialCommittedPaymentsCount", 12), ("subsequentCommittedPaymentsCount", 12),
            ("remainingCommittedPaymentsCount", 11),
        ])
        if isCanceled { members.append("pendingCancellation", [:]) }
        return .object(members)
    }

    static func item(_ standing: Plot.Standing, _ order: String) -> PlaySubscription.Item {
        var item = PlaySubscription.Item(standing.plan)
        item.expiry = standing.end
        item.order = order
        item.offer = standing.offer
        if standing.offer == nil { item.price = standing.price }
        if standing.plan.billing == .instalments { item.terms["installmentDetails"] = instalments(isCanceled: false) }
        return item
    }

    mutating func renew(_ number: Int64) throws(SimulatorError) {
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

    mutating func expire(_ ending: CustomerStory.Ending) throws(SimulatorError) {
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

    /// Keeps the order of the current period.
    mutating func charge() {
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

    mutating func acknowledge() { subscription?.isAcknowledged = true }

    /// Changes the purchase, and reports it.
    mutating func update(
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
}
