import Foundation
import LifecycleJournal
import NormalizerTesting
import Testing

@testable import Normalizer

extension ReconcileTests {
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
