import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Testing

@Suite("An erased account leaves nothing, and takes nothing from others", .timeLimit(.minutes(5)))
struct ErasureTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
    private let ada = Account.Identifier("ada", .appUserID)
    private let ben = Account.Identifier("ben", .appUserID)
    private let folder = TemporaryFolder()

    private static func day(_ number: Int) -> Date { start.addingTimeInterval(Double(number) * 86_400) }

    /// Thirty days of a purchase, paid for by an account.
    private func payment(
        on day: Int,
        by account: Account.Identifier,
        of lineage: SubscriptionID = Self.lineage,
        transferring: Bool = false
    ) -> Normalization {
        let period = ServicePeriod(start: Self.day(day), end: Self.day(day + 30))
        let transaction = "\(lineage.id)-\(day)"
        var facts: [Fact] = [
            .owner(Account(account.id, account.source)),
            .period(.init(period, product: "pro", phase: .regular, transaction: transaction)),
        ]
        if transferring { facts.append(.transfer(.init(from: [], to: [account]))) }
        let event = LifecycleEvent.renewed(.init(cause: .scheduled, phase: .regular, period: period))
        return result(event, of: lineage, on: day, account: account, facts: facts)
    }

    private func result(
        _ event: LifecycleEvent,
        of lineage: SubscriptionID?,
        on day: Int,
        account: Account.Identifier?,
        facts: [Fact]
    ) -> Normalization {
        let notification = "\(lineage?.id ?? "accounts")-\(day)"
        return Normalization([
            NormalizedEvent(
                id: EventID(provider: .revenuecat, environment: .production, notification: notification),
                event: event,
                provider: .revenuecat,
                store: .appStore,
                environment: .production,
                subscription: lineage,
                account: account.map { Account($0.id, $0.source) },
                occurredAt: Self.day(day),
                effectiveAt: Self.day(day),
                assertedAt: Self.day(day),
                receivedAt: Self.day(day),
                facts: facts,
                origin: Origin(
                    type: "test",
                    channel: .simulated,
                    evidence: .init(.unchecked),
                    digest: notification,
                    mapper: "test"
                )
            )
        ])
    }

    private func hasAccess(_ account: Account.Identifier, on day: Int, _ journal: Journal) async throws -> Bool {
        try await journal.access(of: [account], at: Self.day(day)).decision.isGranted
    }

    @Test("A rebuild looks at what was stated after an erasure", arguments: TestedStorage.available)
    func rebuilt(tested: TestedStorage) async throws {
        let storage = try await tested.open(in: folder)[0]
        let journal = Journal(storage, now: { Self.start })
        try await journal.apply(payment(on: 0, by: ada))
        #expect(try await journal.erase(ada).lineages == [Self.lineage])
        try await journal.apply(payment(on: 30, by: ben))
        let rebuild = try await journal.rebuild()
        #expect(rebuild.purchases == 1)
        #expect(rebuild.differing == [])
        try await storage.write { transaction in
            for record in try await transaction.records(JournalSelection(limit: 9), in: .state) {
                _ = try await transaction.delete(record, from: .state)
            }
        }
        #expect(try await journal.rebuild(repairing: true).differing == [Self.lineage])
        #expect(try await hasAccess(ben, on: 35, journal))
    }
}
