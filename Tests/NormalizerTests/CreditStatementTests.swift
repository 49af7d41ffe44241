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

/// A life of one purchase, as facts.
struct CreditLife {
    var store = Store.appStore
    var statements: [StoreStatement] = []

    static func day(_ day: Double) -> Date { Date(timeIntervalSince1970: 1_775_001_600 + day * 86_400) }

    mutating func state(_ facts: [Fact], on day: Double, lineage: String = "9") {
        statements.append(
            StoreStatement(
                subscription: SubscriptionID(store: store, environment: .production, id: lineage),
                provider: store == .appStore ? .apple : store == .stripe ? .stripe : .google,
                assertedAt: Self.day(day),
                facts: facts,
                origin: Origin(
                    type: "X",
                    notificationID: "\(statements.count)",
                    channel: .webhook,
                    evidence: .init(.unchecked),
                    digest: "\(statements.count)",
                    mapper: "t/1"
                )
            )
        )
    }

    /// A period that is bought.
    mutating func buy(
        _ product: String,
        _ transaction: String,
        from start: Double,
        until end: Double,
        for price: Int64?,
        currency: String = "USD",
        phase: Phase = .regular,
        switching proration: LifecycleEvent.ProductChange.Proration? = nil,
        on day: Double? = nil
    ) {
        var facts: [Fact] = [
            .period(
                .init(
                    ServicePeriod(start: Self.day(start), end: Self.day(end)),
                    product: product,
                    phase: phase,
                    transaction: store == .stripe ? nil : transaction
                )
            )
        ]
        if let price {
            facts.append(
                .charge(
                    .init(
                        transaction: transaction,
                        price: Price(Money(ExactDecimal(price), currency), .charged),
                        at: Self.day(start),
                        periodStart: store == .stripe ? Self.day(start) : nil
                    )
                )
            )
        }
        if let proration {
            facts.append(
                .productSwitch(
                    .init(
                        periodStart: Self.day(start),
                        transaction: transaction,
                        from: nil,
                        to: product,
                        at: Self.day(start),
                        proration: proration
                    )
                )
            )
        }
        state(facts, on: day ?? start)
    }

    mutating func refund(
        _ transaction: String,
        _ scope: LifecycleEvent.Refund.Scope? = .full,
        on day: Double,
        periodStart: Double? = nil,
        endsAccess: Bool = true
    ) {
        let refund = Fact.RefundState(
            transaction: transaction,
            scope: scope,
            at: Self.day(day),
            periodStart: periodStart.map(Self.day),
            endsAccess: endsAccess
        )
        state([.refund(refund)], on: day)
    }

    var ledger: AccountLedger {
        var ledger = AccountLedger()
        for statement in statements { ledger.apply(statement) }
        return ledger
    }

    func statement(
        _ policy: CreditPolicy = creditPolicy,
        used: [(credits: Int64, day: Double)] = [],
        on day: Double
    ) -> CreditStatement {
        let uses = used.enumerated().map {
            CreditUse(id: "\($0.offset)", credits: $0.element.credits, at: Self.day($0.element.day))
        }
        return CreditStatement(of: ledger.states, under: policy, uses: uses, at: Self.day(day))
    }

    func balance(
        _ policy: CreditPolicy = creditPolicy,
        used: [(credits: Int64, day: Double)] = [],
        on day: Double
    ) -> Int64 { statement(policy, used: used, on: day).balance }
}

@Suite("What a statement of credits says")
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

    @Test("what was charged counts, and not the list price")
    func offer() {
        var life = CreditLife()
        life.buy("basic", "1", from: 0, until: 30, for: 10, currency: "EUR")
        life.buy("pro", "2", from: 15, until: 45, for: 6, currency: "EUR")
        #expect(life.balance(used: [(200, 3)], on: 15) == 83)
    }

    @Test("a renewal that is told after the upgrade carries over what it gave")
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
}
