import NormalizerTesting
import Foundation
import NotificationSimulator
import StoryReceiving
import Testing

@testable import Normalizer

/// A host acts on what a state calls news. Its news must not depend on the order of arrival.
@Suite("News of every story")
struct NewsPropertyTests {
    static let rounds = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1" ? 100 : 4

    /// A fact that an event is about, by whichever of its names and in however many parts. An event of which a state keeps
    /// nothing is a fact of its own.
    struct Key: Hashable, CustomStringConvertible {
        var description: String
        /// True if it may be so, not be so, and be so again.
        var isRecurring = false

        init(_ event: NormalizedEvent, _ ledger: AccountLedger) {
            guard let report = Report(event), let state = event.subscription.flatMap({ ledger[$0] }) else {
                description = "\(event.kind) \(event.id)"
                return
            }
            let (subject, value) = (report.subject, report.mark.value.prefix { $0 != " " })
            let name =
                switch subject.topic {
                case .refund, .purchase: state.transaction(named: subject.transaction ?? "").rawValue
                default:
                    PeriodTimeline(state).index(transaction: subject.transaction, start: subject.start)
                        .map { "period \($0)" } ?? "no period"
                }
            let topic = subject.topic == .payment ? .course : subject.topic
            description = "\(state.subscription) \(topic) \(name) \(value)"
            isRecurring = [.renewal, .nextProduct, .pause, .owner, .course].contains(topic)
        }
    }

    /// How often a host heard of a fact, had it as news, and acted.
    struct Count {
        var reported = 0
        var applied = 0
    }

    /// - Parameter knowsFacts: true for a host that takes for a duplicate what adds no fact to what it knows.
    private func counts(_ results: [Normalization], knowsFacts: Bool = false) -> [Key: Count] {
        var ledger = AccountLedger()
        var seen: Set<EventID> = []
        var heard: [(event: NormalizedEvent, count: Count)] = []
        for result in results {
            let before = ledger.states.map(\.values)
            let applied = ledger.apply(result)
            let addsNothing = knowsFacts && ledger.states.map(\.values) == before
            for (event, applied) in zip(result.events, applied) where event.subscription != nil {
                guard applied.disposition != .duplicate, !addsNothing else {
                    heard.append((event, Count()))
                    continue
                }
                // One id acts once, as an index on it sees to.
                let isApplied = seen.insert(event.id).inserted && applied.disposition == .applied
                heard.append((event, Count(reported: 1, applied: isApplied ? 1 : 0)))
            }
        }
        var counts: [Key: Count] = [:]
        for (event, count) in heard {
            // An id is reported once, whatever else the event says by then.
            let isReported = seen.contains(event.id)
            counts[Key(event, ledger), default: Count()].reported += isReported ? 1 : 0
            counts[Key(event, ledger), default: Count()].applied += count.applied
        }
        return counts
    }

    @Test(
        "each fact that arrives is reported once, in every order and with any loss or repetition",
        arguments: CustomerStory.all
    )
    func everyOrder(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
            let results = playback.taken.map(\.result)
            var generator = SeededGenerator(seed: 20_260_105)
            for round in 0..<Self.rounds {
                var delivered = results
                if round > 0 { delivered.removeAll { _ in Int.random(in: 0..<4, using: &generator) == 0 } }
                if round > 1 { delivered += delivered.filter { _ in Bool.random(using: &generator) } }
                if round > 0 { delivered.shuffle(using: &generator) }
                let counts = counts(delivered)
                let isRefundReported = counts.contains {
                    $0.key.description.hasSuffix("refunded") && $0.value.reported > 0
                }
                for (key, count) in counts {
                    // A refund tells of the end that it makes.
                    let isReported = count.reported > 0 || isRefundReported && key.description.hasSuffix("ended")
                    #expect(
                        isReported && (key.isRecurring || count.applied <= 1),
                        "\(story.id) at \(simulator.provider), round \(round): \(key) \(count)"
                    )
                }
            }
        }
    }

    @Test("a host for which nothing is news that it knows is found out")
    func deliberateBreak() async throws {
        let apple = try #require(try Simulators.all.get().first { $0.provider == .apple })
        let story = try #require(CustomerStory.named("uncancel"))
        let playback = try await StoryPlayback(story, by: apple, from: Simulators.start)
        let results = Array(playback.taken.map(\.result).reversed())
        #expect(counts(results).values.allSatisfy { $0.reported > 0 })
        #expect(counts(results, knowsFacts: true).values.contains { $0.reported == 0 })
    }

    @Test("a look-up and an upload report nothing that notifications have reported", arguments: CustomerStory.all)
    func looking(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
            var ledger = AccountLedger()
            // Of some events a state keeps nothing, and the id tells a second delivery.
            let known = Set(playback.events.map(\.id))
            for taken in playback.taken {
                _ = ledger.apply(taken.result)
                let time = taken.delivery.receivedAt.addingTimeInterval(60)
                guard simulator.provider == .apple,
                    let upload = try playback.receiver.upload(
                        transactionOf: taken.delivery,
                        renewalInfoOf: taken.delivery,
                        at: time
                    )
                else { continue }
                for applied in ledger.apply(upload) {
                    #expect(
                        applied.disposition != .applied
                            || Report(applied.event) == nil && known.contains(applied.event.id),
                        "\(story.id): \(applied.event.kind)"
                    )
                }
            }
            let time = (playback.taken.last?.delivery.receivedAt ?? Simulators.start).addingTimeInterval(60)
            for result in try await playback.receiver.ask(upTo: playback.taken.count - 1, at: time) {
                for applied in ledger.apply(result) {
                    #expect(
                        applied.disposition != .applied
                            || Report(applied.event) == nil && known.contains(applied.event.id),
                        "\(story.id) at \(simulator.provider): \(applied.event.kind)"
                    )
                }
            }
        }
    }

    @Test(
        "a state announces news that only facts state, and silences the notification that comes after all",
        arguments: CustomerStory.all
    )
    func unreported(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
            var ledger = AccountLedger(applying: playback.taken.flatMap(\.result.statements))
            let before = ledger
            var unreported = ledger.states.flatMap { $0.unreportedEvents(receivedAt: Simulators.start) }
            #expect(!unreported.isEmpty || !playback.events.contains { $0.kind == .started })
            for event in unreported {
                #expect(
                    ledger.apply(event).disposition != .duplicate,
                    "\(story.id) at \(simulator.provider): \(event.kind)"
                )
                #expect(ledger.apply(event).disposition == .duplicate, "\(story.id): \(event.kind)")
            }
            // They add no fact.
            #expect(ledger.states.map(\.withoutReports) == before.states.map(\.withoutReports), "\(story.id)")
            unreported = ledger.states.flatMap { $0.unreportedEvents(receivedAt: Simulators.start) }
            #expect(unreported.isEmpty, "\(story.id): \(unreported.map(\.kind))")
        }
    }
}

extension SubscriptionState {
    /// The values of its periods and of the purchase as a whole, without their sources.
    fileprivate var values: [String] {
        periods.values.map { "\($0.fact)" }.sorted() + ends.all.map { "\($0.value)" }.sorted()
            + registers.all.map { "\(String(describing: $0.registers.intent?.value))" }.sorted()
    }

    fileprivate var withoutReports: SubscriptionState {
        var state = self
        state.reports = ReportLog()
        return state
    }
}
