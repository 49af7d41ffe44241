package import ConformanceVectors
package import FoundationEssentials
package import Normalizer
package import NotificationSimulator
import ReceiverConfiguration
import WireJSON

/// A story that a provider's simulator plays and that provider's adapter receives.
package struct StoryPlayback: Sendable {
    /// A notification with its result.
    package struct Taken: Sendable {
        package let notification: SimulatedNotification
        package let delivery: Delivery
        /// The provider's answers to look-ups.
        package let answers: [RecordedAnswer]?
        package let result: Normalization
    }

    /// In the order in which the provider made them.
    package let taken: [Taken]
    package let receiver: StoryReceiver

    /// Every event, in that order.
    package var events: [NormalizedEvent] { taken.flatMap(\.result.events) }

    /// The events of each step, each fact once: a provider may report it in several notifications, under one id, or
    /// under several of which a state knows the second to be a duplicate.
    package var kinds: [Int: [LifecycleEvent.Kind]] {
        var ledger = AccountLedger()
        var seen: Set<EventID> = []
        var kinds: [Int: [LifecycleEvent.Kind]] = [:]
        for taken in taken {
            let applied = ledger.apply(taken.result)
            for (event, applied) in zip(taken.result.events, applied) where seen.insert(event.id).inserted {
                let step = taken.notification.step
                if applied.disposition == .duplicate, kinds[step]?.contains(event.kind) == true { continue }
                kinds[step, default: []].append(event.kind)
            }
        }
        return kinds
    }

    /// Plays a story.
    ///
    /// - Throws: `SimulatorError` if the provider has no such story; `DeliveryError` if its adapter refuses the
    ///   simulator's delivery; `ConfigurationError` if the adapter does not take the simulator's configuration.
    package init(_ story: CustomerStory, by simulator: any StorySimulator, from start: Date) async throws {
        let receiver = try StoryReceiver(try simulator.notifications(story, from: start), by: simulator)
        var taken: [Taken] = []
        for (index, notification) in receiver.notifications.enumerated() {
            let (delivery, result) = try await receiver.take(index, at: notification.receivedAt)
            taken.append(
                Taken(
                    notification: notification,
                    delivery: delivery,
                    answers: receiver.answers(upTo: index, at: delivery.receivedAt),
                    result: result
                )
            )
        }
        self.taken = taken
        self.receiver = receiver
    }
}

extension SimulatedNotification {
    /// A second after the provider made it.
    package var receivedAt: Date { occurredAt.addingTimeInterval(1) }
}

/// A provider's adapter in front of its simulator.
package struct StoryReceiver: Sendable {
    package let notifications: [SimulatedNotification]
    private let simulator: any StorySimulator
    private let config: JSONValue
    /// True if the simulator's answers change from notification to notification.
    private let asksSimulator: Bool
    /// The adapter of a provider that need not be asked.
    private let adapter: (any ConfiguredReceiver)?

    package init(_ notifications: [SimulatedNotification], by simulator: any StorySimulator) throws {
        self.notifications = notifications
        self.simulator = simulator
        config = try JSONDocument(parsing: simulator.receiverConfiguration, limits: Receivers.limits).root
        asksSimulator = Receivers.kind(for: simulator.provider)?.asksSimulator == true
        adapter = asksSimulator ? nil : try Receivers.receiver(for: simulator.provider, config: config)
    }

    /// Delivers a notification at a time, and takes it in. One that cannot be decided then comes again a minute later.
    ///
    /// - Parameter latest: the notification that the provider has made last when it is asked; the same unless given.
    /// - Parameter lookup: when the provider is asked; at the time of delivery unless given.
    package func take(
        _ index: Int,
        at time: Date,
        asking latest: Int? = nil,
        at lookup: Date? = nil
    ) async throws -> (delivery: Delivery, result: Normalization) {
        do {
            return try await takeOnce(index, at: time, asking: latest ?? index, at: lookup ?? time)
        } catch let error as DeliveryError where error.code == .unavailable {
            return try await takeOnce(
                index,
                at: time.addingTimeInterval(60),
                asking: latest ?? index,
                at: (lookup ?? time).addingTimeInterval(60)
            )
        }
    }

    private func takeOnce(
        _ index: Int,
        at time: Date,
        asking latest: Int,
        at lookup: Date
    ) async throws -> (delivery: Delivery, result: Normalization) {
        let delivery = try simulator.delivery(of: notifications[index], sentAt: time)
        let answers = answers(upTo: latest, at: lookup).map(RecordedTransport.init)
        let receiver = try adapter ?? Receivers.receiver(for: simulator.provider, config: config, answers: answers)
        return (delivery, try await receiver.receive(delivery))
    }

    /// Takes what a device of the App Store's uploads that has the transaction of a delivery, and perhaps the renewal info of
    /// one; nil if there is no transaction.
    package func upload(
        transactionOf delivery: Delivery,
        renewalInfoOf other: Delivery?,
        at time: Date
    ) throws -> Normalization? {
        try AppleReceiver(config: config)
            .upload(transactionOf: delivery, renewalInfoOf: other, receivedAt: time)
    }

    /// Asks the provider about everything that was bought by a notification, the latest first.
    package func ask(upTo index: Int, at time: Date) async throws -> [Normalization] {
        let answers = answers(upTo: index, at: time).map(RecordedTransport.init)
        var results: [Normalization] = []
        var seen: Set<String> = []
        for resource in notifications.resources(upTo: index).reversed() {
            let path = resource.path.split(separator: "?").first ?? ""
            let parts = path.split(separator: "/").suffix(3).map(String.init)
            guard parts.count == 3, seen.insert(parts[2]).inserted else { continue }
            let receiver = try Receivers.receiver(for: simulator.provider, config: config, answers: answers)
            if let result = try await receiver.ask(path: parts, at: time) { results.append(result) }
        }
        return results
    }

    /// Answers questions about purchases while the provider stands at a notification; nil if no simulator answers.
    package func questions(upTo index: Int, at time: Date) throws -> (any LineageQuestions)? {
        let answers = answers(upTo: index, at: time).map(RecordedTransport.init)
        return try Receivers.receiver(for: simulator.provider, config: config, answers: answers).questions
    }

    /// Takes in a delivery of any origin, while the provider stands at its last notification.
    package func take(_ delivery: Delivery) async throws -> Normalization {
        let answers = answers(upTo: notifications.count - 1, at: delivery.receivedAt).map(RecordedTransport.init)
        let receiver = try adapter ?? Receivers.receiver(for: simulator.provider, config: config, answers: answers)
        return try await receiver.receive(delivery)
    }

    /// The provider's answers after so many notifications; nil if there are no look-ups.
    func answers(upTo index: Int, at time: Date) -> [RecordedAnswer]? {
        guard asksSimulator else { return nil }
        let headers = [
            (name: "Content-Type", value: "application/json; charset=UTF-8"), ("Date", HTTPDateText.text(time)),
        ]
        return notifications.resources(upTo: index).map {
            RecordedAnswer(
                method: "GET",
                url: "https://\($0.host)\($0.path)",
                status: $0.status,
                headers: headers,
                body: $0.body
            )
        }
    }
}
