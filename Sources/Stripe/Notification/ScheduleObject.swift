import LifecycleEvents
import WireJSON

/// A `subscription_schedule`.
struct ScheduleObject: WireObject, Sendable {
    /// A stretch with prices of its own.
    struct Phase: Sendable {
        let start: Milliseconds
        let end: Milliseconds?
        let items: [SubscriptionObject.Item]

        init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
            let reader = try ObjectReader(value)
            guard let start = try reader.time("start_date") else {
                _ = try reader.int64("start_date")
                throw value.error(.missing)
            }
            self.start = start
            end = try reader.time("end_date")
            // `plans` was the name before the Prices API.
            var values = try reader.list("items")
            if values == nil { values = try reader.list("plans") }
            items = try SubscriptionObject.items(values, addOns: addOns)
        }

        /// The products sold, by price and quantity.
        var content: [String: Int64] {
            Dictionary(items.map { ($0.price.id, $0.quantity ?? 1) }, uniquingKeysWith: { first, _ in first })
        }
    }

    let id: String
    let subscription: String?
    let customer: CustomerReference?
    let status: String?
    let phases: [Phase]
    let currentPhase: (start: Milliseconds?, end: Milliseconds?)
    /// The least time that its test clock has reached, if it has one.
    let clock: Milliseconds?
    let endBehavior: String?
    let pausesAt: Milliseconds?
    let resumesAt: Milliseconds?

    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        let reader = try ObjectReader(value)
        id = try reader.string("id")
        // A released schedule names the subscription that it let go of.
        var subscription = try reader.reference("subscription")
        if subscription == nil { subscription = try reader.reference("released_subscription") }
        self.subscription = subscription
        customer = try reader.customer()
        status = try reader.optionalString("status")
        phases = try Self.phases(in: reader, addOns: addOns) ?? []
        let current = try reader.reader("current_phase")
        currentPhase = (try current?.time("start_date"), try current?.time("end_date"))
        var ended = try reader.time("released_at")
        if ended == nil { ended = try reader.time("canceled_at") }
        clock = reader.optionalValue("test_clock") == nil ? nil : ended ?? currentPhase.start
        endBehavior = try reader.optionalString("end_behavior")
        var pause: Milliseconds?
        var resume: Milliseconds?
        if let values = try reader.list("pause_schedules") {
            for value in values where pause == nil {
                let entry = try ObjectReader(value)
                pause = try entry.reader("pause")?.time("pause_at")
                resume = try entry.reader("resume")?.time("resume_at")
            }
        }
        pausesAt = pause
        resumesAt = resume
    }

    static func phases(in reader: ObjectReader, addOns: Set<String>) throws(JSONError) -> [Phase]? {
        guard let values = try reader.list("phases") else { return nil }
        var phases: [Phase] = []
        for value in values { phases.append(try Phase(value, addOns: addOns)) }
        return phases
    }
}

extension ScheduleObject {
    var anomalies: [String] { phases.flatMap(\.items).flatMap(\.price.anomalies) }
}

extension [ScheduleObject.Phase] {
    /// The first phase to begin after `time` whose prices or quantities differ from those of the phase before it.
    func nextChange(after time: Milliseconds) -> (from: ScheduleObject.Phase, to: ScheduleObject.Phase)? {
        for (before, after) in zip(self, dropFirst()) where after.start > time && before.content != after.content {
            return (before, after)
        }
        return nil
    }
}
