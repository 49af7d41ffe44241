import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("The end of a purchase that Google no longer keeps")
struct ForgottenItemTests {
    typealias Vectors = GoogleVectors

    /// A notification that ends the purchase.
    enum Word: CaseIterable {
        case revoked, expired, voided

        var kind: String { self == .voided ? "refunded" : "\(self)" }

        func hint(at time: Int64) -> String {
            switch self {
            case .revoked: Vectors.hint(12, at: time)
            case .expired: Vectors.hint(13, at: time)
            case .voided: Vectors.voidedHint(1, 1, order: Vectors.order, at: time)
            }
        }
    }

    private static let policy = CreditPolicy(["premium": .init(credits: 500), "audio": .init(credits: 70)])

    private static func gone(_ word: Word, at time: Int64) throws -> Authenticated<GoogleResolution> {
        try Play.resolved(
            word.hint(at: time),
            [.init(.subscription, about: Vectors.token, PlayAnswer(.gone, status: 410))],
            askedAt: time + 1500
        )
    }

    @Test(
        "ends all of its items, with and without a configured add-on, in any order",
        arguments: Word.allCases,
        [[], ["audio"], ["premium"]] as [Set<String>]
    )
    func ends(word: Word, addOns: Set<String>) throws {
        let end = Vectors.event + 30 * Vectors.day
        let purchase = Vectors.purchase("ACTIVE").with {
            $0.items = ["premium", "audio"].map { product in
                Play.item.with { ($0.product, $0.order, $0.expiry) = (product, Vectors.order, end) }
            }
        }
        let bought = try ResolutionMapping(
            resolved: Play.resolved(Vectors.hint(4), [Play.found(.subscription, for: Vectors.token, purchase.json)]),
            addOns: addOns
        ).normalization
        let time = Vectors.event + Vectors.day
        let over = try ResolutionMapping(
            resolved: Self.gone(word, at: time),
            addOns: addOns
        ).normalization
        #expect(over.kinds == [word.kind])
        for order in [[bought, over], [over, bought], [bought, over, bought, over]] {
            var ledger = AccountLedger()
            for result in order { _ = ledger.apply(result) }
            for (moment, products) in [(time - 1, ["audio", "premium"] as [ProductID]), (time + 1, []), (end - 1, [])] {
                let granted = ledger.states.compactMap { state in
                    let snapshot = state.snapshot(at: Play.date(moment))
                    return snapshot.access.isGranted ? snapshot.product?.subscription : nil
                }
                #expect(granted.sorted() == products)
                let credits = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: Play.date(moment))
                #expect(credits.balance == (products.isEmpty ? 0 : 570))
            }
        }
    }
}
