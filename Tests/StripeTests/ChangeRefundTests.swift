import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Basic is paid for a month, and pro for its second half: each refund takes the credits of its own payment.
@Suite("Refunds of a change within a period")
struct ChangeRefundTests {
    typealias Taken = RareFlowTests.Taken

    private static let version = StripeSimulator.Version.v2020
    private static let basic = StripePrice("price_basic", product: "basic", amount: 1000)
    private static let pro = StripePrice("price_pro", product: "pro", amount: 2000)
    private static let middle = created + 15 * day
    private static let next = created + 30 * day
    private static let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
    ])

    /// - Parameter isInvoiced: true if the change is charged at once, and not with the next invoice.
    private static func life(isInvoiced: Bool) -> [Taken] {
        let (old, new) = (ItemTests.subscription([basic]), ItemTests.subscription([pro]))
        let month = StripeInvoice.Line(basic, from: created, to: next)
        // Stripe dates the lines by the request, and the update by the moment when it is done.
        let asked = middle - 3
        let lines = [
            StripeInvoice.Line(basic, amount: -500, from: asked, to: next, isProration: true),
            StripeInvoice.Line(pro, amount: 1000, from: asked, to: next, isProration: true),
        ]
        let life = [
            RareFlowTests.began(old, version),
            RareFlowTests.invoice("in_1", reason: "subscription_create", lines: [month], at: created, in: version),
            RareFlowTests.updated(new, from: old, at: middle, version),
        ]
        let charge = RareFlowTests.invoice(
            "in_2",
            reason: "subscription_update",
            lines: lines,
            at: asked + 2,
            in: version
        )
        return isInvoiced ? life + [charge] : life
    }

    private static func refund(
        _ amount: Int64,
        of invoice: String,
        at time: Int64 = middle + 5 * day
    ) -> Taken {
        PaymentJoinTests.refund("re_\(invoice)", amount, of: "pi_\(invoice)", at: time, in: version)
    }

    private static func failed(_ refund: String, of invoice: String) -> Taken {
        let failed: JSONText = [
            "id": .string(refund), "object": "refund", "amount": 500, "currency": "usd",
            "payment_intent": .string("pi_\(invoice)"), "status": "failed",
        ]
        return PaymentJoinTests.event("refund.failed", failed, at: middle + 6 * day, in: version)
    }

    private static func lost(_ invoice: String) -> Taken {
        let dispute: JSONText = [
            "id": "dp_1", "object": "dispute", "amount": 500, "currency": "usd",
            "payment_intent": .string("pi_\(invoice)"), "reason": "fraudulent", "status": "lost",
        ]
        return PaymentJoinTests.event("charge.dispute.closed", dispute, at: middle + 5 * day, in: version)
    }

    /// The credits that are left of each product, in any order of the notifications.
    ///
    /// - Parameter first: notifications that come before all of these.
    private static func credits(
        _ deliveries: [Taken],
        after first: [Taken] = []
    ) throws -> Set<[ProductID: Int64]> {
        var found: Set<[ProductID: Int64]> = []
        let adapter = try policed { $0.refundSource = .refunds }
        try RareFlowTests.Host.inEachOrder(deliveries, after: first, by: adapter) { host in
            let statement = CreditStatement(of: host.state, under: policy, uses: [], at: date(middle + 7 * day))
            found.insert(
                statement.grants.filter { $0.left > 0 }.reduce(into: [:]) {
                    $0[$1.product ?? "", default: 0] += $1.left
                }
            )
        }
        return found
    }

    @Test("a refund of a change takes what it paid for, and one of the period's payment leaves that")
    func invoiced() throws {
        let life = Self.life(isInvoiced: true)
        #expect(try Self.credits(life) == [["basic": 200, "pro": 125]])
        #expect(try Self.credits(life + [Self.refund(500, of: "in_2")]) == [["basic": 200]])
        #expect(try Self.credits(life + [Self.refund(1000, of: "in_1")]) == [["pro": 125]])
        #expect(try Self.credits(life + [Self.refund(100, of: "in_2")]) == [["basic": 200, "pro": 100]])
        #expect(try Self.credits(life + [Self.refund(500, of: "in_1")]) == [["basic": 100, "pro": 125]])
        let early = Self.refund(500, of: "in_1", at: Self.middle - day)
        #expect(try Self.credits(life + [early]) == [["basic": 100, "pro": 125]], "Stripe sets off the whole rest")
        #expect(try Self.credits(life + [Self.lost("in_2")]) == [["basic": 200]])
        let undone = [Self.refund(500, of: "in_2"), Self.failed("re_in_2", of: "in_2")]
        #expect(try Self.credits(life.suffix(1) + undone, after: life.dropLast()) == [["basic": 200, "pro": 125]])
    }

    @Test("a refund takes the credits of an item that joined, if they were charged by themselves")
    func joined() throws {
        let both = ItemTests.subscription([Self.basic, Self.pro])
        let half = StripeInvoice.Line(Self.pro, amount: 1000, from: Self.middle, to: Self.next, isProration: true)
        let life =
            Self.life(isInvoiced: false).prefix(2) + [
                RareFlowTests.updated(both, from: ItemTests.subscription([Self.basic]), at: Self.middle, Self.version),
                RareFlowTests.invoice(
                    "in_2",
                    reason: "subscription_update",
                    lines: [half],
                    at: Self.middle,
                    in: Self.version
                ),
            ]
        #expect(try Self.credits(life + [Self.refund(1000, of: "in_2")]) == [["basic": 200]])
        #expect(try Self.credits(life + [Self.refund(1000, of: "in_1")]) == [["pro": 250]])
    }

    @Test("each of several changes to one product is refunded by itself")
    func toAndFro() throws {
        func change(_ invoice: String, on days: Int64, from old: StripePrice, to new: StripePrice) -> [Taken] {
            let at = created + days * day
            func part(_ price: StripePrice) -> Int64 { price.amount * (30 - days) / 30 }
            let lines = [
                StripeInvoice.Line(old, amount: -part(old), from: at - 3, to: Self.next, isProration: true),
                StripeInvoice.Line(new, amount: part(new), from: at - 3, to: Self.next, isProration: true),
            ]
            let (before, after) = (ItemTests.subscription([old]), ItemTests.subscription([new]))
            return [
                RareFlowTests.updated(after, from: before, at: at, Self.version),
                RareFlowTests.invoice(invoice, reason: "subscription_update", lines: lines, at: at, in: Self.version),
            ]
        }
        var life = Array(Self.life(isInvoiced: false).prefix(2))
        life += change("in_2", on: 10, from: Self.basic, to: Self.pro)
        life += change("in_3", on: 15, from: Self.pro, to: Self.basic)
        life += change("in_4", on: 20, from: Self.basic, to: Self.pro)
        func pro(_ refunds: [Taken]) throws -> [Int64?] {
            try Self.credits(refunds, after: life).map { $0["pro"] }
        }
        // 6.67 of 20.00 give 166 of 500. Of the 13.33 for that rest 5.00 go back on day 15, and 62. 3.33 give 83 on day 20.
        #expect(try pro([]) == [166 - 62 + 83])
        #expect(try pro([Self.refund(667, of: "in_2")]) == [83])
        #expect(try pro([Self.refund(333, of: "in_4")]) == [166 - 62])
    }

    @Test("a change that is charged with the next invoice belongs to the period's payment")
    func pending() throws {
        let refund = Self.refund(1000, of: "in_1")
        #expect(try Self.credits(Self.life(isInvoiced: false) + [refund]) == [[:]])
    }
}
