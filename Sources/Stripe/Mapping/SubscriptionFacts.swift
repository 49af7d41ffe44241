import FoundationEssentials
import Normalizer

extension SubscriptionObject.Span {
    var period: ServicePeriod { ServicePeriod(start: start.date, end: end.date) }

    var purchased: PurchasedProduct? {
        primary.map { PurchasedProduct(id: $0.price.productID, basePlan: $0.price.id, quantity: $0.quantity) }
    }
}

extension SubscriptionObject {
    /// The terms that the current period is used under.
    var phase: Phase {
        if status == .trialing { return .trial }
        return current?.primary?.trialEnd == nil ? .regular : .introductory
    }

    /// What will happen at the end of the period.
    var terms: RenewalTerms {
        let willRenew =
            !isEnding && collectionPause == nil && endedAt == nil
            && (status == .trialing || status == .active || status == .pastDue)
        return RenewalTerms(willRenew: willRenew, renewsAt: willRenew ? periodEnd?.date : nil)
    }

    /// Who ended it, or will: Stripe does not tell a customer's request from a merchant's, and an end that is arranged
    /// on the subscription was requested by one of them, also where versions before 2022-11-15 do not say so.
    var endReason: LifecycleEvent.AutoRenewDisabled.Reason {
        switch cancellationReason {
        case "cancellation_requested": .customer
        case "payment_failed", "payment_disputed": .billing
        case "canceled_by_retention_policy": .store
        case nil: isEnding ? .customer : .unknown
        default: .unknown
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
    func subject(_ subscription: SubscriptionObject) -> Subject {
        let span = subscription.current
        return Subject(
            lineage: lineage(subscription.id),
            transaction: subscription.latestInvoice,
            account: account(customer: subscription.customer, metadata: subscription.metadata),
            product: span?.purchased
                ?? subscription.items.primary.map {
                    PurchasedProduct(id: $0.price.productID, basePlan: $0.price.id, quantity: $0.quantity)
                },
            period: span?.period,
            renewal: subscription.terms,
            facts: facts(subscription)
        )
    }

    /// What a snapshot of a subscription asserts, whatever event it came with.
    func facts(_ subscription: SubscriptionObject) -> [Fact] {
        var facts: [Fact] = []
        if let account = account(customer: subscription.customer, metadata: subscription.metadata) {
            facts.append(.owner(account))
        }
        switch subscription.status {
        case .incomplete, .incompleteExpired:
            // Never had access, and has nothing to renew.
            return facts
        case .trialing, .active, .pastDue, .unpaid, .paused, .canceled:
            break
        default:
            // A status of tomorrow grants nothing anew and takes nothing away.
            return facts
        }
        facts += accessFacts(subscription)
        let terms = subscription.terms
        let isStated = subscription.isEnding || subscription.cancellationReason != nil
        facts.append(
            .renewalIntent(
                Fact.RenewalIntent(terms, reason: terms.willRenew || !isStated ? nil : subscription.endReason)
            )
        )
        return facts
    }

    private func accessFacts(_ subscription: SubscriptionObject) -> [Fact] {
        let spans = subscription.spans
        func periods(isProvisional: Bool = false) -> [Fact] {
            spans.compactMap { span in
                span.product.map {
                    .period(
                        // No transaction: a period that is upgraded half-way has two, and stays one period.
                        Fact.Period(
                            span.period,
                            product: $0,
                            phase: subscription.phase,
                            transaction: nil,
                            isProvisional: isProvisional
                        )
                    )
                }
            }
        }
        func ends(at time: Milliseconds?, _ reason: LifecycleEvent.Expired.Reason) -> [Fact] {
            spans.map {
                .periodEnded(
                    Fact.PeriodEnd(start: $0.start.date, transaction: nil, at: (time ?? $0.start).date, reason: reason)
                )
            }
        }
        switch subscription.status {
        case .trialing, .active:
            let billing = Fact.billing(Fact.Billing(.settled))
            guard let pause = subscription.collectionPause, policy.collectionPause == .pauses else {
                // A schedule may hold a pause to come, which it tells of itself.
                let pause: [Fact] = subscription.schedule == nil ? [.pause(Fact.PauseState(.none))] : []
                return periods() + [billing] + pause
            }
            return periods() + ends(at: created, .paused)
                + [billing, .pause(Fact.PauseState(.paused, resumesAt: pause.resumesAt?.date))]
        case .pastDue:
            // The current period is the one that is not paid.
            switch policy.pastDue {
            case .keeps:
                return periods() + [.billing(Fact.Billing(.grace, graceUntil: subscription.periodEnd?.date))]
            case .grace(let duration):
                let until = graceEnd(of: subscription.current, duration)
                return periods() + ends(at: until, .billing)
                    + [.billing(Fact.Billing(.grace, graceUntil: until?.date))]
            case .suspends:
                return periods() + ends(at: nil, .billing) + [.billing(Fact.Billing(.suspended))]
            }
        case .unpaid:
            return periods() + ends(at: nil, .billing) + [.billing(Fact.Billing(.suspended))]
        case .paused:
            return periods() + ends(at: pauseTime(subscription), .paused) + [.pause(Fact.PauseState(.paused))]
        case .canceled:
            return periods() + ends(at: subscription.endedAt ?? created, subscription.expiryReason)
        default:
            return []
        }
    }

    func graceEnd(of span: SubscriptionObject.Span?, _ duration: Duration) -> Milliseconds? {
        span.map {
            let (end, overflows) = $0.start.addingReportingOverflow(max(0, duration.milliseconds))
            return overflows ? $0.end : min($0.end, end)
        }
    }

    func pauseTime(_ subscription: SubscriptionObject) -> Milliseconds {
        subscription.pausedAt ?? subscription.trialEnd.flatMap { $0 <= created ? $0 : nil } ?? created
    }
}
