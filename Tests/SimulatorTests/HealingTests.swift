import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import StoryReceiving
import Synchronization
import Testing

@testable import Normalizer

@Suite("Notifications that are lost", .timeLimit(.minutes(10)))
struct HealingTests {
    private final class Time: Sendable {
        private let value = Mutex(Simulators.start)
        var now: Date { value.withLock { $0 } }
        func set(_ date: Date) { value.withLock { $0 = date } }
    }

    private static func states(_ journal: Journal) async throws -> [SubscriptionState] {
        let events = try await journal.events(limit: 10_000)
        var states: [SubscriptionState] = []
        for lineage in Set(events.compactMap(\.event.event.subscription)) {
            if let state = try await journal.state(of: lineage) { states.append(state) }
        }
        return states
    }

    @Test("all but the first lock no paying customer out, once what is due was asked", arguments: CustomerStory.all)
    func lockouts(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let notifications = try simulator.notifications(story, from: Simulators.start)
            let receiver = try StoryReceiver(notifications, by: simulator)
            guard try receiver.questions(upTo: 0, at: Simulators.start) != nil else { continue }
            let time = Time()
            var options = Journal.Options()
            options.sealingKey = SecretBytes("a key")
            let whole = Journal(MemoryJournal(), options: options, now: { time.now })
            let lossy = Journal(
                MemoryJournal(),
                options: options,
                clock: TestClock(jumping: true),
                now: { time.now }
            )
            for index in notifications.indices {
                time.set(notifications[index].occurredAt.addingTimeInterval(1))
                let result = try await receiver.take(index, at: time.now).result
                try await whole.apply(result)
                if index == 0 { try await lossy.apply(result) }
                time.set(time.now.addingTimeInterval(3 * 3600))
                guard index + 1 == notifications.count || notifications[index + 1].occurredAt > time.now,
                    let source = try receiver.questions(upTo: index, at: time.now)
                else { continue }
                let report = try await lossy.reconcile(with: [source])
                #expect(report.stopped == [:])
                let healed = try await Self.states(lossy)
                let known = Set(healed.flatMap(\.lineages))
                for state in try await Self.states(whole) where state.access(at: time.now).isGranted {
                    // A purchase under a name that no notification has brought cannot be asked about.
                    let granting = PeriodTimeline(state).granting(at: time.now.millisecondsSince1970)
                    guard granting.map({ !known.isDisjoint(with: $0.lineages) }) ?? true else { continue }
                    #expect(
                        healed.contains { $0.access(at: time.now).isGranted },
                        "\(simulator.provider)/\(story.id) after \(notifications[index].type)"
                    )
                }
            }
        }
    }
}
