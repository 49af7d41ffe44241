import FoundationEssentials
public import Normalizer

extension Journal {
    /// The outcome of a round of answers to stores.
    public struct Answers: Hashable, Sendable, Codable {
        /// How many duties were answered.
        public var answered = 0
        /// How many could not be answered yet, and will be tried again.
        public var postponed = 0
        /// How many are given up: the store refuses the answer, or its deadline has passed. They are in `duties.abandoned()`.
        public var abandoned = 0

        /// Makes an empty report.
        public init() {}
    }

    /// Answers the stores' open requests: purchases to acknowledge, and questions about refunds.
    ///
    /// A duty is tried again until its deadline, after 5, 10, 20 seconds and so on, up to an hour. In the last third of
    /// its time the observer gets every failed attempt, and each call reports the duties that no `answerer` takes. Those stay in
    /// ``duties`` for you.
    ///
    /// - Parameters:
    ///   - answerers: answer the duties; the first that is responsible for a duty answers it.
    ///   - limit: how many duties are looked at, at most.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func answer(
        with answerers: [any OwedAnswers],
        limit: Int = .max
    ) async throws(JournalError) -> Answers {
        var report = Answers()
        var seen = 0
        try await correctTurns(in: .due)
        let time = now().milliseconds
        var selection = JournalSelection(group: QueuePlace.due.rawValue, through: time, limit: 16)
        while seen < limit, !Task.isCancelled {
            selection.limit = min(16, limit - seen)
            let page = selection
            let records = try await read { try await $0.records(page, in: .due) }
            for record in records {
                do throws(JournalError) { try await answer(record, with: answerers, into: &report) } catch {
                    // One row that cannot be read must not hold up the answers behind it: each has a deadline.
                    guard error.code == .corrupt else { throw error }
                    observer.observe(.unreadable(.due))
                }
            }
            seen += records.count
            guard records.count == page.limit, let last = records.last else { break }
            selection = selection.following(last)
        }
        return report
    }

    private func answer(
        _ record: JournalRecord,
        with answerers: [any OwedAnswers],
        into report: inout Answers
    ) async throws(JournalError) {
        let item: DueItem
        do { item = try CanonicalJSON.value(from: record.body) } catch { throw JournalError(wrapping: error) }
        let time = now()
        guard let owed = try await owed(item, of: record), let answerer = answerers.first(where: { $0.isOwed(owed) })
        else { return observeDeadline(of: item, at: time) }
        guard let lease = try await duties.take(record) else { return }
        if let deadline = item.deadline, deadline <= time {
            if try await duties.giveUp(lease, because: "the deadline has passed") { report.abandoned += 1 }
            return
        }
        do throws(DeliveryError) {
            try await answerer.answer(owed)
        } catch {
            guard error.code == .unavailable || error.code == .denied else {
                if try await duties.giveUp(lease, because: "\(error)") { report.abandoned += 1 }
                return
            }
            observeDeadline(of: item, at: time)
            try await duties.postpone(lease, because: "\(error)", until: item.deadline)
            report.postponed += 1
            return
        }
        try await duties.done(lease)
        report.answered += 1
    }

    /// Reports a duty that is still owed in the last third of its time.
    private func observeDeadline(of item: DueItem, at time: Date) {
        guard let deadline = item.deadline, time < deadline,
            deadline.timeIntervalSince(time) * 3 < deadline.timeIntervalSince(item.dueAt)
        else { return }
        observer.observe(.deadlineNear(item))
    }

    /// The event that a duty follows from; nil if the event is not known any more.
    private func owed(_ item: DueItem, of duty: JournalRecord) async throws(JournalError) -> OwedAnswer? {
        guard let id = item.event else { return nil }
        return try await read { transaction in
            guard let record = try await transaction.record(id.description, in: .event), !record.body.isEmpty else {
                return nil
            }
            let applied = try CanonicalJSON.value(AppliedEvent.self, from: record.body)
            // Google Play's questions about refunds name an order, and no purchase.
            let lineages = [item.subscription].compactMap(\.self)
            return OwedAnswer(
                applied.event,
                handle: try await handles(of: lineages, transaction).first,
                token: try token(QueueDetail(of: duty).token, for: item.id),
                deadline: item.deadline
            )
        }
    }
}

extension JournalQueue {
    /// Leases one row for five minutes; nil if another process was faster.
    func take(_ record: JournalRecord) async throws(JournalError) -> Item? {
        let time = journal.now().milliseconds
        let table = table
        return try await journal.write { transaction in
            var record = record
            var detail = try QueueDetail(of: record)
            let attempts = detail.attempts
            detail.attempts += 1
            detail.turnSetAt = time
            record.detail = try CanonicalJSON.bytes(detail)
            record.order = time + 300_000
            guard try await transaction.update(record, in: table) else { return nil }
            record.version += 1
            return try Item(record, attempts: attempts)
        }
    }

    /// Says that an item will not be done.
    func giveUp(_ item: Item, because reason: String) async throws(JournalError) -> Bool {
        let isHeld = try await put(item.record, in: .dead, order: journal.now().milliseconds, error: reason)
        if isHeld { journal.observer.observe(.gaveUp(table)) }
        return isHeld
    }

    /// Has an item be given out again, however often that was done before: at the deadline at the latest.
    func postpone(_ item: Item, because reason: String, until deadline: Date?) async throws(JournalError) {
        let retry = min(journal.retryTime(afterAttempt: item.attempts + 1), deadline?.milliseconds ?? .max)
        _ = try await put(item.record, in: .due, order: retry, error: reason)
    }
}
