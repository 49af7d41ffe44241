// A store's statement about a whole purchase is read into each of its periods, so that every reader of a period's end
// sees it. Periods that the store has stated since are left out: a charge opens the purchase again.
extension PeriodTimeline {
    mutating func applyClosures(of state: SubscriptionState) {
        let closures = closures(in: state)
        guard !closures.isEmpty else { return }
        for index in periods.indices {
            let ends = periods[index].lineages.flatMap { closures[$0] ?? [] }
                .filter { periods[index].isClosed(by: $0) && !outlasts(index, $0) }
            periods[index].closure = ends.max { $0.by.precedes($1.by) }
            let cuts = ends.filter { $0.at < periods[index].accessEnd }
            guard let cut = cuts.min(by: { $0.precedes($1) }) else { continue }
            periods[index].cut = cut
        }
    }

    /// The purchases that are over or withheld, by each of their lineages, as far as these have periods here.
    private func closures(in state: SubscriptionState) -> [SubscriptionID: [Cut]] {
        var closures: [SubscriptionID: [Cut]] = [:]
        let lineages = periods.reduce(into: Set<SubscriptionID>()) { $0.formUnion($1.lineages) }
        for (lineage, registers) in state.registers.outstanding(and: lineages) {
            guard let closure = registers.closure, let cut = Cut(closure.latest) else { continue }
            closures[lineage, default: []].append(cut)
            for covered in closure.value.covers where covered != lineage { closures[covered, default: []].append(cut) }
        }
        return closures
    }

    /// The last purchase that is over or withheld by a moment, for a lineage no period of which is known.
    static func lastClosure(in state: SubscriptionState, by time: Int64) -> Cut? {
        state.registers.all.compactMap { $0.registers.closure.flatMap { Cut($0.latest) } }
            .filter { $0.at <= time }
            .max { $1.precedes($0) }
    }
}

extension PeriodTimeline.Period {
    /// True if an end of the whole purchase applies to it.
    fileprivate func isClosed(by closure: PeriodTimeline.Cut) -> Bool {
        guard by.milliseconds > closure.by.milliseconds else { return true }
        // A period that begins after the end, and was stated later, is a new purchase.
        if start >= closure.at { return false }
        return fact.isProvisional || !by.takesBack(closure.by)
    }
}

extension Register<Fact.Billing> {
    /// True if the charge had failed by a moment that was to end a pause. Since then the failed charge keeps access away.
    func takesOver(from pause: PeriodTimeline.Cut, by time: Int64 = .max) -> Bool {
        pause.reason == .paused && value.status == .suspended && by.milliseconds > pause.by.milliseconds
            && by.milliseconds <= time
    }
}

extension PeriodTimeline.Cut {
    /// The end of a whole purchase; nil for one that is open.
    fileprivate init?(_ closure: Assertion<Fact.Closure>) {
        guard let at = closure.value.at else { return nil }
        self.init(
            at: at.millisecondsSince1970,
            reason: closure.value.reason ?? .unknown,
            by: closure.by,
            isOfPurchase: true
        )
    }
}
