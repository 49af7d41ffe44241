// An event is read with the periods that it is about and those around them. What is left out of a long history is over
// when the first of them begins, so no rule reaches across.
extension SubscriptionState {
    /// The start of the first periods to read for an event; nil to read all of them.
    func bound(of event: NormalizedEvent) -> Int64? {
        // A pending purchase is compared with all that was paid for.
        guard let order = periodOrder, !order.hasItems, !event.isPending, var moment = order.lastStart else {
            return nil
        }
        for date in [event.occurredAt, event.assertedAt, event.effectiveAt] + [event.period?.start].compactMap(\.self) {
            moment = min(moment, date.millisecondsSince1970)
        }
        for fact in event.facts {
            guard fact.item == nil else { return nil }
            for start in starts(of: fact) { moment = min(moment, start) }
        }
        for transaction in event.transactions {
            for start in starts(of: transaction) { moment = min(moment, start) }
        }
        return order.bound(around: moment)
    }

    /// The starts of the periods that a fact may be about.
    private func starts(of fact: Fact) -> [Int64] {
        switch fact {
        case .period(let period):
            [period.period.startMilliseconds] + (period.transaction.map(starts(of:)) ?? [])
        case .periodEnded(let end):
            [end.start.millisecondsSince1970, end.at.millisecondsSince1970] + (end.transaction.map(starts(of:)) ?? [])
        case .interruption(let step):
            [step.start.millisecondsSince1970, step.at.millisecondsSince1970]
        case .productSwitch(let change):
            [change.periodStart.millisecondsSince1970] + (change.transaction.map(starts(of:)) ?? [])
        case .billing(let billing):
            [billing.periodStart?.millisecondsSince1970].compactMap(\.self)
        case .charge(let charge):
            [charge.at.millisecondsSince1970] + starts(of: charge.transaction)
                + [charge.periodStart?.millisecondsSince1970].compactMap(\.self)
        case .refund(let refund):
            starts(of: refund.transaction) + [refund.periodStart?.millisecondsSince1970].compactMap(\.self)
        case .transactionName(let name):
            starts(of: name.transaction) + starts(of: name.name)
        case .closure(let closure):
            [closure.at?.millisecondsSince1970].compactMap(\.self)
        case .renewalIntent, .nextProduct, .pause, .priceChange, .purchase, .owner, .transfer, .link, .succession: []
        }
    }

    /// The starts of the periods that a transaction may have paid for, under each of its names, as each of its statements
    /// has them.
    private func starts(of transaction: TransactionID) -> [Int64] {
        [transaction, self.transaction(named: transaction)].flatMap { name in
            [
                periods[.transaction(name)]?.fact.period.startMilliseconds, chargedStart(of: name),
                refund(of: name)?.value.periodStart?.millisecondsSince1970,
                ends[.transaction(name)]?.value.start.millisecondsSince1970,
            ].compactMap(\.self)
        }
    }
}

extension NormalizedEvent {
    /// The transactions that it names outside of its facts.
    fileprivate var transactions: [TransactionID] {
        guard case .refunded(let refund) = event else { return [transaction].compactMap(\.self) }
        return [transaction, refund.transaction].compactMap(\.self)
    }
}

extension Fact {
    /// The item that it is about, next to the main product.
    fileprivate var item: ProductID? {
        switch self {
        case .period(let period): period.item
        case .periodEnded(let end): end.item
        default: nil
        }
    }
}

extension PeriodTimeline {
    /// Notes what ends and refunds name of earlier periods, by a transaction or a start: such a statement is about no period that
    /// is read, though it may have the start or the transaction of one.
    mutating func note(_ ends: [Register<Fact.PeriodEnd>], before bound: Int64, in state: SubscriptionState) {
        let ends = ends.lazy.map {
            (name: $0.value.transaction, start: Optional($0.value.start.millisecondsSince1970))
        }
        let refunds = state.refunds.values.lazy.map {
            (
                name: Optional(state.transaction(named: $0.value.transaction)),
                start: $0.value.periodStart?.millisecondsSince1970 ?? state.chargedStart(of: $0.value.transaction)
            )
        }
        for statement in Array(ends) + Array(refunds) {
            guard let name = statement.name, let entry = state.periods[.transaction(name)] else { continue }
            let start = entry.fact.period.startMilliseconds
            if start < bound { transactionsBefore[name] = (start, entry.lineages.contains { $0.id == name.rawValue }) }
            guard let named = statement.start, named < bound else { continue }
            let keys = state.periodOrder?.keys(near: named, within: ServicePeriod.startTolerance) ?? []
            let before = keys.compactMap { state.periods[$0]?.fact }.filter { $0.period.startMilliseconds < bound }
            guard !before.isEmpty else { continue }
            startsBefore[named] = before.contains { ($0.transaction ?? "").isEmpty }
        }
    }
}
