import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

// The effect of a question on the news and the state of events that come next to it.
extension QuestionTests {
    typealias Change = (inout StripeAdapter.Configuration) -> Void

    private func event(
        _ type: String,
        _ object: JSONMembers,
        previous: JSONText? = nil,
        at time: Int64 = created,
        changing change: Change = { _ in }
    ) throws -> Normalization {
        let id = "evt_\(type)_\(time)"
        let body = simulator().event(type, id: id, created: time, object: .object(object), previous: previous).bytes
        return try adapter(change).take(body, at: time)
    }

    private static func canceled(at time: Int64) -> JSONMembers {
        subscription { ($0.status, $0.endedAt, $0.canceledAt) = ("canceled", time, time) }
    }

    private static func pausing(_ isPaused: Bool) -> JSONMembers {
        subscription {
            guard isPaused else { return }
            $0.status = "paused"
            $0.statusDetails = ["paused": ["transitioned_at": .integer(created + 5 * day)]]
        }
    }

    @Test("a slow answer does not stand above an end that came while it was under way")
    func slowAnswer() async throws {
        var ledger = AccountLedger()
        _ = ledger.apply(try event("customer.subscription.created", Self.subscription()))
        let ended = Self.canceled(at: created + 60)
        _ = ledger.apply(try event("customer.subscription.deleted", ended, at: created + 60))
        // Asked, and read, before the end; answered three seconds later.
        answer(Self.subscription(), date: "Sun, 01 Mar 2026 12:01:03 GMT")
        _ = ledger.apply(try await ask(adapter(), at: created + 60))
        #expect(ledger.states.first?.access(at: date(created + 10 * day)).isGranted == false)
    }

    @Test("only its event reports a pause, even if the event has an older version than the answer")
    func paused() async throws {
        func paused(since: JSONText?) -> JSONMembers {
            Self.subscription(
                {
                    ($0.status, $0.startDate, $0.trialEnd) = ("paused", created - 7 * day, created)
                    $0.statusDetails = since.map { ["paused": ["transitioned_at": $0]] }
                },
                invoice: { ($0.status, $0.paidAt) = ("draft", nil) }
            )
        }
        answer(paused(since: .integer(created + 5)))
        var ledger = AccountLedger()
        #expect(ledger.apply(try await ask(adapter(), at: created + day)).isEmpty)
        let reported = try event("customer.subscription.paused", paused(since: nil), at: created + 6)
        #expect(ledger.apply(reported).map(\.disposition) == [.applied])
        answer(paused(since: .integer(created + 5)))
        #expect(ledger.apply(try await ask(adapter(), at: created + 2 * day)).isEmpty)
    }

    @Test("the event reports the end of a pause once, even after a look-up", arguments: [false, true])
    func resumed(asks: Bool) async throws {
        var ledger = AccountLedger()
        for (type, isPaused, time) in [("created", false, created), ("paused", true, created + 5 * day)] {
            let reported = ledger.apply(try event("customer.subscription.\(type)", Self.pausing(isPaused), at: time))
            #expect(reported.map(\.isNews) == [true])
        }
        if asks {
            answer(Self.pausing(false))
            _ = ledger.apply(try await ask(adapter(), at: created + 9 * day + 2))
        }
        let resumed = try event("customer.subscription.resumed", Self.pausing(false), at: created + 9 * day)
        #expect(ledger.apply(resumed).map(\.disposition) == [.applied])
        #expect(ledger.apply(resumed).map(\.disposition) == [.duplicate])
    }

    @Test(
        "the event reports the end of a pause of collection once, too, if that counts as a pause",
        arguments: [false, true]
    )
    func collectionResumed(asks: Bool) async throws {
        let pauses: Change = { $0.policy.collectionPause = .pauses }
        let paused = Self.subscription { $0.collectionPause = ["behavior": "void"] }
        var ledger = AccountLedger()
        _ = ledger.apply(try event("customer.subscription.created", Self.subscription(), changing: pauses))
        let pause = try event(
            "customer.subscription.updated",
            paused,
            previous: ["pause_collection": nil],
            at: created + 5 * day,
            changing: pauses
        )
        #expect(ledger.apply(pause).map(\.isNews) == [true])
        if asks {
            answer(Self.subscription())
            _ = ledger.apply(try await ask(adapter(pauses), at: created + 9 * day + 2))
        }
        let resumed = try event(
            "customer.subscription.updated",
            Self.subscription(),
            previous: ["pause_collection": ["behavior": "void"]],
            at: created + 9 * day,
            changing: pauses
        )
        #expect(ledger.apply(resumed).map(\.disposition) == [.applied])
        #expect(ledger.apply(resumed).map(\.disposition) == [.duplicate])
    }

    @Test(
        "the event reports a withdrawn change once, even after a look-up",
        arguments: [false, true]
    )
    func reverted(asks: Bool) async throws {
        var ledger = AccountLedger()
        _ = ledger.apply(try event("customer.subscription.created", Self.subscription()))
        let planned = try event("subscription_schedule.created", Self.schedule("active"), at: created + day)
        #expect(ledger.apply(planned).map(\.isNews) == [true])
        if asks {
            answer(Self.subscription())
            _ = ledger.apply(try await ask(adapter(), at: created + 2 * day + 2))
        }
        _ = ledger.apply(
            try event(
                "customer.subscription.updated",
                Self.subscription(),
                previous: ["schedule": "sub_sched_1"],
                at: created + 2 * day + (asks ? 2 : 0)
            )
        )
        let released = try event("subscription_schedule.released", Self.schedule("released"), at: created + 2 * day)
        #expect(ledger.apply(released).map(\.disposition) == [.applied])
        #expect(ledger.apply(released).map(\.disposition) == [.duplicate])
    }

    @Test("a planned change to another rhythm of the same product is news, unless it was taken back before")
    func withinProduct() throws {
        func phase(_ price: StripePrice, from start: Int64) -> JSONText {
            [
                "start_date": .integer(start), "end_date": .integer(start + 30 * day),
                "items": [["price": price.price(), "quantity": 1]],
            ]
        }
        func schedule(_ status: String) -> JSONMembers {
            var schedule = Self.schedule(status)
            schedule["phases"] = [phase(.basic, from: created), phase(.basicYear, from: created + 30 * day)]
            return schedule
        }
        let bought = try event("customer.subscription.created", Self.subscription())
        let planned = try event("subscription_schedule.created", schedule("active"), at: created + day)
        let released = try event("subscription_schedule.released", schedule("released"), at: created + 2 * day)
        #expect(planned.kinds == ["product_change_scheduled"])
        var ledger = AccountLedger()
        _ = ledger.apply(bought)
        #expect(ledger.apply(planned).map(\.disposition) == [.applied])
        #expect(ledger.states.first?.snapshot(at: date(created + 2 * day)).pendingProduct == nil)
        #expect(ledger.apply(planned).map(\.disposition) == [.duplicate])
        #expect(ledger.apply(released).map(\.disposition) == [.applied])
        var late = AccountLedger()
        _ = late.apply(bought)
        _ = late.apply(released)
        #expect(late.apply(planned).map(\.disposition) == [.superseded])
    }

    @Test("the event reports a change within a period once, even after a look-up")
    func changed() async throws {
        var ledger = AccountLedger()
        _ = ledger.apply(try event("customer.subscription.created", Self.subscription()))
        let changed = Self.subscription { $0.items = [.init("si_1", .pro)] }
        answer(changed)
        _ = ledger.apply(try await ask(adapter(), at: created + 5 * day + 2))
        let before = JSONMembers([
            ("items", ["data": [["id": "si_1", "price": StripePrice.basic.price(), "quantity": 1]]])
        ])
        let update = try event(
            "customer.subscription.updated",
            changed,
            previous: .object(before),
            at: created + 5 * day
        )
        #expect(update.kinds == ["product_changed"])
        #expect(ledger.apply(update).map(\.disposition) == [.applied])
        #expect(ledger.apply(update).map(\.disposition) == [.duplicate])
    }

    @Test("a trial's start is reported once, even after a look-up and an invoice over nothing")
    func trialStart() async throws {
        func trial(_ status: String) -> JSONMembers {
            Self.subscription(
                { ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end) },
                invoice: { ($0.status, $0.lines[0].amount) = (status, 0) }
            )
        }
        var ledger = AccountLedger()
        answer(trial("open"))
        #expect(ledger.apply(try await ask(adapter())).isEmpty)
        var invoice = Self.invoice()
        invoice.lines[0].amount = 0
        #expect(ledger.apply(try event("invoice.paid", invoice.object(.endive))).isEmpty)
        let started = try event("customer.subscription.created", trial("paid"))
        #expect(ledger.apply(started).map(\.disposition) == [.applied])
        #expect(ledger.apply(started).map(\.disposition) == [.duplicate])
    }

    @Test("a failed charge is stated, and each of its attempts reported once, whichever are missed")
    func failedCharge() async throws {
        func failed(_ attempt: Int64) -> StripeInvoice {
            var invoice = Self.invoice()
            (invoice.status, invoice.paidAt, invoice.attemptCount) = ("open", nil, attempt)
            invoice.reason = "subscription_cycle"
            return invoice
        }
        answer(Self.subscription({ $0.status = "past_due" }, invoice: { $0 = failed(2) }))
        var ledger = AccountLedger()
        #expect(ledger.apply(try await ask(adapter(), at: created + 3 * day)).isEmpty)
        var dispositions: [AppliedEvent.Disposition] = []
        for attempt: Int64 in 3...4 {
            let object = failed(attempt).object(.endive)
            let result = try event("invoice.payment_failed", object, at: created + (2 * attempt - 1) * day)
            dispositions += (ledger.apply(result) + ledger.apply(result)).map(\.disposition)
        }
        #expect(dispositions == [.applied, .duplicate, .applied, .duplicate])
    }

    @Test("a name that the host gave the subscription stays the first, and the session's are beside it")
    func accountOfSession() async throws {
        let named: Change = { $0.policy.accountMetadataKeys = ["user_id"] }
        let metadata: JSONText = ["user_id": "u-1"]
        let object = Self.subscription({ $0.metadata = metadata }, invoice: { $0.metadata = metadata })
        for (reference, others) in [(nil, ["cus_1"]), ("ref-9", ["cus_1", "ref-9"])] as [(JSONText, [String])] {
            answer(
                Self.session([
                    "mode": "subscription", "client_reference_id": reference, "subscription": .object(object),
                ])
            )
            let result = try await adapter(named).receive(checkoutSession: "cs_1", receivedAt: date(Self.now))
            let account = try #require(result.events.first?.account)
            #expect(account.source == .metadata)
            #expect(account.id == "u-1")
            #expect(account.aliases.map(\.id).sorted() == others)
        }
    }

    @Test("a free start reports the items that began then, not those added since")
    func addedSince() async throws {
        func item(_ price: StripePrice, from start: Int64, to end: Int64) -> JSONText {
            [
                "id": .string("si_\(price.id)"), "object": "subscription_item", "current_period_start": .integer(start),
                "current_period_end": .integer(end), "price": price.price(), "quantity": 1,
            ]
        }
        var object = Self.subscription(invoice: { $0.lines[0].amount = 0 })
        object["items"] = [
            "object": "list", "has_more": false,
            "data": [
                item(.basic, from: created, to: created + 30 * day),
                item(.basicYear, from: created + 5 * day, to: created + 370 * day),
            ],
        ]
        answer(object)
        let asked = try await ask(adapter(), at: created + 6 * day)
        #expect(
            asked.events.map(\.id) == (try event("customer.subscription.created", Self.subscription()).events.map(\.id))
        )
    }

    @Test("a sale's own event counts more than a question, whichever comes first", arguments: [false, true])
    func saleTime(asksFirst: Bool) async throws {
        answer(
            Self.session([
                "payment_intent": ["id": "pi_1", "latest_charge": ["id": "ch_1", "created": .integer(created)]]
            ])
        )
        let asked = try await adapter().receive(checkoutSession: "cs_1", receivedAt: date(created + 7 * day))
        let reported = try event("checkout.session.async_payment_succeeded", Self.session(), at: created + 6 * day)
        #expect(asked.events.map(\.id) == reported.events.map(\.id))
        let ledger = AccountLedger(applying: asksFirst ? [asked, reported] : [reported, asked])
        #expect(ledger.states.first?.purchases.values.map(\.value.at) == [date(created + 6 * day)])
    }

    @Test("an answer that does not say which world it is of is not believed")
    func modeless() async throws {
        var object = Self.subscription()
        object["livemode"] = nil
        answer(object)
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await ask(adapter) }
        #expect(error?.code == .malformed)
        #expect(error?.isAuthentic == false)
    }
}
