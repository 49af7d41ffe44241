// Items next to the main product: the additional products of a subscription, such as add-ons.
extension PeriodTimeline {
    /// The period of an additional item: an add-on.
    struct Item {
        var entry: SubscriptionState.PeriodEntry
        /// The first moment without it; not after `start` if it gives none.
        var accessEnd: Int64
        /// When it was added, if the store had listed the period without it before.
        var addedAt: Int64?
        /// When it was removed or runs out, whatever becomes of the period that it runs with.
        var end: Int64 = .max
        /// The statement that ended or removed it by itself.
        var endedBy: Citation?
        /// The times without access of that period, and until when that gave access although its end is dated before.
        var gaps: [Gap] = []
        var givenUntil: Int64?

        var start: Int64 { entry.fact.period.startMilliseconds }
        /// When it ended by itself; `Int64.max` if it lasts as long as its period.
        var ownEnd: Int64 { endedBy == nil ? .max : end }
        var grantedSince: Int64 { addedAt ?? start }
        /// The times in which it gave access, by what held then.
        var given: [(start: Int64, end: Int64)] {
            gaps.times(from: grantedSince, until: max(accessEnd, min(givenUntil ?? .min, end)))
        }
        func gave(at time: Int64) -> Bool {
            grantedSince <= time && given.contains { $0.start <= time && time < $0.end }
        }
    }

    /// Has the main item of a period be that of the next one, as long as it renews, if the store does not say which item is the
    /// main one.
    mutating func keepMainItems(_ entries: [SubscriptionState.PeriodKey: SubscriptionState.PeriodEntry]) {
        for index in periods.indices.dropFirst() {
            let (before, period) = (periods[index - 1], periods[index])
            guard before.fact.product != period.fact.product, before.end <= period.start, !before.fact.isProvisional,
                period.lineages.contains(where: \.store.rules.keepsMainItem),
                let item = entries[.item(period.start, before.fact.product)],
                item.fact.transaction == period.transaction
            else { continue }
            periods[index].statedProduct = period.fact.product
            periods[index].entry = item.standing(for: before.fact.product, item: nil)
            periods[index].products = periods[index].entry.products
        }
    }

    /// An item ends with the period that it runs with, or at its own end. It also ends if the store states that period
    /// later without the item, since such a statement names all items of a subscription.
    mutating func gatherItems(of state: SubscriptionState) {
        for stated in state.periods.values where stated.fact.item != nil && !stated.fact.isBeside {
            let (start, end) = (stated.fact.period.startMilliseconds, stated.fact.period.endMilliseconds)
            guard let index = index(transaction: nil, start: start), periods[index].start == start else {
                items.append(Item(entry: stated, accessEnd: end))
                continue
            }
            let period = periods[index]
            var entry = stated
            if let main = period.statedProduct, entry.fact.item == period.fact.product {
                entry = entry.standing(for: main, item: main)
            }
            // It shares the grace of the period that it lasts as long as.
            var accessEnd = end < period.end ? end : max(end, period.grace?.until ?? .min)
            var itemEnd = self.end(of: entry, in: state)
            // Removed and added again, in one moment of the store's.
            let steps = period.entry.statement
            if let cut = itemEnd, steps.wasTaken(after: cut.by), !steps.wasTaken(after: entry.by) { itemEnd = nil }
            var endedBy = itemEnd?.by
            if let itemEnd { accessEnd = min(accessEnd, itemEnd.at) }
            if !period.fact.isProvisional,
                period.by.milliseconds > entry.by.milliseconds
                    || period.entry.statement.wasTaken(after: entry.by)
            {
                accessEnd = min(accessEnd, max(start, period.by.milliseconds))
                endedBy = period.by
            }
            var item = Item(entry: entry, accessEnd: accessEnd, end: accessEnd, endedBy: endedBy)
            if period.cut != nil || period.replacement != nil {
                item.accessEnd = min(item.accessEnd, period.accessEnd)
            }
            if let added = entry.firstStated, let listed = period.firstStated, listed < added, added > start,
                added < entry.fact.period.endMilliseconds
            {
                item.addedAt = added
            }
            items.append(item)
        }
        items.sort { ($0.start, $0.entry.fact.item ?? "") < ($1.start, $1.entry.fact.item ?? "") }
    }

    /// Dates the items with a period of their own that joined it after its start, in the place of another: the store had listed one
    /// that left without them.
    mutating func dateItemsBeside() {
        for index in periods.indices where periods[index].fact.isBeside && periods[index].isStatedWithAllItems {
            let period = periods[index]
            guard let added = period.firstStated, period.start < added, added < period.end else { continue }
            func hasLeft(_ other: Period) -> Bool {
                other.fact.isBeside && other.accessEnd < other.end && (other.firstStated ?? added) < added
            }
            let earlier = periods[..<index].reversed().prefix { $0.start == period.start }
            let later = periods[(index + 1)...].prefix { $0.start == period.start }
            if earlier.contains(where: hasLeft) || later.contains(where: hasLeft) {
                periods[index].addedAt = added
            }
        }
    }

    /// Has the items give no access in the times in which the period that they run with gave none.
    mutating func interruptItems() {
        for place in items.indices {
            guard let index = index(of: items[place]) else { continue }
            (items[place].gaps, items[place].givenUntil) = (periods[index].gaps, periods[index].givenUntil)
        }
    }

    /// The items by the place of the period that they run with.
    var itemsOfPeriods: [Int: [Item]] {
        var items: [Int: [Item]] = [:]
        for item in self.items {
            if let index = index(of: item) { items[index, default: []].append(item) }
        }
        return items
    }

    /// The period that an item runs with.
    private func index(of item: Item) -> Int? {
        index(transaction: nil, start: item.start).flatMap { periods[$0].start == item.start ? $0 : nil }
    }

    /// True if a statement that is later than a moment says that a product is over: an additional one, or the main one of the period that
    /// begins then.
    func isEnded(_ product: ProductID, from start: Int64, since moment: Int64) -> Bool {
        let index = indexBeside(product, start) ?? index(transaction: nil, start: start)
        if let index, periods[index].isEnded(product, since: moment) { return true }
        return items.contains {
            $0.start == start && $0.entry.fact.product == product
                && $0.endedBy.map { $0.milliseconds > moment } ?? false
        }
    }

    /// The end of the main product alone. The period continues with the items that are left, and ends with the last of them.
    mutating func applyEndsOfMainItems(of state: SubscriptionState) {
        guard state.ends.hasItems else { return }
        let items = itemsOfPeriods
        for index in periods.indices where !periods[index].fact.isBeside {
            guard let end = end(of: periods[index].entry, in: state), end.at < periods[index].accessEnd else {
                continue
            }
            let left = (items[index] ?? []).filter { $0.end > end.at }
            guard let last = left.max(by: { $0.ownEnd < $1.ownEnd }) else {
                periods[index].cut = end
                continue
            }
            (periods[index].mainProductEnd, periods[index].mainProductEndedBy) = (end.at, end.by)
            periods[index].companions = left.map {
                Companion(product: $0.entry.fact.product, end: $0.ownEnd, endedBy: $0.endedBy)
            }
            guard let by = last.endedBy, last.end < periods[index].accessEnd else { continue }
            let reason = self.end(of: last.entry, in: state)?.reason ?? end.reason
            periods[index].cut = Cut(at: last.end, reason: reason, by: by)
        }
    }

    /// The end of one product of a period, unless a later statement of the period took it back.
    private func end(of entry: SubscriptionState.PeriodEntry, in state: SubscriptionState) -> Cut? {
        let key = SubscriptionState.PeriodKey.item(entry.fact.period.startMilliseconds, entry.fact.product)
        guard let end = state.ends[key] else { return nil }
        let cut = Cut(end.latest)
        let isRestored = entry.fact.transaction.map { state.isRestored($0, since: end.by) } ?? false
        return entry.by.takesBack(end.by, mayLag: cut.mayLag) || cut.reason == .refunded && isRestored ? nil : cut
    }

    /// The products that give access at a moment in addition to one.
    func products(at time: Int64, besides product: ProductID) -> [ProductID] {
        let others =
            periods.filter { $0.gave(at: time) }.flatMap { [$0.product(at: time)] + $0.companions(at: time) }
            + items.filter { $0.gave(at: time) }.map(\.entry.fact.product)
        return Set(others).subtracting([product]).sorted()
    }
}
