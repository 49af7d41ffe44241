import FoundationEssentials
import LifecycleEvents

extension Mapping {
    func revoked(
        _ purchase: PurchaseStatement,
        _ reason: LifecycleEvent.Revocation.Reason,
        endsPeriod endReason: LifecycleEvent.Expired.Reason
    ) -> Outcome {
        guard let lineage = purchase.lineage, let at = purchase.end, let cut = purchase.cut(at: at, endReason) else {
            return .incomplete(purchase.missing(["purchased_at_ms"]))
        }
        return .event(
            EventDraft(id: purchase.endedID(lineage, .unknown), event: .revoked(.init(reason: reason)), occurredAt: at),
            about: subject(
                purchase,
                transaction: purchase.namingTransaction,
                facts: purchase.provisional + cut + purchase.owner
            )
        )
    }

    /// Of a refund the end of the transaction is the moment of the refund, or none: it does not show if a period or a purchase for
    /// good was refunded. Renewal stays as it was.
    func refunded(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let at = purchase.end,
            let transaction = purchase.paidTransaction
        else { return .incomplete(purchase.missing([])) }
        let refund = Fact.RefundState(
            transaction: purchase.chargeName(transaction),
            scope: .full,
            at: at,
            periodStart: event.purchasedAt,
            endsAccess: !purchase.outlivesRefund
        )
        return .event(
            EventDraft(
                id: .refunded(lineage, refund: purchase.paymentName(transaction).rawValue),
                event: .refunded(
                    .init(
                        transaction: transaction,
                        scope: .full,
                        reason: event.cancelReason == .developerInitiated ? .developer : .unknown,
                        // RevenueCat reports no refund of an earlier period.
                        affectsCurrentPeriod: refund.endsAccess ? true : nil
                    )
                ),
                occurredAt: at
            ),
            about: subject(
                purchase,
                transaction: transaction,
                price: purchase.refundedPrice,
                facts: purchase.provisional + [.refund(refund)] + purchase.owner
            )
        )
    }

    func autoRenewOff(
        _ purchase: PurchaseStatement,
        _ reason: LifecycleEvent.AutoRenewDisabled.Reason
    ) -> Outcome {
        guard purchase.lineage != nil, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing([]))
        }
        let terms = RenewalTerms(willRenew: false)
        let isNeverPaid = reason == .billing && isNeverPaid
        // After a failed charge, a past end is the paid one, and another webhook may state grace.
        let isEndOpen = reason == .billing && event.expirationAt.map { $0 <= timestamp } == true
        let accessUntil = isNeverPaid || isEndOpen ? nil : event.expirationAt
        var facts = reason == .billing ? purchase.provisional : purchase.running
        facts.append(.renewalIntent(.init(terms, reason: reason)))
        if isNeverPaid {
            facts += purchase.neverPaid
        } else if reason == .billing {
            facts.append(purchase.failedCharge(at: timestamp, graceUntil: nil))
        }
        return .event(
            EventDraft(
                id: notifiedID(purchase),
                event: .autoRenewDisabled(.init(reason: reason, accessUntil: accessUntil)),
                effectiveAt: accessUntil
            ),
            about: subject(purchase, renewal: terms, facts: facts + purchase.owner)
        )
    }

    func autoRenewOn(_ purchase: PurchaseStatement) -> Outcome {
        guard purchase.lineage != nil, event.timestamp != nil else { return .incomplete(purchase.missing([])) }
        let terms = RenewalTerms(willRenew: true)
        return .event(
            EventDraft(id: notifiedID(purchase), event: .autoRenewEnabled),
            about: subject(
                purchase,
                renewal: terms,
                facts: purchase.running + [.renewalIntent(.init(terms))] + purchase.owner
            )
        )
    }

    func pauseScheduled(_ purchase: PurchaseStatement) -> Outcome {
        guard purchase.lineage != nil, event.timestamp != nil else { return .incomplete(purchase.missing([])) }
        return .event(
            EventDraft(
                id: notifiedID(purchase),
                event: .pauseScheduled(.init(resumesAt: event.autoResumeAt)),
                effectiveAt: event.expirationAt
            ),
            about: subject(
                purchase,
                facts: purchase.running + [.pause(.init(.scheduled, resumesAt: event.autoResumeAt))]
                    + purchase.owner
            )
        )
    }

    // No fact about the pause: the end of the period says that it began, and only its announcement says until when.
    func ended(_ purchase: PurchaseStatement, _ reason: LifecycleEvent.Expired.Reason) -> Outcome {
        guard let lineage = purchase.lineage, let at = purchase.end,
            let cut = purchase.cut(at: at, reason, endsPurchase: reason != .paused)
        else { return .incomplete(purchase.missing(["purchased_at_ms"])) }
        return .event(
            EventDraft(
                id: purchase.endedID(lineage, reason),
                event: reason == .paused
                    ? .paused(.init(resumesAt: event.autoResumeAt)) : .expired(.init(reason: reason)),
                occurredAt: at
            ),
            about: subject(
                purchase,
                transaction: purchase.namingTransaction,
                facts: purchase.provisional + cut
                    + (reason == .paused ? purchase.pauseBegan(at: at) : []) + purchase.owner
            )
        )
    }

    /// The end of the transaction holds the grace period already; Stripe's holds the time in which it tries again.
    func billingIssue(_ purchase: PurchaseStatement) -> Outcome {
        guard purchase.lineage != nil, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing([]))
        }
        let isNeverPaid = isNeverPaid
        let stated = event.gracePeriodExpirationAt ?? (event.store == .stripe ? event.expirationAt : nil)
        let graceUntil = isNeverPaid ? nil : stated.flatMap { $0 > timestamp ? $0 : nil }
        let charge = isNeverPaid ? purchase.neverPaid : [purchase.failedCharge(at: timestamp, graceUntil: graceUntil)]
        return .event(
            EventDraft(
                id: notifiedID(purchase),
                event: .billingIssue(.init(access: graceUntil.map { .grace(until: $0) } ?? .suspended))
            ),
            about: subject(purchase, facts: purchase.provisional + charge + purchase.owner)
        )
    }

    /// True if the charge for the period itself failed, unless RevenueCat answers that access continues.
    private var isNeverPaid: Bool {
        event.failsAsPeriodBegins && notification.answeredSubscription?.givesAccess != true
    }

    func extended(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let complete = purchase.complete, event.timestamp != nil else {
            return .incomplete(purchase.missing)
        }
        let period = ServicePeriod(start: complete.start, end: complete.end)
        return .event(
            EventDraft(
                id: purchase.transactionID.map {
                    .extended(lineage, transaction: $0, product: complete.product, to: complete.end)
                } ?? notifiedID(purchase),
                event: .extended(.init(to: complete.end, reason: .unknown))
            ),
            about: subject(purchase, facts: [.period(purchase.fact(period, complete.product))] + purchase.owner)
        )
    }

    func refundReversed(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let timestamp = event.timestamp,
            let transaction = purchase.paidTransaction
        else { return .incomplete(purchase.missing([])) }
        // The end is the paid one, or still that of the refund; the known period shows which.
        let isOver = event.expirationAt.map { $0 <= timestamp } ?? false
        var facts: [Fact] = []
        if let complete = purchase.complete {
            let period = ServicePeriod(start: complete.start, end: complete.end)
            facts.append(.period(purchase.fact(period, complete.product, isProvisional: isOver)))
        }
        facts.append(
            .refund(
                .init(
                    transaction: purchase.chargeName(transaction),
                    scope: nil,
                    at: timestamp,
                    periodStart: event.purchasedAt,
                    endsAccess: false
                )
            )
        )
        return .event(
            EventDraft(
                id: .refundReversed(lineage, transaction: purchase.paymentName(transaction)),
                event: .refundReversed(.init(transaction: transaction))
            ),
            about: subject(purchase, transaction: transaction, facts: facts + purchase.owner),
            statement: statementOfPurchase(purchase)
        )
    }

    func priceConsent(
        _ purchase: PurchaseStatement,
        _ stage: LifecycleEvent.PriceChange.Stage
    ) -> Outcome {
        guard purchase.lineage != nil else { return .incomplete(purchase.missing([])) }
        let change = LifecycleEvent.PriceChange(stage: stage, consentRequired: stage == .pending)
        return .event(
            EventDraft(id: notifiedID(purchase), event: .priceChange(change)),
            about: subject(purchase, facts: [.priceChange(.init(change))] + purchase.owner)
        )
    }
}
