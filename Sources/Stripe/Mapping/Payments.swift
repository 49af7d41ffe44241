import FoundationEssentials
import LifecycleEvents
import WireJSON

/// The payment that a refund or a dispute is about: Stripe names it by its intent or its charge, and since basil not by
/// the invoice behind it.
struct Payment: Sendable {
    let paymentIntent: String?
    let charge: String?
    let invoice: String?
    let invoiceObject: InvoiceObject?
    let customer: CustomerReference?

    /// - Parameter value: a charge, a refund or a dispute.
    init(_ value: JSONValue) throws(JSONError) {
        let reader = try ObjectReader(value)
        paymentIntent = try reader.reference("payment_intent")
        let isCharge = reader.optionalValue("object")?.isString("charge") ?? false
        charge = isCharge ? try reader.string("id") : try reader.reference("charge")
        let reference = try InvoiceReference(reader)
        invoice = reference.id
        invoiceObject = reference.object
        customer = try reader.customer()
    }
}

extension Mapping {
    private struct PaidBy {
        /// The subscription, where the invoice is known, and else the payment.
        let lineage: SubscriptionID
        /// The payment, whatever else is known: the scope of identities.
        let scope: SubscriptionID
        let transaction: String
        /// What facts name it by: where no subscription is known, as the sale is named that it may have paid for.
        let statedTransaction: String
        let periodStart: Milliseconds?
        /// Whether it paid for something bought once, as far as is known.
        let isSale: Bool
        let customer: CustomerReference?
    }

    private func paidBy(_ payment: Payment) -> PaidBy? {
        guard let id = payment.paymentIntent ?? payment.charge else { return nil }
        let invoice = payment.invoiceObject ?? fetchedInvoice
        let subscription = invoice?.subscription
        let invoiceID = invoice?.id ?? payment.invoice
        let isOfNoSubscription = invoice != nil && subscription == nil
        // Named as the sale is: by its invoice where invoices are sales, else by its payment.
        let sale = subscription == nil && policy.sellsByInvoice ? invoiceID : nil
        return PaidBy(
            lineage: lineage(subscription ?? sale ?? id),
            scope: lineage(payment.charge ?? id),
            transaction: sale ?? (isOfNoSubscription ? id : invoiceID ?? id),
            statedTransaction: sale ?? (subscription == nil ? id : invoiceID ?? id),
            periodStart: subscription == nil ? nil : invoice?.billedSpan?.start,
            isSale: subscription == nil,
            customer: invoice?.customer ?? payment.customer
        )
    }

    private var fetchedInvoice: InvoiceObject? {
        guard let document = notification.answers[LookupRequest.invoicePayments]?.document,
            let list = try? ObjectReader(document.root).optionalArray("data"),
            let first = list.first, let payment = try? ObjectReader(first),
            let invoice = payment.optionalValue("invoice"), invoice.kind == .object
        else { return nil }
        return try? InvoiceObject(invoice)
    }

    /// Whether `refund.…` speaks for refunds here, and `charge.refunded` repeats it.
    private var refundsSpeak: Bool {
        switch policy.refundSource {
        case .refunds: true
        case .charges: false
        // Versions are dates, which compare as text; thin events come in none and are younger than the change.
        case .byVersion: notification.isThin || (notification.apiVersion ?? "") >= "2024-10-28"
        }
    }

    /// Whether a charge tells of a payment's refunds, as soon as they are made. Those without one are told by themselves.
    private func isToldByCharge(_ payment: Payment) -> Bool { !refundsSpeak && payment.charge != nil }

    func refund(_ refund: RefundObject, _ payment: Payment) throws(JSONError) -> Outcome {
        switch refund.status {
        case "failed", "canceled": return try refundFailed(refund, payment)
        default: break
        }
        guard !isToldByCharge(payment) else { return .none(.reportedElsewhere) }
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let before = try notification.previous.map { (value) throws(JSONError) in try ObjectReader(value) }
        let oldStatus = try before?.optionalString("status")
        switch refund.status {
        case "succeeded":
            // Bank references and metadata come in later; only reaching this status is news.
            guard before == nil || oldStatus != nil else { return .none(.unchanged, lineage: paidBy.lineage) }
            return .events([
                refunded(
                    id: refund.id,
                    amount: Money(minorUnits: refund.amount, refund.currency),
                    isFull: false,
                    leavesNothing: false,
                    reason: refund.reason,
                    at: refund.created ?? created,
                    paidBy
                )
            ])
        default:
            return .none(.unchanged, lineage: paidBy.lineage)
        }
    }

    /// A refund that failed or was called back. It is undone where it was told of: by its charge when it was made, by
    /// itself when it succeeded. Where the event does not say what was before, the state knows.
    func refundFailed(_ refund: RefundObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let before = try notification.previous.map { (value) throws(JSONError) in
            try ObjectReader(value).optionalString("status")
        }
        let wasTold: Bool
        switch (notification.canonicalType, before) {
        case ("refund.created", _):
            wasTold = false
        case (_, let status??):
            wasTold = isToldByCharge(payment) || status == "succeeded"
        case ("refund.failed", _), (_, nil):
            wasTold = true
        case (_, .some(nil)):
            // Something else has changed.
            return .none(.unchanged, lineage: paidBy.lineage)
        }
        guard wasTold else {
            // A charge counts a refund as soon as it is made, and may have said that nothing is left of it.
            return .none(.unchanged, lineage: paidBy.lineage, facts: [reversal(paidBy)])
        }
        return .events([reversed(refund, paidBy)])
    }

    func chargeRefundUpdated(_ refund: RefundObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard isToldByCharge(payment), refund.status == "failed" || refund.status == "canceled" else {
            return .none(.reportedElsewhere)
        }
        return try refundFailed(refund, payment)
    }

    func chargeRefunded(_ charge: ChargeObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let before = try notification.previous.map { (value) throws(JSONError) in
            try ObjectReader(value).optionalInt64("amount_refunded")
        }
        let (delta, overflows) = charge.amountRefunded.subtractingReportingOverflow((before ?? nil) ?? 0)
        let amount = overflows || delta <= 0 ? charge.amountRefunded : delta
        let isFull = charge.isRefunded && amount == charge.amount
        guard !refundsSpeak else {
            // The charge alone knows that nothing is left of it.
            let facts: [Fact] =
                charge.isRefunded ? [.refund(refundState(.full, at: created, paidBy, isFull: true))] : []
            return .none(.reportedElsewhere, lineage: paidBy.lineage, facts: facts)
        }
        // A failed refund takes its amount back, and the next one can bring the charge to the same sum again.
        let name = "\(charge.id)/refunded/\(charge.amountRefunded)/\(created.wholeSeconds)"
        let latest = charge.latestRefund.flatMap { $0.amount == amount ? $0 : nil }
        return .events([
            refunded(
                id: latest?.id ?? name,
                amount: Money(minorUnits: amount, charge.currency),
                isFull: isFull,
                leavesNothing: charge.isRefunded,
                reason: latest?.reason,
                at: latest?.created ?? created,
                paidBy
            )
        ])
    }

    private func refunded(
        id: String,
        amount: Money,
        isFull: Bool,
        leavesNothing: Bool,
        reason: String?,
        at time: Milliseconds,
        _ paidBy: PaidBy
    ) -> NormalizedEvent {
        let scope: LifecycleEvent.Refund.Scope = isFull ? .full : .amount(amount)
        let reason: LifecycleEvent.Refund.Reason =
            switch reason {
            case nil: .unknown
            case "requested_by_customer"?: .other
            case let stated?: LifecycleEvent.Refund.Reason(rawValue: stated)
            }
        var subject = subject(paidBy)
        subject.price = Price(amount, .refund)
        // The last of several parts is a part, and nothing is left of the payment all the same.
        let total: LifecycleEvent.Refund.Scope = leavesNothing ? .full : scope
        subject.facts = [.refund(refundState(total, at: time, paidBy, isFull: leavesNothing))]
        return event(
            .refunded(paidBy.scope, refund: id),
            .refunded(
                LifecycleEvent.Refund(
                    transaction: paidBy.transaction,
                    scope: scope,
                    reason: reason,
                    affectsCurrentPeriod: nil
                )
            ),
            subject,
            effectiveAt: time
        )
    }

    /// A refund ends no subscription of Stripe's: whoever wants that cancels it as well. What was bought for good and
    /// is refunded in full is gone.
    private func refundState(
        _ scope: LifecycleEvent.Refund.Scope?,
        at time: Milliseconds,
        _ paidBy: PaidBy,
        isFull: Bool
    ) -> Fact.RefundState {
        Fact.RefundState(
            transaction: paidBy.statedTransaction,
            scope: scope,
            at: time.date,
            periodStart: paidBy.periodStart?.date,
            endsAccess: isFull && paidBy.isSale
        )
    }

    private func reversal(_ paidBy: PaidBy) -> Fact {
        .refund(refundState(nil, at: created, paidBy, isFull: false))
    }

    private func reversed(_ refund: RefundObject, _ paidBy: PaidBy) -> NormalizedEvent {
        var subject = subject(paidBy)
        subject.facts = [reversal(paidBy)]
        return event(
            .refundReversed(paidBy.scope, transaction: refund.id),
            .refundReversed(LifecycleEvent.TransactionReference(transaction: paidBy.transaction)),
            subject
        )
    }

    private func subject(_ paidBy: PaidBy) -> Subject {
        Subject(
            lineage: paidBy.lineage,
            transaction: paidBy.transaction,
            account: account(customer: paidBy.customer, metadata: nil)
        )
    }

    func dispute(_ dispute: DisputeObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let amount = dispute.amount.flatMap { amount in
            dispute.currency.map { Money(minorUnits: amount, $0) }
        }
        let before = try notification.previous.map { (value) throws(JSONError) in
            try ObjectReader(value).optionalString("status")
        }
        let isInquiry = dispute.status.hasPrefix("warning_")
        let stage: LifecycleEvent.Chargeback.Stage
        switch (notification.canonicalType, dispute.status) {
        case ("charge.dispute.closed", "lost"):
            stage = .lost
        case ("charge.dispute.closed", "won"), ("charge.dispute.closed", "warning_closed"):
            stage = .won
        case ("charge.dispute.closed", _):
            // Prevented before it became one: no money moved by the dispute itself.
            stage = .warning
        case ("charge.dispute.created", _):
            stage = isInquiry ? .warning : .opened
        default:
            // An inquiry that grew into a dispute; all other updates are evidence and deadlines.
            guard let status = before ?? nil, status.hasPrefix("warning_"), !isInquiry, dispute.status != "lost",
                dispute.status != "won"
            else { return .none(.unchanged, lineage: paidBy.lineage) }
            stage = .opened
        }
        var subject = subject(paidBy)
        if stage == .won, let before = before ?? nil, before == "lost" || before.hasPrefix("appeal_") {
            // Won on appeal: the bank gave back what it had taken.
            subject.facts = [reversal(paidBy)]
        }
        if stage == .lost {
            // The bank took the money back: what it paid for is not paid.
            subject.facts = [
                .refund(
                    Fact.RefundState(
                        transaction: paidBy.statedTransaction,
                        scope: amount.map { .amount($0) } ?? .full,
                        at: created.date,
                        periodStart: paidBy.periodStart?.date,
                        endsAccess: true
                    )
                )
            ]
        }
        return .events([
            event(
                .chargeback(paidBy.scope, dispute: dispute.id, stage: stage),
                .chargeback(
                    LifecycleEvent.Chargeback(stage: stage, transaction: paidBy.transaction, amount: amount)
                ),
                subject
            )
        ])
    }
}
