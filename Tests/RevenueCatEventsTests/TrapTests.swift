import HTTPTransport
import Normalizer
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Testing
import VectorGenerator
import WireJSON

/// The ways in which RevenueCat's webhooks are easily misread, one test a trap.
@Suite("Traps")
struct TrapTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")

    func normalization(_ event: Event, after delay: Int64 = 20_000) throws -> Normalization {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        var at = t0
        if case .integer(let milliseconds)? = event.members["event_timestamp_ms"] { at = milliseconds }
        let delivery = try RevenueCatSimulator(authorization: SecretBytes("a"))
            .delivery(event.body, receivedAt: date(at + delay))
        return try adapter.normalize(try adapter.authenticate(delivery))
    }

    func one(_ event: Event) throws -> NormalizedEvent {
        let events = try normalization(event).events
        #expect(events.count == 1)
        return try #require(events.first)
    }

    func ledger(_ events: Event...) throws -> AccountLedger { try ledger(events) }

    func ledger(_ events: [Event]) throws -> AccountLedger {
        AccountLedger(applying: try events.flatMap { try normalization($0).events })
    }

    func event(
        _ type: String,
        at: Int64,
        _ period: Period = .first,
        changing changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> Event {
        Event(type, id: "\(type)-\(at)", at: at, period, changing: changes)
    }

    var purchase: Event { event("INITIAL_PURCHASE", at: t0 + 5000) }
    var renewal: Event { event("RENEWAL", at: t1 + 5000, .second) }
    let grace = t1 + 16 * day

    func isGranted(_ ledger: AccountLedger, at time: Int64, of lineage: SubscriptionID = lineage) -> Bool? {
        ledger[lineage]?.access(at: date(time)).isGranted
    }

    @Test("1: a cancellation ends access only where money went back or a grant was removed")
    func cancellationMeansFourThings() throws {
        for (changes, kind, ends) in [
            (["cancel_reason": "UNSUBSCRIBE"], .autoRenewDisabled, false),
            (["cancel_reason": "BILLING_ERROR"], .autoRenewDisabled, false),
            (["cancel_reason": "CUSTOMER_SUPPORT", "price": 0], .refunded, true),
            (["cancel_reason": "DEVELOPER_INITIATED", "price": .raw("-4.99")], .refunded, true),
            (["cancel_reason": "DEVELOPER_INITIATED", "price": 0], .autoRenewDisabled, false),
        ] as [(KeyValuePairs<String, JSONText?>, LifecycleEvent.Kind, Bool)] {
            let at = t0 + 10 * day
            let end = Period(t0, to: ends ? at : t1, "O1")
            let cancellation = event("CANCELLATION", at: at, end, changing: changes)
            #expect(try one(cancellation).kind == kind)
            #expect(isGranted(try ledger(purchase, cancellation), at: at + hour) == !ends)
        }
    }

    @Test("2: a refund leaves renewal on, and a later renewal restores access")
    func refundLeavesRenewalOn() throws {
        let refund = event(
            "CANCELLATION",
            at: t0 + 10 * day,
            Period(t0, to: t0 + 10 * day, "O1"),
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        let after = try ledger(purchase, refund)
        #expect(after[Self.lineage]?.snapshot(at: date(t0 + 11 * day)).willRenew == true)
        #expect(isGranted(after, at: t0 + 11 * day) == false)
        #expect(isGranted(try ledger(purchase, refund, renewal), at: t1 + day) == true)
    }

    @Test("2: what was bought on the web can be refunded and kept", arguments: ["STRIPE", "PADDLE"])
    func refundLeavesAccess(store: String) throws {
        let lineage = SubscriptionID(
            store: PurchaseStore(rawValue: store.lowercased()),
            environment: .production,
            id: "O1"
        )
        let stored: KeyValuePairs<String, JSONText?> = ["store": .string(store)]
        let bought = event("INITIAL_PURCHASE", at: t0 + 5000, .first, changing: stored)
        for (end, isKept) in [(t1, true), (t0 + 10 * day - 15 * minute, false)] {
            let refund = event(
                "CANCELLATION",
                at: t0 + 10 * day,
                Period(t0, to: end, "O1"),
                changing: ["store": .string(store), "cancel_reason": "CUSTOMER_SUPPORT"]
            )
            let refunded = try ledger(bought, refund)
            let reported = try one(refund)
            #expect(reported.kind == .refunded)
            #expect(reported.event.accessEffect == (isKept ? .none : .removes))
            #expect(isGranted(refunded, at: t0 + 11 * day, of: lineage) == isKept)
            #expect(isGranted(refunded, at: t1 + day, of: lineage) == false)
            #expect(
                isGranted(
                    try ledger(bought, refund, event("RENEWAL", at: t1 + 5000, .second, changing: stored)),
                    at: t1 + day,
                    of: lineage
                )
                    == true
            )
        }
    }

    @Test("3: a refund undone restores the period, which may be over")
    func refundReversed() throws {
        let refund = event(
            "CANCELLATION",
            at: t0 + 10 * day,
            Period(t0, to: t0 + 10 * day, "O1"),
            changing: ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        let undone = try ledger(purchase, refund, event("REFUND_REVERSED", at: t0 + 13 * day))
        #expect(isGranted(undone, at: t0 + 14 * day) == true)
        let late = try ledger(purchase, refund, event("REFUND_REVERSED", at: t1 + 3 * day))
        #expect(isGranted(late, at: t1 + 4 * day) == false)
        #expect(late[Self.lineage]?.snapshot(at: date(t1 + 4 * day)).status != .refunded)
    }

    var issue: Event {
        event(
            "BILLING_ISSUE",
            at: t1 + 32_000,
            Period(t0, to: grace, "O1"),
            changing: ["grace_period_expiration_at_ms": .integer(grace)]
        )
    }
    var failed: Event {
        event(
            "CANCELLATION",
            at: t1 + 32_000,
            Period(t0, to: grace, "O1"),
            changing: ["cancel_reason": "BILLING_ERROR"]
        )
    }

    @Test("4: the three webhooks of one failed charge are one incident in any order")
    func billingTrio() throws {
        let over = event("EXPIRATION", at: t1 + 32_000, .first, changing: ["expiration_reason": "BILLING_ERROR"])
        let none = event("BILLING_ISSUE", at: t1 + 32_000)
        let stopped = event("CANCELLATION", at: t1 + 32_000, .first, changing: ["cancel_reason": "BILLING_ERROR"])
        for order in permutations(of: [purchase, none, stopped, over]) {
            var ledger = AccountLedger()
            var issues = 0
            for event in order {
                for event in try normalization(event).events where ledger.apply(event).disposition == .applied {
                    issues += event.kind == .billingIssue ? 1 : 0
                }
            }
            #expect(issues <= 1)
            #expect(ledger[Self.lineage]?.snapshot(at: date(t1 + day)).status == .expired)
        }
    }

    @Test("5: one failed charge is one billing issue, and a redelivery is none")
    func oneIssue() throws {
        var ledger = try ledger(purchase)
        let issue = try one(issue)
        #expect(ledger.apply(issue).disposition == .applied)
        #expect(ledger.apply(issue).disposition == .duplicate)
    }

    @Test("6: grace ends by itself, without an expiration")
    func graceIsBounded() throws {
        let ledger = try ledger(purchase, issue, failed)
        #expect(isGranted(ledger, at: grace - 1) == true)
        #expect(isGranted(ledger, at: grace) == false)
    }

    @Test("7: a renewal clears what a failed cycle left behind")
    func renewalClears() throws {
        let pause = event("SUBSCRIPTION_PAUSED", at: t1 + 20_000, .first, changing: ["auto_resume_at_ms": .integer(t2)])
        let snapshot = try ledger(purchase, pause, issue, failed, event("RENEWAL", at: t1 + 3 * day, .second))[
            Self.lineage
        ]?
        .snapshot(at: date(t1 + 4 * day))
        #expect(snapshot?.status == .active)
        #expect(snapshot?.willRenew == true)
        #expect(snapshot?.willNotRenewBecause == nil)
        #expect(snapshot?.resumesAt == nil)
    }

    @Test("8: a renewal of a customer never seen creates the state")
    func renewalCreates() throws {
        #expect(isGranted(try ledger(renewal), at: t1 + day) == true)
        let conversion = event("RENEWAL", at: t1 + 5000, .second, changing: ["is_trial_conversion": true])
        guard case .renewed(let renewed) = try one(conversion).event else {
            Issue.record("no renewal")
            return
        }
        #expect(renewed.cause == .trialConversion)
    }

    @Test("9: a change after the charge ahead is what was bought", arguments: ["APP_STORE", "RC_BILLING"])
    func changedAfterChargeAhead(store: String) throws {
        let stored: KeyValuePairs<String, JSONText?> = ["store": .string(store), "product_id": "basic_m"]
        let upgrade = t1 - 30 * minute
        let host = try CreditTests.host(
            event("INITIAL_PURCHASE", at: t0 + 5000, .first, changing: stored).priced("10.00"),
            event("RENEWAL", at: t1 - hour, .second, changing: stored).priced("10.00"),
            event("PRODUCT_CHANGE", at: upgrade, .first, changing: stored).with(["new_product_id": "pro_m"]),
            event("RENEWAL", at: upgrade + 1000, Period(upgrade, to: upgrade + 30 * day, "O3"), changing: stored)
                .with(["product_id": "pro_m"]).priced("20.00")
        )
        let snapshot = try #require(host.ledger.states.first).snapshot(at: date(t1 + day))
        #expect(snapshot.product == "pro_m")
        #expect(snapshot.pendingProduct == nil)
        let credits = CreditStatement(of: host.ledger.states, under: CreditTests.policy, uses: [], at: date(t1 + day))
        #expect(!credits.grants.contains { $0.from >= date(t1) })
    }

    @Test("2: Web Billing takes access with the money, whatever end the refund states", arguments: [t1, t0 + 10 * day])
    func webBillingRefund(end: Int64) throws {
        let stored: KeyValuePairs<String, JSONText?> = ["store": "RC_BILLING", "cancel_reason": "CUSTOMER_SUPPORT"]
        let refund = event("CANCELLATION", at: t0 + 10 * day, Period(t0, to: end, "O1"), changing: stored)
        let ledger = try ledger(event("INITIAL_PURCHASE", at: t0 + 5000, .first, changing: stored), refund)
        let lineage = SubscriptionID(store: .rcBilling, environment: .production, id: "O1")
        #expect(try one(refund).event.accessEffect == .removes)
        #expect(isGranted(ledger, at: t0 + 9 * day, of: lineage) == true)
        #expect(isGranted(ledger, at: t0 + 11 * day, of: lineage) == false)
    }

    @Test("9: a period charged ahead does not begin before its start")
    func chargedAhead() throws {
        let early = event("RENEWAL", at: t1 - 8 * hour, .second)
        #expect(try one(early).effectiveAt == date(t1))
        var ledger = try ledger(purchase)
        let applied = ledger.apply(try one(early))
        #expect(applied.nextCheckAt == date(t1))
        #expect(ledger[Self.lineage]?.snapshot(at: date(t1 - hour)).period?.start == date(t0))
        #expect(ledger[Self.lineage]?.snapshot(at: date(t1 - hour)).nextPeriod?.start == date(t1))
    }

    @Test("10: Stripe states the old period again when the product changes at once")
    func stripeKeepsPeriod() throws {
        let stripe = SubscriptionID(store: .stripe, environment: .production, id: "O1")
        let basic = event(
            "INITIAL_PURCHASE",
            at: t0 + 5000,
            .first,
            changing: ["store": "STRIPE", "product_id": "basic_m"]
        )
        let pro = event("RENEWAL", at: t0 + 15 * day, .first, changing: ["store": "STRIPE", "price": .raw("5.5")])
        let (before, after) = (try one(basic), try one(pro))
        #expect(before.id != after.id)
        #expect(after.effectiveAt == date(t0 + 15 * day))
        #expect(try ledger(basic, pro)[stripe]?.snapshot(at: date(t0 + 16 * day)).product == "pro_m")
        #expect(try ledger(pro, basic)[stripe]?.snapshot(at: date(t0 + 16 * day)).product == "pro_m")
    }

    @Test("11: a free renewal of Stripe is no proof of payment")
    func unpaidStripe() throws {
        let free = event("RENEWAL", at: t1 + 5000, .second, changing: ["store": "STRIPE", "price": 0])
        let normalization = try normalization(free)
        #expect(normalization.events.isEmpty)
        #expect(normalization.noChange?.reason == .needsLookup)
        #expect(
            normalization.noChange?.statement?.facts.contains { if case .period = $0 { true } else { false } } == false
        )
    }

    @Test("12: an announced change moves neither product nor access nor money")
    func announcement() throws {
        let change = event("PRODUCT_CHANGE", at: t0 + 15 * day, .first, changing: ["new_product_id": "basic_m"])
        #expect(try one(change).event.accessEffect == .none)
        let snapshot = try ledger(purchase, change, change)[Self.lineage]?.snapshot(at: date(t0 + 16 * day))
        #expect(snapshot?.product == "pro_m")
        #expect(snapshot?.pendingProduct == "basic_m")
        #expect(snapshot?.period?.end == date(t1))
        let back = event("PRODUCT_CHANGE", at: t0 + 16 * day, .first, changing: ["new_product_id": "pro_m"])
        #expect(try one(back).kind == .productChangeReverted)
        #expect(
            try ledger(purchase, change, back)[Self.lineage]?.snapshot(at: date(t0 + 17 * day)).pendingProduct == nil
        )
    }

    @Test("13: at once or at the end: Play's body says it, elsewhere the next period does")
    func timing() throws {
        let deferred = event(
            "PRODUCT_CHANGE",
            at: t0 + day,
            .first,
            changing: ["store": "PLAY_STORE", "new_product_id": "basic_m"]
        )
        guard case .productChangeScheduled(let change) = try one(deferred).event else {
            Issue.record("no change")
            return
        }
        #expect(change.timing == .atPeriodEnd(date(t1)))
        #expect(change.basis == .store)
        let immediate = event("PRODUCT_CHANGE", at: t0 + day, .first, changing: ["store": "PLAY_STORE"])
        #expect(try one(immediate).event == .notice(.init(.productChange, facts: ["from": "pro_m"])))
        let unknown = event("PRODUCT_CHANGE", at: t0 + day, .first, changing: ["new_product_id": "basic_m"])
        guard case .productChangeScheduled(let change) = try one(unknown).event else {
            Issue.record("no change")
            return
        }
        #expect(change.timing == .atPeriodEnd(nil))
        #expect(change.basis == .inferred)
        // The App Store's rule tells, where the catalogue says which of the two is the higher level.
        for (level, timing, direction) in [
            (1, .immediate, .upgrade), (3, .atPeriodEnd(date(t1)), .downgrade),
        ] as [(Int, LifecycleEvent.ProductChange.Timing, LifecycleEvent.ProductChange.Direction)] {
            let catalog = ProductCatalog([
                ProductCatalog.Product(id: "pro_m", group: "g", level: 2, duration: .month),
                ProductCatalog.Product(id: "basic_m", group: "g", level: level, duration: .month),
            ])
            var ledger = try ledger(purchase)
            guard
                case .productChangeScheduled(let refined) = ledger.apply(try one(unknown), catalog: catalog).event.event
            else {
                Issue.record("no change")
                return
            }
            #expect(refined.timing == timing)
            #expect(refined.direction == direction)
            #expect(refined.basis == .catalog)
        }
    }

    @Test(
        "13: a change that is announced after the period that it led to is settled by that period",
        arguments: [15, 31]
    )
    func settledTiming(days: Int64) throws {
        let start = t0 + days * day
        let began = event(
            "RENEWAL",
            at: start,
            Period(start, to: start + 31 * day, "O1-2"),
            changing: ["product_id": "basic_m"]
        )
        let announced = event("PRODUCT_CHANGE", at: t0 + 15 * day - 1, .first, changing: ["new_product_id": "basic_m"])
        var ledger = try ledger(purchase, began)
        guard case .productChangeScheduled(let change) = ledger.apply(try one(announced)).event.event else {
            Issue.record("no change")
            return
        }
        #expect(change.timing == (days == 15 ? .immediate : .atPeriodEnd(date(t1))))
        #expect(ledger[Self.lineage]?.snapshot(at: date(t1 + day)).pendingProduct == nil)
    }

    @Test("14: the end of a replaced purchase does not touch the new one, whatever the new one is called")
    func replaced() throws {
        for type in ["INITIAL_PURCHASE", "RENEWAL"] {
            let old = event(
                "INITIAL_PURCHASE",
                at: t0,
                Period(t0, to: t1, "GPA.1"),
                changing: ["store": "PLAY_STORE", "original_transaction_id": "GPA.1", "product_id": "s:a"]
            )
            let new = event(
                type,
                at: t0 + day,
                Period(t0 + day, to: t1 + day, "GPA.2"),
                changing: ["store": "PLAY_STORE", "original_transaction_id": "GPA.2", "product_id": "s:b"]
            )
            let end = event(
                "EXPIRATION",
                at: t0 + day + 5000,
                Period(t0, to: t0 + day, "GPA.1"),
                changing: ["store": "PLAY_STORE", "original_transaction_id": "GPA.1", "product_id": "s:a"]
            )
            for order in permutations(of: [old, new, end]) {
                let ledger = try ledger(order)
                let access = ledger.access(of: Account.Identifier("u1", .appUserID), at: date(t0 + 2 * day))
                #expect(access.decision.isGranted)
                // One purchase, under its first name.
                #expect(access.grantors.map(\.subscription.id) == ["GPA.1"])
                #expect(ledger.states.map { $0.lineages.map(\.id) } == [["GPA.1", "GPA.2"]])
            }
        }
    }

    @Test("15: after an upgrade in a trial the new product counts, and the old one's end takes nothing")
    func upgradeInTrial() throws {
        let trial = event(
            "INITIAL_PURCHASE",
            at: t0,
            Period(t0, to: t0 + 7 * day, "O1"),
            changing: ["period_type": "TRIAL", "product_id": "basic_m"]
        )
        let pro = event("RENEWAL", at: t0 + 2 * day, Period(t0 + 2 * day, to: t0 + 33 * day, "O1-2"))
        let end = event(
            "EXPIRATION",
            at: t0 + 7 * day,
            Period(t0, to: t0 + 7 * day, "O1"),
            changing: ["product_id": "basic_m"]
        )
        let ledger = try ledger(trial, pro, end)
        #expect(ledger[Self.lineage]?.snapshot(at: date(t0 + 3 * day)).product == "pro_m")
        #expect(isGranted(ledger, at: t0 + 8 * day) == true)
    }

    @Test("16: a transfer names accounts alone, and both have to be read again")
    func transfer() throws {
        let transfer = Event([
            "type": "TRANSFER", "id": "1", "event_timestamp_ms": .integer(t0 + day), "environment": "PRODUCTION",
            "transferred_from": ["u1", "$RCAnonymousID:x"], "transferred_to": ["u2"],
        ])
        let moved = try one(transfer)
        #expect(moved.event.accessEffect == .moves)
        #expect(moved.subscription == nil)
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let delivery = Delivery(headers: ["Authorization": "a"], body: transfer.body, receivedAt: date(t0 + day))
        let hint = try adapter.authenticate(delivery).value.event.hint
        #expect(hint == .customers(["u1", "$RCAnonymousID:x", "u2"]))
        let ledger = try ledger(transfer, purchase)
        #expect(!ledger.access(of: Account.Identifier("u1", .appUserID), at: date(t0 + 2 * day)).decision.isGranted)
        #expect(ledger.access(of: Account.Identifier("u2", .appUserID), at: date(t0 + 2 * day)).decision.isGranted)
    }

    /// A purchase on the web by an anonymous customer.
    var webPurchase: Event {
        event(
            "INITIAL_PURCHASE",
            at: t0 + 5000,
            .first,
            changing: [
                "store": "RC_BILLING", "app_user_id": "$RCAnonymousID:web", "aliases": ["$RCAnonymousID:web"],
                "original_app_user_id": "$RCAnonymousID:web",
            ]
        )
    }

    @Test("16: what was bought without a name is the customer's who claims it in the app, long before it renews")
    func claimedPurchase() throws {
        let redeemed = Event([
            "type": "PURCHASE_REDEEMED", "id": "1", "event_timestamp_ms": .integer(t0 + day), "app_id": "app0123456789",
            "environment": "PRODUCTION", "store": "RC_BILLING", "redeemed_from": ["$RCAnonymousID:web"],
            "redeemed_by": ["u2"], "redemption_outcome": "alias", "redemption_platform": "ios", "product_id": "pro_m",
            "entitlement_ids": ["pro"],
        ])
        let alias = event(
            "SUBSCRIBER_ALIAS",
            at: t0 + day,
            .first,
            changing: [
                "app_user_id": "u2", "original_app_user_id": "$RCAnonymousID:web",
                "aliases": ["$RCAnonymousID:web", "u2"],
            ]
        )
        for reported in [redeemed, alias] {
            for ledger in [try ledger(webPurchase, reported), try ledger(reported, webPurchase)] {
                for (name, isGranted) in [("u2", true), ("$RCAnonymousID:web", true), ("u1", false)] {
                    let access = ledger.access(of: Account.Identifier(name, .appUserID), at: date(t0 + 2 * day))
                    #expect(access.decision.isGranted == isGranted, "\(name)")
                }
            }
        }
        // Under the other outcomes the ids stay apart: a transfer says what moved, or nothing has.
        for outcome in ["transfer", "redeemer_owns"] {
            let ledger = try ledger(webPurchase, redeemed.with(["redemption_outcome": .string(outcome)]))
            let access = ledger.access(of: Account.Identifier("u2", .appUserID), at: date(t0 + 2 * day))
            #expect(!access.decision.isGranted, "\(outcome)")
        }
    }

    @Test("a grant for a day that names no transaction gives access to its customer", arguments: ["PRODUCTION", nil])
    func temporaryGrantWithoutTransaction(environment: JSONText?) throws {
        let grant = Event([
            "type": "TEMPORARY_ENTITLEMENT_GRANT", "id": "1", "event_timestamp_ms": .integer(t0),
            "app_id": "app0123456789", "app_user_id": "u1", "store": "APP_STORE",
        ]).with(["environment": environment])
        let ledger = try ledger(grant)
        let stated: StoreEnvironment = environment == nil ? .unknown : .production
        for (world, at, isGranted) in [
            (stated, t0 + hour, true), (stated, t0 + day, false), (.sandbox, t0 + hour, false),
        ] {
            let access = ledger.access(of: Account.Identifier("u1", .appUserID), in: world, at: date(at))
            #expect(access.decision.isGranted == isGranted, "\(world) \(at)")
        }
    }

    @Test("17: an extension is no new period")
    func extension_() throws {
        let extended = try one(event("SUBSCRIPTION_EXTENDED", at: t1 - hour, Period(t0, to: t1 + 20 * hour, "O1")))
        #expect(extended.kind == .extended)
        #expect(!extended.facts.contains { if case .charge = $0 { true } else { false } })
        var ledger = try ledger(purchase)
        _ = ledger.apply(extended)
        #expect(ledger[Self.lineage]?.snapshot(at: date(t1 + hour)).period?.start == date(t0))
        #expect(isGranted(ledger, at: t1 + hour) == true)
    }

    @Test("18: access goes on until a pause begins, and the pause is the expiration")
    func pause() throws {
        let planned = event(
            "SUBSCRIPTION_PAUSED",
            at: t0 + 15 * day,
            .first,
            changing: ["auto_resume_at_ms": .integer(t1 + 30 * day)]
        )
        let began = event("EXPIRATION", at: t1 + 9000, .first, changing: ["expiration_reason": "SUBSCRIPTION_PAUSED"])
        #expect(try one(planned).event.accessEffect == .none)
        #expect(isGranted(try ledger(purchase, planned), at: t1 - 1) == true)
        #expect(try one(began).kind == .paused)
        #expect(isGranted(try ledger(purchase, planned, began), at: t1 + day) == false)
    }

    @Test(
        "19: the suffix of a Play order is cut from the lineage, and only there",
        arguments: [
            ("PLAY_STORE", "GPA.9", "GPA.9"), ("PLAY_STORE", "GPA.9..0", "GPA.9"), ("PLAY_STORE", "GPA.9..12", "GPA.9"),
            ("PLAY_STORE", "GPA.9..", "GPA.9.."), ("PLAY_STORE", "GPA.9..x", "GPA.9..x"), ("PLAY_STORE", "..1", "..1"),
            ("PLAY_STORE", "GPA.9.1", "GPA.9.1"), ("APP_STORE", "O..1", "O..1"), ("AMAZON", "A..1", "A..1"),
        ]
    )
    func orderSuffix(store: String, original: String, lineage: String) throws {
        let event = try one(
            event(
                "RENEWAL",
                at: t1,
                .second,
                changing: [
                    "store": .string(store), "original_transaction_id": .string(original), "transaction_id": "GPA.9..3",
                ]
            )
        )
        #expect(event.subscription?.id == lineage)
        #expect(event.transaction == "GPA.9..3")
    }

    @Test(
        "20: Play's product has a base plan behind the first colon, others have none",
        arguments: [
            ("PLAY_STORE", "s:monthly", "s", "monthly"), ("PLAY_STORE", "s:a:b", "s", "a:b"),
            ("PLAY_STORE", "s", "s", nil),
            ("PLAY_STORE", "s:", "s", nil), ("PLAY_STORE", ":b", ":b", nil), ("APP_STORE", "a:b", "a:b", nil),
            ("PROMOTIONAL", "rc_promo_pro access_lifetime", "rc_promo_pro access_lifetime", nil),
        ] as [(String, String, ProductID, String?)]
    )
    func basePlan(store: String, product: String, id: ProductID, basePlan: String?) throws {
        let event = try one(
            event(
                "UNCANCELLATION",
                at: t0,
                .first,
                changing: ["store": .string(store), "product_id": .string(product)]
            )
        )
        #expect(event.product?.id == id)
        #expect(event.product?.basePlan == basePlan)
    }

    @Test("21: a prepaid top-up outlives the order before it, and never renews")
    func prepaid() throws {
        let order: KeyValuePairs<String, JSONText?> = [
            "store": "PLAY_STORE", "period_type": "PREPAID", "original_transaction_id": "GPA.7",
        ]
        let first = event("INITIAL_PURCHASE", at: t0, Period(t0, to: t0 + 15 * minute, "GPA.7"), changing: order)
        let second = event(
            "INITIAL_PURCHASE",
            at: t0 + 2 * minute,
            Period(t0 + 2 * minute, to: t0 + 30 * minute, "GPA.8"),
            changing: order
        )
        let end = event("EXPIRATION", at: t0 + 2 * minute, Period(t0, to: t0 + 2 * minute, "GPA.7"), changing: order)
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "GPA.7")
        for order in permutations(of: [first, second, end]) {
            let ledger = try ledger(order)
            #expect(isGranted(ledger, at: t0 + 20 * minute, of: lineage) == true)
            #expect(ledger[lineage]?.snapshot(at: date(t0 + 20 * minute)).willRenew == false)
        }
    }

    @Test("22: a grant is no purchase; one without an end lasts, and its removal ends it")
    func grants() throws {
        let members: KeyValuePairs<String, JSONText?> = [
            "store": "PROMOTIONAL", "period_type": "PROMOTIONAL", "app_id": nil, "expiration_at_ms": nil,
            "original_transaction_id": "P1",
        ]
        let lineage = SubscriptionID(store: .promotional, environment: .production, id: "P1")
        let grant = event("NON_RENEWING_PURCHASE", at: t0, Period(t0, to: t1, "P1"), changing: members)
        #expect(try one(grant).kind == .started)
        #expect(isGranted(try ledger(grant), at: t0 + 5000 * day, of: lineage) == true)
        let removal = event("CANCELLATION", at: t0 + day, Period(t0, to: t1, "P1"), changing: members)
            .with(["cancel_reason": "DEVELOPER_INITIATED"])
        #expect(try one(removal).kind == .revoked)
        #expect(isGranted(try ledger(grant, removal), at: t0 + 2 * day, of: lineage) == false)
    }

    @Test("23: what does not renew may still end")
    func nonRenewingEnds() throws {
        let ledger = try ledger(event("NON_RENEWING_PURCHASE", at: t0))
        #expect(isGranted(ledger, at: t1 - 1) == true)
        #expect(isGranted(ledger, at: t1) == false)
    }

    @Test("24: an end is that of one purchase, never of an entitlement")
    func perPurchase() throws {
        let other = event(
            "INITIAL_PURCHASE",
            at: t0,
            Period(t0, to: t2, "O2"),
            changing: ["original_transaction_id": "O2"]
        )
        let end = event("EXPIRATION", at: t1 + 40_000, .first, changing: ["expiration_reason": "UNSUBSCRIBE"])
        let ledger = try ledger(purchase, other, end)
        #expect(isGranted(ledger, at: t1 + day) == false)
        #expect(ledger.access(of: Account.Identifier("u1", .appUserID), at: date(t1 + day)).decision.isGranted)
    }

    @Test("25: sandbox and production are apart, and an unstated environment is neither")
    func environments() throws {
        let events = try ["PRODUCTION", "SANDBOX", nil].map { (name: String?) in
            try one(event("RENEWAL", at: t1, .second, changing: ["environment": name.map { .string($0) }]))
        }
        #expect(events.map(\.environment) == [.production, .sandbox, .unknown])
        #expect(Set(events.map(\.id)).count == 3)
        #expect(Set(events.map(\.subscription)).count == 3)
    }

    @Test(
        "26: a paywall's interaction stays one, whatever it is renamed to",
        arguments: ["RENEWAL", "TRANSFER", "EXPIRATION"]
    )
    func renamedPaywall(type: String) throws {
        for member in ["paywall_id", "session_id"] {
            let event = try one(
                Event([
                    "type": .string(type), "id": "1", "event_timestamp_ms": .integer(t0), "app_user_id": "u1",
                    member: "x", "transferred_to": ["u9"], "expiration_reason": "UNKNOWN",
                ])
            )
            guard case .notice(let notice) = event.event else {
                Issue.record("\(type) with \(member) is \(event.kind)")
                return
            }
            #expect(notice.kind == .paywall)
            #expect(event.facts.isEmpty)
        }
    }

    @Test("27: a test succeeds and states nothing")
    func test() throws {
        let event = try one(event("TEST", at: t0).priced("9.99"))
        #expect(event.kind == .notice)
        #expect(event.facts.isEmpty)
        #expect(event.subscription == nil)
    }

    @Test("28: only ids of proven webhooks are asked for, and a customer made by asking is unknown")
    func createdCustomer() async throws {
        let transport = StubTransport()
        transport.on(.init(.get, path: "/v1/subscribers/new"), respond: .init(status: 201, body: Array("{}".utf8)))
        let client = try RevenueCatClient(transport: transport, apiKey: SecretBytes("sk_1"), api: .v1)
        #expect(try await client.customer("new") == .unknown)
    }

    @Test("29: the local price counts, exactly; the estimate in dollars is not mixed into it")
    func money() throws {
        let priced = try one(event("RENEWAL", at: t1, .second).priced("25.487", local: "2990.10", currency: "JPY"))
        #expect(priced.price?.money.description == "2990.1 JPY")
        #expect(priced.price?.role == .charged)
        let estimated = try one(
            event("RENEWAL", at: t1, .second, changing: ["price": .raw("25.487"), "currency": "EUR"])
        )
        #expect(estimated.price?.money.description == "25.487 USD")
        #expect(estimated.price?.role == .list)
        let text = try one(
            event(
                "RENEWAL",
                at: t1,
                .second,
                changing: ["price": "9.99", "price_in_purchased_currency": "8.490", "currency": "EUR"]
            )
        )
        #expect(text.price == Price(Money(try #require(ExactDecimal("8.49")), "EUR"), .charged))
        let long = try one(event("RENEWAL", at: t1, .second).priced("0.10000000000000000555"))
        #expect(long.price?.money.amount.description == "0.10000000000000000555")
    }

    @Test("30: no webhook becomes a dispute")
    func disputes() throws {
        for path in try CommittedVectors.paths(of: .revenuecat) {
            #expect(!(try CommittedVectors.text(path)).contains(#""kind":"chargeback""#), "\(path)")
        }
        #expect(try one(event("CHARGEBACK", at: t0)).kind == .unmapped)
    }
}
