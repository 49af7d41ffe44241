import LifecycleEvents
import WireJSON

/// The subscription before an update, from `previous_attributes`: only the changed members, arrays whole.
struct SubscriptionBefore {
    let status: SubscriptionObject.Status?
    let items: [SubscriptionObject.Item]?
    /// The present items to compare these with: as many as are shown, unless more were shown before.
    let itemsNow: [SubscriptionObject.Item]
    let start: Milliseconds?
    let end: Milliseconds?
    /// True if the latest period was one of an item's before. Then another period has ended, and none began.
    let hadLatest: Bool
    let wasEnding: Bool
    let endsAt: Milliseconds?
    /// True if one of the members that arrange an end has changed.
    let endChanged: Bool
    let canceledAt: Milliseconds?
    let trialEnd: Change<Milliseconds>
    let hadCollectionPause: Bool?
    let hadPendingUpdate: Bool?
    /// True if it was paused in any way before, and is not now.
    let wasPaused: Bool
    /// When a pause of the subscription began that is over.
    let pausedAt: Milliseconds?
    /// True if the update made a new invoice.
    let hasNewInvoice: Bool

    /// A member that may have changed from nothing.
    enum Change<Value> {
        case none
        case from(Value?)
    }

    /// For an event that does not state it.
    init(_ now: SubscriptionObject, shown: [SubscriptionObject.Item]) {
        (status, items, itemsNow, start, end, hadLatest) = (nil, nil, shown, nil, nil, false)
        (wasEnding, endsAt, endChanged, canceledAt) = (now.isEnding, now.endsAt, false, nil)
        (trialEnd, hadCollectionPause, hadPendingUpdate, hasNewInvoice) = (.none, nil, nil, false)
        (wasPaused, pausedAt) = (false, nil)
    }

    init(
        _ attributes: PreviousAttributes,
        _ now: SubscriptionObject,
        shown: [SubscriptionObject.Item]
    ) throws(JSONError) {
        let fields = attributes.fields
        status = try fields.optionalString(.status).map { SubscriptionObject.Status($0) }
        items = attributes.items
        itemsNow = (items?.count ?? 0) > shown.count ? now.items : shown
        hadLatest = items?.contains { $0.start != nil && $0.start == now.latest?.start } ?? false
        // Before basil the period stood on the subscription, since then on its items. Only a change is of interest.
        var start: Milliseconds?
        var end: Milliseconds?
        // Items have rhythms of their own; an unchanged item says nothing about an ended period.
        for item in items ?? [] where !now.items.contains(where: { $0.start == item.start && $0.end == item.end }) {
            if let other = item.start { start = max(start ?? other, other) }
            if let other = item.end { end = max(end ?? other, other) }
        }
        if let stated = try fields.time(.currentPeriodStart) { start = stated }
        if let stated = try fields.time(.currentPeriodEnd) { end = stated }
        if start == now.latest?.start { start = nil }
        if end == now.periodEnd { end = nil }
        (self.start, self.end) = (start, end)

        let flag =
            fields.has(.cancelAtPeriodEnd)
            ? try fields.optionalBool(.cancelAtPeriodEnd) ?? false : now.cancelAtPeriodEnd
        let date = fields.has(.cancelAt) ? try fields.time(.cancelAt) : now.cancelAt
        endChanged = fields.has(.cancelAtPeriodEnd) || fields.has(.cancelAt)
        wasEnding = flag || date != nil
        endsAt = date ?? (flag ? end ?? now.firstEnd : nil)
        canceledAt = try fields.time(.canceledAt)
        trialEnd = fields.has(.trialEnd) ? .from(try fields.time(.trialEnd)) : .none
        hadCollectionPause = fields.has(.pauseCollection) ? fields.optionalValue(.pauseCollection) != nil : nil
        hadPendingUpdate = fields.has(.pendingUpdate) ? fields.optionalValue(.pendingUpdate) != nil : nil
        hasNewInvoice = fields.has(.latestInvoice)
        pausedAt = try fields.reader(.statusDetails)?.reader("paused")?.time("transitioned_at")
        wasPaused =
            status == .paused && now.status != .paused || hadCollectionPause == true && now.collectionPause == nil
    }

    /// True if the period ran out and the next one took its place.
    func rolled(to now: SubscriptionObject) -> Bool {
        guard let start, let latest = now.latest else { return false }
        // If no change of the end is stated, the period before cannot have run out.
        return start < latest.start && end == latest.start
    }

    /// True if a period began before the end of the one before it.
    func restarted(to now: SubscriptionObject) -> Bool {
        guard let start, let latest = now.latest, !hadLatest else { return false }
        return start < latest.start && !rolled(to: now)
    }

    /// The items before, if their change within the period that continues made an invoice: it is for the rest of that then.
    func itemsBeforeInvoice(of now: SubscriptionObject) -> [SubscriptionObject.Item]? {
        hasNewInvoice && !rolled(to: now) && !restarted(to: now) ? items : nil
    }

    /// True if such a change made it past due, and the period had been paid for.
    func failed(withChangeTo now: SubscriptionObject) -> Bool {
        (status == .active || status == .trialing) && itemsBeforeInvoice(of: now) != nil
    }
}

/// How the items of a subscription changed: by price and quantity, never by the mere presence of previous items, which
/// since basil come with every renewal.
enum ItemChange {
    case none
    case swapped(from: SubscriptionObject.Item, to: SubscriptionObject.Item)
    /// Another price object for the same product in the same rhythm.
    case repriced(from: PriceObject, to: PriceObject)
    case quantity(SubscriptionObject.Item)
    case added(SubscriptionObject.Item)
    case removed(SubscriptionObject.Item)

    init(from old: [SubscriptionObject.Item]?, to new: [SubscriptionObject.Item]) {
        self = .none
        guard let old, !old.isEmpty else { return }
        let isSame =
            old.count == new.count
            && zip(old, new).allSatisfy { $0.price.id == $1.price.id && $0.quantity == $1.quantity }
        if isSame { return }
        switch (Self.primary(of: old, without: new), Self.primary(of: new, without: old)) {
        case (let from?, let to?):
            let isSameProduct = from.price.product != nil && from.price.product == to.price.product
            self =
                isSameProduct && from.price.isSameRhythm(as: to.price)
                ? .repriced(from: from.price, to: to.price) : .swapped(from: from, to: to)
        case (nil, let item?):
            self = .added(item)
        case (let item?, nil):
            self = .removed(item)
        case (nil, nil):
            let quantities = Dictionary(old.map { ($0.price.id, $0.quantity) }) { first, _ in first }
            if let item = new.first(where: { quantities[$0.price.id] != .some($0.quantity) }) {
                self = .quantity(item)
            }
        }
    }

    /// The item that represents those whose price none of the others has.
    private static func primary(
        of items: [SubscriptionObject.Item],
        without others: [SubscriptionObject.Item]
    ) -> SubscriptionObject.Item? {
        if items.count == 1, let item = items.first {
            return others.contains { $0.price.id == item.price.id } ? nil : item
        }
        let prices = Set(others.map(\.price.id))
        return items.filter { !prices.contains($0.price.id) }.primary
    }

    /// Dearer by the day is up, cheaper is down. Stripe knows neither.
    static func direction(
        from old: PriceObject,
        to new: PriceObject
    ) -> LifecycleEvent.ProductChange.Direction {
        // Another rhythm for the same thing is no other level of service, whatever the discount for it.
        if old.product != nil, old.product == new.product { return .crossgrade }
        switch PriceObject.isDearer(new, than: old) {
        case true?: return .upgrade
        case false?: return .downgrade
        case nil: return .unknown
        }
    }
}

extension Mapping {
    /// A subscription after an update, and its stated content before.
    struct Update {
        var stated: Stated
        let before: SubscriptionBefore

        var subscription: SubscriptionObject { stated.subscription }
        var lineage: SubscriptionID { stated.lineage }
        var subject: EventSubject { stated.subject }

        /// True if the period ran out and the next one took its place.
        var rolled: Bool { before.rolled(to: subscription) }
        /// True if a period began ahead of the end of the one before it.
        var restarted: Bool { before.restarted(to: subscription) }

        /// The products that began within a period, if the update made an invoice for the rest of that.
        var begunByInvoice: [PurchasedItem]? {
            guard let items = before.itemsBeforeInvoice(of: subscription) else { return nil }
            let begun = Set(before.itemsNow.lazy.filter { !$0.isBilledByUse }.map(\.price.productID))
                .subtracting(items.map(\.price.productID))
            return begun.isEmpty ? nil : begun.sorted().map { PurchasedItem(product: $0) }
        }
    }

    /// One update can hold several facts. They come in this order: renewal, items, pause, state.
    func subscriptionUpdated(
        _ shown: SubscriptionObject,
        _ previous: PreviousAttributes?
    ) throws(JSONError) -> Outcome {
        guard let subscription = completed(shown) else { return statement(shown, .needsLookup) }
        let attributes = subscription === shown ? previous : try notification?.previous(of: subscription, policy)
        let before =
            try attributes.map { (attributes) throws(JSONError) in
                try SubscriptionBefore(attributes, subscription, shown: shown.items)
            } ?? SubscriptionBefore(subscription, shown: shown.items)
        // The time of a test clock is not that of its events.
        let isOfChange = !subscription.hasTestClock && before.failed(withChangeTo: subscription)
        let stated = stated(subscription, begins: before.status == .incomplete, failedAt: isOfChange ? created : nil)
        var update = Update(stated: stated, before: before)
        if before.hadPendingUpdate == true, subscription.pendingItems.isEmpty {
            update.stated.subject.facts.append(.nextProduct(Fact.NextProduct(nil)))
        }
        if before.wasPaused { statePauseOver(in: &update.stated) }
        update.stated.subject.facts += removals(update) + accessSteps(update)
        if update.restarted, let end = endBefore(update) { update.stated.subject.facts.append(.periodEnded(end)) }
        var drafts: [Draft] = []
        switch subscription.status {
        case .incompleteExpired, .canceled:
            break
        case .incomplete:
            if let draft = renewal(update) { drafts.append(draft) }
        default:
            if let draft = renewal(update) { drafts.append(draft) }
            if let draft = items(update) { drafts.append(draft) }
            if let draft = pendingUpdate(update) { drafts.append(draft) }
            if let draft = collection(update) { drafts.append(draft) }
        }
        let changesProduct = drafts.contains { $0.event.event.kind == .productChanged }
        if let draft = state(update, changesProduct: changesProduct) { drafts.append(draft) }
        if !drafts.isEmpty { return .events(drafts) }
        // An invoice or an event of its own reports a changed status or period that gave no event here.
        let isReported = before.status != nil || before.start != nil
        return update.stated.none(isReported ? .reportedElsewhere : .unchanged)
    }

    /// The ends of items that were removed from a period that continues.
    private func removals(_ update: Update) -> [Fact] {
        guard let items = update.before.items, let main = items.primary?.price.productID,
            !update.subscription.hasTestClock
        else { return [] }
        let others = items.others(than: main)
        guard !others.isEmpty else { return [] }
        let kept = Set(update.subscription.items.map(\.price.productID) + [main])
        let starts = Set(update.subscription.spans.map(\.start))
        return others.compactMap { item in
            let product = item.price.productID
            guard !kept.contains(product), let start = item.start ?? update.subscription.latest?.start,
                starts.contains(start) || item.end.map({ $0 > created }) == true
            else { return nil }
            return .periodEnded(
                Fact.PeriodEnd(start: start.date, transaction: nil, at: created.date, reason: .replaced, item: product)
            )
        }
    }

    /// The step by which access stopped or came back with an update.
    private func accessSteps(_ update: Update) -> [Fact] {
        let (subscription, before) = (update.subscription, update.before)
        switch (before.status, subscription.status) {
        case (.some, .paused): return accessStops(subscription, at: pauseTime(subscription), .paused)
        case (.some, .unpaid): return accessStops(subscription, at: created, .billing)
        // An unpaid subscription begins one period after another.
        case (nil, .unpaid) where before.start != nil:
            return accessStops(subscription, at: subscription.latest?.start ?? created, .billing)
        case (.some, .pastDue): return accessStopsWhenPastDue(update.stated)
        case (.paused?, .active), (.paused?, .trialing), (.unpaid?, .active), (.incomplete?, .active),
            (.incomplete?, .trialing):
            return accessReturns(subscription)
        case (.pastDue?, .active) where policy.pastDue != .keeps: return accessReturns(subscription)
        default: break
        }
        guard policy.collectionPause == .pauses, let wasPaused = before.hadCollectionPause,
            wasPaused != (subscription.collectionPause != nil)
        else { return [] }
        return wasPaused ? accessReturns(subscription) : accessStops(subscription, at: created, .paused)
    }

    /// The end of a period that another one followed ahead of time: where that began, or at the pause before it.
    private func endBefore(_ update: Update) -> Fact.PeriodEnd? {
        let (subscription, before) = (update.subscription, update.before)
        guard let start = before.start, let next = subscription.latest?.start else { return nil }
        var (end, reason) = (next, LifecycleEvent.Expired.Reason.replaced)
        if before.status == .paused {
            if let end = before.end, end <= next { return nil }
            let trialEnd = subscription.trialEnd.flatMap { $0 >= start && $0 <= next ? $0 : nil }
            if let pausedAt = before.pausedAt ?? trialEnd { (end, reason) = (pausedAt, .paused) }
        }
        return Fact.PeriodEnd(start: start.date, transaction: nil, at: end.date, reason: reason)
    }

    private func renewal(_ update: Update) -> Draft? {
        let (subscription, before) = (update.subscription, update.before)
        guard before.endChanged else { return nil }
        if subscription.isEnding, !before.wasEnding || before.endsAt != subscription.endsAt {
            return renewalOff(update.stated)
        }
        guard !subscription.isEnding, before.wasEnding else { return nil }
        return Draft(
            identity(update.lineage, "auto_renew", "on", request(before.canceledAt, subscription)),
            .autoRenewEnabled,
            about: update.subject
        )
    }

    /// Distinguishes a change of renewal from the same change made again: by its time, or by the notification if a test
    /// clock stands still and gives all of them one time.
    private func request(_ canceledAt: Milliseconds?, _ subscription: SubscriptionObject) -> String {
        subscription.hasTestClock ? notificationName : (canceledAt ?? created).wholeSeconds
    }

    func renewalOff(_ stated: Stated) -> Draft {
        let subscription = stated.subscription
        return Draft(
            identity(
                stated.lineage,
                "auto_renew",
                "off",
                request(subscription.canceledAt, subscription),
                subscription.endsAt?.wholeSeconds ?? ""
            ),
            .autoRenewDisabled(
                LifecycleEvent.AutoRenewDisabled(
                    reason: subscription.endReason,
                    accessUntil: subscription.endsAt?.date,
                    feedback: subscription.cancellationFeedback,
                    statedReason: subscription.statedReason
                )
            ),
            about: stated.subject,
            effectiveAt: subscription.endsAt ?? created
        )
    }

    private func items(_ update: Update) -> Draft? {
        let (subscription, before) = (update.subscription, update.before)
        let change = ItemChange(from: before.items, to: before.itemsNow)
        if case .none = change { return nil }
        // Prices and quantities name the change; its time distinguishes it from the same change made again.
        let content =
            subscription.items.count == 1
            ? subscription.items.first?.content ?? ""
            : subscription.items.map(\.content).sorted().joined(separator: "+")
        if case .repriced(let old, let new) = change {
            let detail = LifecycleEvent.PriceChange(
                stage: .applied,
                old: old.money,
                new: new.money,
                effectiveAt: created.date,
                consentRequired: false
            )
            return Draft(
                identity(update.lineage, "price", content, created.wholeSeconds),
                .priceChange(detail),
                about: update.subject,
                with: .priceChange(Fact.PriceChangeState(detail))
            )
        }
        guard let detail = productChange(change, in: update) else { return nil }
        // A period that begins with the change is the same fact under another name.
        let id: EventID
        if update.restarted, let span = subscription.latest, let product = span.product {
            id = .periodBegan(update.lineage, product: product, start: span.start.date)
        } else {
            id = identity(update.lineage, "items", content, created.wholeSeconds)
        }
        // A change that comes with a period takes effect with it, however long after its start Stripe gets to it.
        let beginsPeriod = update.rolled || update.restarted
        // Whatever was planned has come, or was overtaken.
        return Draft(
            id,
            .productChanged(detail),
            about: update.subject,
            effectiveAt: beginsPeriod ? subscription.latest?.start : nil,
            with: .nextProduct(Fact.NextProduct(nil))
        )
    }

    private func productChange(_ change: ItemChange, in update: Update) -> LifecycleEvent.ProductChange? {
        let (subscription, before) = (update.subscription, update.before)
        let from: ProductID?
        let to: ProductID
        let direction: LifecycleEvent.ProductChange.Direction
        switch change {
        case .none, .repriced:
            return nil
        case .swapped(let old, let new):
            (from, to) = (old.price.productID, new.price.productID)
            // One add-on in the place of another leaves the plan as it is.
            let main = before.items?.primary?.price.id
            let keepsMain = main != old.price.id && main == before.itemsNow.primary?.price.id
            direction = keepsMain ? .addOns : ItemChange.direction(from: old.price, to: new.price)
        case .quantity(let item):
            (from, to, direction) = (item.price.productID, item.price.productID, .quantity)
        case .added(let item):
            (from, to, direction) = (nil, item.price.productID, .addOns)
        case .removed(let item):
            (from, to, direction) = (item.price.productID, subscription.product ?? "", .addOns)
        }
        return LifecycleEvent.ProductChange(
            from: from,
            to: to,
            direction: direction,
            timing: .immediate,
            basis: .inferred,
            period: subscription.current?.period
        )
    }

    /// `pending_update`: a change that takes effect once its invoice is paid.
    private func pendingUpdate(_ update: Update) -> Draft? {
        let (subscription, before) = (update.subscription, update.before)
        guard before.hadPendingUpdate == false, let new = subscription.pendingItems.primary,
            case .swapped(let old, _) = ItemChange(from: subscription.items, to: subscription.pendingItems)
        else { return nil }
        return Draft(
            .changeScheduled(update.lineage, from: old.price.productID, to: new.price.productID, at: created.date),
            .productChangeScheduled(
                LifecycleEvent.ProductChange(
                    from: old.price.productID,
                    to: new.price.productID,
                    direction: ItemChange.direction(from: old.price, to: new.price),
                    timing: .immediate,
                    basis: .inferred
                )
            ),
            about: update.subject
        )
    }

    /// `pause_collection`: the subscription continues, its invoices are not collected. Policy decides if that is a
    /// pause.
    private func collection(_ update: Update) -> Draft? {
        let (subscription, before) = (update.subscription, update.before)
        guard let wasPaused = before.hadCollectionPause, wasPaused != (subscription.collectionPause != nil)
        else { return nil }
        let pause = subscription.collectionPause
        switch (policy.collectionPause, pause) {
        case (.keeps, let pause?):
            var facts = ["collection": "paused"]
            facts["behavior"] = pause.behavior
            facts["resumes_at"] = pause.resumesAt.map { RFC3339.string($0) }
            return notice(.other, facts, about: update.subject)
        case (.keeps, nil):
            return notice(.other, ["collection": "resumed"], about: update.subject)
        case (.pauses, let pause?):
            return Draft(
                identity(update.lineage, "collection", "paused", created.wholeSeconds),
                .paused(LifecycleEvent.Pause(resumesAt: pause.resumesAt?.date)),
                about: update.subject
            )
        case (.pauses, nil):
            return resumption(update.stated, beganNow: before.start != nil)
        }
    }

    private func state(_ update: Update, changesProduct: Bool) -> Draft? {
        switch (update.before.status, update.subscription.status) {
        case (.incomplete?, .active), (.incomplete?, .trialing):
            return started(update.stated)
        case (.some, .incompleteExpired):
            return purchaseFailed(update.stated)
        case (.some, .pastDue):
            return pastDue(update.stated, for: update.begunByInvoice)
        case (.some, .unpaid):
            return unpaid(update.stated)
        default:
            // The invoice carries conversion and recovery, `paused`, `resumed` and `deleted` the rest.
            return periods(update, changesProduct: changesProduct)
        }
    }

    /// The charge of a period that takes no money any more: it was paid for ahead, for its list price, or there is nothing to bill. Credits
    /// are those of charged periods.
    private func chargeOfNothing(for span: SubscriptionObject.Span, of subscription: SubscriptionObject) -> Fact? {
        span.primary?.price.currency.map { currency in
            let nothing = Money(minorUnits: 0, currency)
            return .charge(
                Fact.Charge(
                    transaction: TransactionID("\(subscription.id)/period/\(span.start.wholeSeconds)"),
                    price: subscription.isMetered
                        ? Price(nothing, .charged) : Price(span.primary?.price.money ?? nothing, .list),
                    at: span.start.date,
                    periodStart: span.start.date
                )
            )
        }
    }

    private func periods(_ update: Update, changesProduct: Bool) -> Draft? {
        let (subscription, before) = (update.subscription, update.before)
        guard subscription.status == .active || subscription.status == .trialing, let span = subscription.latest
        else { return nil }
        // A trial that is ended ahead of time is charged at once, by an invoice that looks like any other change.
        let isEarlyConversion =
            before.status == .trialing && subscription.status == .active && update.restarted
            && !changesProduct
        if update.rolled || isEarlyConversion {
            // The period's invoice reports its renewal, about an hour from now. If there is none, or it bills usage of
            // the period before, this is the only report.
            let isReportedByInvoice =
                before.hasNewInvoice && !subscription.isMetered && !subscription.isBilledAhead && !isEarlyConversion
            guard !isReportedByInvoice, let product = span.product else { return nil }
            // An invoice that was sent may not be paid yet.
            let isPaid = !subscription.sendsInvoices || subscription.isMetered
            let takesNothing = isPaid && !isEarlyConversion && (!before.hasNewInvoice || subscription.isBilledAhead)
            return Draft(
                .periodBegan(update.lineage, product: product, start: span.start.date),
                .renewed(
                    LifecycleEvent.Renewed(
                        cause: before.status == .trialing && subscription.isTrialOfStart
                            ? .trialConversion : .scheduled,
                        phase: update.stated.phase,
                        period: span.period
                    )
                ),
                about: update.subject,
                effectiveAt: span.start,
                with: takesNothing ? chargeOfNothing(for: span, of: subscription) : nil
            )
        }
        guard before.start == nil || !changesProduct else { return nil }
        let from: Milliseconds
        let to: Milliseconds
        if case .from(let old) = before.trialEnd, let new = subscription.trialEnd, new > created,
            new > old ?? before.end ?? created
        {
            (from, to) = (old ?? before.end ?? created, new)
        } else if before.start == nil, before.status != .paused, let old = before.end, let new = subscription.periodEnd,
            new > old,
            !before.hasNewInvoice, !changesProduct
        {
            (from, to) = (old, new)
        } else {
            return nil
        }
        return Draft(
            .extended(
                update.lineage,
                transaction: TransactionID("period/\(span.start.wholeSeconds)"),
                product: span.product,
                to: to.date
            ),
            .extended(LifecycleEvent.Extension(from: from.date, to: to.date, reason: .developer)),
            about: update.subject,
            effectiveAt: from
        )
    }
}
