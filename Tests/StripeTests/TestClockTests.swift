import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Under a test clock the times of a subscription are the clock's. An event is created when it is made, by Stripe's own
/// time: so its subscription may renew twice within a minute, months ahead of the event, of its signature and of receipt.
@Suite("Stripe's test clocks")
struct TestClockTests {
    typealias Flow = RareFlowTests
    static let version = StripeSimulator.Version.endive

    /// Where a clock stands beside Stripe's own time, in seconds.
    static let clocks: [Int64] = [-800 * day, 0, 400 * day]

    /// In the month that the clock has reached.
    static func active(_ clock: Int64, _ change: (inout StripeSubscription) -> Void = { _ in }) -> StripeSubscription {
        var subscription = Flow.active(.basic)
        (subscription.start, subscription.end) = (created - 10 * day + clock, created + 20 * day + clock)
        (subscription.startDate, subscription.testClock) = (subscription.start, "clock_1")
        change(&subscription)
        return subscription
    }

    static func began(_ subscription: StripeSubscription, at time: Int64) -> Flow.Taken {
        (PitfallTests.body("created", subscription, at: time, id: "evt_c"), time)
    }

    static func updated(_ new: StripeSubscription, from old: StripeSubscription, at time: Int64) -> Flow.Taken {
        Flow.updated(new, from: old, at: time, version)
    }

    /// An invoice that was paid an hour after its period began.
    static func paid(
        _ id: String,
        _ price: StripePrice,
        for subscription: StripeSubscription,
        at time: Int64
    ) -> Flow.Taken {
        var invoice = StripeInvoice(
            id,
            reason: "subscription_cycle",
            lines: [.init(price, from: subscription.start, to: subscription.end)],
            created: subscription.start
        )
        invoice.paidAt = subscription.start + 3600
        return invoice.reported(at: time, in: version)
    }

    @Test("a period that the clock has reached has begun", arguments: clocks)
    func begun(clock: Int64) throws {
        let first = Self.active(clock)
        let second = Flow.next(first, invoice: "in_2")
        let adapter = try adapter()
        var state = SubscriptionState(PitfallTests.lineage)
        var appliedEvents: [AppliedEvent] = []
        for delivery in [
            Self.began(first, at: created), Self.updated(second, from: first, at: created + 20),
            Self.paid("in_2", .basic, for: second, at: created + 21),
        ] {
            let result = try adapter.take(delivery.body, at: delivery.time)
            if let statement = result.noChange?.statement { state.apply(statement) }
            appliedEvents += result.events.map { state.apply($0) }
        }
        #expect(appliedEvents.map(\.event.kind) == [.started, .renewed])
        #expect(appliedEvents.map(\.disposition) == [.applied, .applied])
        #expect(appliedEvents.map(\.nextCheckAt) == [nil, nil])
    }

    @Test("a collection that goes on within a period is no beginning of it", arguments: clocks)
    func collection(clock: Int64) throws {
        let subscription = Self.active(clock)
        var paused = subscription
        paused.collectionPause = ["behavior": "void", "resumes_at": nil]
        var host = try Flow.Host(try policed { $0.collectionPause = .pauses })
        try host.take(Self.began(subscription, at: created))
        let now = date(created + clock)
        try host.take(Self.updated(paused, from: subscription, at: created + 20))
        #expect(host.state.snapshot(at: now).status == .paused)
        try host.take(Self.updated(subscription, from: paused, at: created + 40))
        #expect(host.state.snapshot(at: now).status == .active)
        #expect(host.kinds == ["started", "paused", "renewed"])
    }

    @Test("a resumption that begins a period is one fact with its payment", arguments: clocks)
    func resumption(clock: Int64) throws {
        let first = Self.active(clock - 30 * day)
        var paused = first
        paused.status = "paused"
        paused.statusDetails = ["paused": ["transitioned_at": .integer(first.end), "type": "subscription"]]
        var resumed = Self.active(clock)
        (resumed.start, resumed.startDate, resumed.latestInvoice) = (created + clock, first.start, "in_2")
        resumed.end = resumed.start + 30 * day
        var host = try Flow.Host(try adapter())
        try host.take(Self.began(first, at: created - 60))
        try host.take((PitfallTests.body("paused", paused, at: created - 40, id: "evt_p"), created - 40))
        try host.take((PitfallTests.body("resumed", resumed, at: created, id: "evt_r"), created))
        try host.take(Self.paid("in_2", .basic, for: resumed, at: created + 1))
        #expect(host.kinds == ["started", "paused", "renewed"])
    }

    /// A clock stands still until it is advanced, and a tester asks twice for an end within one second of it.
    @Test("each change of renewal is reported while the clock stands still")
    func renewal() throws {
        let subscription = Self.active(400 * day)
        var canceled = subscription
        canceled.cancelAtPeriodEnd = true
        (canceled.cancelAt, canceled.canceledAt) = (canceled.end, created + 400 * day)
        canceled.cancellationReason = "cancellation_requested"
        var host = try Flow.Host(try adapter())
        try host.take(Self.began(subscription, at: created))
        for time in [created + 20, created + 60] {
            try host.take(Self.updated(canceled, from: subscription, at: time))
            try host.take(Self.updated(subscription, from: canceled, at: time + 20))
        }
        #expect(
            host.kinds
                == [
                    "started", "auto_renew_disabled", "auto_renew_enabled", "auto_renew_disabled", "auto_renew_enabled",
                ]
        )
    }

    @Test("credits end with a period that is not paid for", arguments: clocks)
    func unpaid(clock: Int64) throws {
        let first = Self.active(clock)
        let second = Flow.next(first, invoice: "in_2")
        var (overdue, unpaid) = (second, second)
        (overdue.status, unpaid.status) = ("past_due", "unpaid")
        var host = try Flow.Host(try adapter())
        try host.take(Self.began(first, at: created))
        try host.take(Self.updated(second, from: first, at: created + 20))
        try host.take(Self.updated(overdue, from: second, at: created + 22))
        try host.take(Self.updated(unpaid, from: overdue, at: created + 40))
        #expect(host.kinds == ["started", "billing_issue", "expired"])
        #expect(!host.state.access(at: date(second.start)).isGranted)
    }

    @Test("money of the period that the clock has reached is that of the current period", arguments: [0, 400 * day])
    func moneyBack(clock: Int64) async throws {
        let first = Self.active(clock - 30 * day)
        let second = Flow.next(first, invoice: "in_9")
        var invoice = StripeInvoice(
            "in_9",
            reason: "subscription_cycle",
            lines: [.init(.basic, from: second.start, to: second.end)],
            created: second.start
        )
        invoice.paidAt = second.start
        let payments: JSONText = [
            "object": "list", "has_more": false,
            "data": [["id": "inpay_1", "object": "invoice_payment", "invoice": .object(invoice.object(.endive))]],
        ]
        let transport = StubTransport()
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(payments.text.utf8)))
        let adapter = try adapter {
            var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
            lookup.completesSnapshots = true
            $0.lookup = lookup
        }
        let refunded = OneFactTests.refund("succeeded")
        let refund = PaymentJoinTests.event("refund.created", refunded, at: created, in: Self.version)
        var host = try Flow.Host(adapter)
        try host.take(Self.began(first, at: created - 60))
        try host.take(Self.updated(second, from: first, at: created - 40))
        func reported(_ body: [UInt8]) async throws -> Normalization {
            try await adapter.receive(simulator().delivery(body, receivedAt: date(created + 2)))
        }
        try host.take(await reported(refund.body))
        #expect(host.acts.last?.event.accessEffect == LifecycleEvent.AccessEffect.none)
        #expect(host.state.access(at: date(created + clock)).isGranted)
        try host.take(await reported(PitfallRowTests.dispute("lost", at: created)))
        #expect(host.kinds == ["started", "refunded", "chargeback"])
        #expect(host.acts.last?.event.accessEffect == .removes)
        #expect(!host.state.access(at: date(created + clock)).isGranted)
    }

    @Test("the end of a trial is announced", arguments: clocks)
    func trial(clock: Int64) throws {
        let trial = Self.active(clock) { ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end) }
        let body = PitfallTests.body("trial_will_end", trial)
        #expect(try adapter().take(body).kinds == ["notice"])
        let ended = Self.active(clock) { ($0.trialStart, $0.trialEnd) = ($0.start - 7 * day, $0.start) }
        #expect(try adapter().take(PitfallTests.body("trial_will_end", ended)).kinds == [])
    }

    @Test("a change that a schedule arranges is reported", arguments: clocks)
    func arranged(clock: Int64) throws {
        let change = created + 20 * day + clock
        let phases = [
            Self.phase(.pro, from: change - 30 * day, to: change),
            Self.phase(.basic, from: change, to: change + 30 * day),
        ]
        let body = simulator().event(
            "subscription_schedule.updated",
            id: "evt_s",
            created: created,
            object: [
                "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1", "status": "active",
                "subscription": "sub_1", "test_clock": "clock_1", "end_behavior": "release", "phases": .array(phases),
                "current_phase": ["start_date": .integer(change - 30 * day), "end_date": .integer(change)],
            ],
            previous: ["phases": .array(Array(phases.prefix(1)))]
        ).bytes
        #expect(try adapter().take(body).kinds == ["product_change_scheduled"])
    }

    static func phase(_ price: StripePrice, from: Int64, to: Int64) -> JSONText {
        [
            "start_date": .integer(from), "end_date": .integer(to),
            "items": [["price": .string(price.id), "quantity": 1]],
        ]
    }

    @Test("a schedule that lets go after its change has come takes nothing back", arguments: clocks)
    func schedule(clock: Int64) throws {
        let change = created - 10 * day + clock
        let body = simulator().event(
            "subscription_schedule.released",
            id: "evt_s",
            created: created,
            object: [
                "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1", "status": "released",
                "subscription": nil, "released_subscription": "sub_1", "released_at": .integer(change + 30 * day),
                "current_phase": nil, "end_behavior": "release", "test_clock": "clock_1",
                "phases": [
                    Self.phase(.pro, from: change - 30 * day, to: change),
                    Self.phase(.basic, from: change, to: change + 30 * day),
                ],
            ]
        ).bytes
        #expect(try adapter().take(body).kinds == [])
    }
}
