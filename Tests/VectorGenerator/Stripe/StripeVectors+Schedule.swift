import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    static func phase(_ price: JSONText, from start: Int64, to end: Int64, quantity: Int64 = 1) -> JSONText {
        [
            "start_date": .integer(start), "end_date": .integer(end),
            "items": [["price": price, "quantity": .integer(quantity)]],
        ]
    }

    static func schedule(_ phases: [JSONText], endBehavior: String = "release", status: String = "active")
        -> JSONMembers
    {
        JSONMembers([
            ("id", "sub_sched_1"), ("object", "subscription_schedule"), ("customer", "cus_1"),
            ("current_phase", ["start_date": .integer(created - 10 * day), "end_date": .integer(created + 20 * day)]),
            ("end_behavior", .string(endBehavior)), ("phases", .array(phases)), ("status", .string(status)),
            ("subscription", "sub_1"),
        ])
    }

    static func scheduleCases() throws -> [Case] {
        let now = phase("price_basic_month", from: created - 10 * day, to: created + 20 * day)
        let later = phase("price_pro_month", from: created + 20 * day, to: created + 50 * day)
        let more = phase("price_basic_month", from: created + 20 * day, to: created + 50 * day, quantity: 4)
        let expanded: JSONText = [
            "id": "price_pro_month", "object": "price", "product": "prod_pro", "currency": "usd", "unit_amount": 1999,
            "recurring": ["interval": "month", "interval_count": 1],
        ]
        var cases: [Case] = []
        func add(
            _ id: String,
            _ why: String,
            _ type: String,
            _ object: JSONMembers,
            previous: JSONText? = nil,
            http: [JSONText]? = nil,
            _ kinds: [String]
        ) throws {
            let event = simulator(.endive).event(
                "subscription_schedule.\(type)",
                id: "evt_\(id)",
                created: created,
                object: .object(object),
                previous: previous
            )
            cases.append(try signed("schedule/\(id)", why, body: event.bytes, http: http, .events(kinds)))
        }
        try add("created", "made from a subscription, arranges nothing", "created", schedule([now]), [])
        try add(
            "created-change",
            "made with a change to come",
            "created",
            schedule([now, later]),
            ["product_change_scheduled"]
        )
        try add(
            "change",
            "another price later",
            "updated",
            schedule([now, later]),
            previous: ["phases": [now]],
            ["product_change_scheduled"]
        )
        try add(
            "change-expanded",
            "another price later, with its product",
            "updated",
            schedule([now, phase(expanded, from: created + 20 * day, to: created + 50 * day)]),
            previous: ["phases": [now]],
            ["product_change_scheduled"]
        )
        try add(
            "quantity",
            "more of the same later",
            "updated",
            schedule([now, more]),
            previous: ["phases": [now]],
            ["product_change_scheduled"]
        )
        try add(
            "metadata",
            "the change was arranged before",
            "updated",
            schedule([now, later]),
            previous: ["metadata": ["a": "b"]],
            []
        )
        try add(
            "withdrawn",
            "the later phase is gone",
            "updated",
            schedule([now]),
            previous: ["phases": [now, later]],
            ["product_change_reverted"]
        )
        try add(
            "released",
            "let go before the change",
            "released",
            schedule([now, later], status: "released"),
            ["product_change_reverted"]
        )
        try add(
            "canceled",
            "let go before the change",
            "canceled",
            schedule([now, later], status: "canceled"),
            ["product_change_reverted"]
        )
        try add("released-after", "nothing left to arrange", "released", schedule([now], status: "released"), [])
        try add("completed", "done", "completed", schedule([now], status: "completed"), [])
        try add(
            "ends",
            "the last phase ends the subscription",
            "updated",
            schedule([now], endBehavior: "cancel"),
            previous: ["end_behavior": "release"],
            ["auto_renew_disabled"]
        )
        try add(
            "ends-not",
            "the last phase does not end it after all",
            "updated",
            schedule([now]),
            previous: ["end_behavior": "cancel"],
            ["auto_renew_enabled"]
        )
        var pausing = schedule([now])
        pausing.append(
            "pause_schedules",
            [
                [
                    "pause": ["pause_at": .integer(created + 20 * day)],
                    "resume": ["resume_at": .integer(created + 50 * day)],
                ]
            ]
        )
        try add("pause", "a pause to come", "updated", pausing, previous: ["pause_schedules": []], ["pause_scheduled"])
        var fetched = schedule([now, phase(expanded, from: created + 20 * day, to: created + 50 * day)])
        fetched.append("livemode", true)
        try add(
            "change-looked-up",
            "the product of the price was asked for",
            "updated",
            schedule([now, later]),
            previous: ["phases": [now]],
            http: [
                answer("/v1/subscription_schedules/sub_sched_1?expand%5B%5D=phases.items.price", .object(fetched))
            ],
            ["product_change_scheduled"]
        )
        return cases
    }

    /// A recorded answer of Stripe's API.
    static func answer(_ path: String, status: Int64 = 200, _ body: JSONText?) -> JSONText {
        var members = JSONMembers([
            ("method", "GET"), ("url", .string("https://api.stripe.com\(path)")), ("status", .integer(status)),
        ])
        if let body { members.append("body", body) }
        return .object(members)
    }
}
