import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    static func intents() throws -> [Case] {
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

    static func changes() throws -> [Case] {
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
}
