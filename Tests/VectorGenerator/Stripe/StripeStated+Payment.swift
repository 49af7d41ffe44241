import ConformanceVectors
import Normalizer
import NotificationSimulator

extension StripeStated {
    /// The payment of the period that began an hour before.
    private static func cyclePaid(_ cause: JSONText, _ product: JSONText, _ price: JSONText) -> Event {
        told(
            "renewed",
            began("prod_basic", "2026-03-01T11:00:00Z"),
            effective: "2026-03-01T11:00:00.000Z",
            [
                "transaction": "in_1", "product": product, "period": cycle, "price": price,
                "detail": ["cause": cause, "phase": "regular", "period": cycle, "price": price],
                "facts": [
                    ["fact": "owner", "detail": ["id": "cus_1", "source": "stripe_customer"]],
                    [
                        "fact": "period",
                        "detail": [
                            "period": cycle, "product": "prod_basic", "phase": "regular", "provisional": true,
                        ],
                    ],
                    // Paid when it was paid, and for the period that it is for.
                    [
                        "fact": "charge",
                        "detail": [
                            "transaction": "in_1", "price": price, "at": noon,
                            "period_start": "2026-03-01T11:00:00.000Z",
                        ],
                    ],
                    ["fact": "billing", "detail": ["status": "settled"]],
                ],
            ]
        )
    }

    private static let recovered: Event = {
        var event = cyclePaid("recovery", basic, charged("9.99"))
        event["detail"] = ["cause": "recovery", "period": cycle]
        return event
    }()

    private static func failed(_ attempt: Int, actionRequired: Bool = false) -> Event {
        told(
            "billing_issue",
            notified("billing_issue/in_1/\(attempt)" + (actionRequired ? "/action_required" : "")),
            [
                "transaction": "in_1", "product": basic, "period": cycle,
                "detail": [
                    "access": "grace", "grace_until": "2026-03-31T11:00:00.000Z",
                    "retry_until": "2026-03-04T12:00:00.000Z", "action_required": .bool(actionRequired),
                ],
            ]
        )
    }

    private static func invoiceNotice(_ kind: JSONText, _ invoice: JSONText) -> Event {
        told(
            "notice",
            nil,
            [
                "transaction": "in_1", "price": ["amount": "9.99", "currency": "USD", "role": "list"],
                "detail": ["kind": kind, "facts": ["invoice": invoice]],
            ]
        )
    }

    private static func firstPaid(_ price: JSONText, _ phase: JSONText = "regular") -> Event {
        told(
            "started",
            began("prod_basic", "2026-03-01T12:00:00Z"),
            [
                "transaction": "in_1", "product": basic, "period": month, "price": price,
                "detail": ["origin": "new", "phase": phase, "period": month, "price": price],
            ]
        )
    }

    /// The money of an invoice that begins no period.
    private static func settled(_ reason: JSONText, _ price: JSONText) -> Event {
        told(
            "notice",
            nil,
            [
                "transaction": "in_1", "price": price,
                "detail": ["kind": "invoice_paid", "facts": ["invoice": "in_1", "billing_reason": reason]],
            ]
        )
    }

    private static let upgraded: Event = {
        var event = settled("subscription_update", charged("5"))
        event["items"] = [
            ["product": "prod_basic", "price": ["amount": "-4.99", "currency": "USD"]],
            ["product": "prod_pro", "price": ["amount": "9.99", "currency": "USD"]],
        ]
        return event
    }()

    /// How the payment of a renewal can be called: since basil by its invoice alone, before also by its payment.
    private static let paymentNames: [String: [JSONText]] = [
        "2020": [
            ["fact": "transaction_name", "detail": ["transaction": "in_1", "name": "pi_in_1"]],
            ["fact": "link", "detail": "stripe/production/pi_in_1"],
        ],
        "endive": [["fact": "link", "detail": "stripe/production/in_1"]],
    ]

    static let invoices: [String: [Event]] = plainInvoices.reduce(into: [:]) { stated, entry in
        let (name, events) = entry
        // A free period has no payment.
        guard case .array(let facts)? = events.first?["facts"], name != "invoice/renewal-credit" else {
            stated[name] = events
            return
        }
        for (version, names) in paymentNames {
            var event = events[0]
            event["facts"] = .array(facts + names)
            stated[name.replacing("invoice/", with: "invoice/\(version)/")] = [event]
        }
    }

    private static let plainInvoices: [String: [Event]] = [
        "invoice/first": [firstPaid(charged("9.99"))],
        "invoice/first-metered": [firstPaid(charged("9.99"))],
        "invoice/first-months-ahead": [firstPaid(charged("29.97"))],
        "invoice/first-discounted": [firstPaid(charged("0"), "introductory")],
        "invoice/renewal": [cyclePaid("scheduled", basic, charged("9.99"))],
        "invoice/renewal-proration": [cyclePaid("scheduled", basic, charged("12.99"))],
        "invoice/renewal-usage": [cyclePaid("scheduled", basic, charged("10.83"))],
        "invoice/renewal-lines-looked-up": [cyclePaid("scheduled", basic, charged("13.29"))],
        "invoice/renewal-credit": [cyclePaid("scheduled", basic, charged("0"))],
        "invoice/renewal-recovered": [recovered],
        "invoice/renewal-tax": [
            cyclePaid(
                "scheduled",
                basic,
                [
                    "amount": "9.99", "currency": "USD", "role": "charged",
                    "tax": ["amount": "1.6", "currency": "USD"],
                ]
            )
        ],
        "invoice/renewal-jpy": [
            cyclePaid(
                "scheduled",
                ["id": "prod_basic", "base_plan": "price_basic_jpy", "quantity": 1],
                charged("1200", "JPY")
            )
        ],
        "invoice/renewal-kwd": [
            cyclePaid(
                "scheduled",
                ["id": "prod_basic", "base_plan": "price_basic_kwd", "quantity": 1],
                charged("3.5", "KWD")
            )
        ],
        "invoice/update": [upgraded],
        "invoice/arrears": [settled("subscription_cycle", charged("0.84"))],
        "invoice/threshold": [settled("subscription_threshold", charged("9.99"))],
        "invoice/failed": [failed(1)],
        "invoice/failed-again": [failed(2)],
        "invoice/action-required": [failed(1, actionRequired: true)],
        "invoice/first-failed": [
            told("purchase_pending", notified("pending"), ["detail": ["product": "prod_basic"]])
        ],
        "invoice/upcoming": [
            told(
                "notice",
                nil,
                effective: "2026-03-04T12:00:00.000Z",
                [
                    "price": ["amount": "9.99", "currency": "USD", "role": "renewal"], "period": cycle,
                    "detail": ["kind": "renewal_upcoming", "facts": ["renews_at": "2026-03-04T12:00:00.000Z"]],
                ]
            )
        ],
        "invoice/finalized": [invoiceNotice("invoice_issued", "finalized")],
        "invoice/finalization-failed": [invoiceNotice("other", "finalization_failed")],
        "invoice/voided": [invoiceNotice("other", "voided")],
        "invoice/uncollectible": [invoiceNotice("other", "marked_uncollectible")],
        "invoice/overdue": [invoiceNotice("other", "overdue")],
    ]
}

// MARK: Refunds and disputes

extension StripeStated {
    /// A payment without a named invoice is a lineage of its own.
    private static func paid(
        _ kind: JSONText,
        _ id: EventID,
        effective: JSONText = noon,
        _ members: KeyValuePairs<String, JSONText>
    ) -> Event {
        var event = told(kind, id, effective: effective, members)
        event["subscription"] = "stripe/production/pi_1"
        if event["transaction"] == nil { event["transaction"] = "pi_1" }
        event["account"] = nil
        return event
    }

    private static let five: JSONText = ["amount": "5", "currency": "USD"]

    private static func refunded(
        _ id: String,
        _ amount: JSONText,
        _ reason: JSONText = "other",
        _ transaction: JSONText = "pi_1"
    ) -> Event {
        let money: JSONText = ["amount": amount, "currency": "USD"]
        return paid(
            "refunded",
            .refunded(lineage(""), refund: id),
            effective: "2026-03-01T11:59:00.000Z",
            [
                "transaction": transaction, "price": ["amount": amount, "currency": "USD", "role": "refund"],
                "detail": [
                    "transaction": transaction, "scope": ["type": "amount", "amount": money], "reason": reason,
                    "refund": .string(id),
                ],
                "facts": [
                    [
                        "fact": "refund",
                        "detail": [
                            "transaction": transaction, "refund": .string(id),
                            "scope": ["type": "amount", "amount": money],
                            "at": "2026-03-01T11:59:00.000Z", "ends_access": false,
                        ],
                    ]
                ],
            ]
        )
    }

    private static let reversed = paid(
        "refund_reversed",
        .refundReversed(lineage(""), transaction: "re_1"),
        [
            "detail": ["transaction": "pi_1", "refund": "re_1"],
            "facts": [
                [
                    "fact": "refund",
                    "detail": ["transaction": "pi_1", "refund": "re_1", "at": noon, "ends_access": false],
                ]
            ],
        ]
    )

    private static func disputed(_ stage: LifecycleEvent.Chargeback.Stage, facts: JSONText? = nil) -> Event {
        var event = paid(
            "chargeback",
            .chargeback(lineage(""), dispute: "dp_1", stage: stage),
            [
                "detail": [
                    "stage": .string(stage.rawValue), "transaction": "pi_1",
                    "amount": ["amount": "9.99", "currency": "USD"], "dispute": "dp_1",
                ]
            ]
        )
        event["facts"] = facts
        return event
    }

    private static let ofSubscription: Event = {
        var event = refunded("re_1", "5", "other", "in_1")
        event["subscription"] = "stripe/production/sub_1"
        event["account"] = ["id": "cus_1", "source": "stripe_customer"]
        event["facts"] = [
            [
                "fact": "refund",
                "detail": [
                    "transaction": "in_1", "refund": "re_1", "period_start": "2026-02-19T12:00:00.000Z",
                    "ends_access": false,
                ],
            ],
            ["fact": "transaction_name", "detail": ["transaction": "in_1", "name": "pi_1"]],
            ["fact": "link", "detail": "stripe/production/pi_1"],
        ]
        return event
    }()

    private static let linked: Event = {
        var event = told(
            "notice",
            nil,
            [
                "subscription": "stripe/production/in_1", "transaction": "in_1",
                "detail": ["kind": "payment_linked", "facts": ["invoice": "in_1", "payment": "pi_1"]],
                "facts": [
                    ["fact": "transaction_name", "detail": ["transaction": "in_1", "name": "pi_1"]],
                    ["fact": "link", "detail": "stripe/production/pi_1"],
                ],
            ]
        )
        event["account"] = nil
        return event
    }()

    static let payments: [String: [Event]] = [
        "payment/refund": [refunded("re_1", "5")],
        "payment/refund-succeeded": [refunded("re_1", "5")],
        "payment/refund-duplicate": [refunded("re_1", "5", "duplicate")],
        "payment/refund-looked-up": [ofSubscription],
        "payment/refund-failed": [reversed], "payment/refund-canceled": [reversed],
        "payment/refund-failed-unclear": [reversed], "payment/refund-old-failed": [reversed],
        "payment/charge-full": [
            paid(
                "refunded",
                .refunded(lineage(""), refund: "ch_1/refunded/999/1772366400"),
                [
                    "account": ["id": "cus_1", "source": "stripe_customer"],
                    "price": ["amount": "9.99", "currency": "USD", "role": "refund"],
                    "detail": [
                        "transaction": "pi_1", "scope": ["type": "full"], "reason": "unknown",
                        "refund": "ch_1/refunded/999/1772366400",
                    ],
                    "facts": [
                        [
                            "fact": "refund",
                            "detail": ["transaction": "pi_1", "scope": ["type": "full"], "ends_access": false],
                        ]
                    ],
                ]
            )
        ],
        // The second refund, which leaves nothing of the payment. The purpose of the invoice is unknown, so the fact
        // names the payment, as a sale by Checkout is named.
        "payment/charge-second-part": [
            paid(
                "refunded",
                .refunded(lineage(""), refund: "ch_1/refunded/999/1772366400"),
                [
                    "transaction": "in_1", "price": ["amount": "4.99", "currency": "USD", "role": "refund"],
                    "detail": [
                        "transaction": "in_1",
                        "scope": ["type": "amount", "amount": ["amount": "4.99", "currency": "USD"]],
                        "refund": "ch_1/refunded/999/1772366400",
                    ],
                    "facts": [
                        [
                            "fact": "refund",
                            "detail": ["transaction": "pi_1", "scope": ["type": "full"], "ends_access": false],
                        ],
                        ["fact": "transaction_name", "detail": ["transaction": "in_1", "name": "pi_1"]],
                        ["fact": "link", "detail": "stripe/production/in_1"],
                    ],
                ]
            )
        ],
        "payment/invoice-payment": [linked],
        "payment/dispute": [disputed(.opened)],
        "payment/dispute-inquiry": [disputed(.warning)],
        "payment/dispute-escalated": [disputed(.opened)],
        "payment/dispute-won": [disputed(.won)],
        "payment/dispute-inquiry-closed": [disputed(.won)],
        "payment/dispute-lost": [
            disputed(
                .lost,
                facts: [
                    [
                        "fact": "refund",
                        "detail": [
                            "transaction": "pi_1", "refund": "dp_1", "at": noon, "ends_access": true,
                            "scope": ["type": "amount", "amount": ["amount": "9.99", "currency": "USD"]],
                        ],
                    ]
                ]
            )
        ],
    ]
}
