import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

/// Questions about a time that is past, within the time that one order paid for.
@Suite("Access asked for the past on Google Play")
struct PastAccessTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day

    private static func purchase(_ state: String, until days: Int64, order: String = Vectors.order)
        -> Vectors.Purchase
    {
        Vectors.purchase(state).with {
            $0.start = start
            $0.items[0].order = order
            $0.items[0].expiry = start + days * day
        }
    }

    private static func check(_ chapters: [Normalization], _ expected: [(day: Int64, isGranted: Bool)]) throws {
        for order in [Array(chapters.indices), chapters.indices.reversed()]
            + chapters.indices.map({ first in
                [first] + chapters.indices.filter { $0 != first }
            })
        {
            let ledger = AccountLedger(applying: order.map { chapters[$0] })
            let state = try #require(ledger.states.first)
            for (day, isGranted) in expected {
                let access = state.access(at: Play.date(start + day * Self.day))
                #expect(access.isGranted == isGranted, "day \(day), \(order)")
            }
        }
    }

    @Test(
        "the time of an account hold is denied, and the rest granted, whichever order the recovery names",
        arguments: ["", "..0"]
    )
    func hold(suffix: String) throws {
        try Self.check(
            [
                try Play.map(4, Self.purchase("ACTIVE", until: 30), at: Self.start),
                try Play.map(5, Self.purchase("ON_HOLD", until: 30), at: Self.start + 30 * Self.day + 60_000),
                try Play.map(
                    1,
                    Self.purchase("ACTIVE", until: 70, order: Vectors.order + suffix),
                    at: Self.start + 40 * Self.day
                ),
                try Play.map(
                    3,
                    Self.purchase("CANCELED", until: 70, order: Vectors.order + suffix),
                    at: Self.start + 50 * Self.day
                ),
            ],
            [(10, true), (29, true), (31, false), (39, false), (41, true), (60, true), (71, false)]
        )
    }

    @Test("the time of a hold after grace is denied, and the grace granted")
    func holdAfterGrace() throws {
        try Self.check(
            [
                try Play.map(4, Self.purchase("ACTIVE", until: 30), at: Self.start),
                try Play.map(6, Self.purchase("IN_GRACE_PERIOD", until: 37), at: Self.start + 30 * Self.day),
                try Play.map(5, Self.purchase("ON_HOLD", until: 37), at: Self.start + 37 * Self.day + 60_000),
                try Play.map(1, Self.purchase("ACTIVE", until: 75), at: Self.start + 45 * Self.day),
            ],
            [(29, true), (31, true), (36, true), (38, false), (44, false), (46, true), (74, true), (76, false)]
        )
    }

    /// On hold all items are suspended; what is left of those that were paid for comes back with the recovery.
    @Test("a hold in the middle of what was paid for is denied, and the rest is given back")
    func holdWithinPeriod() throws {
        try Self.check(
            [
                try Play.map(4, Self.purchase("ACTIVE", until: 365), at: Self.start),
                try Play.map(5, Self.purchase("ON_HOLD", until: 365), at: Self.start + 30 * Self.day),
                try Play.map(1, Self.purchase("ACTIVE", until: 365), at: Self.start + 40 * Self.day),
                try Play.map(5, Self.purchase("ON_HOLD", until: 365), at: Self.start + 60 * Self.day),
                try Play.map(1, Self.purchase("ACTIVE", until: 365), at: Self.start + 65 * Self.day),
            ],
            [(10, true), (31, false), (39, false), (41, true), (59, true), (61, false), (64, false), (66, true)]
        )
    }

    @Test(
        "the time of a pause is denied, and the rest granted, whichever order the resumption names",
        arguments: ["", "..0"]
    )
    func pause(suffix: String) throws {
        try Self.check(
            [
                try Play.map(4, Self.purchase("ACTIVE", until: 30), at: Self.start),
                try Play.map(10, Self.purchase("PAUSED", until: 30), at: Self.start + 30 * Self.day),
                try Play.map(
                    1,
                    Self.purchase("ACTIVE", until: 90, order: Vectors.order + suffix),
                    at: Self.start + 60 * Self.day
                ),
            ],
            [(10, true), (31, false), (59, false), (61, true), (89, true), (91, false)]
        )
    }

    @Test("support reads paused until the hold was stated, then a charge that is tried, then what became of it")
    func statuses() throws {
        let bought = try Play.map(4, Self.purchase("ACTIVE", until: 30), at: Self.start)
        let paused = try Play.map(10, Self.purchase("PAUSED", until: 30), at: Self.start + 30 * Self.day)
        let hold = try Play.map(5, Self.purchase("ON_HOLD", until: 30), at: Self.start + 60 * Self.day)
        let expired = try Play.map(13, Self.purchase("EXPIRED", until: 30), at: Self.start + 90 * Self.day)
        let recovered = try Play.map(
            1,
            Self.purchase("ACTIVE", until: 100, order: Vectors.order + "..0"),
            at: Self.start + 70 * Self.day
        )
        let within = try Play.map(1, Self.purchase("ACTIVE", until: 100), at: Self.start + 70 * Self.day)
        typealias Expected = [(day: Int64, status: SubscriptionSnapshot.Status)]
        let then: Expected = [(10, .active), (31, .paused), (59, .paused), (61, .billingRetry), (69, .billingRetry)]
        for (rest, expected) in [
            ([], then + [(day: 89, status: .billingRetry)]),
            ([expired], then + [(day: 89, status: .billingRetry), (day: 91, status: .expired)]),
            ([recovered], then + [(day: 71, status: .active)]),
            ([within], then + [(day: 71, status: .active)]),
        ] as [([Normalization], Expected)] {
            let chapters = [bought, paused, hold] + rest
            for order in [
                chapters, chapters.reversed(), [hold, bought, paused] + rest, rest + [paused, hold, bought],
            ] {
                let ledger = AccountLedger(applying: order)
                let state = try #require(ledger.states.first)
                for (day, status) in expected {
                    #expect(state.snapshot(at: Play.date(Self.start + day * Self.day)).status == status, "day \(day)")
                }
            }
        }
    }

    @Test("a pause that is heard of after the hold that followed it is overtaken, and a hold never is by its pause")
    func lateNews() throws {
        let bought = try Play.map(4, Self.purchase("ACTIVE", until: 30), at: Self.start)
        let paused = try Play.map(10, Self.purchase("PAUSED", until: 30), at: Self.start + 30 * Self.day)
        let hold = try Play.map(5, Self.purchase("ON_HOLD", until: 30), at: Self.start + 60 * Self.day)
        for (chapters, expected) in [
            ([bought, paused, hold], [.applied, .applied, .applied]),
            ([bought, hold, paused], [.applied, .applied, .superseded]),
            ([hold, paused, bought], [.applied, .superseded, .superseded]),
        ] as [([Normalization], [AppliedEvent.Disposition])] {
            var ledger = AccountLedger()
            #expect(chapters.compactMap { ledger.apply($0).first?.disposition } == expected)
        }
    }

    @Test("a hold that is not recovered from ends access, as it was then")
    func holdThatEnds() throws {
        try Self.check(
            [
                try Play.map(4, Self.purchase("ACTIVE", until: 30), at: Self.start),
                try Play.map(5, Self.purchase("ON_HOLD", until: 30), at: Self.start + 30 * Self.day),
                try Play.map(13, Self.purchase("EXPIRED", until: 30), at: Self.start + 60 * Self.day),
            ],
            [(10, true), (29, true), (31, false), (61, false)]
        )
    }
}
