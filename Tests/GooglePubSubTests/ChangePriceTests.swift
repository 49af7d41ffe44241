import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("What a prorated charge on Google Play paid for, by the prices of both products")
struct ChangePriceTests {
    typealias Chain = ChangeChainCreditTests
    typealias Purchase = ChangeChainCreditTests.Purchase

    private static let policy = CreditPolicy([
        "basic:monthly": .init(credits: 200, price: Money(ExactDecimal(10), "EUR")),
        "pro:monthly": .init(credits: 500, price: Money(ExactDecimal(20), "EUR")),
        "max:monthly": .init(credits: 1200, price: Money(ExactDecimal(40), "EUR")),
        // A year for 180.00, which is 15.00 a month. The name of a plan says nothing of its length.
        "year:monthly": .init(credits: 3600, price: Money(ExactDecimal(180), "EUR")),
        "two:monthly": .init(credits: 500, price: Money(ExactDecimal(40), "EUR")),
        "three:monthly": .init(credits: 900, price: Money(ExactDecimal(90), "EUR")),
    ])

    /// The rest of half a month costs 7.50 of 180.00, and 5.00 of basic are set off: 2.50 of 180.00 are 50 of 3600. In another country, all
    /// prices are half of that.
    @Test(
        "the rest of a shorter or longer cycle is the part of the new one that its price says",
        arguments: [
            (
                1000,
                [Purchase(product: "year", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 250, price: 18000)],
                200 + 50
            ),
            (
                500, [Purchase(product: "year", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 125, price: 9000)],
                200 + 50
            ),
            // A second change: the rest of pro has 5.00 of basic and 5.00 of its own, and max costs 20.00 for half a month.
            (
                1000,
                [
                    Purchase(product: "year", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 250, price: 18000),
                    Purchase(product: "max", mode: "CHARGE_PRORATED_PRICE", begins: 22.5, charge: 625),
                ], 200 + 50 + 187
            ),
        ] as [(Int64, [Purchase], Int64)]
    )
    func otherCycle(price: Int64, changes: [Purchase], balance: Int64) throws {
        let basic = Purchase(product: "basic", begins: 0, charge: price)
        let (bought, replaced, _) = try Chain.notified([basic] + changes)
        let day = (changes.last?.begins ?? 0) + 0.1
        #expect(Chain.balance(bought + replaced, at: day, under: Self.policy) == balance)
    }

    /// 182.5 days of a year for 180.00 are left, and as many days of max cost 243.33: 153.33 of 40.00 a month are 4600 credits.
    @Test("the rest of a longer cycle pays for several of a shorter one")
    func shorterCycle() throws {
        let year = Purchase(product: "year", begins: 0, ends: 365, charge: 18000)
        let max = Purchase(product: "max", mode: "CHARGE_PRORATED_PRICE", begins: 182.5, ends: 365, charge: 15333)
        let (bought, replaced, _) = try Chain.notified([year, max])
        let paid: Int64 = 3600 + 4599
        #expect(Chain.balance(bought + replaced, at: 183, under: Self.policy) == paid)
    }

    /// All prices are half of those of the policy, whatever currency they are in: 2.50 of 20.00 are 150 of 1200.
    @Test(
        "in a country with lower prices, a prorated charge after an uncharged change gives what was paid for",
        arguments: ["WITHOUT_PRORATION", "WITH_TIME_PRORATION"],
        ["EUR", "PLN"]
    )
    func lowerPrices(mode: String, currency: String) throws {
        let isTimed = mode == "WITH_TIME_PRORATION"
        let basic = Purchase(product: "basic", begins: 0, charge: 500, currency: currency)
        let pro = Purchase(
            product: "pro",
            mode: mode,
            begins: 15,
            ends: isTimed ? 22.5 : 30,
            charge: 0,
            currency: currency,
            price: 1000
        )
        let max = Purchase(
            product: "max",
            mode: "CHARGE_PRORATED_PRICE",
            begins: isTimed ? 18.75 : 22.5,
            ends: isTimed ? 22.5 : 30,
            charge: isTimed ? 125 : 250,
            currency: currency,
            price: 2000
        )
        let (bought, replaced, _) = try Chain.notified([basic, pro, max])
        let balance = Chain.balance(bought + replaced, at: max.begins + 0.1, under: Self.policy)
        let paid: Int64 = isTimed ? 275 : 350
        #expect(balance == paid)
    }

    private static func prorated(_ product: String, at day: Double, until end: Double = 30, for charge: Int64)
        -> Purchase
    {
        Purchase(product: product, mode: "CHARGE_PRORATED_PRICE", begins: day, ends: end, charge: charge)
    }

    /// Earlier payments say nothing of the new product's price: customers of long ago keep an old one, an offer is cheaper, and
    /// longer plans cost less.
    @Test(
        "a prorated charge gives the part of the new product's own price, whatever was paid before",
        arguments: [
            // Basic has cost 6.00 and now costs 10.00, or has cost 16.00: 7.00 and 2.00 of 20.00.
            ([Purchase(product: "basic", begins: 0, charge: 600), prorated("pro", at: 15, for: 700)], 200 + 175),
            ([Purchase(product: "basic", begins: 0, charge: 1600), prorated("pro", at: 15, for: 200)], 200 + 50),
            // After a change that was charged nothing: 5.00 of 40.00.
            (
                [
                    Purchase(product: "basic", begins: 0, charge: 600),
                    Purchase(product: "pro", mode: "WITHOUT_PRORATION", begins: 15, charge: 0),
                    prorated("max", at: 22.5, for: 500),
                ], 200 + 150
            ),
            // Two months of which half are left, and then three: 10.00 of 90.00.
            (
                [
                    Purchase(product: "two", begins: 0, ends: 60, charge: 4000),
                    Purchase(
                        product: "three",
                        mode: "CHARGE_PRORATED_PRICE",
                        begins: 30,
                        ends: 60,
                        charge: 1000,
                        price: 9000
                    ),
                ], 500 + 100
            ),
            // Basic was paid in another currency: 10.00 of 40.00.
            (
                [
                    Purchase(product: "basic", begins: 0, charge: 4300, currency: "PLN"),
                    prorated("max", at: 15, for: 1000),
                ],
                200 + 300
            ),
        ] as [([Purchase], Int64)]
    )
    func ownPrice(chain: [Purchase], balance: Int64) throws {
        let (bought, replaced, last) = try Chain.notified(chain)
        let day = (chain.last?.begins ?? 0) + 0.1
        #expect(Chain.balance(bought + replaced, at: day, under: Self.policy) == balance)
        // Google says for 60 days how an item was replaced.
        let later = try last.notified(7, at: (chain.last?.begins ?? 0) + 61) { purchase in
            purchase.items[0].extra["itemReplacement"] = nil
        }
        #expect(Chain.balance(bought + replaced + [later], at: day, under: Self.policy) == balance)
    }

    /// Google says for 60 days how an item was replaced, and may know the purchase before for longer. A long cycle is not over by then.
    @Test(
        "what a change was charged for is not forgotten with how the product was replaced",
        arguments: ["CHARGE_PRORATED_PRICE", "WITHOUT_PRORATION"],
        [true, false]
    )
    func askedLater(mode: String, knowsPredecessor: Bool) throws {
        let basic = Purchase(product: "basic", begins: 0, ends: 120, charge: 1000)
        let isCharged = mode == "CHARGE_PRORATED_PRICE"
        let pro = Purchase(product: "pro", mode: mode, begins: 20, ends: 120, charge: isCharged ? 833 : 0)
        let (bought, replaced, last) = try Chain.notified([basic, pro])
        let known = try #require(Chain.balance(bought + replaced, at: 100, under: Self.policy))
        #expect(known == (isCharged ? 200 + 208 : 200))
        let id = try #require(last.purchase.items[0].order)
        var asked = last
        if !knowsPredecessor { asked.answers.removeAll { $0.resource == .subscription } }
        let later = try asked.notified(7, at: 90, order: Chain.order(id, of: pro, stated: true)) { purchase in
            purchase.items[0].extra["itemReplacement"] = nil
        }
        for results in [bought + replaced + [later], [later] + bought + replaced, bought + [later]] {
            #expect(Chain.balance(results, at: 100, under: Self.policy) == known, "of \(results.count)")
        }
    }

    /// An offer's price is that of a whole period: 10.00 of 20.00 are the half of it that is left, less 5.00 of basic.
    /// A discount is in the order's total, and not in `recurringPrice`.
    @Test(
        "a plan that is bought again is no change, whatever was paid for it and whatever it costs from then on",
        arguments: [(1000, nil), (500, nil), (1000, 800), (1000, 1500)] as [(Int64, Int64?)],
        [15.0, 35]
    )
    func boughtAgain(price: (paid: Int64, recurring: Int64?), begins: Double) throws {
        var again = Purchase(product: "basic", begins: begins, ends: begins + 30, charge: price.paid)
        again.price = price.recurring
        let (bought, replaced, last) = try Chain.notified([.basic, again])
        let later = try last.notified(7, at: begins + 61) { _ in }
        for results in [bought + replaced, bought + replaced + [later]] {
            let grants = CreditStatement(
                of: AccountLedger(applying: results).states,
                under: Self.policy,
                uses: [],
                at: Play.date(Chain.time(begins + 0.1))
            ).grants
            #expect(grants.last?.credits == 200 && grants.last?.reason == .period)
        }
    }

    @Test("what a prorated charge paid for stays, though a relay states the charge without it", arguments: [-5.0, 5])
    func relayed(after seconds: Double) throws {
        var year = Self.prorated("year", at: 15, for: 250)
        year.price = 18000
        let (bought, replaced, _) = try Chain.notified([.basic, year])
        var event = try #require(bought[1].events.last)
        event.provider = .revenuecat
        event.assertedAt += seconds
        event.facts = event.facts.compactMap { fact in
            guard case .charge(var charge) = fact else { return nil }
            charge.items = nil
            return .charge(charge)
        }
        #expect(!event.facts.isEmpty)
        let known: Int64 = 200 + 50
        #expect(Chain.balance(bought + replaced, at: 15.1, under: Self.policy) == known)
        #expect(Chain.balance(bought + replaced + [Normalization([event])], at: 15.1, under: Self.policy) == known)
    }

    @Test("a prorated charge at the price of an offer gives the part of that which was not set off")
    func offer() throws {
        var max = Self.prorated("max", at: 15, for: 500)
        max.phase = "introductoryPrice"
        let (bought, replaced, _) = try Chain.notified([.basic, max])
        let paid: Int64 = 200 + 300
        #expect(Chain.balance(bought + replaced, at: 15.1, under: Self.policy) == paid)
    }

    @Test(
        "tax that is added to prices is no part of what a prorated charge paid for, and tax within them is",
        arguments: [true, false]
    )
    func tax(isAdded: Bool) throws {
        var pro = Self.prorated("pro", at: 15, for: 500)
        pro.tax = (80, isAdded)
        let (bought, replaced, _) = try Chain.notified([.basic, pro])
        let paid: Int64 = 200 + 125
        #expect(Chain.balance(bought + replaced, at: 15.1, under: Self.policy) == paid)
    }

    /// The app had no receiver when it was bought, its notification was lost, or the app may not see that purchase: 6.67 of 40.00.
    @Test("a prorated charge gives its part where the purchase before is not known, or is known by its end")
    func unknownBefore() throws {
        let (bought, replaced, last) = try Chain.notified([
            .basic, Self.prorated("pro", at: 10, for: 667), Self.prorated("max", at: 20, for: 667),
        ])
        let orders = last.answers.filter { $0.resource == .order }
        let change = try Play.map(4, last.purchase, token: last.token, at: Chain.time(20), others: orders)
        let (basic, pro, max): (Int64, Int64, Int64) = (200, 166, 200)
        #expect(Chain.balance([change], at: 20.1, under: Self.policy) == max)
        #expect(Chain.balance([bought[0], change], at: 20.1, under: Self.policy) == basic + max)
        #expect(Chain.balance([bought[0], change, replaced[1]], at: 20.1, under: Self.policy) == basic + pro + max)
    }
}
