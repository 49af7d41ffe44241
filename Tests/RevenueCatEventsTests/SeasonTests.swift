import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing
import WireJSON

/// A purchase with an end that does not renew.
@Suite("A season, and the webhooks that follow its purchase")
struct SeasonTests {
    typealias Event = RevenueCatSimulator.Event

    private static let stores = ["APP_STORE", "PLAY_STORE", "STRIPE", "AMAZON", "RC_BILLING"]

    private struct Season {
        var store: String
        private var name: String { store == "PLAY_STORE" ? "GPA.1" : "O1" }

        func event(
            _ type: String,
            at time: Int64,
            to end: Int64 = t1,
            with changes: KeyValuePairs<String, JSONText?> = [:]
        ) -> Event {
            CreditTests.event(
                type,
                at: time,
                .init(t0, to: end, name),
                product: "pro_m",
                changing: ["store": .string(store), "original_transaction_id": .string(name)]
            ).with(changes)
        }

        var bought: Event { event("NON_RENEWING_PURCHASE", at: t0 + 5000).priced("20.00") }
        var refunded: Event {
            let at = t0 + 5 * day
            return event("CANCELLATION", at: at, to: at, with: ["cancel_reason": "CUSTOMER_SUPPORT"]).priced("-20.00")
        }
        var reversed: Event { event("REFUND_REVERSED", at: t0 + 7 * day) }
        var extended: Event { event("SUBSCRIPTION_EXTENDED", at: t0 + 6 * day, to: t1 + 5 * day) }

        func cancelled(_ reason: String, to end: Int64 = t1) -> Event {
            event("CANCELLATION", at: t0 + 6 * day, to: end, with: ["cancel_reason": .string(reason), "price": 0])
        }
    }

    @Test("whatever a later webhook states of it, it was paid for once", arguments: stores)
    func paidOnce(store: String) throws {
        let season = Season(store: store)
        let later: [(events: [Event], end: Int64)] = [
            ([season.refunded, season.reversed], t1),
            ([season.extended], t1 + 5 * day),
            ([season.cancelled("UNKNOWN", to: t1 + 5 * day)], t1 + 5 * day),
            ([season.extended, season.refunded, season.reversed], t1),
            ([season.event("UNCANCELLATION", at: t0 + 6 * day)], t1),
            ([season.cancelled("DEVELOPER_INITIATED")], t1),
            ([season.cancelled("UNKNOWN")], t1),
        ]
        let uses = [CreditUse(id: "job", credits: 300, at: date(t0 + 2 * day))]
        for (events, end) in later {
            for order in permutations(of: [season.bought] + events) {
                let host = Backend(try CreditTests.events(order + order), CreditTests.policy)
                let state = try #require(host.ledger.states.first)
                #expect(host.ledger.states.count == 1)
                let statement = CreditStatement(
                    of: host.ledger.states,
                    under: CreditTests.policy,
                    uses: uses,
                    at: date(t0 + 20 * day)
                )
                #expect(statement.balance == 200, "\(order.map { $0.members["type"] })")
                #expect(statement.grants.count == 1)
                #expect(state.access(at: date(end - 1)).isGranted)
                #expect(state.access(at: date(end)).isGranted == false)
                #expect(state.unreportedEvents(receivedAt: date(t1)) == [])
                #expect(state.contradictions == [])
            }
            let host = Backend(try CreditTests.events([season.bought] + events), CreditTests.policy)
            #expect(host.acts.count == 1 + events.count)
        }
    }

    @Test("a reversal alone states the season as a period, until its purchase is known")
    func reversalAlone() throws {
        let season = Season(store: "APP_STORE")
        for events in [[season.reversed], [season.reversed, season.bought]] {
            let states = Backend(try CreditTests.events(events), CreditTests.policy).ledger.states
            let statement = CreditStatement(of: states, under: CreditTests.policy, uses: [], at: date(t0 + 8 * day))
            #expect(statement.balance == 500)
        }
    }
}
