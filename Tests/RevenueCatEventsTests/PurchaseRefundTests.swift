import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// The end in the webhook of a refund is the moment of the refund or none, and shows nothing of the end of the purchase.
@Suite("Purchases that are taken back")
struct PurchaseRefundTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    private static let at = t0 + 5 * day

    /// A webhook about what was bought once, at the beginning of January.
    private static func event(
        _ type: String,
        at: Int64 = at,
        in store: String,
        product: String = "pro_m",
        end: JSONText? = .null,
        with changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> Event {
        let transaction = store == "PLAY_STORE" ? "GPA.1" : "O1"
        return CreditTests.event(
            type,
            at: at,
            Period(t0, to: t1, transaction),
            product: product,
            changing: [
                "store": .string(store), "original_transaction_id": .string(transaction), "expiration_at_ms": end,
                "entitlement_ids": product == "coins" ? .null : .raw("[\"pro\"]"),
            ]
        ).with(changes)
    }

    private static func bought(in store: String, product: String = "pro_m", end: JSONText? = .null) -> Event {
        event("NON_RENEWING_PURCHASE", at: t0 + 5000, in: store, product: product, end: end).priced("10.00")
    }

    private static func refund(in store: String, product: String = "pro_m", end: JSONText?) -> Event {
        event("CANCELLATION", in: store, product: product, end: end, with: ["cancel_reason": "CUSTOMER_SUPPORT"])
            .priced("-10.00")
    }

    /// In every order and with repetitions the state is one. It is asked a day after the purchase and a day after it was taken back.
    private static func outcome(_ events: [Event]) throws -> (access: [Bool], credits: Int64) {
        var expected: AccountLedger?
        for order in permutations(of: events) {
            let ledger = Backend(try CreditTests.events(order + order), CreditTests.policy).ledger
            #expect(expected ?? ledger == ledger)
            expected = ledger
        }
        let ledger = try #require(expected)
        return (
            [t0 + day, at + day].map { moment in ledger.states.contains { $0.access(at: date(moment)).isGranted } },
            CreditStatement(of: ledger.states, under: CreditTests.policy, uses: [], at: date(at + day)).balance
        )
    }

    @Test(
        "a refund takes back what was bought once, whatever end it states",
        arguments: ["APP_STORE", "PLAY_STORE", "STRIPE", "RC_BILLING", "AMAZON"],
        [JSONText.null, .integer(at), .integer(at - minute)]
    )
    func refunded(store: String, end: JSONText) throws {
        let lifetime = try Self.outcome([Self.bought(in: store), Self.refund(in: store, end: end)])
        #expect(lifetime.access == [true, false])
        #expect(lifetime.credits == 0)
        let coins = try Self.outcome([
            Self.bought(in: store, product: "coins"), Self.refund(in: store, product: "coins", end: end),
        ])
        #expect(coins.access.last == false)
        #expect(coins.credits == 0)
        let season = try Self.outcome([
            Self.bought(in: store, end: .integer(t1)), Self.refund(in: store, end: end),
        ])
        #expect(season.access == [true, false])
        #expect(season.credits == 0)
    }

    @Test(
        "a season is taken back, too, if the refund states the end that was paid for",
        arguments: ["APP_STORE", "PLAY_STORE", "STRIPE", "RC_BILLING", "AMAZON"]
    )
    func seasonWithPaidEnd(store: String) throws {
        let season = try Self.outcome([
            Self.bought(in: store, end: .integer(t1)), Self.refund(in: store, end: .integer(t1)),
        ])
        #expect(season.credits == 0)
        #expect(season.access.first == true)
    }

    @Test(
        "a refund without an end takes back the period that it names by its start",
        arguments: ["APP_STORE", "PLAY_STORE", "STRIPE", "RC_BILLING", "AMAZON"],
        [true, false]
    )
    func periodWithoutEnd(store: String, isKept: Bool) throws {
        let (first, second) = store == "PLAY_STORE" ? ("GPA.1", "GPA.1..0") : ("O1", "O2")
        let fields: KeyValuePairs<String, JSONText?> = [
            "store": .string(store), "original_transaction_id": .string(first),
        ]
        let later = Period(t1, to: t2, isKept && store != "APP_STORE" ? first : second)
        let host = try CreditTests.host(
            CreditTests.event(
                "INITIAL_PURCHASE",
                at: t0 + 5000,
                Period(t0, to: t1, first),
                product: "pro_m",
                changing: fields
            )
            .priced("20.00"),
            CreditTests.event("RENEWAL", at: t1 + 5000, later, product: "pro_m", changing: fields).priced("20.00"),
            CreditTests.event("CANCELLATION", at: t1 + 5 * day, later, product: "pro_m", changing: fields).with([
                "expiration_at_ms": .null, "cancel_reason": "CUSTOMER_SUPPORT",
            ]).priced("-20.00")
        )
        let state = try #require(host.ledger.states.first)
        #expect(
            [t0 + day, t1 + day, t1 + 6 * day].map { state.access(at: date($0)).isGranted } == [true, true, false]
        )
        #expect(host.balance == 0)
    }

    @Test(
        "a lifetime that ends under the transaction of a restoration is the one that was bought",
        arguments: [true, false]
    )
    func restored(isShared: Bool) throws {
        let shared: KeyValuePairs<String, JSONText?> = ["is_family_share": .raw("\(isShared)")]
        let restored: KeyValuePairs<String, JSONText?> = ["transaction_id": "O9", "cancel_reason": "CUSTOMER_SUPPORT"]
        let bought = Self.bought(in: "APP_STORE").with(shared)
        let canceled = Self.event("CANCELLATION", in: "APP_STORE", with: restored).with(shared)
        let expired = Self.event("EXPIRATION", in: "APP_STORE", with: ["transaction_id": "O9"])
            .with(["expiration_reason": "CUSTOMER_SUPPORT"]).with(shared)
        for taken in [[canceled], [expired], [canceled, expired]] {
            #expect(try Self.outcome([bought] + taken).access == [true, false])
        }
        let ids = try [canceled, expired].map { webhook in
            let original = webhook.with(["transaction_id": "O1"])
            return try CreditTests.events([webhook, original]).map(\.id)
        }
        #expect(ids.allSatisfy { Set($0).count == 1 })
    }

    @Test(
        "a lifetime ends with its EXPIRATION, whatever end that states",
        arguments: ["APP_STORE", "PLAY_STORE", "STRIPE", "RC_BILLING", "AMAZON"],
        [JSONText.null, .integer(at - minute)]
    )
    func expired(store: String, end: JSONText) throws {
        let expired = Self.event("EXPIRATION", in: store, end: end, with: ["expiration_reason": "DEVELOPER_INITIATED"])
        #expect(try Self.outcome([Self.bought(in: store), expired]).access == [true, false])
    }

    @Test(
        "without an end there is nothing to renew: a developer who cancels takes the purchase back",
        arguments: ["PLAY_STORE", "AMAZON"],
        [JSONText?.none, 0]
    )
    func canceledByDeveloper(store: String, price: JSONText?) throws {
        let canceled = Self.event(
            "CANCELLATION",
            in: store,
            with: ["cancel_reason": "DEVELOPER_INITIATED", "price": price]
        )
        let outcome = try Self.outcome([Self.bought(in: store), canceled])
        #expect(outcome.access == [true, false])
        #expect(outcome.credits == 0)
        #expect(try CreditTests.events([canceled]).map(\.kind) == [.revoked])
    }

    @Test("an end without its start is of the period that the transaction names, and else of none")
    func endWithoutStart() throws {
        let start: KeyValuePairs<String, JSONText?> = ["purchased_at_ms": .null]
        for store in ["APP_STORE", "AMAZON"] {
            let fields: KeyValuePairs<String, JSONText?> = ["store": .string(store), "original_transaction_id": "O1"]
            let bought = CreditTests.event(
                "INITIAL_PURCHASE",
                at: t0 + 5000,
                .first,
                product: "pro_m",
                changing: fields
            )
            let expired = CreditTests.event("EXPIRATION", at: Self.at, Period(t0, to: Self.at, "O1"), product: "pro_m")
                .with(fields).with(["expiration_reason": "DEVELOPER_INITIATED"]).with(start)
            let normalization = try TrapTests().normalization(expired)
            let isNamed = store == "APP_STORE"
            #expect(normalization.events.map(\.kind) == [isNamed ? .expired : .unmapped])
            #expect(normalization.anomalies == (isNamed ? [] : ["event.purchased_at_ms"]))
            #expect(try Self.outcome([bought, expired]).access == [true, !isNamed])
        }
        let grant = Self.event("NON_RENEWING_PURCHASE", at: t0 + 5000, in: "PROMOTIONAL", end: .integer(t1))
        let removed = Self.event("CANCELLATION", in: "PROMOTIONAL", end: .integer(t1)).with(start)
        #expect(try Self.outcome([grant, removed]).access == [true, false])
    }
}
