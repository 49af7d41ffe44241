import FoundationEssentials
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing

private let t0: Int64 = 1_767_225_600_000
private let t1: Int64 = 1_769_904_000_000
private let t2: Int64 = 1_772_323_200_000
private let hour: Int64 = 3_600_000
private let day: Int64 = 86_400_000

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
            at,
            period,
            product,
            ["store": .string(store), "original_transaction_id": "GPA.1"]
        ).with(changes)
    }

    private static func bought(_ store: String) -> Event {
        event("INITIAL_PURCHASE", at: t0 + 5000, Period(t0, t1, "GPA.1"), in: store)
    }

    /// In every order the state is one; its access is asked for hours after the end of the first month.
    private func access(_ events: [Event], at hours: [Int64]) throws -> [Bool] {
        var expected: AccountLedger?
        for order in StoryTests.permutations(events) {
            var ledger = AccountLedger()
            for event in try CreditTests.events(order + order) { _ = ledger.apply(event) }
            #expect(expected ?? ledger == ledger)
            expected = ledger
        }
        let state = try #require(expected?.states.first)
        return hours.map {
            state.access(at: Date(timeIntervalSince1970: Double(t1 + $0 * hour) / 1000)).isGranted
        }
    }

    @Test("an extension of a later month under the first order is of that month")
    func extendedLater() throws {
        let months = [Period(t0, t1, "GPA.1"), Period(t1, t2, "GPA.1")]
        let renewal = Self.event("RENEWAL", at: t1 + 5000, months[1], in: "PLAY_STORE")
        let longer = Period(t1, t2 + 7 * day, "GPA.1")
        let extended = Self.event("SUBSCRIPTION_EXTENDED", at: t1 + 9 * day, longer, in: "PLAY_STORE")
        let weeks = (t2 - t1) / hour
        let events = [Self.bought("PLAY_STORE"), renewal, extended]
        #expect(try access(events, at: [-700, -1, 1, weeks + 100, weeks + 200]) == [true, true, true, true, false])
        // Of the first month it is, too.
        let first = Self.event(
            "SUBSCRIPTION_EXTENDED",
            at: t0 + day,
            Period(t0, t1 + 7 * day, "GPA.1"),
            in: "PLAY_STORE"
        )
        #expect(try access([Self.bought("PLAY_STORE"), first], at: [-700, 100, 200]) == [true, true, false])
    }
}
