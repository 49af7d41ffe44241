import Foundation
import LifecycleJournal
import NormalizerTesting
import Synchronization
import Testing

@testable import Normalizer

@Suite("Purchases that a team had before it had a journal", .timeLimit(.minutes(5)))
struct ImportTests {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    let folder = TemporaryFolder()

    private static func lineage(_ index: Int) -> SubscriptionID {
        SubscriptionID(store: .appStore, environment: .production, id: "\(index)")
    }

    /// Knows the purchases with an even number, tells how each began, and is out of order at some of the questions.
    private final class Apple: LineageQuestions {
        let provider: Provider = .apple
        let pace: Duration = .milliseconds(20)
        private let state: Mutex<(asked: [SubscriptionID], failures: Set<Int>)>

        init(failingAt failures: Set<Int> = []) { state = Mutex(([], failures)) }
        var asked: [SubscriptionID] { state.withLock { $0.asked } }

        func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
            let isFailing = state.withLock { state in
                state.asked.append(question.names[0])
                return state.failures.remove(state.asked.count) != nil
            }
            if isFailing { throw DeliveryError(.unavailable, "") }
            let lineage = question.names[0]
            guard let number = Int(lineage.id), number % 2 == 0 else { return .unknown }
            if number == 10 { throw DeliveryError(.malformed, "") }
            let period = ServicePeriod(start: start, end: start.addingTimeInterval(86_400 * 30))
            return .stated([
                Normalization([
                    NormalizedEvent(
                        id: .periodBegan(lineage, transaction: "t\(number)", product: "pro"),
                        event: .started(.init(origin: .new, phase: .regular, period: period)),
                        provider: .apple,
                        store: .appStore,
                        environment: .production,
                        subscription: lineage,
                        occurredAt: start,
                        effectiveAt: start,
                        assertedAt: start,
                        receivedAt: question.askedAt,
                        facts: [.period(.init(period, product: "pro", phase: .regular, transaction: "t\(number)"))],
                        origin: Origin(
                            type: "test",
                            channel: .refetch,
                            evidence: Origin.Evidence(.tls),
                            digest: "",
                            mapper: "test"
                        )
                    )
                ])
            ])
        }
    }

    @Test(
        "are taken over silently, resumed where it was broken off, and what is missing is named",
        arguments: TestedStorage.available
    )
    func takingOver(storage: TestedStorage) async throws {
        let opened = try await storage.open(in: folder)
        let journal = Journal(opened[0], clock: TestClock(jumping: true), now: { Self.start })
        let list = ListedPurchases("old", (0..<120).map { LineageQuestion(Self.lineage($0), askedAt: .distantPast) })
        let apple = Apple(failingAt: [60, 75])
        var report: Journal.Import?
        for _ in 0..<3 where report == nil {
            do { report = try await journal.importPurchases(from: list, with: [apple]) } catch is DeliveryError {}
        }
        let done = try #require(report)
        #expect(done.purchases == 120)
        #expect(done.found == 59)
        #expect(done.isComplete)
        let odd: [SubscriptionID] = stride(from: 1, to: 120, by: 2).map { Self.lineage($0) }
        #expect(done.missing == odd)
        #expect(done.refused == [Self.lineage(10)])
        // The page that was broken off is read again, and no other.
        #expect(apple.asked.count == 145)
        for index in stride(from: 0, to: 120, by: 2) where index != 10 {
            #expect(try await journal.state(of: Self.lineage(index))?.access(at: Self.start).isGranted == true)
        }
        #expect(try await journal.outbox.next(1000, lease: .seconds(60)).isEmpty)
        #expect(try await journal.verify().findings == [])
        // The provider's later notification is known, and no news.
        guard case .stated(let again) = try await apple.ask(LineageQuestion(Self.lineage(2), askedAt: Self.start))
        else {
            Issue.record("unknown")
            return
        }
        for result in again { try await journal.apply(result) }
        #expect(try await journal.outbox.next(1000, lease: .seconds(60)).isEmpty)
        // It is done.
        #expect(try await journal.importPurchases(from: list, with: [Apple()]) == done)
    }
}
