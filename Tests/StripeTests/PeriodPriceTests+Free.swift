import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

// Changes to a product that costs nothing, and back.
extension PeriodPriceTests {
    private static let free = StripePrice("price_free", product: "free", amount: 0)
    private static let paidMonth = [
        RareFlowTests.began(ItemTests.subscription([basic]), .endive),
        paid("in_1", reason: "subscription_create", [Line(basic, from: created, to: next)], at: created, in: .endive),
    ]

    /// The change to the product for nothing, which gives the unused part back to the customer's balance.
    private static func toFree(at time: Int64, from start: Int64, invoice: String) -> [Taken] {
        let before = ItemTests.subscription([basic], from: start)
        let after = ItemTests.subscription([free], from: start)
        let end = start + 30 * day
        let unused = basic.amount * (end - time) / (end - start)
        let lines = [
            Line(basic, amount: -unused, from: time, to: end, isProration: true),
            Line(free, from: time, to: end, isProration: true),
        ]
        return [
            RareFlowTests.updated(after, from: before, at: time, .endive),
            paid(invoice, reason: "subscription_update", lines, at: time, in: .endive),
        ]
    }

    /// The change back, which begins a period (https://docs.stripe.com/api/subscriptions/update), and may give nothing back.
    private static func toBasic(at time: Int64, from start: Int64, invoice: String, givesBack: Bool) -> [Taken] {
        let (before, after) = (ItemTests.subscription([free], from: start), ItemTests.subscription([basic], from: time))
        let unused = givesBack ? [Line(free, from: time, to: start + 30 * day, isProration: true)] : []
        return [
            RareFlowTests.updated(after, from: before, at: time, .endive),
            paid(
                invoice,
                reason: "subscription_update",
                unused + [Line(basic, from: time, to: time + 30 * day)],
                at: time,
                in: .endive
            ),
        ]
    }

    @Test("a change to a product for nothing takes the credits of the unused part", arguments: [nil, 0])
    func changeToFree(listed: Int64?) throws {
        var policy = Self.policy
        policy.allowances["free"]?.price = listed.map { Money(ExactDecimal($0), "USD") }
        let life = Self.paidMonth + Self.toFree(at: Self.middle, from: created, invoice: "in_2")
        // 5.00 of 10.00 go back. What costs nothing gives nothing while money goes back for it.
        #expect(try Self.credits(life, policy, on: 16) == [["basic": 100]])
    }

    @Test("takes none if no invoice says that money goes back, as with proration_behavior: none")
    func changeToFreeWithoutProration() throws {
        var policy = Self.policy
        policy.allowances["free"]?.price = Money(ExactDecimal(0), "USD")
        let change = Self.toFree(at: Self.middle, from: created, invoice: "in_2").prefix(1)
        let found = try Self.credits(Self.paidMonth + change, policy, on: 16)
        #expect(found.map { $0["basic"] } == [200])
    }

    @Test("to and fro through a product for nothing gives what was paid for", arguments: [false, true])
    func toAndFroThroughFree(givesBack: Bool) throws {
        let (there, back) = (created + 12 * day, created + 18 * day)
        let first = Self.paidMonth + Self.toFree(at: there, from: created, invoice: "in_2")
        let life = first + Self.toBasic(at: back, from: created, invoice: "in_3", givesBack: givesBack)
        // 6.00 of 10.00 went back, and the second month is paid for in full.
        #expect(try Self.credits(life, on: 19) == [["basic": 280]])
    }

    @Test("again and again, too, and within a minute")
    func againAndAgain() throws {
        var (life, start) = (Self.paidMonth, created)
        for number in Int64(1)...4 {
            let time = created + number * 3600
            life += Self.toFree(at: time, from: start, invoice: "in_\(number)_1")
            life += Self.toBasic(at: time + 60, from: start, invoice: "in_\(number)_2", givesBack: true)
            start = time + 60
        }
        let state = try ItemTests.state(life, try adapter())
        let statement = CreditStatement(of: state, under: Self.policy, uses: [], at: date(start + day))
        // Each hour of basic costs a cent and a half, for which its credits stay.
        #expect(statement.balance == 204)
    }
}
