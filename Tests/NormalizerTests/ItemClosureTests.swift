import Foundation
import NormalizerTesting
import Testing

@testable import Normalizer

/// Items of a purchase with lineages of their own, and the end of the purchase that names none of them.
@Suite("The end of a purchase ends its items")
struct ItemClosureTests {
    private static func day(_ days: Double) -> Date { AccountStories.day(days) }

    private static func lineage(_ id: String, _ store: PurchaseStore = .playStore) -> SubscriptionID {
        SubscriptionID(store: store, environment: .production, id: id)
    }

    private static func statement(_ id: String, in store: PurchaseStore = .playStore, at days: Double, _ facts: [Fact])
        -> StoreStatement
    {
        StoreStatement(
            subscription: lineage(id, store),
            provider: .google,
            assertedAt: day(days),
            facts: facts,
            origin: .madeUp(digest: "\(id) \(days)")
        )
    }

    private static func item(
        _ id: String,
        in store: PurchaseStore = .playStore,
        from start: Double,
        at days: Double? = nil
    )
        -> StoreStatement
    {
        let period = ServicePeriod(start: day(start), end: day(start + 30))
        return statement(
            id,
            in: store,
            at: days ?? start,
            [
                .closure(.open), .owner(Account("u1", .appUserID)),
                .period(.init(period, product: ProductID(id), phase: .regular, transaction: "\(id) \(start)")),
            ]
        )
    }

    private static func end(at days: Double, coversItems: Bool) -> StoreStatement {
        statement("P", at: days, [.closure(.init(at: day(days), reason: .unknown, coversItems: coversItems))])
    }

    /// The ledger is one in every order, and put together from two.
    private static func ledger(_ statements: [StoreStatement]) throws -> AccountLedger {
        let expected = AccountLedger(applying: statements)
        for order in permutations(of: statements) {
            #expect(AccountLedger(applying: order).states == expected.states)
            let half = order.count / 2
            var merged = AccountLedger(applying: order.prefix(half))
            merged.merge(AccountLedger(applying: order.dropFirst(half)))
            #expect(merged.states == expected.states)
        }
        let stored = try expected.states.map {
            try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes($0))
        }
        #expect(AccountLedger(stored).states == expected.states)
        return expected
    }

    private static func granted(_ statements: [StoreStatement], at days: Double) throws -> [String] {
        try ledger(statements).states.filter { $0.access(at: day(days)).isGranted }.map(\.subscription.id)
    }

    @Test("all of them and no other, whichever is stated first")
    func ends() throws {
        let items = [Self.item("P:a", from: 0), Self.item("P:b", from: 0), Self.item("Q:a", from: 0)]
        #expect(try Self.granted(items + [Self.end(at: 5, coversItems: true)], at: 4) == ["P:a", "P:b", "Q:a"])
        #expect(try Self.granted(items + [Self.end(at: 5, coversItems: true)], at: 6) == ["Q:a"])
        let account = Account.Identifier("u1", .appUserID)
        let ended = try Self.ledger(Array(items.prefix(2)) + [Self.end(at: 5, coversItems: true)])
        #expect(ended.access(of: account, at: Self.day(4)).decision.isGranted)
        #expect(!ended.access(of: account, at: Self.day(6)).decision.isGranted)
    }

    @Test("but an end of the purchase's own lineage leaves them, and so does another store's name with a colon")
    func leaves() throws {
        let items = [Self.item("P:a", from: 0), Self.item("P:b", from: 0)]
        #expect(try Self.granted(items + [Self.end(at: 5, coversItems: false)], at: 6) == ["P:a", "P:b"])
        let elsewhere = Self.item("P:a", in: .stripe, from: 0)
        #expect(try Self.granted([elsewhere, Self.end(at: 5, coversItems: true)], at: 6) == ["P:a"])
    }

    @Test("later statements of an item are its own")
    func since() throws {
        let items = [Self.item("P:a", from: 0), Self.item("P:b", from: 0)]
        let again = Self.item("P:a", from: 10)
        let end = Self.end(at: 5, coversItems: true)
        #expect(try Self.granted(items + [end, again], at: 11) == ["P:a"])
        #expect(try Self.granted(items + [end, again, Self.end(at: 6, coversItems: false)], at: 11) == ["P:a"])
    }
}
