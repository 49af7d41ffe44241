import Foundation
import LifecycleJournal
import NormalizerTesting
import Synchronization
import Testing

@testable import Normalizer

/// A storage that counts how often it is read.
private final class Counting: JournalStorage {
    private let storage = MemoryJournal()
    private let count = Mutex(0)
    var reads: Int { count.withLock { $0 } }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await storage.write(body)
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        count.withLock { $0 += 1 }
        return try await storage.read(body)
    }
}

/// A provider at whose first answer the host wants to know once more.
private final class Interrupting: LineageQuestions {
    let provider: Provider = .apple
    let pace: Duration = .zero
    private let journal: Journal
    private let count = Mutex(0)
    var asked: Int { count.withLock { $0 } }

    init(_ journal: Journal) { self.journal = journal }

    func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        let isFirst = count.withLock { count in
            count += 1
            return count == 1
        }
        if isFirst { _ = try? await journal.askAgain(about: .apple) }
        return .stated([])
    }
}

extension ReconcileTests {
    @Test("once, where the host wanted it twice before, and again where it wants it meanwhile")
    func askedAgain() async throws {
        let storage = MemoryJournal()
        let journal = journal(storage)
        try await journal.apply(Self.statement(at: 0, from: 0, until: 30 * Self.day, transaction: "1"))
        func row() async throws -> JournalRecord? {
            try await storage.read { try await $0.records(JournalSelection(group: "question", limit: 9), in: .due) }
                .first
        }
        #expect(try await journal.askAgain(about: .apple) == 1)
        let first = try #require(try await row())
        time.advance(60)
        // As after a failure that had left the other purchases.
        #expect(try await journal.askAgain(about: .apple) == 1)
        #expect(try await row() == first)
        let apple = Interrupting(journal)
        #expect(try await journal.reconcile(with: [apple], limit: 1).asked == 1)
        #expect(try await journal.questions(at: time.now).map(\.kind) == ["requested"])
        time.advance(600)
        #expect(try await journal.reconcile(with: [apple]).asked == 1)
        #expect(apple.asked == 2)
        #expect(try await journal.questions(at: time.now).isEmpty)
    }

    @Test("no stopped provider's purchases one small page after the other")
    func stoppedPages() async throws {
        let storage = Counting()
        let journal = journal(storage)
        for number in 1...200 {
            let lineage = SubscriptionID(store: .appStore, environment: .production, id: "\(number)")
            try await journal.apply(Self.statement(of: lineage, at: 0, from: 0, until: Self.day, transaction: "1"))
        }
        time.advance(2 * Self.day)
        let before = storage.reads
        let apple = Answerer(.apple, .failure(DeliveryError(.unavailable, "")))
        let report = try await journal.reconcile(with: [apple, Answerer(.google)])
        #expect(report.stopped == ["apple": .unavailable])
        #expect(apple.asked.count == 1)
        #expect(storage.reads - before < 10)
        // The limit is of questions, and not of rows.
        let relay = Answerer(.revenuecat, .success(.stated([])))
        #expect(try await journal.reconcile(with: [apple, relay], limit: 40).asked == 40)
        #expect(Set(relay.asked.map(\.names)).count == 40)
    }

    @Test("all others at once, and leaves the purchases of a provider alone that cannot be asked")
    func stopped() async throws {
        let storage = MemoryJournal()
        let journal = journal(storage)
        let play = SubscriptionID(store: .playStore, environment: .production, id: "play")
        for lineage in (1...40).map({ SubscriptionID(store: .appStore, environment: .production, id: "\($0)") }) + [
            play
        ] {
            let end = lineage == play ? Self.day + 60 : Self.day
            try await journal.apply(Self.statement(of: lineage, at: 0, from: 0, until: end, transaction: "1"))
        }
        time.advance(2 * Self.day)
        let apple = Answerer(.apple, .failure(DeliveryError(.denied, "")))
        let google = Answerer(.google)
        let report = try await journal.reconcile(with: [apple, google])
        #expect((report.asked, report.open) == (1, 1))
        #expect(report.stopped == ["apple": .denied])
        #expect((apple.asked.count, google.asked.map(\.names)) == (1, [[play]]))
        let rows = try await storage.read {
            try await $0.records(JournalSelection(group: "question", limit: 99), in: .due)
        }
        #expect(rows.count { $0.version == 1 } == 39)
        // A relay may know what the store cannot be asked about.
        let relay = Answerer(.revenuecat)
        #expect(try await journal.reconcile(with: [apple, google, relay]).stopped == ["apple": .denied])
        #expect(Set(relay.asked.map(\.names)).count == 40)
    }
}
