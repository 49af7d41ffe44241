import FoundationEssentials
import Normalizer

/// Where a raw delivery stands.
enum DeliveryPlace: String, CaseIterable {
    /// A worker takes it in.
    case waiting
    /// It cannot be taken in yet, see ``Journal/quarantine``.
    case quarantined
    /// It was taken in, and is kept until its time is over.
    case kept
    /// No delivery: the row is an ``ErasureNote``.
    case erasure

    /// Of what was not taken in.
    static let ofWaiting = [waiting, quarantined]
}

/// The journal's notes about a delivery, stored next to its body.
struct DeliveryDetail: TurnDetail {
    var source: String
    var headers: Delivery.Headers?
    @EventTime var receivedAt: Date
    var attempts = 0
    var turnSetAt: Int64?
    var error: String?
    /// The proven notification as JSON. It need not be proven again, by when keys may have changed.
    var proven: String?
    /// The lineages that it was about, for an erasure.
    var lineages: [String]?

    init(_ delivery: Delivery, of source: String) {
        self.source = source
        headers = delivery.headers
        receivedAt = delivery.receivedAt
    }

    init(of record: JournalRecord) throws { self = try CanonicalJSON.value(from: record.detail) }

    static func key(_ delivery: Delivery, of source: String) -> String { JournalKey.text(source, delivery.digest) }
}
