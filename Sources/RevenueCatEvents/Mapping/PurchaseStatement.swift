import FoundationEssentials
import LifecycleEvents

/// One purchase as the fields of an event state it, in the store's own names.
struct PurchaseStatement {
    private let webhook: RevenueCatNotification.Webhook
    let store: PurchaseStore
    let environment: StoreEnvironment
    private(set) var lineage: SubscriptionID?
    let product: PurchasedProduct?
    let account: Account?
    let phase: PeriodPhase
    /// The transaction, if it names one period. A subscription at Stripe keeps its transaction, and one at another store may; on
    /// Play some webhooks name an order without the period of it.
    let periodTransaction: TransactionID?
    /// True if the name of the first period stands for one that may be another.
    private let isNamedAsFirst: Bool

    init(_ webhook: RevenueCatNotification.Webhook) {
        self.webhook = webhook
        let store = webhook.event.store?.canonical ?? .unknown
        self.store = store
        environment = webhook.event.environment?.canonical ?? .unknown
        product = webhook.event.productID.map { Self.product($0, store, offerCode: webhook.event.offerCode) }
        phase = webhook.event.periodType?.phase ?? .regular
        account = Account(appUserIDs: webhook.event.customerIDs)
        let transaction = store == .stripe ? nil : webhook.event.transactionID.map(TransactionID.init)
        isNamedAsFirst = webhook.event.isNamedAsFirst
        // A statement about something else names a period only in passing, and yields to one of the period itself.
        periodTransaction = isNamedAsFirst && webhook.event.statesPeriod ? nil : transaction
        // A grant for a day may come before there is a transaction, and gives access all the same.
        let grant = webhook.event.type == .temporaryEntitlementGrant ? webhook.event.id : nil
        if let id = webhook.event.originalTransactionID ?? webhook.event.transactionID ?? grant { nameLineage(id) }
    }

    private var event: RevenueCatEvent { webhook.event }

    var transactionID: TransactionID? { event.transactionID.map(TransactionID.init) }

    /// The transaction that names what was bought. A purchase without an end gets another transaction of the App Store each
    /// time it is restored, and is still the one purchase that the original names.
    var namingTransaction: TransactionID? {
        let isRenamed = lineage?.store == .appStore && event.expirationAt == nil
        return isRenamed ? originalTransactionID ?? transactionID : transactionID
    }

    /// The transaction that was paid for.
    var paidTransaction: TransactionID? { namingTransaction ?? originalTransactionID }

    private var originalTransactionID: TransactionID? { event.originalTransactionID.map(TransactionID.init) }

    mutating func nameLineage(_ id: String) { lineage = Self.lineage(id, in: store, environment) }

    // Apple has one App Store: a purchase keeps its identity, whichever of the two apps reports it.
    static func lineage(_ id: String, in store: PurchaseStore, _ environment: StoreEnvironment) -> SubscriptionID {
        SubscriptionID(
            store: store == .macAppStore ? .appStore : store,
            environment: environment,
            id: store == .playStore ? TransactionID(id).firstOrder.rawValue : id
        )
    }

    /// Google Play's subscriptions have base plans: `subscription:base-plan`.
    static func product(_ id: String, _ store: PurchaseStore, offerCode: String? = nil) -> PurchasedProduct {
        let offer = offerCode.map { Offer(kind: .code, id: $0) }
        guard store == .playStore, let colon = id.firstIndex(of: ":"), colon > id.startIndex else {
            return PurchasedProduct(id: ProductID(id), offer: offer)
        }
        let basePlan = String(id[id.index(after: colon)...])
        return PurchasedProduct(
            id: ProductID(String(id[..<colon])),
            basePlan: basePlan.isEmpty ? nil : basePlan,
            offer: offer
        )
    }

    /// The product as periods name it: with its base plan, if Google Play has one.
    var productName: ProductID? { event.productID.map(ProductID.init) }

    var owner: [Fact] { account.map { [.owner($0)] } ?? [] }

    var period: ServicePeriod? { event.purchasedAt.map { ServicePeriod(start: $0, end: event.expirationAt) } }

    // MARK: Periods

    /// The fields without which a period cannot begin.
    struct Complete {
        var lineage: SubscriptionID
        var start: Date
        var end: Date
        var product: ProductID
    }

    /// A subscription's period without an end would give access forever, so it is incomplete.
    var complete: Complete? {
        guard let lineage, let start = event.purchasedAt, let end = event.expirationAt, let productName else {
            return nil
        }
        return Complete(lineage: lineage, start: start, end: end, product: productName)
    }

    var missing: [String] { missing(["purchased_at_ms", "expiration_at_ms", "product_id"]) }

    /// Which of the fields are absent, of those that identify and order every statement as well.
    func missing(_ names: [String]) -> [String] {
        let isPresent: [String: Bool] = [
            "purchased_at_ms": event.purchasedAt != nil,
            "expiration_at_ms": event.expirationAt != nil,
            "product_id": event.productID != nil,
            "event_timestamp_ms": event.timestamp != nil,
            "transaction_id": event.transactionID != nil || event.originalTransactionID != nil,
        ]
        return (["event_timestamp_ms", "transaction_id"] + names).filter { isPresent[$0] == false }
    }

    func periodBeganID(_ period: Complete) -> EventID {
        periodTransaction.map { .periodBegan(period.lineage, transaction: $0, product: period.product) }
            ?? .periodBegan(period.lineage, product: period.product, start: period.start)
    }

    func endedID(_ lineage: SubscriptionID, _ reason: LifecycleEvent.Expired.Reason) -> EventID {
        // Google Play restores no purchase that was refunded, so every loss of access is the same end.
        let reason = store == .playStore && reason == .refunded ? .unknown : reason
        if let transaction = namingTransaction, store == .playStore || periodTransaction != nil && !mayBeKept {
            return .ended(
                lineage,
                transaction: transaction,
                product: productName,
                periodStart: event.purchasedAt,
                reason: reason
            )
        }
        return .ended(lineage, periodStart: event.purchasedAt ?? end ?? .distantPast, reason: reason)
    }

    /// True if all periods may have this one transaction. Purchases of stores that do not name each period are named by
    /// transaction in this channel alone.
    private var mayBeKept: Bool {
        isNamedAsFirst
            || !store.namesEachPeriod
                && (event.transactionID == nil || event.transactionID == event.originalTransactionID)
    }

    /// The transaction as facts name the period by it. One that may be kept is the name of the first period: it would make a statement
    /// of another period one of the first, so only the webhook that begins the purchase gives it.
    private var periodName: TransactionID? { mayBeKept && !event.beginsPurchase ? nil : periodTransaction }

    /// The name of a transaction's payment and of its refund. If the transaction may be kept, the start of the period
    /// distinguishes its payments.
    func paymentName(_ transaction: TransactionID) -> TransactionID {
        if store == .playStore, event.expirationAt != nil {
            return transaction.payment(from: event.purchasedAt)
        }
        guard mayBeKept, event.expirationAt != nil, let start = event.purchasedAt else { return transaction }
        return transaction.keptPayment(from: start)
    }

    /// The name of a transaction's payment in facts. Stripe keeps the period when a product changes at once, so the product
    /// distinguishes its payments as well.
    func chargeName(_ transaction: TransactionID) -> TransactionID {
        let name = paymentName(transaction)
        guard store == .stripe, name != transaction, let productName else { return name }
        return TransactionID("\(name)/\(productName)")
    }

    /// The name by which later statements call the payment that the purchase began with, if they have another one for it.
    func laterName(of transaction: TransactionID) -> [Fact] {
        let name = chargeName(transaction)
        return name == transaction ? [] : [.transactionName(.init(transaction: transaction, name: name))]
    }

    func fact(
        _ period: ServicePeriod,
        _ product: ProductID,
        isProvisional: Bool = false,
        isRunning: Bool = false
    ) -> Fact.Period {
        Fact.Period(
            period,
            product: product,
            phase: phase,
            transaction: periodName,
            ownership: event.isFamilyShare ? .familyShared : .purchased,
            isProvisional: isProvisional,
            isRunning: isRunning,
            isPhaseInferred: event.periodType?.phase == nil
        )
    }

    /// True if access continues after a refund.
    var outlivesRefund: Bool {
        guard store.leavesWhatIsRefunded, let timestamp = event.timestamp, let expiration = event.expirationAt else {
            return false
        }
        return expiration > timestamp
    }

    /// The period that a statement about something else mentions. Its end may be that of a grace period or of a refund,
    /// so any statement of the period itself takes its place.
    var provisional: [Fact] {
        complete.map { [.period(fact(ServicePeriod(start: $0.start, end: $0.end), $0.product, isProvisional: true))] }
            ?? []
    }

    /// The period that is mentioned of a purchase that continues. It states the whole period, and may be the only one to do so if
    /// the webhook of the period itself is lost. After a failed charge its end is that of the grace period.
    var running: [Fact] {
        guard let complete, let timestamp = event.timestamp, complete.end > timestamp else { return provisional }
        let period = ServicePeriod(start: complete.start, end: complete.end)
        return [.period(fact(period, complete.product, isProvisional: true, isRunning: true))]
    }

    /// When access ended: at the end of the transaction, but not later than it was reported.
    var end: Date? {
        event.timestamp.map { min($0, event.expirationAt ?? $0) }
    }

    /// The end of the period that is named by its start; without one, by a transaction that names no other, and the moment stands
    /// for the start. Nil if neither names a period.
    ///
    /// - Parameter endsPurchase: true if it is said of the purchase, and names its last transaction.
    func cut(at date: Date, _ reason: LifecycleEvent.Expired.Reason, endsPurchase: Bool = false) -> [Fact]? {
        // An end without the end of a period is about what was bought once.
        let transaction = event.expirationAt == nil ? paidTransaction : periodName
        guard let start = event.purchasedAt ?? (transaction == nil || mayBeKept ? nil : date) else { return nil }
        let end = Fact.PeriodEnd(
            start: start,
            transaction: transaction,
            at: date,
            reason: reason,
            // An order on Play may pay for several products, and a webhook without their list is about one of them.
            product: store == .playStore ? productName : nil,
            endsPurchase: endsPurchase
        )
        return [.periodEnded(end)]
    }

    /// That a pause stopped access. The end of the period says so as well, until a later webhook states another end of it.
    func pauseBegan(at date: Date) -> [Fact] {
        event.purchasedAt.map { [.interruption(.init(start: $0, at: date, reason: .paused))] } ?? []
    }

    /// A failed charge, which two webhooks report at once. The end of the transaction may hold the grace period, in either
    /// of them or in one alone.
    func failedCharge(at date: Date, graceUntil: Date?) -> Fact {
        let floor = [graceUntil, event.expirationAt].compactMap(\.self).max()
        guard let floor, floor > date else {
            return .billing(.init(.suspended, periodStart: event.purchasedAt, isPartial: true))
        }
        return .billing(.init(.grace, periodStart: event.purchasedAt, graceUntil: floor, isPartial: true))
    }

    /// The failed charge of a period that was to be paid as it began: nothing gives access to it.
    var neverPaid: [Fact] {
        guard let start = event.purchasedAt, let cut = cut(at: start, .billing) else { return [] }
        return [.billing(.init(.suspended, periodStart: start))] + cut
    }

    /// Charged ahead, a period begins later. Stripe states the old beginning again when a product changes at once.
    func effect(of start: Date) -> Date {
        guard store == .stripe, let timestamp = event.timestamp else { return start }
        return max(start, timestamp)
    }

    // MARK: Money

    /// The charge, in the currency of the charge. RevenueCat's estimate in US dollars states no charge. Family members
    /// pay nothing.
    var price: Price? {
        if let amount = event.priceInPurchasedCurrency, let currency = event.currency {
            return Price(Money(amount, currency), event.isFamilyShare ? .list : .charged)
        }
        return event.priceInUSD.map { Price(Money($0, "USD"), .list) }
    }

    /// The refunded amount, which RevenueCat writes with a minus. A refund without an amount has none, and neither has
    /// one with an estimate in another currency.
    var refundedPrice: Price? {
        if let amount = event.priceInPurchasedCurrency, let currency = event.currency {
            return amount.coefficient < 0 ? Price(Money(amount.negated, currency), .refund) : nil
        }
        guard event.currency == nil || event.currency == "USD", let amount = event.priceInUSD, amount.coefficient < 0
        else { return nil }
        return Price(Money(amount.negated, "USD"), .refund)
    }
}

extension TransactionID {
    /// The payment for the period that begins at a moment, where the store may keep the transaction for all periods.
    func keptPayment(from start: Date) -> TransactionID {
        TransactionID("\(rawValue)/\(start.millisecondsSince1970.flooredQuotient(dividingBy: 1000))")
    }
}

extension PurchaseStore {
    /// True if each period has a transaction of its own: Apple and Google have one for each, and so has each grant.
    var namesEachPeriod: Bool {
        switch self {
        case .appStore, .macAppStore, .playStore, .promotional: true
        default: false
        }
    }

    /// True if a period begins before it is paid for, and runs while a failed charge for it is tried again:
    /// https://docs.stripe.com/billing/invoices/subscription
    var statesUnpaidPeriods: Bool { self == .stripe }

    /// True if the store sends an app's notifications to one address, which may be the host's. RevenueCat then sees a change late, when the app
    /// opens or a period ends: https://www.revenuecat.com/docs/platform-resources/server-notifications
    var notifiesOneReceiver: Bool {
        switch self {
        case .appStore, .macAppStore, .playStore: true
        default: false
        }
    }

    /// True if the customer can keep a refunded purchase. On the web a merchant may give money back and leave access as
    /// it is; RevenueCat then states the end that was paid for. The app stores take back what they refund, and so does RevenueCat's own
    /// Web Billing: https://www.revenuecat.com/docs/web/web-billing/refunding-payments
    var leavesWhatIsRefunded: Bool {
        switch self {
        case .stripe, .paddle: true
        default: false
        }
    }
}

extension Account {
    /// The customer with these ids, the one in use first; nil without any.
    init?(appUserIDs ids: [String]) {
        guard let first = ids.first else { return nil }
        self.init(first, .appUserID, aliases: ids.dropFirst().map { Identifier($0, .appUserID) })
    }
}
