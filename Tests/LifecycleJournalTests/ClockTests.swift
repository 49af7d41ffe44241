import Foundation
import LifecycleJournal
import NormalizerTesting
import Stripe
import Synchronization
import Testing

@testable import Normalizer

/// Each test begins at a time that is wrong, and goes on at the right one.
@Suite("A clock that was ahead for a while", .timeLimit(.minutes(5)))
struct ClockTests {
    private static let ahead: TimeInterval = 20 * 86_400
    private static let right = StripeLife.start
    private let time = ManualTime(right + ahead)
    private let storage = MemoryJournal()

    private func journal() -> Journal {
        let time = time
        return Journal(storage, clock: TestClock(jumping: true), now: { time.now })
    }

    /// A journal with one piece of news.
    private func told() async throws -> Journal {
        let journal = journal()
        var result = AnswersTests.required
        result.events[0].receivedAt = time.now
        try await journal.apply(result)
        return journal
    }

    enum Turn: CaseIterable { case first, leased, failed }

    /// The seconds from the right time until an item is given out; nil if it takes longer than an hour.
    private func wait<Value>(for queue: JournalQueue<Value>) async throws -> TimeInterval? {
        while time.now <= Self.right + 3600 {
            if try await !queue.next(lease: .seconds(60)).isEmpty { return time.now.timeIntervalSince(Self.right) }
            time.advance(1)
        }
        return nil
    }

    @Test("holds news up for the delay that it had then", arguments: Turn.allCases, [true, false])
    func news(turn: Turn, isDuty: Bool) async throws {
        func test<Value>(_ queue: JournalQueue<Value>) async throws {
            if turn != .first {
                let item = try #require(try await queue.next(lease: .seconds(60)).first)
                if turn == .failed { try await queue.failed(item, because: "refused") }
            }
            time.set(Self.right)
            let waited = try #require(try await wait(for: queue))
            let expected: TimeInterval = turn == .first ? 0 : turn == .leased ? 60 : 5
            #expect((expected...expected + 1).contains(waited))
        }
        let journal = try await told()
        if isDuty { try await test(journal.duties) } else { try await test(journal.outbox) }
    }

    @Test("does not end a lease early, nor a time that the host has chosen")
    func chosen() async throws {
        let journal = try await told()
        time.set(Self.right + Self.ahead + 1)
        let leased = try #require(try await journal.outbox.next(lease: .seconds(86_400)).first)
        let duty = try #require(try await journal.duties.next(lease: .seconds(60)).first)
        let monday = time.now + 3 * 86_400
        #expect(try await journal.duties.failed(duty, because: "closed", retryAt: monday))
        #expect(try await journal.schedule(DueItem("call", id: "1", dueAt: monday)))
        #expect(try await journal.schedule(DueItem("call", id: "2", event: leased.value.event.id, dueAt: monday)))
        // The clock of this host is half an hour behind that of the other.
        time.advance(-1800)
        for _ in 0..<10 {
            #expect(try await journal.outbox.next(lease: .seconds(60)).isEmpty)
            #expect(try await journal.duties.next(lease: .seconds(60)).isEmpty)
            time.advance(3600)
        }
        #expect(try await journal.outbox.done(leased))
        time.set(monday)
        #expect(try await journal.duties.next(9, lease: .seconds(60)).count == 3)
    }

    @Test("holds a delivery up for the delay that it had then", arguments: Turn.allCases)
    func deliveries(turn: Turn) async throws {
        let life = try StripeLife()
        let journal = journal()
        #expect(await journal.accept(life.deliveries[0], with: life.adapter).status == 200)
        let adapter = UnreachableAdapter(adapter: life.adapter)
        if turn != .first { #expect(try await journal.work(with: ["stripe": adapter]) == 1) }
        time.set(Self.right)
        while time.now <= Self.right + 3600, try await journal.work(with: ["stripe": life.adapter]) == 0 {
            time.advance(1)
        }
        let expected: TimeInterval = turn == .first ? 0 : 5
        #expect((expected...expected + 1).contains(time.now.timeIntervalSince(Self.right)))
        #expect(try await !journal.events().isEmpty)
    }

    enum Question: CaseIterable { case requested, unreachable, unsettled }

    @Test(
        "holds a question up for the delay that it had then, and leaves the time that the store gives",
        arguments: Question.allCases,
        [false, true]
    )
    func questions(question: Question, isFormer: Bool) async throws {
        let journal = journal()
        let day = ReconcileTests.day
        let statement = ReconcileTests.statement(at: -40 * day, from: -40 * day, until: -10 * day, transaction: "1")
        try await journal.apply(statement)
        let apple = Answerer(.apple)
        if question == .requested { try await journal.askAgain(about: .apple) }
        if question == .unreachable { apple.answer(.failure(DeliveryError(.unavailable, ""))) }
        if question != .requested { try await journal.reconcile(with: [apple]) }
        let later = SubscriptionID(store: .appStore, environment: .production, id: "2000")
        try await journal.apply(ReconcileTests.statement(of: later, at: 0, from: 0, until: 60 * day, transaction: "2"))
        if isFormer { try await forgetTimesOfTurns() }
        time.set(Self.right)
        apple.answer(.success(.unknown))
        let asked = apple.asked.count
        if question == .unsettled {
            #expect(try await journal.reconcile(with: [apple]).asked == 0)
            time.advance(3599)
            #expect(try await journal.reconcile(with: [apple]).asked == 0)
            time.advance(1)
        }
        #expect(try await journal.reconcile(with: [apple]).asked == 1)
        #expect(apple.asked.dropFirst(asked).map(\.names) == [[ReconcileTests.lineage]])
    }

    /// Leaves the questions as version 0.13 wrote them.
    private func forgetTimesOfTurns() async throws {
        try await storage.write { transaction in
            for var record in try await transaction.records(JournalSelection(limit: 9), in: .due) {
                var detail = try #require(try JSONSerialization.jsonObject(with: Data(record.detail)) as? [String: Any])
                detail["turnSetAt"] = nil
                record.detail = Array(try JSONSerialization.data(withJSONObject: detail))
                #expect(try await transaction.update(record, in: .due))
            }
        }
    }

    @Test("uses up no question that is not due yet at the right time", arguments: [false, true])
    func earlyQuestion(isFormer: Bool) async throws {
        let journal = journal()
        let day = ReconcileTests.day
        try await journal.apply(ReconcileTests.statement(at: 0, from: 0, until: 10 * day, transaction: "1"))
        let apple = Answerer(.apple)
        #expect(try await journal.reconcile(with: [apple]).asked == 1)
        if isFormer { try await forgetTimesOfTurns() }
        time.set(Self.right)
        while time.now < Self.right + 10 * day {
            #expect(try await journal.reconcile(with: [apple]).asked == 0)
            time.advance(3600)
        }
        time.advance(2 * 3600)
        for _ in 0..<8 {
            #expect(try await journal.reconcile(with: [apple]).asked == 1)
            time.advance(10 * day)
        }
    }

    @Test("is looked after once an hour by all processes together")
    func processes() async throws {
        let storage = Counting()
        let time = time
        for number in 0..<100 {
            try await Journal(storage, now: { time.now }).schedule(
                DueItem("call", id: "\(number)", dueAt: Self.right + 300 * 86_400)
            )
        }
        for (pause, rows) in [(0, 100), (1800, 100), (1800, 200), (60, 200), (3540, 300), (-7200, 400)]
            as [(TimeInterval, Int)]
        {
            time.advance(pause)
            for _ in 0..<3 { _ = try await Journal(storage, now: { time.now }).duties.next(lease: .seconds(60)) }
            #expect(storage.rows.withLock { $0 } == rows)
        }
    }

    @Test("is looked after by the process whose clock it was, also if another has looked within the hour")
    func setBack() async throws {
        let right = Journal(storage, now: { Self.right })
        let journal = journal()
        for process in [journal, right] { _ = try await process.outbox.next(lease: .seconds(60)) }
        var result = AnswersTests.required
        result.events[0].receivedAt = time.now
        try await journal.apply(result)
        time.set(Self.right + 60)
        #expect(try await wait(for: journal.outbox).map { $0 < 65 } == true)
    }

    @Test("is looked after again if the look failed, or its note", arguments: [1, 2])
    func failed(write: Int) async throws {
        let left = Mutex(0)
        let time = time
        let storage = MemoryJournal {
            left.withLock { left in
                left -= 1
                return left == 0 ? .full : nil
            }
        }
        let journal = Journal(storage, clock: TestClock(jumping: true), now: { time.now })
        var result = AnswersTests.required
        result.events[0].receivedAt = time.now
        try await journal.apply(result)
        time.set(Self.right)
        left.withLock { $0 = write }
        await #expect(throws: JournalError.self) { try await journal.outbox.next(lease: .seconds(60)) }
        #expect(try await wait(for: journal.outbox).map { $0 < 5 } == true)
    }

    /// Counts its reading transactions, and the rows that they read in selections.
    private final class Counting: JournalStorage {
        struct Transaction: JournalTransaction {
            let transaction: any JournalTransaction
            let storage: Counting

            func record(_ key: String, in table: JournalTable) async throws -> JournalRecord? {
                try await transaction.record(key, in: table)
            }

            func records(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord] {
                let records = try await transaction.records(selection, in: table)
                storage.rows.withLock { $0 += records.count }
                return records
            }

            func insert(_ record: JournalRecord, into table: JournalTable) async throws -> Bool { false }
            func update(_ record: JournalRecord, in table: JournalTable) async throws -> Bool { false }
            func delete(_ record: JournalRecord, from table: JournalTable) async throws -> Bool { false }
        }

        let storage = MemoryJournal()
        let reads = Mutex(0)
        let rows = Mutex(0)

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
        ) async throws -> Value { try await storage.write(body) }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
        ) async throws -> Value {
            reads.withLock { $0 += 1 }
            return try await storage.read { try await body(Transaction(transaction: $0, storage: self)) }
        }
    }

    @Test("is looked after once an hour, and when it was set back")
    func interval() async throws {
        let storage = Counting()
        let time = time
        let journal = Journal(storage, now: { time.now })
        for (pause, reads) in [(0, 2), (3599, 2), (1, 4), (-1, 5), (3599, 5)] as [(TimeInterval, Int)] {
            time.advance(pause)
            for _ in 0..<3 { _ = try await journal.outbox.next(lease: .seconds(60)) }
            #expect(storage.reads.withLock { $0 } == reads)
        }
    }

    @Test("holds up no answer to a store")
    func answers() async throws {
        let journal = try await told()
        time.set(Self.right)
        let store = Store()
        _ = try await journal.answer(with: [store])
        #expect(try await journal.answer(with: [store]).answered + store.answered.count > 0)
        #expect(store.answered.count == 1)
    }

    /// Takes no delivery that was received more than a day after its first time.
    private struct Punctual: ProviderAdapter {
        typealias Notification = StripeNotification
        typealias Resolved = StripeNotification
        let adapter: StripeAdapter
        var provider: Provider { adapter.provider }

        func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification> {
            guard delivery.receivedAt < ClockTests.right + 86_400 else {
                throw DeliveryError(.stale, "or this host's clock is wrong", isAuthentic: true)
            }
            return try adapter.authenticate(delivery)
        }

        func normalize(_ resolved: Authenticated<Resolved>) throws(DeliveryError) -> Normalization {
            try adapter.normalize(resolved)
        }
    }

    @Test("keeps no delivery in quarantine that seemed old")
    func stale() async throws {
        let life = try StripeLife()
        let journal = journal()
        var delivery = life.deliveries[0]
        delivery.receivedAt = time.now
        let adapter = Punctual(adapter: life.adapter)
        #expect(await journal.receive(delivery, with: adapter).decision == .acceptAndQuarantine)
        time.set(Self.right)
        let entry = try #require(try await journal.quarantine.list().first)
        #expect(await journal.quarantine.replay(entry, with: adapter).decision == .accept)
        #expect(try await journal.events().allSatisfy { $0.event.event.receivedAt == Self.right })
    }
}
