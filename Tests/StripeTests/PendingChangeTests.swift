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
            case .grace: .grace(until: date(created + 3 * day))
            default: .suspended
            }
        for version in ItemTests.versions {
            let (update, attempts) = (
                Self.isMade("past_due", in: version), Self.attempts(Self.changes[0], in: version)
            )
            for news in [[update] + attempts, [update]] {
                try RareFlowTests.Host.inEachOrder(news, after: Self.began(in: version), by: adapter) { host in
                    let snapshot = host.state.snapshot(at: date(created + 16 * day))
                    #expect(snapshot.status == (pastDue == .keeps ? .grace : .expired))
                    #expect(snapshot.access.isGranted == (pastDue == .keeps))
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
}
