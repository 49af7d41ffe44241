public import FoundationEssentials

extension SubscriptionState {
    /// Decides if this lineage gives access at `time`, until when, and why.
    ///
    /// Time passing needs no notification: a period ends at its end, grace at the end of grace. For a past moment the
    /// answer is what held then, as far as statements report that: between a refund and its reversal it is denied.
    ///
    /// The periods around the moment are found by a binary search: a long history costs no more than a short one while
    /// access is granted.
    public func access(at time: Date) -> AccessDecision {
        reading(at: time.millisecondsSince1970).decision
    }

    /// The decision at a moment, with the periods that it was read from. A grant and what follows it depend only on the
    /// periods around the moment; a denial may depend on all.
    func reading(at time: Int64) -> (decision: AccessDecision, timeline: PeriodTimeline) {
        if let order = periodOrder, !order.hasItems, let bound = order.bound(around: time) {
            let timeline = PeriodTimeline(self, from: bound)
            let decision = access(at: time, timeline)
            if decision.isGranted { return (decision, timeline) }
        }
        let timeline = PeriodTimeline(self)
        return (access(at: time, timeline), timeline)
    }

    /// The first moment after `time` at which the decision, or its basis, changes by itself; nil if no change is known.
    ///
    /// Look again then: a period may begin or end, or grace may run out.
    public func nextTransition(after time: Date) -> Date? {
        nextTransition(after: time.millisecondsSince1970, PeriodTimeline(self)).map {
            Date(millisecondsSince1970: $0)
        }
    }

    func nextTransition(after time: Int64, _ timeline: PeriodTimeline) -> Int64? {
        var moments: [Int64] = []
        for period in timeline.periods where period.accessEnd > period.start && period.accessEnd > time {
            moments.append(period.start)
            moments.append(period.accessEnd)
            if period.end < period.accessEnd { moments.append(period.end) }
            for gap in period.gaps { moments += [gap.from, gap.until] }
            if let end = period.mainProductEnd { moments.append(end) }
        }
        for item in timeline.items { moments += item.given.flatMap { [$0.start, $0.end] } }
        for owned in ownedPurchases { moments += [owned.start, owned.end] }
        return moments.filter { $0 > time && $0 < .max }.min()
    }

    func access(at time: Int64, _ timeline: PeriodTimeline) -> AccessDecision {
        let owned = ownedPurchases
        let current = timeline.granting(at: time)
        if let current {
            let end = current.given.first { time < $0.end }?.end ?? current.accessEnd
            let until = Self.end(of: intervals(timeline, owned), from: end)
            return .granted(until: Self.date(until), because: grant(current, at: time, timeline))
        }
        if let item = timeline.items.last(where: { $0.gave(at: time) }) {
            let end = item.given.first { time < $0.end }?.end ?? item.accessEnd
            let until = Self.end(of: intervals(timeline, owned), from: end)
            return .granted(until: Self.date(until), because: grant(item, at: time, timeline))
        }
        // Known grants of access come before presumed ones.
        let running = owned.filter { $0.start <= time && time < $0.end }
        if let purchase = running.last(where: { !$0.isPresumed }) ?? running.last {
            let until = Self.end(of: intervals(timeline, owned), from: purchase.end)
            return .granted(until: Self.date(until), because: grant(purchase))
        }
        return denial(at: time, timeline, owned)
    }

    // MARK: Grants

    struct OwnedPurchase {
        var start: Int64
        var end: Int64
        var entry: PurchaseEntry

        /// True if its type is unknown.
        var isPresumed: Bool { entry.value.purchase.type == .unknown }
    }

    /// One-time purchases that give access: until the refund, or until a stated end. The host uses up a consumable. A
    /// product of unknown type may be a consumable, but its buyer must not be locked out. So it gives access until the
    /// store has it consumed, or the host's catalogue names its type.
    var ownedPurchases: [OwnedPurchase] {
        let gaps = gapsOfPurchases
        return purchases.values.flatMap { entry -> [OwnedPurchase] in
            let purchase = entry.value
            let start = purchase.at.millisecondsSince1970
            var end = purchase.purchase.expires?.millisecondsSince1970 ?? .max
            switch purchase.purchase.type {
            case .nonConsumable, .unknown: break
            case .nonRenewing: guard end < .max else { return [] }
            case .consumable: return []
            }
            if let refund = endingRefund(of: purchase) { end = min(end, refund.value.at.millisecondsSince1970) }
            if let revoked = revocation(of: purchase, statedBy: entry.by) {
                end = min(end, revoked.value.at.millisecondsSince1970)
            }
            return (gaps[transaction(named: purchase.transaction)] ?? []).times(from: start, until: end)
                .map { OwnedPurchase(start: $0.start, end: $0.end, entry: entry) }
        }
        .sorted {
            $0.start == $1.start
                ? $0.entry.value.transaction < $1.entry.value.transaction : $0.start < $1.start
        }
    }

    func endingRefund(of purchase: Fact.OneTimePurchase) -> Register<Fact.RefundState>? {
        refund(of: purchase.transaction).flatMap { register in
            let refund = register.value
            return refund.scope != nil && refund.endsAccess || refund.isWhole(of: paid(with: purchase)) ? register : nil
        }
    }

    /// The stated end of a purchase, such as a shared one. A relay may name the purchase by its start alone.
    func end(of purchase: Fact.OneTimePurchase) -> Register<Fact.PeriodEnd>? {
        ends[.transaction(purchase.transaction)] ?? ends[.start(purchase.at.millisecondsSince1970)]
    }

    /// The end of a purchase, unless a later statement of the purchase withdrew it.
    func revocation(
        of purchase: Fact.OneTimePurchase,
        statedBy statement: Citation
    ) -> Register<Fact.PeriodEnd>? {
        let transaction = purchase.transaction
        guard let end = end(of: purchase), !statement.takesBack(end.by, mayLag: true),
            !isStated(transaction, wholeAfter: end.by)
        else { return nil }
        return end.value.reason == .refunded && isRestored(transaction, since: end.by) ? nil : end
    }

    /// True if the refund of a transaction was undone after a statement.
    func isRestored(_ transaction: TransactionID, since statement: Citation) -> Bool {
        if let refund = refund(of: transaction), refund.value.scope == nil,
            refund.by.milliseconds > statement.milliseconds
        {
            return true
        }
        return isStated(transaction, wholeAfter: statement)
    }

    func intervals(_ timeline: PeriodTimeline, _ owned: [OwnedPurchase]) -> [(start: Int64, end: Int64)] {
        timeline.periods.flatMap(\.given)
            + timeline.items.flatMap(\.given)
            + owned.map { ($0.start, $0.end) }
    }

    /// The end of the unbroken access that lasts until `end` at least.
    static func end(of intervals: [(start: Int64, end: Int64)], from end: Int64) -> Int64 {
        var end = end
        let candidates = intervals.filter { $0.end > end }.sorted { $0.start < $1.start }
        for interval in candidates where interval.start <= end && interval.end > end { end = interval.end }
        return end
    }

    static func date(_ milliseconds: Int64) -> Date? {
        milliseconds == .max ? nil : Date(millisecondsSince1970: milliseconds)
    }

    private func grant(
        _ period: PeriodTimeline.Period,
        at time: Int64,
        _ timeline: PeriodTimeline
    ) -> AccessDecision.Grant {
        let isGrace = time >= period.end
        let product = period.product(at: time)
        let others = timeline.products(at: time, besides: product)
        return AccessDecision.Grant(
            basis: isGrace ? .grace : .period,
            subscription: subscription,
            product: product,
            otherProducts: others.isEmpty ? nil : others,
            phase: period.phase(at: time),
            transaction: period.transaction,
            ownership: period.fact.ownership,
            evidence: (isGrace ? [period.grace?.by].compactMap(\.self) : []) + [period.by]
        )
    }

    private func grant(
        _ item: PeriodTimeline.Item,
        at time: Int64,
        _ timeline: PeriodTimeline
    ) -> AccessDecision.Grant {
        let others = timeline.products(at: time, besides: item.entry.fact.product)
        return AccessDecision.Grant(
            basis: .period,
            subscription: subscription,
            product: item.entry.fact.product,
            otherProducts: others.isEmpty ? nil : others,
            phase: item.entry.fact.phase,
            transaction: item.entry.fact.transaction,
            ownership: item.entry.fact.ownership,
            evidence: [item.entry.by]
        )
    }

    private func grant(_ owned: OwnedPurchase) -> AccessDecision.Grant {
        AccessDecision.Grant(
            basis: owned.isPresumed ? .unclassified : .purchase,
            subscription: subscription,
            product: owned.entry.value.product,
            otherProducts: nil,
            phase: nil,
            transaction: owned.entry.value.transaction,
            ownership: owned.entry.value.purchase.familyShared ? .familyShared : .purchased,
            evidence: owned.entry.evidence
        )
    }
}

// MARK: Registers

extension SubscriptionState {
    // Linked lineages keep registers of their own, for the end of a replaced purchase says nothing of its successor.
    // Those count that the newest period of the main product was stated for.
    func newestRegisters(_ timeline: PeriodTimeline) -> [Registers] {
        guard let newest = timeline.newest else { return registers.all.map(\.registers) }
        return newest.lineages.compactMap { registers[$0] }
    }

    func renewalIntent(_ timeline: PeriodTimeline) -> Register<Fact.RenewalIntent>? {
        let intent = newestRegisters(timeline).compactMap(\.intent).highest()
        // A failed charge had turned renewal off; the renewal that came after all shows it on again.
        if let intent, let newest = timeline.newest, intent.value.reason == .billing, !intent.value.terms.willRenew,
            let stated = newest.firstStated, stated > intent.by.milliseconds
        {
            return nil
        }
        return intent
    }

    /// The last statement about charging for the newest period, or of a failed charge for one after it.
    func billing(_ timeline: PeriodTimeline) -> Register<Fact.Billing>? {
        func highest(of lineages: some Sequence<LineageRegisters.Element>) -> Register<Fact.Billing>? {
            lineages.compactMap { lineage, registers in
                guard let billing = registers.charging else { return nil }
                let subject = timeline.subject(of: billing, lineage: lineage)
                let isFailed = billing.value.status != .settled && timeline.mayBeOutstanding(subject)
                return isFailed || subject == timeline.newestIndex ? billing : nil
            }
            .highest()
        }
        guard let newest = timeline.newestIndex else { return highest(of: registers.all) }
        let known = highest(of: registers.outstanding(and: timeline.periods[newest].lineages))
        // A settled charge of another lineage matters only where it settles one that is outstanding.
        return known.map { $0.value.status == .settled } ?? true ? known : highest(of: registers.all)
    }

    /// The period that ``billing(_:)`` is about.
    func charged(_ timeline: PeriodTimeline) -> PeriodTimeline.Period? {
        guard let billing = billing(timeline),
            let lineage = registers.outstanding.first(where: { $0.registers.charging == billing })?.lineage,
            let index = timeline.subject(of: billing, lineage: lineage)
        else { return timeline.newest }
        return timeline.periods[index]
    }

    func pause(_ timeline: PeriodTimeline) -> Register<Fact.PauseState>? {
        let pause = newestRegisters(timeline).compactMap(\.pause).highest()
        if let pause, let stated = timeline.newest?.firstStated, stated > pause.by.milliseconds { return nil }
        return pause
    }

    func priceChange(_ timeline: PeriodTimeline) -> Register<Fact.PriceChangeState>? {
        newestRegisters(timeline).compactMap(\.priceChange).highest()
    }

    /// The product that replaces the current one when its period ends, with its statement. The period that begins then
    /// states it itself.
    func pendingProduct(
        at time: Int64,
        _ timeline: PeriodTimeline
    ) -> (product: ProductID, register: Register<Fact.NextProduct>?)? {
        let last = timeline.lastBegun(by: time).map { timeline.periods[$0] } ?? timeline.periods.first
        let current = last.flatMap { timeline.isBeside($0) ? timeline.granting(at: time) : nil } ?? last
        if let current,
            let next = timeline.periods.first(where: {
                $0.start > max(time, current.start) && !$0.isForestalled && !timeline.isBeside($0)
            }),
            !next.fact.isProvisional
        {
            return current.lasts(with: next.fact.product) ? nil : (next.fact.product, nil)
        }
        guard let register = nextProduct(timeline), let product = register.value.product,
            current?.lasts(with: product) != true, product != current?.statedProduct
        else { return nil }
        return (product, register)
    }

    /// The last word on the next product, also if that is the current one, such as in another rhythm.
    func nextProduct(_ timeline: PeriodTimeline) -> Register<Fact.NextProduct>? {
        guard let register = newestRegisters(timeline).compactMap(\.nextProduct).highest() else { return nil }
        if let stated = timeline.newest?.firstStated, stated > register.by.milliseconds { return nil }
        return isLeftOut(register.by, timeline) ? nil : register
    }
}

extension SubscriptionState {
    /// True if a later step of the store's object no longer states what an earlier step stated. Each step states the
    /// object as a whole, and its intent to renew in any case.
    private func isLeftOut(_ citation: Citation, _ timeline: PeriodTimeline) -> Bool {
        guard citation.revision != nil else { return false }
        return newestRegisters(timeline).compactMap(\.intent).contains {
            $0.by.revision != nil && $0.by.milliseconds > citation.milliseconds
        }
    }
}

extension Collection {
    fileprivate func highest<Value: Assertable>() -> Element? where Element == Register<Value> {
        self.max { $0.latest.precedes($1.latest) }
    }
}
