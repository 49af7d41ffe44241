import FoundationEssentials
import NormalizerTesting
import Testing

@testable import Normalizer

/// A period of thirty days whose renewal fails, with grace until day 46, which runs out.
@Suite("Grace that ran out")
struct LapsedGraceTests {
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")
    private static func day(_ days: Double) -> Date { AccountStories.day(days) }

    private static func statement(
        _ type: String,
        at days: Double,
        of lineage: SubscriptionID = lineage,
        _ facts: [Fact]
    ) -> StoreStatement {
        StoreStatement(
            subscription: lineage,
            provider: .apple,
            assertedAt: day(days),
            facts: facts,
            origin: .madeUp(type, digest: type)
        )
    }

    private static func ended(_ days: Double, _ reason: LifecycleEvent.Expired.Reason = .billing) -> Fact {
        .periodEnded(.init(start: day(0), transaction: "t1", at: day(days), reason: reason))
    }

    private static let period = statement(
        "BEGAN",
        at: 0,
        [
            .period(
                .init(
                    ServicePeriod(start: day(0), end: day(30)),
                    product: "pro",
                    phase: .regular,
                    transaction: "t1"
                )
            )
        ]
    )
    private static let failed = statement("FAILED", at: 30, [.billing(.init(.grace, graceUntil: day(46)))])
    private static let lapsed = statement("LAPSED", at: 46, [.billing(.init(.suspended))])
    private static let expired = statement("EXPIRED", at: 90, [.billing(.init(.settled)), ended(30)])

    private static func state(_ statements: [StoreStatement]) -> SubscriptionState {
        var state = SubscriptionState(lineage)
        for statement in statements { state.apply(statement) }
        return state
    }

    @Test("leaves the store to try again, until its last attempt")
    func retried() {
        let retried = Self.statement(
            "FAILED",
            at: 30,
            [.billing(.init(.grace, graceUntil: Self.day(46), retryUntil: Self.day(90)))]
        )
        let suspended = Self.statement("LAPSED", at: 46, [.billing(.init(.suspended, retryUntil: Self.day(90)))])
        for reported in [[retried], [retried, suspended]] {
            let state = Self.state([Self.period] + reported)
            let seen = [45.0, 47, 89, 91].map { state.snapshot(at: Self.day($0)).status }
            #expect(seen == [.grace, .billingRetry, .billingRetry, .expired])
        }
        #expect(Self.state([Self.period, Self.failed]).snapshot(at: Self.day(47)).status == .expired)
    }

    @Test("gave access until then, whatever is said of it afterwards, in any order")
    func remembered() throws {
        let reported = [Self.failed, Self.lapsed, Self.expired]
        for story in [[0], [0, 1], [0, 2], [0, 1, 2]].map({ [Self.period] + $0.map { reported[$0] } }) {
            for order in [story, story.reversed(), Array(story.dropFirst() + story.prefix(1))] {
                let state = Self.state(order)
                #expect(
                    [29, 31, 45.9, 46, 91].map { state.access(at: Self.day($0)).isGranted } == [
                        true, true, true, false, false,
                    ]
                )
                guard case .denied(let since, let denial) = state.access(at: Self.day(91)) else {
                    Issue.record("granted")
                    continue
                }
                #expect(since == Self.day(46))
                #expect(denial.reason == .billing)
                let grounds = state.explain(at: Self.day(91)).grounds
                #expect(grounds.contains { $0.by.type == "FAILED" && $0.says.contains("grace until") }, "\(grounds)")
                #expect(try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state)) == state)
            }
        }
        // Reported at that very moment, and a second off what was paid for.
        for (reported, end) in [(46.0, 30.0), (90, 30 + 1.0 / 86_400), (90, 30 - 1.0 / 86_400)] {
            let ended = Self.statement("ENDED", at: reported, [.billing(.init(.settled)), Self.ended(end)])
            #expect(Self.state([Self.period, Self.failed, ended]).access(at: Self.day(45.9)).isGranted)
        }
        let halves = [Self.state([Self.period, Self.expired]), Self.state([Self.lapsed, Self.failed])]
        for (var one, other) in [(halves[0], halves[1]), (halves[1], halves[0])] {
            one.merge(other)
            #expect(one == Self.state([Self.period, Self.failed, Self.lapsed, Self.expired]))
        }
    }

    private static func failed(_ name: String, at days: Double, until end: Double, of lineage: SubscriptionID = lineage)
        -> StoreStatement
    {
        statement(name, at: days, of: lineage, [.billing(.init(.grace, graceUntil: day(end)))])
    }

    /// A late statement about an older failed charge takes nothing from the newer one, the only one that such a state
    /// knows.
    @Test(
        "does not end grace that goes on, in a state that was stored before grace was remembered",
        arguments: [31.0, 47]
    )
    func storedWithout(at days: Double) throws {
        let stored = Self.state([Self.period, Self.failed("AGAIN", at: days, until: days + 15)])
        let now = String(decoding: try CanonicalJSON.bytes(stored), as: UTF8.self)
        let text = now.replacing(#""grace":{"#, with: #""of_a_later_version":{"#)
        #expect(text != now)
        var state: SubscriptionState = try CanonicalJSON.value(from: Array(text.utf8))
        for _ in 0..<2 {
            #expect(state.access(at: Self.day(days + 3)).isGranted)
            #expect(!state.access(at: Self.day(days + 15)).isGranted)
            state.apply(Self.failed)
        }
    }

    @Test("does not end grace that goes on by the word of a linked lineage")
    func linked() {
        let other = SubscriptionID(store: .appStore, environment: .production, id: "O2")
        let link = Self.statement("LINK", at: 0, [.link(other)])
        let one = Self.state([
            Self.period, link, Self.failed("RELAYED", at: 30.01, until: 46),
            Self.statement("SUSPENDED", at: 46.01, [.billing(.init(.suspended))]),
        ])
        var two = SubscriptionState(other)
        two.apply(Self.statement("BEGAN", at: 0, of: other, Self.period.facts))
        two.apply(Self.failed("LONGER", at: 30, until: 60, of: other))
        for (var state, rest) in [(one, two), (two, one)] {
            state.merge(rest)
            #expect(state.access(at: Self.day(50)).isGranted)
            #expect(!state.access(at: Self.day(60)).isGranted)
        }
    }

    @Test("is no more from when the store ends it, or the period, before it runs out, and was given until then")
    func endedBefore() {
        for (statement, wasGiven) in [
            (Self.statement("SUSPENDED", at: 35, [.billing(.init(.suspended))]), true),
            (Self.statement("SETTLED", at: 35, [.billing(.init(.settled))]), true),
            (Self.statement("SETTLED AFTER", at: 35, [.billing(.init(.settled, graceUntil: Self.day(34)))]), true),
            (Self.statement("EXPIRED EARLY", at: 35, [.billing(.init(.settled)), Self.ended(30, .customer)]), true),
            (Self.statement("ENDED", at: 35, [Self.ended(30, .customer)]), true),
            (Self.statement("REFUNDED", at: 90, [.billing(.init(.settled)), Self.ended(20, .refunded)]), false),
        ] {
            for order in [[Self.period, Self.failed, statement], [statement, Self.failed, Self.period]] {
                let state = Self.state(order)
                #expect(!state.access(at: Self.day(36)).isGranted, "\(statement.origin.type)")
                #expect(state.access(at: Self.day(31)).isGranted == wasGiven, "\(statement.origin.type)")
            }
        }
    }

    @Test("ends where the store says that it ended, and not with a period that came since")
    func bounds() {
        let cut = Self.statement("ENDED", at: 90, [.billing(.init(.settled)), Self.ended(40)])
        let state = Self.state([Self.period, Self.failed, cut])
        #expect([39, 41].map { state.access(at: Self.day($0)).isGranted } == [true, false])
        #expect(!state.explain(at: Self.day(41)).grounds.contains { $0.by.type == "FAILED" })
        let next = Fact.Period(
            ServicePeriod(start: Self.day(60), end: Self.day(90)),
            product: "pro",
            phase: .regular,
            transaction: "t2"
        )
        let renewed = Self.statement("RENEWED", at: 60, [.period(next), .billing(.init(.settled))])
        let later = Self.state([Self.period, Self.failed, Self.lapsed, renewed])
        #expect([61, 89, 91].map { later.access(at: Self.day($0)).isGranted } == [true, true, false])
    }

    @Test("is cited once as the end of access if no statement says that it ended")
    func citedOnce() {
        let grounds = Self.state([Self.period, Self.failed]).explain(at: Self.day(50)).grounds
        #expect(grounds.map(\.by.type) == ["FAILED", "BEGAN"])
    }
}
