import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    static func beginnings() throws -> [Case] {
        func purchase(_ id: String, _ changes: KeyValuePairs<String, JSONText?> = [:]) -> Event {
            Event("INITIAL_PURCHASE", id: id, at: t0 + 5000, .first, changes)
        }
        func renewal(_ id: String, _ changes: KeyValuePairs<String, JSONText?> = [:]) -> Event {
            Event("RENEWAL", id: id, at: t1 + 5000, .second, ["is_trial_conversion": false, "renewal_number": 2])
                .with(changes)
        }
        /// One of the products of a Play subscription.
        func item(_ product: String, _ type: String, _ amount: String) -> JSONText {
            [
                "product_id": .string(product), "type": .string(type), "expiration_at_ms": .integer(t1),
                "price": .raw(amount), "price_in_purchased_currency": .raw(amount), "currency": "USD",
            ]
        }
        let dollars = try price("9.99")
        let euros = try price("8.99", "EUR")
        return [
            try proven(
                "initial-purchase/normal",
                "the first purchase of a subscription",
                purchase("E-1").priced("9.732", "8.99", "EUR"),
                .event(.started(.init(origin: .new, phase: .regular, period: first, price: euros)), began)
            ),
            try proven(
                "initial-purchase/trial",
                "a trial costs nothing",
                purchase("E-2", ["period_type": "TRIAL"]).priced("0"),
                .event(.started(.init(origin: .new, phase: .trial, period: first, price: try price("0"))), began)
            ),
            try proven(
                "initial-purchase/intro",
                "an introductory price",
                purchase("E-3", ["period_type": "INTRO"]).priced("0.99"),
                .event(
                    .started(.init(origin: .new, phase: .introductory, period: first, price: try price("0.99"))),
                    began
                )
            ),
            try proven(
                "initial-purchase/prepaid",
                "what is prepaid does not renew",
                purchase("E-4", ["period_type": "PREPAID", "store": "PLAY_STORE"]).priced("9.99"),
                .event(.started(.init(origin: .new, phase: .prepaid, period: first, price: dollars)), began)
            ),
            try proven(
                "initial-purchase/add-ons",
                "a Play subscription with an add-on: each has a price and a lineage of its own",
                purchase(
                    "E-4A",
                    [
                        "store": "PLAY_STORE", "currency": "USD",
                        "items": [item("pro_m", "base", "8.99"), item("hifi", "addon", "1.00")],
                    ]
                ).priced("9.99"),
                .events(
                    try ["8.99", "1.00"].map {
                        .started(.init(origin: .new, phase: .regular, period: first, price: try price($0)))
                    },
                    facts: began
                )
            ),
            try proven(
                "initial-purchase/promotional-period",
                "a period that an offer pays for",
                purchase("E-5", ["period_type": "PROMOTIONAL", "offer_code": "SPRING"]).priced("4.99"),
                .event(
                    .started(.init(origin: .new, phase: .promotional, period: first, price: try price("4.99"))),
                    began
                )
            ),
            try proven(
                "initial-purchase/new-period-type",
                "a kind of period that nobody knew",
                purchase("E-6", ["period_type": "LOYALTY"]).priced("9.99"),
                .event(.started(.init(origin: .new, phase: .regular, period: first, price: dollars)), began)
            ),
            try proven(
                "initial-purchase/family",
                "who shares pays nothing",
                purchase("E-7", ["is_family_share": true]).priced("9.99"),
                .event(
                    .started(
                        .init(
                            origin: .familyShared,
                            phase: .regular,
                            period: first,
                            price: try price("9.99", "USD", .list)
                        )
                    ),
                    beganUncharged
                )
            ),
            try proven(
                "initial-purchase/estimate",
                "an estimate in US dollars is no statement of a charge",
                purchase("E-8", ["price": .raw("25.487")]),
                .event(
                    .started(
                        .init(origin: .new, phase: .regular, period: first, price: try price("25.487", "USD", .list))
                    ),
                    beganUncharged
                )
            ),
            try proven(
                "initial-purchase/exact",
                "amounts are taken from the text",
                purchase("E-9").priced("9.990000000000000213", "0.1234567890123456789", "JPY"),
                .event(
                    .started(
                        .init(
                            origin: .new,
                            phase: .regular,
                            period: first,
                            price: try price("0.1234567890123456789", "JPY")
                        )
                    ),
                    began
                )
            ),
            try proven(
                "initial-purchase/exponent",
                "an exponent is another way of writing it",
                purchase("E-10").priced("999e-2"),
                .event(.started(.init(origin: .new, phase: .regular, period: first, price: dollars)), began)
            ),
            try proven(
                "initial-purchase/no-end",
                "a subscription without an end would give access for ever",
                purchase("E-11", ["expiration_at_ms": .some(.null)]).priced("9.99"),
                anomalies: ["event.expiration_at_ms"],
                .event(.unmapped(.init(type: "INITIAL_PURCHASE")), [])
            ),
            try proven(
                "initial-purchase/no-start",
                "a period without a start is none",
                purchase("E-12", ["purchased_at_ms": nil]),
                anomalies: ["event.purchased_at_ms"],
                .event(.unmapped(.init(type: "INITIAL_PURCHASE")), [])
            ),
            try proven(
                "initial-purchase/no-transaction",
                "a purchase that cannot be told from others",
                purchase("E-13", ["transaction_id": nil, "original_transaction_id": .some(.null)]),
                anomalies: ["event.transaction_id"],
                .event(.unmapped(.init(type: "INITIAL_PURCHASE")), [])
            ),
            try proven(
                "initial-purchase/no-product",
                "a purchase of nothing",
                purchase("E-14", ["product_id": ""]),
                anomalies: ["event.product_id"],
                .event(.unmapped(.init(type: "INITIAL_PURCHASE")), [])
            ),
            try proven(
                "initial-purchase/aliases-only",
                "a customer with aliases alone",
                purchase("E-15", ["app_user_id": nil, "original_app_user_id": nil, "aliases": ["a", "b", "a"]]),
                .event(.started(.init(origin: .new, phase: .regular, period: first)), beganUncharged)
            ),
            try proven(
                "initial-purchase/nobody",
                "a customer is not always named",
                purchase("E-16", ["app_user_id": nil, "original_app_user_id": nil, "aliases": nil]),
                .event(
                    .started(.init(origin: .new, phase: .regular, period: first)),
                    [.period, .renewalIntent, .billing, .pause]
                )
            ),
            try proven(
                "renewal/normal",
                "another period",
                renewal("E-20").priced("9.99"),
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second, price: dollars)), began)
            ),
            try proven(
                "renewal/trial-conversion",
                "a trial turned into a paid period",
                renewal("E-21", ["is_trial_conversion": true]).priced("9.99"),
                .event(.renewed(.init(cause: .trialConversion, phase: .regular, period: second, price: dollars)), began)
            ),
            try proven(
                "renewal/early",
                "charged ahead: the period begins eight hours after the webhook",
                renewal("E-22", ["event_timestamp_ms": .integer(t1 - 8 * hour)]).priced("9.99"),
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second, price: dollars)), began)
            ),
            try proven(
                "renewal/same-transaction",
                "a transaction that two periods share tells neither",
                renewal("E-23", ["transaction_id": "O1"]).priced("9.99"),
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second, price: dollars)), began)
            ),
            try proven(
                "renewal/free-app-store",
                "outside Stripe a free renewal is one",
                renewal("E-24").priced("0"),
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second, price: try price("0"))), began)
            ),
            try proven(
                "grant/limited",
                "a promotional grant until a day",
                grant("E-30", end: t0 + 7 * day),
                .event(
                    .started(.init(origin: .granted, phase: .promotional, period: period(t0, t0 + 7 * day))),
                    [.period, .renewalIntent, .owner]
                )
            ),
            try proven(
                "grant/lifetime",
                "a promotional grant for good has no end",
                grant("E-31", end: nil),
                .event(
                    .started(.init(origin: .granted, phase: .promotional, period: period(t0, nil))),
                    [.period, .renewalIntent, .owner]
                )
            ),
            try proven(
                "one-time/lifetime",
                "an entitlement for good",
                Event("NON_RENEWING_PURCHASE", id: "E-32", at: t0, .first, ["expiration_at_ms": .some(.null)])
                    .priced("49.99"),
                .event(
                    .oneTimePurchased(.init(type: .nonConsumable, quantity: 1, price: try price("49.99"))),
                    [.purchase, .charge, .owner]
                )
            ),
            try proven(
                "one-time/no-entitlement",
                "what unlocks nothing gives no access",
                Event(
                    "NON_RENEWING_PURCHASE",
                    id: "E-33",
                    at: t0,
                    .first,
                    ["expiration_at_ms": nil, "entitlement_ids": .some(.null)]
                ).priced("1.99"),
                .event(
                    .oneTimePurchased(.init(type: .consumable, quantity: 1, price: try price("1.99"))),
                    [.purchase, .charge, .owner]
                )
            ),
            try proven(
                "one-time/limited",
                "a subscription that does not renew gives access until its end",
                Event("NON_RENEWING_PURCHASE", id: "E-34", at: t0).priced("19.99"),
                .event(
                    .oneTimePurchased(
                        .init(type: .nonRenewing, quantity: 1, price: try price("19.99"), expires: date(t1))
                    ),
                    [.purchase, .charge, .owner]
                )
            ),
            try proven(
                "temporary/dates",
                "access before the store could be asked, for a day at most",
                Event("TEMPORARY_ENTITLEMENT_GRANT", id: "E-35", at: t0, .first),
                .event(
                    .started(.init(origin: .temporary, phase: .regular, period: period(t0, t0 + day))),
                    [.period, .owner]
                )
            ),
            try proven(
                "temporary/shorter",
                "its own end where that is earlier",
                Event(
                    "TEMPORARY_ENTITLEMENT_GRANT",
                    id: "E-36",
                    at: t0,
                    .first,
                    ["expiration_at_ms": .integer(t0 + 3 * hour)]
                ),
                .event(
                    .started(.init(origin: .temporary, phase: .regular, period: period(t0, t0 + 3 * hour))),
                    [.period, .owner]
                )
            ),
            try proven(
                "temporary/sample",
                "the published sample, without dates or transaction",
                Event([
                    "type": "TEMPORARY_ENTITLEMENT_GRANT", "id": "E-37", "event_timestamp_ms": .integer(t0),
                    "app_id": "app0123456789", "app_user_id": "u1", "store": "APP_STORE",
                ]),
                .event(
                    .started(.init(origin: .temporary, phase: .regular, period: period(t0, t0 + day))),
                    [.period, .owner]
                )
            ),
        ]
    }

    static func grant(_ id: String, end: Int64?) -> Event {
        Event([
            "type": "NON_RENEWING_PURCHASE", "id": .string(id), "event_timestamp_ms": .integer(t0), "app_user_id": "u1",
            "aliases": ["u1"], "environment": "PRODUCTION", "store": "PROMOTIONAL", "period_type": "PROMOTIONAL",
            "product_id": "rc_promo_pro_custom with space", "purchased_at_ms": .integer(t0),
            "transaction_id": "promo-1", "original_transaction_id": "promo-1",
        ]).with(["expiration_at_ms": end.map { .integer($0) }])
    }
}
