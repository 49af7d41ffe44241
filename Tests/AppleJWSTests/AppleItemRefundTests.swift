import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

/// Transactions of the Advanced Commerce API state refunds by item, and neither a type nor a percentage of their own.
@Suite("Refunds of items")
struct AppleItemRefundTests {
    private let start = AppleFixture.start
    private let fixture: AppleFixture
    private func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    init() throws { fixture = try AppleFixture() }

    private func transaction(_ type: String, revokedAt: Date?) -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: "100",
            originalTransactionId: "100",
            productId: "generic",
            purchaseDate: start,
            type: type
        )
        transaction.originalPurchaseDate = start
        (transaction.price, transaction.currency) = (9990, "USD")
        if type == "Auto-Renewable Subscription" { transaction.expiresDate = day(30) }
        transaction.revocationDate = revokedAt
        return transaction
    }

    private func item(_ sku: String, price: Int64, refunds: [(type: String, amount: Int64)]) -> JSONText {
        let refunds = refunds.map { refund -> JSONText in
            [
                "refundAmount": .integer(refund.amount), "refundDate": .integer(day(10).millisecondsSince1970),
                "refundReason": "OTHER", "refundType": .string(refund.type),
            ]
        }
        return ["SKU": .string(sku), "price": .integer(price), "refunds": .array(refunds)]
    }

    private func told(
        _ type: String,
        _ transaction: AppleSimulator.Transaction,
        status: Int64? = nil,
        _ items: [JSONText],
        at date: Date
    ) throws -> [NormalizedEvent] {
        let simulator = fixture.simulator
        var payload = simulator.payload(transaction, at: date)
        payload.append("advancedCommerceInfo", ["requestReferenceId": "r-1", "items": .array(items)])
        var data = JSONMembers([
            ("appAppleId", .integer(simulator.appAppleId)), ("bundleId", .string(simulator.bundleId)),
            ("environment", "Production"),
            ("signedTransactionInfo", .string(String(decoding: try simulator.jws(payload.bytes), as: UTF8.self))),
        ])
        if let status { data.append("status", .integer(status)) }
        let notification: JSONText = [
            "notificationType": .string(type), "notificationUUID": .string("\(type)-\(date.timeIntervalSince1970)"),
            "version": "2.0", "signedDate": .integer(date.millisecondsSince1970), "data": .object(data),
        ]
        let signed = try simulator.jws(Array(notification.text.utf8))
        return try fixture.adapter.events(AppleSimulator.delivery(of: signed, receivedAt: date))
    }

    private func scopes(_ events: [NormalizedEvent]) -> [LifecycleEvent.Refund.Scope] {
        events.compactMap { if case .refunded(let refund) = $0.event { refund.scope } else { nil } }
    }

    @Test("what was bought for good, and is refunded and not taken away, is kept", arguments: ["CUSTOM", "FULL"])
    func bought(_ type: String) throws {
        let transaction = transaction("Non-Consumable", revokedAt: nil)
        let bought = try told("ONE_TIME_CHARGE", transaction, [item("course", price: 9990, refunds: [])], at: day(0.1))
        let refund = (type: type, amount: Int64(type == "FULL" ? 9990 : 1000))
        let refunded = try told("REFUND", transaction, [item("course", price: 9990, refunds: [refund])], at: day(10.1))
        var ledger = AccountLedger()
        let effects: [LifecycleEvent.AccessEffect] = (bought + refunded).map {
            ledger.apply($0).event.event.accessEffect
        }
        #expect(effects == [.grants, .none])
        #expect(refunded[0].event.accessEffect == LifecycleEvent.AccessEffect.none)
        #expect(ledger.states[0].access(at: day(11)).isGranted)
    }
}
