import Foundation
import LifecycleJournal
import NormalizerTesting
@testable import SQLiteJournal
import Testing

extension EditedRowTests {
    /// A journal with a life, whose second event cannot be read by its row in a table.
    private func edited(
        _ table: JournalTable,
        _ observer: RecordingObserver,
        into text: String = "{"
    ) async throws -> (journal: Journal, events: [Journal.FeedEvent], edited: Journal.FeedEvent, row: Int64) {
        let (life, storage) = (try StripeLife(), MemoryJournal())
        let journal = Journal(storage, observer: observer, now: { StripeLife.start })
        for delivery in life.deliveries { #expect(await journal.receive(delivery, with: life.adapter).status == 200) }
        let events = try await journal.events(limit: 1000)
        let edited = try #require(events.dropFirst().first)
        let number = try await storage.write { transaction in
            let rows = try await transaction.records(JournalSelection(limit: 1000), in: table)
            var row = try #require(
                rows.first { table == .log ? $0.order == edited.position : $0.key == "\(edited.event.event.id)" }
            )
            row.body = Array(text.utf8)
            #expect(try await transaction.update(row, in: table))
            return row.number
        }
        return (journal, events, edited, number)
    }

    @Test(
        "of the log or of an event is passed over by the feed, and reported",
        arguments: [JournalTable.log, .event],
        [1, 2, 1000]
    )
    func feed(table: JournalTable, limit: Int) async throws {
        let observer = RecordingObserver()
        let (journal, events, edited, _) = try await edited(table, observer)
        var read: [Journal.FeedEvent] = []
        while case let page = try await journal.events(after: read.last?.position ?? 0, limit: limit), !page.isEmpty {
            read += page
        }
        #expect(read == events.filter { $0 != edited })
        #expect(observer.unreadable == [.log])
    }

    @Test("of a later version stops the feed, which would miss it", arguments: [JournalTable.log, .event])
    func laterVersion(table: JournalTable) async throws {
        let text = #"{"event":{"kind":"of a later version"}}"#
        let (journal, events, edited, _) = try await edited(table, RecordingObserver(), into: text)
        let before = try await journal.events(limit: 1)
        #expect(before == Array(events.prefix(1)) && edited == events[1])
        let error = await #expect(throws: JournalError.self) {
            try await journal.events(after: before[0].position, limit: 1000)
        }
        #expect(error?.code == .corrupt)
    }

    @Test("of the log is passed over by the readers of its lines, and reported", arguments: [1, 2, 1000])
    func lines(limit: Int) async throws {
        let observer = RecordingObserver()
        let (journal, _, edited, _) = try await edited(.log, observer)
        var read: [Int64] = []
        while case let page = try await journal.lines(after: read.last ?? 0, limit: limit), !page.isEmpty {
            read += page.map(\.position)
        }
        let count = try await journal.verify().lines
        #expect(read == (1...count).filter { $0 != edited.position })
        #expect(observer.unreadable == [.log])
    }

    @Test("with the size of a quarantine is counted again", arguments: [false, true])
    func quarantineSize(isNoteEdited: Bool) async throws {
        let (life, storage) = (try StripeLife(), MemoryJournal())
        var options = Journal.Options()
        options.maximumAttempts = 1
        let journal = Journal(storage, options: options, now: { StripeLife.start })
        let dead = UnreachableAdapter(adapter: life.adapter)
        func quarantine(_ delivery: Delivery) async throws {
            #expect(await journal.accept(delivery, with: dead).status == 200)
            #expect(try await journal.work(with: ["stripe": dead]) == 1)
        }
        for delivery in life.deliveries.prefix(2) { try await quarantine(delivery) }
        let size = try #require(try await journal.quarantine.sizes()["stripe"])
        if isNoteEdited {
            try await storage.write { transaction in
                let selection = JournalSelection(group: "quarantine", limit: 1)
                var row = try #require(try await transaction.records(selection, in: .checkpoint).first)
                row.body = Array("{".utf8)
                #expect(try await transaction.update(row, in: .checkpoint))
            }
        }
        #expect(try await journal.quarantine.sizes() == ["stripe": size])
        try await quarantine(life.deliveries[2])
        let sizes = try await journal.quarantine.sizes()
        #expect(sizes["stripe"]?.deliveries == 3)
        for entry in try await journal.quarantine.list() { #expect(try await journal.quarantine.discard(entry)) }
        #expect(try await journal.quarantine.sizes()["stripe"] == Quarantine.Size(deliveries: 0, bytes: 0))
    }

    @Test("by SQLite's own functions, which make it text, is read like any other")
    func text() async throws {
        let (life, folder) = (try StripeLife(), TemporaryFolder())
        let path = folder.path("text.sqlite")
        let journal = Journal(try await SQLiteJournalStorage(path: path), now: { StripeLife.start })
        for delivery in life.deliveries.dropLast() {
            #expect(await journal.receive(delivery, with: life.adapter).status == 200)
        }
        for delivery in life.deliveries.suffix(1) {
            #expect(await journal.accept(delivery, with: life.adapter).status == 200)
        }
        try await journal.apply(AnswersTests.required)
        let events = try await journal.events(limit: 1000)
        let database = try Database(path: path, busyTimeout: 10_000)
        for table in JournalTable.allCases {
            try database.execute("UPDATE \(table.name) SET body = CAST(body AS TEXT), detail = CAST(detail AS TEXT)")
        }
        #expect(try await journal.events(limit: 1000) == events)
        #expect(try await journal.verify().findings == [])
        #expect(try await journal.rebuild().differing == [])
        #expect(try await journal.outbox.next(1, lease: .seconds(60)).count == 1)
        #expect(try await journal.answer(with: [Store()]).answered == 1)
        #expect(try await journal.work(with: ["stripe": life.adapter]) == 1)
        // Only what is no JSON any more cannot be read.
        try database.execute("UPDATE lifecycle_event SET body = 5 WHERE number = 2")
        #expect(try await journal.verify().findings == ["row 2 of lifecycle_event cannot be read"])
    }

    @Test("of an event is named by a verification")
    func verification() async throws {
        let (journal, _, _, row) = try await edited(.event, RecordingObserver())
        #expect(try await journal.verify().findings == ["row \(row) of lifecycle_event cannot be read"])
    }

    @Test("of a queue, of a question or of an erasure is named by a verification")
    func verificationOfQueues() async throws {
        let (storage, observer) = (MemoryJournal(), RecordingObserver())
        let journal = Journal(storage, observer: observer, now: { StripeLife.start })
        let rows: [(JournalTable, String)] = [
            (.event, "due"), (.event, "done"), (.event, "dead"), (.event, "silent"),
            (.delivery, "waiting"), (.delivery, "quarantined"), (.delivery, "kept"), (.delivery, "erasure"),
            (.due, "due"), (.due, "done"), (.due, "dead"),
            (.due, "silent"), (.due, "question"), (.due, "exhausted"),
        ]
        let expected = try await storage.write { transaction in
            var findings: [String] = []
            for (table, group) in rows {
                let text = Array("{".utf8)
                let row = JournalRecord(key: group, group: group, body: text, detail: text)
                _ = try await transaction.insert(row, into: table)
                let number = try #require(try await transaction.record(group, in: table)).number
                findings.append("row \(number) of \(table.name) cannot be read")
            }
            return findings
        }
        #expect(try await journal.verify().findings.sorted() == expected.sorted())
        // The note of an erasure holds up no other, and no pruning.
        #expect(try await journal.exhaustedQuestions() == [])
        try await journal.prune(before: .distantPast)
        #expect(observer.unreadable.contains(.delivery))
    }
}
