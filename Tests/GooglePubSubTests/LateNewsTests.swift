import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

/// A backlog is worked off in any order, and what is asked late is answered as of now.
@Suite("Google Play's notifications that come late")
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
            askedAt: resubscribedAt + 60_000
        )
        let feedback = "CANCEL_SURVEY_REASON_COST_RELATED"
        #expect(ledger.apply(late).map(\.event.event) == [.expired(.init(reason: .customer, feedback: feedback))])
    }

    /// After an outage Google answers all questions at once, with the end.
    @Test("a beginning in a backlog that is looked up after the end is no news after it", arguments: [0, 7000])
    func askedAfterTheEnd(apart: Int64) throws {
        let end = Self.start + 60 * Self.day
        let expired = Vectors.purchase("EXPIRED").with {
            $0.start = Self.start
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = end
        }
        let numbers: [(Int64, Int64)] = [(4, 0), (2, 30), (3, 40), (13, 60)]
        let answers = try numbers.enumerated().map { index, number in
            let askedAt = end + Self.day + Int64(index) * apart
            return try Play.map(Int(number.0), expired, at: Self.start + number.1 * Self.day, askedAt: askedAt)
        }
        for order in [[0, 1, 2, 3], [1, 3, 0, 2], [2, 1, 0, 3], [3, 2, 1, 0], [3, 0, 1, 2]] {
            var ledger = AccountLedger()
            var news: [LifecycleEvent.Kind] = []
            for index in order {
                for event in answers[index].events {
                    let applied = ledger.apply(event)
                    if applied.disposition == .applied { news.append(applied.event.kind) }
                }
            }
            #expect(news.last == .expired, "\(order)")
            #expect(ledger.states.map(\.contradictions) == [[]], "\(order)")
        }
    }
}
