import FoundationEssentials
import LifecycleEvents

extension Mapping {
    /// Only for Play does the body show when a change takes effect. A deferred change names the new product. An
    /// immediate change does not (https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields,
    /// `new_product_id`), since the new purchase names it. At other stores a change is pending until a period of the new
    /// product begins.
    ///
    /// On Play the new product is a purchase under another name, which replaces this one. If the product is named, its purchase
    /// may begin at once, too.
    func productChange(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let from = purchase.productName, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing(["product_id"]))
        }
        let periodEnd = event.expirationAt.flatMap { $0 > timestamp ? $0 : nil }
        let facts = purchase.provisional + purchase.owner
        guard let to = event.newProductID.map(ProductID.init) else {
            if event.store == .playStore {
                return .event(
                    EventDraft(
                        id: notifiedID(purchase),
                        event: .notice(.init(.productChange, facts: ["from": from.rawValue]))
                    ),
                    about: subject(purchase, facts: facts + [.succession(.init(at: timestamp, from: from))])
                )
            }
            guard let snapshot = notification.answeredSubscription else {
                return .noChange(.needsLookup, facts: facts)
            }
            guard let pending = snapshot.pendingProduct else {
                return .noChange(.unchanged, facts: facts + (snapshot.keepsProduct ? [.nextProduct(.init(nil))] : []))
            }
            return scheduled(
                purchase,
                lineage,
                from: from,
                to: ProductID(pending),
                at: snapshot.period?.end ?? periodEnd,
                basis: .store,
                facts: facts
            )
        }
        guard from != to else {
            return .event(
                EventDraft(
                    id: notifiedID(purchase),
                    event: .productChangeReverted(
                        .init(to: to, direction: .unknown, timing: .atPeriodEnd(periodEnd), basis: .store)
                    )
                ),
                about: subject(purchase, facts: purchase.provisional + [.nextProduct(.init(nil))] + purchase.owner)
            )
        }
        guard event.store == .playStore else {
            return scheduled(purchase, lineage, from: from, to: to, at: periodEnd, basis: .inferred, facts: facts)
        }
        let successions = [timestamp, periodEnd].compactMap(\.self).map { moment in
            Fact.succession(.init(at: moment, from: from, to: to))
        }
        return scheduled(
            purchase,
            lineage,
            from: from,
            to: to,
            at: periodEnd,
            basis: .store,
            facts: facts + successions
        )
    }

    private func scheduled(
        _ purchase: PurchaseStatement,
        _ lineage: SubscriptionID,
        from: ProductID,
        to: ProductID,
        at date: Date?,
        basis: LifecycleEvent.ProductChange.Basis,
        facts: [Fact]
    ) -> Outcome {
        .event(
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
                )
            ),
            about: subject(purchase, facts: facts + [.nextProduct(.init(to))])
        )
    }
}
