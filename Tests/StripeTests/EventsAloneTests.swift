import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing

/// A host may keep events and nothing else. What a customer paid for, and where money went back, must not hang on statements
/// that come without an event.
@Suite("A Stripe subscription known by its events alone")
struct EventsAloneTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    static let policies: [StripeAdapter.Policy.PastDueAccess] = [.keeps, .suspends, .grace(.seconds(3 * 86_400))]

    /// The events of deliveries, as a host sees them that does not read what comes without one.
    ///
    /// - Parameter stored: what the host has kept of a fact.
    private func ledger(
        _ deliveries: [RareFlowTests.Taken],
        _ adapter: StripeAdapter,
        as stored: (Fact) -> Fact = { $0 }
    ) throws -> AccountLedger {
        var ledger = AccountLedger()
        for delivery in deliveries {
            for var event in try adapter.take(delivery.body, at: delivery.time).events {
                event.facts = event.facts.map(stored)
                _ = ledger.apply(event)
            }
        }
        return ledger
    }

    /// A fact as it was stated when neither an end nor a charge named the other.
    private func withoutNames(_ fact: Fact) -> Fact {
        switch fact {
        case .periodEnded(var end):
            end.outstandingCharge = nil
            return .periodEnded(end)
        case .charge(var charge):
            charge.periodStart = nil
            return .charge(charge)
        default:
            return fact
        }
    }

    /// A second month that is not paid for, until the customer pays its invoice.
    private func rescued(
        from status: String,
        _ version: StripeSimulator.Version
    ) -> (unpaid: [RareFlowTests.Taken], rescue: [RareFlowTests.Taken], end: Int64) {
        let first = RareFlowTests.active(.basic)
        var open = RareFlowTests.next(first, invoice: "in_2")
        open.status = "past_due"
        var failed = open
        failed.status = status
        var active = open
        active.status = "active"
        let line = StripeInvoice.Line(.basic, from: open.start, to: open.end)
        var deliveries = [
            RareFlowTests.began(first, version),
            RareFlowTests.updated(open, from: first, at: open.start + 3600, version),
        ]
        if status != "past_due" {
            deliveries.append(RareFlowTests.updated(failed, from: open, at: open.start + 4 * day, version))
        }
        let time = open.start + 5 * day
        return (
            deliveries,
            [
                RareFlowTests.updated(active, from: failed, at: time, version),
                RareFlowTests.invoice("in_2", "paid", lines: [line], at: time, in: version),
            ],
            open.end
        )
    }

    @Test("a customer who pays the open invoice has the paid period, in any order", arguments: versions, policies)
    func rescue(version: StripeSimulator.Version, policy: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = policy }
        for status in ["past_due", "unpaid"] {
            let (unpaid, rescue, end) = rescued(from: status, version)
            for order in permutations(of: unpaid + rescue) {
                let state = try #require(try ledger(order, adapter)[PitfallTests.lineage])
                for time in [end - 24 * day, end - 1] { #expect(state.access(at: date(time)).isGranted) }
                #expect(!state.access(at: date(end)).isGranted)
                #expect(state.contradictions.isEmpty)
            }
            let news = try (unpaid + rescue).flatMap { try adapter.take($0.body, at: $0.time).events }
            #expect(news.filter { $0.kind == .renewed }.count == 1)
        }
    }

    @Test("a payment gives back what went for want of it, also where its name is not known", arguments: versions)
    func rescueUnnamed(version: StripeSimulator.Version) throws {
        let (unpaid, rescue, end) = rescued(from: "unpaid", version)
        let adapter = try adapter()
        for order in permutations(of: unpaid + [rescue[1]]) {
            let state = try #require(try ledger(order, adapter, as: withoutNames)[PitfallTests.lineage])
            for time in [end - 24 * day, end - 1] { #expect(state.access(at: date(time)).isGranted) }
            #expect(!state.access(at: date(end)).isGranted)
        }
    }

    @Test("a month that is not paid for is in grace until it is", arguments: versions, [.keeps, policies[2]])
    func pastDue(version: StripeSimulator.Version, policy: StripeAdapter.Policy.PastDueAccess) throws {
        let adapter = try policed { $0.pastDue = policy }
        let (unpaid, rescue, end) = rescued(from: "past_due", version)
        let start = end - 30 * day
        let open = try #require(try ledger(unpaid, adapter)[PitfallTests.lineage])
        #expect(open.snapshot(at: date(start + 2 * day)).status == .grace)
        #expect(open.snapshot(at: date(start - 1)).status == .active)
        let paid = try #require(try ledger(unpaid + rescue, adapter)[PitfallTests.lineage])
        for time in [start + 2 * day, end - 1] { #expect(paid.snapshot(at: date(time)).status == .active) }
    }

    @Test("an attempt that failed, and has to be confirmed, is two facts, in any order", arguments: versions)
    func actionRequired(version: StripeSimulator.Version) throws {
        let (unpaid, rescue, end) = rescued(from: "past_due", version)
        let start = end - 30 * day
        let line = StripeInvoice.Line(.basic, from: start, to: end)
        let attempt = ["payment_failed", "payment_action_required"].map {
            RareFlowTests.invoice("in_2", $0, lines: [line], at: start + 3600, in: version)
        }
        for order in permutations(of: [unpaid[0]] + attempt) {
            var host = try RareFlowTests.Host(adapter(), order)
            let isToConfirm = host.acts.compactMap { act -> Bool? in
                guard case .billingIssue(let issue) = act.event else { return nil }
                return issue.actionRequired
            }
            #expect(isToConfirm.count == 2 && Set(isToConfirm) == [true, false])
            #expect(host.state.snapshot(at: date(start + 2 * day)).status == .grace)
            for delivery in rescue { try host.take(delivery) }
            #expect(host.acts.last?.kind == .renewed)
            #expect(host.state.snapshot(at: date(end - 1)).status == .active)
        }
    }

    @Test("a customer who does not pay is locked out, as Stripe says")
    func unpaid() throws {
        let (unpaid, _, end) = rescued(from: "unpaid", .endive)
        for order in permutations(of: unpaid) {
            let state = try #require(try ledger(order, adapter())[PitfallTests.lineage])
            #expect(!state.access(at: date(end - 24 * day)).isGranted)
        }
    }

    @Test("an invoice that is paid when its subscription has ended brings nothing back", arguments: versions)
    func paidTooLate(version: StripeSimulator.Version) throws {
        let (unpaid, rescue, end) = rescued(from: "unpaid", version)
        var ended = RareFlowTests.next(RareFlowTests.active(.basic), invoice: "in_2")
        (ended.status, ended.endedAt, ended.canceledAt) = ("canceled", ended.start + 4 * day + 60, ended.start)
        let time = ended.start + 4 * day + 60
        let deleted: RareFlowTests.Taken = (
            PitfallTests.body("deleted", ended, at: time, id: "evt_deleted", in: version), time
        )
        for order in permutations(of: unpaid + [deleted, rescue[1]]) {
            for stored in [{ $0 }, withoutNames] {
                let state = try #require(try ledger(order, adapter(), as: stored)[PitfallTests.lineage])
                #expect(!state.access(at: date(end - 24 * day)).isGranted)
            }
        }
    }

    @Test("a refund reaches the subscription whose payment it names", arguments: versions)
    func refund(version: StripeSimulator.Version) throws {
        let refund = PaymentJoinTests.refund(
            "re_1",
            PaymentJoinTests.sold,
            of: try PaymentJoinTests.payment(version),
            at: created + 5 * day,
            in: version
        )
        let adapter = try policed { $0.refundSource = .refunds }
        for order in permutations(of: try PaymentJoinTests.purchase(version) + [refund]) {
            let ledger = try ledger(order, adapter)
            #expect(ledger.states.map(\.subscription) == [PitfallTests.lineage])
            let state = try #require(ledger[PitfallTests.lineage])
            #expect(state.refund(of: "in_1")?.value.scope == .full)
        }
    }

    @Test("which payment paid an invoice is a notice with both their names")
    func paymentLinked() throws {
        let delivery = try #require(try PaymentJoinTests.purchase(.endive).last)
        let event = try #require(try adapter().take(delivery.body, at: delivery.time).events.first)
        #expect(event.event == .notice(.init(.paymentLinked, facts: ["invoice": "in_1", "payment": "pi_in_1"])))
        #expect(event.transaction == "in_1")
        #expect(event.facts.map(\.kind) == [.transactionName, .link])
    }
}
