import FoundationEssentials
import LifecycleEvents
import WireJSON

/// RevenueCat's view of a customer, scene by scene: purchases in one store. Where the store has a simulator, they have the names
/// that it gives them with the same seed.
struct RevenueCatStoryteller {
    private typealias Event = RevenueCatSimulator.Event

    /// A period, or something bought once, with its names in the store.
    private struct Purchase {
        var transaction: String
        var original: String
        var product: String
        var start: Int64
        var end: Int64?
        var price: Int64
        var offer: CustomerStory.Offer?
        var isPrepaid = false

        /// The purchase in a test notification.
        static func sample(_ time: Int64) -> Purchase {
            Purchase(
                transaction: "1",
                original: "1",
                product: "test",
                start: time,
                end: time + 86_400_000,
                price: 0
            )
        }
    }

    private let store: PurchaseStore
    private let identity: StoryIdentity
    private let account: String
    /// The names of what each scene is about.
    private var names: [Int: (original: String, transaction: String)] = [:]
    private var purchases: [Purchase] = []
    private var shared: Purchase?
    private var owner: String
    /// The scene that is played, which every notification is of.
    private var scene = Plot.Scene.opening
    private(set) var notifications: [SimulatedNotification] = []

    /// RevenueCat reports a little after the moment.
    private static let lag: Int64 = 3000

    init(_ story: CustomerStory, _ scenes: [Plot.Scene], of store: PurchaseStore, seed: String)
        throws(SimulatorError)
    {
        self.store = store
        identity = StoryIdentity(seed: seed, story: story.id)
        account = identity.uuid("account")
        owner = account
        let purchases = scenes.filter { $0.act != .transfer }
        switch store {
        case .playStore:
            let teller = try GoogleStoryteller(story, scenes: purchases, packageName: "com.example.app", seed: seed)
            for (scene, holding) in zip(purchases, teller.holdings) {
                names[scene.step] = holding.map { ($0.firstOrder, $0.order) }
            }
        case .appStore:
            let notifications = try AppleStoryteller.notifications(of: purchases, named: "\(seed)/\(story.id)")
            for (scene, notification) in zip(purchases, notifications) {
                guard case .data(let data) = notification.content, let info = data.transactionInfo else { continue }
                names[scene.step] = (info.originalTransactionId, info.transactionId)
            }
        case .stripe:
            var teller = StripeStoryteller(StripeSimulator(seed: seed), story: story)
            for scene in purchases {
                try teller.tell(scene)
                // A subscription keeps its name from period to period.
                names[scene.step] = teller.latestName.map { ($0, $0) }
            }
        default: nameByThemselves(purchases)
        }
    }

    /// The names of a store that has no simulator of its own.
    private mutating func nameByThemselves(_ scenes: [Plot.Scene]) {
        var original = ""
        for scene in scenes {
            switch scene.act {
            case .buy:
                let name = identity.letters("sale \(scene.step)", 16)
                names[scene.step] = (name, name)
                continue
            case .subscribe: original = identity.letters("purchase \(scene.step)", 16)
            default: break
            }
            let renewals = scene.after?.renewals ?? 0
            names[scene.step] = (original, renewals == 0 ? original : "\(original)-\(renewals)")
        }
    }

    /// Plays one scene.
    mutating func tell(_ scene: Plot.Scene) throws(SimulatorError) {
        self.scene = scene
        let time = scene.time
        switch scene.act {
        case .subscribe:
            // A customer who comes back within an App Store group continues the same purchase.
            let isReturn = scene.before != nil && store == .appStore
            let purchase = try bought()
            emit(isReturn ? "RENEWAL" : "INITIAL_PURCHASE", purchase, changing: charged(purchase))
        case .renew, .renewEarly, .renewAfterCancel, .recover, .resume:
            let purchase = try bought()
            var changes = charged(purchase)
            if scene.before?.offer == .freeWeek { changes.append(("is_trial_conversion", true)) }
            emit("RENEWAL", purchase, changing: changes)
        case .failCharge(let grace): try fail(grace)
        case .cancel:
            var purchase = try latest()
            purchase.end = scene.before?.graceEnd ?? purchase.end
            emit("CANCELLATION", purchase, changing: [("cancel_reason", "UNSUBSCRIBE")])
        case .uncancel: emit("UNCANCELLATION", try latest())
        case .expire(let ending):
            let isHeld = scene.before?.state == .hold
            // A purchase that ended with the failed charge does not end again. At Stripe it does not end with that.
            guard !isHeld || store == .stripe else { return }
            let reason =
                switch ending {
                case .customer: "UNSUBSCRIBE"
                case .billing: "BILLING_ERROR"
                case .priceDeclined: "PRICE_INCREASE"
                case .ranOut: "UNKNOWN"
                }
            var purchase = try latest()
            purchase.end = isHeld ? time : scene.before?.graceEnd ?? purchase.end
            emit("EXPIRATION", purchase, changing: [("expiration_reason", .string(reason))])
        case .upgrade: try replace()
        case .crossgrade where store == .stripe: try replace()
        case .downgrade(let plan), .crossgrade(let plan):
            announce(product(plan), inPlaceOf: try latest())
        case .withdrawDowngrade:
            let purchase = try latest()
            announce(purchase.product, inPlaceOf: purchase)
        case .schedulePause:
            let resumesAt = scene.after?.resumesAt.map { JSONText.integer($0) }
            emit("SUBSCRIPTION_PAUSED", try latest(), changing: resumesAt.map { [("auto_resume_at_ms", $0)] } ?? [])
        case .pause: emit("EXPIRATION", try latest(), changing: [("expiration_reason", "SUBSCRIPTION_PAUSED")])
        case .extend:
            guard let index = purchases.lastIndex(where: { $0.end != nil }) else { throw nothing }
            purchases[index].end = scene.after?.end
            emit("SUBSCRIPTION_EXTENDED", purchases[index])
        case .buy(let item, let quantity):
            let name = try name()
            let purchase = Purchase(
                transaction: name.transaction,
                original: name.original,
                product: product(item),
                start: time,
                price: item.price * quantity
            )
            purchases.append(purchase)
            emit("NON_RENEWING_PURCHASE", purchase, changing: charged(purchase))
        case .topUp:
            var old = try latest()
            let purchase = try bought()
            emit("INITIAL_PURCHASE", purchase, changing: charged(purchase))
            old.end = time
            emit("EXPIRATION", old, changing: [("expiration_reason", "UNKNOWN")])
        case .refund(let which, _): try refund(which)
        case .reverseRefund:
            guard let purchase = purchases.last else { throw nothing }
            emit("REFUND_REVERSED", purchase)
        case .shareWithFamily:
            let name = try name()
            var purchase = try latest()
            (purchase.original, purchase.transaction) = (name.original, name.transaction)
            shared = purchase
            emit("INITIAL_PURCHASE", purchase, changing: [("is_family_share", true)], user: identity.uuid("family"))
        case .stopSharing:
            guard var purchase = shared else { throw nothing }
            purchase.end = time
            let changes: Changes = [("is_family_share", true), ("expiration_reason", "UNSUBSCRIBE")]
            emit("EXPIRATION", purchase, changing: changes, user: identity.uuid("family"))
        case .transfer: transfer()
        case .test: emit("TEST", Purchase.sample(time))
        case .subscribePending, .completePayment, .abandonPayment, .cancelCommitment, .endGrace, .raisePrice,
            .acceptPrice, .requestRefund, .declineRefund, .disputeCharge, .winDispute, .loseDispute, .own:
            throw SimulatorError("RevenueCat has no \(scene.act.name)", .notOffered(by: .revenuecat))
        }
    }
}

// MARK: Scenes

extension RevenueCatStoryteller {
    private typealias Changes = [(String, JSONText)]

    private func charged(_ purchase: Purchase) -> Changes {
        let (units, rest) = (purchase.price / 1000, purchase.price % 1000 / 10)
        let amount = JSONText.raw(rest < 10 ? "\(units).0\(rest)" : "\(units).\(rest)")
        return [("price", amount), ("price_in_purchased_currency", amount), ("currency", "USD")]
    }

    private mutating func fail(_ grace: Duration?) throws(SimulatorError) {
        guard store != .stripe else { return try failAtStripe() }
        var purchase = try latest()
        let end = scene.after?.graceEnd
        if grace != nil { purchase.end = end }
        let graceEnd: JSONText = end.map { .integer($0) } ?? .null
        emit("BILLING_ISSUE", purchase, changing: [("grace_period_expiration_at_ms", graceEnd)])
        emit("CANCELLATION", purchase, changing: [("cancel_reason", "BILLING_ERROR")])
        if grace == nil { emit("EXPIRATION", purchase, changing: [("expiration_reason", "BILLING_ERROR")]) }
    }

    /// Stripe's next period has begun when it charges, and its end holds the time in which it tries again.
    private mutating func failAtStripe() throws(SimulatorError) {
        guard let standing = scene.after else { throw nothing }
        var purchase = try latest()
        let plan = standing.nextPlan ?? standing.plan
        (purchase.product, purchase.offer) = (product(plan), nil)
        (purchase.start, purchase.end) = (standing.end, plan.period.end(from: standing.end))
        purchases.append(purchase)
        emit("BILLING_ISSUE", purchase, changing: [("grace_period_expiration_at_ms", .null)])
        emit("CANCELLATION", purchase, changing: [("cancel_reason", "BILLING_ERROR")])
    }

    private mutating func announce(_ product: String, inPlaceOf purchase: Purchase) {
        let isNamed = RevenueCatSimulator.namesNewProduct(of: store)
        emit("PRODUCT_CHANGE", purchase, changing: isNamed ? [("new_product_id", .string(product))] : [])
    }

    private mutating func replace() throws(SimulatorError) {
        var old = try latest()
        var purchase = try bought()
        guard store == .playStore else {
            if store == .stripe {
                // The beginning is stated again.
                purchase.start = old.start
                purchases[purchases.count - 1].start = old.start
            }
            if purchase.product != old.product { announce(purchase.product, inPlaceOf: old) }
            emit("RENEWAL", purchase, changing: charged(purchase))
            return
        }
        // Without a new product the change is immediate, and the new purchase reports it.
        emit("PRODUCT_CHANGE", old)
        emit("INITIAL_PURCHASE", purchase, changing: charged(purchase))
        old.end = scene.time
        emit("EXPIRATION", old, changing: [("expiration_reason", "UNKNOWN")])
    }

    private mutating func refund(_ which: CustomerStory.Purchase) throws(SimulatorError) {
        guard let index = which == .latest ? purchases.indices.last : purchases.indices.dropLast().last else {
            throw nothing
        }
        var purchase = purchases[index]
        let isSubscription = purchase.end != nil
        // RevenueCat does not report the refund of an earlier period: https://www.revenuecat.com/docs/subscription-guidance/refunds
        guard which == .latest || !isSubscription else { return }
        if which == .latest, isSubscription { purchase.end = scene.time }
        var changes = charged(purchase)
        for index in changes.indices.prefix(2) { changes[index].1 = .raw("-\(changes[index].1.text)") }
        changes.append(("cancel_reason", "CUSTOMER_SUPPORT"))
        emit("CANCELLATION", purchase, changing: changes)
        guard which == .latest, isSubscription else { return }
        emit("EXPIRATION", purchase, changing: [("expiration_reason", "CUSTOMER_SUPPORT")])
    }

    private mutating func transfer() {
        let other = owner == account ? identity.uuid("other account") : account
        let event = RevenueCatSimulator.Event([
            "type": "TRANSFER", "id": .string(identity.uuid("event \(notifications.count)").uppercased()),
            "event_timestamp_ms": .integer(scene.time + Self.lag), "app_id": "app0123456789",
            "environment": "PRODUCTION", "store": .string(storeName),
            "transferred_from": [.string(owner)], "transferred_to": [.string(other)],
        ])
        owner = other
        append(event, "TRANSFER", number: notifications.count)
    }
}

// MARK: Shared parts

extension RevenueCatStoryteller {
    private var nothing: SimulatorError { SimulatorError("nothing was bought", .nonsense) }

    private func latest() throws(SimulatorError) -> Purchase {
        guard let purchase = purchases.last(where: { $0.end != nil }) ?? purchases.last else { throw nothing }
        return purchase
    }

    private func name() throws(SimulatorError) -> (original: String, transaction: String) {
        guard let name = names[scene.step] else { throw nothing }
        return name
    }

    private func product(_ plan: CustomerStory.Plan) -> String {
        switch store {
        case .playStore: "\(plan.product):\(plan.rhythm)"
        case .appStore: AppStoreProduct(plan).id
        // Stripe sells months and years of one product.
        case .stripe: "prod_\(plan.product)"
        default: "\(plan.product)_\(plan.rhythm)"
        }
    }

    private func product(_ item: CustomerStory.Item) -> String {
        switch store {
        case .appStore: AppStoreProduct(item).id
        case .stripe: "prod_\(item.rawValue)"
        default: item.rawValue
        }
    }

    /// The store as webhooks name it.
    private var storeName: String { store.rawValue.uppercased() }

    /// True if webhooks number the periods.
    private var isNumbered: Bool { store != .appStore && store != .playStore }

    /// The period that a scene begins.
    private mutating func bought() throws(SimulatorError) -> Purchase {
        guard let standing = scene.after else { throw nothing }
        let name = try name()
        let purchase = Purchase(
            transaction: name.transaction,
            original: name.original,
            product: product(standing.plan),
            start: standing.start,
            end: standing.end,
            price: standing.price,
            offer: standing.offer,
            isPrepaid: standing.plan.billing == .prepaid
        )
        purchases.append(purchase)
        return purchase
    }

    private mutating func emit(
        _ type: String,
        _ purchase: Purchase,
        changing changes: Changes = [],
        user: String? = nil
    ) {
        let number = notifications.count
        let user = user ?? owner
        let device = JSONText.string(RevenueCatSimulator.firstID(of: user))
        var event = Event(
            type,
            id: identity.uuid("event \(number)").uppercased(),
            at: scene.time + Self.lag + Int64(number % 3),
            .init(purchase.start, to: purchase.end ?? purchase.start, purchase.transaction)
        )
        event.members["store"] = .string(storeName)
        if isNumbered, purchase.end != nil {
            let periods = purchases.prefix { $0.start <= purchase.start }.filter { $0.original == purchase.original }
            event.members["renewal_number"] = .integer(Int64(max(1, Set(periods.map(\.start)).count)))
        }
        event.members["product_id"] = .string(purchase.product)
        event.members["original_transaction_id"] = .string(purchase.original)
        event.members["app_user_id"] = .string(user)
        event.members["original_app_user_id"] = device
        event.members["aliases"] = [.string(user), device]
        if purchase.end == nil { event.members["expiration_at_ms"] = .some(.null) }
        if purchase.product.contains("coins") { event.members["entitlement_ids"] = .some(.null) }
        switch purchase.offer {
        case .freeWeek?: event.members["period_type"] = "TRIAL"
        case .cheapMonth?: event.members["period_type"] = "INTRO"
        default: if purchase.isPrepaid { event.members["period_type"] = "PREPAID" }
        }
        for (name, value) in changes { event.members[name] = value }
        append(event, type, number: number)
    }

    private mutating func append(_ event: RevenueCatSimulator.Event, _ type: String, number: Int) {
        let reason = [event.members["cancel_reason"], event.members["expiration_reason"]].compactMap(\.self).first
        var name = type
        if case .string(let reason)? = reason { name += "/\(reason)" }
        notifications.append(
            SimulatedNotification(
                provider: .revenuecat,
                step: scene.step,
                occurredAt: Date(millisecondsSince1970: scene.time + Self.lag + Int64(number % 3)),
                type: name,
                id: identity.uuid("event \(number)").uppercased(),
                content: event.body,
                resources: []
            )
        )
    }
}
