import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

private let half = t0 + (t1 - t0) / 2

/// Stripe changes the product of a period that continues, and charges the difference. RevenueCat's RENEWAL has the old
/// `purchased_at_ms` then (https://www.revenuecat.com/docs/integrations/webhooks/event-flows).
@Suite("A change within a period of Stripe's, by RevenueCat's webhooks")
struct StripeChangeTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    private static let policy = CreditPolicy([
        "basic_m": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro_m": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "agency_m": .init(credits: 2000, price: Money(ExactDecimal(50), "USD")),
    ])

    /// RevenueCat documents no names for Stripe's transactions.
    struct Names: CustomTestStringConvertible, Sendable {
        let first: String
        let second: String
        var testDescription: String { "\(first), \(second)" }

        static let all = [
            Names(first: "si_1", second: "si_1"), Names(first: "in_1", second: "in_2"),
            Names(first: "in_2", second: "in_1"),
        ]

        fileprivate func event(
            _ type: String,
            at: Int64,
            _ product: String,
            from start: Int64 = t0,
            to end: Int64 = t1,
            with changes: KeyValuePairs<String, JSONText?> = [:]
        ) -> Event {
            CreditTests.event(
                type,
                at: at,
                Period(start, to: end, at < half ? first : second),
                product: product,
                changing: ["store": "STRIPE", "original_transaction_id": .string(first)]
            ).with(changes)
        }

        var bought: Event { event("INITIAL_PURCHASE", at: t0 + 5000, "basic_m").priced("10.00") }

        /// Without `new_product_id`, which RevenueCat states of other stores' changes
        /// (https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields).
        var announced: Event { event("PRODUCT_CHANGE", at: half - 5000, "basic_m") }

        func changed(to product: String, for price: String) -> Event {
            event("RENEWAL", at: half, product).priced(price)
        }

        func refund(of product: String, _ price: String) -> Event {
            event("CANCELLATION", at: half + 5 * day, product, with: ["cancel_reason": "CUSTOMER_SUPPORT"])
                .priced(price)
        }
    }

    /// The balances a while later, of each order.
    private static func balances(_ webhooks: [Event], at time: Int64 = half + 6 * day) throws -> Set<Int64> {
        var balances: Set<Int64> = []
        for order in permutations(of: try CreditTests.events(webhooks)) {
            let host = Backend(order, policy)
            #expect(host.ledger.states.count == 1)
            balances.insert(CreditStatement(of: host.ledger.states, under: policy, uses: [], at: date(time)).balance)
        }
        return balances
    }

    @Test("the charge of the change pays for the rest, and the period's own for the whole", arguments: Names.all)
    func charged(names: Names) throws {
        let agency = [names.bought, names.announced, names.changed(to: "agency_m", for: "20.00")]
        // 25.00 for half a month, less 5.00: 20 of 25 of 1000.
        #expect(try Self.balances(agency) == [1000])
        let pro = [names.bought, names.announced, names.changed(to: "pro_m", for: "5.00")]
        #expect(try Self.balances(pro) == [325])
        #expect(try Self.balances([names.bought]) == [200])
        let renewed = names.event("RENEWAL", at: t1 + hour, "agency_m", from: t1, to: t2).priced("50.00")
        // The rest of basic was carried over at the change, and the rest of the old month's agency is replaced.
        #expect(try Self.balances(agency + [renewed], at: t1 + day) == [2000 + 200])
    }

    @Test("a refund of the change takes what it paid for", arguments: Names.all)
    func refunded(names: Names) throws {
        let agency = [names.bought, names.announced, names.changed(to: "agency_m", for: "20.00")]
        #expect(try Self.balances(agency + [names.refund(of: "agency_m", "-20.00")]) == [200])
        #expect(try Self.balances([names.bought, names.refund(of: "basic_m", "-10.00")]) == [0])
    }

    @Test("a payment that comes days after the period began pays for all of it", arguments: Names.all)
    func late(names: Names) throws {
        let late = names.event("RENEWAL", at: t1 + 3 * day, "basic_m", from: t1, to: t2).priced("10.00")
        #expect(try Self.balances([names.bought, late], at: t1 + 4 * day) == [200])
        let middle = t1 + 14 * day
        let changed = names.event("RENEWAL", at: middle, "agency_m", from: t1, to: t2).priced("20.00")
        #expect(try Self.balances([names.bought, late, changed], at: middle + day) == [1000])
    }

    @Test("the payments have names of their own, and the events keep theirs")
    func named() throws {
        let names = Names.all[0]
        let events = try CreditTests.events([
            names.bought, names.changed(to: "agency_m", for: "20.00"), names.refund(of: "agency_m", "-20.00"),
        ])
        let charges = events.flatMap(\.facts).compactMap { fact -> Fact.Charge? in
            if case .charge(let charge) = fact { charge } else { nil }
        }
        #expect(charges.map(\.transaction) == ["si_1/1767225600/basic_m", "si_1/1767225600/agency_m"])
        #expect(charges.map(\.at) == [date(t0 + 5000), date(half)])
        #expect(charges.map(\.periodStart) == [date(t0), date(t0)])
        #expect(charges.map(\.items) == [[PurchasedItem(product: "basic_m")], [PurchasedItem(product: "agency_m")]])
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "si_1")
        #expect(events.last?.id == .refunded(lineage, refund: "si_1/1767225600"))
        #expect(events.last?.transaction == "si_1")
    }
}
