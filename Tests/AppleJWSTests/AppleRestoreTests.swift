import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

/// Restored on another device, a purchase comes under another transaction identifier each time.
@Suite("Purchases are restored")
struct AppleRestoreTests {
    let start = AppleFixture.start
    func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    /// A host that keeps the events.
    private struct Host {
        let fixture: AppleFixture
        let policy = CreditPolicy(["pro": .init(credits: 100), "lifetime": .init(credits: 500)])
        var ledger = AccountLedger()
        var events: Set<EventID> = []

        mutating func upload(_ transaction: AppleSimulator.Transaction, at date: Date) throws {
            let reported = try fixture.adapter.receive(
                signedTransaction: try fixture.simulator.signed(transaction, at: date),
                signedRenewalInfo: nil,
                receivedAt: date
            ).events
            for event in reported {
                events.insert(event.id)
                _ = ledger.apply(event)
            }
        }

        /// How many credits each grant gave, and how many are left.
        func credits(at date: Date) -> (given: [Int64], left: Int64) {
            let statement = CreditStatement(of: ledger.states, under: policy, uses: [], at: date)
            return (statement.grants.map(\.credits), statement.balance)
        }
    }

    private func month(_ name: String) -> AppleSimulator.Transaction {
        var transaction = AppleFixture.month(name)
        transaction.webOrderLineItemId = "900"
        return transaction
    }

    @Test("a period pays out once, however often it is restored", arguments: [["100", "101", "102"], ["102", "100"]])
    func subscription(names: [String]) throws {
        var host = Host(fixture: try AppleFixture())
        for (index, name) in names.enumerated() { try host.upload(month(name), at: day(Double(index) + 0.5)) }
        #expect(host.credits(at: day(5)) == ([100], 100))
        #expect(host.ledger.states[0].access(at: day(5)).isGranted)

        for name in names {
            var refunded = month(name)
            refunded.revocationDate = day(10)
            refunded.revocationReason = 0
            try host.upload(refunded, at: day(11))
            #expect(!host.ledger.states[0].access(at: day(12)).isGranted)
        }
        #expect(host.credits(at: day(12)) == ([100], 0))
    }

    private func forever(_ name: String, at date: Date) -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: name,
            originalTransactionId: "200",
            productId: "lifetime",
            purchaseDate: date,
            type: "Non-Consumable"
        )
        transaction.originalPurchaseDate = start
        return transaction
    }

    @Test("a non-consumable is bought once, and a refund takes it from every device", arguments: [false, true])
    func nonConsumable(restoredFirst: Bool) throws {
        var host = Host(fixture: try AppleFixture())
        let bought = forever("200", at: start)
        let restored = forever("201", at: day(3))
        try host.upload(restoredFirst ? restored : bought, at: day(4))
        try host.upload(restoredFirst ? bought : restored, at: day(5))
        #expect(host.credits(at: day(6)) == ([500], 500))
        #expect(host.events.count == 1)
        #expect(host.ledger.states[0].access(at: day(6)).isGranted)

        var refunded = bought
        refunded.revocationDate = day(10)
        refunded.revocationReason = 0
        try host.upload(refunded, at: day(11))
        #expect(host.credits(at: day(12)) == ([500], 0))
        #expect(!host.ledger.states[0].access(at: day(12)).isGranted)
    }

    // `purchaseDate` of a restored transaction is the date of the restore.
    @Test("a restored non-consumable began with its purchase", arguments: [false, true])
    func restoredLater(restoredFirst: Bool) throws {
        var host = Host(fixture: try AppleFixture())
        let bought = forever("200", at: start)
        let restored = forever("201", at: day(3))
        try host.upload(restoredFirst ? restored : bought, at: day(4))
        try host.upload(restoredFirst ? bought : restored, at: day(5))
        #expect(host.ledger.states[0].access(at: day(1)).isGranted)
        let statement = CreditStatement(
            of: host.ledger.states,
            under: host.policy,
            uses: [CreditUse(id: "use", credits: 200, at: day(1))],
            at: day(6)
        )
        #expect(statement.balance == 300)
    }

    @Test("bought again after a refund, a non-consumable is another purchase")
    func boughtAgain() throws {
        var host = Host(fixture: try AppleFixture())
        var refunded = forever("200", at: start)
        refunded.revocationDate = day(10)
        refunded.revocationReason = 0
        try host.upload(refunded, at: day(11))
        var again = forever("300", at: day(12))
        again.originalTransactionId = "300"
        again.originalPurchaseDate = day(12)
        try host.upload(again, at: day(12))
        let lineages = host.ledger.states.map { $0.access(at: day(13)).isGranted }
        #expect(lineages.sorted { !$0 && $1 } == [false, true])
    }

    @Test("shared again after the sharing ended, a non-consumable is the member's again", arguments: ["200", "201"])
    func sharedAgain(name: String) throws {
        var host = Host(fixture: try AppleFixture())
        var shared = forever("200", at: start)
        shared.inAppOwnershipType = "FAMILY_SHARED"
        try host.upload(shared, at: day(1))
        var revoked = shared
        revoked.revocationDate = day(10)
        revoked.revocationType = "FAMILY_REVOKE"
        try host.upload(revoked, at: day(10))
        #expect(!host.ledger.states[0].access(at: day(11)).isGranted)
        var again = forever(name, at: day(12))
        again.inAppOwnershipType = "FAMILY_SHARED"
        try host.upload(again, at: day(12))
        #expect(host.ledger.states[0].access(at: day(13)).isGranted)
    }
}
