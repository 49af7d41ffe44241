public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// The `event` object of a webhook. Absent and null are one.
///
/// All of RevenueCat's types share one flat set of fields, of which each fills some.
public struct RevenueCatEvent: Sendable, Hashable {
    /// `type`
    public let type: EventType
    /// `id`: the same on every redelivery, and the key to de-duplicate by.
    public let id: String
    /// `event_timestamp_ms`: when RevenueCat made the event; the same on every redelivery.
    public let timestamp: Date?
    /// `app_id`
    public let appID: String?
    /// `environment`, or `purchase_environment` where that takes its place.
    public let environment: Environment?
    /// `store`
    public let store: StoreName?

    /// `app_user_id`: it can change between events of one subscription.
    public let appUserID: String?
    /// `original_app_user_id`
    public let originalAppUserID: String?
    /// `aliases`
    public let aliases: [String]

    /// `product_id`; of a product change the old one.
    public private(set) var productID: String?
    /// `new_product_id`
    public private(set) var newProductID: String?
    /// `entitlement_ids`. Nil and none both mean none.
    public let entitlementIDs: [String]
    /// `period_type`
    public private(set) var periodType: PeriodType?
    /// `purchased_at_ms`: the start of the period, which may lie in the future.
    public let purchasedAt: Date?
    /// `expiration_at_ms`: the end of the transaction, a grace period included; of a refund the moment of the refund.
    public private(set) var expirationAt: Date?
    /// `grace_period_expiration_at_ms`
    public let gracePeriodExpirationAt: Date?
    /// `auto_resume_at_ms`
    public let autoResumeAt: Date?
    /// `transaction_id`
    public private(set) var transactionID: String?
    /// `original_transaction_id`
    public private(set) var originalTransactionID: String?
    /// `is_family_share`
    public let isFamilyShare: Bool
    /// `is_trial_conversion`
    public let isTrialConversion: Bool
    /// `cancel_reason`
    public let cancelReason: Reason?
    /// `expiration_reason`
    public let expirationReason: Reason?
    /// `offer_code`
    public let offerCode: String?
    /// `country_code`: the country that RevenueCat has on file, of the app's last request to it and not of the sale.
    public let countryCode: String?

    /// `price`: an estimate in US dollars; negative of a refund.
    public private(set) var priceInUSD: ExactDecimal?
    /// `price_in_purchased_currency`, in whole units of ``currency``.
    public private(set) var priceInPurchasedCurrency: ExactDecimal?
    /// `currency`
    public private(set) var currency: String?

    /// `quantity`: how many of a product were bought; older webhooks do not say.
    public let quantity: Int64?
    /// `renewal_number`: how many periods the purchase has had, from 1; a trial counts as one.
    public let renewalNumber: Int64?

    /// `items`: on Play, the products of a subscription with add-ons; the members above are then the base product's, and the
    /// price is that of all.
    public let items: [Item]

    /// `transferred_from`
    public let transferredFrom: [String]
    /// `transferred_to`
    public let transferredTo: [String]
    /// `redeemed_from`
    public let redeemedFrom: [String]
    /// `redeemed_by`
    public let redeemedBy: [String]
    /// `adjustments`
    public let adjustments: [CurrencyAdjustment]
    /// True if the body has the shape of an interaction with a paywall, whatever its type is. Those types can be
    /// renamed in the dashboard, even to the name of a lifecycle type.
    public let isPaywallInteraction: Bool
    /// Further fields of a notice, under RevenueCat's names; empty for lifecycle events.
    let notes: [String: String]

    /// One of the `items`.
    public struct Item: Sendable, Hashable {
        /// `product_id`
        public let productID: String
        /// `type`: `base` or `addon`.
        public let type: String?
        /// `expiration_at_ms`
        public let expirationAt: Date?
        /// `price`, an estimate in US dollars.
        public let priceInUSD: ExactDecimal?
        /// `price_in_purchased_currency`
        public let priceInPurchasedCurrency: ExactDecimal?
        /// `currency`
        public let currency: String?
    }

    /// One of the `adjustments` of a virtual currency.
    public struct CurrencyAdjustment: Sendable, Hashable {
        /// `currency.code`
        public let currency: String
        /// `amount`
        public let amount: Int64
    }

    private static let noted: [MemberName] = [
        "experiment_id", "experiment_variant", "offering_id", "source", "virtual_currency_transaction_id",
        "product_display_name", "redemption_outcome", "redemption_platform", "paywall_id", "component_type",
        "component_value", "platform",
    ]

    static func read(_ reader: ObjectReader, anomalies: inout [String]) throws(JSONError) -> RevenueCatEvent {
        // The fields that decide if a delivery is for this app are never guessed.
        var fields = FieldReader(reader, isStrict: true)
        guard let name = try fields.identifier(.type) else { throw try missing("type", in: reader) }
        guard let id = try fields.identifier(.id) else { throw try missing("id", in: reader) }
        let isPaywall = fields.has(.paywallID) || fields.has(.sessionID)
        let appID = try fields.identifier(.appID)
        let stated: Environment? = try fields.open(.environment)
        let ofPurchase: Environment? = try fields.open(.purchaseEnvironment)
        let type = EventType(rawValue: name)
        fields.isStrict = type.isLifecycle && !isPaywall
        let store: StoreName? = try fields.open(.store)
        // Through the memberwise initializer: one that throws on the way makes the event twice.
        let event = try RevenueCatEvent(
            type: type,
            id: id,
            timestamp: fields.date(.eventTimestamp),
            appID: appID,
            environment: stated ?? ofPurchase,
            store: store,
            appUserID: fields.identifier(.appUserID),
            originalAppUserID: fields.identifier(.originalAppUserID),
            aliases: fields.aliases(.aliases),
            productID: fields.identifier(.productID),
            newProductID: fields.identifier(.newProductID),
            entitlementIDs: fields.identifiers(.entitlementIDs),
            periodType: fields.open(.periodType),
            purchasedAt: fields.date(.purchasedAt),
            expirationAt: fields.date(.expirationAt),
            gracePeriodExpirationAt: fields.date(.gracePeriodExpirationAt),
            autoResumeAt: fields.date(.autoResumeAt),
            transactionID: fields.identifier(.transactionID),
            originalTransactionID: fields.identifier(.originalTransactionID),
            isFamilyShare: fields.flag(.isFamilyShare) ?? false,
            isTrialConversion: fields.flag(.isTrialConversion) ?? false,
            cancelReason: fields.open(.cancelReason),
            expirationReason: fields.open(.expirationReason),
            offerCode: fields.descriptiveString(.offerCode),
            countryCode: fields.descriptiveCountry(.countryCode),
            priceInUSD: fields.amount(.price),
            priceInPurchasedCurrency: fields.amount(.priceInPurchasedCurrency),
            currency: fields.identifier(.currency),
            quantity: fields.integer(.quantity),
            renewalNumber: fields.integer(.renewalNumber),
            items: store == .playStore && fields.isStrict ? items(fields.value(.items)) : [],
            transferredFrom: fields.identifiers(.transferredFrom),
            transferredTo: fields.identifiers(.transferredTo),
            redeemedFrom: fields.identifiers(.redeemedFrom),
            redeemedBy: fields.identifiers(.redeemedBy),
            adjustments: adjustments(&fields),
            isPaywallInteraction: isPaywall,
            notes: fields.isStrict ? [:] : notes(&fields)
        )
        anomalies += fields.reader.anomalies
        return event
    }

    /// The error where one of the members is absent or empty that every event has; null is no string.
    private static func missing(_ name: MemberName, in reader: ObjectReader) throws(JSONError) -> JSONError {
        let value = try reader.value(name)
        _ = try value.string()
        return value.error(.missing)
    }

    private static func items(_ value: JSONValue?) throws(JSONError) -> [Item] {
        guard let values = try value?.array() else { return [] }
        var items: [Item] = []
        for value in values {
            var fields = FieldReader(try ObjectReader(value), isStrict: true)
            guard let productID = try fields.identifier(.productID) else { continue }
            items.append(
                Item(
                    productID: productID,
                    type: try fields.identifier(.type),
                    expirationAt: try fields.date(.expirationAt),
                    priceInUSD: try fields.amount(.price),
                    priceInPurchasedCurrency: try fields.amount(.priceInPurchasedCurrency),
                    currency: try fields.identifier(.currency)
                )
            )
        }
        return items
    }

    private static func notes(_ fields: inout FieldReader) -> [String: String] {
        var notes: [String: String] = [:]
        for name in noted { notes[name.text] = fields.reader.descriptiveString(name) }
        // The table of fields and the sample call it by different names.
        let enrolledAt =
            fields.reader.descriptiveInt64("experiment_enrolled_at_ms")
            ?? fields.reader.descriptiveInt64("enrolled_at_ms")
        if let enrolledAt, Limits.milliseconds.contains(enrolledAt) {
            notes["enrolled_at"] = RFC3339.string(enrolledAt)
        }
        return notes
    }

    private static func adjustments(_ fields: inout FieldReader) -> [CurrencyAdjustment] {
        guard let value = fields.value(.adjustments) else { return [] }
        var adjustments: [CurrencyAdjustment] = []
        do throws(JSONError) {
            for element in try value.array() {
                let reader = try ObjectReader(element)
                let currency = try ObjectReader(try reader.value("currency"))
                adjustments.append(
                    CurrencyAdjustment(currency: try currency.string("code"), amount: try reader.int64("amount"))
                )
            }
            return adjustments
        } catch {
            fields.reader.note(value.path)
            return []
        }
    }
}

extension RevenueCatEvent {
    /// The event for each product of a subscription with add-ons, the base product first; nil for any other event.
    ///
    /// Add-ons are named as Google's own channel names them: each has the order in a lineage of its own.
    var ofItems: [RevenueCatEvent]? {
        guard store == .playStore, let productID else { return nil }
        func isBase(_ item: Item) -> Bool { item.type == "base" || item.productID == productID }
        guard items.contains(where: { !isBase($0) }) else { return nil }
        var base = self
        if !row.isOfOrder, let item = items.first(where: isBase) { base.price(as: item) }
        // One event for each, under one id.
        var named: Set<ProductID> = []
        return [base]
            + items.filter { !isBase($0) && named.insert(ProductID($0.productID).subscription).inserted }.map {
                item in
                let name = ProductID(item.productID).subscription
                var addOn = self
                addOn.price(as: item)
                addOn.periodType = periodType(of: item)
                addOn.productID = item.productID
                addOn.newProductID = nil
                // A refund ends all of them, whatever their items still say; their trials end each by itself.
                let ends = [item.expirationAt, row.endsAllItems ? expirationAt : nil].compactMap(\.self)
                addOn.expirationAt = ends.min() ?? expirationAt
                addOn.originalTransactionID = (originalTransactionID ?? transactionID)
                    .map { LineageName(TransactionID($0).firstOrder.rawValue).item(name) }
                return addOn
            }
    }

    /// The name of the base product as one of several items: Google marks none of them as the base, so that its own channel may name
    /// each by its product.
    var nameAsItem: String? {
        guard let order = originalTransactionID ?? transactionID, let productID else { return nil }
        return LineageName(TransactionID(order).firstOrder.rawValue).item(ProductID(productID).subscription)
    }

    /// The period type is the base product's, while each product has an introductory period of its own.
    private func periodType(of item: Item) -> PeriodType? {
        guard type == .initialPurchase || type == .renewal,
            let price = item.priceInPurchasedCurrency ?? item.priceInUSD
        else { return periodType }
        switch periodType {
        case .trial? where price.coefficient > 0: return .normal
        case nil, .normal?, .intro?: return price.coefficient == 0 ? .trial : periodType
        default: return periodType
        }
    }

    private mutating func price(as item: Item) {
        (priceInUSD, priceInPurchasedCurrency) = (item.priceInUSD, item.priceInPurchasedCurrency)
        currency = item.currency ?? currency
    }

    /// True if the transaction is that which the purchase began with, and the webhook may be about a later period: some stores keep the
    /// transaction; on Play renewals have a number of their own, and some senders leave it out of every webhook.
    var isNamedAsFirst: Bool {
        guard let transactionID, !beginsPurchase else { return false }
        guard store == .playStore else {
            let mayBeLater = type == .renewal || statesPeriod && store?.canonical.namesEachPeriod != true
            return mayBeLater && transactionID == originalTransactionID
        }
        guard expirationAt != nil else { return false }
        let original = originalTransactionID ?? transactionID
        // That of an add-on has its name behind.
        return transactionID == TransactionID(LineageName(original).purchase ?? original).firstOrder.rawValue
    }

    /// True if it states a period that it does not begin the purchase with: the next one, or another end of one that is known.
    var statesPeriod: Bool { type == .renewal || type == .subscriptionExtended }

    /// True if the transaction is that of a purchase that begins.
    var beginsPurchase: Bool {
        type == .initialPurchase || type == .nonRenewingPurchase || type == .temporaryEntitlementGrant
    }

    /// Every id of the customer, the one in use first, each once.
    public var customerIDs: [String] {
        var customer = DistinctIDs(capacity: 2 + aliases.count)
        if let appUserID { customer.add(appUserID) }
        if let originalAppUserID { customer.add(originalAppUserID) }
        for alias in aliases { customer.add(alias) }
        return customer.ids
    }

    /// A question to RevenueCat after a webhook that says too little to rely on.
    @nonexhaustive
    public enum Hint: Hashable, Sendable {
        /// The subscription with this transaction.
        case subscription(transaction: String)
        /// All that these customers have.
        case customers([String])
    }

    /// The question to ask RevenueCat; nil if the webhook says all.
    ///
    /// Ask only for ids from authenticated webhooks: RevenueCat creates a customer for every id it is asked for.
    public var hint: Hint? {
        guard !isPaywallInteraction else { return nil }
        switch type {
        case .renewal where isUnpaidStripeRenewal, .productChange where newProductID == nil && store != .playStore:
            return (transactionID ?? originalTransactionID).map { .subscription(transaction: $0) }
        case .cancellation where !isRefund && (!isKnownCancellation || failsAsPeriodBegins),
            .billingIssue where failsAsPeriodBegins:
            return (transactionID ?? originalTransactionID).map { .subscription(transaction: $0) }
        case .transfer:
            return .customers(transferredFrom + transferredTo)
        case .purchaseRedeemed:
            return redeemedBy.isEmpty ? nil : .customers(redeemedBy)
        default:
            guard row == .unknown, productID != nil, let customer = customerIDs.first else { return nil }
            return .customers([customer])
        }
    }

    private var isKnownCancellation: Bool {
        switch cancelReason {
        case .unsubscribe?, .billingError?, .priceIncrease?, .developerInitiated?: true
        default: store == .promotional
        }
    }

    /// Money went back. Support says so; the price says so where the developer or Google did it.
    var isRefund: Bool {
        cancelReason == .customerSupport
            || [priceInUSD, priceInPurchasedCurrency].contains { ($0?.coefficient ?? 0) < 0 }
    }

    /// True if the charge that failed is the first one of the purchase, for the period that the event names: a store tries to renew
    /// a period when it ends, and not in the minutes in which it begins. A first charge has no grace, and no transaction of its own.
    var failsAsPeriodBegins: Bool {
        switch row {
        case .billingIssue, .autoRenewOff(.billing): break
        default: return false
        }
        // Stripe charges for a renewal after its period has begun. If that charge fails, grace begins.
        guard let timestamp, let purchasedAt, let expirationAt, renewalNumber ?? 1 <= 1,
            gracePeriodExpirationAt ?? timestamp <= timestamp,
            transactionID == originalTransactionID || transactionID == nil || originalTransactionID == nil
        else { return false }
        let (since, length) = (timestamp.timeIntervalSince(purchasedAt), expirationAt.timeIntervalSince(purchasedAt))
        return abs(since) <= 600 && abs(since) * 10 <= length
    }

    /// With some settings Stripe continues to make periods that are not paid for.
    var isUnpaidStripeRenewal: Bool {
        type == .renewal && store == .stripe && (periodType ?? .normal) == .normal
            && (priceInPurchasedCurrency ?? priceInUSD)?.coefficient == 0
    }
}

/// Ids in the order they came, each once; canonical equivalents are two.
private struct DistinctIDs {
    private(set) var ids: [String] = []
    // Customers have two or three, which are compared faster than hashed.
    private var hashed: Set<[UInt8]> = []

    init(capacity: Int) { ids.reserveCapacity(capacity) }

    mutating func add(_ id: String) {
        if ids.count < 8 {
            guard !ids.contains(where: { $0.hasOctets(of: id) }) else { return }
        } else {
            if hashed.isEmpty { hashed = Set(ids.map { Array($0.utf8) }) }
            guard hashed.insert(Array(id.utf8)).inserted else { return }
        }
        ids.append(id)
    }
}
