import LifecycleEvents
import WireJSON

extension Mapping {
    /// A subscription as an event shows it, with the subject of its events.
    struct Stated {
        let subscription: SubscriptionObject
        let lineage: SubscriptionID
        /// The terms of its current period.
        let phase: PeriodPhase
        /// When the charge for a change within the current period failed, which was paid for before; nil if no such charge is known.
        let failedAt: Milliseconds?
        var subject: EventSubject

        /// The facts alone.
        func none(_ reason: Normalization.NoChange.Reason) -> Outcome {
            .none(reason, lineage: lineage, facts: subject.facts)
        }
    }

    /// - Parameters:
    ///   - begins: true if the event is about its beginning, so that it shows the discounts that came with it.
    ///   - failedAt: when the charge for a change within the current period failed, if the event reports that.
    func stated(
        _ subscription: SubscriptionObject,
        begins: Bool = false,
        failedAt: Milliseconds? = nil
    ) -> Stated {
        let phase = begins ? subscription.firstPhase : subscription.phase
        return Stated(
            subscription: subscription,
            lineage: lineage(subscription.id),
            phase: phase,
            failedAt: failedAt,
            subject: subject(subscription, phase, failedAt: failedAt)
        )
    }

    /// The subscription with all its items, any of which can be the one that stands for all; nil if some are missing.
    func completed(_ subscription: SubscriptionObject) -> SubscriptionObject? {
        guard subscription.hasMoreItems else { return subscription }
        let addOns = policy.addOnProducts
        guard let items = ListPages(itemsIn: occasion.answers, addOns: addOns).all, !items.isEmpty,
            let subject = occasion.subject
        else { return nil }
        return try? SubscriptionObject(subject, items: items, addOns: addOns)
    }

    func subscriptionCreated(_ shown: SubscriptionObject) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        let stated = stated(subscription, begins: true)
        switch subscription.status {
        case .active where subscription.sendsInvoices && policy.sentInvoices == .waitsForPayment:
            return .events([pending(stated)])
        case .active, .trialing:
            guard isInFirstPeriod(subscription), let started = started(stated) else { break }
            return .events([started])
        case .incomplete:
            return .events([pending(stated)])
        default:
            break
        }
        return stated.none(.reportedElsewhere)
    }

    func subscriptionDeleted(_ subscription: SubscriptionObject) -> Outcome {
        let stated = stated(subscription)
        switch subscription.status {
        case .incompleteExpired, .incomplete:
            return .events([purchaseFailed(stated)])
        case .canceled:
            return .events([expired(stated)])
        default:
            // Fetched, and alive again: ids are not used twice, so the event is not about the object shown.
            return stated.none(.stale)
        }
    }

    func subscriptionPaused(_ subscription: SubscriptionObject) -> Outcome {
        var stated = stated(subscription)
        guard subscription.status == .paused else {
            return stated.none(.stale)
        }
        let since = pauseTime(subscription)
        stated.subject.facts += accessStops(subscription, at: since, .paused)
        return .events([
            Draft(
                identity(stated.lineage, "paused", since.wholeSeconds),
                .paused(LifecycleEvent.Pause(reason: subscription.pauseReason)),
                about: stated.subject,
                effectiveAt: since
            )
        ])
    }

    func subscriptionResumed(_ shown: SubscriptionObject) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        var stated = stated(subscription)
        guard subscription.status == .active || subscription.status == .trialing,
            let start = subscription.current?.start
        else { return stated.none(.stale) }
        statePauseOver(in: &stated)
        stated.subject.facts += accessReturns(subscription)
        // The object does not show the time of a test clock. Unless another time is asked for, a period begins.
        let beganNow = subscription.hasTestClock || start >= created - 60_000
        guard let resumed = resumption(stated, beganNow: beganNow) else {
            return stated.none(.stale)
        }
        return .events([resumed])
    }

    /// A resumption that began a period is that period; one within a period is a fact of its own.
    func resumption(_ stated: Stated, beganNow: Bool) -> Draft? {
        let subscription = stated.subscription
        guard let span = subscription.current, let product = span.product else { return nil }
        return Draft(
            beganNow
                ? .periodBegan(stated.lineage, product: product, start: span.start.date)
                : identity(stated.lineage, "resumed", created.wholeSeconds),
            .renewed(
                LifecycleEvent.Renewed(cause: .resumption, phase: stated.phase, period: span.period)
            ),
            about: stated.subject,
            effectiveAt: beganNow ? span.start : created
        )
    }

    func trialWillEnd(_ subscription: SubscriptionObject) -> Outcome {
        let stated = stated(subscription)
        guard let end = subscription.trialEnd,
            subscription.hasTestClock ? subscription.status == .trialing : end > created
        else {
            return stated.none(.unchanged)
        }
        return .events([
            notice(.trialEnding, ["trial_end": RFC3339.string(end)], about: stated.subject, effectiveAt: end)
        ])
    }

    func pendingUpdateExpired(_ subscription: SubscriptionObject) -> Outcome {
        var stated = stated(subscription)
        guard let product = subscription.product else { return stated.none(.unchanged) }
        stated.subject.facts.append(.nextProduct(Fact.NextProduct(nil)))
        return .events([
            Draft(
                .changeReverted(stated.lineage, product: product, at: created.date),
                .productChangeReverted(
                    LifecycleEvent.ProductChange(
                        to: product,
                        direction: .unknown,
                        timing: .immediate,
                        basis: .store
                    )
                ),
                about: stated.subject
            )
        ])
    }

    func statement(_ subscription: SubscriptionObject, _ reason: Normalization.NoChange.Reason) -> Outcome {
        stated(subscription).none(reason)
    }

    /// A thin event that names one change. Its object shows the present: if it no longer shows the change, the event is
    /// stale, and a later notification reports the present state.
    func subscriptionStep(_ step: Row.Step, _ shown: SubscriptionObject) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        let stated = stated(subscription, begins: step == .began)
        let stale = stated.none(.stale)
        switch step {
        case .began:
            guard subscription.status == .active || subscription.status == .trialing else { return stale }
            // Also sent after recovery and conversion, which the invoice reports.
            guard isInFirstPeriod(subscription), let started = started(stated) else {
                return stated.none(.reportedElsewhere)
            }
            return .events([started])
        case .pastDue:
            guard subscription.status == .pastDue else { return stale }
            return .events([pastDue(stated)])
        case .unpaid:
            guard subscription.status == .unpaid else { return stale }
            return .events([unpaid(stated)])
        case .incompleteExpired:
            guard subscription.status == .incompleteExpired else { return stale }
            return .events([purchaseFailed(stated)])
        case .endChanged:
            if subscription.isEnding { return .events([renewalOff(stated)]) }
            return .events([
                Draft(
                    identity(stated.lineage, "auto_renew", "on", created.wholeSeconds),
                    .autoRenewEnabled,
                    about: stated.subject
                )
            ])
        case .itemsChanged, .quantityChanged, .productSwapped:
            guard let product = subscription.product else { return stale }
            let direction: LifecycleEvent.ProductChange.Direction =
                switch step {
                case .itemsChanged: .addOns
                case .quantityChanged: .quantity
                default: .unknown
                }
            return .events([
                Draft(
                    identity(stated.lineage, "items", notificationName),
                    .productChanged(
                        LifecycleEvent.ProductChange(
                            to: product,
                            direction: direction,
                            timing: .immediate,
                            basis: .store,
                            period: subscription.current?.period
                        )
                    ),
                    about: stated.subject
                )
            ])
        }
    }
}

extension Mapping {
    /// True if the current period is the first one. A fetched subscription may show a later one.
    private func isInFirstPeriod(_ subscription: SubscriptionObject) -> Bool {
        guard occasion.isFetched else { return true }
        guard let start = subscription.current?.start, let began = subscription.startDate else { return false }
        return start <= max(began, subscription.created ?? began)
    }

    /// The current period, which has begun with the subscription.
    func started(_ stated: Stated) -> Draft? {
        stated.subscription.current.flatMap { started(stated, with: $0) }
    }

    func started(_ stated: Stated, with span: SubscriptionObject.Span) -> Draft? {
        guard let product = span.product else { return nil }
        return Draft(
            .periodBegan(stated.lineage, product: product, start: span.start.date),
            .started(LifecycleEvent.Started(origin: .new, phase: stated.phase, period: span.period)),
            about: stated.subject,
            effectiveAt: span.start
        )
    }

    /// The first payment is not there yet, or has failed.
    func pending(_ stated: Stated) -> Draft { pending(stated.subject, of: stated.subscription.id) }

    /// - Parameter subscription: stands for a product that is not known.
    func pending(_ subject: EventSubject, of subscription: String) -> Draft {
        Draft(
            identity(lineage(subscription), "pending"),
            .purchasePending(LifecycleEvent.PurchasePending(product: subject.product?.id ?? ProductID(subscription))),
            about: subject
        )
    }

    func purchaseFailed(_ stated: Stated) -> Draft {
        let product = stated.subject.product?.id ?? ProductID(stated.subscription.id)
        return Draft(
            identity(stated.lineage, "pending", "canceled"),
            .purchasePendingCanceled(LifecycleEvent.PurchasePending(product: product)),
            about: stated.subject
        )
    }

    /// The first failed attempt of a period's invoice makes a subscription past due, so that both words for it are one fact. There is no
    /// attempt if the customer has to confirm it first (`default_incomplete`, https://docs.stripe.com/api/subscriptions/update).
    ///
    /// - Parameter begun: the products that the invoice is for, if it is for a change within a period alone.
    func pastDue(_ stated: Stated, for begun: [PurchasedItem]? = nil) -> Draft {
        let subscription = stated.subscription
        var subject = stated.subject
        if let invoice = subscription.latestInvoice {
            subject.facts = subject.facts.map { fact in
                guard case .billing(var billing) = fact else { return fact }
                billing.charge = Fact.Billing.FailedCharge(
                    transaction: invoice,
                    attempt: 1,
                    changeStart: begun == nil ? nil : created.date,
                    items: begun
                )
                return .billing(billing)
            }
        }
        return Draft(
            billingIssue(stated.lineage, invoice: subscription.latestInvoice?.rawValue ?? "", attempt: 1),
            .billingIssue(
                LifecycleEvent.BillingIssue(
                    access: failedAccess(
                        start: stated.failedAt ?? subscription.latest?.start,
                        end: subscription.latest?.end
                    )
                )
            ),
            about: subject
        )
    }

    /// - Parameter detail: distinguishes what else is said of an attempt than that it failed, and may come second: that the customer
    ///   has to confirm it, or that it was for a change. The first attempt for a change is not the step to `past_due`, which says what
    ///   becomes of access.
    func billingIssue(
        _ lineage: SubscriptionID,
        invoice: String,
        attempt: Int64,
        detail: String? = nil
    ) -> EventID {
        let attempt = String(max(1, attempt))
        return detail.map { identity(lineage, "billing_issue", invoice, attempt, $0) }
            ?? identity(lineage, "billing_issue", invoice, attempt)
    }

    /// The effect of a failed renewal on access, by policy: the current period is the one that was not paid for.
    func failedAccess(start: Milliseconds?, end: Milliseconds?) -> LifecycleEvent.BillingIssue.Access {
        switch policy.pastDue {
        case .suspends:
            return .suspended
        case .keeps:
            return end.map { .grace(until: $0.date) } ?? .suspended
        case .grace(let duration):
            guard let start, let end else { return .suspended }
            let span = SubscriptionObject.Span(start: start, end: end, items: [])
            return graceEnd(of: span, since: nil, duration).map { .grace(until: $0.date) } ?? .suspended
        }
    }

    /// Stripe gave up charging. A payment undoes this end, and the period may end for good later: another fact.
    func unpaid(_ stated: Stated) -> Draft {
        let subscription = stated.subscription
        let start = subscription.latest?.start ?? subscription.startDate ?? created
        return Draft(
            identity(stated.lineage, "unpaid", subscription.latestInvoice?.rawValue ?? "", start.wholeSeconds),
            .expired(LifecycleEvent.Expired(reason: .billing)),
            about: stated.subject
        )
    }

    /// The end of a subscription, which Stripe dates.
    func expired(_ stated: Stated) -> Draft {
        let subscription = stated.subscription
        let (reason, time) = (subscription.expiryReason, subscription.endedAt ?? created)
        let start = subscription.current?.start ?? subscription.startDate ?? time
        return Draft(
            .ended(stated.lineage, periodStart: start.date, reason: reason),
            .expired(
                LifecycleEvent.Expired(
                    reason: reason,
                    feedback: subscription.cancellationFeedback,
                    statedReason: subscription.statedReason
                )
            ),
            about: stated.subject,
            effectiveAt: time
        )
    }
}
