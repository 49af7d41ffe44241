import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

@Suite("Pauses that end")
struct PauseTests {
    /// Drafts of invoices that are kept are finished and paid once the pause is over; void ones never are.
    @Test("a month that began while collection was paused pays out where it is paid for", arguments: [true, false])
    func voidMonth(isVoid: Bool) throws {
        let adapter = try policed { $0.collectionPause = .pauses }
        let version = StripeSimulator.Version.endive
        let first = RareFlowTests.active(.basic)
        var paused = first
        paused.collectionPause = ["behavior": .string(isVoid ? "void" : "keep_as_draft")]
        let second = RareFlowTests.next(paused, invoice: "in_2")
        var resumed = second
        resumed.collectionPause = nil
        let third = RareFlowTests.next(resumed, invoice: "in_3")
        func paid(_ period: StripeSubscription, at time: Int64) -> RareFlowTests.Taken {
            RareFlowTests.invoice(
                period.latestInvoice ?? "",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: period.start, to: period.end)],
                at: time,
                lookBackFrom: period.start - 30 * day,
                in: version
            )
        }
        let back = second.start + 10 * day
        var host = try RareFlowTests.Host(
            adapter,
            [
                RareFlowTests.began(first, version),
                RareFlowTests.updated(paused, from: first, at: first.start + 10 * day, version),
                RareFlowTests.updated(second, from: paused, at: second.start + 5, version),
                RareFlowTests.updated(resumed, from: second, at: back, version),
            ]
        )
        #expect(host.kinds == ["started", "paused", "renewed"])
        #expect(host.state.access(at: date(back)).isGranted)
        if !isVoid {
            try host.take(paid(second, at: back + day))
        }
        try host.take(RareFlowTests.updated(third, from: resumed, at: third.start + 5, version))
        try host.take(paid(third, at: third.start + 3600))
    }

    @Test("a subscription of endive that goes on after a pause is resumed, not extended")
    func resumedTwin() throws {
        var paused = PitfallTests.active {
            $0.status = "paused"; $0.end = created
        }
        paused.statusDetails = ["paused": ["transitioned_at": .integer(created)]]
        var active = PitfallTests.active()
        active.end = created + 20 * day
        let body = PitfallTests.body(
            "updated",
            active,
            previous: paused.previous(active, .endive),
            at: created + 5 * day
        )
        let kinds = try adapter().take(body, at: created + 5 * day).kinds
        #expect(kinds == [], "\(kinds)")
    }

    @Test("a pause and its end are news once, whichever of Stripe's two words for them comes first")
    func toldTwice() throws {
        let adapter = try adapter()
        let trial = PitfallTests.active {
            ($0.status, $0.trialStart, $0.trialEnd, $0.end) = ("trialing", $0.start, created, created)
        }
        var paused = trial
        paused.status = "paused"
        let resumedAt = created + 5 * day
        var anew = paused
        (anew.status, anew.start, anew.end) = ("active", resumedAt, resumedAt + 30 * day)
        var within = paused
        (within.status, within.end) = ("active", created + 20 * day)
        for resumed in [anew, within] {
            func reported(_ object: StripeSubscription, from before: StripeSubscription, _ type: String, at time: Int64)
                -> [[UInt8]]
            {
                [
                    PitfallTests.body(
                        "updated",
                        object,
                        previous: before.previous(object, .endive),
                        at: time,
                        id: "evt_u\(time)"
                    ),
                    PitfallTests.body(type, object, at: time, id: "evt_\(type)"),
                ]
            }
            let pause = reported(paused, from: trial, "paused", at: created)
            let end = reported(resumed, from: paused, "resumed", at: resumedAt)
            for isTwinFirst in [true, false] {
                let began = PitfallTests.body("created", trial, at: trial.start, id: "evt_0")
                let order = [began] + (isTwinFirst ? pause + end : pause.reversed() + end.reversed())
                let host = try RareFlowTests.Host(adapter, order.map { ($0, resumedAt) })
                #expect(host.kinds == ["started", "paused", "renewed"], "\(isTwinFirst)")
            }
        }
    }
}
