import FoundationEssentials
import LifecycleEvents

extension PlayItem {
    var facts: [Fact] {
        // A state that is not known changes nothing.
        guard purchase.state.isKnown else { return [] }
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
            break
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
                        isRunning: !isPeriodStated && (lastedUntilReplaced || runsUntilEnd),
                        isStartInferred: isPeriodStated ? isStartInferred : runsUntilEnd
                    )
                )
            )
        }
        if let change { facts.append(.productSwitch(change)) }
        if let price, price.role == .charged, let transaction {
            let time = order?.processedTime ?? order?.createTime ?? period.start
            let items = paidPart.map { [PurchasedItem(product: productName, part: $0)] }
            facts.append(.charge(Fact.Charge(transaction: transaction, price: price, at: time, items: items)))
        }
        return facts
    }

    /// How the purchase took the place of another.
    private var change: Fact.ProductSwitch? {
        guard let (from, proration) = (isPeriodStated ? boughtAgain ?? deferredChange : nil) ?? firstChange else {
            return nil
        }
        return Fact.ProductSwitch(
            periodStart: period.start,
            transaction: periodName,
            from: from,
            to: productName,
            at: period.start,
            proration: proration
        )
    }

    private typealias Origin = (product: ProductID?, proration: LifecycleEvent.ProductChange.Proration?)

    /// The same plan was bought again before its end.
    private var boughtAgain: Origin? {
        guard let replacement = item.replacement, replacement.productID == item.productID, !isRenewalOrder,
            !item.isPrepaid, case .started = SubscriptionMapping(item: self).began.event
        else { return nil }
        return (productName, replacement.mode.flatMap(LifecycleEvent.ProductChange.Proration.init))
    }

    /// The change that the first order of the purchase was charged for, ahead of the end of grace: the old item is listed until the
    /// moment of the payment, and the period begins before. The order of a renewal shows by itself that it is one.
    private var deferredChange: Origin? {
        guard let replacement = item.replacement, replacement.mode == .deferred, !isRenewalOrder, !isContinued,
            !isStartInferred
        else { return nil }
        return (replacement.productID.map { ProductID($0).under(replacement.basePlanID) }, .deferred)
    }

    /// The change that the purchase began with. Each answer about its first period states it, since the notification of the change may be
    /// lost for good.
    private var firstChange: Origin? {
        guard isPeriodStated && !isStartInferred || lastedUntilReplaced, !isRenewalOrder, let change = begunChange
        else { return nil }
        return (change.from, change.proration)
    }

    private var begunChange: LifecycleEvent.ProductChange? {
        guard !isContinued, case .productChanged(let change) = SubscriptionMapping(item: self).began.event,
            change.direction != .addOns
        else { return nil }
        return change
    }

    /// The period that a change began with, as its first renewal shows it: the notification of the change may be lost for good.
    private var firstPeriod: [Fact] {
        guard type == .renewed, let transaction, transaction.renewal == 0, item.replacement != nil,
            item.replacement?.mode != .deferred, let begun = purchase.startTime, let end = start, !isStartInferred,
            begun < end, let change = begunChange
        else { return [] }
        return [
            .period(
                Fact.Period(
                    ServicePeriod(start: begun, end: end),
                    product: productName,
                    phase: .regular,
                    transaction: transaction.firstOrder,
                    isProvisional: true,
                    isRunning: true,
                    isPhaseInferred: true
                )
            ),
            .productSwitch(
                Fact.ProductSwitch(
                    periodStart: begun,
                    transaction: transaction.firstOrder,
                    from: change.from,
                    to: productName,
                    at: begun,
                    proration: change.proration
                )
            ),
        ]
    }

    private var access: [Fact] {
        var facts: [Fact] = [.closure(closure)] + paidTime + firstPeriod
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
