import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

// Expected members of the events of chosen cases, by hand: from the objects as the cases describe them and from
// `docs/stripe.md`, not from the mapping. The generator stops if the mapping gives anything else, so that a mistake in
// it cannot become an expectation. Identities are derived from their published components.
package enum StripeStated {
    /// The members that an event has to have at least.
    typealias Event = JSONMembers

    /// The expected events of a case, if they are stated.
    static func events(of id: String) -> [Event]? {
        byCase[id] ?? byCase[plain(id)]
    }

    /// A case without the shape of its object.
    static func plain(_ id: String) -> String {
        id.replacing("/2020/", with: "/").replacing("/endive/", with: "/")
    }

    /// By case, without the shape of its object, unless the events differ with it.
    static let byCase: [String: [Event]] = [
        subscriptions, schedules, invoices, payments, sales, others, thin, questions,
    ]
    .reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    /// The reason that a case has no event, if it is not that nothing has changed.
    static func reason(of id: String) -> Normalization.NoChange.Reason {
        let plain = plain(id)
        return reasons.first { $0.value.contains(plain) }?.key ?? .unchanged
    }

    private static let reasons: [Normalization.NoChange.Reason: Set<String>] = [
        .needsLookup: ["invoice/renewal-lines", "thin/not-asked"],
        .stale: ["question/session-refunded", "thin/deleted-stale", "thin/unpaid-stale"],
        .reportedElsewhere: [
            "invoice/first-trial", "invoice/renewal-twin", "payment/charge-succeeded", "payment/dispute-funds",
            "payment/refund-new-failed-twin",
            "payment/refund-old-twin",
            "schedule/completed", "subscription/created-unknown-status", "subscription/paused-twin",
            "subscription/pending-update-applied", "subscription/recovered", "subscription/roll",
            "subscription/trial-ended", "subscription/unpaid-recovered",
        ],
    ]

    /// True if a case's events are stated by hand.
    package static func isStated(_ id: String) -> Bool {
        events(of: id.hasPrefix("stripe/") ? String(id.dropFirst(7)) : id) != nil
    }

    static let noon: JSONText = "2026-03-01T12:00:00.000Z"
    static let periodEnd: JSONText = "2026-03-21T12:00:00.000Z"
    static let nextEnd: JSONText = "2026-03-31T12:00:00.000Z"

    /// The month that most subscriptions are in the middle of.
    static let current: JSONText = ["start": "2026-02-19T12:00:00.000Z", "end": "2026-03-21T12:00:00.000Z"]
    /// A month from noon.
    static let month: JSONText = ["start": "2026-03-01T12:00:00.000Z", "end": "2026-03-31T12:00:00.000Z"]
    /// The month that the invoices of a cycle pay for, an hour after it began.
    static let cycle: JSONText = ["start": "2026-03-01T11:00:00.000Z", "end": "2026-03-31T11:00:00.000Z"]
    static let basic: JSONText = ["id": "prod_basic", "base_plan": "price_basic_month", "quantity": 1]
    static let renewsLater: JSONText = ["will_renew": true, "renews_at": "2026-03-21T12:00:00.000Z"]
    static let ends: JSONText = ["will_renew": false]

    static func charged(_ amount: JSONText, _ currency: JSONText = "USD") -> JSONText {
        ["amount": amount, "currency": currency, "role": "charged"]
    }

    static func lineage(_ id: String) -> SubscriptionID {
        SubscriptionID(store: .stripe, environment: .production, id: id)
    }

    static func at(_ text: String) -> Date {
        RFC3339.milliseconds(text).map { Date(millisecondsSince1970: $0) } ?? .distantPast
    }

    static func began(_ product: String, _ start: String, of id: String = "sub_1") -> EventID {
        .periodBegan(lineage(id), product: product, start: at(start))
    }

    static func notified(_ name: String, of id: String = "sub_1") -> EventID {
        .notified(lineage(id), by: .stripe, notification: name)
    }

    /// An event of noon about the subscription and the customer that most are about.
    static func told(
        _ kind: JSONText,
        _ id: EventID?,
        effective: JSONText = noon,
        _ members: KeyValuePairs<String, JSONText>
    ) -> Event {
        var stated = JSONMembers([
            ("kind", kind), ("provider", "stripe"), ("store", "stripe"), ("environment", "production"),
            ("subscription", "stripe/production/sub_1"),
            ("account", ["id": "cus_1", "source": "stripe_customer"]), ("occurred_at", noon),
            ("effective_at", effective), ("asserted_at", noon), ("received_at", "2026-03-01T12:00:02.000Z"),
        ])
        if let id { stated["id"] = .string(id.description) }
        for (name, value) in members { stated[name] = value }
        return stated
    }

    static func started(_ phase: JSONText, _ transaction: JSONText = "in_1") -> Event {
        told(
            "started",
            began("prod_basic", "2026-03-01T12:00:00Z"),
            [
                "transaction": transaction, "product": basic, "period": month,
                "renewal": ["will_renew": true, "renews_at": nextEnd],
                "detail": ["origin": "new", "phase": phase, "period": month],
                "facts": [
                    ["fact": "owner", "detail": ["id": "cus_1", "source": "stripe_customer"]],
                    [
                        "fact": "period",
                        "detail": [
                            "period": month, "product": "prod_basic", "phase": phase, "ownership": "purchased",
                        ],
                    ],
                    ["fact": "billing", "detail": ["status": "settled"]],
                    ["fact": "pause", "detail": ["status": "none"]],
                    [
                        "fact": "renewal_intent",
                        "detail": ["terms": ["will_renew": true, "renews_at": nextEnd]],
                    ],
                ],
            ]
        )
    }

    static func changed(_ detail: JSONText, _ product: JSONText, _ id: EventID) -> Event {
        told(
            "product_changed",
            id,
            ["transaction": "in_1", "product": product, "period": current, "renewal": renewsLater, "detail": detail]
        )
    }

    static func renewed(
        _ cause: JSONText,
        _ start: String,
        _ period: JSONText,
        _ transaction: JSONText
    ) -> Event {
        told(
            "renewed",
            began("prod_basic", start),
            [
                "transaction": transaction, "product": basic, "period": period,
                "detail": ["cause": cause, "phase": "regular", "period": period],
            ]
        )
    }

    static func ended(_ reason: JSONText) -> Event {
        told(
            "expired",
            .ended(lineage("sub_1"), periodStart: at("2026-02-19T12:00:00Z")),
            [
                "transaction": "in_1", "product": basic, "period": current, "renewal": ends,
                "detail": ["reason": reason],
            ]
        )
    }
}
