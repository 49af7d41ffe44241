import FoundationEssentials
import LifecycleEvents

extension SubscriptionObject.Span {
    /// The period of the main one of its items.
    var period: ServicePeriod { ServicePeriod(start: start.date, end: (primary?.end ?? end).date) }

    /// The periods of all that is used in it: first the main product's, which has no name as an item.
    ///
    /// - Parameter isBeside: True if the subscription has a main product that is none of its items.
    func periods(_ phase: PeriodPhase, isProvisional: Bool = false, isBeside: Bool = false) -> [Fact] {
        guard let product else { return [] }
        // No transaction: a period that is upgraded half-way has two, and stays one period.
        func fact(_ product: ProductID, _ period: ServicePeriod, item: ProductID?) -> Fact {
            .period(
                Fact.Period(
                    period,
                    product: product,
                    phase: phase,
                    transaction: nil,
                    item: item,
                    isProvisional: isProvisional,
                    isBeside: isBeside
                )
            )
        }
        return [fact(product, period, item: isBeside ? product : nil)]
            + others.map { item in
                let product = item.price.productID
                return fact(
                    product,
                    ServicePeriod(start: start.date, end: (item.end ?? end).date),
                    item: product
                )
            }
    }
}

extension [SubscriptionObject.Item] {
    /// The main product, with the others that are paid ahead as its add-ons.
    var purchased: PurchasedProduct? {
        guard let main = primary else { return nil }
        var product = main.purchased
        let addOns = others(than: product.id).map(\.purchased)
        product.addOns = addOns.isEmpty ? nil : addOns
        return product
    }
}

extension SubscriptionObject.Item {
    var purchased: PurchasedProduct {
        PurchasedProduct(id: price.productID, basePlan: price.id, quantity: quantity)
    }
}

extension SubscriptionObject {
    /// The terms that the current period is used under.
    var phase: PeriodPhase {
        // A customer who paid before is given time, and begins no trial.
        if isInTrial { return isTrialOfStart ? .trial : .promotional }
        return current?.primary?.trialEnd == nil ? discountedPhase ?? .regular : .introductory
    }

    /// The terms of a current period that a coupon makes cheaper; nil if they are unknown. A discount that is known by
    /// its id alone may be for the next period; the invoice shows which (``InvoiceObject/discountedPhase``).
    private var discountedPhase: PeriodPhase? {
        guard let start = current?.start, let discount = discounts.first(where: { $0.covers(start) == true }) else {
            return nil
        }
        // A discount that came with the subscription, and ends, is an introduction.
        let isOfStart = startDate.map { began in discount.start.map { $0 <= began + 60_000 } ?? false } ?? false
        return isOfStart && !discount.isForever ? .introductory : .promotional
    }

    /// The terms of the first period, whose discounts come with the subscription.
    var firstPhase: PeriodPhase {
        phase == .regular && discounts.contains { $0.start == nil } ? .introductory : phase
    }

    /// True if the current period is one of a trial, also if the subscription ended with the trial, or paused.
    private var isInTrial: Bool {
        switch status {
        case .trialing: return true
        case .paused, .canceled:
            guard let start = current?.start, let trialEnd else { return false }
            return trialStart ?? start <= start && start < trialEnd
        default: return false
        }
    }

    /// True if the trial came first, so that it leads to the first payment. A backdated subscription starts before it is made, and its
    /// trial can only begin then (https://docs.stripe.com/billing/subscriptions/backdating).
    var isTrialOfStart: Bool {
        guard let began = startDate, let trial = trialStart ?? (status == .trialing ? current?.start : nil) else {
            return true
        }
        return trial <= max(began, created ?? began)
    }

    /// The end of the trial that leads to the first payment. Free time that a merchant gives to a payer leads to a
    /// renewal.
    var endOfFirstTrial: Milliseconds? { isTrialOfStart ? trialEnd : nil }

    /// The terms of the next renewal. Stripe continues to bill an unpaid subscription, and it comes back once it is
    /// paid. It also renews one whose end is arranged for later than the current period, or whose invoices it does not collect
    /// (https://docs.stripe.com/billing/subscriptions/pause-payment).
    var terms: RenewalTerms {
        let willRenew =
            !endsWithPeriod && endedAt == nil
            && (status == .trialing || status == .active || status == .pastDue || status == .unpaid)
        return RenewalTerms(willRenew: willRenew, renewsAt: willRenew ? periodEnd?.date : nil)
    }

    /// The reason for an end, past or planned. Stripe does not distinguish a customer's request from a merchant's. An
    /// end that is arranged on the subscription was requested by one of them, even if the API version (before
    /// 2022-11-15) states no reason.
    var endReason: LifecycleEvent.AutoRenewDisabled.Reason {
        switch cancellationReason {
        case "cancellation_requested": .customer
        case "payment_failed", "payment_disputed": .billing
        case "canceled_by_retention_policy": .store
        case nil where endedForWantOfPaymentMethod: .billing
        // Only a customer is asked why.
        case nil: isEnding || cancellationFeedback != nil ? .customer : .unknown
        default: .unknown
        }
    }

    /// True if it ended with its trial because there was no payment method
    /// (https://docs.stripe.com/billing/subscriptions/trials/free-trials).
    private var endedForWantOfPaymentMethod: Bool {
        guard trialNeedsPaymentMethod, let trialEnd, let endedAt else { return false }
        return abs(endedAt - trialEnd) <= 3_600_000
    }

    /// Stripe's word for the reason, if our reason says less: a failed payment and a disputed one are both `billing`.
    var statedReason: String? {
        switch cancellationReason {
        case "cancellation_requested", "payment_failed": nil
        default: cancellationReason
        }
    }

    var expiryReason: LifecycleEvent.Expired.Reason {
        switch endReason {
        case .customer: .customer
        case .billing: .billing
        default: .unknown
        }
    }
}

extension Mapping {
    /// - Parameter failedAt: when the charge for a change within the current period failed, if it is not the period's own.
    func subject(
        _ subscription: SubscriptionObject,
        _ phase: PeriodPhase,
        failedAt: Milliseconds? = nil
    ) -> EventSubject {
        let span = subscription.current
        let account = account(customer: subscription.customer, metadata: subscription.metadata)
        return EventSubject(
            lineage: lineage(subscription.id),
            transaction: subscription.latestInvoice,
            account: account,
            product: subscription.items.purchased,
            period: span?.period,
            renewal: subscription.terms,
            facts: facts(subscription, account, phase: phase, failedAt: failedAt)
        )
    }

    /// The facts that a snapshot of a subscription states, whatever event it came with.
    private func facts(
        _ subscription: SubscriptionObject,
        _ account: Account?,
        phase: PeriodPhase,
        failedAt: Milliseconds?
    ) -> [Fact] {
        var facts: [Fact] = []
        // Most have four or five, and their event adds one.
        facts.reserveCapacity(6)
        if let account { facts.append(.owner(account)) }
        switch subscription.status {
        case .incomplete, .incompleteExpired:
            // Never had access, and has nothing to renew. An end may come that does not say so.
            return facts + accessStops(subscription, at: .min, .billing)
        case .trialing, .active, .pastDue, .unpaid, .paused, .canceled:
            break
        default:
            // A future status grants nothing new and takes nothing away.
            return facts
        }
        appendAccess(subscription, phase, failedAt: failedAt, to: &facts)
        // Until it is paid for, a change is one to come.
        if !subscription.pendingItems.isEmpty,
            case .swapped(_, let next) = ItemChange(from: subscription.items, to: subscription.pendingItems)
        {
            facts.append(.nextProduct(Fact.NextProduct(next.price.productID)))
        }
        let terms = subscription.terms
        let isStated = subscription.isEnding || !terms.willRenew && subscription.cancellationReason != nil
        facts.append(
            .renewalIntent(
                Fact.RenewalIntent(
                    terms,
                    reason: isStated ? subscription.endReason : nil,
                    endsAt: terms.willRenew ? subscription.endsAt?.date : nil
                )
            )
        )
        return facts
    }

    private func appendAccess(
        _ subscription: SubscriptionObject,
        _ phase: PeriodPhase,
        failedAt: Milliseconds?,
        to facts: inout [Fact]
    ) {
        if !subscription.sendsInvoices || policy.sentInvoices == .keeps || subscription.status == .trialing {
            for span in subscription.spans { facts += span.periods(phase, isBeside: subscription.isBeside(span)) }
        }
        func appendEnds(
            _ reason: LifecycleEvent.Expired.Reason,
            unlessPaid charge: TransactionID? = nil,
            at time: (SubscriptionObject.Span) -> Milliseconds?
        ) {
            for span in subscription.spans {
                guard let time = time(span) else { continue }
                let items = span.items.primary.map { [$0] + span.others } ?? []
                let names = subscription.isBeside(span) ? items.map(\.price.productID) : [nil]
                for name in names {
                    facts.append(
                        .periodEnded(
                            Fact.PeriodEnd(
                                start: span.start.date,
                                transaction: nil,
                                at: time.date,
                                reason: reason,
                                outstandingCharge: charge,
                                item: name
                            )
                        )
                    )
                }
            }
        }
        // A period that had begun before the latest one was paid for. So was one in which the charge for a change failed.
        func unpaidSince(_ span: SubscriptionObject.Span) -> Milliseconds {
            if let failedAt { return max(failedAt, span.start) }
            return span.start == subscription.latest?.start || subscription.hasTestClock
                ? span.start : max(created, span.start)
        }
        // A customer who pays the open invoice has access again, whichever notification reports it
        // (https://docs.stripe.com/billing/subscriptions/overview#unpaid).
        switch subscription.status {
        case .trialing, .active:
            let pause = subscription.collectionPause
            let isPaused = pause != nil && policy.collectionPause == .pauses
            // The object does not show at which time within the period a test clock stood.
            if isPaused {
                appendEnds(.paused) { subscription.hasTestClock ? unpaidSince($0) : created }
            } else {
                appendEnds(subscription.expiryReason) { subscription.end(within: $0) }
            }
            facts.append(.billing(Fact.Billing(.settled)))
            if isPaused {
                facts.append(.pause(Fact.PauseState(.paused, resumesAt: pause?.resumesAt?.date)))
            } else if subscription.schedule == nil {
                // A schedule may hold a future pause, which its own notification reports.
                facts.append(.pause(Fact.PauseState(.none)))
            }
        case .pastDue:
            // The current period is the one that is not paid.
            switch policy.pastDue {
            case .keeps:
                facts.append(.billing(Fact.Billing(.grace, graceUntil: subscription.latest?.end.date)))
            case .grace(let duration):
                let until = graceEnd(of: subscription.latest, since: failedAt, duration)
                appendEnds(.billing, unlessPaid: subscription.latestInvoice) { until ?? unpaidSince($0) }
                facts.append(.billing(Fact.Billing(.grace, graceUntil: until?.date)))
            case .suspends:
                appendEnds(.billing, unlessPaid: subscription.latestInvoice, at: unpaidSince)
                facts.append(.billing(Fact.Billing(.suspended)))
            }
        case .unpaid:
            appendEnds(.billing, unlessPaid: subscription.latestInvoice, at: unpaidSince)
            facts.append(.billing(Fact.Billing(.suspended)))
        case .paused:
            appendEnds(.paused) { _ in pauseTime(subscription) }
            facts.append(.pause(Fact.PauseState(.paused)))
        case .canceled:
            appendEnds(subscription.expiryReason) { _ in subscription.endedAt ?? created }
        default:
            break
        }
    }

    /// That a pause is over, if the snapshot alone leaves it open: its schedule may hold a pause to come.
    func statePauseOver(in stated: inout Stated) {
        let subscription = stated.subscription
        guard subscription.schedule != nil, subscription.collectionPause == nil,
            subscription.status == .active || subscription.status == .trialing
        else { return }
        stated.subject.facts.append(.pause(Fact.PauseState(.none)))
    }

    /// The fact that access to the current periods stopped at a moment.
    func accessStops(
        _ subscription: SubscriptionObject,
        at time: Milliseconds,
        _ reason: LifecycleEvent.Expired.Reason
    ) -> [Fact] { accessSteps(subscription, at: time, reason) }

    /// The fact that access to the current periods came back.
    func accessReturns(_ subscription: SubscriptionObject) -> [Fact] { accessSteps(subscription, at: created, nil) }

    /// The time of a test clock is not that of its events, so its steps are not dated.
    private func accessSteps(
        _ subscription: SubscriptionObject,
        at time: Milliseconds,
        _ reason: LifecycleEvent.Expired.Reason?
    ) -> [Fact] {
        guard !subscription.hasTestClock else { return [] }
        return Set(subscription.spans.map(\.start)).filter { reason != nil || $0 < time }.sorted().map { start in
            .interruption(Fact.Interruption(start: start.date, at: max(start, time).date, reason: reason))
        }
    }

    func accessStopsWhenPastDue(_ stated: Stated) -> [Fact] {
        let subscription = stated.subscription
        switch policy.pastDue {
        case .keeps: return []
        case .suspends: return accessStops(subscription, at: created, .billing)
        case .grace(let duration):
            let end = graceEnd(of: subscription.latest, since: stated.failedAt, duration)
            return accessStops(subscription, at: end ?? created, .billing)
        }
    }

    /// - Parameter failure: when the charge failed; nil if it is that of the span itself.
    func graceEnd(
        of span: SubscriptionObject.Span?,
        since failure: Milliseconds?,
        _ duration: Duration
    ) -> Milliseconds? {
        span.map {
            let start = max(failure ?? $0.start, $0.start)
            let (end, overflows) = start.addingReportingOverflow(max(0, duration.wholeMilliseconds))
            return overflows ? $0.end : min($0.end, end)
        }
    }

    func pauseTime(_ subscription: SubscriptionObject) -> Milliseconds {
        subscription.pausedAt ?? subscription.trialEnd.flatMap { $0 <= created ? $0 : nil } ?? created
    }
}
