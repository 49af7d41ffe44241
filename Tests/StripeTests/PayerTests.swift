import NormalizerTesting
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Flows as Stripe documents them, and the access and credits that who pays expects, in every order of the notifications.
@Suite("Stripe, by what a payer expects")
struct PayerTests {
    typealias Taken = RareFlowTests.Taken
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    static let policy = CreditPolicy(["prod_basic": .init(credits: 200), "prod_pro": .init(credits: 500)])

    private struct Seen: Hashable {
        var isGranted: Bool
        var product: ProductID?
        var credits: Int64

        init(_ isGranted: Bool, _ product: ProductID? = "prod_basic", credits: Int64) {
            (self.isGranted, self.product, self.credits) = (isGranted, product, credits)
        }

        init(_ host: RareFlowTests.Host, at days: Int64) {
            let time = date(created + days * day)
            let state = host.state
            isGranted = state.access(at: time).isGranted
            product = state.snapshot(at: time).product
            credits = CreditStatement(of: host.ledger.states, under: PayerTests.policy, uses: [], at: time).balance
        }
    }

    private func check(_ deliveries: [Taken], _ expected: [(day: Int64, seen: Seen)], kinds: [String]) throws {
        let adapter = try adapter()
        #expect(try RareFlowTests.Host(adapter, deliveries).kinds == kinds)
        for order in Self.orders(deliveries) {
            let host = try RareFlowTests.Host(adapter, order)
            for (day, seen) in expected { #expect(Seen(host, at: day) == seen, "day \(day)") }
        }
    }

    /// All orders of a few, and some of many.
    private static func orders(_ deliveries: [Taken]) -> [[Taken]] {
        guard deliveries.count > 5 else { return permutations(of: deliveries) }
        var random = SeededGenerator(seed: 7)
        return [deliveries, deliveries.reversed()] + (0..<100).map { _ in deliveries.shuffled(using: &random) }
    }

    private func update(
        _ subscription: inout StripeSubscription,
        at time: Int64,
        version: StripeSimulator.Version,
        _ change: (inout StripeSubscription) -> Void
    ) -> Taken {
        let before = subscription
        change(&subscription)
        return RareFlowTests.updated(subscription, from: before, at: time, version)
    }

    @Test("an end in the middle of a period ends access then, also where its deletion is late", arguments: versions)
    func cancelAt(version: StripeSimulator.Version) throws {
        var subscription = RareFlowTests.active(.basic)
        let line = StripeInvoice.Line(.basic, from: created, to: created + 30 * day)
        let end = created + 10 * day
        var deliveries = [
            RareFlowTests.began(subscription, version),
            RareFlowTests.invoice("in_1", reason: "subscription_create", lines: [line], at: created, in: version),
            update(&subscription, at: created + day, version: version) {
                ($0.cancelAt, $0.canceledAt) = (end, created + day)
            },
        ]
        let planned = deliveries
        try check(
            planned,
            [(5, Seen(true, credits: 200)), (11, Seen(false, credits: 0))],
            kinds: ["started", "auto_renew_disabled"]
        )
        var ended = subscription
        (ended.status, ended.endedAt) = ("canceled", end)
        deliveries.append((PitfallTests.body("deleted", ended, at: end + 60, id: "evt_end", in: version), end + 60))
        try check(
            deliveries,
            [(5, Seen(true, credits: 200)), (11, Seen(false, credits: 0))],
            kinds: ["started", "auto_renew_disabled", "expired"]
        )
        let kept = update(&subscription, at: created + 2 * day, version: version) {
            ($0.cancelAt, $0.canceledAt) = (nil, nil)
        }
        try check(
            planned + [kept],
            [(5, Seen(true, credits: 200)), (11, Seen(true, credits: 200)), (29, Seen(true, credits: 200))],
            kinds: ["started", "auto_renew_disabled", "auto_renew_enabled"]
        )
    }

    @Test("several attempts of dunning are each news, and the payment after them is one renewal", arguments: versions)
    func dunning(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        var subscription = RareFlowTests.next(first, invoice: "in_2")
        let start = subscription.start
        let roll = RareFlowTests.updated(subscription, from: first, at: start, version)
        let line = StripeInvoice.Line(.basic, from: created, to: created + 30 * day)
        func attempt(_ number: Int64, _ type: String, at time: Int64) -> Taken {
            var invoice = StripeInvoice(
                "in_2",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: start, to: start + 30 * day)],
                created: start,
                lookBackFrom: created
            )
            invoice.attemptCount = number
            invoice.paidAt = type == "paid" ? time : nil
            invoice.status = type == "paid" ? "paid" : "open"
            return invoice.reported(type, at: time, in: version)
        }
        let deliveries = [
            RareFlowTests.began(first, version),
            RareFlowTests.invoice("in_1", reason: "subscription_create", lines: [line], at: created, in: version), roll,
            attempt(1, "payment_failed", at: start + 3600),
            update(&subscription, at: start + 3601, version: version) { $0.status = "past_due" },
            attempt(2, "payment_failed", at: start + 3 * day),
            attempt(3, "paid", at: start + 5 * day),
        ]
        try check(
            deliveries,
            [(29, Seen(true, credits: 200)), (36, Seen(true, credits: 200)), (59, Seen(true, credits: 200))],
            kinds: ["started", "billing_issue", "billing_issue", "renewed"]
        )
    }

    @Test(
        "the refund of an earlier invoice takes back what that gave, and leaves the month that runs",
        arguments: versions
    )
    func earlierInvoice(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        let second = RareFlowTests.next(first, invoice: "in_2")
        let payment = try PaymentJoinTests.payment(version)
        var deliveries = try PaymentJoinTests.purchase(version)
        deliveries += [
            RareFlowTests.updated(second, from: first, at: second.start, version),
            RareFlowTests.invoice(
                "in_2",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: second.start, to: second.end)],
                at: second.start + 3600,
                lookBackFrom: created,
                in: version
            ), PaymentJoinTests.refund("re_1", 999, of: payment, at: created + 35 * day, in: version),
        ]
        let adapter = try policed { $0.refundSource = .refunds }
        for order in Self.orders(deliveries) {
            let host = try RareFlowTests.Host(adapter, order)
            for days: Int64 in [10, 29, 34, 36, 59] {
                #expect(host.state.access(at: date(created + days * day)).isGranted, "day \(days)")
            }
            #expect(Seen(host, at: 40) == Seen(true, credits: 200))
        }
        let host = try RareFlowTests.Host(adapter, deliveries)
        let refund = host.acts.last { $0.kind == .refunded }
        guard case .refunded(let refunded)? = refund?.event else {
            Issue.record("no refund: \(host.kinds)")
            return
        }
        #expect(refunded.affectsCurrentPeriod != true)
        #expect(host.ledger.states.allSatisfy { host.ledger.contradictions(of: $0).isEmpty })
    }

    @Test("a trial that ends with a change of plan is a conversion to the new plan", arguments: versions)
    func trialEndWithChange(version: StripeSimulator.Version) throws {
        var subscription = RareFlowTests.active(.basic)
        subscription.status = "trialing"
        (subscription.trialStart, subscription.trialEnd) = (created, created + 14 * day)
        subscription.end = created + 14 * day
        let change = created + 7 * day
        let began = RareFlowTests.began(subscription, version)
        let updated = update(&subscription, at: change, version: version) {
            $0.status = "active"
            $0.items = [.init("si_1", .pro)]
            ($0.start, $0.end, $0.trialEnd, $0.latestInvoice) = (change, change + 30 * day, change, "in_2")
        }
        let paid = RareFlowTests.invoice(
            "in_2",
            reason: "subscription_update",
            lines: [.init(.pro, from: change, to: change + 30 * day)],
            at: change + 2,
            in: version
        )
        let adapter = try adapter()
        for order in permutations(of: [began, updated, paid]) {
            let host = try RareFlowTests.Host(adapter, order)
            #expect(host.state.access(at: date(created + 36 * day)).isGranted)
            // An immediate change carries over what is left, here of the trial: 200 and 500.
            #expect(Seen(host, at: 10) == Seen(true, "prod_pro", credits: 700))
            let snapshot = host.state.snapshot(at: date(created + 10 * day))
            #expect(snapshot.phase == .regular && snapshot.status == .active && snapshot.product == "prod_pro")
            #expect(host.ledger.states.allSatisfy { host.ledger.contradictions(of: $0).isEmpty })
        }
    }
}
