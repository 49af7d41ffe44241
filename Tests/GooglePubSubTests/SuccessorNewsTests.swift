import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("A purchase on Google Play whose first word is that its charge failed, or that it paused")
struct SuccessorNewsTests {
    typealias Vectors = GoogleVectors
    typealias Known = ReplacementCreditTests

    /// The old purchase has a say in nothing that happened to the one in its place.
    @Test(
        "says the same as one whose beginning is known",
        arguments: [(6, "IN_GRACE_PERIOD"), (5, "ON_HOLD"), (10, "PAUSED")]
    )
    func firstWord(number: Int, state: String) throws {
        let (changed, failed) = (Known.start + 10 * Known.day, Known.start + 40 * Known.day)
        let first = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start - 2000
            $0.items = [Known.item("basic", order: 0, until: Known.start + 30 * Known.day)]
        }
        let replaced = Known.replaced(first, at: changed)
        var active = Vectors.purchase("ACTIVE").with {
            $0.start = changed - 1000
            $0.items = [
                Known.item("pro", order: 1, until: failed).with {
                    $0.extra["itemReplacement"] =
                        #"{"productId":"basic","basePlanId":"monthly","replacementMode":"CHARGE_FULL_PRICE"}"#
                }
            ]
        }
        active.linked = Vectors.token
        let stopped = active.with {
            $0.state = state
            $0.items[0].expiry = state == "IN_GRACE_PERIOD" ? failed + 7 * Known.day : failed
            if state == "PAUSED" {
                $0.extra["pausedStateContext"] = #"{"autoResumeTime":"2027-01-01T00:00:00Z"}"#
            }
        }
        let others = [Play.found(.subscription, for: Vectors.token, replaced.json)]
        func ofFirst(_ number: Int, _ purchase: Vectors.Purchase, at time: Int64, askedAt: Int64) throws
            -> Normalization
        {
            try Play.map(number, purchase, at: time, askedAt: askedAt)
        }
        let late = failed + 5000
        let bought = try ofFirst(4, first, at: Known.start, askedAt: Known.start + 1500)
        let boughtLate = try ofFirst(4, replaced, at: Known.start, askedAt: late)
        let ended = try ofFirst(13, replaced, at: changed + 2500, askedAt: changed + 4000)
        let endedLate = try ofFirst(13, replaced, at: changed + 2500, askedAt: late)
        let change = try Play.map(4, active, token: "token-1", at: changed, others: others)
        let stop = try Play.map(number, stopped, token: "token-1", at: failed + 1000, others: others)

        func outcome(_ results: [Normalization]) throws -> (SubscriptionSnapshot, isNews: Bool) {
            var ledger = AccountLedger()
            var isNews = false
            for result in results {
                for event in result.events {
                    let applied = ledger.apply(event)
                    let isStop = [.billingIssue, .paused].contains(event.kind)
                    if isStop, applied.disposition == .applied { isNews = true }
                }
                for statement in result.statements { ledger.apply(statement) }
            }
            #expect(ledger.states.count == 1)
            let lineage = try #require(stop.events.first?.subscription)
            return (try #require(ledger[lineage]).snapshot(at: Play.date(failed + Known.day)), isNews)
        }
        let known = try outcome([bought, change, ended, stop])
        #expect(known.isNews)
        for results in [
            [stop], [bought, stop], [bought, ended, stop], [bought, stop, endedLate], [stop, boughtLate, endedLate],
            [boughtLate, stop, endedLate], [endedLate, stop], [bought, ended, stop, change],
        ] {
            let (snapshot, isNews) = try outcome(results)
            #expect(isNews)
            #expect(snapshot.status == known.0.status)
            #expect(snapshot.willRenew == known.0.willRenew)
            #expect(snapshot.willNotRenewBecause == known.0.willNotRenewBecause)
            #expect(snapshot.access.isGranted == known.0.access.isGranted)
        }
    }
}
