import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

/// A backlog is worked off in any order, and what is asked late is answered as of now.
@Suite("Google Play's notifications that come late, mapped with what is known")
struct LateNewsTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day
    static let policy = CreditPolicy(["premium:monthly": .init(credits: 200)])

    @Test("a deferral that comes before the renewal it extends leaves the renewal to be told and paid out")
    func deferralFirst() throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 1000
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        let extended = bought.with {
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = Self.start + 67 * Self.day
        }
        let (renewedAt, extendedAt) = (Self.start + 30 * Self.day, Self.start + 31 * Self.day)
        var ledger = AccountLedger()
        var kinds: [String] = []
        var effects: [String: CreditAction.Effect] = [:]
        for (number, time, askedAt) in [
            (4, Self.start, Self.start + 1500), (9, extendedAt, extendedAt + 1500), (2, renewedAt, extendedAt + 60_000),
            (2, renewedAt, extendedAt + 90_000),
        ] {
            let purchase = number == 4 ? bought : extended
            let prior = ledger.states.first
            for event in try Play.map(number, purchase, at: time, askedAt: askedAt, prior: prior).events {
                let applied = ledger.apply(event)
                kinds.append(event.kind.rawValue)
                let state = try #require(ledger.states.first)
                for action in Self.policy.actions(for: applied, in: state) { effects[action.id] = action.effect }
            }
        }
        #expect(kinds.prefix(3) == ["started", "extended", "renewed"])
        #expect(Array(effects.values) == [.reset(to: 200), .reset(to: 200)])
    }

    @Test("an expiry that comes after a resubscription of days later was the customer's, and no replacement")
    func resubscribedSince() throws {
        let again = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start + 35 * Self.day
            $0.items[0].order = "GPA.3312-4415-6677-88991"
            $0.items[0].expiry = Self.start + 65 * Self.day
            $0.extra["outOfAppPurchaseContext"] = #"{"expiredPurchaseToken":"\#(Vectors.token)"}"#
        }
        let expired = Vectors.purchase("EXPIRED").with {
            $0.start = Self.start - 1000
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        var ledger = AccountLedger()
        let resubscribedAt = Self.start + 35 * Self.day
        for event in try Play.map(4, again, token: "token-2", at: resubscribedAt).events { _ = ledger.apply(event) }
        let late = try Play.map(
            13,
            expired,
            at: Self.start + 30 * Self.day,
            askedAt: resubscribedAt + 60_000,
            prior: ledger.states.first
        )
        #expect(late.events.map(\.event) == [.expired(.init(reason: .customer))])
    }
}
