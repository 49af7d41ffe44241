import FoundationEssentials
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing

private let t0: Int64 = 1_767_225_600_000
private let t1: Int64 = 1_769_904_000_000
private let t2: Int64 = 1_772_323_200_000
private let t3: Int64 = 1_775_001_600_000
private let day: Int64 = 86_400_000

private func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

/// A change on Google Play is a purchase under a new order, and relays state no link between the two.
@Suite("Purchases on Play that take the place of others, and orders that name several periods")
struct SuccessionTests {
    typealias Period = RevenueCatSimulator.Period
    let traps = TrapTests()

    private func webhook(
        _ type: String,
        _ at: Int64,
        _ period: Period,
        product: String,
        _ changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> TrapTests.Event {
        var event = traps.event(type, at, period, changes)
        event.members["store"] = "PLAY_STORE"
        event.members["product_id"] = .string(product)
        return event
    }

    private func order(_ start: Int64, _ end: Int64, _ name: String) -> Period { Period(start, end, name) }

    private func upgrade(_ from: String, _ to: String, at moment: Int64, _ number: Int) -> [TrapTests.Event] {
        let (old, new) = ("GPA.\(number)", "GPA.\(number + 1)")
        let start = moment - day * (number == 1 ? 15 : 1)
        func named(_ event: TrapTests.Event, _ original: String) -> TrapTests.Event {
            var event = event
            event.members["original_transaction_id"] = .string(original)
            return event
        }
        return [
            named(webhook("PRODUCT_CHANGE", moment, order(start, start + 31 * day, old), product: from), old),
            named(
                webhook("INITIAL_PURCHASE", moment + 2000, order(moment, moment + 31 * day, new), product: to),
                new
            ),
            named(
                webhook(
                    "EXPIRATION",
                    moment + 2500,
                    order(start, moment, old),
                    product: from,
                    ["expiration_reason": "UNSUBSCRIBE"]
                ),
                old
            ),
        ]
    }

    private var purchase: TrapTests.Event {
        var event = webhook("INITIAL_PURCHASE", t0 + 5000, order(t0, t1, "GPA.1"), product: "basic")
        event.members["original_transaction_id"] = "GPA.1"
        return event
    }

    private func played(_ events: [TrapTests.Event]) throws -> AccountLedger {
        var ledger = AccountLedger()
        for event in events { for event in try traps.normalization(event).events { _ = ledger.apply(event) } }
        return ledger
    }

    @Test("an upgrade is one purchase in every order, also where its announcement or the old end is lost")
    func oneChange() throws {
        let upgrade = upgrade("basic", "pro", at: t0 + 15 * day, 1)
        for heard in [upgrade, [upgrade[0], upgrade[1]], [upgrade[1], upgrade[2]]] {
            let expected = try played([purchase] + heard)
            for order in StoryTests.permutations([purchase] + heard) {
                let ledger = try played(order + order.reversed())
                #expect(ledger == expected)
                #expect(AccountLedger(ledger.states, transfers: ledger.transfers) == ledger)
            }
            let state = try #require(expected.states.first)
            #expect(state.lineages.map(\.id) == ["GPA.1", "GPA.2"])
            #expect(expected.states.count == 1)
            #expect(state.contradictions == [])
            #expect(state.snapshot(at: date(t0 + 16 * day)).product == "pro")
            #expect(state.access(at: date(t0 + 46 * day - 1)).isGranted)
        }
    }

    @Test("told in turn, it is a change at once and the end of the old no churn")
    func wording() throws {
        var ledger = AccountLedger()
        var events: [LifecycleEvent] = []
        for event in [purchase] + upgrade("basic", "pro", at: t0 + 15 * day, 1) {
            for event in try traps.normalization(event).events { events.append(ledger.apply(event).event.event) }
        }
        #expect(events.map(\.kind) == [.started, .notice, .productChanged, .expired])
        #expect(events.last == .expired(.init(reason: .replaced)))
    }

    @Test("five changes in five days are one purchase")
    func manyChanges() throws {
        var events = [purchase]
        for number in 1...5 {
            let (from, to) = number % 2 == 1 ? ("basic", "pro") : ("pro", "basic")
            events += upgrade(from, to, at: t0 + 15 * day + Int64(number - 1) * day, number)
        }
        let forwards = try played(events)
        #expect(try played(events.reversed()) == forwards)
        #expect(forwards.states.map { $0.lineages.count } == [6])
    }

    @Test("a purchase beside a running one is another, where nothing says that it takes its place")
    func besides() throws {
        var other = webhook(
            "INITIAL_PURCHASE",
            t0 + 15 * day,
            order(t0 + 15 * day, t1 + 15 * day, "GPA.9"),
            product: "x"
        )
        other.members["original_transaction_id"] = "GPA.9"
        #expect(try played([purchase, other]).states.count == 2)
        // Nor does one of another account.
        let upgrade = upgrade("basic", "pro", at: t0 + 15 * day, 1)
        var foreign = upgrade[1]
        foreign.members["app_user_id"] = "u9"
        foreign.members["original_app_user_id"] = "u9"
        foreign.members["aliases"] = [.string("u9")]
        #expect(try played([purchase, upgrade[0], foreign, upgrade[2]]).states.count == 2)
    }

    @Test("renewals under the name of the order are as many, and a refund takes its own month")
    func baseOrder() throws {
        func month(_ type: String, _ at: Int64, _ start: Int64, _ end: Int64) -> TrapTests.Event {
            var event = webhook(type, at, order(start, end, "GPA.1"), product: "basic")
            event.members["original_transaction_id"] = "GPA.1"
            return event
        }
        let renewals = [month("RENEWAL", t1 + 5000, t1, t2), month("RENEWAL", t2 + 5000, t2, t3)]
        let ids = try ([purchase] + renewals).map { try traps.one($0).id }
        #expect(Set(ids).count == 3)
        var refund = month("CANCELLATION", t2 + 10 * day, t2, t2 + 10 * day)
        refund.members["cancel_reason"] = "CUSTOMER_SUPPORT"
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "GPA.1")
        for order in StoryTests.permutations([purchase, refund] + renewals) {
            let state = try #require(try played(order)[lineage])
            for moment in [t0 + day, t1 + day, t2 + day] { #expect(state.access(at: date(moment)).isGranted) }
            #expect(!state.access(at: date(t2 + 11 * day)).isGranted)
        }
    }

    @Test("a refund of a month that another has followed affects no current period")
    func pastRefund() throws {
        let refund = traps.event(
            "CANCELLATION",
            t1 + day,
            Period(t0, t1, "O1"),
            ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        var ledger = try traps.ledger(traps.purchase, traps.renewal)
        guard case .refunded(let refunded) = ledger.apply(try traps.one(refund)).event.event else {
            Issue.record("no refund")
            return
        }
        #expect(refunded.affectsCurrentPeriod == false)
    }
}
