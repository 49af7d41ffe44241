import ConformanceVectors
import Normalizer

// Trouble on the way to the answer: our failure to ask never ends anything.
extension GoogleVectors {
    static func lookupCases() -> [Case] {
        var cases: [Case] = []

        func add(
            _ id: String,
            _ why: String,
            _ notification: String,
            _ answers: [String],
            config: [String: String] = [:],
            _ expect: Expectation
        ) {
            cases.append(
                Case(id: id, why: why, notification: notification, http: answers, config: config, expect: expect)
            )
        }
        func add(_ id: String, _ why: String, _ answers: [String], _ expect: Expectation) {
            add(id, why, hint(2), answers, expect)
        }
        func refused(_ status: Int, _ body: String) -> [String] { [subscriptionAnswer(body, status: status)] }

        // Ask again later.
        add("no-connection", "nobody answers", [], .reject(.unavailable))
        for status in [408, 409, 429, 500, 502, 503, 504] {
            add(
                "status-\(status)",
                "\(status)",
                refused(status, error(status, "backendError")),
                .reject(.unavailable)
            )
        }
        for number in [3, 12, 13] {
            add(
                "status-500-number-\(number)",
                "an end, and nobody to ask about it",
                hint(number),
                refused(500, error(500, "backendError")),
                .reject(.unavailable)
            )
        }
        add(
            "html",
            "a proxy's page in place of a purchase",
            refused(200, "<html>It works!</html>"),
            .reject(.unavailable)
        )
        add("empty", "nothing in place of a purchase", refused(200, ""), .reject(.unavailable))
        add("array", "a list in place of a purchase", refused(200, "[]"), .reject(.unavailable))
        add(
            "truncated",
            "half a purchase",
            refused(200, String(purchase("ACTIVE").json.dropLast(40))),
            .reject(.unavailable)
        )
        add(
            "duplicate-member",
            "a purchase in two states",
            refused(
                200,
                #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","subscriptionState":"SUBSCRIPTION_STATE_EXPIRED"}"#
            ),
            .reject(.unavailable)
        )
        add("redirect", "elsewhere", refused(302, ""), .reject(.unavailable))
        for reason in ["rateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"] {
            add("quota-\(reason)", "too many questions", refused(403, error(403, reason)), .reject(.unavailable))
        }
        add(
            "denied-401",
            "rights are missing, which Google answers with 401; somebody may grant them",
            refused(401, error(401, "permissionDenied")),
            .reject(.unavailable)
        )
        add(
            "denied-403",
            "the API is not enabled; somebody may enable it",
            refused(403, error(403, "accessNotConfigured")),
            .reject(.unavailable)
        )
        add(
            "denied-for-days",
            "nobody granted anything for more than three days: kept, and no longer asked for",
            hint(2, at: noon - 4 * day),
            refused(401, error(401, "permissionDenied")),
            .reject("denied")
        )
        add(
            "predecessor-unavailable",
            "the purchase before cannot be asked for now",
            hint(4),
            [subscriptionAnswer(purchase("ACTIVE").with { $0.linked = oldToken }.json)],
            .reject(.unavailable)
        )
        for (status, reason) in [(401, "permissionDenied"), (403, "accessNotConfigured"), (404, "notFound")] {
            add(
                "predecessor-\(status)",
                "the purchase before is not shown to us: what there is to say of this one does not wait for it",
                hint(4),
                [
                    subscriptionAnswer(
                        purchase("ACTIVE", Item(order: order)).with {
                            $0.linked = oldToken; $0.start = event - second
                        }.json
                    ),
                    subscriptionAnswer(error(status, reason), token: oldToken, status: status),
                ],
                .events([Expected("started", #"{"origin":"resubscribed"}"#)])
            )
        }
        add(
            "new-purchase-not-found",
            "Google does not know a purchase of seconds ago yet",
            hint(4, at: noon - 5 * second),
            refused(404, error(404, "subscriptionPurchaseNotFound")),
            .reject(.unavailable)
        )

        // Google keeps it no more, or never had it.
        for (status, reason) in [(404, "subscriptionPurchaseNotFound"), (410, "purchaseTokenNoLongerValid")] {
            for number in [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 17, 18, 19, 20, 22, 99] {
                add(
                    "\(status)-number-\(number)",
                    "\(status) is about Google's memory, and ends nothing",
                    hint(number),
                    refused(status, error(status, reason)),
                    .nothing("purchase_gone")
                )
            }
            add(
                "\(status)-number-12",
                "a revocation that nobody can look up: passed on, without facts",
                hint(12),
                refused(status, error(status, reason)),
                .events([Expected("revoked", #"{"reason":"unknown"}"#)])
            )
            add(
                "\(status)-number-13",
                "an end that nobody can look up: passed on, without facts",
                hint(13),
                refused(status, error(status, reason)),
                .events([Expected("expired", #"{"reason":"unknown"}"#)])
            )
            for number in [1, 2] {
                add(
                    "\(status)-one-time-\(number)",
                    "\(status) ends nothing, and gives no money back",
                    oneTimeHint(number),
                    [productAnswer(error(status, reason), status: status)],
                    .nothing("purchase_gone")
                )
            }
        }
        add(
            "status-400",
            "a token that is not one: not an access without end",
            refused(400, error(400, "invalid")),
            .reject(.malformed)
        )
        add(
            "status-400-terminal",
            "an end of a purchase whose token is not one",
            hint(13),
            refused(400, error(400, "invalid")),
            .reject(.malformed)
        )

        // Hostile tokens: percent-encoded into one segment, or no request at all.
        for (name, token, encoded) in [
            ("slash", "a/b", "a%2Fb"), ("climb", "../../orders/x", "..%2F..%2Forders%2Fx"),
            ("query", "a?b=c#d", "a%3Fb%3Dc%23d"),
            ("percent", "a%2Fb", "a%252Fb"), ("space", "a b", "a%20b"), ("colon", "a:acknowledge", "a%3Aacknowledge"),
            ("letter", "ä", "%C3%A4"), ("host", "//evil.example/", "%2F%2Fevil.example%2F"),
        ] {
            add(
                "token-\(name)",
                "a token that would lead elsewhere",
                hint(2, token: token),
                [subscriptionAnswer(purchase("ACTIVE").json, token: encoded)],
                .events([Expected("renewed")])
            )
        }
        for (name, token) in [
            ("line-break", "a\r\nHost: evil.example"), ("nul", "a\u{0}b"), ("dots", ".."), ("dot", "."),
            ("delete", "a\u{7F}"),
        ] {
            add(
                "token-\(name)",
                "a token that no request can carry",
                hint(2, token: token),
                [subscriptionAnswer(purchase("ACTIVE").json, token: "%2E%2E")],
                .reject(.malformed)
            )
            add(
                "token-\(name)-terminal",
                "and no end follows from it",
                hint(13, token: token),
                [],
                .reject(.malformed)
            )
        }
        add(
            "order-climb",
            "an order that would lead elsewhere",
            voidedHint(2, 1, order: "../tokens/x"),
            [productAnswer(Product(state: "CANCELLED").json)],
            .events([Expected("refunded")])
        )
        add(
            "linked-climb",
            "a predecessor whose token would lead elsewhere",
            hint(4),
            [
                subscriptionAnswer(
                    purchase("ACTIVE", Item(order: order)).with {
                        $0.linked = "../x"; $0.start = event - second
                    }.json
                ),
                subscriptionAnswer(error(400, "invalid"), token: "..%2Fx", status: 400),
            ],
            .events([Expected("started", #"{"origin":"resubscribed"}"#)])
        )
        add(
            "wrong-endpoint",
            "a subscription's answer where only a product's was asked for",
            oneTimeHint(1),
            [subscriptionAnswer(purchase("ACTIVE").json)],
            .reject(.unavailable)
        )
        return cases
    }
}
