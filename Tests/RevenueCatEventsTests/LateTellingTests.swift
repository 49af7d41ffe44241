import FoundationEssentials
import NotificationSimulator
import Normalizer
import NormalizerTesting
import RevenueCatEvents
import Testing
import WireJSON

@Suite("Reported seconds late, and by stores that keep the transaction")
struct LateTellingTests {
    typealias Period = RevenueCatSimulator.Period

    @Test("an upgrade on Play does not pay half, however late in the period it comes")
    func play() throws {
        let play: KeyValuePairs<String, JSONText?> = ["store": "PLAY_STORE", "original_transaction_id": "GPA.1"]
        let other: KeyValuePairs<String, JSONText?> = ["store": "PLAY_STORE", "original_transaction_id": "GPA.2"]
        let at = t0 + 29 * day
        let basic = CreditTests.event(
            "INITIAL_PURCHASE",
            at: t0 + 5000,
            Period(t0, to: t1, "GPA.1"),
            product: "sub:basic",
            changing: play
        )
        .priced("10.00")
        let pro = CreditTests.event(
            "INITIAL_PURCHASE",
            at: at + 5000,
            Period(at, to: at + 31 * day, "GPA.2"),
            product: "sub:pro",
            changing: other
        ).priced("20.00")
        let policy = CreditPolicy([
            "sub:basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
            "sub:pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        ])
        let host = Backend(try CreditTests.events([basic, pro]), policy)
        #expect(host.acts.map(\.kind.rawValue) == ["started", "product_changed"])
        #expect(host.balance >= 480)
    }

    @Test("a purchase after a refund pays out in full")
    func afterRefund() throws {
        let basic = CreditTests.event("INITIAL_PURCHASE", at: t0 + 5000, .first, product: "basic_m").priced(
            "10.00"
        )
        let refunded = t0 + 10 * day
        let refund = CreditTests.event(
            "CANCELLATION",
            at: refunded + 5000,
            Period(t0, to: refunded, "O1"),
            product: "basic_m",
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        ).priced("-10.00")
        let again = t0 + 13 * day
        let pro = CreditTests.event(
            "RENEWAL",
            at: again + 5000,
            Period(again, to: again + 31 * day, "O1-2"),
            product: "pro_m"
        ).priced("20.00")
        let host = Backend(try CreditTests.events([basic, refund, pro]), CreditTests.policy)
        #expect(host.balance == 500)
    }

    @Test("Amazon keeps the transaction: a refund of the second period ends its access")
    func amazon() throws {
        let amazon: KeyValuePairs<String, JSONText?> = ["store": "AMAZON", "original_transaction_id": "A1"]
        let t2 = t1 + 28 * day
        let first = CreditTests.event(
            "INITIAL_PURCHASE",
            at: t0 + 5000,
            Period(t0, to: t1, "A1"),
            product: "basic_m",
            changing: amazon
        )
        let second = CreditTests.event(
            "RENEWAL",
            at: t1 + 5000,
            Period(t1, to: t2, "A1"),
            product: "basic_m",
            changing: amazon
        )
        let at = t1 + 10 * day
        let refund = CreditTests.event(
            "CANCELLATION",
            at: at,
            Period(t1, to: at, "A1"),
            product: "basic_m",
            changing: amazon
        )
        .with(["cancel_reason": "CUSTOMER_SUPPORT"])
        let expired = CreditTests.event(
            "EXPIRATION",
            at: at,
            Period(t1, to: at, "A1"),
            product: "basic_m",
            changing: amazon
        )
        .with(["expiration_reason": "CUSTOMER_SUPPORT"])
        let later = Date(timeIntervalSince1970: Double(at + day) / 1000)
        for losses in [[refund], [expired], [refund, expired]] {
            let host = Backend(try CreditTests.events([first, second] + losses), CreditTests.policy)
            #expect(!host.ledger.states[0].access(at: later).isGranted)
        }
    }
}
