import FoundationEssentials
import LifecycleEvents
import WireJSON

extension Mapping {
    /// The invoice with all its lines, if they were asked for.
    private func completed(_ invoice: InvoiceObject) -> InvoiceObject {
        guard invoice.needsLinesOncePaid, let lines = ListPages(invoiceLinesIn: occasion.answers).all else {
            return invoice
        }
        return invoice.completed(with: lines)
    }

    func subject(_ invoice: InvoiceObject, _ span: SubscriptionObject.Span?) -> EventSubject {
        EventSubject(
            lineage: invoice.subscription.map { lineage($0) },
            transaction: invoice.id.map(TransactionID.init),
            account: account(customer: invoice.customer, metadata: invoice.metadata),
            product: span?.items.purchased,
            period: span?.period,
            price: invoice.price,
            country: invoice.country,
            items: invoice.prorations
        )
    }

    /// The facts that a paid invoice states.
    func paidFacts(_ invoice: InvoiceObject, _ subject: EventSubject, phase: PeriodPhase) -> [Fact] {
        var facts: [Fact] = []
        if let account = subject.account { facts.append(.owner(account)) }
        let purpose = invoice.purpose
        let span = invoice.isInArrears ? nil : invoice.paidSpan
        if let span, purpose != .standalone, invoice.billsSubscription {
            // Provisional: an invoice can be paid long after its subscription was changed or ended. The subscription's
            // own statement ranks above it, even an older one.
            facts += span.periods(phase, isProvisional: true)
        }
        facts += charges(of: invoice)
        if purpose == .start || purpose == .renewal || invoice.restartsPeriod {
            facts.append(.billing(Fact.Billing(.settled)))
        }
        if subject.lineage != nil, purpose != .standalone { facts += paymentNames(of: invoice) }
        return facts
    }

    private func charges(of invoice: InvoiceObject) -> [Fact] {
        guard let id = invoice.id, let price = invoice.price else { return [] }
        let change = invoice.chargedChange
        return [
            .charge(
                Fact.Charge(
                    transaction: TransactionID(id),
                    price: price,
                    at: (invoice.paidAt ?? created).date,
                    periodStart: invoice.paidStart?.date,
                    changeStart: change?.start.date,
                    items: change?.items ?? invoice.chargedItems,
                    setOff: invoice.setOff
                )
            )
        ]
    }

    /// The facts of a paid invoice that hold whatever became of the subscription since.
    func chargeFacts(_ invoice: InvoiceObject) -> [Fact] { charges(of: invoice) + paymentNames(of: invoice) }

    /// Under which names refunds and disputes of an invoice come: the payment's or the charge's. Before basil it states both. Since
    /// then another notification does, which knows no subscription: it meets the invoice's own name.
    private func paymentNames(of invoice: InvoiceObject) -> [Fact] {
        guard let id = invoice.id, let subscription = invoice.subscription, (invoice.amountPaid ?? 0) > 0 else {
            return []
        }
        let names = [invoice.paymentIntent, invoice.charge].compactMap(\.self)
        return paymentNames(of: id, names, linking: names.isEmpty ? [id] : [], in: subscription)
    }

    /// Which payment is which invoice's (https://docs.stripe.com/api/invoice-payment/object).
    func invoicePayment(_ value: JSONValue) throws(JSONError) -> Outcome {
        let reader = try ObjectReader(value)
        let payment = try reader.reader("payment")
        let names = [try payment?.reference("payment_intent"), try payment?.reference("charge")].compactMap(\.self)
        guard let invoice = try reader.reference("invoice"), let name = names.first else {
            return .none(.reportedElsewhere)
        }
        // A host that reads events alone has to hear of it: a refund names the payment only.
        return .events([
            notice(
                .paymentLinked,
                ["invoice": invoice, "payment": name],
                about: EventSubject(
                    lineage: lineage(invoice),
                    transaction: TransactionID(invoice),
                    facts: paymentNames(of: invoice, names, in: invoice)
                )
            )
        ])
    }

    func phase(_ invoice: InvoiceObject) -> PeriodPhase {
        if invoice.purpose == .start, invoice.isFreeFromTheStart { return .trial }
        return invoice.discountedPhase ?? .regular
    }

    func invoicePaid(_ invoice: InvoiceObject) -> Outcome {
        let invoice = completed(invoice)
        var subject = subject(invoice, invoice.paidSpan)
        subject.facts = paidFacts(invoice, subject, phase: phase(invoice))
        guard let lineage = subject.lineage else { return standalonePaid(invoice, subject) }
        guard !invoice.needsLines else { return .none(.needsLookup, lineage: lineage, facts: subject.facts) }
        var facts: [String: String] = [:]
        facts["invoice"] = invoice.id
        facts["billing_reason"] = invoice.billingReason
        guard let span = invoice.paidSpan,
            let began = periodBegan(by: invoice, with: span, about: subject)
        else {
            // For a trial, or a price of nothing, the subscription says which. For a change, the update describes it.
            // For usage of the period before, the subscription has reported the next one. Only the invoice reports the
            // charge.
            guard (invoice.amountPaid ?? 0) > 0 else {
                return .none(.reportedElsewhere, lineage: lineage, facts: subject.facts)
            }
            return .events([notice(.invoicePaid, facts, about: subject)])
        }
        guard isPaidAfterStart(invoice) else { return .events([began]) }
        return .events([began, notice(.invoicePaid, facts, about: subject)])
    }

    /// True if the subscription began, and gave access, before its first invoice was paid: the payment is a fact of its own, with the
    /// price (https://docs.stripe.com/billing/collection-method).
    private func isPaidAfterStart(_ invoice: InvoiceObject) -> Bool {
        invoice.isSentToCustomer && policy.sentInvoices == .keeps && invoice.purpose == .start
    }

    /// The period that a paid invoice pays for; nil if another notification reports that.
    ///
    /// - Parameter trialEnd: the end of the trial that leads to the first payment, if the subscription is known.
    func periodBegan(
        by invoice: InvoiceObject,
        with span: SubscriptionObject.Span,
        about subject: EventSubject,
        trialEnd: Milliseconds? = nil
    ) -> Draft? {
        guard let lineage = subject.lineage, let product = span.product else { return nil }
        var subject = subject
        if isPaidAfterStart(invoice) { subject.price = nil }
        let detail: LifecycleEvent
        switch invoice.purpose {
        case .start where !invoice.isFreeFromTheStart:
            detail = .started(
                LifecycleEvent.Started(
                    origin: .new,
                    phase: phase(invoice),
                    period: span.period,
                    price: subject.price
                )
            )
        case .renewal where !invoice.isInArrears:
            detail = .renewed(
                LifecycleEvent.Renewed(
                    cause: renewalCause(of: invoice, from: span.start, trialEnd: trialEnd),
                    phase: phase(invoice),
                    period: span.period,
                    price: invoice.price
                )
            )
        case .settlement where invoice.restartsPeriod:
            // A new anchor, or a trial that was ended early: only this invoice may report the payment. If the update
            // reported a change of product, the period has the same identity. The state knows the terms before it.
            detail = .renewed(
                LifecycleEvent.Renewed(
                    cause: invoice.replacesItem ? .planChange : .unknown,
                    phase: phase(invoice),
                    period: span.period,
                    price: invoice.price
                )
            )
        default:
            return nil
        }
        return Draft(
            .periodBegan(lineage, product: product, start: span.start.date),
            detail,
            about: subject,
            effectiveAt: span.start
        )
    }

    private func renewalCause(
        of invoice: InvoiceObject,
        from start: Milliseconds,
        trialEnd: Milliseconds?
    ) -> LifecycleEvent.Renewed.Cause {
        if invoice.attemptCount > 1 { return .recovery(from: .unknown) }
        // Deliveries name the subscription only; the state knows the period before.
        return trialEnd == start ? .trialConversion : .scheduled
    }

    private func standalonePaid(_ invoice: InvoiceObject, _ subject: EventSubject) -> Outcome {
        guard policy.sellsByInvoice, let id = invoice.id else { return .none(.unchanged) }
        return .events(
            purchases(
                sale(byInvoice: id, paidAs: [invoice.paymentIntent, invoice.charge]),
                of: invoice.saleItems,
                orElse: ProductID(id),
                price: invoice.price,
                at: invoice.paidAt ?? created,
                about: subject
            )
        )
    }

    /// The twin of `invoice.paid`. It leaves the charge to that one: the charge shows a state if the payment is news,
    /// and the twin may come first.
    func invoiceSettled(_ invoice: InvoiceObject) -> Outcome {
        let subject = subject(invoice, invoice.paidSpan)
        let facts = paidFacts(invoice, subject, phase: phase(invoice)).filter { $0.kind != .charge }
        return .none(.reportedElsewhere, lineage: subject.lineage, facts: subject.lineage == nil ? [] : facts)
    }

    func invoiceFailed(_ invoice: InvoiceObject, _ actionRequired: Bool) -> Outcome {
        let invoice = completed(invoice)
        let span = invoice.billedSpan
        var subject = subject(invoice, span)
        (subject.price, subject.items) = (nil, nil)
        if let account = subject.account { subject.facts.append(.owner(account)) }
        // A fetched invoice shows the present: if it was paid or voided meanwhile, it is no trouble any more, and its
        // own event reports that. An invoice that was written off is still unpaid.
        if notification?.isThin == true, invoice.status == "paid" || invoice.status == "void" {
            return .none(.stale, lineage: subject.lineage, facts: subject.lineage == nil ? [] : subject.facts)
        }
        // Only the subscription's own invoices can end it. An invoice that is made by hand next to them cannot.
        guard let lineage = subject.lineage, let subscription = invoice.subscription, invoice.billsSubscription else {
            return .events([
                notice(
                    .other,
                    ["invoice": actionRequired ? "payment_action_required" : "payment_failed"],
                    about: subject
                )
            ])
        }
        // A first payment renews nothing, and there is no access to lose.
        if invoice.purpose == .start { return .events([pending(subject, of: subscription)]) }
        guard !invoice.needsLines else { return .none(.needsLookup, lineage: lineage, facts: subject.facts) }
        // The subscription alone says if a change leaves access: with pending_if_incomplete it does, and the invoice is the same
        // (https://docs.stripe.com/billing/subscriptions/pending-updates-reference).
        let access =
            invoice.isOfChange ? .unknown : failedAccess(start: span?.start, end: span?.end ?? invoice.lastEnd)
        var billing =
            switch access {
            case .grace(let until): Fact.Billing(.grace, graceUntil: until)
            case .suspended: Fact.Billing(.suspended)
            case .unknown: Fact.Billing(.unknown)
            }
        billing.retryUntil = invoice.nextAttempt?.date
        let change = invoice.chargedChange
        billing.charge = invoice.id.map {
            Fact.Billing.FailedCharge(
                transaction: TransactionID($0),
                attempt: max(1, invoice.attemptCount),
                actionRequired: actionRequired,
                changeStart: change?.start.date,
                items: change?.items
            )
        }
        return .events([
            Draft(
                billingIssue(
                    lineage,
                    invoice: invoice.id ?? "",
                    attempt: invoice.attemptCount,
                    detail: actionRequired ? "action_required" : invoice.isFirstOfChange ? "change" : nil
                ),
                .billingIssue(
                    LifecycleEvent.BillingIssue(
                        access: access,
                        retryUntil: billing.retryUntil,
                        actionRequired: actionRequired
                    )
                ),
                about: subject,
                with: .billing(billing)
            )
        ])
    }

    func invoiceUpcoming(_ invoice: InvoiceObject) -> Outcome {
        let span = invoice.billedSpan
        var subject = subject(invoice, span)
        subject.price = invoice.money(invoice.amountDue).map { Price($0, .renewal) }
        let due = invoice.nextAttempt ?? span?.start
        var facts: [String: String] = [:]
        facts["renews_at"] = due.map { RFC3339.string($0) }
        return .events([notice(.renewalUpcoming, facts, about: subject, effectiveAt: due)])
    }

    func invoiceNotice(_ invoice: InvoiceObject) -> Outcome {
        var subject = subject(invoice, invoice.billedSpan)
        subject.price = invoice.money(invoice.amountDue).map { Price($0, .list) }
        let name = notification?.canonicalType.split(separator: ".").last.map(String.init) ?? ""
        let isIssued = name == "finalized"
        return .events([notice(isIssued ? .invoiceIssued : .other, ["invoice": name], about: subject)])
    }
}
