public import FoundationEssentials
public import Normalizer

extension Journal {
    /// A raw delivery that was taken in and is kept, without its body.
    public struct KeptDelivery: Hashable, Sendable {
        /// Under which name the adapter is known to the host.
        public var source: String
        /// When it was received.
        public var receivedAt: Date
        /// The HTTP status that the provider was answered with.
        public var status: Int
        /// Why nothing came of it, in the adapter's words; nil if something did.
        public var reason: String?
        /// How long the body is.
        public var bytes: Int
    }

    /// The kept raw deliveries about lineages, see ``Options/deliveryRetention``, the newest first. A delivery that
    /// added nothing is not among them.
    ///
    /// - Throws: ``JournalError``.
    public func deliveries(of lineages: [SubscriptionID]) async throws(JournalError) -> [KeptDelivery] {
        try await read { transaction in
            var keys: Set<String> = []
            for lineage in lineages {
                let selection = JournalSelection(group: Self.deliveryGroup(lineage.description), limit: 500)
                for record in try await transaction.allRecords(selection, in: .link) {
                    keys.insert(String(decoding: record.body, as: UTF8.self))
                }
            }
            var deliveries: [KeptDelivery] = []
            for key in keys {
                guard let record = try await transaction.record(key, in: .delivery),
                    record.group == DeliveryPlace.kept.rawValue,
                    // One that cannot be read must not hide the others.
                    let detail = try? DeliveryDetail(of: record)
                else { continue }
                deliveries.append(
                    KeptDelivery(
                        source: detail.source,
                        receivedAt: detail.receivedAt,
                        status: 200,
                        reason: detail.error,
                        bytes: record.body.count
                    )
                )
            }
            return deliveries.sorted { ($0.receivedAt, $0.source) > ($1.receivedAt, $1.source) }
        }
    }

    /// How many deliveries that were answered at once are still to be taken in, counted up to a limit.
    ///
    /// - Parameters:
    ///   - time: leave out those that are not due for a worker by then: those that one has at this moment, and those that will be
    ///     tried again later; nil leaves none out.
    ///   - limit: the most to count.
    /// - Throws: ``JournalError``.
    public func waitingDeliveries(dueBy time: Date? = nil, upTo limit: Int) async throws(JournalError) -> Int {
        let selection = JournalSelection(
            group: DeliveryPlace.waiting.rawValue,
            through: time?.milliseconds ?? .max,
            limit: limit
        )
        return try await read { try await $0.records(selection, in: .delivery).count }
    }

    /// Indexes a kept delivery by its lineages.
    static func index(_ delivery: JournalRecord, noting detail: DeliveryDetail, _ transaction: any JournalTransaction)
        async throws
    {
        for lineage in detail.lineages ?? [] {
            let record = JournalRecord(
                key: JournalKey.text("delivery", lineage, delivery.key),
                group: deliveryGroup(lineage),
                body: Array(delivery.key.utf8)
            )
            _ = try await transaction.insert(record, into: .link)
        }
    }

    /// Deletes a kept delivery.
    ///
    /// - Returns: true if it was still there.
    static func delete(_ delivery: JournalRecord, _ transaction: any JournalTransaction) async throws -> Bool {
        // One that cannot be read goes as well.
        for lineage in (try? DeliveryDetail(of: delivery))?.lineages ?? [] {
            let key = JournalKey.text("delivery", lineage, delivery.key)
            guard let record = try await transaction.record(key, in: .link) else { continue }
            _ = try await transaction.delete(record, from: .link)
        }
        return try await transaction.delete(delivery, from: .delivery)
    }

    private static func deliveryGroup(_ lineage: String) -> String { JournalKey.text("delivery", lineage) }
}
