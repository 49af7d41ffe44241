import AppleJWS
import FoundationEssentials
import Normalizer
import Testing

/// Two items of one subscription, of which one is refunded while it runs.
@Suite("A subscription continues with the items that are left")
struct AppleItemEndTests {
    private static let prices = ["PLAN": 9000, "EXTRA": 990]
    private let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    /// Members with the items by name, each with the day of its refund if there was one.
    private func items(_ refunds: [(sku: String, day: Double?)]) -> [String: String] {
        let written = refunds.map { item in
            let price = Self.prices[item.sku] ?? 0
            guard let day = item.day else { return #"{"SKU":"\#(item.sku)","price":\#(price)}"# }
            let date = Int64(cases.day(day).timeIntervalSince1970 * 1000)
            return #"{"SKU":"\#(item.sku)","price":\#(price),"revocationDate":\#(date),"refunds":[{"refundAmount":"#
                + #"\#(price),"refundDate":\#(date),"refundReason":"OTHER","refundType":"FULL"}]}"#
        }
        let list = #"{"requestReferenceId":"r","items":[\#(written.joined(separator: ","))]}"#
        return ["productId": #""generic""#, "autoRenewProductId": #""generic""#, "advancedCommerceInfo": list]
    }

    private func begun() throws -> Normalization {
        let both = items([("PLAN", nil), ("EXTRA", nil)])
        return try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", both),
            with: cases.renewal(both),
            at: 0
        )
    }

    /// A notification about the first month, of which an item was refunded on the tenth day.
    private func reported(
        _ type: String,
        _ subtype: String? = nil,
        without refunded: String?,
        until end: Double = 30,
        with members: [String: String] = [:],
        status: Int = 1,
        at days: Double
    ) throws -> Normalization {
        let (transaction, renewal) = (
            items(["PLAN", "EXTRA"].map { ($0, $0 == refunded ? 10 : nil) }),
            items(["PLAN", "EXTRA"].filter { $0 != refunded }.map { ($0, nil) })
        )
        return try cases.notified(
            type,
            subtype,
            of: cases.transaction("1", to: end, transaction),
            with: cases.renewal(until: end, renewal.merging(members) { $1 }),
            status: status,
            at: days
        )
    }

    private func refunded(_ sku: String) throws -> Normalization { try reported("REFUND", without: sku, at: 10) }

    private func continued(_ course: String, without sku: String?) throws -> [Normalization] {
        let retrying = ["isInBillingRetryPeriod": "true"]
        let grace = retrying.merging(["gracePeriodExpiresDate": "@46"]) { $1 }
        let off = ["autoRenewStatus": "0", "expirationIntent": "1"]
        let kept = items(["PLAN", "EXTRA"].filter { $0 != sku }.map { ($0, nil) })
        switch course {
        case "grace":
            return [try reported("DID_FAIL_TO_RENEW", "GRACE_PERIOD", without: sku, with: grace, status: 4, at: 30)]
        case "retry": return [try reported("DID_FAIL_TO_RENEW", without: sku, with: retrying, status: 3, at: 30)]
        case "off":
            return [try reported("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", without: sku, with: off, at: 15)]
        case "expired": return [try reported("EXPIRED", "VOLUNTARY", without: sku, with: off, status: 2, at: 30)]
        case "extended": return [try reported("RENEWAL_EXTENDED", without: sku, until: 40, at: 15)]
        case "renewed", "recovered":
            let second = cases.transaction("2", from: 30, to: 60, kept)
            let failed = course == "renewed" ? [] : try continued("grace", without: sku)
            let renewed = try cases.notified(
                "DID_RENEW",
                of: second,
                with: cases.renewal(until: 60, kept),
                at: failed.isEmpty ? 30 : 34
            )
            return failed + [renewed]
        default: return []
        }
    }

    /// A subscription as a host sees it, with one name for the item that is left and one for the other.
    private func seen(_ course: String, without sku: String) throws -> [String] {
        let results = try [begun(), refunded(sku)] + continued(course, without: sku)
        let state = try cases.state(results)
        var ledger = AccountLedger()
        var lines = results.flatMap { ledger.apply($0) }.dropFirst(2)
            .map { "\($0.disposition) \($0.event.event) \($0.event.effectiveAt)" }
        for day in [9.0, 11, 29, 31, 45, 47, 61] {
            let snapshot = state.snapshot(at: cases.day(day))
            lines.append(
                "\(day) \(snapshot.status) \(String(describing: snapshot.pendingProduct))"
                    + " \(snapshot.willRenew == true) \(String(describing: snapshot.period))"
            )
            switch snapshot.access {
            case .granted(let end, let grant):
                let products = [grant.product] + (grant.otherProducts ?? [])
                // Which of several is named first is another question.
                lines.append("\(String(describing: end)) \(grant.basis) \(products.sorted())")
            case .denied(let since, let denial):
                lines.append("\(String(describing: since)) \(denial.reason) \(String(describing: denial.product))")
            }
        }
        let policy = CreditPolicy(["PLAN": .init(credits: 100), "EXTRA": .init(credits: 100)])
        for day in [9.0, 11, 29, 31, 45, 47, 61] {
            let statement = CreditStatement(of: [state], under: policy, uses: [], at: cases.day(day))
            lines.append("\(day) \(statement.balance) credits")
        }
        lines += state.openQuestions.map { "\($0.reason) \($0.dueAt)" }
        lines += state.unreportedEvents(receivedAt: cases.day(70)).map { "\($0.kind)" }
        let kept = sku == "PLAN" ? "EXTRA" : "PLAN"
        return lines.map {
            $0.replacing("\"\(kept)\"", with: "KEPT").replacing("\"\(sku)\"", with: "GONE")
                .replacing(kept, with: "KEPT").replacing(sku, with: "GONE")
                .replacing("[GONE, KEPT]", with: "[KEPT, GONE]")
        }
    }

    @Test(
        "with the same access, questions and news, whichever item is refunded",
        arguments: ["silence", "grace", "retry", "off", "expired", "extended", "renewed", "recovered"]
    )
    func symmetry(course: String) throws {
        #expect(try seen(course, without: "PLAN") == seen(course, without: "EXTRA"))
    }

    @Test("in grace it gives access to each of them", arguments: ["PLAN", "EXTRA", nil])
    func grace(sku: String?) throws {
        let refund = try sku.map { try [refunded($0)] } ?? []
        let state = try cases.state([begun()] + refund + continued("grace", without: sku))
        guard case .granted(let end, let grant) = state.access(at: cases.day(35)) else {
            Issue.record("no access")
            return
        }
        let kept = ["PLAN", "EXTRA"].filter { $0 != sku }.map { ProductID($0) }
        #expect(grant.basis == .grace && end == cases.day(46))
        #expect([grant.product] + (grant.otherProducts ?? []) == kept)
        #expect(!state.access(at: cases.day(46)).isGranted)
    }

    @Test("an end that no notification reports is asked about", arguments: ["PLAN", "EXTRA"])
    func asked(sku: String) throws {
        let state = try cases.state([begun(), refunded(sku)])
        #expect(state.openQuestions.map(\.reason) == [.renewalDue])
        guard case .denied(let since, let denial) = state.access(at: cases.day(31)) else {
            Issue.record("access")
            return
        }
        #expect(since == cases.day(30) && denial.reason == .renewalDue)
        #expect(denial.product == (sku == "PLAN" ? "EXTRA" : "PLAN"))
    }

    @Test("it ends with the last of them", arguments: ["PLAN", "EXTRA"])
    func last(sku: String) throws {
        let both = items(["PLAN", "EXTRA"].map { ($0, $0 == sku ? 10 : 20) })
        let all = try cases.notified("REFUND", of: cases.transaction("1", both), status: 5, at: 20)
        let state = try cases.state([begun(), refunded(sku), all])
        #expect(
            [9, 11, 19, 21, 29].map { state.access(at: cases.day($0)).isGranted } == [true, true, true, false, false]
        )
        #expect(state.snapshot(at: cases.day(21)).status == .refunded)
        #expect(state.openQuestions.isEmpty)
    }

    @Test("a change at once is one from an item that is left")
    func changed() throws {
        let bought = cases.transaction(
            "2",
            from: 15,
            to: 45,
            items([("PLAN", nil)]).merging(["transactionReason": #""PURCHASE""#]) { $1 }
        )
        var ledger = AccountLedger()
        let reported = try [
            begun(), refunded("PLAN"),
            cases.notified(
                "DID_CHANGE_RENEWAL_PREF",
                "UPGRADE",
                of: bought,
                with: cases.renewal(until: 45, items([("PLAN", nil)])),
                at: 15
            ),
        ].flatMap { ledger.apply($0) }
        guard case .productChanged(let change) = reported.last?.event.event else {
            Issue.record("\(reported.map(\.event.kind))")
            return
        }
        #expect(change.from == "EXTRA" && change.to == "PLAN")
    }
}
