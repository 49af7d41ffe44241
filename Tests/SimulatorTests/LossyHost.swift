import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import StoryReceiving
import Synchronization

@testable import Normalizer

/// A host that loses deliveries of a story, and heals: every twenty days, and after the end.
struct LossyHost: Sendable {
    /// How much is lost.
    enum Loss: String, CaseIterable, Sendable {
        case none, one, some, all
    }

    /// An event that the host knows of.
    struct Event {
        var id: EventID
        var kind: LifecycleEvent.Kind
        var isNews: Bool
        var lineage: SubscriptionID?
    }

    /// The host's knowledge of access at a time.
    struct Reading {
        struct Grant: Hashable {
            var product: ProductID
            var lineages: Set<SubscriptionID>
        }

        var grants: [Grant] = []
        /// Every purchase that it knows.
        var lineages: Set<SubscriptionID> = []
        var products: [ProductID] { grants.map(\.product).sorted() }
    }

    /// The host's knowledge.
    struct Outcome {
        /// Every event, in the order in which it was stored.
        var events: [Event] = []
        /// Access when the host has healed, read at that time.
        var healed: [Date: Reading] = [:]
        /// Access at other times, read in the end.
        var past: [Date: Reading] = [:]
        /// The purchases that it knows in the end.
        var lineages: Set<SubscriptionID> = []
        var balance: Int64 = 0
        var unusable = 0
    }

    /// The host's clock.
    final class Time: Sendable {
        private let value: Mutex<Date>
        init(_ start: Date) { value = Mutex(start) }
        var now: Date { value.withLock { $0 } }
        func set(_ date: Date) { value.withLock { $0 = date } }
    }

    let story: CustomerStory
    let simulator: any StorySimulator
    let relay: RevenueCatClient.API
    let api: StoryAPI
    /// The result of each delivery.
    let results: [Normalization]
    let heals: [Date]
    private let credits: StoryCredits

    init(
        _ story: CustomerStory,
        by simulator: any StorySimulator,
        relay: RevenueCatClient.API = .v2(project: "proj1")
    ) async throws {
        self.story = story
        self.simulator = simulator
        self.relay = relay
        api = try StoryAPI([story], by: simulator, from: Simulators.start)
        let receiver = try StoryReceiver(api.notifications, by: simulator)
        var results: [Normalization] = []
        var credits = StoryCredits()
        for (index, notification) in api.notifications.enumerated() {
            let result = try await receiver.take(index, at: notification.receivedAt).result
            for statement in result.statements { credits.learn(statement.facts) }
            results.append(result)
        }
        self.results = results
        self.credits = credits
        let end = (api.notifications.last?.receivedAt ?? Simulators.start).addingTimeInterval(3 * 3600)
        var heals: [Date] = []
        var time = Simulators.start.addingTimeInterval(20 * 86_400)
        while time < end {
            heals.append(time)
            time += 20 * 86_400
        }
        self.heals = heals + [end]
    }

    /// True if the provider remembers all that it has sent.
    var remembers: Bool { Self.remembers(simulator.provider) }

    /// True if a provider remembers all that it has sent.
    static func remembers(_ provider: Provider) -> Bool { provider == .apple || provider == .stripe }

    /// True if the host can ask the provider for what was lost.
    static func canHeal(_ api: StoryAPI, _ simulator: any StorySimulator) throws -> Bool {
        try StoryHealing(api, of: simulator, clock: TestClock(jumping: true), now: { Simulators.start }).isPossible
    }

    /// Times at which access is compared.
    private var samples: [Date] {
        let times = api.notifications.map(\.receivedAt)
        let between = zip(times, times.dropFirst()).map { $0 + $1.timeIntervalSince($0) / 2 }
        let end = times.last ?? Simulators.start
        return between + [1, 10, 40, 400].map { end.addingTimeInterval($0 * 86_400) }
    }

    /// Tells the story to a host that gets some of its deliveries.
    ///
    /// - Parameters:
    ///   - kept: the deliveries that arrive.
    ///   - heals: false for a host that never asks.
    ///   - imports: true if the host lists its first purchase an hour after the first notification.
    func outcome(keeping kept: Set<Int>, heals: Bool = true, imports: Bool = false) async throws -> Outcome {
        let time = Time(Simulators.start)
        var options = Journal.Options()
        options.sealingKey = SecretBytes("a key")
        let clock = TestClock(jumping: true)
        let journal = Journal(MemoryJournal(), options: options, clock: clock, now: { time.now })
        let healing = try StoryHealing(api, of: simulator, relay: relay, clock: clock, now: { time.now })
        var outcome = Outcome()
        // A history that was never read begins with the present.
        for history in healing.histories { try await journal.backfill(from: history, since: Simulators.start) }
        var moments = api.notifications.indices.map { (api.notifications[$0].receivedAt, Int?.some($0)) }
        moments += self.heals.map { ($0, nil) }
        let importTime = imports ? api.notifications.first?.receivedAt.addingTimeInterval(3600) : nil
        var isImported = importTime == nil
        for (moment, index) in moments.sorted(by: { ($0.0, $0.1 ?? .max) < ($1.0, $1.1 ?? .max) }) {
            if !isImported, let importTime, importTime <= moment {
                time.set(importTime)
                try await journal.importPurchases(from: list, with: healing.questions)
                isImported = true
            }
            time.set(max(time.now, moment))
            if let index {
                if kept.contains(index) { try await journal.apply(results[index]) }
            } else {
                if heals { try await heal(journal, healing, into: &outcome) }
                outcome.healed[moment] = Reading(try await states(journal), at: moment)
            }
        }
        let end = time.now
        outcome.events = try await journal.events(limit: 10_000).map(\.event).map {
            Event(id: $0.event.id, kind: $0.event.kind, isNews: $0.isNews, lineage: $0.event.subscription)
        }
        let states = try await states(journal)
        outcome.lineages = Set(states.flatMap(\.lineages))
        for sample in samples { outcome.past[sample] = Reading(states, at: sample) }
        outcome.balance = credits.statement(of: AccountLedger(states), at: end).balance
        return outcome
    }

    /// The purchases that the host knows by itself when it begins: those of the first notification.
    private var list: ListedPurchases {
        var questions: [LineageQuestion] = []
        for result in results.prefix(1) {
            for lineage in result.lineages {
                var question = LineageQuestion(lineage, askedAt: Simulators.start)
                question.handle = result.handles.first { $0.lineage == lineage }
                question.isSubscription = !result.events.contains { $0.kind == .oneTimePurchased }
                question.accounts = AccountLedger(result).accounts
                question.product =
                    result.statements.lazy.flatMap(\.facts).compactMap { fact in
                        if case .period(let period) = fact { period.product } else { nil }
                    }
                    .first
                questions.append(question)
            }
        }
        return ListedPurchases("host", questions)
    }

    private func heal(_ journal: Journal, _ healing: StoryHealing, into outcome: inout Outcome) async throws {
        for history in healing.histories {
            outcome.unusable += try await journal.backfill(from: history).unreadable
        }
        // A provider that does not remember is asked about everything.
        if !remembers { try await journal.askAgain(about: simulator.provider) }
        let report = try await journal.reconcile(with: healing.questions)
        outcome.unusable += report.unusable + report.stopped.count
    }

    private func states(_ journal: Journal) async throws -> [SubscriptionState] {
        var lineages = Set(results.flatMap(\.lineages))
        for event in try await journal.events(limit: 10_000) {
            if let lineage = event.event.event.subscription { lineages.insert(lineage) }
        }
        var states: [SubscriptionID: SubscriptionState] = [:]
        for lineage in lineages {
            if let state = try await journal.state(of: lineage) { states[state.subscription] = state }
        }
        return states.values.sorted { "\($0.subscription)" < "\($1.subscription)" }
    }
}

extension LossyHost.Reading {
    fileprivate init(_ states: [SubscriptionState], at time: Date) {
        for state in states {
            lineages.formUnion(state.lineages)
            guard case .granted(_, let grant) = state.access(at: time) else { continue }
            let period = PeriodTimeline(state).granting(at: time.millisecondsSince1970)
            grants.append(Grant(product: grant.product, lineages: period?.lineages ?? Set(state.lineages)))
        }
    }
}

extension AccountLedger {
    /// The states of one result.
    fileprivate init(_ result: Normalization) {
        self.init()
        _ = apply(result)
    }
}

extension LossyHost.Outcome {
    /// The differences of another host's knowledge, in words. A difference about a purchase that this one does not know says
    /// so.
    func differences(from whole: LossyHost.Outcome) -> [String] {
        var differences: [String] = []
        let mine = Dictionary(events.map { ($0.id, $0) }) { first, _ in first }
        let theirs = Dictionary(whole.events.map { ($0.id, $0) }) { first, _ in first }
        var missing: [LossyHost.Event] = []
        var others: [LossyHost.Event] = []
        for event in whole.events where event.isNews && mine[event.id]?.isNews != true { missing.append(event) }
        for event in events where event.isNews && theirs[event.id]?.isNews != true {
            // The same fact under a name of its own, which came first.
            if let index = missing.firstIndex(where: { $0.kind == event.kind }) {
                missing.remove(at: index)
            } else {
                others.append(event)
            }
        }
        for event in missing {
            let isKnown = event.lineage.map { lineages.contains($0) } ?? true
            let word = mine[event.id] == nil ? "no" : "late"
            differences.append("\(word) \(event.kind.rawValue)\(isKnown ? "" : Self.unknown)")
        }
        differences += others.map { "another \($0.kind.rawValue)" }
        if events.count != mine.count { differences.append("an event twice") }
        differences += Self.differences(healed, whole.healed).map { "access after healing\($0)" }
        differences += Self.differences(past, whole.past).map { "access in the past\($0)" }
        if balance != whole.balance {
            differences.append("credits\(lineages == whole.lineages ? "" : Self.unknown)")
        }
        if unusable > 0 { differences.append("an answer that cannot be used") }
        return differences
    }

    private static let unknown = " of an unknown purchase"

    private static func differences(
        _ mine: [Date: LossyHost.Reading],
        _ theirs: [Date: LossyHost.Reading]
    ) -> [String] {
        theirs.compactMap { time, whole in
            guard let known = mine[time], known.products != whole.products else { return nil }
            let isKnown = whole.grants.allSatisfy { !$0.lineages.isDisjoint(with: known.lineages) }
            return isKnown ? "" : unknown
        }
    }
}
