import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

@Suite("A reader of events, while several processes write", .timeLimit(.minutes(5)))
struct FeedOrderTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let month: TimeInterval = 2_592_000
    private let folder = TemporaryFolder()

    private static func event(_ number: Int, of lineage: SubscriptionID) -> NormalizedEvent {
        let begin = start.addingTimeInterval(month * Double(number))
        let period = ServicePeriod(start: begin, end: begin.addingTimeInterval(month))
        let transaction = TransactionID(rawValue: "in_\(number)")
        return NormalizedEvent(
            id: .periodBegan(lineage, transaction: transaction, product: "pro"),
            event: .started(.init(origin: .new, phase: .regular, period: period)),
            provider: .stripe,
            store: .stripe,
            environment: .production,
            subscription: lineage,
            occurredAt: begin,
            effectiveAt: begin,
            assertedAt: begin,
            receivedAt: begin,
            facts: [.period(.init(period, product: "pro", phase: .regular, transaction: transaction))],
            origin: Origin(
                type: "test",
                channel: .webhook,
                evidence: .init(.unchecked),
                digest: "",
                mapper: "test/1"
            )
        )
    }

    /// Reads on from a position, in small pages, and looks at the state of each event's purchase.
    private static func read(_ journal: Journal, from events: inout [Journal.FeedEvent]) async throws {
        while case let page = try await journal.events(after: events.last?.position ?? 0, limit: 3), !page.isEmpty {
            for entry in page {
                let event = entry.event.event
                let lineage = try #require(event.subscription)
                let isTakenIn = try await journal.state(of: lineage)?.access(at: event.effectiveAt).isGranted
                #expect(isTakenIn == true, "\(event.id)")
            }
            events += page
        }
    }

    @Test(
        "gets each once, those of a delivery in its order, none at a passed position, and finds its purchase's state up to date",
        arguments: TestedStorage.available,
        [1, 2] as [UInt64]
    )
    func order(tested: TestedStorage, seed: UInt64) async throws {
        let storages = try await tested.open(in: folder)
        let journals = storages.map { Journal($0, now: { Self.start }) }
        let deliveries = (0..<4).flatMap { customer in
            let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_\(customer)")
            return (0..<5).map { delivery in (0..<3).map { Self.event(3 * delivery + $0, of: lineage) } }
        }
        var generator = SeededGenerator(seed: seed)
        // Each comes twice, and at any time.
        let sent = (deliveries + deliveries).shuffled(using: &generator)
        let isOver = Mutex(false)
        let reading = Task {
            var events: [Journal.FeedEvent] = []
            while !isOver.withLock({ $0 }) {
                try await Self.read(journals[1], from: &events)
                await Task.yield()
            }
            try await Self.read(journals[1], from: &events)
            return events
        }
        do {
            defer { isOver.withLock { $0 = true } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<6 {
                    let own = sent.enumerated().filter { $0.offset % 6 == writer }.map(\.element)
                    let journal = journals[writer % journals.count]
                    group.addTask { for events in own { try await journal.apply(Normalization(events)) } }
                }
                try await group.waitForAll()
            }
        }
        let read = try await reading.value
        #expect(read == (try await journals[0].events(limit: 1000)))
        #expect(Set(read.map(\.event.event.id)).count == read.count)
        #expect(Set(read.map(\.event.event.id)) == Set(deliveries.joined().map(\.id)))
        for delivery in deliveries {
            let ids = delivery.map(\.id)
            #expect(read.map(\.event.event.id).filter(ids.contains) == ids)
        }
    }
}
