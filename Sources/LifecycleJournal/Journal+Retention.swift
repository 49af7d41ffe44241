public import FoundationEssentials

extension Journal {
    /// Deletes raw deliveries whose retention is over, and duties that were done or discarded before `time`. Events and the log stay. Erasures that
    /// were broken off are finished.
    ///
    /// - Returns: how many rows were deleted.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func prune(before time: Date) async throws(JournalError) -> Int {
        let present = now().milliseconds
        var count = 0
        for (table, group, last) in [
            (JournalTable.delivery, DeliveryPlace.kept.rawValue, present),
            (.due, QueuePlace.done.rawValue, time.milliseconds),
            (.due, QueuePlace.discarded.rawValue, time.milliseconds),
        ] {
            while true {
                let deleted = try await write { transaction in
                    let selection = JournalSelection(group: group, through: last, limit: 200)
                    let records = try await transaction.records(selection, in: table)
                    for record in records {
                        _ =
                            table == .delivery
                            ? try await Self.delete(record, transaction)
                            : try await transaction.delete(record, from: table)
                    }
                    return records.count
                }
                count += deleted
                if deleted < 200 { break }
            }
        }
        try await finishErasures()
        return count
    }
}
