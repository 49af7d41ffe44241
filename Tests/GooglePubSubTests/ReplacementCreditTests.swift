import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Credits of plan changes on Google Play")
struct ReplacementCreditTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day
    static let policy = CreditPolicy([
        "basic:monthly": .init(credits: 200, price: Money(ExactDecimal(10), "EUR")),
        "pro:monthly": .init(credits: 500, price: Money(ExactDecimal(20), "EUR")),
        "max:monthly": .init(credits: 1200, price: Money(ExactDecimal(40), "EUR")),
    ])

    /// The rest of credits with an end, and of those without.
    struct Host {
        var ledger = AccountLedger()
        private var now = Date.distantPast
        private var uses: [CreditUse] = []

        mutating func use(_ credits: Int64) { uses.append(CreditUse(id: "\(uses.count)", credits: credits, at: now)) }

        mutating func handle(_ events: [NormalizedEvent]) {
            for event in events {
                _ = ledger.apply(event)
                // A charge may come minutes ahead of its period.
                now = max(now, event.receivedAt + 600)
            }
        }

        private func left(isLasting: Bool) -> Int64 {
            CreditStatement(of: ledger.states, under: ReplacementCreditTests.policy, uses: uses, at: now).grants
                .filter { ($0.until == nil) == isLasting }.reduce(0) { $0 + $1.left }
        }

        var left: Int64 { left(isLasting: false) }
        var bought: Int64 { left(isLasting: true) }
    }

    /// A purchase whose place another one took.
    static func replaced(_ purchase: Vectors.Purchase, at time: Int64) -> Vectors.Purchase {
        purchase.with {
            $0.state = "EXPIRED"
            $0.items[0].expiry = time
            $0.items[0].isRenewing = false
            $0.extra["canceledStateContext"] = Vectors.canceled("replacement")
        }
    }

    static func item(_ product: String, order: Int, until expiry: Int64) -> Vectors.Item {
        Play.item.with {
            $0.product = product
            $0.order = "GPA.3312-4415-6677-8899\(order)"
            $0.expiry = expiry
        }
    }

    /// Neither mode charges anything before the next renewal, and a customer may change as often as an app lets them.
    @Test(
        "changing to and fro without being charged gives no credits",
        arguments: ["WITH_TIME_PRORATION", "WITHOUT_PRORATION"],
        [(nil, true), ("audio", true), ("voice", true), ("audio", false)] as [(String?, Bool)]
    )
    func toAndFro(mode: String, beside: (kept: String?, seesPredecessor: Bool)) throws {
        var host = Host()
        // Whichever of the items stands for the purchase.
        let keptItems = beside.kept.map { [Self.item($0, order: 0, until: Self.start + 30 * Self.day)] } ?? []
        var before = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("basic", order: 0, until: Self.start + 30 * Self.day)] + keptItems
        }
        host.handle(try Play.map(4, before, at: Self.start).events)
        #expect(host.left + host.bought == 200)
        for change in 1...4 {
            let (product, replaced) = change % 2 == 1 ? ("pro", "basic") : ("basic", "pro")
            let time = Self.start + Int64(change) * Self.day
            var new = Vectors.purchase("ACTIVE").with {
                $0.start = time - 1000
                $0.items = [
                    Self.item(product, order: change, until: Self.start + 30 * Self.day).with {
                        $0.extra["itemReplacement"] =
                            #"{"productId":"\#(replaced)","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
                    }
                ]
                $0.items += keptItems.map { item in
                    item.with {
                        $0.extra["itemReplacement"] =
                            #"{"productId":"\#(item.product)","basePlanId":"monthly","replacementMode":"KEEP_EXISTING"}"#
                    }
                }
            }
            let token = change == 1 ? Vectors.token : "token-\(change - 1)"
            new.linked = token
            let events = try Play.map(
                4,
                new,
                token: "token-\(change)",
                at: time,
                others: beside.seesPredecessor ? [Play.found(.subscription, for: token, before.json)] : []
            ).events
            #expect(events.filter { $0.product?.id.rawValue == product }.map(\.kind) == [.productChanged])
            host.handle(events)
            #expect(host.left + host.bought == 200, "after change \(change)")
            before = new
        }
        // The next renewal is charged in full.
        for index in before.items.indices {
            before.items[index].order = "GPA.3312-4415-6677-88994..0"
            before.items[index].expiry = Self.start + 60 * Self.day
            before.items[index].extra["itemReplacement"] = nil
        }
        host.handle(try Play.map(2, before, token: "token-4", at: Self.start + 30 * Self.day).events)
        #expect((host.left, host.bought) == (200, 0))
    }

    /// The year that was replaced would go on for long.
    @Test("a renewal pays out in full, even if the change before it is reported late or never")
    func changeLost() throws {
        let (changed, renewed) = (Self.start + 10 * Self.day, Self.start + 40 * Self.day)
        var host = Host()
        var old = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("pro", order: 0, until: Self.start + 365 * Self.day)]
        }
        host.handle(try Play.map(4, old, at: Self.start).events)
        #expect(host.left == 500)
        old.items[0].expiry = changed
        old.state = "EXPIRED"
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        host.handle(try Play.map(13, old, at: changed + 2000).events)
        var new = Vectors.purchase("ACTIVE").with {
            $0.start = changed
            $0.items = [Self.item("basic", order: 1, until: renewed + 30 * Self.day)]
        }
        new.items[0].order = "GPA.3312-4415-6677-88991..0"
        new.linked = Vectors.token
        let others = [Play.found(.subscription, for: Vectors.token, old.json)]
        host.handle(try Play.map(2, new, token: "token-1", at: renewed, others: others).events)
        #expect((host.left, host.bought) == (200, 0))
    }

    /// Renewals are notified up to minutes before the period that they follow has ended.
    @Test(
        "a deferred change that is charged minutes early is no change at once",
        arguments: [-270_000, 4000] as [Int64],
        [true, false]
    )
    func deferredChangeEarly(offset: Int64, listsOld: Bool) throws {
        let end = Self.start + 30 * Self.day
        var host = Host()
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("pro", order: 0, until: end)]
        }
        host.handle(try Play.map(4, bought, at: Self.start).events)
        #expect((host.left, host.bought) == (500, 0))
        var planned = bought.with {
            $0.start = Self.start + 10 * Self.day - 1000
            $0.items[0].isRenewing = false
            $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"basic"}"#
            $0.items.append(
                Self.item("basic", order: 1, until: end).with {
                    $0.order = nil; $0.expiry = nil
                }
            )
        }
        planned.linked = Vectors.token
        let changedAt = Self.start + 10 * Self.day
        host.handle(try Play.map(4, planned, token: Vectors.oldToken, at: changedAt).events)
        let old = Self.replaced(bought, at: changedAt)
        host.handle(try Play.map(13, old, at: changedAt + 2500).events)
        #expect((host.left, host.bought) == (500, 0))
        // A replaced item may be listed for a while, and its time need not be over.
        let basic = Self.item("basic", order: 1, until: end + 30 * Self.day).with { $0.order? += "..0" }
        let left = planned.items[0].with { $0.extra["deferredItemReplacement"] = nil }
        let renewed = planned.with { $0.items = listsOld ? [left, basic] : [basic] }
        let result = try Play.map(
            2,
            renewed,
            token: Vectors.oldToken,
            at: end + offset,
            others: [Play.found(.subscription, for: Vectors.token, old.json)]
        )
        var ledger = host.ledger
        #expect(result.events.map { ledger.apply($0).event.kind } == [.renewed])
        host.handle(result.events)
        #expect((host.left, host.bought) == (200, 0))
        for statement in result.statements { ledger.apply(statement) }
        let lineage = try #require(result.events.first?.subscription)
        let snapshot = try #require(ledger[lineage]).snapshot(at: Play.date(end + 5000))
        #expect((snapshot.product, snapshot.willRenew) == ("basic:monthly", true))
    }

    /// After a day of outage, a host hears of the change when the renewal after it has been charged already.
    @Test(
        "a change that is reported after a renewal's charge does not take the renewal's credits",
        arguments: [
            "WITH_TIME_PRORATION", "WITHOUT_PRORATION", "CHARGE_PRORATED_PRICE", "CHARGE_FULL_PRICE", "DEFERRED",
        ]
    )
    func reportedAfterRenewal(mode: String) throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("basic", order: 0, until: Self.start + 30 * Self.day)]
        }
        let changedAt = Self.start + 29 * Self.day
        let replaced = Self.replaced(bought, at: changedAt)
        var renewed = Vectors.purchase("ACTIVE").with {
            $0.start = changedAt - 1000
            $0.items = [
                Self.item("pro", order: 1, until: Self.start + 60 * Self.day).with {
                    // A deferred change is charged for the first time when it takes effect.
                    if mode != "DEFERRED" { $0.order? += "..0" }
                    $0.extra["itemReplacement"] =
                        #"{"productId":"basic","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
                }
            ]
        }
        renewed.linked = Vectors.token
        let renewedAt = Self.start + 30 * Self.day
        for order in [[(4, changedAt), (2, renewedAt)], [(2, renewedAt), (4, changedAt)]] {
            var host = Host()
            host.handle(try Play.map(4, bought, at: Self.start).events)
            host.use(150)
            for (number, time) in order {
                host.handle(
                    try Play.map(
                        number,
                        renewed,
                        token: "token-1",
                        at: time,
                        askedAt: renewedAt + Self.day,
                        others: [Play.found(.subscription, for: Vectors.token, replaced.json)]
                    ).events
                )
            }
            #expect((host.left, host.bought) == (500, 0), "\(order)")
        }
    }

    @Test("another product that is paid in advance tops nothing up, and takes nothing of what is left")
    func prepaidChange() throws {
        var host = Host()
        let old = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("basic", order: 0, until: Self.start + 30 * Self.day).with { $0.isPrepaid = true }]
        }
        host.handle(try Play.map(4, old, at: Self.start).events)
        host.use(50)
        let time = Self.start + 10 * Self.day
        var new = Vectors.purchase("ACTIVE").with {
            $0.start = time - 1000
            $0.items = [
                Self.item("pro", order: 1, until: time + 30 * Self.day).with {
                    $0.isPrepaid = true
                    $0.extra["itemReplacement"] =
                        #"{"productId":"basic","basePlanId":"monthly","replacementMode":"CHARGE_FULL_PRICE"}"#
                }
            ]
        }
        new.linked = Vectors.token
        let events = try Play.map(
            4,
            new,
            token: "token-1",
            at: time,
            others: [Play.found(.subscription, for: Vectors.token, old.json)]
        ).events
        #expect(events.map(\.kind).contains(.productChanged))
        host.handle(events)
        #expect((host.left, host.bought) == (500, 150))
    }

    /// Without a word of its own, Google Play's revocation ends the period and names no refund.
    @Test("a purchase after a revocation gives its credits in full")
    func boughtAfterRevocation() throws {
        var host = Host()
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("pro", order: 0, until: Self.start + 30 * Self.day)]
        }
        host.handle(try Play.map(4, bought, at: Self.start).events)
        let revokedAt = Self.start + 3 * Self.day
        let revoked = bought.with {
            $0.state = "EXPIRED"
            $0.items[0].expiry = revokedAt
            $0.items[0].isRenewing = false
            $0.extra["canceledStateContext"] = Vectors.canceled("developerInitiated")
        }
        host.handle(try Play.map(12, revoked, at: revokedAt + 2000).events)
        #expect((host.left, host.bought) == (0, 0))
        let returnedAt = revokedAt + Self.day
        let returned = Vectors.purchase("ACTIVE").with {
            $0.start = returnedAt - 1000
            $0.items = [Self.item("basic", order: 1, until: returnedAt + 30 * Self.day)]
            $0.extra["outOfAppPurchaseContext"] = #"{"expiredPurchaseToken":"\#(Vectors.token)"}"#
        }
        host.handle(try Play.map(4, returned, token: Vectors.oldToken, at: returnedAt).events)
        #expect(host.ledger.states.count == 1)
        #expect((host.left, host.bought) == (200, 0))
    }

    /// Pub/Sub keeps no order: a payment may be reported after the change that leaves it as it is.
    @Test(
        "a paid period pays out, even if a change for its end is reported first",
        arguments: [nil, 0],
        ["deferred", "kept"]
    )
    func paidBeforeChange(renewal: Int?, change: String) throws {
        let end = Self.start + 30 * Self.day
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items = [Self.item("pro", order: 0, until: end)]
            if let renewal { $0.items[0].order?.append("..\(renewal)") }
        }
        var new = bought.with {
            $0.start = Self.start + 599_000
            if change == "deferred" {
                $0.items[0].isRenewing = false
                $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"basic"}"#
                $0.items.append(
                    Self.item("basic", order: 1, until: end).with {
                        $0.order = nil; $0.expiry = nil
                    }
                )
            } else {
                $0.items[0].extra["itemReplacement"] =
                    #"{"productId":"pro","basePlanId":"monthly","replacementMode":"KEEP_EXISTING"}"#
                $0.items.append(Self.item("voice", order: 1, until: end))
            }
        }
        new.linked = Vectors.oldToken
        let paid = try Play.map(renewal == nil ? 4 : 2, bought, token: Vectors.oldToken, at: Self.start).events
        let changed = try Play.map(
            4,
            new,
            at: Self.start + 600_000,
            others: [Play.found(.subscription, for: Vectors.oldToken, bought.json)]
        ).events
        for order in [[paid, changed], [changed, paid], [changed, paid, changed, paid]] {
            var host = Host()
            for events in order { host.handle(events) }
            #expect((host.left, host.bought) == (500, 0))
        }
    }

    /// Asked after an outage, Google Play answers that what it tells the purchase of was taken back.
    @Test("coins that were taken back before anybody asked leave the other coins alone", arguments: [false, true])
    func takenBackBeforeAsked(isKnown: Bool) throws {
        let policy = CreditPolicy(["coins_100": .init(credits: 100)])
        let bought = try Play.mapProduct(Vectors.oneTimeHint(1), Vectors.Product()).events
        let taken = Vectors.Product(state: "CANCELLED")
        let late = try Play.mapProduct(Vectors.oneTimeHint(1), taken).events
        let voided = try Play.mapProduct(Vectors.voidedHint(2, 1, order: Vectors.productOrder), taken).events
        for order in [[late], [late, voided], [voided, late], [late, voided, late, voided]] {
            let ledger = AccountLedger(applying: (isKnown ? bought : []) + order.joined())
            let end = Date(timeIntervalSince1970: 4_000_000_000)
            #expect(CreditStatement(of: ledger.states, under: policy, uses: [], at: end).balance == 0)
        }
    }
}
