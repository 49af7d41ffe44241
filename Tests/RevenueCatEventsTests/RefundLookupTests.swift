import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// RevenueCat's API states a refund and tells of none, so that its webhook is news, once.
@Suite("Refunds that RevenueCat's API shows first")
struct RefundLookupTests {
    typealias Event = RevenueCatSimulator.Event

    @Test("a refund of a one-time purchase is news when the webhook comes", arguments: [false, true])
    func purchase(isLooking: Bool) async throws {
        let bought = try PurchaseLookupTests.webhook()
        let cancellation = Event(
            "CANCELLATION",
            id: "C",
            at: t0 + 2 * day,
            .first,
            changing: [
                "cancel_reason": "CUSTOMER_SUPPORT", "expiration_at_ms": .integer(t0 + 2 * day),
                "product_id": .string(bought.product?.id.rawValue ?? ""),
            ]
        )
        let refund = try #require(try CreditTests.events([cancellation]).first)
        let shown = try await PurchaseLookupTests.newer(["status": "refunded"])
        var ledger = AccountLedger()
        _ = ledger.apply(bought)
        if isLooking {
            for statement in shown.statements(product: "pro_m", at: date(t0 + 2 * day + 10_000)) {
                ledger.apply(statement)
            }
        }
        #expect(ledger.apply(refund).disposition == .applied)
        #expect(ledger.apply(refund).disposition != .applied)
        let stored = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(ledger.states[0]))
        #expect(stored == ledger.states[0])
    }
}
