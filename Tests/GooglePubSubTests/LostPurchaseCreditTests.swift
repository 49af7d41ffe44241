import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Credits of a change on Google Play after a purchase whose notification is lost")
struct LostPurchaseCreditTests {
    typealias Vectors = GoogleVectors
    typealias Known = ReplacementCreditTests

    /// The purchase, its change at half the cycle, and its end by the change, which shows no paid end any more.
    ///
    /// - Parameter offset: the milliseconds between the end of the one and the beginning of the other.
    private func life(_ mode: String, _ offset: Int64) throws -> (bought: [Normalization], rest: [Normalization]) {
        let changedAt = Known.start + 15 * Known.day
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start - 2000
            $0.items = [Known.item("basic", order: 0, until: Known.start + 30 * Known.day)]
        }
        let replaced = Known.replaced(bought, at: changedAt)
        var new = Vectors.purchase("ACTIVE").with {
            $0.start = changedAt + offset
            $0.items = [
                Known.item("pro", order: 1, until: Known.start + (mode == "CHARGE_FULL_PRICE" ? 50 : 30) * Known.day)
                    .with {
                        $0.extra["itemReplacement"] =
                            #"{"productId":"basic","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
                    }
            ]
        }
        new.linked = Vectors.token
        let others = [Play.found(.subscription, Vectors.token, replaced.json)]
        return (
            [try Play.map(4, bought, at: Known.start)],
            [
                try Play.map(4, new, token: "token-1", at: changedAt, others: others),
                try Play.map(13, replaced, at: changedAt + 2500),
            ]
        )
    }

    private func credits(_ results: [Normalization]) -> [Int64] {
        var host = Known.Host()
        for result in results {
            host.handle(result.events)
            for statement in result.statements { host.ledger.apply(statement) }
        }
        return [host.left, host.bought]
    }

    @Test(
        "the end by the change gives what the purchase had, in any order, and the purchase adds nothing if it comes after all",
        arguments: [
            ("WITH_TIME_PRORATION", [200, 0]), ("WITHOUT_PRORATION", [200, 0]),
            ("CHARGE_PRORATED_PRICE", [125, 200]), ("CHARGE_FULL_PRICE", [500, 200]),
        ] as [(String, [Int64])],
        [-1000, 1000] as [Int64]
    )
    func lost(_ mode: (name: String, credits: [Int64]), _ offset: Int64) throws {
        let (bought, rest) = try life(mode.name, offset)
        let known = credits(bought + rest)
        if offset < 0 { #expect(known == mode.credits) }
        for results in [rest, rest.reversed(), rest + rest, rest + bought, rest.reversed() + bought + rest] {
            #expect(credits(results) == known)
        }
    }
}
