public import FoundationEssentials

extension SubscriptionState {
    /// Events for known facts that no event has reported, in the order in which they took effect.
    ///
    /// A notification may be lost for good, while a later one, an upload or a look-up states its facts. To act on the
    /// lost one, apply these events like any others; the notification is a duplicate if it comes after all. Periods,
    /// ends, refunds, purchases and scheduled changes have the id that a notification gives them.
    ///
    /// Call it when notifications have had time to arrive: right after a look-up, they may be on their way.
    ///
    /// - Parameter receivedAt: the time to give the events.
    public func unreportedEvents(receivedAt: Date) -> [NormalizedEvent] {
        let situation = Situation(self)
        var reporting = self
        return amounts(situation, receivedAt: receivedAt, moot: false).filter { event in
            guard let report = Report(event) else { return false }
            // Renewal is on unless it was turned off.
            if event.kind == .autoRenewEnabled, !wasTurnedOff(report, situation) { return false }
            if event.kind == .autoRenewDisabled, isOff(report) { return false }
            let moment = event.assertedAt.millisecondsSince1970
            if let refund = event.refund, reporting.wasReported(refund, of: nil, at: moment) { return false }
            if reporting.wasReported(report, prior: situation, now: situation) { return false }
            // One of these may be a part of another, as of refunds.
            reporting.reports.insert(report)
            return true
        }
    }

    /// True if the last report about renewal, of whichever period, says off: a charge may have been under way when the customer
    /// turned it off, and another period begin.
    private func isOff(_ report: Report) -> Bool {
        reports.marks(of: report.subject, in: nil, where: { _ in true }).max()?.isOff == true
    }

    private func wasTurnedOff(_ report: Report, _ situation: Situation) -> Bool {
        reported(on: report.subject, situation.timeline).contains(where: \.isOff)
    }

    /// Marks statements of notifications as reported, in a state that was stored before reports were kept.
    mutating func reportNotifications() {
        for event in amounts(Situation(self), receivedAt: .distantPast, moot: true) where event.origin.isNotified {
            for report in [Report(event)].compactMap(\.self) + Report.beside(event) { reports.insert(report) }
        }
    }

    /// The events that the facts known now amount to.
    ///
    /// - Parameter moot: true with those that say nothing to a host which learns of them only now.
    private func amounts(_ situation: Situation, receivedAt: Date, moot: Bool) -> [NormalizedEvent] {
        let timeline = situation.timeline
        let newest = timeline.newest
        let current = newest.flatMap(\.lineages.inOrder.first) ?? subscription
        var amounts = Amounts(receivedAt: receivedAt)
        let charged = charged(timeline)
        for (index, period) in timeline.periods.enumerated() where timeline.begins(at: index) {
            let isCharged =
                period.start != charged?.start || situation.billing.map { $0.value.status == .settled } ?? true
            guard moot || timeline.isNewTime(at: index, isCharged: isCharged) else { continue }
            let isFirst = timeline.periods[..<index].allSatisfy(timeline.isBeside)
            amounts.add(period, isFirst: isFirst, of: period.lineages.inOrder.first ?? current)
        }
        for register in ends.all {
            let start = register.value.start.millisecondsSince1970
            let period = timeline.period(transaction: register.value.transaction, start: start)
            var at = register.value.at
            if let period {
                guard let cut = period.cut, cut.by == register.by || cut.at == at.millisecondsSince1970 else {
                    continue
                }
                at = Date(millisecondsSince1970: cut.at)
            }
            amounts.add(register.latest, at: at, period?.fact.product, of: period?.lineages.inOrder.first ?? current)
        }
        for register in refunds.values {
            let isOfPeriod = purchases[transaction(of: register.value)] == nil
            amounts.add(register.latest, isOfPeriod: isOfPeriod, of: current)
        }
        for purchase in purchases.values { amounts.add(purchase.statement.latest, of: current) }
        // Settings are about what comes next. The report of an end, or of a pause, says that nothing does.
        if moot || newest?.cut == nil { addSettings(situation, of: current, moot: moot, to: &amounts) }
        return amounts.events.sorted { ($0.effectiveAt, $0.id.description) < ($1.effectiveAt, $1.id.description) }
    }

    private func addSettings(
        _ situation: Situation,
        of current: SubscriptionID,
        moot: Bool,
        to amounts: inout Amounts
    ) {
        let timeline = situation.timeline
        let newest = timeline.newest
        // A plan that never renews is not turned off.
        let neverRenews = newest.map { [.prepaid, .promotional].contains($0.fact.phase) } ?? false
        if let intent = situation.intent, moot || intent.value.isOn || !neverRenews {
            amounts.add(intent.latest, newest?.fact, of: current)
        }
        if let next = situation.nextProduct, let product = situation.pendingProduct {
            amounts.add(next.latest, to: product, from: newest?.fact, of: current)
        }
        if let billing = situation.billing { amounts.add(billing.latest, charged(timeline)?.fact, of: current) }
        if let pause = situation.pause { amounts.add(pause.latest, newest?.fact, of: current) }
        if let change = priceChange(timeline) { amounts.add(change.latest, newest?.fact, of: current) }
    }
}

extension PeriodTimeline {
    /// True if the period at an index is stated and has a beginning of its own.
    fileprivate func begins(at index: Int) -> Bool {
        !periods[index].fact.isProvisional && !periods[index].isForestalled
    }

    /// True if the customer got the period at an index: it is paid for, and not the rest of the one before under another
    /// name, as under the token of a change that waits for its end.
    fileprivate func isNewTime(at index: Int, isCharged: Bool) -> Bool {
        let period = periods[index]
        guard period.accessEnd > period.start,
            isCharged || !period.lineages.contains(where: \.store.rules.statesUnpaidPeriods)
        else { return false }
        guard index > 0 else { return true }
        let before = periods[index - 1]
        return before.end != period.end || before.fact.product != period.fact.product
    }
}

extension Origin {
    /// True if a notification stated it, and not only a look-up or an upload.
    package var isNotified: Bool { notificationID != nil || (channel != .clientUpload && channel != .refetch) }
}

/// Words facts as the events that would have reported them. Each event cites the statement of its fact, so that
/// applying it adds only the report.
private struct Amounts {
    let receivedAt: Date
    private(set) var events: [NormalizedEvent] = []

    init(receivedAt: Date) { self.receivedAt = receivedAt }

    mutating func add(_ period: PeriodTimeline.Period, isFirst: Bool, of lineage: SubscriptionID) {
        let fact = period.fact
        let id =
            fact.transaction.flatMap { name in
                name.isEmpty ? nil : EventID.periodBegan(lineage, transaction: name, product: fact.product)
            }
            ?? .periodBegan(lineage, product: fact.product, start: fact.period.start)
        add(
            isFirst
                ? .started(.init(origin: .new, phase: fact.phase, period: fact.period))
                : .renewed(.init(cause: .unknown, phase: fact.phase, period: fact.period)),
            [.period(fact)],
            of: lineage,
            by: period.by,
            id: id,
            about: fact,
            at: fact.period.start
        )
    }

    /// - Parameter time: when it took effect.
    mutating func add(
        _ end: Assertion<Fact.PeriodEnd>,
        at time: Date,
        _ product: ProductID?,
        of lineage: SubscriptionID
    ) {
        // Refunds and replacing periods are reported by themselves.
        guard end.value.reason != .refunded, end.value.reason != .replaced else { return }
        let isPause = end.value.reason == .paused
        let id =
            end.value.transaction.flatMap { name in
                name.isEmpty
                    ? nil
                    : EventID.ended(
                        lineage,
                        transaction: name,
                        product: product,
                        periodStart: end.value.start,
                        reason: end.value.reason
                    )
            } ?? .ended(lineage, periodStart: end.value.start, reason: end.value.reason)
        add(
            isPause ? .paused(.init()) : .expired(.init(reason: end.value.reason)),
            [.periodEnded(end.value)],
            of: lineage,
            by: end.by,
            id: id,
            transaction: end.value.transaction,
            at: time
        )
    }

    mutating func add(_ refund: Assertion<Fact.RefundState>, isOfPeriod: Bool, of lineage: SubscriptionID) {
        guard let scope = refund.value.scope else { return }
        let (transaction, name) = (refund.value.transaction, refund.value.refund)
        add(
            .refunded(
                .init(transaction: transaction, scope: scope, reason: .unknown, affectsCurrentPeriod: nil, refund: name)
            ),
            [.refund(refund.value)],
            of: lineage,
            by: refund.by,
            id: .refunded(
                lineage,
                refund: name ?? transaction.payment(from: isOfPeriod ? refund.value.periodStart : nil).rawValue
            ),
            transaction: transaction,
            at: refund.value.at
        )
    }

    mutating func add(_ purchase: Assertion<Fact.OneTimePurchase>, of lineage: SubscriptionID) {
        let transaction = purchase.value.transaction
        add(
            .oneTimePurchased(purchase.value.purchase),
            [.purchase(purchase.value)],
            of: lineage,
            by: purchase.by,
            id: .purchased(lineage, transaction: transaction, product: purchase.value.product),
            transaction: transaction,
            at: purchase.value.at
        )
    }

    mutating func add(_ intent: Assertion<Fact.RenewalIntent>, _ period: Fact.Period?, of lineage: SubscriptionID) {
        let event: LifecycleEvent =
            intent.value.isOn
            ? .autoRenewEnabled
            : .autoRenewDisabled(.init(reason: intent.value.reason ?? .unknown, accessUntil: intent.value.endsAt))
        add(event, [.renewalIntent(intent.value)], of: lineage, by: intent.by, about: period)
    }

    mutating func add(
        _ next: Assertion<Fact.NextProduct>,
        to product: ProductID,
        from period: Fact.Period?,
        of lineage: SubscriptionID
    ) {
        let change = LifecycleEvent.ProductChange(
            from: period?.product,
            to: product,
            direction: .unknown,
            timing: .atPeriodEnd(period?.period.end),
            basis: .inferred
        )
        let end = period?.period.end
        add(
            .productChangeScheduled(change),
            [.nextProduct(next.value)],
            of: lineage,
            by: next.by,
            id: .changeScheduled(lineage, from: period?.product ?? "", to: product, at: end),
            about: period
        )
    }

    mutating func add(_ billing: Assertion<Fact.Billing>, _ period: Fact.Period?, of lineage: SubscriptionID) {
        let access: LifecycleEvent.BillingIssue.Access
        switch billing.value.status {
        case .settled, .unknown: return
        case .grace:
            guard let until = billing.value.graceUntil else { return }
            access = .grace(until: until)
        case .suspended: access = .suspended
        }
        let issue = LifecycleEvent.BillingIssue(
            access: access,
            retryUntil: billing.value.retryUntil,
            actionRequired: billing.value.charge?.actionRequired ?? false
        )
        add(.billingIssue(issue), [.billing(billing.value)], of: lineage, by: billing.by, about: period)
    }

    mutating func add(_ pause: Assertion<Fact.PauseState>, _ period: Fact.Period?, of lineage: SubscriptionID) {
        guard pause.value.status == .scheduled else { return }
        let scheduled = LifecycleEvent.Pause(resumesAt: pause.value.resumesAt)
        add(.pauseScheduled(scheduled), [.pause(pause.value)], of: lineage, by: pause.by, about: period)
    }

    mutating func add(_ price: Assertion<Fact.PriceChangeState>, _ period: Fact.Period?, of lineage: SubscriptionID) {
        guard let change = price.value.change else { return }
        add(.priceChange(change), [.priceChange(price.value)], of: lineage, by: price.by, about: period)
    }

    /// - Parameter id: absent for facts that channels share no id for.
    private mutating func add(
        _ event: LifecycleEvent,
        _ facts: [Fact],
        of lineage: SubscriptionID,
        by citation: Citation,
        id: EventID? = nil,
        about period: Fact.Period? = nil,
        transaction: TransactionID? = nil,
        at time: Date? = nil
    ) {
        events.append(
            NormalizedEvent(
                id: id ?? EventID(.notified, in: lineage, "untold", event.kind.rawValue, citation.digest),
                event: event,
                provider: citation.provider,
                store: lineage.store,
                environment: lineage.environment,
                subscription: lineage,
                transaction: transaction ?? period?.transaction,
                product: period.map { PurchasedProduct(id: $0.product) },
                period: period?.period,
                occurredAt: time ?? citation.assertedAt,
                effectiveAt: time ?? citation.assertedAt,
                assertedAt: citation.assertedAt,
                receivedAt: receivedAt,
                facts: facts,
                origin: Origin(
                    type: citation.type,
                    subtype: citation.subtype,
                    notificationID: citation.notificationID,
                    channel: citation.channel,
                    evidence: .init(.unchecked),
                    digest: citation.digest,
                    mapper: "untold/1",
                    revision: citation.revision
                )
            )
        )
    }
}
