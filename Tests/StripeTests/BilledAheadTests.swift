import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Periods that are paid for before they begin (`billing_schedules`, since 2026-05-27), and such that are shorter than a full one.
@Suite("Stripe, billed ahead or in part")
struct BilledAheadTests {
    private typealias Flow = RareFlowTests
    private static let month = Flow.active(.basic)

    private static func paid(
        _ id: String,
        reason: String,
        lines: [StripeInvoice.Line],
        at time: Int64,
        lookBackFrom: Int64? = nil,
        in version: StripeSimulator.Version = .endive,
        change: (String) -> String = { $0 }
    ) -> Flow.Taken {
        var invoice = StripeInvoice(id, reason: reason, lines: lines, created: time, lookBackFrom: lookBackFrom)
        invoice.paidAt = time
        let object = JSONText.raw(change(JSONText.object(invoice.object(version)).text))
        return PaymentJoinTests.event("invoice.paid", object, at: time, id: "evt_\(id)", in: version)
    }

    private static func line(_ number: Int64, of months: Int64 = 1) -> StripeInvoice.Line {
        .init(.basic, from: month.start + (number * 30) * day, to: month.start + (number + months) * 30 * day)
    }

    /// The next period, which no invoice bills any more.
    private static func roll(_ before: StripeSubscription) -> (after: StripeSubscription, reported: Flow.Taken) {
        let after = Flow.next(before, invoice: before.latestInvoice ?? "")
        return (after, Flow.updated(after, from: before, at: after.start + 5, .endive))
    }

    @Test("months that are paid for at the start pay out one after the other", arguments: [false, true])
    func monthsAtTheStart(isOneLine: Bool) throws {
        let lines = isOneLine ? [Self.line(0, of: 3)] : (0..<3).map { Self.line($0) }
        let paid = Self.paid("in_1", reason: "subscription_create", lines: lines, at: Self.month.start)
        let began = Flow.began(Self.month, .endive)
        for order in [[began, paid], [paid, began]] {
            var host = try Flow.Host(adapter(), order)
            #expect(host.kinds == ["started"])
            #expect(host.state.snapshot(at: date(Self.month.start + day)).period?.end == date(Self.month.end))
            var current = Self.month
            for number in 2...3 {
                let (after, reported) = Self.roll(current)
                try host.take(reported)
                #expect(host.kinds.count == number)
                #expect(Self.credits(host, at: after.start + day) == 200)
                current = after
            }
        }
    }

    @Test("months of an invoice that was sent, and is not paid, give no credits")
    func monthsOfSentInvoice() throws {
        func sent(_ reported: Flow.Taken) -> Flow.Taken {
            let body = String(decoding: reported.body, as: UTF8.self)
                .replacing("\"charge_automatically\"", with: "\"send_invoice\"")
            return (Array(body.utf8), reported.time)
        }
        var host = try Flow.Host(adapter(), [sent(Flow.began(Self.month, .endive))])
        let (after, reported) = Self.roll(Self.month)
        try host.take(sent(reported))
        #expect(host.kinds == ["started", "renewed"])
        #expect(Self.credits(host, at: after.start + day) == 0)
    }

    @Test("a renewal that is paid for a week ahead pays out when its period begins")
    func renewalAhead() throws {
        let time = Self.month.end - 7 * day
        var billed = Self.month
        billed.latestInvoice = "in_2"
        let reported = Flow.updated(billed, from: Self.month, at: time, .endive)
        let paid = Self.paid("in_2", reason: "subscription_update", lines: [Self.line(1)], at: time)
        for order in [[reported, paid], [paid, reported]] {
            var host = try Flow.Host(adapter(), [Flow.began(Self.month, .endive)] + order)
            // That money was taken is in an event, and no period has begun.
            #expect(host.kinds == ["started", "notice"])
            #expect(host.state.snapshot(at: date(time + 60)).period?.end == date(Self.month.end))
            try host.take(Self.roll(billed).reported)
            #expect(host.kinds == ["started", "notice", "renewed"])
            #expect(Self.credits(host, at: Self.month.end + day) == 200)
        }
    }

    /// The balance, of 200 a month.
    private static func credits(_ host: Flow.Host, at time: Int64) -> Int64 {
        let policy = CreditPolicy(["prod_basic": .init(credits: 200)])
        return CreditStatement(of: host.state, under: policy, uses: [], at: date(time)).balance
    }

    @Test("a renewal that cannot be paid for ahead takes nothing of the period that runs")
    func renewalAheadFails() throws {
        let time = Self.month.end - 7 * day
        var invoice = StripeInvoice("in_2", reason: "subscription_update", lines: [Self.line(1)], created: time)
        invoice.status = "open"
        let host = try Flow.Host(
            policed { $0.pastDue = .grace(.seconds(3 * day)) },
            [Flow.began(Self.month, .endive), invoice.reported("payment_failed", at: time)]
        )
        #expect(host.kinds == ["started", "billing_issue"])
        #expect(host.state.access(at: date(Self.month.end - day)).isGranted)
    }

    /// Says until when a subscription is billed ahead, for a price or for all.
    private static func billed(
        _ reported: Flow.Taken,
        until time: Int64,
        for price: StripePrice? = .basic
    ) -> Flow.Taken {
        let prices = price.map { #"[{"price":"\#($0.id)","type":"price"}]"# } ?? "null"
        let schedules = """
            "billing_schedules":[{"applies_to":\(prices),\
            "bill_until":{"computed_timestamp":\(time),"type":"timestamp"},"key":"ahead"}],
            """
        let body = String(decoding: reported.body, as: UTF8.self)
            .replacing("\"cancel_at\":", with: schedules + "\"cancel_at\":", maxReplacements: 1)
        return (Array(body.utf8), reported.time)
    }

    @Test(
        "a period that is billed ahead begins also beside an invoice for usage, or for the rest of it",
        arguments: [false, true]
    )
    func renewalBesideInvoice(isRest: Bool) throws {
        var before = Self.month
        before.items.append(.init("si_2", .usage))
        let after = Flow.next(before, invoice: "in_2")
        let rolled = Self.billed(
            Flow.updated(after, from: before, at: after.start + 5, .endive),
            until: isRest ? after.start + 15 * day : after.end
        )
        let line =
            isRest
            ? StripeInvoice.Line(.basic, amount: 500, from: after.start + 15 * day, to: after.end)
            : .init(.usage, from: before.start, to: before.end)
        let paid = Self.paid(
            "in_2",
            reason: "subscription_cycle",
            lines: [line],
            at: after.start + 3600,
            lookBackFrom: before.start
        )
        for (order, kinds) in [([rolled, paid], ["renewed", "notice"]), ([paid, rolled], ["notice", "renewed"])] {
            let host = try Flow.Host(adapter(), [Flow.began(before, .endive)] + order)
            #expect(host.kinds == ["started"] + kinds)
            #expect(host.state.snapshot(at: date(after.start + 7200)).period?.start == date(after.start))
        }
    }

    @Test("a trial beside which the period after it is paid for is a trial")
    func monthAfterTrial() throws {
        var trial = Self.month
        trial.status = "trialing"
        (trial.end, trial.trialStart, trial.trialEnd) = (trial.start + 7 * day, trial.start, trial.start + 7 * day)
        let lines: [StripeInvoice.Line] = [
            .init(.basic, amount: 0, from: trial.start, to: trial.end),
            .init(.basic, from: trial.end, to: trial.end + 30 * day),
        ]
        let paid = Self.paid("in_1", reason: "subscription_create", lines: lines, at: trial.start)
        let began = Flow.began(trial, .endive)
        for (order, kinds) in [([began, paid], ["started", "notice"]), ([paid, began], ["notice", "started"])] {
            var host = try Flow.Host(adapter(), order)
            let phases = host.acts.compactMap {
                if case .started(let started) = $0.event { started.phase } else { nil }
            }
            #expect(phases == [.trial])
            var month = trial
            (month.status, month.start, month.end) = ("active", trial.end, trial.end + 30 * day)
            try host.take(Flow.updated(month, from: trial, at: month.start + 5, .endive))
            #expect(host.kinds == kinds + ["renewed"])
        }
    }

    @Test("metered use beside a year that is billed ahead begins no period of its own")
    func usageBesideYear() throws {
        let start = Self.month.start
        func standing(_ month: Int64) -> StripeSubscription {
            var subscription = Self.month
            let begin = start + month * 30 * day
            subscription.items = [
                .init("si_y", .basicYear, period: start..<start + 365 * day),
                .init("si_m", .calls, period: begin..<begin + 30 * day),
            ]
            subscription.latestInvoice = "in_\(month + 1)"
            return subscription
        }
        let updated = Flow.updated(standing(1), from: standing(0), at: start + 30 * day + 5, .endive)
        let billed = Self.billed(updated, until: start + 730 * day, for: nil)
        #expect(try adapter().take(billed.body, at: billed.time).kinds == [])
    }

    @Test("a part of a period between a trial and the anchor of billing is paid for", arguments: PitfallTests.versions)
    func partAfterTrial(version: StripeSimulator.Version) throws {
        var trial = Self.month
        trial.status = "trialing"
        (trial.end, trial.trialStart, trial.trialEnd) = (trial.start + 7 * day, trial.start, trial.start + 7 * day)
        var part = trial
        (part.status, part.latestInvoice) = ("active", "in_2")
        (part.start, part.end) = (trial.end, trial.start + 17 * day)
        let converted = Flow.updated(part, from: trial, at: part.start + 5, version)
        for isProration in [false, true] {
            let paid = Self.paid(
                "in_2",
                reason: "subscription_cycle",
                lines: [.init(.basic, amount: 333, from: part.start, to: part.end)],
                at: part.start + 3600,
                lookBackFrom: trial.start,
                in: version
            ) { $0.replacing("\"proration\":false", with: "\"proration\":\(isProration)") }
            for order in [[converted, paid], [paid, converted]] {
                let host = try Flow.Host(adapter(), [Flow.began(trial, version)] + order)
                #expect(host.kinds == ["started", "renewed"], "\(isProration)")
            }
        }
    }
}
