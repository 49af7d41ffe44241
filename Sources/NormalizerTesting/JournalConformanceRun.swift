import FoundationEssentials
import LifecycleJournal
import Synchronization

/// One run of all checks.
struct JournalConformanceRun {
    private let conformance: JournalConformance
    private(set) var findings: [JournalConformance.Finding] = []

    init(_ conformance: JournalConformance) { self.conformance = conformance }

    mutating func perform() async {
        await attempt(.rows, seed: 0) { try await $0.checkRows() }
        await attempt(.selections, seed: 0) { try await $0.checkSelections() }
        await attempt(.atomicity, seed: 0) { try await $0.checkAtomicity() }
        await attempt(.lostUpdates, seed: 0) { try await $0.checkLostUpdates() }
        for seed in conformance.seeds { await attempt(.histories, seed: seed) { try await $0.checkHistory(seed) } }
    }

    private mutating func attempt(
        _ check: JournalConformance.Check,
        seed: UInt64,
        _ body: (inout JournalConformanceRun) async throws -> Void
    ) async {
        do { try await body(&self) } catch { find(check, seed: seed, "it failed: \(error)") }
    }

    private mutating func find(_ check: JournalConformance.Check, seed: UInt64, _ message: String) {
        findings.append(.init(check: check, seed: seed, message: message))
    }

    private mutating func require(
        _ check: JournalConformance.Check,
        that condition: Bool,
        _ message: @autoclosure () -> String,
        seed: UInt64 = 0
    ) {
        if !condition { find(check, seed: seed, message()) }
    }

    // MARK: Rows

    private mutating func checkRows() async throws {
        let storage = try await conformance.makeStorages(1)[0]
        // Two texts that are one to Swift and two to a provider, and bytes that are no text.
        let keys = ["caf\u{E9}", "cafe\u{301}", "a\nb", "", "\u{1F600}", "'; --"]
        let written = keys.enumerated().map { index, key in
            JournalRecord(
                key: key,
                group: key,
                order: index % 2 == 0 ? Int64.max : Int64.min + 1,
                body: Array(UInt8.min...UInt8.max),
                detail: index % 2 == 0 ? [] : [0]
            )
        }
        for table in JournalTable.allCases {
            let inserted = try await storage.write { transaction in
                var inserted: [Bool] = []
                for record in written { inserted.append(try await transaction.insert(record, into: table)) }
                for record in written { inserted.append(try await transaction.insert(record, into: table)) }
                return inserted
            }
            let expected = keys.map { _ in true } + keys.map { _ in false }
            require(.rows, that: inserted == expected, "\(table): not each key was inserted once, but \(inserted)")
            for record in written {
                let stored = try await storage.read { try await $0.record(record.key, in: table) }
                var comparable = stored
                comparable?.number = 0
                require(.rows, that: comparable == record, "\(table): a row is another one when it is read")
                guard var stored else { continue }
                stored.body = []
                let changed = stored
                let results = try await storage.write { transaction in
                    (
                        try await transaction.update(changed, in: table),
                        try await transaction.update(changed, in: table),
                        try await transaction.delete(changed, from: table)
                    )
                }
                require(.rows, that: results == (true, false, false), "\(table): versions do not count: \(results)")
                let updated = try await storage.read { try await $0.record(record.key, in: table) }
                let isRight = updated?.version == 2 && updated?.body == [] && updated?.number == changed.number
                require(.rows, that: isRight, "\(table): an updated row is another one when it is read")
                guard let updated else { continue }
                let isDeleted = try await storage.write { try await $0.delete(updated, from: table) }
                let isGone = try await storage.read { try await $0.record(record.key, in: table) } == nil
                require(.rows, that: isDeleted && isGone, "\(table): a deleted row is still there")
            }
        }
    }

    private mutating func checkSelections() async throws {
        let storage = try await conformance.makeStorages(1)[0]
        try await storage.write { transaction in
            for number in 0..<50 {
                let record = JournalRecord(
                    key: "\(number)",
                    group: number % 2 == 0 ? "even" : "odd",
                    order: Int64(number * 7 % 5)
                )
                _ = try await transaction.insert(record, into: .log)
            }
        }
        let expected = (0..<50).filter { $0 % 2 == 0 }.sorted { ($0 * 7 % 5, $0) < ($1 * 7 % 5, $1) }.map { "\($0)" }
        var found: [String] = []
        var selection = JournalSelection(group: "even", limit: 4)
        while true {
            let page = selection
            let records = try await storage.read { try await $0.records(page, in: .log) }
            found += records.map(\.key)
            guard records.count == 4, let last = records.last else { break }
            (selection.order, selection.number) = (last.order, last.number)
        }
        require(.selections, that: found == expected, "pages give \(found) and not \(expected)")
        let early = try await storage.read { try await $0.records(JournalSelection(through: 0, limit: 100), in: .log) }
        require(.selections, that: early.count == 10, "\(early.count) rows and not 10 up to an order")
    }

    private mutating func checkAtomicity() async throws {
        struct Stop: Error {}
        let storage = try await conformance.makeStorages(1)[0]
        let record = JournalRecord(key: "a")
        do {
            try await storage.write { transaction in
                _ = try await transaction.insert(record, into: .state)
                if try await transaction.record("a", in: .state) == nil {
                    throw JournalError(.corrupt, "a transaction does not see what it wrote")
                }
                throw Stop()
            }
            find(.atomicity, seed: 0, "what a body throws does not come out")
        } catch is Stop {}
        let stored = try await storage.read { try await $0.record("a", in: .state) }
        require(.atomicity, that: stored == nil, "a transaction that failed has left a row")
    }

    private mutating func checkLostUpdates() async throws {
        let (writers, rounds) = (4, 12)
        let storages = try await conformance.makeStorages(writers)
        try await storages[0].write { _ = try await $0.insert(JournalRecord(key: "counter"), into: .state) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for storage in storages {
                group.addTask {
                    for _ in 0..<rounds { try await Self.count(in: storage) }
                }
            }
            try await group.waitForAll()
        }
        let counted = try await storages[0].read { try await $0.record("counter", in: .state)?.order }
        require(
            .lostUpdates,
            that: counted == Int64(writers * rounds),
            "\(counted ?? 0) of \(writers * rounds) changes are there"
        )
    }

    private static func count(in storage: any JournalStorage) async throws {
        struct Busy: Error {}
        while true {
            do {
                return try await storage.write { transaction in
                    guard var record = try await transaction.record("counter", in: .state) else { throw Busy() }
                    // Long enough that transactions which can overlap do.
                    try await Task.sleep(for: .milliseconds(1))
                    record.order += 1
                    guard try await transaction.update(record, in: .state) else { throw Busy() }
                }
            } catch is Busy {
                continue
            } catch let error as JournalError where error.code == .conflict {
                continue
            }
        }
    }

    // MARK: Histories

    private mutating func checkHistory(_ seed: UInt64) async throws {
        let history = JournalHistory(seed: seed)
        let storages = try await conformance.makeStorages(conformance.writers)
        let journals = storages.enumerated().map { index, storage in
            Journal(
                FaultyStorage(storage, seed: seed &* 31 &+ UInt64(index)),
                clock: TestClock(jumping: true),
                now: Self.jumpingClock(from: history.end, seed: seed &+ UInt64(index))
            )
        }
        var generator = SeededGenerator(seed: seed)
        // Everything twice, in any order: a provider repeats deliveries that were answered with an error, and sometimes
        // more.
        let deliveries = (history.results + history.results).shuffled(using: &generator)
        await withTaskGroup(of: Void.self) { group in
            for (index, journal) in journals.enumerated() {
                let own = deliveries.enumerated().filter { $0.offset % journals.count == index }.map(\.element)
                group.addTask { for result in own { await Self.deliver(result, to: journal) } }
            }
        }
        let journal = Journal(storages[0], now: { history.end.addingTimeInterval(1_000_000) })
        try await checkState(journal, history, seed: seed)
        let later = Mutex(history.end.addingTimeInterval(100_000))
        let teller = Journal(
            FaultyStorage(storages[0], seed: seed &* 77),
            clock: TestClock(jumping: true),
            // Every lease is over when the next item is asked for.
            now: {
                later.withLock {
                    $0.addTimeInterval(5)
                    return $0
                }
            }
        )
        try await checkOutbox(teller, journal, seed: seed)
        let verification = try await journal.verify()
        require(.log, that: verification.findings.isEmpty, "\(verification.findings)", seed: seed)
        let rebuild = try await journal.rebuild()
        require(
            .log,
            that: rebuild.differing.isEmpty,
            "the log gives other states for \(rebuild.differing)",
            seed: seed
        )
        let count = Int64(Set(history.results.flatMap(\.logLines)).count)
        require(
            .log,
            that: verification.lines == count,
            "the log has \(verification.lines) lines and not \(count)",
            seed: seed
        )
    }

    /// Delivers again for as long as it is answered with an error, as providers do.
    private static func deliver(_ result: Normalization, to journal: Journal) async {
        for _ in 0..<100 {
            do {
                try await journal.apply(result)
                return
            } catch {
                await Task.yield()
            }
        }
    }

    /// A clock that goes back and forth by up to an hour.
    private static func jumpingClock(from time: Date, seed: UInt64) -> @Sendable () -> Date {
        let jumps = ClockJumps(seed: seed)
        return { time.addingTimeInterval(jumps.next()) }
    }

    private mutating func checkState(_ journal: Journal, _ history: JournalHistory, seed: UInt64) async throws {
        var expected = AccountLedger()
        for result in history.results { _ = expected.apply(result) }
        for state in expected.states {
            let stored = try await journal.state(of: state.subscription)
            require(.histories, that: stored == state, "\(state.subscription) is in another state", seed: seed)
        }
        for account in history.accounts {
            let access = try await journal.access(of: [account], at: history.end)
            let due = expected.access(of: account, at: history.end)
            require(.histories, that: access == due, "an account has other access", seed: seed)
        }
        var listed: [EventID] = []
        var position: Int64 = 0
        while true {
            let events = try await journal.events(after: position, limit: 7)
            guard let last = events.last else { break }
            listed += events.map(\.event.event.id)
            position = last.position
        }
        let ids = Set(history.results.flatMap { $0.events.map(\.id) })
        require(
            .histories,
            that: Set(listed) == ids,
            "\(ids.count) events happened, and others are in the feed",
            seed: seed
        )
        require(.histories, that: listed.count == ids.count, "an event is in the feed twice", seed: seed)
    }

    private mutating func checkOutbox(_ teller: Journal, _ journal: Journal, seed: UInt64) async throws {
        var delivered: Set<EventID> = []
        var empty = 0
        // Failures make an item come again; it may never be missing.
        for _ in 0..<2000 where empty < 5 {
            guard let items = try? await teller.outbox.next(3, lease: .seconds(1)) else { continue }
            empty = items.isEmpty ? empty + 1 : 0
            for item in items {
                delivered.insert(item.value.event.id)
                require(.outbox, that: item.id == item.value.event.id.description, "an item has another id", seed: seed)
                _ = try? await teller.outbox.done(item)
            }
        }
        let events = try await journal.events(after: 0, limit: .max >> 1)
        let news = Set(events.filter(\.event.isNews).map(\.event.event.id))
        require(
            .outbox,
            that: delivered == news,
            "\(delivered.count) of \(news.count) pieces of news came out",
            seed: seed
        )
    }
}

/// Numbers of seconds, back and forth.
private final class ClockJumps: Sendable {
    private let generator: Mutex<SeededGenerator>

    init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    func next() -> TimeInterval { generator.withLock { Double(Int.random(in: -3600...3600, using: &$0)) } }
}
