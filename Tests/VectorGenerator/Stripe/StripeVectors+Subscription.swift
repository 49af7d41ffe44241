import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    /// The shapes of every subscription and invoice case.
    static let versions: [(name: String, version: StripeSimulator.Version)] = [
        ("2020", .v2020), ("endive", .endive),
    ]

    /// A subscription in the middle of its month.
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

    static func subscriptionCases() throws -> [Case] {
        var cases: [Case] = []
        for (name, version) in versions {
            let simulator = simulator(version)
            func add(
                _ id: String,
                _ why: String,
                _ type: String,
                _ object: StripeSubscription,
                previous: JSONText? = nil,
                account: String? = nil,
                _ kinds: [String]
            ) throws {
                let simulator = account.map { StripeVectors.simulator(version, account: $0) } ?? simulator
                let event = simulator.event(
                    "customer.subscription.\(type)",
                    id: "evt_\(id)",
                    created: created,
                    object: .object(object.object(version)),
                    previous: previous
                )
                cases.append(try signed("subscription/\(name)/\(id)", why, body: event.bytes, .events(kinds)))
            }
            /// An update from one state to another.
            func update(
                _ id: String,
                _ why: String,
                from before: StripeSubscription = active(),
                _ kinds: [String],
                _ change: (inout StripeSubscription) -> Void
            ) throws {
                var after = before
                change(&after)
                try add(id, why, "updated", after, previous: before.previous(after, version), kinds)
            }

            // Beginnings.
            let first = StripeSubscription(
                status: "active",
                from: created,
                to: created + 30 * day,
                latestInvoice: "in_1"
            )
            try add("created-active", "bought and paid", "created", first, ["started"])
            try add(
                "created-connect",
                "bought at a connected account",
                "created",
                first,
                account: "acct_1",
                ["started"]
            )
            var trial = first
            trial.status = "trialing"
            trial.trialStart = created
            trial.trialEnd = created + 30 * day
            try add("created-trialing", "a trial", "created", trial, ["started"])
            var incomplete = first
            incomplete.status = "incomplete"
            try add("created-incomplete", "awaits its first payment", "created", incomplete, ["purchase_pending"])
            try update("first-payment", "the first payment came", from: incomplete, ["started"]) {
                $0.status = "active"
            }
            try update("first-payment-trial", "a trial began with a set-up", from: incomplete, ["started"]) {
                $0.status = "trialing"
                $0.trialEnd = $0.end
            }
            try update(
                "first-payment-never",
                "the first payment never came",
                from: incomplete,
                ["purchase_pending_canceled"]
            ) { $0.status = "incomplete_expired" }
            var yen = first
            yen.items = [.init("si_1", .yen)]
            try add("created-jpy", "a currency without minor unit", "created", yen, ["started"])
            var plans = first
            plans.hasPlansOnly = true
            try add("created-plan", "items with a plan and no price", "created", plans, ["started"])
            var metered = first
            metered.items = [.init("si_1", .usage), .init("si_2", .basic)]
            try add("created-metered-beside", "metered usage beside a fixed price", "created", metered, ["started"])
            var meteredFirst = first
            meteredFirst.items = [.init("si_1", .calls), .init("si_2", .basic)]
            try add(
                "created-metered-first",
                "a metered price, first by name, beside the fixed one",
                "created",
                meteredFirst,
                ["started"]
            )
            var future = first
            future.status = "hibernating"
            try add("created-unknown-status", "a status of tomorrow grants nothing", "created", future, [])

            // Renewals: the roll is not one.
            let previousMonth = active {
                $0.start = created - 30 * day
                $0.end = created
                $0.latestInvoice = "in_0"
            }
            try update("roll", "the period ran out, its invoice is a draft", from: previousMonth, []) {
                ($0.start, $0.end, $0.latestInvoice) = (created, created + 30 * day, "in_1")
            }
            try update("roll-without-invoice", "the period ran out, nothing to bill", from: previousMonth, ["renewed"])
            {
                ($0.start, $0.end) = (created, created + 30 * day)
            }
            let usage = active {
                ($0.start, $0.end, $0.items) = (created - 30 * day, created, [.init("si_1", .usage)])
            }
            try update("roll-metered", "billed afterwards: the roll is the renewal", from: usage, ["renewed"]) {
                ($0.start, $0.end, $0.latestInvoice) = (created, created + 30 * day, "in_2")
            }
            try update(
                "roll-with-downgrade",
                "a scheduled downgrade came into force",
                from: {
                    var pro = previousMonth
                    pro.items = [.init("si_1", .pro)]
                    return pro
                }(),
                ["product_changed"]
            ) {
                ($0.start, $0.end, $0.latestInvoice) = (created, created + 30 * day, "in_1")
                $0.items = [.init("si_1", .basic)]
            }
            let trialEnding = active {
                ($0.start, $0.end, $0.status) = (created - 14 * day, created, "trialing")
                ($0.trialStart, $0.trialEnd, $0.startDate) = (created - 14 * day, created, created - 14 * day)
            }
            try update("trial-ended", "converted, not paid yet", from: trialEnding, []) {
                ($0.start, $0.end, $0.status) = (created, created + 30 * day, "active")
                $0.latestInvoice = "in_2"
            }
            try update("trial-ended-free", "converted, nothing to bill", from: trialEnding, ["renewed"]) {
                ($0.start, $0.end, $0.status) = (created, created + 30 * day, "active")
            }

            try update(
                "trial-ended-early",
                "converted ahead of time, and charged at once",
                from: active {
                    ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end)
                    $0.startDate = $0.start
                },
                ["renewed"]
            ) {
                ($0.start, $0.end, $0.status) = (created, created + 30 * day, "active")
                ($0.trialEnd, $0.latestInvoice) = (created, "in_2")
            }

            // Renewal intent.
            try update("cancel-at-period-end", "will end with its period", ["auto_renew_disabled"]) {
                $0.cancelAtPeriodEnd = true
                ($0.cancelAt, $0.canceledAt) = ($0.end, created)
                $0.cancellationReason = "cancellation_requested"
            }
            try update("cancel-flexible", "the portal sets only a date", ["auto_renew_disabled"]) {
                ($0.cancelAt, $0.canceledAt) = ($0.end, created)
                $0.cancellationReason = "cancellation_requested"
            }
            try update("cancel-at-date", "will end on a date", ["auto_renew_disabled"]) {
                ($0.cancelAt, $0.canceledAt) = (created + 5 * day, created)
            }
            let canceled = active {
                $0.cancelAtPeriodEnd = true
                ($0.cancelAt, $0.canceledAt) = (created + 20 * day, created - day)
            }
            try update("uncancel", "goes on after all", from: canceled, ["auto_renew_enabled"]) {
                $0.cancelAtPeriodEnd = false
                ($0.cancelAt, $0.canceledAt) = (nil, nil)
            }
            try update(
                "uncancel-flexible",
                "goes on after all, by its date alone",
                from: active { ($0.cancelAt, $0.canceledAt) = (created + 20 * day, created - day) },
                ["auto_renew_enabled"]
            ) { ($0.cancelAt, $0.canceledAt) = (nil, nil) }
            try update("cancel-moved", "will end on another date", from: canceled, ["auto_renew_disabled"]) {
                ($0.cancelAt, $0.cancelAtPeriodEnd) = (created + 40 * day, false)
            }
            try update("cancel-feedback", "only why, not whether", from: canceled, []) {
                $0.cancellationReason = "cancellation_requested"
            }
            try update(
                "cancel-and-upgrade",
                "two facts in one update",
                from: canceled,
                ["auto_renew_enabled", "product_changed"]
            ) {
                $0.cancelAtPeriodEnd = false
                ($0.cancelAt, $0.canceledAt) = (nil, nil)
                $0.items = [.init("si_1", .pro)]
            }

            // Products.
            try update("upgrade", "another price of another product", ["product_changed"]) {
                $0.items = [.init("si_1", .pro)]
            }
            try update("upgrade-new-item", "one item went, another came", ["product_changed"]) {
                $0.items = [.init("si_9", .pro)]
            }
            try update(
                "downgrade",
                "to the cheaper product",
                from: active { $0.items = [.init("si_1", .pro)] },
                ["product_changed"]
            ) { $0.items = [.init("si_1", .basic)] }
            try update("yearly", "the same product by the year: the period begins anew", ["product_changed"]) {
                $0.items = [.init("si_1", .basicYear)]
                ($0.start, $0.end, $0.latestInvoice) = (created, created + 365 * day, "in_2")
            }
            try update("repriced", "a new price object for the same product and rhythm", ["price_change"]) {
                $0.items = [.init("si_1", .basicNew)]
            }
            try update("quantity", "more of the same", ["product_changed"]) {
                $0.items = [.init("si_1", .basic, quantity: 5)]
            }
            try update("add-on", "an item more", ["product_changed"]) {
                $0.items = [.init("si_1", .basic), .init("si_2", .seats, quantity: 3)]
            }
            try update(
                "add-on-removed",
                "an item less",
                from: active { $0.items = [.init("si_1", .basic), .init("si_2", .seats, quantity: 3)] },
                ["product_changed"]
            ) { $0.items = [.init("si_1", .basic)] }
            try add(
                "items-present",
                "previous items that are those of now: no product changed",
                "updated",
                active(),
                previous: active { $0.latestInvoice = "in_0" }.previous(
                    active { ($0.latestInvoice, $0.start) = ("in_1", $0.start + 1) },
                    version
                ),
                []
            )
            try update("pending-update", "a change that awaits payment", ["product_change_scheduled"]) {
                $0.pendingUpdate = pendingUpdate
            }
            try add("pending-update-applied", "the update beside it tells", "pending_update_applied", active(), [])
            try add(
                "pending-update-expired",
                "the change was dropped",
                "pending_update_expired",
                active(),
                ["product_change_reverted"]
            )

            // Trouble with charging.
            try update("past-due", "a renewal failed", ["billing_issue"]) { $0.status = "past_due" }
            let pastDue = active { $0.status = "past_due" }
            try update("recovered", "the invoice tells of it", from: pastDue, []) { $0.status = "active" }
            try update("unpaid", "Stripe gave up charging", from: pastDue, ["expired"]) { $0.status = "unpaid" }
            try update("unpaid-recovered", "the invoice tells of it", from: active { $0.status = "unpaid" }, []) {
                $0.status = "active"
            }

            // Extensions and pauses.
            try update("trial-extended", "the trial ends later", from: trial, ["extended"]) {
                ($0.end, $0.trialEnd) = (created + 40 * day, created + 40 * day)
            }
            try update("collection-paused", "invoices are voided for a while", ["notice"]) {
                $0.collectionPause = ["behavior": "void", "resumes_at": .integer(created + 60 * day)]
            }
            try update(
                "collection-resumed",
                "invoices are collected again",
                from: active { $0.collectionPause = ["behavior": "void", "resumes_at": nil] },
                ["notice"]
            ) { $0.collectionPause = nil }
            let paused = active {
                $0.status = "paused"
                $0.statusDetails = ["paused": ["transitioned_at": .integer(created), "type": "subscription"]]
            }
            try add("paused", "paused on request", "paused", paused, ["paused"])
            try update("paused-twin", "the update beside it", []) { $0.status = "paused" }
            try add("resumed", "resumed within its period", "resumed", active(), ["renewed"])
            try add("resumed-anew", "resumed with a new period", "resumed", first, ["renewed"])

            // Announcements.
            try add("trial-will-end", "three days ahead", "trial_will_end", trial, ["notice"])
            try add("trial-ended-now", "a trial that is over announces nothing", "trial_will_end", trialEnding, [])
            try update("metadata", "nothing that we know of", []) { $0.metadata = ["plan": "gold"] }

            // Ends.
            func ended(_ reason: String?, _ change: (inout StripeSubscription) -> Void = { _ in }) -> StripeSubscription
            {
                active {
                    $0.status = "canceled"
                    ($0.endedAt, $0.canceledAt, $0.cancellationReason) = (created, created, reason)
                    change(&$0)
                }
            }
            try add(
                "deleted-scheduled",
                "ended as arranged",
                "deleted",
                ended("cancellation_requested") {
                    ($0.start, $0.end, $0.cancelAtPeriodEnd) = (created - 30 * day, created, true)
                },
                ["expired"]
            )
            try add("deleted-now", "ended at once", "deleted", ended("cancellation_requested"), ["expired"])
            try add("deleted-unpaid", "ended for want of payment", "deleted", ended("payment_failed"), ["expired"])
            try add("deleted-disputed", "ended by a dispute", "deleted", ended("payment_disputed"), ["expired"])
            try add("deleted-unknown", "nobody says why", "deleted", ended(nil), ["expired"])
            try add(
                "deleted-trial",
                "a trial that was ended: its end lies in the future",
                "deleted",
                ended("cancellation_requested") { $0.trialEnd = created + 20 * day },
                ["expired"]
            )
        }
        cases += try badSubscriptions()
        return cases
    }

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

    /// A wrong date, amount or identifier is not guessed.
    private static func badSubscriptions() throws -> [Case] {
        let good = active().object(.v2020)
        return try [
            ("no-id", "id", nil), ("id-number", "id", 7), ("status-number", "status", 1), ("no-status", "status", nil),
            ("end-string", "current_period_end", "1772366400"),
            ("end-fraction", "current_period_end", .raw("1772366400.5")),
            ("end-exponent", "current_period_end", .raw("17e8")), ("end-huge", "current_period_end", .raw("1e400")),
            ("cancel-at-string", "cancel_at", "soon"), ("flag-number", "cancel_at_period_end", 1),
            ("customer-number", "customer", 12), ("items-string", "items", "none"),
        ].map { (id: String, member: String, value: JSONText?) in
            var object = good
            object[member] = value
            let event = simulator(.v2020).event(
                "customer.subscription.created",
                id: "evt_bad",
                created: created,
                object: .object(object)
            )
            return try signed(
                "subscription/bad/\(id)",
                "\(member) is not of its documented form",
                body: event.bytes,
                .reject(.malformed)
            )
        }
    }
}
