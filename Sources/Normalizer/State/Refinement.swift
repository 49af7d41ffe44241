import FoundationEssentials

/// Words an event as the state makes it out: a renewal that ended a billing issue, a start that was a product change.
struct Refinement {
    let reading: EventReading

    private var event: NormalizedEvent { reading.event }
    private var prior: Situation { reading.prior }
    private var now: Situation { reading.now }
    private var begun: Fact.Period? { reading.begun }
    private var purchase: Fact.OneTimePurchase? { reading.purchase }
    private var catalog: ProductCatalog? { reading.catalog }

    private func predecessor(of period: Fact.Period) -> PeriodTimeline.Period? { reading.predecessor(of: period) }

    var value: NormalizedEvent {
        var refined = event
        refined.account = event.account ?? reading.owner
        refined.transaction = reading.transaction ?? event.transaction
        if let main = reading.statedPeriod?.product, let product = event.product {
            refined.product = product.standing(for: main)
        }
        switch event.event {
        case .started(var started):
            started.phase = phase(started.phase)
            refined.event = begun.map { refine(started, $0) } ?? .started(started)
        case .renewed(var renewed):
            renewed.phase = phase(renewed.phase)
            refined.event = (begun ?? reading.event.inferredPeriod).map { refine(renewed, $0) } ?? .renewed(renewed)
            if case .started = refined.event, event.renewsUnderItsName { refined.origin.speech = .renewal }
        case .productChanged(var change):
            change.from = change.from ?? begun.flatMap(predecessor)?.lastProduct
            refined.event = .productChanged(classified(change))
        case .productChangeScheduled(var change):
            let current = now.timeline.granting(at: event.assertedAt.millisecondsSince1970) ?? now.timeline.newest
            change.from = change.from ?? current?.lastProduct
            if change.basis == .inferred, let settled = settledTiming(of: change) {
                change.timing = settled
            } else if change.basis == .inferred, let from = change.from,
                catalog?.change(from: from, to: change.to, in: event.store)?.timing == .immediate
            {
                // A relay announces it without a time. The period that begins at once is reported by itself.
                change.timing = .immediate
            } else if case .atPeriodEnd(nil) = change.timing {
                change.timing = .atPeriodEnd(current?.fact.period.end)
            }
            refined.event = .productChangeScheduled(classified(change))
        case .expired(let expired):
            if let end = reading.event.statedEnd, isReplacement(end, expired.reason) {
                refined.event = .expired(.init(reason: .replaced))
            }
        case .autoRenewDisabled(var disabled):
            disabled.accessUntil = accessEnd(disabled.accessUntil)
            refined.event = .autoRenewDisabled(disabled)
            if let known = disabled.accessUntil, event.effectiveAt > event.occurredAt, known < event.effectiveAt {
                refined.effectiveAt = known
            }
        case .refunded(var refund):
            // A relay does not know which periods came after the one whose money went back.
            if refund.affectsCurrentPeriod == nil || !event.provider.speaks(for: event.store) {
                refund.affectsCurrentPeriod = affectsCurrentPeriod(refund) ?? refund.affectsCurrentPeriod
            }
            refund.transaction = reading.transaction ?? refund.transaction
            // All that was paid may have been refunded, even in parts.
            if case .amount = refund.scope, reading.refund.stands?.value.scope == .full { refund.scope = .full }
            refined.event = .refunded(refund)
        case .extended(var extended):
            if extended.from == nil {
                let start = event.period?.startMilliseconds
                let known = prior.timeline.period(transaction: reading.subjectTransaction, start: start)
                // A look-up may have found the new end before its notification came.
                let ends = [known?.fact.period.end, known.flatMap { SubscriptionState.date($0.statedEnd) }]
                extended.from = ends.compactMap(\.self).first { $0 != extended.to }
                refined.event = .extended(extended)
            }
        default:
            break
        }
        if let start = begun?.period.start, start > refined.effectiveAt { refined.effectiveAt = start }
        return refined
    }

    /// When a change took effect, if the period that followed is known by now. A relay announces a change without saying when.
    private func settledTiming(of change: LifecycleEvent.ProductChange) -> LifecycleEvent.ProductChange.Timing? {
        let (timeline, start) = (now.timeline, event.period?.startMilliseconds)
        guard let index = timeline.index(transaction: reading.subjectTransaction, start: start) else { return nil }
        let before = timeline.periods[index]
        // Some stores restate the period with the new product.
        if before.fact.product == change.to, before.products.count > 1 { return .immediate }
        guard let next = timeline.periods[(index + 1)...].first(where: { !$0.fact.isProvisional }),
            next.fact.product == change.to
        else { return nil }
        return next.start.isClearly(before: before.end)
            ? .immediate : .atPeriodEnd(next.fact.period.start)
    }

    /// When access ends that is not renewed: as the event states it, unless it is known to have ended before.
    private func accessEnd(_ stated: Date?) -> Date? {
        let timeline = now.timeline
        let moment = event.occurredAt.millisecondsSince1970
        guard let stated else {
            return timeline.granting(at: moment).flatMap { SubscriptionState.date($0.accessEnd) }
        }
        let start = event.period?.startMilliseconds
        guard let period = timeline.period(transaction: reading.subjectTransaction, start: start),
            let cut = period.cut, cut.at < stated.millisecondsSince1970, timeline.granting(at: cut.at) == nil
        else { return stated }
        return SubscriptionState.date(max(cut.at, period.start))
    }

    /// The terms of the period that begins, if the store states them of the period itself and the event infers them from a
    /// payment, or the other way round.
    private func phase(_ stated: PeriodPhase) -> PeriodPhase {
        guard let period = begun ?? reading.event.inferredPeriod,
            let known = now.timeline.period(transaction: period.transaction, start: period.period.startMilliseconds),
            known.start == period.period.startMilliseconds, known.fact.product == period.product
        else { return stated }
        return stated == .regular || period.isProvisional && !known.fact.isProvisional ? known.fact.phase : stated
    }

    /// True if a period ended with a pause that was still on before the event: a charge may fail when it is to resume.
    private func isPaused(_ period: PeriodTimeline.Period) -> Bool {
        guard let cut = period.cut, cut.reason == .paused else { return false }
        return prior.billing?.takesOver(from: cut) != true
    }

    private func refine(_ started: LifecycleEvent.Started, _ period: Fact.Period) -> LifecycleEvent {
        guard started.origin == .new, let before = predecessor(of: period) else { return .started(started) }
        let start = period.period.startMilliseconds
        if let change = immediateChange(from: before, to: period) { return change }
        if isPaused(before) {
            return .renewed(
                .init(cause: .resumption, phase: started.phase, period: started.period, price: started.price)
            )
        }
        if started.phase == .prepaid, start < before.end {
            return .renewed(.init(cause: .topUp, phase: .prepaid, period: started.period, price: started.price))
        }
        var again = started
        again.origin = .resubscribed
        return .started(again)
    }

    private func refine(_ renewed: LifecycleEvent.Renewed, _ period: Fact.Period) -> LifecycleEvent {
        guard let before = predecessor(of: period) else { return .renewed(renewed) }
        var renewed = renewed
        switch renewed.cause {
        case .scheduled, .unknown, .planChange: break
        case .recovery(.unknown):
            // One notification may stand for the end of account hold and for the end of a pause.
            if isPaused(before) {
                renewed.cause = .resumption
            } else if let trouble = trouble(before: before, period) {
                renewed.cause = .recovery(from: trouble)
            }
            return .renewed(renewed)
        case .trialConversion, .introductoryConversion, .recovery, .resumption, .topUp: return .renewed(renewed)
        }
        let start = period.period.startMilliseconds
        // The product has changed since the payment for the whole period, and that change was reported by itself.
        if period.isProvisional, before.start == start, !before.fact.isProvisional { return .renewed(renewed) }
        // The payment for a period of one item, next to which another one continues, such as a year. Neither a trial
        // nor an item of the same rhythm continues like that.
        let isOfItsOwn = before.fact.phase != .trial && before.hasOtherRhythm(than: period)
        if renewed.cause == .scheduled || renewed.cause == .unknown && isOfItsOwn,
            period.isProvisional, !before.lasts(with: period.product),
            before.start < start, before.continues(at: start)
        {
            return .renewed(renewed)
        }
        if !event.renewsUnderItsName, let change = immediateChange(from: before, to: period) { return change }
        if isPaused(before) {
            renewed.cause = .resumption
        } else if let trouble = trouble(before: before, period) {
            renewed.cause = .recovery(from: trouble)
        } else if isBroken(before, until: start) {
            return .started(
                .init(origin: .resubscribed, phase: renewed.phase, period: renewed.period, price: renewed.price)
            )
        } else if !before.lasts(with: period.product) {
            renewed.cause = .planChange
        } else if before.fact.phase == .trial, period.phase != .trial {
            renewed.cause = .trialConversion
        } else if before.fact.phase == .introductory, period.phase == .regular {
            renewed.cause = .introductoryConversion
        }
        return .renewed(renewed)
    }

    /// True if the subscription was over between a period and a later start. A refund takes access away, and not the renewal.
    private func isBroken(_ before: PeriodTimeline.Period, until start: Int64) -> Bool {
        guard before.accessEnd < start else { return false }
        // A cancellation after the start ended a later period, of which nothing may be known yet.
        if let intent = prior.intent, !intent.value.willRenew(after: before), intent.by.milliseconds < start {
            return true
        }
        guard let cut = before.cut else { return false }
        return cut.reason != .refunded || before.end.addingClamped(ServicePeriod.startTolerance) < start
    }

    private func immediateChange(from before: PeriodTimeline.Period, to period: Fact.Period) -> LifecycleEvent? {
        let start = period.period.startMilliseconds
        guard !before.lasts(with: period.product) else { return nil }
        let wasReplaced =
            before.cut?.reason == .replaced
            && before.cut.map { ($0.at - start).magnitude <= UInt64(PeriodTimeline.replacementSlack) } == true
        guard start == before.start || start.isClearly(before: before.end) || wasReplaced else { return nil }
        let change = LifecycleEvent.ProductChange(
            from: before.lastProduct,
            to: period.product,
            direction: .unknown,
            timing: .immediate,
            basis: .inferred,
            period: period.period
        )
        return .productChanged(classified(change))
    }

    /// The effect of a failed charge before a period, if there was one. Of two linked names, one may know a grace
    /// period that gave access, and the other none.
    private func trouble(
        before: PeriodTimeline.Period,
        _ period: Fact.Period
    ) -> LifecycleEvent.Renewed.BillingTrouble? {
        var isTroubled = before.cut?.reason == .billing
        for (lineage, billing) in prior.failedCharges {
            // Some stores name the period that was to renew, and some the one that was to be paid.
            guard let subject = prior.timeline.subject(of: billing, lineage: lineage),
                [before.start, period.period.startMilliseconds].contains(prior.timeline.periods[subject].start)
            else { continue }
            let grace = billing.value.graceUntil
            if billing.value.status == .grace, grace.map({ $0 >= min(event.assertedAt, period.period.start) }) != false
            {
                return .grace
            }
            isTroubled = true
        }
        guard isTroubled else { return nil }
        return event.store.rules.troubleWithoutGrace
    }

    /// The change with the catalogue's direction where the store states none, or knows it less well than the catalogue.
    private func classified(_ change: LifecycleEvent.ProductChange) -> LifecycleEvent.ProductChange {
        guard change.direction == .unknown || (event.store.rules.catalogDecidesDirection && change.basis == .store),
            let from = change.from, let direction = catalog?.direction(from: from, to: change.to)
        else { return change }
        var change = change
        change.direction = direction
        change.basis = .catalog
        return change
    }

    /// True if another purchase had replaced the period before it ended, so that it is no churn.
    private func isReplacement(_ end: Fact.PeriodEnd, _ reason: LifecycleEvent.Expired.Reason) -> Bool {
        switch reason {
        case .unknown, .customer, .developer: break
        default: return false
        }
        let start = end.start.millisecondsSince1970
        guard let ended = now.timeline.period(transaction: end.transaction, start: start) else { return false }
        let latest = min(end.at.millisecondsSince1970, ended.end) + PeriodTimeline.replacementSlack
        return now.timeline.periods.contains {
            $0.start > ended.start && $0.start < ended.end && $0.start <= latest && $0.accessEnd > $0.start
                && !now.timeline.isBeside($0)
        }
    }

    private func affectsCurrentPeriod(_ refund: LifecycleEvent.Refund) -> Bool? {
        let stated = event.refund
        if purchase != nil {
            // Only the amount of a refund with a name of its own shows what it leaves of a sale. A store that states
            // separately what it takes away can refund all of the money and take nothing.
            guard let stated, !stated.endsAccess else { return true }
            let isAll = event.store.rules.takesBackRefundedSales && stated.scope == .full
            return isAll || stated.isWhole(of: reading.paid) ? true : nil
        }
        let start = stated?.periodStart?.millisecondsSince1970 ?? reading.chargedStart
        let timeline = now.timeline
        guard let subject = timeline.index(transaction: refund.transaction, start: start) else { return nil }
        if let stated, !stated.endsAccess, !reading.event.endsItem {
            return event.store.rules.namesRefunds ? false : nil
        }
        let moment = timeline.reached((stated?.at ?? event.occurredAt).millisecondsSince1970)
        guard let current = timeline.lastBegun(by: moment) else { return false }
        let period = timeline.periods[current]
        // Time of the same order under another name was paid for with it.
        guard current == subject || period.continues(refund.transaction) else { return false }
        return moment < max(period.end, period.grace?.until ?? .min)
    }
}

extension PurchasedProduct {
    /// The same items with another of them as the main one.
    fileprivate func standing(for main: ProductID) -> PurchasedProduct {
        guard id != main, let others = addOns, let place = others.firstIndex(where: { $0.id == main }) else {
            return self
        }
        var product = self
        product.id = main
        product.addOns?[place] = PurchasedProduct(id: id, group: group)
        product.addOns?.sort { $0.id < $1.id }
        return product
    }
}
