import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("Rare flows of the App Store, from the delivery to the state")
struct AppleRareFlowTests {
    let start = AppleFixture.start
    let fixture: AppleFixture
    func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    init() throws { fixture = try AppleFixture() }

    func period(_ id: String, _ from: Double, _ to: Double, _ product: String = "pro") -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: id,
            originalTransactionId: "1",
            productId: product,
            purchaseDate: day(from),
            type: "Auto-Renewable Subscription"
        )
        transaction.originalPurchaseDate = start
        transaction.expiresDate = day(to)
        transaction.price = 9990
        transaction.currency = "USD"
        transaction.transactionReason = id == "1" ? "PURCHASE" : "RENEWAL"
        return transaction
    }

    func renewal(_ until: Double, _ change: (inout AppleSimulator.RenewalInfo) -> Void = { _ in })
        -> AppleSimulator.RenewalInfo
    {
        var info = AppleSimulator.RenewalInfo(
            originalTransactionId: "1",
            productId: "pro",
            autoRenewProductId: "pro"
        )
        info.renewalDate = day(until)
        change(&info)
        return info
    }

    func notified(
        _ type: String,
        _ subtype: String?,
        _ transaction: AppleSimulator.Transaction,
        _ info: AppleSimulator.RenewalInfo? = nil,
        status: Int64? = 1,
        at days: Double
    ) throws -> [NormalizedEvent] {
        let notification = AppleSimulator.Notification(
            type,
            subtype,
            notificationUUID: "\(type)-\(days)",
            signedDate: day(days),
            content: .data(.init(status: status, transactionInfo: transaction, renewalInfo: info))
        )
        return try fixture.adapter.events(try fixture.simulator.delivery(notification))
    }

    func state(_ events: [NormalizedEvent]) throws -> SubscriptionState {
        var ledger = AccountLedger()
        for event in events { _ = ledger.apply(event) }
        return try #require(ledger.states.first)
    }

    @Test(
        "grace goes on while an earlier period is asked about, or its money goes back",
        arguments: ["CONSUMPTION_REQUEST", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED"]
    )
    func graceBesideRefund(_ type: String) throws {
        let failing = renewal(60) {
            $0.isInBillingRetryPeriod = true
            $0.gracePeriodExpiresDate = day(76)
        }
        var past = period("1", 0, 30)
        if type == "REFUND" {
            past.revocationDate = day(63)
            past.revocationReason = 0
        }
        let story = [
            try notified("SUBSCRIBED", "INITIAL_BUY", period("1", 0, 30), renewal(30), at: 0.01),
            try notified("DID_RENEW", nil, period("2", 30, 60), renewal(60), at: 30),
            try notified("DID_FAIL_TO_RENEW", "GRACE_PERIOD", period("2", 30, 60), failing, status: 4, at: 60),
            try notified(type, nil, past, failing, status: 4, at: 63),
        ]
        for events in [story, story.reversed()] {
            let state = try state(events.flatMap(\.self))
            #expect(state.access(at: day(65)).isGranted)
            #expect(state.snapshot(at: day(65)).status == .grace)
            #expect(!state.access(at: day(77)).isGranted)
        }
    }
}
