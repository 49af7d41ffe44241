import ConformanceVectors
import Normalizer

// One-time products, and what was voided of products and subscriptions.
extension GoogleVectors {
    package static let productOrder = "GPA.3377-2001-4002-80031"

    /// A purchase of one product, paid and acknowledged.
    package struct Product {
        package var state = "PURCHASED"
        package var order: String?
        package var completion: Int64?
        package var acknowledgement: String?
        package var isTest = false
        package var product = "coins_100"
        package var details: [String: String]
        package var otherItems: [String]

        package init(
            state: String = "PURCHASED",
            order: String? = productOrder,
            completion: Int64? = event - 2 * second,
            acknowledgement: String? = "ACKNOWLEDGED",
            isTest: Bool = false,
            details: [String: String] = [:],
            otherItems: [String] = []
        ) {
            self.state = state
            self.order = order
            self.completion = completion
            self.acknowledgement = acknowledgement
            self.isTest = isTest
            self.details = details
            self.otherItems = otherItems
        }

        package var json: String {
            JSON.object([
                "kind": "\"androidpublisher#productPurchaseV2\"",
                "orderId": order.map(JSON.string),
                "regionCode": "\"DE\"",
                "purchaseCompletionTime": completion.map(JSON.time),
                "purchaseStateContext": JSON.object(["purchaseState": JSON.string(state)]),
                "acknowledgementState": acknowledgement.map { JSON.string("ACKNOWLEDGEMENT_STATE_\($0)") },
                "obfuscatedExternalAccountId": "\"acct-7f3a\"",
                "testPurchaseContext": isTest ? #"{"fopType":"TEST"}"# : nil,
                "productLineItem": JSON.array(
                    [
                        JSON.object([
                            "productId": JSON.string(product), "productOfferDetails": JSON.object(details),
                        ])
                    ] + otherItems
                ),
            ])
        }
    }

    static func oneTimeCases() -> [Case] {
        var cases: [Case] = []

        func add(
            _ id: String,
            _ why: String,
            _ number: Int,
            _ product: Product,
            others: [String] = [],
            config: [String: String] = [:],
            _ expect: Expectation
        ) {
            cases.append(
                Case(
                    id: id,
                    why: why,
                    notification: oneTimeHint(number),
                    http: [productAnswer(product.json)] + others,
                    config: config,
                    expect: expect
                )
            )
        }
        let bought = Expected("one_time_purchased", #"{"type":"unknown","quantity":1}"#)
        add("purchased", "bought", 1, Product(), .events([bought]))
        add(
            "purchased-unacknowledged",
            "bought, and three days to acknowledge",
            1,
            Product(acknowledgement: "PENDING"),
            .events([
                bought,
                Expected(
                    "acknowledgement_required",
                    JSON.object(["deadline": JSON.time(event - 2 * second + 3 * day)])
                ),
            ])
        )
        add(
            "purchased-tester",
            "a licence tester's: sandbox, and five minutes",
            1,
            Product(acknowledgement: "PENDING", isTest: true),
            .events([
                bought,
                Expected(
                    "acknowledgement_required",
                    JSON.object(["deadline": JSON.time(event - 2 * second + 300 * second)])
                ),
            ])
        )
        add(
            "purchased-quantity",
            "ten of them",
            1,
            Product(details: ["quantity": "10", "refundableQuantity": "10"]),
            .events([Expected("one_time_purchased", #"{"quantity":10}"#)])
        )
        add(
            "purchased-consumed",
            "used up by the time that we ask",
            1,
            Product(details: ["consumptionState": "\"CONSUMPTION_STATE_CONSUMED\""]),
            .events([Expected("one_time_purchased", #"{"type":"consumable"}"#)])
        )
        add(
            "rented",
            "rented",
            1,
            Product(details: ["rentOfferDetails": "{}"]),
            .events([Expected("one_time_purchased", #"{"type":"non_renewing"}"#)])
        )
        add(
            "pre-ordered",
            "a pre-order that was fulfilled",
            1,
            Product(details: [
                "preorderOfferDetails": JSON.object(["preorderReleaseTime": JSON.time(event - hour)])
            ]),
            .events([bought])
        )
        add(
            "purchased-order",
            "the order tells what was charged",
            1,
            Product(),
            others: [
                orderAnswer(
                    JSON.object([
                        "orderId": JSON.string(productOrder), "state": "\"PROCESSED\"",
                        "lineItems": JSON.array([
                            JSON.object(["productId": "\"coins_100\"", "total": money(1_200, 0, "KRW")])
                        ]),
                    ]),
                    order: productOrder
                )
            ],
            config: ["orderLookup": "\"charged\""],
            .events([
                Expected(
                    "one_time_purchased",
                    #"{"price":{"amount":"1200","currency":"KRW","role":"charged"}}"#
                )
            ])
        )
        add(
            "purchased-without-order",
            "bought with a promotion: there is no order",
            1,
            Product(order: nil),
            .events([bought])
        )
        add(
            "purchased-two",
            "two products in one purchase",
            1,
            Product(otherItems: [#"{"productId":"gems_5","productOfferDetails":{"quantity":2}}"#]),
            .events([bought, Expected("one_time_purchased", #"{"quantity":2}"#)])
        )
        add(
            "purchased-pending",
            "payment is outstanding",
            1,
            Product(state: "PENDING", completion: nil, acknowledgement: nil),
            .events([Expected("purchase_pending", #"{"product":"coins_100"}"#)])
        )
        add(
            "purchased-cancelled",
            "bought, and taken back by the time that we ask",
            1,
            Product(state: "CANCELLED"),
            .events([Expected("refunded", #"{"scope":{"type":"full"},"affects_current_period":true}"#)])
        )
        add(
            "canceled-never-paid",
            "a pending purchase came to nothing: no money goes back that was never taken",
            2,
            Product(state: "CANCELLED", order: nil, completion: nil, acknowledgement: nil),
            .events([Expected("purchase_pending_canceled", #"{"product":"coins_100"}"#)])
        )
        add(
            "canceled-paid",
            "taken back after it was paid",
            2,
            Product(state: "CANCELLED"),
            .events([Expected("refunded", #"{"scope":{"type":"full"}}"#)])
        )
        add("canceled-purchased", "an answer that does not know of a cancellation", 2, Product(), .nothing("stale"))
        add(
            "canceled-pending",
            "an answer that still waits for the payment",
            2,
            Product(state: "PENDING", completion: nil),
            .events([Expected("purchase_pending")])
        )
        add(
            "number-unknown",
            "a number that nobody knows yet",
            3,
            Product(),
            .events([Expected("unmapped", #"{"type":"oneTimeProductNotification","subtype":"3"}"#)])
        )
        add(
            "state-unknown",
            "a state that nobody knows yet",
            1,
            Product(state: "ESCROWED"),
            .events([Expected("unmapped", #"{"type":"ESCROWED","subtype":"1"}"#)])
        )
        add(
            "quantity-negative",
            "fewer than none",
            1,
            Product(details: ["quantity": "-1"]),
            .reject(.malformed)
        )
        return cases
    }

    static func voidedCases() -> [Case] {
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
        func orderOf(_ id: String, _ state: String, _ history: [String: String] = [:], product: String = "premium")
            -> String
        {
            orderAnswer(
                JSON.object([
                    "orderId": JSON.string(id), "state": JSON.string(state), "total": money(9, 990_000_000),
                    "purchaseToken": JSON.string(token),
                    "lineItems": JSON.array([
                        JSON.object(["productId": JSON.string(product), "total": money(9, 990_000_000)])
                    ]),
                    "orderHistory": JSON.object(history),
                ]),
                order: id
            )
        }
        func refund(_ reason: String) -> [String: String] {
            [
                "refundEvent": JSON.object([
                    "eventTime": JSON.time(event - 3 * second), "refundReason": JSON.string(reason),
                    "refundDetails": JSON.object(["total": money(9, 990_000_000)]),
                ])
            ]
        }
        func noOrder(_ id: String) -> String {
            orderAnswer(error(404, "orderNotFound"), order: id, status: 404)
        }
        let current = "\(order)..1"
        let old = "\(order)..0"

        // Subscriptions.
        add(
            "subscription-current",
            "the current period's money went back, and access with it",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), orderOf(current, "REFUNDED", refund("OTHER"))],
            .events([
                Expected(
                    "refunded",
                    #"{"transaction":"\#(current)","scope":{"type":"full"},"affects_current_period":true}"#
                ),
                Expected("revoked", #"{"reason":"unknown"}"#),
            ])
        )
        add(
            "subscription-old",
            "money of a period long past: access rests on another order",
            voidedHint(1, 1, order: old),
            [subscriptionAnswer(purchase("ACTIVE").json), orderOf(old, "REFUNDED", refund("OTHER"))],
            .events([
                Expected("refunded", #"{"transaction":"\#(old)","affects_current_period":false}"#)
            ])
        )
        add(
            "subscription-old-of-expired",
            "money of a period long past, of a subscription that is over",
            voidedHint(1, 1, order: old),
            [subscriptionAnswer(purchase("EXPIRED").json), orderOf(old, "REFUNDED", refund("OTHER"))],
            .events([Expected("refunded", #"{"affects_current_period":false}"#)])
        )
        add(
            "subscription-current-active",
            "the current period's money went back, and access stays by Google's word",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("ACTIVE").json), orderOf(current, "REFUNDED", refund("OTHER"))],
            .events([Expected("refunded", #"{"transaction":"\#(current)"}"#)])
        )
        add(
            "subscription-chargeback",
            "the customer's bank took the money",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), orderOf(current, "REFUNDED", refund("CHARGEBACK"))],
            .events([
                Expected(
                    "chargeback",
                    #"{"stage":"lost","transaction":"\#(current)","amount":{"amount":"9.99","currency":"EUR"}}"#
                ),
                Expected("revoked", #"{"reason":"store"}"#),
            ])
        )
        add(
            "subscription-amount",
            "a part of the amount went back",
            voidedHint(1, 1, order: current),
            [
                subscriptionAnswer(purchase("ACTIVE").json),
                orderOf(
                    current,
                    "PARTIALLY_REFUNDED",
                    [
                        "partialRefundEvents": JSON.array([
                            JSON.object([
                                "createTime": JSON.time(event - hour), "state": "\"PROCESSED_SUCCESSFULLY\"",
                                "refundDetails": JSON.object(["total": money(2, 500_000_000)]),
                            ]),
                            JSON.object([
                                "createTime": JSON.time(event - hour), "state": "\"PROCESSED_SUCCESSFULLY\"",
                                "refundDetails": JSON.object(["total": money(0, 490_000_000)]),
                            ]),
                            JSON.object([
                                "createTime": JSON.time(event - second), "state": "\"PENDING\"",
                                "refundDetails": JSON.object(["total": money(7)]),
                            ]),
                        ])
                    ]
                ),
            ],
            .events([
                Expected(
                    "refunded",
                    #"{"scope":{"type":"amount","amount":{"amount":"2.99","currency":"EUR"}}}"#
                )
            ])
        )
        add(
            "subscription-not-refunded",
            "an order that says that nothing went back: a hint is no proof",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("ACTIVE").json), orderOf(current, "PROCESSED")],
            .nothing("stale")
        )
        add(
            "subscription-order-unknown",
            "nobody knows the order any more",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), noOrder(current)],
            .events([Expected("refunded", #"{"scope":{"type":"full"}}"#), Expected("revoked")])
        )
        add(
            "subscription-order-prefix",
            "an order that does not begin with GPA",
            voidedHint(1, 1, order: "GS.0000-0000-0000"),
            [subscriptionAnswer(purchase("ACTIVE").json), noOrder("GS.0000-0000-0000")],
            .events([Expected("refunded", #"{"transaction":"GS.0000-0000-0000","affects_current_period":false}"#)])
        )
        add(
            "subscription-unacknowledged",
            "nobody acknowledged it",
            voidedHint(1, 1, order: order),
            [
                subscriptionAnswer(
                    purchase("EXPIRED", Item(order: order)).with {
                        $0.start = event - 3 * day - second
                        $0.acknowledgement = "PENDING"
                    }.json
                ),
                orderOf(order, "REFUNDED", refund("OTHER")),
            ],
            .events([Expected("refunded"), Expected("revoked", #"{"reason":"unacknowledged"}"#)])
        )
        add(
            "subscription-tester",
            "a licence tester's",
            voidedHint(1, 1, order: current),
            [
                subscriptionAnswer(purchase("EXPIRED").with { $0.isTest = true }.json),
                orderOf(current, "REFUNDED", refund("OTHER")),
            ],
            .events([Expected("refunded"), Expected("revoked")])
        )
        add(
            "subscription-gone",
            "Google does not keep the purchase any more: the notification alone says it",
            voidedHint(1, 1, order: old),
            [
                subscriptionAnswer(error(410, "subscriptionPurchaseNoLongerAvailable"), status: 410), noOrder(old),
            ],
            .events([Expected("refunded", #"{"transaction":"\#(old)","scope":{"type":"full"}}"#)])
        )

        // The list of voided purchases says who took it back, and why.
        func listed(_ rows: [String: String?]..., status: Int = 200) -> String {
            let query = "type=1&maxResults=1000&includeQuantityBasedPartialRefund=true&startTime=\(event - hour)"
            let page = JSON.object([
                "voidedPurchases": JSON.array(
                    rows.map { row in
                        var members: [String: String?] = [
                            "kind": "\"androidpublisher#voidedPurchase\"",
                            "purchaseToken": JSON.string(token), "orderId": JSON.string(current),
                            "purchaseTimeMillis": JSON.string(String(event - 30 * day)),
                            "voidedTimeMillis": JSON.string(String(event - 4 * second)),
                        ]
                        for (name, value) in row { members[name] = value }
                        return JSON.object(members)
                    }
                )
            ])
            let body = status == 200 ? page : error(status, "permissionDenied")
            return answer("/purchases/voidedpurchases?\(query)", status, body)
        }
        let listing = ["voidedPurchaseLookup": "true", "orderLookup": "\"never\""]
        for (name, source, reason, refund, revocation) in [
            ("developer", 1, 0, "developer", "developer"), ("user-remorse", 0, 1, "other", "unknown"),
            ("user-defective", 0, 3, "app_issue", "unknown"),
            ("google-unacknowledged", 2, 8, "other", "unacknowledged"),
            ("google-fraud", 2, 5, "other", "unknown"),
        ] {
            add(
                "listed-\(name)",
                "voidedSource \(source), voidedReason \(reason)",
                voidedHint(1, 1, order: current),
                [
                    subscriptionAnswer(purchase("EXPIRED").json),
                    // The other row is of another renewal.
                    listed(
                        ["orderId": JSON.string(old), "voidedSource": "2", "voidedReason": "7"],
                        ["voidedSource": "\(source)", "voidedReason": "\(reason)"]
                    ),
                ],
                config: listing,
                .events([
                    Expected("refunded", #"{"reason":"\#(refund)"}"#),
                    Expected("revoked", #"{"reason":"\#(revocation)"}"#),
                ])
            )
        }
        add(
            "listed-chargeback",
            "the customer's bank took it, by the list alone",
            voidedHint(1, 1, order: current),
            [
                subscriptionAnswer(purchase("EXPIRED").json),
                listed(["voidedSource": "\"2\"", "voidedReason": "\"7\""]),
            ],
            config: listing,
            .events([Expected("chargeback", #"{"stage":"lost"}"#), Expected("revoked", #"{"reason":"store"}"#)])
        )
        add(
            "listed-not",
            "the list does not have it",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), listed()],
            config: listing,
            .events([Expected("refunded", #"{"reason":"unknown"}"#), Expected("revoked", #"{"reason":"unknown"}"#)])
        )
        add(
            "listed-denied",
            "the list needs a right of its own; without it reasons are missing, and nothing else",
            voidedHint(1, 1, order: current),
            [subscriptionAnswer(purchase("EXPIRED").json), listed(status: 401)],
            config: listing,
            .events([Expected("refunded", #"{"reason":"unknown"}"#), Expected("revoked", #"{"reason":"unknown"}"#)])
        )

        // One-time products.
        add(
            "product-full",
            "taken back",
            voidedHint(2, 1, order: productOrder),
            [
                productAnswer(Product(state: "CANCELLED").json),
                orderOf(productOrder, "REFUNDED", refund("OTHER"), product: "coins_100"),
            ],
            .events([
                Expected(
                    "refunded",
                    #"{"transaction":"\#(productOrder)","scope":{"type":"full"},"affects_current_period":true}"#
                )
            ])
        )
        add(
            "product-chargeback",
            "the customer's bank took the money",
            voidedHint(2, 1, order: productOrder),
            [
                productAnswer(Product(state: "CANCELLED").json),
                orderOf(productOrder, "REFUNDED", refund("CHARGEBACK"), product: "coins_100"),
            ],
            .events([Expected("chargeback", #"{"stage":"lost"}"#)])
        )
        for (left, gone) in [(8, 2), (5, 5), (1, 9)] {
            add(
                "product-\(gone)-of-10",
                "\(gone) of ten went back by now, however often it is said",
                voidedHint(2, 2, order: productOrder),
                [
                    productAnswer(Product(details: ["quantity": "10", "refundableQuantity": "\(left)"]).json),
                    noOrder(productOrder),
                ],
                .events([
                    Expected(
                        "refunded",
                        #"{"scope":{"type":"quantity","quantity":\#(gone)},"affects_current_period":false}"#
                    )
                ])
            )
        }
        add(
            "product-last-of-10",
            "the last of ten went back",
            voidedHint(2, 1, order: productOrder),
            [
                productAnswer(Product(details: ["quantity": "10", "refundableQuantity": "0"]).json),
                noOrder(productOrder),
            ],
            .events([Expected("refunded", #"{"scope":{"type":"full"}}"#)])
        )
        add(
            "product-zero-left-out",
            "none is left, and the zero is left out",
            voidedHint(2, 1, order: productOrder),
            [productAnswer(Product(details: ["quantity": "10"]).json), noOrder(productOrder)],
            .events([Expected("refunded", #"{"scope":{"type":"full"}}"#)])
        )
        add(
            "product-part-unknown",
            "a part of it, and nobody says how much: neither all nor a number that is made up",
            voidedHint(2, 2, order: productOrder),
            [productAnswer(Product(details: ["quantity": "10"]).json), noOrder(productOrder)],
            .events([Expected("unmapped", #"{"type":"voidedPurchaseNotification","subtype":"2"}"#)])
        )
        add(
            "product-not-voided",
            "an answer by which nothing went back",
            voidedHint(2, 1, order: productOrder),
            [
                productAnswer(Product(details: ["quantity": "1", "refundableQuantity": "1"]).json),
                noOrder(productOrder),
            ],
            .nothing("stale")
        )
        add(
            "product-gone",
            "Google does not keep the purchase any more",
            voidedHint(2, 1, order: productOrder),
            [productAnswer(error(410, "purchaseTokenNoLongerValid"), status: 410), noOrder(productOrder)],
            .events([Expected("refunded", #"{"scope":{"type":"full"}}"#)])
        )
        add(
            "product-gone-part",
            "and a part of it had gone back",
            voidedHint(2, 2, order: productOrder),
            [productAnswer(error(404, "purchaseNotFound"), status: 404), noOrder(productOrder)],
            .events([Expected("unmapped", #"{"subtype":"2"}"#)])
        )
        add(
            "product-type-unknown",
            "a type of product that nobody knows yet",
            voidedHint(3, 1, order: productOrder),
            [],
            .events([Expected("unmapped", #"{"type":"voidedPurchaseNotification"}"#)])
        )
        add(
            "refund-type-unknown",
            "a type of refund that nobody knows yet",
            voidedHint(2, 9, order: productOrder),
            [productAnswer(Product(details: ["quantity": "10"]).json), noOrder(productOrder)],
            .events([Expected("unmapped", #"{"subtype":"9"}"#)])
        )
        return cases
    }
}
