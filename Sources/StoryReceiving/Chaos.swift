import ConformanceVectors
package import FoundationEssentials
package import Normalizer
import NormalizerTesting
package import NotificationSimulator
import WireJSON

/// Plays a story in other orders than the one it happened in: shuffled, repeated, delayed, lost and sent again later.
///
/// The state that comes of it has to be the same, and so have the identities of the events.
package struct Chaos: Sendable {
    /// When a provider that has to be asked is asked.
    package enum Lookup: String, Sendable {
        /// When the notification is made: look-ups are kept, and mapped whenever they arrive.
        case prompt
        /// When the notification arrives, so that the answer may be about a later state. Past changes may then be
        /// reported by fewer events; access from then on must be the same.
        case late
    }

    /// The result of one order.
    package struct Outcome: Sendable {
        package var ledger = AccountLedger()
        var credits = StoryCredits()
        /// The events by their ids, as they were first reported.
        package var events: [EventID: LifecycleEvent.Kind] = [:]

        /// The differences of this outcome from another, for people.
        func events(missingIn other: Outcome, except kinds: Set<LifecycleEvent.Kind> = []) -> [String] {
            events.filter { other.events[$0.key] == nil && !kinds.contains($0.value) }
                .map { "\($0.value.rawValue) \($0.key)" }.sorted()
        }
    }

    /// An order in which the outcome is another one.
    package struct Difference: Error, Sendable, CustomStringConvertible {
        package let round: Int
        package let lookup: Lookup
        /// The notifications as they arrived, by their places in the story, from 1 on.
        package let order: [Int]
        package let types: [String]
        /// The difference.
        package let what: String

        package var description: String {
            let arrivals = order.map { "\($0) \(types[$0 - 1])" }.joined(separator: ", ")
            return "round \(round), look-ups \(lookup.rawValue): \(what)\n  arrived: \(arrivals)"
        }
    }

    package let story: CustomerStory
    package let provider: Provider
    private let receiver: StoryReceiver
    private let undisturbed: Outcome

    /// Plays the story as it happened.
    package init(_ story: CustomerStory, by simulator: any StorySimulator, from start: Date) async throws {
        self.story = story
        provider = simulator.provider
        receiver = try StoryReceiver(try simulator.notifications(story, from: start), by: simulator)
        undisturbed = try await Self.outcome(of: Array(receiver.notifications.indices), .prompt, receiver)
    }

    /// How many notifications the story has.
    package var count: Int { receiver.notifications.count }
    /// How many events it has.
    package var eventCount: Int { undisturbed.events.count }

    /// Which kinds of look-up there are to be late with.
    private var lookups: [Lookup] { provider == .google ? [.prompt, .late] : [.prompt] }

    /// Plays so many disturbed orders, and stops at the first that comes to something else.
    ///
    /// - Throws: ``Difference``; `DeliveryError` if the adapter refuses a delivery.
    package func run(rounds: Int, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<rounds {
            let order = round == 0 ? Array(receiver.notifications.indices.reversed()) : disturbed(&generator)
            for lookup in lookups { try await check(order, lookup, round: round + 1) }
        }
    }

    /// Holds one order against the one in which it happened.
    ///
    /// - Parameter order: places in the story, from 0 on; each has to be there at least once.
    /// - Throws: ``Difference``; `DeliveryError` if the adapter refuses a delivery.
    package func check(_ order: [Int], _ lookup: Lookup, round: Int = 1) async throws {
        let outcome = try await Self.outcome(of: order, lookup, receiver)
        let what =
            switch lookup {
            case .prompt: difference(to: outcome)
            case .late: laterDifference(to: outcome)
            }
        guard let what else { return }
        throw Difference(
            round: round,
            lookup: lookup,
            order: order.map { $0 + 1 },
            types: receiver.notifications.map(\.type),
            what: what
        )
    }

    private static func outcome(
        of order: [Int],
        _ lookup: Lookup,
        _ receiver: StoryReceiver
    ) async throws -> Outcome {
        let notifications = receiver.notifications
        var outcome = Outcome()
        var now = Date(millisecondsSince1970: 0)
        for index in order {
            // Nothing arrives before it was made.
            now = max(now.addingTimeInterval(1), notifications[index].receivedAt)
            let made = notifications.lastIndex { $0.occurredAt <= now } ?? index
            let result =
                switch lookup {
                case .prompt: try await receiver.take(index, at: now, at: notifications[index].receivedAt).result
                case .late: try await receiver.take(index, at: now, asking: made).result
                }
            for event in result.events {
                if outcome.events[event.id] == nil { outcome.events[event.id] = event.kind }
                outcome.credits.learn(event.facts)
                _ = outcome.ledger.apply(event)
            }
            for statement in result.statements {
                outcome.credits.learn(statement.facts)
                outcome.ledger.apply(statement)
            }
        }
        return outcome
    }

    // MARK: Disturbances

    private func disturbed(_ generator: inout SeededGenerator) -> [Int] {
        var order = Array(receiver.notifications.indices)
        switch generator.next(below: 4) {
        case 0: order.shuffle(using: &generator)
        case 1:
            // Some are late by a few places.
            for index in order.indices where generator.next(below: 3) == 0 {
                let to = min(order.count - 1, index + 1 + Int(generator.next(below: 4)))
                order.swapAt(index, to)
            }
        case 2:
            // Some are lost, and sent again when everything is over.
            var lost: [Int] = []
            order.removeAll { index in
                guard generator.next(below: 3) == 0 else { return false }
                lost.append(index)
                return true
            }
            order += lost.shuffled(using: &generator)
        default: break
        }
        // Any of them may come twice, or a third time.
        for index in receiver.notifications.indices {
            for _ in 0..<[0, 0, 1, 2][Int(generator.next(below: 4))] {
                order.insert(index, at: Int(generator.next(below: UInt64(order.count + 1))))
            }
        }
        return order
    }

    // MARK: Differences

    private func difference(to outcome: Outcome) -> String? {
        let missing = undisturbed.events(missingIn: outcome)
        let others = outcome.events(missingIn: undisturbed)
        if !missing.isEmpty || !others.isEmpty {
            let events = missing.map { "-\($0)" } + others.map { "+\($0)" }
            return "\(missing.count) events are missing, \(others.count) are new: \(events.joined(separator: ", "))"
        }
        if outcome.ledger == undisturbed.ledger { return creditDifference(to: outcome) }
        return "the state differs at \(Self.path(undisturbed.ledger.states, outcome.ledger.states) ?? "transfers")"
    }

    private func creditDifference(to outcome: Outcome) -> String? {
        guard let last = receiver.notifications.map(\.receivedAt).max() else { return nil }
        let (one, other) = (undisturbed.credits, outcome.credits)
        let (expected, statement) = (
            one.statement(of: undisturbed.ledger, at: last), other.statement(of: outcome.ledger, at: last)
        )
        if statement == expected { return nil }
        return "\(statement.balance) credits are left, expected \(expected.balance), or others of them"
    }

    private func laterDifference(to outcome: Outcome) -> String? {
        // If an extension is looked up after the next renewal, it looks like one of the renewed period: the answer
        // states the present end of the period, not the earlier one.
        let others = outcome.events(missingIn: undisturbed, except: [.extended])
        guard others.isEmpty else { return "\(others.count) events are new: \(others.joined(separator: ", "))" }
        guard let last = receiver.notifications.map(\.occurredAt).max() else { return nil }
        for days in [0, 1, 10, 40, 400] {
            let time = last.addingTimeInterval(Double(days) * 86_400 + 2)
            let (expected, actual) = (Self.access(undisturbed.ledger, at: time), Self.access(outcome.ledger, at: time))
            if expected != actual {
                return "access \(days) days after the end is \(actual), expected \(expected)"
            }
        }
        return nil
    }

    /// The purchases that give access, and until when. The others need not be known.
    private static func access(_ ledger: AccountLedger, at time: Date) -> [String] {
        ledger.states.compactMap { state in
            guard case .granted(let until, let grant) = state.access(at: time) else { return nil }
            let end = until.map { "until \(RFC3339.string($0.millisecondsSince1970))" } ?? "for good"
            return "\(grant.product) \(end)"
        }
    }

    /// The first place where states differ.
    private static func path(_ expected: [SubscriptionState], _ actual: [SubscriptionState]) -> String? {
        guard let lhs = try? CanonicalJSON.bytes(expected), let rhs = try? CanonicalJSON.bytes(actual),
            let left = try? JSONDocument(parsing: lhs).root, let right = try? JSONDocument(parsing: rhs).root
        else { return nil }
        return EventComparison(allowsMore: false).difference(left, right, at: "states")?.description
    }
}

extension SeededGenerator {
    fileprivate mutating func next(below bound: UInt64) -> UInt64 { next() % max(1, bound) }
}
