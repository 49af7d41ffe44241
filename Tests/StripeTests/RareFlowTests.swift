import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing

/// What few subscriptions go through, and what their customers have paid for then.
@Suite("Stripe, rare but real")
struct RareFlowTests {
    typealias Taken = (body: [UInt8], time: Int64)

    static let policy = CreditPolicy([
        "prod_basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "prod_pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "plan": .init(credits: 1000, price: Money(ExactDecimal(100), "USD")),
        "seats": .init(credits: 100, price: Money(ExactDecimal(10), "USD")),
        "extra": .init(credits: 10, price: Money(ExactDecimal(1), "USD")),
    ])

    /// A host that keeps an index of events and one of credit actions.
    struct Host {
        let adapter: StripeAdapter
        var policy = RareFlowTests.policy
        var ledger = AccountLedger()
        var acts: [NormalizedEvent] = []
        var effects: [CreditAction.Effect] = []
        private var seen: Set<EventID> = []
        private var done: Set<String> = []

        init(_ adapter: StripeAdapter, _ deliveries: [Taken] = []) throws {
            self.adapter = adapter
            for delivery in deliveries { try take(delivery) }
        }

        var kinds: [String] { acts.map(\.kind.rawValue) }
        var state: SubscriptionState {
            ledger[PitfallTests.lineage] ?? SubscriptionState(PitfallTests.lineage)
        }

        mutating func take(_ delivery: Taken) throws {
            try take(adapter.take(delivery.body, at: delivery.time))
        }

        mutating func take(_ result: Normalization) throws {
            if let statement = result.noChange?.statement { ledger.apply(statement) }
            for event in result.events {
                let applied = ledger.apply(event)
                if seen.insert(event.id).inserted, applied.disposition == .applied {
                    acts.append(applied.event)
                }
                guard let state = event.subscription.flatMap({ ledger[$0] }) else { continue }
                for action in policy.actions(for: applied, in: state)
                where done.insert(action.id).inserted {
                    effects.append(action.effect)
                }
            }
        }
    }

    static func updated(
        _ subscription: StripeSubscription,
        from before: StripeSubscription,
        at time: Int64,
        _ version: StripeSimulator.Version
    ) -> Taken {
        let previous = before.previous(subscription, version)
        let body = PitfallTests.body("updated", subscription, previous: previous, at: time, id: "evt_u\(time)", version)
        return (body, time)
    }

    static func began(_ subscription: StripeSubscription, _ version: StripeSimulator.Version) -> Taken {
        let time = subscription.start
        return (PitfallTests.body("created", subscription, at: time, id: "evt_c\(time)", version), time)
    }

    static func invoice(
        _ id: String,
        _ type: String = "paid",
        reason: String = "subscription_cycle",
        _ lines: [StripeInvoice.Line],
        at time: Int64,
        lookBackFrom: Int64? = nil,
        _ version: StripeSimulator.Version
    ) -> Taken {
        var invoice = StripeInvoice(
            id,
            reason: reason,
            lines: lines,
            created: lines.map(\.start).max() ?? time,
            lookBackFrom: lookBackFrom
        )
        invoice.paidAt = type == "paid" ? time : nil
        invoice.status = type == "paid" ? "paid" : "open"
        let body = simulator(version).event(
            "invoice.\(type)",
            id: "evt_\(id)_\(type)",
            created: time,
            object: .object(invoice.object(version))
        ).bytes
        return (body, time)
    }

    static func permutations<Element>(_ elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index in
            var rest = elements
            let element = rest.remove(at: index)
            return permutations(rest).map { [element] + $0 }
        }
    }

    static let start = created
    static func active(_ price: StripePrice) -> StripeSubscription {
        StripeSubscription(
            status: "active",
            items: [.init("si_1", price)],
            from: start,
            to: start + 30 * day,
            latestInvoice: "in_1"
        )
    }

    static func next(_ before: StripeSubscription, invoice: String) -> StripeSubscription {
        var next = before
        (next.start, next.end, next.latestInvoice) = (before.end, before.end + 30 * day, invoice)
        return next
    }

    @Test("a change that a schedule makes at the end of the period pays out in full", arguments: PitfallTests.versions)
    func scheduledChange(_ version: StripeSimulator.Version) throws {
        for (old, new, credits) in [(StripePrice.basic, StripePrice.pro, 500), (.pro, .basic, 200)] {
            let before = Self.active(old)
            var after = Self.next(before, invoice: "in_2")
            after.items = [.init("si_1", new)]
            // Stripe gets to it some seconds after the end, and charges an hour later.
            let changed = Self.updated(after, from: before, at: before.end + 7, version)
            let paid = Self.invoice(
                "in_2",
                reason: "subscription_cycle",
                [.init(new, from: after.start, to: after.end)],
                at: after.start + 3600,
                lookBackFrom: before.start,
                version
            )
            for order in [[changed, paid], [paid, changed]] {
                let host = try Host(adapter(), [Self.began(before, version)] + order)
                #expect(host.effects.last == .reset(to: Int64(credits)), "\(host.effects)")
                #expect(host.effects.count == 2)
            }
        }
    }

    @Test("a new anchor of billing begins a period that is paid for", arguments: PitfallTests.versions)
    func newAnchor(_ version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        (after.start, after.end, after.latestInvoice) = (time, time + 30 * day, "in_2")
        let changed = Self.updated(after, from: before, at: time + 1, version)
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            [
                .init(.basic, amount: -666, from: time, to: before.end, isProration: true),
                .init(.basic, from: time, to: time + 30 * day),
            ],
            at: time + 2,
            version
        )
        for order in [[changed, paid], [paid, changed]] {
            let host = try Host(adapter(), [Self.began(before, version)] + order)
            #expect(host.kinds == ["started", "renewed"])
            #expect(host.effects == [.reset(to: 200), .reset(to: 200)])
            #expect(host.state.access(at: date(time + 29 * day)).isGranted)
        }
    }

    @Test(
        "another quantity with a new anchor gives the credits of the time that is over, also where its invoice comes first",
        arguments: PitfallTests.versions
    )
    func quantityAndAnchor(_ version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        after.items = [.init("si_1", .basic, quantity: 3)]
        (after.start, after.end, after.latestInvoice) = (time, time + 30 * day, "in_2")
        var line = StripeInvoice.Line(.basic, amount: 2997, from: time, to: time + 30 * day)
        line.quantity = 3
        let changed = Self.updated(after, from: before, at: time + 1, version)
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            [
                .init(.basic, amount: -666, from: time, to: before.end, isProration: true),
                line,
            ],
            at: time + 2,
            version
        )
        for order in [[changed, paid], [paid, changed]] {
            let host = try Host(adapter(), [Self.began(before, version)] + order)
            #expect(host.effects == [.reset(to: 200), .carryOver(to: 66)])
        }
    }

    @Test(
        "a change of product that gives nothing back is one, also where its invoice comes first",
        arguments: PitfallTests.versions
    )
    func changeWithoutProration(_ version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        after.items = [.init("si_1", .pro)]
        (after.start, after.end, after.latestInvoice) = (time, time + 30 * day, "in_2")
        let changed = Self.updated(after, from: before, at: time, version)
        let lines = [StripeInvoice.Line(.pro, from: time, to: time + 30 * day)]
        let paid = Self.invoice("in_2", reason: "subscription_update", lines, at: time, version)
        for order in [[changed, paid], [paid, changed]] {
            let host = try Host(adapter(), [Self.began(before, version)] + order)
            #expect(host.kinds == ["started", "product_changed"])
            #expect(host.effects == [.reset(to: 200), .carryOver(to: 333)])
        }
    }

    @Test(
        "a new anchor of billing pays out its own period alone, also where the one before is told last",
        arguments: PitfallTests.versions
    )
    func newAnchorFirst(_ version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 2 * day
        var after = before
        (after.start, after.end, after.latestInvoice) = (time, time + 30 * day, "in_2")
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            [.init(.basic, from: time, to: time + 30 * day)],
            at: time + 2,
            version
        )
        // The creation was not answered with 200, and comes again for three days.
        let told = [Self.updated(after, from: before, at: time + 1, version), paid, Self.began(before, version)]
        for order in Self.permutations(told) where order[0].time != before.start {
            #expect(try Host(adapter(), order).effects == [.reset(to: 200)])
        }
    }

    @Test(
        "a change of rhythm gives the credits of the time that is over, also where its invoice comes first",
        arguments: PitfallTests.versions
    )
    func rhythmByInvoice(_ version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        after.items = [.init("si_1", .basicYear)]
        (after.start, after.end, after.latestInvoice) = (time, time + 365 * day, "in_2")
        let changed = Self.updated(after, from: before, at: time, version)
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            [
                .init(.basic, amount: -666, from: time, to: before.end, isProration: true),
                .init(.basicYear, from: time, to: time + 365 * day),
            ],
            at: time,
            version
        )
        for order in [[changed, paid], [paid, changed], [paid, changed, paid]] {
            let host = try Host(adapter(), [Self.began(before, version)] + order)
            #expect(host.effects == [.reset(to: 200), .carryOver(to: 66)])
            #expect(host.acts.count == 2)
            #expect(host.state.access(at: date(time + 300 * day)).isGranted)
        }
    }

    @Test(
        "a change of product with a new anchor is one, also where its invoice comes first",
        arguments: PitfallTests.versions,
        [666, 0] as [Int64]
    )
    func upgradeByInvoice(_ version: StripeSimulator.Version, _ unused: Int64) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        after.items = [.init("si_1", .pro)]
        (after.start, after.end, after.latestInvoice) = (time, time + 30 * day, "in_2")
        let changed = Self.updated(after, from: before, at: time, version)
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            [
                .init(.basic, amount: -unused, from: time, to: before.end, isProration: true),
                .init(.pro, from: time, to: time + 30 * day),
            ],
            at: time,
            version
        )
        for order in [[changed, paid], [paid, changed]] {
            let host = try Host(adapter(), [Self.began(before, version)] + order)
            #expect(host.kinds == ["started", "product_changed"])
            #expect(host.effects == [.reset(to: 200), .carryOver(to: 333)])
        }
    }

    @Test(
        "a trial ended ahead of time is a conversion, and a change with another product",
        arguments: PitfallTests.versions
    )
    func earlyConversion(_ version: StripeSimulator.Version) throws {
        var trial = Self.active(.basic)
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", trial.start, trial.end)
        let time = Self.start + 10 * day
        for (price, kind, effect) in [
            (StripePrice.basic, "renewed", CreditAction.Effect.reset(to: 200)),
            (.pro, "product_changed", .carryOver(to: 500)),
        ] {
            var active = trial
            active.items = [.init("si_1", price)]
            (active.status, active.trialEnd) = ("active", time)
            (active.start, active.end, active.latestInvoice) = (time, time + 30 * day, "in_2")
            let updated = Self.updated(active, from: trial, at: time, version)
            let lines = [StripeInvoice.Line(price, from: time, to: time + 30 * day)]
            let paid = Self.invoice("in_2", reason: "subscription_update", lines, at: time, version)
            for order in [[updated, paid], [paid, updated]] {
                let host = try Host(adapter(), [Self.began(trial, version)] + order)
                #expect(host.kinds == ["started", kind])
                #expect(host.effects == [.reset(to: 200), effect])
            }
        }
    }

    @Test("a trial ended ahead of time whose charge succeeds at last is a conversion", arguments: PitfallTests.versions)
    func lateConversion(_ version: StripeSimulator.Version) throws {
        var trial = Self.active(.basic)
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", trial.start, trial.end)
        let time = Self.start + 10 * day
        var failed = trial
        (failed.status, failed.trialEnd) = ("past_due", time)
        (failed.start, failed.end, failed.latestInvoice) = (time, time + 30 * day, "in_2")
        var active = failed
        active.status = "active"
        let lines = [StripeInvoice.Line(.basic, from: time, to: time + 30 * day)]
        var host = try Host(
            adapter(),
            [
                Self.began(trial, version),
                Self.updated(failed, from: trial, at: time + 1, version),
                Self.invoice("in_2", "payment_failed", reason: "subscription_update", lines, at: time + 1, version),
            ]
        )
        #expect(host.effects == [.reset(to: 200)])
        try host.take(Self.invoice("in_2", reason: "subscription_update", lines, at: time + day, version))
        try host.take(Self.updated(active, from: failed, at: time + day, version))
        #expect(host.kinds == ["started", "billing_issue", "renewed"])
        #expect(host.effects == [.reset(to: 200), .reset(to: 200)])
    }

    @Test("a trial that is given to a subscriber is no period that was paid for", arguments: PitfallTests.versions)
    func givenTrial(_ version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var trial = before
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", time, time + 40 * day)
        (trial.start, trial.end, trial.latestInvoice) = (time, time + 40 * day, "in_2")
        let host = try Host(
            adapter(),
            [
                Self.began(before, version),
                Self.updated(trial, from: before, at: time, version),
                Self.invoice(
                    "in_2",
                    reason: "subscription_update",
                    [
                        .init(.basic, amount: -666, from: time, to: before.end, isProration: true),
                        .init(.basic, amount: 0, from: time, to: time + 40 * day),
                    ],
                    at: time,
                    version
                ),
            ]
        )
        #expect(host.kinds == ["started", "extended"])
        #expect(host.effects == [.reset(to: 200)])
    }

    /// The payment of a renewal.
    private static func paid(
        _ period: StripeSubscription,
        at time: Int64,
        _ version: StripeSimulator.Version
    ) -> Taken {
        invoice(
            period.latestInvoice ?? "",
            reason: "subscription_cycle",
            [.init(.basic, from: period.start, to: period.end)],
            at: time,
            lookBackFrom: period.start - 30 * day,
            version
        )
    }

    @Test(
        "who pays by invoice, each within days that reach into the next month, gets what was paid for",
        arguments: PitfallTests.versions
    )
    func daysUntilDue(_ version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        let third = Self.next(second, invoice: "in_3")
        func paid(_ period: StripeSubscription, at time: Int64) -> Taken { Self.paid(period, at: time, version) }
        let story = [
            Self.began(first, version),
            Self.updated(second, from: first, at: second.start + 5, version),
            Self.updated(third, from: second, at: third.start + 5, version),
            paid(second, at: third.start + day),
        ]
        for order in Self.permutations(story) {
            let host = try Host(adapter(), order)
            // What is heard of a start after its successor has begun is past.
            let heard = order[0].time == story[0].time ? 2 : 1
            #expect(host.effects.suffix(2) == Array(repeating: .reset(to: 200), count: host.effects.count))
            #expect(host.effects.count >= heard, "\(order.map(\.time))")
        }
        var host = try Host(adapter(), story)
        #expect(host.kinds == ["started", "renewed"])
        #expect(host.effects == [.reset(to: 200), .reset(to: 200)])
        try host.take(paid(third, at: third.end + day))
        try host.take(paid(second, at: third.start + day))
        #expect(host.effects == [.reset(to: 200), .reset(to: 200), .reset(to: 200)])
    }

    @Test("an old invoice that is paid after a newer one refills nothing", arguments: PitfallTests.versions)
    func oldDebt(_ version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        let third = Self.next(second, invoice: "in_3")
        func paid(_ period: StripeSubscription, at time: Int64) -> Taken { Self.paid(period, at: time, version) }
        let host = try Host(
            adapter(),
            [
                Self.began(first, version),
                Self.updated(second, from: first, at: second.start + 5, version),
                Self.updated(third, from: second, at: third.start + 5, version),
                paid(third, at: third.start + 3600),
                paid(second, at: third.start + 9 * day),
            ]
        )
        #expect(host.effects == [.reset(to: 200), .reset(to: 200)])
    }

    @Test(
        "a change pays its share once, in whatever order it, what was before, and both payments are told",
        arguments: PitfallTests.versions,
        [(StripePrice.pro, 30, 333), (.basicYear, 365, 66)] as [(StripePrice, Int64, Int64)]
    )
    func changeInAnyOrder(
        _ version: StripeSimulator.Version,
        _ change: (price: StripePrice, length: Int64, share: Int64)
    ) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        after.items = [.init("si_1", change.price)]
        (after.start, after.end, after.latestInvoice) = (time, time + change.length * day, "in_2")
        let first = StripeInvoice.Line(.basic, from: before.start, to: before.end)
        let second = StripeInvoice.Line(change.price, from: after.start, to: after.end)
        let told = [
            Self.began(before, version),
            Self.invoice("in_1", reason: "subscription_create", [first], at: before.start + 5, version),
            Self.updated(after, from: before, at: time, version),
            Self.invoice("in_2", reason: "subscription_update", [second], at: time + 5, version),
        ]
        let orders = Self.permutations(Array(told.indices))
        // The payment alone does not tell a change.
        for order in orders where order.firstIndex(of: 2) ?? 0 < order.firstIndex(of: 3) ?? 0 || order[0] < 2 {
            let host = try Host(adapter(), order.map { told[$0] } + told)
            let credits = host.effects.reduce(Int64(0)) { sum, effect in
                switch effect {
                case .reset(let credits), .carryOver(let credits), .grant(let credits): sum + credits
                default: sum
                }
            }
            // What becomes known of a month after its successor has begun pays nothing out, but for what goes on.
            let isHeard = order[0] < 2 || change.price.product == before.items.first?.price.product
            #expect(credits == change.share + (isHeard ? 200 : 0), "\(order): \(host.effects)")
        }
    }

    /// By default (`allow_incomplete`) an update takes effect whether or not its charge succeeds.
    @Test(
        "a change with a new anchor whose charge fails pays out once it is paid for, and not before",
        arguments: PitfallTests.versions
    )
    func changeUnpaid(_ version: StripeSimulator.Version) throws {
        let time = Self.start + 10 * day
        for (isTrial, price, length) in [
            (false, StripePrice.pro, 30), (true, .pro, 30), (false, .basicYear, 365),
        ] as [(Bool, StripePrice, Int64)] {
            var before = Self.active(.basic)
            if isTrial { (before.status, before.trialStart, before.trialEnd) = ("trialing", before.start, before.end) }
            var after = before
            (after.status, after.items, after.latestInvoice) = ("past_due", [.init("si_1", price)], "in_2")
            (after.start, after.end) = (time, time + length * day)
            if isTrial { after.trialEnd = time }
            func invoice(_ type: String, at time: Int64) -> Taken {
                let line = StripeInvoice.Line(price, from: after.start, to: after.end)
                return Self.invoice("in_2", type, reason: "subscription_update", [line], at: time, version)
            }
            let began = Self.began(before, version)
            let changed = Self.updated(after, from: before, at: time, version)
            let failed = invoice("payment_failed", at: time + 1)
            let first: CreditAction.Effect = .reset(to: isTrial ? 50 : 200)
            func host(_ deliveries: [Taken]) throws -> Host {
                var host = try Host(adapter())
                host.policy.allowances["prod_basic"]?.trialCredits = 50
                for delivery in deliveries { try host.take(delivery) }
                return host
            }
            for order in [[began, changed, failed], [began, failed, changed]] {
                #expect(try host(order).effects == [first])
            }
            let paid = invoice("paid", at: time + 2 * day)
            let share: Int64 = price.product == "prod_basic" ? 66 : isTrial ? 500 : 333
            // Heard of after the change, the month before pays nothing out, and is set off when the change pays out.
            #expect(try host([changed, failed, began]).effects == [])
            let late = try host([changed, failed, began, paid]).effects
            #expect(late == [.carryOver(to: share)])
            for order in [[began, changed, failed, paid], [began, failed, changed, paid], [began, paid, changed]] {
                let host = try host(order)
                #expect(host.effects == [first, .carryOver(to: share)])
                #expect(host.state.access(at: date(time + 3 * day)).isGranted)
            }
        }
    }

    @Test("a month that is upgraded before its invoice is paid pays out all the same", arguments: PitfallTests.versions)
    func upgradedUnpaid(_ version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        var upgraded = second
        (upgraded.items, upgraded.latestInvoice) = ([.init("si_1", .pro)], "in_3")
        let rolled = Self.updated(second, from: first, at: second.start + 5, version)
        let changed = Self.updated(upgraded, from: second, at: second.start + 15 * day, version)
        let paid = Self.paid(second, at: second.start + 20 * day, version)
        let host = try Host(adapter(), [Self.began(first, version), rolled, changed, paid, paid])
        #expect(host.kinds == ["started", "product_changed", "renewed"])
        #expect(host.effects == [.reset(to: 200), .carryOver(to: 375), .grant(200)])
        #expect(host.state.snapshot(at: date(second.start + 21 * day)).product == "prod_pro")
        let inTime = Self.paid(second, at: second.start + 3600, version)
        let other = try Host(adapter(), [Self.began(first, version), rolled, inTime, changed, inTime])
        #expect(other.effects == [.reset(to: 200), .reset(to: 200), .carryOver(to: 375)])
    }

    /// A trial is how Stripe's merchants put off a renewal.
    @Test("a month that is prolonged before its invoice is paid pays out in full", arguments: PitfallTests.versions)
    func prolongedUnpaid(_ version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        let time = second.start + 10 * day
        var prolonged = second
        (prolonged.status, prolonged.end) = ("trialing", second.end + 10 * day)
        (prolonged.trialStart, prolonged.trialEnd) = (time, prolonged.end)
        let began = Self.began(first, version)
        let rolled = Self.updated(second, from: first, at: second.start + 5, version)
        let extended = Self.updated(prolonged, from: second, at: time, version)
        let paid = Self.paid(second, at: time + day, version)
        for order in [[began, rolled, extended, paid], [began, rolled, paid, extended]] {
            var host = try Host(adapter())
            host.policy.allowances["prod_basic"]?.trialCredits = 50
            for delivery in order { try host.take(delivery) }
            #expect(Set(host.kinds) == ["started", "extended", "renewed"])
            #expect(host.effects == [.reset(to: 200), .reset(to: 200)])
        }
    }

    @Test("a paid invoice is news, also after its twin", arguments: PitfallTests.versions)
    func twinFirst(_ version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        let time = second.start + 3600
        func paid(_ type: String) throws -> Taken {
            var invoice = StripeInvoice(
                "in_2",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: second.start, to: second.end)],
                created: second.start,
                lookBackFrom: first.start
            )
            invoice.paidAt = time
            let event = simulator(version).event(
                "invoice.\(type)",
                id: "evt_\(type)",
                created: time,
                object: .object(invoice.object(version))
            )
            return (event.bytes, time)
        }
        let rolled = Self.updated(second, from: first, at: second.start + 5, version)
        let host = try Host(
            adapter(),
            [Self.began(first, version), rolled, try paid("payment_succeeded"), try paid("paid")]
        )
        #expect(host.kinds == ["started", "renewed"])
        #expect(host.effects == [.reset(to: 200), .reset(to: 200)])
    }

    // MARK: Two rhythms

    private static func item(_ product: String, _ from: Int64, _ to: Int64) -> JSONText {
        [
            "id": .string("si_" + product), "object": "subscription_item", "quantity": 1,
            "current_period_start": .integer(from), "current_period_end": .integer(to),
            "price": [
                "id": .string("price_" + product), "object": "price", "product": .string(product), "currency": "usd",
                "unit_amount": .integer(["plan": 10000, "seats": 1000][product] ?? 100),
                "recurring": [
                    "interval": .string(product == "plan" ? "year" : "month"), "interval_count": 1,
                    "usage_type": "licensed",
                ],
            ],
        ]
    }

    private static func subscription(
        _ type: String,
        _ items: [JSONText],
        previous: [JSONText]? = nil,
        at time: Int64,
        _ invoice: String
    ) -> Taken {
        let object: JSONText = [
            "id": "sub_1", "object": "subscription", "customer": "cus_1", "status": "active",
            "start_date": .integer(created), "cancel_at_period_end": false, "cancel_at": nil,
            "latest_invoice": .string(invoice), "metadata": [:],
            "items": ["object": "list", "data": .array(items), "has_more": false],
        ]
        let before: JSONText? = previous.map { ["items": ["data": .array($0)], "latest_invoice": "in_0"] }
        let event = simulator().event(
            "customer.subscription.\(type)",
            id: "evt_\(time)",
            created: time,
            object: object,
            previous: before
        )
        return (event.bytes, time)
    }

    private static let year = item("plan", start, start + 365 * day)
    private static let months = [
        item("seats", start, start + 30 * day), item("seats", start + 30 * day, start + 60 * day),
    ]
    private static let seats = StripePrice("price_seats", product: "seats", amount: 1000)

    private static let month: [Taken] = [
        subscription("updated", [year, months[1]], previous: [year, months[0]], at: start + 30 * day + 5, "in_2"),
        invoice(
            "in_2",
            reason: "subscription_cycle",
            [.init(seats, from: start + 30 * day, to: start + 60 * day)],
            at: start + 30 * day + 3600,
            lookBackFrom: start,
            .endive
        ),
    ]

    @Test("another month of an item beside a yearly plan renews, and changes no product")
    func monthBesideYear() throws {
        let first = Self.subscription("created", [Self.year, Self.months[0]], at: Self.start, "in_1")
        for order in [Self.month, Self.month.reversed()] {
            let host = try Host(adapter(), [first] + order)
            #expect(host.kinds == ["started", "renewed"])
            // What is left of the year stays, and the month pays out.
            #expect(host.effects == [.reset(to: 1000), .carryOver(to: 100)])
        }
    }

    @Test("a yearly plan that goes, beside months that stay, is told under a name of its own")
    func yearGoes() throws {
        let gone = Self.subscription(
            "updated",
            [Self.months[1]],
            previous: [Self.year, Self.months[1]],
            at: Self.start + 40 * day,
            "in_2"
        )
        let first = Self.subscription("created", [Self.year, Self.months[0]], at: Self.start, "in_1")
        let host = try Host(adapter(), [first] + Self.month + [gone])
        #expect(host.acts.last?.kind == .productChanged)
        #expect(host.acts.last?.occurredAt == date(Self.start + 40 * day))
    }

    @Test("an item that is added in the rhythm of the others takes no credits away")
    func addedItem() throws {
        // First by name, and cheaper: what the subscription is for stays the main product.
        let plan = Self.item("seats", Self.start, Self.start + 30 * day)
        let more = Self.item("extra", Self.start, Self.start + 30 * day)
        let first = Self.subscription("created", [plan], at: Self.start, "in_1")
        let added = Self.subscription("updated", [plan, more], previous: [plan], at: Self.start + 10 * day, "in_2")
        let gone = Self.subscription("updated", [plan], previous: [plan, more], at: Self.start + 20 * day, "in_3")
        let host = try Host(adapter(), [first, added, gone])
        #expect(host.kinds == ["started", "product_changed", "product_changed"])
        #expect(host.effects == [.reset(to: 100)])
        // Nor does what is delivered late, or again.
        let paid = Self.invoice(
            "in_1",
            reason: "subscription_create",
            [.init(Self.seats, from: Self.start, to: Self.start + 30 * day)],
            at: Self.start + 3,
            .endive
        )
        for order in [[first, added, paid], [first, paid, added, first, paid], [paid, added, first, paid, added]] {
            #expect(try Host(adapter(), order).effects == [.reset(to: 100)])
        }
    }

    /// Between a renewal and its payment lies an hour at least.
    @Test(
        "a month pays out once it is paid for, also where an item was added or removed before",
        arguments: ["extra", "zone"],
        [true, false]
    )
    func addedUnpaid(_ product: String, _ isAdded: Bool) throws {
        let next = Self.start + 30 * day
        let other = StripePrice("price_" + product, product: product, amount: 100)
        func month(_ product: String, _ start: Int64) -> JSONText { Self.item(product, start, start + 30 * day) }
        let (plan, more) = (month("seats", next), month(product, next))
        let (few, many) = ([plan], [plan, more])
        let (now, then) = isAdded ? (few, many) : (many, few)
        let old = isAdded ? ["seats"] : ["seats", product]
        let before = old.map { month($0, Self.start) }
        let first = Self.subscription("created", before, at: Self.start, "in_1")
        let rolled = Self.subscription("updated", now, previous: before, at: next + 5, "in_2")
        let changed = Self.subscription("updated", then, previous: now, at: next + 600, "in_3")
        let lines = (isAdded ? [Self.seats] : [Self.seats, other]).map {
            StripeInvoice.Line($0, from: next, to: next + 30 * day)
        }
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_cycle",
            lines,
            at: next + 3600,
            lookBackFrom: Self.start,
            .endive
        )
        let host = try Host(adapter(), [first, rolled, changed, paid])
        #expect(host.kinds == ["started", "product_changed", "renewed"])
        // The dearer item is the main product, whatever the other is called.
        #expect(host.effects == [.reset(to: 100), .reset(to: 100)])
    }

    @Test("an item that is added in a rhythm of its own pays out beside what is there")
    func addedMonth() throws {
        let time = Self.start + 40 * day
        let month = Self.item("seats", time, time + 30 * day)
        let first = Self.subscription("created", [Self.year], at: Self.start, "in_1")
        let added = Self.subscription("updated", [Self.year, month], previous: [Self.year], at: time + 1, "in_2")
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            [.init(Self.seats, from: time, to: time + 30 * day)],
            at: time + 2,
            .endive
        )
        let host = try Host(adapter(), [first, added, paid])
        #expect(host.kinds == ["started", "product_changed"])
        #expect(host.effects == [.reset(to: 1000), .carryOver(to: 100)])
        // Its invoice may come first, which does not tell of a change from the one to the other.
        let other = try Host(adapter(), [first, paid, added])
        #expect(other.kinds == ["started", "renewed", "product_changed"])
        #expect(other.effects == host.effects)
    }

    // MARK: Out of order

    @Test("a purchase that waits for its payment is past once it was paid for", arguments: PitfallTests.versions)
    func lateWaiting(_ version: StripeSimulator.Version) throws {
        var waiting = Self.active(.basic)
        waiting.status = "incomplete"
        // All in one second, as recorded from Stripe.
        let active = Self.active(.basic)
        let made: Taken = (PitfallTests.body("created", waiting, at: Self.start, id: "evt_c", version), Self.start)
        let paid = Self.updated(active, from: waiting, at: Self.start, version)
        #expect(try Host(adapter(), [made, paid]).kinds == ["purchase_pending", "started"])
        #expect(try Host(adapter(), [paid, made]).kinds == ["started"])
        let invoice = Self.invoice(
            "in_1",
            reason: "subscription_create",
            [.init(.basic, from: Self.start, to: Self.start + 30 * day)],
            at: Self.start,
            version
        )
        #expect(try Host(adapter(), [invoice, made, paid]).kinds == ["started"])
        #expect(try Host(adapter(), [made, invoice, paid]).kinds == ["purchase_pending", "started"])
    }

    @Test("a delayed payment is not waited for any more once it came in")
    func lateSession() throws {
        func session(_ type: String, _ status: String, at time: Int64) -> Taken {
            let event = simulator().event(
                "checkout.session.\(type)",
                id: "evt_\(type)",
                created: time,
                object: [
                    "id": "cs_1", "object": "checkout.session", "mode": "payment", "payment_status": .string(status),
                    "payment_intent": "pi_1", "amount_total": 1000, "currency": "usd", "customer": "cus_1",
                ]
            )
            return (event.bytes, time)
        }
        let waiting = session("completed", "unpaid", at: created)
        let paid = session("async_payment_succeeded", "paid", at: created + 3 * day)
        #expect(try Host(adapter(), [waiting, paid]).kinds == ["purchase_pending", "one_time_purchased"])
        #expect(try Host(adapter(), [paid, waiting]).kinds == ["one_time_purchased"])
    }

    // MARK: Thin events

    @Test(
        "a failed payment that was made good before we asked is no trouble any more",
        arguments: ["paid", "void", "uncollectible", "open"]
    )
    func settledMeanwhile(_ status: String) async throws {
        let transport = StubTransport()
        var lookup = StripeAdapter.Lookup(transport: transport, apiKey: Secret("rk_live_secret"))
        lookup.clock = TestClock()
        let adapter = try adapter { $0.lookup = lookup }
        var invoice = StripeInvoice(
            "in_2",
            reason: "subscription_cycle",
            lines: [.init(.basic, from: created, to: created + 30 * day)],
            created: created,
            lookBackFrom: created - 30 * day
        )
        (invoice.status, invoice.attemptCount) = (status, 2)
        invoice.paidAt = status == "paid" ? created + 60 : nil
        transport.on(.any, respond: .init(status: 200, body: invoice.object(.endive).bytes))
        let body = simulator().thinEvent(
            "v1.invoice.payment_failed",
            id: "evt_thin",
            created: "2026-03-01T12:00:00Z",
            related: ("invoice", "in_2", "/v1/invoices/in_2")
        ).bytes
        let result = try await adapter.receive(try simulator().delivery(body, receivedAt: date(created + 120)))
        let isTrouble = status == "open" || status == "uncollectible"
        #expect(result.kinds == (isTrouble ? ["billing_issue"] : []))
        var host = try Host(adapter, [Self.began(Self.active(.basic), .endive)])
        try host.take(result)
        #expect(host.kinds == (isTrouble ? ["started", "billing_issue"] : ["started"]))
    }

    @Test("a change of product and rhythm is told once, by its thin event and not by its invoice again")
    func thinChange() async throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        let yearly = StripePrice("price_pro_year", product: "prod_pro", amount: 19990, interval: "year")
        var after = before
        after.items = [.init("si_1", yearly)]
        (after.start, after.end, after.latestInvoice) = (time, time + 365 * day, "in_2")
        let invoice = StripeInvoice(
            "in_2",
            reason: "subscription_update",
            lines: [
                .init(.basic, amount: -666, from: time, to: before.end, isProration: true),
                .init(yearly, from: time, to: time + 365 * day),
            ],
            created: time
        )
        func take(_ type: String, _ related: (String, String, String), _ object: JSONMembers) async throws
            -> Normalization
        {
            let transport = StubTransport()
            transport.on(.any, respond: .init(status: 200, body: object.bytes))
            var lookup = StripeAdapter.Lookup(transport: transport, apiKey: Secret("rk_live_secret"))
            lookup.clock = TestClock()
            let body = simulator().thinEvent(
                "v1.\(type)",
                id: "evt_\(type)",
                created: "2026-03-11T12:00:00Z",
                related: related
            ).bytes
            let adapter = try adapter { $0.lookup = lookup }
            return try await adapter.receive(try simulator().delivery(body, receivedAt: date(time + 2)))
        }
        var host = try Host(adapter(), [Self.began(before, .endive)])
        try host.take(
            await take(
                "customer.subscription.item_price_changed",
                ("subscription", "sub_1", "/v1/subscriptions/sub_1"),
                after.object(.endive)
            )
        )
        try host.take(
            await take("invoice.paid", ("invoice", "in_2", "/v1/invoices/in_2"), invoice.object(.endive))
        )
        #expect(host.kinds == ["started", "product_changed"])
        #expect(host.state.access(at: date(time + 300 * day)).isGranted)
    }
}
