import LifecycleEvents
import WireJSON

/// An `invoice`, read by which members are there rather than by API version.
struct InvoiceObject: WireObject, Sendable {
    /// One line.
    struct Line: Sendable {
        let price: PriceObject?
        let amount: Int64?
        /// The amount less its discounts, with the tax that comes on top of it; nil if it cannot be read.
        let charged: Int64?
        let quantity: Int64?
        let start: Milliseconds?
        let end: Milliseconds?
        let isProration: Bool
        let isSubscription: Bool
        /// True if the subscription by itself bills a part of a period, such as the time between a trial and the anchor
        /// of billing. Prorations for a change stand on an invoice item.
        let isPartOfPeriod: Bool

        init(_ value: JSONValue) throws(JSONError) {
            let reader = try ObjectReader(value)
            amount = try reader.optionalInt64("amount")
            charged = amount.flatMap { Self.charged($0, in: reader) }
            quantity = try reader.optionalCount("quantity")
            let period = try reader.reader("period")
            start = try period?.time("start")
            end = try period?.time("end")
            price = try Self.price(in: reader)

            // Since basil the parent states the purpose of a line; before, members of the line did.
            let parent = try reader.reader("parent")
            let item = try parent?.reader("subscription_item_details")
            let charge = try parent?.reader("invoice_item_details")
            let details = item ?? charge
            var prorated = try details?.optionalBool("proration")
            if prorated == nil { prorated = try reader.optionalBool("proration") }
            isProration = prorated ?? false
            let type = try reader.optionalString("type")
            isSubscription = item != nil || type == "subscription" || (parent == nil && type == nil)
            isPartOfPeriod =
                isProration && (item.map { $0.optionalValue("invoice_item") == nil } ?? (type == "subscription"))
        }

        /// https://docs.stripe.com/api/invoice-line-item/object: `discount_amounts` are inside of no `amount`, and a tax is if it is
        /// `inclusive`. Before basil taxes were `tax_amounts`.
        private static func charged(_ amount: Int64, in reader: ObjectReader) -> Int64? {
            var charged: Int64? = amount
            func add(_ name: MemberName, _ share: (ObjectReader) throws -> Int64) {
                guard let values = try? reader.optionalArray(name) else { return }
                for value in values {
                    guard let part = try? share(ObjectReader(value)), let known = charged else {
                        charged = nil
                        return
                    }
                    let (sum, overflows) = known.addingReportingOverflow(part)
                    charged = overflows ? nil : sum
                }
            }
            add("discount_amounts") { 0 - max(0, try $0.int64("amount")) }
            add("taxes") { try $0.optionalString("tax_behavior") == "exclusive" ? try $0.int64("amount") : 0 }
            add("tax_amounts") { try $0.optionalBool("inclusive") == false ? try $0.int64("amount") : 0 }
            return charged
        }

        /// The price of a whole period of what it bills a part of, in the smallest unit of the currency; nil if it bills a whole one, or
        /// its price has no amount for a unit.
        var wholeAmount: Int64? {
            guard isPartOfPeriod, let amount, amount >= 0, let unit = price?.unitAmount else { return nil }
            let (units, overflows) = unit.coefficient.multipliedReportingOverflow(by: Int128(quantity ?? 1))
            guard !overflows, let whole = Int64(exactly: units / ExactDecimal.power(unit.scale)) else { return nil }
            return whole > 0 && amount <= whole ? whole : nil
        }

        /// As ``SubscriptionObject/Item/isBilledByUse``.
        var isBilledByUse: Bool { price?.isMetered == true || (quantity ?? 0) == 0 }

        private static func price(in reader: ObjectReader) throws(JSONError) -> PriceObject? {
            if let price = reader.optionalValue("price") { return try PriceObject(price) }
            if let plan = reader.optionalValue("plan") { return try PriceObject(plan) }
            guard let pricing = try reader.reader("pricing"), let details = try pricing.reader("price_details"),
                let price = details.optionalValue("price"), let id = try price.referenceID()
            else { return nil }
            return PriceObject(
                id: id,
                product: try details.reference("product"),
                currency: try reader.optionalString("currency"),
                unitAmount: try pricing.optionalString("unit_amount_decimal").flatMap { ExactDecimal($0) }
            )
        }
    }

    /// Absent from the preview of an upcoming invoice before clover.
    let id: String?
    let status: String?
    let customer: CustomerReference?
    let subscription: String?
    /// Stated before basil.
    let paymentIntent: String?
    /// Stated before basil.
    let charge: String?
    let billingReason: String?
    let isSentToCustomer: Bool
    let currency: String?
    let amountPaid: Int64?
    let amountDue: Int64?
    let total: Int64?
    let tax: Int64?
    /// True if coupons took something off.
    let isDiscounted: Bool
    /// The country of the customer's address, by which the invoice is taxed.
    let country: String?
    let attemptCount: Int64
    let nextAttempt: Milliseconds?
    /// The window that the invoice looks back on, not the period that it pays for.
    let lookBack: (start: Milliseconds?, end: Milliseconds?)
    let paidAt: Milliseconds?
    let created: Milliseconds?
    private let hasTestClock: Bool
    private(set) var lines: [Line]
    /// True if there are lines that are not shown.
    private(set) var hasMoreLines: Bool
    let metadata: JSONObject?
    let anomalies: [String]
    let addOns: Set<String>

    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        self.addOns = addOns
        var reader = try ObjectReader(value)
        id = try reader.optionalString("id")
        status = try reader.optionalString("status")
        customer = try reader.customer()
        let details = try reader.reader("parent")?.reader("subscription_details")
        let reference = reader.optionalValue("subscription") ?? details?.optionalValue("subscription")
        subscription = try reference?.referenceID()
        paymentIntent = try reader.reference("payment_intent")
        charge = try reader.reference("charge")
        billingReason = try reader.optionalString("billing_reason")
        isSentToCustomer = reader.optionalValue(.collectionMethod)?.isString("send_invoice") ?? false
        currency = try reader.optionalString("currency")
        amountPaid = try reader.optionalInt64("amount_paid")
        amountDue = try reader.optionalInt64("amount_due")
        total = try reader.optionalInt64("total")
        tax = try Self.tax(in: reader)
        isDiscounted = Self.isDiscounted(&reader)
        country = reader.descriptiveCountry(at: "customer_address")
        attemptCount = try reader.optionalCount("attempt_count") ?? 0
        nextAttempt = try reader.time("next_payment_attempt")
        lookBack = (try reader.time("period_start"), try reader.time("period_end"))
        paidAt = try reader.reader("status_transitions")?.time("paid_at")
        created = try reader.time("created")
        hasTestClock = reader.optionalValue("test_clock") != nil
        var lines: [Line] = []
        if let values = try reader.list("lines") {
            lines.reserveCapacity(values.count)
            for line in values { lines.append(try Line(line)) }
        }
        self.lines = lines
        hasMoreLines = try reader.hasMore("lines")
        var holder = details
        if holder == nil { holder = try reader.reader("subscription_details") }
        metadata = holder?.descriptiveMetadata()
        anomalies = reader.anomalies + (holder?.anomalies ?? []) + lines.flatMap { $0.price?.anomalies ?? [] }
    }

    /// `total_discount_amounts`, and before 2020-08-27 `discount` alone.
    private static func isDiscounted(_ reader: inout ObjectReader) -> Bool {
        guard let amounts = reader.descriptiveArray("total_discount_amounts") else {
            return reader.optionalValue("discount") != nil
        }
        return amounts.contains { amount in
            guard let discount = try? ObjectReader(amount).int64("amount") else {
                reader.note(amount.path)
                return false
            }
            return discount > 0
        }
    }

    /// The tax inside the total: one number before basil, a list of them since.
    private static func tax(in reader: ObjectReader) throws(JSONError) -> Int64? {
        if let tax = try reader.optionalInt64("tax") { return tax }
        guard let taxes = try reader.optionalArray("total_taxes") else { return nil }
        var sum: Int64 = 0
        for tax in taxes {
            let amount = try ObjectReader(tax).int64("amount")
            let (next, overflows) = sum.addingReportingOverflow(amount)
            guard !overflows else { throw tax.error(.integerOutOfRange) }
            sum = next
        }
        return sum
    }
}

extension InvoiceObject {
    /// The invoice with all of its lines.
    func completed(with lines: [Line]) -> InvoiceObject {
        var invoice = self
        invoice.lines = lines
        invoice.hasMoreLines = false
        return invoice
    }

    /// The purpose of an invoice.
    enum Purpose {
        /// The first period.
        case start
        /// Another period.
        case renewal
        /// A change within a subscription, usage over a threshold, or a reason of tomorrow.
        case settlement
        /// No subscription.
        case standalone
    }

    var purpose: Purpose {
        guard subscription != nil else { return .standalone }
        switch billingReason {
        case "subscription_create":
            return .start
        case "subscription_cycle":
            return .renewal
        case "subscription":
            // The one name for all three, until 2018. Only a first invoice looks back on nothing.
            return lookBack.start == lookBack.end ? .start : .renewal
        default:
            return .settlement
        }
    }

    /// True if it bills the subscription itself: its periods, its changes, its usage.
    var billsSubscription: Bool { billingReason?.hasPrefix("subscription") == true }

    /// True if it is for a change within a subscription, and not for a period that ran out or for usage.
    var isOfChange: Bool { billingReason == "subscription_update" }

    /// True if no attempt to charge for a change was made but the first.
    var isFirstOfChange: Bool { isOfChange && attemptCount < 2 }

    /// True if lines that are not shown decide the event: any of them can be the period's.
    var needsLines: Bool { hasMoreLines && (purpose == .start || purpose == .renewal) }

    /// The same once it is paid: an update's hidden lines can be those of a period that began with it.
    var needsLinesOncePaid: Bool { needsLines || hasMoreLines && isOfChange }

    /// The period that the invoice pays for, with its items; nil if not all lines are known.
    ///
    /// The lines for the subscription itself that begin last, without prorations: lines for metered usage bill the
    /// period before. A period that is billed ahead is reported when it begins.
    var paidSpan: SubscriptionObject.Span? { span(beginningBy: latestBeginning) }

    /// The period that it bills: the same, or else a period that is billed ahead.
    var billedSpan: SubscriptionObject.Span? { paidSpan ?? span(beginningBy: .max) }

    private func span(beginningBy latest: Milliseconds) -> SubscriptionObject.Span? {
        let paid = linesOfPeriod(beginningBy: latest)
        guard let start = paid.first?.start, let end = paid.compactMap(\.end).max(), start < end else { return nil }
        return SubscriptionObject.Span(
            start: start,
            end: end,
            items: paid.compactMap { line in
                line.price.map {
                    SubscriptionObject.Item(
                        price: $0,
                        quantity: line.quantity,
                        isAddOn: $0.isNamed(in: addOns),
                        start: line.start,
                        end: line.end
                    )
                }
            }
        )
    }

    func linesOfPeriod(beginningBy latest: Milliseconds) -> [Line] {
        guard !hasMoreLines else { return [] }
        let billed = lines.filter { line in
            guard line.isSubscription, line.end != nil, let start = line.start else { return false }
            return start <= latest
        }
        var candidates = billed.filter { !$0.isProration }
        if candidates.isEmpty, purpose == .start || purpose == .renewal {
            candidates = billed.filter(\.isPartOfPeriod)
        }
        guard let start = candidates.compactMap(\.start).max() else { return [] }
        return candidates.filter { $0.start == start }
    }

    /// The latest beginning of a period that is not billed ahead (`billing_schedules`): the making of the invoice.
    /// Under a test clock the end of its window shows that at least as well. The hour is for Stripe's delays.
    var latestBeginning: Milliseconds {
        let end = created == nil || hasTestClock ? lookBack.end : nil
        guard let made = end.map({ max($0, created ?? $0) }) ?? created else { return .max }
        return made + 3_600_000
    }

    /// True if it bills past usage only: the period that `paidSpan` names is over.
    var isInArrears: Bool {
        guard let span = paidSpan, let until = lookBack.end else { return false }
        return span.end <= until
    }

    /// True if it gives back the rest of a price or quantity that the new period is not charged for, even if that is
    /// nothing. Then the period replaced the old one, and did not begin next to it.
    var replacesItem: Bool {
        let items = paidSpan?.items ?? []
        return lines.contains { line in
            guard line.isProration, (line.amount ?? 0) <= 0, let price = line.price else { return false }
            return !items.contains {
                $0.price.id == price.id && ($0.quantity ?? line.quantity) == (line.quantity ?? $0.quantity)
            }
        }
    }

    /// True if a first invoice charges nothing for the period because of a trial or a price of nothing: no line of the
    /// subscription costs anything even before discounts. A fee next to them pays for no period, and a line that is
    /// billed ahead pays for none that begins now.
    var isFreeFromTheStart: Bool {
        !lines.contains {
            $0.isSubscription && ($0.amount ?? 0) != 0 && $0.start.map { $0 <= latestBeginning } ?? true
        }
    }

    /// The terms that a coupon gave the period; nil if it cost its full price. A discount of a later invoice may have
    /// come with the subscription; if the subscription states that, it counts.
    var discountedPhase: PeriodPhase? {
        guard isDiscounted else { return nil }
        return purpose == .start ? .introductory : .promotional
    }

    /// Its lines, if a change in the middle of a period gave some of it back or charged for a part: the amount of
    /// an unused part is negative. Nil if nothing is prorated, or a line names no product.
    var prorations: [PurchasedItem]? {
        guard !hasMoreLines, lines.contains(where: \.isProration) else { return nil }
        let items = lines.compactMap { line in
            line.price.map { PurchasedItem(product: $0.productID, price: money(line.amount)) }
        }
        return items.count == lines.count ? items : nil
    }

    /// When everything that is billed on it ends.
    var lastEnd: Milliseconds? { lines.compactMap(\.end).max() }

    func money(_ amount: Int64?) -> Money? {
        guard let amount, let currency else { return nil }
        return Money(minorUnits: amount, currency)
    }

    /// The charged amount.
    var price: Price? {
        guard let paid = money(amountPaid) else { return nil }
        // Tax is stated for the total. It is the tax in the paid amount only if the two are equal.
        let isWhole = amountPaid == total
        return Price(paid, .charged, tax: isWhole ? money(tax) : nil)
    }
}
