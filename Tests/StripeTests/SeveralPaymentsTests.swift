import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// An invoice of 20.00 that two payments of 10.00 paid: the refund of one of them is half.
@Suite("An invoice that several payments paid")
struct SeveralPaymentsTests {
    typealias Taken = RareFlowTests.Taken

    private static let version = StripeSimulator.Version.endive
    private static let pro = StripePrice("price_pro", product: "pro", amount: 2000)
    private static let policy = CreditPolicy(["pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD"))])

    private static let purchase: [Taken] =
        [
            RareFlowTests.began(ItemTests.subscription([pro]), version),
            RareFlowTests.invoice(
                "in_1",
                reason: "subscription_create",
                lines: [StripeInvoice.Line(pro, from: created, to: created + 30 * day)],
                at: created,
                in: version
            ),
        ] + [1, 2].map(joined)

    private static func joined(_ number: Int) -> Taken {
        let payment: JSONText = [
            "id": .string("inpay_\(number)"), "object": "invoice_payment", "amount_paid": 1000, "invoice": "in_1",
            "payment": ["type": "payment_intent", "payment_intent": .string("pi_\(number)")], "status": "paid",
        ]
        return PaymentJoinTests.event(
            "invoice_payment.paid",
            payment,
            at: created,
            id: "evt_inpay_\(number)",
            in: version
        )
    }

    private static func refund(_ number: Int, _ status: String = "succeeded", amount: Int64 = 1000) -> Taken {
        let at = created + Int64(5 + number) * day + (status == "failed" ? 3600 : 0)
        let refund: JSONText = [
            "id": .string("re_\(number)"), "object": "refund", "amount": .integer(amount),
            "charge": .string("ch_\(number)"), "created": .integer(at), "currency": "usd",
            "payment_intent": .string("pi_\(number)"), "status": .string(status),
        ]
        return PaymentJoinTests.event(
            status == "failed" ? "refund.failed" : "refund.created",
            refund,
            at: at,
            id: "evt_re_\(number)_\(status)",
            in: version
        )
    }

    private static func charge(_ number: Int, refunded: Int64 = 1000) -> Taken {
        let charge: JSONText = [
            "id": .string("ch_\(number)"), "object": "charge", "amount": 1000, "amount_refunded": .integer(refunded),
            "currency": "usd", "payment_intent": .string("pi_\(number)"), "refunded": .bool(refunded == 1000),
        ]
        return PaymentJoinTests.event(
            "charge.refunded",
            charge,
            previous: ["amount_refunded": 0],
            at: created + Int64(5 + number) * day,
            id: "evt_ch_\(number)",
            in: version
        )
    }

    /// The credits that are left, and how often a refund was news, in any order of what is about money.
    private static func left(_ refunds: [Taken], _ source: StripeAdapter.Policy.RefundSource) throws -> Set<[Int64]> {
        let adapter = try policed { $0.refundSource = source }
        var found: Set<[Int64]> = []
        for first in [purchase, Array(purchase.prefix(2))] {
            let rest = first.count == 2 ? Array(purchase.suffix(2)) : []
            try RareFlowTests.Host.inEachOrder(rest + refunds, after: first, by: adapter) { host in
                let statement = CreditStatement(of: host.state, under: policy, uses: [], at: date(created + 20 * day))
                let isGranted = host.state.access(at: date(created + 20 * day)).isGranted
                #expect(isGranted && host.state.contradictions.isEmpty)
                found.insert([statement.balance])
            }
        }
        return found
    }

    @Test("a refund of one is half, whichever notifications report it", arguments: [1, 2])
    func one(number: Int) throws {
        let (refund, charge) = (Self.refund(number), Self.charge(number))
        #expect(try Self.left([refund], .refunds) == [[250]])
        #expect(try Self.left([charge], .charges) == [[250]])
        for source: StripeAdapter.Policy.RefundSource in [.refunds, .charges, .byVersion] {
            #expect(try Self.left([refund, charge], source) == [[250]])
        }
    }

    @Test("a refund of each is all of it, whichever notifications report them")
    func both() throws {
        let reports = [[Self.refund(1)], [Self.charge(1)], [Self.refund(1), Self.charge(1)]]
        let others = [[Self.refund(2)], [Self.charge(2)]]
        for report in reports {
            for other in others { #expect(try Self.left(report + other, .byVersion) == [[0]]) }
        }
        #expect(try Self.left([Self.charge(1), Self.charge(2, refunded: 500)], .charges) == [[125]])
        #expect(try Self.left([Self.charge(1), Self.refund(2, amount: 500)], .byVersion) == [[125]])
    }

    @Test("one that failed leaves the other's")
    func failed() throws {
        let undone = [Self.refund(2), Self.refund(2, "failed")]
        #expect(try Self.left([Self.charge(1)] + undone, .byVersion) == [[250]])
        #expect(try Self.left([Self.refund(1)] + undone, .refunds) == [[250]])
    }

    @Test("each is news once")
    func news() throws {
        let pairs = [
            (Self.refund(1), Self.charge(2)), (Self.charge(1), Self.charge(2)), (Self.charge(1), Self.refund(2)),
        ]
        for reports in pairs.map({ [$0, $1] }) {
            let host = try RareFlowTests.Host(adapter(), Self.purchase + reports)
            #expect(host.kinds.filter { $0 == "refunded" }.count == 2)
        }
        let twice = [Self.refund(1), Self.charge(1)]
        for reports in [twice, twice.reversed()] {
            let host = try RareFlowTests.Host(adapter(), Self.purchase + reports)
            #expect(host.kinds.filter { $0 == "refunded" }.count == 1)
        }
    }
}
