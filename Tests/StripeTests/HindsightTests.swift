import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Questions about a time that is past, within a period that continues: the answer is what held then.
@Suite("Access asked for the past")
struct HindsightTests {
    typealias Taken = RareFlowTests.Taken
    static let versions: [StripeSimulator.Version] = [.v2020, .endive]

    /// A reading at a moment.
    private struct Seen: Hashable {
        var isGranted: Bool
        var product: ProductID?
        var phase: PeriodPhase?

        init(_ isGranted: Bool, _ product: ProductID? = "prod_basic", phase: PeriodPhase? = .regular) {
            (self.isGranted, self.product, self.phase) = (isGranted, product, phase)
        }

        init(_ state: SubscriptionState, at time: Int64) {
            let snapshot = state.snapshot(at: date(time))
            (isGranted, product, phase) = (snapshot.access.isGranted, snapshot.product, snapshot.phase)
        }
    }

    /// The same in each order, and as it was seen at each time before the next delivery came.
    private func check(
        _ deliveries: [Taken],
        by adapter: StripeAdapter,
        _ expected: [(hours: Int64, seen: Seen)]
    ) throws {
        for (hours, seen) in expected {
            let time = created + hours * 3600
            let then = try RareFlowTests.Host(adapter, deliveries.filter { $0.time <= time }).state
            #expect(Seen(then, at: time) == seen, "then, after \(hours) hours")
        }
        try RareFlowTests.Host.inEachOrder(deliveries, by: adapter) { host in
            let state = host.state
            for (hours, seen) in expected {
                #expect(Seen(state, at: created + hours * 3600) == seen, "asked for \(hours) hours")
            }
            let stored = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
            #expect(stored == state)
        }
    }

    private func update(
        _ subscription: inout StripeSubscription,
        at hours: Int64,
        version: StripeSimulator.Version,
        _ change: (inout StripeSubscription) -> Void
    ) -> Taken {
        let before = subscription
        change(&subscription)
        return RareFlowTests.updated(subscription, from: before, at: created + hours * 3600, version)
    }

    @Test("a plan that was changed, and changed back, in the middle of a period", arguments: versions)
    func plans(version: StripeSimulator.Version) throws {
        var subscription = RareFlowTests.active(.basic)
        let deliveries = [
            RareFlowTests.began(subscription, version),
            update(&subscription, at: 240, version: version) { $0.items = [.init("si_1", .pro)] },
            update(&subscription, at: 300, version: version) { $0.items = [.init("si_1", .pro, quantity: 3)] },
            update(&subscription, at: 360, version: version) { $0.items = [.init("si_1", .basic)] },
            update(&subscription, at: 480, version: version) { $0.metadata = ["a": "b"] },
        ]
        let (basic, pro) = (Seen(true), Seen(true, "prod_pro"))
        try check(
            deliveries,
            by: adapter(),
            [(1, basic), (239, basic), (241, pro), (301, pro), (359, pro), (361, basic), (500, basic)]
        )
    }

    @Test("an add-on that came and went", arguments: versions)
    func addOn(version: StripeSimulator.Version) throws {
        var subscription = RareFlowTests.active(.pro)
        let deliveries = [
            RareFlowTests.began(subscription, version),
            update(&subscription, at: 240, version: version) { $0.items.append(.init("si_2", .seats)) },
            update(&subscription, at: 360, version: version) { $0.items.removeLast() },
            update(&subscription, at: 480, version: version) { $0.metadata = ["a": "b"] },
        ]
        for order in permutations(of: deliveries) {
            let state = try RareFlowTests.Host(adapter(), order).state
            let others = [Int64(100), 300, 400, 500].map { hours -> [ProductID]? in
                guard case .granted(_, let grant) = state.access(at: date(created + hours * 3600)) else { return nil }
                return grant.otherProducts ?? []
            }
            #expect(others == [[], ["prod_seats"], [], []])
        }
    }

    @Test("pauses within a period", arguments: versions, [true, false])
    func pauses(version: StripeSimulator.Version, isOfCollection: Bool) throws {
        var subscription = RareFlowTests.active(.basic)
        func pause(_ subscription: inout StripeSubscription) {
            if isOfCollection {
                subscription.collectionPause = ["behavior": "void"]
            } else {
                subscription.status = "paused"
            }
        }
        func resume(_ subscription: inout StripeSubscription) {
            (subscription.status, subscription.collectionPause) = ("active", nil)
        }
        let deliveries = [
            RareFlowTests.began(subscription, version), update(&subscription, at: 100, version: version, pause),
            update(&subscription, at: 150, version: version) { $0.metadata = ["a": "b"] },
            update(&subscription, at: 200, version: version, resume),
            update(&subscription, at: 300, version: version, pause),
            update(&subscription, at: 400, version: version, resume),
        ]
        try check(
            deliveries,
            by: policed { $0.collectionPause = .pauses },
            [
                (99, Seen(true)), (101, Seen(false)), (151, Seen(false)), (199, Seen(false)), (201, Seen(true)),
                (301, Seen(false)), (401, Seen(true)),
            ]
        )
    }

    @Test(
        "grace that was given, and an unpaid time, until the invoice is paid or not",
        arguments: versions,
        [true, false]
    )
    func unpaid(version: StripeSimulator.Version, isRecovered: Bool) throws {
        let first = RareFlowTests.active(.basic)
        var subscription = RareFlowTests.next(first, invoice: "in_2")
        let roll = RareFlowTests.updated(subscription, from: first, at: subscription.start, version)
        var deliveries = [
            RareFlowTests.began(first, version), roll,
            update(&subscription, at: 721, version: version) { $0.status = "past_due" },
            update(&subscription, at: 800, version: version) { $0.status = "unpaid" },
        ]
        let last = isRecovered ? "active" : "canceled"
        if isRecovered {
            deliveries.append(update(&subscription, at: 900, version: version) { $0.status = last })
        } else {
            (subscription.status, subscription.endedAt) = (last, created + 900 * 3600)
            let body = PitfallTests.body("deleted", subscription, at: created + 900 * 3600, id: "evt_end", in: version)
            deliveries.append((body, created + 900 * 3600))
        }
        let end = Seen(isRecovered)
        try check(
            deliveries,
            by: adapter(),
            [
                (700, Seen(true)), (722, Seen(true)), (799, Seen(true)), (801, Seen(false)), (899, Seen(false)),
                (901, end),
            ]
        )
        let days = 24 * 3600
        try check(
            deliveries,
            by: policed { $0.pastDue = .grace(.seconds(2 * days)) },
            [
                (722, Seen(true)), (767, Seen(true)), (769, Seen(false)), (801, Seen(false)), (899, Seen(false)),
                (901, end),
            ]
        )
        try check(
            deliveries,
            by: policed { $0.pastDue = .suspends },
            [(720, Seen(true)), (722, Seen(false)), (801, Seen(false)), (899, Seen(false)), (901, end)]
        )
    }

    @Test("what is left of a paid month ends with an unpaid one, also if that is canceled later", arguments: versions)
    func unpaidAndCanceled(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        var subscription = RareFlowTests.next(first, invoice: "in_2")
        let line = StripeInvoice.Line(.basic, from: first.start, to: first.end)
        let paid = RareFlowTests.invoice("in_1", reason: "subscription_create", lines: [line], at: created, in: version)
        let roll = RareFlowTests.updated(subscription, from: first, at: subscription.start, version)
        let start = (subscription.start - created) / 3600
        var deliveries = [
            roll,
            update(&subscription, at: start + 1, version: version) { $0.status = "past_due" },
            update(&subscription, at: start + 480, version: version) { $0.status = "unpaid" },
        ]
        (subscription.status, subscription.endedAt) = ("canceled", created + (start + 600) * 3600)
        let ended = created + (start + 600) * 3600
        let deleted = PitfallTests.body("deleted", subscription, at: ended, id: "evt_end", in: version)
        let policy = CreditPolicy(["prod_basic": .init(credits: 500)])
        for _ in 0...1 {
            try RareFlowTests.Host.inEachOrder(
                deliveries,
                after: [RareFlowTests.began(first, version), paid],
                by: adapter()
            ) { host in
                let left = [2, 479, 481, 599, 601].map { (hours: Int64) in
                    let moment = date(created + (start + hours) * 3600)
                    return CreditStatement(of: host.state, under: policy, uses: [], at: moment).balance
                }
                #expect(left == [500, 500, 0, 0, 0])
            }
            deliveries.append((deleted, ended))
        }
    }

    /// An unpaid subscription begins one period after another. Its latest invoice brings it back.
    @Test("an unpaid time that lasts into the next period, until that is paid for", arguments: versions)
    func unpaidForLonger(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        var subscription = RareFlowTests.next(first, invoice: "in_2")
        let roll = RareFlowTests.updated(subscription, from: first, at: subscription.start, version)
        let unpaid = update(&subscription, at: 800, version: version) { $0.status = "unpaid" }
        let second = subscription
        subscription = RareFlowTests.next(second, invoice: "in_3")
        let start = (subscription.start - created) / 3600
        let deliveries = [
            RareFlowTests.began(first, version), roll, unpaid,
            RareFlowTests.updated(subscription, from: second, at: subscription.start, version),
            update(&subscription, at: start + 60, version: version) { $0.status = "active" },
        ]
        try check(
            deliveries,
            by: adapter(),
            [
                (799, Seen(true)), (801, Seen(false)), (start + 1, Seen(false)), (start + 59, Seen(false)),
                (start + 61, Seen(true)),
            ]
        )
    }

    @Test("a failed charge that is paid before its grace has ended leaves no gap", arguments: versions)
    func recoveredInGrace(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        var subscription = RareFlowTests.next(first, invoice: "in_2")
        let roll = RareFlowTests.updated(subscription, from: first, at: subscription.start, version)
        let deliveries = [
            RareFlowTests.began(first, version), roll,
            update(&subscription, at: 721, version: version) { $0.status = "past_due" },
            update(&subscription, at: 740, version: version) { $0.status = "active" },
        ]
        try check(
            deliveries,
            by: policed { $0.pastDue = .grace(.seconds(2 * day)) },
            [(722, Seen(true)), (739, Seen(true)), (741, Seen(true)), (800, Seen(true))]
        )
    }

    @Test("time that was given within a period is free from then on", arguments: versions)
    func given(version: StripeSimulator.Version) throws {
        var subscription = RareFlowTests.active(.basic)
        let deliveries = [
            RareFlowTests.began(subscription, version),
            update(&subscription, at: 240, version: version) {
                ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", created + 10 * day, created + 45 * day)
                $0.end = created + 45 * day
            },
            update(&subscription, at: 480, version: version) { $0.metadata = ["a": "b"] },
        ]
        let free = Seen(true, phase: .promotional)
        try check(deliveries, by: adapter(), [(100, Seen(true)), (241, free), (481, free)])
    }

    @Test(
        "a subscription whose first payment never came gave no access, however it ended",
        arguments: versions,
        ["incomplete_expired", "canceled", "deleted incomplete_expired"]
    )
    func incomplete(version: StripeSimulator.Version, end: String) throws {
        var subscription = RareFlowTests.active(.basic)
        subscription.status = "incomplete"
        let began = RareFlowTests.began(subscription, version)
        let time = created + 20 * 3600
        let line = StripeInvoice.Line(.basic, from: subscription.start, to: subscription.end)
        let failed = RareFlowTests.invoice(
            "in_1",
            "payment_failed",
            reason: "subscription_create",
            lines: [line],
            at: created + 5,
            in: version
        )
        let last: Taken
        if end == "incomplete_expired" {
            last = update(&subscription, at: 20, version: version) { $0.status = end }
        } else {
            (subscription.status, subscription.endedAt) = (end == "canceled" ? end : "incomplete_expired", time)
            last = (PitfallTests.body("deleted", subscription, at: time, id: "evt_end", in: version), time)
        }
        let policy = CreditPolicy(["prod_basic": .init(credits: 500)])
        for order in permutations(of: [began, failed, last]) {
            let state = try RareFlowTests.Host(adapter(), order).state
            for hours: Int64 in [0, 1, 19, 21, 100, 1000] {
                let moment = date(created + hours * 3600)
                let access = state.access(at: moment)
                #expect(!access.isGranted, "\(hours)")
                guard case .denied(let since, let denial) = access else { continue }
                #expect(since == nil && denial.reason == .never)
                #expect(state.snapshot(at: moment).status == .none)
                #expect(CreditStatement(of: state, under: policy, uses: [], at: moment).balance == 0)
            }
        }
    }

    @Test("a first payment that comes late gives access from then on", arguments: versions)
    func lateFirstPayment(version: StripeSimulator.Version) throws {
        var subscription = RareFlowTests.active(.basic)
        subscription.status = "incomplete"
        let began = RareFlowTests.began(subscription, version)
        let paid = update(&subscription, at: 20, version: version) { $0.status = "active" }
        let later = update(&subscription, at: 200, version: version) { $0.metadata = ["a": "b"] }
        for order in permutations(of: [began, paid, later]) {
            let state = try RareFlowTests.Host(adapter(), order).state
            let granted = [1, 19, 21, 300].map { state.access(at: date(created + $0 * 3600)).isGranted }
            #expect(granted == [false, false, true, true])
        }
    }
}
