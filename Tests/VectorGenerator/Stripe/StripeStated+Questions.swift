import ConformanceVectors
import Normalizer
import NotificationSimulator

extension StripeStated {
    /// A second and a millisecond before the answer of 12:00:02.
    private static let asserted: JSONText = "2026-03-01T12:00:00.999Z"

    private static func asked(
        _ kind: JSONText,
        _ id: EventID?,
        occurred: JSONText = "2026-03-01T12:00:02.000Z",
        effective: JSONText = "2026-03-01T12:00:02.000Z",
        _ members: KeyValuePairs<String, JSONText>
    ) -> Event {
        var event = told(kind, id, effective: effective, members)
        event["occurred_at"] = occurred
        event["asserted_at"] = asserted
        return event
    }

    /// The current month, paid for a minute after it began.
    private static func began(_ kind: JSONText, _ detail: KeyValuePairs<String, JSONText>) -> Event {
        var members = JSONMembers([("period", current)])
        for (name, value) in detail { members.append(name, value) }
        return asked(
            kind,
            began("prod_basic", "2026-02-19T12:00:00Z"),
            occurred: "2026-02-19T12:01:00.000Z",
            effective: "2026-02-19T12:00:00.000Z",
            ["transaction": "in_1", "period": current, "product": basic, "detail": .object(members)]
        )
    }

    private static func bought(_ price: JSONText = "9.99") -> Event {
        began("started", ["origin": "new", "phase": "regular", "price": charged(price)])
    }

    private static func renewed(_ cause: JSONText) -> Event {
        began("renewed", ["cause": cause, "phase": "regular", "price": charged("9.99")])
    }

    private static func sold(_ price: JSONText, _ product: JSONText, at time: JSONText, of name: String) -> Event {
        var event = asked(
            "one_time_purchased",
            .purchased(lineage(name), transaction: name),
            effective: time,
            [
                "subscription": .string("stripe/production/\(name)"), "transaction": .string(name), "price": price,
                "product": product, "account": buyer,
            ]
        )
        // Its own event, which comes later, stands above it.
        event["asserted_at"] = time
        return event
    }

    private static let buyer: JSONText = [
        "id": "user-42", "source": "client_reference_id",
        "aliases": [["id": "cus_1", "source": "stripe_customer"]],
    ]

    static let questions: [String: [Event]] = [
        "question/first": [bought()],
        "question/many-lines": [bought("119.88")],
        "question/trial": [began("started", ["origin": "new", "phase": "trial"])],
        "question/renewed": [renewed("scheduled")],
        "question/converted": [renewed("trial_conversion")],
        "question/upgraded-since": [renewed("scheduled")],
        "question/ending": [
            bought(),
            asked(
                "auto_renew_disabled",
                notified("auto_renew/off/1772280000/1774094400"),
                occurred: "2026-02-28T12:00:00.000Z",
                effective: periodEnd,
                ["renewal": ends, "detail": ["reason": "customer", "access_until": periodEnd]]
            ),
        ],
        "question/canceled": [
            asked(
                "expired",
                .ended(lineage("sub_1"), periodStart: at("2026-02-19T12:00:00Z"), reason: .billing),
                occurred: "2026-02-28T12:00:00.000Z",
                effective: "2026-02-28T12:00:00.000Z",
                ["detail": ["reason": "billing"]]
            )
        ],
        "question/session-paid": [
            sold(
                charged("49"),
                ["id": "prod_book", "base_plan": "price_book", "quantity": 2],
                at: "2026-03-01T11:59:00.000Z",
                of: "pi_7"
            )
        ],
        "question/session-free": [
            sold(charged("49"), ["id": "cs_1", "quantity": 1], at: "2026-03-01T11:50:00.000Z", of: "cs_1")
        ],
    ]
}
