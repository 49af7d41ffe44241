import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
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

    /// One page of deliveries, as a provider that signs them again lists them, or one that does not.
    private struct Listed: DeliveryHistory {
        let name = "listed"
        let provider: Provider = .stripe
        let reach: Duration = .seconds(86_400 * 4000)
        let entries: [DeliveryHistoryPage.Entry]

        init(_ lives: [StripeLife], isSigned: Bool) async throws {
            var entries: [DeliveryHistoryPage.Entry] = []
            for life in lives {
                for delivery in life.deliveries {
                    entries.append(.init(isSigned ? delivery : nil, .success(try await life.adapter.receive(delivery))))
                }
            }
            self.entries = entries
        }

        func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
            DeliveryHistoryPage(entries)
        }
    }

    @Test("holds the place in a history, and no other purchase", arguments: [true, false])
    func history(isSigned: Bool) async throws {
        let edited = try await EditedRow()
        let history = try await Listed([edited.one, edited.other], isSigned: isSigned)
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
}
