import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

@Suite("Refunds of sales by Checkout")
struct SaleRefundTests {
    @Test("a part of the money for what was bought once takes no access", arguments: [1000, 4900])
    func part(amount: Int64) throws {
        let adapter = try adapter()
        let reported = [
            ("checkout.session.completed", OneFactTests.session(invoice: nil, createsInvoice: false)),
            ("refund.created", Self.refund("re_1", "succeeded", amount: amount)),
        ]
        var ledger = AccountLedger()
        var effects: [LifecycleEvent.AccessEffect] = []
        for (number, reported) in reported.enumerated() {
            for event in try OneFactTests.events(reported.0, reported.1, at: created + Int64(number) * day, by: adapter)
            {
                effects.append(ledger.apply(event).event.event.accessEffect)
            }
        }
        #expect(effects == [.grants, amount == 4900 ? .removes : .none])
    }

    static func refund(_ id: String, _ status: String, amount: Int64 = 4900) -> JSONText {
        [
            "id": .string(id), "object": "refund", "amount": .integer(amount), "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "status": .string(status),
        ]
    }
}
