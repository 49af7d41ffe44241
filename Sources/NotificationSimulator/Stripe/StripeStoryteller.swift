import FoundationEssentials
import LifecycleEvents
import WireJSON

/// Stripe's view of a customer, scene by scene.
struct StripeStoryteller {
    private typealias Standing = Plot.Standing

    /// A payment that can be refunded or disputed.
    private struct Payment {
        var intent: String
        var charge: String
        var amount: Int64
        var refunded: Int64 = 0
        var isSubscription: Bool
        /// The session of Checkout that it was made in, and when.
        var session: (id: String, members: JSONMembers, time: Int64)?
    }

    private struct Refund {
        var id: String
        var payment: Payment
        var amount: Int64
    }

    private static let hour: Int64 = 3600
    private static let host = "api.stripe.com"

    private let simulator: StripeSimulator
    private let identity: StoryIdentity
    private var subscription: StripeSubscription?
    private var payments: [Payment] = []
    private var invoices: [String: StripeInvoice] = [:]
    /// The schedule as it stands.
    private var arranged: JSONMembers?
    private var refund: Refund?
    private var serials: [String: Int] = [:]
    private var pending: [SimulatedResource] = []
    /// The scene that is played, which every notification is of.
    private var scene = Plot.Scene.opening
    /// The time as the scene goes on, in seconds.
    private var time: Int64 = 0
    private(set) var notifications: [SimulatedNotification] = []

    init(_ simulator: StripeSimulator, story: CustomerStory) {
        self.simulator = simulator
        identity = StoryIdentity(seed: simulator.seed, story: story.id)
    }

    private var version: StripeSimulator.Version { simulator.version }

    /// The names that the last purchase has: of a subscription its own, of a sale its payment's.
    var latestName: String? {
        payments.last.flatMap { $0.isSubscription ? nil : $0.intent } ?? subscription?.id
    }
    private var customer: String { "cus_\(identity.letters("customer", 14))" }

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
            .transfer:
            throw SimulatorError("Stripe has no \(scene.act.name)", .notOffered(by: .stripe))
        }
    }
}

// MARK: Scenes

extension StripeStoryteller {
    private mutating func create(_ change: (inout StripeSubscription) -> Void) throws(SimulatorError) {
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

    private mutating func subscribe() throws(SimulatorError) {
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
    private mutating func roll() throws(SimulatorError) {
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

    private mutating func fail() throws(SimulatorError) {
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

    private mutating func recover() throws(SimulatorError) {
        // Paid for and active are one moment, of which there are several events.
        let before = subscription
        subscription?.status = "active"
        try pay(reason: "subscription_cycle", attempts: 2)
        subscription = before
        try update { $0.status = "active" }
    }

    private mutating func end(reason: String? = nil) throws(SimulatorError) {
        guard var ended = subscription else { throw SimulatorError("there is no subscription", .nonsense) }
        ended.status = "canceled"
        ended.endedAt = time
        ended.canceledAt = ended.canceledAt ?? time
        if let reason { ended.cancellationReason = reason }
        ended.cancellationReason = ended.cancellationReason ?? "cancellation_requested"
        subscription = ended
        try tell("customer.subscription.deleted")
    }

    /// Other prices at once, with a period of their own.
    private mutating func swap() throws(SimulatorError) {
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

    private func schedule(_ prices: [(StripePrice, start: Int64, end: Int64)], status: String) -> JSONMembers {
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

    private var scheduleID: String { "sub_sched_\(identity.letters("schedule", 24))" }

    private func phases(_ plan: CustomerStory.Plan, _ standing: Plot.Standing) -> [(
        StripePrice, start: Int64, end: Int64
    )] {
        let (start, end) = (standing.start / 1000, standing.end / 1000)
        return [
            (StripePrice(standing.plan), start, end),
            (StripePrice(plan), end, plan.period.end(from: standing.end) / 1000),
        ]
    }

    private mutating func schedule(_ plan: CustomerStory.Plan) throws(SimulatorError) {
        let planned = schedule(phases(plan, try standing()), status: "active")
        arranged = planned
        try link(scheduleID, by: planned, "subscription_schedule.created")
    }

    private mutating func release() throws(SimulatorError) {
        guard let before = scene.before, let plan = before.nextPlan else {
            throw SimulatorError("nothing is taken back", .nonsense)
        }
        var released = schedule(phases(plan, before), status: "released")
        released["released_subscription"] = released["subscription"]
        released["subscription"] = .some(.null)
        try link(nil, by: released, "subscription_schedule.released")
    }

    /// Schedule and subscription name each other from one moment on, and each has an event of it.
    private mutating func link(_ id: String?, by schedule: JSONMembers, _ type: String) throws(SimulatorError) {
        let before = subscription
        subscription?.schedule = id
        emit(type, schedule)
        subscription = before
        try update { $0.schedule = id }
    }

    private mutating func schedulePause() throws(SimulatorError) {
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

    private mutating func buy(_ item: CustomerStory.Item, _ quantity: Int64) {
        let serial = next("cs")
        let intent = "pi_\(identity.letters("intent \(serial)", 24))"
        let id = "cs_\(identity.letters("session \(serial)", 24))"
        let amount = item.price / 10 * quantity
        let session = JSONMembers([
            ("id", .string(id)), ("object", "checkout.session"), ("amount_total", .integer(amount)),
            ("client_reference_id", .string(identity.uuid("account"))), ("currency", "usd"),
            ("customer", .string(customer)), ("livemode", .bool(simulator.isLive)), ("metadata", [:]),
            ("mode", "payment"), ("payment_intent", .string(intent)), ("payment_status", "paid"),
            ("status", "complete"),
        ])
        var complete = session
        let line: JSONText = [
            "id": "li_1", "object": "item", "quantity": .integer(quantity),
            "price": [
                "id": .string("price_\(item.rawValue)"), "object": "price", "currency": "usd",
                "product": .string("prod_\(item.rawValue)"), "type": "one_time",
                "unit_amount": .integer(item.price / 10),
            ],
        ]
        complete.append("line_items", ["object": "list", "data": [line], "has_more": false])
        serve("/v1/checkout/sessions/\(id)?expand%5B%5D=line_items", .object(complete))
        let payment = Payment(
            intent: intent,
            charge: "ch_\(identity.letters("charge \(serial)", 24))",
            amount: amount,
            isSubscription: false,
            session: (id, complete, time)
        )
        payments.append(payment)
        serveSession(of: payment)
        serveInvoices([], of: intent)
        emit("checkout.session.completed", session)
    }

    private mutating func refund(_ which: CustomerStory.Purchase, _ share: CustomerStory.Share) throws(SimulatorError) {
        guard let index = which == .latest ? payments.indices.last : payments.indices.dropLast().last else {
            throw SimulatorError("nothing was paid", .nonsense)
        }
        let amount = share == .half ? payments[index].amount / 2 : payments[index].amount
        payments[index].refunded += amount
        let payment = payments[index]
        serveSession(of: payment)
        let id = "re_\(identity.letters("refund \(next("re"))", 24))"
        let refund = Refund(id: id, payment: payment, amount: amount)
        self.refund = refund
        emit("refund.created", object(refund, status: "succeeded"))
        let charge = JSONMembers([
            ("id", .string(payment.charge)), ("object", "charge"), ("amount", .integer(payment.amount)),
            ("amount_refunded", .integer(payment.refunded)), ("currency", "usd"), ("customer", .string(customer)),
            ("payment_intent", .string(payment.intent)), ("refunded", .bool(payment.refunded == payment.amount)),
        ])
        emit("charge.refunded", charge)
        // A refund ends nothing at Stripe; a merchant who refunds the current period ends the subscription, too.
        time += 60
        if payment.isSubscription, which == .latest, share == .full { try end() }
    }

    private func object(_ refund: Refund, status: String) -> JSONMembers {
        JSONMembers([
            ("id", .string(refund.id)), ("object", "refund"), ("amount", .integer(refund.amount)),
            ("charge", .string(refund.payment.charge)), ("created", .integer(time)), ("currency", "usd"),
            ("payment_intent", .string(refund.payment.intent)), ("reason", "requested_by_customer"),
            ("status", .string(status)),
        ])
    }

    private mutating func reverse() throws(SimulatorError) {
        guard let refund else { throw SimulatorError("nothing was refunded", .nonsense) }
        if let index = payments.firstIndex(where: { $0.charge == refund.payment.charge }) {
            payments[index].refunded -= refund.amount
            serveSession(of: payments[index])
        }
        emit(
            "refund.failed",
            object(refund, status: "failed"),
            previous: ["status": "succeeded"]
        )
    }

    private mutating func dispute(_ stage: String, _ status: String) throws(SimulatorError) {
        guard let payment = payments.last else { throw SimulatorError("nothing was paid", .nonsense) }
        let dispute = JSONMembers([
            ("id", .string("dp_\(identity.letters("dispute", 24))")), ("object", "dispute"),
            ("amount", .integer(payment.amount)), ("charge", .string(payment.charge)), ("created", .integer(time)),
            ("currency", "usd"), ("payment_intent", .string(payment.intent)), ("reason", "fraudulent"),
            ("status", .string(status)),
        ])
        emit("charge.dispute.\(stage)", dispute)
    }
}

// MARK: Shared parts

extension StripeStoryteller {
    private func standing() throws(SimulatorError) -> Plot.Standing {
        guard let standing = scene.after else { throw SimulatorError("there is no subscription", .nonsense) }
        return standing
    }

    private static func set(_ subscription: inout StripeSubscription, _ standing: Plot.Standing) {
        (subscription.start, subscription.end) = (standing.start / 1000, standing.end / 1000)
    }

    /// The next id of a kind.
    private mutating func next(_ kind: String) -> String {
        let serial = serials[kind, default: 0] + 1
        serials[kind] = serial
        return "\(kind)_\(identity.letters("\(kind) \(serial)", 24))"
    }

    private func invoice(
        _ subscription: StripeSubscription,
        reason: String,
        amount: Int64,
        at time: Int64,
        lines: [StripeInvoice.Line]? = nil
    ) -> StripeInvoice {
        let line = subscription.items.first.map {
            StripeInvoice.Line($0.price, amount: amount / 10, from: subscription.start, to: subscription.end)
        }
        var invoice = StripeInvoice(
            subscription.latestInvoice ?? "",
            reason: reason,
            lines: lines ?? [line].compactMap(\.self),
            created: time
        )
        invoice.subscription = subscription.id
        invoice.customer = subscription.customer
        return invoice
    }

    /// A payment of the latest invoice, with its twin.
    private mutating func pay(
        reason: String,
        lines: [StripeInvoice.Line]? = nil,
        attempts: Int64 = 1
    ) throws(SimulatorError) {
        guard let subscription, let standing = scene.after else {
            throw SimulatorError("there is no subscription", .nonsense)
        }
        var paid = invoice(subscription, reason: reason, amount: standing.price, at: time, lines: lines)
        paid.paidAt = time
        paid.attemptCount = attempts
        invoices[paid.id] = paid
        let total = paid.lines.reduce(0) { $0 + $1.amount }
        let payment = StripeInvoicePayment(
            id: "inpay_\(identity.letters("payment of \(paid.id)", 24))",
            invoice: paid.id,
            intent: "pi_\(paid.id)",
            amount: total,
            currency: paid.lines.first?.price.currency ?? "usd",
            paidAt: time,
            isLive: simulator.isLive
        )
        if total > 0 {
            let charge = "ch_\(paid.id)"
            payments.append(Payment(intent: payment.intent, charge: charge, amount: total, isSubscription: true))
            serveInvoice(of: payment, paid)
        }
        emit("invoice.paid", paid.object(version))
        emit("invoice.payment_succeeded", paid.object(version))
        guard total > 0, version.isBasilOrLater else { return }
        let id = "evt_\(identity.letters("event of \(payment.id)", 24))"
        emit("invoice_payment.paid", payment.object, id: id)
    }

    private mutating func update(_ change: (inout StripeSubscription) -> Void) throws(SimulatorError) {
        guard let before = subscription else { throw SimulatorError("there is no subscription", .nonsense) }
        var after = before
        change(&after)
        subscription = after
        emit(
            "customer.subscription.updated",
            after.object(version),
            previous: before.previous(after, version)
        )
    }

    private mutating func tell(_ type: String) throws(SimulatorError) {
        guard let subscription else { throw SimulatorError("there is no subscription", .nonsense) }
        emit(type, subscription.object(version))
    }

    private mutating func serve(_ path: String, _ body: JSONText) {
        pending.append(SimulatedResource(host: Self.host, path: path, body: body))
    }

    /// Stripe's answer about a session, with the payment in it.
    private mutating func serveSession(of payment: Payment) {
        guard let (id, members, time) = payment.session else { return }
        var session = members
        session["payment_intent"] = [
            "id": .string(payment.intent), "object": "payment_intent",
            "latest_charge": [
                "id": .string(payment.charge), "object": "charge", "created": .integer(time),
                "amount_refunded": .integer(payment.refunded), "refunded": .bool(payment.refunded == payment.amount),
            ],
        ]
        serve(
            "/v1/checkout/sessions/\(id)?expand%5B%5D=line_items"
                + "&expand%5B%5D=payment_intent.latest_charge&expand%5B%5D=subscription.latest_invoice",
            .object(session)
        )
    }

    /// Stripe's answer about the subscription.
    private mutating func serveSubscription() {
        guard let subscription else { return }
        serve("/v1/subscriptions/\(subscription.id)", .object(subscription.object(version)))
        var expanded = subscription.object(version)
        if let latest = subscription.latestInvoice {
            // Made when the period begins, and charged an hour later.
            var draft = invoice(subscription, reason: "subscription_cycle", amount: 0, at: subscription.start)
            (draft.status, draft.attemptCount) = ("draft", 0)
            expanded["latest_invoice"] = .object((invoices[latest] ?? draft).object(version))
        }
        serve("/v1/subscriptions/\(subscription.id)?expand%5B%5D=latest_invoice", .object(expanded))
        if subscription.schedule != nil { expanded["schedule"] = arranged.map { .object($0) } ?? nil }
        serve(
            "/v1/subscriptions/\(subscription.id)?expand%5B%5D=latest_invoice&expand%5B%5D=schedule.phases.items.price",
            .object(expanded)
        )
    }

    /// Stripe's answer about the invoice of a payment, with the invoice in it.
    private mutating func serveInvoice(of payment: StripeInvoicePayment, _ invoice: StripeInvoice) {
        var entry = payment.object
        entry["invoice"] = .object(invoice.object(version))
        serveInvoices([.object(entry)], of: payment.intent)
    }

    private mutating func serveInvoices(_ entries: [JSONText], of intent: String) {
        serve(
            "/v1/invoice_payments?payment%5Btype%5D=payment_intent&payment%5Bpayment_intent%5D=\(intent)"
                + "&status=paid&limit=1&expand%5B%5D=data.invoice",
            ["object": "list", "has_more": false, "data": .array(entries)]
        )
    }

    private mutating func emit(
        _ type: String,
        _ object: JSONMembers,
        previous: JSONText? = nil,
        id named: String? = nil
    ) {
        serveSubscription()
        let id = named ?? next("evt")
        let event = simulator.event(type, id: id, created: time, object: .object(object), previous: previous)
        notifications.append(
            SimulatedNotification(
                provider: .stripe,
                step: scene.step,
                occurredAt: Date(millisecondsSince1970: time * 1000),
                type: type,
                id: id,
                content: event.bytes,
                resources: pending
            )
        )
        pending = []
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
