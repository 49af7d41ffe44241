import FoundationEssentials

/// Decides whether an event is news to a state.
struct Disposition {
    let reading: EventReading

    private var event: NormalizedEvent { reading.event }
    private var prior: Situation { reading.prior }
    private var now: Situation { reading.now }
    private var begun: Fact.Period? { reading.begun }
    private var priorRefund: Register<Fact.RefundState>? { reading.priorRefund }
    private var purchase: Fact.OneTimePurchase? { reading.purchase }
    private var standings: [SubscriptionState.Standing] { reading.standings }
    /// What Stripe sends of one request is dated seconds apart.
    private static let twinTolerance: UInt64 = 10_000

    private func standing(where matches: (Fact) -> Bool) -> SubscriptionState.Standing? {
        reading.standing(where: matches)
    }

    var value: AppliedEvent.Disposition {
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
            return reading.statedEnd.map(ending) ?? byFacts
        case .refundReversed where event.provider.rules.namesRefunds && priorRefund?.value.scope == nil:
            // Such a store says that a refund failed, whether or not it had succeeded. What nobody took is not given back, and
            // a refund that comes later is overruled by this.
            return .duplicate
        case .refundReversed where reading.isStillRefunded:
            // Another refund has taken the place of the one that is undone.
            return .superseded
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
            let subject = reading.subjectTransaction
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
                reading.isPaid || purchase != nil
                || prior.timeline.periods.contains { ($0.firstStated ?? .min) >= moment }
            return isOver ? .superseded : .applied
        case .offerRedeemed, .refundRequested, .refundDeclined,
            .acknowledgementRequired, .notice, .unmapped:
            // No fact says that these happened; the event's id tells a second delivery.
            return .applied
        }
    }

    private var statedPriceChange: Fact.PriceChangeState? {
        for case .priceChange(let change) in event.facts { return change }
        return nil
    }

    private var refund: AppliedEvent.Disposition? {
        if reading.isKnownRefund { return .duplicate }
        if let priorRefund, isUntold(priorRefund) { return .applied }
        // It was undone before it was heard of.
        if !hasNoNews, reading.event.refund?.scope != nil, reading.refundStood.now == nil { return .superseded }
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
        guard begun == nil, let period = reading.inferredPeriod, let before = reading.predecessor(of: period),
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
        // The end of a period that nothing was known of is not that of the period before.
        if let known = prior.timeline.period(transaction: end.transaction, start: start),
            end.transaction != nil || known.start + ServicePeriod.startTolerance >= start
        {
            if let cut = known.cut, !cut.isOfPurchase, (cut.reason == .paused) == (end.reason == .paused) {
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
        if let billing = prior.billing {
            func covers(_ known: Fact.Billing) -> Bool {
                known.covers(stated, isOfOneProvider: billing.by.provider == event.provider)
            }
            if covers(billing.value) { return known(billing, covers) }
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

extension Fact.Billing {
    /// Whether it says all that another does of one failed charge. Another attempt is another fact, of which relays know
    /// nothing.
    fileprivate func covers(_ other: Self, isOfOneProvider: Bool) -> Bool {
        guard status == other.status, graceUntil == other.graceUntil else { return false }
        guard let theirs = other.charge, isOfOneProvider else { return true }
        guard let charge, charge.transaction == theirs.transaction else { return false }
        return charge.attempt > theirs.attempt
            || charge.attempt == theirs.attempt && (charge.actionRequired || !theirs.actionRequired)
    }
}

extension Fact.RenewalIntent {
    /// Whether the customer lets it renew. The bills that are left of a commitment come all the same.
    fileprivate var isOn: Bool { terms.willRenew && reason != .commitment }
}
