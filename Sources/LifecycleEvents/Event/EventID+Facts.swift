public import FoundationEssentials

// The one place that distinguishes a fact from others of its kind. Adapters derive identities only through these
// functions, so that two channels which know the same fact cannot disagree about its name.
//
// Times enter a digest in whole seconds: channels that relay a store's time drop its milliseconds.
//
// A transaction may pay for several products, each with a period of its own. So what happens to a period is named by the
// product as well if the store sells in this way. Money goes back for a transaction, so a refund is named by that alone.
extension EventID {
    /// A period of access began: a start, a renewal, an immediate product change, a resumption.
    ///
    /// - Parameters:
    ///   - lineage: the lineage.
    ///   - transaction: the store's transaction, order or invoice that paid for the period.
    ///   - product: the product of the period; nil if it is unknown. It counts only in a store that sells several products in one
    ///     order. It has no default there or in the functions below: an adapter that left it out would get the name of an order.
    public static func periodBegan(
        _ lineage: SubscriptionID,
        transaction: TransactionID,
        product: ProductID?
    ) -> EventID {
        EventID(.periodBegan, in: lineage.scope(of: transaction), lineage.item(product, of: transaction))
    }

    /// A period of access began, and the store names no transaction for it.
    public static func periodBegan(_ lineage: SubscriptionID, product: ProductID, start: Date) -> EventID {
        EventID(.periodBegan, in: lineage, product.rawValue, start.secondsDiscriminator)
    }

    /// A period of access ended, also by revocation.
    ///
    /// A pause and a refund end a period in their own right: a paused period may still expire, and a refunded one may
    /// be restored and expire in the end. All other reasons are wordings of one fact.
    ///
    /// - Parameters:
    ///   - lineage: the lineage.
    ///   - transaction: the store's transaction, order or invoice that paid for the period.
    ///   - product: the product of the period, see ``periodBegan(_:transaction:product:)``.
    ///   - periodStart: the start of the period; nil if it is unknown. It counts only in a store whose relays name later periods
    ///     by the first transaction.
    ///   - reason: the reason.
    public static func ended(
        _ lineage: SubscriptionID,
        transaction: TransactionID,
        product: ProductID?,
        periodStart: Date?,
        reason: LifecycleEvent.Expired.Reason = .unknown
    ) -> EventID {
        EventID(
            .ended,
            in: lineage.scope(of: transaction),
            lineage.item(product, of: transaction, from: periodStart),
            reason.discriminator
        )
    }

    /// A period of access ended, and the store names no transaction for it.
    public static func ended(
        _ lineage: SubscriptionID,
        periodStart: Date,
        reason: LifecycleEvent.Expired.Reason = .unknown
    ) -> EventID {
        EventID(.ended, in: lineage, periodStart.secondsDiscriminator, reason.discriminator)
    }

    /// Money went back, by the store, the developer or a dispute.
    ///
    /// - Parameters:
    ///   - lineage: the lineage.
    ///   - refund: the store's name of the refund, or of the dispute that the bank decided; without one, that of the
    ///     transaction. The time does not count, since relays do not know it: a transaction that is refunded, restored
    ///     and refunded again has one identity.
    public static func refunded(_ lineage: SubscriptionID, refund: String) -> EventID {
        EventID(.refunded, in: lineage.scope(of: TransactionID(refund)), refund)
    }

    /// A refund of a transaction was undone.
    public static func refundReversed(_ lineage: SubscriptionID, transaction: TransactionID) -> EventID {
        EventID(.refundReversed, in: lineage.scope(of: transaction), transaction.rawValue)
    }

    /// A dispute about a transaction reached a stage.
    public static func chargeback(
        _ lineage: SubscriptionID,
        dispute: String,
        stage: LifecycleEvent.Chargeback.Stage
    ) -> EventID {
        EventID(.chargeback, in: lineage.scope(of: TransactionID(dispute)), dispute, stage.rawValue)
    }

    /// A change of product was arranged for later.
    ///
    /// - Parameters:
    ///   - lineage: the lineage.
    ///   - from: the product until then; empty if it is not stated.
    ///   - to: the product from then on; empty if it is not stated.
    ///   - date: when the change takes effect, where stated.
    public static func changeScheduled(
        _ lineage: SubscriptionID,
        from: ProductID,
        to: ProductID,
        at date: Date?
    ) -> EventID {
        EventID(.changeScheduled, in: lineage, from.rawValue, to.rawValue, date?.secondsDiscriminator ?? "")
    }

    /// A change of product that was arranged for a date was withdrawn.
    ///
    /// - Parameters:
    ///   - lineage: the lineage.
    ///   - product: the product that renews after all.
    ///   - date: when the change would have taken effect, where stated.
    public static func changeReverted(_ lineage: SubscriptionID, product: ProductID, at date: Date?) -> EventID {
        EventID(.changeReverted, in: lineage, product.rawValue, date?.secondsDiscriminator ?? "")
    }

    /// The period of a transaction was extended to a later end.
    public static func extended(
        _ lineage: SubscriptionID,
        transaction: TransactionID,
        product: ProductID?,
        to end: Date
    ) -> EventID {
        EventID(
            .extended,
            in: lineage.scope(of: transaction),
            lineage.item(product, of: transaction),
            end.secondsDiscriminator
        )
    }

    /// Something that does not renew was bought.
    public static func purchased(_ lineage: SubscriptionID, transaction: TransactionID, product: ProductID?) -> EventID
    {
        EventID(.purchased, in: lineage.scope(of: transaction), lineage.item(product, of: transaction))
    }

    /// A fact for which channels share no discriminator: renewal intent, billing issues, price changes, pending
    /// purchases, notices. Its identity is that of the notification; the state decides if it is news.
    ///
    /// - Parameters:
    ///   - lineage: the lineage.
    ///   - provider: the service that reported it.
    ///   - notification: the provider's own identity of the notification.
    ///   - ordinal: the number of this event among the notification's events.
    public static func notified(
        _ lineage: SubscriptionID,
        by provider: Provider,
        notification: String,
        ordinal: Int = 0
    ) -> EventID {
        EventID(notifiedTo: lineage, by: provider, path: [notification], ordinal: ordinal)
    }
}

extension SubscriptionID {
    /// The scope in which a transaction is unique.
    ///
    /// A Google Play order names itself: readers of the Play API know a purchase by its token, relays know it by its
    /// first order, and only the order is common to both. Stripe's invoices may pay for several subscriptions, and for
    /// all other stores every channel knows the same lineage.
    package func scope(of transaction: TransactionID) -> SubscriptionID {
        guard isNamed(byOrder: transaction) else { return self }
        return SubscriptionID(store: store, environment: environment, id: "")
    }

    /// The name of a product's share of a transaction: the transaction itself, unless the store sells several products in
    /// one order.
    ///
    /// It follows from the two alone: a channel that knows one product cannot know which others the order has. A channel may
    /// leave out the product's plan, and may add the purchase under which the order's time continues: neither is part of it.
    fileprivate func item(_ product: ProductID?, of transaction: TransactionID, from start: Date? = nil) -> String {
        guard isNamed(byOrder: transaction) else { return transaction.rawValue }
        let order = transaction.order.payment(from: start)
        guard let item = transaction.item ?? product?.subscription, !item.isEmpty else { return order.rawValue }
        return order.share(of: item).rawValue
    }

    private func isNamed(byOrder transaction: TransactionID) -> Bool {
        store == .playStore && transaction.isPlayOrder
    }
}

extension LifecycleEvent.Expired.Reason {
    fileprivate var discriminator: String {
        switch self {
        case .paused, .refunded: rawValue
        case .customer, .billing, .priceIncreaseDeclined, .productUnavailable, .replaced, .developer, .unknown: ""
        }
    }
}

extension Date {
    fileprivate var secondsDiscriminator: String {
        String(millisecondsSince1970.flooredQuotient(dividingBy: 1000))
    }
}
