import FoundationEssentials

// Why there is no access at a moment, and if the store tries to charge for it.
extension SubscriptionState {
    /// Why access to a period stopped.
    struct Stop {
        var reason: AccessDecision.Denial.Reason
        var by: Citation?
        /// Until when the store tries a failed charge again; `Int64.min` if it does not.
        var triedUntil = Int64.min
        /// When it stopped, if it came back.
        var since: Int64?
    }

    func denial(
        at time: Int64,
        _ timeline: PeriodTimeline,
        _ owned: [OwnedPurchase]
    ) -> AccessDecision {
        func denied(
            since: Int64?,
            _ reason: AccessDecision.Denial.Reason,
            product: ProductID? = nil,
            _ evidence: [Citation?]
        ) -> AccessDecision {
            .denied(
                since: since.map { Date(millisecondsSince1970: $0) },
                because: AccessDecision.Denial(
                    reason: reason,
                    subscription: subscription,
                    product: product,
                    evidence: evidence.compactMap(\.self)
                )
            )
        }
        if let (last, stop) = lastStop(at: time, timeline) {
            if let since = stop.since {
                return denied(since: since, stop.reason, product: last.product(at: time), [stop.by, last.by])
            }
            let since = timeline.begun(by: time).compactMap { period in
                period.isRestored(by: time) ? period.accessEnd : period.given.last { $0.start <= time }?.end
            }
            .max()
            let grace = last.grace.flatMap { $0.until == last.accessEnd && $0.by != stop.by ? $0.by : nil }
            return denied(
                since: since ?? last.accessEnd,
                stop.reason,
                product: last.lastProduct,
                [stop.by, grace, last.by]
            )
        }
        let ends = timeline.unmatchedEnds.sorted { $0.latest.precedes($1.latest) }
        if let end = ends.last(where: { $0.value.at.millisecondsSince1970 <= time }) {
            return denied(since: end.value.at.millisecondsSince1970, .init(end.value.reason), [end.by])
        }
        if purchases.isEmpty, let closure = PeriodTimeline.lastClosure(in: self, by: time) {
            return denied(since: closure.at, .init(closure.reason), [closure.by])
        }
        let refunded = purchases.values.filter { $0.value.at.millisecondsSince1970 <= time }
            .compactMap { purchase in endingRefund(of: purchase.value).map { (purchase, $0) } }
            .filter { $0.1.value.at.millisecondsSince1970 <= time }
            .max { $0.1.latest.precedes($1.1.latest) }
        let gaps = gapsOfPurchases
        for purchase in gaps.isEmpty ? [] : purchases.valuesInOrder {
            let ofPurchase = gaps[transaction(named: purchase.value.transaction)] ?? []
            guard let gap = ofPurchase.first(where: { $0.from <= time && time < $0.until }) else { continue }
            return denied(since: gap.from, .init(gap.reason), product: purchase.value.product, [gap.by, purchase.by])
        }
        let ranOut = owned.filter { $0.end <= time }.max { $0.end < $1.end }
        if let (purchase, refund) = refunded, (ranOut?.end ?? .min) <= refund.value.at.millisecondsSince1970 {
            let end = purchase.value.purchase.expires.map { min($0, refund.value.at) } ?? refund.value.at
            return denied(
                since: end.millisecondsSince1970,
                .refunded,
                product: purchase.value.product,
                [refund.by, purchase.by]
            )
        }
        if let ranOut {
            return denied(since: ranOut.end, .unknown, product: ranOut.entry.value.product, ranOut.entry.evidence)
        }
        if let next = timeline.periods.first(where: { !$0.neverGave }) {
            return denied(since: nil, .notBegun, product: next.fact.product, [next.by])
        }
        let failed = timeline.periods.last
        return denied(since: nil, .never, product: failed?.fact.product, [failed?.by])
    }

    /// Why the last period that has begun by a moment gives no access then; nil if none has begun.
    private func lastStop(
        at time: Int64,
        _ timeline: PeriodTimeline
    ) -> (period: PeriodTimeline.Period, stop: Stop)? {
        let begun = timeline.begun(by: time)
        if let last = begun.last, let gap = last.gap(at: time) {
            return (last, stop(for: gap, of: last, timeline, at: time))
        }
        guard let last = begun.last(where: { !$0.isForestalled }) ?? begun.last else { return nil }
        let known = presentStop(of: last, timeline, at: time)
        return (last, pastStop(of: last, timeline, at: time, unless: known.by) ?? known)
    }

    /// True if the store tries at a moment to charge for what is denied: the statement that denies it says so.
    func isTried(at time: Int64, _ timeline: PeriodTimeline) -> Bool {
        if let (_, stop) = lastStop(at: time, timeline) { return time < stop.triedUntil }
        return billing(timeline).map { time < $0.value.triedUntil } ?? false
    }

    /// Why the last statements deny access to a period.
    private func presentStop(of period: PeriodTimeline.Period, _ timeline: PeriodTimeline, at time: Int64) -> Stop {
        if let replacement = period.replacement, replacement.at <= period.accessEnd {
            return Stop(reason: .replaced, by: replacement.by)
        }
        // Attempts continue when grace has run out, and not beyond the store's last one.
        let isNewest = period.start == charged(timeline)?.start
        let charge = billing(timeline)
        let triedUntil = isNewest ? charge?.value.triedUntil ?? .min : period.grace?.triedUntil ?? .min
        // One that is dated later than access ended is no reason before its time.
        if let cut = period.cut, cut.at <= max(time, period.accessEnd), charge?.takesOver(from: cut, by: time) != true {
            // An end of the period itself leaves nothing to charge for.
            return Stop(reason: .init(cut.reason), by: cut.by, triedUntil: cut.isOfPurchase ? triedUntil : .min)
        }
        if let grace = period.grace, !grace.isTakenBack {
            return Stop(reason: .billing, by: grace.by, triedUntil: triedUntil)
        }
        if let charge, charge.value.status != .settled {
            return Stop(reason: .billing, by: charge.by, triedUntil: triedUntil)
        }
        if let pause = pause(timeline), pause.value.status == .paused { return Stop(reason: .paused, by: pause.by) }
        if let intent = renewalIntent(timeline), !intent.value.willRenew(after: period) {
            return Stop(reason: .init(intent.value.reason), by: intent.by)
        }
        return Stop(reason: .renewalDue)
    }
}

extension Fact.Billing {
    /// Until when the store tries the charge again; `Int64.min` if it does not.
    var triedUntil: Int64 {
        switch status {
        case .settled, .unknown: .min
        case .grace: retryUntil?.millisecondsSince1970 ?? .min
        case .suspended: retryUntil?.millisecondsSince1970 ?? .max
        @unknown default: .min
        }
    }
}
