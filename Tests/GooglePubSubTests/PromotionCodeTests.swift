import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

/// Codes are redeemed in the Play Store app as well, and Google makes no order for them.
@Suite("One-time purchases without an order")
struct PromotionCodeTests {
    typealias Vectors = GoogleVectors
    static let policy = CreditPolicy(["coins_100": .init(credits: 100)])

    static func redeemed(_ token: String) throws -> [NormalizedEvent] {
        let product = Vectors.Product(order: nil)
        let resolved = try Play.resolved(
            Vectors.oneTimeHint(1, token: token),
            [Play.found(.product, for: token, product.json)]
        )
        return try ResolutionMapping(resolved: resolved).normalization.events
    }

    @Test("each promotion code that is redeemed gives its credits once, without an order")
    func redeemed() throws {
        var ledger = AccountLedger()
        for token in ["token-1", "token-2", "token-1"] {
            for event in try Self.redeemed(token) { _ = ledger.apply(event) }
        }
        let time = Play.date(Vectors.event + Vectors.day)
        let statement = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: time)
        #expect(statement.grants.map(\.credits) == [100, 100])
    }
}
