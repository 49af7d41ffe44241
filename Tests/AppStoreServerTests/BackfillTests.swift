import AppStoreServer
import AppleJWS
import Foundation
import HTTPTransport
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Synchronization
import Testing

@Suite("A backfill from Apple's notification history", .timeLimit(.minutes(5))) struct BackfillTests {
    static let start = World.start.addingTimeInterval(-86_400 * 60)

    /// A world whose server remembers a story, and what the webhook would have brought.
    func world() throws -> (World, [Delivery]) {
        let world = try World()
        world.serve()
        let story = try World.story(from: Self.start)
        world.state.withLock { $0.production.sent = story.map { .init($0) } }
        let apple = world.state.withLock { $0.production.apple }
        return (world, try story.map { try apple.delivery($0, receivedAt: World.start) })
    }

    /// A journal's knowledge, and its reports.
    struct Outcome: Equatable {
        var states: [SubscriptionState] = []
        var events: Set<EventID> = []
        var news: [EventID: Int] = [:]
        var order: [EventID] = []

        init(_ journal: Journal) async throws {
            let feed = try await journal.events(limit: 10_000)
            events = Set(feed.map(\.event.event.id))
            for event in feed where event.event.isNews { news[event.event.event.id, default: 0] += 1 }
            order = feed.filter(\.event.isNews).map(\.event.event.id)
            for lineage in Set(feed.compactMap(\.event.event.subscription)).sorted(by: { "\($0)" < "\($1)" }) {
                if let state = try await journal.state(of: lineage) { states.append(state) }
            }
        }
    }

    @Test("heals any loss: states and events are those of a host that missed nothing, each reported once")
    func losses() async throws {
        let (world, deliveries) = try world()
        let adapter = try world.adapter()
        var history = try world.client().history(in: .production)
        let whole = Journal(MemoryJournal(), now: { World.start })
        for delivery in deliveries { #expect(await whole.receive(delivery, with: adapter).status == 200) }
        let expected = try await Outcome(whole)
        #expect(expected.events.count > 10)
        let lines = try await whole.lines(limit: 10_000).count

        for round in 0..<12 {
            history.maximumPages = round % 3 + 1
            world.state.withLock { $0.production.listsNewestFirst = round % 2 == 0 }
            // All are lost in the first round, and none in the second.
            let kept = deliveries.enumerated().filter { index, _ in
                round == 1 || round > 1 && (index + 1) * (round + 3) % 11 < 5
            }
            .map(\.element)
            let journal = Journal(MemoryJournal(), now: { World.start })
            for delivery in kept { _ = await journal.receive(delivery, with: adapter) }
            let report = try await journal.backfill(from: history, since: Self.start)
            #expect(report.deliveries == deliveries.count)
            #expect(report.unreadable == 0 && report.gap == nil && report.through == World.start)
            let healed = try await Outcome(journal)
            #expect(healed.events == expected.events)
            // Read in the order in which the App Store sent them, the same is news.
            if round == 0 { #expect(healed.order == expected.order) }
            #expect(healed.news.values.allSatisfy { $0 == 1 })
            for state in expected.states {
                let stored = try #require(healed.states.first { $0.subscription == state.subscription })
                for day in stride(from: 0.0, through: 90, by: 1) {
                    let time = Self.start.addingTimeInterval(day * 86_400)
                    #expect(
                        stored.access(at: time).isGranted == state.access(at: time).isGranted,
                        "round \(round), day \(day)"
                    )
                }
            }
            // Everything is known now.
            let again = try await journal.backfill(from: history)
            #expect(again.newEvents == 0)
            #expect(try await journal.lines(limit: 10_000).count == lines, "the log has each notification once")
        }
    }

    /// As when Apple has a new root certificate.
    @Test("keeps what it cannot prove, and a replay takes it in once the settings are right")
    func unproven() async throws {
        let (world, deliveries) = try world()
        let journal = Journal(MemoryJournal(), now: { World.start })
        let strange = try world.client(adapter: World(seed: "another root").adapter()).history(in: .production)
        let report = try await journal.backfill(from: strange, since: Self.start)
        #expect(report.unreadable == deliveries.count && report.newEvents == 0)
        let kept = try await journal.quarantine.list()
        #expect(kept.count == deliveries.count)
        // They are older than a webhook may be.
        let adapter = try world.adapter(maximumAge: .seconds(14 * 86_400))
        for entry in kept { #expect(await journal.quarantine.replay(entry, with: adapter).decision == .accept) }
        let whole = Journal(MemoryJournal(), now: { World.start })
        for delivery in deliveries { _ = await whole.receive(delivery, with: try world.adapter()) }
        #expect(try await Outcome(journal).events == Outcome(whole).events)
    }

    @Test("goes on where it was broken off, and notes nothing that is not kept")
    func interruption() async throws {
        let (world, deliveries) = try world()
        var history = try world.client().history(in: .production)
        history.maximumPages = 1
        let storage = MemoryJournal()
        for failing in 0..<2 {
            let broken = Interrupted(base: history, pages: failing)
            let journal = Journal(storage, now: { World.start })
            await #expect(throws: DeliveryError.self) { try await journal.backfill(from: broken, since: Self.start) }
        }
        let journal = Journal(storage, now: { World.start })
        let report = try await journal.backfill(from: history, since: Self.start)
        #expect(report.through == World.start)
        let outcome = try await Outcome(journal)
        #expect(outcome.news.values.allSatisfy { $0 == 1 })
        let whole = Journal(MemoryJournal(), now: { World.start })
        let adapter = try world.adapter()
        for delivery in deliveries { _ = await whole.receive(delivery, with: adapter) }
        #expect(try await Outcome(whole).events == outcome.events)
    }

    @Test(
        "stops where Apple says that there are more notifications, and not from where on",
        arguments: ["", #""paginationToken":"t","#]
    )
    func endless(token: String) async throws {
        let world = try World()
        let body = Array(#"{"notificationHistory":[],\#(token)"hasMore":true}"#.utf8)
        world.transport.on(.any, respond: HTTPTransportResponse(status: 200, body: body))
        let history = try world.client().history(in: .production)
        let journal = Journal(MemoryJournal(), now: { World.start })
        await #expect(throws: DeliveryError.self) { try await journal.backfill(from: history, since: Self.start) }
        // The next run reads it again.
        let (remembering, deliveries) = try self.world()
        let report = try await journal.backfill(from: remembering.client().history(in: .production))
        #expect(report.deliveries == deliveries.count)
    }

    @Test("begins with the first notification of its environment, and not of another one")
    func beginning() async throws {
        let (world, deliveries) = try world()
        let adapter = try world.adapter()
        let journal = Journal(MemoryJournal(), now: { World.start })
        let first = try #require(deliveries.first)
        #expect(await journal.receive(first, with: adapter).status == 200)
        let event = try #require(try await journal.events().first?.event.event)
        var other = event
        other.app = "com.example.other"
        let production = try world.client().history(in: .production)
        let sandbox = try world.client().history(in: .sandbox)
        #expect([event, other].map(production.lists) == [true, false])
        #expect([event, other].map(sandbox.lists) == [false, false])
        #expect(try await journal.backfill(from: production).deliveries == deliveries.count)
        #expect(try await journal.backfill(from: sandbox).pages == 0)
    }

    @Test("says what Apple had forgotten, and begins with the present where it was never read")
    func gap() async throws {
        let (world, _) = try world()
        var history = try world.client().history(in: .production)
        history.maximumPages = 1
        let fresh = Journal(MemoryJournal(), now: { World.start })
        let report = try await fresh.backfill(from: history)
        #expect(report.pages == 0 && report.deliveries == 0 && report.through == World.start)

        let old = World.start.addingTimeInterval(-400 * 86_400)
        let late = Journal(MemoryJournal(), now: { World.start })
        let gap = try #require(try await late.backfill(from: history, since: old).gap)
        #expect(gap.from == old)
        #expect(gap.until == World.start.addingTimeInterval(-180 * 86_400 + 3600))

        // A kill between two pages does not hide it.
        let storage = MemoryJournal()
        let killed = Journal(storage, now: { World.start })
        await #expect(throws: DeliveryError.self) {
            try await killed.backfill(from: Interrupted(base: history, pages: 1), since: old)
        }
        #expect(try await Journal(storage, now: { World.start }).backfill(from: history).gap == gap)
    }

    @Test("begins a window again within Apple's memory if that has passed the place where it was broken off")
    func forgottenPlace() async throws {
        let (world, _) = try world()
        var history = try world.client().history(in: .production)
        history.maximumPages = 1
        let storage = MemoryJournal()
        await #expect(throws: DeliveryError.self) {
            let journal = Journal(storage, now: { World.start })
            try await journal.backfill(from: Interrupted(base: history, pages: 1), since: Self.start)
        }
        // The first page ends on the twentieth day of the story at the latest, which is sixty days old then.
        let later = World.start.addingTimeInterval(150 * 86_400)
        world.state.withLock { $0.now = later }
        let sent = try World.story(from: later.addingTimeInterval(-40 * 86_400), first: 30)
        world.state.withLock { $0.production.sent += sent.map { .init($0) } }
        let report = try await Journal(storage, now: { later }).backfill(from: history)
        #expect(report.through == later)
        #expect(report.gap?.from == Self.start)
        #expect(report.gap?.until == later.addingTimeInterval(-180 * 86_400 + 3600))
        #expect(report.newEvents >= sent.count)
    }
}

/// A history that fails after some pages, as where the process is killed.
private struct Interrupted: DeliveryHistory {
    let base: AppStoreHistory
    let pages: Int
    private let count = Counter()

    init(base: AppStoreHistory, pages: Int) {
        self.base = base
        self.pages = pages
    }

    var name: String { base.name }
    var provider: Provider { base.provider }
    var reach: Duration { base.reach }

    func page(of window: Range<Date>, at position: String?) async throws(DeliveryError) -> DeliveryHistoryPage {
        guard count.next() <= pages else { throw DeliveryError(.unavailable, "interrupted") }
        return try await base.page(of: window, at: position)
    }
}

private final class Counter: Sendable {
    private let value = Mutex(0)
    func next() -> Int {
        value.withLock { value in
            value += 1; return value
        }
    }
}
