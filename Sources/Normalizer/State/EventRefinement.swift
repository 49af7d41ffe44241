import FoundationEssentials

/// What an event is in the light of what was known before it and of what is known with it.
struct EventRefinement {
    /// Between the end of a replaced purchase and the start of the one in its place lie seconds.
    static let replacementSlack: Int64 = 60_000
    /// What Stripe sends of one request is dated seconds apart.
    private static let twinTolerance: UInt64 = 10_000

    let event: NormalizedEvent
    let standings: [SubscriptionState.Standing]
    let prior: Situation
    let now: Situation
    /// What was known of a refund of the event's transaction before it.
    let priorRefund: Register<Fact.RefundState>?
    /// Whether a purchase that the event says is waited for was paid for before the event came.
    let isPaid: Bool
    /// What the event's transaction bought, where it bought something that does not renew.
    let purchase: Fact.OneTimePurchase?
    let catalog: ProductCatalog?

    /// The period that the event states, where it is about the beginning of one.
    var begun: Fact.Period? {
        switch event.event {
        case .started, .renewed, .productChanged: statedPeriod
        default: nil
        }
    }

    private var statedPeriod: Fact.Period? {
        for case .period(let period) in event.facts where !period.isProvisional { return period }
        return nil
    }

    /// The period that the event infers from something else, such as a payment.
    private var inferredPeriod: Fact.Period? {
        for case .period(let period) in event.facts where period.isProvisional { return period }
        return nil
    }

    private var statedEnd: Fact.PeriodEnd? {
        for case .periodEnded(let end) in event.facts { return end }
        return nil
    }

    private func standing(where matches: (Fact) -> Bool) -> SubscriptionState.Standing? {
        zip(event.facts, standings).first { matches($0.0) }?.1
    }
}

extension EventRefinement {
    /// As in `AppliedEvent.isRestoration`.
    var isRestoration: Bool {
        guard let refund = event.refund, refund.scope == nil else { return false }
        if let purchase { return priorRefund?.value.isWhole(of: purchase) == true }
        let moment = event.occurredAt.millisecondsSince1970
        guard let period = now.timeline.period(of: refund), period.grants(at: moment),
            let before = prior.timeline.period(of: refund)
        else { return false }
        return !before.grants(at: moment)
    }
}

extension EventRefinement {
    /// As in `AppliedEvent.followsReversal`.
    var followsReversal: Bool {
        guard event.provider == .stripe, event.refund?.scope != nil, let priorRefund else { return false }
        return priorRefund.value.scope == nil && disposition == .applied
    }
}

extension NormalizedEvent {
    /// Whether Google Play says that it renewed. What changes at once has a purchase token, and a start, of its own; a
    /// renewal may be charged minutes before the period before it ends. A state that does not know the start of what renews
    /// makes one out.
    var isPlayRenewal: Bool {
        guard provider == .google else { return false }
        switch event {
        case .renewed: return true
        case .started: return origin.type == "subscriptionNotification" && origin.subtype == "2"
        default: return false
        }
    }

    /// Whether a period that it states begins later, by our time and by the store's. Stripe charges for none ahead: under a
    /// test clock a period that lies ahead of both has begun by the clock.
    func tellsAhead(of start: Date) -> Bool {
        provider != .stripe && start > max(receivedAt, assertedAt)
    }

    /// Whether it tells of a purchase that is not paid for.
    var isPending: Bool {
        switch event {
        case .purchasePending, .purchasePendingCanceled: true
        default: false
        }
    }

    /// The refund that it tells of, or tells not to have come about.
    var refund: Fact.RefundState? {
        for case .refund(let refund) in facts { return refund }
        return nil
    }
}

extension Fact.RefundState {
    /// Whether all the money for what was bought once went back.
    func isWhole(of purchase: Fact.OneTimePurchase) -> Bool {
        if case .fraction = scope { return false }
        if endsAccess { return scope != nil }
        // Stripe's refunds say how much, and not whether anything is left.
        guard case .amount(let amount) = scope else { return false }
        return amount == purchase.purchase.price?.money
    }
}

extension PeriodTimeline {
    /// The period whose payment is refunded.
    func index(of refund: Fact.RefundState) -> Int? {
        index(transaction: refund.transaction, start: refund.periodStart?.millisecondsSince1970)
    }

    func period(of refund: Fact.RefundState) -> Period? { index(of: refund).map { periods[$0] } }
}

// MARK: Disposition

extension EventRefinement {
    var disposition: AppliedEvent.Disposition {
        switch event.event {
        case .productChanged(let change) where change.direction == .quantity || change.direction == .addOns:
            // No fact tells of quantities and of what is sold beside; the event's id tells a second delivery.
            return begun.map(beginning) == .superseded ? .superseded : .applied
        case .renewed(let renewed)
        where (renewed.cause == .unknown || renewed.cause == .planChange) && isPaymentOfChange:
            return .duplicate
        case .started, .renewed, .productChanged:
            return begun.map(beginning) ?? byFacts
        case .billingIssue, .gracePeriodExpired:
            return billingIssue
        case .autoRenewDisabled:
            return renewalIntent(false)
        case .autoRenewEnabled:
            return renewalIntent(true)
        case .expired, .paused, .revoked:
            return statedEnd.map(ending) ?? byFacts
        case .refundReversed where event.provider == .stripe && priorRefund?.value.scope == nil:
            // Stripe says that a refund failed, whether or not it had succeeded. What nobody took is not given back, and
            // a refund that comes later is overruled by this.
            return .duplicate
        case .refunded, .refundReversed:
            return refund ?? byFacts
        case .chargeback(let chargeback):
            // A bank's decision that another channel called a refund. All other stages no fact tells of.
            return chargeback.stage == .lost && refund == .duplicate ? .duplicate : .applied
        case .productChangeScheduled(let change):
            if prior.pendingProduct == change.to { return known(prior.nextProduct) { $0.product == change.to } }
            return now.pendingProduct == change.to ? .applied : .superseded
        case .productChangeReverted(let change):
            if now.pendingProduct != nil { return .superseded }
            // Looking has found it out, and a notification had told of the change.
            if let lineage = event.subscription, let next = prior.registers[lineage]?.nextProduct, next.by.isLookup,
                next.notified?.value.product != nil
            {
                return .applied
            }
            // A channel states that no product comes next, another that the current one does.
            guard prior.pendingProduct == nil, prior.isNextProductStated || hasNoNews else { return .applied }
            return known(prior.intent) { $0.terms.nextProduct == change.to }
        case .pauseScheduled(let pause):
            // Not every channel says when a pause ends; its silence does not make another pause.
            func isSame(_ known: Fact.PauseState) -> Bool {
                known.status == .scheduled
                    && (known.resumesAt == pause.resumesAt || known.resumesAt == nil || pause.resumesAt == nil)
            }
            if let register = prior.pause, isSame(register.value) { return known(register, isSame) }
            return now.pause?.value.status == .scheduled ? .applied : .superseded
        case .extended(let extended):
            let subject = subjectTransaction
            let start = event.period?.startMilliseconds
            let end = extended.to.millisecondsSince1970
            if let period = prior.timeline.period(transaction: subject, start: start), period.end == end {
                return known(period.entry.statement) { $0.period.endMilliseconds == end }
            }
            return now.timeline.period(transaction: subject, start: start)?.end == end ? .applied : .superseded
        case .priceChange:
            guard let lineage = event.subscription, let register = prior.registers[lineage]?.priceChange,
                let stated = statedPriceChange, register.value.isSame(as: stated)
            else {
                return standing { if case .priceChange = $0 { true } else { false } }.map(disposition(of:)) ?? byFacts
            }
            return known(register) { $0.isSame(as: stated) }
        case .oneTimePurchased:
            return standing { if case .purchase = $0 { true } else { false } }.map(disposition(of:)) ?? byFacts
        case .transferred:
            return byFacts
        case .purchasePending, .purchasePendingCanceled:
            // No fact says that they happened; the event's id tells a second delivery. What was paid for waits no more.
            let moment = event.assertedAt.millisecondsSince1970
            let isOver =
                isPaid || purchase != nil || prior.timeline.periods.contains { ($0.firstStated ?? .min) >= moment }
            return isOver ? .superseded : .applied
        case .offerRedeemed, .refundRequested, .refundDeclined,
            .acknowledgementRequired, .notice, .unmapped:
            // No fact says that these happened; the event's id tells a second delivery.
            return .applied
        }
    }

    private var subjectTransaction: String? { statedPeriod?.transaction ?? event.transaction }

    private var statedPriceChange: Fact.PriceChangeState? {
        for case .priceChange(let change) in event.facts { return change }
        return nil
    }

    private var refund: AppliedEvent.Disposition? {
        if let priorRefund, isUntold(priorRefund) { return .applied }
        return standing { if case .refund = $0 { true } else { false } }.map(disposition(of:))
    }

    /// Whether a relay's answer has shown the refund that this notification is the first to tell of. What stores show of a
    /// refund is told by itself.
    private func isUntold(_ known: Register<Fact.RefundState>) -> Bool {
        guard let stated = event.refund?.scope, known.value.scope != nil, event.origin.notificationID != nil else {
            return false
        }
        return known.by.provider == .revenuecat && known.isFound { $0.scope == stated }
    }

    private var hasNoNews: Bool { standings.allSatisfy { $0 != .news } }

    private func disposition(of standing: SubscriptionState.Standing) -> AppliedEvent.Disposition {
        switch standing {
        case .news: .applied
        case .known: .duplicate
        case .overruled: .superseded
        }
    }

    private var byFacts: AppliedEvent.Disposition {
        if standings.contains(.news) || standings.isEmpty { return .applied }
        return standings.contains(.overruled) ? .superseded : .duplicate
    }

    private func beginning(_ period: Fact.Period) -> AppliedEvent.Disposition {
        let start = period.period.startMilliseconds
        if let known = prior.timeline.period(transaction: period.transaction, start: nil)
            ?? prior.timeline.periods.first(where: { isSameStart($0, period) }),
            !known.fact.isProvisional, !isUntold(known, period)
        {
            if endsPauseSeen(known) { return .applied }
            let teller = known.notified?.by ?? known.by
            // Billed anew from the same start, for another product.
            if known.fact.product != period.product, !known.names(period) {
                return now.timeline.period(transaction: period.transaction, start: start)?.fact.product
                    == period.product ? .applied : .superseded
            }
            // Paused, and going on within the same period.
            if known.cut?.reason == .paused,
                now.timeline.period(transaction: period.transaction, start: start)?.cut == nil
            {
                return .applied
            }
            switch event.event {
            case .started where isToldByTwin(teller): return .applied
            case .renewed(let renewed) where renewed.cause == .resumption && isToldByTwin(teller): return .applied
            default: return .duplicate
            }
        }
        if let newest = prior.timeline.newest, !newest.fact.isProvisional, newest.start > start {
            // Charged ahead, and forestalled by this very change.
            let known = now.timeline.period(transaction: newest.transaction, start: newest.start)
            return known?.isForestalled == true ? .applied : .superseded
        }
        // Charged ahead, and told of after the change that forestalled it.
        let begun = now.timeline.period(transaction: period.transaction, start: start)
        return begun?.replacement != nil && begun?.isForestalled == true ? .superseded : .applied
    }

    /// Whether it is the payment for a period that is known to have begun with another product, in the place of what was
    /// there or beside it: the change itself told of that.
    private var isPaymentOfChange: Bool {
        guard begun == nil, let period = inferredPeriod, let before = predecessor(of: period),
            before.fact.product != period.product
        else { return false }
        return prior.timeline.periods.contains {
            $0.start == period.period.startMilliseconds && !$0.fact.isProvisional && $0.fact.product == period.product
        }
    }

    private func isSameStart(_ known: PeriodTimeline.Period, _ period: Fact.Period) -> Bool {
        let distance = known.start - period.period.startMilliseconds
        if distance == 0 { return true }
        return distance.magnitude <= UInt64(ServicePeriod.startTolerance)
            && (known.transaction == nil || period.transaction == nil)
    }

    private func ending(_ end: Fact.PeriodEnd) -> AppliedEvent.Disposition {
        let start = end.start.millisecondsSince1970
        if let known = prior.timeline.period(transaction: end.transaction, start: start) {
            if let cut = known.cut, (cut.reason == .paused) == (end.reason == .paused) {
                if isUntold(cut) || end.reason == .paused && isToldByTwin(cut.by) { return .applied }
                return .duplicate
            }
            if let newest = now.timeline.newest, newest.start > known.start, !newest.fact.isProvisional {
                return .superseded
            }
            if now.timeline.period(transaction: end.transaction, start: start)?.liftedCut != nil { return .superseded }
            return .applied
        }
        return standing { if case .periodEnded = $0 { true } else { false } }.map(disposition(of:)) ?? .applied
    }

    /// Whether asking has found a period that no notification stated, and asking tells of none: a payment does at Stripe, and
    /// this notification.
    private func isUntold(_ known: PeriodTimeline.Period, _ period: Fact.Period) -> Bool {
        guard known.by.isLookup, known.by.provider == .stripe || known.by.provider == .revenuecat else { return false }
        guard let told = known.notified?.value, !told.isProvisional else { return true }
        return told.product.subscriptionFamily != period.product.subscriptionFamily
    }

    /// Whether looking has found that a pause within a period is over, and this notification is the first to tell.
    private func endsPauseSeen(_ known: PeriodTimeline.Period) -> Bool {
        guard case .renewed(let renewed) = event.event, renewed.cause == .resumption, known.by.isLookup,
            let pause = known.liftedCut, pause.reason == .paused
        else { return false }
        return known.notified?.by.takesBack(pause.by) != true
    }

    /// The same of an end. Of all but pauses a question to Stripe tells by itself, and an update of none.
    private func isUntold(_ cut: PeriodTimeline.Cut) -> Bool {
        guard cut.by.isLookup, !cut.isNotified else { return false }
        let isUpdate = cut.by.notificationID != nil
        return cut.by.provider == .revenuecat
            || cut.by.provider == .stripe
                && (isUpdate || cut.reason == .paused)
    }

    /// Whether what is known comes from an update that Stripe sends beside its own word for a start, a pause or the end of
    /// one. The update states as much and gives no event, so that this one is news also where it comes second.
    private func isToldByTwin(_ known: Citation) -> Bool {
        let distance = known.milliseconds - event.assertedAt.millisecondsSince1970
        return event.provider == .stripe && known.provider == .stripe
            && known.type.hasSuffix("customer.subscription.updated") && event.origin.type != known.type
            && distance.magnitude <= Self.twinTolerance
    }

    private var billingIssue: AppliedEvent.Disposition {
        guard case .billing(let stated)? = event.facts.first(where: { $0.kind == .billing }) else { return byFacts }
        if let billing = prior.billing, billing.value.status == stated.status,
            billing.value.graceUntil == stated.graceUntil
        {
            return known(billing) { $0.status == stated.status && $0.graceUntil == stated.graceUntil }
        }
        return now.billing?.value.status == stated.status ? .applied : .superseded
    }

    private func renewalIntent(_ willRenew: Bool) -> AppliedEvent.Disposition {
        guard event.facts.contains(where: { $0.kind == .renewalIntent }) else { return byFacts }
        if now.intent?.value.isOn != willRenew { return .superseded }
        guard let intent = prior.intent, intent.value.isOn == willRenew else { return .applied }
        return known(intent) { $0.isOn == willRenew }
    }

    /// What an event is whose fact is known: a duplicate, unless the fact was only found by looking, so that nothing has told
    /// of it. What Google answers about a purchase is told by itself, but for two things that only a notification has a time
    /// of.
    private func known<Value: Assertable>(
        _ register: Register<Value>?,
        _ isSame: (Value) -> Bool
    ) -> AppliedEvent.Disposition {
        guard let register, event.origin.notificationID != nil, register.isFound(isSame),
            register.by.provider != .google || isUndatedByGoogle
        else { return .duplicate }
        return .applied
    }

    private var isUndatedByGoogle: Bool {
        switch event.event {
        case .autoRenewEnabled, .extended: true
        default: false
        }
    }
}

extension Fact.PriceChangeState {
    /// Whether it is the same change. What a price was before, not every statement knows.
    fileprivate func isSame(as other: Self) -> Bool {
        var (one, other) = (change, other.change)
        one?.old = nil
        other?.old = nil
        return one == other
    }
}

extension Fact.RenewalIntent {
    /// Whether the customer lets it renew. The bills that are left of a commitment come all the same.
    fileprivate var isOn: Bool { terms.willRenew && reason != .commitment }
}

// MARK: Refinement

extension EventRefinement {
    var refined: NormalizedEvent {
        var refined = event
        switch event.event {
        case .started(let started):
            if let begun { refined.event = refine(started, begun) }
        case .renewed(let renewed):
            if let period = begun ?? inferredPeriod { refined.event = refine(renewed, period) }
        case .productChanged(var change):
            change.from = change.from ?? begun.flatMap(predecessor)?.fact.product
            refined.event = .productChanged(classified(change))
        case .productChangeScheduled(var change):
            let current = now.timeline.granting(at: event.assertedAt.millisecondsSince1970) ?? now.timeline.newest
            change.from = change.from ?? current?.fact.product
            if change.basis == .inferred, event.store == .appStore, let from = change.from,
                catalog?.appStoreChange(from: from, to: change.to)?.timing == .immediate
            {
                // A relay announces it without saying when; the period that begins at once is told by itself.
                change.timing = .immediate
            } else if case .atPeriodEnd(nil) = change.timing {
                change.timing = .atPeriodEnd(current?.fact.period.end)
            }
            refined.event = .productChangeScheduled(classified(change))
        case .expired(let expired):
            if let end = statedEnd, isReplacement(end, expired.reason) {
                refined.event = .expired(.init(reason: .replaced))
            }
        case .autoRenewDisabled(var disabled):
            if disabled.accessUntil == nil,
                let current = now.timeline.granting(at: event.occurredAt.millisecondsSince1970)
            {
                disabled.accessUntil = SubscriptionState.date(current.accessEnd)
                refined.event = .autoRenewDisabled(disabled)
            }
        case .refunded(var refund):
            if refund.affectsCurrentPeriod == nil {
                refund.affectsCurrentPeriod = affectsCurrentPeriod(refund)
                refined.event = .refunded(refund)
            }
        case .extended(var extended):
            if extended.from == nil {
                extended.from =
                    prior.timeline.period(transaction: subjectTransaction, start: event.period?.startMilliseconds)?
                    .fact.period.end
                refined.event = .extended(extended)
            }
        default:
            break
        }
        if let start = begun?.period.start, start > refined.effectiveAt { refined.effectiveAt = start }
        return refined
    }

    /// The period that came before: the one billed from the same start for another product, else the last that began
    /// earlier.
    private func predecessor(of period: Fact.Period) -> PeriodTimeline.Period? {
        let start = period.period.startMilliseconds
        if let same = prior.timeline.periods.first(where: { $0.start == start }),
            same.fact.product != period.product, !same.names(period)
        {
            return same
        }
        return now.timeline.period(before: start - ServicePeriod.startTolerance)
    }

    private func refine(_ started: LifecycleEvent.Started, _ period: Fact.Period) -> LifecycleEvent {
        guard started.origin == .new, let before = predecessor(of: period) else { return .started(started) }
        let start = period.period.startMilliseconds
        if let change = immediateChange(from: before, to: period) { return change }
        if before.cut?.reason == .paused {
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
            // Google Play has one notification for the end of account hold and for the end of a pause.
            if before.cut?.reason == .paused {
                renewed.cause = .resumption
            } else if let trouble = trouble(before: before, period) {
                renewed.cause = .recovery(from: trouble)
            }
            return .renewed(renewed)
        case .trialConversion, .introductoryConversion, .recovery, .resumption, .topUp: return .renewed(renewed)
        }
        let start = period.period.startMilliseconds
        // What was paid for as a whole is another product since, which was told by itself.
        if period.isProvisional, before.start == start, !before.fact.isProvisional { return .renewed(renewed) }
        // The payment for a period of one item, beside which something else runs on, such as a year. A trial does not, nor
        // does what is billed in one rhythm with it.
        let isOfItsOwn = before.fact.phase != .trial && before.hasOtherRhythm(than: period)
        if renewed.cause == .scheduled || renewed.cause == .unknown && isOfItsOwn,
            period.isProvisional, before.fact.product != period.product,
            before.start < start, before.goesOn(at: start)
        {
            return .renewed(renewed)
        }
        if !event.isPlayRenewal, let change = immediateChange(from: before, to: period) { return change }
        if before.cut?.reason == .paused {
            renewed.cause = .resumption
        } else if let trouble = trouble(before: before, period) {
            renewed.cause = .recovery(from: trouble)
        } else if before.accessEnd < start, before.cut != nil || prior.intent?.value.terms.willRenew == false {
            return .started(
                .init(origin: .resubscribed, phase: renewed.phase, period: renewed.period, price: renewed.price)
            )
        } else if before.fact.product != period.product {
            renewed.cause = .planChange
        } else if before.fact.phase == .trial, period.phase != .trial {
            renewed.cause = .trialConversion
        } else if before.fact.phase == .introductory, period.phase == .regular {
            renewed.cause = .introductoryConversion
        }
        return .renewed(renewed)
    }

    private func immediateChange(from before: PeriodTimeline.Period, to period: Fact.Period) -> LifecycleEvent? {
        let start = period.period.startMilliseconds
        guard before.fact.product != period.product else { return nil }
        let wasReplaced =
            before.cut?.reason == .replaced
            && before.cut.map { ($0.at - start).magnitude <= UInt64(Self.replacementSlack) } == true
        guard start == before.start || start < before.end || wasReplaced else { return nil }
        let change = LifecycleEvent.ProductChange(
            from: before.fact.product,
            to: period.product,
            direction: .unknown,
            timing: .immediate,
            basis: .inferred,
            period: period.period
        )
        return .productChanged(classified(change))
    }

    /// What a failed charge had led to before a period, where one had. Of linked names, one may know of a grace period
    /// that gave access, and another of none.
    private func trouble(
        before: PeriodTimeline.Period,
        _ period: Fact.Period
    ) -> LifecycleEvent.Renewed.BillingTrouble? {
        var isTroubled = before.cut?.reason == .billing
        for (lineage, registers) in prior.registers {
            guard let billing = registers.charging, billing.value.status != .settled,
                let subject = prior.timeline.subject(of: billing, lineage: lineage),
                prior.timeline.periods[subject].start == before.start
            else { continue }
            let grace = billing.value.graceUntil
            if billing.value.status == .grace, grace.map({ $0 >= min(event.assertedAt, period.period.start) }) != false
            {
                return .grace
            }
            isTroubled = true
        }
        guard isTroubled else { return nil }
        return event.store == .playStore ? .hold : .retry
    }

    /// Apple says "upgrade" of a crossgrade at once as well, so a catalogue knows better than Apple; elsewhere what the
    /// store says holds.
    private func classified(_ change: LifecycleEvent.ProductChange) -> LifecycleEvent.ProductChange {
        guard change.direction == .unknown || (event.store == .appStore && change.basis == .store),
            let from = change.from, let direction = catalog?.direction(from: from, to: change.to)
        else { return change }
        var change = change
        change.direction = direction
        change.basis = .catalog
        return change
    }

    /// Whether another purchase had taken the place of the period before it ended: no churn.
    private func isReplacement(_ end: Fact.PeriodEnd, _ reason: LifecycleEvent.Expired.Reason) -> Bool {
        switch reason {
        case .unknown, .customer, .developer: break
        default: return false
        }
        let start = end.start.millisecondsSince1970
        guard let ended = now.timeline.period(transaction: end.transaction, start: start) else { return false }
        let latest = min(end.at.millisecondsSince1970, ended.end) + Self.replacementSlack
        return now.timeline.periods.contains {
            $0.start > ended.start && $0.start < ended.end && $0.start <= latest && $0.accessEnd > $0.start
        }
    }

    private func affectsCurrentPeriod(_ refund: LifecycleEvent.Refund) -> Bool? {
        var stated: Fact.RefundState?
        for case .refund(let state) in event.facts where state.transaction == refund.transaction { stated = state }
        if let stated, !stated.endsAccess {
            // What one refund of Stripe's leaves of a sale, only its amount tells.
            return purchase.map(stated.isWhole) == true ? true : nil
        }
        if purchase != nil { return true }
        let start = stated?.periodStart?.millisecondsSince1970
        let timeline = now.timeline
        guard let subject = timeline.index(transaction: refund.transaction, start: start) else { return nil }
        let moment = timeline.reached((stated?.at ?? event.occurredAt).millisecondsSince1970)
        let period = timeline.periods[subject]
        return timeline.lastBegun(by: moment) == subject
            && moment < max(period.end, period.grace?.until ?? .min)
    }
}
