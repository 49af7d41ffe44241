import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

/// Google marks no item of a purchase as the base plan, so that any of them may be the one that is removed.
@Suite("An item leaves a purchase on Google Play")
struct RemovedItemTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day
    static let month = 30 * day
    static let policy = CreditPolicy(["premium": .init(credits: 100), "audio": .init(credits: 7)])

    private static func item(_ product: String, months: Int64, isRemoved: Bool = false) -> Vectors.Item {
        Play.item.with {
            $0.product = product
            $0.order = Vectors.order + (months > 1 ? "..\(months - 2)" : "")
            $0.expiry = start + months * month
            guard isRemoved else { return }
            $0.extra["deferredItemRemoval"] = "{}"
        }
    }

    private static func purchase(_ items: [Vectors.Item]) -> Vectors.Purchase {
        Vectors.purchase("ACTIVE").with {
            $0.start = start - 2000
            $0.items = items
        }
    }

    private static func chapters(removing removed: String, isListedOnce: Bool) throws -> [Normalization] {
        let left = removed == "audio" ? "premium" : "audio"
        let announced = ["audio", "premium"].map { item($0, months: 1, isRemoved: $0 == removed) }
        let over = item(removed, months: 1, isRemoved: true).with { $0.isRenewing = false }
        return [
            try Play.map(4, purchase(["audio", "premium"].map { item($0, months: 1) }), at: start),
            try Play.map(17, purchase(announced), at: start + 10 * day),
            try Play.map(2, purchase([item(left, months: 2)] + (isListedOnce ? [over] : [])), at: start + month),
            try Play.map(2, purchase([item(left, months: 3)]), at: start + 2 * month),
            try Play.map(
                3,
                purchase([item(left, months: 3).with { $0.isRenewing = false }]).with { $0.state = "CANCELED" },
                at: start + 70 * day
            ),
        ]
    }

    @Test(
        "the other one stays itself: no change of plan, no loss of access, and its credits alone",
        arguments: ["audio", "premium"],
        [true, false]
    )
    func removed(removed: String, isListedOnce: Bool) throws {
        let chapters = try Self.chapters(removing: removed, isListedOnce: isListedOnce)
        let left = removed == "audio" ? "premium" : "audio"
        let credits: Int64 = left == "premium" ? 100 : 7
        for order in permutations(of: Array(chapters.indices)) {
            let ledger = AccountLedger(applying: order.map { chapters[$0] })
            func granted(_ days: Int64) -> [ProductID: Set<SubscriptionID>] {
                let time = Play.date(Self.start + days * Self.day)
                let states = ledger.states.filter { $0.access(at: time).isGranted }
                return Dictionary(states.map { ($0.snapshot(at: time).product ?? "", Set($0.lineages)) }) {
                    $0.union($1)
                }
            }
            #expect(Set(granted(5).keys) == ["audio:monthly", "premium:monthly"], "\(order)")
            #expect([35, 65].map { Set(granted($0).keys) } == [["\(left):monthly"], ["\(left):monthly"]], "\(order)")
            let lineages = [5, 35, 65].map { granted($0)["\(left):monthly"] }
            #expect(lineages[0] == lineages[1] && lineages[1] == lineages[2], "\(order)")
            let balances = [5, 35, 65].map {
                CreditStatement(
                    of: ledger.states,
                    under: Self.policy,
                    uses: [],
                    at: Play.date(Self.start + $0 * Self.day)
                ).balance
            }
            #expect(balances == [107, credits, credits], "\(order)")
        }
    }

    @Test(
        "the news are a renewal of the other one, and no change of plan",
        arguments: ["audio", "premium"],
        [true, false]
    )
    func news(removed: String, isListedOnce: Bool) throws {
        let left = removed == "audio" ? "premium" : "audio"
        var ledger = AccountLedger()
        let news = try Self.chapters(removing: removed, isListedOnce: isListedOnce).flatMap { ledger.apply($0) }
            .filter(\.isNews).map(\.event)
        let reported = news.filter { $0.occurredAt >= Play.date(Self.start + 20 * Self.day) }.map { event in
            switch event.event {
            case .renewed(let renewed): "\(event.product?.id ?? "") \(renewed.cause)"
            default: "\(event.product?.id ?? "") \(event.kind)"
            }
        }
        let renewals = ["\(left) scheduled", "\(left) scheduled", "\(left) auto_renew_disabled"]
        #expect(reported.filter { $0.hasPrefix(left) } == renewals)
        #expect(reported.filter { !$0.hasPrefix(left) } == (isListedOnce ? ["\(removed) expired"] : []))
    }

    /// Its end takes away nothing that was paid for. It is over all the same.
    @Test("its start is news of the past once its end is known, in any order", arguments: ["audio", "premium"])
    func startAfterEnd(removed: String) throws {
        let chapters = try Self.chapters(removing: removed, isListedOnce: true)
        for order in permutations(of: [0, 1, 2]) {
            var ledger = AccountLedger()
            let news = order.flatMap { ledger.apply(chapters[$0]) }.filter { $0.event.product?.id.rawValue == removed }
            let isOver = (order.firstIndex(of: 2) ?? 0) < (order.firstIndex(of: 0) ?? 0)
            let reported = Dictionary(uniqueKeysWithValues: news.map { ($0.event.kind, $0.disposition) })
            let start = isOver ? AppliedEvent.Disposition.superseded : .applied
            #expect(reported == [.started: start, .autoRenewDisabled: .applied, .expired: .applied], "\(order)")
        }
    }

    @Test(
        "its removal turns its renewal off, whichever item it is, and changes no product",
        arguments: ["audio", "premium"]
    )
    func announced(removed: String) throws {
        let announced = ["audio", "premium"].map { Self.item($0, months: 1, isRemoved: $0 == removed) }
        for state in ["ACTIVE", "CANCELED"] {
            let purchase = Self.purchase(announced).with { $0.state = state }
            let reported = try Play.map(17, purchase, at: Self.start + 10 * Self.day).events
                .filter { $0.product?.id.rawValue == removed }
            #expect(reported.map(\.kind) == [.autoRenewDisabled])
            guard case .autoRenewDisabled(let disabled)? = reported.first?.event else { continue }
            #expect(disabled.reason == .customer)
        }
    }

    @Test("a token that was lost for a while is the same purchase, item by item")
    func unreported() throws {
        let chapters = try Self.chapters(removing: "audio", isListedOnce: false)
        let ledger = AccountLedger(applying: [chapters[0], chapters[3]])
        #expect(ledger.states.count == 2)
        let access = ledger.states.map { $0.access(at: Play.date(Self.start + 65 * Self.day)).isGranted }
        #expect(access.filter(\.self).count == 1)
    }

    /// The answer is of now, whatever the notification was about.
    @Test("the purchase's own notification, late or again, opens no second purchase", arguments: ["audio", "premium"])
    func purchasedAgain(removed: String) throws {
        let left = removed == "audio" ? "premium" : "audio"
        let chapters = try Self.chapters(removing: removed, isListedOnce: false)
        let late = try Play.map(
            4,
            Self.purchase([Self.item(left, months: 3)]),
            at: Self.start,
            askedAt: Self.start + 65 * Self.day
        )
        for place in 0...chapters.count {
            var ledger = AccountLedger()
            let inOrder = chapters.prefix(place) + [late] + chapters.suffix(from: place)
            let news = inOrder.map { ledger.apply($0).filter(\.isNews) }
            #expect(ledger.states.count == 2, "at place \(place)")
            #expect(place < chapters.count || news[place].isEmpty)
            let credits = CreditStatement(
                of: ledger.states,
                under: Self.policy,
                uses: [],
                at: Play.date(Self.start + 65 * Self.day)
            )
            #expect(credits.balance == (left == "premium" ? 100 : 7), "at place \(place)")
        }
    }

    @Test(
        "its removal that is reported again in the next period is no news",
        arguments: ["audio", "premium"],
        [true, false]
    )
    func removedAgain(removed: String, isListedOnce: Bool) throws {
        let left = removed == "audio" ? "premium" : "audio"
        let chapters = try Self.chapters(removing: removed, isListedOnce: isListedOnce)
        let again = try Play.map(
            17,
            Self.purchase([Self.item(left, months: 2)]),
            at: Self.start + 10 * Self.day,
            askedAt: Self.start + 40 * Self.day
        )
        var ledger = AccountLedger(applying: chapters.prefix(3))
        #expect(ledger.apply(again).filter(\.isNews).isEmpty)
    }
}
