public import FoundationEssentials
public import Normalizer

extension Journal {
    /// The progress of reading a provider's history.
    public struct Backfill: Hashable, Sendable, Codable {
        /// A time whose events the provider no longer remembers.
        public struct Gap: Hashable, Sendable, Codable {
            /// From when on nothing was read.
            @EventTime public var from: Date
            /// Until when.
            @EventTime public var until: Date
        }

        /// The history, by `DeliveryHistory.name`.
        public var history: String
        /// How many pages were read.
        public var pages = 0
        /// How many deliveries there were on them.
        public var deliveries = 0
        /// How many events were stored for the first time. Not each is news: a `duplicate` reports a known fact under another id.
        public var newEvents = 0
        /// How many deliveries could not be read, or were not proven. Those that the webhook would have brought into quarantine are
        /// there now.
        public var unreadable = 0
        /// A time whose deliveries the provider had forgotten before they were read.
        public var gap: Gap?
        /// How many purchases ``Journal/reconcile(with:replaying:limit:)`` asks about because of the gap: all of the provider's. Nil
        /// without a gap.
        public var askedAgain: Int?
        /// Until when the history is read.
        @EventTime public var through: Date
    }

    /// Progress in a provider's history: the end of the part that was read, and the window that is being read.
    private struct Progress: Codable {
        struct Window: Codable {
            @EventTime var from: Date
            @EventTime var until: Date
            var position: String?
            /// The events that the provider had already deleted when the window was opened. Stored, so that a killed
            /// process still reports them.
            var gap: Backfill.Gap?
        }

        /// From when on it was read; nil in a checkpoint that was written before this was kept.
        @OptionalEventTime var began: Date?
        @EventTime var through: Date
        var window: Window?
        /// The source that continues here, of those for which an earlier version had one place.
        var heir: String?

        init(from start: Date) { (began, through) = (start, start) }

        /// The progress, without what a clock has noted that was ahead by more than is read again; nil if none of it is left.
        ///
        /// How far was read then is not known. So all is read again since the beginning, if that was noted in time.
        ///
        /// - Parameter memory: from when on the provider remembers what it sent.
        func credible(until latest: Date, of memory: Date) -> Progress? {
            var progress = self
            if let window, window.until > latest { progress.window = nil }
            guard through > latest else { return progress }
            guard let began, began <= latest else { return nil }
            progress.through = max(began, memory)
            return progress
        }

        /// Begins again with an earlier time, so that what was sent since then is read.
        ///
        /// - Parameter memory: from when on the provider remembers what it sent.
        mutating func begin(with start: Date, of memory: Date) {
            guard began.map({ start < $0 }) ?? true else { return }
            // Without a known beginning, what the provider has forgotten may have been read.
            let from = began == nil ? max(start, memory) : start
            (began, through, window) = (start, min(from, through), nil)
        }
    }

    /// Reads the events that a provider has sent since the last backfill, and takes in those that are unknown.
    ///
    /// The journal stores its place after each page. A process that was killed continues there and reads one page twice
    /// at most. An event is news once, by webhook or by history. Two processes may read the same history: one of them
    /// ends with a `conflict`. The place is set beyond a gap only once all purchases of the provider are to be asked about, as
    /// by ``askAgain(about:)``.
    ///
    /// ```swift
    /// let report = try await journal.backfill(from: server.history(in: .production), since: launch)
    /// if let gap = report.gap { alert("nothing is known of \(gap.from) to \(gap.until)") }
    /// ```
    ///
    /// - Parameters:
    ///   - history: the provider's memory of its deliveries.
    ///   - source: the name of the adapter to read it with, if the host has several of one provider, as at ``receive(_:with:as:)``; by
    ///     default the provider. Each source has a place of its own. So name the source if two have a history of one name, as two
    ///     accounts of Stripe have, or one account's live and test mode.
    ///   - start: since when everything has to be read. If the history was read from a later time on, it is read once more from here,
    ///     so you may pass the same time at each call. Without it, a history that was never read begins with the first
    ///     notification that the source has of it: of its app or account, and of its environment. If there is none, it begins now, and
    ///     there is nothing to read: events from before your journal, or your app, are no news.
    ///   - overlap: how much is read again, for deliveries that the provider lists late. A place further ahead than that was noted by a
    ///     clock that was wrong, and does not count.
    ///   - report: is called after each page.
    /// - Throws: `DeliveryError` if the provider cannot be asked now, and ``JournalError``. Call it again: it continues
    ///   where it stopped. If the row of a purchase is `corrupt`, all other purchases are taken in, and the place is held.
    @discardableResult
    public func backfill(
        from history: some DeliveryHistory,
        as source: String? = nil,
        since start: Date? = nil,
        overlap: Duration = .seconds(3600),
        progress report: @Sendable (Backfill) -> Void = { _ in }
    ) async throws -> Backfill {
        let time = now()
        let name = Self.place("history/\(history.name)", of: source)
        var mark = try await checkpoint(of: name)
        let memory = time.addingTimeInterval(-Double(history.reach.milliseconds) / 1000)
        let latest = time.addingTimeInterval(Double(overlap.milliseconds) / 1000)
        let noted: Progress? =
            if let mark { try Self.progress(mark) } else { try await formerProgress(in: history, of: source) }
        let known = noted?.credible(until: latest, of: memory)
        var progress: Progress
        if let known {
            progress = known
            if let start { progress.begin(with: min(start, time), of: memory) }
        } else if let start {
            progress = Progress(from: min(start, time))
        } else {
            // The provider may remember less than the journal has. Time before its memory is no gap: webhooks came in it.
            let first = try await firstNotification(on: history, of: source).map { max($0, memory) }
            progress = Progress(from: min(first ?? time, time))
        }
        var result = Backfill(history: history.name, through: progress.through)
        func note() async throws {
            let text = String(decoding: try CanonicalJSON.bytes(progress), as: UTF8.self)
            guard try await setCheckpoint(text, of: name, after: mark) else {
                throw JournalError(.conflict, "another process reads the history \(history.name)")
            }
            mark = try await checkpoint(of: name)
            result.through = progress.through
            report(result)
        }
        if mark == nil || known == nil { try await note() }
        while progress.through < time {
            var window =
                progress.window
                ?? self.window(after: progress.through, overlap: overlap, within: history.reach)
            result.gap = window.gap ?? result.gap
            let begin = progress.through
            // A position may be too old for the provider, and the beginning of its window with it; then the window is opened again,
            // once in each run. Any other error says nothing about the position.
            var mayBeginAgain = true
            var held: JournalError?
            var isRead = false
            while !isRead {
                let page: DeliveryHistoryPage
                do {
                    page = try await history.page(of: window.from..<window.until, at: window.position)
                } catch {
                    guard error.code == .stale, mayBeginAgain, window.position != nil else { throw error }
                    window = self.window(after: begin, overlap: overlap, within: history.reach)
                    result.gap = window.gap ?? result.gap
                    mayBeginAgain = false
                    continue
                }
                for entry in page.entries {
                    do {
                        try await take(entry, of: source ?? history.provider.rawValue, history.provider, into: &result)
                    } catch let error as JournalError where error.code == .corrupt {
                        // A row of its own purchases cannot be read. It is read again until it can be, and the others are taken in.
                        held = error
                    }
                }
                result.pages += 1
                isRead = page.next == nil || page.next == window.position
                window.position = page.next
                progress.window = isRead ? nil : window
                if isRead { progress.through = max(window.until, progress.through) }
                guard held == nil else { continue }
                // Nothing else knows of the gap once the place is beyond it.
                if isRead, window.gap != nil { result.askedAgain = try await askAgain(about: history.provider) }
                try await note()
            }
            if let held {
                // The next run reads from here to its own time, so that what comes later is not held up, too.
                (progress.through, progress.window) = (begin, nil)
                try await note()
                throw held
            }
        }
        return result
    }

    /// When the provider first notified the journal of something that is on a history; nil if it never did.
    ///
    /// - Parameter source: the source that was notified; nil for any. An event of an earlier version names none, and may be of each.
    private func firstNotification(
        on history: some DeliveryHistory,
        of source: String?
    ) async throws(JournalError) -> Date? {
        var position: Int64 = 0
        while true {
            let page = try await feed(after: position, limit: 500)
            let times = page.filter { source == nil || $0.source == nil || $0.source == source }.map(
                \.event.event.event
            )
            .filter { history.lists($0) && $0.origin.isNotified }.map(\.occurredAt)
            if let first = times.min() { return first }
            guard let last = page.last else { return nil }
            position = last.event.position
        }
    }

    /// The name of the checkpoint with a source's place in a history or a list.
    static func place(_ name: String, of source: String?) -> String { source.map { "\($0)/\(name)" } ?? name }

    /// The place that an earlier version kept for all sources of a history. It is the first one's that comes for it: that one was
    /// the first to be read at that time, too, and the others were read only from there on. So they begin as if they were new.
    private func formerProgress(in history: some DeliveryHistory, of source: String?) async throws -> Progress? {
        let name = Self.place("history/\(history.name)", of: nil)
        guard let source, let mark = try await checkpoint(of: name) else { return nil }
        var progress = try Self.progress(mark)
        if progress.heir == nil {
            progress.heir = source
            let text = String(decoding: try CanonicalJSON.bytes(progress), as: UTF8.self)
            guard try await setCheckpoint(text, of: name, after: mark) else {
                throw JournalError(.conflict, "another process reads the history \(history.name)")
            }
        }
        return progress.heir == source ? progress : nil
    }

    private static func progress(_ mark: Checkpoint) throws -> Progress {
        do {
            return try CanonicalJSON.value(from: Array(mark.value.utf8))
        } catch {
            throw JournalError(.corrupt, "the checkpoint \(mark.source) cannot be read", underlying: error)
        }
    }

    private func window(
        after through: Date,
        overlap: Duration,
        within reach: Duration
    ) -> Progress.Window {
        let time = now()
        let earliest = time.addingTimeInterval(-Double(reach.milliseconds) / 1000)
        let gap = through < earliest ? Backfill.Gap(from: through, until: earliest) : nil
        let start = through.addingTimeInterval(-Double(overlap.milliseconds) / 1000)
        // A window has a length, even if the clock was set back.
        let from = min(max(start, earliest), time.addingTimeInterval(-1))
        return .init(from: from, until: time, position: nil, gap: gap)
    }

    private func take(
        _ entry: DeliveryHistoryPage.Entry,
        of source: String,
        _ provider: Provider,
        into result: inout Backfill
    ) async throws {
        result.deliveries += 1
        let answer: Acknowledgement
        if let delivery = entry.delivery {
            let tried = TriedDelivery(delivery: delivery, source: source, outcome: entry.outcome)
            let settled = await settle(tried, for: provider)
            result.newEvents += settled.update.newEvents.count
            if let failure = settled.failure { throw failure }
            answer = settled.answer
        } else {
            // There are no bytes to keep: an entry that the webhook would have put into quarantine is only counted. One that the provider
            // refused to say more of is read again once it may be read.
            if let failure = entry.outcome.failure, DeliveryError.Code.sayingNothing.contains(failure.code) {
                throw failure
            }
            answer = Acknowledgement(for: entry.outcome, provider: provider)
            if case .success(let normalization) = entry.outcome {
                let time = now()
                result.newEvents += try await write { try await apply(normalization, from: source, in: $0, at: time) }
                    .newEvents.count
            }
        }
        switch answer.decision {
        case .accept: break
        case .retryLater: if let failure = entry.outcome.failure { throw failure }
        default: result.unreadable += 1
        }
    }
}
