import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("Explicit statements count against a member that is missing")
struct AppleStatementTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private func begun() throws -> Normalization {
        try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), with: cases.renewal(), at: 0)
    }

    @Test("grace without a date runs as far as any can, and until Apple says that it ran out")
    func openGrace() throws {
        let retrying = cases.renewal(["isInBillingRetryPeriod": "true"])
        let failed = try cases.notified(
            "DID_FAIL_TO_RENEW",
            "GRACE_PERIOD",
            of: cases.transaction(),
            with: retrying,
            status: 4,
            at: 29.9
        )
        #expect(failed.anomalies == ["gracePeriodExpiresDate"])
        #expect(
            failed.events.map(\.event) == [
                .billingIssue(.init(access: .grace(until: cases.day(58)), retryUntil: cases.day(90)))
            ]
        )
        let open = try cases.state([begun(), failed])
        #expect(open.snapshot(at: cases.day(31)).status == .grace)
        #expect(!open.access(at: cases.day(58)).isGranted)
        #expect(open.openQuestions.map(\.reason) == [.graceWithoutEnd, .chargeFailed])
        // An answer that has the date takes the place of the assumption.
        let dated = cases.renewal(["isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "@46"])
        let answer = try cases.notified("REFUND_DECLINED", of: cases.transaction(), with: dated, status: 4, at: 30)
        let answered = try cases.state([begun(), failed, answer])
        #expect(answered.openQuestions.map(\.reason) == [.chargeFailed])
        #expect(answered.access(at: cases.day(45)).isGranted && !answered.access(at: cases.day(46)).isGranted)
        let lapsed = try cases.notified(
            "GRACE_PERIOD_EXPIRED",
            of: cases.transaction(),
            with: retrying,
            status: 3,
            at: 46
        )
        let over = try cases.state([begun(), failed, lapsed])
        #expect(over.access(at: cases.day(45)).isGranted)
        #expect(over.snapshot(at: cases.day(47)).status == .billingRetry)
        let renewed = try cases.notified(
            "DID_RENEW",
            "BILLING_RECOVERY",
            of: cases.transaction("2", from: 52, to: 82),
            with: cases.renewal(until: 82),
            at: 52
        )
        let recovered = try cases.state([begun(), failed, lapsed, renewed])
        #expect([45, 47, 51, 53].map { recovered.access(at: cases.day($0)).isGranted } == [true, false, false, true])
        // The status alone says so, and so does the subtype alone.
        let status = try cases.notified("REFUND_DECLINED", of: cases.transaction(), with: retrying, status: 4, at: 30)
        #expect(try cases.state([begun(), status]).snapshot(at: cases.day(31)).status == .grace)
        let subtype = try cases.notified(
            "DID_FAIL_TO_RENEW",
            "GRACE_PERIOD",
            of: cases.transaction(),
            with: cases.renewal(),
            status: nil,
            at: 30
        )
        #expect(try cases.state([begun(), subtype]).snapshot(at: cases.day(31)).status == .grace)
    }

    @Test("a failed renewal that is not tried again is an end, reported once", arguments: [4, 5])
    func givenUp(intent: Int) throws {
        let over = cases.renewal([
            "autoRenewStatus": "0", "expirationIntent": String(intent), "isInBillingRetryPeriod": "false",
        ])
        let failed = try cases.notified("DID_FAIL_TO_RENEW", of: cases.transaction(), with: over, status: 2, at: 30)
        let expired = try cases.notified("EXPIRED", of: cases.transaction(), with: over, status: 2, at: 30.01)
        let reason: LifecycleEvent.Expired.Reason = intent == 4 ? .productUnavailable : .unknown
        #expect(failed.events.map(\.event) == [.expired(.init(reason: reason))])
        #expect(failed.events.map(\.id) == expired.events.map(\.id))
        var ledger = AccountLedger()
        let applied = [try begun(), failed, expired].flatMap { ledger.apply($0) }
        #expect(applied.map(\.disposition) == [.applied, .applied, .duplicate])
        let state = try cases.state([begun(), failed])
        #expect(state.snapshot(at: cases.day(31)).status == .expired)
        #expect(state.contradictions.isEmpty)
        // Where it is tried again it is no end.
        let retried = try cases.notified(
            "DID_FAIL_TO_RENEW",
            of: cases.transaction(),
            with: cases.renewal(["isInBillingRetryPeriod": "true"]),
            status: 3,
            at: 30
        )
        #expect(retried.events.map(\.event.kind) == [.billingIssue])
    }

    @Test("a known type keeps its meaning under a subtype that is not known")
    func unknownSubtype() throws {
        let second = cases.transaction("2", from: 30, to: 60)
        let grace = cases.renewal(["isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "@46"])
        let off = cases.renewal(["autoRenewStatus": "0"])
        let planned = cases.renewal(["autoRenewProductId": #""other""#])
        let accepted = cases.renewal(["priceIncreaseStatus": "1"])
        let reported: [(String, [String: String], [String: String], LifecycleEvent.Kind)] = [
            ("SUBSCRIBED", cases.transaction(), cases.renewal(), .started),
            ("DID_RENEW", second, cases.renewal(until: 60), .renewed),
            ("DID_FAIL_TO_RENEW", cases.transaction(), grace, .billingIssue),
            ("EXPIRED", cases.transaction(), off, .expired),
            ("DID_CHANGE_RENEWAL_STATUS", cases.transaction(), off, .autoRenewDisabled),
            ("DID_CHANGE_RENEWAL_STATUS", cases.transaction(), cases.renewal(), .autoRenewEnabled),
            ("DID_CHANGE_RENEWAL_PREF", cases.transaction(), planned, .productChangeScheduled),
            ("DID_CHANGE_RENEWAL_PREF", cases.transaction(), cases.renewal(), .productChangeReverted),
            ("OFFER_REDEEMED", cases.transaction("1", ["offerType": "3"]), cases.renewal(), .offerRedeemed),
            ("PRICE_INCREASE", cases.transaction(), accepted, .priceChange),
        ]
        for (type, transaction, renewal, kind) in reported {
            let result = try cases.notified(type, "AS_NEVER_BEFORE", of: transaction, with: renewal, at: 30)
            #expect(result.events.map(\.event.kind) == [kind], "\(type)")
        }
        let failed = try cases.notified(
            "DID_FAIL_TO_RENEW",
            "X",
            of: cases.transaction(),
            with: grace,
            status: 4,
            at: 30
        )
        #expect(
            failed.events.map(\.event) == [
                .billingIssue(.init(access: .grace(until: cases.day(46)), retryUntil: cases.day(90)))
            ]
        )
    }

    @Test(
        "a change without a subtype, or with an unknown one, reports the purchase that it carries",
        arguments: ["", "SIDEGRADE"]
    )
    func changedAtOnce(subtype: String) throws {
        let subtype = subtype.isEmpty ? nil : subtype
        let purchase = ["productId": #""pro""#, "transactionReason": #""PURCHASE""#]
        func changed(to next: String, at days: Double) throws -> Normalization {
            try cases.notified(
                "DID_CHANGE_RENEWAL_PREF",
                subtype,
                of: cases.transaction("2", from: 15, to: 45, purchase),
                with: cases.renewal(until: 45, ["autoRenewProductId": next]),
                at: days
            )
        }
        func news(_ results: [Normalization]) -> [LifecycleEvent] {
            var ledger = AccountLedger()
            return results.flatMap { ledger.apply($0) }.filter(\.isNews).map(\.event.event)
        }
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction(),
            with: cases.renewal(),
            at: 0
        )
        let bought = try news([begun, changed(to: #""pro""#, at: 15)])
        // The notification says that no change is planned any more, which no event has reported before.
        #expect(bought.map(\.kind) == [.started, .productChanged, .productChangeReverted])
        guard bought.count > 1, case .productChanged(let change) = bought[1] else { return }
        #expect(change.from == "basic" && change.to == "pro" && change.timing == .immediate)
        let upgrade = try cases.notified(
            "DID_CHANGE_RENEWAL_PREF",
            "UPGRADE",
            of: cases.transaction("2", from: 15, to: 45, purchase),
            with: cases.renewal(until: 45, ["autoRenewProductId": #""pro""#]),
            at: 15
        )
        let planned = try cases.notified(
            "DID_CHANGE_RENEWAL_PREF",
            "DOWNGRADE",
            of: cases.transaction("2", from: 15, to: 45, purchase),
            with: cases.renewal(until: 45, ["autoRenewProductId": #""basic""#]),
            at: 20
        )
        let kinds = try news([begun, upgrade, planned, changed(to: #""pro""#, at: 25)]).map(\.kind)
        #expect(kinds == [.started, .productChanged, .productChangeScheduled, .productChangeReverted])
    }

    @Test("turning renewal off states no access beyond a known end", arguments: [true, false])
    func disabledAfterEnd(isStated: Bool) throws {
        let revoked = ["revocationDate": "@5", "revocationType": #""REFUND_FULL""#]
        func disabled(_ members: [String: String], at days: Double) throws -> Normalization {
            try cases.notified(
                "DID_CHANGE_RENEWAL_STATUS",
                "AUTO_RENEW_DISABLED",
                of: cases.transaction("1", members),
                with: cases.renewal(["autoRenewStatus": "0"]),
                status: 5,
                at: days
            )
        }
        let refund = try cases.notified("REFUND", of: cases.transaction("1", revoked), status: 5, at: 5)
        // A copy that was signed moments after the refund may not show it yet.
        let later = try disabled(isStated ? revoked : [:], at: 5 + AppleReportedCases.minutes(1))
        var ledger = AccountLedger()
        let reported = [refund, later].flatMap { ledger.apply($0) }
        #expect(
            reported.last?.event.event == .autoRenewDisabled(.init(reason: .customer, accessUntil: cases.day(5)))
        )
    }

    @Test("an unknown type with a new period begins it, and pays out once")
    func unknownType() throws {
        let second = cases.transaction("2", from: 30, to: 60)
        let unknown = try cases.notified("AS_NEVER_BEFORE", of: second, with: cases.renewal(until: 60), at: 30)
        let renewed = try cases.notified("DID_RENEW", of: second, with: cases.renewal(until: 60), at: 30)
        #expect(unknown.events.map(\.event.kind) == [.renewed, .unmapped])
        #expect(unknown.events[0].id == renewed.events[0].id)
        var ledger = AccountLedger()
        let applied = [try begun(), unknown, renewed].flatMap { ledger.apply($0) }
        #expect(applied.map(\.disposition) == [.applied, .applied, .applied, .duplicate])
        #expect(try cases.state([begun(), unknown]).access(at: cases.day(45)).isGranted)
    }

    @Test("a purchase that is dated ahead has begun when it was signed; a renewal has not")
    func datedAhead() throws {
        let ahead = cases.transaction(from: 1.0 / 24, to: 30)
        let bought = try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: ahead, with: cases.renewal(), at: 0)
        #expect(bought.events.map(\.occurredAt) == [cases.day(0)])
        #expect(try cases.state([bought]).access(at: cases.day(0.01)).isGranted)
        let pass = cases.transaction(from: 1.0 / 24, ["type": #""Non-Consumable""#, "expiresDate": ""])
        let once = try cases.notified("ONE_TIME_CHARGE", of: pass, status: nil, at: 0)
        #expect(try cases.state([once]).access(at: cases.day(0.01)).isGranted)
        let renewed = try cases.notified(
            "DID_RENEW",
            of: cases.transaction("2", from: 30, to: 60),
            with: cases.renewal(until: 60),
            at: 29.9
        )
        #expect(try cases.state([renewed]).snapshot(at: cases.day(29.95)).status == .notBegun)
    }

    @Test("grace that was given is granted in hindsight, for each time that it was")
    func pastGrace() throws {
        var results = [try begun()]
        var end = 30.0
        for number in 2..<4 {
            let failing = cases.renewal(
                until: end,
                ["isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "@\(end + 6)"]
            )
            let failed = cases.transaction(number == 2 ? "1" : "2", from: end - 30, to: end)
            results.append(
                try cases.notified("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: failed, with: failing, status: 4, at: end)
            )
            results.append(
                try cases.notified("GRACE_PERIOD_EXPIRED", of: failed, with: failing, status: 3, at: end + 6.01)
            )
            let paid = cases.transaction(String(number), from: end + 10, to: end + 40)
            results.append(
                try cases.notified(
                    "DID_RENEW",
                    "BILLING_RECOVERY",
                    of: paid,
                    with: cases.renewal(until: end + 40),
                    at: end + 10
                )
            )
            end += 40
        }
        let state = try cases.state(results)
        #expect(
            [29, 33, 37, 41, 69, 73, 77, 81].map { state.access(at: cases.day($0)).isGranted }
                == [true, true, false, true, true, true, false, true]
        )
    }

    @Test("a period that expires in grace ends when Apple says so, by event and state alike")
    func expiredInGrace() throws {
        let failing = cases.renewal(["isInBillingRetryPeriod": "true", "gracePeriodExpiresDate": "@46"])
        let failed = try cases.notified(
            "DID_FAIL_TO_RENEW",
            "GRACE_PERIOD",
            of: cases.transaction(),
            with: failing,
            status: 4,
            at: 30
        )
        for date in ["@46", ""] {
            let over = cases.renewal(["autoRenewStatus": "0", "expirationIntent": "1", "gracePeriodExpiresDate": date])
            let expired = try cases.notified(
                "EXPIRED",
                "VOLUNTARY",
                of: cases.transaction(),
                with: over,
                status: 2,
                at: 35
            )
            let state = try cases.state([begun(), failed, expired])
            #expect([34, 36, 45].map { state.access(at: cases.day($0)).isGranted } == [true, false, false])
            guard case .denied(let since, let denial) = state.access(at: cases.day(40)) else {
                Issue.record("granted")
                continue
            }
            #expect(since == cases.day(35) && denial.reason == .customer)
            if !date.isEmpty { #expect(expired.events.map(\.occurredAt) == [cases.day(35)]) }
            #expect(state.contradictions.isEmpty)
        }
    }

    @Test("a pass that does not renew is over when it is over")
    func pass() throws {
        let members = ["type": #""Non-Renewing Subscription""#]
        let bought = try cases.notified("ONE_TIME_CHARGE", of: cases.transaction("1", members), status: nil, at: 0)
        let state = try cases.state([bought, cases.uploaded(cases.transaction("1", members), at: 1)])
        #expect(state.snapshot(at: cases.day(10)).status == .active)
        #expect(state.snapshot(at: cases.day(31)).status == .expired)
        #expect(state.snapshot(at: cases.day(31)).product == "basic")
    }
}
