import Foundation
import LifecycleJournal
import NormalizerTesting
import Synchronization
import Testing

@testable import Normalizer

/// A store that takes answers, or does not.
final class Store: OwedAnswers {
    private let state: Mutex<(answered: [OwedAnswer], failure: DeliveryError.Code?)>
    let isBusiness: Bool

    init(failing failure: DeliveryError.Code? = nil, isBusiness: Bool = true) {
        state = Mutex(([], failure))
        self.isBusiness = isBusiness
    }

    var answered: [OwedAnswer] { state.withLock { $0.answered } }
    func fail(_ failure: DeliveryError.Code?) { state.withLock { $0.failure = failure } }

    func isOwed(_ answer: OwedAnswer) -> Bool { isBusiness }

    func answer(_ owed: OwedAnswer) async throws(DeliveryError) {
        let failure = state.withLock { state in
            state.answered.append(owed)
            return state.failure
        }
        if let failure { throw DeliveryError(failure, "") }
    }
}

private final class Alarm: JournalObserver {
    private let stored = Mutex<(near: [DueItem], gaveUp: Int)>(([], 0))
    var near: [DueItem] { stored.withLock { $0.near } }
    var gaveUp: Int { stored.withLock { $0.gaveUp } }

    func observe(_ observation: JournalObservation) {
        stored.withLock { stored in
            switch observation {
            case .deadlineNear(let item): stored.near.append(item)
            case .gaveUp(.due): stored.gaveUp += 1
            default: break
            }
        }
    }
}

@Suite("A journal answers what stores wait for", .timeLimit(.minutes(5)))
struct AnswersTests {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    static let deadline = start.addingTimeInterval(3 * 86_400)
    static let lineage = SubscriptionID(store: .playStore, environment: .production, id: "0a1b")
    static let handle = PurchaseHandle(lineage, app: "app", kind: "subscription", token: "token")
    let folder = TemporaryFolder()
    let time = ManualTime(start)
    private let alarm = Alarm()

    static let required: Normalization = {
        let period = ServicePeriod(start: start, end: start.addingTimeInterval(86_400 * 30))
        var result = Normalization([
            NormalizedEvent(
                id: .notified(lineage, by: .google, notification: "n"),
                event: .acknowledgementRequired(.init(deadline: deadline)),
                provider: .google,
                store: .playStore,
                environment: .production,
                subscription: lineage,
                occurredAt: start,
                effectiveAt: start,
                assertedAt: start,
                receivedAt: start,
                facts: [.period(.init(period, product: "pro", phase: .regular, transaction: "1"))],
                origin: .madeUp()
            )
        ])
        result.handles = [handle]
        return result
    }()

    private func journal(_ storage: any JournalStorage = MemoryJournal()) async throws -> Journal {
        var options = Journal.Options()
        options.sealingKey = SecretBytes("a key")
        let time = time
        let journal = Journal(storage, options: options, observer: alarm, now: { time.now })
        try await journal.apply(Self.required)
        return journal
    }

    @Test("once, with what the store has to be asked with", arguments: TestedStorage.available)
    func answer(storage: TestedStorage) async throws {
        let storages = try await storage.open(in: folder)
        let journal = try await journal(storages[0])
        let store = Store()
        #expect(try await journal.answer(with: [Store(isBusiness: false), store]).answered == 1)
        #expect(store.answered.map(\.handle) == [Self.handle])
        #expect(store.answered.map(\.deadline) == [Self.deadline])
        #expect(store.answered.map(\.event.kind) == [.acknowledgementRequired])
        #expect(try await journal.answer(with: [store]) == Journal.Answers())
        #expect(try await journal.due(at: .distantFuture) == [])
    }

    @Test("until the deadline, with an alarm in its last third, and dismisses visibly what is too late")
    func deadline() async throws {
        let journal = try await journal()
        let store = Store(failing: .unavailable)
        var firstAlarm: Date?
        while time.now < Self.deadline.addingTimeInterval(3600) {
            _ = try await journal.answer(with: [store])
            if firstAlarm == nil, !alarm.near.isEmpty { firstAlarm = time.now }
            time.advance(600)
        }
        // Never longer than an hour apart.
        #expect(store.answered.count >= 72)
        let alarmed = try #require(firstAlarm)
        #expect(abs(alarmed.timeIntervalSince(Self.deadline.addingTimeInterval(-86_400))) <= 4200)
        #expect(alarm.gaveUp == 1)
        #expect(try await journal.duties.abandoned().map(\.value.kind) == [.acknowledgement])
        let id = try #require(try await journal.duties.abandoned().first?.id)
        #expect(try await journal.duties.abandoned(id: id)?.failure == "the deadline has passed")
        #expect(try await journal.answer(with: [store]) == Journal.Answers())
    }

    @Test("with an alarm also for what no one answers", arguments: [true, false])
    func unanswered(isOfEvent: Bool) async throws {
        let journal = try await journal()
        if !isOfEvent {
            for item in try await journal.duties.next(9, lease: .seconds(60)) { try await journal.duties.done(item) }
            #expect(try await journal.schedule(DueItem("call", id: "1", dueAt: Self.start, deadline: Self.deadline)))
        }
        for (seconds, alarms) in [(0, 0), (2 * 86_400.0 - 1, 0), (2, 1), (3600, 2)] {
            time.advance(seconds)
            #expect(try await journal.answer(with: [Store(isBusiness: false)]) == Journal.Answers())
            #expect(alarm.near.count == alarms)
        }
        // Until the host has done it, or has it.
        #expect(try await journal.duties.next(lease: .seconds(7200)).map(\.attempts) == [0])
        _ = try await journal.answer(with: [])
        #expect(alarm.near.map(\.deadline) == [Self.deadline, Self.deadline])
    }

    @Test("for no purchase that was erased", arguments: [LifecycleEvent.refundRequested(.init(transaction: "1")), nil])
    func erased(question: LifecycleEvent?) async throws {
        let journal = try await journal()
        if let question {
            var asked = Self.required
            asked.events[0].id = .notified(Self.lineage, by: .google, notification: "question")
            asked.events[0].event = question
            try await journal.apply(asked)
        }
        let ada = Account.Identifier("ada", .appUserID)
        try await journal.claim(Self.lineage, by: Account(ada.id, ada.source))
        #expect(try await !journal.due(at: .distantFuture).isEmpty)
        try await journal.erase(ada)
        #expect(try await journal.due(at: .distantFuture) == [])
    }

    @Test("no more where the store refuses, and again where it was out of order or rights were missing")
    func refusal() async throws {
        let journal = try await journal()
        let store = Store(failing: .denied)
        #expect(try await journal.answer(with: [store]).postponed == 1)
        time.advance(10)
        store.fail(.malformed)
        #expect(try await journal.answer(with: [store]).abandoned == 1)
        #expect(try await journal.duties.abandoned().count == 1)
    }

    @Test("about an order whose purchase the question does not name")
    func order() async throws {
        let time = time
        let journal = Journal(MemoryJournal(), observer: alarm, now: { time.now })
        try await journal.apply(
            Normalization([
                NormalizedEvent(
                    id: EventID(provider: .google, environment: .unknown, notification: "refund_review/GPA.1"),
                    event: .refundRequested(.init(transaction: "GPA.1", answerBy: Self.deadline)),
                    provider: .google,
                    store: .playStore,
                    environment: .unknown,
                    transaction: "GPA.1",
                    occurredAt: Self.start,
                    effectiveAt: Self.start,
                    assertedAt: Self.start,
                    receivedAt: Self.start,
                    facts: [],
                    origin: .madeUp()
                )
            ])
        )
        let store = Store()
        #expect(try await journal.answer(with: [store]).answered == 1)
        #expect(store.answered.map(\.event.transaction) == ["GPA.1"])
    }

    @Test("elsewhere, as the host reports")
    func elsewhere() async throws {
        let journal = try await journal()
        let id = try #require(try await journal.duties.waiting().first?.id)
        #expect(try await journal.duties.take(id: "acknowledgement/unknown")?.id == nil)
        let item = try #require(try await journal.duties.take(id: id))
        #expect(try await journal.duties.done(item))
        #expect(try await journal.duties.take(id: id)?.id == nil)
        #expect(try await journal.duties.abandoned(id: id)?.id == nil)
        #expect(try await journal.duties.waiting().isEmpty)
    }

    @Test("while each stays in the list, in its place, until it is done", arguments: TestedStorage.available)
    func listed(storage: TestedStorage) async throws {
        let journal = try await journal(try await storage.open(in: folder)[0])
        for (id, seconds) in [("last", 60.0), ("first", -60), ("future", 3600)] {
            #expect(try await journal.schedule(DueItem("call", id: id, dueAt: Self.start.addingTimeInterval(seconds))))
        }
        time.advance(60)
        let ids = ["first", "acknowledgement/\(Self.required.events[0].id)", "last"]
        func listed(after id: String? = nil) async throws -> [String] {
            try await journal.due(at: time.now, after: id).map(\.id)
        }
        #expect(try await listed() == ids)
        let asked = Store(failing: .unavailable)
        #expect(try await journal.answer(with: [asked]).postponed == 1)
        #expect(try await listed() == ids, "it is postponed")
        #expect(try await listed(after: ids[1]) == ["last"], "a page begins after it all the same")
        let leased = try await journal.duties.next(2, lease: .seconds(60))
        #expect(leased.map(\.id) == ["first", "last"])
        #expect(try await listed() == ids, "a worker has them")
        for item in leased { try await journal.duties.done(item) }
        #expect(try await listed() == [ids[1]])
    }

    @Test("and news has an oldest piece, however late it is tried again", arguments: TestedStorage.available)
    func oldest(storage: TestedStorage) async throws {
        let journal = try await journal(try await storage.open(in: folder)[0])
        let first = try #require(try await journal.outbox.next(lease: .seconds(60)).first)
        try await journal.outbox.failed(first, because: "refused", retryAt: time.now.addingTimeInterval(3600))
        var other = Self.required
        other.events[0].id = .notified(Self.lineage, by: .google, notification: "other")
        try await journal.apply(other)
        #expect(try await journal.outbox.waiting(limit: 1).first?.id == other.events[0].id.description)
        #expect(try await journal.outbox.oldest()?.id == first.id)
        for id in [first.id, other.events[0].id.description] {
            let item = try #require(try await journal.outbox.take(id: id))
            #expect(try await journal.outbox.oldest()?.id == id)
            try await journal.outbox.done(item)
        }
        #expect(try await journal.outbox.oldest()?.id == nil)
    }

    @Test("nothing that is no one's business: that is the host's")
    func business() async throws {
        let journal = try await journal()
        #expect(try await journal.answer(with: [Store(isBusiness: false)]) == Journal.Answers())
        #expect(try await journal.duties.next(lease: .seconds(60)).map(\.attempts) == [0])
    }
}
