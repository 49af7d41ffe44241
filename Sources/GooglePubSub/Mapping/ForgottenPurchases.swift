import FoundationEssentials
import LifecycleEvents

// Voided purchases of which Google shows no more: it has forgotten them, or does not know them.
extension ResolutionMapping {
    /// The purchase is not kept any more: that money of an order went back, the notification says. Orders outlive purchases, and
    /// state what they paid for.
    func voidedUnanswered(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        _ answer: PlayAnswer
    ) throws(DeliveryError) -> Normalization {
        try unanswered(answer, token: hint.purchaseToken) { lineage in
            guard hint.refundType == .full else {
                return [LineageDraft(lineage, drafts: [unmapped(hint, of: lineage)], subject: EventSubject())]
            }
            return hint.productType == .oneTime
                ? forgottenProducts(hint, lineage) : [forgottenSubscription(hint, lineage, by: answer)]
        }
    }

    /// The events of an order that does not say how much went back: none if nothing has.
    private func withoutScope(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        of lineage: SubscriptionID
    ) -> [EventDraft] {
        voidedOrder(hint)?.isPaidInFull == true ? [] : [unmapped(hint, of: lineage)]
    }

    /// An order of a subscription may have paid for any of its periods.
    private func forgottenSubscription(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        _ lineage: SubscriptionID,
        by answer: PlayAnswer
    ) -> LineageDraft {
        let order = voidedOrder(hint)
        guard let scope = scope(of: order) else {
            let subject = EventSubject(facts: [closure(of: answer)])
            return LineageDraft(lineage, drafts: withoutScope(hint, of: lineage), subject: subject)
        }
        let draft = moneyBack(
            lineage: lineage,
            transaction: hint.transaction,
            // It distinguishes the first order.
            periodStart: order?.periodStart,
            scope: scope,
            amount: order?.refunded,
            order: order,
            row: voidedRow(hint),
            affectsCurrentPeriod: nil
        )
        let refund = forgottenRefund(hint.transaction, of: order, scope: scope, endsAccess: false)
        let facts = [refund, closure(of: answer)]
        return LineageDraft(lineage, drafts: [draft], subject: EventSubject(facts: facts))
    }

    /// A purchase of one-time products ends with its refund. Without the order its products have no names here, and the state, which
    /// knows them, takes the refund for one of them all.
    private func forgottenProducts(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        _ lineage: SubscriptionID
    ) -> [LineageDraft] {
        let order = voidedOrder(hint)
        var lines = PlayAddOns.inOrder(order?.lineItems ?? []) { ($0.productID, $0.purchaseOptionID) }
        // Which of several products a part was paid for, an order does not say.
        guard let scope = scope(of: order), scope == .full || lines.count < 2 else {
            return withoutScope(hint, of: lineage)
                .map { LineageDraft(lineage, drafts: [$0], subject: EventSubject()) }
        }
        if lines.count > Limits.lineItems { lines = [] }
        let products = lines.map(\.productID)
        let refunded = lines.isEmpty ? [nil] : lines.map(Optional.some)
        let amounts = order?.refunded(of: refunded.map { ($0, scope == .full) })
        return refunded.indices.map { index in
            let transaction = hint.transaction.payment(for: index, of: products)
            let draft = moneyBack(
                lineage: lineage,
                transaction: transaction,
                scope: scope,
                amount: amounts?[index],
                order: order,
                row: voidedRow(hint),
                affectsCurrentPeriod: nil
            )
            let refund = forgottenRefund(transaction, of: order, scope: scope, endsAccess: scope == .full)
            return LineageDraft(lineage, drafts: [draft], subject: EventSubject(facts: [refund]))
        }
    }

    private func forgottenRefund(
        _ transaction: TransactionID,
        of order: PlayOrder?,
        scope: LifecycleEvent.Refund.Scope,
        endsAccess: Bool
    ) -> Fact {
        .refund(
            Fact.RefundState(
                transaction: transaction,
                scope: scope,
                at: order?.refund?.time ?? eventTime,
                periodStart: nil,
                endsAccess: endsAccess
            )
        )
    }
}
