public import Normalizer

/// Authentic deliveries that cannot be taken in yet: this version cannot read them, their app is not configured, or the
/// provider could not be asked about them.
///
/// Replay them after an update or a change of the configuration.
public struct Quarantine: Sendable {
    /// A delivery in quarantine.
    public struct Entry: Sendable, Identifiable {
        /// Its name in the quarantine.
        public let id: String
        /// Its source, as the host names its adapters.
        public let source: String
        /// The delivery, with the header fields that prove it.
        public let delivery: Delivery
        /// The reason that it is here. It shows nothing of the content.
        public let reason: String
        let record: JournalRecord
    }

    let journal: Journal

    /// The deliveries, in the order in which they were received.
    ///
    /// - Parameters:
    ///   - entry: begin after this one.
    ///   - limit: the most deliveries to return.
    /// - Throws: ``JournalError``.
    public func list(after entry: Entry? = nil, limit: Int = 100) async throws(JournalError) -> [Entry] {
        var selection = JournalSelection(group: DeliveryPlace.quarantined.rawValue, limit: limit)
        if let entry { selection = selection.following(entry.record) }
        let page = selection
        return try await journal.read { transaction in
            try await transaction.records(page, in: .delivery).map { record in
                let detail = try CanonicalJSON.value(DeliveryDetail.self, from: record.detail)
                let delivery = Delivery(
                    headers: detail.headers ?? [:],
                    body: record.body,
                    receivedAt: detail.receivedAt
                )
                return Entry(
                    id: record.key,
                    source: detail.source,
                    delivery: delivery,
                    reason: detail.error ?? "",
                    record: record
                )
            }
        }
    }

    /// Gives a delivery to its adapter once more. It leaves the quarantine when it is accepted.
    ///
    /// - Parameters:
    ///   - entry: the delivery, from ``list(after:limit:)``.
    ///   - adapter: takes it; signatures are checked against the delivery's own time of receipt.
    /// - Returns: the answer that a provider would get; `Acknowledgement.Decision.accept` means that it was taken in.
    public func replay(_ entry: Entry, with adapter: some ProviderAdapter) async -> Acknowledgement {
        await journal.receive(entry.delivery, with: adapter, as: entry.source)
    }

    /// Deletes a delivery.
    ///
    /// - Returns: true if it was still there.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func discard(_ entry: Entry) async throws(JournalError) -> Bool {
        try await journal.write { try await $0.delete(entry.record, from: .delivery) }
    }
}
