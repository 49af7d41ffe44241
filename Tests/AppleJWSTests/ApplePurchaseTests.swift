import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing

@Suite("One-time purchases: sharing that ends, and partial refunds")
struct ApplePurchaseTests {
    let start = AppleFixture.start
    func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    @Test("a family member's non-consumable ends with the sharing")
    func family() throws {
        let fixture = try AppleFixture()
        var transaction = AppleSimulator.Transaction(
            transactionId: "100",
            originalTransactionId: "100",
            productId: "lifetime",
            purchaseDate: start,
            type: "Non-Consumable"
        )
        transaction.inAppOwnershipType = "FAMILY_SHARED"
        transaction.originalPurchaseDate = start
        func events(_ at: Double) throws -> [NormalizedEvent] {
            try fixture.adapter.receive(
                signedTransaction: try fixture.simulator.signed(transaction, at: day(at)),
                signedRenewalInfo: nil,
                receivedAt: day(at)
            ).events
        }
        var ledger = try AccountLedger(applying: events(0.01))
        #expect(ledger.states[0].access(at: day(5)).isGranted)
        transaction.revocationDate = day(10)
        transaction.revocationReason = 0
        transaction.revocationType = "FAMILY_REVOKE"
        let revoked = try events(10.01)
        #expect(revoked.map(\.kind.rawValue).contains("revoked"))
        for event in revoked { _ = ledger.apply(event) }
        #expect(!ledger.states[0].access(at: day(11)).isGranted)
    }
}
