public import FoundationEssentials

/// A provider's memory of its deliveries, from which a host reads those that it missed while it was down.
///
/// Facts and ids are those of the webhook, so reading a known delivery again does no harm.
///
/// Pages lead from the oldest delivery to the newest, in whichever order the provider lists them. A delivery that is taken in after
/// a newer one is news of the past: it is stored as superseded, and a host does not act on it.
public protocol DeliveryHistory: Sendable {
    /// Tells this history from every other one that a host reads, such as `apple/com.example.app/Production`.
    var name: String { get }
    /// Whose it is.
    var provider: Provider { get }
    /// How far back the provider remembers.
    var reach: Duration { get }
    /// True if the notification of an event is on the history, by its app or account and by its environment. Without an answer of
    /// your own: if it is the provider's.
    func lists(_ event: NormalizedEvent) -> Bool

    /// Reads the oldest page, or the one that follows a position.
    ///
    /// - Parameters:
    ///   - window: the time at which the provider sent, or first tried to send.
    ///   - position: ``DeliveryHistoryPage/next`` of the page before, for the same window; nil for the first.
    /// - Throws: ``DeliveryError`` with `stale` if the provider refuses a position that is too old, so that the window
    ///   must be read from its beginning; with another code if it cannot be asked. An error of one delivery is an
    ///   outcome of that delivery, and throws nothing.
    func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage
}

extension DeliveryHistory {
    /// True if the event is the provider's.
    public func lists(_ event: NormalizedEvent) -> Bool { event.provider == provider }
}

/// A part of a provider's deliveries.
public struct DeliveryHistoryPage: Sendable {
    /// A delivery of the provider, with the adapter's result.
    public struct Entry: Sendable {
        /// The delivery as the webhook would have brought it; nil if it could not be proven a second time.
        public var delivery: Delivery?
        /// The result of taking it in.
        public var outcome: Result<Normalization, DeliveryError>

        /// Makes an entry.
        public init(_ delivery: Delivery?, _ outcome: Result<Normalization, DeliveryError>) {
            self.delivery = delivery
            self.outcome = outcome
        }
    }

    /// The deliveries, the oldest first.
    public var entries: [Entry]
    /// Where the next page begins; nil behind the last.
    public var next: String?

    /// Makes a page.
    public init(_ entries: [Entry], next: String? = nil) {
        self.entries = entries
        self.next = next
    }
}
