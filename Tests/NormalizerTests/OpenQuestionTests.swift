import Foundation
import NormalizerTesting
import Testing

@testable import Normalizer

@Suite("Open questions about a purchase")
struct OpenQuestionTests {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    static let day: TimeInterval = 86_400
    static let lineage = SubscriptionID(store: .playStore, environment: .production, id: "1")

    private static func state(_ statements: [(at: TimeInterval, facts: [Fact])]) -> SubscriptionState {
        var state = SubscriptionState(lineage)
        for statement in statements {
            state.apply(
                StoreStatement(
                    subscription: lineage,
                    provider: .google,
                    assertedAt: start + statement.at,
                    facts: statement.facts,
                    origin: .madeUp()
                )
            )
        }
        return state
    }

    private static func period(_ from: TimeInterval, _ until: TimeInterval, transaction: TransactionID = "1") -> Fact {
        .period(
            .init(
                ServicePeriod(start: start + from * day, end: start + until * day),
                product: "pro",
                phase: .regular,
                transaction: transaction
            )
        )
    }

    private static func renews(_ willRenew: Bool, at days: TimeInterval? = nil) -> Fact {
        .renewalIntent(.init(RenewalTerms(willRenew: willRenew, renewsAt: days.map { start + $0 * day })))
    }

    private static func ended(_ reason: LifecycleEvent.Expired.Reason) -> Fact {
        .periodEnded(.init(start: start, transaction: "1", at: start + 30 * day, reason: reason))
    }

    private static let replaced = Fact.periodEnded(
        .init(start: start, transaction: "1", at: start + 10 * day, reason: .replaced)
    )

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var statements: [(at: TimeInterval, facts: [Fact])]
        /// Reasons, and when each is due, in hours.
        var open: [(reason: String, hours: Double)]
    }

    static let month = (at: 0.0, facts: [period(0, 30), renews(true)])
    static let cases: [Case] = [
        Case(testDescription: "a period that renews", statements: [month], open: [("renewal_due", 721)]),
        Case(
            testDescription: "a period that does not",
            statements: [(at: 0, facts: [period(0, 30), renews(false)])],
            open: []
        ),
        Case(
            testDescription: "the next period takes the place of the one before",
            statements: [month, (at: 30 * day, facts: [period(30, 60, transaction: "2"), renews(true)])],
            open: [("renewal_due", 1441)]
        ),
        Case(
            testDescription: "a period that was charged ahead",
            statements: [month, (at: 29 * day, facts: [period(30, 60, transaction: "2"), renews(true)])],
            open: [("renewal_check", 720 + 1.0 / 60), ("renewal_due", 1441)]
        ),
        Case(
            testDescription: "a failed charge that is tried again",
            statements: [month, (at: 30 * day + 3600, facts: [.billing(.init(.suspended, periodStart: start))])],
            open: [("charge_failed", 721 + 24)]
        ),
        Case(
            testDescription: "a charge that failed before the end, and may have been tried again by then",
            statements: [month, (at: 29 * day, facts: [.billing(.init(.suspended, periodStart: start))])],
            open: [("charge_failed", 721)]
        ),
        Case(
            testDescription: "grace that runs out",
            statements: [
                month,
                (
                    at: 30 * day,
                    facts: [.billing(.init(.grace, periodStart: start, graceUntil: start + 33 * day))]
                ),
            ],
            open: [("charge_failed", 33 * 24 + 1)]
        ),
        Case(
            testDescription: "grace without an end",
            statements: [month, (at: 30 * day, facts: [.billing(.init(.grace, periodStart: start))])],
            open: [("charge_failed", 721), ("grace_without_end", 721)]
        ),
        Case(
            testDescription: "grace whose end is the longest that it can be, until its end is stated",
            statements: [
                month,
                (
                    at: 30 * day,
                    facts: [
                        .billing(
                            .init(.grace, periodStart: start, graceUntil: start + 58 * day, isGraceInferred: true)
                        )
                    ]
                ),
            ],
            open: [("grace_without_end", 721), ("charge_failed", 58 * 24 + 1)]
        ),
        Case(
            testDescription: "the same, and a relay that knows of no grace: access stays",
            statements: [
                month,
                (
                    at: 30 * day,
                    facts: [
                        .billing(
                            .init(.grace, periodStart: start, graceUntil: start + 58 * day, isGraceInferred: true)
                        )
                    ]
                ),
                (at: 30 * day + 60, facts: [.billing(.init(.suspended, periodStart: start, isPartial: true))]),
            ],
            open: [("grace_without_end", 721), ("charge_failed", 58 * 24 + 1)]
        ),
        Case(
            testDescription: "a pause that ends by itself",
            statements: [
                month,
                (
                    at: 30 * day,
                    facts: [.pause(Fact.PauseState(.paused, resumesAt: start + 60 * day)), ended(.paused)]
                ),
            ],
            open: [("paused", 60 * 24 + 1)]
        ),
        Case(
            testDescription: "a pause without an end",
            statements: [month, (at: 30 * day, facts: [.pause(Fact.PauseState(.paused)), ended(.paused)])],
            open: [("paused", 31 * 24)]
        ),
        Case(
            testDescription: "an owner of nothing that is known",
            statements: [(at: 0, facts: [.owner(Account("ada", .appUserID))])],
            open: [("unknown_purchase", 1)]
        ),
        Case(
            testDescription: "a purchase that runs on after a replaced one, and is not known",
            statements: [month, (at: 10 * day, facts: [replaced, renews(true, at: 20)])],
            open: [("unknown_period", 241)]
        ),
        Case(
            testDescription: "the same once it is known",
            statements: [
                month,
                (at: 10 * day, facts: [replaced, renews(true, at: 20), period(10, 20, transaction: "2")]),
            ],
            open: [("renewal_due", 481)]
        ),
        Case(
            testDescription: "a purchase that follows one that does not renew, and is not known",
            statements: [
                (at: 0, facts: [period(0, 30), renews(true)]), (at: 29 * day, facts: [renews(false, at: 60)]),
            ],
            open: [("unknown_period", 721)]
        ),
        Case(
            testDescription: "the end of the purchase that was replaced, in the milliseconds of another channel",
            statements: [month, (at: 10 * day, facts: [replaced, renews(true, at: 30.000_005)])],
            open: []
        ),
        Case(
            testDescription: "an end that was over when it was named",
            statements: [month, (at: 40 * day, facts: [ended(.customer), renews(false, at: 35)])],
            open: []
        ),
        Case(
            testDescription: "an end that was stated",
            statements: [
                month,
                (
                    at: 30 * day,
                    facts: [
                        ended(.billing),
                        .billing(.init(.suspended, periodStart: start)),
                    ]
                ),
            ],
            open: []
        ),
    ]

    @Test("is the same whatever the order of what was stated", arguments: cases)
    func open(item: Case) {
        for statements in [item.statements, item.statements.reversed()] {
            let questions = Self.state(statements).openQuestions
            #expect(questions.map(\.reason.rawValue) == item.open.map(\.reason))
            #expect(questions.map(\.dueAt) == item.open.map { Self.start + $0.hours * 3600 })
            #expect(questions.allSatisfy { $0.subscription == Self.lineage })
        }
    }

    @Test("is nothing where nothing is known, and a contradiction where two statements cannot both be so")
    func contradiction() {
        #expect(SubscriptionState(Self.lineage).openQuestions == [])
        let state = Self.state([
            (at: 0, facts: [Self.period(0, 30), Self.renews(false)]), (at: 0, facts: [Self.period(0, 20)]),
        ])
        #expect(state.openQuestions.map(\.reason) == [.contradiction])
    }

    /// Periods of thirty days, each with the day of its beginning and the day on which it is stated.
    @Test(
        "reaches back to the period in which the purchase was first heard of, over every gap",
        arguments: [
            ([], nil), ([(0, 0)], 0), ([(0, 0), (30, 30)], 0), ([(0, 0), (60, 60)], 0), ([(0, 10), (30, 0)], 0),
            // Stated by its refund, which does not make all that came after it news.
            ([(0, 70), (60, 65), (90, 90)], 60),
        ] as [([(from: TimeInterval, stated: TimeInterval)], TimeInterval?)]
    )
    func reach(periods: [(from: TimeInterval, stated: TimeInterval)], since: TimeInterval?) {
        let statements = periods.map { period in
            let name = TransactionID(rawValue: "\(period.from)")
            return (
                at: period.stated * Self.day, facts: [Self.period(period.from, period.from + 30, transaction: name)]
            )
        }
        let question = Self.state(statements).question(at: Self.start)
        #expect(question.since == since.map { Self.start + $0 * Self.day })
    }
}
