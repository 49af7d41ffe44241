import FoundationEssentials

/// Decides if an event is news to a state.
///
/// An event is a duplicate if any channel has reported the same before. The first to report is superseded if the joined
/// state says otherwise by now, and applied if it does not.
struct Disposition {
    let reading: EventReading

    private var event: NormalizedEvent { reading.event }
    private var now: Situation { reading.now }
    private var asserted: Int64 { event.assertedAt.millisecondsSince1970 }

    var value: AppliedEvent.Disposition {
        if reading.isReported { return .duplicate }
        return isOvertaken ? .superseded : .applied
    }

    /// True if the joined state says otherwise.
    private var isOvertaken: Bool {
        switch event.event {
        case .productChanged(let change) where change.isBeside:
            if isOfEarlierPeriod { return true }
            let start = event.facts.compactMap { $0.periodOfItsOwn?.period.startMilliseconds }.max()
            return start.map {
                isFollowed(from: $0) || now.timeline.isEnded(change.to, from: $0, since: asserted)
            } ?? false
        case .started, .renewed, .productChanged:
            // A late look-up shows a beginning together with the end after it.
            if reading.isEndReported { return true }
            // A payment that comes late was made all the same.
            return event.statedPeriod.map(isOvertaken) ?? false
        case .expired, .paused, .revoked:
            return event.statedEnd.map(isOvertaken) ?? reading.unnamedEnd.map { isFollowedByAccess(from: $0.start) }
                ?? false
        case .billingIssue, .gracePeriodExpired:
            guard let stated = event.statedBilling else { return false }
            if stated.status == .unknown { return reading.isPaid }
            return now.billing.map { $0.value.overtakes(stated) } ?? true
        case .autoRenewDisabled:
            return now.intent?.value.isOn == true || reading.isEndMoved
        case .autoRenewEnabled:
            return now.intent?.value.isOn == false
        case .refunded:
            guard event.refund?.scope != nil else { return false }
            // It was undone before it was heard of.
            let refund = reading.refund
            return refund.stands == nil || refund.isUndone && refund.stood?.value.scope == refund.stands?.value.scope
        case .refundReversed:
            // Another refund has taken the place of the one that is undone, or nothing had gone back that is known of.
            return reading.refund.isStillFull || !reading.refund.wasHeardOf
        case .productChangeScheduled(let change):
            // A change of price, rhythm or quantity alone leaves the product.
            let isWithinProduct = change.from == change.to
            return (isWithinProduct ? now.statedNextProduct : now.pendingProduct) != change.to
        case .productChangeReverted:
            return now.pendingProduct != nil
        case .pauseScheduled:
            return now.pause?.value.status != .scheduled
        case .extended(let extended):
            return subjectPeriod?.end != extended.to.millisecondsSince1970 || isOfEarlierPeriod
        case .priceChange(let change):
            let known = event.subscription.flatMap { now.priceChange(of: $0)?.value.change }
            return known.map { Report.Value.price($0) != Report.Value.price(change) } ?? false
        case .transferred(let transfer):
            guard let known = now.transfer?.value, !transfer.recipients.isEmpty else { return false }
            return Set(known.recipients) != Set(transfer.recipients)
        case .purchasePending, .purchasePendingCanceled:
            // A purchase that is paid for waits no more.
            let moment = event.assertedAt.millisecondsSince1970
            return reading.isPaid || reading.purchase != nil
                || reading.prior.timeline.periods.contains { ($0.firstStated ?? .min) >= moment }
        case .chargeback, .oneTimePurchased, .offerRedeemed, .refundRequested, .refundDeclined,
            .acknowledgementRequired, .notice, .unmapped:
            return false
        }
    }

    private var subjectPeriod: PeriodTimeline.Period? {
        now.timeline.period(transaction: reading.subjectTransaction, start: event.period?.startMilliseconds)
    }

    /// True if it was said of the period before, and the answer shows the one that runs by now.
    private var isOfEarlierPeriod: Bool {
        guard let start = subjectPeriod?.start, start <= asserted else { return false }
        return start > event.occurredAt.millisecondsSince1970 + (event.store.rules.chargesAhead ?? 0)
    }

    /// True if another product runs in the period by now, if a later statement says that it is over, or if a later one has begun.
    private func isOvertaken(_ period: Fact.Period) -> Bool {
        let start = period.period.startMilliseconds
        guard let known = now.timeline.period(transaction: period.transaction, start: start) else { return false }
        let isSameProduct = known.includes(period.product) || known.names(period)
        if !known.fact.isProvisional, !isSameProduct { return true }
        // Charged ahead, and reported after the change that forestalled it.
        if known.isForestalled { return true }
        return known.isEnded(period.product, since: asserted) || isFollowed(from: start)
    }

    private func isOvertaken(_ end: Fact.PeriodEnd) -> Bool {
        guard
            let known = now.timeline.period(transaction: end.transaction, start: end.start.millisecondsSince1970),
            let cut = known.cut, Report.Value.ended(cut.reason) == Report.Value.ended(end.reason)
        else {
            return now.timeline.period(transaction: end.transaction, start: end.start.millisecondsSince1970) != nil
        }
        return now.billing?.takesOver(from: cut) == true || isFollowedByAccess(from: known.start)
    }

    /// True if a period has begun since that gave access: one that gave none takes back no end.
    private func isFollowedByAccess(from start: Int64) -> Bool { isFollowed(from: start) { $0.start < $0.accessEnd } }

    /// True if a period has begun since. One that was charged ahead, and is forestalled by another, never does.
    ///
    /// - Parameter condition: a further condition.
    private func isFollowed(from start: Int64, by condition: (PeriodTimeline.Period) -> Bool = { _ in true }) -> Bool {
        now.timeline.periods.contains {
            $0.start > start && !$0.fact.isProvisional && !$0.isForestalled && !$0.fact.isBeside && condition($0)
        }
    }
}

extension Fact {
    /// A period that it states, of the main product or of an additional one that is billed in a rhythm of its own.
    var periodOfItsOwn: Period? {
        guard case .period(let period) = self, !period.isProvisional, period.item == nil || period.isBeside else {
            return nil
        }
        return period
    }
}

extension Fact.Billing {
    /// True if it differs from an earlier statement about a failed charge: another status, or a later attempt.
    fileprivate func overtakes(_ stated: Self) -> Bool {
        guard status == stated.status else { return true }
        guard let charge, let other = stated.charge, charge.transaction == other.transaction else { return false }
        return charge.attempt > other.attempt
    }
}

extension Fact.RenewalIntent {
    /// True if no end is arranged. The bills until a later end, such as those that are left of a commitment, come all the same.
    var isOn: Bool { terms.willRenew && reason == nil }

    /// True if it renews after a period.
    func willRenew(after period: PeriodTimeline.Period?) -> Bool {
        guard let period, let endsAt = endsAt?.millisecondsSince1970 else { return terms.willRenew }
        return endsAt > period.end
    }
}
