import FoundationEssentials

// Credits that are bought once, and what becomes of them when the money goes back.
extension CreditPolicy {
    func purchased(
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ purchase: LifecycleEvent.OneTimePurchase,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard let product = event.product?.id, let name = event.transaction,
            let credits = credits(of: product, quantity: purchase.quantity)
        else { return [] }
        let grant = action("credits_purchased", .grant(credits), for: name, at: event.effectiveAt, lineage)
        return [grant] + (state.purchases[name].map { withdrawn($0.value, lineage, state) } ?? [])
    }

    /// What was bought is taken back once the whole of it is refunded, whichever of the two was heard of first.
    func withdrawn(
        _ purchase: Fact.OneTimePurchase,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard let refund = state.refunds[purchase.transaction]?.value, refund.isWhole(of: purchase),
            let credits = credits(of: purchase.product, quantity: purchase.purchase.quantity)
        else { return [] }
        return [action("credits_withdrawn", .withdraw(credits), for: purchase.transaction, at: refund.at, lineage)]
    }

    /// The reversal of a refund that had taken what was bought.
    func regained(
        _ purchase: Fact.OneTimePurchase,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID
    ) -> [CreditAction] {
        guard let credits = credits(of: purchase.product, quantity: purchase.purchase.quantity) else { return [] }
        return [action("credits_regained", .grant(credits), for: purchase.transaction, at: event.effectiveAt, lineage)]
    }

    private func action(
        _ name: FactKind,
        _ effect: CreditAction.Effect,
        for transaction: String,
        at date: Date,
        _ lineage: SubscriptionID
    ) -> CreditAction {
        CreditAction(
            id: EventID(lineage.scope(of: transaction), name, transaction).description,
            effect: effect,
            effectiveAt: date,
            subscription: lineage
        )
    }

    private func credits(of product: String, quantity: Int64) -> Int64? {
        guard let allowance = allowances[product] else { return nil }
        let (credits, overflows) = allowance.credits.multipliedReportingOverflow(by: max(quantity, 0))
        return overflows ? nil : credits
    }
}
