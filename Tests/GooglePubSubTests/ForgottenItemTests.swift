import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("The end of a purchase that Google no longer keeps")
struct ForgottenItemTests {
    typealias Vectors = GoogleVectors

    private static func gone(_ number: Int, at time: Int64) throws -> Authenticated<GoogleResolution> {
        try Play.resolved(
            Vectors.hint(number, at: time),
            [.init(.subscription, Vectors.token, PlayAnswer(.gone, status: 410))],
            askedAt: time + 1500
        )
    }

    @Test(
        "ends all of its items, with and without a configured add-on, in any order",
        arguments: [12, 13],
        [[], ["audio"], ["premium"]] as [Set<String>]
    )
    func ends(_ number: Int, addOns: Set<String>) throws {
        let end = Vectors.event + 30 * Vectors.day
        let purchase = Vectors.purchase("ACTIVE").with {
            $0.items = ["premium", "audio"].map { product in
                Play.item.with { ($0.product, $0.expiry) = (product, end) }
            }
        }
        let bought = try ResolutionMapping(
            resolved: Play.resolved(Vectors.hint(4), [Play.found(.subscription, Vectors.token, purchase.json)]),
            prior: nil,
            addOns: addOns
        ).normalization
        let time = Vectors.event + Vectors.day
        let over = try ResolutionMapping(
            resolved: Self.gone(number, at: time),
            prior: nil,
            addOns: addOns
        ).normalization
        #expect(over.kinds == [number == 12 ? "revoked" : "expired"])
        for order in [[bought, over], [over, bought], [bought, over, bought, over]] {
            var ledger = AccountLedger()
            for result in order { _ = ledger.apply(result) }
            for (moment, products) in [(time - 1, ["audio", "premium"]), (time + 1, []), (end - 1, [])] {
                let granted = ledger.states.compactMap { state in
                    let snapshot = state.snapshot(at: Play.date(moment))
                    return snapshot.access.isGranted ? snapshot.product.map { String($0.prefix { $0 != ":" }) } : nil
                }
                #expect(granted.sorted() == products)
            }
        }
    }
}
