import FoundationEssentials
import LifecycleJournal
import Normalizer
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Testing
import WireJSON

/// Stripe states a period before it is paid for, and tries a charge again while the period runs.
@Suite("Periods that run before they are paid for, in RevenueCat's answers")
struct UnpaidPeriodTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    private static let unpaid = Period(t1, to: t2, "O1")
    private static let bought = CreditTests.event(
        "INITIAL_PURCHASE",
        at: t0 + 5000,
        .first,
        product: "basic_m",
        changing: ["store": "STRIPE"]
    ).priced("10.00")

    /// https://www.revenuecat.com/docs/api-v1, `billing_issues_detected_at`: the subscription may still be active.
    @Test(
        "an answer that shows a failed charge at Stripe adds nothing to what its webhooks say, and no access beyond the end",
        arguments: [RevenueCatClient.API.v1, .v2(project: "proj1")],
        [false, true]
    )
    func unpaidPeriod(api: RevenueCatClient.API, namesPaidPeriod: Bool) async throws {
        let now = t1 + 2 * hour
        func webhook(_ type: String, at time: Int64, _ period: Period) -> Event {
            CreditTests.event(
                type,
                at: time,
                period,
                product: "basic_m",
                changing: [
                    "store": "STRIPE", "cancel_reason": "BILLING_ERROR", "expiration_reason": "BILLING_ERROR",
                    "renewal_number": 2,
                ]
            )
        }
        let failure = ["BILLING_ISSUE", "CANCELLATION"].map { webhook($0, at: t1 + hour, Self.unpaid) }
        let host = try await AskingJournal([Self.bought] + failure, at: now)
        var expected = try await host.reading(at: now)
        #expect(expected.until == t2)
        let failedAt: KeyValuePairs<String, JSONText?> = [
            "billing_issues_detected_at": .string(RFC3339.string(t1 + hour))
        ]
        let entry = JournalQuestionTests.entry("basic_m", Self.unpaid, store: "stripe", with: failedAt)
        let item = ClientTests.item([
            "store": "stripe", "status": "in_grace_period", "auto_renewal_status": "will_not_renew",
            "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        let answer = api == .v1 ? ClientTests.entries([entry], at: now) : ClientTests.list([item])
        var asked = try await host.reading(after: answer, api, all: true)
        (expected.open, asked.open) = ([], [])
        #expect(asked == expected)
        let over = webhook("EXPIRATION", at: t1 + 7 * day, namesPaidPeriod ? .first : Self.unpaid)
        try await host.apply([over])
        let ended = try await host.reading(at: t1 + 8 * day)
        #expect(ended.until == nil)
        #expect(ended.credits == 0)
        #expect(try await !host.news.contains(.renewed))
    }

    @Test(
        "a free renewal at Stripe is none while RevenueCat shows that its charge has failed",
        arguments: [true, false]
    )
    func freeRenewal(hasFailed: Bool) async throws {
        let renewal = CreditTests.event(
            "RENEWAL",
            at: t1 + hour,
            Self.unpaid,
            product: "basic_m",
            changing: ["store": "STRIPE"]
        ).priced("0")
        let item = ClientTests.item([
            "store": "stripe", "status": hasFailed ? "in_grace_period" : "active",
            "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        let result = try await ClientTests.normalization(renewal, answeredWith: ClientTests.list([item]))
        #expect(result.events.map(\.kind) == (hasFailed ? [] : [.renewed]))
        let bought = try CreditTests.events([Self.bought])
        var ledger = AccountLedger(applying: bought)
        _ = ledger.apply(result)
        let stripe = SubscriptionID(store: .stripe, environment: .production, id: "O1")
        #expect(ledger[stripe]?.access(at: date(t2 - 1)).isGranted == true)
        #expect(ledger[stripe]?.access(at: date(t2)).isGranted == false)
        let credits = CreditStatement(of: ledger.states, under: CreditTests.policy, uses: [], at: date(t1 + day))
        #expect(credits.grants.contains { $0.from >= date(t1) } == !hasFailed)
    }
}
