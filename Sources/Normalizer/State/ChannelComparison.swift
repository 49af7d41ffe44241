public import FoundationEssentials

/// What two channels said of the same purchases over the same time: where they agree, what only one of them saw, and
/// what they differ in.
///
/// It is the proof for a backend that moves from one channel to another, and runs both until then. Give it the events
/// of one channel on each side; events that both sides cannot but word alike are matched by their identity, others by
/// lineage, meaning and time.
public struct ChannelComparison: Hashable, Sendable, Codable {
    /// One event, without anything that names a customer.
    public struct Item: Hashable, Sendable, Codable {
        /// The identity of the fact.
        public var id: EventID
        /// What happened.
        public var kind: LifecycleEvent.Kind
        /// Who told.
        public var provider: Provider
        /// The provider's type of the notification, verbatim.
        public var type: String
        /// The lineage.
        public var subscription: SubscriptionID?
        /// The transaction.
        public var transaction: String?
        /// When it was stated.
        @EventTime public var assertedAt: Date

        private enum CodingKeys: String, CodingKey {
            case id, kind, provider, type, subscription, transaction
            case assertedAt = "asserted_at"
        }

        init(_ event: NormalizedEvent) {
            id = event.id
            kind = event.kind
            provider = event.provider
            type = event.origin.type
            subscription = event.subscription
            transaction = event.transaction
            _assertedAt = EventTime(wrappedValue: event.assertedAt)
        }
    }

    /// Two events of one fact.
    public struct Pair: Hashable, Sendable, Codable {
        /// That of the first side.
        public var first: Item
        /// That of the second side.
        public var second: Item
        /// What they differ in; empty where they agree.
        public var differences: [Difference]
    }

    /// A member that two events of one fact do not agree in.
    public struct Difference: Hashable, Sendable, Codable {
        /// Its name, as in JSON.
        public var member: String
        /// What the first side says; absent where it says nothing.
        public var first: String?
        /// What the second side says; absent where it says nothing.
        public var second: String?
    }

    /// A stretch of time in which only one side gives access.
    public struct AccessDifference: Hashable, Sendable, Codable {
        /// The lineage.
        public var subscription: SubscriptionID
        /// The first moment.
        @EventTime public var from: Date
        /// The first moment after it; absent where nothing is known to end it.
        @OptionalEventTime public var until: Date?
        /// Whether it is the first side that gives access.
        public var isFirstGranting: Bool

        private enum CodingKeys: String, CodingKey {
            case subscription, from, until
            case isFirstGranting = "first_grants"
        }
    }

    /// Pairs that agree.
    public var agreeing: [Pair] = []
    /// Pairs that differ.
    public var differing: [Pair] = []
    /// What only the first side saw.
    public var onlyFirst: [Item] = []
    /// What only the second side saw.
    public var onlySecond: [Item] = []
    /// Where access differs, of lineages that both sides know.
    public var access: [AccessDifference] = []

    private enum CodingKeys: String, CodingKey {
        case agreeing, differing, access
        case onlyFirst = "only_first"
        case onlySecond = "only_second"
    }

    /// Compares two channels.
    ///
    /// - Parameters:
    ///   - first: the events of one.
    ///   - second: the events of the other.
    ///   - window: how far apart two statements without a common identity may be made and still be of one fact.
    public init(
        _ first: some Sequence<NormalizedEvent>,
        _ second: some Sequence<NormalizedEvent>,
        window: Duration = .seconds(7200)
    ) {
        let left = Self.distinct(first)
        let right = Self.distinct(second)
        var unmatched = Dictionary(uniqueKeysWithValues: right.map { ($0.id, $0) })
        var remaining: [NormalizedEvent] = []
        for event in left {
            if let other = unmatched.removeValue(forKey: event.id) {
                add(event, other)
            } else {
                remaining.append(event)
            }
        }
        var candidates = right.filter { unmatched[$0.id] != nil }
        let limit = window.components.seconds.multipliedReportingOverflow(by: 1000)
        let milliseconds = limit.overflow ? Int64.max : limit.partialValue
        for event in remaining {
            let nearest = candidates.indices.filter { Self.mayBeOne(event, candidates[$0], within: milliseconds) }
                .min { Self.distance(event, candidates[$0]) < Self.distance(event, candidates[$1]) }
            if let nearest { add(event, candidates.remove(at: nearest)) } else { onlyFirst.append(Item(event)) }
        }
        onlySecond = candidates.map(Item.init)
        access = Self.accessDifferences(left, right)
    }

    /// Whether the two sides say the same of everything, and neither saw what the other did not.
    public var isAgreement: Bool {
        differing.isEmpty && onlyFirst.isEmpty && onlySecond.isEmpty && access.isEmpty
    }

    private mutating func add(_ first: NormalizedEvent, _ second: NormalizedEvent) {
        let differences = Self.differences(first, second)
        let pair = Pair(first: Item(first), second: Item(second), differences: differences)
        if differences.isEmpty { agreeing.append(pair) } else { differing.append(pair) }
    }
}

// MARK: Matching

extension ChannelComparison {
    /// In the order of their making, each identity once.
    private static func distinct(_ events: some Sequence<NormalizedEvent>) -> [NormalizedEvent] {
        var seen: Set<EventID> = []
        let events = events.filter { seen.insert($0.id).inserted }
        return events.filter { !isSaidTwice($0, events) }.sorted {
            $0.assertedAt == $1.assertedAt ? $0.id.description < $1.id.description : $0.assertedAt < $1.assertedAt
        }
    }

    /// Whether an event only says in other words what the same channel says with another: a failed charge as an end of
    /// renewal, or a change of product, whose time the channel did not know, that took effect within the minute.
    private static func isSaidTwice(_ event: NormalizedEvent, _ events: [NormalizedEvent]) -> Bool {
        switch event.event {
        case .autoRenewDisabled(let detail) where detail.reason == .billing:
            return events.contains {
                $0.kind == .billingIssue && $0.subscription == event.subscription && distance($0, event) <= 60_000
            }
        case .productChangeScheduled(let change) where change.basis == .inferred:
            return events.contains {
                meaning($0) == "period_began" && $0.subscription == event.subscription && $0.product?.id == change.to
                    && distance($0, event) <= 60_000
            }
        default:
            return false
        }
    }

    /// What is meant, whatever it is called: channels word the beginning of a period differently.
    private static func meaning(_ event: NormalizedEvent) -> String {
        switch event.event {
        case .started, .renewed, .productChanged: "period_began"
        case .expired, .revoked: "ended"
        case .autoRenewDisabled(let detail): "auto_renew_disabled/\(detail.reason.rawValue)"
        case .notice(let notice): "notice/\(notice.kind)"
        case .unmapped(let detail): "unmapped/\(detail.type)"
        default: event.kind.rawValue
        }
    }

    private static func mayBeOne(_ one: NormalizedEvent, _ other: NormalizedEvent, within limit: Int64) -> Bool {
        one.subscription == other.subscription && meaning(one) == meaning(other)
            && (one.transaction == nil || other.transaction == nil || one.transaction == other.transaction)
            && distance(one, other) <= limit
    }

    private static func distance(_ one: NormalizedEvent, _ other: NormalizedEvent) -> Int64 {
        let (distance, overflow) = one.assertedAt.millisecondsSince1970
            .subtractingReportingOverflow(other.assertedAt.millisecondsSince1970)
        return overflow || distance == .min ? .max : abs(distance)
    }

    private static func differences(_ one: NormalizedEvent, _ other: NormalizedEvent) -> [Difference] {
        var differences: [Difference] = []
        func compare(_ member: String, _ first: String?, _ second: String?) {
            // What one side does not state it does not contradict.
            guard let first, let second, !first.utf8.elementsEqual(second.utf8) else { return }
            differences.append(Difference(member: member, first: first, second: second))
        }
        func time(_ date: Date?) -> String? {
            // Channels that relay a store's time drop its milliseconds.
            date.map { RFC3339.string($0.millisecondsSince1970.flooredQuotient(dividingBy: 1000) * 1000) }
        }
        compare("meaning", meaning(one), meaning(other))
        compare("store", one.store.rawValue, other.store.rawValue)
        compare("environment", one.environment.rawValue, other.environment.rawValue)
        compare("transaction", one.transaction, other.transaction)
        compare("product.id", one.product?.id, other.product?.id)
        compare("product.base_plan", one.product?.basePlan, other.product?.basePlan)
        // Of a failed charge or a refund, a relay's period ends with grace or refund; only a beginning states the period.
        if meaning(one) == "period_began" {
            compare("period.start", time(one.period?.start), time(other.period?.start))
            compare("period.end", time(one.period?.end), time(other.period?.end))
            if one.price?.role == .charged, other.price?.role == .charged {
                compare("price", one.price?.money.description, other.price?.money.description)
            }
        }
        compare("renewal.will_renew", one.renewal.map { "\($0.willRenew)" }, other.renewal.map { "\($0.willRenew)" })
        return differences
    }
}

// MARK: Access

extension ChannelComparison {
    private static func accessDifferences(
        _ first: [NormalizedEvent],
        _ second: [NormalizedEvent]
    ) -> [AccessDifference] {
        let left = Timeline(first).ledger
        let right = Timeline(second).ledger
        var differences: [AccessDifference] = []
        for state in left.states {
            guard let other = right[state.subscription] else { continue }
            var moments: Set<Date> = []
            for side in [state, other] {
                var moment = Date(millisecondsSince1970: 0)
                // A state changes by itself a bounded number of times.
                while let next = side.nextTransition(after: moment), moments.count < 10_000 {
                    moments.insert(next)
                    moment = next
                }
            }
            differences += stretches(state, other, moments.sorted())
        }
        return differences
    }

    private static func stretches(
        _ state: SubscriptionState,
        _ other: SubscriptionState,
        _ moments: [Date]
    ) -> [AccessDifference] {
        var differences: [AccessDifference] = []
        var open: AccessDifference?
        for moment in moments {
            let (first, second) = (state.access(at: moment).isGranted, other.access(at: moment).isGranted)
            let winner: Bool? = first == second ? nil : first
            if let current = open, winner == nil || winner != current.isFirstGranting {
                differences.append(
                    AccessDifference(
                        subscription: current.subscription,
                        from: current.from,
                        until: moment,
                        isFirstGranting: current.isFirstGranting
                    )
                )
                open = nil
            }
            if let winner, open == nil {
                open = AccessDifference(
                    subscription: state.subscription,
                    from: moment,
                    until: nil,
                    isFirstGranting: winner
                )
            }
        }
        if let open { differences.append(open) }
        return differences
    }
}
