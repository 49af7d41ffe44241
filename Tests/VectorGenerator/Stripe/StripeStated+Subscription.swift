import ConformanceVectors
import Normalizer
import NotificationSimulator

extension StripeStated {
    static let subscriptions: [String: [Event]] = [
        "subscription/created-active": [started("regular")],
        "subscription/created-trialing": [started("trial")],
        "subscription/created-metered-first": [started("regular")],
        "subscription/first-payment": [started("regular")],
        "subscription/created-incomplete": [
            told(
                "purchase_pending",
                notified("pending"),
                [
                    "product": basic, "detail": ["product": "prod_basic"],
                    "facts": [
                        ["fact": "owner", "detail": ["id": "cus_1", "source": "stripe_customer"]]
                    ],
                ]
            )
        ],
        "subscription/first-payment-never": [
            told("purchase_pending_canceled", notified("pending/canceled"), ["detail": ["product": "prod_basic"]])
        ],
        "subscription/roll-without-invoice": [renewed("scheduled", "2026-03-01T12:00:00Z", month, "in_0")],
        "subscription/trial-ended-early": [renewed("trial_conversion", "2026-03-01T12:00:00Z", month, "in_2")],
        "subscription/cancel-flexible": [
            told(
                "auto_renew_disabled",
                notified("auto_renew/off/1772366400/1774094400"),
                effective: periodEnd,
                [
                    "period": current, "renewal": ends,
                    "detail": ["reason": "customer", "access_until": periodEnd],
                ]
            )
        ],
        "subscription/cancel-at-period-end": [
            told(
                "auto_renew_disabled",
                notified("auto_renew/off/1772366400/1774094400"),
                effective: periodEnd,
                ["renewal": ends, "detail": ["reason": "customer", "access_until": periodEnd]]
            )
        ],
        // It was arranged a day before.
        "subscription/uncancel": [
            told(
                "auto_renew_enabled",
                notified("auto_renew/on/1772280000"),
                ["period": current, "renewal": renewsLater]
            )
        ],
        "subscription/upgrade": [
            changed(
                [
                    "from": "prod_basic", "to": "prod_pro", "direction": "upgrade", "timing": "immediate",
                    "basis": "inferred", "period": current,
                ],
                ["id": "prod_pro", "base_plan": "price_pro_month", "quantity": 1],
                notified("items/price_pro_month*1/1772366400")
            )
        ],
        "subscription/quantity": [
            changed(
                ["from": "prod_basic", "to": "prod_basic", "direction": "quantity", "timing": "immediate"],
                ["id": "prod_basic", "base_plan": "price_basic_month", "quantity": 5],
                notified("items/price_basic_month*5/1772366400")
            )
        ],
        "subscription/add-on": [
            changed(
                ["to": "prod_seats", "direction": "add_ons", "timing": "immediate"],
                basic,
                notified("items/price_basic_month*1+price_seats_month*3/1772366400")
            )
        ],
        // The year begins with the change: a period that began, under another name.
        "subscription/yearly": [
            told(
                "product_changed",
                began("prod_basic", "2026-03-01T12:00:00Z"),
                [
                    "transaction": "in_2",
                    "product": ["id": "prod_basic", "base_plan": "price_basic_year", "quantity": 1],
                    "period": ["start": "2026-03-01T12:00:00.000Z", "end": "2027-03-01T12:00:00.000Z"],
                    "renewal": ["will_renew": true, "renews_at": "2027-03-01T12:00:00.000Z"],
                    "detail": ["from": "prod_basic", "to": "prod_basic", "direction": "crossgrade"],
                ]
            )
        ],
        "subscription/repriced": [
            told(
                "price_change",
                notified("price/price_basic_month_2*1/1772366400"),
                [
                    "detail": [
                        "stage": "applied", "old": ["amount": "9.99", "currency": "USD"],
                        "new": ["amount": "10.99", "currency": "USD"], "effective_at": noon,
                        "consent_required": false,
                    ]
                ]
            )
        ],
        "subscription/pending-update": [
            told(
                "product_change_scheduled",
                .changeScheduled(
                    lineage("sub_1"),
                    from: "prod_basic",
                    to: "prod_pro",
                    at: at("2026-03-01T12:00:00Z")
                ),
                ["product": basic, "detail": ["from": "prod_basic", "to": "prod_pro", "direction": "upgrade"]]
            )
        ],
        "subscription/pending-update-expired": [
            told(
                "product_change_reverted",
                .changeReverted(lineage("sub_1"), product: "prod_basic", at: at("2026-03-01T12:00:00Z")),
                ["detail": ["to": "prod_basic", "basis": "store"]]
            )
        ],
        "subscription/past-due": [
            told(
                "billing_issue",
                notified("billing_issue/in_1/1"),
                [
                    "transaction": "in_1", "period": current,
                    "detail": ["access": "grace", "grace_until": periodEnd, "action_required": false],
                ]
            )
        ],
        "subscription/unpaid": [
            told(
                "expired",
                notified("unpaid/in_1/1771502400"),
                [
                    "renewal": renewsLater, "detail": ["reason": "billing"],
                    "facts": [
                        ["fact": "owner", "detail": ["id": "cus_1", "source": "stripe_customer"]],
                        [
                            "fact": "period",
                            "detail": ["period": current, "product": "prod_basic", "phase": "regular"],
                        ],
                        // Nobody paid for the period, so it ended as it began.
                        [
                            "fact": "period_ended",
                            "detail": [
                                "start": "2026-02-19T12:00:00.000Z", "at": "2026-02-19T12:00:00.000Z",
                                "reason": "billing", "outstanding_charge": "in_1",
                            ],
                        ],
                        ["fact": "billing", "detail": ["status": "suspended"]],
                        [
                            "fact": "renewal_intent",
                            "detail": ["terms": ["will_renew": true, "renews_at": periodEnd]],
                        ],
                    ],
                ]
            )
        ],
        "subscription/trial-extended": [
            told(
                "extended",
                .extended(lineage("sub_1"), transaction: "period/1772366400", to: at("2026-04-10T12:00:00Z")),
                effective: nextEnd,
                ["detail": ["from": nextEnd, "to": "2026-04-10T12:00:00.000Z", "reason": "developer"]]
            )
        ],
        "subscription/collection-paused": [
            told(
                "notice",
                nil,
                [
                    "detail": [
                        "kind": "other",
                        "facts": [
                            "collection": "paused", "behavior": "void", "resumes_at": "2026-04-30T12:00:00.000Z",
                        ],
                    ]
                ]
            )
        ],
        "subscription/paused": [told("paused", notified("paused/1772366400"), ["renewal": ends])],
        "subscription/resumed": [
            told(
                "renewed",
                notified("resumed/1772366400"),
                [
                    "period": current, "renewal": renewsLater,
                    "detail": ["cause": "resumption", "phase": "regular", "period": current],
                ]
            )
        ],
        "subscription/resumed-anew": [renewed("resumption", "2026-03-01T12:00:00Z", month, "in_1")],
        "subscription/trial-will-end": [
            told(
                "notice",
                nil,
                effective: nextEnd,
                ["detail": ["kind": "trial_ending", "facts": ["trial_end": nextEnd]]]
            )
        ],
        "subscription/endive/deleted-now": [ended("customer")],
        // Versions before 2022-11-15 do not say why.
        "subscription/2020/deleted-now": [ended("unknown")],
    ]

    static let schedules: [String: [Event]] = [
        "schedule/change-expanded": [
            told(
                "product_change_scheduled",
                .changeScheduled(
                    lineage("sub_1"),
                    from: "price_basic_month",
                    to: "price_pro_month",
                    at: at("2026-03-21T12:00:00Z")
                ),
                effective: periodEnd,
                [
                    "detail": [
                        "from": "price_basic_month", "to": "prod_pro", "direction": "unknown",
                        "timing": "at_period_end", "effective_at": periodEnd, "basis": "inferred",
                        "to_base_plan": "price_pro_month",
                    ]
                ]
            )
        ],
        "schedule/created-change": [
            told(
                "product_change_scheduled",
                .changeScheduled(
                    lineage("sub_1"),
                    from: "price_basic_month",
                    to: "price_pro_month",
                    at: at("2026-03-21T12:00:00Z")
                ),
                effective: periodEnd,
                ["detail": ["from": "price_basic_month", "to": "price_pro_month"]]
            )
        ],
        "schedule/released": [withdrawn], "schedule/canceled": [withdrawn], "schedule/withdrawn": [withdrawn],
        "schedule/ends": [
            told(
                "auto_renew_disabled",
                notified("auto_renew/off/sub_sched_1/1774094400"),
                effective: periodEnd,
                ["renewal": ends, "detail": ["reason": "developer", "access_until": periodEnd]]
            )
        ],
        "schedule/pause": [
            told(
                "pause_scheduled",
                notified("pause_scheduled/1774094400"),
                effective: periodEnd,
                ["detail": ["resumes_at": "2026-04-20T12:00:00.000Z"]]
            )
        ],
    ]

    static let withdrawn = told(
        "product_change_reverted",
        .changeReverted(lineage("sub_1"), product: "price_basic_month", at: at("2026-03-21T12:00:00Z")),
        effective: periodEnd,
        ["detail": ["to": "price_basic_month", "timing": "at_period_end", "effective_at": periodEnd, "basis": "store"]]
    )
}
