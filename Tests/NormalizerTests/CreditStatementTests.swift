import Foundation
import LifecycleEvents
import Normalizer
import Testing

/// Basic costs 10.00 and gives 200 credits, pro costs 20.00 and gives 500, both by the month of thirty days.
let creditPolicy = CreditPolicy([
    "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
    "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
    "coins": .init(credits: 100, price: Money(ExactDecimal(5), "USD")),
])

@Suite("The statement of credits")
struct CreditStatementTests {
    @Test("a renewal resets, and what is left lapses with the access")
    func renewals() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("basic", "2", from: 30, until: 60, for: 10)
        #expect(life.balance(used: [(80, 3)], on: 29) == 120)
        #expect(life.balance(used: [(80, 3)], on: 30) == 200)
        #expect(life.balance(used: [(80, 3)], on: 60) == 0)
        let statement = life.statement(used: [(80, 3)], on: 45)
        #expect(statement.grants.map(\.reason) == [.period, .period])
        #expect(statement.endings.map(\.credits) == [120])
        #expect(statement.endings.map(\.reason) == [.lapsed])
        #expect(statement.balance(at: CreditLife.day(29)) == 120)
    }

    @Test("an upgrade at half the cycle gives 375, and keeps what is left")
    func upgrade() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("pro", "2", from: 15, until: 45, for: 20)
        let statement = life.statement(used: [(80, 3)], on: 15)
        #expect(statement.balance == 375 + 120)
        #expect(
            statement.grants.map(\.reason) == [.period, .proratedChange, .carriedOver(from: statement.grants[0].id)]
                || statement.grants.map(\.reason) == [
                    .period, .carriedOver(from: statement.grants[0].id), .proratedChange,
                ]
        )
        #expect(life.balance(used: [(80, 3)], on: 45) == 120)
    }

    @Test("the charged amount counts, and not the list price")
    func offer() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10, currency: "EUR")
        life.buy("pro", "2", from: 15, until: 45, for: 6, currency: "EUR")
        #expect(life.balance(used: [(200, 3)], on: 15) == 83)
    }

    /// An amount may have 38 digits, and be negative.
    @Test(
        "amounts of any size, given or taken, change places without an overflow",
        arguments: [-1, 1] as [Int128],
        [-1, 1] as [Int128]
    )
    func amounts(old: Int128, new: Int128) throws {
        let digits: Int128 = 99_999_999_999_999_999_999_999_999_999_999_999_999
        for store in [PurchaseStore.appStore, .playStore, .stripe] {
            var life = CreditLife(store: store)
            for (product, start, sign) in [("basic", 0.0, old), ("pro", 1, new)] as [(ProductID, Double, Int128)] {
                let amount = try #require(ExactDecimal(coefficient: sign * digits, scale: 9))
                life.buy(product, TransactionID(product.rawValue), from: start, until: start + 30, for: nil)
                let charge = Fact.Charge(
                    transaction: TransactionID(product.rawValue),
                    price: Price(Money(amount, "USD"), .charged),
                    at: CreditLife.day(start),
                    periodStart: store == .stripe ? CreditLife.day(start) : nil
                )
                life.state([.charge(charge)], on: start)
            }
            #expect((0...700).contains(life.balance(used: [], on: 2)))
        }
    }

    @Test("a renewal that is reported after the upgrade carries its credits over")
    func lateRenewal() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("pro", "3", from: 31, until: 62, for: 20)
        let before = life.balance(used: [(10, 3), (30, 32)], on: 32)
        life.buy("basic", "2", from: 30, until: 61, for: 10)
        let after = life.balance(used: [(10, 3), (30, 32)], on: 32)
        #expect(before == 500 - 30)
        // 10.00 × 30/31 was unused: 20.00 − 9.677… of 20.00.
        #expect(after == 258 + 200 - 30)
    }

    @Test("a full refund takes back what is left of its payment, and its reversal restores exactly that")
    func refund() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.refund("1", on: 10)
        #expect(life.balance(used: [(80, 3)], on: 11) == 0)
        life.refund("1", nil, on: 12)
        #expect(life.balance(used: [(80, 3)], on: 13) == 120)
        life.buy("basic", "2", from: 30, until: 60, for: 10)
        #expect(life.balance(used: [(80, 3)], on: 31) == 200)
    }

    /// Facts of an add-on on Google Play named the order with the product once.
    @Test("a period that was stored under order and product pays out once, and ends with the refund of the order")
    func storedItem() throws {
        var life = CreditLife(store: .playStore)
        life.buy("basic", "GPA.1/basic", from: 0, until: 30, for: 10)
        life.buy("basic", "GPA.1", from: 0, until: 30, for: 10, on: 5)
        var refunded = life
        refunded.refund("GPA.1", on: 10, periodStart: 0)
        for order in [[0, 1], [1, 0]] {
            var reported = life
            reported.statements = order.map { life.statements[$0] }
            #expect([1, 6, 29].map { reported.balance(used: [(80, 3)], on: $0) } == [200, 120, 120])
            reported.statements += refunded.statements.suffix(1)
            #expect([6, 11].map { reported.balance(used: [(80, 3)], on: $0) } == [120, 0])
            let state = try #require(reported.ledger.states.first)
            #expect([9, 11].map { state.access(at: CreditLife.day($0)).isGranted } == [true, false])
        }
    }

    /// - Parameter undoing: the reversal itself, or the transaction signed again without its refund.
    @Test(
        "between a refund and its undoing credits read as if neither had been, and access as it was",
        arguments: ["reversal", "snapshot"]
    )
    func betweenRefundAndUndoing(undoing: String) throws {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        let unrefunded = life.statement(used: [(80, 3)], on: 13)
        life.refund("1", on: 10, periodStart: 0)
        #expect([9, 10, 11, 13].map { life.balance(used: [(80, 3)], on: $0) } == [120, 0, 0, 0])
        if undoing == "reversal" {
            life.refund("1", nil, on: 12, periodStart: 0, endsAccess: false)
        } else {
            life.buy("basic", "1", from: 0, until: 30, for: 10, on: 12)
        }
        for statements in [life.statements, life.statements.reversed()] {
            var reported = life
            reported.statements = statements
            let days: [Double] = [9, 10, 11, 12, 13]
            #expect(days.map { reported.balance(used: [(80, 3)], on: $0) } == [120, 120, 120, 120, 120])
            let statement = reported.statement(used: [(80, 3)], on: 13)
            #expect(days.map { statement.balance(at: CreditLife.day($0)) } == [120, 120, 120, 120, 120])
            #expect(statement.grants.map(\.id) == unrefunded.grants.map(\.id))
            let state = try #require(reported.ledger.states.first)
            #expect(days.map { state.access(at: CreditLife.day($0)).isGranted } == [true, false, false, true, true])
        }
        // Credits that were used in between stay used.
        #expect(life.balance(used: [(80, 3), (50, 11)], on: 13) == 70)
    }

    @Test("a refund of what was bought before a change takes back what was carried over of it")
    func refundOfCarriedOver() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("pro", "2", from: 15, until: 45, for: 20)
        life.refund("1", on: 20, endsAccess: false)
        #expect(life.balance(used: [(80, 3)], on: 21) == 375)
    }

    @Test("a refund of the change takes what was set off for it as well: 10 + 20 - 5 - 20 pays for 100 of basic")
    func refundOfChange() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("pro", "2", from: 15, until: 45, for: 20)
        life.refund("2", on: 20)
        #expect(life.balance(used: [(80, 3)], on: 21) == 20)
    }

    @Test("money that went back before a change is not set off, also where list prices count")
    func refundBeforeChange() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10, currency: "EUR")
        life.refund("1", .amount(Money(ExactDecimal(5), "EUR")), on: 5, endsAccess: false)
        life.buy("pro", "2", from: 15, until: 45, for: nil)
        // Half of 10.00 was left, and half of that unused: 17.50 of 20.00.
        #expect(life.balance(on: 16) == 100 + 437)
        // The change is refunded: 10.00 - 5.00 - 2.50 pay for 50 of basic.
        life.refund("2", on: 20)
        #expect(life.balance(on: 21) == 50)
    }

    @Test("the three events of a purchase, its refund and another purchase leave one balance in every order")
    func refundedBefore() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.refund("1", on: 10)
        life.buy("pro", "2", from: 13, until: 43, for: 20)
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            var reported = life
            reported.statements = order.map { life.statements[$0] }
            let statement = reported.statement(on: 14)
            #expect(statement.balance == 500)
            #expect(statement == life.statement(on: 14))
        }
    }

    @Test("used credits are owed only where the policy says so")
    func owed() {
        var life = CreditLife()
        life.buy("pro", "1", from: 0, until: 30, for: 20)
        life.refund("1", on: 10)
        var policy = creditPolicy
        #expect(life.balance(policy, used: [(300, 3)], on: 11) == 0)
        policy.owes = true
        #expect(life.balance(policy, used: [(300, 3)], on: 11) == -300)
        life.buy("pro", "2", from: 40, until: 70, for: 20)
        #expect(life.balance(policy, used: [(300, 3)], on: 41) == 200)
        #expect(life.balance(used: [(300, 3)], on: 41) == 500)
    }

    @Test("late news leaves no balance below zero")
    func lateRefund() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        #expect(life.balance(used: [(150, 12)], on: 13) == 50)
        life.refund("1", on: 10)
        let statement = life.statement(used: [(150, 12)], on: 13)
        #expect(statement.balance == 0)
        #expect(statement.grants.last?.reason == .overdrawn(use: "0"))
    }

    @Test("a partial refund takes the share of its amount, its fraction or its quantity")
    func partial() throws {
        func life(_ scope: LifecycleEvent.Refund.Scope) -> CreditLife {
            var life = CreditLife()
            life.buy("pro", "1", from: 0, until: 30, for: 20)
            life.refund("1", scope, on: 10, endsAccess: false)
            return life
        }
        #expect(life(.amount(Money(ExactDecimal(5), "USD"))).balance(on: 11) == 375)
        #expect(life(.fraction(try #require(ExactDecimal("0.333")))).balance(on: 11) == 500 - 166)
        #expect(life(.amount(Money(ExactDecimal(5), "USD"))).balance(used: [(450, 3)], on: 11) == 0)
        var coins = CreditLife()
        let sale = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: 3, price: nil, expires: nil)
        coins.state(
            [.purchase(.init(transaction: "c", product: "coins", purchase: sale, at: CreditLife.day(0)))],
            on: 0
        )
        // Apple rounds the percentage.
        for scope in [.quantity(1), .fraction(try #require(ExactDecimal("0.33333")))] as [LifecycleEvent.Refund.Scope] {
            var coins = coins
            coins.refund("c", scope, on: 5)
            #expect(coins.balance(on: 4) == 300)
            #expect(coins.balance(on: 6) == 200)
        }
    }

    @Test("a year is paid out in months, by the calendar, and each month lapses")
    func instalments() {
        var life = CreditLife()
        let policy = CreditPolicy(["year": .init(credits: 500, price: Money(ExactDecimal(200), "USD"), every: .month)])
        life.buy("year", "1", from: -1, until: 364, for: 200)
        // Of 31 March: 30 April, 31 May.
        #expect(life.balance(policy, used: [(100, 1)], on: 28.9) == 400)
        #expect(life.balance(policy, used: [(100, 1)], on: 29) == 500)
        let statement = life.statement(policy, on: 400)
        #expect(statement.grants.map(\.reason) == (0..<12).map { .instalment($0) })
        #expect(statement.balance == 0)
    }

    @Test(
        "an end that is put off begins no instalment, and the last one goes on until then",
        arguments: [3, 40] as [Double],
        [false, true]
    )
    func putOff(by days: Double, isReversed: Bool) {
        var life = CreditLife()
        let policy = CreditPolicy(["year": .init(credits: 500, price: Money(ExactDecimal(200), "USD"), every: .month)])
        let end = 364 + days
        life.buy("year", "1", from: -1, until: 364, for: 200)
        life.buy("year", "1", from: -1, until: end, for: 200, on: 300)
        life.buy("year", "2", from: end, until: end + 365, for: 200)
        if isReversed { life.statements.reverse() }
        let reasons = (0..<12).map { CreditGrant.Reason.instalment($0) }
        let before = life.statement(policy, used: [(100, 360)], on: end - 0.1)
        #expect(before.grants.map(\.reason) == reasons)
        #expect(before.balance == 400)
        let after = life.statement(policy, used: [(100, 360)], on: end)
        #expect(after.grants.map(\.reason) == reasons + [.instalment(0)])
        #expect(after.balance == 500)
    }

    /// Some channels keep the name of a purchase for its renewals.
    @Test("a renewal under the name of the period before gives its own instalments")
    func keptName() {
        var life = CreditLife()
        let policy = CreditPolicy(["year": .init(credits: 500, price: Money(ExactDecimal(200), "USD"), every: .month)])
        life.buy("year", "1", from: -1, until: 364, for: 200)
        life.buy("year", "1", from: 363.5, until: 729, for: 200)
        #expect(life.balance(policy, on: 365) == 500)
        #expect(life.balance(policy, used: [(100, 700)], on: 720) == 400)
    }

    @Test("a plan of a product has its own allowance, and so has a family member")
    func keys() {
        let policy = CreditPolicy([
            "pro": .init(credits: 500, familySharedCredits: 50), "pro:monthly": .init(credits: 40),
        ])
        func balance(_ product: ProductID, _ ownership: Fact.Ownership = .purchased, at store: PurchaseStore) -> Int64 {
            var life = CreditLife()
            life.store = store
            let period = Fact.Period(
                ServicePeriod(start: CreditLife.day(0), end: CreditLife.day(30)),
                product: product,
                phase: .regular,
                transaction: "1",
                ownership: ownership
            )
            life.state([.period(period)], on: 0)
            return life.balance(policy, on: 1)
        }
        for store in [PurchaseStore.appStore, .playStore] {
            #expect(balance("pro", at: store) == 500)
            #expect(balance("pro:monthly", at: store) == 40)
            #expect(balance("pro", .familyShared, at: store) == 50)
        }
        #expect(balance("pro:yearly", at: .playStore) == 500)
        // Of a year that is billed by the month, a payment gives not what the year gives.
        #expect(balance("pro:MONTHLY", at: .appStore) == 0)
    }

    @Test("a swap within a period whose anchor stays gives what the difference for the rest pays for")
    func swapWithinPeriod() {
        var life = CreditLife()
        life.store = .stripe
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        let period = Fact.Period(
            ServicePeriod(start: CreditLife.day(0), end: CreditLife.day(30)),
            product: "pro",
            phase: .regular,
            transaction: nil
        )
        life.state([.period(period)], on: 15)
        // 5.00 of 20.00: a quarter of 500.
        for statements in [life.statements, life.statements.reversed()] {
            var reported = life
            reported.statements = statements
            #expect(reported.balance(used: [(80, 3)], on: 16) == 125 + 120)
            #expect(reported.balance(used: [(80, 3)], on: 31) == 120)
        }
    }

    @Test(
        "an add-on gives its credits in addition to the main product's, once paid for, and as long as it is there"
    )
    func items() {
        var policy = creditPolicy
        policy.allowances["voice"] = .init(credits: 30)
        policy.allowances["extra"] = .init(credits: 60)
        func period(_ product: ProductID, isItem: Bool = true) -> Fact {
            .period(
                .init(
                    ServicePeriod(start: CreditLife.day(0), end: CreditLife.day(30)),
                    product: product,
                    phase: .regular,
                    transaction: nil,
                    item: isItem ? product : nil
                )
            )
        }
        var life = CreditLife(store: .stripe)
        life.state([period("pro", isItem: false), period("voice")], on: 0)
        life.pay(24, "in_1", forPeriodFrom: 0, on: 1)
        #expect([0.5, 1.5].map { life.balance(policy, on: $0) } == [0, 530])
        // Added at a third of the period, and removed at half.
        life.state([period("pro", isItem: false), period("voice"), period("extra")], on: 10)
        #expect(life.balance(policy, on: 11) == 570)
        life.state([period("pro", isItem: false), period("voice")], on: 15)
        #expect(life.balance(policy, on: 16) == 530)
        var refunded = life
        refunded.refund("in_1", .amount(Money(ExactDecimal(6), "USD")), on: 17, periodStart: 0, endsAccess: false)
        #expect(refunded.balance(policy, on: 18) == 398, "a quarter of 500 and of 30, rounded down")
        #expect(life.balance(policy, on: 31) == 0)
    }

    @Test("credits wait for the charge where a store states a period before it is paid")
    func unpaid() {
        var life = CreditLife()
        life.store = .stripe
        life.buy("basic", "1", from: 0, until: 30, for: nil)
        #expect(life.balance(on: 1) == 0)
        life.pay(10, "1", forPeriodFrom: 0, on: 2)
        #expect(life.balance(on: 1) == 0)
        #expect(life.balance(on: 2) == 200)
    }

    @Test("a renewal that is replaced before its payment comes gives its credits all the same, once it is paid for")
    func replacedBeforePaid() {
        var life = CreditLife(store: .stripe)
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("basic", "2", from: 30, until: 60, for: nil)
        life.buy("pro", "3", from: 33, until: 63, for: 11)
        // 9.00 of the renewal are set off: 11.00 of 20.00.
        #expect(life.balance(used: [(66, 31)], on: 34) == 275)
        life.pay(10, "2", forPeriodFrom: 30, on: 35)
        #expect(life.balance(used: [(66, 31)], on: 35) == 275 + 200 - 66)
    }

    @Test("two renewals that are replaced one after the other before their payments come give their credits, too")
    func replacedTwiceBeforePaid() {
        var life = CreditLife(store: .stripe)
        life.buy("pro", "1", from: 0, until: 30, for: nil)
        life.buy("basic", "2", from: 6, until: 36, for: nil)
        life.buy("pro", "3", from: 9, until: 39, for: 11)
        life.pay(20, "1", forPeriodFrom: 0, on: 10)
        life.pay(10, "2", forPeriodFrom: 6, on: 12)
        // 16.00 of pro are set off against basic, and 23.40 of both against pro.
        for _ in 0..<16 { #expect(life.balance(on: 13) == 500 + 76 + 159) }
    }

    @Test("to and fro gives no more than what was paid for")
    func toAndFro() {
        var life = CreditLife()
        life.buy("pro", "1", from: 0, until: 30, for: 20)
        life.buy("basic", "2", from: 3, until: 33, for: 10)
        // 18.00 goes back and 10.00 is paid: 12.00 pays for 300 of pro.
        #expect(life.balance(on: 4) == 300)
        life.buy("pro", "3", from: 18, until: 48, for: 20)
        #expect(life.balance(on: 19) == 300 + 375)
        // Refunded credits that were used are set off.
        #expect(life.balance(used: [(450, 1)], on: 4) == 0)
        #expect(life.balance(used: [(450, 1)], on: 19) == 375 - 150)
    }

    @Test("a change charged at nothing keeps the credits there are, and gives none")
    func chargedAtNothing() {
        var life = CreditLife()
        life.store = .playStore
        life.buy("basic", "GPA.1", from: 0, until: 30, for: 10)
        life.buy("pro", "GPA.2", from: 15, until: 22.5, for: nil, switching: .timeCredit)
        #expect(life.balance(used: [(80, 3)], on: 16) == 120)
        #expect(life.balance(used: [(80, 3)], on: 23) == 0)
        var full = CreditLife()
        full.store = .playStore
        full.buy("basic", "GPA.1", from: 0, until: 30, for: 10)
        full.buy("pro", "GPA.2", from: 15, until: 52, for: 20, switching: .fullCharge)
        #expect(full.balance(used: [(80, 3)], on: 16) == 500 + 120)
    }

    /// A change that is charged for the rest of the period keeps the date of the next renewal.
    @Test("several changes of one period that are charged for its rest give what the differences pay for")
    func chargedForTheRest() {
        var policy = creditPolicy
        policy.allowances["max"] = .init(credits: 1000, price: Money(ExactDecimal(50), "USD"))
        var life = CreditLife(store: .playStore)
        life.buy("basic", "GPA.1", from: 0, until: 30, for: 10)
        life.buy("pro", "GPA.2", from: 15, until: 30, for: 5, switching: .proratedCharge)
        life.buy("max", "GPA.3", from: 20, until: 30, for: 10, switching: .proratedCharge)
        // 5.00 of 20.00, and 10.00 of 50.00.
        for _ in 0..<16 { #expect(life.balance(policy, on: 21) == 200 + 125 + 200) }
    }

    @Test(
        "a change that is charged for the rest counts so, also where the store states the end some milliseconds apart"
    )
    func chargedForTheRestUntilNearlyTheSameEnd() {
        var life = CreditLife(store: .playStore)
        life.buy("basic", "GPA.1", from: 0, until: 30, for: 10)
        life.buy("pro", "GPA.2", from: 15, until: 30.00001, for: 5, switching: .proratedCharge)
        #expect(life.balance(on: 16) == 200 + 125)
    }

    @Test("lineages that turn out to be linked are one purchase, and pay once")
    func links() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        let other = SubscriptionID(store: .appStore, environment: .production, id: "8")
        life.state([.link(other)], on: 1)
        let period = Fact.Period(
            ServicePeriod(start: CreditLife.day(0), end: CreditLife.day(30)),
            product: "basic",
            phase: .regular,
            transaction: "1"
        )
        life.state([.period(period)], on: 2, lineage: "8")
        #expect(life.ledger.states.count == 1)
        #expect(life.balance(on: 3) == 200)
    }

    @Test("a wallet that posts the changes has the balance, and then there is nothing to post")
    func wallet() {
        var life = CreditLife()
        var posted: [CreditGrant.ID: Int64] = [:]
        func post(_ life: CreditLife, _ day: Double) -> Int64 {
            let statement = life.statement(used: [(80, 3), (200, 16)], on: day)
            for change in statement.changes(from: posted) { posted[change.grant, default: 0] += change.credits }
            #expect(statement.changes(from: posted) == [])
            let used = statement.uses.reduce(0) { $0 + $1.credits }
            #expect(posted.values.reduce(0, +) - used == statement.balance)
            return statement.balance
        }
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        #expect(post(life, 4) == 120)
        life.buy("pro", "2", from: 15, until: 45, for: 20)
        #expect(post(life, 17) == 375 + 120 - 200)
        life.refund("1", on: 10)
        _ = post(life, 18)
        _ = post(life, 60)
    }

    @Test("a use is proposed once for each purchase, and not where there is too little")
    func using() throws {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        let other = Fact.OneTimePurchase(
            transaction: "c",
            product: "coins",
            purchase: .init(type: .consumable, quantity: 1, price: nil, expires: nil),
            at: CreditLife.day(0)
        )
        life.state([.purchase(other)], on: 0, lineage: "c")
        let statement = life.statement(on: 1)
        #expect(statement.uses(of: 301, id: "job") == nil)
        let uses = try #require(statement.uses(of: 250, id: "job"))
        #expect(uses.map(\.credits) == [200, 50])
        let after = CreditStatement(
            of: life.ledger.states,
            under: creditPolicy,
            uses: uses + uses,
            at: CreditLife.day(1)
        )
        #expect(after.balance == 50)
        #expect(after.uses(of: 250, id: "job") == [])
    }

    @Test("a gift counts for a use of the same moment, whatever their ids", arguments: ["a", "z"])
    func giftAndUse(gift: String) {
        let uses = [(gift, -100), ("m", 40)].map { CreditUse(id: $0, credits: $1, at: CreditLife.day(1)) }
        let statement = CreditStatement(
            of: [SubscriptionState](),
            under: creditPolicy,
            uses: uses,
            at: CreditLife.day(1)
        )
        #expect(statement.balance == 60)
        #expect(statement.grants.map(\.reason) == [.given])
    }

    @Test("two uses are two if their ids only look alike, in every order")
    func lookalikes() throws {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        let ids = ["caf\u{E9}", "cafe\u{301}"]
        let first = CreditUse(id: ids[0], credits: 80, at: CreditLife.day(1))
        let other = CreditUse(id: ids[1], credits: 80, at: CreditLife.day(1))
        #expect(first != other)
        #expect(Set([first, other]).count == 2)
        let statements = [[first, other], [other, first], [first, other, first]].map {
            CreditStatement(of: life.ledger.states, under: creditPolicy, uses: $0, at: CreditLife.day(2))
        }
        #expect(Set(statements).count == 1)
        #expect(statements[0].balance == 40)
        #expect(statements[0].uses == [other, first])
        let one = CreditStatement(of: life.ledger.states, under: creditPolicy, uses: [first], at: CreditLife.day(2))
        #expect(one.uses(of: 80, id: ids[0]) == [])
        #expect(one.uses(of: 80, id: ids[1])?.map(\.credits) == [80])
    }

    @Test("a stored balance converts to uses that leave as much", arguments: [(30, 10), (0, 0), (150, 400), (90, -20)])
    func conversion(included: Int64, bought: Int64) {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("pro", "2", from: 15, until: 45, for: 20)
        let state = life.ledger.states[0]
        let balance = CreditBalance(included: included, bought: bought)
        let uses = balance.uses(in: state, under: creditPolicy, at: CreditLife.day(20))
        let statement = CreditStatement(of: state, under: creditPolicy, uses: uses, at: CreditLife.day(20))
        #expect(statement.balance == max(0, included + bought))
    }

    @Test("statements and policies are read as they are written")
    func codable() throws {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10)
        life.buy("pro", "2", from: 15, until: 45, for: 20)
        let statement = life.statement(used: [(80, 3)], on: 46)
        #expect(try CanonicalJSON.value(from: CanonicalJSON.bytes(statement)) == statement)
        let text =
            #"{"allowances":{"a":{"credits":5,"every":"month"},"b":{"credits":1,"every":{"months":0,"days":3}}}}"#
        let policy: CreditPolicy = try CanonicalJSON.value(from: Array(text.utf8))
        #expect(policy.allowances["a"]?.every == .month)
        #expect(policy.allowances["b"]?.every == CalendarDuration(days: 3))
        #expect(policy == (try CanonicalJSON.value(from: CanonicalJSON.bytes(policy))))
        #expect(policy.carriesOver && !policy.owes)
    }

    @Test("a statement of ten thousand periods takes no more than their number")
    func cost() {
        func time(_ count: Int) -> Duration {
            var life = CreditLife()
            for number in 0..<count {
                life.buy(
                    number % 2 == 0 ? "basic" : "pro",
                    "\(number)",
                    from: Double(number),
                    until: Double(number) + 2,
                    for: 10
                )
            }
            var state = SubscriptionState(SubscriptionID(store: .appStore, environment: .production, id: "9"))
            for statement in life.statements { state.apply(statement) }
            return ContinuousClock().measure {
                _ = CreditStatement(of: state, under: creditPolicy, uses: [], at: CreditLife.day(20_000))
            }
        }
        _ = time(100)
        #expect(time(8000) < time(1000) * 40)
    }
}
