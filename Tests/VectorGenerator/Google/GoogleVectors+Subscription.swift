import ConformanceVectors
import Normalizer

// Changes of a subscription between its beginning and its end, beyond the table of numbers and states.
extension GoogleVectors {
    static func subscriptionCases() -> [Case] {
        var cases: [Case] = []

        func add(
            _ id: String,
            _ why: String,
            _ number: Int,
            _ purchase: Purchase,
            others: [String] = [],
            config: [String: String] = [:],
            at time: Int64 = event,
            _ expect: Expectation
        ) {
            cases.append(
                Case(
                    id: id,
                    why: why,
                    notification: hint(number, at: time),
                    http: [subscriptionAnswer(purchase.json)] + others,
                    config: config,
                    expect: expect
                )
            )
        }
        func priceChange(_ mode: String, _ state: String) -> Item {
            Item(plan: [
                "priceChangeDetails": JSON.object([
                    "newPrice": money(11, 990_000_000), "priceChangeMode": JSON.string(mode),
                    "priceChangeState": JSON.string(state), "expectedNewPriceChargeTime": JSON.time(event + 30 * day),
                ])
            ])
        }
        func consent(_ state: String) -> Item {
            Item(plan: [
                "priceStepUpConsentDetails": JSON.object([
                    "state": JSON.string(state), "consentDeadlineTime": JSON.time(event + 25 * day),
                    "newPrice": money(9900, 0, "KRW"),
                ])
            ])
        }
        func ended(_ by: String, _ item: Item = Item(), _ change: (inout Purchase) -> Void = { _ in }) -> Purchase {
            var purchase = purchase("EXPIRED", item)
            purchase.extra["canceledStateContext"] = canceled(by)
            change(&purchase)
            return purchase
        }

        // Renewals.
        add(
            "renewed-first",
            "the first renewal",
            2,
            purchase("ACTIVE", Item(order: "\(order)..0")),
            .events([
                Expected(
                    "renewed",
                    JSON.object([
                        "cause": "\"scheduled\"",
                        "period": JSON.object(["start": JSON.time(event), "end": JSON.time(event + 30 * day)]),
                    ])
                )
            ])
        )
        add(
            "renewed-order",
            "the renewal's order tells when its period began and what was charged",
            2,
            purchase("ACTIVE"),
            others: [
                orderAnswer(
                    JSON.object([
                        "orderId": JSON.string("\(order)..1"), "state": "\"PROCESSED\"",
                        "lineItems": JSON.array([
                            JSON.object([
                                "productId": "\"premium\"", "total": money(9, 990_000_000),
                                "subscriptionDetails": JSON.object([
                                    "servicePeriodStartTime": JSON.time(event - 45 * second),
                                    "servicePeriodEndTime": JSON.time(event + 30 * day),
                                ]),
                            ])
                        ]),
                    ]),
                    order: "\(order)..1"
                )
            ],
            config: ["orderLookup": "\"charged\""],
            .events([
                Expected(
                    "renewed",
                    JSON.object([
                        "period": JSON.object([
                            "start": JSON.time(event - 45 * second), "end": JSON.time(event + 30 * day),
                        ]),
                        "price": #"{"amount":"9.99","currency":"EUR","role":"charged"}"#,
                    ])
                )
            ])
        )
        add(
            "renewed-and-expired",
            "a renewal that was delivered after the end",
            2,
            purchase("EXPIRED"),
            at: event - 30 * day,
            .events([Expected("renewed", #"{"cause":"unknown"}"#), Expected("expired", #"{"reason":"customer"}"#)])
        )
        add(
            "renewed-never",
            "a renewal of a purchase that ended in its first period",
            2,
            purchase("EXPIRED", Item(order: order)),
            .events([Expected("expired", #"{"reason":"customer"}"#)])
        )
        add(
            "tester",
            "a licence tester's renewal",
            2,
            purchase("ACTIVE").with { $0.isTest = true },
            .events([Expected("renewed", #"{"cause":"scheduled"}"#)])
        )

        // Ends of renewal.
        add(
            "canceled-by-developer",
            "the developer stopped the payments",
            3,
            purchase("CANCELED").with { $0.extra["canceledStateContext"] = canceled("developerInitiated") },
            .events([Expected("auto_renew_disabled", #"{"reason":"developer"}"#)])
        )
        add(
            "canceled-by-system",
            "the charge failed for good",
            3,
            purchase("CANCELED").with { $0.extra["canceledStateContext"] = canceled("systemInitiated") },
            .events([Expected("auto_renew_disabled", #"{"reason":"billing"}"#)])
        )
        add(
            "canceled-by-somebody",
            "by somebody that nobody knows yet",
            3,
            purchase("CANCELED").with { $0.extra["canceledStateContext"] = canceled("courtInitiated") },
            .events([Expected("auto_renew_disabled", #"{"reason":"unknown"}"#)])
        )
        add(
            "canceled-without-context",
            "nobody says by whom",
            3,
            purchase("CANCELED").with { $0.extra["canceledStateContext"] = nil },
            .events([Expected("auto_renew_disabled", #"{"reason":"unknown"}"#)])
        )
        add(
            "canceled-past-end",
            "canceled, and the end is past: the state is not another one for that",
            3,
            purchase("CANCELED").with { $0.items = [$0.items[0].with { $0.expiry = event - hour }] },
            .events([Expected("auto_renew_disabled", JSON.object(["access_until": JSON.time(event - hour)]))])
        )
        add(
            "canceled-after-hold",
            "given up after the hold: ended at once, and the date is that of the giving up",
            3,
            ended("systemInitiated"),
            .events([Expected("expired", #"{"reason":"billing"}"#)])
        )
        add(
            "canceled-in-grace",
            "canceled by the customer in grace: ended at once",
            3,
            purchase("EXPIRED"),
            .events([Expected("expired", #"{"reason":"customer"}"#)])
        )
        add(
            "expired-although-canceled",
            "ended, and an answer that still says canceled with an end that is past",
            13,
            purchase("CANCELED").with { $0.items = [$0.items[0].with { $0.expiry = event - second }] },
            .events([Expected("expired", #"{"reason":"customer"}"#)])
        )
        add(
            "expired-and-active",
            "ended a second ago, and an answer that says otherwise: not the last word",
            13,
            purchase("ACTIVE"),
            at: noon - second,
            .reject(.unavailable)
        )
        add(
            "expired-by-developer",
            "ended by the developer",
            13,
            ended("developerInitiated"),
            .events([Expected("expired", #"{"reason":"developer"}"#)])
        )
        add(
            "expired-price-not-agreed",
            "ended because a price was not agreed to",
            13,
            ended("systemInitiated", priceChange("PRICE_INCREASE", "OUTSTANDING")),
            .events([Expected("expired", #"{"reason":"price_increase_declined"}"#)])
        )
        add(
            "expired-consent-missed",
            "ended because a step-up was not consented to",
            13,
            ended("systemInitiated", consent("PENDING")),
            .events([Expected("expired", #"{"reason":"price_increase_declined"}"#)])
        )
        add(
            "price-not-agreed",
            "will not renew because a price was not agreed to",
            19,
            purchase("CANCELED", priceChange("PRICE_INCREASE", "OUTSTANDING")).with {
                $0.extra["canceledStateContext"] = canceled("systemInitiated")
            },
            .events([Expected("auto_renew_disabled", #"{"reason":"price_increase_declined"}"#)])
        )
        add(
            "consent-missed",
            "will not renew because a step-up was not consented to",
            22,
            purchase("CANCELED", consent("PENDING")).with {
                $0.extra["canceledStateContext"] = canceled("systemInitiated")
            },
            .events([Expected("auto_renew_disabled", #"{"reason":"price_increase_declined"}"#)])
        )

        // Revocations: the resource shows who canceled, and not why it was revoked.
        add(
            "revoked-refund",
            "refunded and revoked by the developer, which the resource shows as the customer's doing",
            12,
            purchase("EXPIRED"),
            .events([Expected("revoked", #"{"reason":"unknown"}"#)])
        )
        add(
            "revoked-unacknowledged",
            "nobody acknowledged it for three days",
            12,
            ended("systemInitiated", Item(order: order)) {
                $0.start = event - 3 * day - second
                $0.acknowledgement = "PENDING"
            },
            .events([Expected("revoked", #"{"reason":"unacknowledged"}"#)])
        )
        add(
            "revoked-unacknowledged-tester",
            "nor a licence tester's for five minutes",
            12,
            ended("systemInitiated", Item(order: order)) {
                $0.start = event - 301 * second
                $0.acknowledgement = "PENDING"
                $0.isTest = true
            },
            .events([Expected("revoked", #"{"reason":"unacknowledged"}"#)])
        )
        add(
            "revoked-before-deadline",
            "revoked while there was time to acknowledge it",
            12,
            ended("systemInitiated", Item(order: order)) {
                $0.start = event - hour
                $0.acknowledgement = "PENDING"
            },
            .events([Expected("revoked", #"{"reason":"unknown"}"#)])
        )

        // Failed charges.
        add(
            "grace-pending-order",
            "a declined renewal in grace; the paid order is the one before",
            6,
            purchase("IN_GRACE_PERIOD"),
            .events([Expected("billing_issue", #"{"access":"grace"}"#)])
        )
        add(
            "recovered-in-grace",
            "paid in grace comes as a renewal, with the end where grace had put it",
            2,
            purchase("ACTIVE", Item(expiry: event + 27 * day, order: "\(order)..2")),
            .events([Expected("renewed", #"{"cause":"scheduled"}"#)])
        )
        add(
            "grace-overtaken",
            "grace, and paid by the time that we ask",
            6,
            purchase("ACTIVE", Item(order: "\(order)..2")),
            .events([Expected("renewed", #"{"cause":"recovery_from_grace"}"#)])
        )
        add(
            "hold-overtaken-in-first-period",
            "hold, and an answer without any renewal: nothing was charged that anybody knows of",
            5,
            purchase("ACTIVE", Item(order: order)),
            .nothing("stale")
        )
        add(
            "hold-of-add-ons",
            "on hold everything is off, also what was paid for longer",
            5,
            purchase("ON_HOLD").with {
                $0.items = [Item(expiry: event + 9 * day), Item(product: "voice", expiry: event - day)]
            },
            .events([
                Expected("billing_issue", #"{"access":"suspended"}"#),
                Expected("billing_issue", #"{"access":"suspended"}"#),
            ])
        )
        add(
            "hold-of-longer-add-on",
            "also where the add-on was paid for longer",
            5,
            purchase("ON_HOLD").with {
                $0.items = [
                    Item(expiry: event - day), Item(product: "voice", expiry: event + 9 * day, price: money(2)),
                ]
            },
            .events([
                Expected("billing_issue", #"{"access":"suspended"}"#),
                Expected("billing_issue", #"{"access":"suspended"}"#),
            ])
        )

        // Pauses.
        add(
            "pause-planned",
            "a pause was planned, moved or dropped: access goes on",
            11,
            purchase("ACTIVE"),
            .events([Expected("pause_scheduled", "{}")])
        )
        add(
            "pause-without-date",
            "paused, and nobody says until when",
            10,
            purchase("PAUSED").with { $0.extra["pausedStateContext"] = "{}" },
            .events([Expected("paused", "{}")])
        )
        add(
            "resume-failed",
            "the charge at the end of a pause failed",
            10,
            purchase("ON_HOLD"),
            .events([Expected("billing_issue", #"{"access":"suspended"}"#)])
        )

        // Deferrals.
        add(
            "deferred-by-developer",
            "the developer moved the renewal: no change of product, no charge",
            9,
            purchase("ACTIVE", Item(expiry: event + 44 * day)),
            .events([
                Expected("extended", JSON.object(["to": JSON.time(event + 44 * day), "reason": "\"deferral\""]))
            ])
        )
        add(
            "deferred-prepaid",
            "and of what was paid in advance",
            9,
            purchase("ACTIVE", Item(expiry: event + 44 * day, order: order, phase: nil, isPrepaid: true)),
            .events([Expected("extended", #"{"reason":"deferral"}"#)])
        )

        // Prices.
        for (mode, state, expected) in [
            ("PRICE_INCREASE", "OUTSTANDING", #"{"stage":"pending","consent_required":true}"#),
            ("PRICE_INCREASE", "CONFIRMED", #"{"stage":"accepted","consent_required":false}"#),
            ("PRICE_INCREASE", "APPLIED", #"{"stage":"applied","consent_required":false}"#),
            ("PRICE_INCREASE", "CANCELED", #"{"stage":"declined","consent_required":false}"#),
            ("OPT_OUT_PRICE_INCREASE", "OUTSTANDING", #"{"stage":"pending","consent_required":false}"#),
            ("PRICE_DECREASE", "OUTSTANDING", #"{"stage":"pending","consent_required":false}"#),
        ] {
            add(
                "price-\(mode)-\(state)",
                "a change of price: \(mode), \(state)",
                19,
                purchase("ACTIVE", priceChange(mode, state)),
                .events([Expected("price_change", expected)])
            )
        }
        add(
            "price-state-unknown",
            "a change of price in a state that nobody knows yet",
            19,
            purchase("ACTIVE", priceChange("PRICE_INCREASE", "NEGOTIATED")),
            .nothing("stale")
        )
        add("price-none", "a change of price, and none is there", 19, purchase("ACTIVE"), .nothing("stale"))
        for (state, stage) in [("PENDING", "pending"), ("CONFIRMED", "accepted"), ("COMPLETED", "applied")] {
            add(
                "consent-\(state)",
                "consent to a step-up: \(state)",
                22,
                purchase("ACTIVE", consent(state)),
                .events([Expected("price_change", #"{"stage":"\#(stage)"}"#)])
            )
        }
        add("consent-none", "consent, and none is asked for", 22, purchase("ACTIVE"), .nothing("stale"))

        // Commitments.
        let installments = Item(plan: [
            "installmentDetails": JSON.object([
                "initialCommittedPaymentsCount": "12", "subsequentCommittedPaymentsCount": "12",
                "remainingCommittedPaymentsCount": "7",
            ])
        ])
        add(
            "installment",
            "an instalment was charged",
            2,
            purchase("ACTIVE", installments),
            .events([Expected("renewed", #"{"cause":"scheduled"}"#)])
        )
        add(
            "commitment-undone",
            "canceled, and undone by the time that we ask",
            18,
            purchase("ACTIVE", installments),
            .nothing("stale")
        )
        add(
            "commitment-over",
            "the end of a commitment that was canceled",
            3,
            purchase("CANCELED", installments),
            .events([Expected("auto_renew_disabled", #"{"reason":"customer"}"#)])
        )

        // Items.
        add(
            "item-removed-later",
            "an add-on goes at its end",
            17,
            Purchase(items: [Item(), Item(product: "voice", price: money(2), extra: ["deferredItemRemoval": "{}"])]),
            .events([
                Expected("product_changed", #"{"direction":"add_ons"}"#),
                Expected("auto_renew_disabled", #"{"reason":"customer"}"#),
            ])
        )
        add(
            "item-ended",
            "an add-on whose time is over beside one that goes on",
            17,
            Purchase(items: [Item(), Item(product: "voice", expiry: event - hour, isRenewing: false, price: money(2))]),
            .events([
                Expected("product_changed", #"{"direction":"add_ons"}"#), Expected("expired", #"{"reason":"unknown"}"#),
            ])
        )
        add(
            "item-revoked",
            "one item was revoked and refunded; the purchase goes on",
            12,
            Purchase(items: [
                Item(), Item(product: "voice", expiry: event - second, isRenewing: false, price: money(2)),
            ]),
            .events([Expected("revoked", #"{"reason":"unknown"}"#)])
        )
        add(
            "items-renewed",
            "a renewal of two items is one of each",
            2,
            Purchase(items: [Item(), Item(product: "voice", price: money(2))]),
            .events([
                Expected("renewed", #"{"price":{"amount":"9.99","currency":"EUR","role":"list"}}"#),
                Expected("renewed", #"{"price":{"amount":"2","currency":"EUR","role":"list"}}"#),
            ])
        )

        // Answers that cannot be believed.
        add(
            "active-without-end",
            "access without an end would never cease",
            2,
            purchase("ACTIVE", Item(expiry: nil)),
            .reject(.malformed)
        )
        add(
            "no-items",
            "a purchase of nothing",
            2,
            purchase("ACTIVE").with { $0.items = [] },
            .reject(.malformed)
        )
        add(
            "money-as-number",
            "an amount with units as a fraction",
            2,
            purchase("ACTIVE", Item(price: #"{"currencyCode":"EUR","units":9.99}"#)),
            .reject(.malformed)
        )
        add(
            "money-of-two-signs",
            "units and billionths of two signs",
            2,
            purchase("ACTIVE", Item(price: #"{"currencyCode":"EUR","units":"9","nanos":-10000000}"#)),
            .reject(.malformed)
        )
        add(
            "money-without-currency",
            "an amount of no currency",
            2,
            purchase("ACTIVE", Item(price: #"{"units":"9"}"#)),
            .reject(.malformed)
        )
        add(
            "money-exact",
            "0.990000001, which no binary fraction can hold",
            2,
            purchase("ACTIVE", Item(price: money(0, 990_000_001, "USD"))),
            .events([Expected("renewed", #"{"price":{"amount":"0.990000001","currency":"USD","role":"list"}}"#)])
        )
        add(
            "money-large",
            "the largest amount there is",
            2,
            purchase("ACTIVE", Item(price: money(.max, 999_999_999, "IRR"))),
            .events([
                Expected(
                    "renewed",
                    #"{"price":{"amount":"9223372036854775807.999999999","currency":"IRR","role":"list"}}"#
                )
            ])
        )
        add(
            "time-without-zone",
            "a time without a zone",
            2,
            purchase("ACTIVE", Item(expiry: nil, extra: ["expiryTime": "\"2026-04-01T12:00:00\""])),
            .reject(.malformed)
        )
        add(
            "time-as-number",
            "a time as a number",
            2,
            purchase("ACTIVE", Item(expiry: nil, extra: ["expiryTime": "1772366400000"])),
            .reject(.malformed)
        )
        return cases
    }
}
