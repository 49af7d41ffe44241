import Normalizer

extension Journal {
    // MARK: Integrity

    /// The findings of ``Journal/verify(known:)``.
    public struct Verification: Hashable, Sendable, Codable {
        /// How many lines were looked at.
        public var lines: Int64 = 0
        /// How many of them were erased for an account.
        public var erased: Int64 = 0
        /// The faults, in the order of the log; at most a hundred.
        public var findings: [String] = []
        /// The last position.
        public var position: Int64 = 0
        /// The digest of the log up to there. Keep it where a writer to the database cannot change it: a log that was
        /// rewritten as a whole has another one.
        public var chain = ""

        mutating func find(_ finding: String) { if findings.count < 100 { findings.append(finding) } }
    }

    /// Reads the whole log, and finds lines that were changed, removed or put in by hand. It also finds the rows of events, deliveries,
    /// duties and questions that cannot be read, with their `number` in the table.
    ///
    /// - Parameter known: positions and digests of earlier verifications, which have to be met.
    /// - Throws: ``JournalError``.
    public func verify(known: [Int64: String] = [:]) async throws(JournalError) -> Verification {
        try await giveOutPositions()
        var verification = Verification()
        var stored: JournalRecord?
        var lines = JournalSelection(through: .max - 1, limit: 500)
        while true {
            let page = lines
            // The last lines and the end of the log have to be of one moment: others write meanwhile.
            let (end, records) = try await read { transaction in
                let end = try await transaction.record(LogHead.key, in: .checkpoint)
                return (end, try await transaction.records(page, in: .log))
            }
            for record in records { verification.check(record, known: known) }
            stored = end
            guard records.count == page.limit, let last = records.last else { break }
            lines = page.following(last)
        }
        let head = stored.flatMap { try? CanonicalJSON.value(LogHead.self, from: $0.body) } ?? LogHead()
        // A restore raises the position alone, and the chain goes on.
        if head.position >= verification.position, head.chain != verification.chain {
            verification.find(
                "lines behind line \(verification.position) are missing, or the end of the log was changed"
            )
        }
        try await readRows(into: &verification)
        do {
            for damage in try await storage.damage() { verification.find("the storage: \(damage)") }
        } catch { throw JournalError(wrapping: error) }
        return verification
    }

    /// Reads the rows that are found by where they stand, as the queues do. ``rebuild(repairing:)`` reads the states.
    private func readRows(into verification: inout Verification) async throws(JournalError) {
        let queues = QueuePlace.allCases.map(\.rawValue)
        let places: [(JournalTable, [String])] = [
            (.event, queues), (.delivery, DeliveryPlace.allCases.map(\.rawValue)), (.due, queues),
        ]
        for (table, groups) in places {
            for group in groups {
                // The bodies of deliveries are large.
                let rows = JournalSelection(group: group, limit: table == .delivery ? 50 : 500)
                try await forEachPage(of: rows, in: table) { records throws(JournalError) in
                    for record in records where !record.isReadable(in: table) {
                        verification.find("row \(record.number) of \(table.name) cannot be read")
                    }
                }
            }
        }
    }
}

extension JournalRecord {
    fileprivate func isReadable(in table: JournalTable) -> Bool {
        do {
            switch (table, group) {
            case (.event, _):
                _ = try QueueDetail(of: self)
                if !body.isEmpty { _ = try CanonicalJSON.value(AppliedEvent.self, from: body) }
            case (.delivery, DeliveryPlace.erasure.rawValue): _ = try ErasureNote(of: self)
            case (.delivery, _): _ = try DeliveryDetail(of: self)
            default:
                if QueuePlace.ofQuestions.map(\.rawValue).contains(group) {
                    _ = try QuestionRow.Detail(of: self)
                } else {
                    _ = try QueueDetail(of: self)
                }
                if !body.isEmpty { _ = try CanonicalJSON.value(DueItem.self, from: body) }
            }
            return true
        } catch { return false }
    }
}

extension Journal.Verification {
    fileprivate mutating func check(_ record: JournalRecord, known: [Int64: String]) {
        lines += 1
        guard let detail = try? CanonicalJSON.value(LineDetail.self, from: record.detail) else {
            return find("line \(record.order) has no digest")
        }
        if detail.isErased == true, record.body.isEmpty {
            erased += 1
        } else if JournalKey.digest(record.body) != detail.digest {
            find("line \(record.order) was changed")
        }
        let expected = LineDetail(record, digest: detail.digest, at: record.order, after: chain)
        // A position may be left out, since a restore begins at a later one. A line may not: the next one's digest has it.
        if expected.chain != detail.chain {
            find("line \(record.order) does not follow from line \(position): one was changed, removed or put in")
        }
        (position, chain) = (record.order, detail.chain)
        if let pinned = known[record.order], pinned != chain {
            find("line \(record.order) is not the one that was there")
        }
    }
}
