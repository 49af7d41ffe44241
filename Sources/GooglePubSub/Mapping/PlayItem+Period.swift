import FoundationEssentials
import LifecycleEvents

// MARK: Orders

extension PlayItem {
    /// True if it was paid for by an order of the purchase before: items that a deferred change leaves until its date,
    /// and items that a change keeps. That purchase ends at once, with the period that it named by the order.
    var isContinued: Bool {
        guard purchase.linkedPurchaseToken != nil, let orderID = item.latestSuccessfulOrderID else { return false }
        return item.deferredReplacement != nil || isOutlived
            || predecessor?.lineItems.contains { $0.latestSuccessfulOrderID == orderID } == true
    }

    /// True if it was renewed under this token. After a change that charges nothing, the order of a renewal may be of the purchase
    /// before, and only that purchase shows it.
    var wasRenewed: Bool { isRenewalOrder && !isContinued && (predecessor != nil || !chargesNothing) }

    private var chargesNothing: Bool {
        item.replacement?.mode.map { [.withoutProration, .withTimeProration].contains($0) } ?? false
    }

    /// True if it continues with the product that the order paid for: until the date of a deferred change, or kept.
    private var isLeftAsItWas: Bool {
        guard isContinued else { return false }
        return item.deferredReplacement != nil || isOutlived || ancestors.first?.item?.productName == item.productName
    }

    /// Names the period in facts: by its order, and by the token where the order's own period is another purchase's.
    var periodName: TransactionID? { isContinued ? continuedName : transaction }

    var continuedName: TransactionID? {
        transaction.map { $0.continuation(under: token.fingerprint) }
    }
}

// MARK: Period

extension PlayItem {
    var isRenewalOrder: Bool { transaction?.isRenewal == true }

    private var orderItem: PlayOrder.LineItem? {
        order?.lineItems.first { $0.productID == item.productID }
            ?? (order?.lineItems.count == 1 ? order?.lineItems.first : nil)
    }

    /// The time that the last paid order states to have paid for.
    var statedPeriod: Range<Date>? {
        guard let start = orderItem?.servicePeriodStart, let end = orderItem?.servicePeriodEnd, start < end else {
            return nil
        }
        return start..<end
    }

    /// The start of the last paid order's period. The purchase does not state it; the order does, and so does the
    /// notification of a charge.
    var start: Date? { knownStart?.date }

    /// True if the start is the moment of the notification, since nothing states it.
    var isStartInferred: Bool { knownStart?.isInferred ?? false }

    private var knownStart: (date: Date, isInferred: Bool)? {
        if !isContinued, let stated = orderItem?.servicePeriodStart { return (min(stated, takeover ?? stated), false) }
        let stated: Date?
        switch type {
        // An item that another purchase's order paid for was not charged now, but next to it. An item that ends next to
        // it was not charged.
        case .renewed?, .recovered?:
            if isEndedBesideOthers {
                stated = isRenewalOrder ? nil : isLeftAsItWas ? endBefore : purchase.startTime
            } else if isContinued {
                stated = isLeftAsItWas ? endBefore : nil
            } else {
                return statesCharge ? (eventTime, true) : nil
            }
        // No charge: a first period keeps its start. The start of a later one is not stated, so the new end must hold.
        case .deferred? where isRenewalOrder || isPaidLater:
            return statesCharge ? (eventTime, true) : nil
        // The rest of the purchase before continues under this one: until its date, or as it is.
        case .purchased? where isLeftAsItWas:
            return (eventTime, true)
        default:
            if isLeftAsItWas {
                stated = endBefore
            } else {
                guard !isRenewalOrder, !isContinued, !isPaidLater, item.deferredReplacement == nil,
                    let start = purchase.startTime
                else { return nil }
                return (start, isReplacementUnknown)
            }
        }
        return stated.map { ($0, false) }
    }

    /// True if the first order of the purchase paid for a later time than the one that the purchase began with: after a deferred
    /// change the purchase begins at once, and its first order is charged at the date of the change.
    private var isPaidLater: Bool { item.replacement?.mode == .deferred }

    /// True if the change that the purchase began with may have been a deferred one, which is rare for one that is still in its first
    /// period: Google says how an item was replaced for 60 days after the purchase.
    /// https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#ItemReplacement
    private var isReplacementUnknown: Bool {
        guard item.replacement == nil, purchase.linkedPurchaseToken != nil, let start = purchase.startTime
        else { return false }
        return assertedAt > start.addingTimeInterval(60 * 86_400)
    }

    /// When the purchase took the place of another, if that is what the last order paid for. It gives access from then on, while the
    /// order states the billing period that it funds, such as the time behind the one that a top-up adds to.
    /// https://developers.google.com/android-publisher/api-ref/rest/v3/orders#SubscriptionDetails
    private var takeover: Date? {
        guard purchase.linkedPurchaseToken != nil, !isReplacementUnknown, let transaction else { return nil }
        return firstStart(paidBy: transaction)
    }

    /// The start of the period that an order paid for, if the purchase began with that order.
    func firstStart(paidBy order: TransactionID) -> Date? {
        guard !isContinued, !isPaidLater, transaction?.firstOrder == order else { return nil }
        return purchase.startTime
    }

    /// The end of the purchase that this one continues.
    private var endBefore: Date? {
        guard let predecessor, predecessor.state == .expired else { return nil }
        let former = predecessor.lineItems.first { $0.latestSuccessfulOrderID == item.latestSuccessfulOrderID }
        return former?.expiryTime.flatMap { $0 <= assertedAt ? $0 : nil }
    }

    private var statesCharge: Bool {
        switch purchase.state {
        case .active, .canceled, .expired: true
        default: false
        }
    }

    /// True if the period lasted until another purchase took its place. Its order was paid
    /// (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseLineItem), and the
    /// notification of that may be lost for good. Every other statement of the period says more: here its end is that of access.
    var lastedUntilReplaced: Bool {
        purchase.state == .expired && purchase.cancellation == .replacement && transaction != nil && !isOutlived
            && start != nil
    }

    /// True if it is paid up to an end that lies ahead. The answer states that end whatever it was asked for, and the notification that
    /// put it off may be lost for good; for a day in which Google tries a declined charge again there is none.
    /// https://developer.android.com/google/play/billing/lifecycle/subscriptions
    var runsUntilEnd: Bool { (purchase.state == .active || purchase.state == .canceled) && !isOver && !isOutlived }

    /// In grace the store has put off the end of the period already, so the paid end is not to be seen.
    var isPeriodStated: Bool {
        switch purchase.state {
        case .active, .canceled: start != nil
        case .expired: type == .renewed && start != nil
        default: false
        }
    }

    /// The period, from the moment of the notification on where its start is not known.
    var period: ServicePeriod {
        let end = item.expiryTime ?? eventTime
        return ServicePeriod(start: min(start ?? eventTime, end), end: end)
    }

    /// The period, if it is known whole.
    var knownPeriod: ServicePeriod? {
        start != nil && item.expiryTime != nil && purchase.state != .inGracePeriod ? period : nil
    }

    var phase: PeriodPhase {
        if item.isPrepaid { return .prepaid }
        switch item.offerPhase {
        case .freeTrial?: return .trial
        case .introductory?: return .introductory
        case .proration("FREE_TRIAL"?)?: return .trial
        case .proration("INTRODUCTORY"?)?: return .introductory
        case .base?, .proration?: return .regular
        // Older answers name the offer and not its phase. After a renewal it may be over.
        case .unknown?, nil: return item.offerID != nil && !isRenewalOrder ? .promotional : .regular
        }
    }

    /// The charged price, by the order; else the list price, if the item is used at that price.
    var price: Price? {
        if let total = orderItem?.total { return Price(total, .charged, tax: orderItem?.tax) }
        guard phase == .regular, let recurring = item.autoRenewingPlan?.recurringPrice else { return nil }
        return Price(recurring, .list)
    }

    /// How much of a whole period a change (CHARGE_PRORATED_PRICE), or an add-on that joined, was charged for: the order states what was
    /// paid after the old product was set off, and the purchase the price of a period, without tax that is added to it.
    /// https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#AutoRenewingPlan
    ///
    /// Without a mode it is a sale, for whose price a discount may be the reason; or an item that joins others, which are kept. Google says
    /// how an item was replaced for 60 days, and what it stated then counts from then on.
    var paidPart: PurchasedItem.Part? {
        guard purchase.linkedPurchaseToken != nil, !isRenewalOrder, !isContinued, phase == .regular,
            item.replacement.map({ $0.mode == .chargeProratedPrice })
                ?? purchase.lineItems.contains(where: { $0.replacement?.mode == .keepExisting }),
            let whole = item.autoRenewingPlan?.recurringPrice, whole.amount.coefficient > 0,
            let paid = order?.isTaxInclusive == true ? orderItem?.total : orderItem?.totalBeforeTax,
            paid.amount.coefficient > 0, paid.currency == whole.currency
        else { return nil }
        return PurchasedItem.Part(price: paid, whole: whole)
    }

    /// True if its time is over.
    var isOver: Bool { item.expiryTime.map { $0 <= assertedAt } ?? false }

    /// True if its time is over in a purchase that continues.
    var isEndedBesideOthers: Bool {
        guard isOver, purchase.state == .active || purchase.state == .canceled else { return false }
        return purchase.lineItems.contains { other in other.expiryTime.map { $0 > assertedAt } ?? false }
    }

    /// True if the time that its last order paid for was over at the refund. An item that is taken away with its money
    /// ends within minutes of it.
    ///
    /// For a replaced purchase it is unknown: the rest continues in the successor, or was set off.
    var isUsedUp: Bool {
        guard case .voided(let refundedAt) = reason, purchase.cancellation != .replacement, let end = item.expiryTime,
            end < refundedAt.addingTimeInterval(-Self.refundSlack)
        else { return false }
        // Cut short, whenever the order was written to.
        guard !isContinued, let paidEnd = orderItem?.servicePeriodEnd else { return true }
        return paidEnd <= end.addingTimeInterval(Self.refundSlack)
    }

    /// True if access ended with the refund of the last order, and not by itself or by a successor.
    var isTakenAway: Bool {
        guard case .voided = reason else { return false }
        return purchase.state == .expired && purchase.cancellation != .replacement && !isUsedUp
    }

    /// Seconds lie between the end of a purchase and its order's refund; ten minutes allow for clocks.
    private static let refundSlack: TimeInterval = 600

    /// When access ended, in a state without access.
    var accessEnd: Date { min(item.expiryTime ?? eventTime, assertedAt) }
}
