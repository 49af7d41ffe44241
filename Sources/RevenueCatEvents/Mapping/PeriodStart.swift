import FoundationEssentials
import LifecycleEvents

extension Mapping {
    func started(_ purchase: PurchaseStatement) -> Outcome {
        began(purchase) { period, price in
            .started(
                .init(
                    origin: event.isFamilyShare ? .familyShared : .new,
                    phase: purchase.phase,
                    period: period,
                    price: price
                )
            )
        }
    }

    /// Only the state knows the cause of another period, except for a conversion.
    func renewed(_ purchase: PurchaseStatement) -> Outcome {
        began(purchase) { period, price in
            .renewed(
                .init(
                    cause: event.isTrialConversion ? .trialConversion : .unknown,
                    phase: purchase.phase,
                    period: period,
                    price: price
                )
            )
        }
    }

    private func began(
        _ purchase: PurchaseStatement,
        _ event: (ServicePeriod, Price?) -> LifecycleEvent
    ) -> Outcome {
        guard let complete = purchase.complete, self.event.timestamp != nil else {
            return .incomplete(purchase.missing)
        }
        let period = ServicePeriod(start: complete.start, end: complete.end)
        let price = purchase.price
        let terms = RenewalTerms(willRenew: purchase.phase != .prepaid)
        var facts: [Fact] = []
        facts.reserveCapacity(6)
        facts.append(.period(purchase.fact(period, complete.product)))
        if let price, price.role == .charged, let transaction = purchase.transactionID {
            let isNamed = purchase.periodTransaction != nil
            let charge = Fact.Charge(
                transaction: isNamed ? transaction : purchase.chargeName(transaction),
                price: price,
                at: purchase.effect(of: complete.start),
                periodStart: isNamed ? nil : complete.start,
                items: purchase.store == .stripe ? [PurchasedItem(product: complete.product)] : nil
            )
            facts.append(.charge(charge))
        }
        if let transaction = purchase.periodTransaction { facts += purchase.laterName(of: transaction) }
        facts.append(.renewalIntent(.init(terms)))
        facts.append(.billing(.init(.settled, periodStart: complete.start)))
        facts.append(.pause(.init(.none)))
        if let account = purchase.account { facts.append(.owner(account)) }
        return .event(
            EventDraft(
                id: purchase.periodBeganID(complete),
                event: event(period, price),
                effectiveAt: purchase.effect(of: complete.start)
            ),
            about: subject(purchase, price: price, renewal: terms, facts: facts)
        )
    }

    /// RevenueCat's own word decides; without it nothing is granted. While a charge is outstanding it may still give access, and then the
    /// period has that and no more.
    func unpaidRenewal(_ purchase: PurchaseStatement) -> Outcome {
        guard let snapshot = notification.answeredSubscription else {
            return .noChange(.needsLookup, facts: purchase.owner)
        }
        if snapshot.givesAccess == true, !snapshot.isUnpaid { return renewed(purchase) }
        return .noChange(
            .stale,
            facts: snapshot.facts(product: purchase.productName, at: receivedAt) + purchase.owner
        )
    }

    func granted(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let start = event.purchasedAt, let product = purchase.productName,
            event.timestamp != nil
        else { return .incomplete(purchase.missing(["purchased_at_ms", "product_id"])) }
        let period = ServicePeriod(start: start, end: event.expirationAt)
        let terms = RenewalTerms(willRenew: false)
        return .event(
            EventDraft(
                id: purchase.transactionID.map { .periodBegan(lineage, transaction: $0, product: product) }
                    ?? .periodBegan(lineage, product: product, start: start),
                event: .started(.init(origin: .granted, phase: .promotional, period: period)),
                effectiveAt: start
            ),
            about: subject(
                purchase,
                renewal: terms,
                facts: [
                    .period(.init(period, product: product, phase: .promotional, transaction: purchase.transactionID)),
                    .renewalIntent(.init(terms)),
                ] + purchase.owner
            )
        )
    }

    func oneTimePurchase(_ purchase: PurchaseStatement) -> Outcome {
        let price = purchase.price
        guard let lineage = purchase.lineage, let bought = oneTimePurchase(of: purchase, price: price),
            event.timestamp != nil
        else { return .incomplete(purchase.missing(["purchased_at_ms", "product_id"])) }
        let transaction = bought.transaction
        var facts: [Fact] = [.purchase(bought)]
        if let price, price.role == .charged {
            facts.append(.charge(.init(transaction: transaction, price: price, at: bought.at)))
        }
        facts += purchase.laterName(of: transaction)
        return .event(
            EventDraft(
                id: .purchased(lineage, transaction: transaction, product: bought.product),
                event: .oneTimePurchased(bought.purchase),
                effectiveAt: bought.at
            ),
            about: subject(purchase, transaction: transaction, price: price, facts: facts + purchase.owner)
        )
    }

    /// The one-time purchase, as any webhook about it states it.
    func oneTimePurchase(of purchase: PurchaseStatement, price: Price?) -> Fact.OneTimePurchase? {
        guard let start = event.purchasedAt, let product = purchase.productName,
            let transaction = purchase.paidTransaction
        else { return nil }
        // RevenueCat unlocks entitlements for good with a product without an end. A product that unlocks none gives no
        // access, like a consumable.
        let type: LifecycleEvent.OneTimePurchase.ProductType =
            event.expirationAt != nil ? .nonRenewing : event.entitlementIDs.isEmpty ? .consumable : .nonConsumable
        let detail = LifecycleEvent.OneTimePurchase(
            type: type,
            quantity: event.quantity ?? 1,
            price: price,
            expires: event.expirationAt,
            familyShared: event.isFamilyShare
        )
        return .init(transaction: transaction, product: product, purchase: detail, at: start)
    }

    /// The purchase itself comes later under its own identity, perhaps with the same transaction. Until then this is an
    /// assumption, and it lasts a day at most.
    func temporaryGrant(_ purchase: PurchaseStatement) -> Outcome {
        guard let timestamp = event.timestamp else { return .incomplete(["event_timestamp_ms"]) }
        let start = event.purchasedAt ?? timestamp
        let limit = timestamp.addingTimeInterval(86_400)
        let period = ServicePeriod(start: start, end: min(event.expirationAt ?? limit, limit))
        let facts: [Fact] = [
            .period(
                .init(
                    period,
                    product: purchase.productName ?? "",
                    phase: purchase.phase,
                    transaction: purchase.transactionID,
                    isProvisional: true
                )
            )
        ]
        var subject = self.subject(purchase, facts: facts + purchase.owner)
        subject.period = period
        return .event(
            EventDraft(
                id: notifiedID(purchase),
                event: .started(.init(origin: .temporary, phase: purchase.phase, period: period)),
                effectiveAt: start
            ),
            about: subject
        )
    }
}
