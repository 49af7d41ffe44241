import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Synchronization
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

    /// The names of each purchase: its lineage, and the transactions of its events.
    private func names(_ journal: Journal) async throws -> [String: Set<SubscriptionID>] {
        var names: [String: Set<SubscriptionID>] = [:]
        for (_, line) in try await journal.lines() {
            guard let lineage = line.subscription else { continue }
            for name in [lineage.id, lineage.description] { names[name, default: []].insert(lineage) }
            guard case .event(let event) = line, let transaction = event.transaction else { continue }
            names[transaction.rawValue, default: []].insert(lineage)
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

    // PostgreSQL would have two transactions wait for each other, for a second, where one has the name and the other the state.
    @Test("A name is written by who has written the state, so that two transactions never wait in a circle")
    func order() async throws {
        let storage = WriteOrder()
        let journal = Journal(storage, now: { StripeLife.start })
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        var count = 0
        for keys in storage.transactions {
            for (index, key) in keys.enumerated() {
                let parts = key.split(separator: "\n").map(String.init)
                guard parts.count == 3, parts[0] == "name", let state = keys.firstIndex(of: parts[2]) else { continue }
                #expect(state < index, "\(key)")
                count += 1
            }
        }
        #expect(count > 4)
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
    func deliveries(retention: Duration?) async throws {
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
        // A refund that names no customer belongs to no account that could be erased.
        let others = try await rows()
        #expect(others.count < life.deliveries.count)
        for delivery in life.deliveries { #expect(await journal.accept(delivery, with: life.adapter).status == 200) }
        while try await journal.work(with: ["stripe": life.adapter]) > 0 {}
        #expect(try await journal.deliveries(of: erased) == [])
        #expect(try await rows() == others)
    }
}

/// Memory that notes which states and names each transaction has written, in their order.
private final class WriteOrder: JournalStorage {
    private let base = MemoryJournal()
    private let noted = Mutex<[[String]]>([])
    var transactions: [[String]] { noted.withLock { $0 } }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        let (value, keys) = try await base.write { transaction in
            let noting = NotingTransaction(base: transaction)
            return (try await body(noting), noting.keys)
        }
        noted.withLock { $0.append(keys) }
        return value
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value { try await base.read(body) }
}

private final class NotingTransaction: JournalTransaction {
    private let base: any JournalTransaction
    private(set) var keys: [String] = []

    init(base: any JournalTransaction) { self.base = base }

    func record(_ key: String, in table: JournalTable) async throws -> JournalRecord? {
        try await base.record(key, in: table)
    }

    func records(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord] {
        try await base.records(selection, in: table)
    }

    func insert(_ record: JournalRecord, into table: JournalTable) async throws -> Bool {
        if table == .state || table == .link { keys.append(record.key) }
        return try await base.insert(record, into: table)
    }

    func update(_ record: JournalRecord, in table: JournalTable) async throws -> Bool {
        if table == .state { keys.append(record.key) }
        return try await base.update(record, in: table)
    }

    func delete(_ record: JournalRecord, from table: JournalTable) async throws -> Bool {
        try await base.delete(record, from: table)
    }
}
