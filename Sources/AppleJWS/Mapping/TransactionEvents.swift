import FoundationEssentials
import LifecycleEvents

extension AppleSnapshot {
    /// The events of a transaction by itself: its period began or its product was bought, and perhaps it was taken
    /// back since.
    var uploadDrafts: [EventDraft] {
        var drafts: [EventDraft] = []
        if !isSubscription {
            drafts.append(oneTimePurchased)
        } else if transaction.isFirst {
            drafts.append(started(isFamilyShared ? .familyShared : .new))
        } else {
            drafts.append(renewed(transaction.transactionReason == .renewal ? .scheduled : .unknown))
        }
        if revokedAt != nil {
            drafts.append(
                isFamilyShared || transaction.revocationType == .familyRevoke ? revoked : refunded(isCurrent: nil)
            )
        }
        return drafts
    }

    private func periodBegan(_ event: LifecycleEvent) -> EventDraft {
        EventDraft(
            id: .periodBegan(lineage, transaction: transactionID, product: productName),
            event: event,
            occurredAt: beganAt
        )
    }

    func started(_ origin: LifecycleEvent.Started.Origin) -> EventDraft {
        periodBegan(.started(.init(origin: origin, phase: phase, period: period, price: price)))
    }

    func renewed(_ cause: LifecycleEvent.Renewed.Cause) -> EventDraft {
        periodBegan(.renewed(.init(cause: cause, phase: phase, period: period, price: price)))
    }

    /// Apple says "upgrade" for a crossgrade of the same duration as well; a catalogue distinguishes them.
    var upgraded: EventDraft {
        periodBegan(
            .productChanged(
                .init(
                    to: productName,
                    direction: .upgrade,
                    timing: .immediate,
                    basis: .store,
                    proration: .refund,
                    period: period
                )
            )
        )
    }

    var oneTimePurchased: EventDraft {
        EventDraft(
            id: .purchased(lineage, transaction: purchaseID, product: productName),
            event: .oneTimePurchased(oneTimePurchase),
            occurredAt: beganAt
        )
    }

    var revoked: EventDraft {
        EventDraft(
            id: .ended(lineage, transaction: purchaseID, product: productName, periodStart: period.start),
            event: .revoked(.init(reason: .familySharingEnded)),
            occurredAt: transaction.revocationDate
        )
    }

    /// - Parameter isCurrent: true if access rests on the refunded transaction; nil if Apple does not say.
    func refunded(isCurrent: Bool?) -> EventDraft {
        let reason: LifecycleEvent.Refund.Reason
        switch transaction.revocationReason {
        case .appIssue?: reason = .appIssue
        case .other?: reason = .other
        default: reason = .unknown
        }
        return EventDraft(
            id: .refunded(lineage, refund: refundName),
            event: .refunded(
                .init(
                    transaction: purchaseID,
                    scope: refundScope,
                    reason: reason,
                    affectsCurrentPeriod: isSubscription ? isCurrent : isKept ? nil : true
                )
            ),
            occurredAt: transaction.revocationDate
        )
    }
}
