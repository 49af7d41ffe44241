import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// Several webhooks about one failed charge, and about one refund.
@Suite("Failed charges, and ends that one webhook leaves out")
struct FailedChargeTests {
    typealias Period = RevenueCatSimulator.Period
    let traps = TrapTests()
    let grace = t1 + 16 * day

    private func issue(_ at: Int64, end: Int64, grace: Int64?) -> TrapTests.Event {
        traps.event(
            "BILLING_ISSUE",
            at: at,
            Period(t0, to: end, "O1"),
            changing: ["grace_period_expiration_at_ms": grace.map { .integer($0) } ?? .null]
        )
    }

    private func canceled(_ at: Int64, end: Int64) -> TrapTests.Event {
        traps.event("CANCELLATION", at: at, Period(t0, to: end, "O1"), changing: ["cancel_reason": "BILLING_ERROR"])
    }

    @Test("a pause whose end brings a failed charge reads as a pause until then, and as a charge that is tried since")
    func failedResumption() throws {
        let paused = traps.event(
            "EXPIRATION",
            at: t1 + 1000,
            Period(t0, to: t1, "O1"),
            changing: ["expiration_reason": "SUBSCRIPTION_PAUSED"]
        )
        let failed = issue(t2, end: t1, grace: nil)
        let over = traps.event(
            "EXPIRATION",
            at: t2 + 30 * day,
            Period(t0, to: t1, "O1"),
            changing: ["expiration_reason": "BILLING_ERROR"]
        )
        for (rest, last) in [([], .billingRetry), ([over], .expired)]
            as [([TrapTests.Event], SubscriptionSnapshot.Status)]
        {
            for order in permutations(of: [traps.purchase, paused, failed] + rest) {
                let ledger = try traps.ledger(order)
                let state = try #require(ledger[TrapTests.lineage])
                let statuses = [t1 - 1, t1 + day, t2 - 1, t2 + day, t2 + 31 * day].map {
                    state.snapshot(at: date($0)).status
                }
                #expect(statuses == [.active, .paused, .paused, .billingRetry, last])
            }
        }
    }

    @Test("the later end of grace in the two webhooks of one failed charge counts, in any order")
    func laterEnd() throws {
        let at = t1 + 2000
        let pairs = [
            [issue(at, end: grace, grace: grace), canceled(at + 1, end: t1)],
            [issue(at, end: grace, grace: grace), canceled(at, end: t1)],
            [issue(at, end: t1, grace: grace), canceled(at + hour, end: t1)],
            [issue(at, end: grace, grace: grace), canceled(at + 1, end: grace - day)],
            [issue(at + 1, end: t1, grace: nil), canceled(at, end: grace)],
            [issue(at, end: t1, grace: nil), canceled(at, end: grace)],
        ]
        for pair in pairs {
            for order in permutations(of: [traps.purchase] + pair) {
                var ledger = try traps.ledger(order)
                #expect(traps.isGranted(ledger, at: grace - 1) == true)
                #expect(traps.isGranted(ledger, at: grace) == false)
                #expect(ledger[TrapTests.lineage]?.snapshot(at: date(grace - 1)).status == .grace)
                for event in try traps.normalization(traps.event("RENEWAL", at: t1 + 3 * day, .second)).events {
                    let applied = ledger.apply(event)
                    guard case .renewed(let renewed) = applied.event.event else { continue }
                    #expect(renewed.cause == .recovery(from: .grace))
                }
                #expect(traps.isGranted(ledger, at: t2 - 1) == true)
            }
        }
    }

    @Test(
        "a charge that fails as a later period begins is the beginning of grace",
        arguments: ["BILLING_ISSUE", "CANCELLATION"]
    )
    func renewalThatFails(type: String) throws {
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "O1")
        let web: KeyValuePairs<String, JSONText?> = ["store": "STRIPE", "renewal_number": 1]
        let failing: KeyValuePairs<String, JSONText?> = [
            "store": "STRIPE", "renewal_number": 2, "cancel_reason": "BILLING_ERROR",
        ]
        let events = [
            traps.event("INITIAL_PURCHASE", at: t0, .first, changing: web),
            traps.event(type, at: t1 + 300_000, .second, changing: failing),
        ]
        for order in permutations(of: events) {
            let ledger = try traps.ledger(order)
            #expect(traps.isGranted(ledger, at: t1 + day, of: lineage) == true)
            #expect(traps.isGranted(ledger, at: t2, of: lineage) == false)
        }
    }

    /// On Play grace may be a period with a start of its own, and the number of the renewal may be left out, or always 1.
    @Test(
        "a renewal whose charge fails has grace, and a charged one is paid",
        arguments: [nil, .null, 1, 2] as [JSONText?]
    )
    func graceOfItsOwn(number: JSONText?) throws {
        let end = t1 + 7 * day
        for (store, names) in [
            ("PLAY_STORE", ["GPA.1", "GPA.1..0"]), ("APP_STORE", ["O1", "O2"]), ("PLAY_STORE", ["GPA.1", "GPA.1"]),
        ] {
            let lineage = SubscriptionID(
                store: store == "APP_STORE" ? .appStore : .playStore,
                environment: .production,
                id: names[0]
            )
            func event(_ type: String, at: Int64, to end: Int64, grace: Int64? = nil) -> TrapTests.Event {
                let isFirst = type == "INITIAL_PURCHASE"
                return traps.event(type, at: at, Period(isFirst ? t0 : t1, to: end, names[isFirst ? 0 : 1])).with([
                    "store": .string(store), "original_transaction_id": .string(names[0]),
                    "renewal_number": isFirst ? 1 : number, "cancel_reason": "BILLING_ERROR",
                    "grace_period_expiration_at_ms": grace.map { .integer($0) },
                ])
            }
            let bought = event("INITIAL_PURCHASE", at: t0 + 5000, to: t1).priced("9.99")
            let issue = event("BILLING_ISSUE", at: t1 + minute, to: end, grace: end)
            let off = event("CANCELLATION", at: t1 + minute, to: end, grace: names[0] == names[1] ? end : nil)
            let charged = event("RENEWAL", at: t1 + 5000, to: t2).priced("9.99")
            #expect(try traps.one(issue).event == .billingIssue(.init(access: .grace(until: date(end)))))
            for events in [[issue, off], [issue], [off]] {
                for order in permutations(of: [bought] + events) {
                    let ledger = try order.reduce(into: AccountLedger()) { _ = $0.apply(try traps.normalization($1)) }
                    #expect(traps.isGranted(ledger, at: t1 + day, of: lineage) == true)
                    #expect(traps.isGranted(ledger, at: end, of: lineage) == false)
                }
            }
            // Without grace, as if it were the first charge, it denies nothing that was charged.
            let unpaid = event("BILLING_ISSUE", at: t1 + minute, to: t2)
            for events in [[charged, issue, off], [charged, unpaid]] {
                for order in permutations(of: [bought] + events) {
                    let ledger = try order.reduce(into: AccountLedger()) { _ = $0.apply(try traps.normalization($1)) }
                    #expect(traps.isGranted(ledger, at: t2 - 1, of: lineage) == true)
                    #expect(traps.isGranted(ledger, at: t2, of: lineage) == false)
                }
            }
        }
    }

    /// A webhook about a failed charge may be the first that names its period: the renewal is not paid for yet, or its webhook is lost.
    struct FirstNamed: Sendable {
        var store: String
        var names: [String]
        var failedAt: Int64
        var ends: (named: Int64, grace: Int64)
        var paid: Period

        static let all =
            [
                Self(
                    store: "STRIPE",
                    names: ["O1", "O1"],
                    failedAt: t1 + hour,
                    ends: (t2, t2),
                    paid: Period(t1, to: t2, "O1")
                ),
                Self(
                    store: "PLAY_STORE",
                    names: ["GPA.1", "GPA.1..0"],
                    failedAt: t1 + minute,
                    ends: (t1 + 7 * day, t1 + 7 * day),
                    paid: Period(t1, to: t2, "GPA.1..0")
                ),
            ]
            + ["APP_STORE", "RC_BILLING"].flatMap { store in
                [t2, t2 + 9 * day].map { named in
                    Self(
                        store: store,
                        names: ["O1", "O2"],
                        failedAt: t2 + minute,
                        ends: (named, t2 + 9 * day),
                        paid: Period(t2, to: t2 + 31 * day, "O3")
                    )
                }
            }
    }

    @Test("a failed charge is news with the period that it names, and so is the recovery", arguments: FirstNamed.all)
    func firstNamed(incident: FirstNamed) throws {
        func event(_ type: String, at: Int64, _ period: Period) -> TrapTests.Event {
            traps.event(type, at: at, period).with([
                "store": .string(incident.store), "original_transaction_id": .string(incident.names[0]),
                "cancel_reason": "BILLING_ERROR",
            ])
        }
        let named = Period(t1, to: incident.ends.named, incident.names[1])
        let recovered = incident.failedAt + 3 * day
        let events = try [
            event("INITIAL_PURCHASE", at: t0 + 5000, Period(t0, to: t1, incident.names[0])).priced("9.99"),
            event("BILLING_ISSUE", at: incident.failedAt, named).with([
                "grace_period_expiration_at_ms": .integer(incident.ends.grace)
            ]),
            event("CANCELLATION", at: incident.failedAt, named),
            event("RENEWAL", at: recovered, incident.paid).priced("9.99"),
        ].map(traps.one)
        for failed in [[events[1]], [events[1], events[2]], [events[2], events[1]]] {
            var host = Backend([events[0]] + failed + failed, CreditTests.policy)
            let state = try #require(host.ledger.states.first)
            #expect(host.acts.map(\.kind) == [events[0].kind] + failed.map(\.kind))
            #expect(state.snapshot(at: date(recovered - 1)).status == .grace)
            #expect(state.access(at: date(incident.ends.grace - 1)).isGranted)
            #expect(state.access(at: date(incident.ends.grace)).isGranted == false)
            host = Backend([events[0]] + failed + [events[3]], CreditTests.policy)
            guard case .renewed(let renewed)? = host.acts.last?.event else {
                Issue.record("\(host.acts)")
                continue
            }
            #expect(renewed.cause == .recovery(from: .grace))
            // Late, it is the past.
            #expect(Backend([events[0], events[3]] + failed, CreditTests.policy).count(.billingIssue) == 0)
        }
    }

    @Test("the grace of one failed charge is none of the next")
    func nextCharge() throws {
        let later = [
            issue(t1 + 2000, end: grace, grace: grace), traps.renewal,
            traps.event(
                "BILLING_ISSUE",
                at: t2 + 2000,
                .second,
                changing: ["grace_period_expiration_at_ms": .null]
            ),
        ]
        var ledger = try traps.ledger(traps.purchase)
        for event in later { for event in try traps.normalization(event).events { _ = ledger.apply(event) } }
        #expect(traps.isGranted(ledger, at: t2 + day) == false)
    }

    @Test("a charge that fails as its period begins gives neither access nor an end of it", arguments: [true, false])
    func firstCharge(hasBoth: Bool) throws {
        let web: KeyValuePairs<String, JSONText?> = ["store": "STRIPE"]
        let at = t0 + 3000
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "O1")
        let bought = traps.event("INITIAL_PURCHASE", at: at, .first, changing: web)
        let failed = traps.event("BILLING_ISSUE", at: at, .first, changing: ["store": "STRIPE"])
        let off = traps.event(
            "CANCELLATION",
            at: at,
            .first,
            changing: ["store": "STRIPE", "cancel_reason": "BILLING_ERROR"]
        )
        #expect(try traps.one(failed).event == .billingIssue(.init(access: .suspended)))
        #expect(try traps.one(off).event == .autoRenewDisabled(.init(reason: .billing)))
        for order in permutations(of: hasBoth ? [bought, failed, off] : [bought, off]) {
            var ledger = try traps.ledger(order)
            for moment in [at + 1, t0 + day, t1 - 1] {
                #expect(traps.isGranted(ledger, at: moment, of: lineage) == false)
            }
            #expect(ledger[lineage]?.contradictions == [])
            // Paid in the end: the period is stated again.
            let paid = traps.event("RENEWAL", at: t0 + 2 * hour, .first, changing: web)
            for event in try traps.normalization(paid).events { _ = ledger.apply(event) }
            #expect(traps.isGranted(ledger, at: t1 - 1, of: lineage) == true)
            #expect(ledger[lineage]?.contradictions == [])
        }
        // A renewal that fails an hour after its period began has the time in which Stripe tries again.
        let renewal = traps.event("BILLING_ISSUE", at: t0 + hour, .first, changing: web)
        #expect(try traps.one(renewal).event == .billingIssue(.init(access: .grace(until: date(t1)))))
    }

    @Test(
        "whenever a purchase that was never paid for ends, it gave nothing",
        arguments: [0, 40] as [Int64],
        [hour, 23 * hour]
    )
    func endOfUnpaid(lag: Int64, after: Int64) throws {
        let web: KeyValuePairs<String, JSONText?> = ["store": "STRIPE"]
        let at = t0 + 3000
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "O1")
        let events = [
            traps.event("INITIAL_PURCHASE", at: at + lag, .first, changing: web).priced("9.99"),
            traps.event("BILLING_ISSUE", at: at, .first, changing: ["store": "STRIPE"]),
            traps.event(
                "EXPIRATION",
                at: at + after,
                .first,
                changing: ["store": "STRIPE", "expiration_reason": "BILLING_ERROR"]
            ),
        ]
        let policy = CreditPolicy(["pro_m": .init(credits: 500)])
        for order in permutations(of: events) {
            let ledger = try traps.ledger(order)
            for moment in [at + 1, at + after - 1, at + after + 1, t1 - 1] {
                #expect(traps.isGranted(ledger, at: moment, of: lineage) == false)
                #expect(CreditStatement(of: ledger.states, under: policy, uses: [], at: date(moment)).balance == 0)
            }
            #expect(ledger[lineage]?.contradictions == [])
        }
    }

    @Test("a reversal of a refund moves the end back to the paid end, in any order")
    func reversalWithTheRefundsEnd() throws {
        let cut = t0 + 10 * day
        let refund = traps.event(
            "CANCELLATION",
            at: cut + 900_000,
            Period(t0, to: cut, "O1"),
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        let over = traps.event(
            "EXPIRATION",
            at: cut + 900_001,
            Period(t0, to: cut, "O1"),
            changing: ["expiration_reason": "CUSTOMER_SUPPORT"]
        )
        for end in [cut, t1] {
            let undone = traps.event("REFUND_REVERSED", at: t0 + 13 * day, Period(t0, to: end, "O1"))
            for order in permutations(of: [traps.purchase, refund, over, undone]) {
                let ledger = try traps.ledger(order)
                #expect(traps.isGranted(ledger, at: t1 - 1) == true)
                #expect(traps.isGranted(ledger, at: t1) == false)
            }
        }
    }
}

extension FailedChargeTests {
    private func check(_ events: [TrapTests.Event], _ expected: [(time: Int64, isGranted: Bool)]) throws {
        for order in permutations(of: events) {
            let ledger = try traps.ledger(order)
            for (time, isGranted) in expected {
                #expect(traps.isGranted(ledger, at: time) == isGranted, "\(date(time))")
            }
        }
    }

    @Test("asked for it later, a time of retries without grace is denied, and the rest granted")
    func pastRetries() throws {
        try check(
            [
                traps.purchase, issue(t1 + 2000, end: t1, grace: nil), canceled(t1 + 2001, end: t1),
                traps.event("RENEWAL", at: t1 + 3 * day, .second),
            ],
            [(t1 - 1, true), (t1 + day, false), (t1 + 3 * day - 1, false), (t1 + 3 * day, true), (t2 - 1, true)]
        )
    }

    @Test("asked for it later, the time between a refund and its reversal is denied, and the rest granted")
    func pastRefund() throws {
        let refund = traps.event(
            "CANCELLATION",
            at: t0 + 5 * day + 1000,
            Period(t0, to: t0 + 5 * day, "O1"),
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        try check(
            [traps.purchase, refund, traps.event("REFUND_REVERSED", at: t0 + 8 * day, .first)],
            [
                (t0 + 4 * day, true), (t0 + 6 * day, false), (t0 + 8 * day - 1, false), (t0 + 9 * day, true),
                (t1 - 1, true),
            ]
        )
    }
}
