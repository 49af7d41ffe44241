import LifecycleEvents
import WireJSON

extension Mapping {
    /// The subscription with all its items, any of which can be the one that stands for all; nil where some are missing.
    func completed(_ subscription: SubscriptionObject) -> SubscriptionObject? {
        guard subscription.hasMoreItems else { return subscription }
        let addOns = policy.addOnProducts
        guard let items = ListPages(itemsFor: notification, addOns: addOns).all, !items.isEmpty,
            let subject = notification.subject
        else { return nil }
        return try? SubscriptionObject(subject, items: items, addOns: addOns)
    }

    func subscriptionCreated(_ shown: SubscriptionObject) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        let subject = subject(subscription)
        guard let lineage = subject.lineage else { return .none(.unchanged) }
        switch subscription.status {
        case .active, .trialing:
            guard let started = started(subscription, subject, lineage) else { break }
            return .events([started])
        case .incomplete:
            return .events([pending(subject, lineage, subscription.id)])
        default:
            break
        }
        return .none(.reportedElsewhere, lineage: lineage, facts: subject.facts)
    }

    func subscriptionDeleted(_ subscription: SubscriptionObject) -> Outcome {
        let subject = subject(subscription)
        guard let lineage = subject.lineage else { return .none(.unchanged) }
        switch subscription.status {
        case .incompleteExpired, .incomplete:
            return .events([purchaseFailed(subject, lineage, subscription.id)])
        case .canceled:
            let end = subscription.endedAt ?? created
            return .events([expired(subscription.expiryReason, at: end, subscription, subject, lineage)])
        default:
            // Fetched, and alive again: ids are not used twice, so the event is not about what we were shown.
            return .none(.stale, lineage: lineage, facts: subject.facts)
        }
    }

    func subscriptionPaused(_ subscription: SubscriptionObject) -> Outcome {
        let subject = subject(subscription)
        guard let lineage = subject.lineage else { return .none(.unchanged) }
        guard subscription.status == .paused else {
            return .none(.stale, lineage: lineage, facts: subject.facts)
        }
        let since = pauseTime(subscription)
        return .events([
            event(
                identity(lineage, "paused", since.wholeSeconds),
                .paused(LifecycleEvent.Pause(reason: subscription.pauseReason)),
                subject,
                effectiveAt: since
            )
        ])
    }

    func subscriptionResumed(_ shown: SubscriptionObject) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        let subject = subject(subscription)
        guard let lineage = subject.lineage else { return .none(.unchanged) }
        guard subscription.status == .active || subscription.status == .trialing,
            let start = subscription.current?.start
        else { return .none(.stale, lineage: lineage, facts: subject.facts) }
        // Where a test clock stands nothing tells. Unless it is asked for otherwise, a period begins.
        let beganNow = subscription.hasTestClock || start >= created - 60_000
        guard let resumed = resumption(subscription, subject, lineage, beganNow: beganNow) else {
            return .none(.stale, lineage: lineage, facts: subject.facts)
        }
        return .events([resumed])
    }

    /// A resumption that began a period is that period; one within a period is a fact of its own.
    func resumption(
        _ subscription: SubscriptionObject,
        _ subject: Subject,
        _ lineage: SubscriptionID,
        beganNow: Bool
    ) -> NormalizedEvent? {
        guard let span = subscription.current, let product = span.product else { return nil }
        return event(
            beganNow
                ? .periodBegan(lineage, product: product, start: span.start.date)
                : identity(lineage, "resumed", created.wholeSeconds),
            .renewed(
                LifecycleEvent.Renewed(cause: .resumption, phase: subscription.phase, period: span.period)
            ),
            subject,
            effectiveAt: beganNow ? span.start : created
        )
    }

    func trialWillEnd(_ subscription: SubscriptionObject) -> Outcome {
        let subject = subject(subscription)
        guard let end = subscription.trialEnd,
            subscription.hasTestClock ? subscription.status == .trialing : end > created
        else {
            return .none(.unchanged, lineage: subject.lineage, facts: subject.facts)
        }
        return .events([
            notice(.trialEnding, ["trial_end": RFC3339.string(end)], subject, effectiveAt: end)
        ])
    }

    func pendingUpdateExpired(_ subscription: SubscriptionObject) -> Outcome {
        var subject = subject(subscription)
        guard let lineage = subject.lineage, let product = subscription.product else {
            return .none(.unchanged, lineage: subject.lineage, facts: subject.facts)
        }
        subject.facts.append(.nextProduct(Fact.NextProduct(nil)))
        return .events([
            event(
                .changeReverted(lineage, product: product, at: created.date),
                .productChangeReverted(
                    LifecycleEvent.ProductChange(
                        to: product,
                        direction: .unknown,
                        timing: .immediate,
                        basis: .store
                    )
                ),
                subject
            )
        ])
    }

    func statement(_ subscription: SubscriptionObject, _ reason: Normalization.NoChange.Reason) -> Outcome {
        .none(reason, lineage: lineage(subscription.id), facts: subject(subscription).facts)
    }

    /// A thin event that names one change. The object is as it is now: where it does not show the change any more, the
    /// event is stale, and what followed it will be told as well.
    func subscriptionTold(_ told: Row.Told, _ shown: SubscriptionObject) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        let subject = subject(subscription)
        guard let lineage = subject.lineage else { return .none(.unchanged) }
        let stale = Outcome.none(.stale, lineage: lineage, facts: subject.facts)
        switch told {
        case .began:
            guard subscription.status == .active || subscription.status == .trialing else { return stale }
            // Also sent after recovery and conversion, which the invoice tells of.
            guard let span = subscription.current, let began = subscription.startDate, span.start <= began,
                let started = started(subscription, subject, lineage)
            else { return .none(.reportedElsewhere, lineage: lineage, facts: subject.facts) }
            return .events([started])
        case .pastDue:
            guard subscription.status == .pastDue else { return stale }
            return .events([pastDue(subscription, subject, lineage)])
        case .unpaid:
            guard subscription.status == .unpaid else { return stale }
            return .events([unpaid(subscription, subject, lineage)])
        case .incompleteExpired:
            guard subscription.status == .incompleteExpired else { return stale }
            return .events([purchaseFailed(subject, lineage, subscription.id)])
        case .endChanged:
            if subscription.isEnding { return .events([renewalOff(subscription, subject, lineage)]) }
            return .events([
                event(identity(lineage, "auto_renew", "on", created.wholeSeconds), .autoRenewEnabled, subject)
            ])
        case .itemsChanged, .quantityChanged, .productSwapped:
            guard let product = subscription.product else { return stale }
            let direction: LifecycleEvent.ProductChange.Direction =
                switch told {
                case .itemsChanged: .addOns
                case .quantityChanged: .quantity
                default: .unknown
                }
            return .events([
                event(
                    identity(lineage, "items", notificationName),
                    .productChanged(
                        LifecycleEvent.ProductChange(
                            to: product,
                            direction: direction,
                            timing: .immediate,
                            basis: .store,
                            period: subscription.current?.period
                        )
                    ),
                    subject
                )
            ])
        }
    }
}

extension Mapping {
    func started(
        _ subscription: SubscriptionObject,
        _ subject: Subject,
        _ lineage: SubscriptionID
    ) -> NormalizedEvent? {
        subscription.current.flatMap { started($0, of: subscription, subject, lineage) }
    }

    func started(
        _ span: SubscriptionObject.Span,
        of subscription: SubscriptionObject,
        _ subject: Subject,
        _ lineage: SubscriptionID
    ) -> NormalizedEvent? {
        guard let product = span.product else { return nil }
        return event(
            .periodBegan(lineage, product: product, start: span.start.date),
            .started(LifecycleEvent.Started(origin: .new, phase: subscription.phase, period: span.period)),
            subject,
            effectiveAt: span.start
        )
    }

    /// The first payment is not there yet, or has failed.
    func pending(_ subject: Subject, _ lineage: SubscriptionID, _ subscription: String) -> NormalizedEvent {
        event(
            identity(lineage, "pending"),
            .purchasePending(LifecycleEvent.PurchasePending(product: subject.product?.id ?? subscription)),
            subject
        )
    }

    func purchaseFailed(_ subject: Subject, _ lineage: SubscriptionID, _ subscription: String) -> NormalizedEvent {
        event(
            identity(lineage, "pending", "canceled"),
            .purchasePendingCanceled(LifecycleEvent.PurchasePending(product: subject.product?.id ?? subscription)),
            subject
        )
    }

    /// The first failed attempt of an invoice makes a subscription past due, so that both words for it are one fact.
    func pastDue(
        _ subscription: SubscriptionObject,
        _ subject: Subject,
        _ lineage: SubscriptionID
    ) -> NormalizedEvent {
        var subject = subject
        if let invoice = subscription.latestInvoice {
            subject.facts = subject.facts.map { fact in
                guard case .billing(var billing) = fact else { return fact }
                billing.charge = Fact.Billing.FailedCharge(transaction: invoice, attempt: 1)
                return .billing(billing)
            }
        }
        return event(
            billingIssue(lineage, invoice: subscription.latestInvoice ?? "", attempt: 1),
            .billingIssue(
                LifecycleEvent.BillingIssue(
                    access: failedAccess(start: subscription.current?.start, end: subscription.periodEnd)
                )
            ),
            subject
        )
    }

    /// That the customer has to confirm an attempt is more than that it failed, and may come second.
    func billingIssue(
        _ lineage: SubscriptionID,
        invoice: String,
        attempt: Int64,
        actionRequired: Bool = false
    ) -> EventID {
        let attempt = String(max(1, attempt))
        return actionRequired
            ? identity(lineage, "billing_issue", invoice, attempt, "action_required")
            : identity(lineage, "billing_issue", invoice, attempt)
    }

    /// What a failed renewal does to access, by policy: the period that it did not pay for is the current one.
    func failedAccess(start: Milliseconds?, end: Milliseconds?) -> LifecycleEvent.BillingIssue.Access {
        switch policy.pastDue {
        case .suspends:
            return .suspended
        case .keeps:
            return end.map { .grace(until: $0.date) } ?? .suspended
        case .grace(let duration):
            guard let start, let end else { return .suspended }
            let span = SubscriptionObject.Span(start: start, end: end, items: [])
            return graceEnd(of: span, duration).map { .grace(until: $0.date) } ?? .suspended
        }
    }

    /// Stripe gave up charging. A payment undoes this end, and the period may end for good later: another fact.
    func unpaid(
        _ subscription: SubscriptionObject,
        _ subject: Subject,
        _ lineage: SubscriptionID
    ) -> NormalizedEvent {
        let start = subscription.current?.start ?? subscription.startDate ?? created
        return event(
            identity(lineage, "unpaid", subscription.latestInvoice ?? "", start.wholeSeconds),
            .expired(LifecycleEvent.Expired(reason: .billing)),
            subject
        )
    }

    func expired(
        _ reason: LifecycleEvent.Expired.Reason,
        at time: Milliseconds,
        _ subscription: SubscriptionObject,
        _ subject: Subject,
        _ lineage: SubscriptionID
    ) -> NormalizedEvent {
        let start = subscription.current?.start ?? subscription.startDate ?? time
        return event(
            .ended(lineage, periodStart: start.date, reason: reason),
            .expired(LifecycleEvent.Expired(reason: reason, feedback: subscription.cancellationFeedback)),
            subject,
            effectiveAt: time
        )
    }
}
