public import FoundationEssentials

extension Fact {
    /// Access to a period stopped at a moment, or came back.
    ///
    /// ``PeriodEnd`` and later statements of the period decide what holds now. An interruption is kept as well, so that a
    /// question about the past is answered by what held then.
    public struct Interruption: Hashable, Sendable, Codable {
        /// The start of the period.
        @EventTime public var start: Date
        /// The moment.
        @EventTime public var at: Date
        /// The reason why access stopped; nil if it came back.
        public var reason: LifecycleEvent.Expired.Reason?

        /// Makes the fact.
        public init(start: Date, at: Date, reason: LifecycleEvent.Expired.Reason?) {
            self.start = start
            self.at = at
            self.reason = reason
        }
    }
}
