import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Time that costs nothing, by a trial, by the merchant or by a coupon, and what of it pays out.
@Suite("Time that costs nothing")
struct GivenTimeTests {
    typealias Taken = RareFlowTests.Taken
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    private static let policy = CreditPolicy(["prod_basic": .init(credits: 500, trialCredits: 50)])

    private static func credits(_ state: SubscriptionState, on days: Int64) -> Int64 {
        CreditStatement(of: state, under: policy, uses: [], at: date(created + days * day)).balance
    }

    private static func paid(
        _ id: String,
        reason: String,
        _ lines: [StripeInvoice.Line],
        discount: Int64 = 0,
        at time: Int64,
        version: StripeSimulator.Version
    ) -> Taken {
        var invoice = StripeInvoice(id, reason: reason, lines: lines, created: time, lookBackFrom: time - day)
        (invoice.paidAt, invoice.discount) = (time, discount)
        return invoice.reported(at: time, in: version)
    }

    private static func bought(_ version: StripeSimulator.Version) -> [Taken] {
        let first = RareFlowTests.active(.basic)
        let lines = [StripeInvoice.Line(.basic, from: first.start, to: first.end)]
        return [
            RareFlowTests.began(first, version),
            paid("in_1", reason: "subscription_create", lines, at: created, version: version),
        ]
    }

    @Test("time that a merchant gives pays out nothing, with or without its invoice of nothing", arguments: versions)
    func givenToPayer(version: StripeSimulator.Version) throws {
        let before = RareFlowTests.active(.basic)
        let time = created + 10 * day
        var given = before
        (given.status, given.start, given.end, given.latestInvoice) = ("trialing", time, time + 30 * day, "in_2")
        (given.trialStart, given.trialEnd) = (time, given.end)
        let free = StripeInvoice.Line(.basic, amount: 0, from: time, to: given.end)
        let unused = StripeInvoice.Line(.basic, amount: -666, from: time, to: before.end, isProration: true)
        let fee = StripeInvoice.Line(.seats, from: time, to: time, isProration: true)
        let invoices = [[free], [free, unused], [free, fee]].map {
            [Self.paid("in_2", reason: "subscription_update", $0, at: time, version: version)]
        }
        for invoice in [[]] + invoices {
            let deliveries = Self.bought(version) + [RareFlowTests.updated(given, from: before, at: time, version)]
            for order in permutations(of: deliveries + invoice) {
                let state = try RareFlowTests.Host(adapter(), order).state
                #expect([5, 11, 39].map { Self.credits(state, on: $0) } == [500, 500, 500])
                #expect(state.access(at: date(given.end - 1)).isGranted)
                #expect(
                    [5, 11].map { state.snapshot(at: date(created + $0 * day)).phase } == [.regular, .promotional]
                )
            }
            var renewed = RareFlowTests.next(given, invoice: "in_3")
            renewed.status = "active"
            let lines = [StripeInvoice.Line(.basic, from: renewed.start, to: renewed.end)]
            let state = try RareFlowTests.Host(
                adapter(),
                deliveries + invoice + [
                    RareFlowTests.updated(renewed, from: given, at: renewed.start, version),
                    Self.paid("in_3", reason: "subscription_cycle", lines, at: renewed.start + 3600, version: version),
                ]
            ).state
            #expect(Self.credits(state, on: 41) == 500)
        }
    }

    @Test("a charge for a change within a period that is not paid for does not pay for it", arguments: versions)
    func changeWithinUnpaid(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        let second = RareFlowTests.next(first, invoice: "in_2")
        let time = second.start + 5 * day
        let part = StripeInvoice.Line(.basic, amount: 100, from: time, to: second.end, isProration: true)
        let deliveries =
            Self.bought(version) + [
                RareFlowTests.updated(second, from: first, at: second.start, version),
                Self.paid("in_3", reason: "subscription_update", [part], at: time, version: version),
            ]
        for order in permutations(of: deliveries) {
            let state = try RareFlowTests.Host(adapter(), order).state
            let grants = CreditStatement(of: state, under: Self.policy, uses: [], at: date(time + day)).grants
            #expect(grants.count == 1 && grants.allSatisfy { $0.credits == 500 })
        }
    }

    @Test("the trial of a backdated subscription comes first, though the start lies before", arguments: versions)
    func backdatedTrial(version: StripeSimulator.Version) throws {
        var trial = RareFlowTests.active(.basic)
        (trial.startDate, trial.madeAt, trial.end) = (created - 200 * day, created, created + 14 * day)
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", created, trial.end)
        var unpaid = RareFlowTests.next(trial, invoice: "in_2")
        unpaid.status = "past_due"
        let free = StripeInvoice.Line(.basic, amount: 0, from: created, to: trial.end)
        let deliveries = [
            RareFlowTests.began(trial, version),
            Self.paid("in_1", reason: "subscription_create", [free], at: created, version: version),
            RareFlowTests.updated(unpaid, from: trial, at: trial.end + 3600, version),
        ]
        for order in permutations(of: deliveries) {
            let state = try RareFlowTests.Host(adapter(), order).state
            #expect(Self.credits(state, on: 5) == 50)
            #expect(state.snapshot(at: date(created + 5 * day)).phase == .trial)
        }
    }

    @Test(
        "a trial that ended in a pause pays out in full once it goes on",
        arguments: versions,
        [0, 14, 44] as [Int64]
    )
    func pausedTrial(version: StripeSimulator.Version, pausedUntil: Int64) throws {
        var trial = RareFlowTests.active(.basic)
        trial.end = created + 14 * day
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", created, trial.end)
        // Its period stays the trial's, or is the next one, which is not paid.
        var paused = trial
        paused.status = "paused"
        if pausedUntil > 14 { (paused.start, paused.end) = (trial.end, created + pausedUntil * day) }
        let time = created + 18 * day + 7 * 3600
        var resumed = paused
        (resumed.status, resumed.start, resumed.end, resumed.latestInvoice) = (
            "active", time, time + 30 * day, "in_2"
        )
        let lines = [StripeInvoice.Line(.basic, from: time, to: resumed.end)]
        func twin(_ type: String, _ subscription: StripeSubscription, at time: Int64) -> Taken {
            (PitfallTests.body(type, subscription, at: time, id: "evt_\(type)", in: version), time)
        }
        let deliveries = [
            RareFlowTests.began(trial, version),
            RareFlowTests.updated(paused, from: trial, at: trial.end, version),
            RareFlowTests.updated(resumed, from: paused, at: time, version),
            Self.paid("in_2", reason: "subscription_update", lines, at: time, version: version),
        ]
        let twins = [twin("paused", paused, at: trial.end), twin("resumed", resumed, at: time)]
        for isReported in pausedUntil == 0 ? [false] : [true, false] {
            for order in permutations(of: deliveries) {
                let state = try RareFlowTests.Host(adapter(), order + (isReported ? twins : [])).state
                #expect([5, 16, 19].map { Self.credits(state, on: $0) } == [50, 0, 500])
                let granted = [5, 16, 19].map { state.access(at: date(created + $0 * day)).isGranted }
                #expect(granted == [true, false, true])
                let phases = [5, 19].map { state.snapshot(at: date(created + $0 * day)).phase }
                #expect(phases == [.trial, .regular])
            }
        }
    }

    @Test("a trial that is over was a trial, however it ended", arguments: versions, ["paused", "canceled"])
    func endedTrial(version: StripeSimulator.Version, status: String) throws {
        var trial = RareFlowTests.active(.basic)
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", created, trial.end)
        var over = trial
        (over.status, over.endedAt) = (status, status == "canceled" ? created + 5 * day : nil)
        let time = status == "canceled" ? created + 5 * day : trial.end
        let type = status == "canceled" ? "deleted" : "paused"
        let end: Taken = (PitfallTests.body(type, over, at: time, id: "evt_end", in: version), time)
        for order in [[RareFlowTests.began(trial, version), end], [end, RareFlowTests.began(trial, version)], [end]] {
            let state = try RareFlowTests.Host(adapter(), order).state
            #expect([2, 40].map { state.snapshot(at: date(created + $0 * day)).phase } == [.trial, .trial])
            #expect(Self.credits(state, on: 2) == 50)
        }
    }

    @Test("a first month after a trial that a coupon makes free is a month all the same", arguments: versions)
    func freeMonth(version: StripeSimulator.Version) throws {
        var trial = RareFlowTests.active(.basic)
        trial.end = created + 14 * day
        (trial.status, trial.trialStart, trial.trialEnd) = ("trialing", created, trial.end)
        var month = RareFlowTests.next(trial, invoice: "in_2")
        month.status = "active"
        let line = StripeInvoice.Line(.basic, from: month.start, to: month.end)
        let free = Self.paid(
            "in_2",
            reason: "subscription_cycle",
            [line],
            discount: line.amount,
            at: month.start + 3600,
            version: version
        )
        let deliveries = [
            RareFlowTests.began(trial, version),
            Self.paid(
                "in_1",
                reason: "subscription_create",
                [.init(.basic, amount: 0, from: created, to: trial.end)],
                at: created,
                version: version
            ), RareFlowTests.updated(month, from: trial, at: month.start, version), free,
        ]
        for order in permutations(of: deliveries) {
            let state = try RareFlowTests.Host(adapter(), order).state
            #expect([5, 15].map { Self.credits(state, on: $0) } == [50, 500])
            #expect([5, 15].map { state.snapshot(at: date(created + $0 * day)).phase } == [.trial, .promotional])
        }
        let host = try RareFlowTests.Host(adapter(), deliveries)
        #expect(host.kinds == ["started", "renewed"])
    }
}
