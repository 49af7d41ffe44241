import FoundationEssentials
import LifecycleEvents
import WireJSON

// A voided purchase names an order: money, and for a subscription perhaps money of a past period. The purchase shows
// the effect on access. The order is all that is left to name once Google keeps the purchase no more, so one event reports
// the refund, and its id has no product. Each item that the order paid for has its own fact.
extension ResolutionMapping {
    /// The table of voided purchases.
    func voided(_ hint: DeveloperNotification.VoidedPurchaseHint) throws(DeliveryError) -> Normalization {
        switch hint.productType {
        case .subscription?: return try voidedSubscription(hint)
        case .oneTime?: return try voidedProduct(hint)
        default:
            let lineage = SubscriptionID(store: .playStore, environment: .unknown, id: hint.purchaseToken.fingerprint)
            return normalization(
                of: [LineageDraft(lineage, drafts: [unmapped(hint, of: lineage)], subject: EventSubject())],
                environment: .unknown,
                assertedAt: eventTime,
                channel: answers.channel
            )
        }
    }

    // MARK: Subscriptions

    private func voidedSubscription(
        _ hint: DeveloperNotification.VoidedPurchaseHint
    ) throws(DeliveryError) -> Normalization {
        guard let answer = lookups.answer(.subscription, hint.purchaseToken.value) else {
            return Normalization(noChange: .init(.needsLookup))
        }
        guard answer.outcome == .found else { return try voidedUnanswered(hint, answer) }
        let row = voidedRow(hint)
        let order = voidedOrder(hint)
        let refundedAt = order?.refund?.time ?? row?.voidedTime ?? eventTime
        let items = try items(answer, token: hint.purchaseToken, .voided(at: refundedAt), voided: row)
        let refunded = Self.refunded(items, by: hint.transaction, order)
        guard let item = refunded.first else { return Normalization(noChange: .init(.stale)) }

        let isCurrent = item.transaction == hint.transaction
        // For a purchase that continues, the answer does not show why access stayed. For a replaced one, it does not
        // show if the successor continues the order.
        let affectsCurrentPeriod: Bool? = isCurrent && !item.isUsedUp ? (item.isTakenAway ? true : nil) : false
        let scope = scope(of: order)
        func part(_ other: PlayItem, drafts: [EventDraft] = []) -> LineageDraft {
            var part = lineage(other, drafts: drafts)
            if let scope, refunded.contains(where: { $0.lineage == other.lineage }) {
                part.subject.facts.append(other.refund(by: hint.transaction, scope: scope, at: refundedAt))
            }
            return part
        }
        let others = items.filter { $0.lineage != item.lineage }.map { part($0) }
        guard order?.isPaidInFull != true else {
            return normalization(
                of: [lineage(item, drafts: [])] + others,
                environment: item.environment,
                assertedAt: item.assertedAt
            )
        }
        var drafts = [
            scope.map { scope in
                moneyBack(
                    lineage: item.lineage,
                    transaction: hint.transaction,
                    periodStart: item.firstStart(paidBy: hint.transaction),
                    scope: scope,
                    amount: order?.refunded,
                    order: order,
                    row: row,
                    affectsCurrentPeriod: affectsCurrentPeriod
                )
            } ?? unmapped(hint, of: item.lineage)
        ]
        if item.endsWithRefund(by: hint.transaction) { drafts += SubscriptionMapping(item: item).drafts }
        return normalization(
            of: [part(item, drafts: drafts)] + others,
            environment: item.environment,
            assertedAt: item.assertedAt,
            anomalies: item.purchase.anomalies
        )
    }

    /// The items whose money an order gave back, of those that it paid for; the one that represents the purchase if the
    /// purchase has none of them any more.
    ///
    /// Google does not name them. Of a purchase that continues, an item that has ended was taken away with its money
    /// (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2/revoke, `itemBasedRefund`),
    /// unless all of the order went back. A sum counts once.
    private static func refunded(_ items: [PlayItem], by id: TransactionID, _ order: PlayOrder?) -> [PlayItem] {
        let current = items.filter { $0.transaction == id }
        let renewed = items.filter { item in
            item.transaction != id && order?.lineItems.contains { $0.productID == item.item.productID } == true
        }
        let taken = current.filter { $0.isEndedBesideOthers && !$0.isUsedUp }
        let refunded = order?.isRefundedInFull == true || taken.isEmpty ? current + renewed : taken
        guard order?.refundScope == nil, !refunded.isEmpty else { return Array((refunded + items).prefix(1)) }
        return refunded
    }

    /// How much of an order went back by now; nil if nothing has, since a hint is no proof of money, or if the order does not say yet how
    /// much. Without the order, the notification alone says that all of it has.
    func scope(of order: PlayOrder?) -> LifecycleEvent.Refund.Scope? {
        guard let order else { return .full }
        if order.isPaidInFull || order.isRefundUnderWay { return nil }
        return order.refundScope ?? (order.isRefundedInFull || order.state != .partiallyRefunded ? .full : nil)
    }

    /// A refund that is under way, or of an unknown part: reported as it is, without a number to make up.
    func unmapped(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        of lineage: SubscriptionID
    ) -> EventDraft {
        EventDraft(
            id: .notified(lineage, by: .google, notification: notificationKey),
            event: unmapped,
            transaction: hint.transaction
        )
    }

    // MARK: One-time products

    private func voidedProduct(
        _ hint: DeveloperNotification.VoidedPurchaseHint
    ) throws(DeliveryError) -> Normalization {
        guard let answer = lookups.answer(.product, hint.purchaseToken.value) else {
            return Normalization(noChange: .init(.needsLookup))
        }
        guard answer.outcome == .found else { return try voidedUnanswered(hint, answer) }
        let products = try products(answer, token: hint.purchaseToken)
        let order = voidedOrder(hint)
        // An order that went back in part, or is about to, does not say what of.
        let isWhole = scope(of: order) == .full
        let type = isWhole ? hint.refundType : nil
        let scopes = products.purchase.lineItems.map { scope(of: products.purchase, item: $0, order, type) }
        var lineages = moneyBack(
            products,
            scopes,
            transaction: hint.transaction,
            order: order,
            row: voidedRow(hint)
        )
        let isPart = hint.refundType == .quantityBasedPartial || hint.refundType?.isKnown == false || !isWhole
        if isPart, order?.isPaidInFull != true, scopes.allSatisfy({ $0 == nil }) {
            let draft = unmapped(hint, of: products.lineage)
            lineages[0] = products.lineage(0, drafts: [draft], facts: products.facts(0))
        }
        return normalization(
            of: lineages,
            environment: products.environment,
            assertedAt: products.assertedAt,
            anomalies: products.purchase.anomalies
        )
    }

    /// The items of a purchase, first those of which something went back.
    ///
    /// - Parameters:
    ///   - scopes: how much of each went back.
    ///   - transaction: the order whose money went back, if it may not be the purchase's own.
    func moneyBack(
        _ products: PlayProducts,
        _ scopes: [LifecycleEvent.Refund.Scope?],
        transaction: TransactionID? = nil,
        order: PlayOrder?,
        row: VoidedPurchase? = nil
    ) -> [LineageDraft] {
        let refunded = zip(products.purchase.lineItems.indices, scopes).compactMap { index, scope in
            scope.map { (index: index, scope: $0) }
        }
        let amounts = order?.refunded(
            of: refunded.map { (order?.line(of: products.purchase.lineItems[$0.index]), $0.scope == .full) }
        )
        let lineages = refunded.enumerated().map { place, item in
            let draft = moneyBack(
                lineage: products.lineage,
                transaction: item.index == 0
                    ? transaction ?? products.transaction(0) : products.transaction(item.index),
                scope: item.scope,
                amount: amounts?[place],
                order: order,
                row: row,
                affectsCurrentPeriod: item.scope == .full
            )
            return products.lineage(
                item.index,
                drafts: [draft],
                facts: products.facts(item.index) + [products.refundFact(item.index, scope: item.scope)]
            )
        }
        let others = products.purchase.lineItems.indices.filter { index in !refunded.contains { $0.index == index } }
        return lineages + others.map { products.lineage($0, drafts: [], facts: products.facts($0)) }
    }

    /// How much of an item went back by now: absolute, so that a redelivery says the same. Nil if nothing has, or
    /// unknown.
    ///
    /// The order states the money, the purchase the quantities, and the notification neither.
    private func scope(
        of purchase: ProductPurchase,
        item: ProductPurchase.LineItem,
        _ order: PlayOrder?,
        _ refundType: DeveloperNotification.RefundType?
    ) -> LifecycleEvent.Refund.Scope? {
        if purchase.state == .cancelled || order?.isRefundedInFull == true { return .full }
        if order?.isPaidInFull == true { return nil }
        let quantity = item.quantity ?? 1
        guard let refundable = item.refundableQuantity else {
            // The API leaves out zeros, yet absence may mean more: the notification decides.
            return refundType == .full ? .full : nil
        }
        if refundable == 0 { return .full }
        return refundable < quantity ? .quantity(quantity - refundable) : nil
    }

    // MARK: Shapes

    /// The order that the notification names, if it is of that purchase.
    func voidedOrder(_ hint: DeveloperNotification.VoidedPurchaseHint) -> PlayOrder? {
        guard let order = order(hint.orderID), order.orderID == hint.orderID,
            order.purchaseToken == nil || order.purchaseToken == hint.purchaseToken
        else { return nil }
        return order
    }

    /// The row that the list of voided purchases has for the order, if it was asked for and can be read.
    func voidedRow(_ hint: DeveloperNotification.VoidedPurchaseHint) -> VoidedPurchase? {
        guard let answer = lookups.answer(.voidedPurchase, hint.orderID), answer.outcome == .found,
            let reader = try? ObjectReader(parsing: answer.body)
        else { return nil }
        return try? VoidedPurchase(reading: reader)
    }

    /// A refund, or a chargeback where the order, or the list, says that the bank took the money.
    func moneyBack(
        lineage: SubscriptionID,
        transaction: TransactionID,
        periodStart: Date? = nil,
        scope: LifecycleEvent.Refund.Scope,
        amount: Money?,
        order: PlayOrder?,
        row: VoidedPurchase?,
        affectsCurrentPeriod: Bool?
    ) -> EventDraft {
        let price = amount.map { Price($0, .refund) }
        // One identity, whichever it is called: a relay calls a chargeback a refund, and only the list may name the reason.
        let id = EventID.refunded(lineage, refund: Self.refund(transaction.payment(from: periodStart), scope))
        if order?.refund?.reason == .chargeback || row?.reason == .chargeback {
            return EventDraft(
                id: id,
                event: .chargeback(.init(stage: .lost, transaction: transaction, amount: amount)),
                occurredAt: order?.refund?.time ?? row?.voidedTime,
                transaction: transaction,
                price: price,
                inheritsCharge: false
            )
        }
        return EventDraft(
            id: id,
            event: .refunded(
                .init(
                    transaction: transaction,
                    scope: scope,
                    reason: row?.refundReason ?? .unknown,
                    affectsCurrentPeriod: affectsCurrentPeriod
                )
            ),
            occurredAt: order?.refund?.time ?? row?.voidedTime,
            transaction: transaction,
            price: price,
            inheritsCharge: false
        )
    }

    /// Names a refund: by its order, and by how much has gone back where it is not all.
    private static func refund(_ transaction: TransactionID, _ scope: LifecycleEvent.Refund.Scope) -> String {
        switch scope {
        case .quantity(let quantity): "\(transaction)*\(quantity)"
        case .amount(let money): "\(transaction)*\(money)"
        case .full, .fraction: transaction.rawValue
        }
    }
}

extension PlayItem {
    /// True if access ends with a refund: the order was the last one, and nothing is left of the purchase.
    fileprivate func endsWithRefund(by order: TransactionID) -> Bool {
        transaction == order && purchase.state == .expired && !isUsedUp
    }

    fileprivate func refund(by order: TransactionID, scope: LifecycleEvent.Refund.Scope, at time: Date) -> Fact {
        let isCurrent = transaction == order
        return .refund(
            Fact.RefundState(
                transaction: isCurrent ? periodName ?? order : order,
                scope: scope,
                at: time,
                periodStart: isCurrent ? start : nil,
                endsAccess: endsWithRefund(by: order)
            )
        )
    }
}

extension DeveloperNotification.VoidedPurchaseHint {
    var transaction: TransactionID { TransactionID(orderID) }
}

extension DeveloperNotification.RefundType {
    fileprivate var isKnown: Bool { self == .full || self == .quantityBasedPartial }
}
