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

    private static let stripe = SubscriptionID(store: .stripe, environment: .production, id: "O1")
    private static let unpaid = Period(t1, to: t2, "O1")
    private static let bought = CreditTests.event(
        "INITIAL_PURCHASE",
        at: t0 + 5000,
        .first,
        product: "basic_m",
        changing: ["store": "STRIPE"]
    ).priced("10.00")

    private static func webhook(_ type: String, at time: Int64, _ period: Period) -> Event {
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

    /// True if a state gives credits for what begins at a time or later.
    private static func hasCredits(_ ledger: AccountLedger, from start: Int64, at time: Int64) -> Bool {
        CreditStatement(of: ledger.states, under: CreditTests.policy, uses: [], at: date(time))
            .grants.contains { $0.from >= date(start) }
    }

    /// https://www.revenuecat.com/docs/api-v1, `billing_issues_detected_at`: the subscription may still be active.
    @Test(
        "an answer that shows a failed charge at Stripe adds nothing to what its webhooks say, and no access beyond the end",
        arguments: [RevenueCatClient.API.v1, .v2(project: "proj1")],
        [false, true]
    )
    func unpaidPeriod(api: RevenueCatClient.API, namesPaidPeriod: Bool) async throws {
        let now = t1 + 2 * hour
        let failure = ["BILLING_ISSUE", "CANCELLATION"].map { Self.webhook($0, at: t1 + hour, Self.unpaid) }
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
        let over = Self.webhook("EXPIRATION", at: t1 + 7 * day, namesPaidPeriod ? .first : Self.unpaid)
        try await host.apply([over])
        let ended = try await host.reading(at: t1 + 8 * day)
        #expect(ended.until == nil)
        #expect(ended.credits == 0)
        #expect(try await !host.news.contains(.renewed))
    }

    /// Stripe has given up. Version 2 shows neither the failed charge then, nor any other.
    @Test("an answer that shows the end of an unpaid period at Stripe is no payment for it", arguments: [false, true])
    func unpaidEnd(namesPaidPeriod: Bool) async throws {
        let (ended, now) = (t1 + 7 * day, t1 + 8 * day)
        let failure = ["BILLING_ISSUE", "CANCELLATION"].map { Self.webhook($0, at: t1 + hour, Self.unpaid) }
        let over = Self.webhook("EXPIRATION", at: ended, namesPaidPeriod ? .first : Self.unpaid)
        var ledger = AccountLedger(applying: try CreditTests.events([Self.bought] + failure + [over]))
        let before = ledger[Self.stripe]?.access(at: date(now)).isGranted
        for endsAt in [ended, t2] {
            let answer = try await ClientTests.subscription([
                "store": "stripe", "status": "expired", "gives_access": false, "auto_renewal_status": "will_not_renew",
                "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2),
                "ends_at": .integer(endsAt),
            ])
            ledger.apply(answer.statement(about: Self.stripe, product: "basic_m", at: date(now)))
            #expect(before == false && ledger[Self.stripe]?.access(at: date(now)).isGranted == false)
            #expect(Self.hasCredits(ledger, from: t0, at: now))
            #expect(!Self.hasCredits(ledger, from: t1, at: now))
        }
    }

    private struct Entry {
        var period: Period
        var failedAt: Int64?
        var status: RevenueCatSubscription.Status
        var isProvisional = false
        var store = "stripe"
    }

    @Test("the older version dates a failed charge, so it is that of the period, of the next one, or none")
    func datedFailure() async throws {
        let now = t1 + 2 * hour
        for entry in [
            Entry(period: Self.unpaid, failedAt: t1 + hour, status: .inGracePeriod, isProvisional: true),
            Entry(period: .first, failedAt: t1 + hour, status: .inBillingRetry),
            Entry(period: .first, failedAt: t1 - hour, status: .inBillingRetry, isProvisional: true),
            Entry(period: .first, failedAt: nil, status: .expired, isProvisional: true),
            // From before the period.
            Entry(period: Self.unpaid, failedAt: t0 + hour, status: .active),
            Entry(period: Self.unpaid, failedAt: t0 + hour, status: .active, store: "app_store"),
            Entry(period: .first, failedAt: t0 - hour, status: .expired, store: "play_store"),
            // These state no period before it is paid for.
            Entry(period: Self.unpaid, failedAt: t1 + hour, status: .inGracePeriod, store: "app_store"),
            Entry(period: Self.unpaid, failedAt: t1 + hour, status: .inGracePeriod, store: "play_store"),
            Entry(period: .first, failedAt: t1 + hour, status: .inBillingRetry, store: "app_store"),
        ] {
            let answer = try await ClientTests.subscriber(
                [
                    "store": .string(entry.store),
                    "purchase_date": .string(RFC3339.string(entry.period.start)),
                    "expires_date": .string(RFC3339.string(entry.period.end)),
                    "billing_issues_detected_at": entry.failedAt.map { .string(RFC3339.string($0)) } ?? .null,
                ],
                product: "basic_m",
                at: now
            )
            #expect(answer.status == entry.status, "\(entry)")
            let lineage = SubscriptionID(store: answer.store, environment: .production, id: "O1")
            let statement = answer.statement(about: lineage, at: date(now))
            let periods = statement.facts.compactMap { if case .period(let period) = $0 { period } else { nil } }
            #expect(periods.map(\.isProvisional) == [entry.isProvisional], "\(entry)")
            var ledger = AccountLedger()
            ledger.apply(statement)
            #expect(Self.hasCredits(ledger, from: t0, at: now) == !entry.isProvisional, "\(entry)")
        }
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
        #expect(ledger[Self.stripe]?.access(at: date(t2 - 1)).isGranted == true)
        #expect(ledger[Self.stripe]?.access(at: date(t2)).isGranted == false)
        #expect(Self.hasCredits(ledger, from: t1, at: t1 + day) == !hasFailed)
    }
}
