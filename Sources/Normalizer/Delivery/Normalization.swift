/// What one delivery came to.
public struct Normalization: Hashable, Sendable, Codable {
    /// Why an authentic delivery gave no event.
    public struct NoChange: Hashable, Sendable, Codable {
        /// The reason, from an open set.
        public struct Reason: OpenValue {
            /// The name used in JSON.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The store's state is what was known already.
            public static let unchanged: Reason = "unchanged"
            /// Another notification of the same fact carries the event.
            public static let reportedElsewhere: Reason = "reported_elsewhere"
            /// The notification is a hint, and the provider has to be asked first.
            public static let needsLookup: Reason = "needs_lookup"
            /// The store's answer contradicts the notification, which has become stale.
            public static let stale: Reason = "stale"
        }

        /// Why.
        public var reason: Reason
        /// What the store asserted all the same.
        public var statement: StoreStatement?

        /// Makes a result without events.
        public init(_ reason: Reason, statement: StoreStatement? = nil) {
            self.reason = reason
            self.statement = statement
        }
    }

    /// What happened, in the order in which it takes effect.
    public var events: [NormalizedEvent]
    /// Why there is no event, where there is none.
    public var noChange: NoChange?
    /// Paths of descriptive members whose type was not the documented one; they read as absent. Worth a metric: a
    /// provider has changed its format.
    public var anomalies: [String]

    /// Makes a result with events.
    public init(_ events: [NormalizedEvent], anomalies: [String] = []) {
        self.events = events
        self.anomalies = anomalies
    }

    /// Makes a result without events.
    public init(noChange: NoChange, anomalies: [String] = []) {
        self.events = []
        self.noChange = noChange
        self.anomalies = anomalies
    }

    private enum CodingKeys: String, CodingKey {
        case events, anomalies
        case noChange = "no_change"
    }
}
