import FoundationEssentials
import LifecycleEvents
import SignatureCore

/// The App Store's view of a customer, step by step.
struct AppleStoryteller {
    typealias Transaction = AppleSimulator.Transaction
    typealias RenewalInfo = AppleSimulator.RenewalInfo
    typealias Notification = AppleSimulator.Notification

    private struct Subscription {
        var product: AppStoreProduct
        var transaction: Transaction
        var renewal: RenewalInfo
        var nextProduct: AppStoreProduct
        var nextOffer: AppStoreOffer?
        var nextPrice: Int64?
        var status: Int64 = 1

        /// The price of the next period without an offer, in thousandths. One that was raised counts while no other product is
        /// chosen.
        var nextCharge: Int64 { nextProduct.id == product.id ? nextPrice ?? product.price : nextProduct.price }
    }

    private let story: String
    private var now = Date(millisecondsSince1970: 0)
    private var serial: Int64 = 0
    private var subscription: Subscription?
    private var familyMember: Transaction?
    private var past: [Transaction] = []
    private var refunded: Transaction?

    init(story: String) { self.story = story }

    /// The App Store's notifications of scenes, one each.
    static func notifications(
        of scenes: [Plot.Scene],
        named story: String
    ) throws(SimulatorError) -> [Notification] {
        var teller = AppleStoryteller(story: story)
        var notifications: [Notification] = []
        for scene in scenes { notifications.append(try teller.tell(scene)) }
        return notifications
    }

    private mutating func tell(_ scene: Plot.Scene) throws(SimulatorError) -> Notification {
        now = Date(millisecondsSince1970: scene.time)
        if case .own(let own) = scene.act {
            guard let act = own.act as? AppStoreAct else { throw notOffered(scene.act) }
            return try perform(act)
        }
        return try perform(scene.act)
    }

    private func notOffered(_ act: CustomerStory.Act) -> SimulatorError {
        SimulatorError("the App Store has no \(act.name)", .notOffered(by: .apple))
    }

    private mutating func perform(_ act: CustomerStory.Act) throws(SimulatorError) -> Notification {
        switch act {
        case .subscribe(let plan, let offer):
            return try subscribe(AppStoreProduct(plan), offer.map { AppStoreOffer($0) })
        case .renew, .renewEarly, .renewAfterCancel: return try renew(nil)
        case .recover: return try renew("BILLING_RECOVERY")
        case .failCharge(let grace): return try failToRenew(grace)
        case .endGrace:
            return try change("GRACE_PERIOD_EXPIRED") { $0.status = 3 }
        case .expire(.customer): return try expire("VOLUNTARY", intent: 1)
        case .expire(.billing): return try expire("BILLING_RETRY", intent: 2)
        case .expire(.priceDeclined): return try expire("PRICE_INCREASE", intent: 3)
        case .cancel:
            return try change("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED") { $0.renewal.autoRenewStatus = 0 }
        case .uncancel:
            return try change("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED") { $0.renewal.autoRenewStatus = 1 }
        case .upgrade(let plan): return try upgrade(AppStoreProduct(plan))
        case .downgrade(let plan), .crossgrade(let plan):
            return try change("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE") { $0.nextProduct = AppStoreProduct(plan) }
        case .withdrawDowngrade:
            return try change("DID_CHANGE_RENEWAL_PREF") { $0.nextProduct = $0.product }
        case .raisePrice(let price, let needsConsent):
            return try change("PRICE_INCREASE", needsConsent ? "PENDING" : "ACCEPTED") {
                $0.nextPrice = price
                $0.renewal.priceIncreaseStatus = needsConsent ? 0 : 1
            }
        case .acceptPrice:
            return try change("PRICE_INCREASE", "ACCEPTED") { $0.renewal.priceIncreaseStatus = 1 }
        case .buy(let item, let quantity): return try buy(AppStoreProduct(item), quantity)
        case .requestRefund: return try requestRefund("UNINTENDED_PURCHASE")
        case .refund(let purchase, let share): return try refund(purchase, share == .half ? 50_000 : nil)
        case .declineRefund: return report("REFUND_DECLINED", about: try latest())
        case .reverseRefund: return try reverseRefund()
        case .shareWithFamily: return try shareWithFamily()
        case .stopSharing: return try stopSharing()
        case .extend(let days): return try extend(days)
        case .test: return notify("TEST", nil, content: .data(.init()))
        case .subscribePending, .completePayment, .abandonPayment, .cancelCommitment, .schedulePause, .pause, .resume,
            .topUp, .disputeCharge, .winDispute, .loseDispute, .transfer, .expire(.ranOut), .own:
            throw notOffered(act)
        }
    }

    private mutating func perform(_ act: AppStoreAct) throws(SimulatorError) -> Notification {
        switch act {
        case .subscribe(let plan, let offer): return try subscribe(AppStoreProduct(plan), offer)
        case .redeem(let offer):
            return try change("OFFER_REDEEMED") { $0.nextOffer = offer }
        case .changePrice(let price):
            return try change("PRICE_CHANGE") { $0.nextPrice = price }
        case .updateMetadata: return try change("METADATA_UPDATE") { _ in }
        case .migrate: return try migrate()
        case .buySeason: return try buy(.season, 1)
        case .requestRefund(let reason): return try requestRefund(reason)
        case .refund(let purchase, let percentage): return try refund(purchase, percentage)
        case .expireNotForSale: return try expire("PRODUCT_NOT_FOR_SALE", intent: 4)
        case .expireWithoutReason: return try expire(nil, intent: 5)
        case .failToExtend: return try change("RENEWAL_EXTENSION", "FAILURE") { _ in }
        case .finishMassExtension(let succeeded, let failed): return massExtension(succeeded, failed)
        case .externalPurchaseToken(let stage): return token(stage)
        case .rescindConsent: return rescindConsent()
        }
    }
}

// MARK: Acts

extension AppleStoryteller {
    private mutating func subscribe(
        _ product: AppStoreProduct,
        _ offer: AppStoreOffer?
    ) throws(SimulatorError) -> Notification {
        guard product.period != nil else { throw nonsense("\(product.id) does not renew") }
        let before = subscription
        if before?.status == 1 || before?.status == 4 { throw nonsense("there is a subscription already") }
        let transactionId = nextTransactionId()
        var transaction = Transaction(
            transactionId: transactionId,
            originalTransactionId: before?.transaction.originalTransactionId ?? transactionId,
            productId: product.id,
            purchaseDate: now,
            type: product.type
        )
        transaction.originalPurchaseDate = before?.transaction.originalPurchaseDate ?? now
        begin(&transaction, of: product, offer: offer, price: product.price, reason: "PURCHASE")
        var renewal = RenewalInfo(
            originalTransactionId: transaction.originalTransactionId,
            productId: product.id,
            autoRenewProductId: product.id
        )
        renewal.recentSubscriptionStartDate = now
        renewal.appAccountToken = transaction.appAccountToken
        renewal.appTransactionId = transaction.appTransactionId
        subscription = Subscription(
            product: product,
            transaction: transaction,
            renewal: renewal,
            nextProduct: product
        )
        past.append(transaction)
        return try change("SUBSCRIBED", before == nil ? "INITIAL_BUY" : "RESUBSCRIBE") { _ in }
    }

    private mutating func renew(_ subtype: String?) throws(SimulatorError) -> Notification {
        guard var current = subscription else { throw nonsense("there is no subscription") }
        // The App Store may charge up to a day ahead.
        guard let expires = current.transaction.expiresDate, expires.addingTimeInterval(-86_400) <= now else {
            throw nonsense("the period has not ended")
        }
        let product = current.nextProduct
        let price = current.nextCharge
        var transaction = current.transaction
        transaction.transactionId = nextTransactionId()
        transaction.productId = product.id
        // Within a grace period the new period follows on the old one; after a retry it begins with the payment.
        transaction.purchaseDate = current.status == 3 ? now : expires
        begin(&transaction, of: product, offer: current.nextOffer, price: price, reason: "RENEWAL")
        current.product = product
        current.product.price = price
        current.nextProduct = current.product
        current.nextPrice = nil
        current.nextOffer = nil
        current.transaction = transaction
        current.renewal.gracePeriodExpiresDate = nil
        current.renewal.isInBillingRetryPeriod = nil
        current.renewal.expirationIntent = nil
        current.renewal.priceIncreaseStatus = nil
        current.status = 1
        subscription = current
        past.append(transaction)
        return try change("DID_RENEW", subtype) { _ in }
    }

    private mutating func failToRenew(_ grace: Duration?) throws(SimulatorError) -> Notification {
        try change("DID_FAIL_TO_RENEW", grace == nil ? nil : "GRACE_PERIOD") {
            $0.renewal.isInBillingRetryPeriod = true
            $0.renewal.expirationIntent = 2
            if let grace {
                $0.renewal.gracePeriodExpiresDate = $0.transaction.expiresDate?.addingTimeInterval(grace.seconds)
            }
            $0.status = grace == nil ? 3 : 4
        }
    }

    /// - Parameter intent: `expirationIntent`.
    private mutating func expire(_ subtype: String?, intent: Int64) throws(SimulatorError) -> Notification {
        try change("EXPIRED", subtype) {
            $0.status = 2
            $0.renewal.autoRenewStatus = 0
            $0.renewal.isInBillingRetryPeriod = intent == 2 ? false : nil
            $0.renewal.expirationIntent = intent
        }
    }

    private mutating func upgrade(_ product: AppStoreProduct) throws(SimulatorError) -> Notification {
        guard var current = subscription, current.status == 1 || current.status == 4 else {
            throw nonsense("there is nothing to upgrade")
        }
        var transaction = current.transaction
        transaction.transactionId = nextTransactionId()
        transaction.productId = product.id
        transaction.purchaseDate = now
        begin(&transaction, of: product, offer: nil, price: product.price, reason: "PURCHASE")
        current.product = product
        current.nextProduct = product
        current.nextPrice = nil
        current.nextOffer = nil
        current.transaction = transaction
        current.renewal.autoRenewStatus = 1
        current.renewal.gracePeriodExpiresDate = nil
        current.renewal.isInBillingRetryPeriod = nil
        current.renewal.expirationIntent = nil
        current.status = 1
        subscription = current
        if !past.isEmpty { past[past.count - 1].isUpgraded = true }
        past.append(transaction)
        return try change("DID_CHANGE_RENEWAL_PREF", "UPGRADE") { _ in }
    }

    private mutating func extend(_ days: Int64) throws(SimulatorError) -> Notification {
        let notification = try change("RENEWAL_EXTENDED") {
            $0.transaction.expiresDate = $0.transaction.expiresDate?.addingTimeInterval(Double(days) * 86_400)
        }
        // Later statements about the transaction, such as its refund, have the new end, too.
        if let extended = subscription?.transaction,
            let index = past.lastIndex(where: { $0.transactionId == extended.transactionId })
        {
            past[index].expiresDate = extended.expiresDate
        }
        return notification
    }

    private mutating func migrate() throws(SimulatorError) -> Notification {
        let lineage = nextTransactionId()
        return try change("MIGRATION") {
            $0.transaction.previousOriginalTransactionId = $0.transaction.originalTransactionId
            $0.transaction.originalTransactionId = lineage
            $0.transaction.transactionId = lineage
            $0.renewal.originalTransactionId = lineage
        }
    }

    private mutating func buy(
        _ product: AppStoreProduct,
        _ quantity: Int64
    ) throws(SimulatorError) -> Notification {
        guard product.period == nil else { throw nonsense("\(product.id) renews") }
        let (price, overflow) = product.price.multipliedReportingOverflow(by: quantity)
        guard !overflow else { throw nonsense("the price of so many is too large") }
        let transactionId = nextTransactionId()
        var transaction = Transaction(
            transactionId: transactionId,
            originalTransactionId: transactionId,
            productId: product.id,
            purchaseDate: now,
            type: product.type
        )
        transaction.quantity = quantity
        transaction.price = price
        transaction.currency = "USD"
        transaction.appAccountToken = uuid("account")
        transaction.appTransactionId = appTransactionId
        past.append(transaction)
        return report("ONE_TIME_CHARGE", about: transaction)
    }

    private mutating func requestRefund(_ reason: String) throws(SimulatorError) -> Notification {
        var notification = report("CONSUMPTION_REQUEST", about: try latest())
        if case .data(var data) = notification.content {
            data.consumptionRequestReason = reason
            notification.content = .data(data)
        }
        return notification
    }

    private mutating func refund(
        _ purchase: CustomerStory.Purchase,
        _ percentage: Int64?
    ) throws(SimulatorError) -> Notification {
        let candidates = purchase == .latest ? past.suffix(1) : past.dropLast().suffix(1)
        guard var transaction = candidates.first else { throw nonsense("there is no such transaction") }
        transaction.revocationDate = now
        transaction.revocationReason = 0
        transaction.revocationType = percentage == nil ? "REFUND_FULL" : "REFUND_PRORATED"
        transaction.revocationPercentage = percentage ?? 100_000
        refunded = transaction
        restate(transaction)
        if subscription?.transaction.transactionId == transaction.transactionId {
            subscription?.status = 5
            subscription?.renewal.autoRenewStatus = 0
        }
        return report("REFUND", about: transaction)
    }

    private mutating func reverseRefund() throws(SimulatorError) -> Notification {
        guard var transaction = refunded else { throw nonsense("nothing was refunded") }
        transaction.clearRevocation()
        refunded = nil
        restate(transaction)
        if subscription?.transaction.transactionId == transaction.transactionId { subscription?.status = 1 }
        return report("REFUND_REVERSED", about: transaction)
    }

    /// Every later notification about a purchase shows whether it is refunded.
    private mutating func restate(_ transaction: Transaction) {
        for index in past.indices where past[index].transactionId == transaction.transactionId {
            past[index] = transaction
        }
        if subscription?.transaction.transactionId == transaction.transactionId {
            subscription?.transaction = transaction
        }
    }

    private mutating func shareWithFamily() throws(SimulatorError) -> Notification {
        var transaction = try latest()
        transaction.transactionId = nextTransactionId()
        transaction.originalTransactionId = transaction.transactionId
        transaction.inAppOwnershipType = "FAMILY_SHARED"
        transaction.appAccountToken = nil
        transaction.appTransactionId = "7\(appTransactionId.dropFirst())"
        transaction.originalPurchaseDate = now
        familyMember = transaction
        guard let current = subscription else { return report("ONE_TIME_CHARGE", about: transaction) }
        var renewal = current.renewal
        renewal.originalTransactionId = transaction.originalTransactionId
        renewal.appAccountToken = nil
        renewal.appTransactionId = transaction.appTransactionId
        renewal.renewalDate = transaction.expiresDate
        return notify(
            "SUBSCRIBED",
            "INITIAL_BUY",
            content: .data(.init(status: 1, transactionInfo: transaction, renewalInfo: renewal))
        )
    }

    private mutating func stopSharing() throws(SimulatorError) -> Notification {
        guard var transaction = familyMember else { throw nonsense("nothing is shared") }
        transaction.revocationDate = now
        transaction.revocationReason = 0
        transaction.revocationType = "FAMILY_REVOKE"
        familyMember = nil
        guard transaction.expiresDate != nil else { return report("REVOKE", about: transaction) }
        return notify("REVOKE", nil, content: .data(.init(status: 5, transactionInfo: transaction)))
    }

    private mutating func massExtension(_ succeeded: Int64, _ failed: Int64) -> Notification {
        notify(
            "RENEWAL_EXTENSION",
            "SUMMARY",
            content: .summary(
                .init(
                    productId: subscription?.product.id ?? AppStoreProduct(.proMonthly).id,
                    requestIdentifier: uuid("mass extension"),
                    storefrontCountryCodes: ["USA", "DEU"],
                    succeededCount: succeeded,
                    failedCount: failed
                )
            )
        )
    }

    private mutating func token(_ stage: AppStoreAct.TokenStage) -> Notification {
        notify(
            "EXTERNAL_PURCHASE_TOKEN",
            stage.rawValue,
            content: .externalPurchaseToken(
                .init(
                    externalPurchaseId: uuid("external purchase"),
                    tokenCreationDate: now,
                    tokenType: stage == .unreported ? nil : "ACQUISITION",
                    tokenExpirationDate: stage == .unreported ? nil : now.addingTimeInterval(86_400 * 30)
                )
            )
        )
    }

    private mutating func rescindConsent() -> Notification {
        notify(
            "RESCIND_CONSENT",
            nil,
            content: .appData(
                .init(appTransactionId: appTransactionId, originalPurchaseDate: now.addingTimeInterval(-86_400))
            )
        )
    }
}

// MARK: Shared parts

extension AppleStoryteller {
    private func nonsense(_ what: String) -> SimulatorError { SimulatorError("story \(story): \(what)", .nonsense) }

    private func latest() throws(SimulatorError) -> Transaction {
        guard let transaction = past.last else { throw nonsense("nothing was bought") }
        return transaction
    }

    /// Fills in what a period that begins has.
    private func begin(
        _ transaction: inout Transaction,
        of product: AppStoreProduct,
        offer: AppStoreOffer?,
        price: Int64,
        reason: String
    ) {
        transaction.clearRevocation()
        transaction.expiresDate = (offer?.period ?? product.period).map { period in
            Date(millisecondsSince1970: period.end(from: transaction.purchaseDate.millisecondsSince1970))
        }
        transaction.webOrderLineItemId = "\(2_000_000_070_000_000 + serial)"
        transaction.subscriptionGroupIdentifier = "21500001"
        transaction.price = offer?.price ?? price
        transaction.currency = "USD"
        transaction.offerType = offer?.type
        transaction.offerIdentifier = offer?.identifier
        transaction.offerDiscountType = offer?.discountType
        transaction.offerPeriod = offer?.offerPeriod
        transaction.transactionReason = reason
        transaction.appAccountToken = uuid("account")
        transaction.appTransactionId = appTransactionId
    }

    /// Changes the subscription and reports it.
    private mutating func change(
        _ type: String,
        _ subtype: String? = nil,
        by body: (inout Subscription) -> Void
    ) throws(SimulatorError) -> Notification {
        guard var current = subscription else { throw nonsense("there is no subscription") }
        body(&current)
        current.renewal.productId = current.product.id
        current.renewal.autoRenewProductId = current.nextProduct.id
        current.renewal.renewalDate = current.renewal.autoRenewStatus == 1 ? current.transaction.expiresDate : nil
        current.renewal.renewalPrice =
            current.renewal.autoRenewStatus == 1
            ? current.nextOffer?.price ?? current.nextCharge : nil
        current.renewal.currency = "USD"
        current.renewal.offerType = current.nextOffer?.type
        current.renewal.offerIdentifier = current.nextOffer?.identifier
        current.renewal.offerDiscountType = current.nextOffer?.discountType
        current.renewal.offerPeriod = current.nextOffer?.offerPeriod
        subscription = current
        return notify(
            type,
            subtype,
            content: .data(
                .init(status: current.status, transactionInfo: current.transaction, renewalInfo: current.renewal)
            )
        )
    }

    /// Tells of a transaction, with the state of its subscription where it belongs to one.
    private mutating func report(_ type: String, about transaction: Transaction) -> Notification {
        var data = AppleSimulator.PurchaseData(transactionInfo: transaction)
        if let subscription, transaction.originalTransactionId == subscription.renewal.originalTransactionId {
            data.status = subscription.status
            data.renewalInfo = subscription.renewal
        }
        return notify(type, nil, content: .data(data))
    }

    private mutating func notify(_ type: String, _ subtype: String?, content: Notification.Content) -> Notification {
        serial += 1
        return Notification(
            type,
            subtype,
            notificationUUID: uuid("notification \(serial)"),
            signedDate: now,
            content: content
        )
    }

    private mutating func nextTransactionId() -> String {
        serial += 1
        return "\(2_000_000_000_000_000 + digits("transaction", below: 10_000_000_000) * 10_000 + serial)"
    }

    private var appTransactionId: String {
        "70\(1_000_000_000_000_000 + digits("app transaction", below: 1_000_000_000))"
    }

    /// A number that depends on story and purpose alone.
    private func digits(_ purpose: String, below bound: UInt64) -> Int64 {
        let number = hash(purpose).prefix(7).reduce(0) { $0 << 8 | UInt64($1) }
        return Int64(truncatingIfNeeded: number % bound)
    }

    private func uuid(_ purpose: String) -> String {
        let octets = hash(purpose)
        let version: [UInt8] = [octets[6] & 0x0F | 0x40, octets[7], octets[8] & 0x3F | 0x80]
        let digits = Array("0123456789abcdef")
        let ordered: [UInt8] = octets[..<6] + version + octets[9..<16]
        let text = ordered.flatMap { octet -> [Character] in [digits[Int(octet >> 4)], digits[Int(octet & 15)]] }
        let parts = [text[..<8], text[8..<12], text[12..<16], text[16..<20], text[20...]]
        return parts.map { String($0) }.joined(separator: "-")
    }

    private func hash(_ purpose: String) -> [UInt8] { SHA256.hash("\(story)\n\(purpose)".utf8.span).bytes }
}

extension Duration {
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds / 1_000_000_000_000_000) / 1000
    }
}

extension AppleSimulator.Transaction {
    fileprivate mutating func clearRevocation() {
        (revocationDate, revocationReason, revocationType, revocationPercentage) = (nil, nil, nil, nil)
    }
}
