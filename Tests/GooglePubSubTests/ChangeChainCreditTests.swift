import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Credits of one change after another on Google Play")
struct ChangeChainCreditTests {
    typealias Vectors = GoogleVectors
    typealias Known = ReplacementCreditTests

    /// A purchase that takes the place of the one before. Times are in days of the first one's period.
    struct Purchase {
        var product: String
        var mode: String?
        var begins: Double
        var ends = 30.0
        /// In cents.
        var charge: Int64
        var currency = "EUR"
        /// The price of a whole period, in cents; nil for that of the policy.
        var price: Int64?
        /// Tax that is added to the charge, or is in it, in cents.
        var tax: (cents: Int64, isAdded: Bool)?
        var phase = "basePrice"

        static let basic = Purchase(product: "basic", begins: 0, charge: 1000)
    }

    /// The last purchase, and what Google Play answers about the others and about its order.
    struct Last {
        var purchase = Vectors.purchase("ACTIVE")
        var token = ""
        var answers: [GoogleResolution.Lookup] = []

        func notified(
            _ number: Int,
            at day: Double,
            order: GoogleResolution.Lookup? = nil,
            _ change: (inout Vectors.Purchase) -> Void
        ) throws -> Normalization {
            let answers = [order].compactMap(\.self) + answers
            return try Play.map(number, purchase.with(change), token: token, at: time(day), others: answers)
        }
    }

    static func time(_ days: Double) -> Int64 { Known.start + Int64(days * Double(Known.day)) }

    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"

    private static let prices: [String: Int64] = ["basic": 1000, "pro": 2000, "max": 4000]

    private static func money(_ cents: Int64, _ purchase: Purchase) -> String {
        Vectors.money(cents / 100, nanos: cents % 100 * 10_000_000, currency: purchase.currency)
    }

    static func order(_ id: String, of purchase: Purchase, stated: Bool = false) -> GoogleResolution.Lookup {
        let total =
            money(purchase.charge + (purchase.tax?.isAdded == true ? purchase.tax?.cents ?? 0 : 0), purchase)
        let tax = purchase.tax.map { #","tax":\#(money($0.cents, purchase))"# } ?? ""
        let details = purchase.tax.map { #""orderDetails":{\#($0.isAdded ? "" : #""taxInclusive":true"#)},"# } ?? ""
        let times =
            stated
            ? #","subscriptionDetails":{"servicePeriodStartTime":\#(Vectors.JSON.time(time(purchase.begins))),"#
                + #""servicePeriodEndTime":\#(Vectors.JSON.time(time(purchase.ends)))}"# : ""
        return Play.found(
            .order,
            for: id,
            """
            {"orderId":"\(id)","state":"PROCESSED","createTime":\(Vectors.JSON.time(time(purchase.begins))),\(details)\
            "lineItems":[{"productId":"\(purchase.product)","total":\(total)\(tax)\(times)}]}
            """
        )
    }

    /// The notification of each purchase, and that of the end of each that was replaced.
    static func notified(
        _ chain: [Purchase]
    ) throws -> (bought: [Normalization], replaced: [Normalization], last: Last) {
        var (bought, replaced): ([Normalization], [Normalization]) = ([], [])
        var others: [GoogleResolution.Lookup] = []
        var last = Last()
        for (index, purchase) in chain.enumerated() {
            var item = Known.item(purchase.product, order: index, until: time(purchase.ends))
            item.price = money(purchase.price ?? prices[purchase.product] ?? 0, purchase)
            item.phase = purchase.phase
            if let mode = purchase.mode {
                item.extra["itemReplacement"] =
                    #"{"productId":"\#(chain[index - 1].product)","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
            }
            let id = try #require(item.order)
            last.purchase = Vectors.purchase("ACTIVE").with {
                $0.start = time(purchase.begins)
                $0.items = [item]
            }
            last.purchase.linked = others.first?.key
            last.token = "token-\(index)"
            last.answers = [order(id, of: purchase)] + others
            bought.append(try last.notified(4, at: purchase.begins) { _ in })
            guard index + 1 < chain.count else { break }
            let end = chain[index + 1].begins
            let ended = Known.replaced(last.purchase, at: time(end))
            replaced.append(try last.notified(13, at: end + 0.0001) { $0 = ended })
            others.insert(Play.found(.subscription, for: last.token, ended.json), at: 0)
        }
        return (bought, replaced, last)
    }

    /// The balance, in days of the first period, whatever arrived first.
    static func balance(
        _ results: [Normalization],
        at day: Double,
        under policy: CreditPolicy = Known.policy
    ) -> Int64? {
        let balances = Set(
            [results, results.reversed(), results + results].map { results in
                var ledger = AccountLedger()
                for result in results {
                    for event in result.events { _ = ledger.apply(event) }
                    for statement in result.statements { ledger.apply(statement) }
                }
                return CreditStatement(of: ledger.states, under: policy, uses: [], at: Play.date(time(day))).balance
            }
        )
        return balances.count == 1 ? balances.first : nil
    }

    /// The charge, and no time, says how much of the new product was paid for: 5.00 of 40.00 are 150 of 1200.
    @Test(
        "a prorated charge after a change that was not charged gives the part that was paid for",
        arguments: [
            // Ten minutes later, two days before the end: 1.32 of 40.00.
            (
                [
                    Purchase(product: "pro", mode: "WITHOUT_PRORATION", begins: 28, charge: 0),
                    Purchase(product: "max", mode: "CHARGE_PRORATED_PRICE", begins: 28 + 10.0 / 1440, charge: 132),
                ], 200 + 39
            ),
            // 5.00 of basic are seven and a half days of pro.
            (
                [
                    Purchase(product: "pro", mode: "WITH_TIME_PRORATION", begins: 15, ends: 22.5, charge: 0),
                    Purchase(
                        product: "max",
                        mode: "CHARGE_PRORATED_PRICE",
                        begins: 18.75,
                        ends: 22.5,
                        charge: 250
                    ),
                ], 200 + 75
            ),
            (
                [
                    Purchase(product: "pro", mode: "WITHOUT_PRORATION", begins: 15, charge: 0),
                    Purchase(product: "max", mode: "CHARGE_PRORATED_PRICE", begins: 22.5, charge: 500),
                ], 200 + 150
            ),
            (
                [
                    Purchase(product: "pro", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 500),
                    Purchase(product: "basic", mode: "WITHOUT_PRORATION", begins: 16, charge: 0),
                    Purchase(product: "pro", mode: "CHARGE_PRORATED_PRICE", begins: 17, charge: 433),
                ], 200 + 125 + 108
            ),
            (
                [
                    Purchase(product: "pro", mode: "WITHOUT_PRORATION", begins: 10, charge: 0),
                    Purchase(product: "basic", mode: "WITHOUT_PRORATION", begins: 11, charge: 0),
                    Purchase(product: "pro", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 500),
                    Purchase(product: "max", mode: "CHARGE_PRORATED_PRICE", begins: 22.5, charge: 500),
                ], 200 + 125 + 150
            ),
        ] as [([Purchase], Int64)]
    )
    func proratedAfterUncharged(changes: [Purchase], balance: Int64) throws {
        let (bought, replaced, _) = try Self.notified([.basic] + changes)
        let day = (changes.last?.begins ?? 0) + 0.1
        #expect(Self.balance(bought + replaced, at: day) == balance)
        // Each is known by its end where its own notification is lost.
        for lost in bought.indices.dropLast() {
            var left = bought
            left.remove(at: lost)
            #expect(Self.balance(left + replaced, at: day) == balance, "without \(lost)")
        }
        #expect(Self.balance(bought.suffix(1) + replaced, at: day) == balance, "by their ends alone")
    }

    private static let prorated = Purchase(product: "pro", mode: "CHARGE_PRORATED_PRICE", begins: 15, charge: 500)

    /// Any word about the first period after a change states the change, since its own notification may be lost for good.
    @Test(
        "a change whose notification is lost is known by the next one, whatever it reports",
        arguments: ["CHARGE_PRORATED_PRICE", "CHARGE_FULL_PRICE", "WITHOUT_PRORATION", "WITH_TIME_PRORATION"],
        [3, 7, 8, 9, 11, 18, 19, 22, 99]
    )
    func changeLost(mode: String, number: Int) throws {
        var change = Self.prorated
        change.mode = mode
        switch mode {
        case "CHARGE_FULL_PRICE": (change.ends, change.charge) = (60, 2000)
        case "WITH_TIME_PRORATION": (change.ends, change.charge) = (22.5, 0)
        case "WITHOUT_PRORATION": change.charge = 0
        default: break
        }
        let (bought, replaced, last) = try Self.notified([.basic, change])
        let next = try last.notified(number, at: 17) { purchase in
            if number == 9 { purchase.items[0].expiry = Self.time(change.ends + 3) }
            if number == 3 {
                purchase.state = "CANCELED"
                purchase.items[0].isRenewing = false
                purchase.extra["canceledStateContext"] = Vectors.canceledByUser
            }
        }
        let known = try #require(Self.balance(bought + replaced, at: 18))
        var lists = [bought.prefix(1) + [next], bought.prefix(1) + [next] + replaced, bought + [next]]
        // Of a rest whose end was put off, nothing but a word of before says until when it was charged for.
        if number != 9 || mode != "CHARGE_PRORATED_PRICE" { lists.append([next]) }
        for (place, results) in lists.enumerated() {
            #expect(Self.balance(Array(results), at: 18) == known, "list \(place)")
        }
    }

    /// Google Play puts the end off for a developer's deferral, and for a day while it tries a declined charge again.
    @Test("an end that is put off changes nothing of what a prorated charge paid for", arguments: [3.0, 1.0])
    func endPutOff(days: Double) throws {
        let (bought, replaced, last) = try Self.notified([.basic, Self.prorated])
        let putOff = try last.notified(9, at: 17) { $0.items[0].expiry = Self.time(30 + days) }
        for results in [bought + replaced + [putOff], bought + [putOff], bought + replaced] {
            #expect(Self.balance(results, at: 16) == 325, "of \(results.count)")
            #expect(Self.balance(results, at: 29.5) == 325, "of \(results.count)")
        }
        // The time that was given counts as time of the cycle: one day of it more is charged at 0.66 of 40.00.
        let max = Purchase(
            product: "max",
            mode: "CHARGE_PRORATED_PRICE",
            begins: 29 + days,
            ends: 30 + days,
            charge: 66
        )
        let (later, ended, _) = try Self.notified([.basic, Self.prorated, max])
        let balance = try #require(Self.balance(later + ended + [putOff], at: max.begins + 0.1))
        #expect((325 + 15...325 + 22).contains(balance))
    }

    @Test(
        "an end put off after a change for nothing gives no instalment, also if the first purchase is unknown"
    )
    func endPutOffAfterFreeChange() throws {
        let free = Purchase(product: "pro", mode: "WITHOUT_PRORATION", begins: 15, charge: 0)
        let (bought, replaced, last) = try Self.notified([.basic, free])
        let putOff = try last.notified(9, at: 17) { $0.items[0].expiry = Self.time(33) }
        let every = CalendarDuration(days: 10)
        let policy = CreditPolicy([
            "basic": .init(credits: 200, every: every), "pro": .init(credits: 500, every: every),
        ])
        for results in [bought + replaced + [putOff], bought.suffix(1) + replaced + [putOff]] {
            var ledger = AccountLedger(applying: results.flatMap(\.events))
            for statement in results.flatMap(\.statements) { ledger.apply(statement) }
            let grants = [29.5, 32].map { day in
                CreditStatement(of: ledger.states, under: policy, uses: [], at: Play.date(Self.time(day))).grants
            }
            #expect(grants[0].count == grants[1].count, "of \(results.count)")
        }
    }

    /// The replaced purchase may end with the change, days after access ended, or with what was paid for.
    @Test(
        "what lapsed with account hold stays so when the customer buys again",
        arguments: ["pro", "basic"],
        [30, 35] as [Double]
    )
    func boughtAgainOnHold(product: String, end: Double) throws {
        let (first, _, basic) = try Self.notified([.basic])
        let hold = try basic.notified(5, at: 30.0001) { $0.state = "ON_HOLD" }
        let again = Purchase(
            product: product,
            mode: "CHARGE_FULL_PRICE",
            begins: 35,
            ends: 65,
            charge: product == "pro" ? 2000 : 1000
        )
        let bought = try Self.notified([.basic, again]).bought[1]
        let ended = Known.replaced(basic.purchase, at: Self.time(end))
        let replaced = try basic.notified(13, at: 35.0001) { $0 = ended }
        let full: Int64 = product == "pro" ? 500 : 200
        for before in [first, []] {
            let results = before + [hold, bought, replaced]
            #expect(Self.balance(results, at: 20) == 200, "after \(before.count)")
            #expect(Self.balance(results, at: 33) == 0, "after \(before.count)")
            #expect(Self.balance(results, at: 36) == full, "after \(before.count)")
        }
        #expect(Self.balance(first + [hold, bought], at: 36) == full)
    }

    @Test(
        "a change whose notification is lost is known by its first renewal, also if that was paid for in grace",
        arguments: [
            (Self.prorated, 325, 700),
            (Purchase(product: "pro", mode: "CHARGE_FULL_PRICE", begins: 15, ends: 50, charge: 2000), 700, 700),
        ] as [(Purchase, Int64, Int64)]
    )
    func lostBeforeGrace(change: Purchase, before: Int64, after: Int64) throws {
        let (bought, replaced, last) = try Self.notified([.basic, change])
        let failed = try last.notified(6, at: change.ends + 0.0001) {
            $0.state = "IN_GRACE_PERIOD"
            $0.items[0].expiry = Self.time(change.ends + 3)
        }
        let renewal = Purchase(product: "pro", begins: change.ends, ends: change.ends + 30, charge: 2000)
        let name = try #require(last.purchase.items[0].order) + "..0"
        let paid = try last.notified(2, at: change.ends + 2, order: Self.order(name, of: renewal, stated: true)) {
            $0.items[0].order = name
            $0.items[0].expiry = Self.time(renewal.ends)
        }
        for results in [bought + replaced, Array(bought.prefix(1)), bought.prefix(1) + replaced] {
            #expect(Self.balance(results + [failed, paid], at: change.ends - 1) == before, "of \(results.count)")
            #expect(Self.balance(results + [failed, paid], at: change.ends + 5) == after, "of \(results.count)")
        }
    }

    /// Google Play's charge for a change at each moment, and what a customer has paid for with it, reckoned by themselves.
    @Test(
        "a customer has the credits that were paid for, whatever changes follow each other",
        arguments: 0..<UInt64(isLong ? 60 : 20)
    )
    func paidFor(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let prices = ["basic": 1000.0, "pro": 2000, "max": 4000]
        let allowances = ["basic": 200.0, "pro": 500, "max": 1200]
        var chain = [Purchase.basic]
        var paid = 200.0
        while let last = chain.last, last.ends - last.begins > 2, chain.count < 6 {
            let begins = Double.random(in: last.begins + 0.2...last.ends - 1, using: &random)
            let product = try #require(prices.keys.sorted().filter { $0 != last.product }.randomElement(using: &random))
            guard let price = prices[product], let old = prices[last.product] else { break }
            var change = Purchase(product: product, begins: begins, ends: last.ends, charge: 0)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: change.mode = "WITHOUT_PRORATION"
            case 1:
                change.mode = "WITH_TIME_PRORATION"
                change.ends = begins + (last.ends - begins) * old / price
            default:
                guard price > old else { continue }
                change.mode = "CHARGE_PRORATED_PRICE"
                change.charge = Int64((price - old) * (last.ends - begins) / 30)
                paid += (allowances[product] ?? 0) * Double(change.charge) / price
            }
            chain.append(change)
        }
        let (bought, replaced, _) = try Self.notified(chain)
        let day = (chain.last?.begins ?? 0) + 0.01
        let known = try #require(Self.balance(bought + replaced, at: day))
        #expect(abs(Double(known) - paid) <= Double(chain.count), "\(chain)")
        for lost in bought.indices.dropLast() where chain[lost + 1].mode != "WITH_TIME_PRORATION" {
            var left = bought
            left.remove(at: lost)
            #expect(Self.balance(left + replaced, at: day) == known, "\(chain) without \(lost)")
        }
    }
}
