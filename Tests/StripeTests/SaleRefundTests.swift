import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

@Suite("Refunds of sales by Checkout")
struct SaleRefundTests {
    /// Before basil a charge names its invoice, also that of a sale by Checkout.
    @Test("the refund of a sale by Checkout that made an invoice takes its credits", arguments: OneFactTests.versions)
    func refundOfSaleWithInvoice(_ version: StripeSimulator.Version) throws {
        for mode in version == .endive ? ["session"] : ["session", "mode"] {
            let adapter = try adapter {
                $0.policy.sellsByInvoice = mode == "mode"; $0.policy.refundSource = .charges
            }
            let session = try OneFactTests.events(
                "checkout.session.completed",
                OneFactTests.session(invoice: "in_1"),
                adapter,
                in: version
            )
            let invoice: JSONText = version == .endive ? nil : "in_1"
            let charge: JSONText = [
                "id": "ch_1", "object": "charge", "amount": 4900, "amount_refunded": 4900, "currency": "usd",
                "payment_intent": "pi_1", "refunded": true, "invoice": invoice,
            ]
            let refund = try OneFactTests.events(
                "charge.refunded",
                charge,
                previous: ["amount_refunded": 0, "refunded": false],
                at: created + day,
                adapter,
                in: version
            )
            let policy = CreditPolicy(["cs_1": .init(credits: 5)])
            var ledger = AccountLedger()
            var actions: [String] = []
            for event in session + refund {
                let application = ledger.apply(event)
                let lineage = try #require(event.subscription)
                let state = try #require(ledger[lineage])
                actions += policy.actions(for: application, in: state).map { "\($0.effect)" }
            }
            #expect(actions.count == 2, "\(mode) \(version.name) \(actions) \(refund.map { $0.transaction ?? "" })")
        }
    }
}
