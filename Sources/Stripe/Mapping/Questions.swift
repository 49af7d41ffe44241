import FoundationEssentials
import LifecycleEvents
import WireJSON

/// A subscription that was asked about, with its invoices, which show what was paid for.
struct PurchasedSubscription {
    let value: JSONValue
    let subscription: SubscriptionObject
    /// The subscription's latest invoice, with all its lines if it is paid.
    private let latestInvoice: InvoiceObject?
    /// The other paid invoices that Stripe listed.
    private let earlierInvoices: [InvoiceObject]
    let schedule: ScheduleObject?
    /// True if the answer shows later changes, such as a schedule.
    let showsSchedule: Bool

    /// - Parameter subject: the subscription, or the session that it began with. Nil if that shows no subscription.
    init?(
        _ subject: JSONValue,
        in purchase: StripePurchase,
        addOns: Set<String> = []
    ) throws(JSONError) {
        switch purchase.kind {
        case .subscription: value = subject
        case .checkoutSession:
            guard let began = try ObjectReader(subject).expanded("subscription") else { return nil }
            value = began
        }
        let reader = try ObjectReader(value)
        let shown = try SubscriptionObject(value, addOns: addOns)
        if shown.hasMoreItems, let items = ListPages(itemsIn: purchase.answers, addOns: addOns).all {
            subscription = try SubscriptionObject(value, items: items, addOns: addOns)
        } else {
            subscription = shown
        }
        if let schedule = reader.expanded("schedule") {
            self.schedule = try ScheduleObject(schedule, addOns: addOns)
        } else {
            schedule = nil
        }
        // Of a session's subscription, only its id is.
        showsSchedule = reader.optionalValue("schedule")?.kind != .string
        var latest = try reader.expanded("latest_invoice").map { (value) throws(JSONError) in
            try InvoiceObject(value, addOns: addOns)
        }
        if latest?.subscription != shown.id { latest = nil }
        if let invoice = latest, invoice.status == "paid", invoice.needsLinesOncePaid,
            let lines = ListPages(invoiceLinesIn: purchase.answers).all
        {
            latest = invoice.completed(with: lines)
        }
        latestInvoice = latest
        let listed = try purchase.answers[LookupRequest.invoices]?.document.map { (document) throws(JSONError) in
            try ListPage(document) { (value) throws(JSONError) in try InvoiceObject(value, addOns: addOns) }.elements
        }
        // Lines that are not shown would cost further requests.
        earlierInvoices = (listed ?? []).filter {
            $0.status == "paid" && $0.subscription == shown.id && $0.id != latest?.id && !$0.needsLinesOncePaid
        }
    }

    /// The latest invoice, if it is paid.
    var paidInvoice: InvoiceObject? { latestInvoice?.status == "paid" ? latestInvoice : nil }

    /// The paid invoices, the latest first. None of a subscription whose charge is open: stated as new as the answer, an earlier payment
    /// would pass for that of the open charge.
    var settledInvoices: [InvoiceObject] { isSettled ? [paidInvoice].compactMap(\.self) + earlierInvoices : [] }

    private var isSettled: Bool { subscription.status == .active || subscription.status == .trialing }

    /// Since when further invoices may be of interest: the start of the first current period that the latest one is not for. Nil if
    /// there is none, or no invoice was made since.
    var invoicesSince: Milliseconds? {
        guard isSettled, let latestInvoice,
            let since = subscription.spans.lazy.map(\.start).filter({ $0 != latestInvoice.paidStart }).min()
        else { return nil }
        return latestInvoice.created ?? since < since ? nil : since
    }
}

// The object itself gives some events their identity, whatever version it comes in, so that the notification of each is no further
// news: these are identified. All else, such as a failed charge or a pause, is stated as facts, and is news when its notification comes.
extension Mapping {
    /// - Parameter value: the answer about the purchase.
    func asked(_ purchase: StripePurchase, _ value: JSONValue) throws(JSONError) -> Mapped {
        switch purchase.kind {
        case .checkoutSession:
            return try mapped(value) { session throws(JSONError) in try asked(session, value, in: purchase) }
        case .subscription:
            guard
                let purchased = try PurchasedSubscription(value, in: purchase, addOns: policy.addOnProducts)
            else { return Mapped(outcome: .none(.unchanged)) }
            return Mapped(outcome: asked(purchased), anomalies: purchased.subscription.anomalies)
        }
    }

    private func asked(
        _ session: CheckoutSessionObject,
        _ value: JSONValue,
        in purchase: StripePurchase
    ) throws(JSONError) -> Outcome {
        guard session.status == "complete" else { return .none(.unchanged) }
        switch session.mode {
        case "payment":
            let intent = try ObjectReader(value).expanded("payment_intent").map { (value) throws(JSONError) in
                try ObjectReader(value)
            }
            let charge = try intent?.expanded("latest_charge").map { (value) throws(JSONError) in
                try ObjectReader(value)
            }
            // Refunded money is reported by its own notification. Until then there is no purchase here.
            guard try charge?.optionalBool("refunded") != true else { return .none(.stale) }
            let time = min(try charge?.time("created") ?? session.created ?? created, created)
            let amount = taken(
                try charge?.optionalInt64("amount_captured"),
                in: try charge?.optionalString("currency"),
                for: session
            )
            let outcome = checkout(session, for: amount, at: time)
            guard case .events(let sold, let beside, _) = outcome else { return outcome }
            // The sale's own event, with its time, ranks above this.
            return .events(sold, beside: beside, assertedAt: time)
        case "subscription":
            guard
                let purchased = try PurchasedSubscription(value, in: purchase, addOns: policy.addOnProducts)
            else { return .none(.needsLookup) }
            return asked(purchased, as: account(session))
        default:
            return .none(.unchanged)
        }
    }

    /// - Parameter buyer: the account that the session names.
    private func asked(_ purchased: PurchasedSubscription, as buyer: Account? = nil) -> Outcome {
        let subscription = purchased.subscription
        var stated = stated(subscription)
        if let buyer {
            // A name that the host chose for the subscription stays the first.
            if let named = stated.subject.account, named.source == .metadata, buyer.source != .metadata {
                stated.subject.account?.aliases += buyer.identifiers.filter { !named.identifiers.contains($0) }
            } else {
                stated.subject.account = buyer
            }
            stated.subject.facts.append(.owner(buyer))
        }
        guard !subscription.hasMoreItems else { return stated.none(.needsLookup) }
        let change = purchased.schedule.flatMap { schedule in
            schedule.status == "active"
                ? changeScheduled(
                    by: schedule,
                    about: EventSubject(lineage: stated.lineage, account: stated.subject.account)
                ) : nil
        }
        if let change {
            stated.subject.facts += change.subject.facts
        } else if purchased.showsSchedule, subscription.pendingItems.isEmpty {
            stated.subject.facts.append(.nextProduct(Fact.NextProduct(nil)))
        }
        let begun = began(purchased, stated)
        let reported = Set(begun.compactMap(\.subject.transaction?.rawValue))
        for invoice in purchased.settledInvoices where invoice.id.map({ !reported.contains($0) }) ?? false {
            stated.subject.facts += chargeFacts(invoice)
        }
        let made = identified(stated) + [change].compactMap(\.self)
        let drafts = zip(made, stated.subject.facts.assigned(to: made.map(\.event.event))).map { draft, facts in
            var subject = draft.subject
            subject.facts = facts
            return Draft(draft.event, about: subject)
        }
        // The payment decides if the beginning is news, as it does for the invoice's own notification. The
        // subscription's other statements were perhaps made before, without an event.
        guard !begun.isEmpty else { return drafts.isEmpty ? stated.none(.unchanged) : .events(drafts) }
        return .events(begun + drafts, beside: drafts.isEmpty ? stated.subject.facts : [])
    }

    /// The events of a subscription, apart from the beginning of a period.
    private func identified(_ stated: Stated) -> [Draft] {
        let subscription = stated.subscription
        switch subscription.status {
        case .incomplete:
            return [pending(stated)]
        case .incompleteExpired:
            return [purchaseFailed(stated)]
        case .unpaid:
            return [unpaid(stated)]
        case .canceled:
            return [past(expired(stated), at: subscription.endedAt ?? created)]
        case .active, .trialing, .pastDue:
            // Distinguished by the time of the request, and under a test clock by the notification.
            guard subscription.isEnding, let canceledAt = subscription.canceledAt, !subscription.hasTestClock else {
                return []
            }
            return [past(renewalOff(stated), at: canceledAt)]
        default:
            return []
        }
    }

    /// An event that the answer dates, and that happened before the question.
    private func past(_ draft: Draft, at time: Milliseconds) -> Draft {
        var event = draft.event
        event.occurredAt = min(time, created).date
        return Draft(event, about: draft.subject)
    }

    /// The periods that run, where their invoices are paid.
    private func began(_ purchased: PurchasedSubscription, _ stated: Stated) -> [Draft] {
        var ids: Set<EventID> = []
        let begun = purchased.settledInvoices.compactMap { began(by: $0, in: stated) }
        return begun.filter { ids.insert($0.event.id).inserted }.reversed()
    }

    private func began(by invoice: InvoiceObject, in stated: Stated) -> Draft? {
        let subscription = stated.subscription
        guard let span = invoice.paidSpan, let current = subscription.spans.first(where: { $0.start == span.start })
        else { return nil }
        let isFree = invoice.purpose == .start && invoice.isFreeFromTheStart
        // After a change of product, the name under which the first period was reported is unknown.
        guard !isFree || current.product == span.product else { return nil }
        var subject = subject(invoice, span)
        guard subject.lineage == stated.lineage else { return nil }
        subject.account = stated.subject.account
        subject.renewal = stated.subject.renewal
        subject.facts = paidFacts(invoice, subject, phase: isFree ? stated.phase : phase(invoice))
        var first = stated
        first.subject = subject
        let draft =
            isFree
            ? started(first, with: current)
            : periodBegan(by: invoice, with: span, about: subject, trialEnd: subscription.endOfFirstTrial)
        return draft.map { past($0, at: invoice.paidAt ?? span.start) }
    }
}

extension ObjectReader {
    /// The object under an expandable name; nil if there is none, or only its id is shown.
    fileprivate func expanded(_ name: MemberName) -> JSONValue? {
        optionalValue(name).flatMap { $0.kind == .object ? $0 : nil }
    }
}
