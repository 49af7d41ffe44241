// A period ends early where another product's begins, or where a list of all items leaves it out.

extension PeriodTimeline {
    /// True if a period still runs next to the later one: no change connects them, or one statement states both, or a later statement
    /// states this one, such as a year next to months of another product in one subscription. False if a statement since then
    /// names the later one alone, or calls this one replaced.
    private func runsBeside(_ index: Int, _ later: Int) -> Bool {
        if isOtherPurchase(later, than: index) { return true }
        let (by, other) = (periods[index].by, periods[later].by)
        return !periods[index].fact.isProvisional && periods[index].cut?.reason != .replaced
            && by.authority.rank >= other.authority.rank
            && (by.milliseconds > other.milliseconds || by == other || wasListedBeside(index, later))
    }

    /// True if one was listed when the later one was known, and the later one was last stated after this one had ended:
    /// a list of what runs says nothing about what has ended.
    private func wasListedBeside(_ index: Int, _ later: Int) -> Bool {
        guard periods[index].isStatedWithAllItems, periods[later].isStatedWithAllItems,
            let known = periods[later].firstStated
        else { return false }
        return periods[later].by.milliseconds >= periods[index].end && known <= periods[index].by.milliseconds
    }

    /// The period that replaces the rest of one.
    ///
    /// - Parameter first: the first after it that gives access to another product.
    private func successor(of index: Int, from first: Int?) -> Int? {
        // An additional product that left was not replaced by what runs on: its end says when.
        if periods[index].fact.isBeside, periods[index].cut?.reason == .replaced { return nil }
        guard let first, isBegun(first, within: index) else { return nil }
        guard runsBeside(index, first) else { return first }
        for later in first + 1..<min(first + Self.maximumBeside, periods.count)
        where periods[later].accessEnd > periods[later].start && !periods[later].fact.isProvisional
            && !periods[later].entry.isOfSameProduct(as: periods[index].entry)
        {
            guard isBegun(later, within: index) else { return nil }
            if !runsBeside(index, later) { return later }
        }
        return nil
    }

    private func isBegun(_ later: Int, within index: Int) -> Bool {
        periods[later].start.isClearly(before: periods[index].accessEnd)
    }

    // A store that charges ahead sells one product at a time: if the customer changed the product after the charge, the new
    // product is the one that was bought, and the period that was charged for does not begin.
    mutating func applyEarlyChanges() {
        for index in periods.indices.dropLast() where periods[index + 1].start < periods[index].end {
            let changed = periods[index]
            guard let stated = changed.firstStated, !changed.fact.isProvisional,
                let chargedAhead = changed.chargesAhead
            else { continue }
            for ahead in index + 1..<min(index + Self.maximumBeside, periods.count) {
                guard periods[ahead].start < changed.end else { break }
                guard let charged = periods[ahead].firstStated, !periods[ahead].fact.isProvisional,
                    !periods[ahead].entry.isOfSameProduct(as: changed.entry)
                else { continue }
                // A period that began before the charge and was reported late, as by a restored purchase, replaced
                // nothing.
                guard periods[ahead].start - changed.start <= chargedAhead else { continue }
                // A later statement about it, such as its refund, does not make it begin.
                guard stated < periods[ahead].start && charged < stated || isReplacedByNothingLater(ahead)
                else { continue }
                periods[ahead].replacement = Cut(at: periods[ahead].start, reason: .replaced, by: changed.by)
            }
        }
    }

    /// True if a period that began within a day of a change is stated as replaced, and no later period could have
    /// replaced it: then the change did. A transaction that becomes known afterwards, as from a history, is no evidence
    /// for more.
    private func isReplacedByNothingLater(_ index: Int) -> Bool {
        let period = periods[index]
        guard period.cut?.reason == .replaced else { return false }
        return !periods[(index + 1)...].prefix(Self.maximumBeside).contains {
            $0.start < period.end && !$0.fact.isProvisional && !$0.entry.isOfSameProduct(as: period.entry)
        }
    }

    /// True if a period goes on although its purchase is stated as replaced: a relay dates the change to the period's end, and none is
    /// known that began in its place. The store moves the time that is left to a purchase whose notification may be lost.
    func outlasts(_ index: Int, _ cut: Cut) -> Bool {
        let period = periods[index]
        guard !successions.isEmpty, cut.reason == .replaced, cut.at < period.end, period.end < .max else {
            return false
        }
        return period.lineages.contains { lineage in
            let window = lineage.store.rules.replacementWindow.magnitude
            return successions.contains { $0.from.mayBe(period.fact.product) && $0.isAround(period.end, window) }
                && !periods.contains { $0.start > period.start && ($0.start - cut.at).magnitude <= window }
        }
    }

    /// True if a later period continues the product of one. A statement that lists all items and leaves out a period that
    /// has not ended replaces it with the periods that it lists.
    private func isContinued(_ index: Int, by later: Int) -> Bool {
        guard periods[index].entry.isOfSameProduct(as: periods[later].entry) else { return false }
        return periods[index].end <= periods[later].start || !periods[index].isStatedWithAllItems
            || !periods[later].isStatedWithAllItems || runsBeside(index, later)
    }

    /// An additional product that a later list of all items leaves out is gone since then.
    mutating func applyRemovals() {
        guard periods.contains(where: \.fact.isBeside),
            let last = periods.filter(\.isStatedWithAllItems).max(by: { $0.by.milliseconds < $1.by.milliseconds })?.by
        else { return }
        for index in periods.indices where periods[index].fact.isBeside && periods[index].isStatedWithAllItems {
            let period = periods[index]
            guard period.by.milliseconds < last.milliseconds, period.start < last.milliseconds,
                last.milliseconds < period.accessEnd
            else { continue }
            periods[index].replacement = Cut(at: last.milliseconds, reason: .replaced, by: last)
        }
    }

    /// The newest period of the main product, the subject of its settings: an additional product in another rhythm begins many
    /// periods within one of the main product, which leave renewal, pause and planned changes as they are.
    var newest: Period? { (newestIndex { !isBeside($0) } ?? newestIndex).map { periods[$0] } }

    /// The newest period of any product, whose charge may be outstanding.
    var newestIndex: Int? { newestIndex { _ in true } }

    /// The newest period that was stated itself. It may begin in the future.
    ///
    /// If its purchase was replaced, its registers say nothing of the one that took the place, which counts even if only its
    /// failed charge, its hold or its pause mentions it so far.
    private func newestIndex(where isMeant: (Period) -> Bool) -> Int? {
        guard let stated = periods.lastIndex(where: { $0.isPaidFor && !$0.isForestalled && isMeant($0) }) else {
            return periods.lastIndex(where: isMeant)
        }
        guard periods[stated].cut?.reason == .replaced else { return stated }
        let lineages = periods[stated].lineages
        return periods[(stated + 1)...].lastIndex {
            !$0.isForestalled && !isBeside($0) && $0.lineages.isDisjoint(with: lineages)
        } ?? stated
    }

    mutating func applyReplacements() {
        var next: Int?
        var nextOfAnotherProduct: Int?
        for index in periods.indices.reversed() {
            let isSameProduct = next.map { isContinued(index, by: $0) } ?? false
            let accessEnd = periods[index].accessEnd
            if let successor = successor(of: index, from: isSameProduct ? nextOfAnotherProduct : next) {
                periods[index].replacement = Cut(
                    at: periods[successor].start,
                    reason: .replaced,
                    by: periods[successor].by
                )
            }
            if accessEnd > periods[index].start, !periods[index].fact.isProvisional {
                if !isSameProduct { nextOfAnotherProduct = next }
                next = index
            }
        }
    }
}

extension SubscriptionState.PeriodEntry {
    fileprivate func isOfSameProduct(as other: Self) -> Bool { fact.product == other.fact.product }
}
