public import FoundationEssentials

/// A provider's memory of what it has sent, from which a host reads what it missed while it was down.
///
/// Facts and ids of what is read there are those of the webhook, so it does no harm to read what is known already.
public protocol DeliveryHistory: Sendable {
    /// Tells this history from every other one that a host reads, such as `apple/com.example.app/Production`.
    var name: String { get }
    /// Whose it is.
    var provider: Provider { get }
    /// How far back the provider remembers.
    var reach: Duration { get }

    /// Reads a page.
    ///
    /// - Parameters:
    ///   - window: the time at which the provider sent, or first tried to send.
    ///   - position: ``DeliveryHistoryPage/next`` of the page before, for the same window; nil for the first.
    /// - Throws: ``DeliveryError`` with `stale` where the provider refuses a position that is too old, so that the window has to be
    ///   read from its beginning; with another code where it cannot be asked. What is wrong with one delivery is an outcome of
    ///   that delivery, and throws nothing.
    func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage
}

/// Some of what a provider has sent.
public struct DeliveryHistoryPage: Sendable {
    /// Something that a provider has sent, and what an adapter made of it.
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

    /// The deliveries, in any order.
    public var entries: [Entry]
    /// Where the next page begins; nil behind the last.
    public var next: String?

    /// Makes a page.
    public init(_ entries: [Entry], next: String? = nil) {
        self.entries = entries
        self.next = next
    }
}
