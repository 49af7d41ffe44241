import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

@Suite("Refunds of sales by Checkout")
struct SaleRefundTests {
    @Test("a part of the money for what was bought once takes no access", arguments: [1000, 4900])
    func part(amount: Int64) throws {
        let adapter = try adapter()
        let reported = [
            ("checkout.session.completed", OneFactTests.session(invoice: nil, createsInvoice: false)),
            ("refund.created", Self.refund("re_1", "succeeded", amount: amount)),
        ]
        var ledger = AccountLedger()
        var effects: [LifecycleEvent.AccessEffect] = []
        for (number, reported) in reported.enumerated() {
            for event in try OneFactTests.events(reported.0, reported.1, at: created + Int64(number) * day, by: adapter)
            {
                effects.append(ledger.apply(event).event.event.accessEffect)
            }
        }
        #expect(effects == [.grants, amount == 4900 ? .removes : .none])
    }

    // MARK: Several things in one session

    private static let policy = CreditPolicy(["prod_coins": .init(credits: 100), "prod_life": .init(credits: 1000)])

    private static func line(_ name: String, _ amount: Int64, quantity: Int64 = 1) -> JSONText {
        [
            "id": .string("li_\(name)"), "object": "item", "amount_total": .integer(amount),
            "price": [
                "id": .string("price_\(name)"), "currency": "usd", "product": .string("prod_\(name)"),
                "unit_amount": .integer(amount / quantity),
            ],
            "quantity": .integer(quantity),
        ]
    }

    /// Two packs of coins for 10.00, and something for good for 39.00.
    private static func cart(_ lines: [JSONText], invoice: String? = nil) -> JSONText {
        [
            "id": "cs_1", "object": "checkout.session", "amount_total": 4900, "client_reference_id": "user-42",
            "currency": "usd", "customer": "cus_1", "invoice": invoice.map { .string($0) } ?? nil,
            "line_items": ["object": "list", "data": .array(lines)],
            "mode": "payment", "payment_intent": "pi_1", "payment_status": "paid", "status": "complete",
        ]
    }

    /// The credits and the products that give access once everything has arrived, in any order.
    private static func left(_ refunds: [JSONText], _ type: String = "refund.created") throws -> Set<[String]> {
        let adapter = try policed { $0.oneTimeProducts = ["prod_coins": .consumable, "prod_life": .nonConsumable] }
        let sold = try OneFactTests.events(
            "checkout.session.completed",
            cart([line("coins", 1000, quantity: 2), line("life", 3900)]),
            by: adapter
        )
        let returned = try refunds.enumerated().flatMap { number, refund in
            try OneFactTests.events(type, refund, at: created + Int64(number + 1) * day, by: adapter)
        }
        var found: Set<[String]> = []
        for order in permutations(of: sold + returned) {
            var state = SubscriptionState(SubscriptionID(store: .stripe, environment: .production, id: "pi_1"))
            for event in order { _ = state.apply(event) }
            let time = date(created + 9 * day)
            let credits = CreditStatement(of: state, under: policy, uses: [], at: time)
            let left = ["prod_coins", "prod_life"].map { product in
                String(credits.grants.filter { $0.product == ProductID(product) }.reduce(0) { $0 + $1.left })
            }
            found.insert(left + [state.access(at: time).isGranted ? "access" : "no access"])
        }
        return found
    }

    @Test("of several things in one session each is bought, and a refund takes its share of all of them")
    func several() throws {
        #expect(try Self.left([]) == [["200", "1000", "access"]])
        // As much as the coins cost, but Stripe names no item.
        #expect(try Self.left([Self.refund("re_1", "succeeded", amount: 980)]) == [["160", "800", "access"]])
        #expect(try Self.left([Self.refund("re_1", "succeeded", amount: 1000)]).map(\.last) == ["access"])
        #expect(try Self.left([Self.refund("re_1", "succeeded", amount: 3900)]).map(\.last) == ["access"])
        #expect(try Self.left([Self.refund("re_1", "succeeded")]) == [["0", "0", "no access"]])
        let parts = [Self.refund("re_1", "succeeded", amount: 1000), Self.refund("re_2", "succeeded", amount: 3900)]
        #expect(try Self.left(parts) == [["0", "0", "no access"]])
        #expect(try Self.left([Self.charge(980)], "charge.refunded") == [["160", "800", "access"]])
        #expect(try Self.left([Self.charge(4900)], "charge.refunded") == [["0", "0", "no access"]])
    }

    private static func charge(_ refunded: Int64) -> JSONText {
        [
            "id": "ch_1", "object": "charge", "amount": 4900, "amount_refunded": .integer(refunded), "currency": "usd",
            "payment_intent": "pi_1", "refunded": .bool(refunded == 4900),
        ]
    }

    @Test("each of several things is news once")
    func severalAreNews() throws {
        let adapter = try adapter()
        let session = Self.cart([Self.line("coins", 1000, quantity: 2), Self.line("life", 3900)])
        let sold = try OneFactTests.events("checkout.session.completed", session, by: adapter)
        let refund = try OneFactTests.events(
            "refund.created",
            Self.refund("re_1", "succeeded"),
            at: created + day,
            by: adapter
        )
        for order in permutations(of: sold) {
            var state = SubscriptionState(SubscriptionID(store: .stripe, environment: .production, id: "pi_1"))
            let applied = (order + order + refund + refund).map { state.apply($0) }
            #expect(applied.map(\.disposition) == [.applied, .applied, .duplicate, .duplicate, .applied, .duplicate])
            #expect(applied[4].event.event.accessEffect == .removes)
        }
    }

    @Test("a session and its invoice name the purchases alike, in whatever order they list them")
    func severalByInvoice() throws {
        let adapter = try policed { $0.sellsByInvoice = true }
        let session = Self.cart(
            [Self.line("life", 3900), Self.line("coins", 1000, quantity: 2)],
            invoice: "in_1"
        )
        let pack = StripePrice("price_coins", product: "prod_coins", amount: 500)
        var coins = StripeInvoice.Line(pack, amount: 1000, from: created, to: created)
        coins.quantity = 2
        let life = StripePrice("price_life", product: "prod_life", amount: 3900)
        var invoice = StripeInvoice(
            "in_1",
            reason: "manual",
            lines: [coins, .init(life, from: created, to: created)],
            created: created
        )
        invoice.subscription = nil
        invoice.paidAt = created
        let sold = try OneFactTests.events("checkout.session.completed", session, by: adapter)
        let billed = try OneFactTests.events("invoice.paid", .object(invoice.object(.endive)), by: adapter)
        #expect(sold.map(\.id) == billed.map(\.id))
        #expect(sold.map(\.transaction) == ["in_1", "in_1/price_coins"])
        #expect(sold.map(\.price) == billed.map(\.price))
        #expect(sold.map { $0.product?.quantity } == billed.map { $0.product?.quantity })
    }

    static func refund(_ id: String, _ status: String, amount: Int64 = 4900) -> JSONText {
        [
            "id": .string(id), "object": "refund", "amount": .integer(amount), "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "status": .string(status),
        ]
    }
}
