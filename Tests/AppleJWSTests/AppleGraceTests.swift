import AppleJWS
import FoundationEssentials
import Normalizer
import Testing

@Suite("Grace and retries are as Apple states them, by date, type or status")
struct AppleGraceTests {
    typealias Members = [String: String]

    private static let date = ["gracePeriodExpiresDate": "@46"]
    private static let refused = ["isInBillingRetryPeriod": "false"]

    private let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private func begun() throws -> Normalization {
        try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), with: cases.renewal(), at: 0)
    }

    /// The customer's status a day after the period, at the end of its grace and after that.
    private func seen(_ result: Normalization) throws -> [SubscriptionSnapshot.Status] {
        let state = try cases.state([begun(), result])
        return [31, 45.9, 46].map { state.snapshot(at: cases.day($0)).status }
    }

    /// A charge may fail before the period ends. Until then the subscription is active, and nothing is tried again.
    @Test(
        "a stated end of grace is grace, before Apple says that it tries again",
        arguments: [nil, 1, 4],
        [date, date.merging(refused) { $1 }]
    )
    func dated(status: Int?, members: Members) throws {
        for days in [29.5, 30.01] {
            for (type, subtype) in [("DID_FAIL_TO_RENEW", "GRACE_PERIOD"), ("REFUND_DECLINED", nil)] {
                let failed = try cases.notified(
                    type,
                    subtype,
                    of: cases.transaction(),
                    with: cases.renewal(members),
                    status: status,
                    at: days
                )
                #expect(try seen(failed) == [.grace, .grace, .billingRetry], "\(type) \(days)")
            }
        }
    }

    @Test("a device shows it, too, with its transaction or without", arguments: [date, date.merging(refused) { $1 }])
    func uploaded(members: Members) throws {
        let (adapter, renewal) = (cases.fixture.adapter, cases.renewal(members))
        let together = try adapter.receive(
            signedTransaction: Array(cases.jws(cases.transaction(), signedAt: 31).utf8),
            signedRenewalInfo: Array(cases.jws(renewal, signedAt: 31).utf8),
            receivedAt: cases.day(31)
        )
        let alone = adapter.normalize(
            try adapter.verifier.renewalInfo(Array(cases.jws(renewal, signedAt: 31).utf8), receivedAt: cases.day(31))
        )
        for result in [together, alone] {
            #expect(try seen(result) == [.grace, .grace, .billingRetry])
        }
    }

    @Test(
        "a failed charge is tried again if its notification says no more",
        arguments: [("DID_FAIL_TO_RENEW", [:]), ("GRACE_PERIOD_EXPIRED", refused)] as [(String, Members)]
    )
    func retried(type: String, members: Members) throws {
        let failed = try cases.notified(
            type,
            of: cases.transaction(),
            with: cases.renewal(members),
            status: nil,
            at: 30.5
        )
        let state = try cases.state([begun(), failed])
        #expect(state.snapshot(at: cases.day(31)).status == .billingRetry)
        #expect(state.openQuestions.map(\.reason) == [.chargeFailed])
    }

    @Test(
        "a date is no grace after an end, or beside a later purchase",
        arguments: [
            ("EXPIRED", 2, [:], 30), ("EXPIRED", nil, [:], 30), ("REFUND_DECLINED", 2, [:], 30),
            ("REFUND_DECLINED", nil, ["expirationIntent": "1"], 30), ("DID_FAIL_TO_RENEW", 2, [:], 30),
            ("REFUND_DECLINED", 5, [:], 30), ("DID_FAIL_TO_RENEW", 5, [:], 30), ("GRACE_PERIOD_EXPIRED", 5, [:], 30),
            ("REFUND_DECLINED", 6, [:], 30),
            ("DID_RENEW", 1, [:], 60), ("DID_RENEW", nil, [:], 60),
        ] as [(String, Int?, Members, Double)]
    )
    func notGrace(type: String, status: Int?, members: Members, until: Double) throws {
        let renewed = until > 30
        let result = try cases.notified(
            type,
            type == "DID_FAIL_TO_RENEW" ? "GRACE_PERIOD" : nil,
            of: renewed ? cases.transaction("2", from: 30, to: until) : cases.transaction(),
            with: cases.renewal(until: until, Self.date.merging(members) { $1 }),
            status: status,
            at: 30.5
        )
        let state = try cases.state([begun(), result])
        #expect(state.access(at: cases.day(31)).isGranted == renewed)
        #expect(![31, 45].contains { state.snapshot(at: cases.day($0)).status == .grace })
        let promised = result.events.contains {
            if case .billingIssue(let issue) = $0.event { issue.access != .suspended } else { false }
        }
        #expect(!promised)
        let settled = result.events.flatMap(\.facts).contains {
            if case .billing(let billing) = $0 { billing.status == .settled } else { false }
        }
        #expect(settled)
    }

    /// The notification of the later purchase is lost, and the next one is about the earlier purchase.
    @Test(
        "a purchase that only renewal info shows is asked about",
        arguments: [
            ("REFUND", ["revocationDate": "@12"], 365, 45, 1),
            ("CONSUMPTION_REQUEST", ["isUpgraded": "true"], 30, 45, 1),
            ("CONSUMPTION_REQUEST", ["isUpgraded": "true"], 365, 45, 1), ("REFUND_DECLINED", [:], 10, 40, 0),
        ] as [(String, Members, Double, Double, Int)]
    )
    func unknownPurchase(type: String, members: Members, end: Double, latest: Double, renews: Int) throws {
        func year(_ members: Members) -> Members { cases.transaction("1", to: end, members) }
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: year([:]),
            with: cases.renewal(until: end),
            at: 0
        )
        let later = try cases.notified(
            type,
            of: year(members),
            with: cases.renewal(until: latest, ["autoRenewStatus": String(renews)]),
            at: 12
        )
        let lost = try cases.state([begun, later])
        #expect(!lost.access(at: cases.day(13)).isGranted)
        #expect(lost.openQuestions.map(\.reason.rawValue) == ["unknown_period"])
        #expect(lost.openQuestions.map(\.dueAt) == [cases.day(12 + AppleReportedCases.minutes(60))])
        let found = try cases.uploaded(
            cases.transaction(
                "2",
                from: 11,
                to: latest,
                ["productId": #""pro""#, "transactionReason": #""PURCHASE""#]
            ),
            at: 13
        )
        let healed = try cases.state([begun, later, found])
        #expect(healed.access(at: cases.day(13)).isGranted)
        #expect(!healed.openQuestions.contains { $0.reason.rawValue == "unknown_period" })
    }
}
