import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

/// `purchases.subscriptionsv2.revoke` with `itemBasedRefund` takes one item of several.
@Suite("One item of several is taken away on Google Play")
struct ItemRevocationTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day
    static let policy = CreditPolicy(["premium:monthly": .init(credits: 100), "voice:monthly": .init(credits: 7)])

    static func item(_ product: String, _ order: String, until days: Int64) -> Vectors.Item {
        Play.item.with {
            $0.product = product
            $0.order = order
            $0.expiry = start + days * day
        }
    }

    static func purchase(_ items: [Vectors.Item], isCanceled: Bool = false) -> Vectors.Purchase {
        Vectors.purchase(isCanceled ? "CANCELED" : "ACTIVE").with {
            $0.start = start - 2000
            $0.items = items
        }
    }

    @Test(
        "access and credits of that item end, and the other's go on",
        arguments: [0, 1],
        [(isRenewed: true, isCanceled: false), (true, true), (false, false)]
    )
    func revoked(index: Int, purchase: (isRenewed: Bool, isCanceled: Bool)) throws {
        let order = Vectors.order + (purchase.isRenewed ? "..0" : "")
        let items = ["premium", "voice"].map { Self.item($0, order, until: 30) }
        var remaining = items
        remaining[index].expiry = Self.start + 5 * Self.day
        remaining[index].isRenewing = false
        var (revoked, kept): (ProductID, ProductID) = ("premium:monthly", "voice:monthly")
        if index == 1 { swap(&revoked, &kept) }
        let revokedAt = Self.start + 5 * Self.day
        let next = remaining.enumerated().map { place, item in
            item.with {
                if place != index { $0.order = "\(Vectors.order)..1"; $0.expiry = Self.start + 60 * Self.day }
            }
        }
        let chapters = [
            try Play.map(purchase.isRenewed ? 2 : 4, Self.purchase(items), at: Self.start),
            try Play.map(
                12,
                Self.purchase(remaining, isCanceled: purchase.isCanceled),
                at: revokedAt,
                askedAt: revokedAt + 3000
            ),
            try Play.map(2, Self.purchase(next), at: Self.start + 30 * Self.day),
        ]
        var ledger = AccountLedger()
        func products(_ days: Int64) -> Set<ProductID> {
            let time = Play.date(Self.start + days * Self.day)
            return Set(
                ledger.states.filter { $0.access(at: time).isGranted }.compactMap { $0.snapshot(at: time).product }
            )
        }
        let keptCredits: Int64 = index == 0 ? 7 : 100
        let reported: [(products: Set<ProductID>, day: Int64, credits: Int64)] = [
            ([revoked, kept], 4, 107), ([kept], 6, keptCredits), ([kept], 31, keptCredits),
        ]
        for (chapter, expected) in zip(chapters, reported) {
            for statement in chapter.furtherStatements { ledger.apply(statement) }
            for event in chapter.events { _ = ledger.apply(event) }
            let time = Play.date(Self.start + expected.day * Self.day)
            #expect(products(expected.day == 4 ? 6 : expected.day) == expected.products, "day \(expected.day)")
            let statement = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: time)
            #expect(statement.balance == expected.credits, "day \(expected.day)")
        }
    }
}
