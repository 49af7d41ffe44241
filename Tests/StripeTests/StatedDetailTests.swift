import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Stripe's details next to the bare fact: the stage of a dispute, the reason for an end, payment by invoice, a
/// customer's features.
@Suite("Details that Stripe states")
struct StatedDetailTests {
    // MARK: Disputes

    @Test(
        "the stage of a dispute is what its status says",
        arguments: [
            ("created", "needs_response", LifecycleEvent.Chargeback.Stage.opened), ("created", "prevented", .prevented),
            ("created", "warning_needs_response", .warning), ("closed", "won", .won), ("closed", "lost", .lost),
            ("closed", "warning_closed", .won), ("closed", "prevented", .prevented),
            ("closed", "charge_refunded", .refunded), ("closed", "of_tomorrow", .unknown),
        ]
    )
    func dispute(type: String, status: String, stage: LifecycleEvent.Chargeback.Stage) throws {
        let dispute: JSONText = [
            "id": "dp_1", "object": "dispute", "amount": 999, "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "reason": "fraudulent", "status": .string(status),
        ]
        let delivery = PaymentJoinTests.event("charge.dispute.\(type)", dispute, at: created, in: .endive)
        let events = try adapter().take(delivery.body, at: delivery.time).events
        guard case .chargeback(let detail)? = events.first?.event else {
            Issue.record("\(events.map(\.kind))")
            return
        }
        #expect(detail.stage == stage)
        #expect(detail.reason == "fraudulent")
        #expect(detail.amount == Money(try #require(ExactDecimal("9.99")), "USD"))
        // Only a loss takes anything away.
        let takesBack = events[0].facts.contains {
            if case .refund(let refund) = $0 { refund.scope != nil } else { false }
        }
        #expect(takesBack == (stage == .lost))
    }

    // MARK: Ends

    /// An end, with members of the subscription as they are in the payload.
    private func ended(
        _ details: String = "{\"comment\":null,\"feedback\":null,\"reason\":null}",
        _ change: (inout StripeSubscription) -> Void = { _ in },
        more: String = ""
    ) throws -> LifecycleEvent.Expired? {
        var subscription = RareFlowTests.active(.basic)
        (subscription.status, subscription.endedAt) = ("canceled", created + 10 * day)
        change(&subscription)
        var members = subscription.object(.endive)
        members.append("trial_settings", .raw(more.isEmpty ? "null" : more))
        let text = JSONText.object(members).text
        let none = "\"cancellation_details\":{\"comment\":null,\"feedback\":null,\"reason\":null}"
        try #require(text.contains(none))
        let stated = JSONText.raw(text.replacing(none, with: "\"cancellation_details\":\(details)"))
        let time = created + 10 * day
        let body = PaymentJoinTests.event("customer.subscription.deleted", stated, at: time, in: .endive).body
        guard case .expired(let end)? = try adapter().take(body, at: time).events.first?.event else {
            return nil
        }
        return end
    }

    @Test("an end has the reason that is stated for it")
    func reasons() throws {
        func details(_ reason: String, feedback: String = "null") -> String {
            "{\"comment\":\"words of the customer\",\"feedback\":\(feedback),\"reason\":\(reason)}"
        }
        #expect(try ended()?.reason == .unknown)
        #expect(try ended(details("\"cancellation_requested\""))?.reason == .customer)
        #expect(try ended(details("\"payment_failed\""))?.reason == .billing)
        #expect(try ended(details("\"payment_disputed\""))?.reason == .billing)
        #expect(try ended(details("\"reason_of_tomorrow\""))?.reason == .unknown)
        // At once, in the customer portal, which asks why.
        let portal = try ended(details("null", feedback: "\"too_expensive\""))
        #expect(portal?.reason == .customer)
        #expect(portal?.feedback == "too_expensive")
        // The customer's words are private.
        #expect("\(String(describing: portal))".contains("words of the customer") == false)
    }

    @Test(
        "a survey that is answered before the cancellation turns nothing off, and its answer is the cancellation's",
        arguments: [.acacia, .endive] as [StripeSimulator.Version]
    )
    func survey(version: StripeSimulator.Version) throws {
        let active = RareFlowTests.active(.basic)
        var answered = active
        answered.cancellationFeedback = "too_expensive"
        var canceled = answered
        canceled.cancellationReason = "cancellation_requested"
        (canceled.cancelAt, canceled.canceledAt) = (active.end, created + 5 * day + 60)
        canceled.cancelAtPeriodEnd = version == .acacia
        let began = RareFlowTests.began(active, version)
        let survey = RareFlowTests.updated(answered, from: active, at: created + 5 * day, version)
        let end = RareFlowTests.updated(canceled, from: answered, at: created + 5 * day + 60, version)
        let before = try RareFlowTests.Host(adapter(), [began, survey])
        #expect(before.acts.map(\.kind) == [.started])
        #expect(before.state.snapshot(at: date(created + 6 * day)).willRenew == true)
        let off = LifecycleEvent.AutoRenewDisabled(
            reason: .customer,
            accessUntil: date(active.end),
            feedback: "too_expensive"
        )
        for order in permutations(of: [began, survey, end]) {
            let host = try RareFlowTests.Host(adapter(), order)
            #expect(host.acts.filter { $0.kind != .started }.map(\.event) == [.autoRenewDisabled(off)])
            #expect(host.state.snapshot(at: date(created + 6 * day)).willRenew == false)
        }
    }

    @Test("a trial that ends for want of a payment method ends for billing, and any other end of a trial does not")
    func trialWithoutPaymentMethod() throws {
        func trial(_ missing: String, endedAt: Int64) throws -> LifecycleEvent.Expired.Reason? {
            try ended(
                "{\"comment\":null,\"feedback\":null,\"reason\":null}",
                {
                    ($0.trialStart, $0.trialEnd, $0.end) = (created, created + 7 * day, created + 7 * day)
                    $0.endedAt = endedAt
                },
                more: "{\"end_behavior\":{\"missing_payment_method\":\"\(missing)\"}}"
            )?.reason
        }
        #expect(try trial("cancel", endedAt: created + 7 * day) == .billing)
        #expect(try trial("pause", endedAt: created + 7 * day) == .unknown)
        #expect(try trial("cancel", endedAt: created + 2 * day) == .unknown)
    }

    @Test(
        "an end is reported once, even before the beginning of its period",
        arguments: PaymentJoinTests.versions
    )
    func endBeforeRoll(version: StripeSimulator.Version) throws {
        let first = RareFlowTests.active(.basic)
        let second = RareFlowTests.next(first, invoice: "in_2")
        var ended = second
        (ended.status, ended.endedAt, ended.canceledAt) = ("canceled", second.start + 60, second.start + 60)
        let time = second.start + 60
        let deliveries: [RareFlowTests.Taken] = [
            RareFlowTests.began(first, version),
            RareFlowTests.updated(second, from: first, at: second.start + 2, version),
            (PitfallTests.body("deleted", ended, at: time, id: "evt_deleted", in: version), time),
        ]
        for order in permutations(of: deliveries) {
            let host = try RareFlowTests.Host(adapter(), order)
            #expect(host.kinds.filter { $0 == "expired" }.count == 1, "\(host.kinds)")
            #expect(!host.state.access(at: date(time + 60)).isGranted)
            #expect(host.state.snapshot(at: date(time + 60)).status == .expired)
        }
    }

    // MARK: Invoices that are sent

    private func sent(_ status: String, _ version: StripeSimulator.Version) -> RareFlowTests.Taken {
        var subscription = RareFlowTests.active(.basic)
        subscription.status = status
        let text = JSONText.object(subscription.object(version)).text.replacing(
            "\"collection_method\":\"charge_automatically\"",
            with: "\"collection_method\":\"send_invoice\""
        )
        return PaymentJoinTests.event("customer.subscription.created", .raw(text), at: created, in: version)
    }

    @Test(
        "a sent invoice gives access before it is paid or after, as policy says",
        arguments: PaymentJoinTests.versions
    )
    func sentInvoices(version: StripeSimulator.Version) throws {
        let line = StripeInvoice.Line(.basic, from: created, to: created + 30 * day)
        let paid = RareFlowTests.invoice(
            "in_1",
            reason: "subscription_create",
            lines: [line],
            at: created + 9 * day,
            in: version
        )
        for (policy, isGranted) in [
            (StripeAdapter.Policy.SentInvoiceAccess.keeps, true), (.waitsForPayment, false),
        ] {
            let adapter = try policed { $0.sentInvoices = policy }
            let unpaid = try ItemTests.state([sent("active", version)], adapter)
            #expect(unpaid.access(at: date(created + day)).isGranted == isGranted)
            for order in [[sent("active", version), paid], [paid, sent("active", version)]] {
                let state = try ItemTests.state(order, adapter)
                #expect(state.access(at: date(created + 10 * day)).isGranted)
                #expect(state.contradictions.isEmpty)
            }
        }
    }

    /// A wire transfer comes days after the beginning, and perhaps after the word that the invoice is overdue.
    @Test("the payment of a first invoice that was sent is news", arguments: PaymentJoinTests.versions)
    func sentInvoicePaid(version: StripeSimulator.Version) throws {
        let line = StripeInvoice.Line(.basic, from: created, to: created + 30 * day)
        var invoice = StripeInvoice("in_1", reason: "subscription_create", lines: [line], created: created)
        (invoice.status, invoice.paidAt, invoice.collectionMethod) = ("paid", created + 9 * day, "send_invoice")
        let (begun, paid) = (sent("active", version), invoice.reported(at: created + 9 * day, in: version))
        for (policy, expected) in [
            (.keeps, [.started, .notice]), (.waitsForPayment, [.purchasePending, .started]),
        ] as [(StripeAdapter.Policy.SentInvoiceAccess, [LifecycleEvent.Kind])] {
            let adapter = try policed { $0.sentInvoices = policy }
            for order in [[begun, paid], [paid, begun]] {
                let acts = try RareFlowTests.Host(adapter, order).acts
                // A purchase that is paid for waits no more.
                let news = order[0].time == paid.time ? expected.filter { $0 != .purchasePending } : expected
                #expect(acts.map(\.kind) == news)
                #expect(acts.count { $0.price?.role == .charged } == 1)
            }
        }
    }

    // MARK: Pauses under a schedule

    @Test("collection that goes on ends its pause, also under a schedule", arguments: PaymentJoinTests.versions)
    func pauseUnderSchedule(version: StripeSimulator.Version) throws {
        let adapter = try policed { $0.collectionPause = .pauses }
        var active = RareFlowTests.active(.basic)
        active.schedule = "sub_sched_1"
        var paused = active
        paused.collectionPause = ["behavior": "void", "resumes_at": nil]
        let deliveries = [
            RareFlowTests.began(active, version),
            RareFlowTests.updated(paused, from: active, at: created + 2 * day, version),
            RareFlowTests.updated(active, from: paused, at: created + 3 * day, version),
        ]
        let stopped = try ItemTests.state(Array(deliveries[..<2]), adapter).snapshot(at: date(created + 4 * day))
        #expect(stopped.status == .paused)
        for order in permutations(of: deliveries) {
            let snapshot = try ItemTests.state(order, adapter).snapshot(at: date(created + 4 * day))
            #expect(snapshot.status == .active)
            #expect(snapshot.access.isGranted)
        }
    }

    // MARK: Entitlements

    private func summary(_ features: [String], hasMore: Bool, before: [String]) -> [UInt8] {
        simulator(.endive).event(
            "entitlements.active_entitlement_summary.updated",
            id: "evt_entitlements",
            created: created,
            object: [
                "object": "entitlements.active_entitlement_summary", "customer": "cus_1", "livemode": true,
                "entitlements": ["object": "list", "data": list(features), "has_more": .bool(hasMore)],
            ],
            previous: ["entitlements": ["data": list(before)]]
        ).bytes
    }

    private func list(_ features: [String]) -> JSONText {
        .array(features.map { ["id": .string("ent_\($0)"), "lookup_key": .string($0)] })
    }

    private func facts(_ result: Normalization) throws -> [String: String] {
        guard case .notice(let notice)? = result.events.first?.event else { return [:] }
        return notice.facts
    }

    @Test("features beyond the first page are asked for, and a page that moved on removes none")
    func entitlements() async throws {
        let shown = (1...10).map { "f\($0)" }
        // One was added at the beginning, so that another fell off the end of the page.
        let body = summary(["new"] + shown.dropLast(), hasMore: true, before: shown)
        let alone = try facts(adapter().take(body))
        #expect(alone["removed"] == "")
        #expect(alone["is_partial"] == "true")
        let transport = StubTransport()
        transport.on(
            .init(path: "/v1/entitlements/active_entitlements") { $0.url.absoluteString.contains("customer=cus_1") },
            respond: HTTPTransportResponse(
                status: 200,
                body: Array(
                    ("{\"object\":\"list\",\"has_more\":false,\"data\":" + list(["new"] + shown).text + "}").utf8
                )
            )
        )
        let asking = try adapter { configuration in
            var lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_secret"))
            lookup.clock = TestClock()
            configuration.lookup = lookup
        }
        let whole = try facts(await asking.receive(try simulator().delivery(body, receivedAt: date(created + 2))))
        #expect(transport.requests.count == 1)
        #expect(whole["entitlements"] == (["new"] + shown).sorted().joined(separator: ","))
        #expect(whole["added"] == "new")
        #expect(whole["removed"] == "")
        #expect(whole["is_partial"] == nil)
    }
}
