import Normalizer

extension JournalTransaction {
    /// All rows of a selection, page by page.
    func allRecords(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord] {
        var all: [JournalRecord] = []
        var page = selection
        while true {
            let records = try await self.records(page, in: table)
            all += records
            guard records.count == selection.limit, let last = records.last else { return all }
            page = page.following(last)
        }
    }

    /// Stores a row in place of the one that was read; nil if there was none.
    ///
    /// - Throws: ``Conflict`` if another transaction was faster.
    func put(_ record: JournalRecord, over known: JournalRecord?, in table: JournalTable) async throws {
        let isDone = known == nil ? try await insert(record, into: table) : try await update(record, in: table)
        guard isDone else { throw Conflict() }
    }
}

extension Journal {
    /// Reads the rows of a selection page by page, each page in a transaction of its own: others write in between.
    func forEachPage(
        of selection: JournalSelection,
        in table: JournalTable,
        _ body: (_ records: [JournalRecord]) async throws(JournalError) -> Void
    ) async throws(JournalError) {
        var next = selection
        while true {
            let page = next
            let records = try await read { try await $0.records(page, in: table) }
            try await body(records)
            guard records.count == page.limit, let last = records.last else { return }
            next = page.following(last)
        }
    }
}
