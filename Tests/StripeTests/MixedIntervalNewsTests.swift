import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// An item that is billed in another rhythm runs beside the plan: it is neither what came before it nor what took its place.
@Suite("News of a plan with an add-on in another rhythm")
struct MixedIntervalNewsTests {
    private typealias Mixed = MixedIntervalTests

    private static func plan(_ interval: String, from start: Int64 = 0) -> Mixed.Item {
        Mixed.priced("plan", interval == "year" ? 99_900 : 9990, per: interval, from: created + start * day)
    }

    private static func addOn(_ interval: String, from start: Int64) -> Mixed.Item {
        Mixed.priced("addon", 500, per: interval, from: created + start * day)
    }

    private let adapter: StripeAdapter

    init() throws { adapter = try StripeTests.adapter() }

    private func taken(
        _ items: [Mixed.Item],
        by type: String = "updated",
        status: String = "active",
        before: [Mixed.Item]? = nil,
        cancelAt end: Int64? = nil,
        at days: Int64
    ) throws -> Normalization {
        let time = created + days * day
        var subscription = Mixed.subscription(status, items, invoice: "in_\(days)")
        subscription.cancelAt = end.map { created + $0 * day }
        let previous = before.map {
            Mixed.subscription("active", $0, invoice: "in_\(days)").previous(subscription, .endive)
        }
        let body = PitfallTests.body(type, subscription, previous: previous, at: time, id: "evt_\(time)")
        return try adapter.take(body, at: time)
    }

    @Test("a canceled plan is churn, though an add-on's month began within its year")
    func canceled() throws {
        let (first, second) = (
            [Self.plan("year"), Self.addOn("month", from: 0)], [Self.plan("year"), Self.addOn("month", from: 30)]
        )
        var ledger = AccountLedger()
        _ = ledger.apply(try taken(first, by: "created", at: 0))
        _ = ledger.apply(try taken(second, before: first, at: 30))
        let ended = ledger.apply(try taken(second, by: "deleted", status: "canceled", at: 40))
        let reasons = ended.compactMap { applied -> LifecycleEvent.Expired.Reason? in
            if case .expired(let expired) = applied.event.event { expired.reason } else { nil }
        }
        #expect(reasons == [.unknown])
    }

    @Test(
        "what an answer has stated before starts as the plan, not as a change from the add-on",
        arguments: ["addon", "plan"]
    )
    func startedAfterAnAnswer(first: String) throws {
        let items = [Self.addOn("month", from: 0), Self.plan("year")]
        let begun = try taken(
            first == "plan" ? items.reversed() : items,
            by: "created",
            at: 0
        )
        var ledger = AccountLedger()
        for statement in begun.statements { ledger.apply(statement) }
        #expect(ledger.apply(begun).map(\.event.kind.rawValue) == begun.events.map(\.kind.rawValue))
        #expect(begun.events.map(\.kind.rawValue) == ["started"])
        let news = ledger.states[0].unreportedEvents(receivedAt: date(created + day))
        #expect(news.map(\.kind.rawValue) == [])
    }

    @Test("a renewal that an answer shows is one, beside an add-on that joined within the month before")
    func renewed() throws {
        let (month, joined) = ([Self.plan("month")], [Self.plan("month"), Self.addOn("year", from: 9)])
        var ledger = AccountLedger()
        _ = ledger.apply(try taken(month, by: "created", at: 0))
        _ = ledger.apply(try taken(joined, before: month, at: 9))
        let later = try taken([Self.plan("month", from: 30), Self.addOn("year", from: 9)], at: 31)
        for statement in later.statements { ledger.apply(statement) }
        let news = ledger.states[0].unreportedEvents(receivedAt: date(created + 32 * day))
        let applied = news.map { ledger.apply($0).event.kind.rawValue }
        #expect(applied == ["renewed"])
    }

    @Test("the plan renews, though its end is arranged within the add-on's year")
    func arrangedEnd() throws {
        let (month, joined) = ([Self.plan("month")], [Self.plan("month"), Self.addOn("year", from: 9)])
        var ledger = AccountLedger()
        _ = ledger.apply(try taken(month, by: "created", at: 0))
        _ = ledger.apply(try taken(joined, before: month, cancelAt: 59, at: 9))
        let snapshot = ledger.states[0].snapshot(at: date(created + 12 * day))
        #expect(snapshot.product == "plan" && snapshot.willRenew == true)
    }
}
