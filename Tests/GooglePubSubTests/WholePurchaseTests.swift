import ConformanceVectors
import FoundationEssentials
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("A state of Google Play's is about the purchase")
struct WholePurchaseTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day

    private static func granted(_ ledger: AccountLedger, days: Double) -> Bool {
        ledger.states.contains { $0.access(at: Play.date(start + Int64(days * Double(day)))).isGranted }
    }

    private static func expired(_ purchase: Vectors.Purchase, at: Int64, order: String? = nil) -> Vectors.Purchase {
        var purchase = purchase.with { $0.state = "EXPIRED" }
        for index in purchase.items.indices {
            purchase.items[index].expiry = at
            purchase.items[index].isRenewing = false
            if let order { purchase.items[index].order = order }
        }
        purchase.extra["canceledStateContext"] = Vectors.canceled("userInitiated")
        return purchase
    }

    @Test("renewed ahead, then revoked: the month before gives nothing either")
    func revokedRenewal() throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        let revokedAt = Self.start + 29 * Self.day
        let revoked = Self.expired(bought, at: revokedAt, order: Vectors.order + "..0")
        let results = [
            try Play.map(4, bought, at: Self.start),
            try Play.map(12, revoked, at: revokedAt, askedAt: revokedAt + 5000),
        ]
        for order in [[0, 1], [1, 0]] {
            let ledger = AccountLedger(applying: order.map { results[$0] })
            #expect(Self.granted(ledger, days: 28))
            #expect(!Self.granted(ledger, days: 29.5), "\(order)")
        }
    }

    @Test("a new sign-up to the same product that is revoked ends what it replaced", arguments: [false, true])
    func revokedSuccessor(isPrepaid: Bool) throws {
        let bought = Vectors.purchase(isPrepaid ? "ACTIVE" : "CANCELED").with {
            $0.start = Self.start
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 30 * Self.day
            $0.items[0].isRenewing = false
            $0.items[0].isPrepaid = isPrepaid
        }
        let againAt = Self.start + 9 * Self.day
        var again = bought.with {
            $0.state = "ACTIVE"
            $0.start = againAt
            $0.items[0].order = "GPA.3388-7777-6666-55555"
            $0.items[0].expiry = Self.start + 60 * Self.day
        }
        again.linked = Vectors.token
        let revokedAt = againAt + 3_600_000
        let revoked = Self.expired(again, at: revokedAt)
        let results = [
            try Play.map(4, bought, at: Self.start),
            try Play.map(4, again, token: Vectors.oldToken, at: againAt),
            try Play.map(12, revoked, token: Vectors.oldToken, at: revokedAt, askedAt: revokedAt + 5000),
        ]
        for order in [[0, 1, 2], [0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let ledger = AccountLedger(applying: order.map { results[$0] })
            #expect(Self.granted(ledger, days: 8))
            #expect(!Self.granted(ledger, days: 9.5), "\(order)")
            #expect(!Self.granted(ledger, days: 20), "\(order)")
        }
    }

    @Test("a purchase before that was asked for, and was replaced, states its end beside its successor's event")
    func predecessor() throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        let changedAt = Self.start + 9 * Self.day
        var old = Self.expired(bought, at: changedAt)
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        var new = bought.with {
            $0.start = changedAt
            $0.items[0].product = "plus"
            $0.items[0].order = "GPA.3388-7777-6666-55555"
            $0.items[0].expiry = changedAt + Self.day
        }
        new.linked = Vectors.token
        let changed = try Play.map(
            4,
            new,
            token: Vectors.oldToken,
            at: changedAt,
            others: [Play.found(.subscription, for: Vectors.token, old.json)]
        )
        let stated = try #require(
            changed.statements.first { $0.subscription.id == PurchaseToken(Vectors.token).fingerprint }
        )
        guard case .closure(let closure)? = stated.facts.first else {
            Issue.record("\(stated.facts)")
            return
        }
        #expect(closure.at == Play.date(changedAt))
        #expect(closure.reason == .replaced)
        // The successor ends after a day; the purchase before does not come back.
        let ledger = AccountLedger(applying: [try Play.map(4, bought, at: Self.start), changed])
        #expect(Self.granted(ledger, days: 9.5))
        #expect(!Self.granted(ledger, days: 11))
        // Its own notification is reported as usual.
        var reported = AccountLedger(applying: [try Play.map(4, bought, at: Self.start), changed])
        let event = try #require(try Play.map(13, old, at: changedAt + 2500).events.first)
        let applied = reported.apply(event)
        #expect(applied.disposition == .superseded)
    }

    @Test("an add-on that was on hold with the others gives access again when the purchase goes on without them")
    func holdOfAddOns() throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 60 * Self.day
        }
        let hold = bought.with { $0.state = "ON_HOLD" }
        let holdAt = Self.start + 30 * Self.day
        let results = [
            try Play.map(4, bought, at: Self.start),
            try Play.map(5, hold, at: holdAt, askedAt: holdAt + 1000),
            try Play.map(17, bought, at: holdAt + 5 * Self.day, askedAt: holdAt + 5 * Self.day + 1000),
        ]
        #expect(!Self.granted(AccountLedger(applying: Array(results.prefix(2))), days: 31))
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            #expect(Self.granted(AccountLedger(applying: order.map { results[$0] }), days: 40), "\(order)")
        }
    }
}
