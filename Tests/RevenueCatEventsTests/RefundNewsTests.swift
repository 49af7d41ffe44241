import NotificationSimulator
import Normalizer
import Testing
import WireJSON

@Suite("Refunds and renewals, as a state words them")
struct RefundNewsTests {
    typealias Period = RevenueCatSimulator.Period
    let traps = TrapTests()

    private func news(_ events: [TrapTests.Event]) throws -> [LifecycleEvent] {
        var ledger = AccountLedger()
        return try events.flatMap { try traps.normalization($0).events }.map { ledger.apply($0).event.event }
    }

    private func refund(_ at: Int64, _ period: Period) -> TrapTests.Event {
        traps.event("CANCELLATION", at: at, period, changing: ["cancel_reason": "CUSTOMER_SUPPORT", "price": -10])
    }

    @Test("a refund of an earlier period does not affect the current one", arguments: [true, false])
    func earlierPeriod(isRenewed: Bool) throws {
        let at = (isRenewed ? t1 : t0) + 9 * day
        let refunded = refund(at, Period(t0, to: min(at, t1), "O1"))
        let reported = try news([traps.purchase] + (isRenewed ? [traps.renewal] : []) + [refunded])
        guard case .refunded(let refund)? = reported.last else {
            Issue.record("\(reported)")
            return
        }
        #expect(refund.affectsCurrentPeriod == !isRenewed)
    }

    @Test("a renewal after a refund is no new start, unless renewal was off", arguments: [true, false])
    func renewalAfterRefund(isOff: Bool) throws {
        let cut = t0 + 10 * day
        let off = traps.event("CANCELLATION", at: cut - day, .first, changing: ["cancel_reason": "UNSUBSCRIBE"])
        let reported = try news(
            [traps.purchase] + (isOff ? [off] : []) + [refund(cut, Period(t0, to: cut, "O1")), traps.renewal]
        )
        #expect(reported.last?.kind == (isOff ? .started : .renewed))
    }
}
