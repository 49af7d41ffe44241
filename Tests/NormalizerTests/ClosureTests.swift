import Foundation
import NormalizerTesting
import Testing

@testable import Normalizer

/// Two periods of one purchase that overlap, the second paid ahead, and what a store says of the purchase as a whole.
@Suite("Whole purchases that end")
struct ClosureTests {
    private static let lineage = SubscriptionID(store: .playStore, environment: .production, id: "T1")
    private static let successor = SubscriptionID(store: .playStore, environment: .production, id: "T2")
    private static func day(_ days: Double) -> Date { AccountStories.day(days) }

    private static func statement(
        _ type: String,
        at days: Double,
        of lineage: SubscriptionID = lineage,
        by provider: Provider = .google,
        _ facts: [Fact]
    ) -> StoreStatement {
        StoreStatement(
            subscription: lineage,
            provider: provider,
            assertedAt: day(days),
            facts: facts,
            origin: .madeUp(type, digest: type)
        )
    }

    private static func period(_ name: TransactionID, from start: Double, to end: Double, isProvisional: Bool = false)
        -> Fact
    {
        .period(
            .init(
                ServicePeriod(start: day(start), end: day(end)),
                product: "pro:monthly",
                phase: .regular,
                transaction: name,
                isProvisional: isProvisional
            )
        )
    }

    private static let first = statement("FIRST", at: 0, [period("o", from: 0, to: 30)])
    private static let ahead = statement("AHEAD", at: 29, [period("o..0", from: 29, to: 60)])
    private static func closed(_ days: Double, covering lineages: [SubscriptionID] = []) -> Fact {
        .closure(.init(at: day(days), reason: .unknown, covering: lineages))
    }

    private static func state(
        _ statements: some Sequence<StoreStatement>,
        of lineages: [SubscriptionID] = [lineage]
    ) -> SubscriptionState {
        var state = SubscriptionState(members: lineages)
        for statement in statements { state.apply(statement) }
        return state
    }

    /// In every order, and put together from two halves, the state is one; its access is asked for at each of the moments.
    private static func access(
        _ statements: [StoreStatement],
        of lineages: [SubscriptionID] = [lineage],
        at days: [Double]
    ) throws -> [Bool] {
        let expected = state(statements, of: lineages)
        for order in permutations(of: statements) {
            #expect(state(order, of: lineages) == expected, "\(order.map(\.origin.type))")
            let half = order.count / 2
            var merged = state(order.prefix(half), of: lineages)
            merged.merge(state(order.dropFirst(half), of: lineages))
            #expect(merged == expected, "\(order.map(\.origin.type))")
        }
        let stored = try JSONDecoder().decode(SubscriptionState.self, from: Data(try CanonicalJSON.bytes(expected)))
        #expect(stored == expected)
        return days.map { expected.access(at: day($0)).isGranted }
    }

    @Test("an end of the purchase ends the period before the last one as well")
    func everyPeriod() throws {
        let revoked = Self.statement("REVOKED", at: 29.1, [Self.closed(29.1)])
        let granted = try Self.access([Self.first, Self.ahead, revoked], at: [10, 29.05, 29.2, 29.9, 40])
        #expect(granted == [true, true, false, false, false])
    }

    @Test("the end of a purchase ends what it replaced, and leaves what replaced it")
    func replaced() throws {
        let other = Self.statement(
            "OTHER",
            at: 5,
            of: Self.successor,
            [Self.period("p", from: 5, to: 35), .link(Self.lineage)]
        )
        let both = [Self.lineage, Self.successor]
        let old = Self.statement("OLD", at: 5.1, [Self.closed(5)])
        #expect(try Self.access([Self.first, other, old], of: both, at: [1, 6, 34, 36]) == [true, true, true, false])
        let new = Self.statement("NEW", at: 9, of: Self.successor, [Self.closed(8, covering: [Self.lineage])])
        #expect(
            try Self.access([Self.first, other, new], of: both, at: [1, 6, 8.5, 20]) == [true, true, false, false]
        )
    }

    @Test("what is replaced at its end goes on until then, if its successor is not known, or begins at that end")
    func replacedAtEnd() throws {
        let both = [Self.lineage, Self.successor]
        func planned(_ ends: [Double]) -> StoreStatement {
            Self.statement(
                "PLANNED",
                at: 12,
                by: .revenuecat,
                ends.map { .succession(.init(at: Self.day($0), from: "pro:monthly", to: "basic:monthly")) }
            )
        }
        func over(_ reason: LifecycleEvent.Expired.Reason) -> StoreStatement {
            let end = Fact.PeriodEnd(start: Self.day(0), transaction: "o", at: Self.day(12), reason: reason)
            return Self.statement(
                "OVER",
                at: 12.1,
                [.closure(.init(at: Self.day(12), reason: reason, covering: [])), .periodEnded(end)]
            )
        }
        func access(_ statements: [StoreStatement]) throws -> [Bool] {
            try Self.access([Self.first] + statements, of: both, at: [11, 20, 31])
        }
        let lost = [planned([12, 30]), over(.replaced)]
        #expect(try access(lost) == [true, true, false])
        let renewed = Self.statement("RENEWED", at: 30, of: Self.successor, [Self.period("p..0", from: 30, to: 60)])
        #expect(try access(lost + [renewed]) == [true, true, true])
        // Its time is that of the successor, once one is known, and nothing else dates the change to the end.
        let short = Self.statement("SHORT", at: 12.2, of: Self.successor, [Self.period("p", from: 12, to: 15)])
        #expect(try access(lost + [short]) == [true, false, false])
        #expect(try access([planned([12]), over(.replaced)]) == [true, false, false])
        #expect(try access([planned([12, 30]), over(.customer)]) == [true, false, false])
    }

    @Test("a closure does not concern later statements: a period that begins later, or the same period stated again")
    func since() throws {
        let hold = Self.statement("HOLD", at: 20, [Self.closed(20)])
        let paid = Self.statement("PAID", at: 40, [Self.period("o..1", from: 40, to: 70)])
        #expect(try Self.access([Self.first, hold, paid], at: [10, 25, 50]) == [true, false, true])
        let again = Self.statement("AGAIN", at: 21, [Self.period("o", from: 0, to: 30)])
        #expect(try Self.access([Self.first, hold, again], at: [10, 25]) == [true, true])
        // A relay does not take the store's word back for a period that had begun, and may tell of one that begins anew.
        let relayed = Self.statement("RELAYED", at: 21, by: .revenuecat, [Self.period("o", from: 0, to: 30)])
        #expect(try Self.access([Self.first, hold, relayed], at: [10, 25]) == [true, false])
        let anew = Self.statement("ANEW", at: 22, by: .revenuecat, [Self.period("q", from: 22, to: 52)])
        #expect(try Self.access([Self.first, hold, anew], at: [10, 21, 25]) == [true, false, true])
        let inferred = Self.statement("INFERRED", at: 21, [Self.period("o", from: 0, to: 30, isProvisional: true)])
        #expect(try Self.access([Self.first, hold, inferred], at: [10, 25]) == [true, false])
    }

    @Test("a purchase that is open again gives what its periods give")
    func open() throws {
        let hold = Self.statement("HOLD", at: 20, [Self.closed(20)])
        let open = Self.statement("OPEN", at: 22, [.closure(.open)])
        #expect(try Self.access([Self.first, hold, open], at: [10, 25, 31]) == [true, true, false])
        let late = Self.statement("LATE", at: 19, [.closure(.open)])
        #expect(try Self.access([Self.first, hold, late], at: [10, 25]) == [true, false])
    }

    @Test("an end of which no period is known says since when there is no access, and why")
    func withoutPeriod() {
        let state = Self.state([Self.statement("REVOKED", at: 20, [Self.closed(20)])])
        guard case .denied(let since, let denial) = state.access(at: Self.day(25)) else {
            Issue.record("granted")
            return
        }
        #expect(since == Self.day(20))
        #expect(denial.reason == .unknown)
        #expect(denial.evidence.map(\.type) == ["REVOKED"])
    }

    @Test("the end of a period contradicts its paid end, unless the whole purchase ended by then")
    func contradiction() {
        let ended = Fact.periodEnded(.init(start: Self.day(0), transaction: "o", at: Self.day(10), reason: .unknown))
        let alone = Self.state([Self.first, Self.statement("ENDED", at: 10, [ended])])
        #expect(alone.contradictions.map(\.kind) == [.endedBeforePaidEnd])
        let whole = Self.statement("REVOKED", at: 10, [Self.closed(10), ended])
        let again = Self.statement("EXPIRED", at: 11, [Self.closed(10)])
        for statements in [[Self.first, whole], [again, whole, Self.first]] {
            #expect(Self.state(statements).contradictions.isEmpty)
        }
    }

    @Test("an open purchase is an empty object, and what names no time is open")
    func coding() throws {
        #expect(String(decoding: try CanonicalJSON.bytes(Fact.Closure.open), as: UTF8.self) == "{}")
        let read = try JSONDecoder().decode(Fact.Closure.self, from: Data(#"{"reason":"billing","covers":[]}"#.utf8))
        #expect(read == .open)
    }
}
