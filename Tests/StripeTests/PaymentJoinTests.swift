import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A refund names a payment. Webhooks alone lead from there to the subscription: the invoice names the subscription, and, by the
/// version, the payment, or another notification names both.
@Suite("Refunds of a Stripe subscription, by webhooks alone")
struct PaymentJoinTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    static let sold: Int64 = 999
    private typealias Host = RareFlowTests.Host

    static func event(
        _ type: String,
        _ object: JSONText,
        previous: JSONText? = nil,
        at time: Int64,
        id: String? = nil,
        in version: StripeSimulator.Version
    ) -> RareFlowTests.Taken {
        let id = id ?? "evt_\(type)_\(time)"
        return (
            simulator(version).event(type, id: id, created: time, object: object, previous: previous).bytes, time
        )
    }

    /// The payment that the simulated invoice names before basil.
    static func payment(_ version: StripeSimulator.Version) throws -> String {
        var invoice = StripeInvoice("in_1", reason: "subscription_create", lines: [], created: created)
        invoice.status = "paid"
        let members = invoice.object(version)
        guard case .string(let id)? = members["payment_intent"] else { return "pi_in_1" }
        return id
    }

    static func purchase(_ version: StripeSimulator.Version) throws -> [RareFlowTests.Taken] {
        let subscription = RareFlowTests.active(.basic)
        let line = StripeInvoice.Line(.basic, from: created, to: created + 30 * day)
        let joined: JSONText = [
            "id": "inpay_1", "object": "invoice_payment", "amount_paid": .integer(sold), "invoice": "in_1",
            "payment": ["type": "payment_intent", "payment_intent": .string(try payment(version))], "status": "paid",
        ]
        return [
            RareFlowTests.began(subscription, version),
            RareFlowTests.invoice("in_1", reason: "subscription_create", lines: [line], at: created, in: version),
            event("invoice_payment.paid", joined, at: created, in: version),
        ]
    }

    static func refund(
        _ id: String,
        _ amount: Int64,
        of payment: String,
        at time: Int64,
        in version: StripeSimulator.Version
    ) -> RareFlowTests.Taken {
        let refund: JSONText = [
            "id": .string(id), "object": "refund", "amount": .integer(amount), "charge": "ch_1",
            "created": .integer(time),
            "currency": "usd", "payment_intent": .string(payment), "status": "succeeded",
        ]
        return event("refund.created", refund, at: time, id: "evt_\(id)", in: version)
    }

    /// - Parameter before: what had gone back before.
    static func charge(
        _ amount: Int64,
        before: Int64 = 0,
        of payment: String,
        at time: Int64,
        _ version: StripeSimulator.Version
    ) -> RareFlowTests.Taken {
        let charge: JSONText = [
            "id": "ch_1", "object": "charge", "amount": .integer(sold), "amount_refunded": .integer(amount),
            "currency": "usd", "payment_intent": .string(payment), "refunded": .bool(amount == sold),
        ]
        let previous: JSONText = ["amount_refunded": .integer(before)]
        return event("charge.refunded", charge, previous: previous, at: time, id: "evt_ch_\(amount)", in: version)
    }

    /// One for all versions: each event names its own.
    private let adapter: StripeAdapter

    init() throws { adapter = try policed { $0.refundSource = .refunds } }

    @Test("the simulator's refund of half a month takes half of its credits", arguments: versions)
    func simulated(version: StripeSimulator.Version) throws {
        let simulator = StripeSimulator(seed: "refund", version: version)
        let adapter = try StripeAdapter(.init(signingSecrets: [simulator.signingSecret]))
        let story = try #require(CustomerStory.named("refund-part"))
        var ledger = AccountLedger()
        var balances: [Int64] = []
        for notification in try simulator.notifications(story, from: date(created)) {
            let delivery = try simulator.delivery(of: notification, sentAt: notification.occurredAt)
            _ = ledger.apply(try adapter.normalize(try adapter.authenticate(delivery)))
            let policy = CreditPolicy(["prod_pro": .init(credits: 500)])
            let time = notification.occurredAt
            balances.append(CreditStatement(of: ledger.states, under: policy, uses: [], at: time).balance)
        }
        // 4.99 of 9.99 went back.
        #expect(balances.max() == 500 && balances.last == 251)
    }

    @Test("a refund reaches its subscription, with account and transaction", arguments: versions)
    func refund(version: StripeSimulator.Version) throws {
        let payment = try Self.payment(version)
        let refund = Self.refund("re_1", Self.sold, of: payment, at: created + 5 * day, in: version)
        for order in permutations(of: try Self.purchase(version) + [refund]) {
            let ledger = try Host(adapter, order).ledger
            let state = try #require(ledger[PitfallTests.lineage])
            #expect(ledger.states.count == 1)
            // The subscription goes on, as Stripe's does.
            #expect(state.access(at: date(created + 6 * day)).isGranted)
            #expect(state.contradictions.isEmpty)
        }
        let news = try Host(adapter, Self.purchase(version) + [refund]).acts
        let refunded = try #require(news.last)
        #expect(refunded.account?.id == "cus_1")
        #expect(refunded.transaction == "in_1")
        guard case .refunded(let detail) = refunded.event else {
            Issue.record("\(refunded.event)")
            return
        }
        #expect(detail.transaction == "in_1" && detail.affectsCurrentPeriod == false)
    }

    @Test("a refund is full once all that was paid has gone back, also in parts", arguments: versions)
    func fullScope(version: StripeSimulator.Version) throws {
        let payment = try Self.payment(version)
        func refund(_ id: String, _ amount: Int64, day: Int64) -> RareFlowTests.Taken {
            Self.refund(id, amount, of: payment, at: created + day * 86_400, in: version)
        }
        func scopes(_ refunds: [RareFlowTests.Taken]) throws -> [LifecycleEvent.Refund.Scope?] {
            try Host(adapter, Self.purchase(version) + refunds).acts.compactMap {
                guard case .refunded(let refund) = $0.event else { return nil }
                return refund.scope
            }
        }
        let part = LifecycleEvent.Refund.Scope.amount(Money(ExactDecimal(4), "USD"))
        #expect(try scopes([refund("re_1", Self.sold, day: 5)]) == [.full])
        #expect(try scopes([refund("re_1", 400, day: 5), refund("re_2", Self.sold - 400, day: 6)]) == [part, .full])
    }

    /// A dispute about the first charge, which the bank decided for the customer.
    private func lost(_ amount: Int64, _ version: StripeSimulator.Version, currency: String = "usd") throws
        -> RareFlowTests.Taken
    {
        let dispute: JSONText = [
            "id": .string("dp_\(amount)"), "object": "dispute", "amount": .integer(amount), "charge": "ch_1",
            "currency": .string(currency), "payment_intent": .string(try Self.payment(version)), "reason": "fraudulent",
            "status": "lost",
        ]
        return Self.event("charge.dispute.closed", dispute, at: created + 5 * day, in: version)
    }

    @Test("a lost dispute ends the period that was paid for, with a key or without", arguments: versions)
    func dispute(version: StripeSimulator.Version) throws {
        // The bank may take the charge back in another currency than the customer's.
        let whole = [
            [try lost(Self.sold, version)], [try lost(1, version, currency: "eur")],
            [try lost(400, version), try lost(599, version)],
        ]
        for disputes in whole {
            for order in permutations(of: try Self.purchase(version) + disputes) {
                let state = try Host(adapter, order).state
                #expect(state.access(at: date(created + 4 * day)).isGranted)
                #expect(!state.access(at: date(created + 6 * day)).isGranted)
                #expect(state.snapshot(at: date(created + 6 * day)).status == .refunded)
            }
        }
    }

    /// The charge, which names the payment.
    private func succeeded(_ version: StripeSimulator.Version) throws -> RareFlowTests.Taken {
        let charge: JSONText = [
            "id": "ch_in_1", "object": "charge", "amount": .integer(Self.sold), "amount_refunded": 0, "currency": "usd",
            "payment_intent": .string(try Self.payment(version)), "refunded": false,
        ]
        return Self.event("charge.succeeded", charge, at: created, in: version)
    }

    @Test(
        "a dispute or a refund that names the charge alone reaches its subscription, in every order",
        arguments: versions
    )
    func byCharge(version: StripeSimulator.Version) throws {
        let dispute: JSONText = [
            "id": "dp_1", "object": "dispute", "amount": .integer(Self.sold), "charge": "ch_in_1", "currency": "usd",
            "payment_intent": nil, "reason": "fraudulent", "status": "lost",
        ]
        let lost = Self.event("charge.dispute.closed", dispute, at: created + 5 * day, in: version)
        let refund: JSONText = [
            "id": "re_1", "object": "refund", "amount": .integer(Self.sold), "charge": "ch_in_1",
            "created": .integer(created + 5 * day), "currency": "usd", "payment_intent": nil, "status": "succeeded",
        ]
        let refunded = Self.event("refund.created", refund, at: created + 5 * day, in: version)
        // Before basil the invoice names both. Since then the charge names the payment, and another notification the invoice.
        var purchases = [try Self.purchase(version) + [try succeeded(version)]]
        if version != .endive { purchases.append(Array(try Self.purchase(version).dropLast())) }
        for purchase in purchases {
            for order in permutations(of: purchase + [lost]) {
                let state = try Host(adapter, order).state
                #expect(!state.access(at: date(created + 6 * day)).isGranted)
                #expect(state.snapshot(at: date(created + 6 * day)).status == .refunded)
                #expect(state.contradictions.isEmpty)
            }
            let host = try Host(adapter, purchase + [refunded])
            #expect(host.ledger.states.count == 1)
            #expect(host.ledger[PitfallTests.lineage]?.refund(of: "in_1")?.value.scope == .full)
            #expect(host.acts.last?.account?.id == "cus_1")
        }
    }

    @Test("a dispute is one dispute, whichever name of the payment each of its events has", arguments: versions)
    func disputeByEitherName(version: StripeSimulator.Version) throws {
        let payment = try Self.payment(version)
        func decided(_ status: String, on days: Int64, by name: JSONText) -> RareFlowTests.Taken {
            let dispute: JSONText = [
                "id": "dp_1", "object": "dispute", "amount": .integer(Self.sold), "charge": "ch_in_1",
                "currency": "usd",
                "payment_intent": name, "reason": "fraudulent", "status": .string(status),
            ]
            return Self.event("charge.dispute.closed", dispute, at: created + days * day, in: version)
        }
        let names: [JSONText] = [nil, .string(payment)]
        for (lost, won) in [(names[0], names[1]), (names[1], names[0])] {
            let events = [decided("lost", on: 5, by: lost), decided("won", on: 8, by: won)]
            for order in permutations(of: try Self.purchase(version) + events) {
                let state = try Host(adapter, order).state
                #expect(state.access(at: date(created + 9 * day)).isGranted)
                #expect(state.contradictions.isEmpty)
            }
        }
    }

    @Test("and so does one about a sale by invoice", arguments: versions)
    func saleByCharge(version: StripeSimulator.Version) throws {
        let adapter = try policed {
            $0.sellsByInvoice = true
            $0.refundSource = .refunds
        }
        let invoice: JSONText = [
            "id": "in_1", "object": "invoice", "amount_paid": .integer(Self.sold), "billing_reason": "manual",
            "charge": "ch_in_1",
            "created": .integer(created), "currency": "usd", "customer": "cus_1",
            "lines": ["object": "list", "data": []],
            "payment_intent": "pi_in_1", "status": "paid", "total": .integer(Self.sold),
        ]
        let paid = Self.event("invoice.paid", invoice, at: created, in: version)
        for names: JSONText in [
            ["charge": "ch_in_1", "payment_intent": nil], ["charge": "ch_in_1", "payment_intent": "pi_in_1"],
        ] {
            guard case .object(var members) = names else { continue }
            for (name, value) in [
                ("id", "re_1"), ("object", "refund"), ("amount", .integer(Self.sold)),
                ("created", .integer(created + 5 * day)), ("currency", "usd"), ("status", "succeeded"),
            ] as [(String, JSONText)] { members.append(name, value) }
            let refund = Self.event("refund.created", .object(members), at: created + 5 * day, in: version)
            for order in [[paid, refund], [refund, paid]] {
                let ledger = try Host(adapter, order).ledger
                let lineage = SubscriptionID(store: .stripe, environment: .production, id: "in_1")
                #expect(ledger.states.count == 1)
                #expect(ledger[lineage]?.refund(of: "in_1")?.value.scope == .full)
            }
        }
    }

    @Test("a lost dispute over a part of the charge leaves access", arguments: versions)
    func partialDispute(version: StripeSimulator.Version) throws {
        let disputed = try lost(400, version)
        for order in permutations(of: try Self.purchase(version) + [disputed]) {
            let host = try Host(adapter, order)
            let state = host.state
            #expect(state.access(at: date(created + 6 * day)).isGranted)
            #expect(state.refund(of: "in_1")?.value.scope == .amount(Money(ExactDecimal(4), "USD")))
            #expect(state.contradictions.isEmpty)
            #expect(host.acts.contains { $0.kind == .chargeback })
        }
    }

    @Test("one refund is one event and one state, whichever notifications report it", arguments: versions)
    func oneRefund(version: StripeSimulator.Version) throws {
        let payment = try Self.payment(version)
        for apart: Int64 in [0, 3] {
            let refund = Self.refund("re_1", Self.sold, of: payment, at: created + 5 * day, in: version)
            let charge = Self.charge(Self.sold, of: payment, at: created + 5 * day + apart, version)
            for reports in [[refund], [charge], [refund, charge], [charge, refund]] {
                let host = try Host(adapter, Self.purchase(version) + reports)
                #expect(host.acts.filter { $0.kind == .refunded }.count == 1)
                let state = host.state
                #expect(state.refund(of: "in_1")?.value.scope == .full)
                #expect(state.contradictions.isEmpty)
            }
        }
    }

    @Test("several refunds each count, and together are all that was paid", arguments: versions)
    func several(version: StripeSimulator.Version) throws {
        let payment = try Self.payment(version)
        let reports = [
            Self.refund("re_1", 500, of: payment, at: created + 5 * day, in: version),
            Self.refund("re_2", 499, of: payment, at: created + 6 * day, in: version),
            Self.charge(500, of: payment, at: created + 5 * day, version),
            Self.charge(999, before: 500, of: payment, at: created + 6 * day, version),
        ]
        for order in permutations(of: Array(reports[..<2])) + permutations(of: reports) {
            let host = try Host(adapter, Self.purchase(version) + order)
            let state = host.state
            #expect(state.refund(of: "in_1")?.value.scope == .full)
            if order.count == 2 { #expect(host.acts.filter { $0.kind == .refunded }.count == 2) }
            #expect(state.contradictions.isEmpty)
        }
    }

    @Test("a one-time purchase is gone when all its money went back, in parts or whole, in any order")
    func sale() throws {
        let session: JSONText = [
            "id": "cs_1", "object": "checkout.session", "amount_total": .integer(Self.sold), "currency": "usd",
            "customer": "cus_1", "mode": "payment", "payment_intent": "pi_1", "payment_link": "plink_1",
            "payment_status": "paid", "status": "complete",
        ]
        let adapter = try policed { $0.oneTimeProducts = ["plink_1": .nonConsumable] }
        let sold = Self.event("checkout.session.completed", session, at: created, in: .endive)
        let parts = [
            Self.refund("re_1", 500, of: "pi_1", at: created + 5 * day, in: .endive),
            Self.refund("re_2", 499, of: "pi_1", at: created + 6 * day, in: .endive),
        ]
        let lineage = SubscriptionID(store: .stripe, environment: .production, id: "pi_1")
        for order in permutations(of: [sold] + parts) {
            let state = try #require(try Host(adapter, order).ledger[lineage])
            #expect(state.access(at: date(created + 5 * day + 60)).isGranted)
            #expect(!state.access(at: date(created + 6 * day + 60)).isGranted)
        }
        let part = try #require(try Host(adapter, [sold, parts[0]]).ledger[lineage])
        #expect(part.access(at: date(created + 9 * day)).isGranted)
    }
}
