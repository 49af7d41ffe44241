import AppleJWS
import FoundationEssentials
import Normalizer
import Testing

@Suite("Access asked for the past on the App Store")
struct ApplePastAccessTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private func begun() throws -> Normalization {
        try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), with: cases.renewal(), at: 0)
    }

    private func check(_ results: [Normalization], _ expected: [(day: Double, isGranted: Bool)]) throws {
        let state = try cases.state(results)
        #expect(
            expected.map { state.access(at: cases.day($0.day)).isGranted } == expected.map(\.isGranted)
        )
    }

    private func recovered(from start: Double, at days: Double) throws -> Normalization {
        try cases.notified(
            "DID_RENEW",
            "BILLING_RECOVERY",
            of: cases.transaction("2", from: start, to: start + 30),
            with: cases.renewal(until: start + 30),
            at: days
        )
    }

    @Test(
        "the time of a billing retry without grace is denied, and the rest granted, wherever the new period begins",
        arguments: [30.0, 30.001, 35.0]
    )
    func retry(from start: Double) throws {
        let retrying = cases.renewal(["isInBillingRetryPeriod": "true"])
        let failed = try cases.notified(
            "DID_FAIL_TO_RENEW",
            of: cases.transaction(),
            with: retrying,
            status: 3,
            at: 30.01
        )
        let toggled = try cases.notified(
            "DID_CHANGE_RENEWAL_STATUS",
            "AUTO_RENEW_DISABLED",
            of: cases.transaction(),
            with: retrying,
            status: 3,
            at: 32
        )
        let renamed = try cases.notified(
            "DID_CHANGE_RENEWAL_STATUS",
            "AUTO_RENEW_DISABLED",
            of: cases.transaction("2", from: start, to: start + 30),
            with: cases.renewal(until: start + 30),
            at: 40
        )
        try check(
            [begun(), failed, toggled, try recovered(from: start, at: 35), renamed],
            [(10, true), (29, true), (30.1, false), (34.9, false), (35.1, true), (59, true)]
        )
    }

    @Test("a grace that ran out, and the retry after it, each read as they were then")
    func lapsedGrace() throws {
        let failing = cases.renewal(["isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "@36"])
        let failed = try cases.notified(
            "DID_FAIL_TO_RENEW",
            "GRACE_PERIOD",
            of: cases.transaction(),
            with: failing,
            status: 4,
            at: 30
        )
        let lapsed = try cases.notified(
            "GRACE_PERIOD_EXPIRED",
            of: cases.transaction(),
            with: failing,
            status: 3,
            at: 36.01
        )
        try check(
            [begun(), failed, lapsed, try recovered(from: 30, at: 40)],
            [(29, true), (31, true), (35.9, true), (36.1, false), (39.9, false), (40.1, true), (59, true)]
        )
        try check(
            [begun(), failed, try recovered(from: 30, at: 33)],
            [(31, true), (34, true), (37, true), (59, true)]
        )
    }

    @Test("the time between a refund and its reversal is denied, and the rest granted")
    func reversedRefund() throws {
        let revoked = cases.transaction(members: ["revocationDate": "@10", "revocationReason": "0"])
        let refunded = try cases.notified("REFUND", of: revoked, with: cases.renewal(), status: 5, at: 10.01)
        let reversed = try cases.notified(
            "REFUND_REVERSED",
            of: cases.transaction(),
            with: cases.renewal(),
            status: 1,
            at: 20
        )
        try check(
            [begun(), refunded, reversed],
            [(9, true), (11, false), (19, false), (21, true), (29, true), (31, false)]
        )
        let (bought, back) = (pass(), pass())
        let gone = pass(["revocationDate": "@10", "revocationReason": "0"])
        try check(
            [
                try cases.notified("ONE_TIME_CHARGE", of: bought, status: nil, at: 0),
                try cases.notified("REFUND", of: gone, status: nil, at: 10.01),
                try cases.notified("REFUND_REVERSED", of: back, status: nil, at: 20),
            ],
            [(9, true), (11, false), (19, false), (21, true), (400, true)]
        )
    }

    private func refunded(at days: Double) throws -> Normalization {
        let members = ["revocationDate": "@\(days)", "revocationReason": "0"]
        let revoked = cases.transaction(members: members)
        return try cases.notified("REFUND", of: revoked, with: cases.renewal(), status: 5, at: days + 0.01)
    }

    private func stated(at days: Double) throws -> Normalization {
        try cases.notified("RENEWAL_EXTENDED", of: cases.transaction(), with: cases.renewal(), at: days)
    }

    @Test("a refund that a snapshot left out is denied until then, however many snapshots there are")
    func leftOut() throws {
        let expected: [(day: Double, isGranted: Bool)] = [
            (9, true), (11, false), (19, false), (21, true), (26, true), (29, true), (31, false),
        ]
        for others in [[], [25], [4, 9.99, 21, 22, 23, 24, 25, 26, 27, 28]] {
            try check(
                [begun(), refunded(at: 10), stated(at: 20)] + others.map { try stated(at: $0) },
                expected
            )
        }
        // A copy that lags behind the refund undoes nothing, and neither does one that repeats it.
        let lagging = try cases.uploaded(cases.transaction(), at: 10.01 + AppleReportedCases.minutes(9))
        let members = ["revocationDate": "@10.0", "revocationReason": "0"]
        let repeated = try cases.uploaded(cases.transaction(members: members), at: 12)
        try check([begun(), refunded(at: 10), lagging, repeated, stated(at: 20)], expected)
    }

    @Test("each refund that was undone leaves its own time without access, even before one that stands")
    func refundedAgain() throws {
        let first: [(day: Double, isGranted: Bool)] = [(4, true), (6, false), (9, false), (11, true), (14, true)]
        try check(
            [begun(), refunded(at: 5), stated(at: 10), refunded(at: 15)],
            first + [(day: 16, isGranted: false), (day: 29, isGranted: false)]
        )
        try check(
            [begun(), refunded(at: 5), stated(at: 10), refunded(at: 15), stated(at: 20), stated(at: 25)],
            first + [
                (day: 16, isGranted: false), (day: 19, isGranted: false), (day: 21, isGranted: true),
                (day: 29, isGranted: true),
            ]
        )
        let reversed = try cases.notified(
            "REFUND_REVERSED",
            of: cases.transaction(),
            with: cases.renewal(),
            at: 10
        )
        try check([begun(), refunded(at: 5), reversed, refunded(at: 15)], first + [(day: 16, isGranted: false)])
    }

    @Test("a one-time or shared purchase is denied until a snapshot gives it back")
    func givenBack() throws {
        let bought = try cases.notified("ONE_TIME_CHARGE", of: pass(), status: nil, at: 0)
        let gone = pass(["revocationDate": "@10", "revocationReason": "0"])
        let refunded = try cases.notified("REFUND", of: gone, status: nil, at: 10.01)
        try check(
            [bought, refunded, try cases.uploaded(pass(), at: 20), try cases.uploaded(pass(), at: 30)],
            [(9, true), (11, false), (19, false), (21, true), (400, true)]
        )
        let family = ["inAppOwnershipType": #""FAMILY_SHARED""#]
        let ended = family.merging(["revocationDate": "@10", "revocationType": #""FAMILY_REVOKE""#]) { $1 }
        for (shared, revoked) in [
            (cases.transaction(members: family), cases.transaction(members: ended)), (pass(family), pass(ended)),
        ] {
            try check(
                [
                    try cases.uploaded(shared, at: 0),
                    try cases.notified("REVOKE", of: revoked, status: 5, at: 10.01),
                    try cases.uploaded(shared, at: 20), try cases.uploaded(shared, at: 25),
                ],
                [(9, true), (11, false), (19, false), (21, true), (26, true), (29, true)]
            )
        }
    }

    private func pass(_ members: [String: String] = [:]) -> [String: String] {
        cases.transaction(members: ["type": #""Non-Consumable""#, "expiresDate": ""].merging(members) { $1 })
    }
}

extension AppleReportedCases {
    fileprivate func transaction(members: [String: String]) -> [String: String] { transaction("1", members) }
}
