import FoundationEssentials
import Synchronization

/// The journal's notes about a row that has a turn: its order is the time from which on it is given out.
protocol TurnDetail: Codable, Sendable {
    /// How often the row was given out.
    var attempts: Int { get }
    /// When the turn was set, in milliseconds since 1970; nil for the first one, and for one that an earlier version has set.
    var turnSetAt: Int64? { get set }

    init(of record: JournalRecord) throws

    /// Begins the delay of a turn anew, which was set at a time that had not come.
    ///
    /// - Returns: the turn, in milliseconds since 1970.
    mutating func correctTurn(_ turn: Int64, setAt wrong: Int64, at time: Int64) -> Int64
}

extension TurnDetail {
    mutating func correctTurn(_ turn: Int64, setAt wrong: Int64, at time: Int64) -> Int64 {
        beginDelay(until: turn, setAt: wrong, at: time)
    }

    mutating func beginDelay(until turn: Int64, setAt wrong: Int64, at time: Int64) -> Int64 {
        turnSetAt = time
        return time &+ max(turn &- wrong, 0)
    }
}

extension Journal {
    /// Corrects the turns in a queue that a clock has set which was ahead: they would come only when that time does.
    func correctTurns(in table: JournalTable) async throws(JournalError) {
        try await correctTurns(in: table, QueuePlace.due.rawValue, QueueDetail.self) { detail, record in
            guard detail.attempts == 0 else { return nil }
            // The host may schedule its own duties for any time, but the journal's are due at once.
            let isDueAtOnce =
                table == .event || (try? CanonicalJSON.value(DueItem.self, from: record.body))?.isOfJournal == true
            return isDueAtOnce ? record.order : nil
        }
    }

    /// Corrects the turns in a group of rows that a clock has set which was ahead: once an hour, and when the clock was set back. All
    /// rows with a later turn are read for it, so the processes on a database share the hour.
    ///
    /// Their delays begin now. So a lease lasts as long as it was taken for, and a turn that was set in time stays, however late it is.
    ///
    /// - Parameter unnoted: when a turn was set for which that was not noted; nil if a clock did not set it, or if that is not known.
    func correctTurns<Detail: TurnDetail>(
        in table: JournalTable,
        _ group: String,
        _ type: Detail.Type,
        unnoted: @escaping @Sendable (Detail, JournalRecord) -> Int64?
    ) async throws(JournalError) {
        let time = now().milliseconds
        let place = "\(table) \(group)"
        guard corrections.isDue(place, at: time) else { return }
        // Another process knows nothing of turns that this one has set since with a clock that was ahead.
        let wasSetBack = corrections.isAhead(place, of: time)
        if !wasSetBack, let last = try await lastCorrection(of: place), !TurnCorrections.isDue(last, at: time) {
            return corrections.note(place, at: last)
        }
        let latest = time + TurnCorrections.interval
        func corrected(_ record: JournalRecord) throws -> JournalRecord? {
            // A row that cannot be read must not hold up the others.
            guard var detail = try? Detail(of: record) else { return nil }
            guard let set = detail.turnSetAt ?? unnoted(detail, record), set > latest else { return nil }
            var record = record
            record.order = detail.correctTurn(record.order, setAt: set, at: time)
            record.detail = try CanonicalJSON.bytes(detail)
            return record
        }
        let selection = JournalSelection(group: group, after: latest, number: .max, limit: 1000)
        try await forEachPage(of: selection, in: table) { records throws(JournalError) in
            let wrong: [JournalRecord]
            do { wrong = try records.compactMap(corrected) } catch { throw JournalError(wrapping: error) }
            if wrong.isEmpty { return }
            try await write { transaction in
                // Another process may be faster.
                for record in wrong { _ = try await transaction.update(record, in: table) }
            }
        }
        try await noteCorrection(of: place, at: time)
        corrections.note(place, at: time)
    }

    /// When a process has last looked at a place.
    private func lastCorrection(of place: String) async throws(JournalError) -> Int64? {
        try await read { try await $0.record(JournalKey.text("turns", place), in: .checkpoint)?.order }
    }

    /// Notes for all processes that one of them has looked at a place.
    private func noteCorrection(of place: String, at time: Int64) async throws(JournalError) {
        try await write { transaction in
            let key = JournalKey.text("turns", place)
            let known = try await transaction.record(key, in: .checkpoint)
            var mark = known ?? JournalRecord(key: key)
            mark.order = time
            try await transaction.put(mark, over: known, in: .checkpoint)
        }
    }
}

/// When a journal last looked for turns that a clock has set which was ahead.
final class TurnCorrections: Sendable {
    /// From one look to the next, in milliseconds.
    static let interval: Int64 = 3_600_000
    private let times = Mutex<[String: Int64]>([:])

    /// True if the last look was an interval ago, or at a time that is still to come.
    static func isDue(_ last: Int64, at time: Int64) -> Bool { time < last || time - last >= interval }

    func isDue(_ place: String, at time: Int64) -> Bool {
        times.withLock { times in times[place].map { Self.isDue($0, at: time) } ?? true }
    }

    /// True if the last look was at a time that is still to come.
    func isAhead(_ place: String, of time: Int64) -> Bool {
        times.withLock { times in times[place].map { time < $0 } ?? false }
    }

    func note(_ place: String, at time: Int64) { times.withLock { $0[place] = time } }
}
