import Foundation
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Purchases that are looked up without a notification")
struct PurchaseQuestionMappingTests {
    typealias Vectors = GoogleVectors
    static let day = Vectors.day
    static let asked = Vectors.event + 5 * day
    static let account = Account.Identifier("acct-7f3a", .obfuscatedAccountID)

    static let first = Vectors.purchase("ACTIVE").with {
        $0.start = Vectors.event - 1000
        $0.items[0].order = Vectors.order
    }
    static let renewed = Vectors.purchase("ACTIVE")
    static let order = Play.found(
        .order,
        for: "\(Vectors.order)..1",
        """
        {"orderId":"\(Vectors.order)..1","state":"PROCESSED","lineItems":[{"productId":"premium","subscriptionDetails":\
        {"servicePeriodStartTime":\(Vectors.JSON.time(Vectors.event - 1000))}}]}
        """
    )

    static func question(
        _ purchase: Vectors.Purchase,
        others: [GoogleResolution.Lookup] = [],
        at time: Int64 = asked
    ) throws -> Normalization {
        try map(
            .subscription,
            [Play.found(.subscription, for: Vectors.token, purchase.json)] + others,
            at: time
        )
    }

    static func question(_ product: Vectors.Product, at time: Int64 = asked) throws -> Normalization {
        try map(.product, [Play.found(.product, for: Vectors.token, product.json)], at: time)
    }

    private static func map(
        _ kind: GooglePurchase.Kind,
        _ lookups: [GoogleResolution.Lookup],
        at time: Int64
    ) throws -> Normalization {
        let purchase = GooglePurchase(
            kind,
            packageName: Vectors.packageName,
            purchaseToken: PurchaseToken(Vectors.token),
            lookups: lookups
        )
        let authenticated = Authenticated(
            unchecked: purchase,
            receivedAt: Play.date(time),
            channel: .refetch,
            evidence: Origin.Evidence(.tls),
            digest: "d"
        )
        return try Google.adapter().normalize(authenticated)
    }

    @Test("an answer is as new as the question, as far as Google's clock bears ours out")
    func clocks() throws {
        for (received, asserted) in [(-3_600_000, -60_000), (-2500, -2500), (0, 0), (3_600_000, 0)] as [(Int64, Int64)]
        {
            var lookup = Play.found(.subscription, for: Vectors.token, Self.first.json)
            lookup.answer.answeredAt = Play.date(Self.asked)
            let event = try #require(try Self.map(.subscription, [lookup], at: Self.asked + received).events.first)
            #expect(event.assertedAt == Play.date(Self.asked + asserted), "\(received)")
        }
    }

    @Test("a first period is the event that notification 4 gives, whichever comes first")
    func firstPeriod() throws {
        let question = try Self.question(Self.first)
        let notified = try Play.map(4, Self.first)
        #expect(question.events.map(\.id) == notified.events.map(\.id))
        #expect(question.events.map(\.event) == notified.events.map(\.event))
        #expect(question.events.map(\.occurredAt) == notified.events.map(\.occurredAt))
        #expect(question.events.map(\.account) == [Account(Self.account.id, Self.account.source)])
        #expect(question.events.first?.origin.type == "purchases.subscriptionsv2")
        #expect(question.events.first?.origin.notificationID == nil)
        #expect(question.events.first?.assertedAt == Play.date(Self.asked))
        for results in [[question, notified], [notified, question], [question, question, notified]] {
            var ledger = AccountLedger()
            let applied = results.flatMap { ledger.apply($0) }
            #expect(applied.map(\.disposition) == [.applied] + results.dropFirst().map { _ in .duplicate })
            #expect(ledger.access(of: [Self.account], at: Play.date(Self.asked)).decision.isGranted)
        }
    }

    @Test("a renewal whose order was asked for is the event that notification 2 gives, whichever comes first")
    func renewal() throws {
        let question = try Self.question(Self.renewed, others: [Self.order])
        let notified = try Play.map(2, Self.renewed, others: [Self.order])
        #expect(question.kinds == ["renewed"])
        #expect(question.events.map(\.id) == notified.events.map(\.id))
        for results in [[question, notified], [notified, question]] {
            var ledger = AccountLedger()
            #expect(results.flatMap { ledger.apply($0) }.map(\.disposition) == [.applied, .duplicate])
        }
    }

    @Test("a renewal without a stated start gives access and no event, and its notification is the news")
    func renewalWithoutItsOrder() throws {
        let question = try Self.question(Self.renewed)
        #expect(question.kinds == [])
        #expect(question.noChange?.reason == .unchanged)
        var ledger = AccountLedger()
        #expect(ledger.apply(question).isEmpty)
        #expect(ledger.access(of: [Self.account], at: Play.date(Self.asked)).decision.isGranted)
        let late = try Play.map(2, Self.renewed, askedAt: Self.asked + 1000)
        #expect(late.kinds == ["renewed"])
        #expect(ledger.apply(late).map(\.disposition) == [.applied])
    }

    @Test(
        "how a purchase stands",
        arguments: [
            ("PENDING", ["purchase_pending"], false),
            ("PENDING_PURCHASE_CANCELED", ["purchase_pending_canceled"], false),
            ("ACTIVE", ["started"], true), ("CANCELED", ["started", "auto_renew_disabled"], true),
            ("IN_GRACE_PERIOD", ["billing_issue"], true), ("ON_HOLD", ["billing_issue"], false),
            ("PAUSED", ["paused"], false), ("EXPIRED", ["expired"], false), ("WORMHOLE", ["unmapped"], false),
        ]
    )
    func states(state: String, kinds: [String], isGranted: Bool) throws {
        let isUnpaid = state.hasPrefix("PENDING")
        let isOver = state == "EXPIRED" || state == "ON_HOLD"
        let purchase = Self.first.with {
            $0.state = state
            $0.items[0].isRenewing = state != "CANCELED"
            if isOver { $0.items[0].expiry = Self.asked - 1000 }
            if isUnpaid { ($0.start, $0.items[0].order, $0.items[0].expiry) = (nil, nil, nil) }
        }
        let result = try Self.question(purchase)
        #expect(result.kinds == kinds)
        var ledger = AccountLedger()
        _ = ledger.apply(result)
        #expect(ledger.access(of: [Self.account], at: Play.date(Self.asked)).decision.isGranted == isGranted)
    }

    /// Google's own notification of each state, which comes late and finds the same.
    @Test(arguments: [("CANCELED", 3), ("IN_GRACE_PERIOD", 6), ("ON_HOLD", 5), ("PAUSED", 10), ("EXPIRED", 13)])
    func notificationOfTheSameIsNoNews(state: String, number: Int) throws {
        let purchase = Self.first.with {
            $0.state = state
            $0.items[0].isRenewing = state != "CANCELED"
            if state == "EXPIRED" || state == "ON_HOLD" { $0.items[0].expiry = Self.asked - 1000 }
        }
        var ledger = AccountLedger()
        let news = ledger.apply(try Self.question(purchase)).filter(\.isNews).map(\.event.id)
        let late = ledger.apply(try Play.map(number, purchase, at: Self.asked - 500, askedAt: Self.asked + 5000))
        #expect(late.map(\.disposition) == [.duplicate])
        #expect(late.allSatisfy { news.contains($0.event.id) })
    }

    @Test func canceledPurchaseWhoseTimeIsOverHasExpired() throws {
        let purchase = Self.first.with {
            $0.state = "CANCELED"
            $0.items[0].isRenewing = false
            $0.items[0].expiry = Self.asked - 1000
        }
        #expect(try Self.question(purchase).kinds == ["expired"])
    }

    /// The charge is a moment late; the purchase goes on.
    @Test func activePurchaseWhoseTimeIsOverHasNotEnded() throws {
        let purchase = Self.first.with { $0.items[0].expiry = Self.asked - 1000 }
        #expect(try Self.question(purchase).kinds == [])
    }

    @Test func purchaseThatWaitsIsToBeAcknowledged() throws {
        let result = try Self.question(Self.first.with { $0.acknowledgement = "PENDING" })
        let notified = try Play.map(4, Self.first.with { $0.acknowledgement = "PENDING" })
        #expect(result.kinds == ["started", "acknowledgement_required"])
        #expect(result.events.map(\.id) == notified.events.map(\.id))
        #expect(result.events.map(\.event) == notified.events.map(\.event))
    }

    @Test func furtherItemsHaveTheirOwn() throws {
        let purchase = Self.first.with {
            var extra = $0.items[0]
            extra.product = "extra"
            var gone = extra
            (gone.product, gone.expiry) = ("gone", Self.asked - 1000)
            $0.items += [extra, gone]
        }
        let result = try Self.question(purchase)
        // In the order of their products: extra, gone, premium.
        #expect(result.kinds == ["started", "expired", "started"])
        #expect(Set(result.events.map(\.subscription)).count == 3)
    }

    /// When either happened, only its notification tells.
    @Test("a deferral and a withdrawn cancellation are reported once, by their notifications")
    func leftToNotifications() throws {
        var ledger = AccountLedger()
        func take(_ result: Normalization) -> [String] {
            ledger.apply(result).filter(\.isNews).map(\.event.kind.rawValue)
        }
        #expect(take(try Play.map(4, Self.first)) == ["started"])
        let canceled = Self.first.with {
            $0.state = "CANCELED"
            $0.items[0].isRenewing = false
        }
        #expect(take(try Self.question(canceled)) == ["auto_renew_disabled"])
        #expect(take(try Play.map(3, canceled, at: Self.asked - 500, askedAt: Self.asked + 500)) == [])
        #expect(take(try Self.question(Self.first, at: Self.asked + 1000)) == [])
        for (second, news) in [(Int64(2000), ["auto_renew_enabled"]), (3000, [])] {
            #expect(take(try Play.map(7, Self.first, at: Self.asked + 900, askedAt: Self.asked + second)) == news)
        }
        let longer = Self.first.with { $0.items[0].expiry = Vectors.event + 40 * Self.day }
        #expect(take(try Self.question(longer, at: Self.asked + 4000)) == [])
        for (second, news) in [(Int64(5000), ["extended"]), (6000, [])] {
            #expect(take(try Play.map(9, longer, at: Self.asked + 3900, askedAt: Self.asked + second)) == news)
        }
    }

    @Test("a price that is to change is the event that notification 19 gives")
    func priceChange() throws {
        let announced = Self.first.with {
            $0.items[0].plan["priceChangeDetails"] = """
                {"newPrice":{"currencyCode":"EUR","units":"12"},"priceChangeMode":"PRICE_INCREASE",\
                "priceChangeState":"OUTSTANDING","expectedNewPriceChargeTime":"2026-04-30T00:00:00Z"}
                """
        }
        let notified = try Play.map(19, announced)
        let result = try Self.question(announced)
        #expect(result.kinds == ["started", "price_change"])
        #expect(notified.events.map(\.id) == result.events.suffix(1).map(\.id))
        #expect(notified.events.map(\.event) == result.events.suffix(1).map(\.event))
    }

    /// Google states neither when what is kept until the change began under the new token, nor the time of the change.
    @Test("a planned change is reported from the end of the earlier purchase on, whenever it is looked up")
    func plannedChange() throws {
        let changedAt = Self.asked - 2 * Self.day
        let before = Self.renewed.with {
            $0.state = "EXPIRED"
            $0.items[0].expiry = changedAt
        }
        let planned = Self.renewed.with {
            $0.start = changedAt
            $0.linked = "token-1"
            $0.items[0].isRenewing = false
            $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"basic"}"#
        }
        for time in [changedAt + 1000, Self.asked, Self.asked + Self.day] {
            let predecessor = Play.found(.subscription, for: "token-1", before.json)
            let result = try Self.question(planned, others: [predecessor], at: time)
            #expect(result.kinds == ["product_change_scheduled"])
            #expect(result.events.first?.period?.start == Play.date(changedAt))
            // Nothing states when it began.
            #expect(try Self.question(planned, at: time).kinds == [])
        }
    }

    @Test("a product that a planned change has replaced did not expire")
    func changeInEffect() throws {
        let changed = Self.renewed.with {
            $0.linked = "token-1"
            var next = $0.items[0]
            $0.items[0].isRenewing = false
            $0.items[0].expiry = Self.asked - 1000
            (next.product, next.order) = ("basic", "\(Vectors.order)..2")
            $0.items.append(next)
        }
        #expect(try Self.question(changed).kinds == [])
        // A further item that was taken away did.
        let removed = changed.with {
            $0.items[0].order = "\(Vectors.order)..2"
            $0.items.swapAt(0, 1)
        }
        #expect(try Self.question(removed).kinds == ["expired"])
    }

    @Test("a one-time purchase is the event that its notification gives")
    func oneTime() throws {
        let notified = try Play.mapProduct(Vectors.oneTimeHint(1), Vectors.Product())
        let result = try Self.question(Vectors.Product())
        #expect(result.events.map(\.id) == notified.events.map(\.id))
        #expect(result.events.map(\.event) == notified.events.map(\.event))
        #expect(result.events.map(\.facts) == notified.events.map(\.facts))
        #expect(result.events.first?.origin.type == "purchases.productsv2")
        #expect(try Self.question(Vectors.Product(state: "PENDING", completion: nil)).kinds == ["purchase_pending"])
        #expect(try Self.question(Vectors.Product(state: "CANCELLED")).kinds == ["refunded"])
        #expect(
            try Self.question(Vectors.Product(state: "CANCELLED", completion: nil)).kinds
                == ["purchase_pending_canceled"]
        )
    }

    @Test("a customer who bought without an account token has access once the token is uploaded")
    func claim() throws {
        let bought = Self.first.with { $0.account = nil }
        let user = Account.Identifier("user-1", .obfuscatedAccountID)
        let time = Play.date(Self.asked)
        var ledger = AccountLedger()
        _ = ledger.apply(try Self.question(bought))
        #expect(!ledger.access(of: [user], at: time).decision.isGranted)
        _ = ledger.apply(try Self.question(bought).claimed(by: Account(user.id, user.source), at: time))
        #expect(ledger.access(of: [user], at: time).decision.isGranted)
        // Another customer's token, uploaded by one who came by it.
        let thief = Account.Identifier("user-2", .obfuscatedAccountID)
        _ = ledger.apply(
            try Self.question(bought).claimed(by: Account(thief.id, thief.source), at: time.addingTimeInterval(1))
        )
        _ = ledger.apply(
            try Self.question(Self.first).claimed(by: Account(thief.id, thief.source), at: time.addingTimeInterval(2))
        )
        #expect(!ledger.access(of: [thief], at: time).decision.isGranted)
    }
}
