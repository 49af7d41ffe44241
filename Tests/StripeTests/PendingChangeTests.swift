import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// `payment_behavior=pending_if_incomplete`: a change waits in `pending_update` until its invoice is paid, and the subscription
/// continues as if it had not been asked for (https://docs.stripe.com/billing/subscriptions/pending-updates-reference).
@Suite("Changes that wait for their payment")
struct PendingChangeTests {
    typealias Taken = RareFlowTests.Taken

    private static let basic = StripePrice("price_basic", product: "basic", amount: 1000)
    private static let agency = StripePrice("price_agency", product: "agency", amount: 5000)
    private static let yearly = StripePrice("price_yearly", product: "yearly", amount: 10_000, interval: "year")
    private static let middle = created + 15 * day
    private static let next = created + 30 * day
    private static let credits = CreditPolicy(["basic": .init(credits: 200), "agency": .init(credits: 2000)])

    /// A change that waits, and the lines of its invoice.
    struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let price: StripePrice
        let lines: [StripeInvoice.Line]
    }

    static let changes = [
        Change(
            testDescription: "to another product",
            price: agency,
            lines: [
                .init(basic, amount: -500, from: middle, to: next, isProration: true),
                .init(agency, amount: 2500, from: middle, to: next, isProration: true),
            ]
        ),
        Change(
            testDescription: "to a year, which begins with it",
            price: yearly,
            lines: [
                .init(basic, amount: -500, from: middle, to: next, isProration: true),
                .init(yearly, from: middle, to: middle + 365 * day),
            ]
        ),
    ]

    static let policies: [StripeAdapter.Policy.PastDueAccess] = [.keeps, .grace(.seconds(3 * day)), .suspends]

    private static let month: StripeSubscription = {
        var month = ItemTests.subscription([basic])
        month.latestInvoice = "in_1"
        return month
    }()

    private static func began(in version: StripeSimulator.Version) -> [Taken] {
        [
            RareFlowTests.began(month, version),
            RareFlowTests.invoice(
                "in_1",
                reason: "subscription_create",
                lines: [.init(basic, from: created, to: next)],
                at: created,
                in: version
            ),
        ]
    }

    private static func invoice(
        _ change: Change,
        _ type: String = "payment_failed",
        attempt: Int64 = 1,
        at time: Int64,
        in version: StripeSimulator.Version
    ) -> Taken {
        var invoice = StripeInvoice("in_2", reason: "subscription_update", lines: change.lines, created: middle)
        (invoice.status, invoice.attemptCount) = (type == "paid" ? "paid" : "open", attempt)
        invoice.paidAt = type == "paid" ? time : nil
        return PaymentJoinTests.event("invoice." + type, .object(invoice.object(version)), at: time, in: version)
    }

    /// The failed attempts of the change, on its day and the next.
    private static func attempts(_ change: Change, in version: StripeSimulator.Version) -> [Taken] {
        [
            invoice(change, at: middle + 1, in: version),
            invoice(change, attempt: 2, at: middle + day, in: version),
        ]
    }

    /// The update by which the change waits.
    private static func waits(_ change: Change, in version: StripeSimulator.Version) -> Taken {
        var waiting = month
        waiting.latestInvoice = "in_2"
        waiting.pendingUpdate = [
            "expires_at": .integer(middle + 23 * 3600),
            "subscription_items": [
                [
                    "id": "si_0", "object": "subscription_item", "price": change.price.price(), "quantity": 1,
                ]
            ],
        ]
        return RareFlowTests.updated(waiting, from: month, at: middle, version)
    }

    /// The update by which the change is made, whether or not it is paid for.
    private static func isMade(_ status: String, in version: StripeSimulator.Version) -> Taken {
        var changed = ItemTests.subscription([agency])
        (changed.status, changed.latestInvoice) = (status, "in_2")
        return RareFlowTests.updated(changed, from: month, at: middle, version)
    }

    private static func balance(_ state: SubscriptionState, on days: Int64) -> Int64 {
        CreditStatement(of: state, under: credits, uses: [], at: date(created + days * day)).balance
    }

    @Test("what is paid for continues, whatever becomes of the charge", arguments: changes, policies)
    func continues(change: Change, pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        for version in ItemTests.versions {
            let (update, attempts) = (Self.waits(change, in: version), Self.attempts(change, in: version))
            // Either of the two may be lost. With error_if_incomplete there is no update at all.
            for news in [[update] + attempts, [update], attempts] {
                try RareFlowTests.Host.inEachOrder(news, after: Self.began(in: version), by: adapter) { host in
                    for days: Int64 in [16, 29] {
                        let snapshot = host.state.snapshot(at: date(created + days * day))
                        #expect(snapshot.status == .active && snapshot.access.isGranted && snapshot.product == "basic")
                        #expect(Self.balance(host.state, on: days) == 200)
                    }
                    // The month is over, and no invoice of another one is known.
                    #expect(!host.state.access(at: date(created + 32 * day)).isGranted)
                }
            }
        }
    }

    @Test("each failed attempt is news of the charge, and says nothing about access", arguments: changes, policies)
    func attempts(change: Change, pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        for version in ItemTests.versions {
            let life = Self.began(in: version) + [Self.waits(change, in: version)] + Self.attempts(change, in: version)
            let acts = try RareFlowTests.Host(adapter, life).acts
            #expect(acts.map(\.kind) == [.started, .productChangeScheduled, .billingIssue, .billingIssue])
            let issue = LifecycleEvent.billingIssue(.init(access: .unknown))
            #expect(acts.suffix(2).map(\.event) == [issue, issue])
            #expect(issue.accessEffect == .none)
        }
    }

    @Test("a failed attempt that is heard of after the payment is none any more", arguments: changes)
    func late(change: Change) throws {
        let paid = Self.invoice(change, "paid", attempt: 2, at: Self.middle + 3600, in: .endive)
        let failed = Self.invoice(change, at: Self.middle + 1, in: .endive)
        let kinds = try RareFlowTests.Host(adapter(), Self.began(in: .endive) + [paid, failed]).kinds
        #expect(!kinds.contains("billing_issue"))
    }

    @Test("a change that waited in vain takes nothing from the same change later", arguments: ItemTests.versions)
    func again(version: StripeSimulator.Version) throws {
        let (change, later) = (Self.changes[0], Self.middle + 3 * day)
        var changed = ItemTests.subscription([Self.agency])
        changed.latestInvoice = "in_3"
        let lines = [(Self.basic, Int64(-400)), (Self.agency, 2000)].map {
            StripeInvoice.Line($0, amount: $1, from: later, to: Self.next, isProration: true)
        }
        let life =
            Self.began(in: version) + [Self.waits(change, in: version)] + Self.attempts(change, in: version) + [
                RareFlowTests.updated(changed, from: Self.month, at: later, version),
                RareFlowTests.invoice(
                    "in_3",
                    reason: "subscription_update",
                    lines: lines,
                    at: later,
                    in: version
                ),
            ]
        let state = try RareFlowTests.Host(adapter(), life).state
        // 16.00 of 50.00 were paid, next to what is left of the month's.
        #expect(Self.balance(state, on: 17) == 200)
        #expect(Self.balance(state, on: 19) > 200)
    }

    /// By `allow_incomplete` and `default_incomplete` the change is made, and the subscription is `past_due`.
    @Test("a subscription that a change makes past due says so by itself", arguments: policies)
    func pastDue(pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        let access: LifecycleEvent.BillingIssue.Access =
            switch pastDue {
            case .keeps: .grace(until: date(Self.next))
            case .grace: .grace(until: date(Self.middle + 3 * day))
            default: .suspended
            }
        for version in ItemTests.versions {
            let (update, attempts) = (
                Self.isMade("past_due", in: version), Self.attempts(Self.changes[0], in: version)
            )
            for news in [[update] + attempts, [update]] {
                try RareFlowTests.Host.inEachOrder(news, after: Self.began(in: version), by: adapter) { host in
                    let snapshot = host.state.snapshot(at: date(created + 16 * day))
                    #expect(snapshot.status == (pastDue == .suspends ? .expired : .grace))
                    #expect(snapshot.access.isGranted == (pastDue != .suspends))
                    #expect(host.state.access(at: date(created + 19 * day)).isGranted == (pastDue == .keeps))
                    // The end of access is news once, and no attempt promises any.
                    let issues = host.acts.compactMap { act -> LifecycleEvent.BillingIssue.Access? in
                        if case .billingIssue(let issue) = act.event { issue.access } else { nil }
                    }
                    #expect(issues.filter { $0 != .unknown } == [access])
                }
            }
        }
    }

    @Test("a change that makes it past due, without its update, leaves what is paid for", arguments: policies)
    func updateIsLost(pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        let life = Self.began(in: .endive) + Self.attempts(Self.changes[0], in: .endive)
        var over = ItemTests.subscription([Self.agency])
        (over.status, over.latestInvoice) = ("unpaid", "in_2")
        var before = over
        before.status = "past_due"
        var host = try RareFlowTests.Host(adapter, life)
        #expect(host.state.access(at: date(created + 16 * day)).isGranted)
        // Whatever the subscription says next, says it.
        try host.take(RareFlowTests.updated(over, from: before, at: Self.middle + 10 * day, .endive))
        #expect(!host.state.access(at: date(created + 26 * day)).isGranted)
        #expect(host.kinds.last == "expired")
    }

    /// An invoice that bills an earlier change, too, does not say which one its charge fails for. The update does.
    @Test("an attempt that does not show the change leaves what is known of it", arguments: ItemTests.versions)
    func severalChanges(version: StripeSimulator.Version) throws {
        let change = Change(
            testDescription: "beside an earlier one",
            price: Self.agency,
            lines: [
                .init(Self.basic, amount: -500, from: Self.middle - day, to: Self.next, isProration: true),
                .init(Self.agency, amount: 2500, from: Self.middle, to: Self.next, isProration: true),
            ]
        )
        let news = [
            Self.isMade("past_due", in: version), Self.invoice(change, attempt: 2, at: Self.middle + day, in: version),
        ]
        let known = try RareFlowTests.Host(adapter(), Self.began(in: version) + [news[0]]).state
        try RareFlowTests.Host.inEachOrder(news, after: Self.began(in: version), by: adapter()) { host in
            for days: Int64 in [15, 17, 29] {
                #expect(Self.balance(host.state, on: days) == Self.balance(known, on: days))
                #expect(Self.balance(host.state, on: days) <= 200)
            }
        }
    }

    /// A month that was paid for, the first or one that renews it, and in its middle a change whose charge fails.
    private struct PaidMonth {
        let start: Int64
        /// The months before it, and its payment.
        var life: [Taken]
        let payment: Taken
        private let paid: StripeSubscription
        private var unpaid: StripeSubscription

        init(isFirst: Bool, _ version: StripeSimulator.Version) {
            start = isFirst ? created : next
            let began = PendingChangeTests.began(in: version)
            var renewed = ItemTests.subscription([basic], from: next)
            renewed.latestInvoice = "in_1b"
            paid = isFirst ? month : renewed
            unpaid = ItemTests.subscription([agency], from: start)
            (unpaid.status, unpaid.latestInvoice) = ("past_due", "in_2")
            if isFirst {
                (life, payment) = ([began[0]], began[1])
            } else {
                life = began + [RareFlowTests.updated(renewed, from: month, at: next, version)]
                payment = RareFlowTests.invoice(
                    "in_1b",
                    lines: [.init(basic, from: next, to: next + 30 * day)],
                    at: next + 3600,
                    in: version
                )
            }
        }

        /// Some days after it began.
        func days(_ days: Double) -> Int64 { start + Int64(days * Double(day)) }

        func invoice(_ type: String = "payment_failed", on day: Double, _ version: StripeSimulator.Version) -> Taken {
            let lines = [(basic, Int64(-500)), (agency, 2500)].map { price, amount in
                StripeInvoice.Line(price, amount: amount, from: days(15), to: days(30), isProration: true)
            }
            let reason = "subscription_update"
            return RareFlowTests.invoice("in_2", type, reason: reason, lines: lines, at: days(day), in: version)
        }

        /// The update by which the change is made.
        func change(_ version: StripeSimulator.Version) -> Taken {
            RareFlowTests.updated(unpaid, from: paid, at: days(15), version)
        }

        func step(
            to status: String,
            from old: String = "past_due",
            on day: Double,
            _ version: StripeSimulator.Version
        ) -> Taken {
            var (before, after) = (unpaid, unpaid)
            (before.status, after.status) = (old, status)
            // An update that leaves the status changes something else.
            if status == old { after.metadata = ["a": "b"] }
            return RareFlowTests.updated(after, from: before, at: days(day), version)
        }
    }

    /// Stripe dates no failed charge, so its end of access has the start of the month, whichever invoice is open.
    @Test(
        "a failed change ends what is paid for no earlier than it failed, in the first month and in a later one",
        arguments: policies,
        [true, false]
    )
    func inPaidMonth(pastDue: StripeAdapter.Policy.PastDueAccess, isFirst: Bool) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        let stop: Double =
            switch pastDue {
            case .keeps: 20
            case .grace: 18
            default: 15
            }
        for version in ItemTests.versions {
            let month = PaidMonth(isFirst: isFirst, version)
            func check(_ host: RareFlowTests.Host) {
                let seen = [1, 14.9, stop - 0.1, stop + 0.1, 21, 29].map { day in
                    host.state.access(at: date(month.days(day))).isGranted
                }
                #expect(seen == [true, true, true, false, false, false])
                let used = [CreditUse(id: "a", credits: 50, at: date(month.days(10)))]
                let balances = [14, stop - 0.1, 21].map { day in
                    let at = date(month.days(day))
                    return CreditStatement(of: host.state, under: Self.credits, uses: used, at: at).balance
                }
                #expect(balances == [150, 150, 0])
                #expect(host.kinds.filter { $0 == "expired" }.count == 1)
            }
            let news = [
                month.payment, month.change(version), month.invoice(on: 15.01, version),
                month.step(to: "unpaid", on: 20, version),
            ]
            try RareFlowTests.Host.inEachOrder(news, after: month.life, by: adapter) { host in
                check(host)
                var host = host
                // Each later statement has the same end, and is no new one.
                try host.take(month.step(to: "unpaid", from: "unpaid", on: 23, version))
                check(host)
            }
        }
    }

    @Test("once it is paid, access is back, and the time without it stays without", arguments: policies, [true, false])
    func paidAtLast(pastDue: StripeAdapter.Policy.PastDueAccess, isFirst: Bool) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        let month = PaidMonth(isFirst: isFirst, .endive)
        let news = [
            month.payment, month.change(.endive), month.step(to: "unpaid", on: 20, .endive),
            month.invoice("paid", on: 22, .endive), month.step(to: "active", from: "unpaid", on: 22, .endive),
        ]
        try RareFlowTests.Host.inEachOrder(news, after: month.life, by: adapter) { host in
            let seen = [14, 21, 23, 29].map { day in host.state.access(at: date(month.days(day))).isGranted }
            #expect(seen == [true, false, true, true])
            let at = date(month.days(10))
            #expect(CreditStatement(of: host.state, under: Self.credits, uses: [], at: at).balance == 200)
        }
    }
}
