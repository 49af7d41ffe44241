import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    static func thinCases() throws -> [Case] {
        var cases: [Case] = []
        func add(
            _ id: String,
            _ why: String,
            _ type: String,
            related: (type: String, id: String, url: String)? = ("subscription", "sub_1", "/v1/subscriptions/sub_1"),
            created text: String = "2026-03-01T12:00:00.123456789Z",
            account: String? = nil,
            answer body: JSONText? = nil,
            status: Int64 = 200,
            isLookedUp: Bool = true,
            _ expect: Expectation
        ) throws {
            let event = simulator(.endive, account: account).thinEvent(
                type,
                id: "evt_\(id)",
                created: text,
                related: related,
                snapshot: "evt_snapshot_\(id)"
            )
            let path = (related?.url ?? "") + (related?.type == "subscription" ? "?expand%5B%5D=latest_invoice" : "")
            cases.append(
                try signed(
                    "thin/\(id)",
                    why,
                    body: event.bytes,
                    http: isLookedUp ? [answer(path, status: status, body)] : nil,
                    expect
                )
            )
        }
        func object(_ change: (inout StripeSubscription) -> Void = { _ in }) -> JSONText {
            .object(active(change).object(.endive))
        }

        try add(
            "not-asked",
            "nothing is looked up: kept, and said to need it",
            "v1.invoice.paid",
            isLookedUp: false,
            .events([])
        )
        try add(
            "updated",
            "the state of now, without what was before",
            "v1.customer.subscription.updated",
            answer: object(),
            .events([])
        )
        try add(
            "created",
            "a purchase",
            "v1.customer.subscription.created",
            account: "acct_7",
            answer: object { ($0.start, $0.end, $0.startDate) = (created, created + 30 * day, created) },
            .events(["started"])
        )
        try add(
            "deleted",
            "the end",
            "v1.customer.subscription.deleted",
            answer: object { ($0.status, $0.endedAt, $0.cancellationReason) = ("canceled", created, "payment_failed") },
            .events(["expired"])
        )
        try add(
            "deleted-stale",
            "the answer says otherwise",
            "v1.customer.subscription.deleted",
            answer: object(),
            .events([])
        )
        try add(
            "past-due",
            "a renewal failed",
            "v1.customer.subscription.past_due",
            answer: object { $0.status = "past_due" },
            .events(["billing_issue"])
        )
        try add(
            "unpaid",
            "Stripe gave up charging",
            "v1.customer.subscription.unpaid",
            answer: object { $0.status = "unpaid" },
            .events(["expired"])
        )
        try add("unpaid-stale", "and was paid since", "v1.customer.subscription.unpaid", answer: object(), .events([]))
        try add(
            "cancel-at-changed",
            "will end",
            "v1.customer.subscription.cancel_at_changed",
            answer: object { ($0.cancelAt, $0.canceledAt) = ($0.end, created) },
            .events(["auto_renew_disabled"])
        )
        try add(
            "cancel-at-cleared",
            "will not end",
            "v1.customer.subscription.cancel_at_changed",
            answer: object(),
            .events(["auto_renew_enabled"])
        )
        try add(
            "price-changed",
            "another price, nobody says from which",
            "v1.customer.subscription.item_price_changed",
            answer: object { $0.items = [.init("si_1", .pro)] },
            .events(["product_changed"])
        )
        try add(
            "quantity-changed",
            "another quantity",
            "v1.customer.subscription.item_quantity_changed",
            answer: object { $0.items = [.init("si_1", .basic, quantity: 9)] },
            .events(["product_changed"])
        )
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_cycle",
            lines: [.init(.basic, from: created, to: created + 30 * day)],
            created: created,
            lookBackFrom: created - 30 * day
        )
        invoice.paidAt = created
        try add(
            "invoice-paid",
            "a renewal",
            "v1.invoice.paid",
            related: ("invoice", "in_1", "/v1/invoices/in_1"),
            answer: .object(invoice.object(.endive)),
            .events(["renewed"])
        )
        for status: Int64 in [404, 410] {
            try add(
                "gone-\(status)",
                "Stripe does not know it under our key: another account or mode, and no expiry",
                "v1.customer.subscription.deleted",
                status: status,
                .reject(.misdirected)
            )
        }
        try add("server-error", "not decided, to be tried again", "v1.invoice.paid", status: 500, .reject(.unavailable))
        try add("forbidden", "not decided, to be tried again", "v1.invoice.paid", status: 403, .reject(.unavailable))
        try add(
            "other-answer",
            "an answer about another object",
            "v1.customer.subscription.updated",
            answer: object { $0.id = "sub_2" },
            .reject(.malformed)
        )
        try add(
            "nameless-answer",
            "an answer about nobody knows what",
            "v1.customer.subscription.updated",
            answer: ["object": "subscription", "status": "active"],
            .reject(.malformed)
        )
        try add(
            "other-mode-answer",
            "an answer of the other mode",
            "v1.customer.subscription.updated",
            answer: .object(
                {
                    var test = active().object(.endive)
                    test["livemode"] = false
                    return test
                }()
            ),
            .reject(.misdirected)
        )
        try add(
            "ping",
            "a connectivity test",
            "v2.core.event_destination.ping",
            related: nil,
            isLookedUp: false,
            .events(["notice"])
        )
        try add(
            "unknown",
            "a type of tomorrow",
            "v2.money.printed",
            related: nil,
            isLookedUp: false,
            .events(["unmapped"])
        )
        try add("no-related", "a known type that names nothing", "v1.invoice.paid", related: nil, .reject(.malformed))
        try add(
            "time-offset",
            "a time with an offset",
            "v1.price.updated",
            created: "2026-03-01T14:00:00+02:00",
            isLookedUp: false,
            .events(["unmapped"])
        )
        try add(
            "bad-time",
            "no RFC 3339 time",
            "v1.price.updated",
            created: "yesterday",
            isLookedUp: false,
            .reject(.malformed)
        )
        for (id, url) in [
            ("authority", "@evil.example/v1/subscriptions/sub_1"), ("host", ".evil.example/v1/subscriptions/sub_1"),
            ("two-slashes", "//evil.example/v1/subscriptions/sub_1"),
            ("absolute", "https://evil.example/v1/subscriptions/sub_1"),
            ("dots", "/v1/../v1/subscriptions/sub_1"), ("encoded-dots", "/v1/%2e%2e/subscriptions/sub_1"),
            ("encoded-slash", "/v1/subscriptions%2Fsub_1"), ("backslash", "/\\evil.example/v1/sub_1"),
            ("query", "/v1/subscriptions/sub_1?expand[]=customer"), ("fragment", "/v1/subscriptions/sub_1#x"),
            ("newline", "/v1/subscriptions/sub_1\r\nHost: evil.example"), ("nul", "/v1/subscriptions/sub_1\u{0}"),
            ("other-version", "/v3/subscriptions/sub_1"), ("other-object", "/v1/subscriptions/sub_2"),
            ("short", "/v1/sub_1"), ("empty-segment", "/v1//sub_1"), ("trailing-slash", "/v1/subscriptions/sub_1/"),
            ("empty", ""), ("not-ascii", "/v1/subscriptio\u{0144}s/sub_1"),
        ] {
            try add(
                "url-\(id)",
                "a path that leads elsewhere is not followed",
                "v1.customer.subscription.updated",
                related: ("subscription", "sub_1", url),
                answer: object(),
                .reject(.malformed)
            )
        }
        return cases
    }
}
