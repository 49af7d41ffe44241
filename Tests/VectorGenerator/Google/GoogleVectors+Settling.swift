import ConformanceVectors
import Normalizer

// Right after an event an answer may come from a server that does not know of it. It must not pass for the last word:
// the notification is wanted again, and only later does what Google then says count.
extension GoogleVectors {
    private static let fresh = noon - 5 * second

    static func settlingCases() -> [Case] {
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
        func answered(_ body: String, at time: String) -> String {
            answer(
                "/purchases/subscriptionsv2/tokens/\(token)",
                200,
                body,
                headers: ["Content-Type": "\"application/json\"", "Date": JSON.string(time)]
            )
        }
        func orderOf(_ id: String, _ state: String, _ history: [String: String] = [:]) -> String {
            orderAnswer(
                JSON.object([
                    "orderId": JSON.string(id), "state": JSON.string(state), "purchaseToken": JSON.string(token),
                    "orderHistory": JSON.object(history),
                ]),
                order: id
            )
        }
        let refunded = [
            "refundEvent": JSON.object(["eventTime": JSON.time(fresh - second), "refundReason": "\"OTHER\""])
        ]

        // Answers that do not show yet what the number says.
        let lagging: [(number: Int, states: [String])] = [
            (1, ["IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING"]),
            (2, ["IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING"]),
            (3, ["ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED"]), (4, ["PENDING"]),
            (5, ["ACTIVE", "IN_GRACE_PERIOD"]), (6, ["ACTIVE"]), (7, ["CANCELED"]), (9, ["PENDING"]),
            (10, ["ACTIVE"]), (12, ["ACTIVE", "CANCELED", "ON_HOLD"]), (13, ["ACTIVE", "CANCELED", "ON_HOLD"]),
            (18, ["ACTIVE"]), (20, ["PENDING", "ACTIVE"]),
        ]
        for (number, states) in lagging {
            for state in states {
                add(
                    "lags-\(number)-\(state)",
                    "number \(number) of seconds ago, and the purchase still reads \(state)",
                    hint(number, at: fresh),
                    [subscriptionAnswer(purchase(state).json)],
                    .reject(.unavailable)
                )
            }
        }
        add(
            "lags-2-expired-period",
            "a renewal of seconds ago, and the period that is listed is over",
            hint(2, at: fresh),
            [subscriptionAnswer(purchase("ACTIVE", Item(expiry: fresh - second)).json)],
            .reject(.unavailable)
        )
        for number in [2, 13] {
            add(
                "lags-\(number)-not-found",
                "a purchase that a notification of seconds ago is about, and Google does not find it",
                hint(number, at: fresh),
                [subscriptionAnswer(error(404, "subscriptionPurchaseNotFound"), status: 404)],
                .reject(.unavailable)
            )
        }

        // Answers that show it, and those that can only have come after it.
        let shown: [(number: Int, state: String, kinds: [String])] = [
            (1, "ACTIVE", ["renewed"]), (2, "CANCELED", ["renewed", "auto_renew_disabled"]),
            (3, "CANCELED", ["auto_renew_disabled"]), (3, "EXPIRED", ["expired"]), (5, "ON_HOLD", ["billing_issue"]),
            (6, "ON_HOLD", ["billing_issue"]), (6, "IN_GRACE_PERIOD", ["billing_issue"]),
            (7, "ACTIVE", ["auto_renew_enabled"]), (10, "ON_HOLD", ["billing_issue"]), (10, "PAUSED", ["paused"]),
            (12, "EXPIRED", ["revoked"]), (13, "EXPIRED", ["expired"]),
            (4, "PENDING_PURCHASE_CANCELED", ["purchase_pending_canceled"]),
            (20, "PENDING_PURCHASE_CANCELED", ["purchase_pending_canceled"]),
        ]
        for (number, state, kinds) in shown {
            add(
                "shown-\(number)-\(state)",
                "number \(number) of seconds ago, and the purchase reads \(state)",
                hint(number, at: fresh),
                [subscriptionAnswer(purchase(state).json)],
                .events(kinds.map { Expected($0) })
            )
        }
        add(
            "shown-18",
            "a cancellation at the end of a commitment",
            hint(18, at: fresh),
            [
                subscriptionAnswer(
                    purchase("ACTIVE", Item(plan: ["installmentDetails": #"{"pendingCancellation":{}}"#])).json
                )
            ],
            .events([Expected("auto_renew_disabled", #"{"reason":"commitment"}"#)])
        )
        add(
            "unknown-number",
            "a number that nobody knows contradicts nothing",
            hint(99, at: fresh),
            [subscriptionAnswer(purchase("ACTIVE").json)],
            .events([Expected("unmapped")])
        )
        add(
            "unknown-state",
            "nor does a state that nobody knows",
            hint(3, at: fresh),
            [subscriptionAnswer(purchase("UNSPECIFIED").json)],
            .events([Expected("unmapped")])
        )
        add(
            "gone",
            "what Google has stopped to keep does not come back",
            hint(13, at: fresh),
            [subscriptionAnswer(error(410, "purchaseTokenNoLongerValid"), status: 410)],
            .events([Expected("expired", #"{"reason":"unknown"}"#)])
        )

        // For how long.
        add(
            "window-closing",
            "59.999 seconds after the event",
            hint(3, at: noon - 59_999),
            [subscriptionAnswer(purchase("ACTIVE").json)],
            .reject(.unavailable)
        )
        add(
            "window-closed",
            "a minute after the event Google's word is final: the cancellation was undone",
            hint(3, at: noon - 60_000),
            [subscriptionAnswer(purchase("ACTIVE").json)],
            .nothing("stale")
        )
        add(
            "window-closed-pending",
            "a minute after a purchase its payment is outstanding indeed",
            hint(4, at: noon - 60_000),
            [subscriptionAnswer(purchase("PENDING").json)],
            .events([Expected("purchase_pending")])
        )
        add(
            "window-by-googles-time",
            "received in time, asked a minute later by the answer's own date",
            hint(3, at: fresh),
            [answered(purchase("ACTIVE").json, at: "Sun, 01 Mar 2026 12:00:55 GMT")],
            .nothing("stale")
        )
        add(
            "window-by-googles-time-open",
            "a date before that changes nothing",
            hint(3, at: fresh),
            [answered(purchase("ACTIVE").json, at: "Sun, 01 Mar 2026 12:00:54 GMT")],
            .reject(.unavailable)
        )
        add(
            "window-future",
            "an event an hour ahead is not new for ever",
            hint(3, at: noon + hour),
            [subscriptionAnswer(purchase("ACTIVE").json)],
            .nothing("stale")
        )
        add(
            "window-configured",
            "no window: every answer is final",
            hint(3, at: fresh),
            [subscriptionAnswer(purchase("ACTIVE").json)],
            config: ["settlingSeconds": "0"],
            .nothing("stale")
        )

        // One-time products.
        add(
            "one-time-canceled-purchased",
            "a cancellation of seconds ago, and the purchase still reads paid",
            notification(
                "oneTimeProductNotification",
                [
                    "version": "\"1.0\"", "notificationType": "2", "purchaseToken": JSON.string(token),
                    "sku": "\"coins_100\"",
                ],
                at: fresh
            ),
            [productAnswer(Product().json)],
            .reject(.unavailable)
        )

        // Voided purchases.
        func voided(_ product: Int, _ refund: Int, order: String) -> String {
            notification(
                "voidedPurchaseNotification",
                [
                    "purchaseToken": JSON.string(token), "orderId": JSON.string(order),
                    "productType": String(product), "refundType": String(refund),
                ],
                at: fresh
            )
        }
        let current = "\(order)..1"
        add(
            "voided-current-active",
            "money of the current period went back seconds ago, and the purchase still reads as it was",
            voided(1, 1, order: current),
            [subscriptionAnswer(purchase("ACTIVE").json), orderOf(current, "REFUNDED", refunded)],
            .reject(.unavailable)
        )
        add(
            "voided-order-processed",
            "the purchase is over, and the order does not show the refund yet: it is not lost as unproven",
            voided(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), orderOf(current, "PROCESSED")],
            .reject(.unavailable)
        )
        add(
            "voided-old-order",
            "money of a period long past: access rests on another order",
            voided(1, 1, order: "\(order)..0"),
            [subscriptionAnswer(purchase("ACTIVE").json), orderOf("\(order)..0", "REFUNDED", refunded)],
            .events([Expected("refunded", #"{"affects_current_period":false}"#)])
        )
        add(
            "voided-current-expired",
            "and here both show it",
            voided(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), orderOf(current, "REFUNDED", refunded)],
            .events([Expected("refunded"), Expected("revoked")])
        )
        add(
            "voided-product-untouched",
            "a product of which nothing went back yet",
            voided(2, 1, order: productOrder),
            [
                productAnswer(Product(details: ["quantity": "1", "refundableQuantity": "1"]).json),
                orderOf(productOrder, "REFUNDED", refunded),
            ],
            .reject(.unavailable)
        )
        add(
            "voided-product-part",
            "the last went back, and the answer shows those before only",
            voided(2, 1, order: productOrder),
            [
                productAnswer(Product(details: ["quantity": "10", "refundableQuantity": "5"]).json),
                orderOf(productOrder, "REFUNDED", refunded),
            ],
            .reject(.unavailable)
        )
        add(
            "voided-product-shown",
            "a part went back, and the answer shows it",
            voided(2, 2, order: productOrder),
            [
                productAnswer(Product(details: ["quantity": "10", "refundableQuantity": "5"]).json),
                orderOf(productOrder, "PARTIALLY_REFUNDED"),
            ],
            .events([Expected("refunded", #"{"scope":{"type":"quantity","quantity":5}}"#)])
        )
        return cases
    }
}
