import FoundationEssentials
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing

private func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

private let t0: Int64 = 1_767_225_600_000
private let day: Int64 = 86_400_000

/// RevenueCat's API states a refund and tells of none, so that its webhook is news, once.
@Suite("Refunds that RevenueCat's API shows first")
struct RefundLookupTests {
    typealias Event = RevenueCatSimulator.Event

    @Test("of a subscription are news when the webhook comes", arguments: ["APP_STORE", "PLAY_STORE"], [false, true])
    func subscription(_ store: String, isLooking: Bool) async throws {
        let refundedAt = t0 + 5 * day
        let bought = CreditTests.event("INITIAL_PURCHASE", t0 + 5000, .first, "pro_m", ["store": .string(store)])
            .priced("20.00")
        let refund = CreditTests.event(
            "CANCELLATION",
            refundedAt + 5000,
            .first,
            "pro_m",
            ["store": .string(store), "cancel_reason": "CUSTOMER_SUPPORT", "expiration_at_ms": .integer(refundedAt)]
        )
        let events = try CreditTests.events([bought, refund])
        let lineage = try #require(events[0].subscription)
        let shown = try await ClientTests.subscriber(
            [
                "store": .string(store.lowercased()), "refunded_at": "2026-01-06T00:00:00Z",
                "expires_date": "2026-01-06T00:00:00Z",
                "store_transaction_id": events[0].transaction.map { .string($0) } ?? .null,
            ],
            product: "pro_m",
            at: refundedAt + 1000
        )
        // Also where the state is asked about again after the webhook.
        for looks in [[1], [1, 2], [1, 3], [1, 2, 3]] {
            var ledger = AccountLedger()
            var dispositions: [AppliedEvent.Disposition] = []
            var effects: [CreditAction.Effect] = []
            for (index, event) in (events + [events[1]]).enumerated() {
                if isLooking, looks.contains(index) {
                    let time = date(refundedAt + Int64(index) * 60_000)
                    ledger.apply(shown.statement(about: lineage, product: "pro_m", at: time))
                    #expect(ledger[lineage]?.access(at: time).isGranted == false)
                }
                let applied = ledger.apply(event)
                dispositions.append(applied.disposition)
                effects += CreditTests.policy.actions(for: applied, in: try #require(ledger[lineage])).map(\.effect)
            }
            #expect(dispositions.prefix(2) == [.applied, .applied], "looked at before \(looks)")
            #expect(dispositions.last != .applied, "looked at before \(looks)")
            #expect(effects.prefix(2) == [.reset(to: 500), .revoke])
        }
    }

    @Test("of a one-time purchase are news when the webhook comes", arguments: [false, true])
    func purchase(isLooking: Bool) async throws {
        let bought = try PurchaseLookupTests.webhook()
        let cancellation = Event(
            "CANCELLATION",
            id: "C",
            at: t0 + 2 * day,
            .first,
            [
                "cancel_reason": "CUSTOMER_SUPPORT", "expiration_at_ms": .integer(t0 + 2 * day),
                "product_id": .string(bought.product?.id ?? ""),
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
