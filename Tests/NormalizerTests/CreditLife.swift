import Foundation
import LifecycleEvents
import Normalizer
import NormalizerTesting

/// A life of one purchase, as facts.
struct CreditLife {
    var store = PurchaseStore.appStore
    var statements: [StoreStatement] = []

    static func day(_ day: Double) -> Date { Date(timeIntervalSince1970: 1_775_001_600 + day * 86_400) }

    mutating func state(_ facts: [Fact], on day: Double, lineage: String = "9") {
        statements.append(
            StoreStatement(
                subscription: SubscriptionID(store: store, environment: .production, id: lineage),
                provider: store == .appStore ? .apple : store == .stripe ? .stripe : .google,
                assertedAt: Self.day(day),
                facts: facts,
                origin: .madeUp(notification: "\(statements.count)", digest: "\(statements.count)")
            )
        )
    }

    /// A period that is bought.
    mutating func buy(
        _ product: ProductID,
        _ transaction: TransactionID,
        from start: Double,
        until end: Double,
        for price: Int64?,
        currency: String = "USD",
        phase: PeriodPhase = .regular,
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

    /// The payment for a period that is stated already.
    mutating func pay(_ price: Int64, _ transaction: TransactionID, forPeriodFrom start: Double, on day: Double) {
        let charge = Fact.Charge(
            transaction: transaction,
            price: Price(Money(ExactDecimal(price), "USD"), .charged),
            at: Self.day(day),
            periodStart: Self.day(start)
        )
        state([.charge(charge)], on: day)
    }

    /// A change of product within a period.
    ///
    /// - Parameters:
    ///   - price: the charge for the rest of the period; nil if the change is not charged by itself.
    ///   - lines: what that charge says of the new product and of the old one, if it does.
    mutating func change(
        to product: ProductID,
        _ transaction: TransactionID,
        from old: ProductID,
        on day: Double,
        in period: (start: Double, end: Double),
        for price: Money?,
        lines: (new: Money?, setOff: [PurchasedItem]?) = (nil, nil)
    ) {
        let (start, end, at) = (Self.day(period.start), Self.day(period.end), Self.day(day))
        let changed = Fact.ProductSwitch(
            periodStart: start,
            transaction: nil,
            from: old,
            to: product,
            at: at,
            proration: nil
        )
        state(
            [
                .period(
                    .init(ServicePeriod(start: start, end: end), product: product, phase: .regular, transaction: nil)
                ),
                .productSwitch(changed),
            ],
            on: day
        )
        guard let price else { return }
        // The store dates it a second before it states the change.
        let charge = Fact.Charge(
            transaction: transaction,
            price: Price(price, .charged),
            at: at,
            changeStart: at - 1,
            items: [.init(product: product, price: lines.new)],
            setOff: lines.setOff
        )
        state([.charge(charge)], on: day)
    }

    static func setOff(_ amount: Money?, of product: ProductID?) -> [PurchasedItem]? {
        guard let amount, let product else { return nil }
        return amount.amount.coefficient == 0 ? [] : [PurchasedItem(product: product, price: amount)]
    }

    mutating func refund(
        _ transaction: TransactionID,
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

    var ledger: AccountLedger { AccountLedger(applying: statements) }

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
