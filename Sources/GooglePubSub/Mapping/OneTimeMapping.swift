import FoundationEssentials
import LifecycleEvents

/// A purchase of one-time products as Google Play gave it, with the notification that made us ask.
struct PlayProducts {
    let purchase: ProductPurchase
    let token: PurchaseToken
    /// The notification's report; nil without a notification about one-time products.
    let type: OneTimeProductNotificationType?
    let eventTime: Date
    let assertedAt: Date
    let order: PlayOrder?

    var environment: StoreEnvironment { purchase.isTestPurchase ? .sandbox : .production }

    var lineage: SubscriptionID {
        SubscriptionID(store: .playStore, environment: environment, id: token.fingerprint)
    }

    /// Names the purchase in facts and identities: the order, or the token where there is no order.
    func transaction(_ index: Int) -> TransactionID {
        TransactionID(purchase.orderID ?? token.fingerprint).payment(
            for: index,
            of: purchase.lineItems.map(\.productID)
        )
    }

    var account: Account? {
        Account([
            purchase.obfuscatedAccountID.map { Account.Identifier($0, .obfuscatedAccountID) },
            purchase.obfuscatedProfileID.map { Account.Identifier($0, .obfuscatedProfileID) },
        ])
    }

    func product(_ item: ProductPurchase.LineItem) -> PurchasedProduct {
        PurchasedProduct(
            id: ProductID(item.productID),
            basePlan: item.purchaseOptionID,
            offer: item.offerID.map { Offer(kind: .promotional, id: $0) },
            offerTags: item.offerTags.isEmpty ? nil : item.offerTags,
            quantity: item.quantity
        )
    }

    func price(_ item: ProductPurchase.LineItem) -> Price? {
        let line = order?.line(of: item)
        return line?.total.map { Price($0, .charged, tax: line?.tax) }
    }

    /// Google does not say if a product is used up or owned for good; a consumed one was consumable.
    func oneTimePurchase(_ item: ProductPurchase.LineItem) -> LifecycleEvent.OneTimePurchase {
        let type: LifecycleEvent.OneTimePurchase.ProductType
        if item.isRental {
            type = .nonRenewing
        } else {
            type = item.consumptionState == .consumed ? .consumable : .unknown
        }
        return LifecycleEvent.OneTimePurchase(type: type, quantity: item.quantity ?? 1, price: price(item))
    }

    /// `purchaseCompletionTime` is set when money was taken, and only then.
    var wasPaid: Bool { purchase.completionTime != nil }

    /// True if it was paid and is canceled, in either order of arrival of the two notifications.
    var isTakenBack: Bool {
        guard purchase.state == .cancelled else { return false }
        return type == .purchased || wasPaid && (type == .canceled || type == nil)
    }

    func facts(_ index: Int) -> [Fact] {
        let item = purchase.lineItems[index]
        var facts: [Fact] = []
        if purchase.state == .purchased || (purchase.state == .cancelled && wasPaid) {
            let time = purchase.completionTime ?? eventTime
            facts.append(
                .purchase(
                    Fact.OneTimePurchase(
                        transaction: transaction(index),
                        product: ProductID(item.productID),
                        purchase: oneTimePurchase(item),
                        at: time
                    )
                )
            )
            if let price = price(item) {
                facts.append(.charge(Fact.Charge(transaction: transaction(index), price: price, at: time)))
            }
        }
        if let account { facts.append(.owner(account)) }
        if let link { facts.append(link) }
        return facts
    }

    /// The order that relays know the purchase by.
    private var link: Fact? {
        guard let orderID = purchase.orderID, orderID.hasPrefix("GPA.") else { return nil }
        return .link(SubscriptionID(store: .playStore, environment: environment, id: orderID))
    }

    func refundFact(_ index: Int, scope: LifecycleEvent.Refund.Scope) -> Fact {
        .refund(
            Fact.RefundState(
                transaction: transaction(index),
                scope: scope,
                at: order?.refund?.time ?? eventTime,
                periodStart: nil,
                endsAccess: scope == .full
            )
        )
    }

    var acknowledgementDeadline: Date {
        (purchase.completionTime ?? eventTime).addingTimeInterval(purchase.isTestPurchase ? 5 * 60 : 3 * 86_400)
    }

    func lineage(_ index: Int, drafts: [EventDraft], facts: [Fact]) -> LineageDraft {
        let item = purchase.lineItems[index]
        return LineageDraft(
            lineage,
            drafts: drafts,
            subject: EventSubject(
                // Further items' charges and grants are distinguished by their names in the order.
                transaction: index == 0 ? purchase.orderID.map(TransactionID.init) : transaction(index),
                account: account,
                product: product(item),
                price: price(item),
                country: purchase.regionCode,
                facts: facts
            )
        )
    }
}

extension TransactionID {
    /// The name of what an order paid for one of the products that were bought with it: its own for the first one, and its share for
    /// a further one.
    ///
    /// - Parameter products: in the order of `PlayAddOns.inOrder`.
    func payment(for index: Int, of products: [String]) -> TransactionID {
        if index == 0 { return self }
        let share = share(of: ProductID(products[index]))
        return products[..<index].contains(products[index]) ? TransactionID("\(share)/\(index)") : share
    }
}

extension PlayOrder {
    /// The line about an item of its purchase. A product may be bought by several purchase options at once.
    func line(of item: ProductPurchase.LineItem) -> LineItem? {
        let lines = lineItems.filter { $0.productID == item.productID }
        return lines.first { $0.purchaseOptionID == item.purchaseOptionID } ?? lines.first
    }
}

extension ResolutionMapping {
    /// The table of one-time product notifications.
    ///
    /// - Parameter type: the notification's report; nil if only our own question led to the answer.
    func oneTimeProduct(
        _ token: PurchaseToken,
        _ type: OneTimeProductNotificationType?
    ) throws(DeliveryError) -> Normalization {
        guard let answer = lookups.answer(.product, token.value) else {
            return Normalization(noChange: .init(.needsLookup))
        }
        // A cancellation that cannot be looked at may be of something that was never paid.
        guard answer.outcome == .found else {
            return try unanswered(answer, token: token) { _ in [] }
        }
        let products = try products(answer, token: token, type)
        guard !products.isTakenBack else {
            let all = products.purchase.lineItems.map { _ in LifecycleEvent.Refund.Scope?.some(.full) }
            return normalization(
                of: moneyBack(products, all, order: products.order),
                environment: products.environment,
                assertedAt: products.assertedAt,
                anomalies: products.purchase.anomalies
            )
        }
        let lineages = products.purchase.lineItems.indices.map { index in
            products.lineage(index, drafts: drafts(products, index), facts: products.facts(index))
        }
        return normalization(
            of: lineages,
            environment: products.environment,
            assertedAt: products.assertedAt,
            anomalies: products.purchase.anomalies
        )
    }

    func products(
        _ answer: PlayAnswer,
        token: PurchaseToken,
        _ type: OneTimeProductNotificationType? = nil
    ) throws(DeliveryError) -> PlayProducts {
        let purchase = try decoded(answer.body, ProductPurchase.init(payload:))
        return PlayProducts(
            purchase: purchase,
            token: token,
            type: type,
            eventTime: eventTime,
            assertedAt: assertedAt(answer),
            order: purchase.orderID.flatMap(order)
        )
    }

    private func drafts(_ products: PlayProducts, _ index: Int) -> [EventDraft] {
        let item = products.purchase.lineItems[index]
        let type = products.type
        func notified(_ what: String) -> EventID {
            .notified(products.lineage, by: .google, notification: "\(what)/\(item.productID)", ordinal: index)
        }
        guard type == .purchased || type == .canceled || type == nil else {
            return [EventDraft(id: notified(notificationKey), event: unmapped)]
        }
        switch (products.purchase.state, type) {
        case (.purchased, .purchased?), (.purchased, nil):
            var drafts = [
                EventDraft(
                    id: .purchased(
                        products.lineage,
                        transaction: products.transaction(index),
                        product: ProductID(item.productID)
                    ),
                    event: .oneTimePurchased(products.oneTimePurchase(item)),
                    occurredAt: products.purchase.completionTime
                )
            ]
            if index == 0, products.purchase.acknowledgementState == .pending {
                drafts.append(
                    EventDraft(
                        id: notified("acknowledgement"),
                        event: .acknowledgementRequired(.init(deadline: products.acknowledgementDeadline)),
                        effectiveAt: products.acknowledgementDeadline
                    )
                )
            }
            return drafts
        // A cancellation that the answer does not know of (yet).
        case (.purchased, _):
            return []
        case (.pending, _):
            return [
                EventDraft(id: notified("pending"), event: .purchasePending(.init(product: ProductID(item.productID))))
            ]
        // Never paid.
        case (.cancelled, _):
            return [
                EventDraft(
                    id: notified("pending_canceled"),
                    event: .purchasePendingCanceled(.init(product: ProductID(item.productID)))
                )
            ]
        default:
            return [
                EventDraft(
                    id: notified(notificationKey),
                    event: .unmapped(
                        .init(type: products.purchase.state.rawValue, subtype: type.map { String($0.rawValue) })
                    )
                )
            ]
        }
    }
}
