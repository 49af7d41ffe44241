import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

/// Believes a result that it is given as a body, once its provider can be asked.
private final class Hearsay: ProviderAdapter {
    let isReady = Mutex(false)
    /// In place of what the body says.
    let answer = Mutex<Normalization?>(nil)
    var provider: Provider { .revenuecat }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Normalization> {
        guard let result = try? JSONDecoder().decode(Normalization.self, from: Data(delivery.body)) else {
            throw DeliveryError(.malformed, "no result")
        }
        return Authenticated(unchecked: result, receivedAt: delivery.receivedAt)
    }

    func resolve(
        _ notification: Authenticated<Normalization>
    ) async throws(DeliveryError) -> Authenticated<Normalization> {
        guard isReady.withLock(\.self) else {
            throw DeliveryError(.malformed, "a type of a later version", isAuthentic: true)
        }
        return notification
    }

    func normalize(_ resolved: Authenticated<Normalization>) throws(DeliveryError) -> Normalization {
        answer.withLock(\.self) ?? resolved.value
    }
}

extension ErasureTests {
    /// Where a delivery is while the account is erased.
    enum Wait: CaseIterable {
        case quarantine, worker

        fileprivate func take(_ result: Normalization, by adapter: Hearsay, in journal: Journal) async throws {
            let body = Array(try JSONEncoder().encode(result))
            let delivery = Delivery(headers: [:], body: body, receivedAt: ErasureTests.start)
            let answer =
                switch self {
                case .quarantine: await journal.receive(delivery, with: adapter)
                case .worker: await journal.accept(delivery, with: adapter)
                }
            #expect(answer.status == 200)
        }

        fileprivate func end(_ adapter: Hearsay, _ journal: Journal) async throws {
            adapter.isReady.withLock { $0 = true }
            switch self {
            case .quarantine:
                for entry in try await journal.quarantine.list() {
                    #expect(await journal.quarantine.replay(entry, with: adapter).decision == .accept)
                }
            case .worker:
                while try await journal.work(with: ["revenuecat": adapter]) > 0 {}
            }
            #expect(try await journal.quarantine.list().isEmpty)
            #expect(try await journal.waitingDeliveries(upTo: 9) == 0)
        }
    }

    /// Results with a notification's id each.
    private func numbered(_ results: [Normalization]) -> [Normalization] {
        results.enumerated().map { index, result in again(result, by: .webhook, from: "n\(index)") }
    }

    private func journal(_ storage: any JournalStorage) -> Journal {
        var options = Journal.Options()
        options.deliveryRetention = .seconds(86_400)
        return Journal(storage, options: options, now: { Self.start })
    }

    @Test(
        "What waited says nothing about the account once it is read",
        arguments: Wait.allCases,
        TestedStorage.available
    )
    func waiting(wait: Wait, tested: TestedStorage) async throws {
        let storage = try await tested.open(in: folder)[0]
        let (journal, adapter) = (journal(storage), Hearsay())
        let other = SubscriptionID(store: .appStore, environment: .production, id: "2")
        var nameless = payment(on: 30, by: ada)
        nameless.events[0].account = nil
        nameless.events[0].facts.removeFirst()
        let results = numbered([payment(on: 0, by: ada), nameless, payment(on: 0, by: ada, of: other)])
        try await journal.apply(results[0])
        for result in results.dropFirst() { try await wait.take(result, by: adapter, in: journal) }
        #expect(try await journal.erase(ada).lineages == [Self.lineage])
        try await wait.end(adapter, journal)
        try await journal.prune(before: Self.start)

        try await expectNoName(storage)
        #expect(try await storage.read { try await $0.records(JournalSelection(limit: 9), in: .delivery) } == [])
        #expect(try await journal.events() == [])
        #expect(try await journal.state(of: Self.lineage) == nil)
        #expect(try await journal.state(of: other) == nil)
        #expect(try await journal.verify().findings == [])
        // Nor when a history repeats it.
        for (index, result) in results.enumerated() {
            #expect(try await journal.apply(again(result, by: .history, from: "n\(index)")) == [])
        }
        // A later statement is new.
        try await wait.take(again(payment(on: 60, by: ada), by: .webhook, from: "later"), by: adapter, in: journal)
        try await wait.end(adapter, journal)
        #expect(try await hasAccess(ada, on: 65, journal))
        #expect(try await journal.rebuild().differing == [])
    }

    @Test("What waited gives others what they have by it", arguments: Way.allCases, Wait.allCases)
    func waitingForOthers(way: Way, wait: Wait) async throws {
        let results = numbered(results(way))
        for waiting in 1..<(1 << results.count) {
            let (storage, adapter) = (MemoryJournal(), Hearsay())
            let journal = journal(storage)
            func isWaiting(_ index: Int) -> Bool { waiting & 1 << index != 0 }
            var (known, expected) = (AccountLedger(), AccountLedger())
            for (index, result) in results.enumerated() {
                if isWaiting(index) {
                    try await wait.take(result, by: adapter, in: journal)
                } else {
                    try await journal.apply(result)
                    _ = known.apply(result)
                }
            }
            let isErased = !known.states(of: [ada], in: .production).isEmpty
            #expect(try await journal.erase(ada).lineages == (isErased ? [Self.lineage] : []))
            try await wait.end(adapter, journal)
            try await journal.prune(before: Self.start)
            for (index, result) in results.enumerated() where isWaiting(index) || !isErased || result.events.isEmpty {
                _ = expected.apply(result)
            }
            try await expectNoName(storage)
            for account in [ben, cleo] {
                let access = expected.access(of: [account], at: Self.day(10)).decision.isGranted
                #expect(try await hasAccess(account, on: 10, journal) == access, "\(waiting)")
            }
            #expect(try await !hasAccess(ada, on: 10, journal))
            #expect(try await journal.rebuild().differing == [])
        }
    }

    @Test("A name that another source has, too, keeps what waited for that one")
    func waitingUnderSharedName() async throws {
        let (journal, adapter) = (journal(MemoryJournal()), Hearsay())
        let token = Account.Identifier(Self.name, .appAccountToken)
        try await Wait.worker.take(payment(on: 0, by: token), by: adapter, in: journal)
        try await journal.erase(ada)
        try await Wait.worker.end(adapter, journal)
        #expect(try await hasAccess(token, on: 10, journal))
    }

    @Test("What stays in quarantine is read as a whole later")
    func waitingForAnAnswer() async throws {
        let (journal, adapter) = (journal(MemoryJournal()), Hearsay())
        try await Wait.quarantine.take(numbered([payment(on: 0, by: ada)])[0], by: adapter, in: journal)
        try await journal.erase(ada)
        // The provider is not asked yet, or has not answered: the delivery says no more than whom it is about.
        adapter.answer.withLock { answer in
            answer = Normalization(noChange: .init(.needsLookup, statement: payment(on: 0, by: ada).statements[0]))
            answer?.noChange?.statement?.origin.notificationID = "n0"
        }
        adapter.isReady.withLock { $0 = true }
        for _ in 0..<2 {
            let entry = try #require(try await journal.quarantine.list().first)
            #expect(await journal.quarantine.replay(entry, with: adapter).decision == .acceptAndQuarantine)
        }
        // It turns out that the purchase is another's.
        adapter.answer.withLock { $0 = again(payment(on: 0, by: ben), by: .webhook, from: "n0") }
        try await Wait.quarantine.end(adapter, journal)
        #expect(try await hasAccess(ben, on: 10, journal))
    }

    @Test("An account that is back keeps what it has since")
    func waitingOfReturning() async throws {
        let (journal, adapter) = (journal(MemoryJournal()), Hearsay())
        let results = numbered([payment(on: 0, by: ada), payment(on: 30, by: ada), payment(on: 60, by: ada)])
        try await journal.apply(results[0])
        try await Wait.worker.take(results[1], by: adapter, in: journal)
        try await journal.erase(ada)
        try await journal.apply(results[2])
        try await Wait.worker.end(adapter, journal)
        #expect(try await hasAccess(ada, on: 65, journal))
        #expect(try await journal.lines(of: [Self.lineage]).count == 1)
        #expect(try await journal.rebuild().differing == [])
    }

    @Test("A delivery that is read while an account is erased again keeps what it holds back", arguments: 0..<3)
    func readMeanwhile(writes: Int) async throws {
        let (storage, adapter) = (Interrupted(), Hearsay())
        let journal = journal(storage)
        var nameless = payment(on: 30, by: ada)
        nameless.events[0].account = nil
        nameless.events[0].facts.removeFirst()
        let results = numbered([payment(on: 0, by: ada), nameless, payment(on: 5, by: ben, transferring: true)])
        try await journal.apply(results[0])
        for result in results.dropFirst() { try await Wait.quarantine.take(result, by: adapter, in: journal) }
        try await journal.erase(ada)
        let entry = try #require(try await journal.quarantine.list().first)
        adapter.isReady.withLock { $0 = true }
        storage.interruption.withLock { interruption in
            interruption = (
                writes,
                { #expect(await journal.quarantine.replay(entry, with: adapter).decision == .accept) }
            )
        }
        try await journal.erase(ada)
        #expect(storage.interruption.withLock { $0 == nil })
        try await Wait.quarantine.end(adapter, journal)
        #expect(try await hasAccess(ben, on: 35, journal))
        #expect(try await !hasAccess(ada, on: 35, journal))
        try await expectNoName(storage)
        #expect(try await journal.rebuild().differing == [])
    }

    @Test("A note that cannot be read holds back what waited, until it is deleted and the account erased again")
    func unreadableNote() async throws {
        let (storage, adapter) = (MemoryJournal(), Hearsay())
        let journal = journal(storage)
        let other = SubscriptionID(store: .appStore, environment: .production, id: "2")
        let results = numbered([payment(on: 0, by: ada), payment(on: 0, by: ben, of: other)])
        for result in results { try await Wait.quarantine.take(result, by: adapter, in: journal) }
        try await journal.erase(ada)
        adapter.isReady.withLock { $0 = true }
        func note(_ change: @escaping @Sendable (inout JournalRecord) -> Bool) async throws {
            try await storage.write { transaction in
                let selection = JournalSelection(group: "erasure", limit: 1)
                var row = try #require(try await transaction.records(selection, in: .delivery).first)
                let isKept = change(&row)
                let isDone =
                    isKept
                    ? try await transaction.update(row, in: .delivery)
                    : try await transaction.delete(row, from: .delivery)
                #expect(isDone)
            }
        }
        try await note { row in
            row.body = Array("{".utf8)
            return true
        }
        for entry in try await journal.quarantine.list() {
            #expect(await journal.quarantine.replay(entry, with: adapter).decision == .retryLater)
        }
        #expect(try await journal.events() == [])
        try await journal.erase(ada)
        try await note { _ in false }
        try await Wait.quarantine.end(adapter, journal)
        try await journal.prune(before: Self.start)
        try await expectNoName(storage)
        #expect(try await hasAccess(ben, on: 10, journal))
        let notes = JournalSelection(group: "erasure", limit: 9)
        #expect(try await storage.read { try await $0.records(notes, in: .delivery) } == [])
    }

    @Test("A kept delivery that cannot be read holds up no erasure")
    func unreadable() async throws {
        let (storage, adapter) = (MemoryJournal(), Hearsay())
        let journal = journal(storage)
        adapter.isReady.withLock { $0 = true }
        try await storage.write { transaction in
            let row = JournalRecord(key: "damaged", group: "kept", detail: Array("{".utf8))
            _ = try await transaction.insert(row, into: .delivery)
        }
        try await Wait.quarantine.take(payment(on: 0, by: ada), by: adapter, in: journal)
        #expect(try await journal.erase(ada).deliveries == 1)
        try await expectNoName(storage)
    }

    @Test("An erasure that was broken off is made whole by another, or by pruning", arguments: [true, false])
    func brokenOff(isPruned: Bool) async throws {
        var wasLeft: Set<Int> = []
        for count in 0..<10 {
            let room = Room()
            let storage = MemoryJournal { room.take() ? nil : .full }
            let (journal, adapter) = (journal(storage), Hearsay())
            adapter.isReady.withLock { $0 = true }
            try await Wait.quarantine.take(payment(on: 0, by: ada), by: adapter, in: journal)
            func kept() async throws -> Int {
                try await storage.read { try await $0.records(JournalSelection(limit: 9), in: .delivery).count }
            }
            #expect(try await kept() == 1)
            room.writes.withLock { $0 = count }
            do { try await journal.erase(ada) } catch { wasLeft.insert(try await kept()) }
            room.writes.withLock { $0 = .max }
            let isErased = try await journal.state(of: Self.lineage) == nil
            if isErased, isPruned {
                try await journal.prune(before: Self.start)
            } else {
                try await journal.erase(ada)
            }
            try await expectNoName(storage)
            #expect(try await kept() == 0)
        }
        // The note beside the delivery, too.
        #expect(wasLeft == [1, 2])
    }
}

/// Lets something happen before one of the next writes.
private final class Interrupted: JournalStorage {
    typealias Interruption = (writes: Int, body: @Sendable () async -> Void)
    private let storage = MemoryJournal()
    let interruption = Mutex<Interruption?>(nil)

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        let meanwhile = interruption.withLock { interruption -> Interruption? in
            guard let next = interruption, next.writes > 0 else { return interruption.take() }
            interruption?.writes -= 1
            return nil
        }
        await meanwhile?.body()
        return try await storage.write(body)
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value { try await storage.read(body) }
}

/// How often a storage can still be written to.
private final class Room: Sendable {
    let writes = Mutex(Int.max)

    func take() -> Bool {
        writes.withLock { writes in
            guard writes > 0 else { return false }
            writes -= writes == .max ? 0 : 1
            return true
        }
    }
}
