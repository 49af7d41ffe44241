import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Testing

@Suite("A purchase is found by its names, and its deliveries with it", .timeLimit(.minutes(5)))
struct NameTests {
    let life: StripeLife
    let storage = MemoryJournal()
    let time = ManualTime(StripeLife.start)

    init() throws { life = try StripeLife() }

    private func journal(retaining retention: Duration? = .seconds(86_400)) async -> Journal {
        var options = Journal.Options()
        options.deliveryRetention = retention
        let journal = Journal(storage, options: options, now: { [time] in time.now })
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        return journal
    }

    /// What each purchase is called: its lineage, and the transactions of its events.
    private func names(_ journal: Journal) async throws -> [String: Set<SubscriptionID>] {
        var names: [String: Set<SubscriptionID>] = [:]
        for (_, line) in try await journal.lines() {
            guard let lineage = line.subscription else { continue }
            for name in [lineage.id, lineage.description] { names[name, default: []].insert(lineage) }
            guard case .event(let event) = line, let transaction = event.transaction else { continue }
            names[transaction, default: []].insert(lineage)
        }
        return names
    }

    @Test("By any name, also after the index was lost, and no more after an erasure")
    func names() async throws {
        let journal = await journal()
        let names = try await names(journal)
        #expect(names.count > 4)
        func check() async throws {
            for (name, lineages) in names {
                // One purchase can have several lineages, and all are found that have the name.
                let found = try await journal.lineages(named: name)
                #expect(lineages.isSubset(of: found), "\(name)")
                #expect(try await journal.lines(of: found) == journal.lines(of: Array(lineages)), "\(name)")
            }
        }
        try await check()
        #expect(try await journal.lineages(named: "unknown") == [])
        try await storage.write { transaction in
            for record in try await transaction.records(JournalSelection(limit: 1000), in: .link) {
                _ = try await transaction.delete(record, from: .link)
            }
        }
        _ = try await journal.rebuild(repairing: true)
        try await check()
        let erased = try await erase(journal)
        for name in names.keys { #expect(erased.isDisjoint(with: try await journal.lineages(named: name)), "\(name)") }
    }

    /// - Returns: the lineages that were erased.
    private func erase(_ journal: Journal) async throws -> Set<SubscriptionID> {
        var erased: Set<SubscriptionID> = []
        for account in try await life.ledger().accounts { erased.formUnion(try await journal.erase(account).lineages) }
        #expect(!erased.isEmpty)
        return erased
    }

    @Test("Its lines are those of all its lineages")
    func lines() async throws {
        let journal = await journal()
        let lineage = try #require(try await life.ledger().states.first?.subscription)
        var expected = AccountLedger()
        for line in try await journal.lines(of: [lineage]) { expected.apply(line) }
        #expect(expected[lineage] == (try await life.ledger())[lineage])
    }

    @Test("Deliveries are listed while they are kept", arguments: [nil, Duration.seconds(86_400)])
    func deliveries(_ retention: Duration?) async throws {
        let journal = await journal(retaining: retention)
        let lineages = try await life.ledger().states.flatMap(\.lineages)
        let kept = try await journal.deliveries(of: lineages)
        #expect(kept.isEmpty == (retention == nil))
        #expect(kept.map(\.receivedAt) == kept.map(\.receivedAt).sorted(by: >))
        #expect(Set(kept.map(\.bytes)).isSubset(of: life.deliveries.map(\.body.count)))
        #expect(kept.allSatisfy { $0.source == "stripe" && $0.status == 200 })
        time.advance(500 * 86_400)
        try await journal.prune(before: time.now)
        #expect(try await journal.deliveries(of: lineages) == [])
        let links = try await storage.read { try await $0.records(JournalSelection(limit: 1000), in: .link) }
        #expect(!links.contains { $0.group.hasPrefix("delivery") })
    }

    @Test("A delivery that comes again after an erasure leaves no body behind, also when a worker takes it in")
    func erased() async throws {
        let journal = await journal()
        let erased = Array(try await erase(journal))
        func rows() async throws -> [JournalRecord] {
            try await storage.read { try await $0.records(JournalSelection(limit: 1000), in: .delivery) }
        }
        // A refund that names no customer is of nobody that could be erased.
        let others = try await rows()
        #expect(others.count < life.deliveries.count)
        for delivery in life.deliveries { #expect(await journal.accept(delivery, with: life.adapter).status == 200) }
        while try await journal.work(with: ["stripe": life.adapter]) > 0 {}
        #expect(try await journal.deliveries(of: erased) == [])
        #expect(try await rows() == others)
    }
}
