import Foundation
import Normalizer
import NormalizerTesting
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
            let ledger = AccountLedger(applying: order)
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

    /// Pub/Sub delivers at least once, and Google may keep the purchase no longer by then.
    @Test(
        "is news once, and none while a successor runs",
        arguments: [["premium"], ["premium", "audio"]],
        [[], ["audio"]] as [Set<String>]
    )
    func reportedOnce(products: [String], addOns: Set<String>) throws {
        let (start, changed) = (Vectors.event, Vectors.event + 9 * Vectors.day)
        func mapped(
            _ number: Int,
            _ purchases: [(token: String, purchase: Vectors.Purchase)],
            at time: Int64
        ) throws -> Normalization {
            let hint = Vectors.hint(number, token: purchases[0].token, at: time)
            let answers = purchases.map { Play.found(.subscription, for: $0.token, $0.purchase.json) }
            return try ResolutionMapping(
                resolved: Play.resolved(hint, answers, askedAt: time + 1500),
                addOns: addOns
            ).normalization
        }
        func listed(until end: Int64, order: String = Vectors.order, isRenewing: Bool = true) -> [Vectors.Item] {
            products.map { product in
                Play.item.with {
                    ($0.product, $0.order, $0.expiry, $0.isRenewing) = (product, order, end, isRenewing)
                }
            }
        }
        let bought = Vectors.purchase("ACTIVE").with {
            ($0.start, $0.items) = (start, listed(until: start + 30 * Vectors.day))
        }
        let replaced = bought.with {
            ($0.state, $0.items) = ("EXPIRED", listed(until: changed, isRenewing: false))
            $0.extra["canceledStateContext"] = Vectors.canceled("replacement")
        }
        let successor = bought.with {
            $0.start = changed
            $0.items = listed(until: changed + 30 * Vectors.day, order: "GPA.3388-7777-6666-55555")
            $0.linked = Vectors.token
        }
        let began = try mapped(4, [(Vectors.token, bought)], at: start)
        let ended = try mapped(13, [(Vectors.token, replaced)], at: changed + 2500)
        let followed = try mapped(4, [(Vectors.oldToken, successor), (Vectors.token, replaced)], at: changed)
        let forgotten = try ResolutionMapping(resolved: Self.gone(.expired, at: changed + 2500), addOns: addOns)
            .normalization
        let stories: [([Normalization], AppliedEvent.Disposition)] = [
            ([began], .applied), ([began, ended], .duplicate), ([began, followed], .superseded),
            ([began, followed, ended], .duplicate), ([began, forgotten], .duplicate),
        ]
        for (index, (story, disposition)) in stories.enumerated() {
            var ledger = AccountLedger(applying: story)
            #expect(ledger.apply(forgotten).map(\.disposition) == [disposition], "story \(index)")
        }
    }
}
