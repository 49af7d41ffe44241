import FoundationEssentials
import LifecycleEvents

extension Mapping {
    /// Whether a change takes effect at once or at the end of the period, only Play's bodies tell: a deferred one names
    /// the new product, an immediate one does not, for its purchase does. Elsewhere it is pending until a period of
    /// the new product begins.
    func productChange(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let from = event.productID, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing(["product_id"]))
        }
        let periodEnd = event.expirationAt.flatMap { $0 > timestamp ? $0 : nil }
        let facts = purchase.provisional + purchase.owner
        guard let to = event.newProductID else {
            if event.store == .playStore { return .noChange(.reportedElsewhere, facts: facts) }
            guard let snapshot = notification.answeredSubscription else {
                return .noChange(.needsLookup, facts: facts)
            }
            guard let pending = snapshot.pendingProduct else { return .noChange(.unchanged, facts: facts) }
            return scheduled(lineage, from, pending, snapshot.period?.end ?? periodEnd, .store, facts)
        }
        guard from != to else {
            return .events([
                EventDraft(
                    id: notifiedID(purchase),
                    event: .productChangeReverted(
                        .init(to: to, direction: .unknown, timing: .atPeriodEnd(periodEnd), basis: .store)
                    ),
                    facts: purchase.provisional + [.nextProduct(.init(nil))] + purchase.owner
                )
            ])
        }
        let basis: LifecycleEvent.ProductChange.Basis = event.store == .playStore ? .store : .inferred
        return scheduled(lineage, from, to, periodEnd, basis, facts)
    }

    private func scheduled(
        _ lineage: SubscriptionID,
        _ from: String,
        _ to: String,
        _ date: Date?,
        _ basis: LifecycleEvent.ProductChange.Basis,
        _ facts: [Fact]
    ) -> Outcome {
        .events([
            EventDraft(
                id: .changeScheduled(lineage, from: from, to: to, at: date),
                event: .productChangeScheduled(
                    .init(
                        from: from,
                        to: to,
                        direction: .unknown,
                        timing: .atPeriodEnd(basis == .store ? date : nil),
                        basis: basis
                    )
                ),
                facts: facts + [.nextProduct(.init(to))]
            )
        ])
    }
}
