import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// An invoice charges for more than a period, and a customer's balance may pay for some of it. A change sets off the period's own price.
@Suite("The price of a period within its invoice")
struct PeriodPriceTests {
    typealias Taken = RareFlowTests.Taken
    typealias Line = StripeInvoice.Line

    static let basic = StripePrice("price_basic", product: "basic", amount: 1000)
    static let pro = StripePrice("price_pro", product: "pro", amount: 2000)
    static let agency = StripePrice("price_agency", product: "agency", amount: 5000)
    static let middle = created + 15 * day
    static let next = created + 30 * day
    static let policy = CreditPolicy([
        "basic": .init(credits: 200, trialCredits: 20, price: Money(ExactDecimal(10), "USD")),
        "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "agency": .init(credits: 2000, price: Money(ExactDecimal(50), "USD")), "free": .init(credits: 50),
    ])

    static func paid(
        _ id: String,
        reason: String,
        _ lines: [Line],
        at time: Int64,
        in version: StripeSimulator.Version,
        changed change: (inout StripeInvoice) -> Void = { _ in }
    ) -> Taken {
        var invoice = StripeInvoice(id, reason: reason, lines: lines, created: time)
        invoice.paidAt = time
        change(&invoice)
        return invoice.reported(at: time, in: version)
    }

    static func fee(_ amount: Int64) -> Line {
        var fee = Line(StripePrice("price_setup", product: "setup", amount: amount), from: created, to: created)
        fee.isOneOff = true
        return fee
    }

    /// The charge for the second half of a month under another product.
    static func prorations(
        _ old: StripePrice,
        _ new: StripePrice,
        settingOff amount: Int64? = nil,
        from start: Int64,
        until end: Int64? = nil
    ) -> [Line] {
        [(old, 0 - (amount ?? old.amount / 2)), (new, new.amount / 2)].map {
            Line($0, amount: $1, from: start, to: end ?? start + 15 * day, isProration: true)
        }
    }

    /// A change in the middle of a month, which is invoiced at once where a name of the invoice is given.
    static func change(
        _ old: StripePrice,
        _ new: StripePrice,
        monthFrom start: Int64 = created,
        invoice: String? = nil,
        settingOff amount: Int64? = nil,
        in version: StripeSimulator.Version
    ) -> [Taken] {
        let time = start + 15 * day
        let (before, after) = (
            ItemTests.subscription([old], from: start), ItemTests.subscription([new], from: start)
        )
        let updated = RareFlowTests.updated(after, from: before, at: time, version)
        guard let invoice else { return [updated] }
        let lines = prorations(old, new, settingOff: amount, from: time)
        return [updated, paid(invoice, reason: "subscription_update", lines, at: time, in: version)]
    }

    /// The credits of each product that are left, in any order of the notifications.
    static func credits(
        _ deliveries: [Taken],
        _ policy: CreditPolicy = policy,
        on days: Int64
    ) throws -> Set<[ProductID: Int64]> {
        var found: Set<[ProductID: Int64]> = []
        let adapter = try policed { $0.refundSource = .refunds }
        try RareFlowTests.Host.inEachOrder(deliveries, by: adapter) { host in
            let at = date(created + days * day)
            let statement = CreditStatement(of: host.state, under: policy, uses: [], at: at)
            found.insert(
                statement.grants.reduce(into: [:]) { if $1.left > 0 { $0[$1.product ?? "", default: 0] += $1.left } }
            )
        }
        return found
    }

    @Test("a fee with the first payment is not set off", arguments: ItemTests.versions, [nil, "in_2"])
    func fee(version: StripeSimulator.Version, invoice: String?) throws {
        let lines = [Line(Self.basic, from: created, to: Self.next), Self.fee(5000)]
        let life =
            [
                RareFlowTests.began(ItemTests.subscription([Self.basic]), version),
                Self.paid("in_1", reason: "subscription_create", lines, at: created, in: version),
            ] + Self.change(Self.basic, Self.pro, invoice: invoice, in: version)
        // 5.00 of basic's 10.00 are unused, and pro costs 10.00 for the rest.
        #expect(try Self.credits(life, on: 16) == [["basic": 200, "pro": 125]])
    }

    @Test("a fee at the start of a trial pays for no period: the trial's credits count", arguments: ItemTests.versions)
    func feeOfTrial(version: StripeSimulator.Version) throws {
        var trial = ItemTests.subscription([Self.basic])
        trial.end = created + 14 * day
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", created, trial.end)
        let lines = [Line(Self.basic, amount: 0, from: created, to: trial.end), Self.fee(100)]
        let life = [
            RareFlowTests.began(trial, version),
            Self.paid("in_1", reason: "subscription_create", lines, at: created, in: version),
        ]
        #expect(try Self.credits(life, on: 1) == [["basic": 20]])
    }

    @Test("a product of no price is paid for by its invoice, with a fee or without", arguments: [false, true])
    func freeProduct(hasFee: Bool) throws {
        let free = StripePrice("price_free", product: "free", amount: 0)
        let life = [
            RareFlowTests.began(ItemTests.subscription([free]), .endive),
            Self.paid(
                "in_1",
                reason: "subscription_create",
                [Line(free, from: created, to: Self.next)] + (hasFee ? [Self.fee(100)] : []),
                at: created,
                in: .endive
            ),
        ]
        #expect(try Self.credits(life, on: 1) == [["free": 50]])
    }

    @Test("prorations of the month before, which come with a renewal, are not set off", arguments: ItemTests.versions)
    func pendingProrations(version: StripeSimulator.Version) throws {
        let first = ItemTests.subscription([Self.pro])
        let renewed = ItemTests.subscription([Self.pro], from: Self.next)
        let lines = [Line(Self.pro, from: Self.next, to: Self.next + 30 * day)]
        let life =
            [
                RareFlowTests.updated(renewed, from: first, at: Self.next, version),
                Self.paid(
                    "in_\(Self.next)",
                    reason: "subscription_cycle",
                    lines + Self.prorations(Self.basic, Self.pro, from: Self.middle),
                    at: Self.next,
                    in: version
                ),
            ] + Self.change(Self.pro, Self.agency, monthFrom: Self.next, in: version)
        // 10.00 of pro's 20.00 are unused, and agency costs 25.00 for the rest: 15.00 of 50.00.
        #expect(try Self.credits(life, on: 46) == [["pro": 500, "agency": 600]])
    }

    @Test("time before the first period is not set off", arguments: ItemTests.versions)
    func backdated(version: StripeSimulator.Version) throws {
        let lines = [
            Line(Self.basic, amount: 2000, from: created - 60 * day, to: created),
            Line(Self.basic, from: created, to: Self.next),
        ]
        let life =
            [
                RareFlowTests.began(ItemTests.subscription([Self.basic]), version),
                Self.paid("in_1", reason: "subscription_create", lines, at: created, in: version),
            ] + Self.change(Self.basic, Self.pro, invoice: "in_2", in: version)
        #expect(try Self.credits(life, on: 16) == [["basic": 200, "pro": 125]])
    }

    @Test("a period counts in full, whatever the customer's balance pays of it", arguments: [0, 100, 1200] as [Int64])
    func balance(paid amount: Int64) throws {
        let lines = [Line(Self.basic, from: created, to: Self.next)]
        let life =
            [
                RareFlowTests.began(ItemTests.subscription([Self.basic]), .endive),
                Self.paid("in_1", reason: "subscription_create", lines, at: created, in: .endive) {
                    $0.amountPaid = amount
                },
            ] + Self.change(Self.basic, Self.pro, invoice: "in_2", in: .endive)
        #expect(try Self.credits(life, on: 16) == [["basic": 200, "pro": 125]])
    }

    /// The second of two months begins in the middle of the first, with lines that set off what is given.
    static func newAnchor(
        to new: StripePrice,
        settingOff amount: Int64?,
        changed change: (inout StripeInvoice) -> Void = { _ in }
    ) -> [Taken] {
        let (old, month) = (ItemTests.subscription([basic]), Line(new, from: middle, to: middle + 30 * day))
        let back = amount.map { Line(basic, amount: -$0, from: middle, to: next, isProration: true) }
        return [
            RareFlowTests.began(old, .endive),
            paid(
                "in_1",
                reason: "subscription_create",
                [Line(basic, from: created, to: next)],
                at: created,
                in: .endive
            ),
            RareFlowTests.updated(ItemTests.subscription([new], from: middle), from: old, at: middle, .endive),
            paid(
                "in_2",
                reason: "subscription_update",
                [back, month].compactMap(\.self),
                at: middle,
                in: .endive,
                changed: change
            ),
        ]
    }

    /// Stripe: `proration_behavior: none` disables prorations (https://docs.stripe.com/api/subscriptions/update).
    @Test("a new anchor sets off what its invoice gives back, and nothing without a line that does")
    func newAnchor() throws {
        #expect(try Self.credits(Self.newAnchor(to: Self.basic, settingOff: nil), on: 16) == [["basic": 400]])
        #expect(
            try Self.credits(Self.newAnchor(to: Self.pro, settingOff: nil), on: 16) == [["basic": 200, "pro": 500]]
        )
        #expect(try Self.credits(Self.newAnchor(to: Self.basic, settingOff: 500), on: 16) == [["basic": 300]])
        #expect(
            try Self.credits(Self.newAnchor(to: Self.pro, settingOff: 500), on: 16) == [["basic": 200, "pro": 375]]
        )
        // 2.00 are given back, and not the half of 10.00.
        #expect(
            try Self.credits(Self.newAnchor(to: Self.pro, settingOff: 200), on: 16) == [["basic": 200, "pro": 450]]
        )
        // The customer's balance pays.
        let owed = Self.newAnchor(to: Self.pro, settingOff: nil) { $0.amountPaid = 0 }
        #expect(try Self.credits(owed, on: 16) == [["basic": 200, "pro": 500]])
    }

    @Test("of a discount that no line shows, the lines say nothing but whether something was given back")
    func discountOfNewAnchor() throws {
        let whole = Self.newAnchor(to: Self.pro, settingOff: nil) { $0.discount = 400 }
        #expect(try Self.credits(whole, on: 16) == [["basic": 200, "pro": 500]])
        // 11.00 are paid, and half of basic's 10.00 is set off.
        let rest = Self.newAnchor(to: Self.pro, settingOff: 500) { $0.discount = 400 }
        #expect(try Self.credits(rest, on: 16) == [["basic": 200, "pro": 343]])
    }

    /// A product has prices in several rhythms, of which a policy can state one
    /// (https://docs.stripe.com/products-prices/how-products-and-prices-work).
    @Test(
        "a change within a period counts by its own lines, whatever price the policy states",
        arguments: [nil, 1, 1000]
    )
    func changeByLines(listed: Int64?) throws {
        var policy = Self.policy
        for product in ["basic", "pro"] as [ProductID] {
            policy.allowances[product]?.price = listed.map { Money(ExactDecimal($0), "USD") }
        }
        let lines = [Line(Self.basic, from: created, to: Self.next)]
        let first = [
            RareFlowTests.began(ItemTests.subscription([Self.basic]), .endive),
            Self.paid("in_1", reason: "subscription_create", lines, at: created, in: .endive),
        ]
        let up = Self.change(Self.basic, Self.pro, invoice: "in_2", in: .endive)
        #expect(try Self.credits(first + up, policy, on: 16) == [["basic": 200, "pro": 125]])
        // To and fro, which the customer's balance pays for after the first time: 15.00, of which pro's 500 cost 20.00.
        var life = first
        for number in Int64(0)..<9 {
            let (old, new) = number % 2 == 0 ? (Self.basic, Self.pro) : (Self.pro, Self.basic)
            let (time, id) = (Self.middle + number * 60, "in_\(number + 2)")
            let (before, after) = (ItemTests.subscription([old]), ItemTests.subscription([new]))
            life.append(RareFlowTests.updated(after, from: before, at: time, .endive))
            let lines = Self.prorations(old, new, from: time, until: Self.next)
            let paid = Self.paid(id, reason: "subscription_update", lines, at: time, in: .endive) {
                if number > 0 { $0.amountPaid = 0 }
            }
            life.append(paid)
        }
        let state = try ItemTests.state(life, try adapter())
        let balances = (1...9).map { number in
            CreditStatement(of: state, under: policy, uses: [], at: date(Self.middle + number * 60 - 1)).balance
        }
        #expect(balances.allSatisfy { $0 <= 375 }, "\(balances)")
    }

    @Test("a discount that no line shows leaves the amount that was paid as the price")
    func discountOfInvoice() throws {
        let lines = [Line(Self.basic, from: created, to: Self.next)]
        let life =
            [
                RareFlowTests.began(ItemTests.subscription([Self.basic]), .v2020),
                Self.paid("in_1", reason: "subscription_create", lines, at: created, in: .v2020) { $0.discount = 400 },
            ] + Self.change(Self.basic, Self.pro, invoice: "in_2", settingOff: 300, in: .v2020)
        // 3.00 of 6.00 are unused, and 7.00 of 20.00 paid.
        #expect(try Self.credits(life, on: 16) == [["basic": 200, "pro": 175]])
    }

    @Test("a refund takes its share of everything that the payment was for, since it names no line")
    func refundOfPart() throws {
        let lines = [Line(Self.basic, from: created, to: Self.next), Self.fee(3000)]
        let life = [
            RareFlowTests.began(ItemTests.subscription([Self.basic]), .v2020),
            Self.paid("in_1", reason: "subscription_create", lines, at: created, in: .v2020),
            PaymentJoinTests.refund("re_1", 1000, of: "pi_in_1", at: created + day, in: .v2020),
        ]
        #expect(try Self.credits(life, on: 2) == [["basic": 150]])
    }
}
