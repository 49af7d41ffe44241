import FoundationEssentials
import Normalizer
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Testing
import WireJSON

@Suite("A webhook that never comes")
struct LostWebhookTests {
    let traps = TrapTests()

    private func event(
        _ type: String,
        of product: String,
        at time: Int64,
        with changes: KeyValuePairs<String, JSONText?>
    ) -> TrapTests.Event {
        let lasting: KeyValuePairs<String, JSONText?> = ["product_id": .string(product), "expiration_at_ms": .null]
        return traps.event(type, at: time).with(lasting).with(changes)
    }

    private func ledger(_ events: [TrapTests.Event]) throws -> AccountLedger {
        var ledger = AccountLedger()
        for event in events { _ = ledger.apply(try traps.normalization(event)) }
        return ledger
    }

    @Test("a refund undone states what was bought once, and its own webhook counts in any order")
    func boughtOnce() throws {
        let at = Date(timeIntervalSince1970: Double(t0 + 11 * day) / 1000)
        for (product, unlocks, credits) in [("life", true, 0), ("coins", false, 150)] as [(String, Bool, Int64)] {
            var changes: [TrapTests.Event] = []
            for type in ["NON_RENEWING_PURCHASE", "CANCELLATION", "REFUND_REVERSED"] {
                let entitlements: KeyValuePairs<String, JSONText?> = unlocks ? [:] : ["entitlement_ids": .null]
                let time = t0 + 5000 + Int64(changes.count) * 5 * day
                changes.append(event(type, of: product, at: time, with: entitlements))
            }
            changes[0] = changes[0].with(["quantity": 3])
            changes[1] = changes[1].with(["cancel_reason": "CUSTOMER_SUPPORT"])
            for isLost in [true, false] {
                for order in permutations(of: isLost ? Array(changes.dropFirst()) : changes) {
                    let ledger = try ledger(order + order)
                    let access = ledger[TrapTests.lineage]?.access(at: at)
                    #expect(access?.isGranted == unlocks)
                    let statement = CreditStatement(of: ledger.states, under: CreditTests.policy, uses: [], at: at)
                    #expect(statement.balance == (isLost ? credits / 3 : credits))
                }
            }
            #expect(try ledger([changes[1]])[TrapTests.lineage]?.access(at: at).isGranted == false)
        }
    }

    // MARK: Periods that a later webhook names

    /// A monthly subscription of 200 credits in one store, which names its renewals in its own way.
    private struct Subscription {
        var store: String
        var transactions: [String]

        static let all = [
            Self(store: "APP_STORE", transactions: ["O1", "O1-2"]),
            Self(store: "PLAY_STORE", transactions: ["O1", "O1..0"]),
            // Senders that name every period by the first one.
            Self(store: "PLAY_STORE", transactions: ["O1", "O1"]),
            Self(store: "AMAZON", transactions: ["O1", "O1"]),
        ]

        func event(_ type: String, at time: Int64, from start: Int64, to end: Int64, because reason: String? = nil)
            throws
            -> [NormalizedEvent]
        {
            let period = CreditTests.Period(start, to: end, transactions[start == t0 ? 0 : 1])
            var event = CreditTests.event(
                type,
                at: time,
                period,
                product: "basic_m",
                changing: ["store": .string(store)]
            )
            if let reason {
                event = event.with(["cancel_reason": .string(reason), "expiration_reason": .string(reason)])
            }
            if type == "PRODUCT_CHANGE" { event = event.with(["new_product_id": "pro_m"]) }
            if reason == "CUSTOMER_SUPPORT" { event = event.priced("-10.00") }
            if type == "INITIAL_PURCHASE" || type == "RENEWAL" { event = event.priced("10.00") }
            return try CreditTests.events([event])
        }
    }

    private struct Reading: Equatable {
        var access: [Bool]
        var credits: [Int64]
    }

    /// Reads what each order of some webhooks gives at some days, which must be the same.
    private func reading(_ webhooks: [[NormalizedEvent]], on days: [Int64]) throws -> Reading {
        var known: AccountLedger?
        try applyInEachOrder(webhooks) { ledger in
            if let known { try #require(ledger == known) }
            known = ledger
        }
        let ledger = try #require(known)
        for state in ledger.states {
            #expect(try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state)) == state)
        }
        var reading = Reading(access: [], credits: [])
        for day in days {
            let at = Date(timeIntervalSince1970: Double(t0 + day * 86_400_000) / 1000)
            reading.access.append(ledger.states.contains { $0.access(at: at).isGranted })
            let statement = CreditStatement(of: ledger.states, under: CreditTests.policy, uses: [], at: at)
            reading.credits.append(statement.balance)
        }
        return reading
    }

    /// Applies webhooks in each order, and each once more after the one that follows it. Orders that begin alike share the work.
    private func applyInEachOrder(
        _ webhooks: [[NormalizedEvent]],
        after last: [NormalizedEvent] = [],
        to ledger: AccountLedger = AccountLedger(),
        _ body: (AccountLedger) throws -> Void
    ) rethrows {
        if webhooks.isEmpty { try body(ledger) }
        for index in webhooks.indices {
            var (rest, ledger) = (webhooks, ledger)
            let next = rest.remove(at: index)
            for event in next + last { _ = ledger.apply(event) }
            try applyInEachOrder(rest, after: next, to: ledger, body)
        }
    }

    /// Every choice of some webhooks that has at least one of them.
    private func choices(_ webhooks: [[NormalizedEvent]]) -> [[[NormalizedEvent]]] {
        (1..<(1 << webhooks.count)).map { choice in
            webhooks.enumerated().filter { choice >> $0.offset & 1 == 1 }.map(\.element)
        }
    }

    @Test("a lost renewal counts if a later webhook names its period")
    func renewalLost() throws {
        for sold in Subscription.all {
            let begun = try sold.event("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1)
            let naming = try [
                sold.event("CANCELLATION", at: t1 + 5 * day, from: t1, to: t2, because: "UNSUBSCRIBE"),
                sold.event("UNCANCELLATION", at: t1 + 6 * day, from: t1, to: t2),
                sold.event(
                    "CANCELLATION",
                    at: t1 + 7 * day,
                    from: t1,
                    to: t2,
                    because: "PRICE_INCREASE"
                ),
            ]
            let end = try sold.event(
                "EXPIRATION",
                at: t2 + 40_000,
                from: t1,
                to: t2,
                because: "UNSUBSCRIBE"
            )
            let renewal = try sold.event("RENEWAL", at: t1 + 5000, from: t1, to: t2)
            let refunded = t1 + 8 * day
            let refund = try sold.event(
                "CANCELLATION",
                at: refunded + 5000,
                from: t1,
                to: refunded,
                because: "CUSTOMER_SUPPORT"
            )
            // The renewal is news once, also where it comes last.
            let host = Backend(begun + naming[0] + renewal + renewal, CreditTests.policy)
            #expect(host.count(.renewed) == 1)
            let expected = Reading(access: [true, true, false], credits: [200, 200, 0])
            for choice in choices(naming) {
                for rest in [[], [end], [renewal], [begun], [begun, end], [begun, renewal]] {
                    let isKnown = rest.contains(begun)
                    let reading = try reading(choice + rest, on: [30, 40, 60])
                    #expect(reading.access.dropFirst() == expected.access.dropFirst(), "\(sold)")
                    #expect(reading.credits.dropFirst() == expected.credits.dropFirst(), "\(sold)")
                    #expect(reading.access[0] == isKnown && reading.credits[0] == (isKnown ? 200 : 0), "\(sold)")
                }
                let undone = try reading([begun, refund] + choice, on: [36, 41, 60])
                #expect(undone == Reading(access: [true, false, false], credits: [200, 0, 0]), "\(sold)")
            }
        }
    }

    @Test(
        "a store that keeps the transaction loses no period that a webhook about something else mentions",
        arguments: ["AMAZON", "PADDLE", "RC_BILLING", "ROKU", "PLAY_STORE"]
    )
    func mentioned(store: String) throws {
        let kept = Subscription(store: store, transactions: ["O1", "O1"])
        let mentions: [(type: String, reason: String?, end: Int64)] = [
            ("PRODUCT_CHANGE", nil, t2), ("CANCELLATION", "BILLING_ERROR", t2),
            ("CANCELLATION", "CUSTOMER_SUPPORT", t1 + 9 * day), ("EXPIRATION", "UNSUBSCRIBE", t1 + 9 * day),
        ]
        for mention in mentions {
            // On Play a change is another purchase, and a refund on the web leaves what is paid for.
            if store == "PLAY_STORE" && mention.type == "PRODUCT_CHANGE" { continue }
            if store == "PADDLE" && mention.reason == "CUSTOMER_SUPPORT" { continue }
            func reading(_ sold: Subscription) throws -> [String] {
                let begun = try sold.event("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1)
                let at = t1 + 9 * day + 5000
                let later = try sold.event(mention.type, at: at, from: t1, to: mention.end, because: mention.reason)
                var known: [String]?
                for order in permutations(of: [begun, later]) {
                    let ledger = AccountLedger(applying: (order + order).joined())
                    let states = ledger.states
                    let decisions = ([10, 30, 36, 41, 60] as [Int64]).map { number in
                        let moment = date(t0 + number * day)
                        let credits = CreditStatement(of: states, under: CreditTests.policy, uses: [], at: moment)
                        switch states[0].access(at: moment) {
                        case .granted(let until, _): return "until \(until as Date?), \(credits.balance)"
                        case .denied(let since, let denial):
                            return "since \(since as Date?), \(denial.reason), \(credits.balance)"
                        @unknown default: return "unknown"
                        }
                    }
                    #expect(known == nil || known == decisions)
                    known = decisions
                }
                return known ?? []
            }
            let named = try reading(Subscription(store: "APP_STORE", transactions: ["O1", "O1-2"]))
            #expect(try reading(kept) == named, "\(mention)")
        }
    }

    @Test("an end of a period stays when a later one has ended, too", arguments: ["AMAZON", "RC_BILLING", "APP_STORE"])
    func endedTwice(store: String) throws {
        let sold = Subscription(store: store, transactions: ["O1", store == "APP_STORE" ? "O1-2" : "O1"])
        let webhooks = try [
            sold.event("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1),
            sold.event("EXPIRATION", at: t0 + 10 * day, from: t0, to: t0 + 10 * day, because: "DEVELOPER_INITIATED"),
            sold.event("RENEWAL", at: t1 + 5000, from: t1, to: t2),
            sold.event("EXPIRATION", at: t2 + 5000, from: t1, to: t2, because: "UNSUBSCRIBE"),
        ]
        #expect(
            try reading(webhooks, on: [5, 20, 40, 60])
                == Reading(access: [true, false, true, false], credits: [200, 0, 200, 0])
        )
    }

    @Test("a lost extension counts if a later webhook names its end")
    func extensionLost() throws {
        let end = t1 + 10 * day
        for sold in Subscription.all {
            let begun = try sold.event("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1)
            let naming = try [
                sold.event("CANCELLATION", at: t0 + 20 * day, from: t0, to: end, because: "UNSUBSCRIBE"),
                sold.event("UNCANCELLATION", at: t1 + 6 * day, from: t0, to: end),
            ]
            let extended = try sold.event("SUBSCRIPTION_EXTENDED", at: t0 + 15 * day, from: t0, to: end)
            let expired = try sold.event("EXPIRATION", at: end + 40_000, from: t0, to: end, because: "UNSUBSCRIBE")
            let renewal = try sold.event("RENEWAL", at: end + 5000, from: end, to: end + 30 * day)
            for choice in choices(naming) {
                for rest in [[], [expired], [extended]] {
                    let reading = try reading([begun] + choice + rest, on: [30, 40, 42])
                    #expect(reading == Reading(access: [true, true, false], credits: [200, 200, 0]), "\(sold)")
                }
                for rest in [[renewal], [renewal, expired]] {
                    let reading = try reading([begun] + choice + rest, on: [30, 40, 42])
                    #expect(reading == Reading(access: [true, true, true], credits: [200, 200, 200]), "\(sold)")
                }
            }
        }
    }

    @Test("grace that a webhook names is no payment, and access ends with a refund, whatever else is lost")
    func graceNamed() throws {
        let grace = t1 + 16 * day
        let (failed, refunded) = (t1 + 32_000, t1 + 8 * day)
        // Amazon has no grace.
        for sold in Subscription.all where sold.store != "AMAZON" {
            let begun = try sold.event("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1)
            let issue = try sold.event("BILLING_ISSUE", at: failed, from: t0, to: grace)
            let canceled = try sold.event("CANCELLATION", at: failed, from: t0, to: grace, because: "BILLING_ERROR")
            let unsubscribed = try sold.event(
                "CANCELLATION",
                at: t1 + 2 * day,
                from: t0,
                to: grace,
                because: "UNSUBSCRIBE"
            )
            let recovered = try sold.event("RENEWAL", at: t1 + 3 * day, from: t1, to: t2)
            let refund = try sold.event(
                "CANCELLATION",
                at: refunded + 5000,
                from: t1,
                to: refunded,
                because: "CUSTOMER_SUPPORT"
            )
            for choice in choices([issue, canceled, unsubscribed]) {
                let inGrace = try reading([begun] + choice, on: [30, 40, 46, 48])
                #expect(inGrace == Reading(access: [true, true, true, false], credits: [200, 200, 200, 0]), "\(sold)")
                let paid = try reading([begun, recovered] + choice, on: [38, 50, 60])
                #expect(paid == Reading(access: [true, true, false], credits: [200, 200, 0]), "\(sold)")
                for rest in [[recovered, refund], [refund]] {
                    let undone = try reading([begun] + choice + rest, on: [40, 46, 50, 60])
                    let none = Reading(access: [false, false, false, false], credits: [0, 0, 0, 0])
                    #expect(undone == none, "\(sold) \(choice.count) \(rest.count)")
                }
            }
        }
    }

    /// Stripe's setting for subscriptions whose charge failed in the end: "mark unpaid".
    @Test("of a subscription that ended unpaid, a period that is only mentioned gives nothing", arguments: [t0, t1])
    func markedUnpaid(named: Int64) throws {
        let sold = Subscription(store: "STRIPE", transactions: ["O1", "O1"])
        let (failed, ended) = (t1 + hour, t1 + 8 * day)
        // Webhooks about a failed charge name the period that was paid for, or the one that was not.
        let until = named == t0 ? ended : t2
        let failure = try [
            sold.event("INITIAL_PURCHASE", at: t0 + 5000, from: t0, to: t1),
            sold.event("BILLING_ISSUE", at: failed, from: named, to: until),
            sold.event("EXPIRATION", at: ended, from: named, to: ended, because: "BILLING_ERROR"),
        ]
        let naming = try [
            sold.event("CANCELLATION", at: t2 + day, from: t2, to: t2 + 31 * day, because: "UNSUBSCRIBE"),
            sold.event("CANCELLATION", at: t2 + day, from: t2, to: t2 + 31 * day, because: "DEVELOPER_INITIATED"),
            sold.event("UNCANCELLATION", at: t2 + day, from: t2, to: t2 + 31 * day),
        ]
        let failedAgain = try sold.event("BILLING_ISSUE", at: t2 + hour, from: t2, to: t2 + 31 * day)
        for mention in naming {
            let unpaid = try reading(failure + [mention], on: [32, 40, 58, 61, 88])
            #expect(unpaid == Reading(access: [true, false, false, false, false], credits: [200, 0, 0, 0, 0]))
        }
        let again = try reading(failure + [naming[0], failedAgain], on: [32, 40, 58, 61, 88])
        #expect(again.access == [true, false, false, false, false])
        #expect(again.credits.dropFirst() == [0, 0, 0, 0])
        let late = try sold.event("RENEWAL", at: t2 + 2 * day, from: t2, to: t2 + 31 * day)
        #expect(try reading(failure + [naming[0], late], on: [32, 40, 62]).access == [true, false, true])
        // The month after one that was paid counts, though its own webhook is lost.
        let paid = try sold.event("RENEWAL", at: ended + day, from: ended + day, to: t2)
        #expect(try reading(failure + [paid, naming[0]], on: [32, 39, 40, 61]).access == [true, false, true, true])
    }

    // MARK: The customer

    /// RevenueCat names only the new customer in all that follows, and sends no webhook when an anonymous customer logs in.
    @Test(
        "after a lost TRANSFER the customer whom RevenueCat names next has the purchase, by a webhook or by an answer",
        arguments: ["u1", "$RCAnonymousID:1"]
    )
    func lostTransfer(former: String) async throws {
        func naming(_ customer: String) -> KeyValuePairs<String, JSONText?> {
            let name = JSONText.string(customer)
            return ["app_user_id": name, "original_app_user_id": name, "aliases": [name]]
        }
        func owners(_ ledger: AccountLedger, at time: Int64) -> [String] {
            ["u1", "u2", "$RCAnonymousID:1"].filter {
                ledger.access(of: .init($0, .appUserID), at: date(time)).decision.isGranted
            }
        }
        let bought = traps.purchase.with(naming(former))
        let answer = try await ClientTests.subscription([
            "customer_id": "u2", "original_customer_id": .string(former),
        ])
        var asked = try ledger([bought])
        asked.apply(answer.statement(about: TrapTests.lineage, product: "pro_m", at: date(t0 + 10 * day)))
        #expect(owners(asked, at: t0 + 9 * day) == [former])
        #expect(owners(asked, at: t0 + 11 * day) == ["u2"])

        let later = [traps.renewal.with(naming("u2")), bought]
        for order in [later, later.reversed()] {
            let renewed = try ledger(order)
            #expect(owners(renewed, at: t0 + 9 * day) == [former])
            #expect(owners(renewed, at: t1 + day) == ["u2"])
            #expect(renewed.states.flatMap(\.contradictions) == [])
        }
    }
}
