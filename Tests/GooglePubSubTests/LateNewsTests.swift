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
        let feedback = "CANCEL_SURVEY_REASON_COST_RELATED"
        #expect(late.events.map(\.event) == [.expired(.init(reason: .customer, feedback: feedback))])
    }
}
