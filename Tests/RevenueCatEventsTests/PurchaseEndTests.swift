import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// An EXPIRATION names the last transaction, and is about the purchase.
@Suite("Ends of whole purchases, by webhooks alone")
struct PurchaseEndTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    private static func event(
        _ type: String,
        at: Int64,
        _ period: Period,
        in store: String,
        product: String = "basic_m",
        with changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> Event {
        CreditTests.event(
            type,
            at: at,
            period,
            product: product,
            changing: ["store": .string(store), "original_transaction_id": "GPA.1"]
        ).with(changes)
    }

    private static func bought(_ store: String) -> Event {
        event("INITIAL_PURCHASE", at: t0 + 5000, Period(t0, to: t1, "GPA.1"), in: store)
    }

    /// The renewal, charged a day before it begins, and taken back seven hours before.
    private static func ahead(_ store: String, order: String) -> [Event] {
        let end = t1 - 7 * hour
        let renewal = Period(t1, to: t2, order)
        let taken = Period(t1, to: end, order)
        return [
            event("RENEWAL", at: t1 - 20 * hour, renewal, in: store),
            event("CANCELLATION", at: end + 5000, taken, in: store, with: ["cancel_reason": "CUSTOMER_SUPPORT"])
                .priced("-10.00"),
            event("EXPIRATION", at: end + 6000, taken, in: store, with: ["expiration_reason": "CUSTOMER_SUPPORT"]),
        ]
    }

    /// In every order the state is one; its access is asked for hours after the end of the first month.
    private func access(_ events: [Event], at hours: [Int64]) throws -> [Bool] {
        var expected: AccountLedger?
        for order in permutations(of: events) {
            let ledger = try AccountLedger(applying: CreditTests.events(order + order))
            #expect(expected ?? ledger == ledger)
            expected = ledger
        }
        let state = try #require(expected?.states.first)
        return hours.map {
            state.access(at: Date(timeIntervalSince1970: Double(t1 + $0 * hour) / 1000)).isGranted
        }
    }

    @Test(
        "a renewal that is taken back before it begins leaves nothing of the month before",
        arguments: ["PLAY_STORE", "APP_STORE", "STRIPE", "AMAZON"],
        ["GPA.1..0", "GPA.1"]
    )
    func takenBackAhead(store: String, order: String) throws {
        let ahead = Self.ahead(store, order: order)
        for heard in [ahead, [ahead[0], ahead[2]], [ahead[1], ahead[2]], [ahead[2]]] {
            #expect(try access([Self.bought(store)] + heard, at: [-8, -6, 1]) == [true, false, false])
        }
    }

    @Test("a refund alone is one where it revokes the purchase, and elsewhere is of its own period")
    func refundAlone() throws {
        let play = Self.ahead("PLAY_STORE", order: "GPA.1..0").dropLast()
        #expect(try access([Self.bought("PLAY_STORE")] + play, at: [-8, -6, 1]) == [true, false, false])
        let apple = Self.ahead("APP_STORE", order: "2").dropLast()
        #expect(try access([Self.bought("APP_STORE")] + apple, at: [-8, -6, 1]) == [true, true, false])
    }

    @Test(
        "the end of a month says nothing of a later one, however late it is stated",
        arguments: ["PLAY_STORE", "APP_STORE"]
    )
    func stateLate(store: String) throws {
        let end = Self.event(
            "EXPIRATION",
            at: t1 + 48 * hour,
            Period(t0, to: t1, "GPA.1"),
            in: store,
            with: ["expiration_reason": "BILLING_ERROR"]
        )
        let back = Self.event("RENEWAL", at: t1 + 24 * hour, Period(t1 + 24 * hour, to: t2, "GPA.1..0"), in: store)
        #expect(try access([Self.bought(store), back, end], at: [-1, 1, 25, 72]) == [true, false, true, true])
    }

    @Test("a purchase that is stated again after its end goes on, and a new purchase begins")
    func since() throws {
        let ahead = Self.ahead("PLAY_STORE", order: "GPA.1..0")
        let extended = Self.event(
            "SUBSCRIPTION_EXTENDED",
            at: t1 - 4 * hour,
            Period(t0, to: t1, "GPA.1"),
            in: "PLAY_STORE"
        )
        #expect(try access([Self.bought("PLAY_STORE"), ahead[2], extended], at: [-3, 1]) == [true, false])
        let anew = Self.event("RENEWAL", at: t1 - 4 * hour, Period(t1 - 4 * hour, to: t2, "3"), in: "APP_STORE")
        let taken = Self.ahead("APP_STORE", order: "2")
        #expect(
            try access([Self.bought("APP_STORE"), taken[0], taken[2], anew], at: [-5, -3, 1]) == [false, true, true]
        )
    }

    @Test("a product that was changed to since the charge goes on")
    func changedSince() throws {
        let changed = t1 - 10 * hour
        let ahead = Self.ahead("APP_STORE", order: "2")
        let pro = Self.event(
            "RENEWAL",
            at: changed + 5000,
            Period(changed, to: t2, "3"),
            in: "APP_STORE",
            product: "pro_m"
        )
        #expect(
            try access([Self.bought("APP_STORE"), ahead[0], pro, ahead[2]], at: [-11, -6, 1]) == [true, true, true]
        )
    }

    @Test("an extension of a later month under the first order is of that month")
    func extendedLater() throws {
        let months = [Period(t0, to: t1, "GPA.1"), Period(t1, to: t2, "GPA.1")]
        let renewal = Self.event("RENEWAL", at: t1 + 5000, months[1], in: "PLAY_STORE")
        let longer = Period(t1, to: t2 + 7 * day, "GPA.1")
        let extended = Self.event("SUBSCRIPTION_EXTENDED", at: t1 + 9 * day, longer, in: "PLAY_STORE")
        let weeks = (t2 - t1) / hour
        let events = [Self.bought("PLAY_STORE"), renewal, extended]
        #expect(try access(events, at: [-700, -1, 1, weeks + 100, weeks + 200]) == [true, true, true, true, false])
        // Of the first month it is, too.
        let first = Self.event(
            "SUBSCRIPTION_EXTENDED",
            at: t0 + day,
            Period(t0, to: t1 + 7 * day, "GPA.1"),
            in: "PLAY_STORE"
        )
        #expect(try access([Self.bought("PLAY_STORE"), first], at: [-700, 100, 200]) == [true, true, false])
    }
}
