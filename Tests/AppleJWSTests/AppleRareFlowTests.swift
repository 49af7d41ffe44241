import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing

@Suite("Rare flows of the App Store, from the delivery to the state")
struct AppleRareFlowTests {
    let start = AppleFixture.start
    let fixture: AppleFixture
    func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    init() throws { fixture = try AppleFixture() }

    func period(_ id: String, from: Double, to: Double, product: String = "pro") -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: id,
            originalTransactionId: "1",
            productId: product,
            purchaseDate: day(from),
            type: "Auto-Renewable Subscription"
        )
        transaction.originalPurchaseDate = start
        transaction.expiresDate = day(to)
        transaction.price = 9990
        transaction.currency = "USD"
        transaction.transactionReason = id == "1" ? "PURCHASE" : "RENEWAL"
        return transaction
    }

    func renewal(_ until: Double, _ change: (inout AppleSimulator.RenewalInfo) -> Void = { _ in })
        -> AppleSimulator.RenewalInfo
    {
        var info = AppleSimulator.RenewalInfo(
            originalTransactionId: "1",
            productId: "pro",
            autoRenewProductId: "pro"
        )
        info.renewalDate = day(until)
        change(&info)
        return info
    }

    func notified(
        _ type: String,
        _ subtype: String?,
        of transaction: AppleSimulator.Transaction,
        with info: AppleSimulator.RenewalInfo? = nil,
        status: Int64? = 1,
        at days: Double
    ) throws -> [NormalizedEvent] {
        let notification = AppleSimulator.Notification(
            type,
            subtype,
            notificationUUID: "\(type)-\(days)",
            signedDate: day(days),
            content: .data(.init(status: status, transactionInfo: transaction, renewalInfo: info))
        )
        return try fixture.adapter.events(try fixture.simulator.delivery(notification))
    }

    func state(_ events: [NormalizedEvent]) throws -> SubscriptionState {
        let ledger = AccountLedger(applying: events)
        return try #require(ledger.states.first)
    }

    @Test(
        "grace goes on while an earlier purchase is asked about, or its money goes back, even if that was for longer",
        arguments: ["CONSUMPTION_REQUEST", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED"],
        ["renewed", "upgraded", "refunded"]
    )
    func graceBesideRefund(type: String, fate: String) throws {
        // Apple undoes no refund of a purchase that was made again.
        if type == "REFUND_REVERSED", fate == "refunded" { return }
        let bought = period("1", from: 0, to: fate == "renewed" ? 30 : 365)
        var past = bought
        past.isUpgraded = fate == "upgraded"
        if fate == "refunded" {
            past.revocationDate = day(20)
        } else if type == "REFUND" {
            past.revocationDate = day(63)
        }
        var latest = period("2", from: 30, to: 60)
        if fate != "renewed" { latest.transactionReason = "PURCHASE" }
        let (began, detail): (String, String?) =
            switch fate {
            case "upgraded": ("DID_CHANGE_RENEWAL_PREF", "UPGRADE")
            case "refunded": ("SUBSCRIBED", "RESUBSCRIBE")
            default: ("DID_RENEW", nil)
            }
        for isDated in [true, false] {
            let failing = renewal(60) {
                $0.isInBillingRetryPeriod = true
                if isDated { $0.gracePeriodExpiresDate = day(76) }
            }
            let story = [
                try notified(
                    "SUBSCRIBED",
                    "INITIAL_BUY",
                    of: bought,
                    with: renewal(fate == "renewed" ? 30 : 365),
                    at: 0.01
                ),
                try notified(began, detail, of: latest, with: renewal(60), at: 30),
                try notified("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: latest, with: failing, status: 4, at: 60),
                try notified(type, nil, of: past, with: failing, status: 4, at: 63),
            ]
            for events in [story, story.reversed()] {
                let state = try state(events.flatMap(\.self))
                #expect(state.snapshot(at: day(65)).status == .grace)
                let end = isDated ? 76.0 : 88
                #expect(state.access(at: day(end - 1)).isGranted && !state.access(at: day(end)).isGranted)
            }
        }
    }

    /// Months are charged and renew as before; only the next commitment does not come.
    @Test("turning a commitment off, and on again, is news")
    func commitment() throws {
        func changed(_ isOn: Bool, at days: Double) throws -> NormalizedEvent {
            func text(_ json: String) throws -> String {
                String(decoding: try fixture.simulator.jws(Array(json.utf8)), as: UTF8.self)
            }
            func milliseconds(_ days: Double) -> Int64 { Int64(day(days).timeIntervalSince1970 * 1000) }
            let info = """
                {"originalTransactionId":"1","productId":"pro","autoRenewProductId":"pro","autoRenewStatus":1,
                "renewalDate":\(milliseconds(30)),"renewalBillingPlanType":"MONTHLY","environment":"Production",
                "commitmentInfo":{"commitmentAutoRenewProductId":"pro","commitmentAutoRenewStatus":\(isOn ? 1 : 0),
                "commitmentRenewalDate":\(milliseconds(360))},"signedDate":\(milliseconds(days))}
                """
            let transaction = String(
                decoding: try fixture.simulator.signed(period("1", from: 0, to: 30), at: day(days)),
                as: UTF8.self
            )
            let notification = """
                {"notificationType":"DID_CHANGE_RENEWAL_STATUS","version":"2.0","notificationUUID":"\(days)",
                "subtype":"\(isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED")","signedDate":\(milliseconds(days)),
                "data":{"appAppleId":\(fixture.simulator.appAppleId),"bundleId":"\(fixture.simulator.bundleId)",
                "environment":"Production","status":1,"signedTransactionInfo":"\(transaction)",
                "signedRenewalInfo":"\(try text(info))"}}
                """
            let delivery = AppleSimulator.delivery(of: Array(try text(notification).utf8), receivedAt: day(days))
            return try #require(try fixture.adapter.events(delivery).first)
        }
        var ledger = AccountLedger()
        for event in try notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: period("1", from: 0, to: 30),
            with: renewal(30),
            at: 0.01
        ) {
            _ = ledger.apply(event)
        }
        let off = ledger.apply(try changed(false, at: 5))
        #expect((off.disposition, off.event.kind) == (.applied, .autoRenewDisabled))
        #expect(ledger.apply(try changed(false, at: 5.5)).disposition == .duplicate)
        #expect(ledger.apply(try changed(true, at: 6)).disposition == .applied)
        #expect(ledger.states[0].access(at: day(7)).isGranted)
    }

    @Test("a host whose clock is slow does not wait for a period that Apple says has begun")
    func slowClock() throws {
        let renewed = AppleSimulator.Notification(
            "DID_RENEW",
            notificationUUID: "renewed",
            signedDate: day(30).addingTimeInterval(1),
            content: .data(.init(status: 1, transactionInfo: period("2", from: 30, to: 60), renewalInfo: renewal(60)))
        )
        let receivedAt = day(30).addingTimeInterval(-5)
        let event = try #require(
            try fixture.adapter.events(fixture.simulator.delivery(renewed, receivedAt: receivedAt)).first
        )
        var state = SubscriptionState(try #require(event.subscription))
        let applied = state.apply(event)
        #expect(applied.disposition == .applied)
        #expect(applied.nextCheckAt == nil)
    }

    /// There a month lasts minutes, and how long a failed charge is tried again is a setting of the tester's.
    @Test(
        "only in production Apple tries again for sixty days",
        arguments: [AppleSimulator.Environment.production, .sandbox]
    )
    func retries(environment: AppleSimulator.Environment) throws {
        let fixture = try AppleFixture(environment: environment)
        let story = try #require(AppleSimulator.stories.first { $0.id == "grace-recovers" })
        let failed = try #require(try fixture.events(story).first { $0.kind == .billingIssue })
        guard case .billingIssue(let issue) = failed.event else { return }
        let end = try #require(failed.period?.end)
        let retryUntil = environment == .production ? end.addingTimeInterval(60 * 86_400) : nil
        #expect(issue.retryUntil == retryUntil)
        let stated = failed.facts.compactMap { if case .billing(let billing) = $0 { billing.retryUntil } else { nil } }
        #expect(stated == [retryUntil].compactMap(\.self))
    }

    /// Charged twice in a day, a customer may well ask Apple for the money of the first charge.
    @Test(
        "later statements about a renewal that was charged ahead and overtaken do not make it begin",
        arguments: [29.9, 31, 40],
        [true, false]
    )
    func overtakenRenewal(time: Double, isUpgraded: Bool) throws {
        var overtaken = period("2", from: 30, to: 60, product: "basic")
        overtaken.isUpgraded = isUpgraded
        let story = [
            try notified(
                "SUBSCRIBED",
                "INITIAL_BUY",
                of: period("1", from: 0, to: 30, product: "basic"),
                with: renewal(30),
                at: 0.01
            ),
            try notified(
                "DID_RENEW",
                nil,
                of: period("2", from: 30, to: 60, product: "basic"),
                with: renewal(60),
                at: 29.2
            ),
            try notified(
                "DID_CHANGE_RENEWAL_PREF",
                "UPGRADE",
                of: period("3", from: 29.5, to: 59.5),
                with: renewal(59.5),
                at: 29.5
            ),
            try notified("CONSUMPTION_REQUEST", nil, of: overtaken, with: renewal(59.5), at: time),
        ]
        for events in [story, story.reversed()] {
            let state = try state(events.flatMap(\.self))
            for days in [29.6, 30.5, 31.5, 41, 59] {
                #expect(state.access(at: day(days)).isGranted)
                #expect(state.snapshot(at: day(days)).product == "pro")
            }
            #expect(!state.access(at: day(60)).isGranted)
        }
    }

    /// A history is signed when it is asked for, and tells by the upgrade alone that the renewal did not begin.
    @Test(
        "a renewal that was charged ahead and overtaken does not begin for who imports the history",
        arguments: [0, 0.1]
    )
    func importedOvertaken(gap: Double) throws {
        var (basic, overtaken) = (
            period("1", from: 0, to: 30, product: "basic"), period("2", from: 30, to: 60, product: "basic")
        )
        (basic.isUpgraded, overtaken.isUpgraded) = (true, true)
        let history = [basic, overtaken, period("3", from: 29.5, to: 59.5)]
        for order in [history, history.reversed(), [history[1], history[2], history[0]]] {
            let events = try order.enumerated().flatMap { index, transaction in
                let date = day(40 + Double(index) * gap)
                return try fixture.adapter.receive(
                    signedTransaction: try fixture.simulator.signed(transaction, at: date),
                    signedRenewalInfo: nil,
                    receivedAt: date
                ).events
            }
            let state = try state(events)
            for days in [31.0, 41, 59] {
                #expect(state.access(at: day(days)).isGranted)
                #expect(state.snapshot(at: day(days)).product == "pro")
            }
            #expect(!state.access(at: day(60)).isGranted)
        }
    }

    /// Apple charges up to a day before the period begins, and a customer may restore what was bought in that very day.
    @Test(
        "an import of a period that was replaced or refunded long ago keeps no renewal from beginning",
        arguments: ["upgraded", "refunded"]
    )
    func importedBeforeRenewal(fate: String) throws {
        var year = period("1", from: 0, to: 365, product: "basic")
        if fate == "upgraded" { year.isUpgraded = true } else { year.revocationDate = day(50) }
        let ahead = try notified("DID_RENEW", nil, of: period("4", from: 160, to: 190), with: renewal(190), at: 159.4)
        let imported = try [
            period("4", from: 160, to: 190), period("3", from: 130, to: 160), period("2", from: 100, to: 130), year,
        ].enumerated()
            .flatMap { index, transaction in
                let date = day(159.7 + Double(index) * 0.001)
                return try fixture.adapter.receive(
                    signedTransaction: try fixture.simulator.signed(transaction, at: date),
                    signedRenewalInfo: nil,
                    receivedAt: date
                ).events
            }
        let again = try notified("CONSUMPTION_REQUEST", nil, of: year, with: renewal(190), at: 170)
        for events in [ahead + imported, imported, imported.reversed(), imported + ahead, imported + again] {
            let state = try state(events)
            for days in [159.8, 160.1, 175, 189.9] { #expect(state.access(at: day(days)).isGranted, "\(days)") }
            #expect(state.snapshot(at: day(175)).product == "pro")
            #expect(!state.access(at: day(190)).isGranted)
        }
    }

    @Test("a customer who upgrades twice in a day has the highest product, and not the first one")
    func upgradedTwice() throws {
        var (basic, plus) = (
            period("1", from: 9, to: 39, product: "basic"), period("2", from: 9.5, to: 39.5, product: "plus")
        )
        (basic.isUpgraded, plus.isUpgraded) = (true, true)
        let story = [
            try notified(
                "SUBSCRIBED",
                "INITIAL_BUY",
                of: period("1", from: 9, to: 39, product: "basic"),
                with: renewal(39),
                at: 9.01
            ),
            try notified("CONSUMPTION_REQUEST", nil, of: basic, with: renewal(40), at: 11),
            try notified("CONSUMPTION_REQUEST", nil, of: plus, with: renewal(40), at: 12),
            try notified(
                "DID_CHANGE_RENEWAL_PREF",
                "UPGRADE",
                of: period("3", from: 10, to: 40),
                with: renewal(40),
                at: 10
            ),
        ]
        for events in [story, story.reversed()] {
            let state = try state(events.flatMap(\.self))
            #expect([9.7, 13, 31].map { state.snapshot(at: day($0)).product } == ["plus", "pro", "pro"])
        }
    }

    @Test("a renewal to a lower product that was charged ahead begins, whatever is said of the period before")
    func downgradeChargedAhead() throws {
        let story = [
            try notified("SUBSCRIBED", "INITIAL_BUY", of: period("1", from: 0, to: 30), with: renewal(30), at: 0.01),
            try notified(
                "DID_RENEW",
                nil,
                of: period("2", from: 30, to: 60, product: "basic"),
                with: renewal(60),
                at: 29.2
            ),
            try notified("CONSUMPTION_REQUEST", nil, of: period("1", from: 0, to: 30), with: renewal(60), at: 29.5),
        ]
        for events in [story, story.reversed(), [story[1], story[2]]] {
            let state = try state(events.flatMap(\.self))
            #expect([29.6, 31].map { state.snapshot(at: day($0)).product } == ["pro", "basic"])
        }
    }
}
