public import FoundationEssentials

/// What an event does to an account's credits: a pure function of the event and of the state that it was applied to.
///
/// The host keeps two balances, credits of the subscription (for each lineage, counted while it gives access) and credits
/// bought or carried over, and a unique index on ``CreditAction/id``. Then each period pays out once, whatever the order
/// and number of deliveries.
public struct CreditPolicy: Hashable, Sendable, Codable {
    /// What a product gives.
    public struct Allowance: Hashable, Sendable, Codable {
        /// The credits of a period, or of one item of a product bought once.
        public var credits: Int64
        /// The credits of a free trial; absent means those of any other period.
        public var trialCredits: Int64?
        /// What a period regularly costs. Needed to prorate where a store does not state the charge.
        public var price: Money?

        /// Makes an allowance.
        public init(credits: Int64, trialCredits: Int64? = nil, price: Money? = nil) {
            self.credits = credits
            self.trialCredits = trialCredits
            self.price = price
        }

        private enum CodingKeys: String, CodingKey {
            case credits, price
            case trialCredits = "trial_credits"
        }
    }

    /// What each product gives; others give nothing.
    public var allowances: [String: Allowance]
    /// How prorated credits become whole.
    public var rounding: Rounding
    /// Whether credits left over at an immediate product change are kept beside the new ones.
    public var carriesOver: Bool

    /// Makes a policy.
    public init(_ allowances: [String: Allowance], rounding: Rounding = .down, carriesOver: Bool = true) {
        self.allowances = allowances
        self.rounding = rounding
        self.carriesOver = carriesOver
    }

    private enum CodingKeys: String, CodingKey {
        case allowances, rounding
        case carriesOver = "carries_over"
    }
}

/// One thing to do to an account's credits.
public struct CreditAction: Hashable, Sendable, Codable, Identifiable {
    /// What to do.
    @nonexhaustive
    public enum Effect: Hashable, Sendable {
        /// Add to the bought credits. Negative where an allowance that was paid out too high is corrected.
        case grant(Int64)
        /// Take from the bought credits, since the money for them went back. What was spent cannot be taken.
        case withdraw(Int64)
        /// Replace what is left of the subscription's credits. A renewal adds nothing to what is left.
        case reset(to: Int64)
        /// Replace what is left of the subscription's credits by the share of the allowance that was paid for.
        case prorate(to: Int64)
        /// Move what is left of the subscription's credits to the bought ones, then give the share of the allowance that
        /// was paid for. One action, so that neither half is ever done without the other.
        case carryOver(to: Int64)
        /// Take away what is left of the subscription's credits.
        case revoke
    }

    /// The identity of the action: do it once.
    public var id: String
    /// What to do.
    public var effect: Effect
    /// When to do it. It lies in the future for a period that was charged ahead: ask ``CreditPolicy/isVoid(_:in:)`` then.
    @EventTime public var effectiveAt: Date
    /// The lineage that it comes from.
    public var subscription: SubscriptionID

    private enum CodingKeys: String, CodingKey {
        case id, effect, subscription
        case effectiveAt = "effective_at"
    }
}

extension CreditAction.Effect: Codable {
    private enum CodingKeys: String, CodingKey { case type, credits }

    /// Reads `{"type":"reset","credits":200}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func credits() throws -> Int64 { try container.decode(Int64.self, forKey: .credits) }
        switch try container.decode(String.self, forKey: .type) {
        case "grant": self = .grant(try credits())
        case "withdraw": self = .withdraw(try credits())
        case "reset": self = .reset(to: try credits())
        case "prorate": self = .prorate(to: try credits())
        case "carry_over": self = .carryOver(to: try credits())
        case "revoke": self = .revoke
        default:
            throw DecodingError.dataCorruptedError(forKey: .type, in: container, debugDescription: "unknown effect")
        }
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        let (type, credits): (String, Int64?) =
            switch self {
            case .grant(let credits): ("grant", credits)
            case .withdraw(let credits): ("withdraw", credits)
            case .reset(let credits): ("reset", credits)
            case .prorate(let credits): ("prorate", credits)
            case .carryOver(let credits): ("carry_over", credits)
            case .revoke: ("revoke", nil)
            }
        try container.encode(type, forKey: .type)
        try container.encodeIfPresent(credits, forKey: .credits)
    }
}

extension CreditPolicy {
    /// What to do about an event, in this order; nothing for most events.
    ///
    /// Ask about every application, whatever its disposition: news of the past may correct what was paid out, and a
    /// period that a state knew before its event came is still to be paid out. The ids see to it that nothing is done twice.
    ///
    /// - Parameters:
    ///   - application: what applying the event came to.
    ///   - state: the state that the event was applied to, as it is right after.
    public func actions(for application: Application, in state: SubscriptionState) -> [CreditAction] {
        let event = application.event
        guard application.disposition != .unrelated, let lineage = event.subscription else { return [] }
        lazy var timeline = PeriodTimeline(state)
        switch event.event {
        case .started(let started) where started.origin == .temporary:
            return []
        case .offerRedeemed(let offer) where offer.period == nil:
            return []
        // Apple may name an offer or a withdrawn change, and begin a period with it.
        case .productChangeReverted where event.store != .appStore || event.provider != .apple:
            return []
        case .started, .renewed, .productChanged, .offerRedeemed, .productChangeReverted:
            return begun(application, lineage, timeline, state)
        case .oneTimePurchased(let purchase):
            return purchased(event, lineage, purchase, state)
        case .expired(let expired):
            switch expired.reason {
            case .replaced: return []
            case .billing where wasCharged(since: event.occurredAt, timeline, state): return []
            default: return ended(application, lineage, timeline, state)
            }
        // What is left counts again when a pause within a period is over. Taken and given back, it would be spent twice.
        case .paused where isWithinPeriod(event, timeline): return []
        case .paused, .revoked, .gracePeriodExpired:
            return ended(application, lineage, timeline, state)
        case .refunded, .chargeback, .refundReversed:
            return refunded(application, lineage, timeline, state)
        default:
            return []
        }
    }

    /// Whether an action that waited for its time has nothing to do any more: the period that was charged ahead does not
    /// begin, since another product took its place or its money went back.
    ///
    /// Ask when the time of an action has come that lay ahead when it was issued, and drop what is void.
    ///
    /// - Parameter state: the state of the action's lineage, as it is when the time has come.
    public func isVoid(_ action: CreditAction, in state: SubscriptionState) -> Bool {
        PeriodTimeline(state).periods.contains {
            ($0.isForestalled || $0.accessEnd <= $0.start)
                && id("payout", $0, action.subscription) == action.id
        }
    }

    private func isWithinPeriod(_ event: NormalizedEvent, _ timeline: PeriodTimeline) -> Bool {
        for case .periodEnded(let end) in event.facts {
            let start = end.start.millisecondsSince1970
            guard let period = timeline.period(transaction: end.transaction, start: start) else { continue }
            return end.at.millisecondsSince1970 < period.end
        }
        return false
    }

    private func begun(
        _ application: Application,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let event = application.event
        // A payment may only infer the period that it pays for, as Stripe's invoices do; it pays out all the same.
        var stated: Fact.Period?
        for case .period(let period) in event.facts where stated == nil || !period.isProvisional { stated = period }
        guard let stated,
            let index = timeline.index(transaction: stated.transaction, start: stated.period.startMilliseconds)
        else { return [] }
        // What is added beside a period that is only inferred begins none.
        if case .productChanged(let change) = event.event, change.direction == .addOns, stated.isProvisional {
            return []
        }
        // What goes on of a payment under another name was paid out by that payment's own period.
        if stated.isProvisional, let paid = event.transaction, paid != stated.transaction,
            timeline.periods.contains(where: { $0.transaction == paid && $0.fact.product == stated.product })
        {
            return []
        }
        let period = timeline.periods[index]
        let later = timeline.periods[(index + 1)...].first {
            isPaid($0, state) && !isOutstanding($0, stated, event, state)
        }
        // A renewal paid ahead pays out at its own time, and until then this period has its own.
        if let later, hasBegun(later, event) {
            guard application.disposition == .superseded, later.start < period.end, !isSpent(later, event),
                last(since: Date(millisecondsSince1970: later.start), event, timeline, state) == nil
            else { return [] }
            return correction(of: later, after: period, event, lineage, state)
        }
        if isReplacedWithin(period, stated, event), let full = credits(of: stated) {
            guard !isSpent(period, event) else { return [] }
            return [action("payout", .grant(full), period, of: stated.product, event, lineage)]
        }
        if isUnpaidResumption(index, timeline, event, state) { return [] }
        let before = later == nil ? before(index, in: timeline) : nil
        let isBeside =
            before.map { $0.fact.product != period.fact.product && $0.goesOn(at: period.start) } ?? false
        switch event.event {
        case .renewed where stated.isProvisional && isBeside:
            return payoutBeside(period, event, lineage)
        case .productChanged(let change) where change.direction == .addOns && change.from != change.to:
            if isBeside { return payoutBeside(period, event, lineage) }
            // Another item may stand for the period from now on, which has paid out when it began. What is told again of its
            // beginning pays nothing out for that item either.
            let asserted = event.assertedAt.millisecondsSince1970
            let isCharged = isCharged(period.start..<max(asserted, period.start), state)
            if isCharged || period.firstStated.map({ $0 < asserted }) == true {
                // A renewal that still waits for its payment is paid out by that.
                let isRenewal = index > 0 && timeline.periods[index - 1].end == period.start
                guard isCharged || !isRenewal, credits(of: period) != nil else { return [] }
                return [action("payout", .grant(0), period, event, lineage)]
            }
        default:
            break
        }
        return payout(period, before, event, lineage, state)
    }

    /// Whether a period of Stripe's is told of as what it began as, and became something else since, as by an upgrade between
    /// its start and its payment. What that paid out stays.
    private func isReplacedWithin(
        _ period: PeriodTimeline.Period,
        _ stated: Fact.Period,
        _ event: NormalizedEvent
    ) -> Bool {
        guard event.provider == .stripe, !period.fact.isProvisional, stated.product != period.fact.product,
            stated.period.startMilliseconds == period.start
        else { return false }
        switch event.event {
        case .started: return true
        case .renewed(let renewed): return ![.planChange, .unknown, .resumption].contains(renewed.cause)
        default: return false
        }
    }

    /// Whether a subscription of Stripe's goes on in a period that began while it was paused: its invoice may have been void,
    /// and pays out where it was not.
    private func isUnpaidResumption(
        _ index: Int,
        _ timeline: PeriodTimeline,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Bool {
        guard event.provider == .stripe, case .renewed(let renewed) = event.event, renewed.cause == .resumption else {
            return false
        }
        let period = timeline.periods[index]
        return index > 0 && timeline.periods[index - 1].end == period.start
            && !isCharged(period.start..<max(period.end, period.start), state)
    }

    /// The period before one. What is only inferred prorates nothing: when it is stated, that is news again, and corrects.
    private func before(_ index: Int, in timeline: PeriodTimeline) -> PeriodTimeline.Period? {
        timeline.periods[..<index].last.flatMap { $0.fact.isProvisional ? nil : $0 }
    }

    /// The last period that has begun since a moment, whose credits took the place of what was left.
    private func last(
        since moment: Date,
        _ event: NormalizedEvent,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> PeriodTimeline.Period? {
        timeline.periods.last {
            $0.start > moment.millisecondsSince1970 && hasBegun($0, event) && isPaid($0, state)
        }
    }

    /// Whether the period at a moment was charged for after it, as one is whose charge failed first.
    private func wasCharged(since moment: Date, _ timeline: PeriodTimeline, _ state: SubscriptionState) -> Bool {
        let failed = moment.millisecondsSince1970
        guard let period = timeline.periods.last(where: { $0.start <= failed }) else { return false }
        return isCharged(failed + 1..<max(period.end, failed + 1), state)
    }

    /// Whether a period is stated, or inferred from its payment rather than from a failed one or from an end.
    private func isPaid(_ period: PeriodTimeline.Period, _ state: SubscriptionState) -> Bool {
        if period.isForestalled { return false }
        return !period.fact.isProvisional || isCharged(period.start..<max(period.end, period.start), state)
    }

    /// Whether a period has begun, and waits for its payment when one comes for a period before it: then no credits have
    /// taken the place of those that are paid for now. Who pays by invoice may always be a month behind.
    private func isOutstanding(
        _ period: PeriodTimeline.Period,
        _ stated: Fact.Period,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Bool {
        guard stated.isProvisional, event.occurredAt.millisecondsSince1970 >= period.start else { return false }
        var paid: String?
        for case .charge(let charge) in event.facts { paid = charge.transaction }
        guard let paid else { return false }
        return !state.charges.contains { transaction, charge in
            transaction != paid && charge.value.at.millisecondsSince1970 >= period.start
        }
    }

    private func isCharged(_ time: Range<Int64>, _ state: SubscriptionState) -> Bool {
        state.charges.values.contains { time.contains($0.value.at.millisecondsSince1970) }
    }

    /// Whether a period had begun when an event came, as far as that can be told: by the event's own time, or since the
    /// store told of the period after it had begun. Stripe tells of none before, wherever a test clock stands.
    private func hasBegun(_ period: PeriodTimeline.Period, _ event: NormalizedEvent) -> Bool {
        period.start <= max(event.receivedAt.millisecondsSince1970, period.by.milliseconds)
            || (period.by.provider == .stripe && !period.fact.isProvisional)
    }

    /// Whether a period is known to give nothing any more: its money went back, it has run its course, or it was ended for
    /// good. One that waits for its payment may still get it, and what is left of one that was replaced is carried over.
    private func isSpent(_ period: PeriodTimeline.Period, _ event: NormalizedEvent) -> Bool {
        guard let cut = period.cut, cut.at <= max(event.receivedAt.millisecondsSince1970, cut.by.milliseconds) else {
            return false
        }
        switch cut.reason {
        case .billing, .paused, .replaced: return cut.at >= period.end
        default: return true
        }
    }

    private func payout(
        _ period: PeriodTimeline.Period,
        _ before: PeriodTimeline.Period?,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard let full = credits(of: period), !isSpent(period, event) else { return [] }
        guard let previous = replaced(by: period, before, event, state) else {
            return [action("payout", .reset(to: full), period, event, lineage)]
        }
        let isInFull = isChargedInFull(event)
        let credits = isInFull.map { $0 ? full : 0 } ?? prorated(full, previous, period, event, state) ?? full
        // Where nothing new was paid for, or no other product, what is left stays. Carried over, it would outlast the period
        // that it was paid for with.
        let isKept = isInFull == false || !carriesOver && previous.product == period.fact.product
        let effect: CreditAction.Effect =
            isKept ? .grant(credits) : carriesOver ? .carryOver(to: credits) : .prorate(to: credits)
        return [action("payout", effect, period, event, lineage)]
    }

    /// A period that was paid for while one of something else goes on, as months do beside a year: what is left of that
    /// stays.
    private func payoutBeside(
        _ period: PeriodTimeline.Period,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID
    ) -> [CreditAction] {
        guard let full = credits(of: period), !isSpent(period, event) else { return [] }
        return [action("payout", .carryOver(to: full), period, event, lineage)]
    }

    /// Whether a change was charged in full, or false if not at all, where the store says so. Else what was unused is set off
    /// against the new price. Changes that cost nothing can be made again and again, and must give nothing.
    private func isChargedInFull(_ event: NormalizedEvent) -> Bool? {
        guard case .productChanged(let change) = event.event, let proration = change.proration else { return nil }
        return switch proration {
        case .fullCharge: true
        case .timeCredit, .deferred, .none: false
        case .proratedCharge, .refund: nil
        }
    }

    /// What an immediate change took the place of, with the moment of the change.
    private struct Replaced {
        var product: String
        var phase: Phase
        var transaction: String?
        var period: ServicePeriod
        var changedAt: Date

        init(_ period: PeriodTimeline.Period, changedAt moment: Int64) {
            product = period.fact.product
            phase = period.fact.phase
            transaction = period.transaction
            self.period = period.fact.period
            changedAt = Date(millisecondsSince1970: moment)
        }

        init(_ product: String, _ period: ServicePeriod, changedAt moment: Date) {
            self.product = product
            phase = .regular
            self.period = period
            changedAt = moment
        }
    }

    /// Whether nothing of a period was left to set off at a moment: its money had gone back, or it had ended for another
    /// reason than a change. What is bought then is paid for in full.
    private func isOver(_ period: PeriodTimeline.Period, by moment: Int64) -> Bool {
        guard let cut = period.cut else { return false }
        switch cut.reason {
        case .refunded: return cut.at <= moment
        case .replaced, .paused: return false
        // A store may tell the end of what was replaced without saying so, and a little before what took its place.
        default: return cut.at + EventRefinement.replacementSlack < moment
        }
    }

    private func replaced(
        by period: PeriodTimeline.Period,
        _ before: PeriodTimeline.Period?,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Replaced? {
        if event.isPlayRenewal || isTakenOverByRenewal(event, period) { return nil }
        if let before, before.fact.product != period.fact.product || isSwitched(event, before, period),
            period.start < before.end, before.end != .max, !isOver(before, by: period.start)
        {
            return Replaced(before, changedAt: period.start)
        }
        // Billed anew from the same start: the event itself says what was before and when it changed. A change that began
        // the period takes effect with it, however much later it is told of.
        if case .productChanged(let change) = event.event, change.timing == .immediate, let from = change.from,
            from != period.fact.product, event.effectiveAt.millisecondsSince1970 > period.start, period.end != .max
        {
            return Replaced(from, period.fact.period, changedAt: event.effectiveAt)
        }
        return nil
    }

    /// Whether a change on Google Play is told of so late that its period is one that was charged for since, in full: a
    /// deferred change that has come about, or a renewal of the new purchase. What the purchase before was paid with says
    /// nothing of it.
    private func isTakenOverByRenewal(
        _ event: NormalizedEvent,
        _ period: PeriodTimeline.Period
    ) -> Bool {
        guard event.provider == .google, case .productChanged(let change) = event.event, change.from != change.to,
            let lineage = event.subscription
        else { return false }
        return change.proration == .deferred
            || (period.transaction?.namesRenewal == true && period.lineages == [lineage])
    }

    /// Whether a period gave way ahead of time to another rhythm or quantity of its product, which Stripe sells under one
    /// name. An invoice, which may come first, and a relay call it a renewal: there what the invoice says, or the length, tells
    /// it from a new anchor.
    private func isSwitched(
        _ event: NormalizedEvent,
        _ before: PeriodTimeline.Period,
        _ period: PeriodTimeline.Period
    ) -> Bool {
        guard before.fact.phase != .trial else { return false }
        switch event.event {
        case .productChanged(let change): return change.timing == .immediate && change.from == before.fact.product
        case .renewed(let renewed) where event.store == .stripe:
            return renewed.cause == .planChange || before.hasOtherRhythm(than: period.fact)
        default: return false
        }
    }

    private func prorated(
        _ full: Int64,
        _ previous: Replaced,
        _ period: PeriodTimeline.Period,
        _ event: NormalizedEvent,
        _ state: SubscriptionState
    ) -> Int64? {
        guard previous.product != period.fact.product else { return used(full, previous) }
        let listed = allowances[period.fact.product]?.price
        let charged = period.transaction.flatMap { state.charges[$0]?.value.price.money } ?? event.price?.money
        let oldListed = allowances[previous.product]?.price
        var paid = previous.transaction.flatMap { state.charges[$0]?.value.price.money } ?? oldListed
        guard
            let newPrice = [listed, charged].compactMap(\.self).first(where: { $0.currency == paid?.currency })
                ?? listed ?? charged
        else { return nil }
        if previous.phase == .trial { paid = Money(ExactDecimal(0), newPrice.currency) }
        if paid?.currency != newPrice.currency { paid = oldListed }
        guard let paid, let proration = try? Proration(of: previous.period, changedAt: previous.changedAt) else {
            return nil
        }
        return try? proration.credits(of: full, paid: paid, newPrice: newPrice, rounding: rounding)
    }

    /// The part of an allowance that was used up by time, whatever it cost: it was paid out in full, the rest of it went
    /// back, and another one is due.
    private func used(_ full: Int64, _ previous: Replaced) -> Int64? {
        try? Proration(of: previous.period, changedAt: previous.changedAt).usedCredits(of: full, rounding: rounding)
    }

    /// The beginning of a period that turns out to have been replaced already: what was paid out for its successor in
    /// full, when nothing was known of it, was too much. Of one product, whose credits go on, it was too little.
    private func correction(
        of period: PeriodTimeline.Period,
        after before: PeriodTimeline.Period,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        // On Google Play the replacement mode decides what a change costs, and the state does not know it.
        guard lineage.store != .playStore, let full = credits(of: period) else { return [] }
        if before.fact.product == period.fact.product {
            // Billed anew in its own rhythm, it has paid out all that is due.
            guard before.cut?.reason == .replaced, before.cut?.at == period.start, before.fact.phase != .trial,
                before.hasOtherRhythm(than: period.fact),
                let share = used(full, Replaced(before, changedAt: period.start))
            else { return [] }
            return [action("correction", .grant(share), period, event, lineage)]
        }
        guard let previous = replaced(by: period, before, event, state),
            let share = prorated(full, previous, period, event, state), share < full
        else { return [] }
        return [action("correction", .grant(share - full), period, event, lineage)]
    }

    private func ended(
        _ application: Application,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let event = application.event
        // What is said twice of one end, in other words and under another id, takes once.
        guard application.disposition != .duplicate || isToldInPassing(event, lineage) else { return [] }
        let stated = max(event.effectiveAt, event.occurredAt).millisecondsSince1970
        let moment = Date(millisecondsSince1970: timeline.reached(stated))
        guard !timeline.periods.isEmpty, !state.access(at: moment.millisecondsSince1970, timeline).isGranted else {
            return []
        }
        if let last = last(since: moment, event, timeline, state), !isSpent(last, event) { return [] }
        return [
            CreditAction(
                id: EventID(lineage.scope(of: event.transaction ?? ""), "credits_revoked", event.id.description)
                    .description,
                effect: .revoke,
                effectiveAt: moment,
                subscription: lineage
            )
        ]
    }

    /// Whether an end may be known from a statement that took nothing for it: each of Apple's says all of a transaction,
    /// whatever else it is about. The end of one has one id, so it still takes once.
    private func isToldInPassing(_ event: NormalizedEvent, _ lineage: SubscriptionID) -> Bool {
        switch event.event {
        case .refunded: lineage.store == .appStore
        case .revoked: event.provider == .apple
        default: false
        }
    }

    /// Money that went back, of a period or of what was bought once, and money that went back and came again.
    private func refunded(
        _ application: Application,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        let event = application.event
        let purchase = event.refund.flatMap { state.purchases[$0.transaction]?.value }
        let isLoss =
            switch event.event {
            case .refunded: true
            case .chargeback(let chargeback): chargeback.stage == .lost
            default: false
            }
        guard isLoss else {
            guard application.disposition == .applied, application.isRestoration else { return [] }
            return purchase.map { regained($0, event, lineage) } ?? restored(event, lineage, timeline, state)
        }
        if let purchase {
            return withdrawn(purchase, lineage, state, again: application.followsReversal ? event.id : nil)
        }
        if case .refunded(let refund) = event.event, refund.affectsCurrentPeriod == false { return [] }
        // A refund of something else, which may be a purchase that is not known yet.
        guard let refund = event.refund, timeline.index(of: refund) != nil else { return [] }
        return ended(application, lineage, timeline, state)
    }

    private func restored(
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID,
        _ timeline: PeriodTimeline,
        _ state: SubscriptionState
    ) -> [CreditAction] {
        guard last(since: event.occurredAt, event, timeline, state) == nil, let refund = event.refund,
            let index = timeline.index(of: refund)
        else { return [] }
        let period = timeline.periods[index]
        guard let full = credits(of: period), !isSpent(period, event) else { return [] }
        let share = replaced(by: period, before(index, in: timeline), event, state)
            .flatMap { prorated(full, $0, period, event, state) }
        return [action("restored \(event.id)", .reset(to: share ?? full), period, event, lineage)]
    }

    private func credits(of period: PeriodTimeline.Period) -> Int64? { credits(of: period.fact) }

    private func credits(of period: Fact.Period) -> Int64? {
        guard let allowance = allowances[period.product] else { return nil }
        return period.phase == .trial ? allowance.trialCredits ?? allowance.credits : allowance.credits
    }

    private func action(
        _ name: String,
        _ effect: CreditAction.Effect,
        _ period: PeriodTimeline.Period,
        of product: String? = nil,
        _ event: NormalizedEvent,
        _ lineage: SubscriptionID
    ) -> CreditAction {
        CreditAction(
            id: id(name, period, of: product, lineage),
            effect: effect,
            effectiveAt: max(Date(millisecondsSince1970: period.start), minimum(event, period)),
            subscription: lineage
        )
    }

    private func id(
        _ name: String,
        _ period: PeriodTimeline.Period,
        of product: String? = nil,
        _ lineage: SubscriptionID
    ) -> String {
        let start = String(period.start.flooredQuotient(dividingBy: 1000))
        // The App Store names a period anew each time it is restored on another device; its start stays.
        let subject = lineage.store == .appStore ? start : period.transaction ?? start
        // An order of Google Play is of one product, which a relay may know without its base plan.
        let product = product ?? period.fact.product
        let named = lineage.store == .playStore ? product.subscriptionFamily : product
        return EventID(lineage.scope(of: subject), "credits_period", subject, named, name).description
    }

    // A change that was billed from the start of a running period took effect when it happened.
    private func minimum(_ event: NormalizedEvent, _ period: PeriodTimeline.Period) -> Date {
        if case .productChanged(let change) = event.event, change.timing == .immediate,
            event.occurredAt.millisecondsSince1970 < period.end
        {
            return event.occurredAt
        }
        return Date(millisecondsSince1970: period.start)
    }
}

extension String {
    /// Whether it is an order of Google Play's that renews: `GPA.1234-…..0` and so on.
    fileprivate var namesRenewal: Bool {
        let parts = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count > 2, let number = parts.last, parts[parts.count - 2].isEmpty else { return false }
        return !number.isEmpty && number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
