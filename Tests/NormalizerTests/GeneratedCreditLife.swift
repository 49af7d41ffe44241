import NormalizerTesting
import Foundation
import LifecycleEvents
import Normalizer

/// A life that is made up at random, in the form that `Tests/Oracles/credits.py` reads.
struct GeneratedCreditLife: Codable {
    struct Paid: Codable {
        var name: TransactionID
        var product: ProductID
        var start: Int64
        var end: Int64
        var trial: Bool?
        var price, set_off: Money?
        var paid_at: Int64?
    }

    /// Another product for the rest of a period; without a price it is charged later, with other things. As of a period, `set_off` is
    /// zero if the charge says that it set off nothing.
    struct Change: Codable {
        var name: TransactionID
        var period: TransactionID
        var product: ProductID
        var at: Int64
        var price, line, set_off: Money?
    }

    struct End: Codable {
        var period: TransactionID
        var at: Int64
    }

    struct Purchase: Codable {
        var name: TransactionID
        var product: ProductID
        var quantity: Int64
        var at: Int64
        var price: Money?
    }

    struct Refund: Codable {
        enum Scope: Codable {
            case full, amount(Money), quantity(Int64)

            private enum CodingKeys: String, CodingKey { case amount, quantity }

            init(from decoder: any Decoder) throws { self = .full }

            func encode(to encoder: any Encoder) throws {
                if case .full = self {
                    var container = encoder.singleValueContainer()
                    return try container.encode("full")
                }
                var container = encoder.container(keyedBy: CodingKeys.self)
                if case .amount(let money) = self { try container.encode(money, forKey: .amount) }
                if case .quantity(let number) = self { try container.encode(number, forKey: .quantity) }
            }
        }

        var name: TransactionID
        var at: Int64
        var scope: Scope
        var ends_access: Bool
    }

    struct Use: Codable {
        var id: String
        var credits: Int64
        var at: Int64
    }

    var store = PurchaseStore.appStore
    var policy: CreditPolicy
    var periods: [Paid] = []
    var changes: [Change] = []
    var ends: [End] = []
    var purchases: [Purchase] = []
    var refunds: [Refund] = []
    var uses: [Use] = []
    var moments: [Int64] = []

    static let hour: Int64 = 3_600_000
    static let day: Int64 = 24 * hour
    static let origin: Int64 = 1_775_001_600_000
    /// The price of a product, and the days of its period.
    static let products: [(name: ProductID, cents: Int64, days: Int64)] = [
        ("basic", 1000, 30), ("pro", 2000, 30), ("max", 5000, 30), ("year", 20_000, 365),
    ]

    // MARK: As facts

    var statements: [StoreStatement] {
        var life = CreditLife()
        life.store = store
        for period in periods {
            let (start, end) = (Date(millisecondsSince1970: period.start), Date(millisecondsSince1970: period.end))
            let names = store != .stripe
            var facts: [Fact] = [
                .period(
                    .init(
                        ServicePeriod(start: start, end: end),
                        product: period.product,
                        phase: period.trial == true ? .trial : .regular,
                        transaction: names ? period.name : nil
                    )
                )
            ]
            if let price = period.price {
                let at = Date(millisecondsSince1970: period.paid_at ?? period.start)
                let charge = Fact.Charge(
                    transaction: period.name,
                    price: Price(price, .charged),
                    at: at,
                    periodStart: names ? nil : start,
                    setOff: CreditLife.setOff(period.set_off, of: periods.last { $0.start < period.start }?.product)
                )
                facts.append(.charge(charge))
            }
            life.state(facts, on: Self.days(period.start))
        }
        for change in changes {
            guard let period = periods.first(where: { $0.name == change.period }) else { continue }
            life.change(
                to: change.product,
                change.name,
                from: period.product,
                on: Self.days(change.at),
                in: (Self.days(period.start), Self.days(period.end)),
                for: change.price,
                lines: (change.line, CreditLife.setOff(change.set_off, of: period.product))
            )
        }
        for end in ends {
            guard let period = periods.first(where: { $0.name == end.period }) else { continue }
            let fact = Fact.PeriodEnd(
                start: Date(millisecondsSince1970: period.start),
                transaction: store == .stripe ? nil : period.name,
                at: Date(millisecondsSince1970: end.at),
                reason: .customer
            )
            life.state([.periodEnded(fact)], on: Self.days(end.at))
        }
        for purchase in purchases {
            let fact = Fact.OneTimePurchase(
                transaction: purchase.name,
                product: purchase.product,
                purchase: .init(
                    type: .consumable,
                    quantity: purchase.quantity,
                    price: purchase.price.map { Price($0, .charged) }
                ),
                at: Date(millisecondsSince1970: purchase.at)
            )
            life.state([.purchase(fact)], on: Self.days(purchase.at))
        }
        for refund in refunds {
            let scope: LifecycleEvent.Refund.Scope =
                switch refund.scope {
                case .full: .full
                case .amount(let money): .amount(money)
                case .quantity(let number): .quantity(number)
                }
            let period = store == .stripe ? periods.first { $0.name == refund.name } : nil
            life.refund(
                refund.name,
                scope,
                on: Self.days(refund.at),
                periodStart: period.map { Self.days($0.start) },
                endsAccess: refund.ends_access
            )
        }
        return life.statements
    }

    /// The statements, and half a day after each refund that it was undone.
    var statementsWithUndoneRefunds: [StoreStatement] {
        var life = CreditLife(store: store, statements: statements)
        for refund in refunds {
            let period = store == .stripe ? periods.first { $0.name == refund.name } : nil
            life.refund(
                refund.name,
                nil,
                on: Self.days(refund.at) + 0.5,
                periodStart: period.map { Self.days($0.start) },
                endsAccess: false
            )
        }
        return life.statements
    }

    var creditUses: [CreditUse] {
        uses.map { CreditUse(id: $0.id, credits: $0.credits, at: Date(millisecondsSince1970: $0.at)) }
    }

    func statement(at moment: Int64) -> CreditStatement {
        let ledger = AccountLedger(applying: statements)
        return CreditStatement(
            of: ledger.states,
            under: policy,
            uses: creditUses,
            at: Date(millisecondsSince1970: moment)
        )
    }

    private static func days(_ time: Int64) -> Double { Double(time - origin) / Double(day) }
}

// MARK: At random

extension GeneratedCreditLife {
    /// - Parameter isPaid: whether all that is given is paid for, in one currency, and by the period.
    init(seed: UInt64, isPaid: Bool = false) {
        var random = SeededGenerator(seed: seed)
        let currency = isPaid || Bool.random(using: &random) ? "USD" : "EUR"
        policy = CreditPolicy(
            [
                "basic": .init(credits: 200, trialCredits: 50, price: Self.money(1000, "USD")),
                "pro": .init(credits: 500, price: Self.money(2000, "USD")),
                "max": .init(credits: 1001, price: Self.money(5000, "USD")),
                "year": .init(credits: 500, price: Self.money(20_000, "USD"), every: .month),
                "coins": .init(credits: 100),
            ],
            rounding: isPaid ? .down : [.down, .up, .halfUp, .halfEven].randomElement(using: &random) ?? .down,
            carriesOver: isPaid || Int.random(in: 0..<4, using: &random) > 0,
            owes: Int.random(in: 0..<3, using: &random) == 0
        )
        store = !isPaid && Int.random(in: 0..<3, using: &random) == 0 ? .stripe : .appStore
        var now = Self.origin
        var last: (period: Paid, over: Int64)?
        func later(_ least: Int64, _ most: Int64) -> Int64 {
            // An odd number of seconds, so that what happens by chance does not happen at one time.
            now + least * Self.hour + Int64.random(in: 0...max(0, most - least), using: &random) * Self.hour + 61_000
        }
        for number in 0..<Int.random(in: 2...8, using: &random) {
            let choice = Int.random(in: 0..<10, using: &random)
            if let current = last, now < current.over, choice < 3 {
                // Another product at once.
                let left = (current.over - now) / Self.hour
                guard left > 3 else { continue }
                now = later(1, left - 2)
                let others = Self.products.filter {
                    $0.name != current.period.product && (!isPaid || $0.name != "year")
                }
                let other = others[Int.random(in: 0..<others.count, using: &random)]
                last = begin(
                    other.name,
                    named: "\(number)",
                    at: now,
                    before: current.period,
                    in: currency,
                    isPaid: isPaid,
                    using: &random
                )
            } else if let current = last, now < current.over, choice < 5 {
                // A renewal.
                now = current.over
                last = begin(
                    current.period.product,
                    named: "\(number)",
                    at: now,
                    before: nil,
                    in: currency,
                    isPaid: isPaid,
                    using: &random
                )
            } else if choice < 7,
                let refunded = periods.filter({ $0.paid_at ?? $0.start <= now }).randomElement(using: &random),
                !refunds.contains(where: { $0.name == refunded.name })
            {
                now = later(3, 20 * 24)
                let isFull = Bool.random(using: &random) || refunded.price == nil
                let scope: Refund.Scope =
                    isFull
                    ? .full
                    : .amount(
                        Self.money(Int64.random(in: 1...200, using: &random), refunded.price?.currency ?? "USD")
                    )
                refunds.append(Refund(name: refunded.name, at: now, scope: scope, ends_access: isFull))
                if isFull, let current = last, current.period.name == refunded.name {
                    last = (current.period, min(current.over, now))
                }
            } else if !isPaid, choice == 7 {
                now = later(1, 100)
                let quantity = Int64.random(in: 1...3, using: &random)
                purchases.append(Purchase(name: "c\(number)", product: "coins", quantity: quantity, at: now))
                if Bool.random(using: &random) {
                    now = later(1, 100)
                    let back = Int64.random(in: 1...quantity, using: &random)
                    refunds.append(
                        Refund(name: "c\(number)", at: now, scope: .quantity(back), ends_access: back == quantity)
                    )
                }
            } else if let current = last, now < current.over - 3 * Self.hour, choice == 8,
                !refunds.contains(where: { $0.name == current.period.name })
            {
                now = later(1, (current.over - now) / Self.hour - 1)
                ends.append(End(period: current.period.name, at: now))
                last = (current.period, now)
            } else if last.map({ $0.over < now }) ?? true {
                now = later(24, 400)
                let product = Self.products[Int.random(in: 0..<(isPaid ? 3 : 4), using: &random)]
                last = begin(
                    product.name,
                    named: "\(number)",
                    at: now,
                    before: nil,
                    in: currency,
                    isPaid: isPaid,
                    using: &random
                )
            }
            if Bool.random(using: &random) {
                let at = later(1, 48)
                let credits = Int64.random(in: isPaid || number > 1 ? 1...300 : -40...300, using: &random)
                if !isPaid || credits <= statement(at: at).balance {
                    uses.append(Use(id: "u\(number)", credits: credits, at: at))
                    if isPaid { now = at }
                }
            }
        }
        moments = (0...12).map { Self.origin + $0 * 17 * Self.day } + [now]
        if store == .stripe { change(in: currency, seed: seed) }
    }

    /// Changes products within periods that nothing else cuts short, and refunds some of that.
    private mutating func change(in currency: String, seed: UInt64) {
        var random = SeededGenerator(seed: ~seed)
        for (index, period) in periods.enumerated() where period.trial != true && period.product != "year" {
            let stops =
                ends.filter { $0.period == period.name }.map(\.at)
                + refunds.filter { $0.name == period.name && $0.ends_access }.map(\.at)
                + periods.dropFirst(index + 1).prefix(1).map(\.start)
            let over = stops.min().map { min($0, period.end) } ?? period.end
            let hours = (over - (period.paid_at ?? period.start)) / Self.hour
            let isReplaced = periods.dropFirst(index + 1).first.map { $0.start < period.end } ?? false
            guard hours > 2, !isReplaced, Int.random(in: 0..<3, using: &random) > 0 else { continue }
            let others = Self.products.prefix(3).filter { $0.name != period.product }
            let other = others[Int.random(in: 0..<others.count, using: &random)]
            let at = (period.paid_at ?? period.start) + Int64.random(in: 1..<hours, using: &random) * Self.hour + 7000
            var change = Change(name: "\(period.name)/2", period: period.name, product: other.name, at: at)
            if Int.random(in: 0..<4, using: &random) > 0 {
                change.price = Self.money(Int64.random(in: 0...other.cents, using: &random), currency)
                change.set_off = Self.setOff(currency, using: &random)
                change.line = Self.money(.random(in: 1...other.cents, using: &random), currency)
            }
            changes.append(change)
            guard change.price != nil, Bool.random(using: &random) else { continue }
            let refunded = at + Int64.random(in: 1...20 * 24, using: &random) * Self.hour
            let scope: Refund.Scope =
                Bool.random(using: &random)
                ? .full : .amount(Self.money(Int64.random(in: 1...other.cents, using: &random), currency))
            refunds.append(Refund(name: change.name, at: refunded, scope: scope, ends_access: false))
            moments.append(refunded + Self.hour)
        }
    }

    private static func setOff(_ currency: String, using random: inout SeededGenerator) -> Money? {
        let cents: [Int64?] = [nil, nil, 0, 0, 90, 700, 2000]
        return cents[Int.random(in: cents.indices, using: &random)].map { money($0, currency) }
    }

    private static func money(_ cents: Int64, _ currency: String) -> Money {
        Money(ExactDecimal(coefficient: Int128(cents), scale: 2) ?? ExactDecimal(0), currency)
    }

    private mutating func begin(
        _ product: ProductID,
        named name: String,
        at start: Int64,
        before: Paid?,
        in currency: String,
        isPaid: Bool,
        using random: inout SeededGenerator
    ) -> (Paid, Int64)? {
        guard let (_, cents, days) = Self.products.first(where: { $0.name == product }) else { return nil }
        var paid = Paid(name: "t\(name)", product: product, start: start, end: start + days * Self.day)
        if !isPaid, before == nil, product == "basic", Int.random(in: 0..<4, using: &random) == 0 {
            paid.trial = true
            paid.end = start + 7 * Self.day
        } else if store == .stripe {
            // The charge does not include the set-off.
            let setOff = before.map { before in
                (before.trial == true ? 0 : cents / 3) * (before.end - start) / (before.end - before.start)
            }
            paid.price = Self.money(max(1, cents - (setOff ?? 0)), currency)
            paid.set_off = before?.trial == true ? nil : Self.setOff(currency, using: &random)
            // Some are paid only after another product took their place.
            let latest: Int64 = Int.random(in: 0..<4, using: &random) == 0 ? 20 * 24 : 2
            paid.paid_at = start + Int64.random(in: 0...latest, using: &random) * Self.hour
        } else if isPaid || Int.random(in: 0..<5, using: &random) > 0 {
            // Some are by an offer.
            let charged =
                Int.random(in: 0..<3, using: &random) == 0 ? Int64.random(in: 1...cents, using: &random) : cents
            paid.price = Self.money(charged, currency)
        }
        periods.append(paid)
        return (paid, paid.end)
    }
}
