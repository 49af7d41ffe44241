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
