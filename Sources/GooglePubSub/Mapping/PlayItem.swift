import FoundationEssentials
public import LifecycleEvents

/// One item of a subscription purchase as Google Play gave it, with the reason for the question.
///
/// The facts are those of the answer alone. A notification adds its time, and that a charge was made.
struct PlayItem {
    /// The reason of the look-up.
    enum Reason: Hashable {
        /// The notification's number.
        case notification(SubscriptionNotificationType)
        /// The notification says that money went back, at a moment.
        case voided(at: Date)
        /// None but our own wish to know.
        case question
    }

    let purchase: SubscriptionPurchase
    let item: SubscriptionPurchase.LineItem
    /// True if it stands for the purchase, and the purchase's lineage is its own. Further items have lineages of their own.
    let isMain: Bool
    /// True if it has the names of the purchase and not names of its own: it represents the purchase, or did so until
    /// its successor replaced it.
    let hasPurchaseName: Bool
    /// The product in the name of its lineage; nil if that is the purchase's alone.
    let nameProduct: String?
    /// The products in the names that it may have had before under this token.
    let formerNameProducts: [String]
    /// True if another item has taken its place.
    let isOutlived: Bool
    /// True if it has taken the place of another item.
    let isSuccessor: Bool
    let token: PurchaseToken
    let reason: Reason
    /// The time of the notification's event; the time of the answer if there is no notification.
    let eventTime: Date
    /// When Google Play gave the answer.
    let assertedAt: Date
    /// The last paid order, if it was asked for.
    let order: PlayOrder?
    /// The entry in the list of voided purchases, if it was asked for.
    let voided: VoidedPurchase?
    /// The purchase that this one took the place of, if it was asked for.
    let predecessor: SubscriptionPurchase?
    /// The items of the purchases before this one that the item continues, newest first.
    let ancestors: [FormerItem]
}

extension PlayItem {
    /// The notification's type.
    var type: SubscriptionNotificationType? {
        if case .notification(let type) = reason { type } else { nil }
    }
}

// MARK: Identity

extension PlayItem {
    var environment: StoreEnvironment { purchase.isTestPurchase ? .sandbox : .production }

    var lineage: SubscriptionID {
        SubscriptionID(
            store: .playStore,
            environment: environment,
            id: LineageName(token.fingerprint).item(nameProduct)
        )
    }

    /// Names the last paid order. Items share an order, and each has it in a lineage of its own.
    var transaction: TransactionID? { item.orderID }

    /// True if it was paid for by an order of the purchase before: items that a deferred change leaves until its date,
    /// and items that a change keeps. That purchase ends at once, with the period that it named by the order.
    var isContinued: Bool {
        guard purchase.linkedPurchaseToken != nil, let orderID = item.latestSuccessfulOrderID else { return false }
        return item.deferredReplacement != nil || isOutlived
            || predecessor?.lineItems.contains { $0.latestSuccessfulOrderID == orderID } == true
    }

    /// True if it continues with the product that the order paid for: until the date of a deferred change, or kept.
    private var isLeftAsItWas: Bool {
        guard isContinued else { return false }
        return item.deferredReplacement != nil || isOutlived || ancestors.first?.item?.productName == item.productName
    }

    /// Names the period in facts: by its order, and by the token where the order's own period is another purchase's.
    var periodName: TransactionID? { isContinued ? continuedName : transaction }

    private var continuedName: TransactionID? {
        transaction.map { $0.continuation(under: token.fingerprint) }
    }

    var account: Account? {
        Account(purchase.accountIdentifiers) ?? Account(purchase.outOfAppPurchase?.accountIdentifiers)
    }

    var product: PurchasedProduct {
        PurchasedProduct(
            id: ProductID(item.productID),
            basePlan: item.basePlanID,
            offer: offer,
            offerTags: item.offerTags.isEmpty ? nil : item.offerTags
        )
    }

    var productName: ProductID { item.productName }

    /// The item that a deferred change puts in this one's place; by its id alone where it is not listed.
    var nextProductName: ProductID? {
        item.deferredReplacement.map { target in successor?.productName ?? ProductID(target) }
    }

    private var offer: Offer? {
        let isCode = item.signupPromotion != nil
        guard item.offerID != nil || isCode else { return nil }
        let kind: Offer.Kind
        switch item.offerPhase {
        case _ where isCode: kind = .code
        case .freeTrial?, .introductory?: kind = .introductory
        default: kind = .promotional
        }
        return Offer(kind: kind, id: item.offerID, payment: item.offerPhase == .freeTrial ? .freeTrial : nil)
    }
}

extension SubscriptionPurchase.LineItem {
    /// The product as periods and changes name it, and as relays do: a base plan decides on duration and price.
    var productName: ProductID { ProductID(productID).under(basePlanID) }

    /// The order that paid for the current period.
    var orderID: TransactionID? { latestSuccessfulOrderID.map(TransactionID.init) }
}

extension Account {
    init?(_ identifiers: SubscriptionPurchase.AccountIdentifiers?) {
        guard let identifiers else { return nil }
        self.init([
            identifiers.obfuscatedAccountID.map { Identifier($0, .obfuscatedAccountID) },
            identifiers.obfuscatedProfileID.map { Identifier($0, .obfuscatedProfileID) },
            identifiers.externalAccountID.map { Identifier($0, .externalAccountID) },
        ])
    }

    /// The first identifier binds; the others are further names.
    init?(_ identifiers: [Identifier?]) {
        let present = identifiers.compactMap(\.self)
        guard let first = present.first else { return nil }
        self.init(first.id, first.source, aliases: Array(present.dropFirst()))
    }
}

extension Account.Source {
    /// Google's `externalAccountId`: the user's account with the app, if Google links accounts.
    public static let externalAccountID: Account.Source = "external_account_id"
}

// MARK: Period

extension PlayItem {
    var isRenewalOrder: Bool { transaction?.isRenewal == true }

    private var orderItem: PlayOrder.LineItem? {
        order?.lineItems.first { $0.productID == item.productID }
            ?? (order?.lineItems.count == 1 ? order?.lineItems.first : nil)
    }

    /// The start of the last paid order's period. The purchase does not state it; the order does, and so does the
    /// notification of a charge.
    var start: Date? { knownStart?.date }

    /// True if the start is the moment of the notification, since nothing states it.
    private var isStartInferred: Bool { knownStart?.isInferred ?? false }

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
    private var lastedUntilReplaced: Bool {
        purchase.state == .expired && purchase.cancellation == .replacement && transaction != nil && !isContinued
            && start != nil
    }

    /// In grace the store has put off the end of the period already, so the paid end is not to be seen.
    private var isPeriodStated: Bool {
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

// MARK: Renewal

extension PlayItem {
    /// The item that takes this one's place when its period ends.
    private var successor: SubscriptionPurchase.LineItem? {
        item.deferredReplacement.flatMap { target in
            purchase.lineItems.first { $0.productID == target && $0.expiryTime == nil }
        }
    }

    var isCancellationScheduled: Bool { item.autoRenewingPlan?.installments?.isCancellationPending ?? false }

    /// True if the customer has canceled a commitment, and nothing of it is left to pay.
    private var isLastPaymentMade: Bool {
        isCancellationScheduled && item.autoRenewingPlan?.installments?.remainingCommittedPayments == 0
    }

    var terms: RenewalTerms? {
        switch purchase.state {
        case .active, .canceled, .inGracePeriod, .onHold, .paused, .expired: break
        default: return nil
        }
        let isLive = purchase.state != .canceled && purchase.state != .expired
        let renewing = item.deferredReplacement == nil ? item : successor
        let willRenew =
            isLive && !isLastPaymentMade && !item.isRemovalDeferred
            && (renewing.map { $0.autoRenewingPlan?.isAutoRenewEnabled ?? false } ?? true)
        return RenewalTerms(
            willRenew: willRenew,
            nextProduct: isLive ? nextProductName : nil,
            nextPrice: willRenew ? nextPrice : nil,
            renewsAt: willRenew && purchase.state == .active ? item.expiryTime : nil
        )
    }

    /// Only of a regular price is it known that the next one is the same.
    private var nextPrice: Money? {
        if item.deferredReplacement != nil { return successor?.autoRenewingPlan?.recurringPrice }
        guard phase == .regular, let plan = item.autoRenewingPlan else { return nil }
        switch (plan.priceChange?.state, plan.priceChange?.mode) {
        case (.confirmed?, _), (.outstanding?, .decrease?), (.outstanding?, .optOutIncrease?):
            return plan.priceChange?.newPrice ?? plan.recurringPrice
        default:
            return plan.recurringPrice
        }
    }

    /// The reason that it will not renew; nil if it renews, and for a prepaid one. The remaining bills of a commitment
    /// still come.
    var disabledReason: LifecycleEvent.AutoRenewDisabled.Reason? {
        guard let terms, !item.isPrepaid else { return nil }
        // Once the commitment is over, the purchase is canceled like any other.
        if isCancellationScheduled, purchase.state != .canceled, purchase.state != .expired { return .commitment }
        guard !terms.willRenew else { return nil }
        if item.isRemovalDeferred { return .customer }
        switch purchase.cancellation {
        case .user?: return .customer
        case .developer?: return .developer
        case .system?: return isIncreaseDeclined ? .priceIncreaseDeclined : .billing
        case .replacement?, .unknown?, nil: return .unknown
        }
    }

    /// A price that had to be agreed to, and was not.
    private var isIncreaseDeclined: Bool {
        let plan = item.autoRenewingPlan
        return plan?.stepUpConsent?.state == .pending
            || (plan?.priceChange?.state == .outstanding && plan?.priceChange?.mode == .increase)
    }

    /// The reason for its end, unless it was taken away: then the resource has no reason, and a developer's refund
    /// reads like the customer's wish.
    var expiryReason: LifecycleEvent.Expired.Reason {
        if isOutlived { return .replaced }
        // It was taken out, and the others were charged without it.
        if isEndedBesideOthers, item.isRemovalDeferred || type == .renewed || type == .recovered { return .customer }
        switch purchase.cancellation {
        case .replacement?: return .replaced
        case .user?: return .customer
        case .developer?: return .developer
        case .system?:
            // Not acknowledged; or given up for a deferred change, when the old item loses its date.
            if isUnacknowledged || item.expiryTime == nil { return .unknown }
            return isIncreaseDeclined ? .priceIncreaseDeclined : .billing
        case .unknown?, nil: return .unknown
        }
    }

    var revocationReason: LifecycleEvent.Revocation.Reason {
        if isUnacknowledged || voided?.reason == .unacknowledged { return .unacknowledged }
        if order?.refund?.reason == .chargeback || voided?.reason == .chargeback { return .store }
        return voided?.source == .developer ? .developer : .unknown
    }

    private var isUnacknowledged: Bool {
        purchase.acknowledgementState == .pending && acknowledgementDeadline <= eventTime
    }

    /// Three days for a renewing product, half of a shorter prepaid time, five minutes for testers.
    var acknowledgementDeadline: Date {
        let start = purchase.startTime ?? eventTime
        if purchase.isTestPurchase { return start.addingTimeInterval(5 * 60) }
        guard item.isPrepaid, let end = item.expiryTime else { return start.addingTimeInterval(3 * 86_400) }
        let half = Date(
            millisecondsSince1970: start.millisecondsSince1970
                + max(0, end.millisecondsSince1970 - start.millisecondsSince1970) / 2
        )
        return min(half, start.addingTimeInterval(3 * 86_400))
    }

    var needsAcknowledgement: Bool {
        switch purchase.state {
        case .active, .canceled, .inGracePeriod: purchase.acknowledgementState == .pending
        default: false
        }
    }
}

// MARK: Price changes

extension PlayItem {
    var priceChange: LifecycleEvent.PriceChange? {
        guard let change = item.autoRenewingPlan?.priceChange, let state = change.state else { return nil }
        let stage: LifecycleEvent.PriceChange.Stage
        switch state {
        case .outstanding: stage = .pending
        case .confirmed: stage = .accepted
        case .applied: stage = .applied
        case .canceled: stage = .declined
        default: return nil
        }
        return LifecycleEvent.PriceChange(
            stage: stage,
            old: stage == .applied ? nil : item.autoRenewingPlan?.recurringPrice,
            new: change.newPrice,
            effectiveAt: change.expectedChargeTime,
            consentRequired: stage == .pending && change.mode == .increase
        )
    }

    var stepUp: LifecycleEvent.PriceChange? {
        guard let consent = item.autoRenewingPlan?.stepUpConsent, let state = consent.state else { return nil }
        let stage: LifecycleEvent.PriceChange.Stage
        switch state {
        case .pending: stage = .pending
        case .confirmed: stage = .accepted
        case .completed: stage = .applied
        default: return nil
        }
        return LifecycleEvent.PriceChange(
            stage: stage,
            new: consent.newPrice,
            effectiveAt: consent.deadline,
            consentRequired: stage == .pending
        )
    }

    /// The change that is still to come.
    var openPriceChange: LifecycleEvent.PriceChange? {
        [stepUp, priceChange].compactMap(\.self).first { $0.stage == .pending || $0.stage == .accepted }
    }
}

// MARK: Facts

extension PlayItem {
    var facts: [Fact] {
        // For the item that the main item replaced, only the paid time is left to state.
        if hasPurchaseName, !isMain { return paidTime + (isEndedBesideOthers ? ended(expiryReason) : []) }
        var facts: [Fact] = []
        switch purchase.state {
        case .pending, .pendingPurchaseCanceled:
            break
        case .active, .canceled, .inGracePeriod, .onHold, .paused, .expired:
            facts += access
            if let terms {
                facts.append(.renewalIntent(Fact.RenewalIntent(terms, reason: disabledReason)))
                facts.append(.priceChange(Fact.PriceChangeState(openPriceChange)))
            }
        default:
            // A state that is not known changes nothing.
            return []
        }
        if let account { facts.append(.owner(account)) }
        return facts + links
    }

    /// The period that the last order paid for, and its charge.
    private var paidTime: [Fact] {
        var facts: [Fact] = []
        if item.expiryTime != nil {
            facts.append(
                .period(
                    Fact.Period(
                        period,
                        product: productName,
                        phase: phase,
                        transaction: periodName,
                        isProvisional: !isPeriodStated,
                        isRunning: !isPeriodStated && lastedUntilReplaced,
                        isStartInferred: isPeriodStated && isStartInferred
                    )
                )
            )
        }
        // The change that it began with may never have been reported either.
        if !isPeriodStated, lastedUntilReplaced,
            case .productChanged(let change) = SubscriptionMapping(item: self).began.event
        {
            facts.append(
                .productSwitch(
                    Fact.ProductSwitch(
                        periodStart: period.start,
                        transaction: periodName,
                        from: change.from,
                        to: change.to,
                        at: period.start,
                        proration: change.proration
                    )
                )
            )
        }
        if let price, price.role == .charged, let transaction {
            let time = order?.processedTime ?? order?.createTime ?? period.start
            facts.append(.charge(Fact.Charge(transaction: transaction, price: price, at: time)))
        }
        return facts
    }

    private var access: [Fact] {
        var facts: [Fact] = [.closure(closure)] + paidTime
        switch purchase.state {
        case .inGracePeriod:
            facts.append(.billing(Fact.Billing(.grace, graceUntil: item.expiryTime)))
        case .onHold:
            facts.append(step(at: accessEnd, .billing))
            facts.append(.billing(Fact.Billing(.suspended)))
            // Also where a pause was to end, and the charge failed.
            facts.append(.pause(Fact.PauseState(.none)))
        case .paused:
            facts.append(step(at: accessEnd, .paused))
            facts.append(.billing(Fact.Billing(.settled)))
            facts += ended(.paused)
            facts.append(.pause(Fact.PauseState(.paused, resumesAt: purchase.autoResumeTime)))
        case .expired:
            facts.append(.billing(Fact.Billing(.settled)))
            facts += ended(endReason)
            facts.append(.pause(Fact.PauseState(.none)))
        default:
            // A purchase that is canceled in grace reads like one that was paid for until the grace ends.
            if purchase.state != .canceled || isPeriodStated || isOver {
                facts.append(.billing(Fact.Billing(.settled)))
            }
            // A period that is not stated does not show that it was cut short.
            if isEndedBesideOthers, !isPeriodStated { facts += ended(expiryReason) }
            if type == .recovered { facts.append(step(at: eventTime, nil)) }
        }
        // Only the notification reports a planned pause, and only a charge reports that none is left.
        if purchase.state == .active {
            switch type {
            case .pauseScheduleChanged?: facts.append(.pause(Fact.PauseState(.scheduled)))
            case .recovered?, .renewed?, .purchased?: facts.append(.pause(Fact.PauseState(.none)))
            default: break
            }
        }
        return facts
    }

    /// That access stopped, or came back: a recovery may name the order that was paid before.
    private func step(at time: Date, _ reason: LifecycleEvent.Expired.Reason?) -> Fact {
        .interruption(Fact.Interruption(start: min(period.start, time), at: time, reason: reason))
    }

    private var endReason: LifecycleEvent.Expired.Reason {
        if case .voided = reason { return isTakenAway ? .unknown : expiryReason }
        return type == .revoked ? .unknown : expiryReason
    }

    /// The closure: the purchase is over or withheld. Its state ranks above its dates: on hold, paused or expired it
    /// gives no access, not even by an item that was paid for longer, nor by purchases that it replaced: "the old
    /// subscription is invalidated" (https://developer.android.com/google/play/billing/subscriptions#handle-upgrade).
    private var closure: Fact.Closure {
        switch purchase.state {
        case .onHold: Fact.Closure(at: accessEnd, reason: .billing, covering: coveredLineages)
        case .paused: Fact.Closure(at: accessEnd, reason: .paused, covering: coveredLineages)
        case .expired: Fact.Closure(at: accessEnd, reason: endReason, covering: coveredLineages)
        // Of several items one is over: that is said of it alone.
        default: isEndedBesideOthers ? Fact.Closure(at: accessEnd, reason: expiryReason) : .open
        }
    }

    /// The purchases that this one replaced, with the relays' names of them and of this one.
    private var coveredLineages: [SubscriptionID] {
        // A purchase that was never owned replaced nothing.
        guard item.expiryTime != nil else { return [] }
        var names = ancestors.map(\.lineageID) + [lineageOfOrder].compactMap(\.self)
        if let former = ancestors.first, let order = former.item?.orderID?.firstOrder {
            if order.isPlayOrder { names.append(former.name(order.rawValue)) }
        }
        var seen: Set<String> = [lineage.id]
        return names.filter { !$0.isEmpty && seen.insert($0).inserted }.map {
            SubscriptionID(store: .playStore, environment: environment, id: $0)
        }
    }

    /// The paid time of a purchase whose place another took, and its end.
    var replacedTime: [Fact] { lastedUntilReplaced ? paidTime + ended(.replaced) : [] }

    private func ended(_ reason: LifecycleEvent.Expired.Reason) -> [Fact] {
        var names = [periodName]
        // Google forgets the purchase before 60 days after its end. Then either name may be the period's.
        if purchase.linkedPurchaseToken != nil, predecessor == nil, !isContinued, let continuedName {
            names.append(continuedName)
        }
        return names.map {
            .periodEnded(Fact.PeriodEnd(start: period.start, transaction: $0, at: accessEnd, reason: reason))
        }
    }

    /// The purchases that this one continues, and the order under which relays know the lineage.
    private var links: [Fact] {
        var names = ancestors.map(\.lineageID)
        if let expired = purchase.outOfAppPurchase?.expiredPurchaseToken {
            names.append(LineageName(expired.fingerprint).item(nameProduct))
        }
        names += formerNameProducts.map { LineageName(token.fingerprint).item($0) }
        names += [lineageOfOrder].compactMap(\.self)
        var seen: Set<String> = [lineage.id]
        return names.filter { seen.insert($0).inserted }.map {
            .link(SubscriptionID(store: .playStore, environment: environment, id: $0))
        }
    }

    /// The lineage as relays name it, by the order.
    private var lineageOfOrder: String? {
        guard let order = transaction?.firstOrder, order.isPlayOrder else { return nil }
        return LineageName(order.rawValue).item(nameProduct)
    }
}
