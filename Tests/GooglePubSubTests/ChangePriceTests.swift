import Foundation
import Normalizer
import Testing

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
    ])

    /// The rest of half a month costs 7.50 of 180.00, and 5.00 of basic are set off: 2.50 of 180.00 are 50 of 3600. In another country, all
    /// prices are half of that.
    @Test(
        "the rest of a shorter or longer cycle is the part of the new one that its price says",
        arguments: [
            (1000, [Purchase(product: "year", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 250)], 200 + 50),
            (500, [Purchase(product: "year", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 125)], 200 + 50),
            // A second change: the rest of pro has 5.00 of basic and 5.00 of its own, and max costs 20.00 for half a month.
            (
                1000,
                [
                    Purchase(product: "year", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 250),
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
            currency: currency
        )
        let max = Purchase(
            product: "max",
            mode: "CHARGE_PRORATED_PRICE",
            begins: isTimed ? 18.75 : 22.5,
            ends: isTimed ? 22.5 : 30,
            charge: isTimed ? 125 : 250,
            currency: currency
        )
        let (bought, replaced, _) = try Chain.notified([basic, pro, max])
        let balance = Chain.balance(bought + replaced, at: max.begins + 0.1, under: Self.policy)
        let paid: Int64 = isTimed ? 275 : 350
        #expect(balance == paid)
    }
}
