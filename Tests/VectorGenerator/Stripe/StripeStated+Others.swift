import ConformanceVectors
import Normalizer
import NotificationSimulator

extension StripeStated {
    private static let user: JSONText = [
        "id": "user-42", "source": "client_reference_id",
        "aliases": [["id": "cus_1", "source": "stripe_customer"]],
    ]

    private static func bought(_ price: JSONText, _ product: JSONText, of name: String = "pi_7") -> Event {
        told(
            "one_time_purchased",
            .purchased(lineage(name), transaction: name),
            [
                "subscription": .string("stripe/production/\(name)"), "transaction": .string(name), "account": user,
                "product": product, "price": price,
                "detail": ["type": "unknown", "price": price, "family_shared": false],
            ]
        )
    }

    private static func waiting(_ kind: JSONText, _ name: String) -> Event {
        told(
            kind,
            notified(name, of: "pi_7"),
            [
                "subscription": "stripe/production/pi_7", "transaction": "pi_7", "account": user,
                "detail": ["product": "cs_1"],
            ]
        )
    }

    static let sales: [String: [Event]] = [
        "payment/checkout-paid": [bought(charged("49"), ["id": "cs_1", "quantity": 1])],
        "payment/checkout-items": [
            bought(charged("49"), ["id": "prod_book", "base_plan": "price_book", "quantity": 2])
        ],
        "payment/checkout-jpy": [bought(charged("4900", "JPY"), ["id": "cs_1", "quantity": 1])],
        "payment/checkout-isk": [bought(charged("49", "ISK"), ["id": "cs_1", "quantity": 1])],
        "payment/checkout-free": [bought(charged("0"), ["id": "cs_1", "quantity": 1], of: "cs_1")],
        "payment/checkout-async-paid": [bought(charged("49"), ["id": "cs_1", "quantity": 1])],
        "payment/checkout-unpaid": [waiting("purchase_pending", "pending/cs_1")],
        "payment/checkout-async-failed": [waiting("purchase_pending_canceled", "pending/canceled/cs_1")],
        "payment/checkout-subscription": [
            told(
                "notice",
                nil,
                [
                    "account": user,
                    "detail": ["kind": "accounts_linked", "facts": ["checkout_session": "cs_1"]],
                    "facts": [["fact": "owner", "detail": user]],
                ]
            )
        ],
    ]

    /// An event about no lineage, whose identity is that of the notification.
    private static func notice(_ kind: JSONText, _ notification: String, _ detail: JSONText) -> Event {
        var event = told(
            kind,
            EventID(provider: .stripe, environment: .production, notification: notification),
            ["detail": detail]
        )
        event["subscription"] = nil
        event["account"] = nil
        return event
    }

    static let others: [String: [Event]] = [
        "payment/entitlements": [
            notice(
                "notice",
                "evt_entitlements",
                ["kind": "other", "facts": ["entitlements": "api,export", "added": "api", "removed": "seats"]]
            )
        ],
        "payment/customer-deleted": [
            notice("notice", "evt_customer-deleted", ["kind": "other", "facts": ["customer": "deleted"]])
        ],
        "payment/price-updated": [notice("unmapped", "evt_price-updated", ["type": "price.updated"])],
        "envelope/unknown-type": [notice("unmapped", "evt_1", ["type": "customer.subscription.teleported"])],
        "envelope/ping": [notice("notice", "evt_1", ["kind": "test"])],
        "thin/ping": [thinly(notice("notice", "evt_snapshot_ping", ["kind": "test"]), isFetched: false)],
        "thin/unknown": [
            thinly(notice("unmapped", "evt_snapshot_unknown", ["type": "v2.money.printed"]), isFetched: false)
        ],
        "thin/time-offset": [
            fromOffset(notice("unmapped", "evt_snapshot_time-offset", ["type": "v1.price.updated"]))
        ],
    ]

    private static func fromOffset(_ event: Event) -> Event {
        var event = event
        // 14:00 at two hours east.
        event["occurred_at"] = noon
        event["effective_at"] = noon
        return event
    }

    /// A thin event carries fractions of a second, and asserts what was fetched when it was received.
    private static func thinly(_ event: Event, effective: JSONText? = nil, isFetched: Bool = true) -> Event {
        var event = event
        event["occurred_at"] = "2026-03-01T12:00:00.123Z"
        event["effective_at"] = effective ?? "2026-03-01T12:00:00.123Z"
        event["asserted_at"] = isFetched ? "2026-03-01T12:00:02.000Z" : "2026-03-01T12:00:00.123Z"
        return event
    }

    static let thin: [String: [Event]] = [
        "thin/created": [
            thinly(
                told(
                    "started",
                    began("prod_basic", "2026-03-01T12:00:00Z", of: "acct_7/sub_1"),
                    [
                        "app": "acct_7", "subscription": "stripe/production/acct_7/sub_1", "period": month,
                        "product": basic, "detail": ["origin": "new", "phase": "regular", "period": month],
                    ]
                ),
                effective: noon
            )
        ],
        "thin/deleted": [thinly(ended("billing"), effective: noon)],
        "thin/past-due": [
            thinly(
                told(
                    "billing_issue",
                    notified("billing_issue/in_1/1"),
                    ["period": current, "detail": ["access": "grace", "grace_until": periodEnd]]
                )
            )
        ],
        "thin/unpaid": [
            thinly(told("expired", notified("unpaid/in_1/1771502400"), ["detail": ["reason": "billing"]]))
        ],
        "thin/cancel-at-changed": [
            thinly(
                told(
                    "auto_renew_disabled",
                    notified("auto_renew/off/1772366400/1774094400"),
                    ["renewal": ends, "detail": ["reason": "customer", "access_until": periodEnd]]
                ),
                effective: periodEnd
            )
        ],
        "thin/price-changed": [
            thinly(
                told(
                    "product_changed",
                    notified("items/evt_snapshot_price-changed"),
                    [
                        "product": ["id": "prod_pro", "base_plan": "price_pro_month", "quantity": 1],
                        "detail": ["to": "prod_pro", "direction": "unknown", "timing": "immediate", "basis": "store"],
                    ]
                )
            )
        ],
        "thin/quantity-changed": [
            thinly(
                told(
                    "product_changed",
                    notified("items/evt_snapshot_quantity-changed"),
                    [
                        "product": ["id": "prod_basic", "base_plan": "price_basic_month", "quantity": 9],
                        "detail": ["to": "prod_basic", "direction": "quantity"],
                    ]
                )
            )
        ],
        "thin/invoice-paid": [
            thinly(
                told(
                    "renewed",
                    began("prod_basic", "2026-03-01T12:00:00Z"),
                    [
                        "transaction": "in_1", "period": month, "price": charged("9.99"),
                        "detail": ["cause": "scheduled", "phase": "regular", "period": month],
                    ]
                ),
                effective: noon
            )
        ],
    ]
}
