import FoundationEssentials
import LifecycleEvents
import SignatureCore
import WireJSON

// MARK: The older version

extension RevenueCatSubscription {
    /// The subscriptions of the customer that was asked for; each product has one entry, without its history.
    static func subscriber(_ body: [UInt8], of id: String) throws(JSONError) -> [RevenueCatSubscription] {
        let root = try ObjectReader(parsing: body)
        let requestedAt = Date(millisecondsSince1970: try root.int64("request_date_ms"))
        let subscriber = try ObjectReader(try root.value("subscriber"))
        let customer = try subscriber.customerIDs(askedFor: id)
        var subscriptions: [RevenueCatSubscription] = []
        guard let entries = subscriber.optionalValue("subscriptions") else { return [] }
        for (product, value) in try entries.object().members {
            subscriptions.append(
                try RevenueCatSubscription(v1: value, product: product, customer: customer, at: requestedAt)
            )
        }
        return subscriptions
    }

    private init(
        v1 value: JSONValue,
        product productID: String,
        customer: (id: String, aliases: [String]),
        at date: Date
    ) throws(JSONError) {
        var fields = FieldReader(try ObjectReader(value), isStrict: true)
        digest = SHA256.hash(Array(value.rawBytes).span).hexadecimal
        (customerID, aliases) = customer
        store = try fields.store()
        environment = try fields.flag("is_sandbox").map { $0 ? .sandbox : .production } ?? .unknown
        var product = PurchaseStatement.product(productID, store)
        if let plan = try fields.identifier("product_plan_identifier") { product.basePlan = plan }
        self.product = product
        storeIdentifier = try fields.transaction("store_transaction_id")
        namesCurrentTransaction = storeIdentifier != nil && store != .stripe
        let start = try fields.text("purchase_date")
        let end = try fields.text("expires_date")
        period = start.flatMap { start in end.map { ServicePeriod(start: start, end: $0) } }
        paidUntil = end
        graceUntil = try fields.text("grace_period_expires_date")
        refundedAt = try fields.text("refunded_at")
        resumesAt = try fields.text("auto_resume_date")
        // It is null again once the charge succeeds, so one from before the period says nothing. Nor does it say anything of access: at
        // Stripe the next period runs while it is unpaid.
        billingIssueAt = try fields.text("billing_issues_detected_at")
            .flatMap { issue in start.map { issue < $0 } == true ? nil : issue }
        let accessEnd = [end, graceUntil].compactMap(\.self).max()
        let unsubscribedAt = try fields.text("unsubscribe_detected_at")
        let periodType: RevenueCatEvent.PeriodType? = try fields.identifier("period_type")
            .map { RevenueCatEvent.PeriodType(rawValue: $0.uppercased()) }
        phase = periodType?.phase
        ownership = try fields.identifier("ownership_type") == "FAMILY_SHARED" ? .familyShared : .purchased
        if let price = fields.reader.optionalValue("price"), price.kind == .object {
            var price = FieldReader(try ObjectReader(price), isStrict: true)
            if let amount = try price.amount("amount"), let currency = try price.identifier("currency") {
                self.price = Price(Money(amount, currency), ownership == .familyShared ? .list : .charged)
            }
        }
        if refundedAt != nil {
            (status, givesAccess) = (.refunded, store.leavesWhatIsRefunded && end.map { date < $0 } ?? false)
        } else if let accessEnd, date < accessEnd {
            let isInGrace = billingIssueAt != nil || end.map { $0 <= date } ?? true
            if isInGrace { graceUntil = accessEnd }
            (status, givesAccess) = (isInGrace ? .inGracePeriod : periodType == .trial ? .trialing : .active, true)
        } else if let resumesAt, date < resumesAt {
            (status, givesAccess) = (.paused, false)
        } else if billingIssueAt != nil {
            (status, givesAccess) = (.inBillingRetry, false)
        } else {
            (status, givesAccess) = (.expired, false)
        }
        let renews =
            unsubscribedAt == nil && billingIssueAt == nil && store != .promotional && periodType != .prepaid
        // A refund leaves renewal as it was, and a failed charge leaves the customer's choice.
        autoRenewal = renews || (refundedAt != nil && unsubscribedAt == nil) ? .willRenew : .willNotRenew
    }
}

extension ObjectReader {
    /// The ids of the older version's customer. Each of them leads to the same answer, so the one that was asked for is the customer's
    /// (https://www.revenuecat.com/docs/customers/user-ids). `original_app_user_id` is the first one, often that of a device before
    /// the login.
    func customerIDs(askedFor id: String) throws(JSONError) -> (id: String, aliases: [String]) {
        (id, [try optionalString("original_app_user_id")].compactMap(\.self).filter { !$0.isEmpty && $0 != id })
    }
}

extension FieldReader {
    /// Where a purchase lives.
    mutating func store() throws(JSONError) -> PurchaseStore {
        let name: RevenueCatEvent.StoreName? = try open("store")
        return name?.canonical ?? .unknown
    }

    /// A transaction, which sometimes is a number: then as it is written.
    mutating func transaction(_ name: MemberName) throws(JSONError) -> String? {
        guard let value = reader.optionalValue(name), value.kind == .number else { return try identifier(name) }
        return String(try value.int64())
    }

    /// A time as RFC 3339 text.
    mutating func text(_ name: MemberName) throws(JSONError) -> Date? {
        guard let text = try identifier(name) else { return nil }
        guard let milliseconds = RFC3339.milliseconds(text) else {
            throw reader.error(.integerOutOfRange, at: name)
        }
        return Date(millisecondsSince1970: milliseconds)
    }
}
