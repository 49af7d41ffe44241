public import Normalizer

extension Journal {
    // MARK: Found by a name

    /// The lineages that have a name: their own, with or without store and environment, or that of a transaction or an order.
    ///
    /// They are found by an index. It has the rows of an earlier version only after ``rebuild(repairing:)``.
    ///
    /// - Throws: ``JournalError``.
    public func lineages(named name: String) async throws(JournalError) -> [SubscriptionID] {
        try await read { transaction in
            if let lineage = SubscriptionID(name),
                try await transaction.record(JournalKey.text(lineage), in: .state) != nil
            {
                return [lineage]
            }
            return try await StateRows.lineages(in: .link, of: Self.nameGroup(name), transaction)
        }
    }

    /// Every event and statement about lineages, and about those that they are linked to.
    ///
    /// - Throws: ``JournalError``.
    public func lines(of lineages: [SubscriptionID]) async throws(JournalError) -> [LogLine] {
        try await read { transaction in
            var lines: [LogLine] = []
            let rows = try await StateRows(linkedTo: lineages, transaction)
            // A state is read once for all the lineages that it stands for.
            let linked = Set(rows.states.flatMap(\.lineages)).union(rows.records.keys)
            for lineage in linked.union(lineages).inOrder {
                let selection = JournalSelection(group: JournalKey.text(lineage), limit: 500)
                for record in try await transaction.allRecords(selection, in: .log) where !record.body.isEmpty {
                    lines.append(try CanonicalJSON.value(from: record.body))
                }
            }
            return lines
        }
    }

    /// Indexes a line of the log by the transaction that it is about.
    static func indexNames(of line: LogLine, _ transaction: any JournalTransaction) async throws {
        guard case .event(let event) = line, let lineage = event.subscription, let name = event.transaction else {
            return
        }
        try await index(name.rawValue, of: lineage, transaction)
    }

    /// Has a lineage be found by a name.
    static func index(_ name: String, of lineage: SubscriptionID, _ transaction: any JournalTransaction) async throws {
        guard !name.isEmpty, !lineage.id.isEmpty else { return }
        let record = JournalRecord(
            key: nameKey(name, of: lineage),
            group: nameGroup(name),
            body: Array(lineage.description.utf8)
        )
        _ = try await transaction.insert(record, into: .link)
    }

    /// Removes a name of a lineage.
    static func forget(_ name: String, of lineage: SubscriptionID, _ transaction: any JournalTransaction) async throws {
        guard let record = try await transaction.record(nameKey(name, of: lineage), in: .link) else { return }
        _ = try await transaction.delete(record, from: .link)
    }

    // No lineage has a group or a key that begins so: that of a lineage holds no line feed.
    private static func nameGroup(_ name: String) -> String { JournalKey.text("name", name) }

    private static func nameKey(_ name: String, of lineage: SubscriptionID) -> String {
        JournalKey.text("name", name, lineage.description)
    }
}
