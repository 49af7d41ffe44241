extension AccountLedger {
    /// A customer who comes back to a subscription: where the store makes a new purchase of it, only the account's other purchases
    /// show that.
    ///
    /// The product is the same, the same but for its base plan, or of the same group of the catalogue; nothing of it runs.
    func refineReturn(_ applied: inout AppliedEvent, catalog: ProductCatalog?) {
        let event = applied.event
        guard case .started(var started) = event.event, started.origin == .new, event.store.rules.renamesOnReturn,
            let lineage = event.subscription, let own = self[lineage],
            let product = PeriodTimeline(own).periods.first?.fact.product
        else { return }
        let start = started.period.startMilliseconds
        let before = states(of: ownership(of: own).accounts, in: event.environment)
            .filter { $0.subscription != own.subscription && $0.subscription.store == lineage.store }
            .flatMap { PeriodTimeline($0).periods }
            .filter { $0.start < start && $0.accessEnd > $0.start && $0.fact.isOf(product, in: catalog) }
        guard !before.isEmpty, before.allSatisfy({ $0.accessEnd <= start }) else { return }
        started.origin = .resubscribed
        applied.event.event = .started(started)
    }
}

extension StoreStatement {
    /// True if it may show that a customer comes back to an earlier product under another name: it is the first of a
    /// period.
    ///
    /// - Parameter known: the earlier knowledge of the purchase.
    package func mayShowReturn(of known: SubscriptionState?) -> Bool {
        guard subscription.store.rules.renamesOnReturn, known?.periods.isEmpty ?? true else { return false }
        return facts.contains { $0.kind == .period }
    }
}

extension Fact.Period {
    /// True for another's plan, and for a product of one group with it.
    fileprivate func isOf(_ other: ProductID, in catalog: ProductCatalog?) -> Bool {
        if product.isOfSubscription(of: other) { return true }
        guard let group = catalog?[product]?.group else { return false }
        return group == catalog?[other]?.group
    }
}
