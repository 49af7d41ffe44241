import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A backend acts where a state says `applied`. Every change of a subscription has to be that once, to a state that
/// knows what was before.
@Suite("Each fact of Stripe's is news once")
struct NewsTests {
    struct Change: Sendable, CustomTestStringConvertible {
        var name: String
        var type = "updated"
        var before = NewsTests.active()
        var change: @Sendable (inout StripeSubscription) -> Void = { _ in }
        var kinds: [String]
        var testDescription: String { name }
    }

    /// In the middle of its month.
    static func active(_ change: (inout StripeSubscription) -> Void = { _ in }) -> StripeSubscription {
        var subscription = StripeSubscription(
            status: "active",
            from: created - 10 * day,
            to: created + 20 * day,
            startDate: created - 70 * day,
            latestInvoice: "in_1"
        )
        change(&subscription)
        return subscription
    }

    static let paused = active {
        $0.status = "paused"
        $0.statusDetails = ["paused": ["transitioned_at": .integer(created - 2 * day), "type": "subscription"]]
    }

    static let changes: [Change] = [
        Change(
            name: "an end is arranged",
            change: { ($0.cancelAt, $0.canceledAt) = ($0.end, created) },
            kinds: ["auto_renew_disabled"]
        ),
        Change(
            name: "and taken back",
            before: active { ($0.cancelAt, $0.canceledAt) = ($0.end, created - day) },
            change: { ($0.cancelAt, $0.canceledAt) = (nil, nil) },
            kinds: ["auto_renew_enabled"]
        ),
        Change(name: "an upgrade", change: { $0.items = [.init("si_1", .pro)] }, kinds: ["product_changed"]),
        Change(
            name: "a yearly price",
            change: {
                $0.items = [.init("si_1", .basicYear)]
                ($0.start, $0.end, $0.latestInvoice) = (created, created + 365 * day, "in_2")
            },
            kinds: ["product_changed"]
        ),
        Change(name: "another price", change: { $0.items = [.init("si_1", .basicNew)] }, kinds: ["price_change"]),
        Change(
            name: "more of the same",
            change: { $0.items = [.init("si_1", .basic, quantity: 5)] },
            kinds: ["product_changed"]
        ),
        Change(
            name: "an item more",
            change: { $0.items = [.init("si_1", .basic), .init("si_2", .seats)] },
            kinds: ["product_changed"]
        ),
        Change(
            name: "a change that awaits payment",
            change: { $0.pendingUpdate = pendingUpdate },
            kinds: ["product_change_scheduled"]
        ),
        Change(
            name: "that was not paid",
            type: "pending_update_expired",
            before: active { $0.pendingUpdate = pendingUpdate },
            change: { $0.pendingUpdate = nil },
            kinds: ["product_change_reverted"]
        ),
        Change(name: "a failed renewal", change: { $0.status = "past_due" }, kinds: ["billing_issue"]),
        Change(
            name: "unpaid for good",
            before: active { $0.status = "past_due" },
            change: { $0.status = "unpaid" },
            kinds: ["expired"]
        ),
        Change(
            name: "a longer trial",
            before: active { ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end) },
            change: { ($0.end, $0.trialEnd) = ($0.end + 7 * day, $0.end + 7 * day) },
            kinds: ["extended"]
        ),
        Change(
            name: "a trial ended early",
            before: active { ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end) },
            change: {
                ($0.start, $0.end, $0.status) = (created, created + 30 * day, "active")
                ($0.trialEnd, $0.latestInvoice) = (created, "in_2")
            },
            kinds: ["renewed"]
        ),
        Change(
            name: "a period without an invoice",
            before: active { ($0.start, $0.end) = (created - 30 * day, created) },
            change: { ($0.start, $0.end) = (created, created + 30 * day) },
            kinds: ["renewed"]
        ),
        Change(
            name: "a pause",
            type: "paused",
            change: {
                $0.status = "paused"
                $0.statusDetails = ["paused": ["transitioned_at": .integer(created), "type": "subscription"]]
            },
            kinds: ["paused"]
        ),
        Change(
            name: "its end within the period",
            type: "resumed",
            before: paused,
            change: { ($0.status, $0.statusDetails) = ("active", nil) },
            kinds: ["renewed"]
        ),
        Change(
            name: "its end with a new period",
            type: "resumed",
            before: paused,
            change: {
                ($0.status, $0.statusDetails) = ("active", nil)
                ($0.start, $0.end, $0.latestInvoice) = (created, created + 30 * day, "in_2")
            },
            kinds: ["renewed"]
        ),
        Change(
            name: "the end",
            type: "deleted",
            change: {
                ($0.status, $0.endedAt, $0.canceledAt) = ("canceled", created, created)
                $0.cancellationReason = "cancellation_requested"
            },
            kinds: ["expired"]
        ),
    ]

    static let pendingUpdate: JSONText = [
        "expires_at": .integer(created + day),
        "subscription_items": [
            [
                "id": "si_1", "object": "subscription_item", "quantity": 1,
                "price": [
                    "id": "price_pro_month", "product": "prod_pro", "currency": "usd", "unit_amount": 1999,
                    "recurring": ["interval": "month", "interval_count": 1],
                ],
            ]
        ],
    ]

    @Test("to a state that knows what was before", arguments: changes, PitfallTests.versions)
    func news(change: Change, version: StripeSimulator.Version) throws {
        let adapter = try adapter()
        var state = SubscriptionState(PitfallTests.lineage)
        let before = PitfallTests.body("updated", change.before, at: created - 3600, id: "evt_0", in: version)
        for statement in try adapter.take(before, at: created - 3600).statements { state.apply(statement) }
        #expect(!state.isEmpty)
        var after = change.before
        change.change(&after)
        let body = PitfallTests.body(
            change.type,
            after,
            previous: change.type == "updated" ? change.before.previous(after, version) : nil,
            in: version
        )
        let result = try adapter.take(body)
        #expect(result.kinds == change.kinds)
        for event in result.events {
            #expect(state.apply(event).disposition == .applied, "\(event.kind)")
            // Quantities and add-ons are no facts: there the id alone tells a second delivery.
            let again = state.apply(event).disposition
            if case .productChanged(let change) = event.event, [.quantity, .addOns].contains(change.direction) {
                continue
            }
            #expect(again == .duplicate, "\(event.kind)")
        }
    }

    @Test("an end that was undone and comes again is another end", arguments: PitfallTests.versions)
    func endAgain(version: StripeSimulator.Version) throws {
        let adapter = try adapter()
        let pastDue = Self.active { $0.status = "past_due" }
        let unpaid = Self.active { $0.status = "unpaid" }
        let ended = Self.active { ($0.status, $0.endedAt) = ("canceled", created + 3 * day) }
        let first = try adapter.take(
            PitfallTests.body("updated", unpaid, previous: pastDue.previous(unpaid, version), in: version)
        ).events
        let paid = PitfallTests.body(
            "updated",
            Self.active(),
            previous: unpaid.previous(Self.active(), version),
            at: created + day,
            in: version
        )
        let last = try adapter.take(
            PitfallTests.body("deleted", ended, at: created + 3 * day, in: version),
            at: created + 3 * day
        ).events
        #expect(first.map(\.kind) == [.expired] && last.map(\.kind) == [.expired])
        #expect(first.map(\.id) != last.map(\.id))
        var state = SubscriptionState(PitfallTests.lineage)
        #expect(first.map { state.apply($0).disposition } == [.applied])
        var unrecovered = state
        // Without a payment, access had ended before.
        #expect(last.map { unrecovered.apply($0).disposition } == [.duplicate])
        for statement in try adapter.take(paid, at: created + day).statements { state.apply(statement) }
        #expect(state.access(at: date(created + 2 * day)).isGranted)
        #expect(last.map { state.apply($0).disposition } == [.applied])
        #expect(!state.access(at: date(created + 3 * day)).isGranted)
    }

    /// https://docs.stripe.com/billing/subscriptions/cancel: an end may be arranged for any time, and be moved.
    @Test(
        "an end that is moved is news with each move, and not once it was moved again",
        arguments: PitfallTests.versions
    )
    func movedEnd(version: StripeSimulator.Version) throws {
        let adapter = try adapter()
        // The last one lies behind the period.
        var (before, moves) = (Self.active(), [NormalizedEvent]())
        for (hours, end) in [(1, 15), (2, 5), (3, 15), (4, 20), (5, 45)] as [(Int64, Int64)] {
            let after = Self.active {
                ($0.cancelAt, $0.canceledAt) = (created + end * day, created + hours * 3600)
            }
            let body = PitfallTests.body(
                "updated",
                after,
                previous: before.previous(after, version),
                at: created + hours * 3600,
                id: "evt_\(hours)",
                in: version
            )
            let events = try adapter.take(body, at: created + hours * 3600).events
            #expect(events.map(\.kind) == [.autoRenewDisabled])
            moves += events
            before = after
        }
        var state = SubscriptionState(PitfallTests.lineage)
        for event in moves { #expect(state.apply(event).disposition == .applied, "\(event.effectiveAt)") }
        for event in moves { #expect(state.apply(event).disposition == .duplicate, "\(event.effectiveAt)") }
        var late = SubscriptionState(PitfallTests.lineage)
        #expect(
            moves.reversed().map { late.apply($0).disposition } == [.applied]
                + moves.dropFirst().map { _ in .superseded }
        )
        #expect(late == state)
    }

    @Test("a manual invoice that failed is no trouble with the renewal", arguments: PitfallTests.versions)
    func manualInvoice(version: StripeSimulator.Version) throws {
        for (reason, kind) in [
            ("manual", "notice"), ("quote_accept", "notice"), ("subscription_cycle", "billing_issue"),
            ("subscription_update", "billing_issue"), ("subscription_threshold", "billing_issue"),
        ] {
            var invoice = StripeInvoice(
                "in_2",
                reason: reason,
                lines: [.init(.seats, from: created, to: created + day)],
                created: created
            )
            invoice.status = "open"
            let failed = invoice.reported("payment_failed", at: created, in: version)
            #expect(try adapter().take(failed.body).kinds == [kind], "\(reason)")
        }
    }

    @Test("a dispute that is won after it was lost gives back what the loss took")
    func appeal() throws {
        func event(_ status: String, previous: String?, at time: Int64) throws -> Normalization {
            let body = PitfallRowTests.dispute(status, from: previous, at: time)
            return try adapter().take(body, at: time)
        }
        func facts(_ result: Normalization) -> [Bool] {
            result.events.flatMap(\.facts).compactMap {
                if case .refund(let refund) = $0 { refund.scope != nil } else { nil }
            }
        }
        #expect(facts(try event("lost", previous: nil, at: created)) == [true])
        #expect(facts(try event("won", previous: "appeal_under_review", at: created + day)) == [false])
        #expect(facts(try event("won", previous: "lost", at: created + day)) == [false])
        // A refund beside the dispute stays a refund.
        #expect(facts(try event("won", previous: "under_review", at: created + day)) == [])
        #expect(facts(try event("warning_closed", previous: nil, at: created + day)) == [])
    }

    @Test("a trial that Checkout began has started once, also where the update a second later comes first")
    func updateBeforeCreation() throws {
        let adapter = try adapter()
        let trial = PitfallTests.active {
            ($0.status, $0.start, $0.trialStart, $0.trialEnd) = ("trialing", created, created, $0.end)
        }
        var updated = trial
        updated.metadata = ["plan": "basic"]
        let creation = PitfallTests.body("created", trial, at: created, id: "evt_1")
        let update = PitfallTests.body(
            "updated",
            updated,
            previous: trial.previous(updated, .endive),
            at: created + 1,
            id: "evt_2"
        )
        for order in [[creation, update], [update, creation], [update, creation, update, creation]] {
            let host = try RareFlowTests.Host(adapter, order.map { ($0, created + 1) })
            #expect(host.kinds == ["started"])
        }
    }
}
