package import WireJSON

/// A price of the simulated shop.
package struct StripePrice: Sendable {
    package var id: String
    package var product: String
    package var amount: Int64
    package var currency = "usd"
    package var interval = "month"
    package var intervalCount: Int64 = 1
    package var isMetered = false

    package init(
        _ id: String,
        product: String,
        amount: Int64,
        currency: String = "usd",
        interval: String = "month",
        isMetered: Bool = false
    ) {
        self.id = id
        self.product = product
        self.amount = amount
        self.currency = currency
        self.interval = interval
        self.isMetered = isMetered
    }

    package static let basic = StripePrice("price_basic_month", product: "prod_basic", amount: 999)
    package static let basicNew = StripePrice("price_basic_month_2", product: "prod_basic", amount: 1099)
    package static let basicYear = StripePrice(
        "price_basic_year",
        product: "prod_basic",
        amount: 9990,
        interval: "year"
    )
    package static let pro = StripePrice("price_pro_month", product: "prod_pro", amount: 1999)
    package static let seats = StripePrice("price_seats_month", product: "prod_seats", amount: 500)
    package static let usage = StripePrice("price_usage_month", product: "prod_usage", amount: 2, isMetered: true)
    /// Metered, and first by name.
    package static let calls = StripePrice("price_calls_month", product: "prod_api", amount: 2, isMetered: true)

    /// The price as an object.
    package func price() -> JSONText {
        [
            "id": .string(id), "object": "price", "active": true, "billing_scheme": "per_unit",
            "currency": .string(currency), "livemode": true, "lookup_key": nil, "metadata": [:],
            "product": .string(product),
            "recurring": [
                "interval": .string(interval), "interval_count": .integer(intervalCount),
                "usage_type": .string(isMetered ? "metered" : "licensed"),
            ],
            "type": "recurring", "unit_amount": .integer(amount), "unit_amount_decimal": .string(String(amount)),
        ]
    }

    func plan() -> JSONText {
        [
            "id": .string(id), "object": "plan", "active": true, "amount": .integer(amount),
            "amount_decimal": .string(String(amount)), "billing_scheme": "per_unit", "currency": .string(currency),
            "interval": .string(interval), "interval_count": .integer(intervalCount), "product": .string(product),
            "usage_type": .string(isMetered ? "metered" : "licensed"),
        ]
    }
}

/// A subscription, to be written in the shape of a version.
package struct StripeSubscription: Sendable {
    package struct Item: Sendable {
        package var id: String
        package var price: StripePrice
        package var quantity: Int64?
        /// Its own, since basil, if it is billed in another rhythm than the others.
        package var period: Range<Int64>?

        package init(_ id: String, _ price: StripePrice, quantity: Int64? = 1, period: Range<Int64>? = nil) {
            self.id = id
            self.price = price
            self.quantity = price.isMetered ? nil : quantity
            self.period = period
        }
    }

    package var id: String
    package var customer: String
    package var status: String
    package var items: [Item]
    /// Seconds since 1970, as all times here.
    package var start: Int64
    package var end: Int64
    package var startDate: Int64
    package var latestInvoice: String?
    /// When it was made, if its start is backdated.
    package var madeAt: Int64?
    package var cancelAtPeriodEnd = false
    package var cancelAt: Int64?
    package var canceledAt: Int64?
    package var endedAt: Int64?
    package var cancellationReason: String?
    package var cancellationFeedback: String?
    package var trialStart: Int64?
    package var trialEnd: Int64?
    package var testClock: String?
    package var schedule: String?
    /// `pause_collection`, written as it is.
    package var collectionPause: JSONText = nil
    package var pendingUpdate: JSONText = nil
    /// `discounts`: ids, unless they are expanded.
    package var discounts: JSONText = []
    package var statusDetails: JSONText?
    package var metadata: JSONText = [:]
    /// True if only the plan is written, as before the Prices API.
    package var hasPlansOnly = false

    package init(
        _ id: String = "sub_1",
        customer: String = "cus_1",
        status: String,
        items: [Item] = [Item("si_1", .basic)],
        from start: Int64,
        to end: Int64,
        startDate: Int64? = nil,
        latestInvoice: String? = nil
    ) {
        self.id = id
        self.customer = customer
        self.status = status
        self.items = items
        self.start = start
        self.end = end
        self.startDate = startDate ?? start
        self.latestInvoice = latestInvoice
    }

    package func object(_ version: StripeSimulator.Version) -> JSONMembers {
        var members = JSONMembers([("id", .string(id)), ("object", "subscription"), ("application", nil)])
        members.append("billing_cycle_anchor", .integer(start))
        if version.isBasilOrLater { members.append("billing_mode", ["type": "flexible"]) }
        members.append("cancel_at", Self.number(cancelAt))
        members.append("cancel_at_period_end", .bool(cancelAtPeriodEnd))
        members.append("canceled_at", Self.number(canceledAt))
        if version.hasCancellationDetails {
            members.append(
                "cancellation_details",
                [
                    "comment": nil, "feedback": Self.string(cancellationFeedback),
                    "reason": Self.string(cancellationReason),
                ]
            )
        }
        members.append("collection_method", "charge_automatically")
        members.append("created", .integer(madeAt ?? startDate))
        members.append("currency", .string(items.first?.price.currency ?? "usd"))
        if !version.isBasilOrLater {
            members.append("current_period_end", .integer(end))
            members.append("current_period_start", .integer(start))
        }
        members.append("customer", .string(customer))
        if discounts.text != "[]" { members.append("discounts", discounts) }
        members.append("ended_at", Self.number(endedAt))
        members.append("items", itemList(version))
        members.append("latest_invoice", Self.string(latestInvoice))
        members.append("livemode", true)
        members.append("metadata", metadata)
        members.append("pause_collection", collectionPause)
        members.append("pending_update", pendingUpdate)
        if !version.isBasilOrLater, items.count == 1, let item = items.first {
            members.append("plan", item.price.plan())
            members.append("quantity", Self.number(item.quantity))
        }
        members.append("schedule", Self.string(schedule))
        members.append("start_date", .integer(startDate))
        members.append("status", .string(status))
        if let statusDetails { members.append("status_details", statusDetails) }
        if let testClock { members.append("test_clock", .string(testClock)) }
        members.append("trial_end", Self.number(trialEnd))
        members.append("trial_start", Self.number(trialStart))
        return members
    }

    private func itemList(_ version: StripeSimulator.Version) -> JSONText {
        [
            "object": "list", "data": .array(items.map { item($0, version) }), "has_more": false,
            "total_count": .integer(Int64(items.count)), "url": .string("/v1/subscription_items?subscription=\(id)"),
        ]
    }

    private func item(_ item: Item, _ version: StripeSimulator.Version) -> JSONText {
        var members = JSONMembers([("id", .string(item.id)), ("object", "subscription_item")])
        members.append("created", .integer(startDate))
        if version.isBasilOrLater {
            members.append("current_period_end", .integer(item.period?.upperBound ?? end))
            members.append("current_period_start", .integer(item.period?.lowerBound ?? start))
        }
        members.append("metadata", [:])
        members.append("plan", item.price.plan())
        if !hasPlansOnly { members.append("price", item.price.price()) }
        if let quantity = item.quantity { members.append("quantity", .integer(quantity)) }
        members.append("subscription", .string(id))
        return .object(members)
    }

    /// The `previous_attributes` of an update from `self` to `after`.
    package func previous(_ after: StripeSubscription, _ version: StripeSimulator.Version) -> JSONText {
        let (old, new) = (object(version), after.object(version))
        var changed = JSONMembers()
        for name in [
            "cancel_at", "cancel_at_period_end", "canceled_at", "cancellation_details", "current_period_end",
            "current_period_start", "ended_at", "items", "latest_invoice", "metadata", "pause_collection",
            "pending_update", "plan", "quantity", "schedule", "status", "trial_end", "trial_start",
        ] {
            let before = old[name]
            guard before?.text != new[name]?.text else { continue }
            // Lists come without their wrapper.
            changed.append(
                name,
                name == "items" ? ["data": .array(items.map { item($0, version) })] : before ?? nil
            )
        }
        return .object(changed)
    }

    static func number(_ value: Int64?) -> JSONText { value.map { .integer($0) } ?? nil }
    static func string(_ value: String?) -> JSONText { value.map { .string($0) } ?? nil }
}

/// An invoice, to be written in the shape of a version.
package struct StripeInvoice: Sendable {
    package struct Line: Sendable {
        package var price: StripePrice
        package var amount: Int64
        package var quantity: Int64 = 1
        package var start: Int64
        package var end: Int64
        package var isProration = false
        /// True if it is no line of the subscription's, such as a fee at the start.
        package var isOneOff = false

        package init(
            _ price: StripePrice,
            amount: Int64? = nil,
            from start: Int64,
            to end: Int64,
            isProration: Bool = false
        ) {
            self.price = price
            self.amount = amount ?? price.amount
            self.start = start
            self.end = end
            self.isProration = isProration
        }
    }

    package var id: String
    package var subscription: String? = "sub_1"
    package var customer = "cus_1"
    package var reason: String
    package var status = "paid"
    package var lines: [Line]
    /// How many of its lines the invoice shows; all unless stated. Stripe shows ten.
    package var shownLines: Int?
    package var amountPaid: Int64?
    package var discount: Int64 = 0
    /// The country of the customer's address.
    package var country: String?
    package var tax: Int64?
    package var attemptCount: Int64 = 1
    package var nextAttempt: Int64?
    package var created: Int64
    package var lookBackStart: Int64
    package var lookBackEnd: Int64
    package var paidAt: Int64?
    package var collectionMethod = "charge_automatically"
    package var metadata: JSONText = [:]

    package init(_ id: String, reason: String, lines: [Line], created: Int64, lookBackFrom: Int64? = nil) {
        self.id = id
        self.reason = reason
        self.lines = lines
        self.created = created
        lookBackStart = lookBackFrom ?? created
        lookBackEnd = created
    }

    package func object(_ version: StripeSimulator.Version) -> JSONMembers {
        let total = lines.reduce(0) { $0 + $1.amount } - discount
        let paid = amountPaid ?? (status == "paid" ? max(0, total) : 0)
        var members = JSONMembers([("id", .string(id)), ("object", "invoice")])
        members.append("amount_due", .integer(max(0, total)))
        members.append("amount_paid", .integer(paid))
        members.append("amount_remaining", .integer(max(0, total) - paid))
        members.append("attempt_count", .integer(attemptCount))
        members.append("attempted", true)
        members.append("billing_reason", .string(reason))
        if !version.isBasilOrLater { members.append("charge", subscription == nil ? nil : .string("ch_\(id)")) }
        members.append("collection_method", .string(collectionMethod))
        members.append("created", .integer(created))
        members.append("currency", .string(lines.first?.price.currency ?? "usd"))
        members.append("customer", .string(customer))
        members.append("lines", linePage(version, 0..<(shownLines ?? lines.count)))
        members.append("livemode", true)
        members.append("metadata", [:])
        members.append("next_payment_attempt", StripeSubscription.number(nextAttempt))
        if version.isBasilOrLater {
            members.append(
                "parent",
                subscription.map {
                    [
                        "quote_details": nil, "type": "subscription_details",
                        "subscription_details": ["metadata": metadata, "subscription": .string($0)],
                    ]
                } ?? nil
            )
        } else {
            members.append("paid", .bool(status == "paid"))
            members.append("payment_intent", .string("pi_\(id)"))
        }
        members.append("period_end", .integer(lookBackEnd))
        members.append("period_start", .integer(lookBackStart))
        members.append("status", .string(status))
        members.append(
            "status_transitions",
            ["finalized_at": .integer(created), "paid_at": StripeSubscription.number(paidAt)]
        )
        if !version.isBasilOrLater {
            members.append("subscription", StripeSubscription.string(subscription))
            members.append("subscription_details", ["metadata": metadata])
            members.append("tax", StripeSubscription.number(tax))
        } else if let tax {
            members.append("total_taxes", [["amount": .integer(tax), "tax_behavior": "inclusive"]])
        }
        members.append("total", .integer(total))
        if discount > 0 {
            members.append("total_discount_amounts", [["amount": .integer(discount), "discount": "di_1"]])
        }
        if let country { members.append("customer_address", ["country": .string(country), "line1": nil]) }
        return members
    }

    /// A page of the list of lines.
    package func linePage(_ version: StripeSimulator.Version, _ range: Range<Int>) -> JSONText {
        let range = range.clamped(to: 0..<lines.count)
        return [
            "object": "list", "data": .array(range.map { line(lines[$0], at: $0, version) }),
            "has_more": .bool(range.upperBound < lines.count), "total_count": .integer(Int64(lines.count)),
            "url": .string("/v1/invoices/\(id)/lines"),
        ]
    }

    private func line(_ line: Line, at index: Int, _ version: StripeSimulator.Version) -> JSONText {
        var members = JSONMembers([("id", .string("il_\(id)_\(index)")), ("object", "line_item")])
        members.append("amount", .integer(line.amount))
        members.append("currency", .string(line.price.currency))
        members.append("period", ["end": .integer(line.end), "start": .integer(line.start)])
        members.append("quantity", .integer(line.quantity))
        guard version.isBasilOrLater else {
            members.append("plan", line.price.plan())
            members.append("price", line.price.price())
            members.append("proration", .bool(line.isProration))
            members.append("subscription", StripeSubscription.string(subscription))
            members.append(
                "type",
                line.isProration || line.isOneOff || subscription == nil ? "invoiceitem" : "subscription"
            )
            return .object(members)
        }
        let details: JSONText = [
            "proration": .bool(line.isProration), "subscription": StripeSubscription.string(subscription),
            "subscription_item": "si_1",
        ]
        let isItem = subscription != nil && !line.isProration && !line.isOneOff
        members.append(
            "parent",
            isItem
                ? [
                    "invoice_item_details": nil, "subscription_item_details": details,
                    "type": "subscription_item_details",
                ]
                : ["invoice_item_details": details, "subscription_item_details": nil, "type": "invoice_item_details"]
        )
        members.append(
            "pricing",
            [
                "price_details": ["price": .string(line.price.id), "product": .string(line.price.product)],
                "type": "price_details", "unit_amount_decimal": .string(String(line.price.amount)),
            ]
        )
        return .object(members)
    }
}
