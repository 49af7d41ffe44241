import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing

@Suite("A refund takes credits back, whichever statement comes first")
struct AppleRefundCreditTests {
    let start = AppleFixture.start
    let fixture: AppleFixture
    func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    init() throws { fixture = try AppleFixture() }

    private func month(revoked: Bool, shared: Bool = false) -> AppleSimulator.Transaction {
        var transaction = AppleFixture.month()
        if shared { transaction.inAppOwnershipType = "FAMILY_SHARED" }
        if revoked {
            transaction.revocationDate = day(10)
            transaction.revocationReason = 0
            if shared { transaction.revocationType = "FAMILY_REVOKE" }
        }
        return transaction
    }

    private func upload(_ transaction: AppleSimulator.Transaction, at date: Date) throws -> [NormalizedEvent] {
        try fixture.adapter.receive(
            signedTransaction: try fixture.simulator.signed(transaction, at: date),
            signedRenewalInfo: nil,
            receivedAt: date
        ).events
    }

    private func notified(
        _ type: String,
        _ subtype: String?,
        of transaction: AppleSimulator.Transaction,
        at date: Date
    ) throws -> [NormalizedEvent] {
        var renewal = AppleSimulator.RenewalInfo(
            originalTransactionId: "100",
            productId: "pro",
            autoRenewProductId: "pro"
        )
        renewal.autoRenewStatus = 0
        renewal.renewalDate = day(30)
        let notification = AppleSimulator.Notification(
            type,
            subtype,
            notificationUUID: "\(type)-\(date.timeIntervalSince1970)",
            signedDate: date,
            content: .data(.init(transactionInfo: transaction, renewalInfo: renewal))
        )
        return try fixture.adapter.events(try fixture.simulator.delivery(notification))
    }

    /// How many credits there were, and are after the refund.
    private func credits(_ events: [NormalizedEvent]) -> [Int64] {
        let policy = CreditPolicy(["pro": .init(credits: 100, familySharedCredits: 40)])
        let ledger = AccountLedger(applying: events)
        return [5, 15].map { CreditStatement(of: ledger.states, under: policy, uses: [], at: day($0)).balance }
    }

    @Test("the app uploads the refunded transaction, before the notification comes or in its place")
    func uploaded() throws {
        let events = try upload(month(revoked: false), at: day(0.1)) + upload(month(revoked: true), at: day(10.1))
        #expect(credits(events) == [100, 0])
        let refund = try notified("REFUND", nil, of: month(revoked: true), at: day(10.2))
        #expect(credits(events + refund) == [100, 0])
    }

    @Test("a notification of something else carries the refunded transaction, and comes first")
    func inPassing() throws {
        let begun = try upload(month(revoked: false), at: day(0.1))
        let refund = try notified("REFUND", nil, of: month(revoked: true), at: day(10.1))
        let status = try notified(
            "DID_CHANGE_RENEWAL_STATUS",
            "AUTO_RENEW_DISABLED",
            of: month(revoked: true),
            at: day(10.2)
        )
        #expect(credits(begun + refund + status) == [100, 0])
        #expect(credits(begun + status + refund) == [100, 0])
        #expect(credits(begun + status + refund + refund) == [100, 0])
    }

    @Test("the sharing of a family ended, and the member's app uploads it")
    func familyRevoked() throws {
        let events =
            try upload(month(revoked: false, shared: true), at: day(0.1))
            + upload(month(revoked: true, shared: true), at: day(10.1))
        #expect(credits(events) == [40, 0])
    }
}
