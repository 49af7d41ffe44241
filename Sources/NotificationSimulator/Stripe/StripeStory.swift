import WireJSON

/// A subscription's life from trial to end, in Stripe's events of one API version.
///
/// Events have the same ids and times in every version, so that only shapes differ.
package struct StripeStory: Sendable {
    package struct Event: Sendable {
        package let type: String
        package let id: String
        /// Seconds since 1970.
        package let created: Int64
        package let body: [UInt8]
    }

    /// 2026-01-05T10:00:00Z
    package static let begin: Int64 = 1_767_607_200
    static let day: Int64 = 86_400
    static let hour: Int64 = 3600

    private let simulator: StripeSimulator
    private var events: [Event] = []
    private var subscription: StripeSubscription

    private init(_ simulator: StripeSimulator) {
        self.simulator = simulator
        subscription = StripeSubscription(
            status: "trialing",
            from: Self.begin,
            to: Self.begin + 14 * Self.day,
            latestInvoice: "in_0"
        )
        subscription.trialStart = Self.begin
        subscription.trialEnd = Self.begin + 14 * Self.day
    }

    /// Trial, conversion, renewal, failed and recovered renewal, upgrade with proration, scheduled downgrade,
    /// cancellation, end.
    package static func life(_ simulator: StripeSimulator) -> [Event] {
        var story = StripeStory(simulator)
        let version = simulator.version
        let months = (0..<6).map { begin + 14 * day + Int64($0) * 30 * day }

        // The trial.
        story.tell("customer.subscription.created", at: begin)
        story.pay(
            StripeInvoice(
                "in_0",
                reason: "subscription_create",
                lines: [.init(.basic, amount: 0, from: begin, to: months[0])],
                created: begin
            ),
            at: begin
        )
        story.tell("customer.subscription.trial_will_end", at: begin + 11 * day)

        // Conversion, and a renewal.
        for index in 0..<2 {
            story.roll(to: months[index], until: months[index + 1], invoice: "in_\(index + 1)")
            story.pay(
                story.cycle("in_\(index + 1)", from: months[index], to: months[index + 1]),
                at: months[index] + hour
            )
        }

        // A renewal that fails and is paid three days later.
        story.roll(to: months[2], until: months[3], invoice: "in_3")
        var failed = story.cycle("in_3", from: months[2], to: months[3])
        failed.status = "open"
        failed.nextAttempt = months[2] + 3 * day
        story.tell("invoice.payment_failed", failed.object(version), at: months[2] + hour)
        story.update(at: months[2] + hour) { $0.status = "past_due" }
        failed.status = "paid"
        failed.attemptCount = 2
        failed.nextAttempt = nil
        story.pay(failed, at: months[2] + 3 * day)
        story.update(at: months[2] + 3 * day) { $0.status = "active" }

        // An upgrade half-way through the month.
        let upgrade = months[2] + 15 * day
        story.update(at: upgrade) {
            $0.items = [.init("si_1", .pro)]
            $0.latestInvoice = "in_4"
        }
        story.pay(
            StripeInvoice(
                "in_4",
                reason: "subscription_update",
                lines: [
                    .init(.basic, amount: -499, from: upgrade, to: months[3], isProration: true),
                    .init(.pro, amount: 999, from: upgrade, to: months[3], isProration: true),
                ],
                created: upgrade
            ),
            at: upgrade
        )

        // A downgrade, scheduled for the end of the month, and its coming into force.
        let phases: [JSONText] = [
            phase(.pro, from: months[2], to: months[3]), phase(.basic, from: months[3], to: months[4]),
        ]
        let schedule: JSONMembers = JSONMembers([
            ("id", "sub_sched_1"), ("object", "subscription_schedule"),
            ("current_phase", ["end_date": .integer(months[3]), "start_date": .integer(months[2])]),
            ("customer", "cus_1"), ("end_behavior", "release"), ("phases", .array(phases)), ("status", "active"),
            ("subscription", "sub_1"),
        ])
        let scheduled = upgrade + 5 * day
        story.tell(
            "subscription_schedule.updated",
            schedule,
            previous: ["phases": .array([phase(.pro, from: months[2], to: months[3])])],
            at: scheduled
        )
        story.update(at: scheduled) { $0.schedule = "sub_sched_1" }
        story.roll(to: months[3], until: months[4], invoice: "in_5") { $0.items = [.init("si_1", .basic)] }
        story.pay(story.cycle("in_5", from: months[3], to: months[4]), at: months[3] + hour)

        // Cancellation for the end of the month, and the end.
        let canceled = months[3] + 10 * day
        story.update(at: canceled) {
            if version.isBasilOrLater {
                $0.cancelAt = months[4]
            } else {
                $0.cancelAtPeriodEnd = true
                $0.cancelAt = months[4]
            }
            $0.canceledAt = canceled
            $0.cancellationReason = "cancellation_requested"
        }
        story.subscription.status = "canceled"
        story.subscription.endedAt = months[4]
        story.tell("customer.subscription.deleted", at: months[4])
        return story.events
    }

    private static func phase(_ price: StripePrice, from start: Int64, to end: Int64) -> JSONText {
        [
            "start_date": .integer(start), "end_date": .integer(end),
            "items": [["price": .string(price.id), "quantity": 1]],
        ]
    }

    private func cycle(_ id: String, from start: Int64, to end: Int64) -> StripeInvoice {
        let price = subscription.items.first?.price ?? .basic
        return StripeInvoice(
            id,
            reason: "subscription_cycle",
            lines: [.init(price, from: start, to: end)],
            created: start,
            lookBackFrom: start - 30 * Self.day
        )
    }

    private mutating func tell(
        _ type: String,
        _ object: JSONMembers? = nil,
        previous: JSONText? = nil,
        at time: Int64
    ) {
        let id = "evt_\(events.count + 1)"
        let event = simulator.event(
            type,
            id: id,
            created: time,
            object: .object(object ?? subscription.object(simulator.version)),
            previous: previous
        )
        events.append(Event(type: type, id: id, created: time, body: event.bytes))
    }

    private mutating func update(at time: Int64, _ change: (inout StripeSubscription) -> Void) {
        let before = subscription
        change(&subscription)
        tell(
            "customer.subscription.updated",
            previous: before.previous(subscription, simulator.version),
            at: time
        )
    }

    /// The period runs out: the subscription moves on, still unpaid, with a draft invoice.
    private mutating func roll(
        to start: Int64,
        until end: Int64,
        invoice: String,
        _ change: (inout StripeSubscription) -> Void = { _ in }
    ) {
        update(at: start) {
            $0.start = start
            $0.end = end
            $0.status = "active"
            $0.latestInvoice = invoice
            change(&$0)
        }
    }

    /// A payment with its twin.
    private mutating func pay(_ invoice: StripeInvoice, at time: Int64) {
        var invoice = invoice
        invoice.paidAt = time
        tell("invoice.paid", invoice.object(simulator.version), at: time)
        tell("invoice.payment_succeeded", invoice.object(simulator.version), at: time)
    }
}
