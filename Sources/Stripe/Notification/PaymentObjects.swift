import LifecycleEvents
import WireJSON

/// A `charge`.
struct ChargeObject: WireObject, Sendable {
    let id: String
    let currency: String
    let amount: Int64
    /// The part of the amount that was taken, if it was only held before.
    let amountCaptured: Int64
    /// As Stripe counts it: also what was held and not taken, which it releases by a refund.
    let amountRefunded: Int64
    let isRefunded: Bool
    /// The refund made last, if the list is there (it is not, unless expanded, since 2022-11-15).
    let latestRefund: RefundObject?

    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        let reader = try ObjectReader(value)
        id = try reader.string("id")
        currency = try reader.string("currency")
        amount = try reader.int64("amount")
        amountCaptured = try reader.optionalInt64("amount_captured") ?? amount
        amountRefunded = try reader.int64("amount_refunded")
        isRefunded = try reader.optionalBool("refunded") ?? false
        latestRefund = try reader.list("refunds")?.first.map { (value) throws(JSONError) in try RefundObject(value) }
    }

    /// The part that went back of what counts as refunded: no more than was taken.
    func returned(of refunded: Int64) -> Int64 {
        let (released, overflows) = amount.subtractingReportingOverflow(amountCaptured)
        guard !overflows, released > 0 else { return refunded }
        return refunded > released ? refunded - released : 0
    }
}

/// A `refund`.
struct RefundObject: WireObject, Sendable {
    let id: String
    let status: String?
    let currency: String
    let amount: Int64
    let reason: String?
    let created: Milliseconds?
    let anomalies: [String]

    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        var reader = try ObjectReader(value)
        id = try reader.string("id")
        status = try reader.optionalString("status")
        currency = try reader.string("currency")
        amount = try reader.int64("amount")
        reason = reader.descriptiveString("reason")
        created = try reader.time("created")
        anomalies = reader.anomalies
    }
}

/// A `dispute`.
struct DisputeObject: WireObject, Sendable {
    let id: String
    let status: String
    let currency: String?
    let amount: Int64?
    /// Why the cardholder disputes it, such as `fraudulent`.
    let reason: String?

    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        let reader = try ObjectReader(value)
        id = try reader.string("id")
        status = try reader.string("status")
        reason = try reader.optionalString("reason")
        currency = try reader.optionalString("currency")
        amount = try reader.optionalInt64("amount")
    }

    /// The disputed amount, if it is stated.
    var money: Money? { amount.flatMap { amount in currency.map { Money(minorUnits: amount, $0) } } }
}

/// A `checkout.session`.
struct CheckoutSessionObject: WireObject, Sendable {
    let id: String
    let mode: String
    let status: String?
    let created: Milliseconds?
    let paymentStatus: String?
    let customer: CustomerReference?
    let clientReference: String?
    let subscription: String?
    let paymentIntent: String?
    let paymentLink: String?
    /// The invoice of the sale, if the session makes one.
    private(set) var invoice: String?
    let makesInvoice: Bool
    let currency: String?
    let amountTotal: Int64?
    /// The country of the address that the customer has given.
    let country: String?
    private(set) var items: [SaleItem]
    /// True if there are items that are not shown.
    private(set) var hasMoreItems: Bool
    let metadata: JSONObject?
    let anomalies: [String]

    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        var reader = try ObjectReader(value)
        id = try reader.string("id")
        mode = try reader.string("mode")
        status = try reader.optionalString("status")
        created = try reader.time("created")
        paymentStatus = try reader.optionalString("payment_status")
        customer = try reader.customer()
        clientReference = try reader.optionalString("client_reference_id")
        subscription = try reader.reference("subscription")
        paymentIntent = try reader.reference("payment_intent")
        paymentLink = try reader.reference("payment_link")
        invoice = try reader.reference("invoice")
        makesInvoice = try reader.reader("invoice_creation")?.optionalBool("enabled") ?? false
        currency = try reader.optionalString("currency")
        amountTotal = try reader.optionalInt64("amount_total")
        country = reader.descriptiveCountry(at: "customer_details", "address")
        var items: [SaleItem] = []
        if let values = try reader.list("line_items") {
            for value in values { if let item = try SaleItem(value, addOns: addOns) { items.append(item) } }
        }
        self.items = items
        hasMoreItems = try reader.hasMore("line_items")
        metadata = reader.descriptiveMetadata()
        anomalies = reader.anomalies + items.flatMap(\.item.price.anomalies)
    }

    /// The session with the members that were looked up.
    func completed(with fetched: CheckoutSessionObject) -> CheckoutSessionObject {
        var session = self
        (session.items, session.hasMoreItems) = (fetched.items, fetched.hasMoreItems)
        session.invoice = invoice ?? fetched.invoice
        return session
    }

    /// The session with all of its line items.
    func completed(with items: [SaleItem]) -> CheckoutSessionObject {
        var session = self
        (session.items, session.hasMoreItems) = (items, false)
        return session
    }

    /// The product bought. Deliveries have no line items. So for a product that was not looked up, the payment link, or
    /// else the session, stands in.
    var product: ProductID { items.map(\.item).primary?.price.productID ?? ProductID(paymentLink ?? id) }
}
