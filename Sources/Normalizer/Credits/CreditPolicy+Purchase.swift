import FoundationEssentials

// Credits that are bought once, and what becomes of them when the money goes back.
extension CreditPolicy {
    func purchased(
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ purchase: LifecycleEvent.OneTimePurchase,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard let product = event.product?.id, let name = event.transaction ?? event.boughtTransaction else {
            return []
        }
        let grants = actions(
            "credits_purchased",
            credits(of: product, purchase).map { .grant($0) },
            for: name,
            at: event.effectiveAt,
            lineage
        )
        return grants + (state.purchases[name].map { withdrawn($0.value, lineage, state) } ?? [])
    }

    /// What was bought is taken back once the whole of it is refunded, whichever of the two was heard of first.
    ///
    /// - Parameter event: the refund that takes it back once more, after one that was undone.
    func withdrawn(
        _ purchase: Fact.OneTimePurchase,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState,
        again event: EventID? = nil
    ) -> [CreditAction] {
        guard let refund = state.refund(of: purchase.transaction)?.value, refund.isWhole(of: purchase) else {
            return []
        }
        let effects = credits(of: purchase.product, purchase.purchase).map {
            CreditAction.Effect.withdraw($0)
        }
        func actions(_ name: FactKind, _ effects: [CreditAction.Effect]) -> [CreditAction] {
            self.actions(name, effects, for: purchase.transaction, at: refund.at, lineage)
        }
        guard let event else { return actions("credits_withdrawn", effects) }
        // The first refund may never have been heard of in time; it is not to take anything any more.
        return actions("credits_withdrawn", effects.map { _ in .withdraw(0) })
            + actions(FactKind(rawValue: "credits_withdrawn \(event)"), effects)
    }

    /// The reversal of a refund that had taken what was bought.
    func regained(
        _ purchase: Fact.OneTimePurchase,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID
    ) -> [CreditAction] {
        let credits = credits(of: purchase.product, purchase.purchase)
        func actions(_ name: FactKind, _ effects: [CreditAction.Effect]) -> [CreditAction] {
            self.actions(name, effects, for: purchase.transaction, at: event.effectiveAt, lineage)
        }
        // A refund that was stated, and is told of late or never, has taken nothing yet; it does so first.
        return actions("credits_withdrawn", credits.map { .withdraw($0) })
            + actions(
                // Of refunds that have names, each can be undone.
                event.provider == .stripe ? FactKind(rawValue: "credits_regained \(event.id)") : "credits_regained",
                credits.map { .grant($0) }
            )
    }

    /// What is done for the first of several, and what for the rest: a relay may know of one only, and what it told of is
    /// not done again when the store tells how many there were.
    private func actions(
        _ name: FactKind,
        _ effects: [CreditAction.Effect],
        for transaction: String,
        at date: Date,
        _ lineage: SubscriptionID
    ) -> [CreditAction] {
        zip(["", "further"], effects).map { discriminator, effect in
            action(name, effect, for: transaction, discriminator, at: date, lineage)
        }
    }

    private func action(
        _ name: FactKind,
        _ effect: CreditAction.Effect,
        for transaction: String,
        _ discriminator: String,
        at date: Date,
        _ lineage: SubscriptionID
    ) -> CreditAction {
        let scope = lineage.scope(of: transaction)
        let id =
            discriminator.isEmpty
            ? EventID(scope, name, transaction) : EventID(scope, name, transaction, discriminator)
        return CreditAction(
            id: id.description,
            effect: effect,
            effectiveAt: date,
            subscription: lineage
        )
    }

    /// The credits of the first, and those of the rest where there is any.
    private func credits(of product: String, _ purchase: LifecycleEvent.OneTimePurchase) -> [Int64] {
        guard let allowance = allowances[product],
            let each = purchase.familyShared ? allowance.familySharedCredits : allowance.credits
        else { return [] }
        guard purchase.quantity > 1 else { return [purchase.quantity == 1 ? each : 0] }
        let (all, overflows) = each.multipliedReportingOverflow(by: purchase.quantity)
        return overflows ? [] : [each, all - each]
    }
}

extension NormalizedEvent {
    /// Whether Google Play told of a purchase, and answered that it was taken back when it was asked: nothing was granted for
    /// it yet that could be withdrawn, unless the same notification was taken before.
    var tellsOfPurchaseTakenBack: Bool {
        guard provider == .google, case .refunded = event else { return false }
        return origin.type == "oneTimeProductNotification" && origin.subtype == "1"
    }

    /// What names the purchase that it tells of where the store made no order for it, as Google Play for a promotion code.
    fileprivate var boughtTransaction: String? {
        for case .purchase(let purchase) in facts { return purchase.transaction }
        return nil
    }
}
