import FoundationEssentials

/// An event with the knowledge of a state before and after it. ``Disposition`` and ``Refinement`` are read from it.
struct EventReading {
    let event: NormalizedEvent
    let prior: Situation
    let now: Situation
    /// The refunds of the event's transaction that are known.
    let refund: KnownRefund
    /// True if the event says that a purchase is pending, or that the charge for a change failed, and it was paid for before the event
    /// came.
    let isPaid: Bool
    /// The one-time purchase of the event's transaction, if there is one.
    let purchase: Fact.OneTimePurchase?
    /// All that was paid with that purchase, if it is known.
    let paid: Money?
    /// True if the event's report was made before.
    let isReported: Bool
    /// The period that an end without a name for it is of.
    let unnamedEnd: PeriodTimeline.Period?
    /// True if it is about a beginning, states as well that it is over, and that was reported before.
    let isEndReported: Bool
    /// True if it is about an arranged end, and a later event has moved that.
    let isEndMoved: Bool
    /// The owner of the lineage, if the event is about refunded money and names no account.
    let owner: Account?
    /// The one name of the event's transaction, if that is another.
    let transaction: TransactionID?
    /// The start of the period that the event's transaction paid for, as the payment's statements name it.
    let chargedStart: Int64?
    let catalog: ProductCatalog?

    /// The refunds of a transaction before an event and after it.
    struct KnownRefund {
        /// The refund as it was stated last before the event; it may be undone. For the first report that it was, as it stood.
        let prior: Register<Fact.RefundState>?
        /// The refund that stood before the event.
        let stood: Register<Fact.RefundState>?
        /// The refund that stands now: a snapshot may leave it out.
        let stands: Register<Fact.RefundState>?
        /// True if a refund of the kind that the event is about was reported or known before.
        let wasHeardOf: Bool
        /// True if the refund that the event is about was undone since.
        let isUndone: Bool
        /// True if all of the money is known to be refunded, also with the event's own statement.
        let isStillFull: Bool
    }

    /// The period that the event states, if it is about a beginning.
    var begun: Fact.Period? { event.begun.map(ofMainProduct) }

    /// The period that the event states.
    var statedPeriod: Fact.Period? { event.statedPeriod.map(ofMainProduct) }

    /// A stated period, with the product that it stands for: of several items the one that was the main one before.
    private func ofMainProduct(_ period: Fact.Period) -> Fact.Period {
        guard event.facts.contains(where: { if case .period(let period) = $0 { period.item != nil } else { false } }),
            let known = now.timeline.period(transaction: period.transaction, start: period.period.startMilliseconds),
            known.statedProduct == period.product
        else { return period }
        var main = period
        main.product = known.fact.product
        return main
    }

    var subjectTransaction: TransactionID? { event.statedPeriod?.transaction ?? event.transaction }

    /// The period that came before: the one billed from the same start for another product, else the last that began
    /// earlier. One of an additional product comes before another of its own alone.
    func predecessor(of period: Fact.Period) -> PeriodTimeline.Period? {
        let start = period.period.startMilliseconds
        func isOfLine(_ other: PeriodTimeline.Period, in timeline: PeriodTimeline) -> Bool {
            !timeline.isBeside(other) || other.fact.product == period.product
        }
        if let same = prior.timeline.periods.first(where: { $0.start == start && isOfLine($0, in: prior.timeline) }),
            same.fact.product != period.product, !same.names(period)
        {
            return same
        }
        let latest = knownStart(of: period) - ServicePeriod.startTolerance
        return now.timeline.periods.last { $0.start < latest && !$0.isForestalled && isOfLine($0, in: now.timeline) }
    }

    /// When a period began: a store that does not state it leaves that to what is known of the period before.
    private func knownStart(of period: Fact.Period) -> Int64 {
        let start = period.period.startMilliseconds
        guard period.isStartInferred, let transaction = period.transaction,
            let known = now.timeline.period(transaction: transaction, start: start), known.transaction == transaction
        else { return start }
        return min(start, known.start)
    }
}

extension EventReading {
    /// As in `AppliedEvent.isRestoration`.
    var isRestoration: Bool {
        guard let refund = event.refund else { return isRestorationInPassing }
        guard refund.scope == nil else { return false }
        if purchase != nil { return self.refund.prior?.value.isWhole(of: paid) == true }
        let moment = event.occurredAt.millisecondsSince1970
        // A refund may name its payment, and a period is named by the invoice that it paid.
        let paid = now.timeline.period(transaction: transaction ?? refund.transaction, start: start(of: refund))
        guard let paid, paid.grants(at: moment),
            let before = prior.timeline.period(transaction: transaction ?? refund.transaction, start: start(of: refund))
        else { return false }
        // A snapshot may have shown before that the refund does not stand, but this is the first report of it.
        let wasLost = self.refund.prior.map { $0.value.scope != nil && $0.value.endsAccess } ?? false
        return wasLost || !before.grants(at: moment)
    }

    private func start(of refund: Fact.RefundState) -> Int64? {
        refund.periodStart?.millisecondsSince1970 ?? chargedStart
    }

    /// True if the event is about something else, and its snapshot shows that a refund does not stand any more.
    private var isRestorationInPassing: Bool {
        guard let lost = refund.stood?.value, refund.stands == nil else { return false }
        if purchase != nil { return lost.isWhole(of: paid) }
        let moment = event.assertedAt.millisecondsSince1970
        return lost.endsAccess && now.timeline.period(of: lost)?.grants(at: moment) == true
    }
}

extension EventReading {
    /// As in `AppliedEvent.followsReversal`.
    var followsReversal: Bool {
        guard event.provider.rules.namesRefunds, event.refund?.scope != nil, let prior = refund.prior
        else { return false }
        return prior.value.scope == nil && !isReported && refund.stands != nil
    }
}

extension NormalizedEvent {
    /// The period that the event states, if it is about a beginning.
    var begun: Fact.Period? {
        switch event {
        case .started, .renewed, .productChanged: statedPeriod
        default: nil
        }
    }

    var statedPeriod: Fact.Period? {
        for case .period(let period) in facts where !period.isProvisional && period.item == nil { return period }
        return nil
    }

    /// The period that the event infers from something else, such as a payment.
    var inferredPeriod: Fact.Period? {
        for case .period(let period) in facts where period.isProvisional && period.item == nil { return period }
        return nil
    }

    var statedEnd: Fact.PeriodEnd? {
        for case .periodEnded(let end) in facts where end.item == nil { return end }
        return nil
    }

    /// True if it states that its period, or the purchase, is over.
    var statesEnd: Bool {
        if statedEnd != nil { return true }
        return facts.contains { if case .closure(let closure) = $0 { closure.at != nil } else { false } }
    }

    /// True if it states that the purchase is over, and names no period: a store that keeps the purchase no longer names none.
    var endsUnnamedPeriod: Bool {
        switch self.event {
        case .expired, .revoked: statesEnd && statedEnd == nil && !endsItem && transaction == nil && period == nil
        default: false
        }
    }

    /// True if it states that one of several items is over.
    var endsItem: Bool { facts.contains { if case .periodEnded(let end) = $0 { end.item != nil } else { false } } }

    var statedBilling: Fact.Billing? {
        for case .billing(let billing) in facts { return billing }
        return nil
    }

    var statedPurchase: Fact.OneTimePurchase? {
        for case .purchase(let purchase) in facts { return purchase }
        return nil
    }
}

extension NormalizedEvent {
    /// True if the store says that a purchase continues under its name, so that no product replaced another at once,
    /// even if the period before it has minutes left.
    var renewsUnderItsName: Bool {
        guard provider.rules.changesUnderNewName else { return false }
        switch event {
        case .renewed: return true
        case .started: return origin.speech == .renewal
        default: return false
        }
    }

    /// True if a period that the event states begins later, by our time and by the store's.
    func announces(_ start: Date) -> Bool {
        !provider.rules.statesOnlyBegunPeriods && start > max(receivedAt, assertedAt)
    }

    /// True if it is about a purchase that is not paid for.
    var isPending: Bool {
        switch event {
        case .purchasePending, .purchasePendingCanceled: true
        default: false
        }
    }

    /// The refund that it reports, or reports as failed.
    var refund: Fact.RefundState? {
        for case .refund(let refund) in facts { return refund }
        return nil
    }
}

extension NormalizedEvent {
    /// True if it is about refunded money, which a store may name by the payment alone.
    var concernsMoneyBack: Bool {
        switch event {
        case .refunded, .refundReversed, .chargeback: true
        default: false
        }
    }
}

extension Fact.RefundState {
    /// True if all the money of a one-time purchase was refunded.
    ///
    /// - Parameter paid: what was paid for it, and for all that was bought with it; nil if it is not known.
    func isWhole(of paid: Money?) -> Bool {
        if case .fraction = scope { return false }
        if endsAccess { return scope != nil }
        // A refund with a name of its own states its amount, not the rest.
        guard case .amount(let amount) = scope else { return false }
        return amount == paid
    }
}

extension PeriodTimeline {
    /// The period whose payment is refunded.
    func index(of refund: Fact.RefundState) -> Int? {
        index(transaction: refund.transaction, start: refund.periodStart?.millisecondsSince1970)
    }

    func period(of refund: Fact.RefundState) -> Period? { index(of: refund).map { periods[$0] } }
}
