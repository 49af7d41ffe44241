import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    /// How a delivery is proven, and how it is not.
    static func authenticationCases() throws -> [Case] {
        let now: Int64 = 1_700_000_101_000
        let timestamp = "1700000100"
        // The octets of the body are what is signed: escapes that a writer would not choose are part of it.
        let escaped = Array(
            #"{"api_version":"1.0","event":{"id":"EVT-1","type":"TEST","event_timestamp_ms":1700000000000,"note":"caf\u00e9 \/ 9.90"}}"#
                .utf8
        )
        let unicode = Array(#"{"api_version":"1.0","event":{"id":"EVT-2","type":"TEST","name":"café — 日本"}}"#.utf8)
        let example = "rc_whsec_example_0123456789"
        let old = "rc_whsec_old_9876543210"
        let escapedCode = "deb3cd5e64e19535cff9cf453f34192775327594f6e5a1956afd2919a5c420c1"
        let unicodeCode = "0f267640b49f3ef9c8f4c5e2730cf61db5295c35c2eca5882b34dfda5b910af6"
        let oldCode = "63ef46f688c8bb5c5faf8fa518dcda0277c5432c515c19260ad4120f78f84edc"
        let accepted = Expectation.event(.notice(.init(.test)), [])

        func signed(
            _ id: String,
            _ why: String,
            _ header: JSONText?,
            body: [UInt8] = escaped,
            secrets: [String] = [example],
            now: Int64 = now,
            tolerance: Int64? = nil,
            name: String = "X-RevenueCat-Webhook-Signature",
            anomalies: [String] = [],
            _ expect: Expectation
        ) -> Case {
            var config = JSONMembers([
                ("now", .integer(now)), ("hmacSecrets", .array(secrets.map { .string($0) })),
            ])
            if let tolerance { config.append("toleranceSeconds", .integer(tolerance)) }
            return Case(
                id: "signature/\(id)",
                headers: JSONMembers(header.map { [(name, $0)] } ?? []),
                body: body,
                config: config,
                expect: expect,
                why: why,
                anomalies: anomalies
            )
        }
        func header(_ code: String, _ time: String = timestamp) -> JSONText { .string("t=\(time),v1=\(code)") }
        let wrong = "e" + escapedCode.dropFirst()
        let flipped = escapedCode.dropLast() + "2"
        func code(_ time: String, _ body: [UInt8] = escaped, _ secret: String = example) throws -> String {
            try RevenueCatSimulator.code(over: body, timestamp: time, secret: Secret(secret))
        }

        var cases: [Case] = [
            signed("valid", "the documented form", header(escapedCode), accepted),
            signed("valid-unicode", "octets beyond ASCII", header(unicodeCode), body: unicode, accepted),
            signed(
                "header-name-case",
                "header names have no case",
                header(escapedCode),
                name: "x-revenuecat-webhook-signature",
                accepted
            ),
            signed(
                "spaces",
                "a proxy may put spaces around commas",
                .string("t=\(timestamp), v1=\(escapedCode)"),
                accepted
            ),
            signed(
                "unknown-part",
                "other parts are passed over",
                .string("v0=00,t=\(timestamp),x,v1=\(escapedCode),v2=ff"),
                accepted
            ),
            signed(
                "several-codes",
                "any of several codes",
                .string("t=\(timestamp),v1=\(wrong),v1=\(escapedCode)"),
                accepted
            ),
            signed(
                "ill-formed-beside",
                "a code of another form cannot match, and spoils none that does",
                .string("t=\(timestamp),v1=xyz,v1=\(escapedCode)"),
                accepted
            ),
            signed(
                "split-over-two-fields",
                "one time and one code, in two fields",
                [.string("t=\(timestamp)"), .string("v1=\(escapedCode)")],
                accepted
            ),
            signed("rotated", "the secret that is being replaced", header(oldCode), secrets: [example, old], accepted),
            signed("rotated-out", "a secret that was replaced", header(oldCode), .reject(.unauthenticated)),
            signed("late-edge", "300 s old", header(escapedCode), now: 1_700_000_400_000, accepted),
            signed("early-edge", "300 s ahead", header(escapedCode), now: 1_699_999_800_000, accepted),
            signed("late", "1 ms beyond the tolerance", header(escapedCode), now: 1_700_000_400_001, .reject(.stale)),
            signed(
                "late-forged",
                "a time that nobody vouches for decides nothing",
                header(oldCode),
                now: 1_700_000_400_001,
                .reject(.unauthenticated)
            ),
            signed(
                "early",
                "1 ms beyond the tolerance, ahead",
                header(escapedCode),
                now: 1_699_999_799_999,
                .reject(.stale)
            ),
            signed(
                "tolerance-set",
                "a shorter tolerance",
                header(escapedCode),
                now: 1_700_000_111_000,
                tolerance: 10,
                .reject(.stale)
            ),
            signed("absent", "no header", nil, .reject(.unauthenticated)),
            signed(
                "wrong-name",
                "a name seen in print that is not RevenueCat's",
                header(escapedCode),
                name: "X-RevenueCat-Signature",
                .reject(.unauthenticated)
            ),
            signed("flipped", "the last digit changed", header(String(flipped)), .reject(.unauthenticated)),
            signed("short", "63 digits", header(String(escapedCode.dropLast())), .reject(.unauthenticated)),
            signed("long", "65 digits", header(escapedCode + "1"), .reject(.unauthenticated)),
            signed("empty-code", "no digits", header(""), .reject(.unauthenticated)),
            signed("upper-case", "one code has one text", header(escapedCode.uppercased()), .reject(.unauthenticated)),
            signed(
                "full-width",
                "digits of another script",
                header("ｄ" + escapedCode.dropFirst()),
                .reject(.unauthenticated)
            ),
            signed("no-code", "a time alone", .string("t=\(timestamp)"), .reject(.unauthenticated)),
            signed(
                "v0-only",
                "a scheme that nobody defined",
                .string("t=\(timestamp),v0=\(escapedCode)"),
                .reject(.unauthenticated)
            ),
            signed("no-time", "a code alone", .string("v1=\(escapedCode)"), .reject(.malformed)),
            signed("empty-header", "nothing in it", "", .reject(.malformed)),
            signed(
                "two-times",
                "the code is over one time, the freshness would come from the other",
                .string("t=\(timestamp),t=1700000101,v1=\(escapedCode)"),
                .reject(.malformed)
            ),
            signed(
                "doubled",
                "the whole header twice",
                [header(escapedCode), header(escapedCode)],
                .reject(.malformed)
            ),
            signed(
                "sixteen",
                "sixteen codes",
                .string("t=\(timestamp)" + String(repeating: ",v1=\(wrong)", count: 15) + ",v1=\(escapedCode)"),
                accepted
            ),
            signed(
                "seventeen",
                "one code too many",
                .string("t=\(timestamp)" + String(repeating: ",v1=\(wrong)", count: 16) + ",v1=\(escapedCode)"),
                .reject(.malformed)
            ),
            signed(
                "long-header",
                "more than 8 KiB",
                .string("t=\(timestamp),v1=\(escapedCode),x=" + String(repeating: "a", count: 8192)),
                .reject(.malformed)
            ),
            signed(
                "body-newline",
                "one octet more",
                header(escapedCode),
                body: escaped + [0x0A],
                .reject(.unauthenticated)
            ),
            signed(
                "body-rewritten",
                "the same JSON in other octets",
                header(escapedCode),
                body: Array(String(decoding: escaped, as: UTF8.self).replacing(#"\/"#, with: "/").utf8),
                .reject(.unauthenticated)
            ),
            signed(
                "body-empty",
                "an empty body under another's code",
                header(escapedCode),
                body: [],
                .reject(.unauthenticated)
            ),
            signed(
                "time-changed",
                "a fresh time over an old code",
                header(escapedCode, "1700000101"),
                .reject(.unauthenticated)
            ),
            signed(
                "body-only-code",
                "a code over the body alone",
                header(try RevenueCatSimulator.bodyCode(over: escaped, secret: Secret(example))),
                .reject(.unauthenticated)
            ),
        ]
        for (name, text) in [
            ("fraction", "1700000100.0"), ("sign", "+1700000100"), ("negative", "-1"), ("leading-zero", "01700000100"),
            ("exponent", "17e8"), ("empty", ""), ("letters", "1700000100s"), ("hexadecimal", "0x6553f164"),
            ("full-width", "１７００００００１００"), ("underscore", "1_700_000_100"), ("beyond", "9223372036854775808"),
        ] {
            cases.append(
                signed("time-\(name)", "a time has one text", header(try code(text), text), .reject(.malformed))
            )
        }
        for text in ["9223372036854775807", "0"] {
            cases.append(
                signed("time-\(text)", "far from the time of receipt", header(try code(text), text), .reject(.stale))
            )
        }
        return cases + (try authorizationCases()) + (try configurationCases()) + (try destinationCases())
    }

    private static var test: Event {
        Event("TEST", id: "EVT-3", at: t0, .first, ["transaction_id": nil, "store": nil])
    }

    /// The `Authorization` value, alone and together with the signature.
    private static func authorizationCases() throws -> [Case] {
        let now = t0 + 20_000
        let body = test.body
        let accepted = Expectation.event(.notice(.init(.test)), [])
        func shared(
            _ id: String,
            _ why: String,
            _ value: JSONText?,
            configured: JSONText = .string(authorization),
            _ expect: Expectation
        ) -> Case {
            Case(
                id: "authorization/\(id)",
                headers: JSONMembers(value.map { [("Authorization", $0)] } ?? []),
                body: body,
                config: JSONMembers([("now", .integer(now)), ("authorization", configured)]),
                expect: expect,
                why: why
            )
        }
        let refused = Expectation.reject(.unauthenticated)
        var cases = [
            shared("valid", "the value as configured", .string(authorization), accepted),
            shared("plain", "any value may be configured", "s3cret", configured: "s3cret", accepted),
            shared("one-of-two", "the value that is being replaced", "old", configured: ["new", "old"], accepted),
            shared("absent", "no header", nil, refused),
            shared("empty", "an empty header", "", refused),
            shared("prefix", "the beginning of the value", .string(String(authorization.dropLast())), refused),
            shared("suffix", "more than the value", .string(authorization + "x"), refused),
            shared("case", "another case", .string(authorization.lowercased()), refused),
            shared("scheme", "without what was configured before the space", "rc_vectors_authorization", refused),
            shared("canonical", "another form of the same letters", "cafe\u{301}", configured: "caf\u{e9}", refused),
            shared(
                "doubled",
                "which of the two should count",
                [.string(authorization), .string(authorization)],
                refused
            ),
            shared("doubled-different", "a wrong one and the right one", ["x", .string(authorization)], refused),
        ]
        let signature = try headers(body, now: now)
        func both(_ id: String, _ why: String, without name: String?, _ value: JSONText?, _ expect: Expectation) -> Case
        {
            var headers = signature
            if let name { headers[name] = value }
            return Case(
                id: "both/\(id)",
                headers: headers,
                body: body,
                config: config(now: now),
                expect: expect,
                why: why
            )
        }
        cases += [
            both("valid", "both hold", without: nil, nil, accepted),
            both(
                "no-signature",
                "the weaker one alone is a downgrade",
                without: "X-RevenueCat-Webhook-Signature",
                nil,
                refused
            ),
            both("no-authorization", "every configured credential has to hold", without: "Authorization", nil, refused),
            both(
                "wrong-authorization",
                "every configured credential has to hold",
                without: "Authorization",
                "Bearer x",
                refused
            ),
            both(
                "wrong-signature",
                "every configured credential has to hold",
                without: "X-RevenueCat-Webhook-Signature",
                .string("t=\(now / 1000),v1=" + String(repeating: "0", count: 64)),
                refused
            ),
        ]
        return cases
    }

    /// Configurations that would verify nothing.
    private static func configurationCases() throws -> [Case] {
        let now = t0 + 20_000
        let body = test.body
        let empty = try RevenueCatSimulator.signature(over: body, timestamp: String(now / 1000), secrets: [Secret(" ")])
        let members: [(String, [(String, JSONText)])] = [
            ("nothing", []),
            ("no-secrets", [("hmacSecrets", [])]),
            ("empty-secret", [("hmacSecrets", [""])]),
            ("blank-secret", [("hmacSecrets", [" "])]),
            ("one-empty-secret", [("hmacSecrets", [.string(secret), ""])]),
            ("empty-authorization", [("authorization", "")]),
            ("blank-authorization", [("authorization", " \t")]),
            ("one-empty-authorization", [("authorization", [.string(authorization), ""])]),
            ("negative-tolerance", [("hmacSecrets", [.string(secret)]), ("toleranceSeconds", -1)]),
            ("huge-tolerance", [("hmacSecrets", [.string(secret)]), ("toleranceSeconds", .integer(.max))]),
            ("no-apps", [("authorization", .string(authorization)), ("appIds", [])]),
        ]
        return members.map { id, members in
            Case(
                id: "configuration/\(id)",
                headers: JSONMembers([("Authorization", ""), ("X-RevenueCat-Webhook-Signature", .string(empty))]),
                body: body,
                config: JSONMembers([("now", .integer(now))] + members),
                expect: .reject(.configuration),
                why: "a receiver that would verify nothing does not start"
            )
        }
    }

    /// Proven, and for somebody else.
    private static func destinationCases() throws -> [Case] {
        let now = t0 + 20_000
        func destined(
            _ id: String,
            _ why: String,
            _ changes: KeyValuePairs<String, JSONText?>,
            _ members: [(String, JSONText)],
            type: String = "UNCANCELLATION",
            more: KeyValuePairs<String, JSONText?> = [:],
            _ expect: Expectation
        ) throws -> Case {
            var config = config(now: now)
            for (name, value) in members { config.append(name, value) }
            let event = Event(type, id: "EVT-4", at: t0, .first, changes).with(more)
            return try proven("destination/\(id)", why, body: event.body, now: now, config: config, expect)
        }
        let misdirected = Expectation.reject(.misdirected, isAuthentic: true)
        let production: [(String, JSONText)] = [("environment", "PRODUCTION")]
        let apps: [(String, JSONText)] = [("appIds", ["app2"])]
        let ofPurchases = [
            "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "NON_RENEWING_PURCHASE",
            "SUBSCRIPTION_PAUSED", "EXPIRATION", "BILLING_ISSUE", "PRODUCT_CHANGE", "SUBSCRIPTION_EXTENDED",
            "TEMPORARY_ENTITLEMENT_GRANT", "REFUND_REVERSED", "INVOICE_ISSUANCE", "PRICE_INCREASE_CONSENT_REQUIRED",
            "PRICE_INCREASE_CONSENT_APPROVED",
        ]
        let ofOthers: [(String, KeyValuePairs<String, JSONText?>, LifecycleEvent.Kind)] = [
            ("TEST", [:], .notice), ("EXPERIMENT_ENROLLMENT", [:], .notice),
            ("VIRTUAL_CURRENCY_TRANSACTION", [:], .notice), ("SUBSCRIBER_ALIAS", [:], .notice),
            ("PURCHASE_REDEEMED", ["redeemed_by": ["u1"]], .notice), ("PAYWALL_CLOSE", ["paywall_id": "p1"], .notice),
            ("TRANSFER", ["transferred_from": ["u1"], "transferred_to": ["u2"]], .transferred),
            ("SOMETHING_NEW", [:], .unmapped),
        ]
        var cases: [Case] = []
        for (member, config) in [("environment", production), ("app_id", apps)] {
            let name = member == "app_id" ? "no-app" : "no-environment"
            for type in ofPurchases {
                cases.append(
                    try destined(
                        "\(name)/\(type)",
                        "a purchase of nowhere is not one of what is expected",
                        [member: nil],
                        config,
                        type: type,
                        misdirected
                    )
                )
            }
            for (type, changes, kind) in ofOthers {
                let stripped = KeyValuePairs(dictionaryLiteral: (member, JSONText?.none))
                cases.append(
                    try destined(
                        "\(name)/\(type)",
                        "a type that need not say it, and gives nobody access",
                        stripped,
                        config,
                        type: type,
                        more: changes,
                        .kinds([kind])
                    )
                )
            }
        }
        cases += [
            try destined("environment", "the environment that is expected", [:], production, .event(.autoRenewEnabled)),
            try destined(
                "sandbox",
                "sandbox at an endpoint for production",
                ["environment": "SANDBOX"],
                production,
                misdirected
            ),
            try destined(
                "sandbox-test",
                "a test of the sandbox at an endpoint for production",
                ["environment": "SANDBOX"],
                production,
                type: "TEST",
                misdirected
            ),
            try destined(
                "production",
                "production at an endpoint for sandbox",
                [:],
                [("environment", "SANDBOX")],
                misdirected
            ),
            try destined(
                "new-environment",
                "an environment that nobody expects",
                ["environment": "STAGING"],
                production,
                misdirected
            ),
            try destined(
                "purchase-environment",
                "some types name the environment otherwise",
                ["environment": nil, "purchase_environment": "PRODUCTION"],
                production,
                .event(.autoRenewEnabled)
            ),
            try destined(
                "other-purchase-environment",
                "and may name another",
                ["environment": nil, "purchase_environment": "SANDBOX"],
                production,
                type: "VIRTUAL_CURRENCY_TRANSACTION",
                misdirected
            ),
            try destined(
                "null-environment",
                "null is as good as absent",
                ["environment": .null],
                production,
                misdirected
            ),
            try destined(
                "empty-environment",
                "so is nothing between quotation marks",
                ["environment": ""],
                production,
                misdirected
            ),
            try destined(
                "no-environment-unfiltered",
                "without an expectation it is taken, and mixes with nothing",
                ["environment": nil],
                [],
                .event(.autoRenewEnabled)
            ),
            try destined(
                "app",
                "the app that is expected",
                [:],
                [("appIds", ["app0123456789", "app2"])],
                .event(.autoRenewEnabled)
            ),
            try destined("other-app", "another app", [:], [("appIds", ["app2"])], misdirected),
            try destined(
                "no-app-granted",
                "a grant is about no app",
                ["app_id": nil, "store": "PROMOTIONAL", "period_type": "PROMOTIONAL"],
                apps,
                type: "NON_RENEWING_PURCHASE",
                .kinds([.started])
            ),
            try destined(
                "other-app-granted",
                "one that names another app is about that",
                ["store": "PROMOTIONAL", "period_type": "PROMOTIONAL"],
                apps,
                type: "NON_RENEWING_PURCHASE",
                misdirected
            ),
        ]
        return cases
    }
}
