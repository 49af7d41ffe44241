import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

@Suite("Stores that keep the transaction")
struct KeptTransactionTests {
    typealias Period = RevenueCatSimulator.Period

    @Test("the refund of another period is another refund", arguments: ["STRIPE", "AMAZON", "PADDLE"])
    func refundedTwice(store: String) throws {
        let fields: KeyValuePairs<String, JSONText?> = [
            "store": .string(store), "original_transaction_id": "S1",
        ]
        func refund(_ start: Int64) -> RevenueCatSimulator.Event {
            let at = start + 10 * day
            return CreditTests.event(
                "CANCELLATION",
                at: at + 5000,
                Period(start, to: at, "S1"),
                product: "basic_m",
                changing: fields
            )
            .with(["cancel_reason": "CUSTOMER_SUPPORT"]).priced("-10.00")
        }
        let first = Period(t0, to: t1, "S1")
        let second = Period(t1, to: t1 + 28 * day, "S1")
        let host = Backend(
            try CreditTests.events([
                CreditTests.event("INITIAL_PURCHASE", at: t0 + 5000, first, product: "basic_m", changing: fields)
                    .priced("10.00"),
                refund(t0), refund(t0),
                CreditTests.event("RENEWAL", at: t1 + 5000, second, product: "basic_m", changing: fields).priced(
                    "10.00"
                ),
                refund(t1), refund(t1),
            ]),
            CreditTests.policy
        )
        #expect(host.count(.refunded) == 2)
        #expect(host.balance == 0)
    }

    @Test(
        "an extension of a later period, or of the first one, leaves the other as it is",
        arguments: ["AMAZON", "ROKU", "RC_BILLING", "PADDLE", "APP_STORE"],
        [0, 1]
    )
    func extended(store: String, extended: Int) throws {
        let fields: KeyValuePairs<String, JSONText?> = [
            "store": .string(store), "original_transaction_id": "S1",
        ]
        let second = store == "APP_STORE" ? "S2" : "S1"
        let periods = [Period(t0, to: t1, "S1"), Period(t1 + 7 * day, to: t2 + 7 * day, second)]
        var longer = periods[extended]
        longer.end += 7 * day
        let webhooks = [
            CreditTests.event("INITIAL_PURCHASE", at: t0 + 5000, periods[0], product: "pro_m", changing: fields)
                .priced("20.00"),
            CreditTests.event("RENEWAL", at: periods[1].start + 5000, periods[1], product: "pro_m", changing: fields)
                .priced("20.00"),
            CreditTests.event(
                "SUBSCRIPTION_EXTENDED",
                at: longer.start + day,
                longer,
                product: "pro_m",
                changing: fields
            ),
        ]
        let use = CreditUse(id: "a", credits: 100, at: date(t0 + 5 * day))
        for order in permutations(of: webhooks) {
            let host = Backend(try CreditTests.events(order + order), CreditTests.policy)
            #expect(host.count(.extended) == 1)
            let ends = [t0 + day, t1 + day, t1 + 8 * day, t2 + 10 * day]
            #expect(
                ends.map { moment in host.ledger.states[0].access(at: date(moment)).isGranted }
                    == [true, extended == 0, true, extended == 1]
            )
            let statement = CreditStatement(
                of: host.ledger.states,
                under: CreditTests.policy,
                uses: [use],
                at: date(t1 + 8 * day)
            )
            #expect(statement.grants.map(\.credits) == [500, 500])
            #expect(statement.balance == 500)
        }
    }

    @Test("a customer who came back after an end can leave again", arguments: ["STRIPE", "AMAZON", "PADDLE"])
    func endedTwice(store: String) throws {
        let fields: KeyValuePairs<String, JSONText?> = [
            "store": .string(store), "original_transaction_id": "S1",
        ]
        let first = Period(t0, to: t1, "S1")
        let second = Period(t1 + day, to: t1 + 29 * day, "S1")
        func expired(_ period: Period) -> RevenueCatSimulator.Event {
            CreditTests.event("EXPIRATION", at: period.end + 1000, period, product: "basic_m", changing: fields)
                .with(["expiration_reason": "UNSUBSCRIBE"])
        }
        let host = Backend(
            try CreditTests.events([
                CreditTests.event(
                    "INITIAL_PURCHASE",
                    at: first.start + 5000,
                    first,
                    product: "basic_m",
                    changing: fields
                ).priced("10.00"),
                expired(first), expired(first),
                CreditTests.event("RENEWAL", at: second.start + 5000, second, product: "basic_m", changing: fields)
                    .priced("10.00"),
                expired(second), expired(second),
            ]),
            CreditTests.policy
        )
        #expect(host.count(.expired) == 2)
        #expect(host.balance == 0)
    }

    @Test(
        "a change at once within a period is what is refunded, not the period before",
        arguments: ["STRIPE", "PADDLE"]
    )
    func changedAndRefunded(store: String) throws {
        let fields: KeyValuePairs<String, JSONText?> = [
            "store": .string(store), "original_transaction_id": "S1",
        ]
        let first = Period(t0, to: t1, "S1")
        let changed = t0 + 15 * day
        let second = Period(changed, to: changed + 31 * day, "S1")
        let at = changed + 5 * day
        let basic = CreditTests.event(
            "INITIAL_PURCHASE",
            at: first.start + 5000,
            first,
            product: "basic_m",
            changing: fields
        ).priced("10.00")
        let pro = CreditTests.event("RENEWAL", at: changed + 5000, second, product: "pro_m", changing: fields).priced(
            "20.00"
        )
        let refund = CreditTests.event(
            "CANCELLATION",
            at: at,
            Period(changed, to: at, "S1"),
            product: "pro_m",
            changing: fields
        )
        .with(["cancel_reason": "CUSTOMER_SUPPORT"]).priced("-20.00")
        func isGranted(_ events: [RevenueCatSimulator.Event], at time: Int64) throws -> Bool {
            let host = Backend(try CreditTests.events(events), CreditTests.policy)
            return host.ledger.states[0].access(at: Date(timeIntervalSince1970: Double(time) / 1000)).isGranted
        }
        for order in [[basic, pro, refund], [refund, pro, basic], [pro, refund, basic]] {
            #expect(try isGranted(order, at: at - day))
            #expect(try !isGranted(order, at: at + day))
            #expect(try !isGranted(order, at: second.start + 30 * day))
        }
    }

    // MARK: One order's name for every month

    private static let months = [
        Period(t0, to: t1, "GPA.1"), Period(t1, to: t1 + 28 * day, "GPA.1"),
        Period(t1 + 28 * day, to: t1 + 59 * day, "GPA.1"),
    ]

    private static func onPlay(
        _ type: String,
        at: Int64,
        _ period: Period,
        with changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> RevenueCatSimulator.Event {
        CreditTests.event(
            type,
            at: at,
            period,
            product: "basic_m",
            changing: ["store": "PLAY_STORE", "original_transaction_id": "GPA.1"]
        ).with(changes)
    }

    private static func begun(_ month: Int) -> RevenueCatSimulator.Event {
        onPlay(month == 0 ? "INITIAL_PURCHASE" : "RENEWAL", at: months[month].start + 5000, months[month]).priced(
            "10.00"
        )
    }

    private static func refund(_ month: Int) -> RevenueCatSimulator.Event {
        let at = months[month].start + 10 * day
        return onPlay("CANCELLATION", at: at + 5000, Period(months[month].start, to: at, "GPA.1"))
            .with(["cancel_reason": "CUSTOMER_SUPPORT"]).priced("-10.00")
    }

    private static func ended(_ month: Int, by reason: String) -> RevenueCatSimulator.Event {
        onPlay("EXPIRATION", at: months[month].end + 1000, months[month], with: ["expiration_reason": .string(reason)])
    }

    private func isGranted(_ host: Backend, on number: Int64) -> Bool {
        host.ledger.states[0].access(at: date(t0 + number * day)).isGranted
    }

    @Test("on Play two refunds under the name of one order are two, in every order")
    func refundedTwiceByOrder() throws {
        for order in permutations(of: [Self.begun(0), Self.begun(1), Self.refund(0), Self.refund(1)]) {
            let events = try CreditTests.events(order)
            #expect(Set(events.map(\.id)).count == 4)
            let host = Backend(events + events, CreditTests.policy)
            #expect(host.count(.refunded) == 2)
            #expect(host.ledger.states[0].refunds.count == 2)
            let days: [(Int64, Bool)] = [(1, true), (9, true), (12, false), (30, false), (32, true), (43, false)]
            for (number, expected) in days { #expect(isGranted(host, on: number) == expected, "day \(number)") }
            #expect(host.balance == 0)
        }
    }

    @Test("and so are two pauses and two ends")
    func endedTwiceByOrder() throws {
        let events = try CreditTests.events([
            Self.begun(0), Self.ended(0, by: "SUBSCRIPTION_PAUSED"),
            Self.begun(1), Self.ended(1, by: "SUBSCRIPTION_PAUSED"),
            Self.begun(2), Self.ended(2, by: "UNSUBSCRIBE"),
        ])
        #expect(Set(events.map(\.id)).count == 6)
        let host = Backend(events + events, CreditTests.policy)
        #expect(host.count(.paused) == 2)
        #expect(host.count(.expired) == 1)
        let back = Period(Self.months[2].end + day, to: Self.months[2].end + 31 * day, "GPA.1")
        let again = try CreditTests.events([
            Self.begun(0), Self.ended(0, by: "UNSUBSCRIBE"),
            Self.onPlay("RENEWAL", at: back.start + 5000, back).priced("10.00"),
            Self.onPlay("EXPIRATION", at: back.end + 1000, back, with: ["expiration_reason": "BILLING_ERROR"]),
        ])
        #expect(Backend(again, CreditTests.policy).count(.expired) == 2)
    }

    @Test(
        "on Play the name of the order alone stands for the month that begins when it says",
        arguments: [["GPA.1", "GPA.1"], ["GPA.1..0", "GPA.1..1"]]
    )
    func namedByOrder(names: [String]) throws {
        let fields: KeyValuePairs<String, JSONText?> = ["store": "PLAY_STORE", "original_transaction_id": "GPA.1"]
        let starts = [t0, t1, t1 + 28 * day, t1 + 59 * day]
        var months: [RevenueCatSimulator.Event] = []
        for (index, name) in (["GPA.1"] + names).enumerated() {
            let period = Period(starts[index], to: starts[index + 1], name)
            let type = index == 0 ? "INITIAL_PURCHASE" : "RENEWAL"
            months.append(
                CreditTests.event(type, at: starts[index] + 5000, period, product: "basic_m", changing: fields).priced(
                    "10.00"
                )
            )
        }
        let at = t1 + 10 * day
        let refund = CreditTests.event(
            "CANCELLATION",
            at: at + 5000,
            Period(t1, to: at, "GPA.1"),
            product: "basic_m",
            changing: fields
        )
        .with(["cancel_reason": "CUSTOMER_SUPPORT"]).priced("-10.00")
        for order in permutations(of: months + [refund]) {
            let events = try CreditTests.events(order)
            #expect(Set(events.map(\.id)).count == 4)
            let host = Backend(events, CreditTests.policy)
            let state = host.ledger.states[0]
            #expect(state.contradictions == [])
            let days: [(Int64, Bool)] = [(1, true), (32, true), (40, true), (42, false), (58, false), (60, true)]
            for (number, isGranted) in days {
                #expect(state.access(at: date(t0 + number * day)).isGranted == isGranted, "day \(number)")
            }
            #expect(host.balance == 200)
        }
    }
}
