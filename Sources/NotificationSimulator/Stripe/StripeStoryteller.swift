import FoundationEssentials
import LifecycleEvents
import WireJSON

/// Stripe's view of a customer, scene by scene.
struct StripeStoryteller {
    /// A payment that can be refunded or disputed.
    struct Payment {
        var intent: String
        var charge: String
        var amount: Int64
        var refunded: Int64 = 0
        var isSubscription: Bool
        /// The session of Checkout that it was made in, and when.
        var session: (id: String, members: JSONMembers, time: Int64)?
    }

    struct Refund {
        var id: String
        var payment: Payment
        var amount: Int64
    }

    static let hour: Int64 = 3600
    static let host = "api.stripe.com"

    let simulator: StripeSimulator
    let identity: StoryIdentity
    var subscription: StripeSubscription?
    var payments: [Payment] = []
    var invoices: [String: StripeInvoice] = [:]
    /// The schedule as it stands.
    var arranged: JSONMembers?
    var refund: Refund?
    var serials: [String: Int] = [:]
    var pending: [SimulatedResource] = []
    /// The scene that is played, which every notification is of.
    var scene = Plot.Scene.opening
    /// The time as the scene goes on, in seconds.
    var time: Int64 = 0
    var notifications: [SimulatedNotification] = []

    init(_ simulator: StripeSimulator, story: CustomerStory) {
        self.simulator = simulator
        identity = StoryIdentity(seed: simulator.seed, story: story.id)
    }

    var version: StripeSimulator.Version { simulator.version }

    /// The names that the last purchase has: of a subscription its own, of a sale its payment's.
    var latestName: String? {
        payments.last.flatMap { $0.isSubscription ? nil : $0.intent } ?? subscription?.id
    }
    var customer: String { "cus_\(identity.letters("customer", 14))" }

    /// Plays one scene.
    mutating func tell(_ scene: Plot.Scene) throws(SimulatorError) {
        self.scene = scene
        let time = scene.time.flooredQuotient(dividingBy: 1000)
        self.time = time
        switch scene.act {
        case .subscribe: try subscribe()
        case .subscribePending:
            try create { $0.status = "incomplete" }
            try tell("customer.subscription.created")
        case .completePayment:
            let standing = try standing()
            try update {
                $0.status = "active"
                Self.set(&$0, standing)
            }
            try pay(reason: "subscription_create")
        case .abandonPayment: try update { $0.status = "incomplete_expired" }
        case .renew:
            try roll()
            self.time += Self.hour
            try pay(reason: "subscription_cycle")
        case .failCharge: try fail()
        case .endGrace: try update { $0.status = "unpaid" }
        case .recover: try recover()
        case .cancel:
            // Also of a period that is not paid for yet.
            let end = try max(standing().end / 1000, subscription?.end ?? 0)
            let isOlder = !version.isBasilOrLater
            try update {
                if isOlder { $0.cancelAtPeriodEnd = true }
                $0.cancelAt = end
                $0.canceledAt = time
                $0.cancellationReason = "cancellation_requested"
            }
        case .uncancel:
            try update {
                ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (false, nil, nil)
                $0.cancellationReason = nil
            }
        case .expire(let ending): try end(reason: ending == .billing ? "payment_failed" : nil)
        case .upgrade, .crossgrade: try swap()
        case .downgrade(let plan): try schedule(plan)
        case .withdrawDowngrade: try release()
        case .schedulePause: try schedulePause()
        case .pause:
            try update {
                $0.status = "paused"
                $0.statusDetails = [
                    "paused": [
                        "transitioned_at": .integer(time), "type": "subscription",
                        "subscription": ["type": "pause_requested"],
                    ]
                ]
            }
            try tell("customer.subscription.paused")
        case .resume:
            let standing = try standing()
            let invoice = next("in")
            try update {
                $0.status = "active"
                $0.statusDetails = nil
                $0.latestInvoice = invoice
                Self.set(&$0, standing)
            }
            try tell("customer.subscription.resumed")
            try pay(reason: "subscription_cycle")
        case .extend:
            let end = try standing().end / 1000
            try update {
                $0.status = "trialing"
                $0.end = end
                ($0.trialStart, $0.trialEnd) = (time, end)
            }
        case .raisePrice(let price, _):
            try update {
                guard var item = $0.items.first else { return }
                item.price.id += "_\(price)"
                item.price.amount = price / 10
                $0.items = [item]
            }
        case .buy(let item, let quantity): buy(item, quantity)
        case .refund(let which, let share): try refund(which, share)
        case .reverseRefund: try reverse()
        case .disputeCharge: try dispute("created", "needs_response")
        case .winDispute: try dispute("closed", "won")
        case .loseDispute:
            try dispute("closed", "lost")
            // After a lost dispute the merchant no longer delivers.
            self.time += 60
            if subscription != nil { try end() }
        case .test: emit("ping", JSONMembers([("object", "ping")]))
        case .renewEarly, .renewAfterCancel, .cancelCommitment, .acceptPrice, .topUp, .requestRefund, .declineRefund,
            .shareWithFamily, .stopSharing,
            .transfer, .own:
            throw SimulatorError("Stripe has no \(scene.act.name)", .notOffered(by: .stripe))
        }
    }
}

extension StripeStoryteller {
    mutating func create(_ change: (inout StripeSubscription) -> Void) throws(SimulatorError) {
        let standing = try standing()
        var created = StripeSubscription(
            "sub_\(identity.letters("subscription \(next("sub"))", 24))",
            customer: customer,
            status: "active",
            items: [.init("si_1", StripePrice(standing.plan))],
            from: time,
            to: standing.end / 1000,
            latestInvoice: next("in")
        )
        change(&created)
        subscription = created
    }

    mutating func subscribe() throws(SimulatorError) {
        let standing = try standing()
        let (isTrial, time) = (standing.offer == .freeWeek, time)
        try create {
            guard isTrial else { return }
            $0.status = "trialing"
            ($0.trialStart, $0.trialEnd) = (time, standing.end / 1000)
        }
        try tell("customer.subscription.created")
        try pay(reason: "subscription_create")
    }

    /// The period runs out: the subscription moves on, still unpaid, with a draft invoice.
    mutating func roll() throws(SimulatorError) {
        let standing = try standing()
        let invoice = next("in")
        let isChange = scene.before?.nextPlan != nil
        try update {
            $0.status = "active"
            $0.latestInvoice = invoice
            Self.set(&$0, standing)
            if isChange { $0.items = [.init("si_1", StripePrice(standing.plan))] }
        }
    }

    mutating func fail() throws(SimulatorError) {
        let standing = try standing()
        let invoice = next("in")
        // A planned change takes effect, paid for or not.
        let plan = standing.nextPlan ?? standing.plan
        let end = plan.period.end(from: standing.end) / 1000
        try update {
            $0.latestInvoice = invoice
            ($0.status, $0.start, $0.end) = ("active", $0.end, end)
            if standing.nextPlan != nil { $0.items = [.init("si_1", StripePrice(plan))] }
        }
        guard let current = subscription else { return }
        var failed = self.invoice(current, reason: "subscription_cycle", amount: standing.nextCharge, at: time)
        failed.status = "open"
        failed.nextAttempt = time + 3 * 86_400
        invoices[failed.id] = failed
        self.time += Self.hour
        emit("invoice.payment_failed", failed.object(version))
        try update { $0.status = "past_due" }
    }

    mutating func recover() throws(SimulatorError) {
        // Paid for and active are one moment, of which there are several events.
        let before = subscription
        subscription?.status = "active"
        try pay(reason: "subscription_cycle", attempts: 2)
        subscription = before
        try update { $0.status = "active" }
    }

    mutating func end(reason: String? = nil) throws(SimulatorError) {
        guard var ended = subscription else { throw SimulatorError("there is no subscription", .nonsense) }
        ended.status = "canceled"
        ended.endedAt = time
        ended.canceledAt = ended.canceledAt ?? time
        if let reason { ended.cancellationReason = reason }
        ended.cancellationReason = ended.cancellationReason ?? "cancellation_requested"
        subscription = ended
        try tell("customer.subscription.deleted")
    }
    func standing() throws(SimulatorError) -> Plot.Standing {
        guard let standing = scene.after else { throw SimulatorError("there is no subscription", .nonsense) }
        return standing
    }

    static func set(_ subscription: inout StripeSubscription, _ standing: Plot.Standing) {
        (subscription.start, subscription.end) = (standing.start / 1000, standing.end / 1000)
    }

    /// The next id of a kind.
    mutating func next(_ kind: String) -> String {
        let serial = serials[kind, default: 0] + 1
        serials[kind] = serial
        return "\(kind)_\(identity.letters("\(kind) \(serial)", 24))"
    }
}

extension StripePrice {
    init(_ plan: CustomerStory.Plan) {
        self.init(
            "price_\(plan.product)_\(plan.rhythm)",
            product: "prod_\(plan.product)",
            amount: plan.price / 10,
            interval: plan.period == .months(12) ? "year" : "month"
        )
    }
}
