import Normalizer

extension JournalTransaction {
    /// The values that rows give, up to the limit of a selection. A row that gives none, or that cannot be read, is passed over: it must
    /// not hold up the rows behind it.
    ///
    /// - Parameter read: gives the value of a row; it may take the row out of the selection.
    /// - Returns: with true if a row could not be read.
    func values<Value>(
        of selection: JournalSelection,
        in table: JournalTable,
        _ read: (JournalRecord) async throws -> Value?
    ) async throws -> (values: [Value], isPassingOver: Bool) {
        var (values, isPassingOver) = ([Value](), false)
        var page = selection
        while values.count < selection.limit {
            let records = try await records(page, in: table)
            for record in records where values.count < selection.limit {
                do {
                    if let value = try await read(record) { values.append(value) }
                } catch is InvalidValue {
                    isPassingOver = true
                }
            }
            guard records.count == page.limit, let last = records.last else { break }
            page = page.following(last)
        }
        return (values, isPassingOver)
    }
}

extension JournalRecord {
    private struct AnyValue: Decodable {}

    /// The value of the body, for readers that go on and do not come back. What is no JSON was damaged. Other JSON may be of a later
    /// version of this package, and they must not miss it.
    ///
    /// - Throws: `InvalidValue` for no JSON; ``JournalError`` for other JSON.
    func value<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        do { return try CanonicalJSON.value(type, from: body) } catch {
            guard (try? CanonicalJSON.value(AnyValue.self, from: body)) != nil else { throw error }
            throw JournalError(.corrupt, "a row was edited, or a later version has stored it", underlying: error)
        }
    }
}

extension Journal {
    /// The values that rows give, see ``JournalTransaction/values(of:in:_:)``. The observer hears of rows that cannot be read.
    func values<Value: Sendable>(
        of selection: JournalSelection,
        in table: JournalTable,
        _ value: @escaping @Sendable (JournalRecord, any JournalTransaction) async throws -> Value?
    ) async throws(JournalError) -> [Value] {
        let (values, isPassingOver) = try await read { transaction in
            try await transaction.values(of: selection, in: table) { try await value($0, transaction) }
        }
        if isPassingOver { observer.observe(.unreadable(table)) }
        return values
    }
}
