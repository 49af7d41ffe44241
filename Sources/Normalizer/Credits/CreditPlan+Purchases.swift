import FoundationEssentials

extension CreditPlan {
    /// A one-time purchase gives its credits until they are used.
    mutating func addPurchases(
        of state: SubscriptionState,
        at index: Int,
        under policy: CreditPolicy,
        until horizon: Int64
    ) {
        for name in state.purchases.keys.sorted() {
            guard let entry = state.purchases[name], let lineage = state.lineages.first,
                let allowance = policy.allowance(of: entry.value.product, in: lineage.store)
            else { continue }
            let purchase = entry.value
            let each = purchase.purchase.familyShared ? allowance.familySharedCredits : allowance.credits
            guard let each, purchase.at.millisecondsSince1970 <= horizon, purchase.purchase.quantity > 0 else {
                continue
            }
            let (credits, overflows) = each.multipliedReportingOverflow(by: purchase.purchase.quantity)
            guard !overflows else { continue }
            let id = CreditGrant.ID(
                rawValue: EventID("credits_purchased", in: lineage.scope(of: name), name.rawValue).description
            )
            let isRestored = state.refund(of: name).map { $0.value.scope == nil } ?? false
            grants.append(
                Grant(
                    id: id,
                    state: index,
                    product: purchase.product,
                    credits: credits,
                    from: purchase.at.millisecondsSince1970,
                    until: .max,
                    reason: isRestored ? .restored : .oneTime,
                    payment: payments.count
                )
            )
            payments.append(Payment(name: id.rawValue))
            for (at, fraction) in lost(purchase, entry.by, in: state) {
                takings.append(Taking(payment: payments.count - 1, at: at, fraction: fraction))
            }
        }
    }

    /// The part of a purchase that was refunded, or is not shared any more.
    private func lost(
        _ purchase: Fact.OneTimePurchase,
        _ statement: Citation,
        in state: SubscriptionState
    ) -> [(Int64, ExactFraction)] {
        var lost: [(Int64, ExactFraction)] = []
        if let refund = state.refund(of: purchase.transaction)?.value {
            let charge = state.paid(with: purchase)
            let quantity = purchase.purchase.quantity
            let share = Self.fraction(refund, of: purchase.product, charge: charge, quantity: quantity)
            if let share { lost.append((refund.at.millisecondsSince1970, share)) }
        }
        if let revoked = state.revocation(of: purchase, statedBy: statement) {
            lost.append((revoked.value.at.millisecondsSince1970, .whole))
        }
        return lost
    }
}
