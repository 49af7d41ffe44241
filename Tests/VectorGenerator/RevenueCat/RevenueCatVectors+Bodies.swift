import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    /// Stores, with their products, orders and names.
    static func storeCases() throws -> [Case] {
        func store(_ name: String, _ id: String, _ changes: KeyValuePairs<String, JSONText?> = [:]) throws -> Case {
            try proven(
                "store/\(id)",
                "a purchase in \(name)",
                Event("RENEWAL", id: "S-\(id)", at: t1 + 5000, .second, ["store": .string(name)]).with(changes)
                    .priced("9.99"),
                .event(
                    .renewed(.init(cause: .unknown, phase: .regular, period: period(t1, t2), price: try price("9.99"))),
                    [.period, .charge, .renewalIntent, .billing, .pause, .owner]
                )
            )
        }
        return [
            try store("APP_STORE", "app-store"),
            // A purchase keeps its identity whichever of Apple's stores reports it.
            try store("MAC_APP_STORE", "mac-app-store"),
            try store(
                "PLAY_STORE",
                "play-order",
                ["product_id": "s:monthly", "original_transaction_id": "GPA.1-2", "transaction_id": "GPA.1-2..0"]
            ),
            try store(
                "PLAY_STORE",
                "play-suffixed-original",
                ["product_id": "s:monthly", "original_transaction_id": "GPA.1-2..0", "transaction_id": "GPA.1-2..1"]
            ),
            try store(
                "PLAY_STORE",
                "play-old-product",
                ["product_id": "s", "original_transaction_id": "GPA.1-2", "transaction_id": "GPA.1-2..2"]
            ),
            try store(
                "PLAY_STORE",
                "play-deferred",
                ["product_id": "s:basic", "original_transaction_id": "GPA.3-4", "transaction_id": "GPA.3-4"]
            ),
            try store(
                "PLAY_STORE",
                "play-odd-names",
                [
                    "product_id": ":x", "original_transaction_id": "..1", "transaction_id": "..2",
                    "offer_code": "AUTUMN",
                ]
            ),
            try store(
                "APP_STORE",
                "app-store-dots",
                ["product_id": "a:b", "original_transaction_id": "O..1", "transaction_id": "O..2"]
            ),
            try store("STRIPE", "stripe"),
            try store("AMAZON", "amazon"), try store("ROKU", "roku"), try store("PADDLE", "paddle"),
            try store("RC_BILLING", "web"), try store("TEST_STORE", "test-store"), try store("GALAXY", "new"),
            try store("EXTERNAL", "external", ["environment": "SANDBOX"]),
        ]
    }

    /// Bodies that are proven and cannot be read, and some that only look so.
    static func bodyCases() throws -> [Case] {
        let malformed = Expectation.reject(.malformed, isAuthentic: true)
        func text(_ id: String, _ why: String, _ body: String) throws -> Case {
            try proven("body/\(id)", why, body: Array(body.utf8), malformed)
        }
        func changed(
            _ id: String,
            _ why: String,
            _ changes: KeyValuePairs<String, JSONText?>,
            anomalies: [String] = [],
            _ expect: Expectation = malformed
        ) throws -> Case {
            let event = Event("UNCANCELLATION", id: "B-\(id)", at: t0, .first, changes)
            return try proven("body/\(id)", why, body: event.body, anomalies: anomalies, expect)
        }
        let plain = String(decoding: Event("UNCANCELLATION", id: "B-1", at: t0).body, as: UTF8.self)
        let members = Event("UNCANCELLATION", id: "B-2", at: t0).members.text
        let enabled = Expectation.event(.autoRenewEnabled)
        var cases = [
            try text("empty", "no body", ""),
            try text("not-json", "no JSON", "type=RENEWAL&id=1"),
            try text("truncated", "cut off", String(plain.dropLast(2))),
            try text("trailing", "two documents", plain + "{}"),
            try text("array", "no object", "[\(plain)]"),
            try text("no-event", "nothing in it", #"{"api_version":"1.0"}"#),
            try text("event-null", "an event that is null", #"{"api_version":"1.0","event":null}"#),
            try text("event-array", "an event that is a list", #"{"api_version":"1.0","event":[]}"#),
            try text(
                "duplicate",
                "a member twice",
                #"{"api_version":"1.0","event":{"id":"1","id":"2","type":"TEST"}}"#
            ),
            try text(
                "duplicate-escaped",
                "a member twice, once in disguise",
                #"{"api_version":"1.0","event":{"type":"TEST","ty\u0070e":"RENEWAL","id":"1"}}"#
            ),
            try text("duplicate-event", "two events", #"{"event":\#(members),"event":\#(members)}"#),
            try text(
                "deep",
                "nested too deep",
                #"{"event":{"id":"1","type":"TEST","x":"# + String(repeating: "[", count: 5000)
            ),
            try text(
                "deep-closed",
                "nested too deep, and closed again",
                #"{"event":{"id":"1","type":"TEST","x":"# + String(repeating: "[", count: 80)
                    + String(repeating: "]", count: 80) + "}}"
            ),
            try text(
                "lone-surrogate",
                "half of a character",
                #"{"event":{"id":"1","type":"TEST","note":"\ud800"}}"#
            ),
            try proven(
                "body/not-utf8",
                "octets that are no UTF-8",
                body: Array(#"{"event":{"id":"1","type":"TEST","note":""#.utf8) + [0xFF] + Array(#""}}"#.utf8),
                malformed
            ),
            try proven("body/bom", "a byte order mark", body: [0xEF, 0xBB, 0xBF] + Array(plain.utf8), malformed),
            Case(
                id: "body/too-long",
                headers: JSONMembers(),
                body: Array(plain.utf8),
                config: JSONMembers([
                    ("now", .integer(t0)), ("authorization", .string(authorization)), ("maxBodyBytes", 100),
                ]),
                expect: .reject(.malformed),
                why: "size is looked at before anything else"
            ),
            try changed("id-null", "no id", ["id": .some(.null)]),
            try changed("id-empty", "an empty id", ["id": ""]),
            try changed("id-number", "an id that is a number", ["id": 17]),
            try changed("type-null", "no type", ["type": .some(.null)]),
            try changed("type-empty", "an empty type", ["type": ""]),
            try changed("type-absent", "no type at all", ["type": nil]),
            try changed("nul", "a control character in an identifier", ["transaction_id": "O1\u{0}"]),
            try changed("time-string", "a time that is a string", ["event_timestamp_ms": "1767225600000"]),
            try changed("time-fraction", "a time that is a fraction", ["event_timestamp_ms": .raw("1767225600000.5")]),
            try changed("time-exponent", "a time with an exponent", ["event_timestamp_ms": .raw("1.7672256e12")]),
            try changed("time-negative", "a time before 1970", ["event_timestamp_ms": -1]),
            try changed("time-year-10000", "a time after 9999", ["event_timestamp_ms": .integer(253_402_300_800_000)]),
            try changed("time-huge", "a time that no integer holds", ["event_timestamp_ms": .raw("1e400")]),
            try changed("start-true", "a start that is a truth", ["purchased_at_ms": true]),
            try changed("end-far", "an end after 9999", ["expiration_at_ms": .integer(.max)]),
            try changed("price-string", "an amount that is a string", ["price": "9.99"]),
            try changed("price-true", "an amount that is a truth", ["price_in_purchased_currency": true]),
            try changed("price-huge", "an amount that cannot be kept exactly", ["price": .raw("1e400")]),
            try changed(
                "price-digits",
                "an amount of too many digits",
                ["price": .raw("0.1234567890123456789012345678901234567890123")]
            ),
            try changed("aliases-string", "aliases that are no list", ["aliases": "u1"]),
            try changed("aliases-numbers", "aliases that are numbers", ["aliases": [1, 2]]),
            try changed("transaction-number", "an identifier that is a number", ["transaction_id": 2_000_000_123]),
            try changed("store-number", "a store that is a number", ["store": 4]),
            try changed("environment-number", "an environment that is a number", ["environment": 1]),
            try changed("family-string", "a truth that is a string", ["is_family_share": "false"]),
            try changed(
                "more",
                "members that nobody knows",
                ["gift": ["from": "u9"], "score": .raw("1e400")],
                enabled
            ),
            try changed(
                "attributes",
                "attributes of any type",
                ["subscriber_attributes": ["$email": ["value": 4, "updated_at_ms": "x"], "a b.c": .null]],
                enabled
            ),
            try changed(
                "nulls",
                "null and absent are one",
                [
                    "is_family_share": .some(.null), "price": .some(.null), "aliases": .some(.null),
                    "entitlement_ids": .some(.null), "grace_period_expiration_at_ms": .some(.null),
                ],
                enabled
            ),
        ]
        for (id, version, anomalies) in [
            ("no-version", "", ["api_version"]), ("new-version", #""api_version":"2.0","#, ["api_version"]),
            ("version-number", #""api_version":1,"#, ["api_version"]),
        ] {
            cases.append(
                try proven(
                    "body/\(id)",
                    "another version is read as well as it goes, and noted",
                    body: Array("{\(version)\"event\":\(members)}".utf8),
                    anomalies: anomalies,
                    enabled
                )
            )
        }
        cases.append(
            try proven(
                "body/top-level",
                "other members beside the event",
                body: Array("{\"api_version\":\"1.0\",\"customer_info\":{},\"event\":\(members)}".utf8),
                enabled
            )
        )
        return cases
    }

    /// Webhooks that say too little, with what RevenueCat answers.
    static func lookupCases() throws -> [Case] {
        let url =
            "https://api.revenuecat.com/v2/projects/proj_recorded/subscriptions?store_subscription_identifier=O1-2"
        func answer(_ status: Int64, _ body: JSONText, url: String = url) -> JSONText {
            ["method": "GET", "url": .string(url), "status": .integer(status), "body": body]
        }
        func subscription(_ changes: KeyValuePairs<String, JSONText?> = [:]) -> JSONText {
            var members = JSONMembers([
                ("object", "subscription"), ("id", "sub1"), ("customer_id", "u1"), ("product_id", "prod1"),
                ("starts_at", .integer(t0)), ("current_period_starts_at", .integer(t1)),
                ("current_period_ends_at", .integer(t2)), ("ends_at", .integer(t2)), ("gives_access", true),
                ("pending_payment", false), ("auto_renewal_status", "will_renew"), ("status", "active"),
                ("environment", "production"), ("store", "stripe"), ("store_subscription_identifier", "si_1"),
                ("ownership", "purchased"),
            ])
            for (name, value) in changes { members[name] = value }
            return .object(members)
        }
        func list(_ items: JSONText...) -> JSONText {
            ["object": "list", "items": .array(items), "next_page": .null, "url": "/v2/x"]
        }
        let renewal = Event("RENEWAL", id: "L-1", at: t1 + 5000, .second, ["store": "STRIPE"]).priced("0")
        let change = Event("PRODUCT_CHANGE", id: "L-2", at: t1 + 5000, .second, ["store": "STRIPE"])
        func unpaid(_ id: String, _ why: String, _ http: [JSONText]?, _ expect: Expectation) throws -> Case {
            try proven("lookup/renewal-\(id)", why, renewal, http: http, expect)
        }
        func changed(_ id: String, _ why: String, _ http: [JSONText]?, _ expect: Expectation) throws -> Case {
            try proven("lookup/change-\(id)", why, change, http: http, expect)
        }
        let renewed = Expectation.event(
            .renewed(.init(cause: .unknown, phase: .regular, period: period(t1, t2), price: try price("0")))
        )
        let rateLimited: JSONText = [
            "object": "error", "type": "rate_limit_error", "message": "slow down", "retryable": true,
            "backoff_ms": 1500,
        ]
        return [
            try unpaid("unasked", "a free renewal of Stripe is no proof of payment", nil, .noChange(.needsLookup)),
            try unpaid("access", "RevenueCat gives access", [answer(200, list(subscription()))], renewed),
            try unpaid(
                "no-access",
                "RevenueCat gives none",
                [answer(200, list(subscription(["gives_access": false, "status": "in_billing_retry"])))],
                .noChange(.stale)
            ),
            try unpaid(
                "status-only",
                "status alone decides nothing",
                [answer(200, list(subscription(["gives_access": nil])))],
                .noChange(.stale)
            ),
            try unpaid(
                "unknown",
                "RevenueCat knows no such subscription",
                [answer(200, list())],
                .noChange(.needsLookup)
            ),
            try unpaid(
                "not-found",
                "RevenueCat knows no such subscription",
                [answer(404, ["object": "error", "type": "resource_missing"])],
                .noChange(.needsLookup)
            ),
            try unpaid(
                "several",
                "of several the one whose period began last",
                [
                    answer(
                        200,
                        list(
                            subscription(["id": "old", "gives_access": false, "current_period_starts_at": .integer(t0)]
                            ),
                            subscription()
                        )
                    )
                ],
                renewed
            ),
            try unpaid("unreachable", "nothing was recorded", [], .reject(.unavailable, isAuthentic: true)),
            try unpaid(
                "rate-limited",
                "too many requests",
                [answer(429, rateLimited)],
                .reject(.unavailable, isAuthentic: true)
            ),
            try unpaid(
                "server-error",
                "RevenueCat failed",
                [answer(503, "")],
                .reject(.unavailable, isAuthentic: true)
            ),
            try unpaid(
                "bad-key",
                "the key is refused",
                [answer(401, ["code": 7225, "message": "Invalid API key."])],
                .reject(.unavailable, isAuthentic: true)
            ),
            try unpaid(
                "garbage",
                "an answer that cannot be read",
                [answer(200, "<html>")],
                .reject(.unavailable, isAuthentic: true)
            ),
            try unpaid(
                "wrong-types",
                "an answer of other types is no answer",
                [answer(200, list(subscription(["gives_access": "yes"])))],
                .reject(.unavailable, isAuthentic: true)
            ),
            try unpaid(
                "redirect",
                "no redirect is followed",
                [answer(302, "")],
                .reject(.unavailable, isAuthentic: true)
            ),
            try changed(
                "pending",
                "RevenueCat names the product that comes next",
                [
                    answer(
                        200,
                        list(
                            subscription([
                                "auto_renewal_status": "will_change_product",
                                "pending_changes": ["product": ["id": "prod2", "store_identifier": "basic_m"]],
                            ])
                        )
                    )
                ],
                .event(
                    .productChangeScheduled(
                        .init(
                            from: "pro_m",
                            to: "basic_m",
                            direction: .unknown,
                            timing: .atPeriodEnd(date(t2)),
                            basis: .store
                        )
                    )
                )
            ),
            try changed(
                "none",
                "RevenueCat knows of no change",
                [answer(200, list(subscription()))],
                .noChange(.unchanged)
            ),
            try proven(
                "lookup/not-needed",
                "what says all is not looked up",
                Event("UNCANCELLATION", id: "L-3", at: t0),
                http: [],
                .event(.autoRenewEnabled)
            ),
        ]
    }
}
