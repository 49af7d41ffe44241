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

    /// How a purchase began, on a day of the import's.
    private static func beginning(
        of lineage: SubscriptionID,
        on day: Double = 0,
        at time: Date,
        by notification: String? = nil
    ) -> Normalization {
        let start = Self.start.addingTimeInterval(86_400 * day)
        let period = ServicePeriod(start: start, end: start.addingTimeInterval(86_400 * 30))
        let transaction = TransactionID("t\(lineage.id)")
        return Normalization([
            NormalizedEvent(
                id: .periodBegan(lineage, transaction: transaction, product: "pro"),
                event: .started(.init(origin: .new, phase: .regular, period: period)),
                provider: .apple,
                store: .appStore,
                environment: .production,
                subscription: lineage,
                occurredAt: start,
                effectiveAt: start,
                assertedAt: start,
                receivedAt: time,
                facts: [.period(.init(period, product: "pro", phase: .regular, transaction: transaction))],
                origin: .madeUp(notification: notification, channel: notification == nil ? .refetch : .webhook)
            )
        ])
    }

    /// Knows the purchases with an even number, tells how each began, and is out of order at some of the questions.
    private final class Apple: LineageQuestions {
        let provider: Provider = .apple
        let pace: Duration = .milliseconds(20)
        private let day: Double
        private let state: Mutex<(asked: [SubscriptionID], failures: Set<Int>)>

        /// - Parameter day: when the purchases were made.
        init(failingAt failures: Set<Int> = [], purchasesOn day: Double = 0) {
            state = Mutex(([], failures))
            self.day = day
        }

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
            return .stated([ImportTests.beginning(of: lineage, on: day, at: question.askedAt)])
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

    @Test("asks again about what was missing or refused, and about nothing else", arguments: TestedStorage.available)
    func again(storage: TestedStorage) async throws {
        let journal = Journal(
            try await storage.open(in: folder)[0],
            clock: TestClock(jumping: true),
            now: { Self.start }
        )
        let names = [2, 3, 10, 12].map { Self.lineage($0) }
        let list = ListedPurchases("old", names.map { LineageQuestion($0, askedAt: .distantPast) })
        let done = try await journal.importPurchases(from: list, with: [Apple()])
        #expect((done.found, done.missing, done.refused) == (2, [names[1]], [names[2]]))
        // It is broken off, too.
        let apple = Apple(failingAt: [2])
        await #expect(throws: DeliveryError.self) { try await journal.importPurchases(from: list, with: [apple]) }
        #expect(try await journal.importPurchases(from: list, with: [apple]) == done)
        #expect(apple.asked == [names[1], names[2], names[1], names[2]])
        // A list without a fault is done.
        let whole = ListedPurchases("whole", [LineageQuestion(names[0], askedAt: .distantPast)])
        for count in [1, 0] {
            let apple = Apple()
            #expect(try await journal.importPurchases(from: whole, with: [apple]).isComplete)
            #expect(apple.asked.count == count)
        }
    }

    /// In days, from the beginning of the import.
    @Test(
        "of before the import are no news, and those of meanwhile are once their notification comes",
        arguments: TestedStorage.available,
        [(-400, false), (-0.1, false), (-0.01, true), (0, true), (0.5, true)]
    )
    func meanwhile(storage: TestedStorage, purchase: (day: Double, isNews: Bool)) async throws {
        let journal = Journal(
            try await storage.open(in: folder)[0],
            clock: TestClock(jumping: true),
            now: { Self.start }
        )
        let lineage = Self.lineage(2)
        let list = ListedPurchases("old", [LineageQuestion(lineage, askedAt: .distantPast)])
        try await journal.importPurchases(from: list, with: [Apple(purchasesOn: purchase.day)])
        let imported = try await journal.events()
        #expect(imported.map(\.event.isNews) == [false])
        #expect(try await journal.outbox.next(9, lease: .seconds(60)).isEmpty)

        let notification = Self.beginning(of: lineage, on: purchase.day, at: Self.start, by: "n1")
        var news: [String] = []
        for _ in 0..<2 {
            try await journal.apply(notification)
            for item in try await journal.outbox.next(9, lease: .seconds(60)) {
                news.append(item.id)
                try await journal.outbox.done(item)
            }
        }
        #expect(news == (purchase.isNews ? notification.events.map(\.id.description) : []))
        // A reader of the feed that has passed the imported event gets it once more, as news.
        let position = try #require(imported.last).position
        let later = try await journal.events(after: position)
        #expect(later.map(\.event.isNews) == (purchase.isNews ? [true] : []))
        let whole = try await journal.events()
        #expect(whole.map(\.event.event.id) == imported.map(\.event.event.id))
        #expect(try await journal.verify().findings == [])
    }
}
