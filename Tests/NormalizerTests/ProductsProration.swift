import NormalizerTesting
import FoundationEssentials
import Testing

@testable import Normalizer

private func usd(_ amount: String) throws -> Money { Money(try #require(ExactDecimal(amount)), "USD") }

private func at(_ text: String) throws -> Date {
    Date(millisecondsSince1970: try #require(RFC3339.milliseconds(text)))
}

@Suite("Proration")
struct ProductsProration {
    /// Thirty days.
    private let cycle = ServicePeriod(
        start: Date(millisecondsSince1970: 1_772_355_600_000),
        end: Date(millisecondsSince1970: 1_772_355_600_000 + 30 * 86_400_000)
    )

    private func proration(afterTenths tenths: Int64) throws -> Proration {
        try Proration(
            of: cycle,
            changedAt: Date(millisecondsSince1970: cycle.startMilliseconds + tenths * 3 * 86_400_000)
        )
    }

    @Test(
        "basic 10.00 with 200 credits to pro 20.00 with 500",
        arguments: [(Int64(0), Int64(250)), (5, 375), (10, 500), (12, 500), (-3, 250)]
    )
    func basicToPro(tenths: Int64, credits: Int64) throws {
        let proration = try proration(afterTenths: tenths)
        #expect(try proration.credits(of: 500, paid: usd("10.00"), newPrice: usd("20.00"), rounding: .down) == credits)
    }

    @Test(
        "a third of the cycle left: 416 2/3 credits",
        arguments: [(Rounding.down, Int64(416)), (.up, 417), (.halfUp, 417), (.halfEven, 417)]
    )
    func rounded(rounding: Rounding, credits: Int64) throws {
        let change = Date(millisecondsSince1970: cycle.startMilliseconds + 20 * 86_400_000)
        let proration = try Proration(of: cycle, changedAt: change)
        #expect(proration.unused == ExactFraction(clamping: 1, 3))
        #expect(
            try proration.creditShare(paid: usd("10.00"), newPrice: usd("20.00")) == ExactFraction(clamping: 5, 6)
        )
        #expect(
            try proration.credits(of: 500, paid: usd("10.00"), newPrice: usd("20.00"), rounding: rounding) == credits
        )
    }

    @Test("most of a year left, changed to a cheaper month: nothing, not less")
    func annualToMonthly() throws {
        let year = ServicePeriod(start: try at("2026-01-01T00:00:00Z"), end: try at("2027-01-01T00:00:00Z"))
        let proration = try Proration(of: year, changedAt: at("2026-03-07T00:00:00Z"))
        #expect(proration.unused == ExactFraction(clamping: 300, 365))
        #expect(try proration.creditShare(paid: usd("100.00"), newPrice: usd("20.00")) == .none)
        #expect(try proration.credits(of: 500, paid: usd("100"), newPrice: usd("20"), rounding: .up) == 0)
        #expect(try proration.refund(of: usd("100.00"), rounding: .halfUp) == usd("82.19"))
        #expect(try proration.refund(of: usd("100.00"), decimals: 4, rounding: .halfUp) == usd("82.1918"))
        #expect(
            try proration.refund(of: Money(ExactDecimal(10_000), "JPY"), decimals: 0, rounding: .down).amount
                == ExactDecimal(8219)
        )
    }

    @Test("a free trial that gives way leaves the new product whole")
    func trial() throws {
        #expect(try proration(afterTenths: 3).creditShare(paid: usd("0"), newPrice: usd("20")) == .whole)
    }

    @Test("the published formula subtracts a value from itself; the unused part is what is meant")
    func unusedPart() throws {
        #expect(try proration(afterTenths: 2).refund(of: usd("9.99"), rounding: .halfEven) == usd("7.99"))
    }

    @Test("leap years count their day")
    func leapYear() throws {
        let year = ServicePeriod(start: try at("2028-01-01T00:00:00Z"), end: try at("2029-01-01T00:00:00Z"))
        #expect(
            try Proration(of: year, changedAt: at("2028-03-01T00:00:00Z")).unused == ExactFraction(clamping: 306, 366)
        )
    }

    @Test("a change that cannot be prorated says why")
    func failures() throws {
        let start = cycle.start
        #expect(throws: Proration.Failure.unboundedPeriod) {
            try Proration(of: ServicePeriod(start: start, end: nil), changedAt: start)
        }
        #expect(throws: Proration.Failure.unboundedPeriod) {
            try Proration(of: ServicePeriod(start: start, end: start), changedAt: start)
        }
        #expect(throws: Proration.Failure.unboundedPeriod) {
            try Proration(of: ServicePeriod(start: start, end: .distantPast), changedAt: start)
        }
        let half = try proration(afterTenths: 5)
        #expect(throws: Proration.Failure.currencyMismatch) {
            try half.creditShare(paid: Money(ExactDecimal(10), "EUR"), newPrice: usd("20"))
        }
        #expect(throws: Proration.Failure.priceOutOfRange) {
            try half.creditShare(paid: usd("-1"), newPrice: usd("20"))
        }
        #expect(throws: Proration.Failure.priceOutOfRange) { try half.creditShare(paid: usd("1"), newPrice: usd("0")) }
        let digits: Int128 = 99_999_999_999_999_999_999_999_999_999_999_999_999
        let huge = Money(try #require(ExactDecimal(coefficient: digits, scale: 0)), "USD")
        let tiny = Money(try #require(ExactDecimal(coefficient: 1, scale: 38)), "USD")
        #expect(throws: Proration.Failure.tooLarge) { try half.creditShare(paid: huge, newPrice: tiny) }
        #expect(throws: Proration.Failure.tooLarge) { try half.refund(of: huge, rounding: .down) }
        #expect(try half.refund(of: huge, decimals: 0, rounding: .down).amount.coefficient == digits / 2)
        #expect(try half.refund(of: tiny, rounding: .up) == usd("0.01"))
        #expect(try half.credits(of: .max, paid: usd("1"), newPrice: usd("1"), rounding: .down) == Int64.max / 2)
    }

    @Test("a price of 38 places and a period of years have no share that could be computed")
    func overflow() throws {
        let years = ServicePeriod(start: cycle.start, end: cycle.start.addingTimeInterval(1_000_000_001))
        let proration = try Proration(of: years, changedAt: cycle.start.addingTimeInterval(0.001))
        let tiny = Money(try #require(ExactDecimal(coefficient: 1, scale: 38)), "USD")
        #expect(throws: Proration.Failure.tooLarge) { try proration.refund(of: tiny, decimals: 0, rounding: .up) }
    }

    @Test("shares are written, read, compared, and nothing else is a share")
    func shares() throws {
        let (half, most) = (try #require(ExactFraction(clamping: 1, 2)), try #require(ExactFraction(clamping: 3, 4)))
        #expect(half < most)
        #expect(!(most < half))
        for share in [half, most, .none, .whole] {
            #expect(try CanonicalJSON.value(ExactFraction.self, from: CanonicalJSON.bytes(share)) == share)
        }
        for text in ["", "1", "1/0", "0/0", "1/-2", "-1/2", "5/4", "1/2/3", "a/b"] {
            #expect(throws: InvalidValue.self) {
                try CanonicalJSON.value(ExactFraction.self, from: Array(#""\#(text)""#.utf8))
            }
        }
    }

    @Test("100 000 random shares lie within 0…1 and are exact")
    func bounds() throws {
        var random = SeededGenerator(seed: 16)
        for _ in 0..<100_000 {
            let start = Int64.random(in: 0...4_000_000_000_000, using: &random)
            let length = Int64.random(in: 1...40_000_000_000, using: &random)
            let change = start + Int64.random(in: -length...2 * length, using: &random)
            let old = Int128.random(in: 0...1_000_000, using: &random)
            let new = Int128.random(in: 1...1_000_000, using: &random)
            let period = ServicePeriod(
                start: Date(millisecondsSince1970: start),
                end: Date(millisecondsSince1970: start + length)
            )
            let proration = try Proration(of: period, changedAt: Date(millisecondsSince1970: change))
            let share = try proration.creditShare(
                paid: Money(try #require(ExactDecimal(coefficient: old, scale: 2)), "USD"),
                newPrice: Money(try #require(ExactDecimal(coefficient: new, scale: 2)), "USD")
            )
            let unused = min(max(Int128(start + length - change), 0), Int128(length))
            let part = max(new * Int128(length) - old * unused, 0)
            if !(share >= .none && share <= .whole)
                || share.numerator * new * Int128(length) != part * share.denominator
            {
                Issue.record("start \(start), length \(length), change \(change), old \(old), new \(new): \(share)")
                return
            }
        }
    }

    @Test(
        "rounding mirrors at zero",
        arguments: [
            (Rounding.down, [0, 1, 1, 2, 2]), (.up, [1, 1, 2, 2, 3]), (.halfUp, [1, 1, 2, 2, 3]),
            (.halfEven, [0, 1, 2, 2, 2]),
        ]
    )
    func roundings(rounding: Rounding, expected: [Int128]) throws {
        let half = try #require(ExactFraction(clamping: 1, 2))
        for (amount, value) in zip(Int128(1)...5, expected) {
            #expect(half.applied(to: amount, rounding) == value)
            #expect(half.applied(to: -amount, rounding) == -value)
        }
    }
}

@Suite("Product changes")
struct ProductsChanges {
    private static let durations: [CalendarDuration] = [.week, .month, .quarter, .year]

    private static let catalog = ProductCatalog(
        (1...3).flatMap { level in
            durations.indices.map {
                ProductCatalog.Product(id: "\(level).\($0)", group: "g", level: level, duration: durations[$0])
            }
        } + [ProductCatalog.Product(id: "other", group: "h", level: 1, duration: .month)]
    )

    /// The App Store's table for all pairs: a column for each product changed to, in the order of level and duration.
    /// U upgrade at once, d downgrade later, C crossgrade at once, c crossgrade later.
    private static let table: [(ProductID, String)] = [
        ("1.0", "- c c c d d d d d d d d"), ("1.1", "c - c c d d d d d d d d"),
        ("1.2", "c c - c d d d d d d d d"), ("1.3", "c c c - d d d d d d d d"),
        ("2.0", "U U U U - c c c d d d d"), ("2.1", "U U U U c - c c d d d d"),
        ("2.2", "U U U U c c - c d d d d"), ("2.3", "U U U U c c c - d d d d"),
        ("3.0", "U U U U U U U U - c c c"), ("3.1", "U U U U U U U U c - c c"),
        ("3.2", "U U U U U U U U c c - c"), ("3.3", "U U U U U U U U c c c -"),
    ]

    @Test("App Store: three levels, four durations, every direction", arguments: table)
    func appStore(old: ProductID, row: String) throws {
        let columns = (1...3).flatMap { level in (0...3).map { "\(level).\($0)" as ProductID } }
        for (new, cell) in zip(columns, row.split(separator: " ")) {
            let change = Self.catalog.appStoreChange(from: old, to: new)
            let expected: ProductChangeClass? =
                switch cell {
                case "U": .init(direction: .upgrade, timing: .immediate, proration: .refund)
                case "d": .init(direction: .downgrade, timing: .atPeriodEnd, proration: .none)
                case "c": .init(direction: .crossgrade, timing: .atPeriodEnd, proration: .none)
                default: nil
                }
            #expect(change == expected, "\(old) to \(new)")
        }
    }

    @Test("a crossgrade of the same duration is at once, with a refund, and no upgrade")
    func crossgrade() {
        let catalog = ProductCatalog([
            .init(id: "a", group: "g", level: 2, duration: .month),
            .init(id: "b", group: "g", level: 2, duration: CalendarDuration(months: 1)),
        ])
        #expect(
            catalog.appStoreChange(from: "a", to: "b")
                == .init(direction: .crossgrade, timing: .immediate, proration: .refund)
        )
    }

    @Test("products of other groups, unknown ones and one and the same are no change")
    func noChange() {
        #expect(Self.catalog.appStoreChange(from: "1.1", to: "other") == nil)
        #expect(Self.catalog.appStoreChange(from: "1.1", to: "nothing") == nil)
        #expect(Self.catalog.appStoreChange(from: "1.1", to: "1.1") == nil)
    }

    @Test("a catalogue survives being written and read")
    func codable() throws {
        let bytes = try CanonicalJSON.bytes(Self.catalog)
        #expect(try CanonicalJSON.value(ProductCatalog.self, from: bytes) == Self.catalog)
    }
}

@Suite("Allowances by the calendar")
struct ProductsAllowance {
    @Test("31 January, 28 February, 31 March: the day comes back")
    func endOfMonth() throws {
        let schedule = try #require(
            AllowanceSchedule(from: at("2026-01-31T09:30:00Z"), every: .month, until: at("2027-01-31T09:30:00Z"))
        )
        let starts = (0..<12).compactMap { schedule.slot($0)?.period.start.rfc3339.prefix(10) }
        #expect(
            starts == [
                "2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31", "2026-06-30", "2026-07-31",
                "2026-08-31", "2026-09-30", "2026-10-31", "2026-11-30", "2026-12-31",
            ]
        )
        #expect(schedule.slot(12) == nil)
        #expect(schedule.slot(-1) == nil)
        #expect(schedule.slot(11)?.period.end == (try at("2027-01-31T09:30:00Z")))
        #expect(schedule.next(after: try at("2027-01-01T00:00:00Z")) == nil)
        let short = try #require(
            AllowanceSchedule(from: schedule.anchor, every: .month, until: at("2026-03-10T00:00:00Z"))
        )
        #expect(short.slot(at: try at("2026-03-09T23:59:59Z"))?.index == 1)
        #expect(short.slot(at: try at("2026-03-10T00:00:00Z")) == nil)
        #expect(short.slot(at: try at("2026-03-20T00:00:00Z")) == nil)
    }

    @Test("29 February comes every four years")
    func leapDay() throws {
        let schedule = try #require(AllowanceSchedule(from: at("2028-02-29T00:00:00Z"), every: .year))
        #expect(schedule.slot(1)?.period.start.rfc3339 == "2029-02-28T00:00:00.000Z")
        #expect(schedule.slot(4)?.period.start.rfc3339 == "2032-02-29T00:00:00.000Z")
    }

    @Test("every moment lies in exactly the slot whose edges enclose it")
    func slots() throws {
        let schedule = try #require(AllowanceSchedule(from: at("2026-01-31T09:30:00Z"), every: .month))
        for index in [0, 1, 2, 13, 100, 5000] {
            let slot = try #require(schedule.slot(index))
            #expect(schedule.slot(at: slot.period.start) == slot)
            #expect(
                schedule.slot(at: slot.period.start.addingTimeInterval(-0.001))?.index == (index == 0 ? nil : index - 1)
            )
            #expect(schedule.next(after: slot.period.start) == slot.period.end)
        }
        #expect(schedule.next(after: .distantPast) == schedule.anchor)
    }

    @Test("steps that lead nowhere, and the ends of time")
    func bounds() throws {
        let start = try at("2026-01-31T09:30:00Z")
        #expect(AllowanceSchedule(from: start, every: CalendarDuration()) == nil)
        #expect(AllowanceSchedule(from: start, every: CalendarDuration(months: -1, days: 40)) == nil)
        #expect(AllowanceSchedule(from: start, every: CalendarDuration(months: 1, days: -1)) == nil)
        for months in [120_000, Int.max] {
            let schedule = try #require(AllowanceSchedule(from: start, every: CalendarDuration(months: months)))
            #expect([1, 2, 3].map { schedule.slot($0)?.period.start.rfc3339.prefix(4) } == ["9999", "9999", "9999"])
        }
        #expect(AllowanceSchedule(from: start, every: CalendarDuration(days: .max))?.slot(1) != nil)
        let daily = try #require(AllowanceSchedule(from: at("1970-01-01T00:00:00Z"), every: CalendarDuration(days: 1)))
        #expect(daily.slot(at: try at("9999-12-31T23:00:00Z")) != nil)
        #expect(daily.slot(at: .distantFuture) != nil)
        #expect(daily.slot(.max) == nil)
        #expect(throws: InvalidValue.self) {
            try CanonicalJSON.value(
                AllowanceSchedule.self,
                from: Array(#"{"anchor":"2026-01-31T09:30:00.000Z","step":{"months":0,"days":0}}"#.utf8)
            )
        }
    }
}
