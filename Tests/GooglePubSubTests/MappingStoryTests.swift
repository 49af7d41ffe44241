import FoundationEssentials
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

/// A subscription's life as Google Play tells it, put together by the state.
@Suite("Google stories")
struct MappingStoryTests {
    typealias Vectors = GoogleVectors

    private static let start = Vectors.event
    private static let day = Vectors.day

    /// One notification of a story, with the answer of its time.
    private struct Chapter {
        var number: Int
        var at: Int64
        var purchase: Vectors.Purchase
        var token = Vectors.token

        func events() throws -> [NormalizedEvent] {
            try Play.map(number, purchase, token: token, at: at, askedAt: at + 1500).events
        }
    }

    private static func purchase(
        _ state: String,
        order: String,
        expiry: Int64,
        start: Int64 = start,
        product: String = "premium"
    ) -> Vectors.Purchase {
        Vectors.purchase(state).with {
            $0.start = start - 2000
            $0.items[0].order = order
            $0.items[0].expiry = expiry
            $0.items[0].product = product
        }
    }

    private static func order(_ renewal: Int?) -> String { Vectors.order + (renewal.map { "..\($0)" } ?? "") }

    /// Bought, renewed, grace and paid, hold and paid, paused and resumed, canceled and restored, canceled and ended.
    private static var life: [Chapter] {
        let month = 30 * day
        func at(_ days: Int64) -> Int64 { start + days * day }
        return [
            Chapter(number: 4, at: start, purchase: purchase("ACTIVE", order: order(nil), expiry: start + month)),
            Chapter(number: 2, at: at(30), purchase: purchase("ACTIVE", order: order(0), expiry: at(60))),
            Chapter(number: 6, at: at(60), purchase: purchase("IN_GRACE_PERIOD", order: order(0), expiry: at(63))),
            Chapter(number: 2, at: at(62), purchase: purchase("ACTIVE", order: order(1), expiry: at(90))),
            Chapter(number: 6, at: at(90), purchase: purchase("IN_GRACE_PERIOD", order: order(1), expiry: at(93))),
            Chapter(number: 5, at: at(93) + 9000, purchase: purchase("ON_HOLD", order: order(1), expiry: at(93))),
            Chapter(number: 1, at: at(100), purchase: purchase("ACTIVE", order: order(2), expiry: at(130))),
            Chapter(number: 11, at: at(120), purchase: purchase("ACTIVE", order: order(2), expiry: at(130))),
            Chapter(number: 10, at: at(130) + 3000, purchase: purchase("PAUSED", order: order(2), expiry: at(130))),
            Chapter(number: 1, at: at(160), purchase: purchase("ACTIVE", order: order(3), expiry: at(190))),
            Chapter(number: 3, at: at(170), purchase: purchase("CANCELED", order: order(3), expiry: at(190))),
            Chapter(number: 7, at: at(175), purchase: purchase("ACTIVE", order: order(3), expiry: at(190))),
            Chapter(number: 3, at: at(180), purchase: purchase("CANCELED", order: order(3), expiry: at(190))),
            Chapter(number: 13, at: at(190) + 5000, purchase: purchase("EXPIRED", order: order(3), expiry: at(190))),
        ]
    }

    private static func ledger(_ chapters: [Chapter]) throws -> (AccountLedger, [AppliedEvent]) {
        var ledger = AccountLedger()
        var appliedEvents: [AppliedEvent] = []
        for chapter in chapters {
            for event in try chapter.events() { appliedEvents.append(ledger.apply(event)) }
        }
        return (ledger, appliedEvents)
    }

    private static var lineage: SubscriptionID {
        SubscriptionID(store: .playStore, environment: .production, id: PurchaseToken(Vectors.token).fingerprint)
    }

    @Test("each chapter of the story gives its own events")
    func refinements() throws {
        let (_, appliedEvents) = try Self.ledger(Self.life)
        #expect(appliedEvents.allSatisfy { $0.disposition == .applied })
        let reported = appliedEvents.map { applied in
            switch applied.event.event {
            case .renewed(let renewed): "renewed \(renewed.cause)"
            default: applied.event.kind.rawValue
            }
        }
        #expect(
            reported == [
                "started", "renewed scheduled", "billing_issue",
                "renewed recovery(from: LifecycleEvents.LifecycleEvent.Renewed.BillingTrouble.grace)",
                "billing_issue", "billing_issue",
                "renewed recovery(from: LifecycleEvents.LifecycleEvent.Renewed.BillingTrouble.hold)", "pause_scheduled",
                "paused", "renewed resumption", "auto_renew_disabled",
                "auto_renew_enabled", "auto_renew_disabled", "expired",
            ]
        )
    }

    @Test("access follows the story at every point")
    func accessAsItIsReported() throws {
        let access: [(after: Int, days: Int64, isGranted: Bool)] = [
            (1, 1, true), (1, 29, true), (1, 31, false), (2, 45, true), (3, 62, true), (3, 64, false), (4, 70, true),
            (5, 92, true), (6, 94, false), (7, 101, true), (8, 125, true), (9, 140, false), (10, 165, true),
            (11, 185, true), (12, 185, true), (13, 189, true), (14, 191, false),
        ]
        for (after, days, isGranted) in access {
            let (ledger, _) = try Self.ledger(Array(Self.life.prefix(after)))
            let decision = try #require(ledger[Self.lineage]).access(at: Play.date(Self.start + days * Self.day))
            #expect(decision.isGranted == isGranted, "day \(days) after chapter \(after)")
        }
    }

    @Test("any order of arrival, and any repetition, gives one state", arguments: 0..<40)
    func arrivalOrder(seed: Int) throws {
        let expected = try Self.ledger(Self.life).0
        var random = SeededGenerator(seed: UInt64(seed))
        var chapters = Self.life + Self.life.filter { _ in Bool.random(using: &random) }
        chapters.shuffle(using: &random)
        let actual = try Self.ledger(chapters).0
        #expect(actual == expected)
    }

    // MARK: A change of plan

    private static let changed = start + 10 * day

    private static var planChange: [Chapter] {
        var new = purchase(
            "ACTIVE",
            order: "GPA.3388-7777-6666-55555",
            expiry: changed + 30 * day,
            start: changed,
            product: "family"
        )
        new.linked = Vectors.token
        new.items[0].extra["itemReplacement"] = #"{"productId":"premium","replacementMode":"CHARGE_FULL_PRICE"}"#
        var old = purchase("EXPIRED", order: order(nil), expiry: changed - 2000)
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        return [
            Chapter(number: 4, at: start, purchase: purchase("ACTIVE", order: order(nil), expiry: start + 30 * day)),
            Chapter(number: 4, at: changed, purchase: new, token: Vectors.oldToken),
            Chapter(number: 13, at: changed + 2500, purchase: old),
        ]
    }

    @Test(
        "a change of plan is one lineage, whatever arrives first, and never churn",
        arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]]
    )
    func planChangeIsNoChurn(order: [Int]) throws {
        let (ledger, appliedEvents) = try Self.ledger(order.map { Self.planChange[$0] })
        #expect(ledger.states.count == 1)
        let state = try #require(ledger.states.first)
        #expect(state.access(at: Play.date(Self.changed + 20 * Self.day)).isGranted)
        #expect(state.snapshot(at: Play.date(Self.changed + Self.day)).product == "family:monthly")
        for applied in appliedEvents {
            if case .expired(let expired) = applied.event.event { #expect(expired.reason == .replaced) }
        }
    }

    @Test("a chain is linked as far as it was asked for")
    func chain() throws {
        let purchase = Self.planChange[1].purchase
        var before = Self.planChange[2].purchase
        before.linked = Vectors.olderToken
        let events = try Play.map(
            4,
            purchase,
            token: Vectors.oldToken,
            at: Self.changed,
            others: [
                Play.found(.subscription, for: Vectors.token, before.json),
                .init(.subscription, about: Vectors.olderToken, PlayAnswer(.gone, status: 410)),
            ]
        ).events
        let links = events.flatMap(\.facts).compactMap { fact in
            if case .link(let other) = fact { other.id } else { nil }
        }
        #expect(
            links == [
                PurchaseToken(Vectors.token).fingerprint, PurchaseToken(Vectors.olderToken).fingerprint,
                "\(PurchaseToken(Vectors.oldToken).fingerprint):family", "GPA.3388-7777-6666-55555",
            ]
        )
    }

    @Test("a relay's statement about the order joins the same lineage")
    func relaysJoin() throws {
        var (ledger, _) = try Self.ledger(Array(Self.life.prefix(2)))
        let relayed = SubscriptionID(store: .playStore, environment: .production, id: Vectors.order)
        let renewal = try #require(try Self.life[1].events().first)
        var event = renewal
        event.provider = .revenuecat
        event.subscription = relayed
        event.assertedAt = renewal.assertedAt.addingTimeInterval(3)
        event.facts = renewal.facts.filter { if case .period = $0 { true } else { false } }
        #expect(ledger.apply(event).disposition == .duplicate)
        #expect(ledger.states.count == 1)
    }
}
