import HTTPTransport
import LifecycleEvents
import WireJSON

/// One question to Stripe's API, and the name that its answer is kept under.
struct LookupRequest: Sendable {
    /// The kind of answer that is needed.
    enum Answer: Hashable {
        /// The object with this id. The notification cannot be mapped without it.
        case object(String)
        /// The object with this id, or none: the notification can be mapped without it.
        case optionalObject(String)
        /// The object with this id, or none: only a detail that decides neither access nor credits comes from it.
        case detail(String)
        /// A list. The notification cannot be mapped without it.
        case list
        /// A list, or none.
        case optionalList

        var isOptional: Bool {
            switch self {
            case .object, .list: false
            case .optionalObject, .optionalList, .detail: true
            }
        }

        var isDetail: Bool { if case .detail = self { true } else { false } }
    }

    /// The object that a thin event is about.
    static let object = "object"
    /// The invoice payments of a payment.
    static let invoicePayments = "invoice_payments"
    /// The paid invoices of a subscription.
    static let invoices = "invoices"
    /// The invoice of a charge.
    static let invoice = "invoice"
    /// The schedule with its prices.
    static let schedule = "schedule"
    /// The checkout session with its line items.
    static let session = "session"
    /// The checkout session of a payment, with its line items.
    static let sessions = "sessions"

    let name: String
    let path: [String]
    var query: [(String, String)] = []
    let answer: Answer

    /// The query for a page of a hundred: the first one of its list, or the one on a side of an element.
    static func page(after last: String? = nil, before first: String? = nil) -> [(String, String)] {
        [("limit", "100")] + (last.map { [("starting_after", $0)] } ?? [])
            + (first.map { [("ending_before", $0)] } ?? [])
    }

    /// The next question that mapping needs; nil if everything is known, or as much as can be.
    ///
    /// - Parameter completesSnapshots: true to ask also for objects that a notification can be mapped without.
    static func next(
        for occasion: StripeOccasion,
        completesSnapshots: Bool
    ) throws(DeliveryError) -> LookupRequest? {
        switch occasion {
        case .notification(let notification): try next(for: notification, completesSnapshots: completesSnapshots)
        case .question(let purchase): next(for: purchase)
        }
    }

    private static func next(
        for notification: StripeNotification,
        completesSnapshots: Bool
    ) throws(DeliveryError) -> LookupRequest? {
        let row = Mapping.Row(notification)
        guard row.readsObject else { return nil }
        if notification.isThin, notification.answers[object] == nil {
            guard let related = notification.relatedObject else { return nil }
            return LookupRequest(
                name: object,
                path: try segments(of: related),
                query: expansions(of: related.type).map { ("expand[]", $0) },
                answer: .object(related.id)
            )
        }
        guard let value = notification.subject else { return nil }
        if let request = rest(of: row, value, notification.answers) { return request }
        // A host with thin events asks anyway.
        guard completesSnapshots || notification.isThin else { return nil }
        if let request = completion(of: row, value), notification.answers[request.name] == nil { return request }
        switch row {
        case .checkout:
            return lineItems(of: notification.answers[session]?.document?.root ?? value, notification.answers)
        case .chargeCaptured, .paymentCanceled:
            return notification.answers[sessions]?.firstElement.flatMap { lineItems(of: $0, notification.answers) }
        default:
            return nil
        }
    }

    /// The object that was asked about, then the hidden parts of the subscription that it shows, and of its latest invoice, then the
    /// invoices before that.
    private static func next(for purchase: StripePurchase) -> LookupRequest? {
        guard let answer = purchase.answers[object] else {
            return LookupRequest(
                name: object,
                path: purchase.path,
                query: purchase.kind.expansions.map { ("expand[]", $0) },
                answer: .object(purchase.id)
            )
        }
        if purchase.kind == .checkoutSession, let session = answer.document?.root,
            let request = lineItems(of: session, purchase.answers)
        {
            return request
        }
        guard let value = answer.document?.root, let purchased = try? PurchasedSubscription(value, in: purchase) else {
            return nil
        }
        if let request = items(of: purchased.value, purchase.answers) { return request }
        if let invoice = purchased.paidInvoice, invoice.needsLinesOncePaid {
            if let request = lines(of: invoice, purchase.answers) { return request }
        }
        return invoices(of: purchased, purchase.answers)
    }

    /// The invoices that were paid before the latest one, of which a question shows no more (https://docs.stripe.com/api/invoices/list).
    private static func invoices(
        of purchased: PurchasedSubscription,
        _ answers: StripeNotification.Answers
    ) -> LookupRequest? {
        guard answers[invoices] == nil, let since = purchased.invoicesSince else { return nil }
        return LookupRequest(
            name: invoices,
            path: ["v1", "invoices"],
            query: [
                ("subscription", purchased.subscription.id), ("status", "paid"), ("created[gte]", since.wholeSeconds),
                ("limit", "100"),
            ],
            answer: .optionalList
        )
    }

    /// The members of a list that an object shows the beginning of.
    private static func rest(
        of row: Mapping.Row,
        _ value: JSONValue,
        _ answers: StripeNotification.Answers
    ) -> LookupRequest? {
        switch row {
        case .invoicePaid, .invoiceFailed:
            guard let invoice = try? InvoiceObject(value),
                row == .invoicePaid ? invoice.needsLinesOncePaid : invoice.needsLines
            else { return nil }
            return lines(of: invoice, answers)
        case .subscriptionCreated, .subscriptionUpdated, .subscriptionResumed, .subscriptionStep:
            return items(of: value, answers)
        case .entitlements:
            return entitlements(of: value, answers)
        default:
            return nil
        }
    }

    private static func lines(of invoice: InvoiceObject, _ answers: StripeNotification.Answers) -> LookupRequest? {
        invoice.id.flatMap { ListPages(invoiceLinesIn: answers).request(["v1", "invoices", $0, "lines"]) }
    }

    /// The line items of a session, which shows the first ones (https://docs.stripe.com/api/checkout/sessions/line_items).
    private static func lineItems(of session: JSONValue, _ answers: StripeNotification.Answers) -> LookupRequest? {
        guard let session = try? CheckoutSessionObject(session), session.mode == "payment", session.hasMoreItems
        else { return nil }
        return ListPages(lineItemsIn: answers).request(["v1", "checkout", "sessions", session.id, "line_items"])
    }

    private static func entitlements(of summary: JSONValue, _ answers: StripeNotification.Answers) -> LookupRequest? {
        guard let reader = try? ObjectReader(summary), (try? reader.hasMore("entitlements")) == true,
            let customer = try? reader.reference("customer")
        else { return nil }
        return ListPages<String>(entitlementsIn: answers)
            .request(["v1", "entitlements", "active_entitlements"], [("customer", customer)])
    }

    private static func items(of subscription: JSONValue, _ answers: StripeNotification.Answers) -> LookupRequest? {
        guard let reader = try? ObjectReader(subscription), (try? reader.hasMore("items")) == true,
            let id = try? reader.string("id")
        else { return nil }
        return ListPages(itemsIn: answers).request(["v1", "subscription_items"], [("subscription", id)])
    }

    private static func completion(of row: Mapping.Row, _ value: JSONValue) -> LookupRequest? {
        switch row {
        case .refund, .refundFailed, .chargeRefunded, .dispute:
            guard let payment = try? Payment(value) else { return nil }
            // Before basil a charge names its invoice, and the invoice its subscription.
            if let invoice = payment.invoice {
                return LookupRequest(
                    name: self.invoice,
                    path: ["v1", "invoices", invoice],
                    answer: .optionalObject(invoice)
                )
            }
            let type = payment.paymentIntent == nil ? "charge" : "payment_intent"
            guard let id = payment.paymentIntent ?? payment.charge else { return nil }
            return LookupRequest(
                name: invoicePayments,
                path: ["v1", "invoice_payments"],
                query: [
                    ("payment[type]", type), ("payment[\(type)]", id), ("status", "paid"),
                    ("limit", "1"), ("expand[]", "data.invoice"),
                ],
                answer: .optionalList
            )
        case .chargeCaptured:
            return (try? Payment(value))?.paymentIntent.map(sale(paidBy:))
        case .paymentCanceled:
            return (try? ObjectReader(value).string("id")).map(sale(paidBy:))
        case .schedule:
            guard let schedule = try? ScheduleObject(value),
                !schedule.phases.allSatisfy({ $0.items.allSatisfy { $0.price.product != nil } })
            else { return nil }
            return LookupRequest(
                name: self.schedule,
                path: ["v1", "subscription_schedules", schedule.id],
                query: [("expand[]", "phases.items.price")],
                answer: .detail(schedule.id)
            )
        case .checkout:
            guard let session = try? CheckoutSessionObject(value), session.mode == "payment", session.items.isEmpty
            else { return nil }
            return LookupRequest(
                name: self.session,
                path: ["v1", "checkout", "sessions", session.id],
                query: [("expand[]", "line_items")],
                answer: .optionalObject(session.id)
            )
        default:
            return nil
        }
    }

    /// The session that made a payment (https://docs.stripe.com/api/checkout/sessions/list).
    private static func sale(paidBy intent: String) -> LookupRequest {
        LookupRequest(
            name: sessions,
            path: ["v1", "checkout", "sessions"],
            query: [("payment_intent", intent), ("limit", "1"), ("expand[]", "data.line_items")],
            answer: .optionalList
        )
    }

    private static func expansions(of type: String) -> [String] {
        switch type {
        case "subscription_schedule": ["phases.items.price"]
        case "checkout.session": ["line_items"]
        case "charge": ["refunds"]
        default: []
        }
    }

    /// The segments of a path that came in a request body.
    ///
    /// Everything that could lead to another host, another API or another object is refused: the key goes wherever the
    /// path leads.
    ///
    /// - Throws: `malformed`, marked authentic, unless it is `/v1/…` or `/v2/…` in letters, digits, `_`, `-` and inner
    ///   dots, ends in the id of the object, and has no query.
    static func segments(of related: StripeNotification.RelatedObject) throws(DeliveryError) -> [String] {
        func refuse(_ reason: String) -> DeliveryError {
            DeliveryError(
                .malformed,
                "related_object.url of \(related.path.utf8.count) bytes \(reason)",
                isAuthentic: true
            )
        }
        guard related.path.utf8.count <= 1024 else { throw refuse("is too long") }
        guard related.path.utf8.first == UInt8(ascii: "/") else { throw refuse("does not begin with a slash") }
        let segments = related.path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        guard segments.count >= 3 else { throw refuse("has \(segments.count) segments, at least 3") }
        for segment in segments {
            let isPlain = segment.allSatisfy { $0.isOfName || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            guard isPlain, let first = segment.first, first != UInt8(ascii: ".") else {
                throw refuse("has a segment of other characters than letters, digits, _, - and inner dots")
            }
        }
        let texts = segments.map { String(Substring($0)) }
        guard texts.first == "v1" || texts.first == "v2" else { throw refuse("is outside of v1 and v2") }
        guard texts.last == related.id else { throw refuse("does not end in the id of the object") }
        return texts
    }
}

extension UInt8 {
    /// True for a character of Stripe's ids: a letter, a digit or `_`, in ASCII.
    var isOfName: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
        default: false
        }
    }
}
