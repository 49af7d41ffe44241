import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

// Parts of periods, such as the days up to a date of billing.
extension PeriodPriceTests {
    /// The price of a part of a period, which the subscription by itself bills up to an anchor of billing.
    private static func paidPart(
        _ id: String,
        reason: String,
        _ lines: [Line],
        lookBackFrom: Int64? = nil,
        discount: Int64 = 0,
        in version: StripeSimulator.Version
    ) -> Taken {
        let time = lines.map(\.start).max() ?? created
        var invoice = StripeInvoice(id, reason: reason, lines: lines, created: time, lookBackFrom: lookBackFrom)
        (invoice.paidAt, invoice.discount) = (time, discount)
        let text = JSONText.object(invoice.object(version)).text
            .replacing("\"proration\":false", with: "\"proration\":true")
        return PaymentJoinTests.event("invoice.paid", .raw(text), at: time, id: "evt_\(id)", in: version)
    }

    private static func charges(_ taken: Taken) throws -> [Fact.Charge] {
        try adapter().take(taken.body, at: taken.time).statements.flatMap(\.facts).compactMap {
            if case .charge(let charge) = $0 { charge } else { nil }
        }
    }

    private static func money(_ amount: String) throws -> Money {
        Money(try #require(ExactDecimal(amount)), "USD")
    }

    private static func subscription(
        _ items: [StripePrice],
        _ days: Range<Int64>,
        status: String = "active"
    ) -> StripeSubscription {
        var subscription = ItemTests.subscription(items, from: created + days.lowerBound * day)
        subscription.end = created + days.upperBound * day
        subscription.status = status
        return subscription
    }

    @Test("a first period up to an anchor of billing gives its share of the credits", arguments: ItemTests.versions)
    func firstPart(version: StripeSimulator.Version) throws {
        let addOn = StripePrice("price_free", product: "free", amount: 400)
        let first = Self.subscription([Self.basic, addOn], 0..<3)
        let whole = Self.subscription([Self.basic, addOn], 3..<33)
        let end = first.end
        let life = [
            RareFlowTests.began(first, version),
            Self.paidPart(
                "in_1",
                reason: "subscription_create",
                [
                    Line(Self.basic, amount: 97, from: created, to: end),
                    Line(addOn, amount: 39, from: created, to: end),
                ],
                in: version
            ),
        ]
        // 0.97 of 10.00 and 0.39 of 4.00.
        #expect(try Self.credits(life, on: 1) == [["basic": 19, "free": 4]])
        let renewed = [
            RareFlowTests.updated(whole, from: first, at: end, version),
            Self.paid(
                "in_2",
                reason: "subscription_cycle",
                [Line(Self.basic, from: end, to: whole.end), Line(addOn, from: end, to: whole.end)],
                at: end,
                in: version
            ),
        ]
        #expect(try Self.credits(life + renewed, on: 4) == [["basic": 200, "free": 50]])
    }

    @Test(
        "the charge says which part it is for, and of one product not what that costs: a discount may stand on the invoice"
    )
    func statedPart() throws {
        let taken = Self.paidPart(
            "in_1",
            reason: "subscription_create",
            [Line(Self.basic, amount: 97, from: created, to: created + 3 * day)],
            discount: 47,
            in: .v2020
        )
        let part = PurchasedItem.Part(price: try Self.money("0.97"), whole: try Self.money("10"))
        #expect(
            try Self.charges(taken) == [
                Fact.Charge(
                    transaction: "in_1",
                    price: Price(try Self.money("0.5"), .charged),
                    at: date(created),
                    periodStart: date(created),
                    items: [PurchasedItem(product: "basic", part: part)]
                )
            ]
        )
    }

    /// A price with amounts in several currencies shows that of its first one (https://docs.stripe.com/api/prices/object).
    @Test("a price in another currency than the invoice's does not say which part it is for")
    func partInAnotherCurrency() throws {
        let price = StripePrice("price_basic", product: "basic", amount: 1000, currency: "eur")
        let taken = Self.paidPart(
            "in_1",
            reason: "subscription_create",
            [Line(price, amount: 97, from: created, to: created + 3 * day)],
            in: .v2020
        )
        // The invoice and its line.
        let text = String(decoding: taken.body, as: UTF8.self)
            .replacing("\"currency\":\"eur\",\"customer\"", with: "\"currency\":\"usd\",\"customer\"")
            .replacing("\"currency\":\"eur\",\"period\"", with: "\"currency\":\"usd\",\"period\"")
        #expect(
            try Self.charges((Array(text.utf8), taken.time)) == [
                Fact.Charge(
                    transaction: "in_1",
                    price: Price(try Self.money("0.97"), .charged),
                    at: date(created),
                    periodStart: date(created)
                )
            ]
        )
    }

    @Test("so does a part between a trial and the anchor, and a coupon does not make it less", arguments: [0, 50])
    func partAfterTrial(discount: Int64) throws {
        var trial = Self.subscription([Self.basic], 0..<7, status: "trialing")
        (trial.trialStart, trial.trialEnd) = (created, trial.end)
        let part = Self.subscription([Self.basic], 7..<10)
        let life = [
            RareFlowTests.began(trial, .endive), RareFlowTests.updated(part, from: trial, at: part.start, .endive),
            Self.paidPart(
                "in_2",
                reason: "subscription_cycle",
                [Line(Self.basic, amount: 100, from: part.start, to: part.end)],
                lookBackFrom: created,
                discount: discount,
                in: .endive
            ),
        ]
        #expect(try Self.credits(life, on: 8) == [["basic": 20]])
    }

    @Test("a product that joins, or takes the place of another, within such a part gives its share of the rest")
    func changeWithinPart() throws {
        let first = Self.subscription([Self.basic], 0..<6)
        let pro = Self.subscription([Self.pro], 0..<6)
        let both = Self.subscription([Self.basic, Self.agency], 0..<6)
        let life = [
            RareFlowTests.began(first, .endive),
            Self.paidPart(
                "in_1",
                reason: "subscription_create",
                [Line(Self.basic, amount: 200, from: created, to: first.end)],
                in: .endive
            ),
        ]
        // Half of a fifth of a month is left: pro costs 2.00 for it, of which 1.00 is set off.
        let changed = RareFlowTests.updated(pro, from: first, at: created + 3 * day, .endive)
        #expect(try Self.credits(life + [changed], on: 4) == [["basic": 40, "pro": 25]])
        let joined = RareFlowTests.updated(both, from: first, at: created + 3 * day, .endive)
        #expect(try Self.credits(life + [joined], on: 4) == [["basic": 40, "agency": 200]])
    }

    @Test("of instalments, the first slot of such a part is cut, and the others are whole")
    func instalmentsOfPart() throws {
        // 1 March to 1 July, both at 12:00, and five days of February before that.
        let (march, july) = (created, created + 122 * day)
        let yearly = StripePrice("price_basic", product: "basic", amount: 12_000, interval: "year")
        let subscription = Self.subscription([yearly], -5..<122)
        let policy = CreditPolicy(["basic": .init(credits: 280, every: .month)])
        let deliveries = [
            RareFlowTests.began(subscription, .endive),
            Self.paidPart(
                "in_1",
                reason: "subscription_create",
                [Line(yearly, amount: 4175, from: subscription.start, to: july)],
                in: .endive
            ),
        ]
        let state = try ItemTests.state(deliveries, try adapter())
        func balance(at time: Int64) -> Int64 {
            CreditStatement(of: state, under: policy, uses: [], at: date(time)).balance
        }
        #expect([-4, 0, 30, 31, 121].map { balance(at: march + $0 * day) } == [50, 280, 280, 280, 280])
        #expect(balance(at: march + 122 * day) == 0)
    }
}
