import FoundationEssentials
import LifecycleEvents
import WireJSON

/// The payment that a refund or a dispute is about: Stripe names it by its intent or its charge, and since basil not by
/// the invoice behind it.
struct Payment: Sendable {
    let paymentIntent: String?
    let charge: String?
    /// The invoice behind it: stated before basil, to be asked for since.
    let invoice: String?
    let customer: CustomerReference?
    /// The country of the billing address, which a charge states.
    let country: String?

    /// Its own names, the one that Stripe's other objects prefer first.
    var names: [String] { [paymentIntent, charge].compactMap(\.self) }

    /// - Parameter value: a charge, a refund or a dispute.
    init(_ value: JSONValue) throws(JSONError) {
        var reader = try ObjectReader(value)
        paymentIntent = try reader.reference("payment_intent")
        let isCharge = reader.optionalValue("object")?.isString("charge") ?? false
        charge = isCharge ? try reader.string("id") : try reader.reference("charge")
        invoice = try reader.reference("invoice")
        customer = try reader.customer()
        country = reader.descriptiveCountry(at: "billing_details", "address")
    }
}

extension Mapping {
    /// The purchase that a payment is for, with the names of both.
    struct PaidBy {
        /// The subscription if the invoice is known, else the payment.
        let lineage: SubscriptionID
        let transaction: TransactionID
        /// The name for facts: the payment's own, with or without a look-up. An invoice may be paid by several payments.
        let statedTransaction: TransactionID
        /// The amount paid for its invoice, which this payment may be a part of; nil if the invoice is not known.
        let invoicePaid: Int64?
        let periodStart: Milliseconds?
        let customer: CustomerReference?
        let country: String?
        /// The other names under which the payment is known.
        let names: [Fact]
    }

    /// The names of a payment for a purchase: webhooks may name any one of them. Each is a lineage, too, until the purchase is known.
    ///
    /// - Parameters:
    ///   - transaction: the name that facts use.
    ///   - names: the other names.
    ///   - others: further lineages that the statement's own is linked to.
    ///   - own: the lineage of the statement.
    func paymentNames(
        of transaction: String,
        _ names: [String],
        linking others: [String] = [],
        in own: String
    ) -> [Fact] {
        let transaction = TransactionID(transaction)
        return names.map { .transactionName(Fact.TransactionName(transaction: transaction, name: TransactionID($0))) }
            + (others + names).filter { $0 != own }.map { .link(lineage($0)) }
    }

    func paidBy(_ payment: Payment) -> PaidBy? {
        guard let id = payment.paymentIntent ?? payment.charge else { return nil }
        let invoice = fetchedInvoice
        let subscription = invoice?.subscription
        let invoiceID = invoice?.id ?? payment.invoice
        let isOfNoSubscription = invoice != nil && subscription == nil
        // Named as the sale is: by its invoice where invoices are sales, else by its payment.
        let sale = subscription == nil && policy.sellsByInvoice ? invoiceID : nil
        let own = subscription ?? sale ?? id
        let invoiceName = isOfNoSubscription && sale == nil ? nil : invoiceID
        let names = paymentNames(
            of: invoiceName ?? id,
            payment.names.filter { $0 != invoiceName ?? id },
            linking: own == id ? [invoiceName].compactMap(\.self) : [],
            in: own
        )
        return PaidBy(
            lineage: lineage(own),
            transaction: TransactionID(sale ?? (isOfNoSubscription ? id : invoiceID ?? id)),
            statedTransaction: TransactionID(id),
            invoicePaid: invoice?.amountPaid,
            periodStart: subscription == nil ? nil : invoice?.billedSpan?.start,
            customer: invoice?.customer ?? payment.customer,
            country: invoice?.country ?? payment.country,
            names: names
        )
    }

    /// Refunds and disputes have names of their own. Their lineage depends on look-ups, so it is not part of the id.
    var anyLineage: SubscriptionID { SubscriptionID(store: .stripe, environment: environment, id: "") }

    private var fetchedInvoice: InvoiceObject? {
        if let document = occasion.answers[LookupRequest.invoice]?.document {
            return try? InvoiceObject(document.root, addOns: policy.addOnProducts)
        }
        guard let first = occasion.answers[LookupRequest.invoicePayments]?.firstElement,
            let payment = try? ObjectReader(first),
            let invoice = payment.optionalValue("invoice"), invoice.kind == .object
        else { return nil }
        return try? InvoiceObject(invoice, addOns: policy.addOnProducts)
    }

    /// True if `refund.…` is the event for refunds here, and `charge.refunded` repeats it.
    private var refundsSpeak: Bool {
        switch policy.refundSource {
        case .refunds: true
        case .charges: false
        // Versions are dates, which compare as text; thin events come in none and are younger than the change.
        case .byVersion: notification?.isThin == true || (notification?.apiVersion ?? "") >= "2024-10-28"
        }
    }

    /// True if a charge reports a payment's refunds as soon as they are made. Refunds without a charge are reported by
    /// themselves.
    private func isReportedByCharge(_ payment: Payment) -> Bool { !refundsSpeak && payment.charge != nil }

    /// The status of the object before an update: nil if the event does not say what changed, and nil in that if the status did not.
    func statusBefore() throws(JSONError) -> String?? {
        try notification?.before().map { (old) throws(JSONError) in try old.optionalString("status") }
    }

    func refund(_ refund: RefundObject, _ payment: Payment) throws(JSONError) -> Outcome {
        switch refund.status {
        case "failed", "canceled": return try refundFailed(refund, payment)
        default: break
        }
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let facts = facts(refund, paidBy)
        guard !isReportedByCharge(payment) else {
            return .none(.reportedElsewhere, lineage: paidBy.lineage, facts: facts)
        }
        // Bank references and metadata come in later; only reaching this status is news.
        guard refund.status == "succeeded", try statusBefore() != .some(nil) else {
            return .none(.unchanged, lineage: paidBy.lineage, facts: facts)
        }
        return .events([
            refunded(
                MoneyBack(
                    refund: refund.id,
                    amount: Money(minorUnits: refund.amount, refund.currency),
                    reason: refund.reason,
                    at: refund.created ?? created
                ),
                paidBy
            )
        ])
    }

    /// The facts that each notification of a refund states, whatever has changed in it: the one of its status may be lost.
    private func facts(_ refund: RefundObject, _ paidBy: PaidBy) -> [Fact] {
        switch refund.status {
        case "succeeded":
            let amount = Money(minorUnits: refund.amount, refund.currency)
            let time = refund.created ?? created
            return [.refund(refundState(.amount(amount), of: refund.id, at: time, paidBy))] + paidBy.names
        case "failed", "canceled":
            return [reversal(refund, paidBy)] + paidBy.names
        default:
            return paidBy.names
        }
    }

    /// A refund that failed or was called back. If it was reported, it is undone: a charge reports it when it is made,
    /// its own event when it succeeds. If the event does not show the status before, the state knows it.
    func refundFailed(_ refund: RefundObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let before = try statusBefore()
        let wasReported: Bool
        switch (notification?.canonicalType, before) {
        case ("refund.created"?, _):
            wasReported = false
        case (_, let status??):
            wasReported = isReportedByCharge(payment) || status == "succeeded"
        case ("refund.failed"?, _), (_, nil):
            wasReported = true
        case (_, .some(nil)):
            // Something else has changed.
            wasReported = false
        }
        guard wasReported else {
            // A charge counts a refund as soon as it is made, and may have said that nothing is left of it.
            return .none(.unchanged, lineage: paidBy.lineage, facts: facts(refund, paidBy))
        }
        return .events([reversed(refund, paidBy)])
    }

    func chargeRefundUpdated(_ refund: RefundObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard !isReportedByCharge(payment) else { return try self.refund(refund, payment) }
        guard let paidBy = paidBy(payment) else { return .none(.reportedElsewhere) }
        return .none(.reportedElsewhere, lineage: paidBy.lineage, facts: facts(refund, paidBy))
    }

    /// A charge that another event reports. It has all names of its payment.
    func chargeNames(_ payment: Payment) -> Outcome {
        guard let paidBy = paidBy(payment), !paidBy.names.isEmpty else { return .none(.reportedElsewhere) }
        return .none(.reportedElsewhere, lineage: paidBy.lineage, facts: paidBy.names)
    }

    func chargeRefunded(_ charge: ChargeObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let before = try notification?.before().map { (old) throws(JSONError) in
            try old.optionalInt64("amount_refunded")
        }
        let total = charge.returned(of: charge.amountRefunded)
        guard total > 0 else { return .none(.unchanged, lineage: paidBy.lineage, facts: paidBy.names) }
        let (delta, overflows) = total.subtractingReportingOverflow(charge.returned(of: (before ?? nil) ?? 0))
        // A fetched charge does not show what was refunded before.
        let newest = before == nil ? charge.latestRefund?.amount : nil
        let amount = newest ?? (overflows || delta <= 0 ? total : delta)
        // A failed refund takes its amount back, and the next one can bring the charge to the same sum again.
        let name = "\(charge.id)/refunded/\(charge.amountRefunded)/\(created.wholeSeconds)"
        let latest = charge.latestRefund.flatMap { $0.amount == amount ? $0 : nil }
        let time = latest?.created ?? created
        let isWhole = charge.isRefunded && amount == charge.amountCaptured && amount >= paidBy.invoicePaid ?? 0
        return .events([
            refunded(
                MoneyBack(
                    refund: latest?.id,
                    name: name,
                    amount: Money(minorUnits: amount, charge.currency),
                    isWhole: isWhole,
                    total: Money(minorUnits: total, charge.currency),
                    reason: latest?.reason,
                    at: time
                ),
                paidBy
            )
        ])
    }

    /// Refunded money, by one refund or as part of all refunds of a charge.
    private struct MoneyBack {
        /// Stripe's name of the refund; nil if only the charge is known.
        var refund: String?
        /// The name of the refund if Stripe's name of it is unknown.
        var name = ""
        let amount: Money
        /// True if it is all that was paid.
        var isWhole = false
        /// All that was refunded of the charge up to this one, if stated. It is an amount even if nothing is left: the charge may be
        /// one of several for an invoice.
        var total: Money?
        let reason: String?
        let at: Milliseconds
    }

    private func refunded(_ money: MoneyBack, _ paidBy: PaidBy) -> Draft {
        let scope: LifecycleEvent.Refund.Scope = money.isWhole ? .full : .amount(money.amount)
        let reason: LifecycleEvent.Refund.Reason =
            switch money.reason {
            case nil: .unknown
            case "requested_by_customer"?: .other
            case let stated?: LifecycleEvent.Refund.Reason(rawValue: stated)
            }
        var subject = subject(paidBy)
        subject.price = Price(money.amount, .refund)
        if let refund = money.refund {
            // The same facts as those of the refund's own notification, which does not know the rest.
            subject.facts.append(.refund(refundState(.amount(money.amount), of: refund, at: money.at, paidBy)))
        }
        if let total = money.total {
            subject.facts.append(.refund(refundState(.amount(total), of: nil, at: money.at, paidBy)))
        }
        subject.facts += paidBy.names
        let name = money.refund ?? money.name
        return Draft(
            .refunded(anyLineage, refund: name),
            .refunded(
                LifecycleEvent.Refund(
                    transaction: paidBy.transaction,
                    scope: scope,
                    reason: reason,
                    affectsCurrentPeriod: nil,
                    refund: name
                )
            ),
            about: subject,
            effectiveAt: money.at
        )
    }

    /// A refund ends no subscription of Stripe's: a merchant who wants that cancels it as well. For a sale, the state
    /// works out when all of its money was refunded. Money that a bank takes back ends access, and is no part of the
    /// sum that a charge states as refunded.
    func refundState(
        _ scope: LifecycleEvent.Refund.Scope?,
        of refund: String?,
        at time: Milliseconds,
        _ paidBy: PaidBy,
        endsAccess: Bool = false,
        undone: Money? = nil
    ) -> Fact.RefundState {
        Fact.RefundState(
            transaction: paidBy.statedTransaction,
            refund: refund,
            scope: scope,
            at: time.date,
            periodStart: paidBy.periodStart?.date,
            endsAccess: endsAccess,
            undone: undone
        )
    }

    private func reversal(_ refund: RefundObject, _ paidBy: PaidBy) -> Fact {
        let amount = Money(minorUnits: refund.amount, refund.currency)
        return .refund(refundState(nil, of: refund.id, at: created, paidBy, undone: amount))
    }

    private func reversed(_ refund: RefundObject, _ paidBy: PaidBy) -> Draft {
        var subject = subject(paidBy)
        subject.facts = [reversal(refund, paidBy)] + paidBy.names
        return Draft(
            .refundReversed(anyLineage, transaction: TransactionID(refund.id)),
            .refundReversed(LifecycleEvent.TransactionReference(transaction: paidBy.transaction, refund: refund.id)),
            about: subject
        )
    }

    func subject(_ paidBy: PaidBy) -> EventSubject {
        EventSubject(
            lineage: paidBy.lineage,
            transaction: paidBy.transaction,
            account: account(customer: paidBy.customer, metadata: nil),
            country: paidBy.country
        )
    }
}
