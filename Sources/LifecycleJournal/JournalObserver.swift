public import LifecycleEvents

/// Gets a report of each of a journal's steps, for metrics or logs. It contains nothing personal and nothing of a
/// payload.
///
/// The journal calls it after the transaction, on the task that ran it: return quickly.
public protocol JournalObserver: Sendable {
    /// Something was done.
    func observe(_ observation: JournalObservation)
}

/// A report of a journal's work.
@nonexhaustive
public enum JournalObservation: Sendable {
    /// A delivery was taken in, by ``Journal/receive(_:with:as:)``, by a worker or out of quarantine.
    case delivery(DeliveryObservation)
    /// A transaction is repeated.
    case retry(JournalError.Code)
    /// An item of a queue has failed too often and is given out no more.
    case gaveUp(JournalTable)
    /// A delivery of this source was not kept, since its quarantine is full. Replay or discard what is in it.
    case quarantineFull(source: String)
    /// A row that is due cannot be read, or one that it follows from, or an event or a line of the log: it is passed over, and the others are
    /// not held up. Each look at the table reports it again. ``Journal/verify(known:)`` names such rows.
    case unreadable(JournalTable)
    /// A provider was asked about a purchase as often as is of use, and nothing settled the question.
    case questionExhausted(DueItem)
    /// A duty is still owed in the last third of its time: an attempt has failed, or no one answers it.
    case deadlineNear(DueItem)
}

/// The outcome of one delivery.
public struct DeliveryObservation: Sendable {
    /// Under which name the adapter is known to the host.
    public var source: String
    /// The answer to the provider.
    public var decision: Acknowledgement.Decision
    /// Why it was not accepted; nil if it was.
    public var error: DeliveryError.Code?
    /// The error in words, fit for a log: the expectation and the difference. Nil if the delivery was accepted.
    public var message: String?
    /// How many events were stored for the first time, news or not.
    public var newEvents = 0
    /// How many events were known by their id.
    public var knownEvents = 0
    /// Types that the adapter does not know, as the provider names them.
    public var unmappedTypes: [String] = []
    /// Paths of members whose type is not the documented one.
    public var anomalies: [String] = []
    /// From the provider's time of the first event to the receipt; nil without an event. A clock that is behind makes it
    /// negative.
    public var lag: Duration?
    /// From receipt to commit, by the journal's clock.
    public var duration: Duration
}

/// Hears nothing.
struct SilentObserver: JournalObserver {
    func observe(_ observation: JournalObservation) {}
}
