import ConformanceVectors
import GooglePubSub
import Normalizer

// Tokens that an app uploads: they are unproven, and only Google says what they are.
extension GoogleVectors {
    static func uploadCases() -> [Case] {
        var cases: [Case] = []

        func add(
            _ id: String,
            _ why: String,
            _ answers: [String],
            body: String = upload("subscription"),
            config: [String: String] = [:],
            _ expect: Expectation
        ) {
            var config = config
            config["kind"] = "\"upload\""
            for name in ["jwks", "audience", "serviceAccountEmail", "subscription"] { config[name] = "" }
            cases.append(
                Case(
                    id: id,
                    why: why,
                    http: answers,
                    config: config,
                    expect: expect,
                    delivery: Delivery(headers: [:], body: Array(body.utf8))
                )
            )
        }
        func add(_ id: String, _ why: String, _ purchase: Purchase, _ expect: Expectation) {
            add(id, why, [subscriptionAnswer(purchase.json)], expect)
        }

        // Hostile.
        add("no-body", "nothing", [], body: "", .reject(.malformed))
        add("no-token", "no token", [], body: upload("subscription", token: nil), .reject(.malformed))
        for (name, token) in [("empty", ""), ("parent", ".."), ("long", String(repeating: "x", count: 3000))] {
            add(
                "token-\(name)",
                "causes no request",
                [],
                body: upload("subscription", token: token),
                .reject(.malformed)
            )
        }
        add("kind", "neither of the two", [], body: upload("gift"), .reject(.malformed))
        add(
            "package-other",
            "a token for another app is not asked about",
            [subscriptionAnswer(purchase("ACTIVE").json)],
            body: upload("subscription", package: "com.example.other"),
            .reject(.misdirected)
        )
        add(
            "made-up",
            "Google refuses a token that is none",
            [subscriptionAnswer(error(400, "invalid"), status: 400)],
            .reject(.malformed)
        )
        add(
            "unknown",
            "Google does not know it",
            [subscriptionAnswer(error(404, "purchaseTokenNotFound"), status: 404)],
            .nothing("purchase_gone")
        )
        add(
            "gone",
            "Google keeps it no more",
            [subscriptionAnswer(error(410, "purchaseTokenNoLongerValid"), status: 410)],
            .nothing("purchase_gone")
        )
        add(
            "denied",
            "rights are missing",
            [subscriptionAnswer(error(403, "accessNotConfigured"), status: 403)],
            .reject(.denied)
        )
        add("no-connection", "nobody answers", [], .reject(.unavailable))

        // Subscriptions.
        let first = Purchase(start: event - second, items: [Item(order: order)])
        let period = JSON.object(["start": JSON.time(event - second), "end": JSON.time(event + 30 * day)])
        let started = Expected("started", JSON.object(["origin": "\"new\"", "period": period]))
        add("first-period", "bought: the id is that of notification 4", first, .events([started]))
        add(
            "first-period-unacknowledged",
            "bought, and three days to acknowledge",
            first.with { $0.acknowledgement = "PENDING" },
            .events([started, Expected("acknowledgement_required")])
        )
        add(
            "renewed",
            "a renewal whose start nobody states: facts, and no event",
            purchase("ACTIVE"),
            .nothing("unchanged")
        )
        add(
            "renewed-order",
            "the renewal's order tells when its period began",
            [
                subscriptionAnswer(purchase("ACTIVE").json),
                orderAnswer(
                    JSON.object([
                        "orderId": JSON.string("\(order)..1"), "state": "\"PROCESSED\"",
                        "lineItems": JSON.array([
                            JSON.object([
                                "productId": "\"premium\"", "total": money(9, 990_000_000),
                                "subscriptionDetails": JSON.object([
                                    "servicePeriodStartTime": JSON.time(event - second),
                                    "servicePeriodEndTime": JSON.time(event + 30 * day),
                                ]),
                            ])
                        ]),
                    ]),
                    order: "\(order)..1"
                ),
            ],
            config: ["orderLookup": "\"charged\""],
            .events([Expected("renewed", JSON.object(["cause": "\"unknown\"", "period": period]))])
        )
        add(
            "resubscribed",
            "a link to a purchase that ended",
            [
                subscriptionAnswer(first.with { $0.linked = "before" }.json),
                subscriptionAnswer(purchase("EXPIRED").json, token: "before"),
            ],
            .events([Expected("started", #"{"origin":"resubscribed"}"#)])
        )
        add(
            "pending",
            "not paid yet",
            Purchase(state: "PENDING", start: nil, items: [Item(expiry: nil, order: nil)]),
            .events([Expected("purchase_pending")])
        )
        add(
            "never-paid",
            "not paid, and never to be",
            Purchase(state: "PENDING_PURCHASE_CANCELED", start: nil, items: [Item(expiry: nil, order: nil)]),
            .events([Expected("purchase_pending_canceled")])
        )
        add(
            "state-unknown",
            "a state without meaning",
            purchase("UNSPECIFIED"),
            .events([Expected("unmapped", #"{"type":"SUBSCRIPTION_STATE_UNSPECIFIED"}"#)])
        )
        add(
            "canceled",
            "bought, and will not renew",
            first.with {
                $0.state = "CANCELED"
                $0.items[0].isRenewing = false
            },
            .events([started, Expected("auto_renew_disabled")])
        )
        add(
            "grace",
            "its charge failed, and access goes on",
            purchase("IN_GRACE_PERIOD"),
            .events([Expected("billing_issue")])
        )
        add("hold", "its charge failed, and access does not", purchase("ON_HOLD"), .events([Expected("billing_issue")]))
        add("paused", "paused", purchase("PAUSED"), .events([Expected("paused")]))
        add("expired", "over", purchase("EXPIRED"), .events([Expected("expired")]))
        add("tester", "a licence tester's: sandbox", first.with { $0.isTest = true }, .events([started]))

        // One-time products.
        for (name, product, kind) in [
            ("purchased", Product(), "one_time_purchased"),
            ("pending", Product(state: "PENDING", completion: nil), "purchase_pending"),
            ("refunded", Product(state: "CANCELLED"), "refunded"),
            ("never-paid", Product(state: "CANCELLED", completion: nil), "purchase_pending_canceled"),
        ] {
            add(
                "product-\(name)",
                "a one-time product, \(name)",
                [productAnswer(product.json)],
                body: upload("product"),
                .events([Expected(kind)])
            )
        }
        return cases
    }

    private static func upload(_ kind: String, token: String? = token, package: String = packageName) -> String {
        JSON.object([
            "kind": JSON.string(kind), "packageName": JSON.string(package), "purchaseToken": token.map(JSON.string),
        ])
    }
}
