import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    static func invoiceCases() throws -> [Case] {
        var cases: [Case] = []
        for (name, version) in versions {
            func add(
                _ id: String,
                _ why: String,
                _ type: String,
                _ invoice: StripeInvoice,
                remove: [String] = [],
                http: [JSONText]? = nil,
                _ kinds: [String]
            ) throws {
                try add(id, why, type, invoice, remove: remove, http: http, .events(kinds))
            }
            func add(
                _ id: String,
                _ why: String,
                _ type: String,
                _ invoice: StripeInvoice,
                remove: [String] = [],
                http: [JSONText]? = nil,
                _ expect: Expectation
            ) throws {
                var object = invoice.object(version)
                for member in remove { object[member] = nil }
                let event = simulator(version).event(
                    "invoice.\(type)",
                    id: "evt_\(id)",
                    created: created,
                    object: .object(object)
                )
                cases.append(try signed("invoice/\(name)/\(id)", why, body: event.bytes, http: http, expect))
            }
            let hour: Int64 = 3600
            let roll = created - hour
            func cycle(_ price: StripePrice = .basic, _ change: (inout StripeInvoice) -> Void = { _ in })
                -> StripeInvoice
            {
                var invoice = StripeInvoice(
                    "in_1",
                    reason: "subscription_cycle",
                    lines: [.init(price, from: roll, to: roll + 30 * day)],
                    created: roll,
                    lookBackFrom: roll - 30 * day
                )
                invoice.paidAt = created
                change(&invoice)
                return invoice
            }
            func first(_ change: (inout StripeInvoice) -> Void = { _ in }) -> StripeInvoice {
                var invoice = StripeInvoice(
                    "in_1",
                    reason: "subscription_create",
                    lines: [.init(.basic, from: created, to: created + 30 * day)],
                    created: created
                )
                invoice.paidAt = created
                change(&invoice)
                return invoice
            }

            try add("first", "the first payment", "paid", first(), ["started"])
            try add(
                "first-discounted",
                "the first period for nothing, by a coupon",
                "paid",
                first { $0.discount = 999 },
                ["started"]
            )
            try add(
                "first-trial",
                "the invoice of a trial is no purchase",
                "paid",
                first { $0.lines[0].amount = 0 },
                []
            )
            var usage = StripeInvoice.Line(.calls, amount: 0, from: created, to: created + 30 * day)
            usage.quantity = 0
            try add(
                "first-metered",
                "a metered price, first by name, beside the fixed one",
                "paid",
                first { $0.lines.insert(usage, at: 0) },
                ["started"]
            )
            var fee = StripeInvoice.Line(.seats, from: created, to: created)
            fee.isOneOff = true
            try add(
                "first-trial-fee",
                "a fee at the start of a trial is no purchase of its period",
                "paid",
                first {
                    $0.lines[0].amount = 0
                    $0.lines.append(fee)
                },
                ["notice"]
            )
            try add(
                "first-months-ahead",
                "three months are paid for at the start, and the first one begins",
                "paid",
                first {
                    $0.lines += [1, 2].map {
                        .init(.basic, from: created + 30 * $0 * day, to: created + 30 * ($0 + 1) * day)
                    }
                },
                ["started"]
            )
            try add("renewal", "a renewal", "paid", cycle(), ["renewed"])
            try add(
                "renewal-ahead",
                "a period is paid for a week before it begins, which the subscription will tell",
                "paid",
                cycle {
                    $0.reason = "subscription_update"
                    $0.lines = [.init(.basic, from: created + 7 * day, to: created + 37 * day)]
                },
                ["notice"]
            )
            try add("renewal-twin", "the same moment again", "payment_succeeded", cycle(), [])
            try add("renewal-tax", "tax is stated", "paid", cycle { $0.tax = 160 }, ["renewed"])
            try add("renewal-jpy", "a currency without minor unit", "paid", cycle(.yen), ["renewed"])
            try add("renewal-kwd", "a currency with three places", "paid", cycle(.dinar), ["renewed"])
            try add("renewal-free", "paid by a coupon", "paid", cycle { $0.discount = 999 }, ["renewed"])
            try add(
                "renewal-credit",
                "paid from the customer's balance",
                "paid",
                cycle { $0.amountPaid = 0 },
                ["renewed"]
            )
            try add(
                "renewal-recovered",
                "paid at the third attempt",
                "paid",
                cycle { $0.attemptCount = 3 },
                ["renewed"]
            )
            try add(
                "renewal-proration",
                "a proration on a renewal is not its period",
                "paid",
                cycle {
                    $0.lines.append(.init(.pro, amount: 300, from: roll - 5 * day, to: roll, isProration: true))
                },
                ["renewed"]
            )
            try add(
                "renewal-usage",
                "usage of the month before beside the fixed price",
                "paid",
                cycle { $0.lines.insert(.init(.usage, amount: 84, from: roll - 30 * day, to: roll), at: 0) },
                ["renewed"]
            )
            let many = cycle { invoice in
                let proration = StripeInvoice.Line(.pro, amount: 30, from: roll - 5 * day, to: roll, isProration: true)
                invoice.lines.insert(contentsOf: Array(repeating: proration, count: 11), at: 0)
                invoice.shownLines = 10
            }
            try add("renewal-lines", "the line of the period is not shown: to be asked for", "paid", many, [])
            let pages = [("", 0..<6), ("&starting_after=il_in_1_5", 6..<12)].map { after, range in
                answer("/v1/invoices/in_1/lines?limit=100\(after)", many.linePage(version, range))
            }
            try add(
                "renewal-lines-looked-up",
                "the line of the period is on the second page",
                "paid",
                many,
                http: pages,
                ["renewed"]
            )
            try add(
                "renewal-lines-cut-off",
                "the second page does not come: to be asked for again",
                "paid",
                many,
                http: [pages[0]],
                .reject(.unavailable)
            )
            try add(
                "arrears",
                "usage alone pays for the month before: the money of it",
                "paid",
                cycle { $0.lines = [.init(.usage, amount: 84, from: roll - 30 * day, to: roll)] },
                ["notice"]
            )
            try add(
                "update",
                "the money of an upgrade",
                "paid",
                cycle {
                    $0.reason = "subscription_update"
                    $0.lines = [
                        .init(.basic, amount: -499, from: created, to: created + 15 * day, isProration: true),
                        .init(.pro, amount: 999, from: created, to: created + 15 * day, isProration: true),
                    ]
                },
                ["notice"]
            )
            try add(
                "threshold",
                "usage beyond a threshold",
                "paid",
                cycle { $0.reason = "subscription_threshold" },
                ["notice"]
            )
            try add(
                "unknown-reason",
                "a reason of tomorrow",
                "paid",
                cycle { $0.reason = "subscription_dream" },
                ["notice"]
            )
            try add(
                "legacy-first",
                "the old reason for all: looks back on nothing",
                "paid",
                first { $0.reason = "subscription" },
                ["started"]
            )
            try add(
                "legacy-renewal",
                "the old reason for all",
                "paid",
                cycle { $0.reason = "subscription" },
                ["renewed"]
            )
            try add(
                "manual",
                "an invoice without a subscription",
                "paid",
                cycle {
                    $0.reason = "manual"
                    $0.subscription = nil
                },
                []
            )

            func open(_ change: (inout StripeInvoice) -> Void = { _ in }) -> StripeInvoice {
                cycle {
                    $0.status = "open"
                    $0.paidAt = nil
                    $0.nextAttempt = created + 3 * day
                    change(&$0)
                }
            }
            try add("failed", "a renewal failed", "payment_failed", open(), ["billing_issue"])
            try add(
                "failed-again",
                "and failed again",
                "payment_failed",
                open { $0.attemptCount = 2 },
                ["billing_issue"]
            )
            try add(
                "failed-last",
                "no further attempt",
                "payment_failed",
                open { $0.nextAttempt = nil },
                ["billing_issue"]
            )
            try add("failed-test", "the Dashboard's test event says paid", "payment_failed", cycle(), ["billing_issue"])
            try add(
                "action-required",
                "the customer has to confirm",
                "payment_action_required",
                open(),
                ["billing_issue"]
            )
            try add(
                "first-failed",
                "a first payment failed: nothing was renewed",
                "payment_failed",
                first { $0.status = "open" },
                ["purchase_pending"]
            )
            try add(
                "manual-failed",
                "an invoice without a subscription failed",
                "payment_failed",
                open {
                    $0.reason = "manual"
                    $0.subscription = nil
                },
                ["notice"]
            )
            try add(
                "upcoming",
                "a preview without an id",
                "upcoming",
                open { $0.reason = "upcoming" },
                remove: ["id"],
                ["notice"]
            )
            try add("created", "a draft", "created", open { $0.status = "draft" }, [])
            try add("finalized", "owed now", "finalized", open(), ["notice"])
            try add("finalization-failed", "stuck", "finalization_failed", open { $0.status = "draft" }, ["notice"])
            try add("voided", "not owed any more", "voided", open { $0.status = "void" }, ["notice"])
            try add(
                "uncollectible",
                "written off",
                "marked_uncollectible",
                open { $0.status = "uncollectible" },
                ["notice"]
            )
            try add("overdue", "late", "overdue", open(), ["notice"])
        }
        // Amounts and dates are not guessed.
        for (id, member, value) in [
            ("amount-string", "amount_paid", "999"), ("amount-fraction", "amount_paid", .raw("9.99")),
            ("amount-huge", "amount_paid", .raw("9223372036854775808")), ("reason-number", "billing_reason", 1),
            ("lines-string", "lines", "none"), ("attempts-string", "attempt_count", "1"),
        ] as [(String, String, JSONText)] {
            var object = StripeInvoice(
                "in_1",
                reason: "subscription_cycle",
                lines: [.init(.basic, from: created, to: created + 30 * day)],
                created: created
            ).object(.endive)
            object[member] = value
            let event = simulator(.endive).event(
                "invoice.paid",
                id: "evt_bad",
                created: created,
                object: .object(object)
            )
            cases.append(
                try signed(
                    "invoice/bad/\(id)",
                    "\(member) is not of its documented form",
                    body: event.bytes,
                    .reject(.malformed)
                )
            )
        }
        return cases
    }
}
