import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Synchronization
import Testing

@Suite("A row that was edited by hand", .timeLimit(.minutes(5)))
struct EditedRowTests {
    /// A journal in which the row of one customer's purchase was edited by hand.
    private struct EditedRow {
        let (one, other): (StripeLife, StripeLife)
        let time = ManualTime(StripeLife.start)
        let journal: Journal
        private let storage = MemoryJournal()
        private let stored: [JournalRecord]

        init() async throws {
            (one, other) = (try StripeLife(), try StripeLife(seed: "other"))
            let time = time
            var options = Journal.Options()
            options.maximumAttempts = 3
            journal = Journal(storage, options: options, clock: TestClock(jumping: true), now: { time.now })
            #expect(await journal.receive(one.deliveries[0], with: one.adapter).status == 200)
            stored = try await storage.read { try await $0.records(JournalSelection(limit: 9), in: .state) }
            try await edit { _ in Array("{".utf8) }
        }

        func mend() async throws { try await edit { $0.body } }

        /// Edits the questions about the purchases, too.
        func editQuestions() async throws {
            try await storage.write { transaction in
                for var record in try await transaction.records(JournalSelection(limit: 9), in: .due) {
                    record.detail = Array("{".utf8)
                    #expect(try await transaction.update(record, in: .due))
                }
            }
        }

        private func edit(_ body: @escaping @Sendable (JournalRecord) -> [UInt8]) async throws {
            let stored = stored
            try await storage.write { transaction in
                for record in stored {
                    var edited = try #require(try await transaction.record(record.key, in: .state))
                    edited.body = body(record)
                    _ = try await transaction.update(edited, in: .state)
                }
            }
        }

        func expectStates(of life: StripeLife) async throws {
            for state in try await life.ledger().states {
                #expect(try await journal.state(of: state.subscription) == state)
            }
        }
    }

    @Test("holds up its own purchase alone, whose deliveries end in quarantine")
    func starvation() async throws {
        let edited = try await EditedRow()
        let (one, other, journal) = (edited.one, edited.other, edited.journal)
        let adapters = ["one": one.adapter, "other": other.adapter]
        for (first, second) in zip(one.deliveries, other.deliveries) {
            #expect(await journal.accept(first, with: one.adapter, as: "one").status == 200)
            #expect(await journal.accept(second, with: other.adapter, as: "other").status == 200)
        }
        try #require(one.deliveries.count == other.deliveries.count)
        while try await journal.work(with: adapters) > 0 {}
        try await edited.expectStates(of: other)
        let waiting = try await journal.waitingDeliveries(upTo: 99)
        #expect(waiting > 0 && waiting < one.deliveries.count)
        for _ in 0..<2 {
            edited.time.advance(3600)
            while try await journal.work(with: adapters) > 0 {}
        }
        let quarantined = try await journal.quarantine.list()
        #expect(quarantined.count == waiting)
        #expect(quarantined.allSatisfy { $0.reason.hasPrefix("unavailable: not kept: corrupt") })
        // It heals by itself once the row can be read.
        try await edited.mend()
        #expect(try await journal.reconcile(with: [], replaying: adapters).replayed == waiting)
        try await edited.expectStates(of: one)
    }

    /// A page of deliveries for each of two lives, as a provider that signs them again lists them, or one that does not.
    private final class Listed: DeliveryHistory {
        let name = "listed"
        let provider: Provider = .stripe
        let reach: Duration = .seconds(86_400 * 4000)
        private let pages: [[DeliveryHistoryPage.Entry]]
        private let state = Mutex((windows: [Range<Date>](), failsAtEnd: false))

        init(_ one: StripeLife, _ other: StripeLife, isSigned: Bool) async throws {
            var pages: [[DeliveryHistoryPage.Entry]] = []
            for life in [one, other] {
                var entries: [DeliveryHistoryPage.Entry] = []
                for delivery in life.deliveries {
                    entries.append(.init(isSigned ? delivery : nil, .success(try await life.adapter.receive(delivery))))
                }
                pages.append(entries)
            }
            self.pages = pages
        }

        /// The windows whose first pages were read.
        var windows: [Range<Date>] { state.withLock { $0.windows } }

        func fail(atEnd failsAtEnd: Bool) { state.withLock { $0.failsAtEnd = failsAtEnd } }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            let isFailing = state.withLock { state in
                if position == nil { state.windows.append(window) }
                return position != nil && state.failsAtEnd
            }
            if isFailing { throw DeliveryError(.unavailable, "no answer") }
            return DeliveryHistoryPage(position == nil ? pages[0] : pages[1], next: position == nil ? "second" : nil)
        }
    }

    @Test("holds the place in a history, and no other purchase", arguments: [true, false])
    func history(isSigned: Bool) async throws {
        let edited = try await EditedRow()
        let history = try await Listed(edited.one, edited.other, isSigned: isSigned)
        edited.time.advance(400 * 86_400)
        for _ in 0..<2 {
            let error = await #expect(throws: JournalError.self) {
                try await edited.journal.backfill(from: history, since: StripeLife.start)
            }
            #expect(error?.code == .corrupt)
            try await edited.expectStates(of: edited.other)
        }
        try await edited.mend()
        let report = try await edited.journal.backfill(from: history, since: StripeLife.start)
        #expect(report.through == edited.time.now && report.newEvents > 0)
        try await edited.expectStates(of: edited.one)
        #expect(try await edited.journal.quarantine.list().isEmpty)
    }

    @Test("holds the window of a history, which is read from its first page on up to the present")
    func window() async throws {
        let edited = try await EditedRow()
        let history = try await Listed(edited.one, edited.other, isSigned: true)
        edited.time.advance(400 * 86_400)
        history.fail(atEnd: true)
        await #expect(throws: DeliveryError.self) {
            try await edited.journal.backfill(from: history, since: StripeLife.start)
        }
        history.fail(atEnd: false)
        for _ in 0..<2 {
            edited.time.advance(3600)
            await #expect(throws: JournalError.self) {
                try await edited.journal.backfill(from: history, since: StripeLife.start)
            }
            #expect(history.windows.last == StripeLife.start - 3600..<edited.time.now)
        }
        try await edited.mend()
        edited.time.advance(3600)
        let report = try await edited.journal.backfill(from: history, since: StripeLife.start)
        #expect(history.windows.last == StripeLife.start - 3600..<edited.time.now)
        #expect(history.windows.count == 4)
        #expect(report.through == edited.time.now)
        try await edited.expectStates(of: edited.one)
    }

    @Test("holds up the questions about its own purchase alone")
    func questions() async throws {
        let edited = try await EditedRow()
        let (one, other, journal) = (edited.one, edited.other, edited.journal)
        #expect(await journal.receive(other.deliveries[0], with: other.adapter).status == 200)
        let held = try #require(try await one.adapter.receive(one.deliveries[0]).lineages.first)
        let free = try #require(try await other.adapter.receive(other.deliveries[0]).lineages.first)
        #expect(try await journal.askAgain(about: .stripe) == 2)
        let stripe = Answerer(.stripe)
        var expected = Journal.Reconciliation()
        (expected.asked, expected.settled, expected.unknown, expected.unreadable) = (1, 1, 1, ["question/\(held)"])
        #expect(try await journal.reconcile(with: [stripe]) == expected)
        #expect(stripe.asked.flatMap(\.names) == [free])
        try await edited.mend()
        edited.time.advance(300)
        #expect(try await journal.reconcile(with: [stripe]).settled == 1)
        #expect(stripe.asked.flatMap(\.names) == [free, held])
    }

    @Test("is mended from the log, with the question about its purchase", arguments: [false, true])
    func rebuild(isQuestionEdited: Bool) async throws {
        let edited = try await EditedRow()
        let (one, journal) = (edited.one, edited.journal)
        let lineage = try #require(try await one.adapter.receive(one.deliveries[0]).lineages.first)
        if isQuestionEdited { try await edited.editQuestions() }
        let differing = try await journal.rebuild().differing
        #expect(differing == [lineage])
        await #expect(throws: JournalError.self) { try await journal.state(of: lineage) }
        #expect(try await journal.rebuild(repairing: true).differing == differing)
        #expect(try await journal.rebuild().differing == [])
        edited.time.advance(400 * 86_400)
        let stripe = Answerer(.stripe)
        #expect(try await journal.reconcile(with: [stripe]).unreadable == [])
        #expect(stripe.asked.flatMap(\.names) == [lineage])
        for delivery in one.deliveries { #expect(await journal.receive(delivery, with: one.adapter).status == 200) }
        try await edited.expectStates(of: one)
    }

    @Test("that is a question keeps no other purchase from being asked about again")
    func askAgain() async throws {
        let edited = try await EditedRow()
        let (other, journal) = (edited.other, edited.journal)
        try await edited.mend()
        try await edited.editQuestions()
        #expect(await journal.receive(other.deliveries[0], with: other.adapter).status == 200)
        #expect(try await journal.askAgain(about: .stripe) == 1)
        let free = try #require(try await other.adapter.receive(other.deliveries[0]).lineages.first)
        let questions = try await journal.questions(at: edited.time.now).filter { $0.kind == "requested" }
        #expect(questions.map(\.subscription) == [free])
    }

    @Test("that is a question holds up no other, and is reported")
    func question() async throws {
        let edited = try await EditedRow()
        let (one, other, journal) = (edited.one, edited.other, edited.journal)
        try await edited.mend()
        #expect(try await journal.askAgain(about: .stripe) == 1)
        try await edited.editQuestions()
        #expect(await journal.receive(other.deliveries[0], with: other.adapter).status == 200)
        let held = try #require(try await one.adapter.receive(one.deliveries[0]).lineages.first)
        edited.time.advance(4000 * 86_400)
        let report = try await journal.reconcile(with: [Answerer(.stripe)])
        #expect(report.asked == 1 && report.unreadable == ["question/\(held)"])
    }

    @Test("of a queue is passed over and reported, and the others are given out", arguments: [1, 16])
    func queues(limit: Int) async throws {
        let (life, storage, observer) = (try StripeLife(), MemoryJournal(), RecordingObserver())
        let now = StripeLife.start + 4000 * 86_400
        let journal = Journal(storage, observer: observer, now: { now })
        let unreadable: [(JournalTable, String)] = [
            (.delivery, "waiting"), (.delivery, "quarantined"), (.delivery, "kept"), (.event, "due"), (.event, "dead"),
            (.due, "due"),
            (.due, "question"),
        ]
        try await storage.write { transaction in
            for (table, group) in unreadable {
                for number in 1...3 {
                    let text = Array("{".utf8)
                    let row = JournalRecord(key: "\(group)\(number)", group: group, body: text, detail: text)
                    _ = try await transaction.insert(row, into: table)
                }
            }
        }
        var (news, duties) = ([EventID](), [String]())
        for delivery in life.deliveries {
            #expect(await journal.accept(delivery, with: life.adapter).status == 200)
        }
        var taken = 0
        while case let count = try await journal.work(with: ["stripe": life.adapter], limit: limit), count > 0 {
            taken += count
        }
        #expect(taken == life.deliveries.count)
        try await journal.apply(AnswersTests.required)
        let expected = try await journal.events(limit: 1000).filter(\.event.isNews).map(\.event.event.id)
        let oldest = try await journal.outbox.oldest()
        #expect(oldest?.value.event.id == expected.first)
        while case let items = try await journal.outbox.next(limit, lease: .seconds(60)), !items.isEmpty {
            for item in items { #expect(try await journal.outbox.done(item)) }
            news += items.map(\.value.event.id)
        }
        #expect(news.count == expected.count && Set(news) == Set(expected))
        let answers = try await journal.answer(with: [Store()])
        #expect(answers.answered + answers.abandoned == 1)
        try await journal.schedule(DueItem("call", id: "1", dueAt: now))
        while let item = try await journal.duties.next(lease: .seconds(60)).first {
            #expect(try await journal.duties.done(item))
            duties.append(item.id)
        }
        #expect(duties == ["1"])
        #expect(try await journal.prune(before: .distantPast) == 3)
        #expect(try await journal.outbox.oldest()?.id == nil)
        #expect(try await journal.outbox.abandoned(limit: limit).isEmpty)
        #expect(try await journal.quarantine.list(limit: limit).isEmpty)
        #expect(try await journal.questions(at: Date(timeIntervalSince1970: 1), limit: limit).isEmpty)
        #expect(try await journal.due(at: now).isEmpty)
        #expect(observer.unreadable == [.delivery, .event, .due])
    }

    @Test("holds up no question about another purchase of its customer")
    func questionsOfOneCustomer() async throws {
        let storage = MemoryJournal()
        let time = ManualTime(ReconcileTests.start)
        let journal = Journal(storage, clock: TestClock(jumping: true), now: { time.now })
        let unreadable = SubscriptionID(store: .playStore, environment: .production, id: "unreadable")
        for lineage in [ReconcileTests.lineage, unreadable] {
            let result = ReconcileTests.statement(
                of: lineage,
                at: 0,
                from: 0,
                until: 10 * ReconcileTests.day,
                transaction: "1"
            )
            try await journal.apply(result.claimed(by: Account("ada", .appUserID), at: time.now))
        }
        try await storage.write { transaction in
            let records = try await transaction.records(JournalSelection(limit: 9), in: .state)
            for var record in records where String(decoding: record.body, as: UTF8.self).contains("unreadable") {
                record.body = Array("{".utf8)
                #expect(try await transaction.update(record, in: .state))
            }
        }
        time.advance(11 * ReconcileTests.day)
        let apple = Answerer(.apple)
        _ = try? await journal.reconcile(with: [apple])
        #expect(apple.asked.flatMap(\.names) == [ReconcileTests.lineage])
    }
}
