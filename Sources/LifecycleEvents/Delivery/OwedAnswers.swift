public import FoundationEssentials

/// Something that a store waits for: a purchase to acknowledge, or its question about a refund.
public struct OwedAnswer: Sendable {
    /// The event that it follows from: `acknowledgementRequired` or `refundRequested`.
    public var event: NormalizedEvent
    /// How the store has to be asked about the purchase, if a name does not suffice.
    public var handle: PurchaseHandle?
    /// The secret that the store gave for the answer, if it gave one and it was kept.
    public var token: SecretBytes?
    /// By when the store wants it.
    public var deadline: Date?

    /// Describes a duty.
    public init(
        _ event: NormalizedEvent,
        handle: PurchaseHandle? = nil,
        token: SecretBytes? = nil,
        deadline: Date? = nil
    ) {
        self.event = event
        self.handle = handle
        self.token = token
        self.deadline = deadline
    }
}

/// Answers a store's open requests, once for each duty or more often: a repeated answer must be harmless.
public protocol OwedAnswers: Sendable {
    /// True if this one answers it.
    func isOwed(_ answer: OwedAnswer) -> Bool

    /// Answers, or finds that nothing is owed any more.
    ///
    /// - Throws: `DeliveryError` with `unavailable` or `denied` if it is worth another attempt; any other code is final.
    func answer(_ owed: OwedAnswer) async throws(DeliveryError)
}
