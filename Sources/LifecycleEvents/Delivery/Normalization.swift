public import FoundationEssentials

/// The result of one delivery.
public struct Normalization: Hashable, Sendable, Codable {
    /// Why an authentic delivery gave no event.
    public struct NoChange: Hashable, Sendable, Codable {
        /// The reason, from an open set.
        public struct Reason: OpenValue {
            /// The name used in JSON.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The store's state was known already.
            public static let unchanged: Reason = "unchanged"
            /// Another notification of the same fact carries the event.
            public static let reportedElsewhere: Reason = "reported_elsewhere"
            /// The notification is a hint, and the provider has to be asked first.
            public static let needsLookup: Reason = "needs_lookup"
            /// The store's answer contradicts the notification, which has become stale.
            public static let stale: Reason = "stale"
            /// The store does not keep the purchase any more, or does not know it yet. Nothing follows from that; the
            /// delivery is all that there is of the event.
            public static let purchaseGone: Reason = "purchase_gone"
        }

        /// Why.
        public var reason: Reason
        /// The store's assertion without an event.
        public var statement: StoreStatement?

        /// Makes a result without events.
        public init(_ reason: Reason, statement: StoreStatement? = nil) {
            self.reason = reason
            self.statement = statement
        }
    }

    /// The events, in the order in which they take effect.
    public var events: [NormalizedEvent]
    /// Why there is no event, if there is none.
    public var noChange: Optional<NoChange>  // In full: as in `NormalizedEvent`.
    /// Assertions in addition to the events: about lineages that no event here is about, such as the other items
    /// of a purchase, and about the same lineage at another time.
    public var furtherStatements: [StoreStatement]
    /// Paths of descriptive members whose type was not the documented one; they read as absent. Worth a metric: a
    /// provider has changed its format.
    public var anomalies: [String]
    /// How the store has to be asked about these purchases again, where their names do not suffice. They go along to the journal
    /// and are no part of the result: they are neither encoded nor compared.
    public var handles: [PurchaseHandle] {
        get { carried.handles }
        set { carried.handles = newValue }
    }
    /// The secrets that the store gave for answers to these events, such as the token of a refund review. They go along to the
    /// journal as ``handles`` do.
    public var answerTokens: [EventID: SecretBytes] {
        get { carried.answerTokens }
        set { carried.answerTokens = newValue }
    }
    private var carried = Carried()

    private struct Carried: Hashable {
        var handles: [PurchaseHandle] = []
        var answerTokens: [EventID: SecretBytes] = [:]
        static func == (lhs: Carried, rhs: Carried) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    /// Makes a result with events.
    public init(_ events: [NormalizedEvent], furtherStatements: [StoreStatement] = [], anomalies: [String] = []) {
        self.events = events
        self.noChange = nil
        self.furtherStatements = furtherStatements
        self.anomalies = anomalies
    }

    /// Makes a result without events.
    public init(noChange: NoChange, furtherStatements: [StoreStatement] = [], anomalies: [String] = []) {
        self.events = []
        self.noChange = noChange
        self.furtherStatements = furtherStatements
        self.anomalies = anomalies
    }

    /// Everything that the store asserted, with events and without. A state is joined from these.
    public var statements: [StoreStatement] {
        events.compactMap(\.statement) + [noChange?.statement].compactMap(\.self) + furtherStatements
    }

    /// The lineages that something is stated of, and those that they are linked to by it, each once: whose states to read
    /// before the result is applied.
    public var lineages: [SubscriptionID] {
        var seen: Set<SubscriptionID> = []
        return statements.flatMap { statement in
            [statement.subscription]
                + statement.facts.compactMap { if case .link(let other) = $0 { other } else { nil } }
        }
        .filter { !$0.id.isEmpty && seen.insert($0).inserted }
    }
}

extension Normalization {
    /// The result with a claim of each of its lineages, see ``StoreStatement/claim(of:by:at:)``: for the upload of a
    /// signed-in user, however old it is.
    public func claimed(by account: Account, at time: Date) -> Normalization {
        var result = self
        var seen: Set<SubscriptionID> = []
        for statement in statements where !statement.subscription.id.isEmpty {
            guard seen.insert(statement.subscription).inserted else { continue }
            result.furtherStatements.append(.claim(of: statement.subscription, by: account, at: time))
        }
        return result
    }
}

extension Normalization {
    private enum CodingKeys: String, CodingKey {
        case events, anomalies
        case noChange = "no_change"
        case furtherStatements = "further_statements"
    }

    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        events = try container.decode([NormalizedEvent].self, forKey: .events)
        noChange = try container.decodeIfPresent(NoChange.self, forKey: .noChange)
        furtherStatements = try container.decodeIfPresent([StoreStatement].self, forKey: .furtherStatements) ?? []
        anomalies = try container.decodeIfPresent([String].self, forKey: .anomalies) ?? []
    }

    /// Writes all members, without further statements where there are none.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(events, forKey: .events)
        try container.encodeIfPresent(noChange, forKey: .noChange)
        if !furtherStatements.isEmpty { try container.encode(furtherStatements, forKey: .furtherStatements) }
        try container.encode(anomalies, forKey: .anomalies)
    }
}
