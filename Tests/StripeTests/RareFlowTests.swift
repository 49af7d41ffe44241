import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Flows of few subscriptions, and the periods that their customers have paid for.
@Suite("Stripe, rare but real")
struct RareFlowTests {
    typealias Taken = (body: [UInt8], time: Int64)

    /// A host that keeps an index of events.
    struct Host {
        let adapter: StripeAdapter
        var ledger = AccountLedger()
        var acts: [NormalizedEvent] = []
        private var seen: Set<EventID> = []

        init(_ adapter: StripeAdapter, _ deliveries: [Taken] = []) throws {
            self.adapter = adapter
            for delivery in deliveries { try take(delivery) }
        }

        var kinds: [String] { acts.map(\.kind.rawValue) }
        var state: SubscriptionState {
            ledger[PitfallTests.lineage] ?? SubscriptionState(PitfallTests.lineage)
        }

        mutating func take(_ delivery: Taken) throws {
            take(try adapter.take(delivery.body, at: delivery.time))
        }

        /// The host after the deliveries in each order. Orders that begin alike have what they begin with in common.
        ///
        /// - Parameter first: deliveries that come before all of these.
        static func inEachOrder(
            _ deliveries: [Taken],
            after first: [Taken] = [],
            by adapter: StripeAdapter,
            _ check: (Host) throws -> Void
        ) throws {
            let results = try deliveries.map { try adapter.take($0.body, at: $0.time) }
            try Host(adapter, first).inEachOrder(results, check)
        }

        private func inEachOrder(_ results: [Normalization], _ check: (Host) throws -> Void) throws {
            if results.isEmpty { try check(self) }
            for index in results.indices {
                var (host, rest) = (self, results)
                host.take(rest.remove(at: index))
                try host.inEachOrder(rest, check)
            }
        }

        mutating func take(_ result: Normalization) {
            if let statement = result.noChange?.statement { ledger.apply(statement) }
            for event in result.events {
                let applied = ledger.apply(event)
                if seen.insert(event.id).inserted, applied.disposition == .applied {
                    acts.append(applied.event)
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
        let body = PitfallTests.body(
            "updated",
            subscription,
            previous: previous,
            at: time,
            id: "evt_u\(time)",
            in: version
        )
        return (body, time)
    }

    static func began(_ subscription: StripeSubscription, _ version: StripeSimulator.Version) -> Taken {
        let time = subscription.start
        return (PitfallTests.body("created", subscription, at: time, id: "evt_c\(time)", in: version), time)
    }

    static func invoice(
        _ id: String,
        _ type: String = "paid",
        reason: String = "subscription_cycle",
        lines: [StripeInvoice.Line],
        at time: Int64,
        lookBackFrom: Int64? = nil,
        in version: StripeSimulator.Version
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
        return invoice.reported(type, at: time, in: version)
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

    /// A period that begins anew ten days into the month, and its invoice.
    struct Restart: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var price = StripePrice.basic
        var days: Int64 = 30
        /// The amount that is given back for the rest of the month, if the invoice has a line for that.
        var unused: Int64?
        /// The seconds after which it is reported, and after which it is paid for.
        var delays: (update: Int64, payment: Int64) = (0, 0)
        var kind = "product_changed"
        /// The kind of event where the invoice comes first, if it is another.
        var kindOfInvoice: String?
    }

    static let restarts = [
        Restart(testDescription: "a new anchor of billing", unused: 666, delays: (1, 2), kind: "renewed"),
        Restart(testDescription: "another product, and nothing is given back", price: .pro),
        Restart(
            testDescription: "another rhythm",
            price: .basicYear,
            days: 365,
            unused: 666,
            kindOfInvoice: "renewed"
        ),
        Restart(testDescription: "another product with a new anchor", price: .pro, unused: 666),
        Restart(testDescription: "another product with a new anchor after a free month", price: .pro, unused: 0),
    ]

    @Test(
        "a period that begins anew is reported once, also where its invoice comes first",
        arguments: restarts,
        PitfallTests.versions
    )
    func restarted(restart: Restart, version: StripeSimulator.Version) throws {
        let before = Self.active(.basic)
        let time = Self.start + 10 * day
        var after = before
        after.items = [.init("si_1", restart.price)]
        (after.start, after.end, after.latestInvoice) = (time, time + restart.days * day, "in_2")
        let changed = Self.updated(after, from: before, at: time + restart.delays.update, version)
        let unused = restart.unused.map {
            StripeInvoice.Line(.basic, amount: -$0, from: time, to: before.end, isProration: true)
        }
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            lines: [unused].compactMap(\.self) + [.init(restart.price, from: time, to: after.end)],
            at: time + restart.delays.payment,
            in: version
        )
        let invoiced = restart.kindOfInvoice ?? restart.kind
        for (order, kind) in [
            ([changed, paid], restart.kind), ([paid, changed], invoiced), ([paid, changed, paid], invoiced),
        ] {
            let host = try Host(adapter(), [Self.began(before, version)] + order)
            #expect(host.kinds == ["started", kind])
            #expect(host.state.access(at: date(after.end - day)).isGranted)
        }
    }

    @Test("a trial ended ahead of time whose charge succeeds at last is a conversion", arguments: PitfallTests.versions)
    func lateConversion(version: StripeSimulator.Version) throws {
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
                Self.invoice(
                    "in_2",
                    "payment_failed",
                    reason: "subscription_update",
                    lines: lines,
                    at: time + 1,
                    in: version
                ),
            ]
        )
        try host.take(Self.invoice("in_2", reason: "subscription_update", lines: lines, at: time + day, in: version))
        try host.take(Self.updated(active, from: failed, at: time + day, version))
        // The step to past_due is one issue, and the failed charge of a change is another.
        #expect(host.kinds == ["started", "billing_issue", "billing_issue", "renewed"])
    }

    @Test("a trial that is given to a subscriber is no period that was paid for", arguments: PitfallTests.versions)
    func givenTrial(version: StripeSimulator.Version) throws {
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
                    lines: [
                        .init(.basic, amount: -666, from: time, to: before.end, isProration: true),
                        .init(.basic, amount: 0, from: time, to: time + 40 * day),
                    ],
                    at: time,
                    in: version
                ),
            ]
        )
        #expect(host.kinds == ["started", "extended"])
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
            lines: [.init(.basic, from: period.start, to: period.end)],
            at: time,
            lookBackFrom: period.start - 30 * day,
            in: version
        )
    }

    @Test(
        "a customer who pays each invoice within days that reach into the next month gets the paid periods",
        arguments: PitfallTests.versions
    )
    func daysUntilDue(version: StripeSimulator.Version) throws {
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
        #expect(try Host(adapter(), story).kinds == ["started", "renewed"])
    }

    @Test("a month that is upgraded before its invoice is paid pays out all the same", arguments: PitfallTests.versions)
    func upgradedUnpaid(version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        var upgraded = second
        (upgraded.items, upgraded.latestInvoice) = ([.init("si_1", .pro)], "in_3")
        let rolled = Self.updated(second, from: first, at: second.start + 5, version)
        let changed = Self.updated(upgraded, from: second, at: second.start + 15 * day, version)
        let paid = Self.paid(second, at: second.start + 20 * day, version)
        let host = try Host(adapter(), [Self.began(first, version), rolled, changed, paid, paid])
        #expect(host.kinds == ["started", "product_changed", "renewed"])
        #expect(host.state.snapshot(at: date(second.start + 21 * day)).product == "prod_pro")
        let inTime = Self.paid(second, at: second.start + 3600, version)
        _ = try Host(adapter(), [Self.began(first, version), rolled, inTime, changed, inTime])
    }

    /// A trial is how Stripe's merchants put off a renewal.
    @Test("a month that is prolonged before its invoice is paid pays out in full", arguments: PitfallTests.versions)
    func prolongedUnpaid(version: StripeSimulator.Version) throws {
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
            for delivery in order { try host.take(delivery) }
            #expect(Set(host.kinds) == ["started", "extended", "renewed"])
        }
    }

    @Test("a paid invoice is news, also after its twin", arguments: PitfallTests.versions)
    func twinFirst(version: StripeSimulator.Version) throws {
        let first = Self.active(.basic)
        let second = Self.next(first, invoice: "in_2")
        let time = second.start + 3600
        func paid(_ type: String) -> Taken {
            var invoice = StripeInvoice(
                "in_2",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: second.start, to: second.end)],
                created: second.start,
                lookBackFrom: first.start
            )
            invoice.paidAt = time
            return invoice.reported(type, at: time, in: version)
        }
        let rolled = Self.updated(second, from: first, at: second.start + 5, version)
        let host = try Host(
            adapter(),
            [Self.began(first, version), rolled, paid("payment_succeeded"), paid("paid")]
        )
        #expect(host.kinds == ["started", "renewed"])
    }

    // MARK: Two rhythms

    private static func item(_ product: String, from: Int64, to: Int64) -> StripeSubscription.Item {
        let price = StripePrice(
            "price_" + product,
            product: product,
            amount: ["plan": 10000, "seats": 1000][product] ?? 100,
            interval: product == "plan" ? "year" : "month"
        )
        return .init("si_" + product, price, period: from..<to)
    }

    private static func made(_ items: [StripeSubscription.Item]) -> Taken { began(standing(items, "in_1"), .endive) }

    private static func changed(
        to items: [StripeSubscription.Item],
        from before: [StripeSubscription.Item],
        at time: Int64,
        invoice: String
    ) -> Taken { updated(standing(items, invoice), from: standing(before, "in_0"), at: time, .endive) }

    private static func standing(_ items: [StripeSubscription.Item], _ invoice: String) -> StripeSubscription {
        StripeSubscription(status: "active", items: items, from: start, to: start + 30 * day, latestInvoice: invoice)
    }

    private static let year = item("plan", from: start, to: start + 365 * day)
    private static let months = [
        item("seats", from: start, to: start + 30 * day), item("seats", from: start + 30 * day, to: start + 60 * day),
    ]
    private static let seats = StripePrice("price_seats", product: "seats", amount: 1000)

    private static let month: [Taken] = [
        changed(to: [year, months[1]], from: [year, months[0]], at: start + 30 * day + 5, invoice: "in_2"),
        invoice(
            "in_2",
            reason: "subscription_cycle",
            lines: [.init(seats, from: start + 30 * day, to: start + 60 * day)],
            at: start + 30 * day + 3600,
            lookBackFrom: start,
            in: .endive
        ),
    ]

    @Test("another month of an item beside a yearly plan renews, and changes no product")
    func monthBesideYear() throws {
        let first = Self.made([Self.year, Self.months[0]])
        for order in [Self.month, Self.month.reversed()] {
            let host = try Host(adapter(), [first] + order)
            #expect(host.kinds == ["started", "renewed"])
            // The rest of the year stays, and the month pays out.
        }
    }

    @Test("a yearly plan that goes while months stay is reported under a name of its own")
    func yearGoes() throws {
        let gone = Self.changed(
            to: [Self.months[1]],
            from: [Self.year, Self.months[1]],
            at: Self.start + 40 * day,
            invoice: "in_2"
        )
        let first = Self.made([Self.year, Self.months[0]])
        let host = try Host(adapter(), [first] + Self.month + [gone])
        #expect(host.acts.last?.kind == .productChanged)
        #expect(host.acts.last?.occurredAt == date(Self.start + 40 * day))
    }

    @Test("an item that is added in the rhythm of the others takes no credits away")
    func addedItem() throws {
        // First by name, and cheaper: what the subscription is for stays the main product.
        let plan = Self.item("seats", from: Self.start, to: Self.start + 30 * day)
        let more = Self.item("extra", from: Self.start, to: Self.start + 30 * day)
        let first = Self.made([plan])
        let added = Self.changed(to: [plan, more], from: [plan], at: Self.start + 10 * day, invoice: "in_2")
        let gone = Self.changed(to: [plan], from: [plan, more], at: Self.start + 20 * day, invoice: "in_3")
        let host = try Host(adapter(), [first, added, gone])
        #expect(host.kinds == ["started", "product_changed", "product_changed"])
    }

    /// Between a renewal and its payment lies an hour at least.
    @Test(
        "a month is renewed once it is paid for, also where an item was added or removed before",
        arguments: ["extra", "zone"],
        [true, false]
    )
    func addedUnpaid(product: String, isAdded: Bool) throws {
        let next = Self.start + 30 * day
        let other = StripePrice("price_" + product, product: product, amount: 100)
        func month(_ product: String, _ start: Int64) -> StripeSubscription.Item {
            Self.item(product, from: start, to: start + 30 * day)
        }
        let (plan, more) = (month("seats", next), month(product, next))
        let (few, many) = ([plan], [plan, more])
        let (now, then) = isAdded ? (few, many) : (many, few)
        let old = isAdded ? ["seats"] : ["seats", product]
        let before = old.map { month($0, Self.start) }
        let first = Self.made(before)
        let rolled = Self.changed(to: now, from: before, at: next + 5, invoice: "in_2")
        let changed = Self.changed(to: then, from: now, at: next + 600, invoice: "in_3")
        let lines = (isAdded ? [Self.seats] : [Self.seats, other]).map {
            StripeInvoice.Line($0, from: next, to: next + 30 * day)
        }
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_cycle",
            lines: lines,
            at: next + 3600,
            lookBackFrom: Self.start,
            in: .endive
        )
        let host = try Host(adapter(), [first, rolled, changed, paid])
        #expect(host.kinds == ["started", "product_changed", "renewed"])
        // The dearer item is the main product, whatever the other is called.
        let policy = CreditPolicy(["seats": .init(credits: 100)])
        let credits = [5, 3700].map {
            CreditStatement(of: host.state, under: policy, uses: [], at: date(next + $0)).grants.map(\.left)
        }
        #expect(credits == [[], [100]], "that the first month was paid for is not reported here")
    }

    @Test("an item that is added in a rhythm of its own pays out beside what is there")
    func addedMonth() throws {
        let time = Self.start + 40 * day
        let month = Self.item("seats", from: time, to: time + 30 * day)
        let first = Self.made([Self.year])
        let added = Self.changed(to: [Self.year, month], from: [Self.year], at: time + 1, invoice: "in_2")
        let paid = Self.invoice(
            "in_2",
            reason: "subscription_update",
            lines: [.init(Self.seats, from: time, to: time + 30 * day)],
            at: time + 2,
            in: .endive
        )
        let host = try Host(adapter(), [first, added, paid])
        #expect(host.kinds == ["started", "product_changed"])
        // Its invoice may come first, which does not tell of a change from the one to the other.
        let other = try Host(adapter(), [first, paid, added])
        #expect(other.kinds == ["started", "renewed", "product_changed"])
    }

    @Test("a delayed payment is not waited for any more once it came in")
    func lateSession() throws {
        func session(_ type: String, _ status: String, at time: Int64) -> Taken {
            let session: JSONText = [
                "id": "cs_1", "object": "checkout.session", "mode": "payment", "payment_status": .string(status),
                "payment_intent": "pi_1", "amount_total": 1000, "currency": "usd", "customer": "cus_1",
            ]
            return PaymentJoinTests.event("checkout.session.\(type)", session, at: time, in: .endive)
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
    func settledMeanwhile(status: String) async throws {
        let transport = StubTransport()
        var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_secret"))
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
        let body = simulator().thin("v1.invoice.payment_failed", of: ("invoice", "in_2", "/v1/invoices/in_2"))
        let result = try await adapter.receive(try simulator().delivery(body, receivedAt: date(created + 120)))
        let isTrouble = status == "open" || status == "uncollectible"
        #expect(result.kinds == (isTrouble ? ["billing_issue"] : []))
        var host = try Host(adapter, [Self.began(Self.active(.basic), .endive)])
        host.take(result)
        #expect(host.kinds == (isTrouble ? ["started", "billing_issue"] : ["started"]))
    }

    @Test("a change of product and rhythm is reported once, by its thin event and not by its invoice")
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
        func take(_ type: String, _ related: (String, String, String), object: JSONMembers) async throws
            -> Normalization
        {
            let transport = StubTransport()
            transport.on(.any, respond: .init(status: 200, body: object.bytes))
            var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_secret"))
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
                object: after.object(.endive)
            )
        )
        try host.take(
            await take("invoice.paid", ("invoice", "in_2", "/v1/invoices/in_2"), object: invoice.object(.endive))
        )
        #expect(host.kinds == ["started", "product_changed"])
        #expect(host.state.access(at: date(time + 300 * day)).isGranted)
    }
}
