import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Mistakes of published implementations. Each name says which mistake is not ours.
@Suite("Stripe pitfalls")
struct PitfallTests {
    static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
    static let versions: [StripeSimulator.Version] = [.v2020, .endive]

    static func body(
        _ type: String,
        _ subscription: StripeSubscription,
        previous: JSONText? = nil,
        at time: Int64 = created,
        id: String = "evt_1",
        in version: StripeSimulator.Version = .endive
    ) -> [UInt8] {
        simulator(version).event(
            "customer.subscription.\(type)",
            id: id,
            created: time,
            object: .object(subscription.object(version)),
            previous: previous
        ).bytes
    }

    static func active(_ change: (inout StripeSubscription) -> Void = { _ in }) -> StripeSubscription {
        var subscription = StripeSubscription(
            status: "active",
            from: created - 10 * day,
            to: created + 20 * day,
            latestInvoice: "in_1"
        )
        change(&subscription)
        return subscription
    }

    static func paid(_ invoice: String, from start: Int64, at time: Int64, attempts: Int64 = 1) -> [UInt8] {
        var object = StripeInvoice(
            invoice,
            reason: "subscription_cycle",
            lines: [.init(.basic, from: start, to: start + 30 * day)],
            created: start,
            lookBackFrom: start - 30 * day
        )
        object.paidAt = time
        object.attemptCount = attempts
        return object.reported(at: time).body
    }

    static func state(_ deliveries: [(body: [UInt8], time: Int64)], _ adapter: StripeAdapter) throws
        -> SubscriptionState
    {
        var state = SubscriptionState(lineage)
        for delivery in deliveries {
            for statement in try adapter.take(delivery.body, at: delivery.time).statements { state.apply(statement) }
        }
        return state
    }

    @Test("P1: a cancellation for later takes no access away", arguments: versions)
    func cancellationKeepsAccess(version: StripeSimulator.Version) throws {
        let before = Self.active()
        let after = Self.active {
            $0.cancelAtPeriodEnd = true
            ($0.cancelAt, $0.canceledAt) = ($0.end, created)
        }
        let body = Self.body("updated", after, previous: before.previous(after, version), in: version)
        let result = try adapter().take(body)
        #expect(result.kinds == ["auto_renew_disabled"])
        #expect(result.events.first?.event.accessEffect == LifecycleEvent.AccessEffect.none)
        let state = try Self.state([(body, created)], adapter())
        #expect(state.access(at: date(created + 19 * day)).isGranted)
        #expect(!state.access(at: date(created + 20 * day)).isGranted)
    }

    @Test("P2: a captured delivery cannot be replayed later")
    func replay() throws {
        let delivery = try simulator().delivery(Self.body("created", Self.active()), receivedAt: date(created))
        var later = delivery
        later.receivedAt = date(created + 301)
        let adapter = try adapter()
        _ = try adapter.authenticate(delivery)
        let error = #expect(throws: DeliveryError.self) { try adapter.authenticate(later) }
        #expect(error?.code == .stale)
    }

    @Test("P4: a creation that comes late neither resurrects nor takes away", arguments: versions)
    func lateCreation(version: StripeSimulator.Version) throws {
        // All in one second, as recorded from Stripe: the update to `active` before the creation as `incomplete`.
        let incomplete = Self.active {
            $0.status = "incomplete"
            ($0.start, $0.end) = (created, created + 30 * day)
        }
        var active = incomplete
        active.status = "active"
        let made = Self.body("created", incomplete, in: version)
        let updated = Self.body("updated", active, previous: incomplete.previous(active, version), in: version)
        for order in [[made, updated], [updated, made]] {
            let state = try Self.state(order.map { ($0, created) }, adapter())
            #expect(state.access(at: date(created + day)).isGranted)
        }
        var ended = active
        (ended.status, ended.endedAt) = ("canceled", created + day)
        let deleted = Self.body("deleted", ended, at: created + day, in: version)
        for order in [[(updated, created), (deleted, created + day)], [(deleted, created + day), (updated, created)]] {
            let state = try Self.state(order, adapter())
            #expect(!state.access(at: date(created + 2 * day)).isGranted)
        }
    }

    @Test("Y1: the bytes and the id of every event stay at hand")
    func bytesAreKept() throws {
        let body = simulator().event("some.new.thing", id: "evt_new", created: created, object: ["id": "x_1"]).bytes
        let proven = try adapter().authenticate(try simulator().delivery(body, receivedAt: date(created)))
        #expect(proven.value.body == body)
        let result = try adapter().normalize(proven)
        #expect(result.kinds == ["unmapped"])
        #expect(result.events.first?.origin.notificationID == "evt_new")
        #expect(result.events.first?.origin.type == "some.new.thing")
    }

    @Test("Y2: disputes are seen")
    func disputes() throws {
        let body = simulator().event(
            "charge.dispute.created",
            id: "evt_1",
            created: created,
            object: [
                "id": "dp_1", "object": "dispute", "status": "needs_response", "charge": "ch_1", "amount": 999,
                "currency": "usd",
            ]
        ).bytes
        #expect(try adapter().take(body).kinds == ["chargeback"])
    }

    @Test("Y3: a subscription without an invoice is mapped", arguments: versions)
    func noInvoice(version: StripeSimulator.Version) throws {
        let free = Self.active { $0.latestInvoice = nil }
        #expect(try adapter().take(Self.body("created", free, in: version)).kinds == ["started"])
    }

    @Test("K1: a body that is no UTF-8 is refused, signed or not")
    func notUTF8() throws {
        let body = Array("{\"id\":\"".utf8) + [0xC3, 0x28, 0xFF] + Array("\"}".utf8)
        let adapter = try adapter()
        let error = #expect(throws: DeliveryError.self) { try adapter.take(body) }
        #expect(error?.code == .malformed)
    }

    @Test("K2: a change of plan differs from a cancellation, and an unknown object costs nothing", arguments: versions)
    func previousAttributes(version: StripeSimulator.Version) throws {
        let before = Self.active()
        let after = Self.active { $0.items = [.init("si_1", .pro)] }
        let body = Self.body("updated", after, previous: before.previous(after, version), in: version)
        #expect(try adapter().take(body).kinds == ["product_changed"])
    }

    @Test("previous items that did not change are no product change")
    func renewalCarriesItems() throws {
        let before = Self.active { ($0.start, $0.end, $0.latestInvoice) = (created - 30 * day, created, "in_0") }
        let after = Self.active { ($0.start, $0.end) = (created, created + 30 * day) }
        let previous = before.previous(after, .endive)
        #expect(previous.text.contains("\"items\""))
        #expect(try adapter().take(Self.body("updated", after, previous: previous)).kinds == [])
    }

    @Test("parts of a plan from the Dashboard's test button say nothing")
    func partialPlan() throws {
        let body = Self.body("updated", Self.active(), previous: ["plan": ["name": "Old"], "name": "Old"])
        #expect(try adapter().take(body).kinds == [])
    }

    @Test("expanded and plain references are the same", arguments: versions)
    func expanded(version: StripeSimulator.Version) throws {
        let plain = Self.active().object(version)
        var expanded = plain
        expanded["customer"] = ["id": "cus_1", "object": "customer", "email": "a@example.com"]
        expanded["latest_invoice"] = ["id": "in_1", "object": "invoice"]
        let text = JSONText.object(expanded).text.replacing(
            "\"product\":\"prod_basic\"",
            with: "\"product\":{\"id\":\"prod_basic\",\"object\":\"product\"}"
        )
        func events(_ object: JSONText) throws -> [NormalizedEvent] {
            let body = PaymentJoinTests.event("customer.subscription.created", object, at: created, in: version).body
            return try adapter().take(body).events.map {
                var event = $0
                event.origin.digest = ""
                return event
            }
        }
        #expect(try events(.raw(text)) == events(.object(plain)))
    }

    @Test("an unpaid roll keeps access for the hour until its invoice")
    func unpaidRoll() throws {
        let before = Self.active { ($0.start, $0.end, $0.latestInvoice) = (created - 30 * day, created, "in_0") }
        let after = Self.active { ($0.start, $0.end) = (created, created + 30 * day) }
        let roll = Self.body("updated", after, previous: before.previous(after, .endive))
        let state = try Self.state([(roll, created)], adapter())
        #expect(state.access(at: date(created + 1800)).isGranted)
        let paid = Self.paid("in_1", from: created, at: created + 3600)
        var joined = state
        let applied = try #require(
            try adapter().take(paid, at: created + 3600).events.first.map { joined.apply($0) }
        )
        // The roll has stated the period already; the renewal is news all the same.
        #expect(applied.disposition == .applied)
        let again = try #require(try adapter().take(paid, at: created + 3600).events.first.map { joined.apply($0) })
        #expect(again.disposition != .applied)
    }

    @Test("an invoice that is paid after the end gives no access back")
    func paidAfterEnd() throws {
        var ended = Self.active()
        (ended.status, ended.endedAt, ended.cancellationReason) = ("canceled", created, "payment_failed")
        let deleted = Self.body("deleted", ended)
        let paid = Self.paid("in_1", from: created - 10 * day, at: created + day, attempts: 4)
        for order in [[(deleted, created), (paid, created + day)], [(paid, created + day), (deleted, created)]] {
            let state = try Self.state(order, adapter())
            #expect(!state.access(at: date(created + 2 * day)).isGranted)
        }
    }

    @Test("the rest of a period that began again is gone")
    func restart() throws {
        let before = Self.active()
        let yearly = Self.active {
            $0.items = [.init("si_1", .basicYear)]
            ($0.start, $0.end, $0.latestInvoice) = (created, created + 365 * day, "in_2")
        }
        var ended = yearly
        (ended.status, ended.endedAt) = ("canceled", created + day)
        let state = try Self.state(
            [
                (Self.body("updated", before, at: created - 9 * day), created - 9 * day),
                (Self.body("updated", yearly, previous: before.previous(yearly, .endive)), created),
                (Self.body("deleted", ended, at: created + day), created + day),
            ],
            adapter()
        )
        #expect(state.access(at: date(created + day - 1)).isGranted)
        #expect(!state.access(at: date(created + day)).isGranted)
    }

    @Test("unpaid takes access away, and a payment gives it back", arguments: versions)
    func unpaid(version: StripeSimulator.Version) throws {
        let pastDue = Self.active { $0.status = "past_due" }
        let unpaid = Self.active { $0.status = "unpaid" }
        let active = Self.active()
        let first = Self.body("updated", unpaid, previous: pastDue.previous(unpaid, version), in: version)
        let second = Self.body(
            "updated",
            active,
            previous: unpaid.previous(active, version),
            at: created + day,
            in: version
        )
        let adapter = try adapter()
        #expect(!(try Self.state([(first, created)], adapter)).access(at: date(created + 1)).isGranted)
        for order in [[(first, created), (second, created + day)], [(second, created + day), (first, created)]] {
            #expect(try Self.state(order, adapter).access(at: date(created + day)).isGranted)
        }
    }

    @Test("the host's account id is found in metadata, before the customer")
    func metadata() throws {
        let adapter = try policed { $0.accountMetadataKeys = ["user", "app_user_id"] }
        let subscription = Self.active { $0.metadata = ["app_user_id": "user-42", "other": "x"] }
        let account = try adapter.take(Self.body("created", subscription)).events.first?.account
        #expect(account == Account("user-42", .metadata, aliases: [.init("cus_1", .stripeCustomer)]))
        let plain = try StripeTests.adapter().take(Self.body("created", subscription)).events.first?.account
        #expect(plain == Account("cus_1", .stripeCustomer))
    }

    @Test("a pause of collection is a pause only where policy says so")
    func collection() throws {
        let before = Self.active()
        let after = Self.active {
            $0.collectionPause = ["behavior": "void", "resumes_at": .integer(created + 9 * day)]
        }
        let paused = Self.body("updated", after, previous: before.previous(after, .endive))
        let resumed = Self.body("updated", before, previous: after.previous(before, .endive), at: created + day)
        let keeps = try adapter()
        let pauses = try policed { $0.collectionPause = .pauses }
        #expect(try keeps.take(paused).kinds == ["notice"])
        #expect(try pauses.take(paused).kinds == ["paused"])
        #expect(try pauses.take(resumed, at: created + day).kinds == ["renewed"])
        #expect(try Self.state([(paused, created)], keeps).access(at: date(created + 1)).isGranted)
        #expect(!(try Self.state([(paused, created)], pauses)).access(at: date(created + 1)).isGranted)
        let both = try Self.state([(resumed, created + day), (paused, created)], pauses)
        #expect(both.access(at: date(created + day)).isGranted)
    }

    @Test("a refund is one event, whichever of two notifications reports it, and by the one that policy names")
    func refundOnce() throws {
        let refund: JSONText = [
            "id": "re_1", "object": "refund", "amount": 999, "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "status": "succeeded",
        ]
        let charge: JSONText = [
            "id": "ch_1", "object": "charge", "amount": 999, "amount_refunded": 999, "currency": "usd",
            "payment_intent": "pi_1", "refunded": true,
            "refunds": ["object": "list", "data": [refund], "has_more": false],
        ]
        for version in [StripeSimulator.Version.v2020, .acacia, .endive] {
            for source in [StripeAdapter.Policy.RefundSource.byVersion, .refunds, .charges] {
                let adapter = try policed { $0.refundSource = source }
                let events = try [("refund.created", refund), ("charge.refunded", charge)].flatMap { type, object in
                    let body = simulator(version).event(type, id: "evt_1", created: created, object: object).bytes
                    return try adapter.take(body).events
                }
                #expect(Set(events.map(\.id)).count == 1, "\(version.name) \(source)")
                #expect(events.map(\.kind).allSatisfy { $0 == .refunded })
                #expect(events.map(\.price?.money.description).allSatisfy { $0 == "9.99 USD" })
                for order in [events, events.reversed()] {
                    var ledger = AccountLedger()
                    let applied = order.filter { ledger.apply($0).disposition == .applied }
                    #expect(applied.count == 1)
                }
            }
        }
    }

    @Test("an invoice without a subscription is a purchase only where policy says so")
    func standalone() throws {
        var invoice = StripeInvoice(
            "in_9",
            reason: "manual",
            lines: [.init(.basic, from: created, to: created)],
            created: created
        )
        invoice.subscription = nil
        for version in Self.versions {
            let body = invoice.reported(at: created, in: version).body
            #expect(try adapter().take(body).kinds == [])
            let events = try policed { $0.sellsByInvoice = true }.take(body).events
            #expect(events.map(\.kind) == [.oneTimePurchased])
            #expect(events.map(\.product?.id) == ["prod_basic"])
        }
    }

    @Test("amounts have the places of their currency")
    func currencies() throws {
        for (currency, text) in [
            ("usd", "49"), ("jpy", "4900"), ("kwd", "4.9"), ("isk", "49"), ("ugx", "49"), ("xyz", "49"), ("huf", "49"),
        ] {
            let body = simulator().event(
                "checkout.session.completed",
                id: "evt_1",
                created: created,
                object: [
                    "id": "cs_1", "object": "checkout.session", "mode": "payment", "payment_status": "paid",
                    "amount_total": 4900, "currency": .string(currency),
                ]
            ).bytes
            let price = try adapter().take(body).events.first?.price
            #expect(price?.money.amount.description == text, "\(currency)")
            #expect(price?.money.currency == currency.uppercased())
        }
    }

    @Test("a descriptive member of another kind is counted, and costs no event")
    func anomalies() throws {
        var object = Self.active().object(.endive)
        object["metadata"] = "none"
        object["cancellation_details"] = ["reason": 7]
        let text = JSONText.object(object).text.replacing("\"interval\":\"month\"", with: "\"interval\":7")
        let body = PaymentJoinTests.event("customer.subscription.created", .raw(text), at: created, in: .endive).body
        let result = try adapter().take(body)
        #expect(result.kinds == ["started"])
        #expect(
            Set(result.anomalies) == [
                "data.object.metadata", "data.object.cancellation_details.reason",
                "data.object.items.data[0].price.recurring.interval",
            ]
        )
    }
}
