import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("The refund of an order of several one-time products")
struct ProductRefundTests {
    typealias Vectors = GoogleVectors

    private static let policy = CreditPolicy(["coins_100": .init(credits: 100), "gems_5": .init(credits: 50)])
    private static let refundedAt = Vectors.event + Vectors.day

    private static func bought(refundable coins: Int = 1, _ gems: Int = 1) -> Vectors.Product {
        Vectors.Product(
            details: ["quantity": "1", "refundableQuantity": String(coins)],
            otherItems: [
                #"{"productId":"gems_5","productOfferDetails":{"quantity":1,"refundableQuantity":\#(gems)}}"#
            ]
        )
    }

    private static func purchase() throws -> Normalization {
        try Play.mapProduct(Vectors.oneTimeHint(1), bought())
    }

    private static func voided(_ refundType: Int, _ answer: PlayAnswer) throws -> Normalization {
        try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(2, refundType, order: Vectors.productOrder, at: refundedAt),
                [.init(.product, about: Vectors.token, answer)],
                askedAt: refundedAt + 1500
            )
        ).normalization
    }

    private static func gone() throws -> Normalization { try voided(1, PlayAnswer(.gone, status: 410)) }

    private static func coinsAlone() throws -> Normalization {
        try voided(1, PlayAnswer(.found, status: 200, body: Array(bought(refundable: 0).json.utf8)))
    }

    private static func state(of results: [Normalization]) throws -> SubscriptionState {
        let lineage = try #require(results.first?.statements.first?.subscription)
        var state = SubscriptionState(lineage)
        for statement in results.flatMap(\.statements) { state.apply(statement) }
        // As a host keeps it: nothing about the refund is in it that earlier versions did not store.
        return try JSONDecoder().decode(SubscriptionState.self, from: JSONEncoder().encode(state))
    }

    private static func credits(_ state: SubscriptionState, at time: Int64) -> Int64 {
        CreditStatement(of: [state], under: policy, uses: [], at: Play.date(time)).balance
    }

    @Test("takes all of them back, also if Google has forgotten the purchase and the order was not asked for")
    func forgotten() throws {
        let (bought, gone) = (try Self.purchase(), try Self.gone())
        #expect(gone.kinds == ["refunded"])
        for results in [[bought, gone], [gone, bought], [bought, gone, gone, bought]] {
            let state = try Self.state(of: results)
            #expect(state.access(at: Play.date(Self.refundedAt - 1)).isGranted)
            #expect(!state.access(at: Play.date(Self.refundedAt + 1)).isGranted)
            #expect(Self.credits(state, at: Self.refundedAt - 1) == 150)
            #expect(Self.credits(state, at: Self.refundedAt + 1) == 0)
        }
    }

    /// Of ten two go back, then three more, then the rest: a notification says that something did, and the purchase how much is left.
    @Test("of a quantity takes as many credits as items went back by then, in any order of arrival")
    func quantity() throws {
        func product(_ left: Int) -> Vectors.Product {
            Vectors.Product(details: ["quantity": "10", "refundableQuantity": String(left)])
        }
        func voided(_ type: Int, _ left: Int, day: Int64) throws -> Normalization {
            let time = Vectors.event + day * Vectors.day
            return try Play.mapProduct(
                Vectors.voidedHint(2, type, order: Vectors.productOrder, at: time),
                product(left)
            )
        }
        let bought = try Play.mapProduct(Vectors.oneTimeHint(1), product(10))
        let (two, five, all) = (try voided(2, 8, day: 1), try voided(2, 5, day: 2), try voided(1, 0, day: 3))
        let shares = try [[bought], [bought, two], [five, two, bought, two], [two, all, bought, five]].map { results in
            Self.credits(try Self.state(of: results), at: Vectors.event + 4 * Vectors.day)
        }
        #expect(shares == [1000, 800, 500, 0])
        #expect([two, five, all].flatMap(\.kinds) == ["refunded", "refunded", "refunded"])
    }

    @Test("takes one of them back if the answer says that, until all of the order is")
    func coinsAlone() throws {
        let (bought, coins, gone) = (try Self.purchase(), try Self.coinsAlone(), try Self.gone())
        #expect(coins.kinds == ["refunded"])
        let state = try Self.state(of: [bought, coins])
        #expect(state.access(at: Play.date(Self.refundedAt + 1)).isGranted)
        #expect(Self.credits(state, at: Self.refundedAt + 5000) == 50)
        #expect(Self.credits(try Self.state(of: [coins, gone, bought]), at: Self.refundedAt + 5000) == 0)
    }

    /// A refund is an event of the product that went back, and a statement about the others.
    @Test("leaves another product of the order what the catalogue calls its purchase option", arguments: [true, false])
    func purchaseOption(listsProductToo: Bool) throws {
        func answer(_ coins: Int) -> Vectors.Product {
            Vectors.Product(
                details: ["quantity": "1", "refundableQuantity": String(coins)],
                otherItems: [
                    #"{"productId":"film","productOfferDetails":{"purchaseOptionId":"buy","refundableQuantity":1}}"#
                ]
            )
        }
        var products: [ProductCatalog.OneTimeProduct] = [
            .init(id: "coins_100", type: .consumable), .init(id: "film:buy", type: .nonConsumable),
        ]
        if listsProductToo { products.append(.init(id: "film", type: .consumable)) }
        let catalog = ProductCatalog([], oneTimeProducts: products, unlisted: .consumable)
        let bought = try Play.mapProduct(Vectors.oneTimeHint(1), answer(1)).described(by: catalog)
        let refunded = try Self.voided(1, PlayAnswer(.found, status: 200, body: Array(answer(0).json.utf8)))
            .described(by: catalog)
        #expect(refunded.kinds == ["refunded"])
        #expect(bought.anomalies == [])
        // It does not say which option was bought, and the notification that does may be lost.
        #expect(refunded.anomalies == ["the purchase option of film is not known"])
        for results in [[bought, refunded], [refunded, bought]] {
            let access = try Self.state(of: results).access(at: Play.date(Self.refundedAt + 5000))
            guard case .granted(_, let grant) = access else {
                Issue.record("\(access)")
                continue
            }
            #expect(grant.product == "film")
        }
    }

    @Test("is not undone by a relay's later statement about the first product, and not made by it")
    func relay() throws {
        var relayed = try #require(try Self.gone().statements.first)
        relayed.provider = .revenuecat
        relayed.assertedAt += 3600
        for (index, fact) in relayed.facts.enumerated() {
            guard case .refund(var refund) = fact else { continue }
            refund.at += 1
            relayed.facts[index] = .refund(refund)
        }
        for (results, credits) in [
            ([try Self.purchase(), try Self.gone()], 0), ([try Self.purchase()], 50),
        ] as [([Normalization], Int64)] {
            var state = try Self.state(of: results)
            let isApplied = state.apply(relayed)
            #expect(isApplied)
            #expect(Self.credits(state, at: Self.refundedAt + 2 * 3_600_000) == credits)
        }
    }

    @Test(
        "has amounts that add up to the order's, in cents",
        arguments: [
            (1500, [(1000, true), (500, true)], [1000, 500]),
            (500, [(500, true)], [500]),
            (900, [(1000, true)], [900]),
            // The rest is of the product that went back in part.
            (850, [(1000, false), (500, true)], [350, 500]),
            (850, [(1000, false), (500, true), (700, false)], [350, 500, nil]),
            (500, [(1000, false), (500, true)], [nil, 500]),
            // Prices that do not fit the sum say nothing of its parts.
            (1499, [(1000, true), (500, true)], [1499, nil]),
            (1501, [(1000, true), (500, true)], [1501, nil]),
            (1500, [(1000, true), (nil, true)], [1000, 500]),
            (nil, [(1000, true), (500, true)], [nil, nil]),
            (1500, [], []),
        ] as [(Int64?, [(Int64?, Bool)], [Int64?])]
    )
    func amounts(refunded: Int64?, items: [(total: Int64?, isWhole: Bool)], expected: [Int64?]) throws {
        func money(_ cents: Int64?) -> String? {
            cents.map { Vectors.money($0 / 100, nanos: $0 % 100 * 10_000_000) }
        }
        let lines = items.map { Vectors.JSON.object(["productId": "\"p\"", "total": money($0.total)]) }
        let refund = Vectors.JSON.object(["refundDetails": Vectors.JSON.object(["total": money(refunded)])])
        let order = Vectors.JSON.object([
            "orderId": "\"GPA.1\"", "lineItems": Vectors.JSON.array(lines),
            "orderHistory": Vectors.JSON.object(["refundEvent": refund]),
        ])
        let read = try PlayOrder(payload: Array(order.utf8))
        let amounts = read.refunded(of: zip(read.lineItems, items).map { ($0, $1.isWhole) })
        #expect(amounts.map { $0?.amount.coefficient(scale: 2).map { Int64($0) } } == expected)
    }
}
