public import LifecycleEvents

/// The answers that a provider accepts, and the times at which it tries again.
public struct RedeliverySchedule: Sendable, Hashable {
    /// The waits behind each failed attempt, in the provider's time. After the last the provider gives up.
    public let waits: [Duration]
    /// How long the provider waits for an answer.
    public let timeout: Duration
    private let accepted: Set<Int>

    /// True if an answer ends the deliveries.
    public func accepts(status: Int) -> Bool { accepted.contains(status) }

    init(waits: [Duration], timeout: Duration, accepted: Set<Int>) {
        (self.waits, self.timeout, self.accepted) = (waits, timeout, accepted)
    }

    /// A provider's schedule. One without a simulator tries once, and accepts 200 to 299.
    public init(_ provider: Provider) {
        self =
            StoryProviders.kind(of: provider)?.redelivery
            ?? RedeliverySchedule(waits: [], timeout: .seconds(30), accepted: Set(200...299))
    }
}
