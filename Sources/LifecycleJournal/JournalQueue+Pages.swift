public import FoundationEssentials
import Normalizer

extension JournalQueue {
    /// Items that were given up after this one, the longest ago first: the next page of ``abandoned(limit:)``.
    ///
    /// - Throws: ``JournalError``.
    public func abandoned(after item: Item, limit: Int = 100) async throws(JournalError) -> [Item] {
        let table = table
        return try await journal.read { transaction in
            let selection = JournalSelection(group: QueuePlace.dead.rawValue, limit: limit).following(item.record)
            return try await transaction.records(selection, in: table).map { record in
                try Item(record, attempts: QueueDetail(of: record).attempts)
            }
        }
    }
}

extension Journal {
    /// Duties due at `time` or before, the longest due first, without a lease.
    ///
    /// - Parameters:
    ///   - time: the time, such as now.
    ///   - kind: the kind of work; nil for all.
    ///   - id: begin after the duty with this id; nil for the first page.
    ///   - limit: the most duties to return.
    /// - Returns: the duties; nil if the duty to begin after is not due any more.
    /// - Throws: ``JournalError``.
    public func due(
        at time: Date,
        of kind: DueItem.Kind?,
        after id: String?,
        limit: Int
    ) async throws(JournalError) -> [DueItem]? {
        try await read { transaction in
            let group = QueuePlace.due.rawValue
            // Duties of other kinds are read as well, so many at a time.
            let count = kind == nil ? limit : max(limit, 1000)
            var selection = JournalSelection(group: group, through: time.milliseconds, limit: count)
            if let id {
                guard let record = try await transaction.record(JournalKey.text(id), in: .due), record.group == group,
                    record.order <= time.milliseconds
                else { return nil }
                selection = selection.following(record)
            }
            var found: [DueItem] = []
            while true {
                let records = try await transaction.records(selection, in: .due)
                for record in records where found.count < limit {
                    let item = try CanonicalJSON.value(DueItem.self, from: record.body)
                    if kind == nil || item.kind == kind { found.append(item) }
                }
                guard found.count < limit, records.count == count, let last = records.last else { return found }
                selection = selection.following(last)
            }
        }
    }
}
