import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    static func endings() throws -> [Case] {
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
                "refund/kept",
                "on the web money can go back and access stay: the end is that of the period",
                cancellation("E-44K", "CUSTOMER_SUPPORT", ["store": "STRIPE"]).priced("-9.99"),
                .event(
                    .refunded(.init(transaction: "O1", scope: .full, reason: .unknown, affectsCurrentPeriod: nil)),
                    refunded
                )
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
                "a failed charge whose paid end is over: of grace another webhook may tell",
                Event("CANCELLATION", id: "E-48", at: t1 + 1800, .first, ["cancel_reason": "BILLING_ERROR"]),
                .event(
                    .autoRenewDisabled(.init(reason: .billing)),
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
}
