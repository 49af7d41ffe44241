// The end of a purchase ends its earlier periods, too.
extension PeriodTimeline {
    /// How many of the periods before an ended one are searched for others that its purchase ended with.
    private static let maximumEarlier = 32

    /// Has the end of a purchase end the periods before the one that it names, as far as they would give access beyond it: a renewal
    /// that was charged ahead may be taken back before it begins, and the time before it with it.
    mutating func applyEndsOfPurchases() {
        for index in periods.indices.dropFirst() {
            let ended = periods[index]
            guard let cut = ended.cut, cut.endsPurchase, !ended.isForestalled else { continue }
            for earlier in max(0, index - Self.maximumEarlier)..<index
            where periods[earlier].ends(with: ended, by: cut) {
                periods[earlier].cut = Cut(at: cut.at, reason: cut.reason, by: cut.by, isOfPurchase: true)
            }
        }
    }
}

extension PeriodTimeline.Period {
    /// True if it would outlast the end of the purchase that a later period of it ended with.
    fileprivate func ends(with later: Self, by cut: PeriodTimeline.Cut) -> Bool {
        guard start < cut.at, cut.at < accessEnd, !lineages.isDisjoint(with: later.lineages) else { return false }
        // The same period, stated again later, is not meant.
        guard fact.isProvisional || !by.takesBack(cut.by) else { return false }
        // Nor is one that began when the other was known: it took the other's place.
        return later.firstStated.map { start < $0 } ?? fact.product.mayBe(later.fact.product)
    }
}
