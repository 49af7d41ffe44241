import WireJSON

/// A payment of an invoice, which since basil alone names both (https://docs.stripe.com/api/invoice-payment/object).
struct StripeInvoicePayment {
    var id: String
    var invoice: String
    var intent: String
    /// In the smallest unit of the currency.
    var amount: Int64
    var currency: String
    /// Seconds since 1970.
    var paidAt: Int64
    var isLive: Bool

    var object: JSONMembers {
        JSONMembers([
            ("id", .string(id)), ("object", "invoice_payment"), ("amount_paid", .integer(amount)),
            ("amount_requested", .integer(amount)), ("created", .integer(paidAt)), ("currency", .string(currency)),
            ("invoice", .string(invoice)), ("is_default", true), ("livemode", .bool(isLive)),
            ("payment", ["type": "payment_intent", "payment_intent": .string(intent)]), ("status", "paid"),
            ("status_transitions", ["canceled_at": nil, "paid_at": .integer(paidAt)]),
        ])
    }
}
