import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

/// A backlog is worked off in any order, and what is asked late is answered as of now.
@Suite("Google Play's notifications that come late")
struct LateNewsTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day

    @Test("an expiry that comes after a resubscription of days later was the customer's, and no replacement")
    func resubscribedSince() throws {
        let again = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start + 35 * Self.day
            $0.items[0].order = "GPA.3312-4415-6677-88991"
            $0.items[0].expiry = Self.start + 65 * Self.day
            $0.extra["outOfAppPurchaseContext"] = #"{"expiredPurchaseToken":"\#(Vectors.token)"}"#
        }
        let expired = Vectors.purchase("EXPIRED").with {
            $0.start = Self.start - 1000
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        var ledger = AccountLedger()
        let resubscribedAt = Self.start + 35 * Self.day
        for event in try Play.map(4, again, token: "token-2", at: resubscribedAt).events { _ = ledger.apply(event) }
        let late = try Play.map(
            13,
            expired,
            at: Self.start + 30 * Self.day,
            askedAt: resubscribedAt + 60_000
        )
        let feedback = "CANCEL_SURVEY_REASON_COST_RELATED"
        #expect(ledger.apply(late).map(\.event.event) == [.expired(.init(reason: .customer, feedback: feedback))])
    }

    /// After an outage Google answers all questions at once, with the end.
    @Test("a beginning in a backlog that is looked up after the end is no news after it", arguments: [0, 7000])
    func askedAfterTheEnd(apart: Int64) throws {
        let end = Self.start + 60 * Self.day
        let expired = Vectors.purchase("EXPIRED").with {
            $0.start = Self.start
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = end
        }
        let numbers: [(Int64, Int64)] = [(4, 0), (2, 30), (3, 40), (13, 60)]
        let answers = try numbers.enumerated().map { index, number in
            let askedAt = end + Self.day + Int64(index) * apart
            return try Play.map(Int(number.0), expired, at: Self.start + number.1 * Self.day, askedAt: askedAt)
        }
        for order in [[0, 1, 2, 3], [1, 3, 0, 2], [2, 1, 0, 3], [3, 2, 1, 0], [3, 0, 1, 2]] {
            var ledger = AccountLedger()
            var news: [LifecycleEvent.Kind] = []
            for index in order {
                for event in answers[index].events {
                    let applied = ledger.apply(event)
                    if applied.disposition == .applied { news.append(applied.event.kind) }
                }
            }
            #expect(news.last == .expired, "\(order)")
            #expect(ledger.states.map(\.contradictions) == [[]], "\(order)")
        }
    }

    /// The week's renewals, in time: the purchase names the last order that was paid, whatever the notification was about.
    private static func week(_ number: Int64) -> GoogleVectors.Purchase {
        Vectors.purchase("ACTIVE").with {
            $0.start = start - 1000
            $0.items[0].order = number == 0 ? Vectors.order : Vectors.order + "..\(number - 1)"
            $0.items[0].expiry = start + (number + 1) * 7 * day
        }
    }

    private static func grants(_ ledger: AccountLedger) -> [CreditGrant] {
        let policy = CreditPolicy(["premium:monthly": .init(credits: 200, price: nil)])
        return CreditStatement(
            of: ledger.states,
            under: policy,
            uses: [],
            at: Date(timeIntervalSince1970: Double(start + 20 * day) / 1000)
        ).grants
    }

    /// Pub/Sub delivers at least once, and what was held up comes days later.
    @Test(
        "what is asked after the next renewal moves no period",
        arguments: [
            (type: 2, at: 7, asked: 15), (type: 1, at: 7, asked: 15), (type: 9, at: 12, asked: 16),
            (type: 2, at: 7, asked: 20),
        ]
    )
    func askedAfterTheNextRenewal(type: Int, at: Int64, asked: Int64) throws {
        let inTime = try [(4, 0), (2, 1), (2, 2)].map { (type: Int, week: Int64) in
            try Play.map(type, Self.week(week), at: Self.start + week * 7 * Self.day)
        }
        let late = try Play.map(
            type,
            Self.week(2),
            at: Self.start + at * Self.day,
            askedAt: Self.start + asked * Self.day
        )
        let usual = AccountLedger(applying: inTime)
        let expected = Self.grants(usual)
        #expect(expected.map(\.credits) == [200, 200, 200])
        for place in 0...inTime.count {
            var ledger = AccountLedger()
            var all = inTime
            all.insert(late, at: place)
            for (index, normalization) in all.enumerated() {
                let applied = ledger.apply(normalization)
                if index == all.count - 1, place == index {
                    #expect(!applied.contains { $0.disposition == .applied }, "\(applied.map(\.event.kind))")
                }
            }
            #expect(Self.grants(ledger) == expected, "at place \(place)")
        }
    }

    /// The answer does not show any more how the purchase began: it gives the renewal, whose own notification repeats it.
    @Test("a purchase that is looked up after its first renewal was renewed, and did not begin then")
    func purchasedBeforeTheRenewal() throws {
        let askedAt = Self.start + 8 * Self.day
        let states: [(String, [LifecycleEvent.Kind])] = [
            ("ACTIVE", [.renewed]), ("CANCELED", [.renewed, .autoRenewDisabled]),
            ("IN_GRACE_PERIOD", [.renewed, .billingIssue]), ("EXPIRED", [.renewed, .expired]),
        ]
        for (state, kinds) in states {
            let purchase = Self.week(1).with {
                $0.state = state
                if state == "EXPIRED" { $0.items[0].expiry = askedAt - 1000 }
            }
            let began = try Play.map(4, purchase, at: Self.start, askedAt: askedAt)
            #expect(began.events.map(\.kind) == kinds)
            for case .renewed(let renewed) in began.events.map(\.event) {
                let end = try #require(renewed.period.end)
                #expect(end.timeIntervalSince(renewed.period.start) <= 7 * 86_400, "\(state)")
            }
            let renewed = try Play.map(2, purchase, at: Self.start + 7 * Self.day, askedAt: askedAt)
            #expect(began.events.first?.id == renewed.events.first?.id || state == "IN_GRACE_PERIOD", "\(state)")
        }
    }

    /// A change that charges nothing leaves the order of the last renewal to the new purchase
    /// (https://developer.android.com/google/play/billing/subscriptions#replacement-modes). Without rights, or days later, the
    /// purchase before is not to be seen.
    @Test(
        "a change whose purchase before cannot be seen is a change, also with the order of a renewal",
        arguments: [nil, PlayAnswer(.denied, status: 403), PlayAnswer(.gone, status: 410)] as [PlayAnswer?]
    )
    func changedWithoutSight(answer: PlayAnswer?) throws {
        let changed = Self.week(1).with {
            $0.start = Self.start + 8 * Self.day
            $0.linked = Vectors.oldToken
            $0.items[0].extra["itemReplacement"] =
                #"{"productId":"basic","basePlanId":"monthly","replacementMode":"WITHOUT_PRORATION"}"#
        }
        let others = answer.map { [GoogleResolution.Lookup(.subscription, about: Vectors.oldToken, $0)] } ?? []
        let result = try Play.map(4, changed, at: Self.start + 8 * Self.day, others: others)
        #expect(result.events.map(\.kind) == [.productChanged])
        // With sight of it, its own renewal is one.
        let before = Vectors.purchase("EXPIRED").with {
            $0.items[0].product = "basic"
            $0.items[0].order = "GPA.3312-4415-6677-11111..3"
            $0.extra["canceledStateContext"] = Vectors.canceled("replacement")
        }
        let seen = try Play.map(
            4,
            changed,
            at: Self.start,
            askedAt: Self.start + 8 * Self.day,
            others: [Play.found(.subscription, for: Vectors.oldToken, before.json)]
        )
        #expect(seen.events.filter { $0.product?.id == "premium" }.map(\.kind) == [.renewed])
    }

    /// The developer puts the end off by a month; or Google does, while it tries a declined charge again, and says nothing
    /// (https://www.revenuecat.com/docs/customers/google-play-renewal-extensions).
    @Test(
        "an end that was put off counts, whatever the purchase is looked up for, if its own notification was lost",
        arguments: [3, 7, 8, 11, 17, 19, nil],
        [false, true]
    )
    func putOff(type: Int?, isReversed: Bool) throws {
        let askedAt = Self.start + 10 * Self.day
        let later = Self.week(1).with {
            $0.items[0].expiry = Self.start + 44 * Self.day
            if type == 3 {
                $0.state = "CANCELED"
                $0.items[0].isRenewing = false
            }
        }
        var results = [
            try Play.map(4, Self.week(0), at: Self.start),
            try Play.map(2, Self.week(1), at: Self.start + 7 * Self.day),
            try type.map { try Play.map($0, later, at: askedAt) }
                ?? PurchaseQuestionMappingTests.question(later, at: askedAt),
        ]
        if isReversed { results.reverse() }
        var ledger = AccountLedger()
        for result in results { _ = ledger.apply(result) }
        let access = try [13, 15, 43, 45].map { days in
            try #require(ledger.states.first).access(at: Play.date(Self.start + days * Self.day)).isGranted
        }
        #expect(access == [true, true, true, false])
        #expect(Self.grants(ledger).map(\.credits) == [200, 200])
        var missed = ledger
        let deferral = ledger.apply(try Play.map(9, later, at: askedAt - 1000, askedAt: askedAt + 5000))
        // The look-up has found the new end, which is not the one before.
        let (before, after) = (Play.date(Self.start + 14 * Self.day), Play.date(Self.start + 44 * Self.day))
        #expect(
            deferral.filter(\.isNews).map(\.event.event)
                == [.extended(.init(from: before, to: after, reason: .deferral))]
        )
        // If that notification is lost, the next deferral begins at the end that the look-up found.
        let again = later.with { $0.items[0].expiry = Self.start + 74 * Self.day }
        let next = missed.apply(try Play.map(9, again, at: askedAt + Self.day))
        let last = Play.date(Self.start + 74 * Self.day)
        #expect(
            next.filter(\.isNews).map(\.event.event) == [.extended(.init(from: after, to: last, reason: .deferral))]
        )
    }

    /// Play tries a declined charge for a day, in which the purchase is active, and sends no notification.
    @Test("a day in which a charge is tried again gives no instalment", arguments: [true, false])
    func silentDay(isRenewed: Bool) throws {
        let end = Self.start + 14 * Self.day
        let tried = Self.week(1).with { $0.items[0].expiry = end + Self.day }
        let next =
            try isRenewed
            ? Play.map(2, Self.week(2), at: end + Self.day / 2)
            : Play.map(5, tried.with { $0.state = "ON_HOLD" }, at: end + Self.day)
        let all = [
            try Play.map(4, Self.week(0), at: Self.start),
            try Play.map(2, Self.week(1), at: Self.start + 7 * Self.day),
            try PurchaseQuestionMappingTests.question(tried, at: end + 3_600_000), next,
        ]
        let policy = CreditPolicy(["premium:monthly": .init(credits: 10, every: CalendarDuration(days: 1))])
        for order in permutations(of: all) {
            var ledger = AccountLedger()
            for result in order { _ = ledger.apply(result) }
            func statement(_ moment: Int64) -> CreditStatement {
                CreditStatement(of: ledger.states, under: policy, uses: [], at: Play.date(moment))
            }
            let reasons = statement(end + 2 * Self.day).grants.filter {
                $0.from >= Play.date(Self.start + 7 * Self.day)
            }
            .map(\.reason)
            #expect(Array(reasons.prefix(7)) == (0..<7).map { .instalment($0) })
            #expect(reasons.dropFirst(7).first == (isRenewed ? .instalment(0) : nil))
            #expect(statement(end + Self.day / 4).balance == 10)
            #expect(statement(end + 2 * Self.day).balance == (isRenewed ? 10 : 0))
        }
    }

    @Test("a renewal that only look-ups know gives access and no credits, however often it is looked up")
    func lookedUpTwice() throws {
        var ledger = AccountLedger()
        _ = ledger.apply(try Play.map(4, Self.week(0), at: Self.start))
        for day: Int64 in [9, 11] {
            _ = ledger.apply(try PurchaseQuestionMappingTests.question(Self.week(1), at: Self.start + day * Self.day))
            let state = try #require(ledger.states.first)
            #expect(state.access(at: Play.date(Self.start + day * Self.day)).isGranted)
            #expect(state.access(at: Play.date(Self.start + 13 * Self.day)).isGranted)
            #expect(Self.grants(ledger).map(\.credits) == [200])
        }
    }

    /// The notification of the renewal is lost for good: a relay's cancellation names the period, and then a look-up its end.
    @Test("a look-up after a relay's mention of a period leaves its start and its credits, and may put its end off")
    func lookedUpAfterMention() throws {
        let (begin, end) = (Self.start + 7 * Self.day, Self.start + 14 * Self.day)
        let bought = try Play.map(4, Self.week(0), at: Self.start)
        var mention = try #require(try Play.map(2, Self.week(1), at: begin + 2 * Self.day).statements.first)
        mention.provider = .revenuecat
        mention.facts = mention.facts.compactMap { fact in
            guard case .period(var period) = fact else { return nil }
            period.period = ServicePeriod(start: Play.date(begin), end: Play.date(end))
            (period.isProvisional, period.isRunning, period.isStartInferred) = (true, true, false)
            return .period(period)
        }
        #expect(mention.facts.count == 1)
        let later = Self.week(1).with { $0.items[0].expiry = end + 3 * Self.day }
        for (purchase, isPutOff) in [(Self.week(1), false), (later, true)] {
            let asked = try PurchaseQuestionMappingTests.question(purchase, at: begin + 4 * Self.day)
            let statements = [bought.statements, [mention], asked.statements]
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 1, 2, 1, 2]] {
                var state = SubscriptionState(mention.subscription)
                for statement in order.flatMap({ statements[$0] }) {
                    state.apply(statement)
                    state = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
                }
                let access = [6, 8, 13, 16, 18].map { days in
                    state.access(at: Play.date(Self.start + days * Self.day)).isGranted
                }
                #expect(access == [true, true, true, isPutOff, false], "\(order)")
                let policy = CreditPolicy(["premium:monthly": .init(credits: 200, price: nil)])
                let now = Play.date(Self.start + 20 * Self.day)
                let grants = CreditStatement(of: [state], under: policy, uses: [], at: now).grants
                #expect(grants.map(\.credits) == [200, 200], "\(order)")
            }
        }
    }

    @Test("a day in which a declined charge is tried again gives access until the hold", arguments: [false, true])
    func triedAgain(isReversed: Bool) throws {
        let end = Self.start + 14 * Self.day
        let tried = Self.week(1).with { $0.items[0].expiry = end + Self.day }
        let held = tried.with { $0.state = "ON_HOLD" }
        var results = [
            try Play.map(4, Self.week(0), at: Self.start),
            try Play.map(2, Self.week(1), at: Self.start + 7 * Self.day),
            try PurchaseQuestionMappingTests.question(tried, at: end + 3_600_000),
            try Play.map(5, held, at: end + Self.day + 60_000),
        ]
        func access(_ results: [Normalization]) throws -> [Bool] {
            var ledger = AccountLedger()
            for result in results { _ = ledger.apply(result) }
            let state = try #require(ledger.states.first)
            return [13, 14.5, 16].map {
                state.access(at: Play.date(Self.start + Int64($0 * Double(Self.day)))).isGranted
            }
        }
        #expect(try access(results.dropLast()) == [true, true, false])
        if isReversed { results.reverse() }
        #expect(try access(results) == [true, true, false])
        #expect(Self.grants(AccountLedger(applying: results)).map(\.credits) == [200, 200])
    }

    /// After an outage of days the renewals of two weeks are asked about at once.
    @Test("of two renewals in a backlog the later one is the last period's start", arguments: [false, true])
    func backlog(isReversed: Bool) throws {
        var renewals = try [7, 14].map { (time: Int64) in
            try Play.map(2, Self.week(2), at: Self.start + time * Self.day, askedAt: Self.start + 17 * Self.day)
        }
        if isReversed { renewals.reverse() }
        var ledger = AccountLedger()
        _ = ledger.apply(try Play.map(4, Self.week(0), at: Self.start))
        for renewal in renewals { _ = ledger.apply(renewal) }
        #expect(Self.grants(ledger).map(\.from.millisecondsSince1970).last == Self.start + 14 * Self.day)
    }
}
