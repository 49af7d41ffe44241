import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import NormalizerTesting
import Testing

@Suite("A snapshot is complete: what it leaves out is no longer so")
struct AppleSnapshotTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private func begun() throws -> Normalization {
        try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), with: cases.renewal(), at: 0)
    }

    private static let revoked = [
        "revocationDate": "@4.99", "revocationReason": "0", "revocationType": #""REFUND_FULL""#,
    ]

    private func refund(at days: Double = 5) throws -> Normalization {
        try cases.notified(
            "REFUND",
            of: cases.transaction("1", Self.revoked),
            with: cases.renewal(["autoRenewStatus": "0"]),
            status: 5,
            at: days
        )
    }

    @Test(
        "a refund that a later snapshot leaves out was undone, whatever the snapshot is about",
        arguments: ["DID_CHANGE_RENEWAL_STATUS", "RENEWAL_EXTENDED", "REFUND_DECLINED", "OTHER", "upload"]
    )
    func refundUndone(type: String) throws {
        let refund = try refund()
        let later =
            type == "upload"
            ? try cases.uploaded(cases.transaction(), at: 15)
            : try cases.notified(type, of: cases.transaction(), with: cases.renewal(), at: 15)
        let refunded = try cases.state([begun(), refund])
        #expect(refunded.snapshot(at: cases.day(16)).status == .refunded)
        let state = try cases.state([begun(), refund, later])
        #expect(state.access(at: cases.day(16)).isGranted)
        #expect(state.contradictions.isEmpty)
    }

    @Test(
        "a refund of a replaced transaction stays as long as that has the date of the refund, which it does not call one",
        arguments: [true, false]
    )
    func refundOfReplaced(isDated: Bool) throws {
        let replaced = ["isUpgraded": "true"]
        let refunded = replaced.merging(["revocationDate": "@4.99", "revocationReason": "0"]) { $1 }
        let refund = try cases.notified("REFUND", of: cases.transaction("1", refunded), with: cases.renewal(), at: 5)
        for days in [6.0, 15] {
            let later = try cases.uploaded(cases.transaction("1", isDated ? refunded : replaced), at: days)
            let state = try cases.state([begun(), refund, later])
            #expect(state.refund(of: "1")?.value.scope == (isDated ? .full : nil))
        }
    }

    @Test("a copy from before the refund, or from minutes after it, changes nothing")
    func lagging() throws {
        for days in [4, 5 + AppleReportedCases.minutes(1), 5 + AppleReportedCases.minutes(10)] {
            let state = try cases.state([begun(), refund(), cases.uploaded(cases.transaction(), at: days)])
            #expect(!state.access(at: cases.day(16)).isGranted)
        }
        let settled = try cases.uploaded(cases.transaction(), at: 5 + AppleReportedCases.minutes(10.1))
        #expect(try cases.state([begun(), refund(), settled]).access(at: cases.day(16)).isGranted)
        // Refunded again since.
        #expect(!(try cases.state([begun(), refund(), settled, refund(at: 9)]).access(at: cases.day(16)).isGranted))
    }

    @Test("a copy that lags behind the store's refund does so behind a relay's word of it, too")
    func laggingBehindRelay() throws {
        let relay = StoreStatement(
            subscription: SubscriptionID(store: .appStore, environment: .production, id: "1"),
            provider: .revenuecat,
            assertedAt: cases.day(5 + AppleReportedCases.minutes(1)),
            facts: [
                .refund(
                    .init(
                        transaction: "1",
                        scope: .full,
                        at: cases.day(5),
                        periodStart: cases.day(0),
                        endsAccess: true
                    )
                )
            ],
            origin: .madeUp(digest: "r")
        )
        let relayed = Normalization(noChange: .init(.unchanged, statement: relay))
        for (minutes, isGranted) in [(3.0, false), (10.9, false), (11.1, true)] {
            let copy = try cases.uploaded(cases.transaction(), at: 5 + AppleReportedCases.minutes(minutes))
            let state = try cases.state([begun(), refund(), relayed, copy])
            #expect(state.access(at: cases.day(16)).isGranted == isGranted, "\(minutes)")
        }
    }

    @Test("a relay that speaks of the period afterwards does not bring the refund back")
    func relayed() throws {
        let relay = StoreStatement(
            subscription: SubscriptionID(store: .appStore, environment: .production, id: "1"),
            provider: .revenuecat,
            assertedAt: cases.day(17),
            facts: [
                .period(
                    .init(
                        .init(start: cases.day(0), end: cases.day(30)),
                        product: "basic",
                        phase: .regular,
                        transaction: "1"
                    )
                )
            ],
            origin: .madeUp(digest: "r")
        )
        let results = [
            try begun(), try refund(), try cases.uploaded(cases.transaction(), at: 15),
            Normalization(noChange: .init(.unchanged, statement: relay)),
        ]
        let state = try cases.state(results)
        #expect(state.access(at: cases.day(18)).isGranted)
        let stored = String(decoding: try CanonicalJSON.bytes(state), as: UTF8.self)
        let times = #""earlier":["2026-01-01T00:00:00.000Z","2026-01-06T00:00:00.000Z"]"#
        #expect(
            stored.contains(#""snapshots":[{"at":"2026-01-16T00:00:00.000Z",\#(times),"transaction":"1"}]"#)
        )
    }

    @Test(
        "a non-consumable comes back by a restore",
        arguments: ["Non-Consumable", "Non-Renewing Subscription"]
    )
    func boughtOnce(type: String) throws {
        var members = ["type": "\"\(type)\"", "expiresDate": type == "Non-Consumable" ? "" : "@30"]
        let bought = try cases.notified("ONE_TIME_CHARGE", of: cases.transaction("1", members), status: nil, at: 0)
        let restored = try cases.uploaded(cases.transaction("1", members), at: 15)
        members.merge(Self.revoked) { $1 }
        let refund = try cases.notified("REFUND", of: cases.transaction("1", members), status: nil, at: 5)
        #expect(!(try cases.state([bought, refund]).access(at: cases.day(16)).isGranted))
        #expect(try cases.state([bought, refund, restored]).access(at: cases.day(16)).isGranted)
    }

    @Test("sharing that a later snapshot does not call ended goes on")
    func shared() throws {
        let shared = ["inAppOwnershipType": #""FAMILY_SHARED""#]
        let ended = shared.merging(["revocationDate": "@4.99", "revocationType": #""FAMILY_REVOKE""#]) { $1 }
        for members in [["type": #""Non-Consumable""#, "expiresDate": ""], [:]] {
            let begun = try cases.uploaded(cases.transaction("1", shared.merging(members) { $1 }), at: 0)
            let revoked = try cases.notified(
                "REVOKE",
                of: cases.transaction("1", ended.merging(members) { $1 }),
                status: 5,
                at: 5
            )
            let state = try cases.state([begun, revoked])
            #expect(!state.access(at: cases.day(16)).isGranted)
            #expect(state.contradictions.isEmpty)
            let lagging = try cases.uploaded(
                cases.transaction("1", shared.merging(members) { $1 }),
                at: 5 + AppleReportedCases.minutes(3)
            )
            #expect(!(try cases.state([begun, revoked, lagging]).access(at: cases.day(16)).isGranted))
            let again = try cases.uploaded(cases.transaction("1", shared.merging(members) { $1 }), at: 15)
            let shared = try cases.state([begun, revoked, again])
            #expect(shared.access(at: cases.day(16)).isGranted && shared.contradictions.isEmpty)
        }
    }

    @Test("a retry, a price increase and a planned product that renewal info leaves out are no more")
    func renewalInfo() throws {
        let planned = cases.renewal([
            "autoRenewProductId": #""other""#, "priceIncreaseStatus": "0", "renewalPrice": "19990",
            "currency": #""USD""#, "isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "@46",
        ])
        let reported = try cases.notified(
            "DID_FAIL_TO_RENEW",
            "GRACE_PERIOD",
            of: cases.transaction(),
            with: planned,
            status: 4,
            at: 30
        )
        let before = try cases.state([begun(), reported]).snapshot(at: cases.day(31))
        #expect(before.status == .grace && before.pendingProduct == "other" && before.priceChange != nil)
        let silent = try cases.notified(
            "REFUND_DECLINED",
            of: cases.transaction(),
            with: cases.renewal(["autoRenewProductId": ""]),
            at: 32
        )
        let state = try cases.state([begun(), reported, silent])
        #expect(state.access(at: cases.day(31)).isGranted)
        let after = state.snapshot(at: cases.day(33))
        #expect(after.status == .renewalDue && after.pendingProduct == nil && after.priceChange == nil)
    }

    @Test("an offer that the transaction no longer names was not one")
    func offer() throws {
        let trial = ["offerType": "1", "offerDiscountType": #""FREE_TRIAL""#]
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", trial),
            with: cases.renewal(),
            at: 0
        )
        let paid = try cases.uploaded(cases.transaction(), at: 1)
        #expect(try cases.state([begun]).snapshot(at: cases.day(2)).phase == .trial)
        #expect(try cases.state([begun, paid]).snapshot(at: cases.day(2)).phase == .regular)
    }

    @Test("undone in passing or by its own word, credits come back once")
    func credits() throws {
        let policy = CreditPolicy(["basic": .init(credits: 100)])
        let (begun, refund) = (try begun(), try refund())
        let passing = try cases.notified(
            "RENEWAL_EXTENDED",
            of: cases.transaction("1", to: 33),
            with: cases.renewal(until: 33),
            at: 15
        )
        let reversed = try cases.notified("REFUND_REVERSED", of: cases.transaction(), with: cases.renewal(), at: 20)
        func balance(_ results: [Normalization]) throws -> Int64 {
            CreditStatement(of: [try cases.state(results)], under: policy, uses: [], at: cases.day(25)).balance
        }
        #expect(try balance([begun, refund]) == 0)
        #expect(try balance([begun, refund, passing]) == 100)
        #expect(try balance([begun, refund, reversed]) == 100)
        #expect(try balance([begun, refund, passing, reversed]) == 100)
        func applied(_ results: [Normalization]) -> [AppliedEvent] {
            var ledger = AccountLedger()
            return results.flatMap { ledger.apply($0) }
        }
        #expect(applied([begun, refund, passing]).map(\.isRestoration) == [false, false, true])
        // Reported of after it was undone.
        #expect(applied([begun, passing, refund]).map(\.disposition) == [.applied, .applied, .superseded])
    }

    @Test("an end of a transaction that is not known ends none that came before")
    func unknownTransaction() throws {
        let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
        let end = StoreStatement(
            subscription: lineage,
            provider: .apple,
            assertedAt: cases.day(31),
            facts: [.periodEnded(.init(start: cases.day(20), transaction: "2", at: cases.day(21), reason: .customer))],
            origin: .madeUp(digest: "e")
        )
        let state = try cases.state([begun(), Normalization(noChange: .init(.unchanged, statement: end))])
        #expect(state.access(at: cases.day(25)).isGranted)
        let second = try cases.uploaded(cases.transaction("2", from: 20, to: 50), at: 20)
        let known = try cases.state([begun(), Normalization(noChange: .init(.unchanged, statement: end)), second])
        #expect(known.access(at: cases.day(25)).isGranted)
        #expect(!known.access(at: cases.day(31)).isGranted)
    }
}
