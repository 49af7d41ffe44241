import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

@Suite("The place in a provider's history", .timeLimit(.minutes(5)))
struct BackfillPlaceTests {
    /// A history without entries, which notes for which times it is asked.
    private final class Quiet: DeliveryHistory {
        let name = "stripe"
        let provider: Provider = .stripe
        let reach: Duration = .seconds(86_400 * 30)
        private let windows = Mutex<[Range<Date>]>([])

        /// The windows that were read, in days since the start.
        var days: [ClosedRange<Double>] {
            windows.withLock { windows in
                windows.map { window in
                    let day = { (date: Date) in date.timeIntervalSince(start) / 86_400 }
                    return day(window.lowerBound)...day(window.upperBound)
                }
            }
        }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            windows.withLock { $0.append(window) }
            return DeliveryHistoryPage([])
        }
    }

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let time = ManualTime(Self.start)

    private func journal(_ storage: TestedStorage, _ folder: TemporaryFolder) async throws -> Journal {
        Journal(try await storage.open(in: folder)[0], now: { time.now })
    }

    private func set(day: Int) { time.set(Self.start.addingTimeInterval(Double(day) * 86_400)) }

    @Test("is each source's own, also for histories of one name", arguments: TestedStorage.available)
    func sources(storage: TestedStorage) async throws {
        let folder = TemporaryFolder()
        let journal = try await journal(storage, folder)
        let histories = ["shop": Quiet(), "shop2": Quiet()]
        // The second one's provider could not be asked for four days.
        for (day, read) in [(1, ["shop", "shop2"]), (3, ["shop"]), (5, ["shop", "shop2"])] {
            set(day: day)
            for source in read {
                let history = try #require(histories[source])
                try await journal.backfill(from: history, as: source, since: Self.start, overlap: .zero)
            }
        }
        #expect(histories["shop"]?.days == [0...1, 1...3, 3...5])
        #expect(histories["shop2"]?.days == [0...1, 1...5])
    }

    @Test("of an earlier version, which all sources shared, is that of the first source that comes for it")
    func earlierPlace() async throws {
        let storage = MemoryJournal()
        let journal = Journal(storage, now: { time.now })
        set(day: 2)
        let first = NormalizedEvent(
            id: EventID(provider: .stripe, environment: .production, notification: "evt_1"),
            event: .notice(.init(.test)),
            provider: .stripe,
            store: .stripe,
            environment: .production,
            occurredAt: time.now,
            effectiveAt: time.now,
            assertedAt: time.now,
            receivedAt: time.now,
            origin: .madeUp(notification: "evt_1")
        )
        try await journal.apply(Normalization([first]))
        let mark = #"{"began":"2027-01-15T08:00:00.000Z","through":"2027-01-20T08:00:00.000Z"}"#
        #expect(try await journal.setCheckpoint(mark, of: "history/stripe", after: nil))
        let (shop, other) = (Quiet(), Quiet())
        for day in [6, 7] {
            set(day: day)
            try await journal.backfill(from: shop, as: "shop", overlap: .zero)
            try await journal.backfill(from: other, as: "shop2", overlap: .zero)
        }
        #expect(shop.days == [5...6, 6...7])
        // The other one was read for a part of the time at the most.
        #expect(other.days == [2...6, 6...7])
        // An earlier version still reads it.
        let former = try #require(try await journal.checkpoint(of: "history/stripe"))
        #expect(former.value.contains(#""through":"2027-01-20T08:00:00.000Z""#))
    }
}
