import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// One fact has one identity, whichever of Stripe's notifications tells of it, and two facts have two.
@Suite("One fact of Stripe's, one identity")
struct OneFactTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]

    static func events(
        _ type: String,
        _ object: JSONText,
        previous: JSONText? = nil,
        at time: Int64 = created,
        by adapter: StripeAdapter,
        in version: StripeSimulator.Version = .endive
    ) throws -> [NormalizedEvent] {
        let event = PaymentJoinTests.event(type, object, previous: previous, at: time, in: version)
        return try adapter.take(event.body, at: time).events
    }

    // MARK: Sales with an invoice

    static func session(invoice: String?, isPaid: Bool = true, createsInvoice: Bool = true) -> JSONText {
        [
            "id": "cs_1", "object": "checkout.session", "amount_total": 4900, "client_reference_id": "user-42",
            "currency": "usd", "customer": "cus_1", "invoice": invoice.map { .string($0) } ?? nil,
            "invoice_creation": ["enabled": .bool(createsInvoice), "invoice_data": [:]], "mode": "payment",
            "payment_intent": "pi_1", "payment_status": isPaid ? "paid" : "unpaid", "status": "complete",
        ]
    }

    static func saleInvoice(_ version: StripeSimulator.Version) -> JSONText {
        var invoice = StripeInvoice(
            "in_1",
            reason: "manual",
            lines: [.init(StripePrice("price_book", product: "prod_book", amount: 4900), from: created, to: created)],
            created: created
        )
        invoice.subscription = nil
        invoice.paidAt = created
        return .object(invoice.object(version))
    }

    @Test("a delayed payment that makes an invoice is one sale as well", arguments: versions)
    func delayed(version: StripeSimulator.Version) throws {
        let adapter = try policed { $0.sellsByInvoice = true }
        let waiting = try Self.events(
            "checkout.session.completed",
            Self.session(invoice: nil, isPaid: false),
            by: adapter,
            in: version
        )
        #expect(waiting.map(\.kind) == [.purchasePending])
        let paid = try Self.events(
            "checkout.session.async_payment_succeeded",
            Self.session(invoice: "in_1"),
            by: adapter,
            in: version
        )
        let invoice = try Self.events("invoice.paid", Self.saleInvoice(version), by: adapter, in: version)
        #expect(paid.map(\.id) == invoice.map(\.id))
    }

    @Test("an invoice that the session does not name yet reports only the sale", arguments: versions)
    func unnamedInvoice(version: StripeSimulator.Version) throws {
        let session = Self.session(invoice: nil)
        let body = PaymentJoinTests.event("checkout.session.completed", session, at: created, in: version).body
        let reported = try policed { $0.sellsByInvoice = true }.take(body)
        #expect(reported.kinds == [])
        #expect(reported.noChange?.reason == .reportedElsewhere)
        // Where invoices are no sales, the session is one.
        #expect(try adapter().take(body).kinds == ["one_time_purchased"])
    }

    @Test("without sales by invoice, the session is the sale and its payment the lineage", arguments: versions)
    func checkoutAlone(version: StripeSimulator.Version) throws {
        let adapter = try adapter()
        let session = try Self.events(
            "checkout.session.completed",
            Self.session(invoice: "in_1"),
            by: adapter,
            in: version
        )
        #expect(session.map(\.subscription?.id) == ["pi_1"])
        #expect(try Self.events("invoice.paid", Self.saleInvoice(version), by: adapter, in: version) == [])
    }

    // MARK: Refunds

    static func charge(refunded amount: Int64) -> JSONText {
        [
            "id": "ch_1", "object": "charge", "amount": 999, "amount_refunded": .integer(amount), "currency": "usd",
            "payment_intent": "pi_1", "refunded": false,
        ]
    }

    static func refund(_ status: String) -> JSONText {
        [
            "id": "re_1", "object": "refund", "amount": 500, "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "status": .string(status),
        ]
    }

    @Test("a refund after one that failed is another refund, of the same amount or not")
    func refundAfterFailure() throws {
        let adapter = try adapter()
        func reported(_ time: Int64) throws -> [NormalizedEvent] {
            try Self.events(
                "charge.refunded",
                Self.charge(refunded: 500),
                previous: ["amount_refunded": 0],
                at: time,
                by: adapter,
                in: .v2020
            )
        }
        let first = try reported(created)
        let again = try reported(created)
        let second = try reported(created + 3 * day)
        #expect(first.map(\.kind) == [.refunded])
        #expect(first.map(\.id) == again.map(\.id))
        #expect(first.map(\.id) != second.map(\.id))
    }

    @Test("the failure of a refund that never succeeded gives nothing back")
    func failureOfPending() throws {
        let adapter = try adapter()
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "pi_1")
        // Stripe's word for it, with and without what was before.
        #expect(
            try Self.events("refund.failed", Self.refund("failed"), previous: ["status": "pending"], by: adapter) == []
        )
        #expect(
            try Self.events("refund.updated", Self.refund("failed"), previous: ["status": "pending"], by: adapter) == []
        )
        let unclear = try Self.events("refund.failed", Self.refund("failed"), by: adapter)
        var fresh = SubscriptionState(lineage)
        for event in unclear { #expect(fresh.apply(event).disposition == .superseded) }

        // Of one that had succeeded, both words are one reversal, and news once.
        let reported = try Self.events("refund.created", Self.refund("succeeded"), at: created - day, by: adapter)
        let failed = try Self.events(
            "refund.failed",
            Self.refund("failed"),
            previous: ["status": "succeeded"],
            by: adapter
        )
        let updated = try Self.events(
            "refund.updated",
            Self.refund("failed"),
            previous: ["status": "succeeded"],
            by: adapter
        )
        #expect(failed.map(\.id) == updated.map(\.id) && failed.map(\.id) == unclear.map(\.id))
        for order in [reported + failed, reported + unclear, reported + failed + unclear + updated] {
            var state = SubscriptionState(lineage)
            let applied = order.filter { state.apply($0).disposition == .applied }
            #expect(applied.count == 2)
        }
    }

    @Test(
        "if charges report refunds, a failure undoes the refund that a charge reported",
        arguments: ["failed", "canceled"]
    )
    func failureAfterCharge(status: String) throws {
        for (adapter, version) in [
            (try policed { $0.refundSource = .charges }, StripeSimulator.Version.endive), (try adapter(), .v2020),
        ] {
            for type in ["refund.updated", "charge.refund.updated"] {
                if version == .endive, type == "charge.refund.updated", status == "canceled" { continue }
                let events = try Self.events(
                    type,
                    Self.refund(status),
                    previous: ["status": "pending"],
                    by: adapter,
                    in: version
                )
                #expect(events.map(\.kind) == [.refundReversed], "\(type) \(version.name)")
            }
        }
        // Where refunds speak for themselves, the companion says nothing.
        let companion = try Self.events(
            "charge.refund.updated",
            Self.refund(status),
            previous: ["status": "succeeded"],
            by: adapter()
        )
        #expect(companion == [])
    }

    // MARK: Periods

    @Test("a start has one identity with a metered item beside the fixed price", arguments: versions)
    func meteredFirst(version: StripeSimulator.Version) throws {
        let end = created + 30 * day
        let subscription = StripeSubscription(
            status: "active",
            items: [.init("si_1", .calls), .init("si_2", .basic)],
            from: created,
            to: end,
            latestInvoice: "in_1"
        )
        var usage = StripeInvoice.Line(.calls, amount: 0, from: created, to: end)
        usage.quantity = 0
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_create",
            lines: [usage, .init(.basic, from: created, to: end)],
            created: created
        )
        invoice.paidAt = created
        let adapter = try adapter()
        let made = try Self.events(
            "customer.subscription.created",
            .object(subscription.object(version)),
            by: adapter,
            in: version
        )
        let paid = try Self.events("invoice.paid", .object(invoice.object(version)), by: adapter, in: version)
        #expect(made.map(\.kind) == [.started] && paid.map(\.kind) == [.started])
        #expect(made.map(\.id) == paid.map(\.id))
        #expect(paid.map(\.product?.id) == ["prod_basic"])
    }

    @Test("a trial with a fee at its start is a trial by every word of it", arguments: versions)
    func trialWithFee(version: StripeSimulator.Version) throws {
        let end = created + 14 * day
        var fee = StripeInvoice.Line(.seats, from: created, to: created)
        fee.isOneOff = true
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_create",
            lines: [.init(.basic, amount: 0, from: created, to: end), fee],
            created: created
        )
        invoice.paidAt = created
        let result = try adapter().take(invoice.reported(at: created, in: version).body)
        // The fee is money that no period was paid for with.
        #expect(result.kinds == ["notice"])
        let facts = result.events.first?.facts ?? []
        #expect(
            facts.contains {
                if case .charge(let charge) = $0 { charge.price.money.description == "5 USD" } else { false }
            }
        )
        #expect(facts.contains { if case .period(let period) = $0 { period.phase == .trial } else { false } })
    }

    // MARK: Snapshot and thin

    /// Where both are delivered, the thin event names its twin.
    @Test("a notice has one identity, whether a snapshot event or its thin twin brings it")
    func noticesOfTwins() async throws {
        var subscription = StripeSubscription(status: "trialing", from: created, to: created + 3 * day)
        (subscription.trialStart, subscription.trialEnd) = (created, created + 3 * day)
        let transport = StubTransport()
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: subscription.object(.endive).bytes))
        let adapter = try adapter {
            $0.lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
        }
        let snapshot = PitfallTests.body("trial_will_end", subscription, id: "evt_snapshot")
        func thin(_ id: String, twin: String?) async throws -> [NormalizedEvent] {
            let body = simulator().thinEvent(
                "v1.customer.subscription.trial_will_end",
                id: id,
                created: "2026-03-01T12:00:00Z",
                related: ("subscription", "sub_1", "/v1/subscriptions/sub_1"),
                snapshot: twin
            ).bytes
            return try await adapter.receive(try simulator().delivery(body, receivedAt: date(created))).events
        }
        let reported = try adapter.take(snapshot).events
        #expect(reported.map(\.kind) == [.notice])
        let twin = try await thin("evt_thin", twin: "evt_snapshot")
        #expect(twin.map(\.event) == reported.map(\.event))
        #expect(twin.map(\.id) == reported.map(\.id))
        // Each delivery keeps its own name.
        #expect(twin.map(\.origin.notificationID) == ["evt_thin"])
        let other = try await thin("evt_other", twin: nil)
        #expect(other.map(\.id) != reported.map(\.id))
    }

    // MARK: Accounts

    @Test("an organization's event destination names the same lineages as the account's own endpoint")
    func ownAccount() async throws {
        let transport = StubTransport()
        var subscription = StripeSubscription(status: "active", from: created, to: created + 30 * day)
        subscription.startDate = created
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: subscription.object(.endive).bytes))
        let adapter = try adapter {
            $0.lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
            $0.ownAccount = "acct_own"
            $0.accounts = ["acct_connected"]
        }
        func thin(_ context: String?) async throws -> [NormalizedEvent] {
            let body = simulator(account: context).thin("v1.customer.subscription.created", id: "evt_1")
            return try await adapter.receive(try simulator().delivery(body, receivedAt: date(created))).events
        }
        func snapshot(_ account: String?) throws -> [NormalizedEvent] {
            let event = simulator(account: account).event(
                "customer.subscription.created",
                id: "evt_2",
                created: created,
                object: .object(subscription.object(.endive))
            )
            return try adapter.take(event.bytes).events
        }
        let own = try snapshot(nil)
        #expect(own.map(\.subscription?.id) == ["sub_1"])
        #expect(own.map(\.app) == ["acct_own"])
        for context in [nil, "acct_own", "org_1/acct_own"] {
            let reported = try await thin(context)
            #expect(reported.map(\.id) == own.map(\.id), "\(context ?? "")")
            #expect(reported.map(\.subscription) == own.map(\.subscription))
            #expect(reported.map(\.app) == own.map(\.app))
        }
        let connected = try snapshot("acct_connected")
        #expect(connected.map(\.subscription?.id) == ["acct_connected/sub_1"])
        for context in ["acct_connected", "org_1/acct_connected", "acct_own/acct_connected"] {
            #expect(try await thin(context).map(\.id) == connected.map(\.id), "\(context)")
        }
        let error = await #expect(throws: DeliveryError.self) { try await thin("acct_other") }
        #expect(error?.code == .misdirected)
    }
}
