import Foundation
import LifecycleJournal
import Normalizer

/// Lets one process at a time do a kind of round, by a mark in the journal: several gateways on one database ask a provider as
/// often as one does.
struct RoundLease: Sendable {
    /// How long a mark holds unless it is renewed. The rounds of a process that was killed are taken over after this time.
    static let duration: TimeInterval = 120

    /// The end of the round before.
    struct Last: Sendable {
        /// When it ended; nil if there was none.
        var finished: Date?
        /// True if it left work, so that the next round follows at once.
        var leftWork = false
    }

    /// The outcome of an attempt at a round.
    enum Outcome: Equatable {
        case done(leftWork: Bool)
        /// Another process does the round.
        case busy
        /// The last round was less than an interval ago.
        case early
    }

    /// The mark, as the journal keeps it.
    private struct Mark: Codable {
        var holder: String
        @EventTime var until: Date
        @OptionalEventTime var finished: Date?
        var leftWork = false
    }

    private struct Lost: Error {}

    private let journal: Journal
    private let name: String
    private let now: @Sendable () -> Date
    private let holder = UUID().uuidString

    init(_ name: String, in journal: Journal, now: @escaping @Sendable () -> Date) {
        (self.journal, self.now) = (journal, now)
        self.name = Self.mark(name)
    }

    private static func mark(_ name: String) -> String { "gateway/\(name)" }

    /// When the last round of a kind ended; nil if there was none.
    static func lastRound(_ name: String, in journal: Journal) async throws(JournalError) -> Date? {
        let stored = try await journal.checkpoint(of: mark(name))
        return stored.flatMap { try? CanonicalJSON.value(Mark.self, from: Array($0.value.utf8)) }?.finished
    }

    /// Does a round if it is time, and if no other process does it.
    ///
    /// - Parameters:
    ///   - interval: the time from the end of a round to the next.
    ///   - isAtOnce: true to begin however long ago the last round was.
    ///   - round: the work; it returns true if it left some. It is cancelled if the mark is lost.
    /// - Throws: the error of `round`, and `JournalError`. The next attempt begins at once then.
    func run(
        every interval: Duration,
        atOnce isAtOnce: Bool = false,
        _ round: @escaping @Sendable (Last) async throws -> Bool
    ) async throws -> Outcome {
        let time = now()
        let stored = try await journal.checkpoint(of: name)
        // A mark that cannot be read is of another version, and holds no longer than one of this version would.
        let mark = stored.flatMap { try? CanonicalJSON.value(Mark.self, from: Array($0.value.utf8)) }
        if let mark {
            // A clock that was set back must not stop the rounds.
            let isHeld = mark.until > time && mark.until.timeIntervalSince(time) <= Self.duration
            if mark.holder != holder, isHeld { return .busy }
            let pause = Double(interval.components.seconds)
            if !isAtOnce, !mark.leftWork, let finished = mark.finished, finished <= time,
                time.timeIntervalSince(finished) < pause
            {
                return .early
            }
        }
        let last = Last(finished: mark?.finished, leftWork: mark?.leftWork ?? false)
        guard try await set(last, holdsFor: Self.duration, after: stored) else { return .busy }
        let leftWork: Bool
        do {
            leftWork = try await renewing(last) { try await round(last) }
        } catch {
            await release(last)
            throw error
        }
        await release(Last(finished: now(), leftWork: leftWork))
        return .done(leftWork: leftWork)
    }

    private func renewing(_ last: Last, _ round: @escaping @Sendable () async throws -> Bool) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await round() }
            group.addTask {
                while true {
                    try await Task.sleep(for: .seconds(Self.duration / 4))
                    guard try await change(last, holdsFor: Self.duration) else { throw Lost() }
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    /// Gives the mark back, also when the process is about to stop. Where that fails, it ends by itself.
    private func release(_ last: Last) async {
        await Task { _ = try? await cancelling(after: .seconds(5)) { try await change(last, holdsFor: 0) } }.value
    }

    /// Writes a mark that is still this process's.
    private func change(_ last: Last, holdsFor duration: TimeInterval) async throws -> Bool {
        let stored = try await journal.checkpoint(of: name)
        let mark = try stored.map { try CanonicalJSON.value(Mark.self, from: Array($0.value.utf8)) }
        guard mark?.holder == holder else { return false }
        return try await set(last, holdsFor: duration, after: stored)
    }

    private func set(_ last: Last, holdsFor duration: TimeInterval, after stored: Checkpoint?) async throws -> Bool {
        let mark = Mark(
            holder: holder,
            until: now().addingTimeInterval(duration),
            finished: last.finished,
            leftWork: last.leftWork
        )
        let text = String(decoding: try CanonicalJSON.bytes(mark), as: UTF8.self)
        return try await journal.setCheckpoint(text, of: name, after: stored)
    }
}
