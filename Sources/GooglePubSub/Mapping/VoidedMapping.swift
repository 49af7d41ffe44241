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
            let draft = EventDraft(
                id: .notified(lineage, by: .google, notification: notificationKey),
                event: unmapped,
                transaction: hint.transaction
            )
            return normalization(
                of: [LineageDraft(lineage, drafts: [draft], subject: EventSubject())],
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
        let scope = order?.refundScope ?? .full
        let isUnderWay = order?.state == .pendingRefund
        // A hint is no proof of money.
        let isProven = order?.isPaidInFull != true && !isUnderWay
        func part(_ other: PlayItem, drafts: [EventDraft] = []) -> LineageDraft {
            var part = lineage(other, drafts: drafts)
            if isProven, refunded.contains(where: { $0.lineage == other.lineage }) {
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
            isUnderWay
                ? refundUnderWay(of: item.lineage, transaction: hint.transaction)
                : moneyBack(
                    lineage: item.lineage,
                    transaction: hint.transaction,
                    periodStart: item.firstStart(paidBy: hint.transaction),
                    scope: scope,
                    order: order,
                    row: row,
                    affectsCurrentPeriod: affectsCurrentPeriod
                )
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

    /// An order that says that a refund is under way, and not of how much: reported as it is, without a refunded amount.
    private func refundUnderWay(of lineage: SubscriptionID, transaction: TransactionID) -> EventDraft {
        EventDraft(
            id: .notified(lineage, by: .google, notification: notificationKey),
            event: unmapped,
            transaction: transaction
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
        var lineages: [LineageDraft] = []
        var others: [LineageDraft] = []
        for index in products.purchase.lineItems.indices {
            // How much of it is on its way, an order does not say.
            let type = order?.state == .pendingRefund ? nil : hint.refundType
            guard let scope = scope(of: products.purchase, item: products.purchase.lineItems[index], type)
            else {
                others.append(products.lineage(index, drafts: [], facts: products.facts(index)))
                continue
            }
            let transaction = index == 0 ? hint.transaction : products.transaction(index)
            let draft = moneyBack(
                lineage: products.lineage,
                transaction: transaction,
                scope: scope,
                order: order,
                row: voidedRow(hint),
                affectsCurrentPeriod: scope == .full
            )
            lineages.append(
                products.lineage(
                    index,
                    drafts: [draft],
                    facts: products.facts(index) + [products.refundFact(index, scope: scope)]
                )
            )
        }
        if lineages.isEmpty,
            hint.refundType == .quantityBasedPartial || hint.refundType?.isKnown == false
                || order?.state == .pendingRefund
        {
            // Part of it, and the answer does not say how much: not a full refund, and no number to make up.
            let draft = EventDraft(
                id: .notified(products.lineage, by: .google, notification: notificationKey),
                event: unmapped,
                transaction: hint.transaction
            )
            lineages = [products.lineage(0, drafts: [draft], facts: products.facts(0))]
            others.removeFirst()
        }
        return normalization(
            of: lineages + others,
            environment: products.environment,
            assertedAt: products.assertedAt,
            anomalies: products.purchase.anomalies
        )
    }

    /// How much of an item went back by now: absolute, so that a redelivery says the same. Nil if nothing has, or
    /// unknown.
    private func scope(
        of purchase: ProductPurchase,
        item: ProductPurchase.LineItem,
        _ refundType: DeveloperNotification.RefundType?
    ) -> LifecycleEvent.Refund.Scope? {
        if purchase.state == .cancelled { return .full }
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
    private func voidedOrder(_ hint: DeveloperNotification.VoidedPurchaseHint) -> PlayOrder? {
        guard let order = order(hint.orderID), order.orderID == hint.orderID,
            order.purchaseToken == nil || order.purchaseToken == hint.purchaseToken
        else { return nil }
        return order
    }

    /// The row that the list of voided purchases has for the order, if it was asked for and can be read.
    private func voidedRow(_ hint: DeveloperNotification.VoidedPurchaseHint) -> VoidedPurchase? {
        guard let answer = lookups.answer(.voidedPurchase, hint.orderID), answer.outcome == .found,
            let reader = try? ObjectReader(parsing: answer.body)
        else { return nil }
        return try? VoidedPurchase(reading: reader)
    }

    /// A refund, or a chargeback where the order, or the list, says that the bank took the money.
    private func moneyBack(
        lineage: SubscriptionID,
        transaction: TransactionID,
        periodStart: Date? = nil,
        scope: LifecycleEvent.Refund.Scope,
        order: PlayOrder?,
        row: VoidedPurchase?,
        affectsCurrentPeriod: Bool?
    ) -> EventDraft {
        if order?.refund?.reason == .chargeback || row?.reason == .chargeback {
            // The same money, which relays call a refund: one identity.
            return EventDraft(
                id: .refunded(lineage, refund: transaction.payment(from: periodStart).rawValue),
                event: .chargeback(.init(stage: .lost, transaction: transaction, amount: order?.refund?.total)),
                occurredAt: order?.refund?.time ?? row?.voidedTime,
                transaction: transaction,
                price: order?.refunded
            )
        }
        return EventDraft(
            id: .refunded(lineage, refund: Self.refund(transaction.payment(from: periodStart), scope)),
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
            price: order?.refunded
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

    /// A one-time purchase ends with its refund. An order of a subscription may have paid for any of its periods.
    private func refundFact(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        _ order: PlayOrder?
    ) -> Fact {
        .refund(
            Fact.RefundState(
                transaction: hint.transaction,
                scope: .full,
                at: order?.refund?.time ?? eventTime,
                periodStart: nil,
                endsAccess: hint.productType == .oneTime
            )
        )
    }

    /// The purchase is not kept any more: that money of an order went back, the notification says.
    private func voidedUnanswered(
        _ hint: DeveloperNotification.VoidedPurchaseHint,
        _ answer: PlayAnswer
    ) throws(DeliveryError) -> Normalization {
        let (order, row) = (voidedOrder(hint), voidedRow(hint))
        // Orders outlive the purchase, and state the start that distinguishes the first one.
        let start = hint.productType == .subscription ? order?.periodStart : nil
        var facts = [refundFact(hint, order)]
        if hint.productType == .subscription { facts.append(closure(of: answer)) }
        return try unanswered(
            answer,
            token: hint.purchaseToken,
            transaction: hint.transaction,
            facts: hint.refundType == .full ? facts : [],
            id: { lineage in
                guard hint.refundType == .full else {
                    return .notified(lineage, by: .google, notification: notificationKey)
                }
                return moneyBack(
                    lineage: lineage,
                    transaction: hint.transaction,
                    periodStart: start,
                    scope: .full,
                    order: order,
                    row: row,
                    affectsCurrentPeriod: nil
                ).id
            },
            terminal: {
                guard hint.refundType == .full else { return unmapped }
                return moneyBack(
                    lineage: SubscriptionID(store: .playStore, environment: .unknown, id: ""),
                    transaction: hint.transaction,
                    scope: .full,
                    order: order,
                    row: row,
                    affectsCurrentPeriod: nil
                ).event
            }
        )
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

extension PlayOrder {
    /// When the period began that it paid for.
    fileprivate var periodStart: Date? { lineItems.compactMap(\.servicePeriodStart).min() }

    fileprivate var isRefundedInFull: Bool { refund != nil || state == .refunded }

    /// The refunded part, if the order says that it was not all.
    fileprivate var refundScope: LifecycleEvent.Refund.Scope? {
        guard state == .partiallyRefunded, refund == nil, let amount = sumOfPartialRefunds else { return nil }
        return .amount(amount)
    }

    /// The amount that went back.
    fileprivate var refunded: Price? {
        (refund?.total ?? sumOfPartialRefunds).map { Price($0, .refund) }
    }

    private var sumOfPartialRefunds: Money? {
        let amounts = partialRefunds.filter(\.isProcessed).compactMap(\.total)
        guard let first = amounts.first, amounts.allSatisfy({ $0.currency == first.currency }) else { return nil }
        // Google's amounts have at most nine decimals.
        var billionths: Int128 = 0
        for amount in amounts {
            guard let units = amount.amount.coefficient(scale: 9) else { return nil }
            billionths += units
        }
        return ExactDecimal(coefficient: billionths, scale: 9).map { Money($0, first.currency) }
    }
}

extension DeveloperNotification.VoidedPurchaseHint {
    fileprivate var transaction: TransactionID { TransactionID(orderID) }
}

extension DeveloperNotification.RefundType {
    fileprivate var isKnown: Bool { self == .full || self == .quantityBasedPartial }
}
