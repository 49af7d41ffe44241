import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Items that go on under another purchase")
struct ContinuedItemTests {
    typealias Vectors = GoogleVectors
    static func item(_ product: String, order: String?, expiry: Int64? = GoogleVectors.event + 30 * GoogleVectors.day)
        -> Vectors.Item
    {
        Play.item.with {
            $0.product = product; $0.order = order; $0.expiry = expiry
        }
    }
    static let start = Vectors.event
    static let day = Vectors.day

    static func ledger(_ events: [[NormalizedEvent]]) -> AccountLedger {
        var ledger = AccountLedger()
        for event in events.joined() { _ = ledger.apply(event) }
        return ledger
    }

    /// Bought; a change for the end of the period; the old token expires as replaced.
    @Test("deferred change keeps access until the end of the period", arguments: [true, false], [nil, 0])
    func deferredKeepsAccess(hasDate: Bool, renewal: Int?) throws {
        let order = Vectors.order + (renewal.map { "..\($0)" } ?? "")
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items[0].order = order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        let changed = Self.start + 10 * Self.day
        var new = bought.with {
            $0.start = changed - 1000
            $0.items[0].isRenewing = false
            $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"basic"}"#
            $0.items.append(Self.item("basic", order: nil, expiry: nil))
        }
        new.linked = Vectors.token
        var old = Vectors.purchase("EXPIRED").with {
            $0.start = Self.start - 2000
            $0.items[0].order = order
            $0.items[0].expiry = hasDate ? changed : nil
            $0.items[0].isRenewing = false
        }
        old.extra["canceledStateContext"] = Vectors.canceled(hasDate ? "replacement" : "systemInitiated")
        let chapters = [
            try Play.map(renewal == nil ? 4 : 2, bought, at: Self.start).events,
            try Play.map(4, new, token: Vectors.oldToken, at: changed).events,
            try Play.map(13, old, at: changed + 2500).events,
        ]
        for order in [[0, 1, 2], [0, 2, 1]] {
            let ledger = Self.ledger(order.map { chapters[$0] })
            #expect(ledger.states.count == 1)
            let state = try #require(ledger.states.first)
            #expect(state.access(at: Play.date(changed + Self.day)).isGranted, "\(order)")
            #expect(state.access(at: Play.date(Self.start + 29 * Self.day)).isGranted, "\(order)")
            #expect(!state.access(at: Play.date(Self.start + 31 * Self.day)).isGranted, "\(order)")
        }
    }

    /// The old token is gone 60 days after it ended; then the kept year is revoked.
    @Test("a kept item is ended, also where Google has forgotten the old token", arguments: [true, false])
    func oldTokenForgotten(isForgotten: Bool) throws {
        let kept = Self.item("premium", order: Vectors.order, expiry: Self.start + 365 * Self.day)
        let bought = Vectors.purchase("ACTIVE", kept)
        let first = try Play.map(4, bought, at: Self.start).events
        let keep = kept.with {
            $0.extra["itemReplacement"] =
                #"{"productId":"premium","basePlanId":"monthly","replacementMode":"KEEP_EXISTING"}"#
        }
        let added = Self.item("voice", order: "GPA.3388-7777-6666-55555", expiry: Self.start + 365 * Self.day)
        var new = Vectors.purchase("ACTIVE").with { $0.items = [keep, added] }
        new.linked = Vectors.token
        let second = try Play.map(
            4,
            new,
            token: Vectors.oldToken,
            at: Self.start + 5 * Self.day,
            others: [Play.found(.subscription, Vectors.token, bought.json)]
        )
        var old = Vectors.purchase("EXPIRED", kept).with {
            $0.items[0].expiry = Self.start + 5 * Self.day; $0.items[0].isRenewing = false
        }
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        let third = try Play.map(13, old, at: Self.start + 5 * Self.day + 2500).events
        let revokedAt = Self.start + 100 * Self.day
        var ended = new.with { $0.state = "EXPIRED" }
        for index in ended.items.indices {
            ended.items[index].expiry = revokedAt
            ended.items[index].isRenewing = false
            ended.items[index].extra["itemReplacement"] = nil
        }
        let fourth = try Play.map(
            12,
            ended,
            token: Vectors.oldToken,
            at: revokedAt,
            askedAt: revokedAt + 1000,
            others: [
                isForgotten
                    ? .init(.subscription, Vectors.token, PlayAnswer(.gone, status: 410))
                    : Play.found(.subscription, Vectors.token, old.json)
            ]
        )
        var ledger = Self.ledger([first])
        for statement in second.statements { ledger.apply(statement) }
        for event in third { _ = ledger.apply(event) }
        for statement in fourth.statements { ledger.apply(statement) }
        for state in ledger.states {
            let access = state.access(at: Play.date(Self.start + 101 * Self.day))
            #expect(!access.isGranted, "\(state.subscription) \(access)")
        }
    }

    /// The renewal was never told of, so that of its period no more is known than the end that the change puts to it.
    @Test("a change at once gives access, also when the renewal before it is not known", arguments: [[0, 1], [1, 0]])
    func changeAfterUnknownRenewal(order: [Int]) throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items[0].order = Vectors.order
        }
        let changed = Self.start + 40 * Self.day
        var old = bought.with {
            $0.state = "EXPIRED"
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = changed
            $0.items[0].isRenewing = false
        }
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        let upgraded = Self.item("pro", order: "GPA.3388-7777-6666-55555", expiry: changed + 30 * Self.day)
        var new = Vectors.purchase("ACTIVE", upgraded).with { $0.start = changed }
        new.linked = Vectors.token
        let chapters = [
            try Play.map(
                4,
                new,
                token: Vectors.oldToken,
                at: changed + 1000,
                others: [Play.found(.subscription, Vectors.token, old.json)]
            ).events,
            try Play.map(13, old, at: changed + 2500).events,
        ]
        let ledger = Self.ledger([try Play.map(4, bought, at: Self.start).events] + order.map { chapters[$0] })
        let state = try #require(ledger.states.first)
        #expect(ledger.states.count == 1)
        for time in [changed, changed + 5000, changed + 29 * Self.day] {
            let snapshot = state.snapshot(at: Play.date(time))
            #expect((snapshot.status, snapshot.product) == (.active, "pro:monthly"))
        }
        #expect(!state.access(at: Play.date(changed + 31 * Self.day)).isGranted)
    }
}
