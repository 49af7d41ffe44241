import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import SimulatedTrust
import Testing
import WireJSON

@Suite("The App Store beside RevenueCat: what was bought once, and periods under other names")
struct StoreBesideRelayTests {
    let start = Date(timeIntervalSince1970: 1_767_225_600)
    func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }
    let simulator: AppleSimulator
    let adapter: AppleAdapter

    init() throws {
        simulator = try AppleSimulator(seed: "store beside relay")
        adapter = try AppleAdapter(.init(trusting: simulator))
    }

    func apple(
        _ type: String,
        _ subtype: String? = nil,
        of transaction: AppleSimulator.Transaction,
        with renewal: AppleSimulator.RenewalInfo? = nil,
        status: Int64? = nil,
        at date: Date
    ) throws -> [NormalizedEvent] {
        let notification = AppleSimulator.Notification(
            type,
            subtype,
            notificationUUID: "\(type)-\(date.timeIntervalSince1970)",
            signedDate: date,
            content: .data(.init(status: status, transactionInfo: transaction, renewalInfo: renewal))
        )
        return try adapter.normalize(try adapter.authenticate(try simulator.delivery(notification))).events
    }

    func uploaded(_ transaction: AppleSimulator.Transaction, at date: Date) throws -> [NormalizedEvent] {
        try adapter.receive(
            signedTransaction: try simulator.signed(transaction, at: date),
            signedRenewalInfo: nil,
            receivedAt: date
        ).events
    }

    func once(_ id: String, _ product: String, type: String) -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: id,
            originalTransactionId: id,
            productId: product,
            purchaseDate: start,
            type: type
        )
        transaction.originalPurchaseDate = start
        return transaction
    }

    func relayed(
        _ id: String,
        _ product: String,
        at: Double,
        end: Double?,
        entitlements: JSONText,
        original: String? = nil,
        type: String = "NON_RENEWING_PURCHASE"
    ) throws -> [NormalizedEvent] {
        let t0 = Int64(start.timeIntervalSince1970 * 1000)
        return try CreditTests.events([
            CreditTests.event(
                type,
                at: Int64(day(at).timeIntervalSince1970 * 1000),
                .init(t0, to: t0, id),
                product: product,
                changing: [
                    "original_transaction_id": .string(original ?? id),
                    "cancel_reason": type == "CANCELLATION" ? "CUSTOMER_SUPPORT" : .null,
                    "expiration_at_ms": end.map { .integer(Int64(day($0).timeIntervalSince1970 * 1000)) } ?? .null,
                    "entitlement_ids": entitlements,
                ]
            )
        ])
    }

    @Test("a non-consumable is owned, also where RevenueCat has no entitlement for it")
    func nonConsumable() throws {
        let store = try apple(
            "ONE_TIME_CHARGE",
            nil,
            of: once("N1", "lifetime", type: "Non-Consumable"),
            at: day(0.001)
        )
        let relay = try relayed("N1", "lifetime", at: 0.002, end: nil, entitlements: .null)
        #expect(store.map(\.id) == relay.map(\.id))
        #expect(AccountLedger(applying: store).states[0].access(at: day(5)).isGranted, "the store alone")
        #expect(AccountLedger(applying: store + relay).states[0].access(at: day(5)).isGranted, "both")
        #expect(AccountLedger(applying: relay + store).states[0].access(at: day(5)).isGranted, "both, relay first")
    }

    @Test("a consumable is not owned for good, also where RevenueCat has an entitlement for it")
    func consumable() throws {
        let store = try apple("ONE_TIME_CHARGE", nil, of: once("N2", "coins", type: "Consumable"), at: day(0.001))
        let relay = try relayed("N2", "coins", at: 0.002, end: nil, entitlements: ["pro"])
        #expect(!AccountLedger(applying: store).states[0].access(at: day(5)).isGranted, "the store alone")
        #expect(!AccountLedger(applying: store + relay).states[0].access(at: day(5)).isGranted, "both")
    }

    @Test("the end of a season, which RevenueCat alone knows, stays")
    func season() throws {
        let season = once("N3", "season", type: "Non-Renewing Subscription")
        let store = try apple("ONE_TIME_CHARGE", nil, of: season, at: day(0.001))
        let relay = try relayed("N3", "season", at: 0.002, end: 90, entitlements: ["pro"])
        #expect(AccountLedger(applying: store + relay).states[0].access(at: day(5)).isGranted, "both")
        let again = try uploaded(season, at: day(3))
        #expect(AccountLedger(applying: store + relay + again).states[0].access(at: day(5)).isGranted, "upload later")
        let declined = try apple("REFUND_DECLINED", nil, of: season, at: day(3))
        #expect(
            AccountLedger(applying: store + relay + declined).states[0].access(at: day(5)).isGranted,
            "refund declined"
        )
    }
}
