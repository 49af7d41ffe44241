// Periods and purchases. The end of a purchase ends its earlier periods, too. A relay of a store that sells several products side
// by side may state each under the purchase's name: those that no change connects run next to each other.
extension PeriodTimeline {
    /// Another product that was stated for a period, and runs next to the main one.
    struct Companion {
        var product: ProductID
        /// When it ended by itself; `Int64.max` if it lasts as long as its period.
        var end: Int64 = .max
        var endedBy: Citation?
    }

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

    // MARK: One-time purchases

    /// Has a purchase pay for the period that later statements give it, such as an extension or the reversal of its refund: they cannot
    /// tell it from a subscription, and state its dates alone.
    mutating func applyPurchases(of state: SubscriptionState) {
        let bought = state.purchases.values.map(\.value).filter { $0.purchase.expires != nil }
        guard !bought.isEmpty else { return }
        for index in periods.indices {
            let names = transactions(of: index).map(state.transaction(named:))
            guard
                bought.contains(where: {
                    names.contains(state.transaction(named: $0.transaction)) || periods[index].hasDates(of: $0)
                })
            else { continue }
            periods[index].entry = periods[index].entry.mentioned
            periods[index].firstStated = nil
            periods[index].products = [:]
        }
    }

    // MARK: Products side by side

    /// Finds the products that were stated for one period under one name, without a change between them.
    mutating func gatherCompanions() {
        for index in periods.indices where periods[index].products.count > 1 {
            let period = periods[index]
            guard period.lineages.count == 1, let store = period.entry.relayedStore else { continue }
            var stated: [ProductID: (product: ProductID, at: Int64)] = [:]
            for (product, at) in period.products
            where !product.isOfSubscription(of: period.fact.product) {
                let isChange = successions.contains { change in
                    [period.start, at, period.products[period.fact.product] ?? at].contains { moment in
                        change.announces(period.fact.product, from: product, at: moment, in: store)
                            || change.announces(product, from: period.fact.product, at: moment, in: store)
                    }
                }
                guard !isChange else { continue }
                let family = product.subscription
                if let known = stated[family], (known.at, known.product) > (at, product) { continue }
                stated[family] = (product, at)
            }
            periods[index].companions = stated.sorted { $0.key < $1.key }.map { Companion(product: $0.value.product) }
        }
    }

    /// True if an end is of one of several products of a period, or of one that is not known to be of it: the period goes on.
    mutating func leaves(_ index: Int, _ end: Register<Fact.PeriodEnd>) -> Bool {
        guard let product = end.value.product, !periods[index].products.isEmpty else { return false }
        guard periods[index].products.keys.contains(where: { $0.isOfSubscription(of: product) }) else {
            return true
        }
        guard !periods[index].companions.isEmpty else { return false }
        let at = end.value.at.millisecondsSince1970
        if let place = periods[index].companions.firstIndex(where: {
            $0.product.isOfSubscription(of: product)
        }) {
            (periods[index].companions[place].end, periods[index].companions[place].endedBy) = (at, end.by)
        } else {
            (periods[index].mainProductEnd, periods[index].mainProductEndedBy) = (at, end.by)
        }
        return true
    }

    /// True if a later period of another product took no place of this one, because its relay states no change between the two: an
    /// additional product under the purchase's name, or a purchase of its own that began when another product was changed.
    func isOtherPurchase(_ later: Int, than index: Int) -> Bool {
        let (old, new) = (periods[index], periods[later])
        let (from, to) = (old.fact.product, new.fact.product)
        guard old.lineages.count == 1, new.lineages.count == 1, let store = old.entry.relayedStore,
            new.entry.relayedStore == store, !to.isOfSubscription(of: from),
            !successions.contains(where: { $0.announces(to, from: from, at: new.start, in: store) })
        else { return false }
        return old.lineages == new.lineages
            || successions.contains { $0.announces(to, at: new.start, in: store) }
    }
}

extension PeriodTimeline.Period {
    /// True if it has the product and the start of a purchase.
    fileprivate func hasDates(of purchase: Fact.OneTimePurchase) -> Bool {
        fact.product == purchase.product
            && abs(start - purchase.at.millisecondsSince1970) <= ServicePeriod.startTolerance
    }

    /// True if it would outlast the end of the purchase that a later period of it ended with.
    fileprivate func ends(with later: Self, by cut: PeriodTimeline.Cut) -> Bool {
        guard start < cut.at, cut.at < accessEnd, !lineages.isDisjoint(with: later.lineages) else { return false }
        // The same period, stated again later, is not meant.
        guard fact.isProvisional || !by.takesBack(cut.by) else { return false }
        // Nor is one that began when the other was known: it took the other's place.
        return later.firstStated.map { start < $0 } ?? fact.product.mayBe(later.fact.product)
    }

    /// The additional product that a product is of.
    private func companion(of product: ProductID) -> PeriodTimeline.Companion? {
        companions.first { $0.product.isOfSubscription(of: product) }
    }

    /// True if a product that was stated for it is its main one, or runs next to that.
    func includes(_ product: ProductID) -> Bool { fact.product == product || companion(of: product) != nil }

    /// True if a statement that is later than a moment says that a product of it is over: the product's own end, its end, the end of
    /// its purchase, or what took its place.
    func isEnded(_ product: ProductID, since moment: Int64) -> Bool {
        let ofProduct = companion(of: product).map(\.endedBy) ?? mainProductEndedBy
        return [cut?.by, closure?.by, replacement?.by, ofProduct].contains {
            $0.map { $0.milliseconds > moment } ?? false
        }
    }

    /// The products that run next to its main one at a moment.
    func companions(at time: Int64) -> [ProductID] { companions.filter { time < $0.end }.map(\.product) }
}
