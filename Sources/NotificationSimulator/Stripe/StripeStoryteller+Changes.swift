import FoundationEssentials
import LifecycleEvents
import WireJSON

// A subscription that is replaced, or changed by a schedule.

extension StripeStoryteller {
    /// Other prices at once, with a period of their own.
    mutating func swap() throws(SimulatorError) {
        guard let before = scene.before, let old = subscription?.items.first?.price else {
            throw SimulatorError("nothing is changed", .nonsense)
        }
        let standing = try standing()
        let price = StripePrice(standing.plan)
        let invoice = next("in")
        try update {
            Self.set(&$0, standing)
            $0.items = [.init("si_1", price)]
            $0.latestInvoice = invoice
        }
        let unused = scene.unused(ofPrice: old.amount)
        let (start, end) = (standing.start / 1000, standing.end / 1000)
        try pay(
            reason: "subscription_update",
            lines: [
                .init(old, amount: -unused, from: start, to: before.end / 1000, isProration: true),
                .init(price, from: start, to: end, isProration: true),
            ]
        )
    }

    func schedule(_ prices: [(StripePrice, start: Int64, end: Int64)], status: String) -> JSONMembers {
        func phases(expanded: Bool) -> JSONText {
            .array(
                prices.map { price, start, end in
                    [
                        "start_date": .integer(start), "end_date": .integer(end),
                        "items": [
                            ["price": expanded ? price.price() : .string(price.id), "quantity": 1]
                        ],
                    ]
                }
            )
        }
        return JSONMembers([
            ("id", .string(scheduleID)), ("object", "subscription_schedule"), ("customer", .string(customer)),
            ("end_behavior", "release"), ("phases", phases(expanded: true)), ("status", .string(status)),
            ("subscription", .string(subscription?.id ?? "")),
        ])
    }

    var scheduleID: String { "sub_sched_\(identity.letters("schedule", 24))" }

    func phases(_ plan: CustomerStory.Plan, _ standing: Plot.Standing) -> [(
        StripePrice, start: Int64, end: Int64
    )] {
        let (start, end) = (standing.start / 1000, standing.end / 1000)
        return [
            (StripePrice(standing.plan), start, end),
            (StripePrice(plan), end, plan.period.end(from: standing.end) / 1000),
        ]
    }

    mutating func schedule(_ plan: CustomerStory.Plan) throws(SimulatorError) {
        let planned = schedule(phases(plan, try standing()), status: "active")
        arranged = planned
        try link(scheduleID, by: planned, "subscription_schedule.created")
    }

    mutating func release() throws(SimulatorError) {
        guard let before = scene.before, let plan = before.nextPlan else {
            throw SimulatorError("nothing is taken back", .nonsense)
        }
        var released = schedule(phases(plan, before), status: "released")
        released["released_subscription"] = released["subscription"]
        released["subscription"] = .some(.null)
        try link(nil, by: released, "subscription_schedule.released")
    }

    /// Schedule and subscription name each other from one moment on, and each has an event of it.
    mutating func link(_ id: String?, by schedule: JSONMembers, _ type: String) throws(SimulatorError) {
        let before = subscription
        subscription?.schedule = id
        emit(type, schedule)
        subscription = before
        try update { $0.schedule = id }
    }

    mutating func schedulePause() throws(SimulatorError) {
        let standing = try standing()
        var planned = schedule(
            [(StripePrice(standing.plan), standing.start / 1000, standing.end / 1000)],
            status: "active"
        )
        var entry = JSONMembers([("pause", ["pause_at": .integer(standing.end / 1000)])])
        if let resumesAt = standing.resumesAt { entry.append("resume", ["resume_at": .integer(resumesAt / 1000)]) }
        planned.append("pause_schedules", [.object(entry)])
        emit("subscription_schedule.created", planned)
    }
}
