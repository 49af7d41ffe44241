import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

@Suite("A backfill that is broken off", .timeLimit(.minutes(5)))
struct BackfillResumeTests {
    /// Three pages, asked for by their positions; what fails is said in advance.
    private final class Pages: DeliveryHistory {
        let name = "pages"
        let provider: Provider = .apple
        let reach: Duration = .seconds(86_400 * 30)
        private let state: Mutex<(asked: [String?], windows: [Range<Date>], failures: [DeliveryError?])>

        private let entries: [DeliveryHistoryPage.Entry]

        /// - Parameter entries: those of each page.
        init(failing failures: [DeliveryError.Code?], with entries: [DeliveryHistoryPage.Entry] = []) {
            self.entries = entries
            state = Mutex(([], [], failures.map { $0.map { DeliveryError($0, "") } }))
        }

        var asked: [String?] { state.withLock { $0.asked } }
        /// The windows of the first pages.
        var windows: [Range<Date>] { state.withLock { $0.windows } }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            let failure = state.withLock { state in
                state.asked.append(position)
                if position == nil { state.windows.append(window) }
                return state.failures.isEmpty ? nil : state.failures.removeFirst()
            }
            if let failure { throw failure }
            let next: [String?: String] = [nil: "second", "second": "third"]
            return DeliveryHistoryPage(entries, next: next[position])
        }
    }

    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// Reads until it succeeds, as a host does that tries again later.
    private static func asked(failing failures: [DeliveryError.Code?], storage: TestedStorage) async throws -> [String?]
    {
        let folder = TemporaryFolder()
        let pages = Pages(failing: failures)
        let journal = Journal(try await storage.open(in: folder)[0], now: { now })
        for _ in 0..<8 {
            do {
                try await journal.backfill(from: pages, since: now - 86_400)
                return pages.asked
            } catch is DeliveryError {}
        }
        Issue.record("it never ended")
        return pages.asked
    }

    @Test(
        "goes on at the page where the provider could not be asked",
        arguments: TestedStorage.available,
        [DeliveryError.Code.unavailable, .denied, .malformed]
    )
    func trouble(storage: TestedStorage, code: DeliveryError.Code) async throws {
        let asked = try await Self.asked(failing: [nil, code, code, code], storage: storage)
        #expect(asked == [nil, "second", "second", "second", "second", "third"])
    }

    @Test(
        "counts what the webhook would have put into quarantine as unreadable",
        arguments: [Normalization.NoChange.Reason.needsLookup, .purchaseGone, .unchanged]
    )
    func undecided(reason: Normalization.NoChange.Reason) async throws {
        let pages = Pages(failing: [], with: [.init(nil, .success(Normalization(noChange: .init(reason))))])
        let report = try await Journal(MemoryJournal(), now: { Self.now }).backfill(from: pages, since: Self.now - 60)
        #expect(report.deliveries == 3)
        #expect(report.unreadable == (reason == .unchanged ? 0 : 3))
    }

    @Test(
        "passes over nothing of which the provider has not said enough, and for which there are no bytes to keep",
        arguments: [DeliveryError.Code.unavailable, .denied]
    )
    func unsaid(code: DeliveryError.Code) async throws {
        let pages = Pages(failing: [], with: [.init(nil, .failure(DeliveryError(code, "", isAuthentic: true)))])
        let journal = Journal(MemoryJournal(), now: { Self.now })
        for _ in 0..<2 {
            let error = await #expect(throws: DeliveryError.self) {
                try await journal.backfill(from: pages, since: Self.now - 60)
            }
            #expect(error?.code == code)
        }
        #expect(pages.asked == [nil, nil])
    }

    @Test("begins its window again where the provider refuses the position, once in each run")
    func refusedPosition() async throws {
        #expect(
            try await Self.asked(failing: [nil, .unavailable, .stale], storage: .memory)
                == [nil, "second", "second", nil, "second", "third"]
        )
        // Also in the middle of a run.
        #expect(
            try await Self.asked(failing: [nil, .stale], storage: .memory) == [nil, "second", nil, "second", "third"]
        )
        #expect(
            try await Self.asked(failing: [nil, .stale, nil, .stale], storage: .memory)
                == [nil, "second", nil, "second", "second", "third"]
        )
    }

    private static let day: TimeInterval = 86_400

    @Test("goes beyond a gap only once all purchases of the provider are to be asked about")
    func gap() async throws {
        var count = 0
        var isBrokenOff = true
        while isBrokenOff {
            // How many transactions there is room for.
            let left = Mutex(Int.max)
            let storage = MemoryJournal {
                left.withLock { left in
                    left -= 1
                    return left < 0 ? .full : nil
                }
            }
            let (time, pages) = (ManualTime(Self.now), Pages(failing: []))
            let journal = Journal(storage, now: { time.now })
            for id in ["1", "2"] {
                let lineage = SubscriptionID(store: .appStore, environment: .production, id: id)
                try await journal.apply(
                    ReconcileTests.statement(of: lineage, at: 0, from: 0, until: 90 * Self.day, transaction: "1")
                )
            }
            try await journal.backfill(from: pages, since: time.now)
            time.advance(40 * Self.day)
            left.withLock { $0 = count }
            isBrokenOff = (try? await journal.backfill(from: pages)) == nil
            left.withLock { $0 = .max }
            let report = try await journal.backfill(from: pages)
            #expect((report.gap != nil) == isBrokenOff)
            #expect(report.askedAgain == (isBrokenOff ? 2 : nil))
            #expect(try await journal.questions(at: time.now).map(\.kind) == ["requested", "requested"], "\(count)")
            count += 1
        }
        #expect(count > 4)
    }

    @Test(
        "after a clock that was ahead goes on from where it began, or where that is ahead as well, from now",
        arguments: [true, false]
    )
    func clockAhead(beganInTime: Bool) async throws {
        let time = ManualTime(Self.now - 20 * Self.day)
        let journal = Journal(MemoryJournal(), now: { time.now })
        let pages = Pages(failing: [])
        let began = time.now
        if beganInTime { try await journal.backfill(from: pages, since: began) }
        time.set(Self.now + 9 * Self.day)
        try await journal.backfill(from: pages)
        time.set(Self.now)
        let windows = pages.windows
        let report = try await journal.backfill(from: pages)
        #expect(report.through == Self.now && report.gap == nil)
        #expect(Array(pages.windows.dropFirst(windows.count)) == (beganInTime ? [began - 3600..<Self.now] : []))
        time.advance(3600)
        try await journal.backfill(from: pages)
        #expect(pages.windows.last == Self.now - 3600..<Self.now + 3600)
    }

    @Test("waits where a clock was ahead by no more than is read again", arguments: [2, 3600])
    func clockAheadInOverlap(ahead: TimeInterval) async throws {
        let time = ManualTime(Self.now - 20 * Self.day)
        let journal = Journal(MemoryJournal(), now: { time.now })
        let pages = Pages(failing: [])
        for date in [Self.now - 20 * Self.day, Self.now + ahead, Self.now, Self.now + ahead + 60] {
            time.set(date)
            try await journal.backfill(from: pages)
        }
        // The third asked for nothing, and the last reads what was sent since the second.
        #expect(pages.windows.count == 2)
        #expect(pages.windows.last == Self.now + ahead - 3600..<Self.now + ahead + 60)
    }

    @Test("begins a window again that a clock opened which was ahead")
    func windowAhead() async throws {
        let time = ManualTime(Self.now + 9 * Self.day)
        let journal = Journal(MemoryJournal(), now: { time.now })
        let pages = Pages(failing: [nil, .unavailable])
        let began = Self.now - Self.day
        await #expect(throws: DeliveryError.self) { try await journal.backfill(from: pages, since: began) }
        time.set(Self.now)
        #expect(try await journal.backfill(from: pages).through == Self.now)
        #expect(pages.asked == [nil, "second", nil, "second", "third"])
        #expect(pages.windows.last == began - 3600..<Self.now)
    }
}
