import FoundationEssentials

// What an immediate change leaves of the period before it, and gives of the next.
extension CreditPolicy {
    /// Whether a change was charged in full, or false if not at all, where the store says so. Else what was unused is set off
    /// against the new price. Changes that cost nothing can be made again and again, and must give nothing.
    func isChargedInFull(_ event: NormalizedEvent) -> Bool? {
        guard case .productChanged(let change) = event.event, let proration = change.proration else { return nil }
        return switch proration {
        case .fullCharge: true
        case .timeCredit, .deferred, .none: false
        case .proratedCharge, .refund: nil
        }
    }

    /// What an immediate change took the place of, with the moment of the change.
    struct Replaced {
        var product: String
        var phase: Phase
        var transaction: String?
        var period: ServicePeriod
        var changedAt: Date

        init(_ period: PeriodTimeline.Period, changedAt moment: Int64) {
            product = period.fact.product
            phase = period.fact.phase
            transaction = period.transaction
            self.period = period.fact.period
            changedAt = Date(millisecondsSince1970: moment)
        }

        init(_ product: String, _ period: ServicePeriod, changedAt moment: Date) {
            self.product = product
            phase = .regular
            self.period = period
            changedAt = moment
        }

        /// Whether a period took its place from its beginning on, and was billed anew.
        func isOfSameStart(as period: PeriodTimeline.Period) -> Bool {
            self.period.startMilliseconds == period.start && product != period.fact.product
        }
    }

    /// Whether nothing of a period was left to set off at a moment: its money had gone back, or it had ended for another
    /// reason than a change. What is bought then is paid for in full.
    func isOver(_ period: PeriodTimeline.Period, by moment: Int64) -> Bool {
        guard let cut = period.cut else { return false }
        switch cut.reason {
        case .refunded: return cut.at <= moment
        case .replaced, .paused: return false
        // Google Play tells of a refund, and of the end that it brought, by themselves.
        case _ where period.refundedAt.map({ $0 <= moment }) == true: return cut.at <= moment
        // A store may tell the end of what was replaced without saying so, and a little before what took its place.
        default: return cut.at + PeriodTimeline.replacementSlack < moment
        }
    }

    func replaced(
        by period: PeriodTimeline.Period,
        _ before: PeriodTimeline.Period?,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Replaced? {
        if event.renewsUnderItsName || isTakenOverByRenewal(event, period) || event.tellsOfReturn { return nil }
        if let before, before.fact.product != period.fact.product || isSwitched(event, before, period),
            period.start < before.end, before.end != .max, !isOver(before, by: period.start)
        {
            return Replaced(before, changedAt: period.start)
        }
        // Billed anew from the same start: the event itself says what was before and when it changed. A change that began
        // the period takes effect with it, however much later it is told of.
        if case .productChanged(let change) = event.event, change.timing == .immediate, let from = change.from,
            from != period.fact.product, event.effectiveAt.millisecondsSince1970 > period.start, period.end != .max
        {
            return Replaced(from, period.fact.period, changedAt: event.effectiveAt)
        }
        return nil
    }

    /// Whether a change on Google Play is told of so late that its period is one that was charged for since, in full: a
    /// deferred change that has come about, or a renewal of the new purchase. What the purchase before was paid with says
    /// nothing of it.
    func isTakenOverByRenewal(
        _ event: NormalizedEvent,
        _ period: PeriodTimeline.Period
    ) -> Bool {
        guard event.provider == .google, case .productChanged(let change) = event.event, change.from != change.to,
            let lineage = event.subscription
        else { return false }
        return change.proration == .deferred
            || (period.transaction.flatMap { PlayOrderID($0).renewal } != nil && period.lineages == [lineage])
    }

    /// Whether a period gave way ahead of time to another rhythm or quantity of its product, which Stripe sells under one
    /// name. An invoice, which may come first, and a relay call it a renewal: there what the invoice says, or the length, tells
    /// it from a new anchor.
    func isSwitched(
        _ event: NormalizedEvent,
        _ before: PeriodTimeline.Period,
        _ period: PeriodTimeline.Period
    ) -> Bool {
        guard before.fact.phase != .trial else { return false }
        switch event.event {
        case .productChanged(let change): return change.timing == .immediate && change.from == before.fact.product
        case .renewed(let renewed) where event.store == .stripe:
            return renewed.cause == .planChange || before.hasOtherRhythm(than: period.fact)
        default: return false
        }
    }

    func prorated(
        _ full: Int64,
        _ previous: Replaced,
        _ period: PeriodTimeline.Period,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Int64? {
        guard previous.product != period.fact.product else { return used(full, previous) }
        guard let (paid, newPrice) = prices(previous, period, event.price?.money, state),
            let proration = try? Proration(of: previous.period, changedAt: previous.changedAt),
            let share = try? proration.credits(of: full, paid: paid, newPrice: newPrice, rounding: rounding)
        else { return nil }
        return share > 0 ? max(0, share - kept(before: period, state)) : share
    }

    /// What the rest of a replaced period is reckoned from, and the price of what took its place.
    private func prices(
        _ previous: Replaced,
        _ period: PeriodTimeline.Period,
        _ stated: Money?,
        _ state: SubscriptionState
    ) -> (paid: Money, new: Money)? {
        let listed = allowances[period.fact.product]?.price
        let charged = period.transaction.flatMap { state.charges[$0]?.value.price.money } ?? stated
        let oldListed = allowances[previous.product]?.price
        var paid = previous.transaction.flatMap { state.charges[$0]?.value.price.money } ?? oldListed
        guard
            let newPrice = [listed, charged].compactMap(\.self).first(where: { $0.currency == paid?.currency })
                ?? listed ?? charged
        else { return nil }
        if previous.phase == .trial { paid = Money(ExactDecimal(0), newPrice.currency) }
        if paid?.currency != newPrice.currency { paid = oldListed }
        return paid.map { ($0, newPrice) }
    }

    /// The credits that were kept at changes to cheaper products, though the money for them went back, and that were not paid for
    /// again since: to a dearer product and back costs nothing, and gives nothing the second time.
    private func kept(before period: PeriodTimeline.Period, _ state: SubscriptionState) -> Int64 {
        // On Google Play a change to a cheaper product gives time, and no money. What is dropped at a change is not kept.
        guard carriesOver, period.lineages.allSatisfy({ $0.store != .playStore }) else { return 0 }
        let periods = PeriodTimeline(state).periods
        var kept: Int64 = 0
        for (before, after) in zip(periods, periods.dropFirst()) where after.start < period.start {
            guard before.replacement?.at == after.start, !isOver(before, by: after.start), before.end != .max,
                before.fact.product != after.fact.product, let gave = credits(of: before),
                // What is still to be paid for on Stripe has given nothing.
                before.by.provider != .stripe || isKnownByPayment(before, before: after.start, state),
                let (paid, price) = prices(Replaced(before, changedAt: after.start), after, nil, state),
                let proration = try? Proration(
                    of: before.fact.period,
                    changedAt: Date(millisecondsSince1970: after.start)
                )
            else { continue }
            if let gives = credits(of: after),
                let share = try? proration.credits(of: gives, paid: paid, newPrice: price, rounding: rounding)
            {
                kept = max(0, kept - max(0, share))
            }
            // Up, so that not even what is rounded off comes with each change to and fro.
            let returned = try? proration.returnedCredits(of: gave, paid: paid, newPrice: price, rounding: .up)
            kept = kept.addingClamped(max(0, returned ?? 0))
        }
        return kept
    }

    /// The part of an allowance that was used up by time, whatever it cost: it was paid out in full, the rest of it went
    /// back, and another one is due.
    func used(_ full: Int64, _ previous: Replaced) -> Int64? {
        try? Proration(of: previous.period, changedAt: previous.changedAt).usedCredits(of: full, rounding: rounding)
    }

    /// The beginning of a period that turns out to have been replaced already: what was paid out for its successor in
    /// full, when nothing was known of it, was too much. Of one product, whose credits go on, it was too little.
    ///
    /// - Parameter earlier: the period before the replaced one. If it would have gone on, too, it was set off instead.
    func correction(
        of period: PeriodTimeline.Period,
        after before: PeriodTimeline.Period,
        and earlier: PeriodTimeline.Period?,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        // On Google Play the replacement mode decides what a change costs, and the state does not know it.
        guard lineage.store != .playStore, let full = credits(of: period) else { return [] }
        if before.fact.product == period.fact.product {
            // Billed anew in its own rhythm, it has paid out all that is due.
            guard before.cut?.reason == .replaced, before.cut?.at == period.start, before.fact.phase != .trial,
                before.hasOtherRhythm(than: period.fact),
                let share = used(full, Replaced(before, changedAt: period.start))
            else { return [] }
            return [action("correction", .grant(share), period, event, lineage)]
        }
        guard let previous = replaced(by: period, before, event, state),
            let share = prorated(full, previous, period, event, state)
        else { return [] }
        if let earlier, earlier.fact.product != period.fact.product,
            let setOff = replaced(by: period, earlier, event, state),
            let paid = prorated(full, setOff, period, event, state)
        {
            // That other one may have been heard of later than the payout, and have corrected it.
            guard share != paid else { return [] }
            return [action("correction \(before.start)", .grant(share - paid), period, event, lineage)]
        }
        guard share < full else { return [] }
        return [action("correction", .grant(share - full), period, event, lineage)]
    }
}

extension NormalizedEvent {
    /// Whether the App Store says that somebody came back after a lapse, and has changed nothing that went on: what ended the
    /// period before, such as a refund, may be heard of later.
    fileprivate var tellsOfReturn: Bool {
        guard provider == .apple, case .started(let started) = event else { return false }
        return started.origin == .resubscribed
    }
}
