import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import PostgresJournal
import SQLiteJournal
import Stripe
import Synchronization
import Testing
import WireJSON

/// A customer's life on Stripe, and an adapter that believes it.
struct StripeLife {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    let simulator: StripeSimulator
    let adapter: StripeAdapter
    let deliveries: [Delivery]

    init(_ story: CustomerStory = .life, seed: String = "life") throws {
        let simulator = StripeSimulator(seed: seed)
        self.simulator = simulator
        adapter = try StripeAdapter(.init(signingSecrets: [simulator.signingSecret]))
        deliveries = try simulator.notifications(story, from: Self.start).map {
            try simulator.delivery(of: $0, sentAt: $0.occurredAt)
        }
    }

    /// The ledger of all deliveries.
    func ledger() async throws -> AccountLedger {
        var ledger = AccountLedger()
        for delivery in deliveries { _ = ledger.apply(try await adapter.receive(delivery)) }
        return ledger
    }
}

/// A time that tests set.
final class ManualTime: Sendable {
    private let value: Mutex<Date>
    init(_ value: Date) { self.value = Mutex(value) }
    var now: Date { value.withLock { $0 } }
    func set(_ date: Date) { value.withLock { $0 = date } }
    func advance(_ seconds: TimeInterval) { value.withLock { $0.addTimeInterval(seconds) } }
}

final class RecordingObserver: JournalObserver {
    private let stored = Mutex<[JournalObservation]>([])
    func observe(_ observation: JournalObservation) { stored.withLock { $0.append(observation) } }
    var unreadable: Set<JournalTable> {
        Set(stored.withLock { $0 }.compactMap { if case .unreadable(let table) = $0 { table } else { nil } })
    }
    var deliveries: [DeliveryObservation] {
        stored.withLock { $0 }.compactMap { if case .delivery(let delivery) = $0 { delivery } else { nil } }
    }
}

@Suite("A journal keeps what deliveries come to", .timeLimit(.minutes(5)))
struct JournalTests {
    let time = ManualTime(StripeLife.start)

    private func journal(
        _ storage: any JournalStorage = MemoryJournal(),
        observer: (any JournalObserver)? = nil,
        _ change: (inout Journal.Options) -> Void = { _ in }
    ) -> Journal {
        var options = Journal.Options()
        change(&options)
        let time = time
        return Journal(
            storage,
            options: options,
            observer: observer,
            clock: TestClock(jumping: true),
            now: { time.now }
        )
    }

    @Test("Every delivery twice and backwards gives the states that each once gives")
    func states() async throws {
        let life = try StripeLife()
        let journal = journal()
        for delivery in life.deliveries.reversed() + life.deliveries {
            #expect(await journal.receive(delivery, with: life.adapter).status == 200)
        }
        for state in try await life.ledger().states {
            #expect(try await journal.state(of: state.subscription) == state)
        }
        #expect(try await journal.rebuild().differing == [])
        #expect(try await journal.verify().findings == [])
        let events = try await journal.events(limit: 1000).map(\.event.event.id)
        #expect(Set(events).count == events.count)
        #expect(!events.isEmpty)
    }

    @Test("A customer who comes back under a new name has resubscribed")
    func comesBack() async throws {
        let simulator = StripeSimulator(seed: "returns")
        let adapter = try StripeAdapter(.init(signingSecrets: [simulator.signingSecret]))
        let journal = journal()
        let start = Int64(StripeLife.start.timeIntervalSince1970)
        for (name, time) in [("sub_a", start), ("sub_b", start + 90 * 86_400)] {
            let subscription = StripeSubscription(name, status: "active", from: time, to: time + 30 * 86_400)
            let body = simulator.event(
                "customer.subscription.created",
                id: "evt_\(name)",
                created: time,
                object: .object(subscription.object(.endive))
            ).bytes
            let date = Date(timeIntervalSince1970: Double(time))
            #expect(await journal.receive(try simulator.delivery(body, receivedAt: date), with: adapter).status == 200)
        }
        let origins = try await journal.events(limit: 10).map { line -> LifecycleEvent.Started.Origin? in
            if case .started(let started) = line.event.event.event { started.origin } else { nil }
        }
        #expect(Set(origins) == [.new, .resubscribed])
        #expect(try await journal.verify().findings == [])
    }

    @Test("A failed charge that is settled without an event gives access, before and after a rebuild")
    func statements() async throws {
        let life = try StripeLife(try #require(CustomerStory.named("grace-lapses")))
        let storage = MemoryJournal()
        let journal = journal(storage)
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        let ledger = try await life.ledger()
        let account = try #require(ledger.accounts.first)
        try await storage.write { transaction in
            for record in try await transaction.records(JournalSelection(limit: 10), in: .state) {
                _ = try await transaction.delete(record, from: .state)
            }
        }
        _ = try await journal.rebuild(repairing: true)
        for day in 0..<120 {
            let moment = StripeLife.start.addingTimeInterval(Double(day) * 86_400)
            #expect(try await journal.access(of: [account], at: moment) == ledger.access(of: account, at: moment))
        }
        let lines = try await journal.lines()
        #expect(lines.contains { if case .statement = $0.line { true } else { false } })
    }

    @Test("The end of a purchase ends the items that are stored under names of their own", arguments: [false, true])
    func items(endFirst: Bool) async throws {
        func result(_ id: String, at days: Double, _ facts: [Fact]) -> Normalization {
            let statement = StoreStatement(
                subscription: SubscriptionID(store: .playStore, environment: .production, id: id),
                provider: .google,
                assertedAt: StripeLife.start.addingTimeInterval(days * 86_400),
                facts: facts,
                origin: .madeUp(digest: "\(id) \(days)")
            )
            return Normalization(noChange: .init(.unchanged, statement: statement))
        }
        let start = StripeLife.start
        let items = ["P:a", "P:b"].map { id in
            result(
                id,
                at: 0,
                [
                    .closure(.open), .owner(Account("u1", .appUserID)),
                    .period(
                        .init(
                            ServicePeriod(start: start, end: start.addingTimeInterval(30 * 86_400)),
                            product: ProductID(id),
                            phase: .regular,
                            transaction: TransactionID(id)
                        )
                    ),
                ]
            )
        }
        let over = start.addingTimeInterval(5 * 86_400)
        let end = result("P", at: 5, [.closure(.init(at: over, reason: .unknown, coversItems: true))])
        let storage = MemoryJournal()
        let journal = journal(storage)
        for result in endFirst ? [end] + items : items + [end] { _ = try await journal.apply(result) }
        let account = Account.Identifier("u1", .appUserID)
        func check() async throws {
            #expect(try await journal.access(of: [account], at: over.addingTimeInterval(-60)).decision.isGranted)
            #expect(try await !journal.access(of: [account], at: over.addingTimeInterval(60)).decision.isGranted)
            #expect(try await journal.rebuild().differing == [])
        }
        try await check()
        try await storage.write { transaction in
            for record in try await transaction.records(JournalSelection(limit: 10), in: .state) {
                _ = try await transaction.delete(record, from: .state)
            }
        }
        _ = try await journal.rebuild(repairing: true)
        try await check()
    }

    @Test("A delivery that cannot be kept is answered with 503, and is taken in when it comes again")
    func notKept() async throws {
        let life = try StripeLife()
        let faults = FaultSwitch()
        faults.set(.full)
        let observer = RecordingObserver()
        let journal = journal(MemoryJournal(fault: { faults.fault }), observer: observer)
        #expect(await journal.receive(life.deliveries[0], with: life.adapter).status == 503)
        faults.set(.beforeBegin)
        #expect(await journal.receive(life.deliveries[0], with: life.adapter).status == 503)
        #expect(await journal.accept(life.deliveries[0], with: life.adapter).status == 503)
        faults.set(nil)
        #expect(await journal.receive(life.deliveries[0], with: life.adapter).status == 200)
        #expect(observer.deliveries.map(\.decision) == [.retryLater, .retryLater, .retryLater, .accept])
        #expect(observer.deliveries.last?.newEvents ?? 0 > 0)
    }

    @Test("A forgery is refused, and nothing of it is kept")
    func forgery() async throws {
        let life = try StripeLife()
        var forged = life.deliveries[0]
        forged.body.append(0x20)
        let journal = journal { $0.deliveryRetention = .seconds(3600) }
        #expect(await journal.receive(forged, with: life.adapter).status == 400)
        #expect(await journal.accept(forged, with: life.adapter).status == 400)
        #expect(try await journal.events().isEmpty)
        #expect(try await journal.quarantine.list().isEmpty)
        #expect(try await journal.work(with: ["stripe": life.adapter]) == 0)
    }

    @Test("A delivery of another mode waits in quarantine, and leaves it when it can be taken in")
    func quarantine() async throws {
        let life = try StripeLife()
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        configuration.mode = .test
        let strict = try StripeAdapter(configuration)
        let journal = journal()
        for _ in 0..<2 {
            #expect(await journal.receive(life.deliveries[0], with: strict, as: "shop").status == 200)
        }
        let entry = try #require(try await journal.quarantine.list().first)
        #expect(try await journal.quarantine.list(after: entry).isEmpty)
        #expect(entry.source == "shop")
        #expect(entry.reason.contains("misdirected"))
        #expect(entry.id.hasPrefix("shop:") && !entry.id.contains("\n"))
        #expect(try await journal.quarantine.entry(entry.id)?.delivery.body == entry.delivery.body)
        for stranger in ["", "shop", "shop:", "\0:", entry.id + "0"] {
            #expect(try await journal.quarantine.entry(stranger)?.id == nil)
        }
        #expect(await journal.quarantine.replay(entry, with: life.adapter).decision == .accept)
        #expect(try await journal.quarantine.list().isEmpty)
        #expect(try await !journal.events().isEmpty)
        #expect(try await !journal.quarantine.discard(entry))
        #expect(try await journal.quarantine.entry(entry.id)?.id == nil, "it is kept as a delivery that was taken in")
    }

    @Test("A quarantine takes so many deliveries and bytes, and no more until some leave it", arguments: [true, false])
    func fullQuarantine(isFullByNumber: Bool) async throws {
        let life = try StripeLife()
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        configuration.mode = .test
        let strict = try StripeAdapter(configuration)
        let free = journal()
        for delivery in life.deliveries.prefix(2) { _ = await free.receive(delivery, with: strict) }
        let bytes = try #require(try await free.quarantine.sizes()["stripe"]?.bytes)
        let journal = journal {
            $0.quarantineLimit =
                isFullByNumber ? .init(deliveries: 2, bytes: .max) : .init(deliveries: .max, bytes: bytes)
        }
        for delivery in life.deliveries.prefix(2) {
            for _ in 0..<2 { #expect(await journal.receive(delivery, with: strict).status == 200) }
        }
        #expect(await journal.receive(life.deliveries[2], with: strict).status == 503)
        #expect(try await journal.quarantine.sizes() == ["stripe": .init(deliveries: 2, bytes: bytes)])
        // Another source has a quarantine of its own.
        #expect(await journal.receive(life.deliveries[2], with: strict, as: "shop").status == 200)
        for entry in try await journal.quarantine.list() where entry.source == "stripe" {
            if entry.delivery.body == life.deliveries[0].body {
                #expect(try await journal.quarantine.discard(entry))
            } else {
                #expect(await journal.quarantine.replay(entry, with: life.adapter).decision == .accept)
            }
        }
        #expect(try await journal.quarantine.sizes()["stripe"] == .init(deliveries: 0, bytes: 0))
        #expect(await journal.receive(life.deliveries[0], with: strict).status == 200)
    }

    @Test("A later claim takes nothing away, also by a clock that is behind")
    func claimByAClockThatIsBehind() async throws {
        let journal = journal()
        let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
        try await journal.claim(lineage, by: Account("ada", .appUserID))
        time.advance(-3600)
        try await journal.claim(lineage, by: Account("ben", .appUserID))
        let ownership = try #require(try await journal.state(of: lineage)).ownership
        #expect(ownership.accounts == [.init("ada", .appUserID)])
        #expect(ownership.conflicts.map(\.claimed) == [.init("ben", .appUserID)])
    }

    @Test("One of several copies that differ where nothing is signed is kept, in quarantine and for a worker")
    func signedDocuments() async throws {
        let life = try StripeLife()
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        configuration.mode = .test
        let (strict, able) = (
            PartlySigned(adapter: try StripeAdapter(configuration)), PartlySigned(adapter: life.adapter)
        )
        let journal = journal()
        for copy in 0..<3 {
            var delivery = life.deliveries[0]
            delivery.body += Array("#\(copy)".utf8)
            #expect(await journal.receive(delivery, with: strict).status == 200)
            #expect(await journal.accept(delivery, with: able, as: "other").status == 200)
        }
        let kept = try await journal.quarantine.list()
        #expect(kept.map(\.delivery.body) == [life.deliveries[0].body])
        #expect(try await journal.work(with: ["other": able]) == 1)
    }

    @Test("In two steps it comes to the same as in one")
    func twoSteps() async throws {
        let life = try StripeLife()
        let (one, two) = (journal(), journal())
        for delivery in life.deliveries {
            _ = await one.receive(delivery, with: life.adapter)
            #expect(await two.accept(delivery, with: life.adapter).status == 200)
        }
        #expect(try await two.events().isEmpty)
        // Of another source; it waits for a worker that knows it.
        #expect(await two.accept(life.deliveries[0], with: life.adapter, as: "other").status == 200)
        time.advance(31_536_000)
        while try await two.work(with: ["stripe": life.adapter], limit: 3) > 0 {}
        #expect(try await two.work(with: ["other": life.adapter]) == 1)
        for state in try await life.ledger().states {
            #expect(try await two.state(of: state.subscription) == state)
        }
        let (first, second) = (try await one.events(limit: 500), try await two.events(limit: 500))
        #expect(first.map(\.event) == second.map(\.event))
    }

    @Test(
        "A delivery that the database refuses holds up no other, and itself for a moment only",
        arguments: [MemoryJournal.Fault.conflict, .full]
    )
    func refusedByDatabase(fault: MemoryJournal.Fault) async throws {
        let life = try StripeLife()
        let pending = Mutex<[MemoryJournal.Fault?]>([])
        let observer = RecordingObserver()
        let storage = MemoryJournal(fault: { pending.withLock { $0.isEmpty ? nil : $0.removeFirst() } })
        let journal = journal(storage, observer: observer) { $0.maximumAttempts = 1 }
        for delivery in life.deliveries { #expect(await journal.accept(delivery, with: life.adapter).status == 200) }
        // The clock was looked after already. The batch is leased, one delivery is taken in, and the next one is refused, as often as
        // it is tried.
        #expect(try await journal.work(with: [:]) == 0)
        let isConflict = fault == .conflict
        pending.withLock { $0 = [nil, nil] + Array(repeating: fault, count: isConflict ? 24 : 1) }
        let work = { try await journal.work(with: ["stripe": life.adapter], limit: 1000) }
        if isConflict {
            #expect(try await work() == life.deliveries.count)
            #expect(observer.deliveries.count == life.deliveries.count - 1)
        } else {
            await #expect(throws: JournalError.self) { try await work() }
            #expect(observer.deliveries.count == 1)
        }
        #expect(try await work() == 0)
        time.advance(5)
        #expect(try await work() > 0)
        #expect(observer.deliveries.allSatisfy { $0.decision == .accept }, "no attempt was counted for nothing")
        for state in try await life.ledger().states {
            #expect(try await journal.state(of: state.subscription) == state)
        }
    }

    @Test("A look-up that fails is tried again later, and is given up to the quarantine in the end")
    func backOff() async throws {
        let life = try StripeLife()
        let dead = UnreachableAdapter(adapter: life.adapter)
        let journal = journal { $0.maximumAttempts = 3 }
        #expect(await journal.accept(life.deliveries[0], with: dead).status == 200)
        #expect(try await journal.work(with: ["stripe": dead]) == 1)
        #expect(try await journal.work(with: ["stripe": dead]) == 0, "it waits")
        #expect(try await journal.waitingDeliveries(dueBy: time.now, upTo: 9) == 0)
        #expect(try await journal.waitingDeliveries(upTo: 9) == 1)
        time.advance(3600)
        #expect(try await journal.work(with: ["stripe": dead]) == 1)
        #expect(try await journal.quarantine.list().isEmpty)
        time.advance(3600)
        #expect(try await journal.work(with: ["stripe": dead]) == 1)
        let entry = try #require(try await journal.quarantine.list().first)
        #expect(try await journal.waitingDeliveries(upTo: 9) == 0)
        #expect(await journal.quarantine.replay(entry, with: life.adapter).decision == .accept)
        #expect(try await !journal.events().isEmpty)
    }

    @Test("News that is refused is given out for three days")
    func refusedNews() async throws {
        let life = try StripeLife()
        let journal = journal()
        _ = await journal.receive(life.deliveries[0], with: life.adapter)
        let began = time.now
        var last = began
        while try await journal.outbox.abandoned().isEmpty {
            for item in try await journal.outbox.next(lease: .seconds(30)) {
                last = time.now
                _ = try await journal.outbox.failed(item, because: "the mail server is away")
            }
            time.advance(60)
        }
        #expect(abs(last.timeIntervalSince(began) - 3 * 86_400) < 7200)
    }

    @Test("News comes out of the outbox under a lease, and again where the lease ends")
    func outbox() async throws {
        let life = try StripeLife()
        let journal = journal { $0.maximumAttempts = 2 }
        _ = await journal.receive(life.deliveries[0], with: life.adapter)
        let first = try #require(try await journal.outbox.next(lease: .seconds(30)).first)
        #expect(try await journal.outbox.next(lease: .seconds(30)).isEmpty)
        time.advance(31)
        let second = try #require(try await journal.outbox.next(lease: .seconds(30)).first)
        #expect(second.id == first.id)
        #expect(second.attempts == 1)
        #expect(try await !journal.outbox.done(first), "the lease is over")
        #expect(try await journal.outbox.failed(second, because: "the mail server is away"))
        time.advance(3600)
        #expect(try await journal.outbox.next(lease: .seconds(30)).isEmpty, "given up")
        let abandoned = try #require(try await journal.outbox.abandoned().first)
        #expect(abandoned.id == first.id)
        #expect(try await journal.outbox.revive(abandoned))
        let third = try #require(try await journal.outbox.next(lease: .seconds(30)).first)
        #expect(try await journal.outbox.done(third))
        #expect(try await journal.outbox.done(third), "said twice, as after a lost answer")
        time.advance(3600)
        #expect(try await journal.outbox.next(lease: .seconds(30)).isEmpty)
    }

    @Test(
        "News that was given up is put away with the reason, and other news is not",
        arguments: TestedStorage.available
    )
    func discardedNews(tested: TestedStorage) async throws {
        let life = try StripeLife()
        let folder = TemporaryFolder()
        let storage = try await tested.open(in: folder)[0]
        let journal = journal(storage) { $0.maximumAttempts = 1 }
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        let items = try await journal.outbox.next(3, lease: .seconds(30))
        try #require(items.count == 3)
        for item in items.dropLast() { #expect(try await journal.outbox.failed(item, because: "status 400")) }
        #expect(try await !journal.outbox.discard(items[2]), "a worker has it")
        let given = try await journal.outbox.abandoned()
        #expect(given.map(\.id) == items.dropLast().map(\.id))
        let feed = try await journal.events(limit: 1000)
        time.advance(60)
        let item = try #require(given.first)
        #expect(try await journal.outbox.discard(item))
        #expect(try await journal.outbox.discard(item), "said twice, as after a lost answer")
        #expect(try await journal.outbox.abandoned().map(\.id) == [items[1].id])
        #expect(try await journal.outbox.abandoned(id: item.id)?.id == nil)
        #expect(try await !journal.outbox.revive(item))
        time.advance(86_400)
        #expect(try await journal.outbox.next(1000, lease: .seconds(30)).contains { $0.id == item.id } == false)
        // The act is on record, and nothing is lost.
        let row = try #require(try await storage.read { try await $0.record(item.id, in: .event) })
        #expect(row.group == "discarded")
        #expect(row.order == Int64((StripeLife.start.timeIntervalSince1970 + 60) * 1000))
        #expect(String(decoding: row.detail, as: UTF8.self).contains("status 400"))
        #expect(try await journal.events(limit: 1000) == feed)
        #expect(try await journal.verify().findings == [])
    }

    @Test("A duty that was given up is put away, is not scheduled again, and is pruned like one that is done")
    func discardedDuty() async throws {
        let storage = MemoryJournal()
        let journal = journal(storage) { $0.maximumAttempts = 1 }
        let duty = DueItem(.init(rawValue: "call"), id: "call/1", dueAt: time.now)
        #expect(try await journal.schedule(duty))
        let item = try #require(try await journal.duties.take(id: duty.id))
        #expect(try await !journal.duties.discard(item), "it is still owed")
        try await journal.duties.failed(item, because: "no one answers")
        let given = try #require(try await journal.duties.abandoned(id: duty.id))
        #expect(try await journal.duties.discard(given))
        #expect(try await journal.duties.abandoned().isEmpty)
        #expect(try await journal.due(at: time.now).isEmpty)
        #expect(try await !journal.schedule(duty))
        #expect(try await journal.prune(before: time.now.addingTimeInterval(-1)) == 0)
        #expect(try await journal.prune(before: time.now) == 1)
    }

    @Test("An account is exported and erased, and what is delivered again does not bring it back")
    func erasure() async throws {
        let life = try StripeLife()
        let journal = journal { $0.deliveryRetention = .seconds(31_536_000) }
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        let ledger = try await life.ledger()
        let account = try #require(ledger.accounts.first)
        let owned = ledger.states(of: [account], in: .production)
        let lineage = try #require(owned.first?.subscription)
        let export = try await journal.export(account)
        #expect(export.states == owned)
        #expect(!export.lines.isEmpty)
        let erasure = try await journal.erase(account)
        #expect(erasure.lineages.count > 1 && Set(erasure.lineages) == Set(owned.flatMap(\.lineages)))
        #expect(erasure.lines == export.lines.count)
        #expect(erasure.deliveries > 0)
        for delivery in life.deliveries {
            #expect(await journal.receive(delivery, with: life.adapter).status == 200)
        }
        #expect(try await journal.state(of: lineage) == nil)
        #expect(try await journal.export(account).lines.isEmpty)
        let news = try await journal.outbox.next(100, lease: .seconds(1))
        #expect(!news.contains { $0.value.event.subscription == lineage })
        let verification = try await journal.verify()
        #expect(verification.findings == [])
        #expect(verification.erased == Int64(erasure.lines))
    }

    @Test("Raw deliveries are kept without what proves them, and go when their time is over")
    func retention() async throws {
        let life = try StripeLife()
        let storage = MemoryJournal()
        let journal = journal(storage) { $0.deliveryRetention = .seconds(3600) }
        _ = await journal.receive(life.deliveries[0], with: life.adapter)
        let rows = try await storage.read { try await $0.records(JournalSelection(limit: 9), in: .delivery) }
        #expect(rows.map(\.body) == [life.deliveries[0].body])
        #expect(!String(decoding: try #require(rows.first).detail, as: UTF8.self).contains("Stripe-Signature"))
        #expect(try await journal.prune(before: time.now) == 0)
        time.advance(7200)
        #expect(try await journal.prune(before: time.now) == 1)
    }

    @Test("A line that was changed, removed or put in by hand is found")
    func tampering() async throws {
        let life = try StripeLife()
        for tampering in 0..<4 {
            let storage = MemoryJournal()
            let journal = journal(storage)
            for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
            let whole = try await journal.verify()
            #expect(whole.findings == [])
            try await storage.write { transaction in
                let records = try await transaction.records(JournalSelection(limit: 100), in: .log)
                var record = records[tampering == 2 ? records.count - 1 : 3]
                switch tampering {
                case 0:
                    record.body[record.body.count / 2] ^= 1
                    _ = try await transaction.update(record, in: .log)
                case 3:
                    record.key = "another"
                    _ = try await transaction.insert(record, into: .log)
                default:
                    _ = try await transaction.delete(record, from: .log)
                }
            }
            #expect(try await !journal.verify().findings.isEmpty, "tampering \(tampering)")
        }
    }

    @Test("A state that was lost or edited is built again from the log")
    func repair() async throws {
        let life = try StripeLife()
        let storage = MemoryJournal()
        let journal = journal(storage)
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        let ledger = try await life.ledger()
        try await storage.write { transaction in
            for record in try await transaction.records(JournalSelection(limit: 10), in: .state) {
                _ = try await transaction.delete(record, from: .state)
            }
        }
        let differing = try await journal.rebuild().differing
        #expect(Set(differing.map { ledger[$0]?.subscription }) == Set(ledger.states.map(\.subscription)))
        #expect(differing.count == ledger.states.count)
        _ = try await journal.rebuild(repairing: true)
        for state in ledger.states {
            #expect(try await journal.state(of: state.subscription) == state)
        }
        #expect(try await journal.rebuild().differing == [])
    }

    @Test("The catalogue describes what is built again as it described what came")
    func catalogue() async throws {
        let catalog = ProductCatalog(
            [],
            oneTimeProducts: [.init(id: "pass", type: .nonRenewing, duration: CalendarDuration(days: 30))],
            unlisted: .consumable
        )
        let bought = Fact.OneTimePurchase(
            transaction: "1",
            product: "pass",
            purchase: LifecycleEvent.OneTimePurchase(type: .nonRenewing, quantity: 1),
            at: StripeLife.start
        )
        let statement = StoreStatement(
            subscription: SubscriptionID(store: .appStore, environment: .production, id: "1"),
            provider: .apple,
            assertedAt: StripeLife.start,
            facts: [.owner(Account("u1", .appUserID)), .purchase(bought)],
            origin: Origin(type: "T", channel: .webhook, evidence: .init(.unchecked), digest: "1", mapper: "test/1")
        )
        let storage = MemoryJournal()
        let journal = journal(storage) { $0.catalog = catalog }
        _ = try await journal.apply(Normalization(noChange: .init(.unchanged, statement: statement)))
        func check() async throws {
            let time = StripeLife.start.addingTimeInterval(86_400)
            #expect(try await journal.access(of: [.init("u1", .appUserID)], at: time).decision.isGranted)
            #expect(try await journal.rebuild().differing == [])
            var ledger = AccountLedger()
            for stored in try await journal.lines() { ledger.apply(stored.line, catalog: catalog) }
            #expect(try await journal.state(of: statement.subscription) == ledger.states.first)
        }
        try await check()
        _ = try await journal.rebuild(repairing: true)
        try await check()
        // As on a command line on which the catalogue was forgotten.
        try await journal.noteCatalog()
        let other = self.journal(storage)
        let error = await #expect(throws: JournalError.self) { try await other.rebuild(repairing: true) }
        #expect(error?.code == .invalidArgument)
        try await check()
        #expect(try await other.rebuild().differing == [statement.subscription])
        _ = try await journal.rebuild(repairing: true)
        // The host has none any more.
        try await other.noteCatalog()
        #expect(try await other.rebuild(repairing: true).differing == [statement.subscription])
    }

    @Test("Credits are used once for each id, never more than there are, and by several at once")
    func credits() async throws {
        let life = try StripeLife(try #require(CustomerStory.named("initial-purchase")))
        let folder = TemporaryFolder()
        let journals = try await [
            journal(SQLiteJournalStorage(path: folder.path("credits.sqlite"))),
            journal(SQLiteJournalStorage(path: folder.path("credits.sqlite"))),
        ]
        for delivery in life.deliveries { _ = await journals[0].receive(delivery, with: life.adapter) }
        let ledger = try await life.ledger()
        let account = try #require(ledger.accounts.first)
        let product = try #require(ledger.states.first?.periods.values.first?.statement.value.product)
        let policy = CreditPolicy([product: .init(credits: 100)])
        let moment = StripeLife.start.addingTimeInterval(86_400)
        #expect(try await journals[0].credits(of: [account], under: policy, at: moment).balance == 100)
        let used = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<12 {
                group.addTask {
                    // Each job is asked for twice, by two processes.
                    let statement = try await journals[index % 2]
                        .use(30, id: "job \(index / 2)", of: [account], under: policy, at: moment)
                    return statement == nil ? 0 : 1
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(used == 6, "three jobs, each of them twice")
        #expect(try await journals[1].credits(of: [account], under: policy, at: moment).balance == 10)
        for early in [0, 60.0, 80_000] {
            let time = moment.addingTimeInterval(0 - early)
            #expect(try await journals[1].use(11, id: "more", of: [account], under: policy, at: time) == nil)
        }
        for _ in 0..<2 { try await journals[0].give(5, id: "sorry", to: account, at: moment) }
        #expect(try await journals[0].credits(of: [account], under: policy, at: moment).balance == 15)
        // An id that names something else would give work away.
        for (id, credits) in [("job 0", 31), ("sorry", 5), ("sorry", -5)] as [(String, Int64)] {
            let use = await #expect(throws: JournalError.self) {
                try await journals[1].use(abs(credits), id: id, of: [account], under: policy, at: moment)
            }
            #expect(use?.code == .idTaken)
        }
        let other = Account.Identifier("another", account.source)
        for (accounts, environment) in [([other], .production), ([account], .sandbox)]
            as [([Account.Identifier], StoreEnvironment)]
        {
            let use = await #expect(throws: JournalError.self) {
                try await journals[1].use(30, id: "job 0", of: accounts, under: policy, in: environment, at: moment)
            }
            #expect(use?.code == .idTaken)
        }
        for (credits, account) in [(6, account), (5, other)] as [(Int64, Account.Identifier)] {
            let gift = await #expect(throws: JournalError.self) {
                try await journals[1].give(credits, id: "sorry", to: account, at: moment)
            }
            #expect(gift?.code == .idTaken)
        }
        #expect(try await journals[0].credits(of: [account], under: policy, at: moment).balance == 15)
    }

    private static let storages: [Storage] = [.sqlite] + (PostgresServer.isInstalled ? [.postgres] : [])

    enum Storage: Sendable {
        case sqlite
        case postgres

        /// Two handles of one database.
        func handles(_ folder: TemporaryFolder) async throws -> [any JournalStorage] {
            switch self {
            case .sqlite:
                let path = folder.path("gifts.sqlite")
                return [try await SQLiteJournalStorage(path: path), try await SQLiteJournalStorage(path: path)]
            case .postgres:
                let url = SecretBytes(try await PostgresServer.shared().database())
                return [
                    try await PostgresJournalStorage(.init(url: url)),
                    try await PostgresJournalStorage(.init(url: url)),
                ]
            }
        }
    }

    /// Such an account has no purchase whose version the uses would raise.
    @Test("A gift is used once, by several at once, and under any of the account's names", arguments: storages)
    func gifts(storage: Storage) async throws {
        let folder = TemporaryFolder()
        let journals = try await storage.handles(folder).map { journal($0) }
        let (ada, bob) = (Account.Identifier("ada", .appUserID), Account.Identifier("bob", .appUserID))
        let moment = StripeLife.start
        let end = moment.addingTimeInterval(6)
        for round in 0..<8 {
            try await journals[0].give(100, id: "gift \(round)", to: ada, at: moment)
            let used = try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<6 {
                    group.addTask {
                        let names = index % 3 == 0 ? [ada] : index % 3 == 1 ? [bob, ada] : [ada, bob]
                        let id = "job \(round) \(index)"
                        // A later transaction may have an earlier time: each process has read its own clock before its turn.
                        let time = moment.addingTimeInterval(Double(6 - index))
                        let statement = try await journals[index % 2]
                            .use(60, id: id, of: names, under: CreditPolicy([:]), at: time)
                        return statement == nil ? 0 : 60
                    }
                }
                return try await group.reduce(0, +)
            }
            // The rest of a round is there in the next one: 300 are used up after three.
            let given = Int64(round + 1) * 100
            let expected = given / 60 * 60
            let after = try await journals[1].credits(of: [ada], under: CreditPolicy([:]), at: end)
            #expect(after.balance == given - expected, "\(used) were used in round \(round)")
            #expect(after.grants.allSatisfy { $0.reason == .given })
        }
        let statement = try await journals[0].credits(of: [bob], under: CreditPolicy([:]), at: end)
        #expect(
            statement.balance == 0 && statement.grants.isEmpty,
            "the gifts are not the other name's, nor are their uses"
        )
    }

    @Test("Ids that only look alike name two uses", arguments: lookalikes)
    func lookalikeUses(_ one: String, _ other: String) async throws {
        let journal = journal()
        let ada = Account.Identifier("ada", .appUserID)
        let moment = StripeLife.start.addingTimeInterval(1)
        try await journal.give(100, id: "gift", to: ada, at: StripeLife.start)
        func use(_ id: String) async throws -> Int64? {
            try await journal.use(40, id: id, of: [ada], under: CreditPolicy([:]), at: moment)?.balance
        }
        for (id, left) in [(one, 60), (one, 60), (other, 20), (other, 20), ("more", nil)] as [(String, Int64?)] {
            #expect(try await use(id) == left)
        }
    }

    private static let lookalikes = [("caf\u{E9}", "cafe\u{301}"), ("\u{C5}", "A\u{30A}"), ("\u{212B}", "A\u{30A}")]

    @Test("A claim binds a purchase, and a checkpoint moves for one reader alone")
    func claimsAndCheckpoints() async throws {
        let journal = journal()
        let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
        try await journal.claim(lineage, by: Account("ada", .appUserID))
        let ledger = try await journal.ledger(of: [.init("ada", .appUserID)])
        #expect(ledger.states(of: [.init("ada", .appUserID)], in: .production).map(\.subscription) == [lineage])
        #expect(try await journal.setCheckpoint("page 1", of: "history", after: nil))
        let checkpoint = try #require(try await journal.checkpoint(of: "history"))
        #expect(try await journal.setCheckpoint("page 2", of: "history", after: checkpoint))
        #expect(try await !journal.setCheckpoint("page 7", of: "history", after: checkpoint))
        #expect(try await journal.checkpoint(of: "history")?.value == "page 2")
        let item = DueItem("call", id: "1", dueAt: time.now, deadline: time.now)
        #expect(try await journal.schedule(item))
        #expect(try await !journal.schedule(item))
        #expect(try await journal.due(at: time.now) == [item])
        #expect(try await journal.due(at: time.now, of: item.kind, limit: 1) == [item])
        #expect(try await journal.due(at: time.now, of: .acknowledgement, limit: 1) == [])
        #expect(try await journal.due(at: time.now, after: item.id, limit: 1) == [])
        let error = await #expect(throws: JournalError.self) { try await journal.due(at: time.now, after: "2") }
        #expect(error?.code == .invalidArgument)
        #expect(try await journal.duties.next(lease: .seconds(9)).map(\.value) == [item])
    }
}

final class FaultSwitch: Sendable {
    private let value = Mutex<MemoryJournal.Fault?>(nil)
    var fault: MemoryJournal.Fault? { value.withLock { $0 } }
    func set(_ fault: MemoryJournal.Fault?) { value.withLock { $0 = fault } }
}

/// Takes what follows the last `#` of a body for something that nothing signs.
struct PartlySigned: ProviderAdapter {
    typealias Notification = StripeNotification
    typealias Resolved = StripeNotification
    let adapter: StripeAdapter
    var provider: Provider { adapter.provider }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification> {
        try adapter.authenticate(signedDocument(of: delivery))
    }

    func normalize(_ resolved: Authenticated<Resolved>) throws(DeliveryError) -> Normalization {
        try adapter.normalize(resolved)
    }

    func signedDocument(of delivery: Delivery) -> Delivery {
        var signed = delivery
        if let end = signed.body.lastIndex(of: UInt8(ascii: "#")) { signed.body.removeSubrange(end...) }
        return signed
    }
}

/// Proves like the other, and cannot reach the provider.
struct UnreachableAdapter: ProviderAdapter {
    typealias Notification = StripeNotification
    typealias Resolved = StripeNotification
    let adapter: StripeAdapter
    var provider: Provider { adapter.provider }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification> {
        try adapter.authenticate(delivery)
    }

    func resolve(_ notification: Authenticated<Notification>) async throws(DeliveryError) -> Authenticated<Resolved> {
        throw DeliveryError(.unavailable, "nobody answers")
    }

    func normalize(_ resolved: Authenticated<Resolved>) throws(DeliveryError) -> Normalization {
        try adapter.normalize(resolved)
    }
}
