import NotificationSimulator
import Normalizer

extension RevenueCatVectors {
    private static let began: [Fact.Kind] = [.period, .charge, .renewalIntent, .billing, .pause, .owner]
    private static let beganUncharged: [Fact.Kind] = [.period, .renewalIntent, .billing, .pause, .owner]
    private static let first = period(t0, t1)
    private static let second = period(t1, t2)

    /// Every type that RevenueCat documents, by condition.
    static func mappingCases() throws -> [Case] {
        try beginnings() + endings() + intents() + changes() + notices() + clocks()
    }

    private static func beginnings() throws -> [Case] {
        func purchase(_ id: String, _ changes: KeyValuePairs<String, JSONText?> = [:]) -> Event {
            Event("INITIAL_PURCHASE", id: id, at: t0 + 5000, .first, changes)
        }
        func renewal(_ id: String, _ changes: KeyValuePairs<String, JSONText?> = [:]) -> Event {
            Event("RENEWAL", id: id, at: t1 + 5000, .second, ["is_trial_conversion": false, "renewal_number": 2])
                .with(changes)
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
                "what it unlocks, the host knows",
                Event(
                    "NON_RENEWING_PURCHASE",
                    id: "E-33",
                    at: t0,
                    .first,
                    ["expiration_at_ms": nil, "entitlement_ids": .some(.null)]
                ).priced("1.99"),
                .event(
                    .oneTimePurchased(.init(type: .unknown, quantity: 1, price: try price("1.99"))),
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

    private static func endings() throws -> [Case] {
        func cancellation(_ id: String, _ reason: JSONText?, _ changes: KeyValuePairs<String, JSONText?> = [:]) -> Event
        {
            Event("CANCELLATION", id: id, at: t0 + 10 * day, .first, ["cancel_reason": reason]).with(changes)
        }
        func expiration(_ id: String, _ reason: JSONText?, _ changes: KeyValuePairs<String, JSONText?> = [:]) -> Event {
            Event("EXPIRATION", id: id, at: t1 + 40_000, .first, ["expiration_reason": reason]).with(changes)
        }
        let at = t0 + 10 * day - 15 * minute
        func refund(_ transaction: String = "O1", _ reason: LifecycleEvent.Refund.Reason = .unknown) -> LifecycleEvent {
            .refunded(.init(transaction: transaction, scope: .full, reason: reason, affectsCurrentPeriod: true))
        }
        let refunded: [Fact.Kind] = [.period, .refund, .owner]
        let ended: [Fact.Kind] = [.period, .periodEnded, .owner]
        var cases = [
            try proven(
                "refund/support",
                "support gave the money back; the end is the moment of the refund",
                cancellation("E-40", "CUSTOMER_SUPPORT", ["expiration_at_ms": .integer(at)]).priced("-9.99"),
                .event(refund(), refunded)
            ),
            try proven(
                "refund/trial",
                "a trial can be refunded at no price",
                cancellation("E-41", "CUSTOMER_SUPPORT", ["expiration_at_ms": .integer(at)]).priced("0"),
                .event(refund(), refunded)
            ),
            try proven(
                "refund/developer",
                "the developer gave it back: the price tells",
                cancellation("E-42", "DEVELOPER_INITIATED", ["expiration_at_ms": .integer(at)]).priced("-4.99"),
                .event(refund("O1", .developer), refunded)
            ),
            try proven(
                "refund/local-price",
                "only the local price is negative",
                cancellation(
                    "E-43",
                    "UNKNOWN",
                    ["price_in_purchased_currency": .raw("-8.99"), "currency": "EUR", "price": 0]
                ),
                .event(refund(), refunded)
            ),
            try proven(
                "refund/one-time",
                "a one-time purchase without an end",
                cancellation("E-44", "CUSTOMER_SUPPORT", ["expiration_at_ms": .some(.null)]).priced("-49.99"),
                .event(refund(), [.refund, .owner])
            ),
            try proven(
                "refund/family",
                "who shared got the money back; the member loses access and paid nothing",
                cancellation(
                    "E-40F",
                    "CUSTOMER_SUPPORT",
                    ["expiration_at_ms": .integer(at), "is_family_share": true]
                ).priced("0"),
                .event(.revoked(.init(reason: .familySharingEnded)), ended)
            ),
            try proven(
                "cancellation/developer",
                "without money it is only renewal that the developer ended",
                cancellation("E-45", "DEVELOPER_INITIATED").priced("0"),
                .event(
                    .autoRenewDisabled(.init(reason: .developer, accessUntil: date(t1))),
                    [.period, .renewalIntent, .owner]
                )
            ),
            try proven(
                "cancellation/grant",
                "a grant was taken back",
                grant("E-46", end: t0 + 7 * day)
                    .with([
                        "type": "CANCELLATION", "cancel_reason": "DEVELOPER_INITIATED",
                        "event_timestamp_ms": .integer(t0 + 2 * day),
                    ]),
                .event(.revoked(.init(reason: .developer)), ended)
            ),
            try proven(
                "cancellation/billing-grace",
                "a failed charge; the end holds the grace period",
                Event(
                    "CANCELLATION",
                    id: "E-47",
                    at: t1 + 32_000,
                    .first,
                    ["cancel_reason": "BILLING_ERROR", "expiration_at_ms": .integer(t1 + 16 * day)]
                ),
                .event(
                    .autoRenewDisabled(.init(reason: .billing, accessUntil: date(t1 + 16 * day))),
                    [.period, .renewalIntent, .billing, .owner]
                )
            ),
            try proven(
                "cancellation/billing-over",
                "a failed charge without grace: access is over by date",
                Event("CANCELLATION", id: "E-48", at: t1 + 1800, .first, ["cancel_reason": "BILLING_ERROR"]),
                .event(
                    .autoRenewDisabled(.init(reason: .billing, accessUntil: date(t1))),
                    [.period, .renewalIntent, .billing, .owner]
                )
            ),
            try proven(
                "cancellation/early-charge",
                "renewal turned off in a period that begins later",
                Event("CANCELLATION", id: "E-49", at: t1 - 22 * hour, .second, ["cancel_reason": "UNSUBSCRIBE"]),
                .event(
                    .autoRenewDisabled(.init(reason: .customer, accessUntil: date(t2))),
                    [.period, .renewalIntent, .owner]
                )
            ),
            try proven(
                "expiration/paused",
                "a pause began",
                expiration("E-60", "SUBSCRIPTION_PAUSED"),
                .event(.paused(.init()), ended)
            ),
            try proven(
                "expiration/no-end",
                "an end that is not stated is that of the webhook",
                expiration("E-61", "UNSUBSCRIBE", ["expiration_at_ms": nil]),
                .event(.expired(.init(reason: .customer)), [.periodEnded, .owner])
            ),
            try proven(
                "expiration/future-end",
                "an end cannot lie after its report",
                expiration("E-62", "BILLING_ERROR", ["expiration_at_ms": .integer(t2)]),
                .event(.expired(.init(reason: .billing)), ended)
            ),
            try proven(
                "expiration/no-start",
                "which period ended, nobody says",
                expiration("E-63", "UNKNOWN", ["purchased_at_ms": nil]),
                .event(.expired(.init(reason: .unknown)), [.owner])
            ),
            try proven(
                "expiration/nothing",
                "an end of nothing",
                expiration("E-64", "UNKNOWN", ["transaction_id": nil, "original_transaction_id": nil]),
                anomalies: ["event.transaction_id"],
                .event(.unmapped(.init(type: "EXPIRATION", subtype: "UNKNOWN")), [])
            ),
            try proven(
                "billing-issue/grace",
                "access goes on until the grace period ends",
                Event(
                    "BILLING_ISSUE",
                    id: "E-65",
                    at: t1 + 32_000,
                    .first,
                    [
                        "expiration_at_ms": .integer(t1 + 16 * day),
                        "grace_period_expiration_at_ms": .integer(t1 + 16 * day),
                    ]
                ),
                .event(
                    .billingIssue(.init(access: .grace(until: date(t1 + 16 * day)))),
                    [.period, .billing, .owner]
                )
            ),
            try proven(
                "billing-issue/no-grace",
                "access ends with the paid period",
                Event(
                    "BILLING_ISSUE",
                    id: "E-66",
                    at: t1 + 32_000,
                    .first,
                    ["grace_period_expiration_at_ms": .some(.null)]
                ),
                .event(.billingIssue(.init(access: .suspended)), [.period, .billing, .owner])
            ),
            try proven(
                "billing-issue/grace-past",
                "a grace period that is over is none",
                Event(
                    "BILLING_ISSUE",
                    id: "E-67",
                    at: t1 + 32_000,
                    .first,
                    ["grace_period_expiration_at_ms": .integer(t1 + 1000)]
                ),
                .event(.billingIssue(.init(access: .suspended)), [.period, .billing, .owner])
            ),
            try proven(
                "billing-issue/stripe",
                "the end of a Stripe period holds the time in which it tries again",
                Event(
                    "BILLING_ISSUE",
                    id: "E-68",
                    at: t1 + 32_000,
                    .first,
                    ["store": "STRIPE", "expiration_at_ms": .integer(t1 + 21 * day)]
                ),
                .event(
                    .billingIssue(.init(access: .grace(until: date(t1 + 21 * day)))),
                    [.period, .billing, .owner]
                )
            ),
            try proven(
                "refund-reversed",
                "a refund was undone",
                Event("REFUND_REVERSED", id: "E-69", at: t0 + 13 * day),
                .event(.refundReversed(.init(transaction: "O1")), [.period, .refund, .owner])
            ),
        ]
        let off: [(JSONText?, LifecycleEvent.AutoRenewDisabled.Reason)] = [
            ("UNSUBSCRIBE", .customer), ("PRICE_INCREASE", .priceIncreaseDeclined), ("UNKNOWN", .unknown),
            ("MOON_PHASE", .unknown), (nil, .unknown),
        ]
        for (index, (reason, canonical)) in off.enumerated() {
            cases.append(
                try proven(
                    "cancellation/reason-\(index + 1)",
                    "renewal turned off; access stays",
                    cancellation("E-5\(index)", reason),
                    .event(
                        .autoRenewDisabled(.init(reason: canonical, accessUntil: date(t1))),
                        [.period, .renewalIntent, .owner]
                    )
                )
            )
        }
        let over: [(JSONText?, LifecycleEvent.Expired.Reason)] = [
            ("UNSUBSCRIBE", .customer), ("BILLING_ERROR", .billing), ("PRICE_INCREASE", .priceIncreaseDeclined),
            ("DEVELOPER_INITIATED", .developer), ("CUSTOMER_SUPPORT", .refunded), ("UNKNOWN", .unknown),
            ("MOON_PHASE", .unknown), (nil, .unknown),
        ]
        for (index, (reason, canonical)) in over.enumerated() {
            cases.append(
                try proven(
                    "expiration/reason-\(index + 1)",
                    "access ended",
                    expiration("E-7\(index)", reason),
                    .event(.expired(.init(reason: canonical)), ended)
                )
            )
        }
        return cases
    }

    private static func intents() throws -> [Case] {
        [
            try proven(
                "uncancellation",
                "renewal turned on again",
                Event("UNCANCELLATION", id: "E-80", at: t0 + 11 * day),
                .event(.autoRenewEnabled, [.period, .renewalIntent, .owner])
            ),
            try proven(
                "paused",
                "a pause is planned; access goes on",
                Event(
                    "SUBSCRIPTION_PAUSED",
                    id: "E-81",
                    at: t0 + 15 * day,
                    .first,
                    ["store": "PLAY_STORE", "auto_resume_at_ms": .integer(t1 + 30 * day)]
                ),
                .event(.pauseScheduled(.init(resumesAt: date(t1 + 30 * day))), [.period, .pause, .owner])
            ),
            try proven(
                "paused/open",
                "a pause without an end",
                Event("SUBSCRIPTION_PAUSED", id: "E-82", at: t0 + 15 * day, .first, ["store": "PLAY_STORE"]),
                .event(.pauseScheduled(.init()), [.period, .pause, .owner])
            ),
            try proven(
                "extended",
                "the period ends later",
                Event(
                    "SUBSCRIPTION_EXTENDED",
                    id: "E-83",
                    at: t0 + 20 * day,
                    .first,
                    ["expiration_at_ms": .integer(t1 + 10 * day)]
                ),
                .event(.extended(.init(to: date(t1 + 10 * day), reason: .unknown)), [.period, .owner])
            ),
            try proven(
                "consent/required",
                "the store asks for consent",
                Event(
                    "PRICE_INCREASE_CONSENT_REQUIRED",
                    id: "E-84",
                    at: t0 + day,
                    .first,
                    ["purchased_at_ms": nil, "expiration_at_ms": nil]
                ),
                .event(.priceChange(.init(stage: .pending, consentRequired: true)), [.priceChange, .owner])
            ),
            try proven(
                "consent/approved",
                "the customer agreed",
                Event(
                    "PRICE_INCREASE_CONSENT_APPROVED",
                    id: "E-85",
                    at: t0 + day,
                    .first,
                    ["purchased_at_ms": nil, "expiration_at_ms": nil]
                ),
                .event(.priceChange(.init(stage: .accepted, consentRequired: false)), [.priceChange, .owner])
            ),
        ]
    }

    private static func changes() throws -> [Case] {
        func change(_ id: String, _ changes: KeyValuePairs<String, JSONText?>) -> Event {
            Event("PRODUCT_CHANGE", id: id, at: t0 + 15 * day, .first, changes)
        }
        let facts: [Fact.Kind] = [.period, .owner, .nextProduct]
        return [
            try proven(
                "product-change/app-store",
                "the App Store decides when, and the webhook does not say",
                change("E-90", ["new_product_id": "basic_m"]),
                .event(
                    .productChangeScheduled(
                        .init(
                            from: "pro_m",
                            to: "basic_m",
                            direction: .unknown,
                            timing: .atPeriodEnd(nil),
                            basis: .inferred
                        )
                    ),
                    facts
                )
            ),
            try proven(
                "product-change/play-deferred",
                "Play names the new product of a deferred change alone",
                change("E-91", ["store": "PLAY_STORE", "product_id": "s:pro", "new_product_id": "s:basic"]),
                .event(
                    .productChangeScheduled(
                        .init(
                            from: "s:pro",
                            to: "s:basic",
                            direction: .unknown,
                            timing: .atPeriodEnd(date(t1)),
                            basis: .store
                        )
                    ),
                    facts
                )
            ),
            try proven(
                "product-change/play-immediate",
                "the purchase of the new product follows",
                change("E-92", ["store": "PLAY_STORE", "product_id": "s:basic"]),
                .noChange(.reportedElsewhere)
            ),
            try proven(
                "product-change/no-target",
                "to what, only RevenueCat knows",
                change("E-93", ["store": "STRIPE"]),
                .noChange(.needsLookup)
            ),
            try proven(
                "product-change/withdrawn",
                "the change was taken back",
                change("E-94", ["new_product_id": "pro_m"]),
                .event(
                    .productChangeReverted(
                        .init(to: "pro_m", direction: .unknown, timing: .atPeriodEnd(date(t1)), basis: .store)
                    ),
                    [.period, .nextProduct, .owner]
                )
            ),
            try proven(
                "product-change/late",
                "announced days after the period that it names",
                change("E-95", ["new_product_id": "basic_m", "event_timestamp_ms": .integer(t1 + 4 * day)]),
                .event(
                    .productChangeScheduled(
                        .init(
                            from: "pro_m",
                            to: "basic_m",
                            direction: .unknown,
                            timing: .atPeriodEnd(nil),
                            basis: .inferred
                        )
                    ),
                    facts
                )
            ),
            try proven(
                "product-change/no-product",
                "a change of nothing",
                change("E-96", ["product_id": nil]),
                anomalies: ["event.product_id"],
                .event(.unmapped(.init(type: "PRODUCT_CHANGE")), [])
            ),
        ]
    }

    private static func notices() throws -> [Case] {
        func ids(_ ids: String...) -> [Account.Identifier] { ids.map { Account.Identifier($0, .appUserID) } }
        let transfer = Event([
            "type": "TRANSFER", "id": "E-100", "event_timestamp_ms": .integer(t0 + 9 * day), "app_id": "app0123456789",
            "environment": "PRODUCTION", "store": "APP_STORE", "transferred_from": ["u1", "$RCAnonymousID:a"],
            "transferred_to": ["u2"],
        ])
        let moved = LifecycleEvent.transferred(.init(from: ids("u1", "$RCAnonymousID:a"), to: ids("u2")))
        let redeemed = Event([
            "type": "PURCHASE_REDEEMED", "id": "E-103", "event_timestamp_ms": .integer(t0), "environment": "PRODUCTION",
            "store": "RC_BILLING", "redeemed_from": ["web"], "redeemed_by": ["u1"], "redemption_outcome": "alias",
            "redemption_platform": "ios", "product_id": "pro_m",
        ])
        let currency = Event([
            "type": "VIRTUAL_CURRENCY_TRANSACTION", "id": "E-106", "event_timestamp_ms": .integer(t0),
            "app_user_id": "u1", "purchase_environment": "SANDBOX", "source": "in_app_purchase",
            "virtual_currency_transaction_id": "vc1", "transaction_id": "T9", "product_id": "coins",
            "adjustments": [
                ["amount": 100, "currency": ["code": "GLD", "name": "Gold", "description": ""]],
                ["amount": -5, "currency": ["code": "SLV", "name": "Silver", "description": ""]],
            ],
        ])
        func adjusted(_ code: String, _ amount: String) -> LifecycleEvent {
            .notice(
                .init(
                    .virtualCurrency,
                    facts: [
                        "source": "in_app_purchase", "virtual_currency_transaction_id": "vc1", "currency": code,
                        "amount": amount, "transaction": "T9", "product": "coins",
                    ]
                )
            )
        }
        return [
            try proven(
                "transfer",
                "sent once, for the destination, without a product",
                transfer,
                .event(moved, [.transfer])
            ),
            try proven(
                "transfer/no-environment",
                "an old shape names no environment",
                transfer.with(["id": "E-101", "environment": nil]),
                .event(moved, [.transfer])
            ),
            try proven(
                "transfer/nowhere",
                "a move to nobody",
                transfer.with(["id": "E-102", "transferred_to": nil]),
                anomalies: ["event.transferred_to"],
                .event(.unmapped(.init(type: "TRANSFER")), [])
            ),
            try proven(
                "redeemed/alias",
                "two ids turn out to be one customer",
                redeemed,
                .event(
                    .notice(
                        .init(.accountsLinked, facts: ["redemption_outcome": "alias", "redemption_platform": "ios"])
                    ),
                    []
                )
            ),
            try proven(
                "redeemed/transfer",
                "the move comes in a webhook of its own",
                redeemed.with(["id": "E-104", "redemption_outcome": "transfer", "redeemed_from": .some(.null)]),
                .event(
                    .notice(
                        .init(.accountsLinked, facts: ["redemption_outcome": "transfer", "redemption_platform": "ios"])
                    ),
                    []
                )
            ),
            try proven(
                "alias",
                "deprecated, and still accepted",
                Event("SUBSCRIBER_ALIAS", id: "E-105", at: t0),
                .event(.notice(.init(.accountsLinked)), [])
            ),
            try proven(
                "virtual-currency",
                "one event for each currency",
                currency,
                .events([adjusted("GLD", "100"), adjusted("SLV", "-5")], facts: [])
            ),
            try proven(
                "virtual-currency/shape",
                "adjustments of another shape",
                currency.with(["id": "E-107", "adjustments": ["GLD"]]),
                anomalies: ["event.adjustments"],
                .event(
                    .notice(
                        .init(
                            .virtualCurrency,
                            facts: ["source": "in_app_purchase", "virtual_currency_transaction_id": "vc1"]
                        )
                    ),
                    []
                )
            ),
            try proven(
                "invoice",
                "an invoice that is not paid",
                Event(
                    "INVOICE_ISSUANCE",
                    id: "E-108",
                    at: t0,
                    .first,
                    ["store": "RC_BILLING", "period_type": .some(.null)]
                ),
                .event(.notice(.init(.invoiceIssued)), [])
            ),
            try proven(
                "experiment",
                "without store and environment",
                Event([
                    "type": "EXPERIMENT_ENROLLMENT", "id": "E-109", "event_timestamp_ms": .integer(t0),
                    "app_user_id": "u1",
                    "experiment_id": "exp1", "experiment_variant": "b", "offering_id": "sale",
                    "experiment_enrolled_at_ms": .integer(t0),
                ]),
                .event(
                    .notice(
                        .init(
                            .experiment,
                            facts: [
                                "experiment_id": "exp1", "experiment_variant": "b", "offering_id": "sale",
                                "enrolled_at": "2026-01-01T00:00:00.000Z",
                            ]
                        )
                    ),
                    []
                )
            ),
            try proven(
                "experiment/other-name",
                "the table calls the time by another name",
                Event([
                    "type": "EXPERIMENT_ENROLLMENT", "id": "E-110", "event_timestamp_ms": .integer(t0),
                    "enrolled_at_ms": .integer(t0),
                ]),
                .event(.notice(.init(.experiment, facts: ["enrolled_at": "2026-01-01T00:00:00.000Z"])), [])
            ),
            try proven(
                "test",
                "it looks like a purchase and is none",
                Event("TEST", id: "E-111", at: t0).priced("9.99"),
                .event(.notice(.init(.test)), [])
            ),
            try proven(
                "test/odd",
                "fields of other types do not matter in a test",
                Event("TEST", id: "E-112", at: t0, .first, ["purchased_at_ms": "soon", "aliases": "u1"]),
                anomalies: ["event.aliases", "event.purchased_at_ms"],
                .event(.notice(.init(.test)), [])
            ),
            try proven(
                "paywall",
                "a paywall was shown",
                Event([
                    "type": "PAYWALL_IMPRESSION", "id": "E-113", "event_timestamp_ms": .integer(t0),
                    "app_user_id": "u1",
                    "paywall_id": "pw1", "session_id": "s1", "offering_id": "sale",
                ]),
                .event(.notice(.init(.paywall, facts: ["paywall_id": "pw1", "offering_id": "sale"])), [])
            ),
            try proven(
                "paywall/renamed",
                "renamed in the dashboard to the name of a lifecycle type",
                Event("RENEWAL", id: "E-114", at: t0, .second, ["paywall_id": "pw1", "price": "free"]),
                anomalies: ["event.price"],
                .event(.notice(.init(.paywall, facts: ["paywall_id": "pw1"])), [])
            ),
            try proven(
                "paywall/session",
                "a session is a paywall's, too",
                Event("TRANSFER", id: "E-115", at: t0, .first, ["session_id": "s1"]),
                .event(.notice(.init(.paywall)), [])
            ),
            try proven(
                "unknown",
                "a type that RevenueCat introduced yesterday",
                Event("GIFT_RECEIVED", id: "E-116", at: t0),
                .event(.unmapped(.init(type: "GIFT_RECEIVED")), [])
            ),
            try proven(
                "unknown/odd",
                "of an unknown type nothing is promised",
                Event("GIFT_RECEIVED", id: "E-117", at: t0, .first, ["price": "free", "purchased_at_ms": true]),
                anomalies: ["event.purchased_at_ms", "event.price"],
                .event(.unmapped(.init(type: "GIFT_RECEIVED")), [])
            ),
        ]
    }

    private static func clocks() throws -> [Case] {
        let body = Event("RENEWAL", id: "E-120", at: 78_789_789_798_798, .second).body
        return [
            // It would outrank every later statement, so it is ordered by its receipt.
            try proven(
                "clock/far-ahead",
                "a placeholder seen in print",
                body: body,
                now: t1 + 60_000,
                anomalies: ["event.event_timestamp_ms"],
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second)), beganUncharged)
            ),
            try proven(
                "clock/day-ahead",
                "a clock that runs ahead, within a day",
                body: Event("RENEWAL", id: "E-121", at: t1 + day, .second).body,
                now: t1,
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second)), beganUncharged)
            ),
            try proven(
                "clock/redelivered",
                "an event may be days older than its delivery",
                body: Event("RENEWAL", id: "E-122", at: t1, .second).body,
                now: t1 + 9 * day,
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second)), beganUncharged)
            ),
            try proven(
                "clock/absent",
                "without its time a statement cannot be ordered",
                Event("RENEWAL", id: "E-123", at: t1, .second, ["event_timestamp_ms": nil]),
                anomalies: ["event.event_timestamp_ms"],
                .event(.unmapped(.init(type: "RENEWAL")), [])
            ),
        ]
    }
}
