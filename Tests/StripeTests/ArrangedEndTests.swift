import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A subscription by the month whose end is arranged for a later month, or whose invoices are not collected. It renews until then.
@Suite("Ends that are arranged for a later period")
struct ArrangedEndTests {
    typealias Taken = RareFlowTests.Taken

    private static let version = StripeSimulator.Version.endive
    private static let free = RareFlowTests.active(.basic)
    private static let end = created + 90 * day
    /// The payment of the first month: without it, that is asked about, too.
    private static let paid = RareFlowTests.invoice(
        "in_1",
        reason: "subscription_create",
        lines: [.init(.basic, from: free.start, to: free.end)],
        at: created,
        in: version
    )

    private static func ending(at end: Int64 = end, _ subscription: StripeSubscription = free) -> StripeSubscription {
        var ending = subscription
        (ending.cancelAt, ending.canceledAt) = (end, created + day)
        return ending
    }

    private static func scheduled(_ end: Int64) -> Taken {
        let schedule: JSONText = [
            "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1", "end_behavior": "cancel",
            "status": "active", "subscription": "sub_1",
            "phases": [
                [
                    "start_date": .integer(created), "end_date": .integer(end),
                    "items": [["price": ["id": "price_basic_month", "product": "prod_basic"], "quantity": 1]],
                ]
            ],
        ]
        return PaymentJoinTests.event("subscription_schedule.created", schedule, at: created + day, in: version)
    }

    enum Arrangement: CaseIterable { case cancelAt, schedule, pausedCollection }

    /// The arrangement, on the second day of the first month.
    private static func arranged(_ arrangement: Arrangement) -> Taken {
        switch arrangement {
        case .cancelAt: return RareFlowTests.updated(ending(), from: free, at: created + day, version)
        case .schedule: return scheduled(end)
        case .pausedCollection:
            var paused = free
            paused.collectionPause = ["behavior": "void"]
            return RareFlowTests.updated(paused, from: free, at: created + day, version)
        }
    }

    private static func host(_ deliveries: [Taken]) throws -> RareFlowTests.Host {
        try RareFlowTests.Host(adapter(), [RareFlowTests.began(free, version)] + deliveries)
    }

    private static func denial(_ state: SubscriptionState, on days: Int64) -> AccessDecision.Denial.Reason? {
        if case .denied(_, let denial) = state.access(at: date(created + days * day)) { denial.reason } else { nil }
    }

    @Test(
        "a month that is not reported leaves a question, as it does without the arrangement",
        arguments: Arrangement.allCases
    )
    func lostRenewal(arrangement: Arrangement) throws {
        let deliveries = [RareFlowTests.began(Self.free, Self.version), Self.paid, Self.arranged(arrangement)]
        for order in permutations(of: deliveries) {
            let state = try RareFlowTests.Host(adapter(), order).state
            let snapshot = state.snapshot(at: date(created + 2 * day))
            #expect(snapshot.willRenew == true && snapshot.willNotRenewBecause == nil)
            #expect(Self.denial(state, on: 31) == .renewalDue)
            #expect(
                state.openQuestions.map(\.reason) == [.renewalDue]
                    && state.openQuestions.map(\.dueAt) == [date(created + 30 * day + 3600)]
            )
            let stored = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
            #expect(stored == state && state.contradictions.isEmpty)
        }
    }

    @Test("the arrangement is news that names its end, and no pause is an end")
    func news() throws {
        let (cancel, schedule, pause) = try (
            Self.host([Self.arranged(.cancelAt)]), Self.host([Self.arranged(.schedule)]),
            Self.host([Self.arranged(.pausedCollection)])
        )
        for (host, reason) in [(cancel, LifecycleEvent.AutoRenewDisabled.Reason.customer), (schedule, .developer)] {
            #expect(
                host.acts.map(\.event).suffix(1)
                    == [.autoRenewDisabled(.init(reason: reason, accessUntil: date(Self.end)))]
            )
        }
        #expect(pause.kinds == ["started", "notice"])
        for host in [cancel, schedule, pause] {
            #expect(host.state.unreportedEvents(receivedAt: date(created + 40 * day)) == [])
        }
        // It is the same news if no event has reported it.
        var unheard = SubscriptionState(PitfallTests.lineage)
        for delivery in [RareFlowTests.began(Self.free, Self.version), Self.arranged(.cancelAt)] {
            for event in try adapter().take(delivery.body, at: delivery.time).events {
                if let statement = event.statement { unheard.apply(statement) }
            }
        }
        #expect(
            unheard.unreportedEvents(receivedAt: date(created + 2 * day)).map(\.event).suffix(1)
                == [.autoRenewDisabled(.init(reason: .customer, accessUntil: date(Self.end)))]
        )
    }

    @Test("an end that is arranged, moved, taken back and arranged again is news each time, and once")
    func steps() throws {
        let steps = [
            Self.free, Self.ending(), Self.ending(at: Self.end + 30 * day), Self.free, Self.ending(at: Self.free.end),
        ]
        let deliveries = zip(steps, steps.dropFirst()).enumerated().map { index, step in
            RareFlowTests.updated(step.1, from: step.0, at: created + Int64(index + 1) * day, Self.version)
        }
        let host = try Self.host(deliveries + deliveries)
        #expect(
            host.kinds
                == [
                    "started", "auto_renew_disabled", "auto_renew_disabled", "auto_renew_enabled",
                    "auto_renew_disabled",
                ]
        )
        var states: Set<SubscriptionState> = []
        for order in permutations(of: deliveries) {
            let state = try Self.host(order).state
            let snapshot = state.snapshot(at: date(created + 5 * day))
            #expect(snapshot.willRenew == false && snapshot.willNotRenewBecause == .customer)
            #expect(Self.denial(state, on: 31) == .customer)
            #expect(state.openQuestions == [])
            states.insert(state)
        }
        #expect(states.count == 1)
        // Taken back before it was heard of.
        let late = try RareFlowTests.Host(
            adapter(),
            [RareFlowTests.began(Self.free, Self.version), deliveries[2], deliveries[0]]
        )
        #expect(late.kinds == ["started", "auto_renew_enabled"])
    }

    @Test("the last month does not renew, whether or not the subscription says so again", arguments: [true, false])
    func lastMonth(isRolled: Bool) throws {
        var before = Self.ending()
        var deliveries = [RareFlowTests.updated(before, from: Self.free, at: created + day, Self.version)]
        for month: Int64 in 1...2 {
            let next = RareFlowTests.next(before, invoice: "in_\(month + 1)")
            if isRolled {
                deliveries.append(RareFlowTests.updated(next, from: before, at: next.start + 5, Self.version))
            }
            deliveries.append(
                RareFlowTests.invoice(
                    "in_\(month + 1)",
                    lines: [.init(.basic, from: next.start, to: next.end)],
                    at: next.start + 3600,
                    lookBackFrom: before.start,
                    in: Self.version
                )
            )
            before = next
        }
        let host = try Self.host(deliveries)
        #expect(host.kinds == ["started", "auto_renew_disabled", "renewed", "renewed"])
        let snapshot = host.state.snapshot(at: date(created + 65 * day))
        #expect(snapshot.willRenew == false && snapshot.willNotRenewBecause == .customer)
        #expect(Self.denial(host.state, on: 91) == .customer && host.state.openQuestions == [])
    }

    @Test("an end with the current month, or within it, is the end of it")
    func thisMonth() throws {
        let ends = [
            (Self.scheduled(Self.free.end), AccessDecision.Denial.Reason.developer),
            (
                RareFlowTests.updated(Self.ending(at: Self.free.end), from: Self.free, at: created + day, Self.version),
                .customer
            ),
            (
                RareFlowTests.updated(
                    Self.ending(at: created + 9 * day),
                    from: Self.free,
                    at: created + day,
                    Self.version
                ), .customer
            ),
        ]
        for (end, reason) in ends {
            let state = try Self.host([Self.paid, end]).state
            #expect(state.snapshot(at: date(created + 2 * day)).willRenew == false)
            #expect(Self.denial(state, on: 31) == reason && state.openQuestions == [])
        }
    }
}
