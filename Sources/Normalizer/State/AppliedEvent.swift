public import FoundationEssentials

/// The outcome of applying an event to a state.
public struct AppliedEvent: Hashable, Sendable, Codable {
    /// The meaning of the event for the state.
    @nonexhaustive
    public enum Disposition: String, Hashable, Sendable, Codable {
        /// News: act on it.
        case applied
        /// Reported before by an event, of another channel or of an earlier delivery: do nothing. Facts from an upload,
        /// or from the snapshot of a notification about something else, were not reported.
        case duplicate
        /// News of the past, which a later statement has overtaken, or which a journal has imported: record it, but do not act as if it
        /// had just happened.
        case superseded
        /// About another lineage, or about none: the state was left alone.
        case unrelated
    }

    /// The meaning of the event for the state.
    public var disposition: Disposition
    /// The event as the state makes it out: a renewal that ended a billing issue, a start that was a product change.
    /// Its id is that of the event as it came.
    public var event: NormalizedEvent
    /// When to look again because the event takes effect later; absent if it has taken effect.
    @OptionalEventTime public var nextCheckAt: Date?
    /// True if the event gives back a period or a purchase that a refund or a lost dispute had taken away. It says so,
    /// or a snapshot that comes with it leaves the refund out. Credits that the refund took count again. A reversal
    /// that comes before its refund, or undoes a partial one, gives back nothing.
    public var isRestoration = false
    /// The accounts between which the purchase moved, if the event is about something else: an account that buys a
    /// lineage again owns it from then on. ``transferred`` is this as an event of its own.
    public var transfer: LifecycleEvent.Transfer?
    /// True if money goes back again that had come back before, by another refund than the one that was undone. It is
    /// news only if the store gives its refunds names.
    package var followsReversal = false
}

extension AppliedEvent {
    /// True if there is something to act upon: the event was news to the state, or it is about no lineage, such as a
    /// withdrawn consent, so that no state can decide. Act once for each id.
    public var isNews: Bool {
        switch disposition {
        case .applied: true
        case .unrelated: event.subscription?.id.isEmpty ?? true
        case .duplicate, .superseded: false
        }
    }

    private enum CodingKeys: String, CodingKey {
        case disposition, event
        case nextCheckAt = "next_check_at"
        case isRestoration = "is_restoration"
        case transfer
        case followsReversal = "follows_reversal"
    }

    /// Reads what `encode(to:)` wrote; an absent flag is false.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        disposition = try container.decode(Disposition.self, forKey: .disposition)
        event = try container.decode(NormalizedEvent.self, forKey: .event)
        _nextCheckAt = try container.decode(OptionalEventTime.self, forKey: .nextCheckAt)
        isRestoration = try container.decodeIfPresent(Bool.self, forKey: .isRestoration) ?? false
        transfer = try container.decodeIfPresent(LifecycleEvent.Transfer.self, forKey: .transfer)
        followsReversal = try container.decodeIfPresent(Bool.self, forKey: .followsReversal) ?? false
    }

    /// Writes all members, without `next_check_at` and `follows_reversal` where there is nothing to say.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(disposition, forKey: .disposition)
        try container.encode(event, forKey: .event)
        try container.encode(_nextCheckAt, forKey: .nextCheckAt)
        try container.encode(isRestoration, forKey: .isRestoration)
        try container.encodeIfPresent(transfer, forKey: .transfer)
        if followsReversal { try container.encode(true, forKey: .followsReversal) }
    }
}

extension AppliedEvent {
    /// The move of the purchase as an event of its own, with an id that distinguishes purchases; nil if it did not
    /// move.
    public var transferred: AppliedEvent? {
        guard let transfer, let lineage = event.subscription else { return nil }
        var moved = event
        moved.id = EventID(.transferred, in: lineage, event.transaction?.rawValue ?? event.id.description)
        moved.event = .transferred(transfer)
        moved.facts = []
        return AppliedEvent(disposition: .applied, event: moved, nextCheckAt: nil)
    }
}

extension SubscriptionState {
    /// The accounts that a statement took the lineage from, and gave it to, if it is about something else.
    fileprivate func transfer(by event: NormalizedEvent, from before: [Account.Identifier]) -> LifecycleEvent.Transfer?
    {
        guard event.kind != .transferred, let stated = event.statedTransfer else { return nil }
        let now = Set(ownership.accounts)
        let sources = Set(stated.to.map(\.source))
        let lost = before.filter { sources.contains($0.source) && !now.contains($0) }
        return lost.isEmpty ? nil : LifecycleEvent.Transfer(from: lost, to: stated.to)
    }
}

extension NormalizedEvent {
    fileprivate var statedTransfer: LifecycleEvent.Transfer? {
        for case .transfer(let transfer) in facts { return transfer }
        return nil
    }
}

extension SubscriptionState {
    /// Joins an event's facts, and interprets the event by earlier knowledge.
    ///
    /// The resulting state depends on the facts alone. Disposition and refinement depend on earlier knowledge, so they
    /// may differ with the order of arrival; the state never does.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - catalog: the host's products. They distinguish an upgrade from a downgrade if the store does not, and give
    ///     the type of one-time purchases.
    public mutating func apply(_ event: NormalizedEvent, catalog: ProductCatalog? = nil) -> AppliedEvent {
        apply(event, catalog: catalog, from: bound(of: event))
    }

    /// - Parameter bound: the start of the first periods to read the event with; nil to read all of them, which tells the same.
    mutating func apply(_ event: NormalizedEvent, catalog: ProductCatalog?, from bound: Int64?) -> AppliedEvent {
        let event = catalog.map(event.described) ?? event
        guard let statement = event.statement, !statement.subscription.id.isEmpty,
            registers.contains(statement.subscription)
        else {
            return AppliedEvent(disposition: .unrelated, event: event, nextCheckAt: nil)
        }
        let citation = Citation(statement)
        let prior = Situation(self, from: bound)
        let owners = event.statedTransfer == nil ? [] : ownership.accounts
        let priorRefund = event.refund.flatMap { refunds[RefundKey($0)] ?? self.refund(of: transaction(of: $0)) }
        let paidBy = event.refund?.transaction ?? event.transaction ?? ""
        func bought(_ state: Self) -> TransactionID { event.refund.map(state.transaction(of:)) ?? paidBy }
        let stood = self.refund(of: bought(self))?.standing
        let isPaid =
            event.isPending && charges.values.contains { $0.value.at.millisecondsSince1970 >= citation.milliseconds }
        let moment = citation.milliseconds
        let isCovered = event.refund.map { wasReported($0, of: event.price?.money, at: moment) } ?? false
        // Reading the periods costs the most, and an event that adds nothing changes none of them.
        let isNew = join(statement)
        let now = isNew ? Situation(self, from: bound) : prior
        let report = Report(event)
        let unnamedEnd = event.endsUnnamedPeriod ? now.timeline.last(of: statement.subscription) : nil
        var named = report
        if let unnamedEnd {
            named?.subject = Report.Subject(
                topic: .course,
                transaction: unnamedEnd.transaction,
                start: unnamedEnd.start
            )
        }
        let purchase = (purchases[paidBy] ?? purchases[transaction(named: bought(self))])?.value
        let isReported = named.map { isCovered || wasReported($0, prior: prior, now: now) } ?? false
        let isEndReported = wasEndReported(with: event, report, now: now)
        let isEndMoved = wasEndMoved(since: report, now: now)
        let refund = EventReading.KnownRefund(
            prior: event.refund.flatMap { isReported || !isNew ? nil : undone(by: $0) } ?? priorRefund,
            stood: stood,
            stands: self.refund(of: bought(self))?.standing,
            wasHeardOf: priorRefund?.value.scope != nil
                || event.refund.map { reports.hasRefund(RefundKey($0)) } ?? false,
            isUndone: event.refund.map { isUndone($0, since: moment) } ?? false,
            isStillFull: event.refund.map { $0.refund != nil && self.refund(of: $0.transaction)?.value.scope == .full }
                ?? false
        )
        for report in [report].compactMap(\.self) + Report.beside(event) { reports.insert(report) }
        let reading = EventReading(
            event: event,
            prior: prior,
            now: now,
            refund: refund,
            isPaid: isPaid,
            purchase: purchase,
            paid: purchase.flatMap { paid(with: $0) },
            isReported: isReported,
            unnamedEnd: unnamedEnd,
            isEndReported: isEndReported,
            isEndMoved: isEndMoved,
            owner: event.account == nil && event.concernsMoneyBack ? owner : nil,
            transaction: transactionNames[paidBy].map { _ in transaction(named: paidBy) },
            chargedStart: chargedStart(of: paidBy),
            catalog: catalog
        )
        let refined = Refinement(reading: reading).value
        let begins = event.begun.map { $0.period.start }
        return AppliedEvent(
            disposition: Disposition(reading: reading).value,
            event: refined,
            nextCheckAt: begins.flatMap { event.announces($0) ? $0 : nil },
            isRestoration: reading.isRestoration,
            transfer: transfer(by: event, from: owners),
            followsReversal: reading.followsReversal
        )
    }
}

/// A state at one point of its history, read once.
struct Situation {
    let timeline: PeriodTimeline
    /// The outstanding charges of each lineage. A situation keeps no copy of a state, which would be copied as it changes.
    let failedCharges: [(lineage: SubscriptionID, billing: Register<Fact.Billing>)]
    let priceChanges: [(lineage: SubscriptionID, change: Register<Fact.PriceChangeState>)]
    let intent: Register<Fact.RenewalIntent>?
    let billing: Register<Fact.Billing>?
    let pause: Register<Fact.PauseState>?
    let pendingProduct: ProductID?
    let nextProduct: Register<Fact.NextProduct>?
    let transfer: Register<LifecycleEvent.Transfer>?

    /// - Parameter bound: the start of the first periods to read, see `SubscriptionState.bound(of:)`.
    init(_ state: SubscriptionState, from bound: Int64? = nil) {
        let timeline = PeriodTimeline(state, from: bound)
        self.timeline = timeline
        failedCharges = state.registers.outstanding.compactMap { lineage, registers in
            guard let billing = registers.charging, billing.value.status != .settled else { return nil }
            return (lineage, billing)
        }
        priceChanges = state.registers.outstanding.compactMap { lineage, registers in
            registers.priceChange.map { (lineage, $0) }
        }
        intent = state.renewalIntent(timeline)
        billing = state.billing(timeline)
        pause = state.pause(timeline)
        transfer = state.transfer
        let pending = timeline.newest.flatMap { state.pendingProduct(at: $0.start, timeline) }
        (pendingProduct, nextProduct) = (pending?.product, pending?.register)
    }

    func priceChange(of lineage: SubscriptionID) -> Register<Fact.PriceChangeState>? {
        priceChanges.first { $0.lineage == lineage }?.change
    }
}
