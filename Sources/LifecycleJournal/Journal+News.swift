import FoundationEssentials
import Normalizer

extension Journal {
    /// - Returns: true if the event is new.
    func insert(
        _ applied: AppliedEvent,
        noting detail: QueueDetail,
        _ transaction: any JournalTransaction,
        at time: Date
    ) async throws -> Bool {
        let isNews = applied.isNews && detail.newsSince == nil
        let record = JournalRecord(
            key: applied.event.id.description,
            group: (isNews ? newsPlace : .silent).rawValue,
            order: time.milliseconds,
            body: try CanonicalJSON.bytes(applied),
            detail: try CanonicalJSON.bytes(detail)
        )
        return try await transaction.insert(record, into: .event)
    }

    private var newsPlace: QueuePlace { options.usesOutbox ? .due : .done }

    /// Providers may notify late, and clocks differ.
    static func newsSince(_ start: Date) -> Date { start.addingTimeInterval(-3600) }

    /// Makes news of an event that was imported when it had just happened: its notification was still to come. It moves to the end of
    /// the feed, so that a reader who has passed it gets it.
    ///
    /// - Returns: the event as it was imported; nil if it is no such event.
    func becameNews(
        _ event: NormalizedEvent,
        noting detail: QueueDetail,
        _ transaction: any JournalTransaction,
        at time: Date
    ) async throws -> AppliedEvent? {
        guard event.origin.isNotified, var record = try await transaction.record(event.id.description, in: .event),
            record.group == QueuePlace.silent.rawValue, !record.body.isEmpty,
            let start = try QueueDetail(of: record).newsSince, event.occurredAt >= start
        else { return nil }
        let applied = try CanonicalJSON.value(AppliedEvent.self, from: record.body)
        guard applied.isNews else { return nil }
        (record.group, record.order) = (newsPlace.rawValue, time.milliseconds)
        record.detail = try CanonicalJSON.bytes(detail)
        guard try await transaction.update(record, in: .event) else { throw Conflict() }
        return applied
    }
}
