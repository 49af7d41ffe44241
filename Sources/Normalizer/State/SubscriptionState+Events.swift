import FoundationEssentials

extension SubscriptionState {
    /// Joins an event's facts, and interprets the event by earlier knowledge.
    ///
    /// The resulting state depends on the facts alone. Disposition and refinement depend on earlier knowledge, so they
    /// may differ with the order of arrival; the state never does.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - catalog: the host's products. They distinguish an upgrade from a downgrade if the store does not, and give
    ///     the type of one-time purchases.
    public mutating func apply(_ event: NormalizedEvent, catalog: ProductCatalog? = nil) -> AppliedEvent {
        apply(event, catalog: catalog, from: bound(of: event))
    }

    /// - Parameter bound: the start of the first periods to read the event with; nil to read all of them, which tells the same.
    mutating func apply(_ event: NormalizedEvent, catalog: ProductCatalog?, from bound: Int64?) -> AppliedEvent {
        let event = catalog.map(event.described) ?? event
        guard let statement = event.statement, !statement.subscription.id.isEmpty,
            registers.contains(statement.subscription)
        else {
            return AppliedEvent(disposition: .unrelated, event: event, nextCheckAt: nil)
        }
        let earlier = EarlierKnowledge(self, of: event, from: bound)
        // Reading the periods costs the most, and an event that adds nothing changes none of them.
        let isNew = join(statement)
        let now = isNew ? Situation(self, from: bound) : earlier.situation
        let reading = reading(of: event, now: now, since: earlier, isNew: isNew, catalog: catalog)
        for report in [Report(event)].compactMap(\.self) + Report.beside(event) { reports.insert(report) }
        let begins = event.begun.map { $0.period.start }
        return AppliedEvent(
            disposition: Disposition(reading: reading).value,
            event: Refinement(reading: reading).value,
            nextCheckAt: begins.flatMap { event.announces($0) ? $0 : nil },
            isRestoration: reading.isRestoration,
            transfer: transfer(by: event, from: earlier.owners),
            followsReversal: reading.followsReversal
        )
    }

    /// The event with what was known before it, and is now that its facts are joined.
    private func reading(
        of event: NormalizedEvent,
        now: Situation,
        since earlier: EarlierKnowledge,
        isNew: Bool,
        catalog: ProductCatalog?
    ) -> EventReading {
        let report = Report(event)
        let unnamedEnd = event.endsUnnamedPeriod ? event.subscription.flatMap(now.timeline.last(of:)) : nil
        let isReported =
            report.map { earlier.isCovered || wasReported($0, of: unnamedEnd, since: earlier, now: now) } ?? false
        let paidBy = event.paidBy
        let purchase = (purchases[paidBy] ?? purchases[transaction(named: bought(by: event))])?.value
        return EventReading(
            event: event,
            prior: earlier.situation,
            now: now,
            refund: knownRefund(of: event, since: earlier, isNews: isNew && !isReported),
            isPaid: earlier.isPaid,
            purchase: purchase,
            paid: purchase.flatMap { paid(with: $0) },
            isReported: isReported,
            unnamedEnd: unnamedEnd,
            isEndReported: wasEndReported(with: event, report, now: now),
            isEndMoved: wasEndMoved(since: report, now: now),
            owner: event.account == nil && event.concernsMoneyBack ? owner : nil,
            transaction: transactionNames[paidBy].map { _ in transaction(named: paidBy) },
            chargedStart: chargedStart(of: paidBy),
            catalog: catalog
        )
    }

    /// - Parameter period: the period that an end is of which does not name it.
    private func wasReported(
        _ report: Report,
        of period: PeriodTimeline.Period?,
        since earlier: EarlierKnowledge,
        now: Situation
    ) -> Bool {
        var report = report
        if let period {
            report.subject = Report.Subject(topic: .course, transaction: period.transaction, start: period.start)
        }
        return wasReported(report, prior: earlier.situation, now: now)
    }

    /// The refunds of what the event is about.
    ///
    /// - Parameter isNews: true if the event states what was not known, and was not reported before.
    private func knownRefund(
        of event: NormalizedEvent,
        since earlier: EarlierKnowledge,
        isNews: Bool
    ) -> EventReading.KnownRefund {
        let stated = event.refund
        return EventReading.KnownRefund(
            prior: stated.flatMap { isNews ? undone(by: $0) : nil } ?? earlier.refund,
            stood: earlier.standingRefund,
            stands: refund(of: bought(by: event))?.standing,
            wasHeardOf: earlier.refund?.value.scope != nil
                || stated.map { reports.hasRefund(RefundKey($0)) } ?? false,
            isUndone: stated.map { isUndone($0, since: event.assertedAt.millisecondsSince1970) } ?? false,
            isStillFull: stated.map { $0.refund != nil && refund(of: $0.transaction)?.value.scope == .full } ?? false
        )
    }

    /// The transaction that a refund takes back, or that the event is about.
    fileprivate func bought(by event: NormalizedEvent) -> TransactionID {
        event.refund.map(transaction(of:)) ?? event.paidBy
    }

    /// The accounts that a statement took the lineage from, and gave it to, if it is about something else.
    private func transfer(by event: NormalizedEvent, from before: [Account.Identifier]) -> LifecycleEvent.Transfer? {
        guard event.kind != .transferred, let stated = event.statedTransfer else { return nil }
        let now = Set(ownership.accounts)
        let sources = Set(stated.to.map(\.source))
        let lost = before.filter { sources.contains($0.source) && !now.contains($0) }
        return lost.isEmpty ? nil : LifecycleEvent.Transfer(from: lost, to: stated.to)
    }
}

/// The knowledge of a state before the facts of an event are joined.
private struct EarlierKnowledge {
    let situation: Situation
    /// The owners, if the event states a transfer.
    let owners: [Account.Identifier]
    /// The last statement about the refund of the event.
    let refund: Register<Fact.RefundState>?
    /// The refund that stood of what the event is about.
    let standingRefund: Register<Fact.RefundState>?
    /// True if the event says that a purchase is pending, or that the charge for a change failed, and it is paid for.
    let isPaid: Bool
    /// True if reports of other refunds cover the event's.
    let isCovered: Bool

    init(_ state: SubscriptionState, of event: NormalizedEvent, from bound: Int64?) {
        let moment = event.assertedAt.millisecondsSince1970
        situation = Situation(state, from: bound)
        owners = event.statedTransfer == nil ? [] : state.ownership.accounts
        refund = event.refund.flatMap {
            state.refunds[SubscriptionState.RefundKey($0)] ?? state.refund(of: state.transaction(of: $0))
        }
        standingRefund = state.refund(of: state.bought(by: event))?.standing
        let change = event.statedBilling.flatMap { $0.status == .unknown ? $0.charge?.transaction : nil }
        isPaid =
            change.map { state.isPaid($0) }
            ?? (event.isPending && state.charges.values.contains { $0.value.at.millisecondsSince1970 >= moment })
        isCovered = event.refund.map { state.wasReported($0, of: event.price?.money, at: moment) } ?? false
    }
}

extension NormalizedEvent {
    /// The transaction of the money that it is about, as the event names it.
    fileprivate var paidBy: TransactionID { refund?.transaction ?? transaction ?? "" }

    fileprivate var statedTransfer: LifecycleEvent.Transfer? {
        for case .transfer(let transfer) in facts { return transfer }
        return nil
    }
}
