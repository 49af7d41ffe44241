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

    /// The paid month, and the failed attempts of the change.
    private static func life(_ change: Change, in version: StripeSimulator.Version) -> [Taken] {
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
        return began(in: version) + [
            RareFlowTests.updated(waiting, from: month, at: middle, version),
            invoice(change, at: middle + 1, in: version),
            invoice(change, attempt: 2, at: middle + 3600, in: version),
        ]
    }

    @Test("what is paid for continues, whatever becomes of the charge", arguments: changes, policies)
    func continues(change: Change, pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        for version in ItemTests.versions {
            try RareFlowTests.Host.inEachOrder(Self.life(change, in: version), by: adapter) { host in
                for days: Int64 in [16, 29] {
                    let snapshot = host.state.snapshot(at: date(created + days * day))
                    #expect(snapshot.status == .active && snapshot.access.isGranted && snapshot.product == "basic")
                    let statement = CreditStatement(
                        of: host.state,
                        under: Self.credits,
                        uses: [],
                        at: date(created + days * day)
                    )
                    #expect(statement.balance == 200)
                }
                // The month is over, and no invoice of another one is known.
                #expect(!host.state.access(at: date(created + 32 * day)).isGranted)
                #expect(Set(host.kinds) == ["started", "product_change_scheduled", "billing_issue"])
            }
        }
    }

    @Test("each failed attempt is news, with the end of what is paid for", arguments: changes, policies)
    func attempts(change: Change, pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        for version in ItemTests.versions {
            let acts = try RareFlowTests.Host(adapter, Self.life(change, in: version)).acts
            #expect(acts.map(\.kind) == [.started, .productChangeScheduled, .billingIssue, .billingIssue])
            let issue = LifecycleEvent.BillingIssue(access: .grace(until: date(Self.next)))
            #expect(acts.suffix(2).map(\.event) == [.billingIssue(issue), .billingIssue(issue)])
        }
    }

    @Test("a failed attempt that is heard of after the payment is none any more", arguments: changes)
    func late(change: Change) throws {
        let paid = Self.invoice(change, "paid", attempt: 2, at: Self.middle + 3600, in: .endive)
        let failed = Self.invoice(change, at: Self.middle + 1, in: .endive)
        let kinds = try RareFlowTests.Host(adapter(), Self.began(in: .endive) + [paid, failed]).kinds
        #expect(!kinds.contains("billing_issue"))
    }

    @Test("a subscription that a change makes past due says so by itself", arguments: [policies[0], policies[2]])
    func pastDue(pastDue: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = pastDue }
        for version in ItemTests.versions {
            var changed = ItemTests.subscription([Self.agency])
            (changed.status, changed.latestInvoice) = ("past_due", "in_2")
            let life =
                Self.began(in: version) + [
                    RareFlowTests.updated(changed, from: Self.month, at: Self.middle, version),
                    Self.invoice(Self.changes[0], at: Self.middle + 1, in: version),
                ]
            try RareFlowTests.Host.inEachOrder(life, by: adapter) { host in
                let snapshot = host.state.snapshot(at: date(created + 16 * day))
                #expect(snapshot.status == (pastDue == .keeps ? .grace : .expired))
                #expect(snapshot.access.isGranted == (pastDue == .keeps))
            }
        }
    }
}
