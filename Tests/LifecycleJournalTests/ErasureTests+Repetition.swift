import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Testing

extension ErasureTests {
    /// The same notification by another way: the history has no signature, and renders the body in another API version.
    func again(_ result: Normalization, by channel: Origin.Channel, from notification: String?) -> Normalization {
        var result = result
        for index in result.events.indices {
            result.events[index].origin.notificationID = notification
            guard channel != .webhook else {
                result.events[index].origin.channel = channel
                continue
            }
            let origin = result.events[index].origin
            result.events[index].origin = Origin(
                type: origin.type,
                notificationID: notification,
                channel: channel,
                evidence: .init(.tls),
                digest: "another",
                mapper: origin.mapper
            )
            result.events[index].facts.append(.nextProduct(.init("pro")))
        }
        return result
    }

    @Test(
        "A notification that was erased stays so, by whichever way it is read again",
        arguments: TestedStorage.available,
        [Origin.Channel.webhook, .history, .refetch, .pull]
    )
    func readAgain(tested: TestedStorage, channel: Origin.Channel) async throws {
        let storage = try await tested.open(in: folder)[0]
        let journal = Journal(storage, now: { Self.start })
        try await journal.apply(again(payment(on: 0, by: ada), by: .webhook, from: "n1"))
        #expect(try await journal.erase(ada).lines == 1)
        for _ in 0..<2 {
            let applied = try await journal.apply(again(payment(on: 0, by: ada), by: channel, from: "n1"))
            #expect(applied == [])
            try await expectNoName(storage)
            #expect(try await journal.state(of: Self.lineage) == nil)
        }
        #expect(try await journal.verify().lines == 1)
        // A later statement is new.
        try await journal.apply(again(payment(on: 30, by: ada), by: channel, from: "n2"))
        #expect(try await hasAccess(ada, on: 35, journal))
        #expect(try await !hasAccess(ada, on: 10, journal))
        #expect(try await journal.rebuild().differing == [])
    }

    @Test("A journal whose erasures left no ids forgets what a history repeats, and no later statement")
    func readAgainInOlderJournal() async throws {
        let storage = MemoryJournal()
        let journal = Journal(storage, now: { Self.day(1) })
        try await journal.apply(again(payment(on: 0, by: ada), by: .webhook, from: "n1"))
        #expect(try await journal.erase(ada).lines == 1)
        let ids = try await storage.write { transaction in
            let records = try await transaction.records(JournalSelection(limit: 9), in: .event)
            var ids = 0
            for record in records where record.key.hasPrefix("erased") {
                ids += try await transaction.delete(record, from: .event) ? 1 : 0
            }
            return ids
        }
        #expect(ids == 1)
        for channel in [Origin.Channel.webhook, .history] {
            #expect(try await journal.apply(again(payment(on: 0, by: ada), by: channel, from: "n1")) == [])
        }
        try await expectNoName(storage)
        try await journal.apply(again(payment(on: 30, by: ada), by: .history, from: "n2"))
        #expect(try await hasAccess(ada, on: 35, journal))
    }

    @Test("A journal of 0.12 forgets a statement that it had from a history and erased")
    func readAgainFromOlderHistory() async throws {
        let storage = MemoryJournal()
        let journal = Journal(storage, now: { Self.start })
        func statement(on day: Int) -> Normalization {
            let period = ServicePeriod(start: Self.day(day), end: Self.day(day + 30))
            let name = TransactionID("\(day)")
            let statement = StoreStatement(
                subscription: Self.lineage,
                provider: .apple,
                assertedAt: Self.day(day),
                facts: [
                    .owner(Account(ada.id, ada.source)),
                    .period(.init(period, product: "pro", phase: .regular, transaction: name)),
                ],
                origin: Origin(
                    type: "test",
                    notificationID: "n\(day)",
                    channel: .history,
                    evidence: .init(.unchecked),
                    digest: "",
                    mapper: "test"
                )
            )
            return Normalization(noChange: .init(.unchanged, statement: statement))
        }
        // The SHA-256 of the line with its channel.
        let key = "ce92fd8d3a641869da744e04208d1c3427052c21cd964db8ab6cdb0a8a6eb1d9"
        try await storage.write { transaction in
            _ = try await transaction.insert(JournalRecord(key: key, group: "\(Self.lineage)", order: 1), into: .log)
        }
        try await journal.apply(statement(on: 0))
        #expect(try await journal.state(of: Self.lineage) == nil)
        try await journal.apply(statement(on: 30))
        #expect(try await hasAccess(ada, on: 35, journal))
    }

    @Test("A page of lines is full behind lines that were erased", arguments: [1, 2])
    func linesBehind(limit: Int) async throws {
        let journal = Journal(MemoryJournal(), now: { Self.start })
        let other = SubscriptionID(store: .appStore, environment: .production, id: "2")
        for day in [0, 30] { try await journal.apply(payment(on: day, by: ada)) }
        try await journal.apply(payment(on: 0, by: ben, of: other))
        #expect(try await journal.erase(ada).lines == 2)
        #expect(try await journal.lines(limit: limit).map(\.position) == [3])
    }

    @Test("A history does not bring the name back to what others have", arguments: Way.allCases)
    func othersReadAgain(way: Way) async throws {
        let storage = MemoryJournal()
        let journal = Journal(storage, now: { Self.start })
        let results = results(way).enumerated().map { (index, result) in (result, "n\(index)") }
        for (result, id) in results { try await journal.apply(again(result, by: .webhook, from: id)) }
        try await journal.erase(ada)
        for (result, id) in results where !result.events.isEmpty {
            try await journal.apply(again(result, by: .history, from: id))
        }
        try await expectNoName(storage)
        #expect(try await hasAccess(ben, on: 10, journal))
        #expect(try await journal.rebuild().differing == [])
    }
}
