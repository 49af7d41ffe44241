import Foundation
import LifecycleJournal
import NormalizerTesting
import Synchronization
import Testing

@Suite("A backfill that is broken off", .timeLimit(.minutes(5)))
struct BackfillResumeTests {
    /// Three empty pages, asked for by their positions; what fails is said in advance.
    private final class Pages: DeliveryHistory {
        let name = "pages"
        let provider: Provider = .apple
        let reach: Duration = .seconds(86_400 * 30)
        private let state: Mutex<(asked: [String?], failures: [DeliveryError?])>

        init(failing failures: [DeliveryError.Code?]) {
            state = Mutex(([], failures.map { $0.map { DeliveryError($0, "") } }))
        }

        var asked: [String?] { state.withLock { $0.asked } }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            let failure = state.withLock { state in
                state.asked.append(position)
                return state.failures.isEmpty ? nil : state.failures.removeFirst()
            }
            if let failure { throw failure }
            let next: [String?: String] = [nil: "second", "second": "third"]
            return DeliveryHistoryPage([], next: next[position])
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
}
