import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Basic is paid for a month. In its middle the customer takes something dearer, whose charge fails.
@Suite("Changes within a period whose charge failed")
struct UnpaidChangeTests {
    typealias Taken = RareFlowTests.Taken

    private static let basic = StripePrice("price_basic", product: "basic", amount: 1000)
    private static let boost = StripePrice("price_boost", product: "boost", amount: 1500)
    private static let agency = StripePrice("price_agency", product: "agency", amount: 5000)
    private static let middle = created + 15 * day
    private static let next = created + 30 * day
    private static let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")), "boost": .init(credits: 100),
        "agency": .init(credits: 2000, price: Money(ExactDecimal(50), "USD")),
    ])

    private static func subscription(
        _ items: [StripePrice],
        _ status: String = "active",
        invoice: String = "in_2"
    ) -> StripeSubscription {
        var subscription = ItemTests.subscription(items)
        (subscription.status, subscription.latestInvoice) = (status, invoice)
        return subscription
    }

    /// - Parameter time: when the invoice was paid; nil if its charge failed.
    private static func change(
        _ old: [StripePrice],
        _ new: [StripePrice],
        paidAt time: Int64? = nil,
        in version: StripeSimulator.Version
    ) -> Taken {
        func prorations(_ prices: [StripePrice], besides others: [StripePrice], _ sign: Int64) -> [StripeInvoice.Line] {
            prices.filter { price in !others.contains { $0.id == price.id } }.map {
                // Stripe dates the lines by the request, and the update by the moment when it is done.
                StripeInvoice.Line($0, amount: sign * $0.amount / 2, from: middle - 3, to: next, isProration: true)
            }
        }
        return RareFlowTests.invoice(
            "in_2",
            time == nil ? "payment_failed" : "paid",
            reason: "subscription_update",
            lines: prorations(old, besides: new, -1) + prorations(new, besides: old, 1),
            at: time ?? middle,
            in: version
        )
    }

    /// The month as it was paid for, and the update to what was not.
    private static func life(
        _ old: [StripePrice] = [basic],
        _ new: [StripePrice] = [agency],
        to status: String = "past_due",
        in version: StripeSimulator.Version
    ) -> [Taken] {
        let before = subscription(old, invoice: "in_1")
        return [
            RareFlowTests.began(before, version),
            RareFlowTests.invoice(
                "in_1",
                reason: "subscription_create",
                lines: old.map { .init($0, from: created, to: next) },
                at: created,
                in: version
            ),
            RareFlowTests.updated(subscription(new, status), from: before, at: middle, version),
        ]
    }

    /// The credits of each product that are left on some days, in any order of the notifications.
    private static func credits(_ deliveries: [Taken], on days: [Int64]) throws -> Set<[[ProductID: Int64]]> {
        var found: Set<[[ProductID: Int64]]> = []
        let adapter = try policed { $0.refundSource = .refunds }
        try RareFlowTests.Host.inEachOrder(deliveries, by: adapter) { host in
            found.insert(
                days.map { days in
                    let at = date(created + days * day)
                    return CreditStatement(of: host.state, under: policy, uses: [], at: at).grants
                        .reduce(into: [:]) { if $1.left > 0 { $0[$1.product ?? "", default: 0] += $1.left } }
                }
            )
        }
        return found
    }

    @Test("it gives nothing, and what was paid for before continues", arguments: ItemTests.versions)
    func failed(version: StripeSimulator.Version) throws {
        let failed = Self.change([Self.basic], [Self.agency], in: version)
        // The invoice says so, and so does the update: where the customer has to confirm the charge, it alone.
        for life in [
            Self.life(in: version) + [failed], Self.life(in: version),
            Self.life([Self.basic], [Self.agency], to: "active", in: version) + [failed],
        ] { #expect(try Self.credits(life, on: [14, 16, 31]) == [[["basic": 200], ["basic": 200], [:]]]) }
    }

    @Test("a refund of what was paid for before takes its credits")
    func refund() throws {
        let refund = PaymentJoinTests.refund("re_1", 1000, of: "pi_in_1", at: Self.middle + 2 * day, in: .v2020)
        let life = Self.life(in: .v2020) + [Self.change([Self.basic], [Self.agency], in: .v2020), refund]
        #expect(try Self.credits(life, on: [16, 18]) == [[["basic": 200], [:]]])
    }

    @Test("once it is paid, its credits begin", arguments: ItemTests.versions)
    func paidLater(version: StripeSimulator.Version) throws {
        let life =
            Self.life(in: version) + [
                Self.change([Self.basic], [Self.agency], in: version),
                Self.change([Self.basic], [Self.agency], paidAt: Self.middle + 3 * day, in: version),
            ]
        // 20.00 of 50.00 were paid.
        let both: [ProductID: Int64] = ["basic": 200, "agency": 800]
        #expect(try Self.credits(life, on: [17, 19, 31]) == [[["basic": 200], both, ["basic": 200]]])
    }

    @Test("going back before it is paid leaves what there was, and no more", arguments: ItemTests.versions)
    func revert(version: StripeSimulator.Version) throws {
        func life(_ status: String) -> [Taken] {
            let (dearer, basic) = (Self.subscription([Self.agency], status), Self.subscription([Self.basic]))
            let back = RareFlowTests.updated(basic, from: dearer, at: Self.middle + 2 * day, version)
            return Self.life([Self.basic], [Self.agency], to: status, in: version) + [back]
        }
        let failed = Self.change([Self.basic], [Self.agency], in: version)
        let reverted = life("past_due")
        #expect(try Self.credits(reverted + [failed], on: [16, 18, 31]) == [[["basic": 200], ["basic": 200], [:]]])
        // If it is paid after all, it is a change like any other.
        let paid = Self.change([Self.basic], [Self.agency], paidAt: Self.middle + 4 * day, in: version)
        let expected = try Self.credits(life("active") + [paid], on: [20])
        #expect(expected.count == 1)
        #expect(try Self.credits(reverted + [failed, paid], on: [20]) == expected)
    }

    @Test("a product that joins or that takes the place of one of several", arguments: ItemTests.versions)
    func items(version: StripeSimulator.Version) throws {
        for (old, new) in [
            ([Self.basic], [Self.basic, Self.agency]), ([Self.basic, Self.boost], [Self.agency, Self.boost]),
        ] {
            let life = Self.life(old, new, in: version) + [Self.change(old, new, in: version)]
            var kept: [ProductID: Int64] = ["basic": 200]
            if old.count > 1 { kept["boost"] = 100 }
            #expect(try Self.credits(life, on: [14, 16, 31]) == [[kept, kept, [:]]])
            let paid = Self.change(old, new, paidAt: Self.middle + 3 * day, in: version)
            let after = kept.merging(["agency": old.count > 1 ? 800 : 1000]) { old, _ in old }
            #expect(try Self.credits(life + [paid], on: [17, 19]) == [[kept, after]])
        }
    }

    @Test("a change that is paid at once is not held back")
    func paid() throws {
        let life =
            Self.life(in: .endive) + [
                Self.change([Self.basic], [Self.agency], paidAt: Self.middle + 60, in: .endive)
            ]
        #expect(try Self.credits(life, on: [14, 16]) == [[["basic": 200], ["basic": 200, "agency": 800]]])
    }

    /// The charge of the second month fails. Ten days later a change is paid at once, and Stripe says `active`, as the latest invoice
    /// is paid (https://docs.stripe.com/billing/subscriptions/overview).
    ///
    /// - Parameter settled: when the second month is paid for, in days; nil if it never is.
    private static func open(to new: [StripePrice], settled: Int64? = nil) throws -> Set<[[ProductID: Int64]]> {
        let (time, end) = (next + 10 * day, next + 30 * day)
        func month(_ status: String, _ items: [StripePrice] = [basic], invoice: String = "in_2") -> StripeSubscription {
            var month = ItemTests.subscription(items, from: next)
            (month.status, month.latestInvoice) = (status, invoice)
            return month
        }
        func charge(_ type: String, at time: Int64) -> Taken {
            RareFlowTests.invoice("in_2", type, lines: [.init(basic, from: next, to: end)], at: time, in: .endive)
        }
        let (renewed, due) = (month("active"), month("past_due"))
        let first =
            life([basic], [basic], in: .endive).prefix(2) + [
                RareFlowTests.updated(renewed, from: subscription([basic], invoice: "in_1"), at: next, .endive),
                RareFlowTests.updated(due, from: renewed, at: next + 3600, .endive),
            ]
        let back = new.contains { $0.id == basic.id } ? [] : [(basic, Int64(-600))]
        let lines = (back + [(agency, 3000)]).map {
            StripeInvoice.Line($0, amount: $1, from: time, to: end, isProration: true)
        }
        let last = [
            charge("payment_failed", at: next + 3600),
            RareFlowTests.updated(month("active", new, invoice: "in_3"), from: due, at: time, .endive),
            RareFlowTests.invoice("in_3", reason: "subscription_update", lines: lines, at: time, in: .endive),
        ]
        let paid = settled.map { charge("paid", at: next + $0 * day) }
        var found: Set<[[ProductID: Int64]]> = []
        try RareFlowTests.Host.inEachOrder(last + [paid].compactMap(\.self), after: Array(first), by: adapter()) {
            host in
            found.insert(
                [39, 41, 55].map { days in
                    CreditStatement(of: host.state, under: policy, uses: [], at: date(created + days * day)).grants
                        .reduce(into: [:]) { if $1.left > 0 { $0[$1.product ?? "", default: 0] += $1.left } }
                }
            )
        }
        return found
    }

    @Test("a change with a charge of its own gives with that charge, also while the period's is open")
    func openRenewal() throws {
        // The 200 of the first month count until the second one is paid for, and its own 200 are there in their place then.
        for settled in [nil, 20] as [Int64?] {
            for (new, credits) in [([Self.basic, Self.agency], 1333), ([Self.agency], 1066)] as [([StripePrice], Int64)]
            {
                let (before, after): ([ProductID: Int64], [ProductID: Int64]) = (
                    ["basic": 200], ["basic": 200, "agency": credits]
                )
                #expect(try Self.open(to: new, settled: settled) == [[before, after, after]])
            }
        }
    }
}
