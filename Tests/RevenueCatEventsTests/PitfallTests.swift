import NotificationSimulator
import Normalizer
import Testing
import WireJSON

/// Mistakes of published receivers of such webhooks, next to the traps of RevenueCat's own types.
@Suite("Pitfalls")
struct PitfallTests {
    let traps = TrapTests()

    private func canceled(_ at: Int64 = t0 + 10 * day) -> TrapTests.Event {
        traps.event("CANCELLATION", at: at, .first, changing: ["cancel_reason": "UNSUBSCRIBE"])
    }

    @Test("O2: turned on again or renewed, no reason is left why it would not renew")
    func reasonsAreCleared() throws {
        for after in [traps.event("UNCANCELLATION", at: t0 + 11 * day), traps.renewal] {
            let ledger = try traps.ledger(traps.purchase, canceled(), after)
            let snapshot = ledger[TrapTests.lineage]?.snapshot(at: date(t1 - 1))
            #expect(snapshot?.willRenew == true)
            #expect(snapshot?.willNotRenewBecause == nil)
        }
    }

    @Test("O5: a purchase that arrives after its cancellation lets the customer in")
    func cancellationFirst() throws {
        let ledger = try traps.ledger(canceled(), traps.purchase)
        #expect(traps.isGranted(ledger, at: t0 + 11 * day) == true)
        #expect(ledger[TrapTests.lineage]?.snapshot(at: date(t0 + 11 * day)).willRenew == false)
    }

    @Test("O12: what goes back of one period takes nothing from another")
    func refundOfOnePeriod() throws {
        let refund = traps.event(
            "CANCELLATION",
            at: t1 + day,
            .init(t0, to: t1, "O1"),
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        #expect(traps.isGranted(try traps.ledger(traps.purchase, traps.renewal, refund), at: t1 + 2 * day) == true)
    }

    @Test("O13: a refund undone starts nothing")
    func reversalIsNoStart() throws {
        #expect(try traps.one(traps.event("REFUND_REVERSED", at: t0 + 13 * day)).kind == .refundReversed)
    }

    @Test("O24: a refund that arrives after a newer choice of the customer still counts")
    func lateFact() throws {
        let change = traps.event("PRODUCT_CHANGE", at: t0 + 12 * day, .first, changing: ["new_product_id": "basic_m"])
        let refund = traps.event(
            "CANCELLATION",
            at: t0 + 10 * day,
            .init(t0, to: t0 + 10 * day, "O1"),
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        #expect(traps.isGranted(try traps.ledger(traps.purchase, change, refund), at: t0 + 13 * day) == false)
    }

    @Test("N2: with renewal turned off, what was paid for stays")
    func canceledIsNotOver() throws {
        let ledger = try traps.ledger(traps.purchase, canceled())
        #expect(traps.isGranted(ledger, at: t1 - 1) == true)
        #expect(traps.isGranted(ledger, at: t1) == false)
    }

    @Test("N3: an older webhook that comes late does not set the end back")
    func noRewind() throws {
        let ledger = try traps.ledger(traps.renewal, traps.purchase, canceled())
        #expect(traps.isGranted(ledger, at: t2 - 1) == true)
        #expect(ledger[TrapTests.lineage]?.snapshot(at: date(t1 + day)).willRenew == true)
    }
}
