public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// A one-time purchase as RevenueCat's REST API shows it, in either version.
///
/// The product, its time and its price never change. The owner, and a refund, hold at the
/// moment of the request.
public struct RevenueCatPurchase: Hashable, Sendable {
    /// `status`
    public struct Status: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer has it.
        public static let owned: Status = "owned"
        /// Money went back.
        public static let refunded: Status = "refunded"
    }

    /// RevenueCat's id of the purchase.
    public var id: String?
    /// The customer that it belongs to. Of the older version it is the id that was asked for.
    public var customerID: String?
    /// Other ids of the same customer, as far as they are known.
    public var aliases: [String] = []
    /// The customer that bought it, if another customer has it now. Only the newer version states it.
    public var originalCustomerID: String?
    /// The product in the store's words; the newer version names only its own id of it, ``productReference``.
    public var product: PurchasedProduct?
    /// RevenueCat's id of the product.
    public var productReference: String?
    /// Where the purchase lives.
    public var store: PurchaseStore
    /// The store's world that it lives in.
    public var environment: StoreEnvironment
    /// The store's transaction or order. Without it the purchase has no identity, and gives no facts.
    public var transaction: String?
    /// The transaction that the lineage is named after, if that is another one. RevenueCat does not state it: set it if
    /// a webhook or the store did.
    public var originalTransaction: String?
    /// When it was bought.
    public var purchasedAt: Date?
    /// How many were bought.
    public var quantity: Int64
    /// How it stands; the older version does not say.
    public var status: Status?
    /// The entitlements that it unlocks.
    public var entitlements: [String]
    /// The end of what it unlocks. Only the older version states it.
    public var expiresAt: Date?
    /// The ownership: bought or shared.
    public var ownership: Fact.Ownership
    /// The charged price. The newer version has an estimate in US dollars, which is no statement of a charge.
    public var price: Price?

    /// Which version of the API it is from.
    let form: LookupAnswer.Form
    /// True if RevenueCat says that the unlocked product has an end, or that it has none.
    let knowsEnd: Bool
    /// The SHA-256 of the part of the answer that it was read from, in hexadecimal.
    let digest: String
}

// It names a customer, so a log line that prints it must not show it.
extension RevenueCatPurchase: Redacted {
    /// The store, and the status where it is stated.
    public var description: String { "\(store) \(status.map(\.rawValue) ?? "purchase")" }
}

// MARK: Identity

extension RevenueCatPurchase {
    /// The lineage, as a webhook about the purchase has it.
    public var lineage: SubscriptionID? {
        transaction.map { PurchaseStatement.lineage(originalTransaction ?? $0, in: store, environment) }
    }

    /// The transaction that a webhook about the purchase names.
    private var paidTransaction: TransactionID? {
        (lineage?.store == .appStore && expiresAt == nil ? originalTransaction ?? transaction : transaction)
            .map(TransactionID.init)
    }

    private var account: Account? { customerID.flatMap { Account(appUserIDs: [$0] + aliases) } }

    // RevenueCat grants products that no store sold, and a grant is a period.
    private var isGrant: Bool { store == .promotional }

    /// The fields without which there are no identity and no facts.
    private struct Complete {
        var lineage: SubscriptionID
        var transaction: TransactionID
        var product: ProductID
        var at: Date
    }

    private func complete(_ product: ProductID?) -> Complete? {
        guard let lineage, let transaction = paidTransaction, let purchasedAt,
            let product = self.product.map(RevenueCatSubscription.name) ?? product, !product.isEmpty
        else { return nil }
        return Complete(lineage: lineage, transaction: transaction, product: product, at: purchasedAt)
    }

    private var detail: LifecycleEvent.OneTimePurchase {
        LifecycleEvent.OneTimePurchase(
            type: expiresAt != nil ? .nonRenewing : entitlements.isEmpty ? .consumable : .nonConsumable,
            quantity: quantity,
            price: price,
            expires: expiresAt,
            familyShared: ownership == .familyShared
        )
    }
}

// MARK: Facts

extension RevenueCatPurchase {
    /// The facts that the purchase states at the moment of the look-up: those of its webhook, as far as RevenueCat
    /// states their parts.
    ///
    /// - Parameters:
    ///   - product: the store's product id, if the purchase does not name it; without either, no purchase is stated.
    ///   - date: when it was asked for. It is also the date of a refund, since RevenueCat does not say when the money
    ///     went back.
    public func facts(product: ProductID? = nil, at date: Date) -> [Fact] {
        lastingFacts(product) + standingFacts(at: date)
    }

    /// The facts as statements about the lineage, to apply to its state. None if RevenueCat does not state the store's
    /// transaction.
    ///
    /// The purchase itself is stated as of its date. Its webhook says more and takes its place, in either order of
    /// arrival. The owner and the refund are stated as of `date`.
    ///
    /// - Parameters:
    ///   - product: the store's product id, if the purchase does not name it; without either, no purchase is stated.
    ///   - date: when it was asked for.
    public func statements(product: ProductID? = nil, at date: Date) -> [StoreStatement] {
        guard let lineage else { return [] }
        return [(lastingFacts(product), min(purchasedAt ?? date, date)), (standingFacts(at: date), date)].compactMap {
            facts,
            assertedAt in
            facts.isEmpty
                ? nil : envelope(occurredAt: date, assertedAt: assertedAt, at: date).statement(facts, about: lineage)
        }
    }

    /// The event that the purchase's webhook gives, under the same id, for a webhook that never came. Apply it before
    /// ``statements(product:at:)``: applied later, it is no news. Nil if RevenueCat does not state one of its fields,
    /// and for a refunded purchase, for which nothing is to be given.
    ///
    /// - Parameters:
    ///   - product: the store's product id, if the purchase does not name it.
    ///   - date: when it was asked for.
    public func event(product: ProductID? = nil, at date: Date) -> NormalizedEvent? {
        guard status != .refunded, let purchase = complete(product) else { return nil }
        let id: EventID
        let event: LifecycleEvent
        var period: ServicePeriod?
        if isGrant {
            guard knowsEnd else { return nil }
            let granted = ServicePeriod(start: purchase.at, end: expiresAt)
            id = .periodBegan(purchase.lineage, transaction: purchase.transaction, product: purchase.product)
            event = .started(.init(origin: .granted, phase: .promotional, period: granted))
            period = granted
        } else {
            id = .purchased(purchase.lineage, transaction: purchase.transaction, product: purchase.product)
            event = .oneTimePurchased(detail)
        }
        let subject = EventSubject(
            lineage: purchase.lineage,
            transaction: purchase.transaction,
            account: account,
            product: self.product ?? PurchaseStatement.product(purchase.product.rawValue, store),
            period: period ?? ServicePeriod(start: purchase.at, end: expiresAt),
            price: isGrant ? nil : price,
            renewal: isGrant ? RenewalTerms(willRenew: false) : nil,
            facts: lastingFacts(product)
        )
        return envelope(occurredAt: purchase.at, assertedAt: min(purchase.at, date), at: date)
            .event(EventDraft(id: id, event: event), about: subject)
    }

    private func lastingFacts(_ product: ProductID?) -> [Fact] {
        guard let purchase = complete(product) else { return [] }
        guard !isGrant else {
            // Without an end, and unless it is known to have none, a grant would give access forever.
            guard knowsEnd else { return [] }
            return [
                .period(
                    .init(
                        ServicePeriod(start: purchase.at, end: expiresAt),
                        product: purchase.product,
                        phase: .promotional,
                        transaction: purchase.transaction
                    )
                ),
                .renewalIntent(.init(RenewalTerms(willRenew: false))),
            ]
        }
        var facts: [Fact] = [
            .purchase(
                .init(
                    transaction: purchase.transaction,
                    product: purchase.product,
                    purchase: detail,
                    at: purchase.at
                )
            )
        ]
        if let price, price.role == .charged {
            facts.append(.charge(.init(transaction: purchase.transaction, price: price, at: purchase.at)))
        }
        return facts
    }

    private func standingFacts(at date: Date) -> [Fact] {
        guard let transaction = paidTransaction else { return [] }
        var facts: [Fact] = []
        if status == .refunded {
            facts.append(
                .refund(.init(transaction: transaction, scope: .full, at: date, periodStart: nil, endsAccess: true))
            )
        }
        if let account { facts.append(.owner(account)) }
        return facts
    }

    private func envelope(occurredAt: Date, assertedAt: Date, at date: Date) -> EventEnvelope {
        EventEnvelope(
            provider: .revenuecat,
            store: store,
            environment: environment,
            occurredAt: occurredAt,
            assertedAt: assertedAt,
            receivedAt: date,
            origin: Origin(
                type: form == .v1 ? "non_subscription" : "purchase",
                channel: .refetch,
                evidence: Origin.Evidence(.tls),
                digest: digest,
                mapper: Mapping.version
            )
        )
    }
}

// MARK: The newer version

extension RevenueCatPurchase {
    /// A list of purchases, with the address of its next page.
    static func list(_ body: [UInt8]) throws(JSONError) -> (items: [RevenueCatPurchase], nextPage: String?) {
        let reader = try ObjectReader(parsing: body)
        var items: [RevenueCatPurchase] = []
        for value in try reader.array("items") { items.append(try RevenueCatPurchase(v2: value)) }
        return (items, try reader.optionalString("next_page"))
    }

    private init(v2 value: JSONValue) throws(JSONError) {
        var fields = FieldReader(try ObjectReader(value), isStrict: true)
        form = .v2
        digest = SHA256.hash(Array(value.rawBytes).span).hexadecimal
        id = try fields.identifier("id")
        customerID = try fields.identifier("customer_id")
        let original = try fields.identifier("original_customer_id")
        originalCustomerID = original == customerID ? nil : original
        productReference = try fields.identifier("product_id")
        store = try fields.store()
        environment = try fields.open("environment") ?? .unknown
        transaction = try fields.identifier("store_purchase_identifier")
        purchasedAt = try fields.date("purchased_at")
        quantity = try fields.reader.optionalCount("quantity") ?? 1
        status = try fields.open("status")
        ownership = try fields.identifier("ownership") == "family_shared" ? .familyShared : .purchased
        var entitlements: [String] = []
        if let list = fields.reader.optionalValue("entitlements"),
            let items = try ObjectReader(list).optionalArray("items")
        {
            for item in items {
                var item = FieldReader(try ObjectReader(item), isStrict: true)
                let id = try item.identifier("id")
                if let name = try item.identifier("lookup_key") ?? id { entitlements.append(name) }
            }
        }
        self.entitlements = entitlements
        knowsEnd = false
        // The revenue after a refund is not the price.
        if status != .refunded, let revenue = fields.reader.optionalValue("revenue_in_usd") {
            var revenue = FieldReader(try ObjectReader(revenue), isStrict: true)
            if let gross = try revenue.amount("gross") {
                price = Price(Money(gross, try revenue.identifier("currency") ?? "USD"), .list)
            }
        }
    }
}

// MARK: The older version

extension RevenueCatPurchase {
    /// The one-time purchases of the customer that was asked for; each product has a list of them.
    static func subscriber(_ body: [UInt8], of id: String) throws(JSONError) -> [RevenueCatPurchase] {
        let root = try ObjectReader(parsing: body)
        let subscriber = try ObjectReader(try root.value("subscriber"))
        let customer = try subscriber.customerIDs(askedFor: id)
        guard let products = subscriber.optionalValue("non_subscriptions") else { return [] }
        let unlocked = try Unlocked.byProduct(subscriber)
        var purchases: [RevenueCatPurchase] = []
        for (product, list) in try products.object().members {
            for value in try list.array() {
                purchases.append(
                    try RevenueCatPurchase(
                        v1: value,
                        product: product,
                        customer: customer,
                        unlocked: unlocked[Array(product.utf8)] ?? []
                    )
                )
            }
        }
        return purchases
    }

    /// An entitlement, which the older version lists apart from the purchases that unlock it.
    private struct Unlocked {
        var entitlement: String
        var purchasedAt: Date?
        /// The end; nil means for good.
        var expiresAt: Date?

        static func byProduct(_ subscriber: ObjectReader) throws(JSONError) -> [[UInt8]: [Unlocked]] {
            var unlocked: [[UInt8]: [Unlocked]] = [:]
            guard let entitlements = subscriber.optionalValue("entitlements") else { return [:] }
            for (name, value) in try entitlements.object().members {
                var fields = FieldReader(try ObjectReader(value), isStrict: true)
                guard let product = try fields.identifier("product_identifier") else { continue }
                let end = try fields.text("expires_date")
                // An end that is null is none; one that is left out is not known.
                guard try value.object()["expires_date"] != nil else { continue }
                unlocked[Array(product.utf8), default: []].append(
                    Unlocked(entitlement: name, purchasedAt: try fields.text("purchase_date"), expiresAt: end)
                )
            }
            return unlocked
        }
    }

    private init(
        v1 value: JSONValue,
        product productID: String,
        customer: (id: String, aliases: [String]),
        unlocked: [Unlocked]
    ) throws(JSONError) {
        var fields = FieldReader(try ObjectReader(value), isStrict: true)
        form = .v1
        digest = SHA256.hash(Array(value.rawBytes).span).hexadecimal
        id = try fields.identifier("id")
        (customerID, aliases) = customer
        store = try fields.store()
        product = PurchaseStatement.product(productID, store)
        environment = try fields.flag("is_sandbox").map { $0 ? .sandbox : .production } ?? .unknown
        transaction = try fields.transaction("store_transaction_id")
        let purchasedAt = try fields.text("purchase_date")
        self.purchasedAt = purchasedAt
        quantity = 1
        ownership = try fields.identifier("ownership_type") == "FAMILY_SHARED" ? .familyShared : .purchased
        // An end is that of the one purchase that it was counted from; every purchase unlocks an entitlement without an
        // end.
        let matching = unlocked.filter { $0.expiresAt == nil || ($0.purchasedAt == purchasedAt && purchasedAt != nil) }
        entitlements = matching.map(\.entitlement)
        knowsEnd = !matching.isEmpty
        if !matching.contains(where: { $0.expiresAt == nil }) { expiresAt = matching.compactMap(\.expiresAt).max() }
        if let price = fields.reader.optionalValue("price") {
            var price = FieldReader(try ObjectReader(price), isStrict: true)
            if let amount = try price.amount("amount"), let currency = try price.identifier("currency") {
                self.price = Price(Money(amount, currency), ownership == .familyShared ? .list : .charged)
            }
        }
    }
}
