import Foundation
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Credits of a change on Google Play after a purchase whose notification is lost")
struct LostPurchaseCreditTests {
    typealias Vectors = GoogleVectors
    typealias Known = ReplacementCreditTests

    /// Purchases of one cycle, each of which takes the place of the one before: those that are replaced, as they were bought; and the last
    /// one, with the ends of the others by a change, which show no paid end any more.
    ///
    /// - Parameters:
    ///   - modes: the mode of each change, or one for all.
    ///   - offset: the milliseconds between the end of the one and the beginning of the other.
    private func life(
        _ products: [String],
        _ modes: [String],
        offset: Int64
    ) throws -> (bought: [Normalization], rest: [Normalization]) {
        let share = 30 * Known.day / Int64(products.count)
        var (bought, rest): ([Normalization], [Normalization]) = ([], [])
        var others: [GoogleResolution.Lookup] = []
        for (index, product) in products.enumerated() {
            let time = Known.start + Int64(index) * share
            let isLast = index + 1 == products.count
            let token = index == 0 ? Vectors.token : "token-\(index)"
            let mode = index == 0 ? nil : modes.count == 1 ? modes[0] : modes[index - 1]
            var item = Known.item(
                product,
                order: index,
                until: Known.start + (mode == "CHARGE_FULL_PRICE" ? 50 : 30) * Known.day
            )
            if let mode {
                item.extra["itemReplacement"] =
                    #"{"productId":"\#(products[index - 1])","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
            }
            var purchase = Vectors.purchase("ACTIVE").with {
                $0.start = time + (index == 0 ? -2000 : offset)
                $0.items = [item]
            }
            purchase.linked = others.first?.key
            let statement = try Play.map(4, purchase, token: token, at: time, others: others)
            if isLast {
                rest.insert(statement, at: 0)
            } else {
                bought.append(statement)
                let replaced = Known.replaced(purchase, at: time + share)
                rest.append(try Play.map(13, replaced, token: token, at: time + share + 2500, others: others))
                others.insert(Play.found(.subscription, for: token, replaced.json), at: 0)
            }
        }
        return (bought, rest)
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
        "the change, or the end by it, gives what the purchase had, in any order, and the purchase adds nothing if it comes after all",
        arguments: [
            ("WITH_TIME_PRORATION", [200, 0]), ("WITHOUT_PRORATION", [200, 0]),
            ("CHARGE_PRORATED_PRICE", [125, 200]), ("CHARGE_FULL_PRICE", [500, 200]),
        ] as [(String, [Int64])],
        [-1000, 1000] as [Int64]
    )
    func lost(mode: (name: String, credits: [Int64]), offset: Int64) throws {
        let (bought, rest) = try life(["basic", "pro"], [mode.name], offset: offset)
        let known = credits(bought + rest)
        if offset < 0 { #expect(known == mode.credits) }
        let change = try #require(rest.first)
        for results in [
            rest, rest.reversed(), rest + rest, rest + bought, rest.reversed() + bought + rest, [change],
            [change] + bought,
        ] {
            #expect(credits(results) == known)
        }
    }

    @Test(
        "the paid end of each is that of the last, where the changes follow each other",
        arguments: [-1000, 1000] as [Int64]
    )
    func lostInARow(offset: Int64) throws {
        let (bought, rest) = try life(["basic", "pro", "max"], ["CHARGE_PRORATED_PRICE"], offset: offset)
        let last = try #require(rest.first)
        let known = credits(bought + rest)
        for results in [rest, rest.reversed(), rest + bought, [last]] { #expect(credits(results) == known) }
    }

    /// The one that is replaced in the middle shows no paid end, and neither does one that begins a cycle of its own.
    @Test(
        "a prorated charge leaves the cycle of the purchase before, also where another change follows it",
        arguments: [1, 2],
        ["CHARGE_FULL_PRICE", "WITHOUT_PRORATION", "WITH_TIME_PRORATION"]
    )
    func lostInTheMiddle(prorated: Int, lastMode: String) throws {
        let products = ["basic", "pro", "max", "basic"].suffix(prorated + 1) + ["pro"]
        let modes = Array(repeating: "CHARGE_PRORATED_PRICE", count: prorated) + [lastMode]
        let (bought, rest) = try life(Array(products), modes, offset: -1000)
        let known = credits(bought + rest)
        let (first, middle) = (bought.prefix(1), bought.dropFirst())
        for results in [first + rest, first + rest + middle, first + rest.reversed(), rest + first] {
            #expect(credits(Array(results)) == known)
        }
    }

    /// The customer plans a change for the end of the period, and then buys another plan at once.
    @Test(
        "time that a planned change left as it was is paid for, also where that purchase is replaced before it is heard of"
    )
    func lostAfterDeferredChange() throws {
        let (planned, changed) = (Known.start + 10 * Known.day, Known.start + 20 * Known.day)
        let end = Known.start + 30 * Known.day
        let first = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start - 2000
            $0.items = [Known.item("basic", order: 0, until: end)]
        }
        var middle = first.with {
            $0.start = planned - 1000
            $0.items[0].isRenewing = false
            $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"pro"}"#
            $0.items.append(
                Known.item("pro", order: 1, until: end).with {
                    ($0.order, $0.expiry) = (nil, nil)
                    $0.extra["itemReplacement"] =
                        #"{"productId":"basic","basePlanId":"monthly","replacementMode":"DEFERRED"}"#
                }
            )
        }
        middle.linked = Vectors.token
        let last = Vectors.purchase("ACTIVE").with {
            $0.start = changed - 1000
            $0.items = [
                Known.item("max", order: 2, until: changed + 30 * Known.day).with {
                    $0.extra["itemReplacement"] =
                        #"{"productId":"basic","basePlanId":"monthly","replacementMode":"CHARGE_FULL_PRICE"}"#
                }
            ]
            $0.linked = "token-1"
        }
        let before = Play.found(.subscription, for: Vectors.token, Known.replaced(first, at: planned).json)
        let replaced = Known.replaced(middle, at: changed - 1000)
        func notified(_ purchase: Vectors.Purchase, askedAt: Int64) throws -> Normalization {
            try Play.map(4, purchase, token: "token-1", at: planned, askedAt: askedAt, others: [before])
        }
        let bought = try Play.map(4, first, at: Known.start)
        let change = try Play.map(
            4,
            last,
            token: "token-2",
            at: changed,
            others: [Play.found(.subscription, for: "token-1", replaced.json), before]
        )
        let late = try notified(replaced, askedAt: changed + Known.day)
        let ended = try Play.map(13, replaced, token: "token-1", at: changed + 2500, others: [before])
        let known = credits([bought, try notified(middle, askedAt: planned + 1500), change, ended])
        #expect(known == [1200, 200])
        for results in [
            [bought, change], [bought, change, ended], [bought, change, ended, late], [bought, late, change],
            [change, late, bought],
        ] {
            #expect(credits(results) == known)
        }
    }

    private static func order(_ id: String, of product: String, from start: Int64, until end: Int64) -> String {
        """
        {"orderId":"\(id)","state":"PROCESSED","lineItems":[{"productId":"\(product)","subscriptionDetails":{\
        "basePlanId":"monthly","servicePeriodStartTime":\(Vectors.JSON.time(start)),"servicePeriodEndTime":\(Vectors.JSON.time(end))}}]}
        """
    }

    /// For 60 days Google Play says how a purchase took the place of another.
    @Test("a change is known by its first renewal", arguments: ["CHARGE_FULL_PRICE", "CHARGE_PRORATED_PRICE"])
    func lostUntilRenewal(mode: String) throws {
        let end = Known.start + (mode == "CHARGE_FULL_PRICE" ? 50 : 30) * Known.day
        let (bought, rest) = try life(["basic", "pro"], [mode], offset: -1000)
        let change = try #require(rest.first)
        var renewed = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start + 15 * Known.day - 1000
            $0.items = [
                Known.item("pro", order: 1, until: end + 30 * Known.day).with {
                    $0.order? += "..0"
                    $0.extra["itemReplacement"] =
                        #"{"productId":"basic","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
                }
            ]
        }
        renewed.linked = Vectors.token
        let order = try #require(renewed.items[0].order)
        let first = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start - 2000
            $0.items = [Known.item("basic", order: 0, until: Known.start + 30 * Known.day)]
        }
        let replaced = Known.replaced(first, at: Known.start + 15 * Known.day)
        let renewal = try Play.map(
            2,
            renewed,
            token: "token-1",
            at: end - 100_000,
            others: [
                Play.found(.subscription, for: Vectors.token, replaced.json),
                Play.found(.order, for: order, Self.order(order, of: "pro", from: end, until: end + 30 * Known.day)),
            ]
        )
        #expect(credits(bought + rest + [renewal]) == [500, 200])
        for results in [
            bought + [renewal], bought + rest.dropFirst() + [renewal], bought + [renewal] + rest,
            [renewal] + bought + [change],
        ] {
            #expect(credits(results) == [500, 200])
        }
    }

    /// The charge for a planned change failed at first. The old item is listed until the payment, and what it had lapsed.
    @Test("a planned change that is paid for in grace gives nothing of the old product", arguments: ["", "..0"])
    func deferredChangePaidInGrace(suffix: String) throws {
        let end = Known.start + 30 * Known.day
        let paidAt = end + 3 * Known.day
        let first = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start - 2000
            $0.items = [Known.item("basic", order: 0, until: end)]
        }
        let replacement = #"{"productId":"basic","basePlanId":"monthly","replacementMode":"DEFERRED"}"#
        var paid = Vectors.purchase("ACTIVE").with {
            $0.start = Known.start + 10 * Known.day
            $0.items = [
                Known.item("basic", order: 0, until: paidAt).with { $0.isRenewing = false },
                Known.item("pro", order: 1, until: end + 30 * Known.day).with {
                    $0.order? += suffix
                    $0.extra["itemReplacement"] = replacement
                },
            ]
        }
        paid.linked = Vectors.token
        let planned = paid.with {
            $0.items[0].expiry = end
            $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"pro"}"#
            ($0.items[1].order, $0.items[1].expiry) = (nil, nil)
        }
        let failed = planned.with {
            $0.state = "IN_GRACE_PERIOD"
            $0.items[0].expiry = end + 7 * Known.day
        }
        let others = [
            Play.found(
                .subscription,
                for: Vectors.token,
                Known.replaced(first, at: Known.start + 10 * Known.day).json
            )
        ]
        let order = try #require(paid.items[1].order)
        let results = [
            try Play.map(4, first, at: Known.start),
            try Play.map(4, planned, token: "token-1", at: Known.start + 10 * Known.day, others: others),
            try Play.map(6, failed, token: "token-1", at: end + 1000, others: others),
            try Play.map(
                2,
                paid,
                token: "token-1",
                at: paidAt + 1000,
                others: others + [
                    Play.found(
                        .order,
                        for: order,
                        Self.order(order, of: "pro", from: end, until: end + 30 * Known.day)
                    )
                ]
            ),
        ]
        #expect(credits(results) == [500, 0])
    }
}
