public import FoundationEssentials
public import Normalizer
import SignatureCore

/// A comparison of two channels' reports of the same purchases over the same time: their agreements, the events of only
/// one side, and the differences.
///
/// Use it to prove a move from one channel to another, while you run both. Give it all the events of one channel on
/// each side, including those that the other had reported already. Events that both sides must word alike are matched
/// by their identity, others by lineage, meaning and time.
public struct ChannelComparison: Hashable, Sendable, Codable {
    /// One event, without anything that names a customer.
    public struct Item: Hashable, Sendable, Codable {
        /// The identity of the fact.
        public var id: EventID
        /// The kind of event.
        public var kind: LifecycleEvent.Kind
        /// The service that reported it.
        public var provider: Provider
        /// The provider's type of the notification, verbatim.
        public var type: String
        /// The lineage.
        public var subscription: SubscriptionID?
        /// The transaction.
        public var transaction: TransactionID?
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
        /// Their differences; empty if they agree.
        public var differences: [Difference]
    }

    /// A member that two events of one fact do not agree in.
    public struct Difference: Hashable, Sendable, Codable {
        /// Its name, as in JSON.
        public var member: String
        /// The first side's value; absent if it states none.
        public var first: String?
        /// The second side's value; absent if it states none.
        public var second: String?
    }

    /// A stretch of time in which only one side gives access.
    public struct AccessDifference: Hashable, Sendable, Codable {
        /// The lineage.
        public var subscription: SubscriptionID
        /// The first moment.
        @EventTime public var from: Date
        /// The first moment after it; absent if nothing is known to end it.
        @OptionalEventTime public var until: Date?
        /// True if the first side gives access, and the second does not.
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
    /// Events that only the first side saw, and the second could have seen.
    public var onlyFirst: [Item] = []
    /// Events that only the second side saw, and the first could have seen.
    public var onlySecond: [Item] = []
    /// Events that one side has no type for, or reports by another event, or of a store that it does not know. There
    /// is nothing to look for on the other side.
    public var withoutCounterpart: [Item] = []
    /// Lineages of which only the first side knows anything that the second could know.
    public var lineagesOnlyFirst: [SubscriptionID] = []
    /// Lineages of which only the second side knows anything that the first could know.
    public var lineagesOnlySecond: [SubscriptionID] = []
    /// Where access differs, of lineages that both sides know.
    public var access: [AccessDifference] = []

    private enum CodingKeys: String, CodingKey {
        case agreeing, differing, access
        case onlyFirst = "only_first"
        case onlySecond = "only_second"
        case withoutCounterpart = "without_counterpart"
        case lineagesOnlyFirst = "lineages_only_first"
        case lineagesOnlySecond = "lineages_only_second"
    }

    /// Compares the events of two channels, without the statements that have none.
    public init(
        _ first: some Sequence<NormalizedEvent>,
        _ second: some Sequence<NormalizedEvent>,
        window: Duration = .seconds(7200),
        tolerance: Duration = .seconds(60),
        in range: Range<Date>? = nil
    ) {
        let (first, second) = (first.map(LogLine.event), second.map(LogLine.event))
        self.init(log: first, and: second, window: window, tolerance: tolerance, in: range)
    }

    /// Compares two channels.
    ///
    /// - Parameters:
    ///   - first: the events and statements of one.
    ///   - second: the events and statements of the other.
    ///   - window: how far apart two statements without a common identity may be made and still be about one fact.
    ///   - tolerance: how far times may differ, and how long access, without being reported: channels know some moments
    ///     by their own clocks.
    ///   - range: the time to report on, of statements and of access; nil for all. Give the time in which you received
    ///     both channels, with a margin for late reports. Earlier and later statements still count for matching and for
    ///     the states.
    public init(
        log first: some Sequence<LogLine>,
        and second: some Sequence<LogLine>,
        window: Duration = .seconds(7200),
        tolerance: Duration = .seconds(60),
        in range: Range<Date>? = nil
    ) {
        let left = Channel(first)
        let right = Channel(second)
        let purchases = AccountLedger(statements: left.statements + right.statements)
        let limit = window.wholeMilliseconds
        let slack = tolerance.wholeMilliseconds
        var unmatched = Dictionary(uniqueKeysWithValues: right.distinct.map { ($0.id, $0) })
        var remaining: [NormalizedEvent] = []
        for event in left.distinct {
            if let other = unmatched.removeValue(forKey: event.id) {
                add(event, other, slack: slack, in: range)
            } else {
                remaining.append(event)
            }
        }
        let candidates = right.distinct.filter { unmatched[$0.id] != nil }
        let counterparts = Self.counterparts(of: remaining, among: candidates, purchases, within: limit)
        for (event, counterpart) in zip(remaining, counterparts) {
            if let counterpart {
                unmatched[candidates[counterpart].id] = nil
                add(event, candidates[counterpart], slack: slack, in: range)
            } else if range?.contains(event.assertedAt) != false {
                let isExpected = right.canReport(event) && !left.saysOtherwise(event)
                if isExpected { onlyFirst.append(Item(event)) } else { withoutCounterpart.append(Item(event)) }
            }
        }
        for event in right.distinct where unmatched[event.id] != nil && range?.contains(event.assertedAt) != false {
            let isExpected = left.canReport(event) && !right.saysOtherwise(event)
            if isExpected { onlySecond.append(Item(event)) } else { withoutCounterpart.append(Item(event)) }
        }
        compareAccess(left, right, of: purchases, tolerance: slack, in: range)
    }

    /// True if both sides agree in everything that both can report, and neither saw an event that the other did not.
    public var isAgreement: Bool {
        differing.isEmpty && onlyFirst.isEmpty && onlySecond.isEmpty && access.isEmpty && lineagesOnlyFirst.isEmpty
            && lineagesOnlySecond.isEmpty
    }

    private mutating func add(
        _ first: NormalizedEvent,
        _ second: NormalizedEvent,
        slack: Int64,
        in range: Range<Date>?
    ) {
        if let range, !range.contains(first.assertedAt), !range.contains(second.assertedAt) { return }
        let differences = Self.differences(first, second, slack: slack)
        let pair = Pair(first: Item(first), second: Item(second), differences: differences)
        if differences.isEmpty { agreeing.append(pair) } else { differing.append(pair) }
    }
}

// MARK: Matching

extension ChannelComparison {
    /// The properties that an event shares with another of the same fact, if the two have no common identity.
    private struct Subject: Hashable {
        var purchase: SubscriptionID?
        var meaning: String

        init(_ event: NormalizedEvent, _ purchases: AccountLedger) {
            // A purchase may have a name for each channel; links say which are one.
            purchase = event.subscription.map { purchases[$0]?.subscription ?? $0 }
            meaning = ChannelComparison.meaning(event)
        }
    }

    /// The meaning, whatever it is called: channels word the beginning of a period differently.
    static func meaning(_ event: NormalizedEvent) -> String {
        switch event.event {
        case .autoRenewDisabled(let detail): "auto_renew_disabled/\(detail.reason.rawValue)"
        case .notice(let notice): "notice/\(notice.kind)"
        case .unmapped(let detail): "unmapped/\(detail.type)"
        default: event.kind.commonName
        }
    }

    /// Which of the other side's events each event is, if any. The nearest pairs come first: of several alike within the
    /// window, such as the ends of renewal that a tester asks for, the one that was lost is the one without a neighbour.
    private static func counterparts(
        of events: [NormalizedEvent],
        among others: [NormalizedEvent],
        _ purchases: AccountLedger,
        within limit: Int64
    ) -> [Int?] {
        var bySubject: [Subject: [Int]] = [:]
        for (index, other) in others.enumerated() { bySubject[Subject(other, purchases), default: []].append(index) }
        var pairs: [(distance: Int64, event: Int, other: Int)] = []
        for (index, event) in events.enumerated() {
            for other in bySubject[Subject(event, purchases)] ?? [] where mayBeOne(event, others[other], within: limit)
            {
                pairs.append((distance(event, others[other]), index, other))
            }
        }
        var counterparts = [Int?](repeating: nil, count: events.count)
        var taken: Set<Int> = []
        for pair in pairs.sorted(by: { $0 < $1 }) where counterparts[pair.event] == nil {
            if taken.insert(pair.other).inserted { counterparts[pair.event] = pair.other }
        }
        return counterparts
    }

    private static func mayBeOne(_ one: NormalizedEvent, _ other: NormalizedEvent, within limit: Int64) -> Bool {
        (one.transaction == nil || other.transaction == nil || one.transaction == other.transaction)
            && distance(one, other) <= limit
    }

    static func distance(_ one: NormalizedEvent, _ other: NormalizedEvent) -> Int64 {
        let (distance, overflow) = one.assertedAt.millisecondsSince1970
            .subtractingReportingOverflow(other.assertedAt.millisecondsSince1970)
        return overflow || distance == .min ? .max : abs(distance)
    }

    private static func differences(
        _ one: NormalizedEvent,
        _ other: NormalizedEvent,
        slack: Int64
    ) -> [Difference] {
        var differences: [Difference] = []
        func compare(_ member: String, _ first: String?, with second: String?) {
            // A side contradicts nothing that it does not state.
            guard let first, let second, !first.hasOctets(of: second) else { return }
            differences.append(Difference(member: member, first: first, second: second))
        }
        func compare(_ member: String, _ first: Date?, with second: Date?) {
            guard let first, let second else { return }
            let (difference, overflow) = first.millisecondsSince1970
                .subtractingReportingOverflow(second.millisecondsSince1970)
            guard overflow || difference.magnitude >= max(slack.magnitude, 1000) else { return }
            compare(
                member,
                RFC3339.string(first.millisecondsSince1970),
                with: RFC3339.string(second.millisecondsSince1970)
            )
        }
        // A bank's decision on Play is a refund in a relay's words.
        let names = Set([one.kind.commonName, other.kind.commonName])
        if names != ["chargeback", "refunded"] { compare("meaning", meaning(one), with: meaning(other)) }
        compare("store", one.homeStore.rawValue, with: other.homeStore.rawValue)
        compare("environment", one.environment.rawValue, with: other.environment.rawValue)
        compare("transaction", one.transaction?.rawValue, with: other.transaction?.rawValue)
        compare("product.id", one.product?.id.rawValue, with: other.product?.id.rawValue)
        compare("product.base_plan", one.product?.basePlan, with: other.product?.basePlan)
        switch (one.event, other.event) {
        // Of a failed charge or a refund, a relay's period ends with grace or refund; only a beginning states the period.
        case (.started, _), (.renewed, _), (.productChanged, _):
            // Later, for a shared purchase, a store still names the buyer, and a relay the member.
            if case .started(let started) = one.event, started.origin != .familyShared,
                one.namesAnotherOwner(than: other)
            {
                differences.append(Difference(member: "account"))
            }
            compare("period.start", one.period?.start, with: other.period?.start)
            compare("period.end", one.period?.end, with: other.period?.end)
        case (.oneTimePurchased(let first), .oneTimePurchased(let second)):
            if one.namesAnotherOwner(than: other) { differences.append(Difference(member: "account")) }
            if first.type != .unknown, second.type != .unknown {
                compare("detail.type", "\(first.type)", with: "\(second.type)")
            }
            compare("detail.quantity", "\(first.quantity)", with: "\(second.quantity)")
            compare("detail.expires", first.expires, with: second.expires)
        case (.refunded(let first), .refunded(let second)):
            compare("detail.scope", "\(first.scope)", with: "\(second.scope)")
        case (.billingIssue(let first), .billingIssue(let second)):
            compare("detail.access", first.access.name, with: second.access.name)
            compare("detail.until", first.access.end, with: second.access.end)
        default:
            break
        }
        if let first = one.price, let second = other.price, first.role == second.role,
            first.role == .charged || first.role == .refund
        {
            compare("price", first.money.description, with: second.money.description)
        }
        compare(
            "renewal.will_renew",
            one.renewal.map { "\($0.willRenew)" },
            with: other.renewal.map { "\($0.willRenew)" }
        )
        return differences
    }
}

extension NormalizedEvent {
    /// The store of the purchase: a relay distinguishes the Mac App Store from the App Store, Apple does not.
    var homeStore: PurchaseStore { subscription?.store ?? store }
}

extension LifecycleEvent.BillingIssue.Access {
    /// Nil if it is not stated.
    fileprivate var name: String? {
        switch self {
        case .grace: "grace"
        case .suspended: "suspended"
        case .unknown: nil
        }
    }

    fileprivate var end: Date? {
        if case .grace(let until) = self { until } else { nil }
    }
}

extension LifecycleEvent.Kind {
    /// The name of an event that channels share, though they word it differently.
    var commonName: String {
        switch self {
        case .started, .renewed, .productChanged: "period_began"
        case .expired, .revoked: "ended"
        default: rawValue
        }
    }
}

extension NormalizedEvent {
    /// True if both name an owner in the same manner, but not the same one. A relay passes an app's name for a customer
    /// on to the App Store if it is a UUID; names of other sources cannot be compared.
    fileprivate func namesAnotherOwner(than other: NormalizedEvent) -> Bool {
        let (names, others) = (account?.identifiers ?? [], other.account?.identifiers ?? [])
        guard Set(names.map(\.name)).isDisjoint(with: others.map(\.name)) else { return false }
        return names.contains { name in
            others.contains { $0.source == name.source || $0.isUUID && name.isUUID }
        }
    }
}
