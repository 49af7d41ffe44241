import Foundation
import LifecycleJournal
import NormalizerTesting
import Stripe
import Synchronization
import Testing

@testable import Normalizer

/// An observer of questions that are given up.
private struct Watching: JournalObserver {
    let see: @Sendable (DueItem) -> Void

    init(_ see: @escaping @Sendable (DueItem) -> Void) { self.see = see }

    func observe(_ observation: JournalObservation) {
        if case .questionExhausted(let item) = observation { see(item) }
    }
}

/// A provider that fails at one purchase.
private final class Poisoned: LineageQuestions {
    let provider: Provider = .apple
    let pace: Duration = .zero
    let lineage: String
    let asked = Mutex<[String]>([])

    init(lineage: String) { self.lineage = lineage }

    func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        let id = question.names.first?.id ?? ""
        asked.withLock { $0.append(id) }
        if id == lineage { throw DeliveryError(.unavailable, "") }
        return .unknown
    }
}

@Suite("A journal asks providers about what is due", .timeLimit(.minutes(5)))
struct ReconcileTests {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1000")
    let folder = TemporaryFolder()
    let time = ManualTime(start)

    static func statement(
        of lineage: SubscriptionID = lineage,
        at seconds: TimeInterval,
        from start: TimeInterval,
        until end: TimeInterval,
        transaction: TransactionID,
        handle: PurchaseHandle? = nil
    ) -> Normalization {
        let period = ServicePeriod(start: Self.start + start, end: Self.start + end)
        var result = Normalization(
            noChange: .init(
                .unchanged,
                statement: StoreStatement(
                    subscription: lineage,
                    provider: .apple,
                    assertedAt: Self.start + seconds,
                    facts: [
                        .period(.init(period, product: "pro", phase: .regular, transaction: transaction)),
                        .renewalIntent(.init(RenewalTerms(willRenew: true))),
                    ],
                    origin: .madeUp(channel: .refetch)
                )
            )
        )
        result.handles = [handle].compactMap(\.self)
        return result
    }

    static let bought = statement(at: 0, from: 0, until: 30 * day, transaction: "1")
    static let renewed = statement(at: 30 * day + 7200, from: 30 * day, until: 60 * day, transaction: "2")
    static let day: TimeInterval = 86_400

    func journal(
        _ storage: any JournalStorage = MemoryJournal(),
        sealingKey: String? = nil,
        formerKeys: [String] = []
    ) -> Journal {
        var options = Journal.Options()
        options.sealingKey = sealingKey.map { SecretBytes($0) }
        options.formerSealingKeys = formerKeys.map { SecretBytes($0) }
        let time = time
        return Journal(storage, options: options, clock: TestClock(jumping: true), now: { time.now })
    }

    private func hasAccess(_ journal: Journal) async throws -> Bool {
        try await journal.state(of: Self.lineage)?.access(at: time.now).isGranted ?? false
    }

    @Test(
        "an hour after a period ran out without a word, once, and heals what was lost",
        arguments: TestedStorage.available
    )
    func healing(storage: TestedStorage) async throws {
        let storages = try await storage.open(in: folder)
        let journal = journal(storages[0])
        let apple = Answerer(.apple, .success(.stated([Self.renewed])))
        try await journal.apply(Self.bought)
        time.advance(30 * Self.day + 3599)
        #expect(try await journal.reconcile(with: [apple]) == Journal.Reconciliation())
        #expect(try await !hasAccess(journal))
        time.advance(1)
        #expect(try await journal.questions(at: time.now).map(\.kind) == ["renewal_due"])
        let report = try await journal.reconcile(with: [apple])
        #expect((report.asked, report.settled, report.open) == (1, 1, 0))
        #expect(apple.asked.map(\.names) == [[Self.lineage]])
        #expect(apple.asked.first?.product == "pro")
        #expect(try await hasAccess(journal))
        #expect(try await journal.reconcile(with: [apple]) == Journal.Reconciliation())
        // The host's own duties are others.
        #expect(try await journal.due(at: time.now + 90 * Self.day) == [])
        // The next period is a question of its own.
        time.advance(30 * Self.day)
        #expect(try await journal.questions(at: time.now).map(\.kind) == ["renewal_due"])
    }

    @Test("again after one, two, four hours, eight times in all, where nothing settles it")
    func attempts() async throws {
        let journal = journal()
        let apple = Answerer()
        try await journal.apply(Self.bought)
        time.advance(30 * Self.day + 3600)
        var waits: [Int] = []
        var reports: [Journal.Reconciliation] = []
        for hour in 0..<400 {
            let report = try await journal.reconcile(with: [apple])
            if report.asked > 0 {
                waits.append(hour)
                reports.append(report)
            }
            time.advance(3600)
        }
        #expect(waits == [0, 1, 3, 7, 15, 31, 63, 127])
        #expect(reports.map(\.open) == [1, 1, 1, 1, 1, 1, 1, 0])
        #expect(reports.map(\.exhausted) == [0, 0, 0, 0, 0, 0, 0, 1])
        #expect(reports.allSatisfy { $0.unknown == 1 })
        // A later statement raises another question.
        try await journal.apply(Self.renewed)
        time.advance(100 * Self.day)
        #expect(try await journal.questions(at: time.now).count == 1)
    }

    @Test(
        "no more in this round where a provider cannot be asked, and changes nothing",
        arguments: [
            DeliveryError.Code.unavailable, .denied,
        ]
    )
    func outage(code: DeliveryError.Code) async throws {
        let journal = journal()
        let apple = Answerer(.apple, .failure(DeliveryError(code, "")))
        for index in 0..<40 {
            let lineage = SubscriptionID(store: .appStore, environment: .production, id: "\(index)")
            try await journal.apply(
                Self.statement(of: lineage, at: 0, from: 0, until: Self.day, transaction: "\(index)")
            )
        }
        time.advance(2 * Self.day)
        for _ in 0..<20 {
            let report = try await journal.reconcile(with: [apple])
            #expect(report.asked == 0)
            #expect(report.stopped == ["apple": code])
        }
        #expect(apple.asked.count == 20, "one in each round")
        #expect(try await journal.questions(at: time.now).count == 40)
        apple.answer(.success(.unknown))
        #expect(try await journal.reconcile(with: [apple]).asked == 40)
    }

    @Test("one source of a provider after the other refused its key")
    func otherSource() async throws {
        let journal = journal()
        let refused = Answerer(.apple, .failure(DeliveryError(.denied, "")))
        let other = Answerer(.apple, .success(.stated([Self.renewed])))
        try await journal.apply(Self.bought)
        time.advance(30 * Self.day + 3600)
        let report = try await journal.reconcile(with: [refused, other])
        #expect((report.asked, report.settled) == (1, 1))
        #expect(report.stopped == ["apple": .denied])
        #expect((refused.asked.count, other.asked.count) == (1, 1))
    }

    @Test(
        "eight times in all where the answer cannot be used, and says so; a question of the host's own, too",
        arguments: [false, true]
    )
    func unusable(isRequested: Bool) async throws {
        let seen = Mutex<[DueItem]>([])
        let time = time
        let journal = Journal(
            MemoryJournal(),
            observer: Watching { item in seen.withLock { $0.append(item) } },
            clock: TestClock(jumping: true),
            now: { time.now }
        )
        let apple = Answerer(.apple, .failure(DeliveryError(.malformed, "")))
        try await journal.apply(Self.bought)
        time.advance(30 * Self.day + (isRequested ? -7200 : 3600))
        if isRequested { try await journal.askAgain(about: .apple) }
        var reports: [Journal.Reconciliation] = []
        for _ in 0..<400 {
            let report = try await journal.reconcile(with: [apple])
            if report.asked > 0 { reports.append(report) }
            #expect(report.stopped == [:])
            time.advance(3600)
        }
        // The purchase's own question is open when the host's is given up.
        #expect(apple.asked.count == (isRequested ? 16 : 8))
        #expect(reports.allSatisfy { $0.unusable == 1 && $0.unknown == 0 && $0.settled == 0 })
        #expect(reports.map(\.exhausted).reduce(0, +) == (isRequested ? 2 : 1))
        #expect(seen.withLock { $0.map(\.kind) } == (isRequested ? ["requested", "renewal_due"] : ["renewal_due"]))
        #expect(try await journal.exhaustedQuestions().map(\.reason) == [.renewalDue])
        // An answer that can be used settles it after all.
        apple.answer(.success(.stated([Self.renewed])))
        try await journal.refetch(Self.lineage, with: [apple])
        #expect(try await journal.exhaustedQuestions().isEmpty)
    }

    @Test("everyone else too, where a provider fails at one purchase again and again")
    func poison() async throws {
        let journal = journal()
        for index in 0..<5 {
            let lineage = SubscriptionID(store: .appStore, environment: .production, id: "\(index)")
            try await journal.apply(
                Self.statement(of: lineage, at: 0, from: 0, until: Self.day + Double(index), transaction: "\(index)")
            )
        }
        time.advance(2 * Self.day)
        let apple = Poisoned(lineage: "0")
        for _ in 0..<3 {
            #expect(try await journal.reconcile(with: [apple]).stopped == ["apple": .unavailable])
            time.advance(60)
        }
        #expect(Set(apple.asked.withLock { $0 }) == ["0", "1", "2", "3", "4"])
    }

    @Test("the store before a relay, and the relay where the store knows nothing")
    func sources() async throws {
        let journal = journal()
        let apple = Answerer(.apple)
        let relay = Answerer(.revenuecat, .success(.stated([Self.renewed])))
        try await journal.apply(Self.bought)
        time.advance(30 * Self.day + 3600)
        #expect(try await journal.reconcile(with: [relay, apple]).settled == 1)
        #expect((apple.asked.count, relay.asked.count) == (1, 1))
        time.advance(30 * Self.day)
        apple.answer(.success(.stated([])))
        #expect(try await journal.reconcile(with: [relay, apple]).open == 1)
        #expect((apple.asked.count, relay.asked.count) == (2, 1))
    }

    @Test("each purchase by one of several processes", arguments: TestedStorage.available)
    func processes(storage: TestedStorage) async throws {
        let storages = try await storage.open(in: folder)
        let journals = storages.map { journal($0) }
        for index in 0..<24 {
            let lineage = SubscriptionID(store: .appStore, environment: .production, id: "\(index)")
            try await journals[0].apply(
                Self.statement(of: lineage, at: 0, from: 0, until: Self.day, transaction: "\(index)")
            )
        }
        time.advance(2 * Self.day)
        let apple = Answerer()
        async let first = journals[0].reconcile(with: [apple])
        async let second = journals[1].reconcile(with: [apple])
        #expect(try await first.asked + second.asked == 24)
        #expect(Set(apple.asked.map(\.names)).count == 24)
        #expect(apple.asked.count == 24)
    }

    @Test(
        "by the token that the store wants, which is stored sealed and goes with an erasure",
        arguments: TestedStorage.available
    )
    func handles(storage: TestedStorage) async throws {
        let storages = try await storage.open(in: folder)
        let handle = PurchaseHandle(Self.lineage, app: "app", kind: "subscription", token: "secret-token")
        let stated = Self.statement(at: 0, from: 0, until: 30 * Self.day, transaction: "1", handle: handle)
        let account = Account("ada", .appUserID)
        let sealed = journal(storages[0], sealingKey: "a key")
        try await sealed.upload(stated, by: account)
        time.advance(31 * Self.day)

        let rows = try await storages[1].read { transaction in
            var rows: [JournalRecord] = []
            for table in JournalTable.allCases {
                rows += try await transaction.records(JournalSelection(limit: 100), in: table)
            }
            return rows
        }
        #expect(!rows.isEmpty)
        for row in rows {
            #expect(!String(decoding: row.body + row.detail, as: UTF8.self).contains("secret"))
        }
        let answerer = Answerer()
        // Without the key, or with another one, there is no token.
        for other in [journal(storages[1]), journal(storages[1], sealingKey: "another key")] {
            try await other.refetch(Self.lineage, with: [answerer])
        }
        try await sealed.refetch(Self.lineage, with: [answerer])
        #expect(answerer.asked.map(\.handle) == [nil, nil, handle])
        #expect("\(handle)" == "<redacted>")

        try await sealed.erase(.init("ada", .appUserID))
        #expect(try await sealed.questions(at: time.now) == [])
        try await sealed.refetch(Self.lineage, with: [answerer])
        #expect(answerer.asked.last?.handle == nil)
        // A repeated delivery is known, and does not bring the token back.
        try await sealed.upload(stated)
        try await sealed.refetch(Self.lineage, with: [answerer])
        #expect(answerer.asked.last?.handle == nil)
    }

    @Test("by a token that a former key has sealed, until the next statement has it sealed with the present one")
    func formerKeys() async throws {
        let storage = MemoryJournal()
        let handle = PurchaseHandle(Self.lineage, app: "app", kind: "subscription", token: "secret-token")
        func asked(_ journal: Journal) async throws -> PurchaseHandle? {
            let answerer = Answerer()
            try await journal.refetch(Self.lineage, with: [answerer])
            return answerer.asked.last?.handle
        }
        func state(on day: TimeInterval, _ journal: Journal) async throws {
            let (start, end) = (day * Self.day, (day + 30) * Self.day)
            try await journal.apply(
                Self.statement(at: start, from: start, until: end, transaction: "\(day)", handle: handle)
            )
        }
        try await state(on: 0, journal(storage, sealingKey: "first"))
        let second = journal(storage, sealingKey: "second", formerKeys: ["other", "first"])
        #expect(try await asked(second) == handle)
        #expect(try await asked(journal(storage, formerKeys: ["first"])) == handle)
        #expect(try await asked(journal(storage, sealingKey: "second")) == nil)
        // Without a present key nothing is sealed.
        try await state(on: 30, journal(storage, formerKeys: ["second"]))
        #expect(try await asked(journal(storage, sealingKey: "second")) == nil)
        try await state(on: 60, second)
        #expect(try await asked(journal(storage, sealingKey: "second")) == handle)
    }

    @Test("once more about quarantined deliveries whose provider could not be asked")
    func quarantine() async throws {
        let life = try StripeLife()
        let journal = journal()
        for delivery in life.deliveries { _ = await journal.accept(delivery, with: life.adapter) }
        let unreachable = UnreachableAdapter(adapter: life.adapter)
        for _ in 0..<100 {
            while try await journal.work(with: ["stripe": unreachable]) > 0 {}
            time.advance(3600)
        }
        #expect(try await journal.quarantine.list().count == life.deliveries.count)
        #expect(try await journal.reconcile(with: [], replaying: ["stripe": unreachable]).replayed == 0)
        let report = try await journal.reconcile(with: [], replaying: ["stripe": life.adapter])
        #expect(report.replayed == life.deliveries.count)
        #expect(try await journal.quarantine.list().isEmpty)
    }

    @Test("and takes in the usable part of an answer, which settles nothing by itself")
    func incomplete() async throws {
        let journal = journal()
        let apple = Answerer(.apple, .success(.incomplete([Self.bought], because: .malformed)))
        await #expect(throws: DeliveryError.self) { try await journal.refetch(Self.lineage, with: [apple]) }
        #expect(try await hasAccess(journal))
        time.advance(30 * Self.day + 3600)
        let report = try await journal.reconcile(with: [apple])
        #expect((report.asked, report.open, report.unusable) == (1, 1, 1))
        let list = ListedPurchases("old", [LineageQuestion(Self.lineage, askedAt: time.now)])
        let imported = try await journal.importPurchases(from: list, with: [apple])
        #expect((imported.found, imported.refused, imported.missing) == (1, [Self.lineage], []))
        // A relay's failure before the whole answer is none of the answer's.
        let relay = Answerer(.apple, .failure(DeliveryError(.malformed, "")))
        apple.answer(.success(.stated([Self.renewed])))
        #expect(try await journal.refetch(Self.lineage, with: [relay, apple]) != nil)
    }

    @Test("about a purchase that nothing is known of, when the host wants it")
    func refetch() async throws {
        let journal = journal()
        let apple = Answerer()
        #expect(try await journal.refetch(Self.lineage, with: [apple]) == nil)
        apple.answer(.success(.stated([Self.bought])))
        #expect(try await journal.refetch(Self.lineage, with: [apple]) != nil)
        #expect(try await hasAccess(journal))
        apple.answer(.failure(DeliveryError(.unavailable, "")))
        await #expect(throws: DeliveryError.self) { try await journal.refetch(Self.lineage, with: [apple]) }
    }
}
