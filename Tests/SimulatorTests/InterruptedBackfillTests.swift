import Foundation
import HTTPTransport
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Normalizer
import StoryReceiving
import Synchronization
import Testing

/// A process that heals and is killed: at any of its transactions, before or after the commit, and at any of its requests.
@Suite("A backfill that is killed", .timeLimit(.minutes(10)))
struct InterruptedBackfillTests {
    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"
    private static let now = Simulators.start.addingTimeInterval(25 * 86_400)
    /// One of so many places is tested.
    private static let step = isLong ? 1 : 23

    /// The place at which a process is killed.
    private enum Kill: Equatable {
        case transaction(Int, MemoryJournal.Fault)
        case request(Int)
    }

    /// Counts down to the kill, after which nothing works until the process is started again.
    private final class Life: Sendable {
        private struct State {
            var transactions = 0
            var requests = 0
            var kill: Kill?
            var isDead = false
        }

        private let state = Mutex(State())

        var counts: (transactions: Int, requests: Int) { state.withLock { ($0.transactions, $0.requests) } }
        var isDead: Bool { state.withLock { $0.isDead } }

        /// Starts a process that will be killed at a place.
        func begin(_ kill: Kill?) { state.withLock { $0 = State(kill: kill) } }

        /// The failure of the next transaction.
        func transact() -> MemoryJournal.Fault? {
            state.withLock { state in
                if state.isDead { return .beforeBegin }
                state.transactions += 1
                guard case .transaction(state.transactions - 1, let fault)? = state.kill else { return nil }
                state.isDead = true
                return fault
            }
        }

        /// True if the next request reaches the provider.
        func request() -> Bool {
            state.withLock { state in
                state.requests += 1
                if state.kill == .request(state.requests - 1) { state.isDead = true }
                return !state.isDead
            }
        }
    }

    /// A network that breaks off.
    private struct BrokenTransport: HTTPTransportProtocol {
        let base: any HTTPTransportProtocol
        let life: Life

        func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
            guard life.request() else { throw HTTPTransportError(.canceled, "killed") }
            return try await base.send(request)
        }
    }

    /// The news in the end.
    private struct Outcome {
        /// The facts that are news, each with its purchase. Where a setting was found by a question, its event has a name of
        /// the answer, which differs from answer to answer.
        var news: [String]
        var ids: [EventID]
        var access: [SubscriptionID: [String]]
    }

    /// A host that has lost all but the first notification of each customer, or all of them where the provider remembers.
    private struct Host {
        let simulator: any StorySimulator
        let api: StoryAPI
        let known: [Normalization]

        init(_ simulator: any StorySimulator) async throws {
            self.simulator = simulator
            let stories = CustomerStory.all.filter { simulator.absence(of: $0) == nil }.prefix(6)
            api = try StoryAPI(Array(stories), by: simulator, from: Simulators.start)
            var known: [Normalization] = []
            if !LossyHost.remembers(simulator.provider) {
                for story in stories {
                    let notifications = try simulator.notifications(story, from: Simulators.start)
                    guard let first = notifications.first else { continue }
                    let receiver = try StoryReceiver(notifications, by: simulator)
                    known.append(try await receiver.take(0, at: first.receivedAt).result)
                }
            }
            self.known = known
        }

        /// - Returns: the outcome, and how many transactions and requests it took; nil if it was over before the kill.
        func outcome(_ kill: Kill?) async throws -> (outcome: Outcome, transactions: Int, requests: Int)? {
            let life = Life()
            let storage = MemoryJournal { life.transact() }
            var options = Journal.Options()
            options.sealingKey = SecretBytes("a key")
            let time = LossyHost.Time(Simulators.start)
            func heal() async throws -> Bool {
                let journal = Journal(
                    storage,
                    options: options,
                    clock: TestClock(jumping: true),
                    now: { time.now }
                )
                let healing = try StoryHealing(
                    api,
                    of: simulator,
                    through: { BrokenTransport(base: $0, life: life) },
                    clock: TestClock(jumping: true),
                    now: { time.now }
                )
                for history in healing.histories {
                    let report = try await journal.backfill(from: history, since: Simulators.start)
                    #expect(report.unreadable == 0 && report.gap == nil)
                }
                try await journal.askAgain(about: simulator.provider)
                return try await journal.reconcile(with: healing.questions).stopped.isEmpty
            }
            let journal = Journal(storage, options: options, now: { time.now })
            for result in known { try await journal.apply(result) }
            time.set(InterruptedBackfillTests.now)
            life.begin(kill)
            var isHealed = (try? await heal()) == true
            let counts = life.counts
            if kill != nil {
                guard life.isDead else { return nil }
                #expect(!isHealed)
                life.begin(nil)
            }
            // A question that the dead process had taken is given out again after five minutes.
            time.set(time.now.addingTimeInterval(600))
            isHealed = (try? await heal()) == true
            #expect(isHealed, "\(simulator.provider), \(String(describing: kill))")
            let feed = try await journal.events(limit: 10_000)
            var access: [SubscriptionID: [String]] = [:]
            for lineage in Set(feed.compactMap(\.event.event.subscription)) {
                guard let state = try await journal.state(of: lineage) else { continue }
                access[lineage] = [0, 4, 15, 24, 40].map { day in
                    let time = Simulators.start.addingTimeInterval(Double(day) * 86_400 + 60)
                    guard case .granted(_, let grant) = state.access(at: time) else { return "none" }
                    return grant.product.rawValue
                }
            }
            var news: [String] = []
            var ids: [EventID] = []
            while true {
                let items = try await journal.outbox.next(100, lease: .seconds(60))
                if items.isEmpty { break }
                for item in items {
                    let event = item.value.event
                    ids.append(event.id)
                    news.append("\(event.subscription?.description ?? "") \(event.kind.rawValue)")
                    #expect(try await journal.outbox.done(item))
                }
            }
            return (Outcome(news: news.sorted(), ids: ids, access: access), counts.transactions, counts.requests)
        }
    }

    @Test("loses nothing, and tells nothing twice, when it is run again", arguments: CustomerStory.providers)
    func killed(provider: Provider) async throws {
        let simulator = try #require(try Simulators.all.get().first { $0.provider == provider })
        let host = try await Host(simulator)
        guard try LossyHost.canHeal(host.api, simulator) else { return }
        let (expected, transactions, requests) = try #require(try await host.outcome(nil))
        #expect(expected.news.count > 6)
        #expect(Set(expected.ids).count == expected.ids.count)
        var kills: [Kill] = stride(from: 0, to: requests, by: Self.step).map { .request($0) }
        for place in stride(from: 0, to: transactions, by: Self.step) {
            kills += [.transaction(place, .beforeCommit), .transaction(place, .afterCommit)]
        }
        var tested = 0
        for kill in kills {
            guard let (outcome, _, _) = try await host.outcome(kill) else { continue }
            tested += 1
            #expect(Set(outcome.ids).count == outcome.ids.count, "\(kill)")
            #expect(outcome.news == expected.news, "\(kill)")
            #expect(outcome.access == expected.access, "\(kill)")
        }
        #expect(tested > kills.count / 2)
    }
}
